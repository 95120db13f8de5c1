"""The claims of the paper: for each the pairs of cells that it compares, and the judge of their differences."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

from scipy import stats

from rarename.report.groups import MRR_TYPES, Cell, Metric, ResultGroup
from rarename.report.statistics import Difference, holm
from rarename.sweep.result import number_at

HOLDS, FAILS, UNDECIDED = "holds", "does not hold", "undecided"

LEVEL = 0.05
MARGIN = 0.01
"""Two scores count as equal within one point: twice the standard deviation that the paper gives."""
LARGE = 50_000
"""The vocabulary size that the paper compares with its largest one."""
COSINES = ("within_vocabulary", "within_placeholders", "between")


class PairComparison(NamedTuple):
    """Two cells of a group: the mean of the first minus that of the second."""

    first: Cell
    second: Cell
    mean: float
    test: Difference | None  # none without scores by project, or if the seed variance is unknown
    outcome: str = UNDECIDED


@dataclass(frozen=True)
class Verdict:
    """What a group of results says about a claim."""

    group: ResultGroup
    outcome: str
    comparisons: tuple[PairComparison, ...] = ()
    cosines: dict[str, float] = field(default_factory=dict)
    it_takes: str = ""  # what would decide an undecided claim


Pairs = Callable[[Mapping[Cell, float]], list[tuple[Cell, Cell]]]
"""Picks pairs among cells, given the validation score of each."""
Judge = Callable[[Sequence[Difference]], list[tuple[str, float]]]
"""For each difference the outcome, and how narrow the interval must be to decide it."""


@dataclass(frozen=True)
class Claim:
    """A claim of the paper."""

    title: str
    pairs: Pairs
    judge: Judge
    tasks: tuple[str, ...] = ("misuse", "completion")
    metric: Metric | None = None  # that of the task by default
    paper_table: str = "scores"  # the field of `PaperGroup` with the numbers of the paper

    def verdict(self, group: ResultGroup) -> Verdict | None:
        """None if the group lacks the cells. One pair may refute a claim; all must show it."""
        pairs = self.pairs(group.validation) if group.task in self.tasks else []
        if not pairs:
            return None
        compared = tuple(compare_cells(group, *pair, self.metric or group.metric) for pair in pairs)
        tests = [each.test for each in compared if each.test]
        if len(tests) < len(compared):
            return Verdict(group, UNDECIDED, compared, it_takes="scores by project, and a trial with two seeds")
        judged = self.judge(tests)
        compared = tuple(each._replace(outcome=outcome) for each, (outcome, _) in zip(compared, judged, strict=True))
        outcome = next(each for each in (FAILS, UNDECIDED, HOLDS) if each in dict(judged))
        widths = [(test, width) for test, (each, width) in zip(tests, judged, strict=True) if each == UNDECIDED]
        return Verdict(group, outcome, compared, it_takes=_it_takes(widths, len(tests)) if outcome == UNDECIDED else "")


def compare_cells(group: ResultGroup, first: Cell, second: Cell, metric: Metric) -> PairComparison:
    """Compare two cells, by a test if the results allow one."""
    test = group.compare(first, second, metric)
    means = [score.mean if (score := group.score(cell, metric.key)) else 0.0 for cell in (first, second)]
    return PairComparison(first, second, test.mean if test else means[0] - means[1], test)


def better(tests: Sequence[Difference]) -> list[tuple[str, float]]:
    """Is the first better? The p values are corrected for the number of pairs."""
    corrected = holm([test.p for test in tests])
    return [
        (UNDECIDED if p >= LEVEL else HOLDS if test.mean > 0 else FAILS, abs(test.mean))
        for test, p in zip(tests, corrected, strict=True)
    ]


def within(low: float, high: float, tests: Sequence[Difference]) -> list[tuple[str, float]]:
    """Does the interval lie between two bounds? That no difference was seen is not enough.

    All intervals must lie within, which needs no correction; one alone may refute the claim, which does.
    """
    judged = []
    for test in tests:
        (lowest, highest), (lower, higher) = test.interval(LEVEL), test.interval(LEVEL / len(tests))
        outcome = HOLDS if low < lowest and highest < high else FAILS if higher < low or lower > high else UNDECIDED
        judged.append((outcome, min(abs(test.mean - low), abs(test.mean - high))))
    return judged


def _it_takes(undecided: Sequence[tuple[Difference, float]], num_tests: int) -> str:
    """How many seeds would make the intervals narrow enough if the differences stayed the same."""
    seeds = 2
    for test, width in undecided:
        room = (width / float(stats.norm.isf(LEVEL / 2 / num_tests))) ** 2 - test.project_error**2
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
        for second in cells
        if (first.series.name, second.series.name, first.size) == (first_name, second_name, second.size)
        if first.series.changes == second.series.changes and bool(first.series.changes) == is_changed
    ]


def some_and_all_anonymized(cells: Mapping[Cell, float]) -> list[tuple[Cell, Cell]]:
    ordered = [cell for cell in cells if cell.series.label == "ordered"]
    return [(first, second) for first in ordered for second in ordered if first.size > second.size == 0]


def large_and_largest(cells: Mapping[Cell, float]) -> list[tuple[Cell, Cell]]:
    sizes = {cell.size: cell for cell in cells if cell.series.label == "standard"}
    return [(sizes[LARGE], sizes[max(sizes)])] if LARGE in sizes and max(sizes) > LARGE else []


def both_and_better_of_two(cells: Mapping[Cell, float]) -> list[tuple[Cell, Cell]]:
    """The better one is chosen on the validation split."""
    alone: dict[Cell, list[Cell]] = {}
    for both, one in same_size(("ordered + pointer", "ordered"), ("ordered + pointer", "standard + pointer"))(cells):
        alone.setdefault(both, []).append(one)
    return [(both, max(ones, key=cells.__getitem__)) for both, ones in alone.items() if len(ones) == 2]


def most_and_usual_placeholders(cells: Mapping[Cell, float]) -> list[tuple[Cell, Cell]]:
    most: dict[Cell, tuple[int, Cell]] = {}
    for cell in cells:
        key, _, number = ",".join(cell.series.changes).partition("=")
        usual = cell._replace(series=cell.series._replace(changes=()))
        if key == "num_placeholders" and number.isdecimal() and usual in cells:
            most[usual] = max(most.get(usual, (0, cell)), (int(number), cell))
    return [(cell, usual) for usual, (_, cell) in most.items()]


class EmbeddingClaim(Claim):
    """Judged by the measure of the paper: the mean cosine similarity within and between groups of embeddings."""

    def verdict(self, group: ResultGroup) -> Verdict | None:
        for result in group.results:
            found = {key: number_at(result.embeddings, "cosine", key) for key in COSINES}
            cosines = {key: value for key, value in found.items() if value is not None}
            if len(cosines) == len(COSINES):
                is_apart = cosines["between"] < min(cosines["within_vocabulary"], cosines["within_placeholders"])
                return Verdict(group, HOLDS if is_apart else FAILS, cosines=cosines)
        return None


MISUSE, COMPLETION = ("misuse",), ("completion",)
SAME, SLIGHT_LOSS = partial(within, -MARGIN, MARGIN), partial(within, -2 * MARGIN, 0.0)
NOT_WORSE, NOT_BETTER = partial(within, -MARGIN, math.inf), partial(within, -math.inf, MARGIN)
VERSUS_STANDARD = same_size(("ordered", "standard"), ("randomized", "standard"))
TYPES_VERSUS_STANDARD = same_size(("ordered", "standard"))
VERSUS_POINTER = same_size(("ordered", "standard + pointer"))
CLAIMS = (
    Claim("Anonymization is better than `standard`", VERSUS_STANDARD, better),
    Claim("`ordered` is as good as `randomized` or better", same_size(("ordered", "randomized")), NOT_WORSE),
    Claim("Numbering by frequency is as good as `ordered`", same_size(("by_frequency", "ordered")), SAME),
    Claim("Anonymizing the rare names is better than anonymizing all", some_and_all_anonymized, better),
    Claim("`standard` with all names is worse than with 50,000", large_and_largest, better, MISUSE),
    Claim("Anonymization is better than a pointer", VERSUS_POINTER, better, COMPLETION),
    Claim("A pointer adds nothing to anonymization", both_and_better_of_two, NOT_BETTER, COMPLETION),
    Claim("More placeholders make no difference in variable misuse", most_and_usual_placeholders, SAME, MISUSE),
    Claim(
        "More placeholders cost a little in code completion",
        most_and_usual_placeholders,
        SLIGHT_LOSS,
        COMPLETION,
        paper_table="placeholders",
    ),
    Claim("Anonymization predicts node types better, too", TYPES_VERSUS_STANDARD, better, COMPLETION, MRR_TYPES),
    EmbeddingClaim("Embeddings of placeholders lie apart from those of frequent names", lambda _: [], better),
)
BEYOND_PAPER = same_size(("ordered", "randomized"), ("ordered", "standard + pointer"), is_changed=True)
"""Questions of the paper, asked with other settings."""
