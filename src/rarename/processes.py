"""Pools of worker processes for `prepare` and `sweep`."""

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor


def process_pool(num_workers: int, before_exit: Callable[[], None] | None = None) -> ProcessPoolExecutor:
    """A pool of new processes. They inherit no lock, ignore Ctrl-C, and end when this process ends or is killed.

    `before_exit` runs in a worker before it ends for that reason; a module must define it.
    """
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(num_workers, context, initializer=_exit_with_parent, initargs=(before_exit,))
    # Ctrl-C reaches all processes of a terminal. The workers inherit this mask, so only this process handles it.
    previous = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        for _ in range(num_workers):
            pool.submit(int)  # starts a process
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, previous)
    return pool


def _exit_with_parent(before_exit: Callable[[], None] | None) -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None

    def exit_after_parent() -> None:
        parent.join()
        if before_exit is not None:
            before_exit()
        os._exit(1)

    threading.Thread(target=exit_after_parent, daemon=True).start()
