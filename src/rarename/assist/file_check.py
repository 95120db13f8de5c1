"""What a check finds in one file: first whatever its path and threshold are, then as it is reported."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace

from rarename.assist.diagnostics import CODE, UNUSED, Alternative, CheckResult, Diagnostic
from rarename.assist.suppressions import Suppression, suppressed_codes
from rarename.discovery import Files, Skipped
from rarename.errors import GAVE_UP


@dataclass(frozen=True)
class CheckedFile:
    """A file of a result."""

    path: str
    diagnostics: list[Diagnostic]  # from top to bottom
    skipped: list[Skipped]  # the whole file, or functions in it
    num_functions: int = 0
    num_suppressed: int = 0
    language: str = ""  # empty if the file was not checked
    threshold: float = 1.0


@dataclass(frozen=True)
class FileCheck:
    """What depends on the content of a file alone; the paths are empty. It can be kept as JSON."""

    findings: list[Diagnostic]  # from top to bottom, suppressed ones too
    suppressions: list[Suppression]
    skipped: list[Skipped]
    num_functions: int
    is_checked: bool

    @property
    def gave_up(self) -> bool:
        """Whether another attempt may have another result, because the machine was busy."""
        return any(each.reason == GAVE_UP for each in self.skipped)

    def report(self, path: str, language: str, threshold: float, report_unused: bool) -> CheckedFile:
        """What is reported of the file with a path."""
        skipped = [replace(each, path=path) for each in self.skipped]
        if not self.is_checked:
            return CheckedFile(path, [], skipped)
        found = [each for each in self.findings if each.confidence >= threshold]
        codes, lines = suppressed_codes(self.suppressions), {line for each in found for line in (None, each.line)}
        shown = [each for each in found if not _suppresses(codes.get(None, set()) | codes.get(each.line, set()))]
        unused = [
            _unused(comment)
            for comment in self.suppressions
            if report_unused and comment.names(CODE) and comment.target not in lines
        ]
        diagnostics = [replace(each, path=path) for each in sorted([*shown, *unused], key=position)]
        num_suppressed = len(found) - len(shown)
        return CheckedFile(path, diagnostics, skipped, self.num_functions, num_suppressed, language, threshold)

    def to_json(self) -> bytes:
        return json.dumps(asdict(self), separators=(",", ":")).encode()

    @classmethod
    def from_json(cls, data: bytes) -> "FileCheck":
        """Read what `to_json` wrote; raises ValueError, KeyError or TypeError for anything else."""
        content = json.loads(data)
        comments = [each | {"codes": tuple(each["codes"])} for each in content["suppressions"]]
        return cls(
            [
                Diagnostic(**each | {"alternatives": tuple(Alternative(*other) for other in each["alternatives"])})
                for each in content["findings"]
            ],
            [Suppression(**each) for each in comments],
            [Skipped(**each) for each in content["skipped"]],
            content["num_functions"],
            content["is_checked"],
        )


def position(diagnostic: Diagnostic) -> tuple[int, int]:
    """The key that sorts the diagnostics of a file."""
    return diagnostic.line, diagnostic.column


def result_of(checked: Sequence[CheckedFile], files: Files, threshold: float, seconds: float) -> CheckResult:
    """Put the files of a result together. `threshold` is reported if no file was checked."""
    done = [each for each in checked if each.language]
    return CheckResult(
        findings=[diagnostic for each in checked for diagnostic in each.diagnostics],
        skipped=[*files.skipped, *(skipped for each in checked for skipped in each.skipped)],
        num_files=len(done),
        num_functions=sum(each.num_functions for each in done),
        num_suppressed=sum(each.num_suppressed for each in done),
        threshold=min((each.threshold for each in done), default=threshold),
        seconds=seconds,
        num_excluded=files.num_excluded,
        thresholds={each.path: each.threshold for each in done},
        languages={each.path: each.language for each in done},
        real_paths={shown: str(path) for shown, path in files.real_paths.items() if "%" in shown},
    )


def _suppresses(codes: set[str]) -> bool:
    return any(CODE[:length] in codes for length in range(len(CODE) + 1))


def _unused(comment: Suppression) -> Diagnostic:
    """A diagnostic for a comment that names the code and suppresses nothing."""
    return Diagnostic(
        path="",
        line=comment.line,
        column=comment.column,
        end_line=comment.line,
        end_column=comment.column + len(comment.text.splitlines()[0]),
        function="",
        name=comment.text,
        suggestion="",
        confidence=1.0,
        source=comment.source,
        code=UNUSED,
        function_line=comment.line,  # it changed if its line did
        function_end_line=comment.line,
    )
