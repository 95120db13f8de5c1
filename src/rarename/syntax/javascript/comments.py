"""Comments of a JavaScript text."""

import re
from collections.abc import Iterator

import tree_sitter

from rarename.syntax.javascript.cst import GRAMMAR, parsed_in_time
from rarename.syntax.language import Comment

_QUERY = tree_sitter.Query(GRAMMAR, "(comment) @comment")
_LINE_BREAK = re.compile(r"\r\n|\r|\n")


def find_comments(text: str) -> Iterator[Comment]:
    """The comments of a text, from top to bottom."""
    data = text.removeprefix("\ufeff").encode("utf-8", "replace")
    root = parsed_in_time(data).root_node
    found = tree_sitter.QueryCursor(_QUERY).captures(root).get("comment", [])
    line, column, done = 1, 1, 0
    for node in sorted(found, key=lambda each: each.start_byte):
        line, column = _after(data[done : node.start_byte], line, column)
        content, done = data[node.start_byte : node.end_byte], node.end_byte
        end_line, end_column = _after(content, line, column)
        yield Comment(line, column, end_line, content.decode("utf-8"))
        line, column = end_line, end_column


def _after(content: bytes, line: int, column: int) -> tuple[int, int]:
    """The position after a part of the text that starts at a position."""
    lines = _LINE_BREAK.split(content.decode("utf-8"))
    return line + len(lines) - 1, len(lines[-1]) + (column if len(lines) == 1 else 1)
