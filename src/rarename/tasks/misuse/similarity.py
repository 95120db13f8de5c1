"""How alike two names are spelled: people who use a wrong variable often take one whose name looks like the right one.

Measured by the pairs of letters that two names have in common, beginning and end included. Each pair sets one of 64
bits, so that a whole corpus of names takes eight bytes a name.
"""

import zlib
from collections.abc import Iterable
from functools import cache

import numpy as np
from numpy.typing import NDArray

NUM_BYTES = 8
_MAX_LENGTH = 60


def spellings(names: Iterable[str | None]) -> NDArray[np.uint8]:
    """For each name its pairs of letters: (names, NUM_BYTES). What is too long for a name has none."""
    masks = [_pairs(name) for name in names]
    return np.array(masks, dtype="<u8").view(np.uint8).reshape(-1, NUM_BYTES)


def likeness_of(one: NDArray[np.uint8], others: NDArray[np.uint8]) -> NDArray[np.float64]:
    """How alike one name and each of others are, from 0 (no pair in common) to 1 (the same pairs).

    >>> name, *others = spellings(["num_rows", "num_cols", "Num_Rows"])
    >>> likeness_of(name, np.array(others)).round(2).tolist()
    [0.56, 1.0]
    """
    here, there = np.unpackbits(one).astype(np.int64), np.unpackbits(others, axis=1).astype(np.int64)
    result: NDArray[np.float64] = 2 * (there @ here) / np.maximum(here.sum() + there.sum(axis=1), 1)
    return result


def _pairs(name: str | None) -> int:
    """The bits of a name."""
    if name is None or len(name) > _MAX_LENGTH:
        return 0
    marked = f"^{name.lower()}$"
    bits = 0
    for index in range(len(marked) - 1):
        bits |= _bit(marked[index : index + 2])
    return bits


@cache
def _bit(pair: str) -> int:
    return 1 << (zlib.crc32(pair.encode("utf-8", "surrogatepass")) >> 26)  # the lower bits of so little differ less
