"""The work on one shard of a corpus: parse it, count its values, write it with rank ids.

A shard is a bounded run of files. Each step reads files and writes files, holds no more than the shard in
memory, and leaves its result complete or absent; so shards can be worked on by many processes in any order,
and work that was interrupted goes on where it stopped.
"""

import json
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rarename.corpus.documents import Chunk, Document, Skip, Source
from rarename.corpus.duplicates import NUM_HASHES, mix, sequence_hash, signature, stable_hash
from rarename.corpus.splits import SplitName
from rarename.corpus.store import COUNTED, EMPTY_RANK, NODE_COLUMNS, read_table, write_table
from rarename.errors import ParseError
from rarename.io import write_text
from rarename.syntax import Language, Traversal, language_named
from rarename.syntax.functions import Slice, functions
from rarename.vocabulary import is_placeholder

SPLITS = tuple(SplitName)
DROPPED = -1
"""Instead of the index of a split: the file is not part of the corpus."""

RANK_TYPE = np.dtype([("hash", np.uint64), ("rank", np.int32), ("owner", np.int32)])
"""What is known of each value, sorted by hash; its owner is the shard that writes its name down."""


@dataclass(frozen=True)
class ParseSettings:
    """What makes a file unfit for a corpus, besides not being parsable."""

    language: str
    max_nodes: int
    keep_minified: bool


class ShardFiles(NamedTuple):
    """Where a shard leaves its intermediate results."""

    folder: Path
    number: int

    def path(self, name: str) -> Path:
        return self.folder / f"{self.number:05d}.{name}"

    @property
    def nodes(self) -> Path:
        """Trees, with value and type ids that hold within the shard."""
        return self.path("nodes.arrow")

    @property
    def names(self) -> Path:
        """The values behind the shard's own ids."""
        return self.path("names.arrow")

    @property
    def types(self) -> Path:
        """The node types behind the shard's own ids."""
        return self.path("types.json")

    @property
    def skips(self) -> Path:
        """What was skipped, and why. Written last: it marks the shard as parsed."""
        return self.path("skips.json")

    @property
    def current(self) -> Path:
        """The file that is being parsed: if the process dies, this one is to blame."""
        return self.path("current")

    @property
    def crashed(self) -> Path:
        """Files that have killed a process before, one a line."""
        return self.path("crashed")

    @property
    def counts(self) -> Path:
        """How often each value occurs in the shard's part of the training split."""
        return self.path("counts.arrow")

    @property
    def ranked(self) -> Path:
        """The values that the shard is the first to have, by rank. Written last: it marks the shard as encoded."""
        return self.path("ranked.arrow")


class _Ids(dict[Any, int]):
    """Numbers things in order of appearance."""

    def __missing__(self, key: Any) -> int:
        number = self[key] = len(self)
        return number


@dataclass
class _Lists:
    """A list column in the making: one flat array and where each list ends."""

    kind: pa.DataType
    flat: "array[int]" = field(default_factory=lambda: array("i"))
    ends: "array[int]" = field(default_factory=lambda: array("i", [0]))

    def append(self, numbers: Iterable[int]) -> None:
        self.flat.extend(numbers)
        self.ends.append(len(self.flat))

    def column(self) -> pa.ListArray:
        flat = pa.array(np.frombuffer(self.flat, dtype=np.int32) if self.flat else []).cast(self.kind)
        return pa.ListArray.from_arrays(pa.array(np.frombuffer(self.ends, dtype=np.int32)), flat)


# --- parse ------------------------------------------------------------------------------------------------


def parse_shard(shard: ShardFiles, reads: Sequence[tuple[Source, Chunk]], settings: ParseSettings) -> int:
    """Parse the files of a shard; returns how many files were met, skipped ones included."""
    language = language_named(settings.language)
    crashed = set(shard.crashed.read_text(encoding="utf-8").split("\n")) if shard.crashed.exists() else set()
    builder = _ShardBuilder(language)
    skips: list[Skip] = []
    met = 0
    with shard.current.open("w", encoding="utf-8") as current:
        for source, chunk in reads:
            for item in source.read(chunk):
                met += 1
                if isinstance(item, Skip):
                    skips.append(item)
                elif item.path in crashed:
                    skips.append(Skip(item.path, item.project, "the parser crashed"))
                else:
                    current.seek(0)
                    current.truncate()
                    current.write(item.path)
                    current.flush()
                    if skip := _add(builder, item, language, settings):
                        skips.append(skip)
    builder.write(shard)
    write_text(shard.skips, json.dumps([asdict(skip) for skip in skips], ensure_ascii=True))
    shard.current.unlink()
    return met


def _add(builder: "_ShardBuilder", document: Document, language: Language, settings: ParseSettings) -> Skip | None:
    """Put a document into the shard, or say why not."""

    def skip(reason: str, detail: str = "") -> Skip:
        return Skip(document.path, document.project, reason, detail)

    content = document.content
    if isinstance(content, bytes):
        try:
            text = language.decode(content)
            if not settings.keep_minified and is_minified(text):
                return skip("minified")
            content = language.parse(text, False)
        except ParseError as error:
            return skip(error.reason, f"line {error.line}: {error.detail}" if error.line else error.detail)
    if len(content) <= 1:
        return skip("no code")
    if len(content) > settings.max_nodes:
        return skip(f"over {settings.max_nodes:,} nodes", f"{len(content):,} nodes")
    builder.add(document, content)
    return None


