"""Which parsed files and functions a corpus keeps, and the split of each project."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from rarename.corpus.document import Skip
from rarename.corpus.near_duplicates import NUM_HASHES, cluster
from rarename.corpus.shards import DROPPED, SPLITS, FileSplits, Shard
from rarename.corpus.splits import SplitName, assign_splits
from rarename.corpus.store import read_table


@dataclass(frozen=True)
class Selection:
    """The files and functions of a corpus."""

    splits: list[FileSplits]  # by shard
    keeps_function: list[NDArray[np.bool_]]  # by shard: for each function of all files
    skips: list[Skip]
    counts: dict[str, dict[str, int]]  # the numbers of projects, files, nodes and functions of each split


class _Files:
    def __init__(self, shards: Sequence[Shard]) -> None:
        tables = [read_table(shard.nodes) for shard in shards]
        table = pa.concat_tables(tables, promote_options="default")
        self.paths: list[str] = table["path"].to_pylist()
        self.projects: list[str] = table["project"].to_pylist()
        self.num_nodes: NDArray[np.int64] = pc.list_value_length(table["types"]).to_numpy().astype(np.int64)
        self.signatures: NDArray[np.uint32] = pc.list_flatten(table["signature"]).to_numpy().reshape(-1, NUM_HASHES)
        # Ready-made examples of bugs, with or without a bug.
        has_examples = "bug_location" in table.column_names
        self.is_example = table["bug_location"].is_valid().to_numpy() if has_examples else np.zeros(len(table), bool)
        self.function_hashes: NDArray[np.uint64] = pc.list_flatten(table["function_hashes"]).to_numpy()
        num_functions = pc.list_value_length(table["function_hashes"]).to_numpy()
        self.file_of_function = np.repeat(np.arange(len(table)), num_functions)
        self.shard_ends = np.cumsum([len(part) for part in tables])  # the index after the last file of each shard
        self.function_ends = np.searchsorted(self.file_of_function, self.shard_ends)  # and after the last function


def select_files(
    shards: Sequence[Shard],
    given_splits: Mapping[str, SplitName],
    seed: int,
    keep_near_duplicates: bool,
    first_stays: bool = False,
) -> Selection:
    """Keep one file of each cluster of near-duplicates and one of identical functions; draw the splits not given."""
    files = _Files(shards)
    kept_file = np.arange(len(files.paths))
    if not keep_near_duplicates:
        # Ready-made examples are near-duplicates in pairs on purpose: with the bug and without.
        ordinary = np.nonzero(~files.is_example)[0]
        kept_file[ordinary] = ordinary[cluster(files.signatures[ordinary])]
    is_kept = kept_file == np.arange(len(kept_file))
    splits = _file_splits(files, is_kept, given_splits, seed)
    keeps_function = _distinct_functions(files, splits, first_stays)
    skips = [
        Skip(files.paths[file], files.projects[file], "near-duplicate", f"of {files.paths[kept_file[file]]}")
        for file in np.nonzero(~is_kept)[0].tolist()
    ]
    by_shard = np.split(splits, files.shard_ends[:-1]), np.split(keeps_function, files.function_ends[:-1])
    return Selection(*by_shard, skips, _counts(files, splits, keeps_function))


def _file_splits(
    files: _Files, is_kept: NDArray[np.bool_], given_splits: Mapping[str, SplitName], seed: int
) -> FileSplits:
    sizes: Counter[str] = Counter()
    for project, num_nodes, kept in zip(files.projects, files.num_nodes.tolist(), is_kept.tolist(), strict=True):
        if kept and project not in given_splits:
            sizes[project] += num_nodes
    split_of = assign_splits(sizes, seed) | dict(given_splits)
    codes = {project: SPLITS.index(split) for project, split in split_of.items()}
    splits = np.array([codes.get(project, DROPPED) for project in files.projects], dtype=np.int8)
    splits[~is_kept] = DROPPED
    return splits


def _distinct_functions(files: _Files, splits: FileSplits, first_stays: bool) -> NDArray[np.bool_]:
    """Keep one of identical functions: test takes precedence over validation, validation over training.

    With `first_stays`, as in the paper, training takes precedence.
    """
    code = splits[files.file_of_function]
    if first_stays:
        code = np.where(code == DROPPED, DROPPED, len(SPLITS) - code)
    order = np.lexsort((-code, files.function_hashes))  # equal functions: test first, dropped files last, then by file
    _, first = np.unique(files.function_hashes[order], return_index=True)
    keeps: NDArray[np.bool_] = files.is_example[files.file_of_function]
    keeps[order[first]] = True
    return keeps


def _counts(files: _Files, splits: FileSplits, keeps_function: NDArray[np.bool_]) -> dict[str, dict[str, int]]:
    function_splits = splits[files.file_of_function]
    return {
        str(split): {
            "projects": len({files.projects[file] for file in np.nonzero(splits == code)[0].tolist()}),
            "files": int((splits == code).sum()),
            "nodes": int(files.num_nodes[splits == code].sum()),
            "functions": int(keeps_function[function_splits == code].sum()),
            "duplicate_functions": int((~keeps_function[function_splits == code]).sum()),
        }
        for code, split in enumerate(SPLITS)
    }
