"""Study: the results of one experiment, task and language that may stand in one table."""

import dataclasses
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from rarename.report.results import TASKS, LeftOut, Result, number_at
from rarename.report.statistics import Comparison, Luck, Projects, Spread, compare, luck, spread

STRATEGIES = ("ordered", "randomized", "by_frequency", "standard", "full")
"""In the order of the report; others follow by name."""

UNNUMBERED = "standard"
"""Has no placeholders, whatever its settings say."""

LANGUAGES = {"python": "Python", "javascript": "JavaScript"}

TOLERANCE = 0.01
"""By how much the examples that two models have seen may differ: batches end where they end."""

KNOWN_SETTINGS = {
    "corpus",
    "corpus_digest",
    "run",
    "seed",
    "threads",
    "version",
    "encoding.strategy",
    "encoding.vocabulary_size",
    "encoding.placeholders",
    "training.save_every",
}
"""Settings that are told otherwise, or do not change what is learned."""


@dataclass(frozen=True)
class Score:
    """What a task is judged by."""

    key: str
    count_key: str
    """How many examples are behind it."""
    name: str
    examples: str
    """What these examples are called."""


SCORES = {
    "misuse": Score("joint_accuracy", "num_buggy", "Joint accuracy", "misuses"),
    "completion": Score("mrr_values", "num_values", "MRR of values", "values"),
}
"""The first score of each task: the one that projects are compared by and that learning curves show."""

OF_TYPES = Score("mrr_types", "num_types", "MRR of types", "nodes")
"""The other score of completion that strategies are compared by."""

TASK_NAMES = {"misuse": "Variable misuse", "completion": "Code completion"}


@dataclass(frozen=True)
class Series:
    """A way to treat rare names: a column of a table, a line of a figure."""

    strategy: str
    pointer: bool = False
    extras: tuple[str, ...] = ()
    """Whatever else was varied in the experiment, such as `500 placeholders`."""

    @property
    def base(self) -> str:
        """The name that the paper's numbers go by."""
        return f"{self.strategy} + pointer" if self.pointer else self.strategy

    @property
    def label(self) -> str:
        return ", ".join([self.base, *self.extras])

    @property
    def besides_placeholders(self) -> "Series":
        """The same, however many placeholders it has."""
        return dataclasses.replace(self, extras=tuple(each for each in self.extras if not _is_of_placeholders(each)))

    @property
    def rank(self) -> tuple[int, bool, str, tuple[tuple[int, str], ...]]:
        known = STRATEGIES.index(self.strategy) if self.strategy in STRATEGIES else len(STRATEGIES)
        return known, self.pointer, self.strategy, tuple((len(extra), extra) for extra in self.extras)


