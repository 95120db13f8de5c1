"""Sorted files of rows, each written by one task. Another task merges a range of all of them.

So a step that compares or sums rows of the whole corpus holds only a range of them.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rarename.io import replacing

ROWS_PER_RANGE = 500_000  # about how many rows are merged at a time

Rows = NDArray[Any]


def write_rows(path: Path, rows: Rows) -> None:
    with replacing(path) as temporary, temporary.open("wb") as file:
        np.save(file, rows)


def map_rows(path: Path) -> Rows:
    """Map a file of rows into memory."""
    rows: Rows = np.load(path, mmap_mode="r")
    return rows


def hash_ranges(paths: Iterable[Path]) -> list[tuple[int, int]]:
    """Cut the 64-bit hashes into ranges of similar size: the first and last hash of each."""
    num_ranges = 1 + sum(len(map_rows(path)) for path in paths) // ROWS_PER_RANGE
    bounds = [2**64 * number // num_ranges for number in range(num_ranges + 1)]
    return [(start, stop - 1) for start, stop in pairwise(bounds)]


def read_range(paths: Sequence[Path], key: str, first: int, last: int) -> tuple[Rows, NDArray[np.int64]]:
    """The rows with keys from `first` to `last` of all files, and the number of the file of each row.

    They are copied: a file that stays mapped would count as memory.
    """
    parts = []
    for path in paths:
        rows = map_rows(path)
        keys = rows[key]
        parts.append(np.array(rows[bisect_left(keys, first) : bisect_right(keys, last)]))
    return np.concatenate(parts), np.repeat(np.arange(len(parts)), [len(part) for part in parts])
