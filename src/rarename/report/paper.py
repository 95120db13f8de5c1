"""The paper's own numbers, read from `data/paper.toml`."""

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

FULL = 1
"""The paper's vocabulary size of full anonymization, which keeps the empty value alone; we do not count that one."""


@dataclass(frozen=True)
class PaperStudy:
    """What the paper has of a task in a language; all scores in percent."""

    corpus: str
    train: str
    epochs: int
    width: int
    layers: int
    deviation: float
    scores: dict[str, dict[int, float]]
    """By series (`ordered`, `standard + pointer`), then by vocabulary size in our count."""
    best_accuracy: dict[str, float]
    """Of values, the best model of each series; for completion."""
    placeholders: dict[int, dict[int, float]]
    """`randomized` by number of placeholders, then by vocabulary size; for completion."""


@cache
def paper() -> dict[str, Any]:
    text = (files("rarename") / "data" / "paper.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def citation() -> str:
    return str(paper()["citation"])


def cosines() -> dict[str, float]:
    """Mean cosine similarities of embeddings, within and between the kinds of names."""
    return dict(paper()["embeddings"])


def paper_study(task: str, language: str) -> PaperStudy | None:
    """The paper's numbers for a task in a language; None where it has none.

    >>> paper_study("misuse", "python").scores["ordered"][0]
    81.93
    """
    of_task = paper().get(task, {})
    study = of_task.get(language)
    if study is None:
        return None
    return PaperStudy(
        corpus=study["corpus"],
        train=study["train"],
        epochs=study["epochs"],
        width=of_task["width"],
        layers=of_task["layers"],
        deviation=of_task["deviation"],
        scores={series: _by_size(scores) for series, scores in study["scores"].items()},
        best_accuracy=study.get("best_accuracy", {}),
        placeholders={int(count): _by_size(scores) for count, scores in study.get("placeholders", {}).items()},
    )


def _by_size(scores: dict[str, float]) -> dict[int, float]:
    return {0 if int(size) == FULL else int(size): float(score) for size, score in scores.items()}
