"""Language: the facts about a programming language that the rest of rarename needs."""

import math
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from importlib import import_module
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple

from rarename.errors import GAVE_UP, ParseError
from rarename.syntax.traversal import Role, Traversal

if TYPE_CHECKING:
    from rarename.syntax.cursor import CursorSupport


@dataclass(frozen=True)
class RecordStyle:
    """How a published corpus writes one tree on one line."""

    has_ids: bool  # each node has its own index, and there are blanks around the punctuation (JS150)
    ends_with_zero: bool  # the array ends with the integer 0 (JS150)


class Comment(NamedTuple):
    """A comment of a source text; line and column count from 1, the column in characters."""

    line: int
    column: int
    end_line: int
    text: str  # with its marks


@dataclass(frozen=True)
class Lazy:
    """A function whose module is imported at the first call: a command needs few of the parsers, and often none."""

    module: str  # below `rarename.syntax`
    name: str

    def __call__(self, *arguments: Any) -> Any:
        return getattr(import_module(f"rarename.syntax.{self.module}"), self.name)(*arguments)


@dataclass(frozen=True)
class Language:
    """One language: its files, how they are parsed to a traversal, what the nodes mean.

    A field whose name ends with `_types` holds node types.
    """

    name: str
    suffixes: tuple[str, ...]  # file name endings, with the dot, lower case
    encoding: Callable[[bytes], str]
    """The name of the encoding of a file's bytes, in which a text can be written back; raises ParseError (reason "not
    text in a known encoding")."""
    parse: Callable[[str, bool], Traversal]
    """Text to traversal. If the flag is set, the parse is tolerant: it recovers from errors where the parser can,
    instead of raising ParseError."""
    roles: Callable[[Traversal], list[Role]]
    """The role of every node, from types, values and parents alone, so that published records have roles too."""
    function_types: frozenset[str]
    scope_types: frozenset[str]  # they open a scope: names bound inside them are not visible outside
    record: RecordStyle  # the published format that holds trees of this language
    check_scopes: Callable[[str], None] = lambda text: None
    """Raises ParseError if the language refuses names of a text that can be parsed."""
    class_types: frozenset[str] = frozenset()  # scopes whose names are not visible in the scopes inside them
    outer_types: frozenset[str] = frozenset()
    """What is evaluated around a scope although it is in its header: defaults, decorators, annotations."""
    header_types: frozenset[str] = frozenset()
    """What can hold nodes of `outer_types` in a header. An annotation in a body is not in a header."""
    iterating_types: frozenset[str] = frozenset()
    """Loops whose second child, the iterable, is evaluated around the scope of the loop."""
    unswappable_types: frozenset[str] = frozenset()
    """Parents of names that cannot be exchanged alone, because other code must match them."""
    paired_types: frozenset[str] = frozenset()
    """Names that occur twice, such as the two tags of an element: one edit cannot rename them."""
    root_type: str = ""
    line_break: bytes = rb"\r\n|\r|\n"  # what ends a line where the parser counts lines: a regular expression
    interpreters: tuple[str, ...] = ()  # of scripts, as the first line of a script names them, without a version
    comments: tuple[str, ...] = ("#",)  # the marks that begin a comment
    find_comments: Callable[[str], Iterable[Comment]] = lambda text: ()  # the comments of a text that can be parsed
    call_types: frozenset[str] = frozenset()
    receivers: frozenset[str] = frozenset()  # the usual names of the object or the class that a method belongs to
    constructors: frozenset[str] = frozenset()  # the names of methods that are called by the name of their class
    keyword_argument_type: str = ""  # holds the name of a keyword argument; empty if the language has none
    possible_wrappers: tuple[tuple[str, ...], ...] = ()
    """The nodes that may come before a name once the text continues, as in `a()`, `a.b`, `a.b()` and `a[b]`. The first
    is a call."""
    assignment_rewrites: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """What a statement and its attribute become once a value is assigned to the attribute."""
    naming_types: frozenset[str] = frozenset()  # they name the function in them: `exports.parse = function () {}`
    function_prefix: str = ""
    """What may come before the first node of a function, or before the name of a method: a regular expression."""
    cursor: "Callable[[], CursorSupport] | None" = None  # how unfinished text is read; None if no name can be completed

    def decode(self, data: bytes) -> str:
        """A file's bytes as text; raises ParseError (reason "not text in a known encoding")."""
        try:
            with suppressed_warnings():
                return data.decode(self.encoding(data))
        except UnicodeDecodeError as problem:
            detail = f"{problem.reason} at byte {problem.start}"
        except (LookupError, ValueError) as problem:
            detail = str(problem)
        raise ParseError("not text in a known encoding", detail)


deadline = ContextVar("deadline", default=math.inf)
"""The time, as of `time.thread_time`, from which no parser starts."""


def check_deadline() -> None:
    """Raise ParseError after the deadline."""
    if time.thread_time() > deadline.get():
        raise ParseError(GAVE_UP)


_WARNINGS_LOCK = Lock()  # held while warnings are suppressed: the filters belong to the whole process


@contextmanager
def suppressed_warnings() -> Iterator[None]:
    """Suppress warnings about a file that is parsed: it is not the caller's code."""
    with _WARNINGS_LOCK, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
