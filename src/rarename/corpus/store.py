"""The corpus on disk: written once, read by index, memory-mapped, from many workers.

    corpus/
    ├── manifest.json        format version, language, sources, counts, what was skipped and why
    ├── skipped.jsonl        every file that was skipped, with its reason
    ├── values.arrow         every value by rank, with its counts in the training split
    ├── types.arrow          every node type, most frequent first, with its count
    └── train-00000.arrow …  a row for each file of a split: its nodes as flat integer columns

All tables are Arrow files without compression, so that reading one maps it into memory and a list column is a
flat integer array with offsets: what training wants, and what polars, DuckDB and `datasets` read as well.
`docs/corpus-format.md` describes every column.
"""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rarename.corpus.splits import SplitName
from rarename.errors import CorpusError
from rarename.io import replacing
from rarename.syntax import Language, Role, Traversal, language_named
from rarename.syntax.traversal import IDENTIFIER_ROLES, MisuseLabel
from rarename.vocabulary import Special, Vocabulary, is_placeholder

FORMAT = "rarename-corpus"
VERSION = 2
MANIFEST = "manifest.json"
EMPTY_RANK = Special.EMPTY.rank
"""Stands in the column of values for no value."""

COUNTED = {
    "names": IDENTIFIER_ROLES,
    "others": frozenset({Role.OPERATOR, Role.CONSTANT}),
    "numbers": frozenset({Role.NUMBER}),
    "strings": frozenset({Role.STRING}),
    "regexps": frozenset({Role.REGEXP}),
}
"""The columns of `values.arrow` that count occurrences, by the roles in which a value occurs.

One string may be a name here and a literal there. Counts by role let one corpus rank values for tasks that
hide literals and for tasks that do not.
"""

NODE_COLUMNS = {
    "types": pa.int16(),
    "values": pa.int32(),
    "parents": pa.int32(),
    "roles": pa.int8(),
    "lines": pa.int32(),
}
"""A list for each file with an entry for each node."""


@dataclass(frozen=True)
class StoredFile:
    """One file of a corpus; the arrays are views into the memory-mapped store."""

    path: str
    project: str
    types: NDArray[np.int16]
    values: NDArray[np.int32]
    """Rank ids; a node without a value has `Special.EMPTY.rank`."""
    parents: NDArray[np.int32]
    roles: NDArray[np.int8]
    lines: NDArray[np.int32]
    functions: NDArray[np.int32]
    """A row `start, length` for each function that is no duplicate, nested ones included."""
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
            raise IndexError(f"the split has {len(self)} files, there is none of index {index}")
        shard = int(np.searchsorted(self._starts, index, side="right")) - 1
        return _stored_file(self._tables[shard], index - int(self._starts[shard]))

    def __iter__(self) -> Iterator[StoredFile]:
        return (self[index] for index in range(len(self)))

    def shards(self, *names: str) -> Iterator[tuple[NDArray[np.int64], list[str], dict[str, NDArray[Any]]]]:
        """For each shard the number of nodes and the project of each file, and flat node columns, file after file."""
        for table in self._tables:
            columns = {name: table.column(name).combine_chunks() for name in names}
            offsets = [column.offsets.to_numpy() for column in columns.values()]
            flat = {name: column.flatten().to_numpy() for name, column in columns.items()}
            yield np.diff(offsets[0]).astype(np.int64), table.column("project").to_pylist(), flat

    def column(self, name: str) -> Iterator[NDArray[Any]]:
        """A flat node column, shard by shard: for what needs all nodes and no borders between files."""
        for table in self._tables:
            for chunk in table.column(name).chunks:
                yield chunk.flatten().to_numpy()


def content_digest(corpus: Path) -> str:
    """Of the names and bytes of all tables."""
    digest = hashlib.sha256()
    for path in sorted(corpus.glob("*.arrow")):
        with path.open("rb") as file:
            digest.update(f"{path.name} {hashlib.file_digest(file, 'sha256').hexdigest()}\n".encode())
    return digest.hexdigest()


