"""Which parsed files and functions a corpus keeps, and the split of each project.

Selection looks at all files at once, but only at their signatures, sizes and function hashes.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rarename.corpus.document import Skip
from rarename.corpus.near_duplicates import NUM_HASHES, cluster
from rarename.corpus.shards import DROPPED, SPLITS, Shard, ShardSelection
from rarename.corpus.splits import SplitName, assign_splits
from rarename.corpus.store import read_table
from rarename.progress import Progress

NEAR_DUPLICATE = "near-duplicate"


@dataclass(frozen=True)
class Selection:
    """The files and functions of a corpus."""

    shards: list[ShardSelection]
    skips: list[Skip]
    counts: dict[str, dict[str, int]]
    """The numbers of projects, files, nodes and functions of each split."""


@dataclass(frozen=True, eq=False)
class _Files:
    """All parsed files of a corpus, as flat columns."""

    paths: list[str]
    projects: list[str]
    signatures: NDArray[np.uint32]
    num_nodes: NDArray[np.int64]
    is_example: NDArray[np.bool_]
    """Whether the file is a ready-made example of a bug."""
    function_hashes: NDArray[np.uint64]
    function_files: NDArray[np.int64]
    """The file of each function."""
    shard_ends: NDArray[np.int64]
    function_ends: NDArray[np.int64]
    """The index after the last file and function of each shard."""

    @classmethod
    def read(cls, shards: Sequence[Shard], progress: Progress) -> "_Files":
        paths, projects = [], []
        signatures, num_nodes, is_example, function_hashes, num_functions = [], [], [], [], []
        for shard in shards:
            table = read_table(shard.nodes)
            paths += table.column("path").to_pylist()
            projects += table.column("project").to_pylist()
            signatures.append(table.column("signature").combine_chunks().flatten().to_numpy().reshape(-1, NUM_HASHES))
            num_nodes.append(np.diff(table.column("types").combine_chunks().offsets.to_numpy()))
            hashes = table.column("function_hashes").combine_chunks()
            function_hashes.append(hashes.flatten().to_numpy())
            num_functions.append(np.diff(hashes.offsets.to_numpy()))
            has_bugs = "bug_location" in table.column_names
            is_example.append(
                table.column("bug_location").is_valid().to_numpy() if has_bugs else np.zeros(table.num_rows, bool)
            )
            progress.advance()
        return cls(
            paths=paths,
            projects=projects,
            signatures=np.concatenate(signatures),
            num_nodes=np.concatenate(num_nodes).astype(np.int64),
            is_example=np.concatenate(is_example),
            function_hashes=np.concatenate(function_hashes),
            function_files=np.repeat(np.arange(len(paths)), np.concatenate(num_functions)),
            shard_ends=np.cumsum([len(part) for part in num_nodes]),
            function_ends=np.cumsum([len(part) for part in function_hashes]),
        )


def select_files(
    shards: Sequence[Shard],
    given_splits: Mapping[str, SplitName],
    seed: int,
    keep_near_duplicates: bool,
    progress: Progress,
) -> Selection:
    """Keep one file of each cluster of near-duplicates and one of identical functions; draw the splits not given."""
    progress.start("selecting files", len(shards))
    files = _Files.read(shards, progress)
    kept_file = np.arange(len(files.paths))
    if not keep_near_duplicates:
        # Ready-made examples are near-duplicates in pairs on purpose: with the bug and without.
        ordinary = np.nonzero(~files.is_example)[0]
        kept_file[ordinary] = ordinary[cluster(files.signatures[ordinary])]
    is_kept = kept_file == np.arange(len(kept_file))
    splits = _file_splits(files, is_kept, given_splits, seed)
    keeps_function = _distinct_functions(files, splits)
    skips = [
        Skip(files.paths[file], files.projects[file], NEAR_DUPLICATE, f"of {files.paths[kept_file[file]]}")
        for file in np.nonzero(~is_kept)[0].tolist()
    ]
    parts = zip(
        np.split(splits, files.shard_ends[:-1]), np.split(keeps_function, files.function_ends[:-1]), strict=True
    )
    return Selection([ShardSelection(*part) for part in parts], skips, _counts(files, splits, keeps_function))


def _file_splits(
    files: _Files, is_kept: NDArray[np.bool_], given_splits: Mapping[str, SplitName], seed: int
) -> NDArray[np.int8]:
    """The index of the split of each file, or `DROPPED`."""
    sizes: Counter[str] = Counter()
    for project, num_nodes, kept in zip(files.projects, files.num_nodes.tolist(), is_kept.tolist(), strict=True):
        if kept and project not in given_splits:
            sizes[project] += num_nodes
    split_of = assign_splits(sizes, seed) | dict(given_splits)
    codes = {project: SPLITS.index(split) for project, split in split_of.items()}
    splits = np.array([codes.get(project, DROPPED) for project in files.projects], dtype=np.int8)
    splits[~is_kept] = DROPPED
    return splits


def _distinct_functions(files: _Files, splits: NDArray[np.int8]) -> NDArray[np.bool_]:
    """Keep one of identical functions: training gives way to validation, validation to test."""
    code = splits[files.function_files]
    in_corpus = np.nonzero(code != DROPPED)[0]
    # Equal hashes are sorted by split, test first, then by file.
    order = in_corpus[np.lexsort((in_corpus, -code[in_corpus], files.function_hashes[in_corpus]))]
    hashes = files.function_hashes[order]
    is_first = np.ones(len(order), dtype=bool)
    is_first[1:] = hashes[1:] != hashes[:-1]
    keeps: NDArray[np.bool_] = files.is_example[files.function_files]
    keeps[order[is_first]] = True
    return keeps


def _counts(files: _Files, splits: NDArray[np.int8], keeps_function: NDArray[np.bool_]) -> dict[str, dict[str, int]]:
    function_splits = splits[files.function_files]
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
