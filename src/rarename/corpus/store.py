"""The corpus on disk: written once, memory-mapped, read by index from many workers.

All tables are Arrow files without compression, so a list column is a flat integer array with offsets.
`docs/corpus-format.md` describes every file and column.
"""

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rarename.corpus.splits import SplitName
from rarename.errors import CorpusError
from rarename.io import replacing
from rarename.reading import check_shape, open_regular, read_json
from rarename.syntax import LANGUAGES, Language, Role, Traversal, language_named
from rarename.syntax.traversal import IDENTIFIER_ROLES, MisuseLabel
from rarename.vocabulary import Special, Vocabulary, is_placeholder

FORMAT = "rarename-corpus"
VERSION = 2
MANIFEST = "manifest.json"
EMPTY_RANK = Special.EMPTY.rank  # the value of a node without a value

# The columns of `values.arrow` that count occurrences, by the role of the value. The same string may be a name in one
# node and a literal in another. With counts by role, one corpus serves tasks that mask literals and tasks that do not.
ROLE_GROUPS = {
    "names": IDENTIFIER_ROLES,
    "others": frozenset({Role.OPERATOR, Role.CONSTANT}),
    "numbers": frozenset({Role.NUMBER}),
    "strings": frozenset({Role.STRING}),
    "regexps": frozenset({Role.REGEXP}),
}
# List columns with an entry for each node of a file.
_INT, _INTS = pa.int32(), pa.list_(pa.int32())
NODE_COLUMNS = {"types": pa.int16(), "values": _INT, "parents": _INT, "roles": pa.int8(), "lines": _INT}
# The fields of the `MisuseLabel` of a GREAT example.
BUG_COLUMNS = {"bug_location": _INT, "repair_targets": _INTS, "repair_candidates": _INTS, "bug_kind": pa.string()}
# What is read of each table: those of files, and two others.
_FILE_COLUMNS = {"path": pa.string(), "project": pa.string(), "function_starts": _INTS, "function_lengths": _INTS}
_FILE_COLUMNS |= {name: pa.list_(kind) for name, kind in NODE_COLUMNS.items()}
_COLUMNS = {
    "types": {"type": pa.string()},
    "values": {"value": pa.large_string(), **dict.fromkeys(ROLE_GROUPS, pa.int64())},
}

_COUNT = range(2**53)
_SPLIT_SHAPE = dict.fromkeys(("projects", "files", "functions", "nodes", "duplicate_functions"), _COUNT)
_MANIFEST_SHAPE = {
    "language": tuple(LANGUAGES),
    "request": {"settings": {"sources": dict}},
    "sources": [dict],
    "splits": {str: _SPLIT_SHAPE},
    "types": _COUNT,
    "values": _COUNT,
    "digest": str,
    "skipped": {str: {"count": _COUNT, "examples": [str]}},
}


@dataclass(frozen=True)
class StoredFile:
    """One file of a corpus. Its arrays are views of the memory-mapped tables."""

    path: str
    project: str
    types: NDArray[np.int16]
    values: NDArray[np.int32]  # rank ids; a node without a value has `Special.EMPTY.rank`
    parents: NDArray[np.int32]
    roles: NDArray[np.int8]
    lines: NDArray[np.int32]
    functions: NDArray[np.int32]  # a row `start, length` for each, nested ones included, duplicates excluded
    bug: MisuseLabel | None


