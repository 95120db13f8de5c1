"""Ctrl-C: the first one asks the work to stop."""

import signal
from types import FrameType
from typing import Self


class GracefulInterrupt:
    """The first Ctrl-C asks the work to stop and save, the second one raises KeyboardInterrupt.

    The object is called by the work to learn whether it should stop. Before the first call there is nothing to save, so
    Ctrl-C raises at once. torchrun repeats a Ctrl-C of the terminal: `second_raises=False` ignores repetitions.
    """

    def __init__(self, second_raises: bool = True) -> None:
        self.is_requested = self._has_work_begun = False
        self._second_raises = second_raises

    def __enter__(self) -> Self:
        self._previous_handler = signal.signal(signal.SIGINT, self._handle)
        return self

    def __exit__(self, *_: object) -> None:
        signal.signal(signal.SIGINT, self._previous_handler)

    def __call__(self) -> bool:
        self._has_work_begun = True
        return self.is_requested

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if not self._has_work_begun or (self.is_requested and self._second_raises):
            raise KeyboardInterrupt
        self.is_requested = True
