"""Text to traversal."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

from rarename.syntax.python.places import Source
from rarename.syntax.python.reading import syntax_tree
from rarename.syntax.python.walk import walk
from rarename.syntax.traversal import Traversal


def parse(text: str, tolerant: bool = False) -> Traversal:
    """Text to traversal. `ast` cannot mend broken code, so `tolerant` changes nothing.

    A byte order mark is dropped, all line ends become `\\n`; columns count without them.
    """
    text = text.removeprefix("\ufeff")
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    with _paused_collector():
        return walk(syntax_tree(text, "exec"), Source(text))


@contextmanager
def _paused_collector() -> Iterator[None]:
    """Parsing makes no cycles: the garbage collector would go through the growing tree for nothing."""
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