class Split:
    """The files of one split, by index."""

    def __init__(self, paths: list[Path]) -> None:
        self._tables = [read_table(path) for path in paths]
        self._starts = np.cumsum([0, *(table.num_rows for table in self._tables)])

    def __len__(self) -> int:
        return int(self._starts[-1])

    def __getitem__(self, index: int) -> StoredFile:
        if not 0 <= index < len(self):
            raise IndexError(f"index {index} is out of range: the split has {len(self)} files")
        shard = int(np.searchsorted(self._starts, index, side="right")) - 1
        table, row = self._tables[shard], index - int(self._starts[shard])

        def numbers(name: str) -> Any:
            return table.column(name)[row].values.to_numpy()

        bug = None
        if "bug_location" in table.column_names:
            location, targets, candidates, kind = (table.column(name)[row].as_py() for name in BUG_COLUMNS)
            bug = MisuseLabel(location, tuple(targets), tuple(candidates), kind)
        path, project = (table.column(name)[row].as_py() for name in ("path", "project"))
        functions = np.stack([numbers("function_starts"), numbers("function_lengths")], axis=1)
        columns = {name: numbers(name) for name in NODE_COLUMNS}
        return StoredFile(path, project, **columns, functions=functions, bug=bug)

    def __iter__(self) -> Iterator[StoredFile]:
        return (self[index] for index in range(len(self)))

    def shards(self, *names: str) -> Iterator[tuple[NDArray[np.int64], list[str], dict[str, NDArray[Any]]]]:
        """For each shard: the number of nodes and the project of each file, and node columns of all files."""
        for table in self._tables:
            columns = {name: table.column(name).combine_chunks() for name in names}
            offsets = next(iter(columns.values())).offsets.to_numpy()
            flat = {name: column.flatten().to_numpy() for name, column in columns.items()}
            yield np.diff(offsets).astype(np.int64), table.column("project").to_pylist(), flat


