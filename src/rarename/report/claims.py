"""The claims of the paper: the pairs of cells that each compares, and the test of their differences."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

from scipy import stats

from rarename.report.groups import Cell, ResultGroup
from rarename.report.statistics import Difference, holm

HOLDS, FAILS, UNDECIDED = "holds", "does not hold", "undecided"

LEVEL = 0.05
MARGIN = 0.01
"""Two scores count as equal within one point: twice the standard deviation that the paper gives."""
LARGE = 50_000
"""The vocabulary size that the paper compares with its largest one."""

Pairs = Callable[[Mapping[Cell, float]], list[tuple[Cell, Cell]]]
"""Picks pairs among cells, given the validation score of each."""
Rule = Callable[[Sequence[Difference]], list[tuple[str, float]]]
"""For each difference the outcome, and how narrow the interval must be to decide it."""


class Comparison(NamedTuple):
    """The first cell minus the second."""

    first: Cell
    second: Cell
    test: Difference
    outcome: str


@dataclass(frozen=True)
class Verdict:
    """The outcome of a claim in a group of results."""

    group: ResultGroup
    outcome: str
    comparisons: Sequence[Comparison] = ()
    cosines: dict[str, float] = field(default_factory=dict)
    it_takes: str = ""  # what would decide an undecided claim


@dataclass(frozen=True)
class Claim:
    """A claim of the paper."""

    title: str
    pairs: Pairs
    rule: Rule
    tasks: tuple[str, ...] = ("misuse", "completion")
    metric: str = ""  # default: the metric of the task
    paper_table: str = "scores"  # of `data/paper.toml`

    def verdict(self, group: ResultGroup) -> Verdict | None:
        """Test the claim; None if the group lacks the cells. One pair may refute it; all must support it."""
        pairs = self.pairs(group.validation) if group.task in self.tasks else []
        metric = self.metric or group.metric
        tests = {pair: test for pair in pairs if (test := group.compare(*pair, metric))}
        if not tests:
            return None
        outcomes = self.rule(list(tests.values()))
        outcome = next(each for each in (FAILS, UNDECIDED, HOLDS) if each in dict(outcomes))
        compared, undecided = [], []
        for (pair, test), (each, width) in zip(tests.items(), outcomes, strict=True):
            compared.append(Comparison(*pair, test, each))
            if each == outcome == UNDECIDED:
                undecided.append((test, width))
        return Verdict(group, outcome, compared, it_takes=_it_takes(undecided, len(tests)) if undecided else "")


def better(tests: Sequence[Difference]) -> list[tuple[str, float]]:
    """Is the first better? The p values are corrected for the number of pairs."""
    corrected = holm([test.p for test in tests])
    return [
        (UNDECIDED if p >= LEVEL else HOLDS if test.mean > 0 else FAILS, abs(test.mean))
        for test, p in zip(tests, corrected, strict=True)
    ]


def within(low: float, high: float, tests: Sequence[Difference]) -> list[tuple[str, float]]:
    """Is the difference between two bounds? An insignificant difference is not enough.

    The claim holds if all intervals are within (uncorrected level); one outside refutes it (corrected level).
    """
    outcomes = []
    for test in tests:
        (lowest, highest), (lower, higher) = test.interval(LEVEL), test.interval(LEVEL / len(tests))
        outcome = HOLDS if low < lowest and highest < high else FAILS if higher < low or lower > high else UNDECIDED
        outcomes.append((outcome, min(abs(test.mean - low), abs(test.mean - high))))
    return outcomes


def _it_takes(undecided: Sequence[tuple[Difference, float]], num_tests: int) -> str:
    """How many seeds would make the intervals narrow enough if the differences stayed the same."""
    seeds = 2
    for test, width in undecided:
        room = (width / float(stats.norm.isf(LEVEL / 2 / num_tests))) ** 2 - test.project_error**2
        if test.seed_std == math.inf:
            return "a trial with two seeds"
        if room <= 0:
            return f"more than {test.num_projects} test projects"
        seeds = max(seeds, math.ceil(2 * test.seed_std**2 / room))
    return f"about {seeds} seeds"


def same_size(*names: tuple[str, str], is_changed: bool = False) -> Pairs:
    """Series of these names with the same vocabulary size, and with the same changed settings or none."""
    return lambda cells: [
        (first, second)
        for first_name, second_name in names
        for first in cells
        if first.name == first_name and bool(first.changes) == is_changed
        if (second := Cell(first.series.replace(first_name, second_name, 1), first.size)) in cells
    ]


def some_and_all_anonymized(cells: Mapping[Cell, float]) -> list[tuple[Cell, Cell]]:
    full = Cell("ordered", 0)
    return [(cell, full) for cell in cells if cell.series == "ordered" and cell.size and full in cells]


def large_and_largest(cells: Mapping[Cell, float]) -> list[tuple[Cell, Cell]]:
    largest = max((cell for cell in cells if cell.series == "standard"), default=Cell("", 0))
    large = Cell("standard", LARGE)
    return [(large, largest)] if large in cells and largest != large else []


def both_and_better_of_two(cells: Mapping[Cell, float]) -> list[tuple[Cell, Cell]]:
    """The better one is chosen on the validation split."""
    found = []
    for both in (cell for cell in cells if cell.series == "ordered + pointer"):
        alone = [Cell("ordered", both.size), Cell("standard + pointer", both.size)]
        if all(cell in cells for cell in alone):
            found.append((both, max(alone, key=cells.__getitem__)))
    return found


def more_and_usual(cells: Mapping[Cell, float]) -> list[tuple[Cell, Cell]]:
    """The largest number of placeholders and the usual one."""
    numbers = {cell: cell.changes.removeprefix("num_placeholders=") for cell in cells}
    changed = sorted((cell for cell in cells if numbers[cell].isdecimal()), key=lambda cell: int(numbers[cell]))
    largest = {Cell(cell.name, cell.size): cell for cell in changed}
    return [(cell, usual) for usual, cell in largest.items() if usual in cells]


class EmbeddingClaim(Claim):
    """Decided by the measure of the paper: the mean cosine similarity within and between groups of embeddings."""

    def verdict(self, group: ResultGroup) -> Verdict | None:
        cosines = next((each.embeddings["cosine"] for each in group.results if each.embeddings), None)
        if cosines is None:
            return None
        is_apart = cosines["between"] < min(cosines["within_vocabulary"], cosines["within_placeholders"])
        return Verdict(group, HOLDS if is_apart else FAILS, cosines=cosines)


MISUSE, COMPLETION = ("misuse",), ("completion",)
SAME, A_LITTLE = partial(within, -MARGIN, MARGIN), partial(within, -2 * MARGIN, 0.0)
NOT_WORSE, NOT_BETTER = partial(within, -MARGIN, math.inf), partial(within, -math.inf, MARGIN)
TO_STANDARD = same_size(("ordered", "standard"))
BOTH_TO_STANDARD = same_size(("ordered", "standard"), ("randomized", "standard"))
TO_RANDOMIZED, TO_POINTER = same_size(("ordered", "randomized")), same_size(("ordered", "standard + pointer"))
CLAIMS = (
    Claim("Anonymization is better than `standard`", BOTH_TO_STANDARD, better),
    Claim("`ordered` is as good as `randomized` or better", TO_RANDOMIZED, NOT_WORSE),
    Claim("Numbering by frequency is as good as `ordered`", same_size(("by_frequency", "ordered")), SAME),
    Claim("Anonymizing the rare names is better than anonymizing all", some_and_all_anonymized, better),
    Claim("`standard` with all names is worse than with 50,000", large_and_largest, better, MISUSE),
    Claim("Anonymization is better than a pointer", TO_POINTER, better, COMPLETION),
    Claim("A pointer adds nothing to anonymization", both_and_better_of_two, NOT_BETTER, COMPLETION),
    Claim("More placeholders make no difference in variable misuse", more_and_usual, SAME, MISUSE),
    Claim(
        "More placeholders cost a little in code completion", more_and_usual, A_LITTLE, COMPLETION, "", "placeholders"
    ),
    Claim("Anonymization predicts node types better, too", TO_STANDARD, better, COMPLETION, "mrr_types"),
    EmbeddingClaim("Embeddings of placeholders lie apart from those of frequent names", lambda _: [], better),
)
BEYOND_PAPER = same_size(("ordered", "randomized"), ("ordered", "standard + pointer"), is_changed=True)
"""Comparisons of the paper, with other settings."""
