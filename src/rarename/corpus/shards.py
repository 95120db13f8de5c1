"""Parse the files of one shard of a corpus.

The task reads files and writes files, holds at most the shard in memory, and leaves its result complete or not at all.
So many processes can work on shards in any order, and interrupted work can be resumed.
"""

import json
import platform
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict, astuple, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rarename.corpus.document import Chunk, Document, PrepareConfig, Skip, Source
from rarename.corpus.near_duplicates import NUM_HASHES, Hashes, mix, signature, stable_hash
from rarename.corpus.store import BUG_COLUMNS, EMPTY_RANK, NODE_COLUMNS, write_table
from rarename.discovery import Reason, is_minified
from rarename.errors import ParseError, RarenameError, SourceError
from rarename.io import write_text
from rarename.syntax import Language, Traversal, language_named
from rarename.syntax.functions import Slice, functions
from rarename.syntax.traversal import NumberValue
from rarename.tasks.misuse.functions import published_functions
from rarename.time_limit import time_limit
from rarename.vocabulary import is_placeholder

MAX_DEATHS = 3  # of processes at the same document


def _file(name: str) -> property:
    return property(lambda shard: shard.folder / f"{shard.number:05d}.{name}")


@dataclass(frozen=True)
class Shard:
    """The intermediate files of a shard, in the order in which they are written."""

    folder: Path
    number: int

    begun = _file("begun")  # the documents that were begun, one per line; each attempt at the shard starts with NUL
    crashed = _file("crashed")  # those that kill a process of their own, one per line
    nodes = _file("nodes.arrow")  # trees, with value and type ids of the shard
    names = _file("names.arrow")  # the values of the shard, by id, and its node types, by id
    skips = _file("skips.json")  # what was skipped, and why. Written last: the shard is parsed


def parse_shard(shard: Shard, reads: Sequence[tuple[Source, Chunk]], config: PrepareConfig) -> None:
    """Parse the documents of a shard."""
    language = language_named(config.language)
    for source, _ in reads:
        if not source.path.exists():
            raise SourceError(f"{platform.node()} does not see {source.path}; all workers must share the sources")
    suspects, crashed = _suspects(shard), read_lines(shard.crashed)
    builder = _ShardBuilder(language, is_published=config.sources.paper_split is not None)
    skips: list[Skip] = []
    # Only appended to: ext4 would write a truncated file to the disk, and the next document would wait for it.
    with shard.begun.open("a", encoding="utf-8") as begun:
        print(end="\0", file=begun, flush=True)
        for item in (item for source, chunk in reads for item in source.read(chunk)):
            if isinstance(item, Skip):
                skips.append(item)
            elif item.path in crashed or (item.path in suspects and _kills(item, language)):
                if item.path not in crashed:
                    crashed.append(item.path)
                    write_text(shard.crashed, "\n".join(crashed))
                skips.append(Skip(item.path, item.project, "the parser crashed"))
            else:
                print(item.path, file=begun, flush=True)
                tree = _parse(item, language, config)
                if isinstance(tree, Skip):
                    skips.append(tree)
                else:
                    builder.add(item, tree)
    builder.write(shard)
    write_text(shard.skips, json.dumps([asdict(skip) for skip in skips]))
    shard.begun.unlink(missing_ok=True)


def read_lines(path: Path) -> list[str]:
    """The lines of a list of documents, which may not exist."""
    return path.read_text(encoding="utf-8").split("\n") if path.exists() else []


def _suspects(shard: Shard) -> list[str]:
    """The last document of each attempt before: the process died. Other processes of its pool die with it."""
    attempts = shard.begun.read_text(encoding="utf-8").split("\0")[1:] if shard.begun.exists() else []
    suspects = [attempt.rstrip("\n").rpartition("\n")[2] for attempt in attempts]
    if suspects and suspects.count(suspects[-1]) > MAX_DEATHS:
        shard.begun.unlink()
        where = suspects[-1] or f"the first file of shard {shard.number}"
        raise RarenameError(f"processes die while reading {where}; is there enough memory? Run the command again")
    return suspects


def _kills(document: Document, language: Language) -> bool:
    """Whether a file kills the process that prepares it, and nothing else."""
    if not isinstance(document.content, bytes):
        return False
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"file{language.suffixes[0]}")
        path.write_bytes(document.content)
        command = [sys.executable, "-P", "-m", "rarename", "prepare", f"{folder}/corpus", str(path), "--jobs", "1"]
        command += ["--language", language.name, "--keep-minified"]
        return subprocess.run(command, capture_output=True, stdin=subprocess.DEVNULL).returncode not in (0, 1, 2)


def _parse(document: Document, language: Language, config: PrepareConfig) -> Traversal | Skip:
    def skip(reason: str, detail: str = "") -> Skip:
        return Skip(document.path, document.project, reason, detail)

    tree = document.content
    if isinstance(tree, bytes):
        try:
            text = language.decode(tree)
            if not config.keep_minified and is_minified(text):
                return skip(Reason.MINIFIED)
            with time_limit(text, language):
                tree = language.parse(text, False)
        except ParseError as error:
            return skip(error.reason, f"line {error.line}: {error.detail}" if error.line else error.detail)
    if len(tree) <= 1 and config.sources.paper_split is None:
        return skip("no code")
    if len(tree) > config.max_nodes:
        return skip(f"over {config.max_nodes:,} nodes", f"{len(tree):,} nodes")
    return tree


