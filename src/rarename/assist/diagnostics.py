"""Findings: what a check has to say, as values."""

import re
from collections import Counter
from dataclasses import dataclass, field

from rarename.discovery import Skipped
from rarename.syntax import Language

CODE = "RN001"
"""The code of a variable misuse, by which a comment can silence it."""


@dataclass(frozen=True)
class Finding:
    """A place where a variable may be misused. Lines and columns count from 1, columns in characters."""

    path: str
    line: int
    column: int
    end_line: int
    end_column: int
    """The column behind the last character."""
    function: str
    """The function that it stands in, with the classes and functions around it: `Parser.read`."""
    name: str
    """What stands there."""
    suggestion: str
    """What would fit better."""
    confidence: float
    """The model's probability, from 0 to 1, that this place is wrong and the suggestion right."""
    source: str = field(default="", repr=False)
    """The text of the line."""
    replacement: str | None = field(default=None, repr=False)
    """What to write there; not always the suggestion alone: `{a}` becomes `{a: b}`. None if one edit cannot mend it."""

    @property
    def message(self) -> str:
        """The finding in words, without its place."""
        return f"{self.name!r} may be misused here; {self.suggestion!r} fits better"


@dataclass(frozen=True)
class Report:
    """The outcome of a check of many files."""

    findings: list[Finding]
    """In the order of the files, and from top to bottom."""
    skipped: list[Skipped]
    num_files: int
    """Files that were read and parsed."""
    num_functions: int
    """Functions that were looked at, those with nothing to confuse included."""
    num_silenced: int
    """Findings that a comment silences."""
    min_confidence: float
    seconds: float

    @property
    def exit_code(self) -> int:
        """0: nothing found; 1: findings; 2: there was not one file that could be checked."""
        return 1 if self.findings else 0 if self.num_files else 2

    def reasons(self) -> dict[str, int]:
        """How often something was skipped, by reason, the most frequent first."""
        return dict(Counter(entry.reason for entry in self.skipped).most_common())


def is_silenced(line: str, language: Language) -> bool:
    """Whether a comment on the line says that nothing, or not this, is to be found there.

    >>> from rarename.syntax import JAVASCRIPT, PYTHON
    >>> [is_silenced(line, PYTHON) for line in ("x = y  # noqa", "x = y  # NOQA: E501,RN001", "x = y  # noqa: E501")]
    [True, True, False]
    >>> lines = ("x = y; // noqa: RN001", "<li>{x}</li> {/* noqa */}", "x = 'https://noqa.org' + y")
    >>> [is_silenced(line, JAVASCRIPT) for line in lines]
    [True, True, False]
    """
    begins = "|".join(re.escape(mark) for mark in language.comments)
    for found in re.finditer(rf"(?<!:)(?:{begins})\s*noqa\b(?P<codes>\s*:[\s\w,]*)?", line, re.IGNORECASE):
        codes = re.findall(r"\b(?:[A-Za-z]+[0-9]+|[A-Z]{1,4})\b", found["codes"] or "")
        if not codes or any(CODE.startswith(code.upper()) for code in codes):
            return True
    return False
