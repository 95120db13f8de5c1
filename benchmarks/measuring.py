"""What several benchmarks share: a corpus, a process of their own, timers and memory."""

import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any


class Timer:
    """Wall time and CPU time of a block. CPU time varies less when other processes use the same cores."""

    seconds = 0.0
    cpu_seconds = 0.0

    def __enter__(self) -> "Timer":
        self._started, self._cpu_started = time.perf_counter(), time.process_time()
        return self

    def __exit__(self, *_: object) -> None:
        self.seconds = time.perf_counter() - self._started
        self.cpu_seconds = time.process_time() - self._cpu_started


def prepare(corpus: Path) -> Path:
    """Make a corpus of the standard library."""
    command = [sys.executable, "-m", "rarename", "prepare", str(corpus), "stdlib", "--language", "python"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return corpus


def in_new_process(work: Callable[..., dict[str, Any]], *arguments: Any) -> dict[str, Any]:
    """Run work in a process of its own, so that its peak memory is its own."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(work, *arguments).result()


def megabytes(key: str = "VmHWM") -> float:
    """Peak memory of this process; `VmRSS` is the memory at present."""
    # Not `getrusage`, where a process starts with the peak of its parent.
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(f"{key}:"):
            return int(line.split()[1]) / 1024
    raise AssertionError(f"/proc/self/status has no {key}")
