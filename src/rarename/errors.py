"""Every error that rarename raises on purpose."""

from collections.abc import Iterable

GAVE_UP = "gave up after too long"
"""The reason of a ParseError that may not come again when the machine is less busy."""


class RarenameError(Exception):
    """The base of all errors that are meant to be read by a user."""


class ParseError(RarenameError):
    """A source text is not what its language allows.

    `reason` is one of a few short phrases, so that skipped files can be counted by it; `detail` is the message of the
    parser; `line` counts from 1 and is 0 if unknown.
    """

    def __init__(self, reason: str, detail: str = "", line: int = 0) -> None:
        super().__init__(reason, detail, line)  # as arguments, so that the error can be pickled
        self.reason, self.detail, self.line = reason, detail, line

    def __str__(self) -> str:
        text = f"{self.reason}: {self.detail}" if self.detail else self.reason
        return f"line {self.line}: {text}" if self.line else text


class RecordError(RarenameError):
    """A published record is not what its format allows."""


class UnknownName(RarenameError):
    """There is no language, strategy … of that name; the choices are listed."""

    def __init__(self, kind: str, name: str, choices: Iterable[str]) -> None:
        super().__init__(kind, name, tuple(choices))

    def __str__(self) -> str:
        kind, name, choices = self.args
        return f"no {kind} {name!r}; choose one of {', '.join(choices)}"


class TooFewPlaceholders(RarenameError):
    """A snippet has more rare names than there are placeholders."""


class SourceError(RarenameError):
    """A folder, archive or package cannot be read at all."""


class CorpusError(RarenameError):
    """A corpus folder is missing, unfinished, damaged or of another version."""


class RunError(RarenameError):
    """A run folder is missing, unfinished, damaged or of another version."""


class ClusterError(RarenameError):
    """A cluster cannot be reached, or its workers cannot do the work."""


class UsageError(RarenameError):
    """Arguments or options that are wrong or exclude each other."""
