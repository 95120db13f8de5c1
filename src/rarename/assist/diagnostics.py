"""Diagnostics: what a check reports, as values."""

from dataclasses import dataclass, field, replace
from typing import NamedTuple

from rarename.discovery import Skipped
from rarename.printable import escaped

CODE = "RN001"  # of a variable misuse; a comment can name it to suppress the diagnostic
UNUSED = "RN100"  # of a comment that suppresses nothing


class Alternative(NamedTuple):
    """Another variable of the function that may be misused, or another suggestion for the same one."""

    line: int
    column: int
    name: str
    suggestion: str
    confidence: float


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
    code: str = CODE
    model: str = ""  # the name and version of the model
    function_line: int = 0  # the first line of the function
    function_end_line: int = 0
    fingerprint: str = field(default="", repr=False)  # of the text of the function, see `baseline`
    alternatives: tuple[Alternative, ...] = field(default=(), repr=False)  # the next most probable ones

    def printable(self) -> "Diagnostic":
        """The diagnostic with every text escaped, for output."""
        return replace(
            self,
            path=escaped(self.path),
            function=escaped(self.function),
            name=escaped(self.name),
            suggestion=escaped(self.suggestion),
            model=escaped(self.model),
            alternatives=tuple(
                each._replace(name=escaped(each.name), suggestion=escaped(each.suggestion))
                for each in self.alternatives
            ),
        )

    @property
    def message(self) -> str:
        """The diagnostic in words, without its position."""
        if self.code == UNUSED:
            return f"{self.name!r} suppresses nothing"
        return f"{self.name!r} may be misused here; {self.suggestion!r} fits better"


@dataclass(frozen=True)
class CheckResult:
    """The result of a check of many files. `findings`, `skipped` and `summary` have the names of the JSON."""

    findings: list[Diagnostic]  # in the order of the files, and from top to bottom
    skipped: list[Skipped]
    num_files: int  # number of files that were read and parsed
    num_functions: int  # number of functions that were checked, including those with a single variable
    num_suppressed: int  # number of diagnostics that a comment suppresses
    threshold: float
    seconds: float
    num_excluded: int = 0  # number of files and folders that the settings leave out
    num_in_baseline: int = 0  # number of diagnostics that the baseline suppresses
    num_fixed: int = 0  # number of diagnostics that were fixed or suppressed in their files
    thresholds: dict[str, float] = field(default_factory=dict)  # of each checked file
    languages: dict[str, str] = field(default_factory=dict)  # of each checked file
    real_paths: dict[str, str] = field(default_factory=dict)  # of each file whose path is shown with an escape

    @property
    def summary(self) -> dict[str, float]:
        """The counts of the result, as in JSON."""
        return {
            "files": self.num_files,
            "functions": self.num_functions,
            "findings": len(self.findings),
            "suppressed": self.num_suppressed,
            "in_baseline": self.num_in_baseline,
            "fixed": self.num_fixed,
            "skipped": len(self.skipped),
            "min_confidence": self.threshold,
            "seconds": round(self.seconds, 3),
        }

    @property
    def exit_code(self) -> int:
        """0: nothing found; 1: diagnostics; 2: no file could be checked."""
        return 1 if self.findings else 0 if self.num_files or self.num_excluded else 2
