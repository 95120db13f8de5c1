"""Ranks: every value and node type of a corpus by its frequency in training, without holding all values in memory.

Values are identified by their 64-bit hashes. The counts of each shard are sorted by hash, so a range of hashes is a
slice of each. Ranges are merged one after the other, and only one number per distinct value stays in memory.
"""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.lib.format import open_memmap
from numpy.typing import NDArray

from rarename.corpus.store import ROLE_GROUPS, read_table, table_writer, write_table
from rarename.io import replacing
from rarename.progress import Progress

ROWS_PER_RANGE = 500_000  # about how many counts are merged at a time
VALUES_PER_BATCH = 25_000  # written at a time

# The owner of a value is the first shard that has it, which writes its string.
_RANK_FIELDS: list[tuple[str, Any]] = [("hash", np.uint64), ("rank", np.int32), ("owner", np.int32)]
_COUNT_FIELDS: list[tuple[str, Any]] = [("is_placeholder", np.bool_), *((group, np.uint32) for group in ROLE_GROUPS)]


def rank_values(counts: Sequence[Path], ranks_path: Path, counts_path: Path, progress: Progress) -> None:
    """Write the rank of each value, by hash, and its counts, by rank. `counts` has the table of each shard.

    The most frequent value has rank 0. Ties are broken by the hash, which needs no strings. Values in the form of a
    placeholder come last, whatever their counts.
    """
    num_ranges = 1 + sum(read_table(path).num_rows for path in counts) // ROWS_PER_RANGE
    progress.start("ranking values", 2 * num_ranges)
    totals = []
    for merged in _merge(counts, num_ranges):
        total = np.sum([merged[group] for group in ROLE_GROUPS], axis=0, dtype=np.int64)
        totals.append(np.where(merged["is_placeholder"], -1, total))
        progress.advance()
    # Ranges come in the order of their hashes, so a stable sort breaks ties by hash.
    order = np.argsort(-np.concatenate(totals), kind="stable")
    rank_of = np.empty(len(order), dtype=np.int32)
    rank_of[order] = np.arange(len(order), dtype=np.int32)
    del totals, order
    with replacing(ranks_path) as ranks_part, replacing(counts_path) as counts_part:
        by_hash = open_memmap(ranks_part, mode="w+", dtype=np.dtype(_RANK_FIELDS), shape=rank_of.shape)
        by_rank = open_memmap(counts_part, mode="w+", dtype=np.dtype(_COUNT_FIELDS), shape=rank_of.shape)
        start = 0
        for merged in _merge(counts, num_ranges):
            rows = slice(start, start + len(merged))
            by_hash["hash"][rows], by_hash["owner"][rows] = merged["hash"], merged["owner"]
            by_hash["rank"][rows] = rank_of[rows]
            by_rank[rank_of[rows]] = merged[[name for name, _ in _COUNT_FIELDS]]
            start += len(merged)
            progress.advance()
        by_hash.flush()
        by_rank.flush()


def write_values(ranked: Sequence[Path], counts_path: Path, values_path: Path, progress: Progress) -> int:
    """Write every value by its rank; returns the number of values. `ranked` has the table of each shard."""
    counts = np.load(counts_path, mmap_mode="r")
    progress.start("writing values", len(counts))
    schema = pa.schema([("value", pa.large_string()), *((group, pa.int64()) for group in ROLE_GROUPS)])
    with table_writer(values_path, schema) as writer:
        for start in range(0, len(counts), VALUES_PER_BATCH):
            batch = counts[start : start + VALUES_PER_BATCH]
            found = pa.concat_tables([_ranks_between(path, start, start + len(batch)) for path in ranked])
            order = pa.array(np.argsort(found.column("rank").to_numpy()))
            columns = [found.column("value").take(order).combine_chunks()]
            columns += [pa.array(batch[group].astype(np.int64)) for group in ROLE_GROUPS]
            writer.write_batch(pa.record_batch(columns, schema=schema))
            progress.advance(len(batch))
    return len(counts)


def rank_types(counts: Sequence[Path], types_path: Path) -> list[str]:
    """Write the node types, the most frequent first. `counts` has the table of each shard."""
    total: Counter[str] = Counter()
    for path in counts:
        total.update(json.loads(read_table(path).schema.metadata[b"types"]))
    types = sorted(total, key=lambda name: (-total[name], name))
    columns = {"type": pa.array(types, pa.string()), "count": pa.array([total[name] for name in types], pa.int64())}
    write_table(types_path, pa.table(columns))
    return types


def look_up(ranks: Path, hashes: NDArray[np.uint64]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """The rank and the owner of each value, by its hash; -1 for values that no kept file has."""
    table = np.load(ranks, mmap_mode="r")
    found = np.minimum(np.searchsorted(table["hash"], hashes), len(table) - 1)
    is_found = table["hash"][found] == hashes
    return np.where(is_found, table["rank"][found], -1), np.where(is_found, table["owner"][found], -1)


def _merge(counts: Sequence[Path], num_ranges: int) -> Iterator[NDArray[Any]]:
    """The sums of the counts of all shards, one range of hashes at a time, sorted by hash."""
    for number in range(num_ranges):
        first, last = 2**64 * number // num_ranges, 2**64 * (number + 1) // num_ranges - 1
        rows = np.concatenate([_rows(path, owner, first, last) for owner, path in enumerate(counts)])
        rows = rows[np.argsort(rows["hash"], kind="stable")]  # the first shard of equal hashes is the owner
        _, starts = np.unique(rows["hash"], return_index=True)
        merged = rows[starts]
        for group in ROLE_GROUPS:
            merged[group] = np.add.reduceat(rows[group], starts) if len(starts) else 0
        yield merged


def _rows(path: Path, owner: int, first: int, last: int) -> NDArray[Any]:
    """The counts of a shard in a range of hashes. They are copied: a file that stays mapped would count as memory."""
    table = read_table(path)
    hashes = table.column("hash").to_numpy()
    start = int(np.searchsorted(hashes, np.uint64(first)))
    end = int(np.searchsorted(hashes, np.uint64(last), side="right"))
    rows = np.empty(end - start, dtype=[("hash", np.uint64), ("owner", np.int32), *_COUNT_FIELDS])
    rows["owner"] = owner
    for name in ("hash", *(name for name, _ in _COUNT_FIELDS)):
        rows[name] = table.column(name).slice(start, end - start).to_numpy()
    return rows


def _ranks_between(ranked: Path, start: int, stop: int) -> pa.Table:
    table = read_table(ranked)
    first, last = np.searchsorted(table.column("rank").to_numpy(), [start, stop]).tolist()
    return table.take(pa.array(np.arange(first, last)))  # a copy, as above
