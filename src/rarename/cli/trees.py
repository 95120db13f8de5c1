"""Syntax trees as text and as JSON."""

from collections.abc import Sequence
from typing import Any

from rarename.syntax import Language, Traversal

MAX_VALUE_LENGTH = 60


def as_text(traversal: Traversal, values: Sequence[str | None]) -> str:
    """Return an indented line per node: type, value, line and column."""
    depths, lines = list[int](), list[str]()
    for node, node_type in enumerate(traversal.types):
        parent, span = traversal.parents[node], traversal.span(node)
        depths.append(depths[parent] + 1 if parent >= 0 else 0)
        position = f"  {span.line}:{span.column + 1}" if span.line else ""
        lines.append(f"{'  ' * depths[node]}{node_type}{_shorten(values[node])}{position}\n")
    return "".join(lines)


def as_json(traversal: Traversal, values: Sequence[str | None], language: Language) -> list[dict[str, Any]]:
    """Return an object per node. Lines start at 1, columns at 0 in UTF-8 bytes; `span` is null if there is none."""
    roles = [role.name.lower() for role in language.roles(traversal)]
    spans = [list(span) if (span := traversal.span(node)).line else None for node in range(len(traversal))]
    rows = zip(traversal.types, values, traversal.parents, roles, spans, strict=True)
    return [dict(zip(("type", "value", "parent", "role", "span"), row, strict=True)) for row in rows]


def _shorten(value: str | None) -> str:
    if value is None:
        return ""
    shown = value if value.isprintable() else repr(value)[1:-1]
    return f" {shown}" if len(shown) <= MAX_VALUE_LENGTH else f" {shown[:MAX_VALUE_LENGTH]}…"
