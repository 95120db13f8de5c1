"""Near-duplicate files: MinHash over shingles of nodes, linked into clusters (Allamanis 2019).

Two files are near-duplicates when they share at least `THRESHOLD` of their shingles, a shingle being
`SHINGLE` nodes in a row, types and values. So comments and layout do not matter, and published trees, which
have no text, are treated like files. A cluster is a connected component: if A resembles B and B resembles C,
one of the three stays.
"""

import hashlib
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

SHINGLE = 5
"""Nodes in a shingle."""
THRESHOLD = 0.7
"""The share of equal MinHash values from which on two files are near-duplicates."""
NUM_HASHES = 128
BANDS = 16
"""Two files are compared when all hashes of one band agree: 16 bands of 8 hashes meet at a share of 0.7."""
NEIGHBOURS = 16
"""In a band each file is compared with this many files next to it, so that a huge band costs linear time."""

Hashes = NDArray[np.uint64]

_generator = np.random.Generator(np.random.PCG64(20_210_606))
_MULTIPLIERS = _generator.integers(1, 2**63, NUM_HASHES, dtype=np.uint64) * np.uint64(2) + np.uint64(1)
_OFFSETS = _generator.integers(0, 2**64, NUM_HASHES, dtype=np.uint64, endpoint=False)
_POSITIONS = _generator.integers(1, 2**63, SHINGLE, dtype=np.uint64) * np.uint64(2) + np.uint64(1)
_CHUNK = 4096  # shingles hashed at a time: bounds the memory of a huge file


def stable_hash(value: str) -> int:
    """A 64-bit hash that is the same on every machine and in every process."""
    digest = hashlib.blake2b(value.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little")


def sequence_hash(hashes: Hashes) -> int:
    """A 64-bit hash of a run of node hashes: equal runs, equal hash."""
    digest = hashlib.blake2b(np.ascontiguousarray(hashes).tobytes(), digest_size=8).digest()
    return int.from_bytes(digest, "little")


def mix(hashes: Hashes) -> Hashes:
    """Scatter the bits of each hash (the finalizer of SplitMix64), so that sums of them hash well."""
    hashes = (hashes ^ (hashes >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    hashes = (hashes ^ (hashes >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return hashes ^ (hashes >> np.uint64(31))


def signature(nodes: Hashes) -> NDArray[np.uint32]:
    """The MinHash signature of a file, given a hash for each node.

    A file shorter than a shingle is one shingle by itself.
    """
    if len(nodes) < SHINGLE:
        shingles = np.array([sequence_hash(nodes)], dtype=np.uint64)
    else:
        windows = np.lib.stride_tricks.sliding_window_view(nodes, SHINGLE)
        shingles = np.unique(mix((windows * _POSITIONS).sum(axis=1, dtype=np.uint64)))
    smallest = np.full(NUM_HASHES, np.iinfo(np.uint64).max, dtype=np.uint64)
    for start in range(0, len(shingles), _CHUNK):
        hashed = np.multiply.outer(_MULTIPLIERS, shingles[start : start + _CHUNK]) + _OFFSETS[:, None]
        np.minimum(smallest, hashed.min(axis=1), out=smallest)
    # The high half is the well-mixed one.
    return (smallest >> np.uint64(32)).astype(np.uint32)


def clusters(signatures: NDArray[np.uint32]) -> NDArray[np.int64]:
    """The cluster of each file, named by its first file: a file that stands alone is its own cluster.

    `signatures` has a row a file.
    """
    parents = np.arange(len(signatures))
    for left, right in _pairs(signatures):
        a, b = _root(parents, left), _root(parents, right)
        if a != b:
            parents[max(a, b)] = min(a, b)
    return np.array([_root(parents, node) for node in range(len(parents))], dtype=np.int64)


def _pairs(signatures: NDArray[np.uint32]) -> Iterable[tuple[int, int]]:
    """Pairs of near-duplicates: they meet in a band, and their whole signatures agree well enough."""
    rows = NUM_HASHES // BANDS
    for band in range(BANDS):
        part = signatures[:, band * rows : (band + 1) * rows].astype(np.uint64)
        bucket = mix((part * _MULTIPLIERS[:rows]).sum(axis=1, dtype=np.uint64))
        order = np.argsort(bucket, kind="stable")
        sorted_buckets = bucket[order]
        for distance in range(1, NEIGHBOURS + 1):
            meets = np.nonzero(sorted_buckets[:-distance] == sorted_buckets[distance:])[0]
            if not len(meets):
                break
            left, right = order[meets], order[meets + distance]
            agrees = (signatures[left] == signatures[right]).mean(axis=1) >= THRESHOLD
            yield from zip(left[agrees].tolist(), right[agrees].tolist(), strict=True)


def _root(parents: NDArray[np.int64], node: int) -> int:
    while parents[node] != node:
        parents[node] = parents[parents[node]]  # halve the path on the way
        node = int(parents[node])
    return node
