"""Experiment files: grids of settings, whose points are named trials."""

import itertools
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rarename.config import ExperimentConfig, flatten
from rarename.errors import RarenameError, UnknownName, UsageError
from rarename.presets import preset_config
from rarename.reading import read_toml

SHORT_KEYS = {
    "strategy": "encoding.strategy",
    "vocabulary_size": "encoding.vocabulary_size",
    "num_placeholders": "encoding.num_placeholders",
    "copy_pointer": "task.copy_pointer",
    "seed": "seed",
}
"""Settings that a grid may name by one word; all others have a dot, such as `model.num_layers`."""

KEYS: dict[str, type] = {
    "title": str, "reproduces": str, "task": str, "preset": str, "corpus": str, "settings": dict, "grid": list,
    "embeddings": dict,
}  # fmt: skip
REQUIRED_KEYS = ("title", "task", "corpus", "grid")


@dataclass(frozen=True)
class Trial:
    """One training of a sweep."""

    name: str  # what was chosen from the grids, such as `ordered-1000-0` (strategy, vocabulary size, seed)
    task: str
    preset: str
    settings: dict[str, Any]  # what differs from the preset, by dotted keys

    def config(self, corpus: str = "", language: str = "") -> ExperimentConfig:
        return preset_config(corpus, self.preset, self.settings, language, self.task)


@dataclass(frozen=True)
class SweepSpec:
    """The content of an experiment file."""

    name: str  # the name of the file, without its ending
    title: str
    reproduces: str  # the table, figure or section of the paper
    corpus: str
    has_embeddings: bool  # whether results include the value embeddings
    trials: tuple[Trial, ...]


def load_sweep(path: Path) -> SweepSpec:
    """Read an experiment file; any fault in it is an error before training starts."""
    try:
        return _spec(path.name.removesuffix(".toml"), read_toml(path))
    except (OSError, ValueError) as error:
        raise UsageError(f"{path} cannot be read: {error}") from error
    except RarenameError as error:
        raise UsageError(f"{path}: {error}") from error


def _spec(name: str, content: dict[str, Any]) -> SweepSpec:
    for key, value in content.items():
        if key not in KEYS:
            raise UnknownName("key", key, KEYS)
        if not isinstance(value, KEYS[key]):
            raise UsageError(f"{key} is {value!r}; expected {KEYS[key].__name__}")
    if missing := [key for key in REQUIRED_KEYS if not content.get(key)]:
        raise UsageError(f"{', '.join(missing)} missing; expected {', '.join(REQUIRED_KEYS)}")
    if content.get("embeddings"):
        raise UsageError(f"[embeddings] takes no settings, but has {', '.join(content['embeddings'])}")
    trials: dict[ExperimentConfig, Trial] = {}
    for grid in content["grid"]:
        for choice in _choices(grid):
            trial = _trial(content, choice)
            trials.setdefault(trial.config(), trial)  # equal ones are trained once
    names = [trial.name for trial in trials.values()]
    if repeated := [name for name in names if names.count(name) > 1]:
        raise UsageError(f"different trials have the name {repeated[0]}; rename or remove one of their values")
    title, reproduces, corpus = content["title"], content.get("reproduces", ""), content["corpus"]
    return SweepSpec(name, title, reproduces, corpus, "embeddings" in content, tuple(trials.values()))


def _choices(grid: Any) -> list[dict[str, Any]]:
    """Every combination of one value from each list."""
    if not isinstance(grid, dict):
        raise UsageError(f"grid has {grid!r}; expected [[grid]] and settings below it")
    lists = {key: value if isinstance(value, list) else [value] for key, value in flatten(grid).items()}
    for key, values in lists.items():
        if "." not in key and key not in SHORT_KEYS and key != "preset":
            raise UnknownName("key of a grid", key, [*SHORT_KEYS, "preset, or a setting such as model.num_layers"])
        if SHORT_KEYS.get(key, key) != key and SHORT_KEYS[key] in lists:
            raise UsageError(f"a grid has both {key} and {SHORT_KEYS[key]}, which are the same setting")
        if not values:
            raise UsageError(f"{key} of a grid is an empty list")
    return [dict(zip(lists, values, strict=True)) for values in itertools.product(*lists.values())]


def _trial(content: dict[str, Any], choice: dict[str, Any]) -> Trial:
    preset = choice.get("preset", content.get("preset", "small"))
    settings = flatten(content.get("settings", {}))
    settings |= {SHORT_KEYS.get(key, key): value for key, value in choice.items() if key != "preset"}
    if settings.get("encoding.strategy") == "full":
        settings.setdefault("encoding.vocabulary_size", 0)
    config = Trial("", content["task"], preset, settings).config()
    parts = [config.encoding.strategy]
    parts += ["pointer"] if settings.get("task.copy_pointer") else []
    parts += [str(choice["vocabulary_size"])] if "vocabulary_size" in choice else []
    parts += [f"an{choice['num_placeholders']}"] if "num_placeholders" in choice else []
    parts += [preset] if "preset" in choice else []
    parts += [str(config.seed)]
    parts += [f"{key}={str(value).lower()}" for key, value in choice.items() if "." in key]
    return Trial(re.sub(r"[^\w.=+-]+", "_", "-".join(parts)), content["task"], preset, settings)
