"""The work on groups of shards: collect what the selection compares, count values, write files with rank ids.

There are about 2 √n groups of n shards, so that a task which reads a range of all groups opens few files.
"""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from math import isqrt
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from rarename.corpus.document import sha256
from rarename.corpus.near_duplicates import NUM_HASHES, Hashes, band_keys
from rarename.corpus.shards import Shard
from rarename.corpus.sorted_rows import Rows, map_rows, read_range, write_rows
from rarename.corpus.splits import SplitName
from rarename.corpus.store import EMPTY_RANK, ROLE_GROUPS, read_table, write_table
from rarename.io import write_text

SPLITS = tuple(SplitName)
DROPPED = -1  # in place of the index of a split: not part of the corpus

BAND_FIELDS: list[tuple[str, Any]] = [("key", np.uint64), ("file", np.uint32)]
FUNCTION_FIELDS: list[tuple[str, Any]] = [("hash", np.uint64), ("file", np.uint32), ("function", np.uint32)]
ROLE_FIELDS: list[tuple[str, Any]] = [(group, np.uint32) for group in ROLE_GROUPS]
# The owner of a value is the first shard that has it, which writes its string.
COUNT_FIELDS = [("hash", np.uint64), ("owner", np.int32), ("is_placeholder", np.bool_), *ROLE_FIELDS]


def _file(name: str) -> property:
    return property(lambda group: group.folder / f"group-{group.number:05d}.{name}")


@dataclass(frozen=True)
class Group:
    """The intermediate files of a group, in the order in which they are written. Files are numbered from 0 in each."""

    folder: Path
    number: int
    first_shard: int
    num_shards: int

    bands = _file("bands.npy")  # the bands of the signature of each file, by hash
    signatures = _file("signatures.npy")
    functions = _file("functions.npy")  # by hash
    files = _file("files.arrow")  # path, project and number of nodes. Written last: the group is collected
    splits = _file("splits.npy")  # for each file the index of its split in `SPLITS`, or `DROPPED`
    types = _file("types.json")  # how often each node type occurs in the training files
    counts = _file("counts.npy")  # how often each value does, by hash. Written last: the group is counted
    ranked = _file("ranked.arrow")  # the values that occur in no earlier group, by rank
    encoded = _file("encoded.json")  # numbers of functions, digests of tables. Written last: the group is encoded

    @property
    def shards(self) -> list[Shard]:
        return [Shard(self.folder, self.first_shard + number) for number in range(self.num_shards)]


