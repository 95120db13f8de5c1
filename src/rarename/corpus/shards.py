"""The work on one shard of a corpus: parse its files, count its values, write it with rank ids.

A shard is a limited run of files. Each step reads files and writes files, holds at most the shard in memory, and leaves
its result complete or not at all. So many processes can work on shards in any order, and interrupted work can be
resumed.
"""

import json
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import asdict, astuple, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rarename.corpus.document import Chunk, Document, Skip, Source
from rarename.corpus.near_duplicates import NUM_HASHES, Hashes, mix, signature, stable_hash
from rarename.corpus.splits import SplitName
from rarename.corpus.store import BUG_COLUMNS, EMPTY_RANK, NODE_COLUMNS, ROLE_GROUPS, read_table, write_table
from rarename.corpus.value_ranks import look_up
from rarename.discovery import MINIFIED, is_minified
from rarename.errors import ParseError
from rarename.io import write_text
from rarename.syntax import Language, Traversal, language_named
from rarename.syntax.functions import Slice, functions
from rarename.vocabulary import is_placeholder

SPLITS = tuple(SplitName)
DROPPED = -1
"""Instead of the index of a split: the file is not part of the corpus."""
CRASHED = "the parser crashed"


@dataclass(frozen=True)
class ParseOptions:
    """Which files are left out, besides those that cannot be parsed."""

    language: str
    max_nodes: int
    keep_minified: bool


@dataclass(frozen=True)
class Shard:
    """The intermediate files of a shard, in the order in which they are written."""

    folder: Path
    number: int

    def _path(self, name: str) -> Path:
        return self.folder / f"{self.number:05d}.{name}"

    @property
    def current(self) -> Path:
        """The path of the document that is being parsed: if the process dies, that document killed it."""
        return self._path("current")

    @property
    def crashed(self) -> Path:
        """Documents that have killed a process before, one per line."""
        return self._path("crashed")

    @property
    def nodes(self) -> Path:
        """Trees, with value and type ids of the shard."""
        return self._path("nodes.arrow")

    @property
    def names(self) -> Path:
        """The values of the shard, by id."""
        return self._path("names.arrow")

    @property
    def types(self) -> Path:
        """The node types of the shard, by id."""
        return self._path("types.json")

    @property
    def skips(self) -> Path:
        """What was skipped, and why. Written last: the shard is parsed."""
        return self._path("skips.json")

    @property
    def counts(self) -> Path:
        """How often each value occurs in the training files of the shard. The shard is counted."""
        return self._path("counts.arrow")

    @property
    def ranked(self) -> Path:
        """The values that occur in no earlier shard, by rank. Written last: the shard is encoded."""
        return self._path("ranked.arrow")


@dataclass(frozen=True, eq=False)
class ShardSelection:
    """Which files and functions of a shard are kept."""

    splits: NDArray[np.int8]
    """For each file the index of its split in `SPLITS`, or `DROPPED`."""
    keeps_function: NDArray[np.bool_]
    """For each function of all files."""


# --- parse ------------------------------------------------------------------------------------------------


def parse_shard(shard: Shard, reads: Sequence[tuple[Source, Chunk]], options: ParseOptions) -> None:
    """Parse the documents of a shard."""
    language = language_named(options.language)
    crashed = shard.crashed.read_text(encoding="utf-8").split("\n") if shard.crashed.exists() else []
    builder = _ShardBuilder(language)
    skips: list[Skip] = []
    with shard.current.open("w", encoding="utf-8") as current:
        for item in (item for source, chunk in reads for item in source.read(chunk)):
            if isinstance(item, Skip):
                skips.append(item)
            elif item.path in crashed:
                skips.append(Skip(item.path, item.project, CRASHED))
            else:
                current.seek(0)
                current.truncate()
                current.write(item.path)
                current.flush()
                tree = _parse(item, language, options)
                if isinstance(tree, Skip):
                    skips.append(tree)
                else:
                    builder.add(item, tree)
    builder.write(shard)
    write_text(shard.skips, json.dumps([asdict(skip) for skip in skips]))
    shard.current.unlink()


def _parse(document: Document, language: Language, options: ParseOptions) -> Traversal | Skip:
    def skip(reason: str, detail: str = "") -> Skip:
        return Skip(document.path, document.project, reason, detail)

    tree = document.content
    if isinstance(tree, bytes):
        try:
            text = language.decode(tree)
            if not options.keep_minified and is_minified(text):
                return skip(MINIFIED)
            tree = language.parse(text, False)
        except ParseError as error:
            return skip(error.reason, f"line {error.line}: {error.detail}" if error.line else error.detail)
    if len(tree) <= 1:
        return skip("no code")
    if len(tree) > options.max_nodes:
        return skip(f"over {options.max_nodes:,} nodes", f"{len(tree):,} nodes")
    return tree


