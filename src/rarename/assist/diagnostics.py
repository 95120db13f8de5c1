"""Diagnostics: what a check reports, as values."""

import re
from dataclasses import dataclass, field

from rarename.discovery import Skipped
from rarename.syntax import Language

CODE = "RN001"  # of a variable misuse; a comment can name it to suppress the diagnostic


@dataclass(frozen=True)
class Diagnostic:
    """A variable that may be misused. Lines and columns count from 1, columns in characters."""

    path: str
    line: int
    column: int
    end_line: int
    end_column: int  # the column after the last character
    function: str  # the qualified name of the function: `Parser.read`
    name: str  # the name in the source
    suggestion: str  # the name that fits better
    confidence: float  # the model's probability, from 0 to 1, that the location is wrong and the suggestion correct
    source: str = field(default="", repr=False)  # the text of the line
    fix: str | None = field(default=None, repr=False)  # replaces the name; None if one edit is not enough

    @property
    def message(self) -> str:
        """The diagnostic in words, without its position."""
        return f"{self.name!r} may be misused here; {self.suggestion!r} fits better"


@dataclass(frozen=True)
class CheckResult:
    """The result of a check of many files."""

    diagnostics: list[Diagnostic]  # in the order of the files, and from top to bottom
    skipped: list[Skipped]
    num_files: int  # number of files that were read and parsed
    num_functions: int  # number of functions that were checked, including those with a single variable
    num_suppressed: int  # number of diagnostics that a comment suppresses
    threshold: float
    seconds: float

    @property
    def exit_code(self) -> int:
        """0: nothing found; 1: diagnostics; 2: no file could be checked."""
        return 1 if self.diagnostics else 0 if self.num_files else 2


def is_suppressed(line: str, language: Language) -> bool:
    """Whether a `noqa` comment on the line suppresses all diagnostics or this one.

    >>> from rarename.syntax import PYTHON
    >>> [is_suppressed(line, PYTHON) for line in ("x = y  # noqa", "x = y  # NOQA: E501,RN001", "x = y  # noqa: E501")]
    [True, True, False]
    """
    openers = "|".join(re.escape(opener) for opener in language.comments)
    comments = re.finditer(rf"(?<!:)(?:{openers})\s*noqa\b(?P<codes>\s*:[\s\w,]*)?", line, re.IGNORECASE)
    code_lists = [re.findall(r"\b(?:[A-Za-z]+[0-9]+|[A-Z]{1,4})\b", each["codes"] or "") for each in comments]
    return any(not codes or any(CODE.startswith(code.upper()) for code in codes) for codes in code_lists)
