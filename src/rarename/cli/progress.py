"""Progress on stderr: a bar with an estimate on a terminal, a line now and then elsewhere."""

import sys
import time
from types import TracebackType

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.progress import Progress as RichProgress

SECONDS_BETWEEN_LINES = 10.0


class ShownProgress:
    """Shows the stages of long work, a bar not before it has taken so many seconds; a `corpus.progress.Progress`."""

    def __init__(self, after: float = 0.0) -> None:
        console = Console(stderr=True)
        self._bar = (
            RichProgress(
                TextColumn("{task.description:<16}"),
                BarColumn(),
                MofNCompleteColumn(),
                TimeElapsedColumn(),
                TextColumn("left"),
                TimeRemainingColumn(),
                console=console,
            )
            if console.is_terminal
            else None
        )
        self._after, self._is_shown = after, False
        self._task: TaskID | None = None
        self._title, self._total, self._done = "", 0, 0
        self._began = self._told = time.monotonic()

    def __enter__(self) -> "ShownProgress":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar:
            if self._is_shown:
                self._bar.stop()
        else:
            self._tell(is_end=True)

    def start(self, title: str, total: int) -> None:
        if self._bar:
            self._task = self._bar.add_task(title, total=total)
            self._show()
            return
        self._tell(is_end=True)
        self._title, self._total, self._done = title, total, 0
        self._began = self._told = time.monotonic()

    def advance(self, steps: int = 1) -> None:
        if self._bar and self._task is not None:
            self._bar.advance(self._task, steps)
            self._show()
            return
        self._done += steps
        if time.monotonic() - self._told >= SECONDS_BETWEEN_LINES:
            self._tell(is_end=False)

    def log(self, text: str) -> None:
        if self._bar:
            self._bar.console.print(text, markup=False, highlight=False)
        else:
            print(text, file=sys.stderr)

    def _show(self) -> None:
        """Start the bar, not before there is something to show: it starts a thread."""
        if self._bar and not self._is_shown and time.monotonic() - self._began >= self._after:
            self._bar.start()
            self._is_shown = True

    def _tell(self, is_end: bool) -> None:
        if not self._title:
            return
        spent = time.monotonic() - self._began
        if is_end:
            # What took no time needs no line.
            text = f"{self._done} of {self._total}, {spent:.0f} s" if spent >= 2 else ""
            self._title, title = "", self._title
        else:
            left = spent * (self._total - self._done) / max(1, self._done)
            text, title = f"{self._done} of {self._total}, about {left:.0f} s left", self._title
        self._told = time.monotonic()
        if text:
            print(f"{title}: {text}", file=sys.stderr, flush=True)
