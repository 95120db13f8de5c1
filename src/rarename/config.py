"""Experiment: the whole setting of a run as one frozen dataclass, TOML in and out."""

import dataclasses
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rarename.errors import RunError, UnknownName, UsageError, check_least
from rarename.io import write_text
from rarename.model import ModelConfig
from rarename.tasks.completion.task import CompletionConfig
from rarename.tasks.misuse.task import MisuseConfig
from rarename.training.trainer import TrainingConfig

VERSION = 1
"""Of `experiment.toml`; another one means that the same words no longer mean the same training."""

TaskConfig = MisuseConfig | CompletionConfig

TASKS: dict[str, type[MisuseConfig] | type[CompletionConfig]] = {
    "misuse": MisuseConfig,
    "completion": CompletionConfig,
}
"""What can be learned, by the name that `task.name` says."""


@dataclass(frozen=True)
class EncodingConfig:
    """How names become ids."""

    vocabulary_size: int = 1_000
    """Values kept by name."""
    strategy: str = "ordered"
    """A key of `anonymize.STRATEGIES`."""
    placeholders: int = 250
    """At least the length of the longest snippet."""
    parts: int = 0
    """Parts of names (`max` and `index` of `maxIndex`) that the model is told beside them; the paper has none."""

    def __post_init__(self) -> None:
        check_least(self, vocabulary_size=0, placeholders=0, parts=0)


@dataclass(frozen=True)
class Experiment:
    """All that a run depends on, besides the code: running it again repeats the run."""

    corpus: str
    """The folder of the corpus."""
    corpus_digest: str = ""
    """Tells whether the corpus is still the one that the run began with; the run sets it."""
    seed: int = 0
    """Of the weights, the order of the examples, the misuses, and the placeholders drawn at random."""
    encoding: EncodingConfig = field(default_factory=EncodingConfig)
    task: TaskConfig = field(default_factory=MisuseConfig)
    model: ModelConfig = field(default_factory=ModelConfig)
    training: TrainingConfig = field(default_factory=TrainingConfig)

    def __post_init__(self) -> None:
        check_least(self, seed=0)


Preset = dict[str, dict[str, Any]]

_SMALL_MISUSE: Preset = {
    "model": {
        "width": 128, "layers": 3, "heads": 4, "inner_width": 512, "dropout": 0.0,
        "is_matching": True, "sees_neighbours": True, "is_scaled": True,
    },
    "training": {"learning_rate": 1e-3, "schedule": "linear", "warmup": 200, "epochs": 3.0, "batch_nodes": 1_000},
}  # fmt: skip

_SMALL_COMPLETION: Preset = {
    "encoding": {"placeholders": 500},
    "task": {"stride": 500},
    "model": {
        "width": 128, "layers": 3, "heads": 2, "inner_width": 512, "distance": 32, "dropout": 0.0,
        "is_causal": True, "is_matching": True, "is_copying": True, "sees_neighbours": True,
        "is_scaled": True,
    },
    "training": {
        "learning_rate": 3e-3, "schedule": "linear", "warmup": 200, "epochs": 1.0, "batch_nodes": 1_000,
        "validate_every": 4_000, "validation_snippets": 200,
    },
}  # fmt: skip

PRESETS: dict[str, dict[str, Preset]] = {
    "misuse": {
        "paper": {
            "model": {"width": 512, "layers": 6, "heads": 8, "inner_width": 2048, "distance": 8, "dropout": 0.2},
            "training": {
                "learning_rate": 1e-5, "schedule": "constant", "warmup": 0, "epochs": 25.0, "batch_nodes": 2_500,
                "clip": 0.0, "weight_decay": 0.0,
            },
        },
        "small": _SMALL_MISUSE,
        "check": {
            "encoding": {"vocabulary_size": 5_000, "placeholders": 400, "parts": 6_000},
            "task": {
                "way": "local", "likeness": 4.0, "max_nodes": 400, "head": "pairs", "counts_uses": True,
                "dense_epochs": 3,
            },
            "model": _SMALL_MISUSE["model"] | {"layers": 4},
            "training": _SMALL_MISUSE["training"] | {"epochs": 4.0},
        },
        "tiny": {
            "model": _SMALL_MISUSE["model"] | {"width": 64, "layers": 2, "inner_width": 128},
            "training": _SMALL_MISUSE["training"] | {"learning_rate": 3e-3, "warmup": 100, "epochs": 4.0},
        },
    },
    "completion": {
        "paper": {
            "encoding": {"placeholders": 500},
            "model": {
                "width": 512, "layers": 6, "heads": 8, "inner_width": 2048, "distance": 32, "dropout": 0.1,
                "is_causal": True,
            },
            "training": {
                "learning_rate": 1e-3, "schedule": "cosine", "warmup": 2_000, "epochs": 20.0, "batch_nodes": 16_000,
                "clip": 0.2, "weight_decay": 0.0,
            },
        },
        "small": _SMALL_COMPLETION,
        "complete": _SMALL_COMPLETION | {
            "encoding": {"vocabulary_size": 5_000, "placeholders": 500},
            "task": {"stride": 500, "has_pointer": True},
            "training": _SMALL_COMPLETION["training"] | {"validate_every": 8_000, "validation_snippets": 400},
        },
        "tiny": _SMALL_COMPLETION | {
            "model": _SMALL_COMPLETION["model"] | {"width": 64, "layers": 2, "inner_width": 128},
            "training": _SMALL_COMPLETION["training"] | {"warmup": 100, "epochs": 2.0, "validate_every": 2_000},
        },
    },
}  # fmt: skip
"""For each task, sizes for many graphics cards (the paper's), for a few cores, for the models in the package (which go
beyond the paper: docs/variable-misuse.md), and for a demonstration."""