class _Ids(dict[str, int]):
    """Numbers strings in order of appearance."""

    def __missing__(self, key: str) -> int:
        number = self[key] = len(self)
        return number

    def hashes(self) -> Hashes:
        return np.fromiter(map(stable_hash, self), dtype=np.uint64, count=len(self))


@dataclass
class _ListColumn:
    """A list column: one flat array, and where each list ends."""

    type: pa.DataType = field(default_factory=pa.int32)
    flat: "array[int]" = field(default_factory=lambda: array("i"))
    ends: "array[int]" = field(default_factory=lambda: array("i", [0]))

    def append(self, numbers: Iterable[int]) -> None:
        self.flat.extend(numbers)
        self.ends.append(len(self.flat))

    def to_arrow(self, flat: pa.Array | None = None) -> pa.ListArray:
        if flat is None:
            flat = pa.array(np.frombuffer(self.flat, dtype=np.int32) if self.flat else []).cast(self.type)
        return pa.ListArray.from_arrays(pa.array(np.frombuffer(self.ends, dtype=np.int32)), flat)


class _ShardBuilder:
    """Collects the trees of a shard."""

    def __init__(self, language: Language) -> None:
        self.language = language
        self.types, self.names = _Ids(), _Ids()
        self.documents: list[Document] = []
        self.columns = {name: _ListColumn(kind) for name, kind in NODE_COLUMNS.items()}
        self.functions: list[list[Slice]] = []

    def add(self, document: Document, tree: Traversal) -> None:
        names = self.names
        self.documents.append(replace(document, content=b""))  # the content is large and no longer needed
        self.columns["types"].append(map(self.types.__getitem__, tree.types))
        self.columns["values"].append([EMPTY_RANK if value is None else names[value] for value in tree.values])
        self.columns["parents"].append(tree.parents)
        self.columns["roles"].append(self.language.roles(tree))
        self.columns["lines"].append([0] * len(tree) if tree.spans is None else tree.spans[:, 0].tolist())
        is_example = document.bug is not None
        self.functions.append([Slice(0, len(tree))] if is_example else functions(tree, self.language))

    def write(self, shard: Shard) -> None:
        """Write trees, values and the hashes that find duplicates."""
        columns: dict[str, Any] = {
            "path": pa.array([document.path for document in self.documents], pa.string()),
            "project": pa.array([document.project for document in self.documents], pa.string()),
            **{name: column.to_arrow() for name, column in self.columns.items()},
        }
        name_hashes, type_hashes = self.names.hashes(), self.types.hashes()
        starts, lengths, function_hashes = _ListColumn(), _ListColumn(), []
        signatures = np.zeros((len(self.documents), NUM_HASHES), dtype=np.uint32)
        for number, slices in enumerate(self.functions):
            types, values = (columns[name][number].values.to_numpy() for name in ("types", "values"))
            nodes = _node_hashes(types, values, type_hashes, name_hashes)
            signatures[number] = signature(nodes)
            starts.append(part.start for part in slices)
            lengths.append(part.length for part in slices)
            function_hashes += [stable_hash(nodes[part.start : part.start + part.length]) for part in slices]
        columns["function_starts"] = starts.to_arrow()
        columns["function_lengths"] = lengths.to_arrow()
        columns["function_hashes"] = starts.to_arrow(pa.array(function_hashes, pa.uint64()))
        columns["signature"] = pa.FixedSizeListArray.from_arrays(pa.array(signatures.ravel()), NUM_HASHES)
        bugs = [document.bug and astuple(document.bug) for document in self.documents]
        if any(bugs):
            for number, (name, kind) in enumerate(BUG_COLUMNS.items()):
                columns[name] = pa.array([bug and bug[number] for bug in bugs], kind)
        write_table(shard.nodes, pa.table(columns))
        names = {
            "value": pa.array([_storable(name) for name in self.names], pa.large_string()),
            "hash": pa.array(name_hashes),
            "is_placeholder": pa.array([is_placeholder(name) for name in self.names], pa.bool_()),
        }
        write_table(shard.names, pa.table(names))
        write_text(shard.types, json.dumps(list(self.types)))


def _node_hashes(types: NDArray[Any], values: NDArray[Any], type_hashes: Hashes, name_hashes: Hashes) -> Hashes:
    """A hash of the type and value of each node, the same in every shard."""
    hashes = mix(type_hashes[types])
    has_value = values >= 0
    hashes[has_value] ^= name_hashes[values[has_value]]
    return mix(hashes)