@dataclass(frozen=True)
class Study:
    """The results of one experiment, task and language, all on the same examples."""

    experiment: str
    task: str
    language: str
    cells: dict[tuple[Series, int], tuple[Result, ...]]
    """By series and vocabulary size; a result for each seed."""
    kin: tuple["Study", ...] = ()
    """Other studies of the same task and recipe: how much luck training takes may be known from them."""

    @property
    def name(self) -> str:
        return f"{TASK_NAMES[self.task]}, {LANGUAGES.get(self.language, self.language)}"

    @property
    def title(self) -> str:
        """What the experiment is about, in the words of its file; else task and language."""
        return next((result.title for result in self.results if result.title), self.name)

    @property
    def shows(self) -> str:
        """What of the paper it repeats, if that is known."""
        return next((result.shows for result in self.results if result.shows), "")

    @property
    def slug(self) -> str:
        """For files and anchors; an experiment may be of several tasks and languages."""
        parts = [self.experiment] + [part for part in (self.task, self.language) if part not in self.experiment]
        return "-".join(parts)

    @property
    def score(self) -> Score:
        return SCORES[self.task]

    @property
    def usual(self) -> dict[str, Any]:
        """What the cells have whose series do not say otherwise, of all that was varied beside strategy and size."""
        keys = {extra.split("=")[0] for series in self.series for extra in series.extras if "=" in extra}
        preset = self.usual_preset
        alike = [each for each in self.results if each.preset == preset]
        found = {key: usual_value([each.settings.get(key) for each in alike]) for key in sorted(keys - {"preset"})}
        found |= {"preset": preset} if "preset" in keys else {}
        if any(_is_of_placeholders(extra) for series in self.series for extra in series.extras):
            plain = [result for (series, _), results in self.cells.items() if not series.extras for result in results]
            found["placeholders"] = usual_value([each.placeholders for each in plain or self.results])
        return found

    @property
    def usual_preset(self) -> str:
        """The preset that most of its models have; claims are judged by these."""
        return str(usual_value([each.preset for each in self.results])) if self.results else ""

    @cached_property
    def series(self) -> list[Series]:
        return sorted({series for series, _ in self.cells}, key=lambda series: series.rank)

    @cached_property
    def sizes(self) -> list[int]:
        return sorted({size for _, size in self.cells})

    @property
    def results(self) -> list[Result]:
        return [result for key in self.keys for result in self.cells[key]]

    @cached_property
    def models(self) -> set[tuple[str, int]]:
        """What each model was trained with, and its seed."""
        return {model(result) for result in self.results}

    def is_repeated(self, *cells: tuple[Series, int]) -> bool:
        """Whether a larger study has all models of these cells, too."""
        ours = {model(result) for cell in cells for result in self.cells.get(cell, ())}
        larger = [other for other in self.kin if len(other.models) > len(self.models)]
        return any(
            ours <= {model(result) for cell in cells for result in other.cells.get(cell, ())} for other in larger
        )

    @property
    def keys(self) -> list[tuple[Series, int]]:
        """The cells in the order of a table: by size, then by series."""
        return sorted(self.cells, key=lambda key: (key[1], key[0].rank))

    def find(self, base: str) -> Series | None:
        """The series of that name with nothing else varied."""
        return next((series for series in self.series if series.base == base and not series.extras), None)

    def value(self, series: Series, size: int, *keys: str) -> Spread | None:
        """A score over the seeds that have it; the first score of the task by default."""
        path = keys or (self.score.key,)
        values = [result.score(*path) for result in self.cells.get((series, size), ())]
        numbers = [value for value in values if value is not None]
        return spread(numbers) if numbers else None

    def curve(self, series: Series, *keys: str) -> dict[int, Spread]:
        """A score by vocabulary size."""
        found = {size: self.value(series, size, *keys) for size in self.sizes}
        return {size: value for size, value in found.items() if value is not None}

    def best_size(self, series: Series) -> int | None:
        """The vocabulary size with the best score on the validation split; the test split must not choose."""
        found = {
            size: [result.best_validation(self.score.key) for result in results]
            for (each, size), results in self.cells.items()
            if each == series
        }
        scores = {
            size: spread(told).mean for size, seeds in found.items() if (told := [s for s in seeds if s is not None])
        }
        return max(sorted(scores), key=lambda size: scores[size], default=None)

    def counts(self, *keys: str) -> list[int]:
        """The different numbers of examples behind a score, in the whole study."""
        found = {result.score(*keys) for result in self.results}
        return sorted(int(count) for count in found if count is not None)

    def projects(self, series: Series, size: int, score: Score) -> list[Projects]:
        """A score by project, for each seed that has it."""
        seeds = [_by_project(result, score) for result in self.cells.get((series, size), ())]
        return [seed for seed in seeds if seed]

    def compare(
        self, first: tuple[Series, int], second: tuple[Series, int], score: Score | None = None
    ) -> Comparison | None:
        """One cell against another, on the same projects; None if there is nothing to compare by."""
        score = score or self.score
        ours, others = self.projects(*first, score), self.projects(*second, score)
        presets = {result.preset for cell in (first, second) for result in self.cells.get(cell, ())}
        return compare(ours, others, self.luck(score, presets)) if ours and others else None

    def luck(self, score: Score | None = None, presets: Collection[str] = ()) -> Luck | None:
        """How much a score varies from training to training of the same cell; if need be, in other studies.

        Of models of these presets, or of the one that most have.
        """
        return self.own_luck(score, presets) or luck(value for _, value in self._lent(score, presets))

    def own_luck(self, score: Score | None = None, presets: Collection[str] = ()) -> Luck | None:
        """The same, told by the cells of this study alone."""
        key, presets = (score or self.score).key, presets or {self.usual_preset}
        of_presets = [cell for cell in self.keys if self.cells[cell][0].preset in presets]
        return luck(value for cell in of_presets if (value := self.value(*cell, key)))

    def lenders(self, score: Score | None = None) -> list[str]:
        """The experiments that the luck is taken from, if it is not that of the study itself."""
        return [] if self.own_luck(score) else sorted({experiment for experiment, _ in self._lent(score)})

    def _lent(self, score: Score | None, presets: Collection[str] = ()) -> list[tuple[str, Spread]]:
        """The cells with several seeds of other studies with the same preset, each training once."""
        key, presets = (score or self.score).key, presets or {self.usual_preset}
        found: dict[str, tuple[str, Spread]] = {}
        for study in self.kin:
            for cell in study.keys:
                first, value = study.cells[cell][0], study.value(*cell, key)
                if first.preset in presets and value and value.deviation is not None:
                    known = found.get(_training(first))
                    if known is None or known[1].num_seeds < value.num_seeds:
                        found[_training(first)] = study.experiment, value
        return list(found.values())


