"""How long work tells how far it is."""

from typing import Protocol


class Progress(Protocol):
    """Whoever wants to show how far the work is."""

    def stage(self, title: str, total: int) -> None:
        """A new stage of that many steps begins."""

    def advance(self, steps: int = 1) -> None:
        """So many steps of the stage are done."""

    def note(self, text: str) -> None:
        """Something worth telling has happened."""


class Silence:
    """Shows nothing."""

    def stage(self, title: str, total: int) -> None: ...
    def advance(self, steps: int = 1) -> None: ...
    def note(self, text: str) -> None: ...
