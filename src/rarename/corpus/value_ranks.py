"""Ranks: every value and node type of a corpus by its frequency in training, without holding all values in memory.

Values are identified by their 64-bit hashes. The counts of each group are sorted by hash, and ranges of hashes are
merged by separate tasks. Their totals are counted: the number of values with each total gives the ranks.
"""

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from rarename.corpus.groups import ROLE_FIELDS, Group, merge_counts
from rarename.corpus.sorted_rows import Rows, map_rows, read_range, write_rows
from rarename.corpus.store import ROLE_GROUPS, read_table, table_writer, write_table
from rarename.errors import CorpusError

VALUES_PER_TASK, VALUES_PER_BATCH = 500_000, 25_000  # written at a time
MAX_VALUES = 2**31 - 1  # ranks are 32-bit numbers

_RANK_FIELDS: list[tuple[str, Any]] = [("group", np.uint32), ("rank", np.int32), ("is_owner", np.bool_)]
_COUNT_FIELDS = [("rank", np.int32), *ROLE_FIELDS]
_VALUE_SCHEMA = pa.schema([("value", pa.large_string()), *((group, pa.int64()) for group in ROLE_GROUPS)])

Totals = NDArray[np.int64]


def count_totals(groups: Sequence[Group], first: int, last: int, result: Path) -> None:
    """Write how many values in a range of hashes have each total, the largest total first."""
    totals = _merge(groups, first, last)[0]
    write_rows(result, np.stack(np.unique(totals, return_counts=True), axis=1)[::-1])


def first_ranks(histograms: Sequence[Path]) -> list[tuple[Totals, Totals]]:
    """For each range the number of values with each total, and the rank of the first of them.

    The most frequent value has rank 0. Ties are broken by the hash, which needs no strings. Values in the form of a
    placeholder come last, whatever their counts.
    """
    rows = [np.array(map_rows(path)) for path in histograms]
    totals, numbers = np.concatenate(rows).T
    order = np.argsort(-totals, kind="stable")  # ranges come in the order of their hashes
    ranks = np.empty_like(numbers)
    ranks[order] = np.cumsum(numbers[order]) - numbers[order]
    if numbers.sum() > MAX_VALUES:
        raise CorpusError(f"{numbers.sum():,} distinct values; a corpus can have at most {MAX_VALUES:,}")
    ends = np.cumsum([len(part) for part in rows])[:-1]
    return list(zip(np.split(numbers, ends), np.split(ranks, ends), strict=True))


def rank_range(
    groups: Sequence[Group], first: int, last: int, numbers: Totals, starts: Totals, ranks_path: Path, counts_path: Path
) -> None:
    """Write the ranks of the values of each group in a range of hashes, and the counts of all of them by rank."""
    totals, merged, inverse, group_of = _merge(groups, first, last)
    order = np.argsort(-totals, kind="stable")
    ranked = np.repeat(starts - (np.cumsum(numbers) - numbers), numbers) + np.arange(len(order))
    counts = np.empty(len(order), dtype=_COUNT_FIELDS)
    counts["rank"] = ranked
    for name in ROLE_GROUPS:
        counts[name] = merged[name][order]
    write_rows(counts_path, counts)
    rank_of = np.empty(len(order), dtype=np.int32)
    rank_of[order] = ranked
    rows = np.empty(len(inverse), dtype=_RANK_FIELDS)
    rows["group"], rows["rank"] = group_of, rank_of[inverse]
    rows["is_owner"] = False
    rows["is_owner"][np.unique(inverse, return_index=True)[1]] = True
    write_rows(ranks_path, rows)


def _merge(groups: Sequence[Group], first: int, last: int) -> tuple[Totals, Rows, NDArray[np.int64], NDArray[np.int64]]:
    """The totals and sums of the values in a range of hashes; for each row of a group the sum, and the group."""
    rows, group_of = read_range([group.counts for group in groups], "hash", first, last)
    merged, inverse = merge_counts(rows)
    total = np.sum([merged[name] for name in ROLE_GROUPS], axis=0, dtype=np.int64)
    return np.where(merged["is_placeholder"], -1, total), merged, inverse, group_of


def write_values(groups: Sequence[Group], counts_paths: Sequence[Path], start: int, stop: int, result: Path) -> None:
    """Write the values of a range of ranks."""
    counts, _ = read_range(counts_paths, "rank", start, stop - 1)
    counts = counts[np.argsort(counts["rank"])]
    found = pa.concat_tables([_ranks_between(group.ranked, start, stop) for group in groups])
    values = found["value"].take(pc.sort_indices(found["rank"]))
    with table_writer(result, _VALUE_SCHEMA) as writer:
        for first in range(0, len(counts), VALUES_PER_BATCH):
            batch = slice(first, first + VALUES_PER_BATCH)
            columns = [values.take(pa.array(np.arange(len(counts))[batch])).combine_chunks()]
            columns += [pa.array(counts[group][batch].astype(np.int64)) for group in ROLE_GROUPS]
            writer.write_batch(pa.record_batch(columns, schema=_VALUE_SCHEMA))


def join_values(parts: Sequence[Path], values_path: Path) -> None:
    """Write every value by its rank."""
    with table_writer(values_path, _VALUE_SCHEMA) as writer:
        for path in parts:
            reader = pa.ipc.open_file(pa.memory_map(str(path)))
            for number in range(reader.num_record_batches):
                writer.write_batch(reader.get_batch(number))


def rank_types(groups: Sequence[Group], types_path: Path) -> list[str]:
    """Write the node types, the most frequent first."""
    total: Counter[str] = Counter()
    for group in groups:
        total.update(json.loads(group.types.read_text(encoding="utf-8")))
    types = sorted(total, key=lambda name: (-total[name], name))
    columns = {"type": pa.array(types, pa.string()), "count": pa.array([total[name] for name in types], pa.int64())}
    write_table(types_path, pa.table(columns))
    return types


def _ranks_between(ranked: Path, start: int, stop: int) -> pa.Table:
    """The values of a group in a range of ranks. They are copied: a file that stays mapped would count as memory."""
    table = read_table(ranked)
    first, last = np.searchsorted(table.column("rank").to_numpy(), [start, stop]).tolist()
    return table.take(pa.array(np.arange(first, last)))
