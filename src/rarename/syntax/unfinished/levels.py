"""Levels: the brackets, strings and templates that are still open at the cursor, one inside the other."""

from dataclasses import dataclass, field

STRING, NUMBER = '""', "0"
"""The token that stands for a literal. A group in brackets is one token as well: `()`, `[]`, `{}`."""


@dataclass(slots=True)
class Level:
    """What has been read inside of one open bracket; the text itself is the outermost level."""

    opener: str
    """What opened it; empty for the text itself."""
    closer: str
    """What will close it."""
    tokens: list[str] = field(default_factory=list)
    """The tokens at this level, those of the current statement where the level holds statements."""
    starts: list[int] = field(default_factory=list)
    """Where each token starts in the text."""

    def add(self, token: str, start: int) -> None:
        """One more token."""
        self.tokens.append(token)
        self.starts.append(start)

    def clear(self) -> None:
        """A statement is over."""
        self.tokens, self.starts = [], []

    @property
    def last(self) -> str:
        """The last token; empty when there is none."""
        return self.tokens[-1] if self.tokens else ""
