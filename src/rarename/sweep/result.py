"""Result files: `results/EXPERIMENT/TRIAL.json` holds the metrics of one model and all settings to repeat it."""

import dataclasses
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_origin

from rarename.errors import RunError
from rarename.io import write_text

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


def number_at(table: Any, *path: str) -> float | None:
    """The number at a path of keys: `number_at(result.metrics, "by_rarity", "both rare", "joint_accuracy")`."""
    for key in path:
        table = table.get(key) if isinstance(table, dict) else None
    return table if isinstance(table, int | float) else None


def read_result(path: Path) -> Result:
    """Read a result file; any fault in it is a `RunError`."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"), parse_constant=int)  # NaN is not a score
    except (OSError, ValueError, RecursionError) as error:
        raise RunError(f"{path} cannot be read: {error}") from error
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise RunError(f'{path} is not a result file: expected "format": "{FORMAT}"')
    if content.get("version") != VERSION:
        raise RunError(f"{path} has version {content.get('version')!r}; this rarename reads version {VERSION}")
    try:
        result = Result(**{key: value for key, value in content.items() if key not in ("format", "version")})
    except TypeError as error:
        raise RunError(f"{path} is damaged: {error}") from error
    for each in dataclasses.fields(Result):
        value = getattr(result, each.name)
        kind: Any = get_origin(each.type) or each.type
        if isinstance(value, bool) or not isinstance(value, int | float if kind is float else kind):
            raise RunError(f"{path} has {each.name} {value!r}; expected {kind.__name__}")
    if not result.metrics:
        raise RunError(f"{path} has no metrics")
    return result


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
