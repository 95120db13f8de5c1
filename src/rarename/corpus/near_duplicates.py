"""Near-duplicate files: MinHash over shingles of nodes, linked into clusters (Allamanis 2019).

A shingle is `SHINGLE` consecutive nodes, types and values: comments and layout do not matter, and published trees are
treated like files. A cluster is a connected component: if A resembles B and B resembles C, one of the three is kept.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

SHINGLE = 5
THRESHOLD = 0.7  # the fraction of equal MinHash values at which two files are near-duplicates
NUM_HASHES = 128
NUM_BANDS = 16  # files are compared if all 8 hashes of a band agree, which finds most pairs with a fraction of 0.7
NEIGHBOURS = 16  # files of a band that each file is compared with: the time stays linear in large bands

Hashes = NDArray[np.uint64]
Pairs = tuple[NDArray[np.int64], NDArray[np.int64]]

_rng = np.random.Generator(np.random.PCG64(20_210_606))
_MULTIPLIERS = _rng.integers(1, 2**63, NUM_HASHES, dtype=np.uint64) * np.uint64(2) + np.uint64(1)
_OFFSETS = _rng.integers(0, 2**64, NUM_HASHES, dtype=np.uint64, endpoint=False)
_POSITIONS = _rng.integers(1, 2**63, SHINGLE, dtype=np.uint64) * np.uint64(2) + np.uint64(1)
_CHUNK = 4096  # shingles hashed, or pairs compared, at a time: bounds the memory


def stable_hash(content: str | Hashes) -> int:
    """A 64-bit hash of a string or of a run of node hashes, the same on every machine and in every process."""
    data = content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content.tobytes()
    return int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), "little")


def mix(hashes: Hashes) -> Hashes:
    """Mix the bits of each hash (the finalizer of SplitMix64), so that sums of them are good hashes."""
    hashes = (hashes ^ (hashes >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    hashes = (hashes ^ (hashes >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return hashes ^ (hashes >> np.uint64(31))


def signature(nodes: Hashes) -> NDArray[np.uint32]:
    """The MinHash signature of a file, given a hash for each node. A short file is one shingle."""
    if len(nodes) < SHINGLE:
        shingles = np.array([stable_hash(nodes)], dtype=np.uint64)
    else:
        windows = np.lib.stride_tricks.sliding_window_view(nodes, SHINGLE)
        shingles = np.unique(mix((windows * _POSITIONS).sum(axis=1, dtype=np.uint64)))
    smallest = np.full(NUM_HASHES, np.iinfo(np.uint64).max, dtype=np.uint64)
    for start in range(0, len(shingles), _CHUNK):
        hashed = np.multiply.outer(_MULTIPLIERS, shingles[start : start + _CHUNK]) + _OFFSETS[:, None]
        np.minimum(smallest, hashed.min(axis=1), out=smallest)
    return (smallest >> np.uint64(32)).astype(np.uint32)  # the high half is mixed well


def band_keys(signatures: NDArray[np.uint32]) -> Hashes:
    """A hash for each file (row) and band: 4 bits for the band, then 60 bits of its hashes."""
    width = NUM_HASHES // NUM_BANDS
    keys = np.empty((len(signatures), NUM_BANDS), dtype=np.uint64)
    for band in range(NUM_BANDS):
        hashes = signatures[:, band * width : (band + 1) * width].astype(np.uint64)
        bucket = mix((hashes * _MULTIPLIERS[:width]).sum(axis=1, dtype=np.uint64))
        keys[:, band] = np.uint64(band << 60) | (bucket >> np.uint64(4))
    return keys


def similar_pairs(keys: Hashes, signatures: Callable[[NDArray[np.int64]], NDArray[np.uint32]]) -> Iterator[Pairs]:
    """Near-duplicates among rows with sorted keys; `signatures` returns those of some rows."""
    for distance in range(1, NEIGHBOURS + 1):
        left = np.nonzero(keys[:-distance] == keys[distance:])[0]
        for start in range(0, len(left), _CHUNK):
            rows = left[start : start + _CHUNK]
            is_similar = (signatures(rows) == signatures(rows + distance)).mean(axis=1) >= THRESHOLD
            yield rows[is_similar], rows[is_similar] + distance
        if not len(left):
            break


def first_of_each(pairs: Iterable[Pairs]) -> dict[int, int]:
    """The first file of the cluster of each file that has a near-duplicate and is not the first."""
    parents: dict[int, int] = {}

    def root(file: int) -> int:
        while (parent := parents.get(file, file)) != file:
            parents[file] = parents.get(parent, parent)  # halve the path on the way
            file = parent
        return file

    for left, right in pairs:
        for one, other in zip(left.tolist(), right.tolist(), strict=True):
            a, b = root(one), root(other)
            if a != b:
                parents[max(a, b)] = min(a, b)
    return {file: root(file) for file in sorted(parents)}
