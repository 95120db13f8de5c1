"""Brackets, strings and templates that are still open at the cursor, one inside the other."""

from dataclasses import dataclass, field

STRING, NUMBER = '""', "0"
"""The token for a literal. A closed bracket is one token as well: `()`, `[]`, `{}`."""


@dataclass(slots=True)
class OpenBracket:
    """The tokens read since one bracket was opened; the whole text is the outermost bracket."""

    opener: str
    """What opened it; empty for the whole text."""
    closer: str
    """What will close it."""
    tokens: list[str] = field(default_factory=list)
    """The tokens directly inside it; where it holds statements, those of the current statement."""
    starts: list[int] = field(default_factory=list)
    """The offset of each token in the text."""

    def add(self, token: str, start: int) -> None:
        self.tokens.append(token)
        self.starts.append(start)

    def clear(self) -> None:
        self.tokens, self.starts = [], []

    @property
    def last(self) -> str:
        """The last token; empty when there is none."""
        return self.tokens[-1] if self.tokens else ""
