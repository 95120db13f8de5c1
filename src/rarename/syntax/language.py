"""Language: all that the rest of rarename needs to know about one programming language."""

import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Lock

from rarename.errors import ParseError
from rarename.syntax.traversal import Role, Traversal


@dataclass(frozen=True)
class RecordStyle:
    """How a published corpus spells one tree on one line."""

    has_ids: bool
    """Each node carries its own index, and blanks stand around the punctuation (JS150)."""
    ends_with_zero: bool
    """The array ends with the integer 0 (JS150)."""


@dataclass(frozen=True)
class Language:
    """One language: which files are its own, how they become a traversal, what the nodes mean."""

    name: str
    suffixes: tuple[str, ...]
    """File name endings, with the dot, lower case."""
    encoding: Callable[[bytes], str]
    """The name of the encoding that a file's bytes are in, so that a text can be written back in it; raises
    ParseError (reason "not text in a known encoding")."""
    parse: Callable[[str, bool], Traversal]
    """Text to traversal. The flag asks for a tolerant parse: broken places are mended where the
    parser can, instead of raising ParseError."""
    roles: Callable[[Traversal], list[Role]]
    """The role of every node, from types, values and parents alone, so that published records have roles too."""
    function_types: frozenset[str]
    """The node types that are functions."""
    scope_types: frozenset[str]
    """The node types within which names are bound that cannot be seen outside."""
    record: RecordStyle
    """The published format that holds trees of this language."""
    class_types: frozenset[str] = frozenset()
    """Of these the ones whose names the scopes inside cannot see."""
    outer_types: frozenset[str] = frozenset()
    """The node types in a scope that are evaluated around it: defaults, decorators, bases."""
    iterating_types: frozenset[str] = frozenset()
    """The node types whose second part, what is looped over, is evaluated around the scope of the loop."""
    fixed_types: frozenset[str] = frozenset()
    """The node types whose names cannot be exchanged by themselves: what comes before or behind must fit them."""
    root_type: str = ""
    """The type of the node that every tree of this language begins with."""
    line_break: bytes = rb"\r\n|\r|\n"
    """What ends a line where the parser counts lines: a regular expression."""
    interpreters: tuple[str, ...] = ()
    """The programs that run its scripts, as the first line of a script names them, without a version."""
    comments: tuple[str, ...] = ("#",)
    """What begins a comment."""
    around_names: tuple[tuple[str, ...], ...] = ()
    """What may turn out to stand around a name when the text goes on: nodes that come before the name, as in `a()`,
    `a.b`, `a.b()` and `a[b]`. The first is a call."""
    call_types: frozenset[str] = frozenset()
    """The node types of calls: behind one of them an attribute may follow, or one more argument."""
    as_target: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """What nodes turn out to be when a value is assigned to the attribute that seemed a statement by itself: the
    statement, and the attribute."""
    naming_types: frozenset[str] = frozenset()
    """The node types that name a function by what stands before it: `exports.parse = function () {}`."""

    def decode(self, data: bytes) -> str:
        """A file's bytes as text; raises ParseError (reason "not text in a known encoding")."""
        try:
            with silenced_warnings():
                return data.decode(self.encoding(data))
        except UnicodeDecodeError as problem:
            detail = f"{problem.reason} at byte {problem.start}"
        except (LookupError, ValueError) as problem:
            detail = str(problem)
        raise ParseError("not text in a known encoding", detail)


_FILTERS = Lock()
"""Held while warnings about a file are silenced: the filters belong to the whole process."""


@contextmanager
def silenced_warnings() -> Iterator[None]:
    """Keep in what Python warns about in a file that is read: it is not the caller's code."""
    with _FILTERS, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