class Corpus:
    """A finished corpus.

    >>> corpus = Corpus("corpora/pypi")                                     # doctest: +SKIP
    >>> corpus.vocabulary(3)                                                # doctest: +SKIP
    Vocabulary(3 names: self, None, os, …)
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.manifest = read_manifest(self.path)

    @property
    def language(self) -> Language:
        """The language of all files."""
        return language_named(self.manifest["language"])

    def digest(self) -> str:
        """Tells a corpus from others, and from what stood in its folder before.

        The same content has the same digest, wherever and with whatever command it was made. The tables are not read
        for it: `prepare` has done so, and a table that was replaced since most likely has another size.
        """
        text = f"{self.manifest['digest']}\n"
        for path in sorted(self.path.glob("*.arrow")):
            text += f"{path.name} {path.stat().st_size}\n"
        return hashlib.sha256(text.encode()).hexdigest()

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
        """The value behind a rank id, None for a special one."""
        return None if rank < 0 else str(self._values.column("value")[rank].as_py())

    def values(self) -> list[str]:
        """All values, by rank id."""
        return [str(value) for value in self._values.column("value").to_pylist()]

    def counts(self, *groups: str) -> NDArray[np.int64]:
        """How often each value, by rank, occurs in training in the roles of these groups (see `COUNTED`)."""
        counts = np.zeros(self.num_values, dtype=np.int64)
        for group in groups or COUNTED:
            counts += self._values.column(group).to_numpy()
        return counts

    def ranking(self, *groups: str) -> NDArray[np.int64]:
        """For each rank id the rank that its value has when only these groups of roles are counted.

        A task that hides strings says `ranking("names", "others", "numbers")`: a vocabulary of size N is then
        what stands below N here, and no place in it is lost to strings. Values that do not occur follow behind.
        """
        counts = self.counts(*groups)
        counts[self._first_placeholder :] = -1
        order = np.argsort(-counts, kind="stable")
        ranks = np.empty(len(counts), dtype=np.int64)
        ranks[order] = np.arange(len(counts))
        return ranks

    @cached_property
    def _first_placeholder(self) -> int:
        """Where the values begin that are spelt like placeholders: they stand last, and no vocabulary has them."""
        first = self.num_values
        while first and is_placeholder(self.value(first - 1) or ""):
            first -= 1
        return first

    def num_occurring(self, *groups: str) -> int:
        """How many values occur in training in the roles of these groups, and may be in a vocabulary."""
        return int((self.counts(*groups)[: self._first_placeholder] > 0).sum())

    def vocabulary(self, size: int | None = None, *groups: str) -> Vocabulary:
        """The most frequent values of the training split, by default those that occur as names."""
        groups = groups or ("names",)
        order = np.argsort(self.ranking(*groups))[: self.num_occurring(*groups)][:size]
        return Vocabulary(self._values.column("value").take(pa.array(order)).to_pylist())

    def traversal(self, file: StoredFile) -> Traversal:
        """The tree of a stored file, in its own names."""
        distinct, inverse = np.unique(file.values, return_inverse=True)
        names = np.array([self.value(rank) for rank in distinct.tolist()], dtype=object)
        types = self.types
        return Traversal(
            types=[types[node_type] for node_type in file.types.tolist()],
            values=names[inverse].tolist(),
            parents=file.parents.tolist(),
        )


def read_manifest(folder: Path) -> dict[str, Any]:
    """The manifest of a corpus; a clear error if the folder is none, or one that this version cannot read."""
    path = folder / MANIFEST
    if not path.is_file():
        if (folder / ".work").is_dir():
            raise CorpusError(f"{folder} is not finished; run the same `rarename prepare` again to go on")
        raise CorpusError(f"{folder} is no corpus (it has no {MANIFEST}); make one with `rarename prepare`")
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
        version = (manifest["format"], manifest["version"])
        if version == (FORMAT, VERSION):
            for key in ("language", "request", "sources", "splits", "types", "values", "digest", "skipped"):
                manifest[key]
    except (ValueError, KeyError, TypeError) as error:
        raise CorpusError(f"{path} is damaged: {error!r}; prepare the corpus again") from error
    if version != (FORMAT, VERSION):
        raise CorpusError(
            f"{folder} is of format {version[0]} version {version[1]}; this rarename reads {FORMAT} version "
            f"{VERSION}. Prepare the corpus again with this version."
        )
    return dict(manifest)


def write_table(path: Path, table: pa.Table) -> None:
    """Write an Arrow file, whole or not at all."""
    with (
        replacing(path) as temporary,
        pa.OSFile(str(temporary), "wb") as sink,
        pa.ipc.new_file(sink, table.schema) as writer,
    ):
        # One batch, so that each column is one flat array.
        writer.write_table(table.combine_chunks(), max_chunksize=max(1, table.num_rows))


def read_table(path: Path) -> pa.Table:
    """Map an Arrow file into memory."""
    try:
        return pa.ipc.open_file(pa.memory_map(str(path))).read_all()
    except (OSError, pa.ArrowInvalid) as error:
        raise CorpusError(f"{path} is missing or damaged: {error}; prepare the corpus again") from error


def _stored_file(table: pa.Table, row: int) -> StoredFile:
    def numbers(name: str) -> Any:
        return table.column(name)[row].values.to_numpy()

    def bug() -> MisuseLabel | None:
        if "bug_location" not in table.column_names:
            return None
        return MisuseLabel(
            table.column("bug_location")[row].as_py(),
            tuple(table.column("repair_targets")[row].as_py()),
            tuple(table.column("repair_candidates")[row].as_py()),
            table.column("bug_kind")[row].as_py(),
        )

    return StoredFile(
        path=table.column("path")[row].as_py(),
        project=table.column("project")[row].as_py(),
        **{name: numbers(name) for name in NODE_COLUMNS},
        functions=np.stack([numbers("function_starts"), numbers("function_lengths")], axis=1),
        bug=bug(),
    )
