"""What the languages hand over: a text in which a made-up name stands at the cursor, its tree, and what is in scope."""

from dataclasses import dataclass

from rarename.errors import ParseError
from rarename.syntax.traversal import Traversal

NO_NAME = "no name to complete"
"""The reason of the ParseError for a cursor at which no name can stand."""

CALL = "()"
"""What is put behind a name that is a statement by itself: alone it would do nothing, so it is a call."""

_PATIENCE = 200_000
"""Characters that may be parsed to find out how one statement ends."""
LONGEST_TAIL = 5_000
"""Characters of a broken statement that may be kept."""


def num_tries(length: int, most: int) -> int:
    """How many ways to end a statement of some length are tried: at least two, fewer if it is long.

    >>> [num_tries(length, most=16) for length in (100, 50_000, 5_000_000)]
    [16, 4, 2]
    """
    return max(2, min(most, _PATIENCE // max(length, 1)))


@dataclass(frozen=True)
class Place:
    """A text that is cut at the cursor, without the word that stands there."""

    before: str
    after: str
    name: str
    """A name that occurs nowhere in the text; it takes the place of the word."""
    line: int
    """The line of the cursor, from 1."""

    def nothing(self, where: str) -> ParseError:
        """The error for a place that holds no name."""
        return ParseError(NO_NAME, where, self.line)


@dataclass(frozen=True)
class Later:
    """What the part behind the cursor binds for the whole file, when the text leaves that part out."""

    definitions: frozenset[str] = frozenset()
    """Functions, classes and modules."""
    variables: frozenset[str] = frozenset()
    """What functions above can read all the same: they run later."""


@dataclass(frozen=True)
class Mended:
    """A text that the parser takes, with a made-up name at the cursor."""

    text: str
    traversal: Traversal
    is_whole: bool
    """Whether what stands behind the cursor is the user's; otherwise all that follows is made up."""
    later: Later = Later()


@dataclass(frozen=True)
class Scope:
    """The names that a variable can mean at a place."""

    own: frozenset[str] = frozenset()
    """Those that the text itself binds, or reads without binding them anywhere, or has in code that was left out."""
    given: frozenset[str] = frozenset()
    """Those that need no binding: builtins and globals."""
    is_known: bool = False
    """Whether no other name can be meant; any may be once there is an `import *`."""
    expected: frozenset[str] = frozenset()
    """Of its own names those that are bound for the sake of the place, and that it has not used yet."""


@dataclass(frozen=True)
class Module:
    """The name of a module in which the cursor stands."""

    prefix: str
    """What stands of it before the word, as `os.` of `import os.‸`."""
    known: frozenset[str] | None = None
    """All modules that can stand here, prefix included; None where that is not known."""
