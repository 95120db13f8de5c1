"""Brackets, strings and templates that are still open at the cursor, one inside the other."""

from dataclasses import dataclass, field

MAX_TOKENS = 400  # that are kept of one bracket: enough for code that people write, and a limit to each look at them
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
        if len(self.tokens) >= MAX_TOKENS:  # leave out the middle
            del self.tokens[MAX_TOKENS // 4 : -MAX_TOKENS // 4], self.starts[MAX_TOKENS // 4 : -MAX_TOKENS // 4]
        self.tokens.append(token)
        self.starts.append(start)

    def clear(self) -> None:
        self.tokens, self.starts = [], []

    @property
    def last(self) -> str:
        """The last token; empty when there is none."""
        return self.tokens[-1] if self.tokens else ""