def _storable(value: str) -> str:
    """A value that UTF-8 can encode: half a surrogate pair becomes the replacement character."""
    return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


# --- count ------------------------------------------------------------------------------------------------


def count_shard(shard: Shard, selection: ShardSelection) -> None:
    """Count the values of the training files. Values of other splits get ranks too, so they have a count of 0."""
    nodes, names = read_table(shard.nodes), read_table(shard.names)
    node_splits = np.repeat(selection.splits, np.diff(_offsets(nodes, "types")))
    values, roles = _flat(nodes, "values"), _flat(nodes, "roles")
    is_kept = (node_splits != DROPPED) & (values >= 0)
    is_training = node_splits == SPLITS.index(SplitName.TRAIN)
    hashes = names.column("hash").to_numpy()
    present = np.nonzero(np.bincount(values[is_kept], minlength=names.num_rows))[0]
    present = present[np.argsort(hashes[present])]
    columns = {
        "hash": pa.array(hashes[present]),
        "is_placeholder": pa.array(names.column("is_placeholder").to_numpy()[present]),
    }
    for group, group_roles in ROLE_GROUPS.items():
        is_counted = is_kept & is_training & np.isin(roles, [int(role) for role in group_roles])
        columns[group] = pa.array(np.bincount(values[is_counted], minlength=names.num_rows)[present])
    types = json.loads(shard.types.read_text(encoding="utf-8"))
    counts = np.bincount(_flat(nodes, "types")[is_training], minlength=len(types)).tolist()
    metadata = {"types": json.dumps(dict(zip(types, counts, strict=True)))}
    write_table(shard.counts, pa.table(columns).replace_schema_metadata(metadata))


def type_counts(shard: Shard) -> dict[str, int]:
    """How often each node type occurs in the training files of the shard."""
    return dict(json.loads(read_table(shard.counts).schema.metadata[b"types"]))


# --- encode -----------------------------------------------------------------------------------------------


def encode_shard(shard: Shard, selection: ShardSelection, ranks: Path, types: Sequence[str], corpus: Path) -> None:
    """Write the kept files of a shard, one table for each split, with the rank ids and type ids of the corpus."""
    nodes, names = read_table(shard.nodes), read_table(shard.names)
    rank_of_name, owner_of_name = look_up(ranks, names.column("hash").to_numpy())
    type_ids = {name: number for number, name in enumerate(types)}
    own_types = json.loads(shard.types.read_text(encoding="utf-8"))
    type_of = np.array([type_ids[name] for name in own_types], dtype=np.int16)
    values = _flat(nodes, "values")
    # The appended entry serves nodes without a value, whose id is below zero.
    rank_ids = np.where(values >= 0, np.append(rank_of_name, EMPTY_RANK)[values], EMPTY_RANK)
    nodes = _with_lists(nodes, "values", _offsets(nodes, "values"), rank_ids.astype(np.int32))
    nodes = _with_lists(nodes, "types", _offsets(nodes, "types"), type_of[_flat(nodes, "types")])
    keeps = selection.keeps_function
    num_kept_before = np.concatenate([[0], np.cumsum(keeps)]).astype(np.int32)
    function_offsets = num_kept_before[_offsets(nodes, "function_starts")]
    for name in ("function_starts", "function_lengths"):
        nodes = _with_lists(nodes, name, function_offsets, _flat(nodes, name)[keeps])
    nodes = nodes.drop_columns(["function_hashes", "signature"])
    for number, split in enumerate(SPLITS):
        if (selection.splits == number).any():
            path = corpus / f"{split}-{shard.number:05d}.arrow"
            write_table(path, nodes.filter(pa.array(selection.splits == number)))
    owned = np.nonzero(owner_of_name == shard.number)[0]
    owned = owned[np.argsort(rank_of_name[owned])]
    ranked = {"rank": pa.array(rank_of_name[owned]), "value": names.column("value").take(pa.array(owned))}
    write_table(shard.ranked, pa.table(ranked))


def _flat(table: pa.Table, column: str) -> NDArray[Any]:
    numbers: NDArray[Any] = table.column(column).combine_chunks().values.to_numpy()
    return numbers


def _offsets(table: pa.Table, column: str) -> NDArray[np.int32]:
    offsets: NDArray[np.int32] = table.column(column).combine_chunks().offsets.to_numpy()
    return offsets


def _with_lists(table: pa.Table, column: str, offsets: NDArray[np.int32], flat: NDArray[Any]) -> pa.Table:
    lists = pa.ListArray.from_arrays(pa.array(offsets), pa.array(flat))
    return table.set_column(table.column_names.index(column), column, lists)
