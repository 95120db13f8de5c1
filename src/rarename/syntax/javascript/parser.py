"""Text to traversal."""

import codecs
import re

from rarename.errors import ParseError
from rarename.syntax.javascript.cst import ERROR, TOKEN_PREFIX, ConcreteTree, concrete_tree
from rarename.syntax.javascript.error_recovery import recovered
from rarename.syntax.javascript.to_estree import to_estree
from rarename.syntax.traversal import Traversal

_SURROGATE = re.compile("[\ud800-\udfff]")
_MAX_QUOTED = 40
"""Characters of unexpected text that an error message quotes."""


def encoding(data: bytes) -> str:
    """The encoding of a file: UTF-16 with a byte order mark, else UTF-8."""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    return "utf-8-sig" if data.startswith(codecs.BOM_UTF8) else "utf-8"


def parse(text: str, tolerant: bool) -> Traversal:
    """A script or module as a traversal."""
    # The replacement has as many bytes as the surrogate, so that spans are right.
    tree = concrete_tree(_SURROGATE.sub("\ufffd", text.removeprefix("\ufeff")).encode())
    if not tree.errors:
        return to_estree(tree)
    if not tolerant:
        raise _syntax_error(tree)
    return to_estree(*recovered(tree))


def _syntax_error(tree: ConcreteTree) -> ParseError:
    """The error for the shortest node in error: a longer one may hold half a file."""
    node = min(tree.errors, key=lambda error: tree.ends[error] - tree.starts[error])
    if tree.kinds[node] != ERROR:
        expected = tree.kinds[node].removeprefix(TOKEN_PREFIX)
        return ParseError("syntax error", f"expected {expected!r}", tree.line(node))
    text = tree.source[tree.starts[node] : tree.ends[node]].decode("utf-8", "replace").strip().partition("\n")[0]
    text = text if len(text) <= _MAX_QUOTED else text[:_MAX_QUOTED] + "…"
    return ParseError("syntax error", f"unexpected {text!r}", tree.line(node))
