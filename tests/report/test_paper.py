"""The paper's numbers, spot-checked against its tables."""

import pytest

from rarename.report.groups import Cell
from rarename.report.paper import paper, paper_scores


@pytest.mark.parametrize(
    ("task", "language", "series", "size", "score"),
    [
        ("misuse", "python", "ordered", 0, 0.8193),  # printed as size 1: the empty value alone
        ("misuse", "python", "ordered", 10_000, 0.8772),
        ("misuse", "python", "randomized", 300, 0.8533),
        ("misuse", "python", "standard", 622_000, 0.8016),  # "Max"
        ("misuse", "javascript", "standard", 20, 0.0689),
        ("misuse", "javascript", "standard", 266_000, 0.7368),
        ("completion", "python", "ordered", 500, 0.6329),
        ("completion", "python", "standard + pointer", 100_000, 0.6509),
        ("completion", "python", "standard", 2_000, 0.46),
        ("completion", "javascript", "randomized", 0, 0.5793),
        ("completion", "javascript", "standard + pointer", 1_000, 0.6561),
    ],
)
def test_scores_are_those_of_the_tables(task, language, series, size, score):
    assert paper_scores(task, language)[Cell(series, size)] == score


@pytest.mark.parametrize("language", ["python", "javascript"])
def test_the_tables_are_complete(language):
    assert len(paper_scores("misuse", language)) == 8 + 8 + 9
    assert len(paper_scores("completion", language)) == 3 * 10 + 3  # the other seven of `standard` are N/A
    assert len(paper_scores("completion", language, "placeholders")) == 3 * 2


def test_placeholders_accuracies_and_cosines():
    placeholders = paper_scores("completion", "python", "placeholders")
    assert placeholders[Cell("randomized, num_placeholders=3000", 10_000)] == 0.6434
    assert paper_scores("completion", "javascript", "placeholders")[Cell("randomized", 10_000)] == 0.6898
    assert paper()["completion"]["python"]["best_accuracy"]["standard + pointer"] == 58.88
    assert paper()["embeddings"] == {"within_vocabulary": 0.09, "within_placeholders": 0.05, "between": -0.06}
