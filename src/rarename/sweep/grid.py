"""An experiment file: many trainings as grids of settings, each of them a cell with a name."""

import itertools
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rarename.anonymize import strategy_named
from rarename.config import Experiment, build, flattened
from rarename.errors import RarenameError, UnknownName, UsageError

SHORT = {
    "strategy": "encoding.strategy",
    "vocabulary_size": "encoding.vocabulary_size",
    "placeholders": "encoding.placeholders",
    "pointer": "task.has_pointer",
    "seed": "seed",
}
"""The settings that a grid names by one word; all others it names as they are, such as `model.layers`."""

_KEYS: dict[str, type] = {
    "title": str,
    "shows": str,
    "task": str,
    "preset": str,
    "corpus": str,
    "runs": str,
    "settings": dict,
    "grid": list,
    "embeddings": dict,
}
_NEEDED = ("title", "task", "corpus", "grid")
_NAME = re.compile(r"[A-Za-z0-9][\w.-]*")


@dataclass(frozen=True)
class Cell:
    """One training of an experiment."""

    name: str
    """For people and for files: `ordered-1000-0`."""
    preset: str
    settings: dict[str, Any]
    """What it has otherwise than its preset, by dotted keys."""

    def options(self) -> list[str]:
        """The same as words behind `rarename train TASK`."""
        words = ["--preset", self.preset]
        for key, value in self.settings.items():
            match key:
                case "encoding.strategy":
                    words += ["--strategy", value]
                case "encoding.vocabulary_size":
                    words += ["--vocabulary-size", str(value)]
                case "seed":
                    words += ["--seed", str(value)]
                case "task.has_pointer" if value:
                    words += ["--pointer"]
                case _:
                    words += ["--set", f"{key}={_spelt(value)}"]
        return words


@dataclass(frozen=True)
class Plan:
    """What an experiment file asks for."""

    name: str
    """That of the file."""
    title: str
    shows: str
    """What of the paper it repeats."""
    task: str
    corpus: str
    runs: str
    """The experiment in whose folder the runs are: its own, or another one that trains the same models."""
    has_embeddings: bool
    """Whether the embeddings of values are looked at."""
    cells: tuple[Cell, ...]

    def experiment(self, cell: Cell, corpus: str, language: str = "") -> Experiment:
        """The whole setting of a cell."""
        return build(corpus, cell.preset, cell.settings, language, self.task)


def read(path: Path) -> Plan:
    """Read an experiment file; all that is wrong with it is said before anything is trained."""
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise UsageError(f"{path} cannot be read: {error}") from error
    try:
        return _plan(path.name.removesuffix(".toml"), content)
    except RarenameError as error:
        raise UsageError(f"{path}: {error}") from error


def _plan(name: str, content: dict[str, Any]) -> Plan:
    for key, value in content.items():
        if key not in _KEYS:
            raise UnknownName("key", key, _KEYS)
        if not isinstance(value, _KEYS[key]):
            raise UsageError(f"{key} is {value!r}; expected {_KEYS[key].__name__}")
    if missing := [key for key in _NEEDED if not content.get(key)]:
        raise UsageError(f"it has no {', no '.join(missing)}")
    runs = content.get("runs", name)
    for each in (name, runs):
        if not _NAME.fullmatch(each):
            raise UsageError(f"{each!r} is no name of an experiment; use letters, digits, hyphens and dots")
    if content.get("embeddings"):
        raise UsageError(f"[embeddings] has no settings, but {', '.join(content['embeddings'])} is given")
    return Plan(
        name=name,
        title=content["title"],
        shows=content.get("shows", ""),
        task=content["task"],
        corpus=content["corpus"],
        runs=runs,
        has_embeddings="embeddings" in content,
        cells=tuple(_cells(content)),
    )


def _cells(content: dict[str, Any]) -> list[Cell]:
    """The cells of all grids; what is the same stands there once."""
    shared = flattened(content.get("settings", {}))
    cells: list[Cell] = []
    known: dict[str, Experiment] = {}
    for grid in content["grid"]:
        if not isinstance(grid, dict):
            raise UsageError(f"grid has {grid!r}; expected [[grid]] with settings below it")
        for choice in _choices(grid):
            cell, experiment = _cell(content["task"], content.get("preset", "small"), shared, choice)
            assert known.get(cell.name, experiment) == experiment, "a name tells all that a grid names"
            if experiment not in known.values():
                cells.append(cell)
                known[cell.name] = experiment
    return cells


def _choices(grid: dict[str, Any]) -> list[dict[str, Any]]:
    """Each way to choose one of each list."""
    lists = {key: value if isinstance(value, list) else [value] for key, value in flattened(grid).items()}
    for key, values in lists.items():
        if "." not in key and key not in SHORT and key != "preset":
            known = f"{', '.join(SHORT)}, preset, or any setting with a dot, such as model.layers"
            raise UsageError(f"no key {key!r} of a grid; choose one of {known}")
        if key in SHORT and SHORT[key] != key and SHORT[key] in lists:
            raise UsageError(f"a grid has both {key} and {SHORT[key]}, which are the same")
        if not values:
            raise UsageError(f"{key} of a grid is an empty list")
    return [dict(zip(lists, values, strict=True)) for values in itertools.product(*lists.values())]


def _cell(task: str, preset: str, shared: dict[str, Any], choice: dict[str, Any]) -> tuple[Cell, Experiment]:
    preset = choice.get("preset", preset)
    named = {SHORT.get(key, key): value for key, value in choice.items() if key != "preset"}
    given = shared | named
    if given.get("encoding.strategy") == "full" and "encoding.vocabulary_size" not in given:
        given["encoding.vocabulary_size"] = 0  # no value keeps its name
    # In the order of the command line, whatever the order in the file.
    settings = {key: given[key] for key in SHORT.values() if key in given} | given
    experiment = build("", preset, settings, task=task)
    strategy_named(experiment.encoding.strategy)
    parts = [experiment.encoding.strategy]
    parts += ["pointer"] if getattr(experiment.task, "has_pointer", False) else []
    parts += [str(choice["vocabulary_size"])] if "vocabulary_size" in choice else []
    parts += [f"an{choice['placeholders']}"] if "placeholders" in choice else []
    parts += [preset] if "preset" in choice else []
    parts += [str(experiment.seed)]
    parts += [f"{key}={_spelt(value)}" for key, value in choice.items() if "." in key]
    return Cell(re.sub(r"[^\w.=+-]+", "_", "-".join(parts)), preset, settings), experiment


def _spelt(value: Any) -> str:
    """As `--set` reads it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str) and (not re.fullmatch(r"[A-Za-z_][\w-]*", value) or value in ("true", "false")):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    return str(value)
