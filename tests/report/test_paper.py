"""The paper's numbers, spot-checked against its tables."""

import pytest

from rarename.report.groups import Cell, Series
from rarename.report.paper import paper, paper_group


@pytest.mark.parametrize(
    ("task", "language", "series", "size", "score"),
    [
        ("misuse", "python", Series("ordered"), 0, 0.8193),  # printed as size 1: the empty value alone
        ("misuse", "python", Series("ordered"), 10_000, 0.8772),
        ("misuse", "python", Series("randomized"), 300, 0.8533),
        ("misuse", "python", Series("standard"), 622_000, 0.8016),  # "Max"
        ("misuse", "javascript", Series("standard"), 20, 0.0689),
        ("misuse", "javascript", Series("standard"), 266_000, 0.7368),
        ("completion", "python", Series("ordered"), 500, 0.6329),
        ("completion", "python", Series("standard", has_pointer=True), 100_000, 0.6509),
        ("completion", "python", Series("standard"), 2_000, 0.46),
        ("completion", "javascript", Series("randomized"), 0, 0.5793),
        ("completion", "javascript", Series("standard", has_pointer=True), 1_000, 0.6561),
    ],
)
def test_scores_are_those_of_the_tables(task, language, series, size, score):
    assert paper_group(task, language).scores[Cell(series, size)] == score


@pytest.mark.parametrize("language", ["python", "javascript"])
def test_the_tables_are_complete(language):
    assert len(paper_group("misuse", language).scores) == 8 + 8 + 9
    assert len(paper_group("completion", language).scores) == 3 * 10 + 3  # the other seven of `standard` are N/A
    assert len(paper_group("completion", language).placeholders) == 3 * 2


def test_placeholders_accuracies_and_cosines():
    most = Cell(Series("randomized", changes=("num_placeholders=3000",)), 10_000)
    assert paper_group("completion", "python").placeholders[most] == 0.6434
    assert paper_group("completion", "javascript").placeholders[Cell(Series("randomized"), 10_000)] == 0.6898
    assert paper_group("completion", "python").best_accuracy["standard + pointer"] == pytest.approx(0.5888)
    assert paper()["embeddings"] == {"within_vocabulary": 0.09, "within_placeholders": 0.05, "between": -0.06}
