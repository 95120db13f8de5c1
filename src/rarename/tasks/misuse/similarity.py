"""Similarity of two names in characters: people often confuse variables with similar names.

The measure is the Dice coefficient of the sets of character bigrams. Each bigram sets one of 64 bits, so a corpus of
names takes eight bytes per name.
"""

import zlib
from collections.abc import Iterable
from functools import cache

import numpy as np
from numpy.typing import NDArray

NUM_BYTES = 8
_MAX_LENGTH = 60
_NUM_BITS = np.array([number.bit_count() for number in range(256)], dtype=np.uint8)


def character_bigrams(names: Iterable[str | None]) -> NDArray[np.uint8]:
    """The bigrams of each name, beginning and end included: (names, NUM_BYTES). Very long values have none."""
    return np.array([_bits(name) for name in names], dtype="<u8").view(np.uint8).reshape(-1, NUM_BYTES)


def bigram_similarities(left: NDArray[np.uint8], right: NDArray[np.uint8]) -> NDArray[np.float64]:
    """The similarity of pairs of names (…, NUM_BYTES), from 0 (no common bigram) to 1 (the same bigrams).

    >>> names = character_bigrams(["num_rows", "num_cols", "Num_Rows"])
    >>> bigram_similarities(names[0], names).round(2).tolist()
    [1.0, 0.56, 1.0]
    """
    common, *sizes = (_NUM_BITS[each].sum(axis=-1, dtype=np.int64) for each in (left & right, left, right))
    similarity: NDArray[np.float64] = 2 * common / np.maximum(sum(sizes), 1)
    return similarity


def _bits(name: str | None) -> int:
    if name is None or len(name) > _MAX_LENGTH:
        return 0
    marked, bits = f"^{name.lower()}$", 0
    for index in range(len(marked) - 1):
        bits |= _bit(marked[index : index + 2])
    return bits


@cache
def _bit(bigram: str) -> int:
    # The upper bits of the checksum: those of short texts differ little in the lower ones.
    return 1 << (zlib.crc32(bigram.encode("utf-8", "surrogatepass")) >> 26)