PRESETS_OF_LANGUAGES: dict[tuple[str, str, str], Preset] = {
    ("misuse", "paper", "javascript"): {"training": {"epochs": 40.0}},
}
"""What a preset has otherwise for a language."""


def build(corpus: str, preset: str, settings: dict[str, Any], language: str = "", task: str = "misuse") -> Experiment:
    """An experiment from a preset and settings, which may be nested or have dotted keys (`model.width`).

    >>> build("c", "paper", {}).training.epochs, build("c", "paper", {}, "javascript").training.epochs
    (25.0, 40.0)
    >>> build("c", "small", {"model.layers": 2, "seed": 7}).model.layers
    2
    """
    if task not in TASKS:
        raise UnknownName("task", task, TASKS)
    if preset not in PRESETS[task]:
        raise UnknownName(f"preset of {task}", preset, PRESETS[task])
    of_language = PRESETS_OF_LANGUAGES.get((task, preset, language), {})
    merged: dict[str, Any] = {"corpus": corpus, "task.name": task}
    merged |= flattened(PRESETS[task][preset]) | flattened(of_language) | flattened(settings)
    if merged["task.name"] != task:
        raise UsageError(f"the settings are for {merged['task.name']}, not for {task}")
    experiment: Experiment = _from_flat(Experiment, merged, "")
    return experiment


def read(path: Path) -> Experiment:
    """Read what `write` wrote. Nothing may be missing: the default of today need not be what was trained with."""
    settings = flattened(read_settings(path))
    task = TASKS.get(settings.get("task.name", ""), MisuseConfig)
    known = {"version", *flattened(dataclasses.asdict(Experiment("", task=task())))}
    if wrong := [f"has no {key}" for key in sorted(known - settings.keys())] + [
        f"has {key}, which this version does not know" for key in sorted(settings.keys() - known)
    ]:
        raise RunError(f"{path} was written by another version of rarename: it {', '.join(wrong)}; {_WAY_OUT}")
    del settings["version"]
    experiment: Experiment = _from_flat(Experiment, settings, "")
    return experiment


def read_settings(path: Path) -> dict[str, Any]:
    """Some or all settings, as they stand in a file."""
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise UsageError(f"{path} cannot be read: {error}") from error
    if (version := content.get("version", VERSION)) != VERSION:
        raise RunError(f"{path} is of version {version!r}; this rarename reads version {VERSION}; {_WAY_OUT}")
    return content


_WAY_OUT = "use the rarename that made it, or train again with this one"


def write(experiment: Experiment, path: Path) -> None:
    """Write an experiment as TOML."""
    tables = dataclasses.asdict(experiment)
    plain = {key: value for key, value in tables.items() if not isinstance(value, dict)}
    lines = [f"version = {VERSION}", *(f"{key} = {_spelt(value)}" for key, value in plain.items())]
    for name, table in tables.items():
        if isinstance(table, dict):
            lines += ["", f"[{name}]", *(f"{key} = {_spelt(value)}" for key, value in table.items())]
    write_text(path, "\n".join(lines) + "\n")


def _spelt(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    return repr(value)


def flattened(table: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """Tables in tables as one with dotted keys.

    >>> flattened({"seed": 0, "model": {"width": 64}})
    {'seed': 0, 'model.width': 64}
    """
    result: dict[str, Any] = {}
    for key, value in table.items():
        result |= flattened(value, f"{prefix}{key}.") if isinstance(value, dict) else {prefix + key: value}
    return result


def _from_flat(kind: Any, settings: dict[str, Any], prefix: str) -> Any:
    """Build a dataclass; a key that it does not have, or a value of another type, is an error."""
    known = {entry.name: entry for entry in dataclasses.fields(kind)}
    kinds = {name: entry.type for name, entry in known.items()}
    if kinds.get("task") is TaskConfig:
        kinds["task"] = TASKS.get(settings.get("task.name", ""), MisuseConfig)
    values: dict[str, Any] = {}
    for key in settings:
        if key.split(".")[0] not in known:
            raise UsageError(f"no setting {prefix + key!r}; choose one of {', '.join(prefix + name for name in known)}")
    for name, its_kind in kinds.items():
        nested = {key[len(name) + 1 :]: value for key, value in settings.items() if key.startswith(f"{name}.")}
        if dataclasses.is_dataclass(its_kind):
            if name in settings:
                raise UsageError(f"{prefix + name} is a table of settings, not {settings[name]!r}")
            values[name] = _from_flat(its_kind, nested, f"{prefix}{name}.")
        elif nested:
            raise UsageError(f"no setting {prefix}{name}.{next(iter(nested))!s}")
        elif name in settings:
            values[name] = _checked(settings[name], its_kind, prefix + name)
    try:
        return kind(**values)
    except (TypeError, ValueError) as error:
        is_of_setting = str(error).partition(" ")[0] in known
        where = prefix if is_of_setting else f"{prefix.rstrip('.') or 'experiment'}: "
        raise UsageError(f"{where}{error}") from error


def _checked(value: Any, kind: Any, name: str) -> Any:
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if type(value) is not kind:
        raise UsageError(f"{name} is {value!r}; expected {kind.__name__}")
    return value


def differences(experiment: Experiment, other: Experiment) -> list[str]:
    """The settings in which two experiments differ.

    >>> differences(Experiment("a"), Experiment("a", seed=3))
    ['seed (0, not 3)']
    """
    ours, others = (flattened(dataclasses.asdict(each)) for each in (experiment, other))
    return [f"{key} ({value!r}, not {others[key]!r})" for key, value in ours.items() if value != others[key]]


def replace_corpus(experiment: Experiment, corpus: str) -> Experiment:
    """The same experiment on another corpus."""
    return dataclasses.replace(experiment, corpus=corpus)
