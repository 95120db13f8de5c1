"""Text to traversal."""

import codecs

from rarename.errors import ParseError
from rarename.syntax.javascript.cst import ERROR_KIND, KIND_NAMES, ConcreteTree, concrete_tree
from rarename.syntax.javascript.error_recovery import mended
from rarename.syntax.javascript.to_estree import abstract_tree
from rarename.syntax.traversal import Traversal

_LONGEST_DETAIL = 40
"""Characters of unexpected text that an error message quotes."""


def encoding(data: bytes) -> str:
    """The encoding of a file: UTF-16 when a byte order mark says so, else UTF-8."""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    return "utf-8-sig" if data.startswith(codecs.BOM_UTF8) else "utf-8"


def parse(text: str, tolerant: bool) -> Traversal:
    """A script or module as a traversal."""
    source = text.removeprefix("\ufeff").encode("utf-8", "replace")
    tree = concrete_tree(source)
    if not tree.errors:
        return abstract_tree(tree)
    if not tolerant:
        raise _syntax_error(tree)
    return abstract_tree(*mended(tree))


def _syntax_error(tree: ConcreteTree) -> ParseError:
    """The error that says most: an error may hold half a file, so take the shortest."""
    node = min(tree.errors, key=lambda error: tree.ends[error] - tree.starts[error])
    raw = tree.source[tree.starts[node] : tree.ends[node]].decode("utf-8", "replace").strip()
    if tree.kinds[node] != ERROR_KIND:
        return ParseError("syntax error", f"expected {KIND_NAMES[tree.kinds[node]]!r}", tree.line(node))
    text = raw.partition("\n")[0]
    text = text if len(text) <= _LONGEST_DETAIL else text[:_LONGEST_DETAIL] + "…"
    return ParseError("syntax error", f"unexpected {text!r}", tree.line(node))
