"""Length-bucketed batches: snippets of similar length share a batch, so that little of it is padding."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

POOL_BATCHES = 100
"""Number of batches that are sorted by length together, then shuffled."""


def bucketed_batches(
    lengths: NDArray[np.int64], max_nodes: int, rng: "np.random.Generator | None", batch_size: int = 0
) -> Iterator[list[int]]:
    """Divide snippets into batches of at most `max_nodes` nodes, padding included, or of `batch_size` snippets.

    A batch is a list of indexes. With a generator the order is shuffled, for training. Without one it follows the
    length, for evaluation.
    """
    if rng is None:
        yield from _cut(np.argsort(lengths, kind="stable"), lengths, max_nodes, batch_size)
        return
    order = rng.permutation(len(lengths))
    pool_size = max(1, int(POOL_BATCHES * max_nodes / max(1.0, float(lengths.mean())))) if len(lengths) else 1
    pool_size = POOL_BATCHES * batch_size or pool_size
    for start in range(0, len(order), pool_size):
        pool = order[start : start + pool_size]
        batches = list(_cut(pool[np.argsort(lengths[pool], kind="stable")], lengths, max_nodes, batch_size))
        for index in rng.permutation(len(batches)):
            yield batches[index]


def _cut(order: NDArray[np.int64], lengths: NDArray[np.int64], max_nodes: int, batch_size: int) -> Iterator[list[int]]:
    batch: list[int] = []
    longest = 0
    for index in order.tolist():
        longest = max(longest, int(lengths[index]))
        if batch and (len(batch) == batch_size if batch_size else longest * (len(batch) + 1) > max_nodes):
            yield batch
            batch, longest = [], int(lengths[index])
        batch.append(index)
    if batch:
        yield batch
