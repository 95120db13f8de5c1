"""What the languages hand over: a text in which a made-up name stands at the cursor, and its tree."""

from dataclasses import dataclass

from rarename.errors import ParseError
from rarename.syntax.traversal import Traversal

NO_NAME = "no name to complete"
"""The reason of the ParseError for a cursor at which no name can stand."""

CALL = "()"
"""What is put behind a name that is a statement by itself: alone it would do nothing, so it is a call."""


@dataclass(frozen=True)
class Place:
    """A text that is cut at the cursor, without the word that stands there."""

    before: str
    after: str
    name: str
    """A name that occurs nowhere in the text; it takes the place of the word."""
    line: int
    """The line of the cursor, from 1."""

    def ends_line(self, comment: str) -> bool:
        """Whether nothing but a comment follows on the line of the cursor."""
        rest = self.after.partition("\n")[0].strip()
        return not rest or rest.startswith(comment)

    def nothing(self, where: str) -> ParseError:
        """The error for a place that holds no name."""
        return ParseError(NO_NAME, where, self.line)


@dataclass(frozen=True)
class Mended:
    """A text that the parser takes, with a made-up name at the cursor."""

    text: str
    traversal: Traversal
    is_whole: bool
    """Whether what stands behind the cursor is the user's; otherwise all that follows is made up."""
    later_names: frozenset[str] = frozenset()
    """What the part behind the cursor defines for the whole file, when the text leaves that part out."""