def make_groups(folder: Path, num_shards: int) -> list[Group]:
    size = max(1, isqrt(num_shards) // 2)
    starts = range(0, num_shards, size)
    return [Group(folder, number, start, min(size, num_shards - start)) for number, start in enumerate(starts)]


def collect_group(group: Group) -> None:
    """Write what the selection compares: signatures, hashes of functions, projects."""
    tables = [read_table(shard.nodes) for shard in group.shards]
    table = pa.concat_tables(tables, promote_options="default")
    # Ready-made examples are near-duplicates in pairs on purpose: with the bug and without.
    has_examples = "bug_location" in table.column_names
    is_example = table["bug_location"].is_valid().to_numpy() if has_examples else np.zeros(len(table), bool)
    signatures = pc.list_flatten(table["signature"]).to_numpy().reshape(-1, NUM_HASHES)
    compared = np.nonzero(~is_example)[0]
    keys = band_keys(signatures[compared])
    bands = np.empty(keys.size, dtype=BAND_FIELDS)
    bands["key"], bands["file"] = keys.ravel(), np.repeat(compared, keys.shape[1])
    write_rows(group.bands, bands[np.argsort(bands["key"], kind="stable")])
    write_rows(group.signatures, signatures)
    hashes = pc.list_flatten(table["function_hashes"]).to_numpy()
    functions = np.empty(len(hashes), dtype=FUNCTION_FIELDS)
    functions["hash"], functions["function"] = hashes, np.arange(len(hashes))
    num_functions = pc.list_value_length(table["function_hashes"]).to_numpy()
    functions["file"] = np.repeat(np.arange(len(table)), num_functions)
    functions = functions[~is_example[functions["file"]]]
    write_rows(group.functions, functions[np.argsort(functions["hash"], kind="stable")])
    columns = {
        "path": table["path"],
        "project": table["project"].combine_chunks().dictionary_encode(),
        "num_nodes": pc.list_value_length(table["types"]),
    }
    write_table(group.files, pa.table(columns))


def count_group(group: Group) -> None:
    """Count the values of the training files. Values of other splits get ranks too, so they have a count of 0."""
    splits, counts, types = map_rows(group.splits), [], Counter[str]()
    start = 0
    for shard in group.shards:
        nodes, names = read_table(shard.nodes), read_table(shard.names)
        node_splits = np.repeat(splits[start : start + len(nodes)], np.diff(_offsets(nodes, "types")))
        start += len(nodes)
        values, roles = _flat(nodes, "values"), _flat(nodes, "roles")
        is_kept = (node_splits != DROPPED) & (values >= 0)
        is_training = node_splits == SPLITS.index(SplitName.TRAIN)
        present = np.nonzero(np.bincount(values[is_kept], minlength=names.num_rows))[0]
        rows = np.empty(len(present), dtype=COUNT_FIELDS)
        rows["hash"] = names.column("hash").to_numpy()[present]
        rows["owner"] = shard.number
        rows["is_placeholder"] = names.column("is_placeholder").to_numpy()[present]
        for name, group_roles in ROLE_GROUPS.items():
            is_counted = is_kept & is_training & np.isin(roles, [int(role) for role in group_roles])
            rows[name] = np.bincount(values[is_counted], minlength=names.num_rows)[present]
        counts.append(rows)
        found = json.loads(names.schema.metadata[b"types"])
        type_counts = np.bincount(_flat(nodes, "types")[is_training], minlength=len(found)).tolist()
        types.update(dict(zip(found, type_counts, strict=True)))
    write_text(group.types, json.dumps(types))
    write_rows(group.counts, merge_counts(np.concatenate(counts))[0])


def merge_counts(rows: Rows) -> tuple[Rows, NDArray[np.int64]]:
    """The sums of rows with the same hash, by hash, and which of them each row is part of. The first is the owner."""
    _, first, inverse = np.unique(rows["hash"], return_index=True, return_inverse=True)
    merged = rows[first]
    for name in ROLE_GROUPS:
        sums = np.bincount(inverse, weights=rows[name], minlength=len(first))  # as floats, exact up to 2⁵³
        merged[name] = sums
    return merged, inverse


def encode_group(
    group: Group, duplicates: Sequence[Path], ranks: Sequence[Path], types: Sequence[str], corpus: Path
) -> None:
    """Write the kept files, one table for each shard and split, with the rank ids and type ids of the corpus."""
    splits, counts = map_rows(group.splits), np.array(map_rows(group.counts)[["hash", "owner"]])
    ranked, _ = read_range(ranks, "group", group.number, group.number)  # a row for each of `counts`
    is_duplicate = np.zeros(sum(len(_flat(read_table(shard.nodes), "function_starts")) for shard in group.shards), bool)
    is_duplicate[read_range(duplicates, "group", group.number, group.number)[0]["function"]] = True
    owned, digests, num_functions = [], {}, np.zeros((len(SPLITS), 2), dtype=np.int64)
    first_file = first_function = 0
    for shard in group.shards:
        nodes, names = read_table(shard.nodes), read_table(shard.names)
        files, first_file = slice(first_file, first_file + len(nodes)), first_file + len(nodes)
        offsets = _offsets(nodes, "function_starts")
        functions = slice(first_function, first_function + int(offsets[-1]))
        first_function = functions.stop
        keeps_function = ~is_duplicate[functions]
        rows, is_found = _find(counts["hash"], names.column("hash").to_numpy())
        rank_of_name = np.full(len(names), -1, dtype=np.int32)  # of values that only dropped files have
        rank_of_name[is_found] = ranked["rank"][rows]
        nodes = _encode(nodes, rank_of_name, _type_ids(names, types), keeps_function)
        for number, split in enumerate(SPLITS):
            if (is_kept := splits[files] == number).any():
                path = corpus / f"{split}-{shard.number:05d}.arrow"
                write_table(path, nodes.filter(pa.array(is_kept)))
                digests[path.name] = sha256(path)
                kept = keeps_function[np.repeat(is_kept, np.diff(offsets))]
                num_functions[number] += kept.sum(), (~kept).sum()
        is_owned = is_found.copy()
        is_owned[is_found] = ranked["is_owner"][rows] & (counts["owner"][rows] == shard.number)
        values = names.column("value").filter(pa.array(is_owned))
        owned.append(pa.table({"rank": pa.array(rank_of_name[is_owned]), "value": values}))
    table = pa.concat_tables(owned)
    write_table(group.ranked, table.take(pc.sort_indices(table["rank"])))
    write_text(group.encoded, json.dumps({"functions": num_functions.tolist(), "tables": digests}))


def _find(sorted_hashes: Hashes, hashes: Hashes) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Which hashes are among the sorted ones, and the rows of these."""
    rows = np.minimum(np.searchsorted(sorted_hashes, hashes), max(0, len(sorted_hashes) - 1))
    is_found = sorted_hashes[rows] == hashes if len(sorted_hashes) else np.zeros(len(hashes), dtype=bool)
    return rows[is_found], is_found


def _type_ids(names: pa.Table, types: Sequence[str]) -> NDArray[np.int16]:
    ids = {name: number for number, name in enumerate(types)}
    return np.array([ids[name] for name in json.loads(names.schema.metadata[b"types"])], dtype=np.int16)


def _encode(
    nodes: pa.Table, rank_of_name: NDArray[np.int32], type_of: NDArray[np.int16], keeps_function: NDArray[np.bool_]
) -> pa.Table:
    values = _flat(nodes, "values")
    # The appended entry serves nodes without a value, whose id is below zero.
    rank_ids = np.where(values >= 0, np.append(rank_of_name, EMPTY_RANK)[values], EMPTY_RANK)
    nodes = _with_lists(nodes, "values", _offsets(nodes, "values"), rank_ids.astype(np.int32))
    nodes = _with_lists(nodes, "types", _offsets(nodes, "types"), type_of[_flat(nodes, "types")])
    num_kept_before = np.concatenate([[0], np.cumsum(keeps_function)]).astype(np.int32)
    function_offsets = num_kept_before[_offsets(nodes, "function_starts")]
    for name in ("function_starts", "function_lengths"):
        nodes = _with_lists(nodes, name, function_offsets, _flat(nodes, name)[keeps_function])
    return nodes.drop_columns(["function_hashes", "signature"])


def _flat(table: pa.Table, column: str) -> NDArray[Any]:
    numbers: NDArray[Any] = table.column(column).combine_chunks().values.to_numpy()
    return numbers


def _offsets(table: pa.Table, column: str) -> NDArray[np.int32]:
    offsets: NDArray[np.int32] = table.column(column).combine_chunks().offsets.to_numpy()
    return offsets


def _with_lists(table: pa.Table, column: str, offsets: NDArray[np.int32], flat: NDArray[Any]) -> pa.Table:
    lists = pa.ListArray.from_arrays(pa.array(offsets), pa.array(flat))
    return table.set_column(table.column_names.index(column), column, lists)
