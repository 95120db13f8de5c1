"""The numbers of the paper, read from `data/paper.toml`, by the cells that our results have."""

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from rarename.report.groups import Cell, Series


@dataclass(frozen=True)
class PaperGroup:
    """What the paper reports for one task and language; all scores from 0 to 1."""

    scale: str
    scores: dict[Cell, float]
    placeholders: dict[Cell, float]  # by number of placeholders (its Table 1)
    best_accuracy: dict[str, float]  # of values, for the best model of each series


@cache
def paper() -> dict[str, Any]:
    return tomllib.loads((files("rarename") / "data" / "paper.toml").read_text(encoding="utf-8"))


@cache
def paper_group(task: str, language: str) -> PaperGroup:
    """The numbers for a task and language.

    >>> paper_group("misuse", "python").scores[Cell(Series("ordered"), 0)]
    0.8193
    """
    of_task, group = paper()[task], paper()[task][language]
    placeholders = {
        Series("randomized", changes=(f"num_placeholders={count}",) if count != "500" else ()): row
        for count, row in group.get("placeholders", {}).items()
    }
    return PaperGroup(
        "{width} × {layers}; {epochs} epochs of {train}, {corpus}".format(**of_task | group),
        _cells({Series(name.split()[0], name.endswith("+ pointer")): row for name, row in group["scores"].items()}),
        _cells(placeholders),
        {name: score / 100 for name, score in group.get("best_accuracy", {}).items()},
    )


def _cells(rows: dict[Series, dict[str, float]]) -> dict[Cell, float]:
    """The paper's vocabulary of size 1 holds the empty value alone, which we do not count."""
    return {
        Cell(series, 0 if size == "1" else int(size)): round(score / 100, 6)
        for series, row in rows.items()
        for size, score in row.items()
    }