def is_minified(text: str) -> bool:
    """Whether a text looks as if a program had written it in few, very long lines."""
    return len(text) > 2_000 and len(text) / (text.count("\n") + 1) > 200


class _ShardBuilder:
    """Collects the trees of a shard."""

    def __init__(self, language: Language) -> None:
        self.language = language
        self.types, self.names = _Ids(), _Ids()
        self.documents: list[Document] = []
        self.columns = {name: _Lists(kind) for name, kind in NODE_COLUMNS.items()}
        self.functions: list[list[Slice]] = []

    def add(self, document: Document, tree: Traversal) -> None:
        names = self.names
        # The content is not needed any more, and it is large.
        self.documents.append(Document(document.path, document.project, b"", document.bug))
        self.columns["types"].append(map(self.types.__getitem__, tree.types))
        self.columns["values"].append([EMPTY_RANK if value is None else names[value] for value in tree.values])
        self.columns["parents"].append(tree.parents)
        self.columns["roles"].append(self.language.roles(tree))
        lines = [0] * len(tree) if tree.spans is None else tree.spans[:, 0].tolist()
        self.columns["lines"].append(lines)
        is_example = document.bug is not None
        self.functions.append([Slice(0, len(tree))] if is_example else functions(tree, self.language))

    def write(self, shard: ShardFiles) -> None:
        """Write trees, values and what finding duplicates needs."""
        name_hashes = np.fromiter(map(stable_hash, self.names), dtype=np.uint64, count=len(self.names))
        type_hashes = np.fromiter(map(stable_hash, self.types), dtype=np.uint64, count=len(self.types))
        columns: dict[str, Any] = {
            "path": pa.array([document.path for document in self.documents], pa.string()),
            "project": pa.array([document.project for document in self.documents], pa.string()),
            **{name: lists.column() for name, lists in self.columns.items()},
        }
        starts, lengths, hashes = _Lists(pa.int32()), _Lists(pa.int32()), []
        signatures = np.zeros((len(self.documents), NUM_HASHES), dtype=np.uint32)
        for number, slices in enumerate(self.functions):
            types = columns["types"][number].values.to_numpy()
            values = columns["values"][number].values.to_numpy()
            nodes = _node_hashes(types, values, type_hashes, name_hashes)
            signatures[number] = signature(nodes)
            starts.append(part.start for part in slices)
            lengths.append(part.length for part in slices)
            hashes += [sequence_hash(nodes[part.start : part.start + part.length]) for part in slices]
        columns["function_starts"] = starts.column()
        columns["function_lengths"] = lengths.column()
        columns["function_hashes"] = pa.ListArray.from_arrays(
            pa.array(np.frombuffer(starts.ends, dtype=np.int32)), pa.array(hashes, pa.uint64())
        )
        columns["signature"] = pa.FixedSizeListArray.from_arrays(pa.array(signatures.ravel()), NUM_HASHES)
        if any(document.bug for document in self.documents):
            columns |= _bug_columns(self.documents)
        write_table(shard.nodes, pa.table(columns))
        write_table(
            shard.names,
            pa.table(
                {
                    "value": pa.array([_storable(name) for name in self.names], pa.large_string()),
                    "hash": pa.array(name_hashes),
                    "is_placeholder": pa.array([is_placeholder(name) for name in self.names], pa.bool_()),
                }
            ),
        )
        write_text(shard.types, json.dumps(list(self.types)))


def _node_hashes(
    types: NDArray[Any],
    values: NDArray[Any],
    type_hashes: NDArray[np.uint64],
    name_hashes: NDArray[np.uint64],
) -> NDArray[np.uint64]:
    """A hash for each node that is the same in every shard."""
    hashes = mix(type_hashes[types])
    has_value = values >= 0
    hashes[has_value] ^= name_hashes[values[has_value]]
    return mix(hashes)


def _bug_columns(documents: Sequence[Document]) -> dict[str, pa.Array]:
    bugs = [document.bug for document in documents]
    integers = pa.list_(pa.int32())
    return {
        "bug_location": pa.array([bug and bug.location for bug in bugs], pa.int32()),
        "repair_targets": pa.array([bug and list(bug.repair_targets) for bug in bugs], integers),
        "repair_candidates": pa.array([bug and list(bug.repair_candidates) for bug in bugs], integers),
        "bug_kind": pa.array([bug and bug.kind for bug in bugs], pa.string()),
    }


def _storable(value: str) -> str:
    """A value as UTF-8 can hold it: half a surrogate pair becomes the replacement character."""
    return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


# --- count ------------------------------------------------------------------------------------------------


