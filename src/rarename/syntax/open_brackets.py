"""Brackets, strings and templates that are still open at the cursor, one inside the other."""

from dataclasses import dataclass, field

STRING, NUMBER = '""', "0"
"""The token for a literal. A closed bracket is one token as well: `()`, `[]`, `{}`."""


@dataclass(slots=True)
class OpenBracket:
    """The tokens read since one bracket was opened; the whole text is the outermost bracket."""

    opener: str  # empty for the whole text
    closer: str
    tokens: list[str] = field(default_factory=list)  # directly inside it; of the current statement if it holds some
    starts: list[int] = field(default_factory=list)  # the offset of each token in the text

    def add(self, token: str, start: int) -> None:
        self.tokens.append(token)
        self.starts.append(start)

    def clear(self) -> None:
        self.tokens, self.starts = [], []

    @property
    def last(self) -> str:
        """The last token; empty when there is none."""
        return self.tokens[-1] if self.tokens else ""
