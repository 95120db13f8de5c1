"""The numbers of the paper, read from `data/paper.toml`, by the cells that our results have."""

import tomllib
from functools import cache
from importlib.resources import files
from typing import Any

from rarename.report.groups import Cell


@cache
def paper() -> dict[str, Any]:
    """All numbers as they are printed."""
    return tomllib.loads((files("rarename") / "data" / "paper.toml").read_text(encoding="utf-8"))


@cache
def paper_scores(task: str, language: str, table: str = "scores") -> dict[Cell, float]:
    """The scores for a task and language, from 0 to 1; the table `placeholders` is Table 1 of the paper.

    >>> paper_scores("misuse", "python")[Cell("ordered", 0)]
    0.8193
    """
    return {
        # The paper's vocabulary of size 1 holds the empty value alone, which we do not count.
        Cell(series, 0 if size == "1" else int(size)): round(score / 100, 6)
        for series, row in paper()[task][language].get(table, {}).items()
        for size, score in row.items()
    }
