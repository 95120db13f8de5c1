"""The paper's numbers, spot-checked against its tables."""

import pytest

from rarename.report.paper import citation, cosines, paper_study


@pytest.mark.parametrize(
    ("task", "language", "series", "size", "score"),
    [
        ("misuse", "python", "ordered", 0, 81.93),  # printed as size 1: the empty value alone
        ("misuse", "python", "ordered", 10_000, 87.72),
        ("misuse", "python", "randomized", 300, 85.33),
        ("misuse", "python", "standard", 100, 54.71),
        ("misuse", "python", "standard", 622_000, 80.16),  # "Max"
        ("misuse", "javascript", "standard", 20, 6.89),
        ("misuse", "javascript", "standard", 266_000, 73.68),
        ("misuse", "javascript", "randomized", 10_000, 82.80),
        ("completion", "python", "ordered", 500, 63.29),
        ("completion", "python", "standard + pointer", 100_000, 65.09),
        ("completion", "python", "standard", 2_000, 46.0),
        ("completion", "javascript", "randomized", 0, 57.93),
        ("completion", "javascript", "standard + pointer", 1_000, 65.61),
        ("completion", "javascript", "standard", 100_000, 63.9),
    ],
)
def test_scores_are_those_of_the_tables(task, language, series, size, score):
    assert paper_study(task, language).scores[series][size] == score


def test_the_tables_are_complete():
    sizes = {"ordered": 8, "randomized": 8, "standard": 9}
    for language in ("python", "javascript"):
        assert {name: len(scores) for name, scores in paper_study("misuse", language).scores.items()} == sizes
        completion = paper_study("completion", language)
        assert {len(scores) for name, scores in completion.scores.items() if name != "standard"} == {10}
        assert len(completion.scores["standard"]) == 3  # the other seven are N/A


def test_placeholders_accuracies_and_cosines():
    assert paper_study("completion", "python").placeholders[3_000] == {1_000: 62.79, 10_000: 64.34}
    assert paper_study("completion", "javascript").placeholders[500][10_000] == 68.98
    assert paper_study("completion", "python").best_accuracy["standard + pointer"] == 58.88
    assert paper_study("completion", "javascript").best_accuracy["ordered"] == 64.13
    assert cosines() == {"within_vocabulary": 0.09, "within_placeholders": 0.05, "between": -0.06}


def test_what_the_paper_does_not_have_is_none():
    assert paper_study("misuse", "tokens") is None
    assert paper_study("summaries", "python") is None


def test_the_citation_names_the_paper():
    assert "arXiv:2010.12663" in citation()
