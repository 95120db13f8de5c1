"""Comments of a JavaScript text."""

import re
from bisect import bisect_right
from collections.abc import Iterator

import tree_sitter
import tree_sitter_javascript

from rarename.syntax.language import Comment

_GRAMMAR = tree_sitter.Language(tree_sitter_javascript.language())
_QUERY = tree_sitter.Query(_GRAMMAR, "(comment) @comment")


def find_comments(text: str) -> Iterator[Comment]:
    """The comments of a text, from top to bottom."""
    data = text.removeprefix("\ufeff").encode("utf-8", "replace")
    root = tree_sitter.Parser(_GRAMMAR).parse(data).root_node
    found = tree_sitter.QueryCursor(_QUERY).captures(root).get("comment", [])
    starts = [0, *(each.end() for each in re.finditer(rb"\r\n|\r|\n", data))]
    for node in sorted(found, key=lambda each: each.start_byte):
        line = _line(starts, node.start_byte)
        column = len(data[starts[line - 1] : node.start_byte].decode("utf-8")) + 1
        comment = data[node.start_byte : node.end_byte]
        yield Comment(line, column, _line(starts, max(node.start_byte, node.end_byte - 1)), comment.decode("utf-8"))


def _line(starts: list[int], offset: int) -> int:
    return bisect_right(starts, offset)