def count_shard(shard: ShardFiles, splits: NDArray[np.int8]) -> None:
    """Count the values of a shard's training files, given the split of each file.

    Values that occur only in other splits are listed too, with counts of 0: they will get ranks as well.
    """
    nodes, names = read_table(shard.nodes), read_table(shard.names)
    node_splits = _per_node(nodes, splits)
    values, roles = _flat(nodes, "values"), _flat(nodes, "roles")
    is_kept = (node_splits != DROPPED) & (values >= 0)
    is_trained = is_kept & (node_splits == SPLITS.index(SplitName.TRAIN))
    present = np.nonzero(np.bincount(values[is_kept], minlength=names.num_rows))[0]
    present = present[np.argsort(names.column("hash").to_numpy()[present])]
    columns = {
        "hash": pa.array(names.column("hash").to_numpy()[present]),
        "is_placeholder": pa.array(names.column("is_placeholder").to_numpy()[present]),
    }
    for group, group_roles in COUNTED.items():
        places = is_trained & np.isin(roles, [int(role) for role in group_roles])
        columns[group] = pa.array(np.bincount(values[places], minlength=names.num_rows)[present])
    trained_types = _flat(nodes, "types")[node_splits == SPLITS.index(SplitName.TRAIN)]
    types = json.loads(shard.types.read_text(encoding="utf-8"))
    type_counts = np.bincount(trained_types, minlength=len(types)).tolist()
    metadata = {"types": json.dumps(dict(zip(types, type_counts, strict=True)))}
    write_table(shard.counts, pa.table(columns).replace_schema_metadata(metadata))


def type_counts(shard: ShardFiles) -> dict[str, int]:
    """How often each node type occurs in the shard's part of the training split."""
    metadata = read_table(shard.counts).schema.metadata
    return dict(json.loads(metadata[b"types"]))


# --- encode -----------------------------------------------------------------------------------------------


def encode_shard(
    shard: ShardFiles,
    splits: NDArray[np.int8],
    keeps_function: NDArray[np.bool_],
    ranks: Path,
    types: Sequence[str],
    corpus: Path,
) -> None:
    """Write a shard's files, one table for each split, with rank ids in place of the shard's own."""
    nodes, names = read_table(shard.nodes), read_table(shard.names)
    rank_of_name, owner_of_name = look_up(ranks, names.column("hash").to_numpy())
    type_ids = {name: number for number, name in enumerate(types)}
    own_types = json.loads(shard.types.read_text(encoding="utf-8"))
    type_of = np.array([type_ids[name] for name in own_types], dtype=np.int16)
    values = _flat(nodes, "values")
    # The entry behind the last one serves nodes without a value, whose code is below zero.
    rank_ids = np.where(values >= 0, np.append(rank_of_name, EMPTY_RANK)[values], EMPTY_RANK)
    nodes = _with_flat(nodes, "values", rank_ids.astype(np.int32))
    nodes = _with_flat(nodes, "types", type_of[_flat(nodes, "types")])
    nodes = _keep_functions(nodes, keeps_function).drop_columns(["function_hashes", "signature"])
    for number, split in enumerate(SPLITS):
        if (splits == number).any():
            path = corpus / f"{split}-{shard.number:05d}.arrow"
            write_table(path, nodes.filter(pa.array(splits == number)))
    owned = np.nonzero(owner_of_name == shard.number)[0]
    owned = owned[np.argsort(rank_of_name[owned])]
    written = {"rank": pa.array(rank_of_name[owned]), "value": names.column("value").take(pa.array(owned))}
    write_table(shard.ranked, pa.table(written))


def look_up(ranks: Path, hashes: NDArray[np.uint64]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """The rank and the owner of each value, by its hash; -1 for values that no kept file has."""
    table = np.load(ranks, mmap_mode="r")
    found = np.minimum(np.searchsorted(table["hash"], hashes), len(table) - 1)
    is_found = table["hash"][found] == hashes
    return np.where(is_found, table["rank"][found], -1), np.where(is_found, table["owner"][found], -1)


def _keep_functions(nodes: pa.Table, keeps: NDArray[np.bool_]) -> pa.Table:
    """Drop the functions that are duplicates from the lists of functions."""
    offsets = nodes.column("function_starts").combine_chunks().offsets.to_numpy()
    kept_before = np.concatenate([[0], np.cumsum(keeps)])
    new_offsets = pa.array(kept_before[offsets].astype(np.int32))
    for name in ("function_starts", "function_lengths"):
        flat = pa.array(_flat(nodes, name)[keeps])
        lists = pa.ListArray.from_arrays(new_offsets, flat)
        nodes = nodes.set_column(nodes.column_names.index(name), name, lists)
    return nodes


def _flat(table: pa.Table, column: str) -> NDArray[Any]:
    numbers: NDArray[Any] = table.column(column).combine_chunks().values.to_numpy()
    return numbers


def _with_flat(table: pa.Table, column: str, flat: NDArray[Any]) -> pa.Table:
    lists = pa.ListArray.from_arrays(table.column(column).combine_chunks().offsets, pa.array(flat))
    return table.set_column(table.column_names.index(column), column, lists)


def _per_node(nodes: pa.Table, per_file: NDArray[np.int8]) -> NDArray[np.int8]:
    offsets = nodes.column("types").combine_chunks().offsets.to_numpy()
    return np.repeat(per_file, np.diff(offsets))