class _ShardBuilder:
    def __init__(self, language: Language, is_published: bool) -> None:
        self.language, self.is_published = language, is_published
        # Strings are numbered in order of appearance.
        self.types: dict[str, int] = defaultdict(lambda: len(self.types))
        self.names: dict[str, int] = defaultdict(lambda: len(self.names))
        self.documents: list[Document] = []
        self.columns: dict[str, list[NDArray[Any]]] = {name: [] for name in NODE_COLUMNS}
        self.functions: list[list[Slice]] = []
        self.is_number: list[NDArray[np.bool_]] = []  # values that a record has as JSON numbers

    def add(self, document: Document, tree: Traversal) -> None:
        names, types = self.names, self.types
        columns = {
            "types": [types[node_type] for node_type in tree.types],
            "values": [EMPTY_RANK if value is None else names[value] for value in tree.values],
            "parents": tree.parents,
            "roles": self.language.roles(tree),
            "lines": np.zeros(len(tree)) if tree.spans is None else tree.spans[:, 0],
        }
        for name, kind in NODE_COLUMNS.items():
            self.columns[name].append(np.array(columns[name], dtype=kind.to_pandas_dtype()))
        self.is_number.append(np.array([isinstance(value, NumberValue) for value in tree.values]))
        self.documents.append(replace(document, content=b""))  # the content is large and no longer needed
        self.functions.append(functions(tree, self.language) if document.bug is None else [Slice(0, len(tree))])

    def write(self, shard: Shard) -> None:
        """Write trees, values and the hashes that find duplicates."""
        name_hashes, type_hashes = (
            np.fromiter(map(stable_hash, ids), dtype=np.uint64, count=len(ids)) for ids in (self.names, self.types)
        )
        types_and_values = zip(self.columns["types"], self.columns["values"], strict=True)
        node_hashes = [_node_hashes(*columns, type_hashes, name_hashes) for columns in types_and_values]
        function_hashes = [self._function_hashes(*document) for document in enumerate(node_hashes)]
        signatures = np.array([signature(hashes) for hashes in node_hashes], dtype=np.uint32).ravel()
        starts = [[part.start for part in slices] for slices in self.functions]
        lengths = [[part.length for part in slices] for slices in self.functions]
        columns = {
            "path": pa.array([document.path for document in self.documents], pa.string()),
            "project": pa.array([document.project for document in self.documents], pa.string()),
            **{name: _list_column(self.columns[name], kind) for name, kind in NODE_COLUMNS.items()},
            "function_starts": pa.array(starts, pa.list_(pa.int32())),
            "function_lengths": pa.array(lengths, pa.list_(pa.int32())),
            "function_hashes": pa.array(function_hashes, pa.list_(pa.uint64())),
            "signature": pa.FixedSizeListArray.from_arrays(pa.array(signatures), NUM_HASHES),
        }
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
        metadata = {"types": json.dumps(list(self.types))}
        write_table(shard.names, pa.table(names).replace_schema_metadata(metadata))

    def _function_hashes(self, document: int, nodes: Hashes) -> list[int]:
        """A hash of each function of a document, to find identical ones.

        In the paper's split these are as in the published code: with the structure, and of functions that its walk
        meets only among themselves.
        """
        slices = self.functions[document]
        if not self.is_published:
            return [stable_hash(nodes[start : start + length]) for start, length in slices]
        types, parents = (self.columns[name][document] for name in ("types", "parents"))
        walk = {start for start, _ in published_functions(types, parents, list(self.types), self.language)}
        edges = 2 * (np.arange(len(parents)) - parents) + self.is_number[document]
        inner = mix(nodes ^ mix(edges.astype(np.uint64)))
        roots = [nodes[start] ^ np.uint64(start in walk) for start, _ in slices]  # without the edge to what is around
        return [
            stable_hash(np.append(root, inner[start + 1 : start + length]))
            for root, (start, length) in zip(roots, slices, strict=True)
        ]


def _list_column(lists: Sequence[NDArray[Any]], kind: pa.DataType) -> pa.ListArray:
    offsets = np.cumsum([0, *map(len, lists)], dtype=np.int32)
    return pa.ListArray.from_arrays(pa.array(offsets), pa.array(np.concatenate(lists) if lists else [], kind))


def _node_hashes(types: NDArray[Any], values: NDArray[Any], type_hashes: Hashes, name_hashes: Hashes) -> Hashes:
    """A hash of the type and value of each node, the same in every shard."""
    hashes = mix(type_hashes[types])
    has_value = values >= 0
    hashes[has_value] ^= name_hashes[values[has_value]]
    return mix(hashes)


def _storable(value: str) -> str:
    """A value that UTF-8 can encode: half a surrogate pair becomes the replacement character."""
    return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
