"""Groups of results that can be compared: same task, language, corpus, preset, recipe and split."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from statistics import fmean
from typing import Any, NamedTuple

from rarename.config import ADDED_SETTINGS
from rarename.report.statistics import Difference, MeanStd, ProjectScores, SeedVariance, compare, pooled_variance
from rarename.sweep.result import Result, number_at

ORDER = ("ordered", "randomized", "by_frequency", "standard")
"""The order of the strategies in tables and figures."""

NOT_VARIED = {
    "corpus", "corpus_digest", "seed", "encoding.strategy", "encoding.vocabulary_size", "task.copy_pointer",
    "training.save_every_seconds",
}  # fmt: skip
"""Settings that do not make another series: they are shown otherwise, or do not change what a model learns."""

TITLES = {
    "misuse": "Variable misuse", "completion": "Code completion", "python": "Python", "javascript": "JavaScript",
}  # fmt: skip

METRICS = {"misuse": "joint_accuracy", "completion": "mrr_values"}
"""The metric that compares the strategies."""
PAPER_METRICS = {"misuse": "joint_accuracy_paper", "completion": "mrr_values"}
"""In the paper a repair counts if the correct variable gets at least half of the probability."""
COUNT_KEYS = {"joint_accuracy": "num_buggy", "mrr_values": "num_values", "mrr_types": "num_types"}
"""For each metric the number of examples that it is a mean of."""


class Cell(NamedTuple):
    """Models that differ in the seed alone. Full anonymization is `ordered` with a vocabulary of size 0.

    The series is a column of a table and a line of a figure: a strategy, `+ pointer`, and settings that differ from
    most of the group, as in `standard + pointer, num_epochs=1.0`.
    """

    series: str
    size: int

    @property
    def name(self) -> str:
        return self.series.partition(", ")[0]

    @property
    def changes(self) -> str:
        return self.series.partition(", ")[2]


@dataclass(frozen=True)
class ResultGroup:
    """Results of one task and language that differ only in what was varied on purpose."""

    task: str
    language: str
    title: str
    cells: dict[Cell, list[Result]]  # a result for each seed, by vocabulary size and series
    related: list["ResultGroup"] = field(repr=False)
    """Groups of the same task, preset and recipe. If no cell has two seeds, theirs give the seed variance."""

    @property
    def metric(self) -> str:
        return METRICS[self.task]

    @property
    def results(self) -> list[Result]:
        return [result for results in self.cells.values() for result in results]

    @cached_property
    def series(self) -> list[str]:
        return sorted({cell.series for cell in self.cells}, key=_rank)

    @cached_property
    def sizes(self) -> list[int]:
        return sorted({cell.size for cell in self.cells})

    @cached_property
    def validation(self) -> dict[Cell, float]:
        """The mean of the best validation scores. Selection uses them, never the test split."""
        return {cell: fmean(_best_validation(each, self.metric) for each in self.cells[cell]) for cell in self.cells}

    def best_size(self, series: str) -> int:
        """The vocabulary size with the best validation score."""
        return max((cell for cell in self.cells if cell.series == series), key=self.validation.__getitem__).size

    def scores(self, cell: Cell, *path: str) -> list[float]:
        """A metric for each seed of a cell, by default the metric of the task."""
        scores = [number_at(result.metrics, *(path or [self.metric])) for result in self.cells.get(cell, ())]
        return [score for score in scores if score is not None]

    def score(self, cell: Cell, *path: str) -> MeanStd | None:
        scores = self.scores(cell, *path)
        return MeanStd.of(scores) if scores else None

    def seed_variance(self, metric: str) -> SeedVariance:
        """Of this group, or of the first related one in which some cell has two seeds."""
        found = [pooled_variance(each.scores(cell, metric) for cell in each.cells) for each in (self, *self.related)]
        return next((variance for variance in found if variance != SeedVariance()), SeedVariance())

    def compare(self, first: Cell, second: Cell, metric: str) -> Difference | None:
        """One cell minus another; None without scores by project."""
        ours, others = ([_by_project(result, metric) for result in self.cells[cell]] for cell in (first, second))
        return compare(ours, others, self.seed_variance(metric))


def _rank(series: str) -> tuple[int, str]:
    return next((rank for rank, name in enumerate(ORDER) if series.startswith(name)), len(ORDER)), series


def _best_validation(result: Result, metric: str) -> float:
    """The score that selected the evaluated weights."""
    return max((number_at(point, "validation", metric) or 0.0 for point in result.curve), default=0.0)


def _by_project(result: Result, metric: str) -> ProjectScores:
    projects = result.metrics.get("by_project", {}).items()
    scores = {name: (number_at(each, metric), number_at(each, COUNT_KEYS[metric])) for name, each in projects}
    return {
        name: (score, count) for name, (score, count) in scores.items() if score is not None and count and count > 0
    }


def group_results(results: Iterable[Result]) -> list[ResultGroup]:
    """Group results, variable misuse and Python first. A model in several experiments counts once."""
    members: dict[tuple[Any, ...], list[Result]] = defaultdict(list)
    for each in results:
        recipe, digest = each.code.get("recipe"), each.corpus.get("digest")
        members[each.task, each.language, each.preset, recipe, digest, each.split].append(each)
    num_groups = Counter(key[:2] for key in members)
    related: dict[tuple[Any, ...], list[ResultGroup]] = defaultdict(list)
    for (task, language, *kind, _, _), comparable in members.items():
        title = f"{TITLES[task]}, {TITLES[language]}"
        if num_groups[task, language] > 1:
            title += f" ({comparable[0].corpus['name']}, {comparable[0].preset})"
        groups = related[task, *kind]
        groups.append(ResultGroup(task, language, title, _cells(comparable), groups))
    found = [group for groups in related.values() for group in groups]
    return sorted(found, key=lambda group: (group.task != "misuse", group.language != "python", -len(group.results)))


def _cells(members: Sequence[Result]) -> dict[Cell, list[Result]]:
    values: dict[str, list[Any]] = defaultdict(list)
    # Old results lack settings that were added later.
    members = [replace(each, settings=ADDED_SETTINGS | each.settings) for each in members]
    for each in members:
        for key, value in each.settings.items():
            values[key].append(value)
    usual = {key: max(found, key=found.count) for key, found in values.items() if key not in NOT_VARIED}
    seeds: dict[Cell, dict[int, Result]] = defaultdict(dict)
    for each in sorted(members, key=lambda each: not each.embeddings):  # of equal models one with embeddings is taken
        strategy, size = each.settings["encoding.strategy"], each.settings["encoding.vocabulary_size"]
        strategy, size = ("ordered", 0) if strategy == "full" else (strategy, size)
        name = f"{strategy} + pointer" if each.settings.get("task.copy_pointer") else strategy
        changed = {key: value for key, value in each.settings.items() if key in usual and value != usual[key]}
        series = ", ".join([name, *(f"{key.partition('.')[2]}={value}" for key, value in changed.items())])
        seeds[Cell(series, size)].setdefault(each.settings["seed"], each)
    cells = sorted(seeds, key=lambda cell: (cell.size, _rank(cell.series)))
    return {cell: [seeds[cell][seed] for seed in sorted(seeds[cell])] for cell in cells}
