"""Syntax trees as text and as JSON."""

from collections.abc import Sequence
from typing import Any

from rarename.syntax import Language, Traversal

MAX_VALUE_LENGTH = 60


def as_text(traversal: Traversal, values: Sequence[str | None]) -> str:
    """Return an indented line per node: type, value, line and column."""
    depths, lines = list[int](), list[str]()
    for node, (node_type, value) in enumerate(zip(traversal.types, values, strict=True)):
        parent = traversal.parents[node]
        depths.append(depths[parent] + 1 if parent >= 0 else 0)
        span = traversal.span(node)
        position = f"  {span.line}:{span.column + 1}" if span.line else ""
        lines.append(f"{'  ' * depths[node]}{node_type}{_shorten(value)}{position}\n")
    return "".join(lines)


def as_json(traversal: Traversal, values: Sequence[str | None], language: Language) -> list[dict[str, Any]]:
    """Return an object per node. Lines start at 1, columns at 0 in UTF-8 bytes; `span` is null if there is none."""
    roles = language.roles(traversal)
    return [
        {
            "type": node_type,
            "value": values[node],
            "parent": traversal.parents[node],
            "role": roles[node].name.lower(),
            "span": list(span) if (span := traversal.span(node)).line else None,
        }
        for node, node_type in enumerate(traversal.types)
    ]


def _shorten(value: str | None) -> str:
    if value is None:
        return ""
    shown = value if value.isprintable() else repr(value)[1:-1]
    return f" {shown}" if len(shown) <= MAX_VALUE_LENGTH else f" {shown[:MAX_VALUE_LENGTH]}…"
