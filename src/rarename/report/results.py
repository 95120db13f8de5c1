"""A result file: the scores of one trained model, with all that is needed to repeat it."""

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FORMAT, VERSION = "rarename-result", 1
REPORT = "rarename-report"
"""The format of the report's own `results.json`: passed over, if it was written among the results."""

TASKS = ("misuse", "completion")
"""In the order of the report."""


@dataclass(frozen=True)
class Result:
    """One trained model, measured."""

    path: str
    """Where it was read, below the folder of results."""
    experiment: str
    cell: str
    task: str
    language: str
    preset: str
    strategy: str
    vocabulary_size: int
    placeholders: int
    pointer: bool
    seed: int
    settings: dict[str, Any]
    corpus: dict[str, Any]
    code: dict[str, Any]
    commands: tuple[str, ...]
    split: str
    examples: int
    seconds: float
    scores: dict[str, Any]
    curve: tuple[dict[str, Any], ...]
    embeddings: dict[str, Any]
    title: str = ""
    """Of the experiment; results of earlier versions have none."""
    shows: str = ""
    """What of the paper the experiment repeats."""

    @property
    def size(self) -> int:
        """Names that are kept: none in full anonymization, whatever the size of the vocabulary."""
        return 0 if self.strategy == "full" else self.vocabulary_size

    @property
    def digest(self) -> str:
        return str(self.corpus.get("digest", ""))

    @property
    def recipe(self) -> int:
        recipe = self.code.get("recipe", 0)
        return recipe if isinstance(recipe, int) else 0

    def score(self, *keys: str) -> float | None:
        """A number of the scores, by its path: `score("by_rarity", "both rare", "joint_accuracy")`.

        A group without misuses has no accuracy.
        """
        is_of_none = keys[-1].startswith("joint") and number_at(self.scores, *keys[:-1], "num_buggy") == 0
        return None if is_of_none else number_at(self.scores, *keys)

    def best_validation(self, key: str) -> float | None:
        """The best score on the validation split while training, which the weights that were measured had."""
        found = [number_at(point, "validation", key) for point in self.curve]
        return max((score for score in found if score is not None), default=None)


@dataclass(frozen=True, order=True)
class LeftOut:
    """A file that is in no table, and why."""

    path: str
    reason: str


class _Unfit(Exception):
    """Why a file is no result."""


def number_at(table: Any, *keys: str) -> float | None:
    """The number at a path of keys; None if there is none."""
    for key in keys:
        table = table.get(key) if isinstance(table, dict) else None
    return None if isinstance(table, bool) or not isinstance(table, int | float) else table


def read_results(folder: Path) -> tuple[list[Result], list[LeftOut]]:
    """All results in a folder and the folders in it. Whatever is none is named with the reason."""
    results: list[Result] = []
    left_out: list[LeftOut] = []
    for path in sorted(folder.rglob("*.json")):
        name = path.relative_to(folder).as_posix()
        try:
            content = _content(path)
            if content.get("format") != REPORT:
                results.append(_result(name, content))
        except _Unfit as unfit:
            left_out.append(LeftOut(name, str(unfit)))
    return results, left_out


def _content(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise _Unfit(f"cannot be read: {error.strerror or error}") from error
    except (UnicodeDecodeError, ValueError, RecursionError) as error:
        raise _Unfit(f"is no JSON: {error}") from error
    if not isinstance(content, dict) or content.get("format") not in (FORMAT, REPORT):
        raise _Unfit(f'is no result of rarename: it has no "format": "{FORMAT}"')
    if content.get("version") != VERSION:
        raise _Unfit(f"is of version {content.get('version')!r}; this rarename reads version {VERSION}")
    return content


def _result(path: str, content: dict[str, Any]) -> Result:
    read = _Reader(content)
    result = Result(
        path=path,
        experiment=read.text("experiment"),
        cell=read.text("cell"),
        task=read.text("task"),
        language=read.text("language"),
        preset=read.text("preset"),
        strategy=read.text("strategy"),
        vocabulary_size=int(read.number("vocabulary_size")),
        placeholders=int(read.number("placeholders", 0)),
        pointer=read.value("pointer", bool, False),
        seed=int(read.number("seed")),
        settings=read.value("settings", dict, {}),
        corpus=read.value("corpus", dict, {}),
        code=read.value("code", dict, {}),
        commands=tuple(str(command) for command in read.value("commands", list, [])),
        split=read.value("split", str, ""),
        examples=int(read.number("examples", 0)),
        seconds=read.number("seconds", 0),
        scores=read.value("scores", dict, {}),
        curve=tuple(point for point in read.value("curve", list, []) if isinstance(point, dict)),
        embeddings=read.value("embeddings", dict, {}),
        title=read.text("title", ""),
        shows=read.text("shows", ""),
    )
    if result.task not in TASKS:
        raise _Unfit(f"has the task {result.task!r}; expected one of {', '.join(TASKS)}")
    if result.vocabulary_size < 0:
        raise _Unfit(f"has the vocabulary size {result.vocabulary_size}")
    if not result.scores and not result.embeddings:
        raise _Unfit("has neither scores nor embeddings")
    if wrong := _not_finite({"scores": result.scores, "curve": result.curve, "embeddings": result.embeddings}):
        raise _Unfit(f"has no number in {wrong}")
    return result


@dataclass(frozen=True)
class _Reader:
    """The fields of a file, each checked for its kind."""

    content: dict[str, Any]

    def value(self, key: str, kind: type, default: Any = None) -> Any:
        value = self.content.get(key, default)
        if value is None:
            raise _Unfit(f"has no {key}")
        if not isinstance(value, kind):
            raise _Unfit(f"has {value!r} as {key}; expected {kind.__name__}")
        return value

    def text(self, key: str, default: str | None = None) -> str:
        """One line, whatever stands in the file: it becomes part of headings and tables."""
        return " ".join(str(self.value(key, str, default)).split())

    def number(self, key: str, default: float | None = None) -> float:
        value = self.content.get(key, default)
        if value is None:
            raise _Unfit(f"has no {key}")
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            raise _Unfit(f"has {value!r} as {key}; expected a number")
        return value


def _not_finite(tree: Any, path: str = "") -> str:
    """The path of a number that is none; a training that went astray must not become a mean."""
    if isinstance(tree, dict):
        pairs = [(str(key), value) for key, value in tree.items()]
    elif isinstance(tree, list | tuple):
        pairs = [(str(number), value) for number, value in enumerate(tree)]
    else:
        return path if isinstance(tree, float) and not math.isfinite(tree) else ""
    return next((wrong for key, value in pairs if (wrong := _not_finite(value, f"{path}.{key}" if path else key))), "")
