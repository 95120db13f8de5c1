"""Ranks: every value of a corpus by its frequency in training, without ever holding all values.

Values are told apart by their 64-bit hashes. Each shard's counts are sorted by hash, so a range of hashes is a slice
of each; ranges are merged one after the other, and only one number for each distinct value stays in memory.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib.format import open_memmap
from numpy.typing import NDArray

from rarename.corpus.shards import RANK_TYPE, ShardFiles
from rarename.corpus.store import COUNTED, read_table
from rarename.io import replacing
from rarename.progress import Progress

ROWS_AT_ONCE = 500_000
"""About how many counts are merged at a time."""

_COUNT_FIELDS: list[tuple[str, Any]] = [("is_placeholder", np.bool_), *((group, np.uint32) for group in COUNTED)]
_LAST = -1
"""Counts as less than a value that training lacks: what is spelt like a placeholder comes last."""


def rank_values(shards: Sequence[ShardFiles], ranks: Path, counts: Path, progress: Progress) -> None:
    """Write the rank of each value, by hash, and the counts of each value, by rank.

    The most frequent value has rank 0. Ties are broken by the hash: any fixed order would do, and no strings are
    needed for this one.
    """
    num_parts = 1 + sum(read_table(shard.counts).num_rows for shard in shards) // ROWS_AT_ONCE
    progress.start("ranking values", 2 * num_parts)
    totals = []
    for merged in _merged(shards, num_parts):
        total = np.sum([merged[group] for group in COUNTED], axis=0, dtype=np.int64)
        totals.append(np.where(merged["is_placeholder"], _LAST, total))
        progress.advance()
    # The parts come in the order of their hashes, so a stable sort breaks ties by hash.
    order = np.argsort(-np.concatenate(totals), kind="stable")
    rank_of = np.empty(len(order), dtype=np.int32)
    rank_of[order] = np.arange(len(order), dtype=np.int32)
    del totals, order
    with replacing(ranks) as ranks_path, replacing(counts) as counts_path:
        by_hash = open_memmap(ranks_path, mode="w+", dtype=RANK_TYPE, shape=rank_of.shape)
        by_rank = open_memmap(counts_path, mode="w+", dtype=np.dtype(_COUNT_FIELDS), shape=rank_of.shape)
        start = 0
        for merged in _merged(shards, num_parts):
            part = slice(start, start + len(merged))
            by_hash["hash"][part], by_hash["owner"][part] = merged["hash"], merged["owner"]
            by_hash["rank"][part] = rank_of[part]
            by_rank[rank_of[part]] = merged[[name for name, _ in _COUNT_FIELDS]]
            start += len(merged)
            progress.advance()
        by_hash.flush()
        by_rank.flush()


def _merged(shards: Sequence[ShardFiles], num_parts: int) -> Iterator[NDArray[Any]]:
    """The counts of all shards added up, range of hashes by range of hashes."""
    for part in range(num_parts):
        first, last = 2**64 * part // num_parts, 2**64 * (part + 1) // num_parts - 1
        yield _added_up(np.concatenate([_rows(shard, first, last) for shard in shards]))


def _rows(shard: ShardFiles, first: int, last: int) -> NDArray[Any]:
    """A shard's counts of a range of hashes, copied out: a file that stays mapped would count as memory."""
    table = read_table(shard.counts)
    hashes = table.column("hash").to_numpy()
    start = int(np.searchsorted(hashes, np.uint64(first)))
    end = int(np.searchsorted(hashes, np.uint64(last), side="right"))
    rows = np.empty(end - start, dtype=[("hash", np.uint64), ("owner", np.int32), *_COUNT_FIELDS])
    rows["owner"] = shard.number
    for name in ("hash", *(name for name, _ in _COUNT_FIELDS)):
        rows[name] = table.column(name).slice(start, end - start).to_numpy()
    return rows


def _added_up(rows: NDArray[Any]) -> NDArray[Any]:
    """One row for each hash, its counts added up; its owner is the first shard that has the value."""
    rows = rows[np.argsort(rows["hash"], kind="stable")]
    starts = np.nonzero(np.concatenate([[True], rows["hash"][1:] != rows["hash"][:-1]])[: len(rows)])[0]
    merged = rows[starts]
    for group in COUNTED:
        merged[group] = np.add.reduceat(rows[group], starts) if len(starts) else 0
    return merged
