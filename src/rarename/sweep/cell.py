"""How far a cell of an experiment is: what its result file and its run folder say."""

import dataclasses
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open

from rarename import config as experiments
from rarename.config import Experiment, flattened
from rarename.encoding import Encoding
from rarename.errors import RarenameError, RunError
from rarename.runs.embeddings import TENSOR
from rarename.runs.run import ENCODING, SETTING, WEIGHTS
from rarename.training.trainer import METRICS, STATE

FORMAT, VERSION = "rarename-result", 1
"""Of a result file, as `evaluation.results` reads it."""

PLACES = ("corpus", "corpus_digest")
"""Settings that say where the corpus lies, and which one it is: the path may change, the digest is compared apart."""


@dataclass(frozen=True)
class Look:
    """What was found."""

    state: str
    """Of a result: done, measured (by another experiment), missing, stale or damaged.
    Of a run: finished, begun, missing, unlike or damaged."""
    why: str = ""
    """What is wrong with it."""
    content: dict[str, Any] = field(default_factory=dict)
    """Of a result."""
    examples: int = 0
    """That a run has learned from."""
    total: int = 0
    """That it is to learn from; 0 as long as it is not known."""
    seconds: float = 0.0
    """That a run was trained."""


def settings_of(experiment: Experiment) -> dict[str, Any]:
    """All settings, by dotted keys."""
    return flattened(dataclasses.asdict(experiment))


