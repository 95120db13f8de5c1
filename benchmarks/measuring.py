"""What several benchmarks need: a corpus, a process of its own, and the memory that it had."""

import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any


def prepare(corpus: Path) -> Path:
    """A corpus of the standard library."""
    command = [sys.executable, "-m", "rarename", "prepare", str(corpus), "stdlib", "--language", "python"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return corpus


def apart(work: Callable[..., dict[str, Any]], *arguments: Any) -> dict[str, Any]:
    """Do it in a process of its own, so that its peak of memory is not that of what came before."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(work, *arguments).result()


def megabytes(key: str = "VmHWM") -> float:
    """The most memory that this process has had; `VmRSS` is what it has now."""
    # Not `getrusage`: there a process begins with the peak of the one that init_distributed it.
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(f"{key}:"):
            return int(line.split()[1]) / 1024
    raise AssertionError(f"/proc/self/status tells no {key}")
