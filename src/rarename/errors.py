"""Every error that rarename raises on purpose.

RarenameError
├── ParseError            a source text is not what its language allows
├── RecordError           a published record is not what its format allows
├── UnknownName           no language, strategy … of that name; the choices are listed
├── TooFewPlaceholders    a snippet has more rare names than there are placeholders
├── SourceError           a folder, archive or package cannot be read at all
├── CorpusError           a corpus folder is missing, unfinished, damaged or of another version
├── RunError              a run folder is missing, unfinished, damaged or of another version
└── UsageError            options that do not go together
"""

from collections.abc import Iterable


class RarenameError(Exception):
    """The base of all errors that are meant to be read by a user."""


class ParseError(RarenameError):
    """A source text is not what its language allows.

    `reason` is one of a few short phrases, so that skipped files can be counted by it;
    `detail` is the parser's own word; `line` counts from 1, 0 when no line is to blame.
    """

    def __init__(self, reason: str, detail: str = "", line: int = 0) -> None:
        self.reason, self.detail, self.line = reason, detail, line
        place = f"line {line}: " if line else ""
        super().__init__(f"{place}{reason}" + (f": {detail}" if detail else ""))

    def __reduce__(self) -> tuple[type["ParseError"], tuple[str, str, int]]:
        return type(self), (self.reason, self.detail, self.line)


class RecordError(RarenameError):
    """A published record is not what its format allows."""


class UnknownName(RarenameError):
    """Something was asked for by a name that does not exist."""

    def __init__(self, kind: str, name: str, choices: Iterable[str]) -> None:
        self.kind, self.name, self.choices = kind, name, tuple(choices)
        super().__init__(f"no {kind} {name!r}; choose one of {', '.join(self.choices)}")

    def __reduce__(self) -> tuple[type["UnknownName"], tuple[str, str, tuple[str, ...]]]:
        return type(self), (self.kind, self.name, self.choices)


class TooFewPlaceholders(RarenameError):
    """A snippet has more rare names than there are placeholders."""


class SourceError(RarenameError):
    """A folder, archive or package cannot be read at all."""


class CorpusError(RarenameError):
    """A corpus folder is missing, unfinished, damaged or of another version."""


class RunError(RarenameError):
    """A run folder is missing, unfinished, damaged or of another version."""


class UsageError(RarenameError):
    """Options that do not go together."""


def check_least(settings: object, **least: float) -> None:
    """Refuse settings that are below what makes sense; a number that is none is below everything.

    >>> from types import SimpleNamespace
    >>> check_least(SimpleNamespace(layers=0), layers=1)
    Traceback (most recent call last):
    ValueError: layers is 0; it must be at least 1
    """
    for name, lowest in least.items():
        value = getattr(settings, name)
        if not value >= lowest:
            raise ValueError(f"{name} is {value}; it must be at least {lowest}")
