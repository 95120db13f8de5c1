"""What a report is made of, before it is written as Markdown or as HTML.

Text may hold `code` and **strong** words, marked as in Markdown.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from rarename.report.statistics import Spread
from rarename.report.svg import Drawing


@dataclass(frozen=True)
class Cell:
    """A cell of a table: what is read, and what a program reads."""

    text: str
    value: Any = None
    is_best: bool = False
    is_quoted: bool = False
    """The paper's number, not ours."""


@dataclass(frozen=True)
class Heading:
    level: int
    text: str
    anchor: str


@dataclass(frozen=True)
class Paragraph:
    text: str


@dataclass(frozen=True)
class Bullets:
    items: Sequence[str]


@dataclass(frozen=True)
class Code:
    lines: Sequence[str]


@dataclass(frozen=True)
class Table:
    name: str
    """In `results.json`."""
    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    note: str = ""
    num_labels: int = 1
    """Columns on the left that name the row."""


@dataclass(frozen=True)
class Figure:
    name: str
    """Of its file."""
    title: str
    draw: Callable[[int], Drawing]
    """The figure for a width in pixels: a telephone's is another drawing, not a smaller one."""
    width: int = 960
    note: str = ""


@dataclass(frozen=True)
class Details:
    """Blocks that are folded away where that is possible."""

    summary: str
    blocks: Sequence["Block"]


Block = Heading | Paragraph | Bullets | Code | Table | Figure | Details


@dataclass
class Document:
    title: str
    blocks: list[Block] = field(default_factory=list)

    def figures(self) -> list[Figure]:
        return [block for block in walk(self.blocks) if isinstance(block, Figure)]

    def tables(self) -> list[Table]:
        return [block for block in walk(self.blocks) if isinstance(block, Table)]


def walk(blocks: Sequence[Block]) -> list[Block]:
    """All blocks, those folded away included."""
    found: list[Block] = []
    for block in blocks:
        found += [block, *walk(block.blocks)] if isinstance(block, Details) else [block]
    return found


def slug(*parts: str) -> str:
    """A name for a file or an anchor.

    >>> slug("misuse python", "../x")
    'misuse-python-x'
    """
    return "-".join(filter(None, (re.sub(r"[^A-Za-z0-9_]+", "-", part).strip("-") for part in parts)))


def percent(value: float) -> str:
    return f"{100 * value:.1f}"


def points(value: float) -> str:
    """A difference in points of a percentage, with its sign.

    >>> points(0.0213), points(-0.0004)
    ('+2.1', '±0.0')
    """
    text = f"{100 * value:+.1f}".replace("-", "−")
    return "±0.0" if text in ("+0.0", "−0.0") else text


def quoted_names(names: Iterable[str]) -> str:
    """Names of experiments, cells or presets, each once.

    >>> quoted_names(["b", "a", "b", ""])
    '`a`, `b`'
    """
    return ", ".join(f"`{name}`" for name in sorted({name for name in names if name}))


def p_text(p: float) -> str:
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def spread_cell(value: Spread | None, shows_seeds: bool = False) -> Cell:
    """Mean ± standard deviation in percent; with the number of seeds, if that is not the same everywhere."""
    if value is None:
        return Cell("")
    text = percent(value.mean) + ("" if value.deviation is None else f" ± {100 * value.deviation:.1f}")
    return Cell(
        f"{text} ({value.num_seeds})" if shows_seeds else text,
        {"mean": value.mean, "standard_deviation": value.deviation, "seeds": value.num_seeds},
    )


def number_cell(value: float | None, text: str = "") -> Cell:
    return Cell("") if value is None else Cell(text or f"{value:,}", value)


def quoted_cell(value: float | None) -> Cell:
    """A number of the paper, which is in percent already."""
    return Cell("") if value is None else Cell(f"{value:.1f}", value, is_quoted=True)
