"""Processes that work on shards, and what happens when one of them dies."""

import os
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from typing import Any

from rarename.errors import RarenameError
from rarename.progress import Progress


class Workers:
    """Processes that work on shards; with one job, the calling process itself."""

    def __init__(self, jobs: int, always_apart: bool = False) -> None:
        self.jobs = jobs
        self.is_apart = always_apart or jobs > 1
        self._pool: ProcessPoolExecutor | None = None

    def __enter__(self) -> "Workers":
        if self.is_apart:
            self._start()
        return self

    def _start(self) -> ProcessPoolExecutor:
        """Start the processes. A process without threads can simply be forked, which is quick."""
        can_fork = sys.platform == "linux" and threading.active_count() == 1
        context = get_context("fork" if can_fork else "forkserver")
        if not can_fork:
            context.set_forkserver_preload(["rarename.corpus.shards"])
        # Ctrl-C reaches all processes; the one that the user started says what it means.
        ignore = (signal.SIGINT, signal.SIG_IGN)
        self._pool = ProcessPoolExecutor(self.jobs, context, initializer=signal.signal, initargs=ignore)
        self._pool.submit(os.getpid).result()
        return self._pool

    def __exit__(self, *exception: object) -> None:
        if self._pool:
            self._pool.shutdown(wait=True, cancel_futures=True)

    def run(
        self, function: Callable[..., Any], tasks: Sequence[tuple[int, tuple[Any, ...]]], progress: Progress
    ) -> bool:
        """Call the function for each task, a weight and arguments; returns whether a process died."""
        if not self.is_apart:
            for weight, arguments in tasks:
                function(*arguments)
                progress.advance(weight)
            return False
        pool = self._pool or self._start()
        pending: dict[Future[Any], int] = {}
        waiting = iter(tasks)
        try:
            while True:
                # Few tasks wait in the pool, so that stopping stops soon.
                while len(pending) < 2 * self.jobs and (task := next(waiting, None)):
                    pending[pool.submit(function, *task[1])] = task[0]
                if not pending:
                    return False
                for future in wait(pending, return_when=FIRST_COMPLETED).done:
                    future.result()
                    progress.advance(pending.pop(future))
        except BrokenProcessPool:
            pool.shutdown(wait=True)
            self._pool = None
            return True

    def run_all(
        self, function: Callable[..., Any], tasks: Sequence[tuple[int, tuple[Any, ...]]], progress: Progress
    ) -> None:
        """Call the function for each task; a process that dies is an error."""
        if self.run(function, tasks, progress):
            raise RarenameError("a worker process died; is there enough memory? Run the same command to go on")
