"""Places in the source text.

`ast` gives the extent of a construct. Where a node carries an identifier, its place is wanted instead: it
starts or ends the construct, or is found by a pattern in the source. The text of an identifier can differ
from its name in letters and in length, for `ast` normalises names; it ends where no letter follows.
"""

import ast
import re
from bisect import bisect_right
from collections.abc import Callable
from itertools import accumulate
from operator import attrgetter
from typing import Any

from rarename.syntax.traversal import NO_PLACE

Place = tuple[int, int, int, int]
"""The numbers of a `Span`, without the time that it takes to make one."""

_GAP = rb"(?:[ \t\f\n]|\\\n|#[^\n]*\n)*+"
_LETTERS = rb"[A-Za-z0-9_\x80-\xff]++"
WORD = re.compile(_LETTERS)
_WORD_BEFORE = re.compile(rb"[A-Za-z0-9_\x80-\xff]*\Z")
COMMENT = re.compile(rb"#[^\n]*")
_DOTTED = re.compile(rb"(%b(?:%b\.%b%b)*)" % (_LETTERS, _GAP, _GAP, _LETTERS))
_DEFINED_NAME = re.compile(rb"(?:async%b)?(?:def|class)%b(%b)" % (_GAP, _GAP, _LETTERS))
_MODULE_NAME = re.compile(rb"from(?:%b\.)*+%b%b" % (_GAP, _GAP, _DOTTED.pattern))
AS_NAME = re.compile(rb"(?:%b\))*+%bas%b(%b)" % (_GAP, _GAP, _GAP, _LETTERS))
REST_NAME = re.compile(rb"(?:%b[{),])*+%b\*\*%b(%b)" % (_GAP, _GAP, _GAP, _LETTERS))
PATTERN_NAME = re.compile(rb"(?:%b[(),])*+%b(%b)" % (_GAP, _GAP, _LETTERS))
_STARRED_NAME = re.compile(rb"\**+%b(%b)" % (_GAP, _LETTERS))


class Source:
    """A source text in UTF-8, in which places can be looked up."""

    def __init__(self, text: str) -> None:
        self.text = text.encode()
        self.is_ascii = len(self.text) == len(text)
        lines = (self.text + b"\n").splitlines(keepends=True)
        self.starts = [0, *accumulate(map(len, lines))]
        """The offset of each line, and of the one that would come next."""

    def offset(self, line: int, column: int) -> int:
        return self.starts[line - 1] + column

    def extent(self, node: Any) -> tuple[int, int]:
        """The offsets at which a node starts and ends."""
        return self.offset(node.lineno, node.col_offset), self.offset(node.end_lineno, node.end_col_offset)

    def place(self, start: int, end: int) -> Place:
        """The place between two offsets."""
        line = end_line = bisect_right(self.starts, start)
        if end >= self.starts[line]:
            end_line = bisect_right(self.starts, end)
        return line, start - self.starts[line - 1], end_line, end - self.starts[end_line - 1]

    def find(self, pattern: re.Pattern[bytes], line: int, column: int) -> Place:
        """The place of a pattern's group, if the pattern fits at a place."""
        match = pattern.match(self.text, self.offset(line, column)) if line else None
        return self.place(*match.span(1)) if match else NO_PLACE

    def width_before(self, line: int, column: int, name: str) -> int:
        """How many bytes the identifier has that ends at a place."""
        end = self.offset(line, column)
        if name.isascii() and self.text.startswith(name.encode(), end - len(name)):
            return len(name)
        match = _WORD_BEFORE.search(self.text, self.starts[line - 1], end)
        return len(match[0]) if match else 0

    def width_after(self, line: int, column: int, name: str) -> int:
        """How many bytes the identifier has that starts at a place."""
        start = self.offset(line, column)
        if name.isascii() and self.text.startswith(name.encode(), start):
            return len(name)
        match = WORD.match(self.text, start)
        return len(match[0]) if match else 0


# -- the place of a whole node ------------------------------------------------------------------------------

extent: Callable[[Any], Place] = attrgetter("lineno", "col_offset", "end_lineno", "end_col_offset")
"""Where a node starts and ends."""


def put(node: Any, place: Place) -> None:
    """Give a node a place."""
    node.lineno, node.col_offset, node.end_lineno, node.end_col_offset = place


def put_between(node: Any, first: Any, last: Any) -> Any:
    """Give a node the extent from the start of `first` to the end of `last`."""
    node.lineno, node.col_offset = first.lineno, first.col_offset
    node.end_lineno, node.end_col_offset = last.end_lineno, last.end_col_offset
    return node


# -- the place of an identifier in its node -----------------------------------------------------------------


def start_name(node: Any, source: Source) -> Place:
    """A parameter, a keyword: the name starts the construct, an annotation or a value may follow."""
    line, column, name = node.lineno, node.col_offset, node.arg
    width = len(name) if source.is_ascii else source.width_after(line, column, name)
    return line, column, line, column + width


def end_name(node: Any, name: str, source: Source) -> Place:
    """The name behind an `as`, a captured name: the name ends the construct."""
    line, column = node.end_lineno, node.end_col_offset
    width = len(name) if source.is_ascii else source.width_before(line, column, name)
    return line, column - width, line, column


def _alias_name(node: Any, source: Source) -> Place:
    if node.asname is None:
        return extent(node)
    return source.find(_DOTTED, node.lineno, node.col_offset)


def _found_name(pattern: re.Pattern[bytes]) -> Callable[[Any, Source], Place]:
    """The name is found by a pattern that starts with the construct."""
    return lambda node, source: source.find(pattern, node.lineno, node.col_offset)


def _defined_name(word: str) -> Callable[[Any, Source], Place]:
    """The name stands behind `def` or `class`: right behind, as a rule, so that no pattern is needed."""

    def place(node: Any, source: Source) -> Place:
        line, column, name = node.lineno, node.col_offset, node.name
        if name.isascii() and source.text.startswith(f"{word} {name}".encode(), source.offset(line, column)):
            start = column + len(word) + 1
            return line, start, line, start + len(name)
        return source.find(_DEFINED_NAME, line, column)

    return place


NAME_PLACES: dict[type, Callable[[Any, Source], Place]] = {
    ast.AsyncFunctionDef: _defined_name("async def"),
    ast.ClassDef: _defined_name("class"),
    ast.FunctionDef: _defined_name("def"),
    ast.ImportFrom: _found_name(_MODULE_NAME),
    ast.alias: _alias_name,
    ast.arg: start_name,
    ast.keyword: start_name,
}
"""The nodes whose identifier is only a part of their extent, and how it is found."""

NAME_PLACES |= {
    getattr(ast, name): _found_name(_STARRED_NAME)
    for name in ("ParamSpec", "TypeVar", "TypeVarTuple")
    if hasattr(ast, name)
}
