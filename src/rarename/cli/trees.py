"""Trees for people and for programs."""

from collections.abc import Sequence
from typing import Any

from rarename.syntax import Language, Traversal

MAX_SHOWN = 60


def as_text(traversal: Traversal, values: Sequence[str | None]) -> str:
    """An indented line for each node: type, value, place."""
    depths, lines = [0] * len(traversal), []
    for node, (node_type, value) in enumerate(zip(traversal.types, values, strict=True)):
        parent = traversal.parents[node]
        depths[node] = depths[parent] + 1 if parent >= 0 else 0
        shown = "" if value is None else f" {_shortened(value)}"
        span = traversal.span(node)
        place = f"  {span.line}:{span.column + 1}" if span.line else ""
        lines.append(f"{'  ' * depths[node]}{node_type}{shown}{place}\n")
    return "".join(lines)


def as_json(traversal: Traversal, values: Sequence[str | None], language: Language) -> list[dict[str, Any]]:
    """An object for each node. Lines count from 1, columns from 0 in UTF-8 bytes; `span` is null without a place."""
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


def _shortened(value: str) -> str:
    shown = value if value.isprintable() else repr(value)[1:-1]
    return shown if len(shown) <= MAX_SHOWN else f"{shown[:MAX_SHOWN]}…"
