"""Source text and the spans in it: from spans to offsets, and new names written into a text."""

import re
from codecs import BOM_UTF8
from collections.abc import Sequence

from rarename.syntax.language import Language
from rarename.syntax.traversal import IDENTIFIER_ROLES, Span, Traversal


class Lines:
    """Where each line of a text begins, in UTF-8 bytes: turns a span into offsets."""

    def __init__(self, data: bytes, language: Language) -> None:
        self.data = data
        # Parsers drop a byte order mark, and do not count it.
        first = len(BOM_UTF8) if data.startswith(BOM_UTF8) else 0
        self._is_ascii = data.isascii()
        self._last_line = (0, "")  # the number and text of the line that was read last: many ask for the same
        self._starts = [first, *(found.end() for found in re.finditer(language.line_break, data))]

    def slice(self, span: Span) -> slice:
        """The bytes that a span covers."""
        return slice(self._starts[span.line - 1] + span.column, self._starts[span.end_line - 1] + span.end_column)

    def text(self, span: Span) -> str:
        """The text that a span covers."""
        return self.data[self.slice(span)].decode("utf-8", "surrogatepass")

    def line(self, number: int) -> str:
        """The text of a line, counted from 1, without its end."""
        if self._last_line[0] != number:
            stop = self._starts[number] if number < len(self._starts) else len(self.data)
            text = self.data[self._starts[number - 1] : stop].decode("utf-8", "surrogatepass").rstrip("\r\n")
            self._last_line = number, text
        return self._last_line[1]

    @property
    def count(self) -> int:
        """The number of lines."""
        return len(self._starts)

    def offset(self, line: int, characters: int) -> int:
        """The offset of a position on a line, in bytes; `characters` come before it on that line."""
        if self._is_ascii:
            return self._starts[line - 1] + min(characters, len(self.line(line)))
        return self._starts[line - 1] + len(self.line(line)[:characters].encode("utf-8", "surrogatepass"))

    def characters(self, line: int, column: int) -> int:
        """The number of characters on a line before a column that counts bytes."""
        if self._is_ascii:
            return column
        start = self._starts[line - 1]
        return len(self.data[start : start + column].decode("utf-8", "surrogatepass"))


def is_name(value: str | None) -> bool:
    """Whether a value is a name, dotted or not: the `*` of an import and a key like `"a b"` are not.

    >>> [is_name(value) for value in ("x", "os.path", "#secret", "*", "a b", None)]
    [True, True, True, False, False, False]
    """
    if value is None:
        return False
    # `$` is a letter in JavaScript, and `#` marks a private name there.
    return all(part.replace("$", "_").isidentifier() for part in value.removeprefix("#").split("."))


def identifiers(traversal: Traversal, language: Language) -> list[bool]:
    """For each node whether it holds a name that somebody chose, and not a literal or an operator."""
    return [
        role in IDENTIFIER_ROLES and is_name(value)
        for role, value in zip(language.roles(traversal), traversal.values, strict=True)
    ]


def rewrite(text: str, traversal: Traversal, values: Sequence[str | None], language: Language) -> str:
    """Replace names in a source text; comments and layout stay.

    Only identifiers are replaced. The key of an object is one, in quotes or not.
    """
    lines = Lines(text.encode("utf-8", "surrogatepass"), language)
    changes: dict[int, tuple[int, bytes]] = {}
    for node, is_identifier in enumerate(identifiers(traversal, language)):
        new = values[node]
        if not is_identifier or new is None or new == traversal.values[node]:
            continue
        span = traversal.span(node)
        if span.line:
            old = lines.slice(span)
            # A shorthand such as `{a}` is two nodes with one span. They have one name, hence one change.
            changes[old.start] = (old.stop, new.encode("utf-8", "surrogatepass"))
    pieces, done = [], 0
    for start, (stop, new_name) in sorted(changes.items()):
        pieces += [lines.data[done:start], new_name]
        done = stop
    return b"".join([*pieces, lines.data[done:]]).decode("utf-8", "surrogatepass")
