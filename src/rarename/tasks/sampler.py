"""Batches of like length, in an order drawn from the seed: padding is waste."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

POOL = 100
"""Batches that are drawn together, sorted by length within, and shuffled again."""


def batches(lengths: NDArray[np.int64], tokens: int, generator: np.random.Generator | None) -> Iterator[list[int]]:
    """Cut the indexes of snippets into batches of at most so many nodes, padding included.

    With a generator they come shuffled, for training; without one sorted by length, for measuring.
    """
    order = np.argsort(lengths, kind="stable") if generator is None else generator.permutation(len(lengths))
    if generator is None:
        for _, batch in _cut(order, lengths, tokens):
            yield batch
        return
    pool_size = max(1, int(POOL * tokens / max(1.0, float(lengths.mean())))) if len(lengths) else 1
    for start in range(0, len(order), pool_size):
        pool = order[start : start + pool_size]
        pool = pool[np.argsort(lengths[pool], kind="stable")]
        cut = [batch for _, batch in _cut(pool, lengths, tokens)]
        for number in generator.permutation(len(cut)):
            yield cut[number]


def _cut(order: NDArray[np.int64], lengths: NDArray[np.int64], tokens: int) -> Iterator[tuple[int, list[int]]]:
    batch: list[int] = []
    longest = 0
    for index in order.tolist():
        longer = max(longest, int(lengths[index]))
        if batch and longer * (len(batch) + 1) > tokens:
            yield longest, batch
            batch, longer = [], int(lengths[index])
        batch.append(index)
        longest = longer
    if batch:
        yield longest, batch