class Corpus:
    """A finished corpus."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.manifest = read_manifest(self.path)
        stats = ((table.name, table.stat()) for table in tables(self.path))
        state = tuple((name, stat.st_size, stat.st_mtime_ns) for name, stat in stats)
        _check_tables(self.path.absolute(), json.dumps(self.manifest), state)

    @property
    def language(self) -> Language:
        """The language of all files."""
        return language_named(self.manifest["language"])

    def digest(self) -> str:
        """Identifies the content of the corpus, whatever its folder and the command that made it."""
        # `prepare` has stored the digest of the tables, so they are not read. A table that was replaced since then most
        # likely has another size.
        sizes = "".join(f"{path.name} {path.stat().st_size}\n" for path in tables(self.path))
        return hashlib.sha256(f"{self.manifest['digest']}\n{sizes}".encode()).hexdigest()

    def split(self, name: str) -> Split:
        """The files of a split: "train", "validation" or "test"."""
        return Split(sorted(self.path.glob(f"{SplitName(name)}-*.arrow")))

    @cached_property
    def _values(self) -> pa.Table:
        return read_table(self.path / "values.arrow")

    @property
    def num_values(self) -> int:
        """Distinct values of all splits."""
        return int(self._values.num_rows)

    @cached_property
    def types(self) -> Vocabulary:
        """Node types, by their ids."""
        return Vocabulary(read_table(self.path / "types.arrow").column("type").to_pylist())

    def value(self, rank: int) -> str | None:
        """The value of a rank id; None for a special one."""
        return None if rank < 0 else str(self._values.column("value")[rank].as_py())

    def values(self) -> list[str]:
        """All values, by rank id."""
        return [str(value) for value in self._values.column("value").to_pylist()]

    def counts(self, *groups: str) -> NDArray[np.int64]:
        """How often each value, by rank, occurs in training in these `ROLE_GROUPS`, by default all."""
        columns = [self._values.column(group).to_numpy() for group in groups or ROLE_GROUPS]
        counts: NDArray[np.int64] = np.sum(columns, axis=0)
        return counts

    def ranking(self, *groups: str) -> NDArray[np.int64]:
        """For each rank id, the rank of its value if only these groups of roles are counted.

        A vocabulary of size N has the values of ranks below N. With `ranking("names", "others", "numbers")` none of
        them is a string. Values that do not occur come last.
        """
        counts = self.counts(*groups)
        counts[self._first_placeholder :] = -1
        ranks = np.empty(len(counts), dtype=np.int64)
        ranks[np.argsort(-counts, kind="stable")] = np.arange(len(counts))
        return ranks

    @cached_property
    def _first_placeholder(self) -> int:
        """The rank of the first value in the form of a placeholder: they come last, and no vocabulary has them."""
        first = self.num_values
        while first and is_placeholder(self.value(first - 1) or ""):
            first -= 1
        return first

    def num_occurring(self, *groups: str) -> int:
        """How many values occur in training in these groups of roles, without those in the form of a placeholder."""
        return int((self.counts(*groups)[: self._first_placeholder] > 0).sum())

    def vocabulary(self, size: int | None = None, *groups: str) -> Vocabulary:
        """The most frequent values of the training split, by default of those that occur as names."""
        return self.most_frequent(self.counts(*(groups or ("names",))), size)

    def most_frequent(self, counts: NDArray[np.int64], size: int | None = None) -> Vocabulary:
        """The values with the highest counts, given by rank, without those that have a count of 0."""
        counts = counts[: self._first_placeholder]
        order = np.argsort(-counts, kind="stable")[: np.count_nonzero(counts)][:size]
        return Vocabulary(self._values.column("value").take(pa.array(order)).to_pylist())

    def traversal(self, file: StoredFile) -> Traversal:
        """The tree of a stored file, with its values as strings."""
        distinct, inverse = np.unique(file.values, return_inverse=True)
        names = np.array([self.value(rank) for rank in distinct.tolist()], dtype=object)
        types = [*map(self.types.__getitem__, file.types.tolist())]
        return Traversal(types=types, values=names[inverse].tolist(), parents=file.parents.tolist())


def read_manifest(folder: Path) -> dict[str, Any]:
    """The manifest of a corpus. CorpusError if the folder is not a corpus of this version."""
    path = folder / MANIFEST
    if not path.is_file():
        if (folder / ".work").is_dir():
            raise CorpusError(f"{folder} is not finished; run the same `rarename prepare` again to resume")
        raise CorpusError(f"{folder} is not a corpus (it has no {MANIFEST}); make one with `rarename prepare`")
    try:
        manifest: dict[str, Any] = read_json(path)
        check_shape(manifest, {"format": str, "version": int})
        met, expected = f"{manifest['format']} version {manifest['version']}", f"{FORMAT} version {VERSION}"
        if met == expected:
            check_shape(manifest, _MANIFEST_SHAPE)
            check_shape(manifest["splits"], dict.fromkeys(SplitName, dict), "splits")
            check_shape(manifest.get("tables", {}), {str: str}, "tables")
    except ValueError as error:
        raise CorpusError(f"{path} is damaged: {error}; prepare the corpus again") from error
    if met != expected:
        advice = "Prepare the corpus again with this version."
        raise CorpusError(f"{folder} has format {met}; this rarename reads {expected}. {advice}")
    return manifest


def tables(corpus: Path) -> list[Path]:
    """The Arrow files of a corpus, by name."""
    return sorted(corpus.glob("*.arrow"))


def table_digests(corpus: Path) -> dict[str, str]:
    """The SHA-256 of each table, by its name."""
    digests = {}
    for path in tables(corpus):
        with open_regular(path) as file:
            digests[path.name] = hashlib.file_digest(file, "sha256").hexdigest()
    return digests


def content_digest(digests: dict[str, str]) -> str:
    """A SHA-256 of the names and bytes of all tables."""
    return hashlib.sha256("".join(f"{name} {digests[name]}\n" for name in sorted(digests)).encode()).hexdigest()


@cache
def _check_tables(corpus: Path, manifest_text: str, state: tuple[Any, ...]) -> None:
    """Raise CorpusError unless the tables are those that `prepare` wrote: Arrow reads damaged ones out of bounds.

    A process checks a corpus once, and again if the `state` of its files has changed.
    """
    manifest, digests = json.loads(manifest_text), table_digests(corpus)
    expected = manifest.get("tables", digests)  # manifests of earlier versions have only the digest of all tables
    for name in sorted(expected.keys() | digests.keys()):
        if expected.get(name) != digests.get(name):
            problem = "is missing" if name not in digests else "is damaged or was replaced"
            raise CorpusError(f"{corpus / name} {problem}: its SHA-256 is not in {MANIFEST}; prepare the corpus again")
    if content_digest(digests) != manifest["digest"]:
        problem = f"a table is damaged, replaced or missing: their SHA-256 is not the one in {MANIFEST}"
        raise CorpusError(f"{corpus}: {problem}; prepare the corpus again")
    for path in tables(corpus):
        try:  # the digests may have been made for a malformed table
            table = read_table(path)
            table.validate(full=True)
            columns = _FILE_COLUMNS | (BUG_COLUMNS if "bug_location" in table.column_names else {})
            for column, kind in _COLUMNS.get(path.stem, columns).items():
                if table.schema.field(column).type != kind or table.column(column).null_count:
                    raise ValueError(f"{column} is not a column of {kind} without nulls")
        except (pa.ArrowException, ValueError, KeyError) as error:
            raise CorpusError(f"{path} is malformed: {error}; prepare the corpus again") from error
    num_types = len(Vocabulary(read_table(corpus / "types.arrow").column("type").to_pylist()))
    num_values = read_table(corpus / "values.arrow").num_rows
    for path in tables(corpus):
        if path.stem not in _COLUMNS and (problem := _problem(read_table(path), num_types, num_values)):
            raise CorpusError(f"{path} is malformed: {problem}; prepare the corpus again")


def _problem(table: pa.Table, num_types: int, num_values: int) -> str:
    """What is impossible about the numbers in a table of files; empty if they all fit together."""
    columns = {name: table.column(name).combine_chunks() for name, kind in _FILE_COLUMNS.items() if kind != pa.string()}
    sizes = {name: column.value_lengths().to_numpy() for name, column in columns.items()}
    numbers = {name: column.flatten() for name, column in columns.items()}
    if nulls := [name for name, column in numbers.items() if column.null_count]:
        return f"{nulls[0]} has nulls"
    flat = {name: column.to_numpy().astype(np.int64) for name, column in numbers.items()}
    pairs = [("types", name) for name in NODE_COLUMNS] + [("function_starts", "function_lengths")]
    if different := [name for first, name in pairs if not np.array_equal(sizes[first], sizes[name])]:
        return f"{different[0]} has lists of other lengths"
    num_nodes = sizes["types"].astype(np.int64)
    first_nodes = np.repeat(np.cumsum(num_nodes) - num_nodes, num_nodes)
    end = np.repeat(num_nodes, sizes["function_starts"])
    limits: dict[str, tuple[int, Any]] = {  # from the first up to, but not including, the second
        "types": (0, num_types),
        "values": (-len(Special), num_values),
        "parents": (-1, np.arange(len(first_nodes)) - first_nodes),
        "roles": (0, len(Role)),
        "lines": (0, 2**31),
        "function_starts": (0, end),
        "function_lengths": (0, end - flat["function_starts"] + 1),
    }
    if "bug_location" in table.column_names:
        flat["bug_location"] = table.column("bug_location").to_numpy()
        limits["bug_location"] = (0, np.maximum(num_nodes, 1))
        for name in ("repair_targets", "repair_candidates"):
            column = table.column(name).combine_chunks()
            if column.flatten().null_count:
                return f"{name} has nulls"
            flat[name] = column.flatten().to_numpy()
            limits[name] = (0, np.repeat(num_nodes, column.value_lengths().to_numpy()))
    wrong = [name for name, (first, stop) in limits.items() if ((flat[name] < first) | (flat[name] >= stop)).any()]
    return f"{wrong[0]} has a number out of range" if wrong else ""


@contextmanager
def table_writer(path: Path, schema: pa.Schema) -> Iterator[pa.RecordBatchFileWriter]:
    """Write an Arrow file atomically."""
    with replacing(path) as temporary, pa.ipc.new_file(str(temporary), schema) as writer:
        yield writer


def write_table(path: Path, table: pa.Table) -> None:
    """Write a table as one batch, so that each column is one flat array."""
    with table_writer(path, table.schema) as writer:
        writer.write_table(table.combine_chunks(), max_chunksize=max(1, table.num_rows))


def read_table(path: Path) -> pa.Table:
    """Map an Arrow file into memory."""
    try:
        return pa.ipc.open_file(pa.memory_map(str(path))).read_all()
    except (OSError, pa.ArrowInvalid) as error:
        raise CorpusError(f"{path} is missing or damaged: {error}; prepare the corpus again") from error
