"""Which parsed files and functions a corpus keeps, and the split of each project.

Files are compared in ranges of the hashes of their bands, functions in ranges of their hashes. Only pairs of
near-duplicates and the size of each project come together in one process.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rarename.corpus.document import Skip
from rarename.corpus.groups import DROPPED, SPLITS, Group
from rarename.corpus.near_duplicates import NUM_HASHES, first_of_each, similar_pairs
from rarename.corpus.sorted_rows import map_rows, read_range, write_rows
from rarename.corpus.splits import SplitName, assign_splits
from rarename.corpus.store import read_table

# In the whole corpus, a file is known by the number of its group in the upper 32 bits, and its own in the lower ones.
_PAIR_FIELDS: list[tuple[str, Any]] = [("file", np.int64), ("first", np.int64)]
_FUNCTION_FIELDS: list[tuple[str, Any]] = [("group", np.uint32), ("function", np.uint32)]
_NUMBER = 2**32 - 1


def find_near_duplicates(groups: Sequence[Group], first: int, last: int, result: Path) -> None:
    """Write each file with a near-duplicate in a range of bands, with the first file of its cluster."""
    rows, group_of = read_range([group.bands for group in groups], "key", first, last)
    order = np.argsort(rows["key"], kind="stable")
    files = (group_of[order] << 32) | rows["file"][order]
    signatures_of = [map_rows(group.signatures) for group in groups]

    def signatures(positions: NDArray[np.int64]) -> NDArray[np.uint32]:
        found = np.empty((len(positions), NUM_HASHES), dtype=np.uint32)
        for number in np.unique(files[positions] >> 32).tolist():
            is_here = files[positions] >> 32 == number
            found[is_here] = signatures_of[number][files[positions][is_here] & _NUMBER]
        return found

    pairs = ((files[left], files[right]) for left, right in similar_pairs(rows["key"][order], signatures))
    write_rows(result, np.array(list(first_of_each(pairs).items()), dtype=_PAIR_FIELDS))


def select_files(
    groups: Sequence[Group], pairs: Sequence[Path], given_splits: Mapping[str, SplitName], seed: int
) -> tuple[dict[str, dict[str, int]], dict[int, int]]:
    """Write the split of each file. One file of each cluster of near-duplicates is kept; splits not given are drawn.

    Returns the numbers of projects, files and nodes of each split, and the dropped files, each with the one kept.
    """
    first_of = first_of_each((rows["file"], rows["first"]) for rows in map(map_rows, pairs))
    dropped = np.array(list(first_of), dtype=np.int64)
    num_files: Counter[str] = Counter()
    num_nodes: Counter[str] = Counter()
    for group in groups:
        names, project_of, is_kept, nodes = _files(group, dropped)
        kept = project_of[is_kept]
        files_of, nodes_of = np.bincount(kept, minlength=len(names)), np.bincount(kept, nodes[is_kept], len(names))
        for name, files, size in zip(names, files_of.tolist(), nodes_of.tolist(), strict=True):
            if files:
                num_files[name] += files
                num_nodes[name] += int(size)
    drawn = assign_splits({name: size for name, size in num_nodes.items() if name not in given_splits}, seed)
    split_of = drawn | dict(given_splits)
    codes = {project: SPLITS.index(split) for project, split in split_of.items()}
    for group in groups:
        names, project_of, is_kept, _ = _files(group, dropped)
        splits = np.array([codes.get(name, DROPPED) for name in names], dtype=np.int8)[project_of]
        write_rows(group.splits, np.where(is_kept, splits, np.int8(DROPPED)))
    counts = {str(split): dict.fromkeys(("projects", "files", "nodes"), 0) for split in SPLITS}
    for name, files in num_files.items():
        numbers = counts[str(split_of[name])]
        for key, number in {"projects": 1, "files": files, "nodes": num_nodes[name]}.items():
            numbers[key] += number
    return counts, first_of


def _files(
    group: Group, dropped: NDArray[np.int64]
) -> tuple[list[str], NDArray[np.int32], NDArray[np.bool_], NDArray[np.int32]]:
    """The projects of a group; the project of each file, whether it is kept, and its number of nodes."""
    table = read_table(group.files)
    projects = table["project"].combine_chunks()
    start, end = np.searchsorted(dropped, [group.number << 32, (group.number + 1) << 32])
    is_kept = np.ones(len(table), dtype=bool)
    is_kept[dropped[start:end] & _NUMBER] = False
    return projects.dictionary.to_pylist(), projects.indices.to_numpy(), is_kept, table["num_nodes"].to_numpy()


def near_duplicate_skips(groups: Sequence[Group], first_of: Mapping[int, int]) -> Iterator[Skip]:
    """What is skipped as a near-duplicate, by file."""
    table_of = cache(lambda number: read_table(groups[number].files))

    def column(name: str, file: int) -> str:
        return str(table_of(file >> 32)[name][file & _NUMBER].as_py())

    for file, first in first_of.items():
        yield Skip(column("path", file), column("project", file), "near-duplicate", f"of {column('path', first)}")


def find_duplicate_functions(groups: Sequence[Group], first: int, last: int, first_stays: bool, result: Path) -> None:
    """Write which functions in a range of hashes have an identical one that is kept.

    Test takes precedence over validation, validation over training; with `first_stays`, as in the paper, training does.
    """
    rows, group_of = read_range([group.functions for group in groups], "hash", first, last)
    code = np.empty(len(rows), dtype=np.int8)
    for number, group in enumerate(groups):
        code[group_of == number] = map_rows(group.splits)[rows["file"][group_of == number]]
    if first_stays:
        code = np.where(code == DROPPED, DROPPED, len(SPLITS) - code)
    order = np.lexsort((-code, rows["hash"]))  # equal functions: test first, dropped files last, then by file
    is_duplicate = np.ones(len(rows), dtype=bool)
    is_duplicate[order[np.unique(rows["hash"][order], return_index=True)[1]]] = False
    duplicates = np.empty(int(is_duplicate.sum()), dtype=_FUNCTION_FIELDS)
    duplicates["group"], duplicates["function"] = group_of[is_duplicate], rows["function"][is_duplicate]
    write_rows(result, duplicates)
