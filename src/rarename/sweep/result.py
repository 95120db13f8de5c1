"""Result files: `results/EXPERIMENT/TRIAL.json` holds the metrics of one model and all settings to repeat it."""

import dataclasses
import json
from dataclasses import dataclass, field
from pathlib import Path
from reprlib import repr as shorten
from typing import Any, get_origin

from rarename.config import TASK_CONFIGS
from rarename.errors import RunError
from rarename.io import write_text
from rarename.reading import check_shape, read_json
from rarename.syntax import LANGUAGES

FORMAT, VERSION = "rarename-result", 2


@dataclass(frozen=True)
class Result:
    """One trained model, evaluated."""

    experiment: str
    trial: str
    title: str  # of the experiment
    reproduces: str  # the table, figure or section of the paper
    task: str
    language: str
    preset: str
    settings: dict[str, Any]  # all settings by dotted keys, such as `model.d_model`
    corpus: dict[str, Any]  # `name`, `digest` and the number of `projects`
    code: dict[str, Any]
    """`version` of rarename, and `recipe`: a number that grows when the same settings train differently than before."""
    split: str
    examples: int = 0  # training examples seen
    seconds: float = 0.0  # training time
    metrics: dict[str, Any] = field(default_factory=dict)  # as `rarename evaluate` computes them
    curve: list[dict[str, Any]] = field(default_factory=list)  # metrics on the validation split during training
    eval_seconds: float = 0.0
    embeddings: dict[str, Any] = field(default_factory=dict)
    """`points` (x, y, "placeholder" or "vocabulary", name) and mean `cosine` similarities, if requested."""


_COUNT = range(2**63)
_SHAPE = {each.name: get_origin(each.type) or each.type for each in dataclasses.fields(Result)} | {
    "settings": {
        "encoding.strategy": str,
        **dict.fromkeys(("encoding.vocabulary_size", "model.d_model", "model.num_layers", "seed"), _COUNT),
    },
    "task": tuple(TASK_CONFIGS),
    "language": tuple(LANGUAGES),
    "code": {"recipe": _COUNT},
    "corpus": {"name": str, "digest": str, "projects": _COUNT},
    "examples": _COUNT,
    "curve": [{"examples": _COUNT, "validation": dict}],
}
_EMBEDDINGS_SHAPE = {"points": [list], "cosine": {str: float}}


def number_at(table: Any, *path: str) -> float | None:
    """The number at a path of keys: `number_at(result.metrics, "by_rarity", "both rare", "joint_accuracy")`."""
    for key in path:
        table = table.get(key) if isinstance(table, dict) else None
    return table if isinstance(table, int | float) else None


def read_result(path: Path) -> Result:
    """Read a result file; any fault in it is a `RunError`."""
    try:
        content = read_json(path)
    except (OSError, ValueError) as error:
        raise RunError(f"{path} cannot be read: {error}") from error
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise RunError(f'{path} is not a result file: expected "format": "{FORMAT}"')
    if content.get("version") != VERSION:
        raise RunError(f"{path} has version {content.get('version')!r}; this rarename reads version {VERSION}")
    try:
        result = Result(**{key: value for key, value in content.items() if key not in ("format", "version")})
        check_shape(vars(result), _SHAPE)
        if result.embeddings:
            check_shape(result.embeddings, _EMBEDDINGS_SHAPE, "embeddings")
        check_shape(result.metrics.get("by_project", {}), {str: dict}, "metrics.by_project")
        _check_values(result.metrics, (int, float), "metrics")
        for number, point in enumerate(result.curve):
            _check_values(point["validation"], (int, float), f"curve[{number}].validation")
        _check_values(result.settings, (int, float, bool, str), "settings")
        json.dumps(content, ensure_ascii=False).encode()  # UnicodeEncodeError: half of a character cannot be written
    except (TypeError, ValueError) as error:
        raise RunError(f"{path} is damaged: {error}") from error
    if not result.metrics:
        raise RunError(f"{path} has no metrics")
    return result


def _check_values(value: Any, kinds: tuple[type, ...], name: str) -> None:
    """Raise ValueError unless a value, or each in a table of tables, is of one of these types, numbers below 2**63."""
    if isinstance(value, dict):
        for key, item in value.items():
            _check_values(item, kinds, f"{name}.{key}")
    elif type(value) not in kinds or (type(value) is not str and abs(value) >= 2**63):
        raise ValueError(f"{name} is {shorten(value)}; expected {' or '.join(each.__name__ for each in kinds)}")


def read_results(folder: Path) -> tuple[list[Result], list[str]]:
    """All results in a folder, and an error message for each file that cannot be read."""
    results, errors = [], []
    for path in sorted(folder.glob("*/*.json")):
        try:
            results.append(read_result(path))
        except RunError as error:
            errors.append(str(error))
    return results, errors


def write_result(path: Path, result: Result) -> None:
    """Write a line for each field: two results can be compared line by line."""
    content = {"format": FORMAT, "version": VERSION, **dataclasses.asdict(result)}
    lines = [f"{json.dumps(key)}: {json.dumps(value, allow_nan=False)}" for key, value in content.items()]
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path, "{\n" + ",\n".join(lines) + "\n}\n")
