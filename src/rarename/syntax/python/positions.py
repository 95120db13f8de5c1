"""Spans of nodes and of the identifiers in them.

`ast` gives the extent of a whole node. Where a node has an identifier, its span is that of the identifier: it starts or
ends the node, or a pattern finds it in the source. The text of an identifier can differ from its name in characters and
in length, because `ast` normalizes names (NFKC); it ends before the first byte that cannot be part of a name.
"""

import ast
import re
from bisect import bisect_right
from collections.abc import Callable
from itertools import accumulate
from operator import attrgetter
from typing import Any

from rarename.syntax.traversal import NO_SPAN

RawSpan = tuple[int, int, int, int]  # the numbers of a `Span`, without the cost of making one

_GAP = rb"(?:[ \t\f\n]|\\\n|#[^\n]*\n)*+"
_NAME = rb"[A-Za-z0-9_\x80-\xff]++"
NAME = re.compile(rb"(%b)" % _NAME)
_NAME_BYTES = frozenset(b"_0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ").union(range(0x80, 0x100))
COMMENT = re.compile(rb"#[^\n]*")
_DOTTED_NAME = re.compile(rb"(%b(?:%b\.%b%b)*)" % (_NAME, _GAP, _GAP, _NAME))
_DEFINED_NAME = re.compile(rb"(?:async%b)?(?:def|class)%b(%b)" % (_GAP, _GAP, _NAME))
_MODULE_NAME = re.compile(rb"from(?:%b\.)*+%b%b" % (_GAP, _GAP, _DOTTED_NAME.pattern))
_TYPE_PARAMETER_NAME = re.compile(rb"\**+%b(%b)" % (_GAP, _NAME))
AS_NAME = re.compile(rb"(?:%b\))*+%bas%b(%b)" % (_GAP, _GAP, _GAP, _NAME))
REST_NAME = re.compile(rb"(?:%b[{),])*+%b\*\*%b(%b)" % (_GAP, _GAP, _GAP, _NAME))
PATTERN_KEYWORD = re.compile(rb"(?:%b[(),])*+%b(%b)" % (_GAP, _GAP, _NAME))


class Source:
    """A source text in UTF-8, with conversions between offsets and spans."""

    def __init__(self, text: str) -> None:
        self.text = text.encode()
        self.is_ascii = len(self.text) == len(text)
        lines = (self.text + b"\n").splitlines(keepends=True)
        self.line_starts = [0, *accumulate(map(len, lines))]
        """The offset of each line, and of the end of the text."""

    def offset(self, line: int, column: int) -> int:
        return self.line_starts[line - 1] + column

    def start(self, node: Any) -> int:
        return self.offset(node.lineno, node.col_offset)

    def end(self, node: Any) -> int:
        return self.offset(node.end_lineno, node.end_col_offset)

    def span(self, start: int, end: int) -> RawSpan:
        """The span between two offsets."""
        line = end_line = bisect_right(self.line_starts, start)
        if end >= self.line_starts[line]:
            end_line = bisect_right(self.line_starts, end)
        return line, start - self.line_starts[line - 1], end_line, end - self.line_starts[end_line - 1]

    def find(self, pattern: re.Pattern[bytes], line: int, column: int) -> RawSpan:
        """The span of a pattern's group, if the pattern matches at a position."""
        match = pattern.match(self.text, self.offset(line, column)) if line else None
        return self.span(*match.span(1)) if match else NO_SPAN

    def width_before(self, line: int, column: int, name: str) -> int:
        """The number of bytes of the identifier that ends at a position."""
        end = self.offset(line, column)
        if name.isascii() and self.text.startswith(name.encode(), end - len(name)):
            return len(name)
        start = end
        while start > self.line_starts[line - 1] and self.text[start - 1] in _NAME_BYTES:
            start -= 1
        return end - start


span_of: Callable[[Any], RawSpan] = attrgetter("lineno", "col_offset", "end_lineno", "end_col_offset")


def set_span(node: Any, span: RawSpan) -> None:
    node.lineno, node.col_offset, node.end_lineno, node.end_col_offset = span


def set_extent(node: Any, first: Any, last: Any) -> Any:
    """Let a node extend from the start of `first` to the end of `last`; returns the node."""
    node.lineno, node.col_offset = first.lineno, first.col_offset
    node.end_lineno, node.end_col_offset = last.end_lineno, last.end_col_offset
    return node


def name_at_start(node: Any, source: Source) -> RawSpan:
    """The identifier of a parameter or keyword; an annotation or a value may follow."""
    line, column = node.lineno, node.col_offset
    return (line, column, line, column + len(node.arg)) if source.is_ascii else source.find(NAME, line, column)


def name_at_end(node: Any, name: str, source: Source) -> RawSpan:
    """The identifier of an `as` or of a capture pattern."""
    line, column = node.end_lineno, node.end_col_offset
    width = len(name) if source.is_ascii else source.width_before(line, column, name)
    return line, column - width, line, column


def _alias_name(node: Any, source: Source) -> RawSpan:
    return span_of(node) if node.asname is None else source.find(_DOTTED_NAME, node.lineno, node.col_offset)


def _found_by(pattern: re.Pattern[bytes]) -> Callable[[Any, Source], RawSpan]:
    return lambda node, source: source.find(pattern, node.lineno, node.col_offset)


NAME_SPANS: dict[type, Callable[[Any, Source], RawSpan]] = {
    **dict.fromkeys((ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef), _found_by(_DEFINED_NAME)),
    ast.ImportFrom: _found_by(_MODULE_NAME),
    ast.alias: _alias_name,
    **dict.fromkeys((ast.arg, ast.keyword), name_at_start),
}
"""The nodes whose identifier is only a part of their extent, and how it is found."""

for _type in ("ParamSpec", "TypeVar", "TypeVarTuple"):
    if hasattr(ast, _type):
        NAME_SPANS[getattr(ast, _type)] = _found_by(_TYPE_PARAMETER_NAME)
