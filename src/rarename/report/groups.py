"""Groups of results that can be compared: same task, language, corpus, preset, recipe and split."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from rarename.report.statistics import Difference, MeanStd, ProjectScores, SeedVariance, compare
from rarename.sweep.result import Result, number_at

ORDER = ("ordered", "randomized", "by_frequency", "standard")
"""Of the strategies in tables and figures; others follow by name."""

NOT_VARIED = {
    "corpus", "corpus_digest", "seed", "encoding.strategy", "encoding.vocabulary_size", "task.copy_pointer",
    "training.save_every_seconds",
}  # fmt: skip
"""Settings that do not make another series: they are shown otherwise, or do not change what a model learns."""

TITLES = {
    "misuse": "Variable misuse", "completion": "Code completion", "python": "Python", "javascript": "JavaScript",
}  # fmt: skip


class Metric(NamedTuple):
    """A metric by its key, and the key of the number of examples it is a mean of."""

    key: str
    count_key: str


METRICS = {"misuse": Metric("joint_accuracy", "num_buggy"), "completion": Metric("mrr_values", "num_values")}
"""What the strategies are compared by."""
MRR_TYPES = Metric("mrr_types", "num_types")


class Series(NamedTuple):
    """A treatment of rare names: a column of a table, a line of a figure."""

    strategy: str
    has_pointer: bool = False
    changes: tuple[str, ...] = ()  # settings that differ from most of the group, such as `num_placeholders=3000`

    @property
    def name(self) -> str:
        return f"{self.strategy} + pointer" if self.has_pointer else self.strategy

    @property
    def label(self) -> str:
        return ", ".join([self.name, *self.changes])


class Cell(NamedTuple):
    """Models that differ in the seed alone. Full anonymization is `ordered` with a vocabulary of size 0."""

    series: Series
    size: int


@dataclass(frozen=True)
class ResultGroup:
    """Results of one task and language that differ only in what was varied on purpose."""

    task: str
    language: str
    cells: dict[Cell, tuple[Result, ...]]  # a result for each seed, by vocabulary size and series
    related: list["ResultGroup"] = field(repr=False)
    """Groups of the same task, preset and recipe. If no cell has two seeds, theirs give the seed variance."""
    title: str

    @property
    def metric(self) -> Metric:
        return METRICS[self.task]

    @property
    def paper_metric(self) -> str:
        """In the paper a repair counts if the correct variable gets at least half of the probability."""
        return "joint_accuracy_paper" if self.task == "misuse" else self.metric.key

    @property
    def results(self) -> list[Result]:
        return [result for results in self.cells.values() for result in results]

    @cached_property
    def series(self) -> list[Series]:
        return sorted({cell.series for cell in self.cells}, key=_rank)

    @cached_property
    def sizes(self) -> list[int]:
        return sorted({cell.size for cell in self.cells})

    @cached_property
    def validation(self) -> dict[Cell, float]:
        """The mean of the best validation scores. What is chosen is chosen by them, never on the test split."""
        scores = {cell: [each.best_validation(self.metric.key) for each in self.cells[cell]] for cell in self.cells}
        return {cell: sum(score or 0.0 for score in found) / len(found) for cell, found in scores.items()}

    def best_size(self, series: Series) -> int:
        """The vocabulary size with the best validation score."""
        return max((cell for cell in self.cells if cell.series == series), key=self.validation.__getitem__).size

    def score(self, cell: Cell, *path: str) -> MeanStd | None:
        """A metric over the seeds of a cell; that of the task by default."""
        scores = [result.metric(*(path or self.metric[:1])) for result in self.cells.get(cell, ())]
        found = [score for score in scores if score is not None]
        return MeanStd.of(found) if found else None

    def seed_variance(self, metric: Metric) -> SeedVariance | None:
        """Of this group, or of the first related one in which some cell has two seeds."""
        for group in (self, *self.related):
            scores = [group.score(cell, metric.key) for cell in group.cells]
            if variance := SeedVariance.pooled(score for score in scores if score):
                return variance
        return None

    def compare(self, first: Cell, second: Cell, metric: Metric) -> Difference | None:
        """One cell minus another; None without scores by project, or if the seed variance is unknown."""
        variance = self.seed_variance(metric)
        ours, others = ([_by_project(result, metric) for result in self.cells[cell]] for cell in (first, second))
        return compare(ours, others, variance) if variance else None


def _rank(series: Series) -> tuple[int, Series]:
    return ORDER.index(series.strategy) if series.strategy in ORDER else len(ORDER), series


def _by_project(result: Result, metric: Metric) -> ProjectScores:
    projects = result.metrics.get("by_project", {}).items()
    scores = {name: (number_at(each, metric.key), number_at(each, metric.count_key)) for name, each in projects}
    return {name: (score, count) for name, (score, count) in scores.items() if score is not None and count}


def group_results(results: Iterable[Result]) -> list[ResultGroup]:
    """Group results, variable misuse and Python first. A model in several experiments counts once."""
    members: dict[tuple[Any, ...], list[Result]] = defaultdict(list)
    for each in results:
        kind = (each.task, each.preset, each.code.get("recipe"))
        members[kind, each.language, each.corpus.get("digest"), each.split].append(each)
    groups: dict[tuple[Any, ...], list[ResultGroup]] = defaultdict(list)
    for (kind, language, *_), alike in members.items():
        title = f"{TITLES.get(kind[0], kind[0])}, {TITLES.get(language, language)}"
        if sum((other[0][0], other[1]) == (kind[0], language) for other in members) > 1:
            title += f" ({alike[0].corpus['name']}, {alike[0].preset})"
        groups[kind].append(ResultGroup(kind[0], language, _cells(alike), groups[kind], title))
    found = [group for related in groups.values() for group in related]
    return sorted(found, key=lambda group: (group.task != "misuse", group.language != "python", -len(group.results)))


def _cells(members: Sequence[Result]) -> dict[Cell, tuple[Result, ...]]:
    values: dict[str, list[Any]] = defaultdict(list)
    for settings in map(_varied, members):
        for key, value in settings.items():
            values[key].append(value)
    usual = {key: max(found, key=found.count) for key, found in values.items()}
    seeds: dict[Cell, dict[int, Result]] = defaultdict(dict)
    for each in members:
        changed = {key.partition(".")[2]: value for key, value in _varied(each).items() if value != usual[key]}
        changes = tuple(f"{key}={value}" for key, value in changed.items())
        strategy, size = each.settings["encoding.strategy"], each.settings["encoding.vocabulary_size"]
        strategy, size = ("ordered", 0) if strategy == "full" else (strategy, size)
        models = seeds[Cell(Series(strategy, each.settings.get("task.copy_pointer", False), changes), size)]
        if each.embeddings or each.settings["seed"] not in models:
            models[each.settings["seed"]] = each
    cells = sorted(seeds, key=lambda cell: (cell.size, _rank(cell.series)))
    return {cell: tuple(seeds[cell][seed] for seed in sorted(seeds[cell])) for cell in cells}


def _varied(result: Result) -> dict[str, Any]:
    """The settings that may make another series; `standard` has no placeholders, whatever its settings say."""
    ignored = {"encoding.num_placeholders"} if result.settings["encoding.strategy"] == "standard" else set()
    return {key: value for key, value in result.settings.items() if key not in NOT_VARIED | ignored}