def look_at_result(path: Path, wanted: Experiment, has_embeddings: bool) -> Look:
    """Whether a result file is there, whole, and of just this setting, corpus and recipe."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        if (content["format"], content["version"]) != (FORMAT, VERSION):
            return Look("stale", f"it is of format {content['format']} version {content['version']}")
        settings, digest = dict(content["settings"]), content["corpus"]["digest"]
        recipe = content["code"]["recipe"]
        if not (content["scores"] and isinstance(content["seconds"], int | float)):
            return Look("damaged", "it has no scores")
    except FileNotFoundError:
        return Look("missing")
    except (ValueError, KeyError, TypeError, OSError) as error:
        return Look("damaged", f"it cannot be read: {error!r}")
    unlike = _unlike(settings, settings_of(wanted))
    if digest != wanted.corpus_digest:
        unlike.append(f"corpus digest ({str(digest)[:12]}, not {wanted.corpus_digest[:12]})")
    if recipe != experiments.VERSION:
        unlike.append(f"recipe ({recipe!r}, not {experiments.VERSION!r})")
    if has_embeddings and not content.get("embeddings"):
        unlike.append("embeddings (none)")
    return Look("stale", ", ".join(unlike), content) if unlike else Look("done", content=content)


def look_at_run(folder: Path, wanted: Experiment) -> Look:
    """Whether a run folder is there, whole, and of just this setting and corpus."""
    try:
        if not folder.exists() or all(path.suffix == ".part" for path in folder.iterdir()):
            return Look("missing")
        if not (folder / SETTING).exists():
            return Look("damaged", f"it has no {SETTING}")
        if unlike := _unlike_setting(folder / SETTING, wanted):
            return Look("unlike", ", ".join(unlike))
        experiments.read(folder / SETTING)  # what else may be wrong with it is damage
        encoding = _encoding(folder / ENCODING, wanted) if (folder / ENCODING).exists() else None
        return _look_at_weights(folder, wanted, encoding)
    except (RarenameError, OSError) as error:
        return Look("damaged", str(error))


def _unlike_setting(path: Path, wanted: Experiment) -> list[str]:
    """What a run was trained with otherwise. Another version of rarename has other settings, which is no damage."""
    try:
        saved = flattened(experiments.read_settings(path))
    except RunError as error:
        return [str(error)]
    unlike = _unlike(saved, {"version": experiments.VERSION} | settings_of(wanted))
    digest = str(saved.get("corpus_digest", ""))
    if digest != wanted.corpus_digest:
        unlike.append(f"corpus digest ({digest[:12]}, not {wanted.corpus_digest[:12]})")
    return unlike


def _encoding(path: Path, wanted: Experiment) -> Encoding:
    """The encoding of a run; one that another setting would make is an error."""
    encoding, config = Encoding.load(path), wanted.encoding
    ours = {
        "strategy": encoding.strategy,
        "vocabulary_size": len(encoding.values),
        "placeholders": encoding.num_placeholders,
    }
    if unlike := _unlike(ours, {key: getattr(config, key) for key in ours}):
        raise RunError(f"{path} is of another run: {', '.join(unlike)}")
    return encoding


def _look_at_weights(folder: Path, wanted: Experiment, encoding: Encoding | None) -> Look:
    """How far training is; files that are missing, cut off, or do not belong together, are an error."""
    weights = _header(folder / WEIGHTS)[1] if (folder / WEIGHTS).exists() else {}
    if not (folder / STATE).exists():
        return Look("begun")
    position, tensors = _header(folder / STATE)
    try:
        examples, seconds = int(position["position.examples"]), float(position["position.seconds"])
        best, stale = float(position["position.best"]), int(position["position.stale"])
        looked = int(position["position.next_validation"]) - wanted.training.validate_every
    except (KeyError, ValueError) as error:
        raise RunError(f"{folder / STATE} does not say how far training is: {error!r}") from error
    state = {key.removeprefix("model."): shape for key, shape in tensors.items() if key.startswith("model.")}
    if encoding is None:
        raise RunError(f"{folder / ENCODING} is missing")
    if state.get(TENSOR, ())[:1] != (encoding.num_values,):
        raise RunError(f"{folder / STATE} and {folder / ENCODING} are of different models")
    if best >= 0 and not weights:
        raise RunError(f"{folder / WEIGHTS} is missing")
    if weights and weights != state:
        raise RunError(f"{folder / WEIGHTS} and {folder / STATE} are of different models")
    metrics = read_metrics(folder)
    # The best score was written there before the state was; before the first look at the split, nothing was.
    if best >= 0 and not metrics:
        raise RunError(f"{folder / METRICS} does not tell what was measured while training")
    total = max((line["total_examples"] for line in metrics), default=0)
    is_over = 0 < total <= examples or 0 < wanted.training.patience <= stale
    measured = metrics[-1]["examples"] if metrics else 0
    if measured < (examples if is_over else looked):
        raise RunError(f"{folder / METRICS} ends at {measured:,} of {examples:,} examples")
    return Look("finished" if is_over and weights else "begun", examples=examples, total=total, seconds=seconds)


def read_metrics(folder: Path) -> list[dict[str, Any]]:
    """What the run told at each look at the validation split; a torn line ends it."""
    lines: list[dict[str, Any]] = []
    path = folder / METRICS
    for text in path.read_text(encoding="utf-8", errors="replace").splitlines() if path.exists() else []:
        try:
            line = json.loads(text)
            numbers = [line[key] for key in ("total_examples", "examples", "seconds", "loss")]
            if not all(isinstance(number, int | float) for number in numbers) or "validation" not in line:
                break
        except (ValueError, KeyError, TypeError):
            break
        lines.append(line)
    return lines


def _header(path: Path) -> tuple[dict[str, str], dict[str, tuple[int, ...]]]:
    """The words and the shapes of a file of tensors; one that is cut off is an error."""
    try:
        with safe_open(path, framework="numpy") as file:
            shapes = {name: tuple(file.get_slice(name).get_shape()) for name in file.keys()}  # noqa: SIM118, no dict
            return dict(file.metadata() or {}), shapes
    except (OSError, SafetensorError) as error:
        raise RunError(f"{path} is damaged: {error}") from error


def _unlike(ours: dict[str, Any], wanted: dict[str, Any]) -> list[str]:
    """What differs, as text; `none` stands for a setting that one of them does not have."""
    keys = [key for key in {**wanted, **ours} if key not in PLACES or key not in ours]
    return [
        f"{key} ({_told(ours, key)}, not {_told(wanted, key)})"
        for key in keys
        if key not in ours or key not in wanted or ours[key] != wanted[key]
    ]


def _told(settings: dict[str, Any], key: str) -> str:
    return repr(settings[key]) if key in settings else "none"
