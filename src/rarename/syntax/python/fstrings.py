"""Where the expressions of an f-string stand.

Python 3.11 parses what stands in the braces of an f-string apart from the file and guesses where it stood.
The guess is wrong for some nested, long and joined literals; then the expression is parsed once more, in a
text that is blank but for it, where it stands where it stands in the file.
"""

import ast
import re
import sys
from dataclasses import dataclass
from typing import Any

from rarename.errors import ParseError
from rarename.syntax.python.places import Source, put
from rarename.syntax.python.reading import syntax_tree
from rarename.syntax.traversal import NO_PLACE

FSTRINGS_ARE_MISPLACED = sys.version_info < (3, 12)

_LITERAL_OR_COMMENT = re.compile(
    rb"""
    \#[^\n]*
  | (?P<prefix>[rRbBuUfF]{0,2})
    (?: \"{3}[^"\\]*+(?:(?:\\.|"(?!""))[^"\\]*+)*+"{3}
      | '{3}[^'\\]*+(?:(?:\\.|'(?!''))[^'\\]*+)*+'{3}
      | "[^"\\]*+(?:\\.[^"\\]*+)*+"
      | '[^'\\]*+(?:\\.[^'\\]*+)*+' )
    """,
    re.VERBOSE | re.DOTALL,
)
_BRACE_OR_ESCAPE = re.compile(rb"\\N\{[^}]*\}|\\[^{}]|[{}]", re.DOTALL)
_BRACE = re.compile(rb"[{}]")
_EXPRESSION_PART = re.compile(rb"""'{3}.*?'{3}|"{3}.*?"{3}|'[^']*'|"[^"]*"|[!=<>]=|[(\[{]|[)\]]|[}!:=]""", re.DOTALL)
_CONVERSION = re.compile(rb"(?:=\s*)?(?:!\w+)?\s*")
_BLANKS = re.compile(rb"[ \t\f]*")


@dataclass(slots=True)
class _Field:
    """Braces in an f-string, as offsets: from `start` to `end`, the expression ends before `stop`."""

    start: int
    stop: int
    end: int


def mend(joined: Any, source: Source) -> None:
    """Put right the places of all that stands in the braces of an f-string.

    An f-string inside of them is mended in its turn, when the walk comes to it.
    """
    values, fields = _formatted_values(joined), _fields_between(source.text, *source.extent(joined))
    if len(values) != len(fields):
        _forget_places(joined)
        return
    for formatted, field in zip(values, fields, strict=True):
        if _is_misplaced(formatted.value, field, source):
            formatted.value = _parse_in_place(formatted.value, field, source)
        place = source.place(field.start, field.end)
        for piece in (formatted, *(formatted.format_spec.values if formatted.format_spec else ())):
            put(piece, place)


def _forget_places(tree: ast.AST) -> None:
    """No place is better than a wrong one."""
    for node in ast.walk(tree):
        put(node, NO_PLACE)


def _formatted_values(joined: Any) -> list[Any]:
    """The FormattedValues of an f-string, those of a format behind the one that it formats."""
    found: list[Any] = []
    todo: list[Any] = joined.values[::-1]
    while todo:
        value = todo.pop()
        if type(value) is ast.FormattedValue:
            found.append(value)
            format_: Any = value.format_spec
            todo += format_.values[::-1] if format_ is not None else []
    return found


def _fields_between(text: bytes, start: int, end: int) -> list[_Field]:
    """The braces of adjacent literals, in the order in which they open."""
    fields: list[_Field] = []
    for literal in _LITERAL_OR_COMMENT.finditer(text, start, end):
        prefix = literal["prefix"]
        if prefix and b"f" in prefix.lower():
            fields += _fields(text, literal.end("prefix"), literal.end(), b"r" in prefix.lower())
    return fields


def _fields(text: bytes, start: int, end: int, is_raw: bool) -> list[_Field]:
    """The braces of one literal, in the order in which they open."""
    fields: list[_Field] = []
    in_format: list[_Field] = []
    pattern, position = _BRACE if is_raw else _BRACE_OR_ESCAPE, start
    while match := pattern.search(text, position, end):
        brace, position = match[0], match.end()
        if brace == b"{" and (in_format or text[position : position + 1] != b"{"):
            stop = _expression_end(text, position, end)
            conversion = _CONVERSION.match(text, stop, end)
            position = conversion.end() + 1 if conversion else end
            fields.append(_Field(match.start(), stop, position))
            if text[position - 1 : position] == b":":
                in_format.append(fields[-1])
        elif brace == b"}" and in_format:
            in_format.pop().end = position
        elif brace in (b"{", b"}"):
            position += 1  # doubled: a brace in the text
    return fields


def _expression_end(text: bytes, start: int, end: int) -> int:
    """Where an expression in braces ends: at a `}`, `:`, `!` or `=` that is in no bracket."""
    depth = 0
    for match in _EXPRESSION_PART.finditer(text, start, end):
        part = match[0]
        if part in (b"(", b"[", b"{"):
            depth += 1
        elif depth and part in (b")", b"]", b"}"):
            depth -= 1
        elif not depth and part in (b"}", b":", b"!", b"="):
            return match.start()
    return end - 1


def _is_misplaced(expression: Any, field: _Field, source: Source) -> bool:
    """Whether an expression may stand elsewhere than `ast` says.

    On one line all of it is off by the same distance, so that its start tells, unless a bracket comes first.
    """
    start = _BLANKS.match(source.text, field.start + 1, field.stop)
    return (
        start is None
        or source.text[start.end()] == ord("(")
        or type(expression) in (ast.GeneratorExp, ast.Tuple)  # both start with the brace
        or expression.lineno >= len(source.starts)
        or source.offset(expression.lineno, expression.col_offset) != start.end()
        or source.text.find(b"\n", field.start, field.stop) >= 0
    )


def _parse_in_place(misplaced: Any, field: _Field, source: Source) -> Any:
    """The expression of a field, parsed where it stands.

    It becomes the one element of a list, whose bracket opens at the very start: blanks there would be
    taken for an indentation. On the first line the prefix of the literal leaves room for the bracket.
    """
    line, column, _, _ = source.place(field.start, field.end)
    blanks = "\n" * (line - 1) + " " * column if line > 1 else " " * (column - 1)
    expression = source.text[field.start + 1 : field.stop].decode()
    try:
        return syntax_tree(f"[{blanks}({expression})]", "eval").body.elts[0]
    except ParseError:  # already at the edge of what `ast` can nest
        _forget_places(misplaced)
        return misplaced
