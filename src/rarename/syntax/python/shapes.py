"""What the rules speak of: the type, value and children that a node of `ast` has in PY150."""

from collections.abc import Callable, Sequence
from typing import Any

from rarename.syntax.python.places import Place, Source

Shape = tuple[str, str | None, Sequence[Any]]
"""Type, value and children. A child is a node of `ast`, a made-up `Node`, a made-up list `(type, elements)`,
or a string: the name behind the dot."""

Rule = Callable[[Any, Source], Shape]
"""The shape of a node. The parsed tree is ours alone, so rules may build further nodes of `ast` and give
them a place."""


class Node:
    """A made-up node with a value: `identifier`, `vararg`, the NameStore of `except E as name` …

    Its place has the attribute names of `ast`, so that all places are read alike.
    """

    __slots__ = ("children", "col_offset", "end_col_offset", "end_lineno", "lineno", "type", "value")

    def __init__(self, type_: str, value: str | None, place: Place, children: Sequence[Any] = ()) -> None:
        self.type, self.value, self.children = type_, value, children
        self.lineno, self.col_offset, self.end_lineno, self.end_col_offset = place


def some(*children: Any) -> list[Any]:
    """The children that are there."""
    return [child for child in children if child is not None]


def optional_list(type_: str, elements: Sequence[Any]) -> list[Any]:
    """A made-up list that is left out when empty."""
    return [(type_, elements)] if elements else []
