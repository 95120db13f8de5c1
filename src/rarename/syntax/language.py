"""Language: all that the rest of rarename needs to know about one programming language."""

from collections.abc import Callable
from dataclasses import dataclass

from rarename.syntax.traversal import Role, Traversal


@dataclass(frozen=True)
class RecordStyle:
    """How a published corpus spells one tree on one line."""

    has_ids: bool
    """Each node carries its own index, and blanks stand around the punctuation (JS150)."""
    ends_with_zero: bool
    """The array ends with the integer 0 (JS150)."""


@dataclass(frozen=True)
class Language:
    """One language: which files are its own, how they become a traversal, what the nodes mean."""

    name: str
    suffixes: tuple[str, ...]
    """File name endings, with the dot, lower case."""
    decode: Callable[[bytes], str]
    """A file's bytes as text; raises ParseError (reason "not text in a known encoding")."""
    parse: Callable[[str, bool], Traversal]
    """Text to traversal. The flag asks for a tolerant parse: broken places are mended where the
    parser can, instead of raising ParseError."""
    roles: Callable[[Traversal], list[Role]]
    """The role of every node, from types, values and parents alone, so that published records have roles too."""
    function_types: frozenset[str]
    """The node types that are functions."""
    record: RecordStyle
    """The published format that holds trees of this language."""
    line_break: bytes = rb"\r\n|\r|\n"
    """What ends a line where the parser counts lines: a regular expression."""