def _training(result: Result) -> str:
    """What a model was trained with, besides the seed: two experiments may have measured the same one."""
    settings = {key: value for key, value in result.settings.items() if key not in ("seed", "corpus")}
    varied = (result.strategy, result.pointer, result.size, result.placeholders)
    return repr(
        (result.task, result.language, result.preset, result.digest, result.examples, *varied, sorted(settings.items()))
    )


def model(result: Result) -> tuple[str, int]:
    """By this a trained model is known, whatever experiment it stands in."""
    return _training(result), result.seed


def _by_project(result: Result, score: Score) -> Projects:
    projects = result.scores.get("by_project")
    if not isinstance(projects, dict):
        return {}
    read = {
        str(name): (number_at(group, score.key), number_at(group, score.count_key)) for name, group in projects.items()
    }
    return {name: (value, count) for name, (value, count) in read.items() if value is not None and count}


def studies(results: Iterable[Result]) -> tuple[list[Study], list[LeftOut]]:
    """The studies of some results, and the results that do not go with the others of their study."""
    groups: dict[tuple[str, str, str], list[Result]] = defaultdict(list)
    for result in results:
        if result.scores:
            groups[result.experiment, result.task, result.language].append(result)
    # Models whose embeddings are looked at mostly are those of another experiment, which has their scores.
    scored = {model(each) for members in groups.values() if not _has_embeddings(members) for each in members}
    groups = {
        key: members
        for key, members in groups.items()
        if not _has_embeddings(members) or {model(each) for each in members} - scored
    }
    found: list[Study] = []
    left_out: list[LeftOut] = []
    for (experiment, task, language), members in groups.items():
        kept, odd = _comparable(members, SCORES[task])
        cells, doubles = _cells(kept)
        left_out += odd + doubles
        found.append(Study(experiment, task, language, cells))
    found.sort(key=_place)
    return [dataclasses.replace(study, kin=_kin(study, found)) for study in found], sorted(left_out)


def _has_embeddings(members: Sequence[Result]) -> bool:
    return all(each.embeddings for each in members)


def _kin(study: Study, others: Sequence[Study]) -> tuple[Study, ...]:
    """Studies from which the luck of training may be taken."""
    made = (study.task, {result.recipe for result in study.results})
    return tuple(
        other
        for other in others
        if other is not study and (other.task, {result.recipe for result in other.results}) == made
    )


def _place(study: Study) -> tuple[int, bool, str, int, str]:
    """The order of the report: of the same task and language, the largest experiment first."""
    return TASKS.index(study.task), study.language != "python", study.language, -len(study.cells), study.experiment


def _comparable(members: list[Result], score: Score) -> tuple[list[Result], list[LeftOut]]:
    """Those that were made alike. For each circumstance most of them decide; of equally many, the newer recipe."""
    left_out = [LeftOut(each.path, f"has no {score.key}") for each in members if each.score(score.key) is None]
    kept = [each for each in members if each.score(score.key) is not None]
    circumstances: list[tuple[str, Callable[[Result], object]]] = [
        ("split", lambda each: each.split),
        ("corpus digest", lambda each: each.digest[:12]),
        ("recipe", lambda each: each.recipe),
    ]
    for name, of in circumstances:
        kept, odd = _most(kept, name, of)
        left_out += odd
    alike: list[Result] = []
    for preset in dict.fromkeys(each.preset for each in kept):  # models of another size may need more examples
        members = [each for each in kept if each.preset == preset]
        members, odd = _most(members, "number of examples", _rounded(members))
        alike += members
        left_out += odd
    return alike, left_out


