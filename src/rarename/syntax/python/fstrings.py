"""Spans in f-strings, for Python 3.11.

Python 3.11 parses the expressions of an f-string apart from the file and guesses their positions. The guess is wrong
for some nested, long and concatenated literals. Such an expression is parsed again, in a text that is blank elsewhere,
so that it has its position in the file.
"""

import ast
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from rarename.syntax.language import suppressed_warnings
from rarename.syntax.python.positions import Source, set_span, span_of
from rarename.syntax.traversal import NO_SPAN

FSTRINGS_ARE_MISPLACED = sys.version_info < (3, 12)

_LITERAL_OR_COMMENT = re.compile(
    rb"""#[^\n]*|(?P<prefix>[rRbBuUfF]{0,2})(?P<quote>"{3}|'{3}|["'])(?:[^\\]|\\.)*?(?P=quote)""", re.DOTALL
)
_BRACE_OR_ESCAPE = re.compile(rb"\\N\{[^{}]*+\}|\\[^{}]|[{}]", re.DOTALL)
_BRACE = re.compile(rb"[{}]")
_EXPRESSION_TOKEN = re.compile(rb"""'{3}.*?'{3}|"{3}.*?"{3}|'[^']*'|"[^"]*"|[!=<>]=|[(\[{]|[)\]]|[}!:=]""", re.DOTALL)
_CONVERSION = re.compile(rb"(?:=\s*)?(?:!\w+)?\s*")
_BLANKS = re.compile(rb"[ \t\f]*")


@dataclass(slots=True)
class _Field:
    """A replacement field, as offsets: `{` is at `start`, the expression ends at `stop`, the field at `end`."""

    start: int
    stop: int
    end: int


def fix_spans(joined: Any, source: Source) -> None:
    """Correct the spans of all nodes in the replacement fields of an f-string.

    An f-string inside a field is corrected when the walk reaches it.
    """
    values = list(_formatted_values(joined))
    fields: list[_Field] = []
    for literal in _LITERAL_OR_COMMENT.finditer(source.text, source.start(joined), source.end(joined)):
        prefix = (literal["prefix"] or b"").lower()
        if b"f" in prefix:
            fields += _fields(source.text, literal.end("prefix"), literal.end(), is_raw=b"r" in prefix)
    if len(values) != len(fields):
        _remove_spans(joined)
        return
    for formatted, field in zip(values, fields, strict=True):
        if _may_be_misplaced(formatted.value, field, source):
            formatted.value = _parse_in_place(formatted.value, field, source)
        span = source.span(field.start, field.end)
        for node in (formatted, *(formatted.format_spec.values if formatted.format_spec else ())):
            set_span(node, span)


def _remove_spans(tree: ast.AST) -> None:
    """No span is better than a wrong one."""
    for node in ast.walk(tree):
        set_span(node, NO_SPAN)


def _formatted_values(joined: Any) -> Iterator[Any]:
    """The FormattedValues of an f-string in source order, those of nested format specifications included."""
    for value in joined.values:
        if type(value) is ast.FormattedValue:
            yield value
            if value.format_spec is not None:
                yield from _formatted_values(value.format_spec)


def _fields(text: bytes, start: int, end: int, is_raw: bool) -> list[_Field]:
    """The replacement fields of one literal, in the order of their opening braces."""
    fields: list[_Field] = []
    with_open_format: list[_Field] = []
    pattern, position = _BRACE if is_raw else _BRACE_OR_ESCAPE, start
    while match := pattern.search(text, position, end):
        brace, position = match[0], match.end()
        if brace == b"{" and (with_open_format or text[position : position + 1] != b"{"):
            stop = _expression_end(text, position, end)
            conversion = _CONVERSION.match(text, stop, end)
            position = conversion.end() + 1 if conversion else end
            fields.append(_Field(match.start(), stop, position))
            if text[position - 1 : position] == b":":
                with_open_format.append(fields[-1])
        elif brace == b"}" and with_open_format:
            with_open_format.pop().end = position
        elif brace in (b"{", b"}"):
            position += 1  # doubled: a brace of the text
    return fields


def _expression_end(text: bytes, start: int, end: int) -> int:
    """The offset of the first `}`, `:`, `!` or `=` that is in no bracket."""
    depth = 0
    for match in _EXPRESSION_TOKEN.finditer(text, start, end):
        token = match[0]
        if token in (b"(", b"[", b"{"):
            depth += 1
        elif depth and token in (b")", b"]", b"}"):
            depth -= 1
        elif not depth and token in (b"}", b":", b"!", b"="):
            return match.start()
    return end - 1


def _may_be_misplaced(expression: Any, field: _Field, source: Source) -> bool:
    """On one line the error is the same for the whole expression, so its start is enough, unless it is a bracket."""
    start = _BLANKS.match(source.text, field.start + 1, field.stop)
    return (
        start is None
        or source.text[start.end()] == ord("(")
        or type(expression) in (ast.GeneratorExp, ast.Tuple)  # both start at the brace
        or expression.lineno >= len(source.line_starts)
        or source.start(expression) != start.end()
        or source.text.find(b"\n", field.start, field.stop) >= 0
    )


def _parse_in_place(misplaced: Any, field: _Field, source: Source) -> Any:
    """The expression of a field, parsed in parentheses and moved to its position in the file."""
    line, column, _, _ = source.span(field.start, field.end)  # the brace is where the parenthesis was
    expression = source.text[field.start + 1 : field.stop].decode()
    try:
        with suppressed_warnings():
            tree: Any = ast.parse(f"({expression})", mode="eval").body
    except (SyntaxError, ValueError, OverflowError, SystemError, RecursionError, MemoryError):  # nested too deeply
        _remove_spans(misplaced)
        return misplaced
    for node in ast.walk(tree):
        if hasattr(node, "lineno"):
            start, start_column, end, end_column = span_of(node)
            moved = (start + line - 1, start_column + column * (start == 1))
            set_span(node, (*moved, end + line - 1, end_column + column * (end == 1)))
    return tree
