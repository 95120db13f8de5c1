"""Progress reports of long tasks."""

from typing import Protocol


class Progress(Protocol):
    """Receives the progress of a long task, to show or record it."""

    def start(self, title: str, total: int) -> None:
        """Begin a stage of `total` steps."""

    def advance(self, steps: int = 1) -> None:
        """Count `steps` steps of the stage as done."""

    def log(self, text: str) -> None:
        """Report an event."""


class NullProgress:
    """Ignores all progress."""

    def start(self, title: str, total: int) -> None: ...
    def advance(self, steps: int = 1) -> None: ...
    def log(self, text: str) -> None: ...