def _most(members: list[Result], name: str, of: Callable[[Result], object]) -> tuple[list[Result], list[LeftOut]]:
    """Those that are alike in a circumstance, and the others with what they have."""
    groups: dict[object, list[Result]] = defaultdict(list)
    for each in members:
        groups[of(each)].append(each)
    most = max(groups, key=lambda value: (len(groups[value]), _newest(groups[value]), str(value)), default=None)
    odd = [
        LeftOut(each.path, f"has the {name} {_spelt(value)}; {_others(len(groups[most]))} {_spelt(most)}")
        for value, group in groups.items()
        if value != most
        for each in group
    ]
    return groups[most] if groups else [], odd


def _newest(group: Sequence[Result]) -> int:
    return max(each.recipe for each in group)


def _rounded(members: Sequence[Result]) -> Callable[[Result], int]:
    """The number of examples, one for all that lie within the tolerance of it."""
    heads: list[int] = []
    for count in sorted({each.examples for each in members}, key=lambda count: (-_times(members, count), count)):
        if all(abs(count - head) > TOLERANCE * head for head in heads):
            heads.append(count)
    return lambda each: min(heads, key=lambda head: abs(each.examples - head))


def _times(members: Sequence[Result], count: int) -> int:
    return sum(each.examples == count for each in members)


def _others(count: int) -> str:
    return "another has" if count == 1 else f"{count:,} others have"


def _spelt(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) else str(value) or "(none)"


def _cells(members: Sequence[Result]) -> tuple[dict[tuple[Series, int], tuple[Result, ...]], list[LeftOut]]:
    """By series, size and seed. What is unlike most others of the study becomes part of the name of the series."""
    varied = _varied_settings(members)
    usual_preset = usual_value([each.preset for each in members]) if members else ""
    cells: dict[tuple[Series, int], dict[int, Result]] = defaultdict(dict)
    doubles = []
    for each in members:
        same_preset = [other for other in members if other.preset == each.preset]
        renaming = [other for other in same_preset if other.strategy != UNNUMBERED]
        extras = [] if each.preset == usual_preset else [f"preset={each.preset}"]
        if each.strategy != UNNUMBERED and each.placeholders != usual_value([other.placeholders for other in renaming]):
            extras.append(f"{each.placeholders:,} placeholders")
        usual = {key: usual_value([other.settings.get(key) for other in same_preset]) for key in varied}
        extras += [f"{key}={each.settings.get(key)}" for key in varied if each.settings.get(key) != usual[key]]
        seeds = cells[Series(each.strategy, each.pointer, tuple(extras)), each.size]
        if each.seed in seeds:
            doubles.append(LeftOut(each.path, f"is the same cell and seed as {seeds[each.seed].path}"))
        else:
            seeds[each.seed] = each
    return {key: tuple(seeds[seed] for seed in sorted(seeds)) for key, seeds in cells.items()}, doubles


def _is_of_placeholders(extra: str) -> bool:
    return extra.endswith(" placeholders")


def usual_value(values: Sequence[Any]) -> Any:
    """The value that most of them have; of equally many the smallest, or the first by spelling."""
    return min(
        values,
        key=lambda value: (-values.count(value), value if isinstance(value, int | float) else 0, str(value)),
    )


def _varied_settings(members: Sequence[Result]) -> list[str]:
    """Settings by which these results differ, and which do not simply go with the preset or the pointer."""
    presets = dict.fromkeys(each.preset for each in members)
    of_presets = [[each for each in members if each.preset == preset] for preset in presets]
    keys = sorted({key for each in members for key in each.settings} - KNOWN_SETTINGS)
    return [key for key in keys if any(_is_varied(key, alike) for alike in of_presets)]


def _is_varied(key: str, members: Sequence[Result]) -> bool:
    return len({repr(each.settings.get(key)) for each in members}) > 1 and not key.endswith("pointer")
