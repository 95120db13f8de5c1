"""The snippets of a corpus after anonymization, as files that other libraries read: Parquet or JSON Lines."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from rarename.corpus.splits import SplitName
from rarename.corpus.store import ROLE_GROUPS, Corpus, StoredFile
from rarename.encoding import Encoding
from rarename.errors import UsageError
from rarename.io import replacing
from rarename.progress import NullProgress, Progress
from rarename.syntax.functions import Slice, Window, outermost, windows
from rarename.syntax.traversal import Role
from rarename.vocabulary import Special

SNIPPETS_PER_GROUP = 1000
_STRINGS = pa.list_(pa.string())
SCHEMA = pa.schema({
    "types": _STRINGS,
    "values": _STRINGS,  # null for a node without a value
    "placeholders": _STRINGS,
    "names": _STRINGS,  # what each placeholder stands for
    "path": pa.string(),
    "project": pa.string(),
    "split": pa.string(),
    "start": pa.int32(),  # the first node of the snippet in its file
    "context": pa.int32(),  # how many of its first nodes the window before has, too
})  # fmt: skip

FORMATS = ("parquet", "jsonl")
# As in the tasks: the roles that are counted for the vocabulary, and what is masked.
KINDS: dict[str, tuple[tuple[str, ...], frozenset[Role]]] = {
    "functions": (("names", "others", "numbers"), frozenset({Role.STRING, Role.REGEXP})),
    "windows": (tuple(ROLE_GROUPS), frozenset()),
}


def export_snippets(
    corpus: Corpus,
    folder: Path,
    strategy: str,
    vocabulary_size: int,
    *,
    kind: str = "functions",
    max_nodes: int = 250,
    seed: int = 0,
    file_format: str = "parquet",
    progress: Progress | None = None,
) -> int:
    """Write a file for each split; returns the number of snippets.

    Functions are the outermost ones of at most `max_nodes` nodes. Windows have `max_nodes` nodes and overlap by half.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"{folder} exists; choose another folder")
    groups, masked = KINDS[kind]
    vocabulary, ranking = corpus.vocabulary(vocabulary_size, *groups), corpus.ranking(*groups)
    encoding = Encoding(vocabulary, corpus.types, strategy, max_nodes, masked)
    folder.mkdir(parents=True, exist_ok=True)
    number, progress = 0, progress or NullProgress()
    for split in SplitName:
        files = corpus.split(split)
        progress.start(f"writing {split}", len(files))
        with _writer(folder / f"{split}.{file_format}") as write:
            for file in files:
                for start, stop, context in _slices(file, kind, max_nodes):
                    nodes = slice(start, stop)
                    ranks = np.where(file.values[nodes] >= 0, ranking[file.values[nodes]], file.values[nodes])
                    ids = encoding.encode_ranks(ranks, file.roles[nodes], [(seed << 32) + number])
                    renamed = np.nonzero(ids >= encoding.first_placeholder)[0]
                    placeholders, first = np.unique(ids[renamed], return_index=True)
                    values = zip(encoding.to_text(ids), ids.tolist(), strict=True)
                    write({
                        "types": [corpus.types[type_] for type_ in file.types[nodes].tolist()],
                        "values": [None if id_ == Special.EMPTY else text for text, id_ in values],
                        "placeholders": encoding.to_text(placeholders),
                        "names": [corpus.value(rank) for rank in file.values[nodes][renamed[first]].tolist()],
                        "path": file.path, "project": file.project, "split": str(split),
                        "start": start, "context": context,
                    })  # fmt: skip
                    number += 1
                progress.advance()
    return number


def _slices(file: StoredFile, kind: str, max_nodes: int) -> list[Window]:
    if kind == "windows":
        return windows(len(file.types), max_nodes, max(1, max_nodes // 2))
    slices = [Slice(*pair) for pair in file.functions.tolist() if pair[1] <= max_nodes]
    return [Window(each.start, each.start + each.length, 0) for each in outermost(slices)]


@contextmanager
def _writer(path: Path) -> Iterator[Callable[[dict[str, Any]], None]]:
    """A function that writes a row."""
    with replacing(path) as temporary:
        if path.suffix == ".jsonl":
            with temporary.open("w", encoding="utf-8", newline="\n") as file:
                yield lambda row: print(json.dumps(row, ensure_ascii=False), file=file)
            return
        rows: list[dict[str, Any]] = []
        with pq.ParquetWriter(temporary, SCHEMA, compression="zstd") as parquet:

            def write(row: dict[str, Any]) -> None:
                rows.append(row)
                if len(rows) == SNIPPETS_PER_GROUP:
                    flush()

            def flush() -> None:
                parquet.write_table(pa.Table.from_pylist(rows, SCHEMA))
                rows.clear()

            yield write
            flush()
