"""Published record files: the trees of PY150 and JS150, the examples of GREAT, and the lists that belong to them.

A file of trees has one tree per line, a file of examples one JSON object per line. Either may be compressed. Files are
never held in memory: a chunk is a run of lines, found by its byte offset.
"""

import io
import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import islice
from pathlib import Path
from posixpath import commonpath
from typing import Any

import numpy as np

from rarename.corpus.document import Chunk, Document, Skip, Source, make_chunks, read_list
from rarename.corpus.streams import STREAM_ERRORS, BudgetExceeded, MeteredStream, Stream, is_compressed, open_stream
from rarename.discovery import Reason, display_path, over_limit, printable
from rarename.errors import RecordError, SourceError
from rarename.syntax.records import read_record
from rarename.syntax.tokens import TOKENS, sequence
from rarename.syntax.traversal import MisuseLabel

TREES, EXAMPLES = "trees", "great"
DECISIONS = ("kept", "listed as duplicate", "identical record", "not in a manifest", "owner in no list")
_MAX_FIRST_LINE_BYTES = 64_000_000


def sniff_records(path: Path) -> tuple[str | None, str]:
    """The kind of a record file, None for any other file, and the root type of its language."""
    try:
        with open_stream(path) as stream:
            line = stream.readline(_MAX_FIRST_LINE_BYTES)
        try:
            first = json.loads(line)
        except UnicodeDecodeError:  # some published records have bytes that are not UTF-8
            first = json.loads(line.decode("latin-1"))
        if isinstance(first, dict):
            _tokens(first)
            return EXAMPLES, TOKENS.root_type
    except RecordError as error:
        raise SourceError(f"{path} holds neither published trees nor GREAT examples: {error}") from None
    except (json.JSONDecodeError, RecursionError):
        return None, ""
    except STREAM_ERRORS as error:
        raise SourceError(f"{path} cannot be read: {error}") from None
    is_tree = isinstance(first, list) and first and isinstance(first[0], dict)
    return (TREES, str(first[0].get("type"))) if is_tree else (None, "")


def published_path(path: str) -> str:
    """A path of a published list, starting with the owner: the corpora have it under `data/`, or `/any/where/data/`."""
    parts = printable(path.strip()).split("/")
    if path.startswith("/") and "data" in parts:
        return "/".join(parts[parts.index("data") + 1 :])
    return "/".join(parts[1:] if parts[0] == "data" else parts)


def _repository(path: str) -> str:
    return "/".join(path.split("/")[:2])


@dataclass(frozen=True)
class RecordSource(Source):
    """A file of published trees or of GREAT examples. A record has a position, `FILE:LINE`, and perhaps a path."""

    record_paths: Path | None = None  # the list of the trees' paths: line n is the path of tree n
    decisions: Path | None = None  # for each line 0 or why it is left out (`paper_split`)

    def chunks(self) -> tuple[list[Chunk], list[Skip]]:
        lengths: list[int] = []
        skips: list[Skip] = []
        with open_stream(self.path) as stream:
            try:
                lengths.extend(length for _, length in self._lines(stream, 0))
            except BudgetExceeded as error:
                skips.append(self.skip_rest(Reason.UNREADABLE, str(error)))
            except STREAM_ERRORS as error:
                skips.append(self.skip_rest(Reason.UNREADABLE, f"the rest cannot be read: {error}"))
        if self.record_paths is not None:
            with self.record_paths.open("rb") as paths:
                num_paths, num_trees = sum(1 for _ in paths), sum(length > 1 for length in lengths)
            if num_paths < num_trees:
                met = f"{self.record_paths} names {num_paths} of the {num_trees} trees in {self.path}"
                raise SourceError(f"{met}; is it the right list?")
        return make_chunks(self.index, lengths, is_stream=is_compressed(self.path)), skips

    def read(self, chunk: Chunk) -> Iterator[Document | Skip]:
        names = self._names(chunk)
        decisions = None if self.decisions is None else np.load(self.decisions)
        max_bytes = self.options.max_record_bytes
        with open_stream(self.path) as stream:
            start = chunk.first if is_compressed(self.path) else 0
            stream.seek(0 if start else chunk.offset)
            lines = self._lines(stream, max_bytes)
            try:
                for number, (line, length) in enumerate(islice(lines, start, start + chunk.count), chunk.first + 1):
                    name, position = next(names, ""), f"{self.prefix}:{number}"
                    if length > max_bytes:
                        yield self._skip(position, name, over_limit(max_bytes))
                    elif decisions is not None:
                        yield self._decided(number, name, line, int(decisions[number - 1]))
                    elif line.strip():
                        yield self._document(position, name, line)
            except (BudgetExceeded, *STREAM_ERRORS) as error:
                yield self.skip_rest(Reason.UNREADABLE, str(error))

    def _names(self, chunk: Chunk) -> Iterator[str]:
        if self.record_paths is not None:
            with self.record_paths.open(encoding="utf-8", errors="surrogateescape") as lines:
                yield from map(published_path, islice(lines, chunk.first, chunk.first + chunk.count))

    def _document(self, position: str, name: str, record: bytes) -> Document | Skip:
        try:
            if self.origin.kind == EXAMPLES:
                return self._example(position, _load_example(record))
            if reason := self._why_excluded(name):
                return self._skip(position, name, reason)
            return Document(name or position, self._project(position, name), read_record(record))
        except RecordError as error:
            return self._skip(position, name, "malformed record", str(error))

    def _decided(self, number: int, name: str, record: bytes, decision: int) -> Document | Skip:
        """A record of the paper's split. The authors read bytes that are not UTF-8 too, as Latin-1."""
        if decision:
            return self._skip(name, name, DECISIONS[decision])
        try:
            return Document(name, self._project(name, name), read_record(record.decode("latin-1")))
        except RecordError as error:
            raise SourceError(f"{self.path}:{number}: {error}; is the file complete?") from None

    def _example(self, position: str, example: dict[str, Any]) -> Document | Skip:
        name = published_path(_filepath(example))
        if reason := self._why_excluded(name):
            return self._skip(position, name, reason)
        tokens = _tokens(example)
        path = f"{name}#{position}" if name else position  # a file may have several examples
        return Document(path, self._project(position, name), sequence(tokens), _bug(example, len(tokens)))

    def _project(self, position: str, name: str) -> str:
        if not name:
            return position  # its origin is unknown, so it is its own project
        return name.split("/")[0] if self.options.split_by == "owner" else _repository(name)

    def _why_excluded(self, name: str) -> str:
        allowed = [read_allow_list(path) for path in self.options.allow_lists]
        if name and allowed and not any(name in names or _repository(name) in names for names in allowed):
            return "repository not allowed"
        clusters = self.options.duplicate_clusters
        return "listed as duplicate" if name and clusters and name in read_duplicates(clusters) else ""

    def _skip(self, position: str, name: str, reason: str, detail: str = "") -> Skip:
        return Skip(display_path(name) if name else position, self._project(position, name), reason, detail)

    def _lines(self, stream: Stream, max_kept: int) -> Iterator[tuple[bytes, int]]:
        """The lines of a stream and their lengths. A line over `max_kept` bytes is empty: it may not fit in memory."""
        metered = MeteredStream(stream, self.budget() if is_compressed(self.path) else self.path.stat().st_size)
        kept: list[bytes] = []
        length = 0
        while block := metered.read():
            for part in io.BytesIO(block):
                length += len(part)
                if length <= max_kept:
                    kept.append(part)
                else:
                    kept.clear()
                if part.endswith(b"\n"):
                    yield b"".join(kept), length
                    kept, length = [], 0
        if length:
            yield b"".join(kept), length


@cache  # a worker reads many chunks with the same few lists
def read_duplicates(path: Path) -> frozenset[str]:
    """The paths to leave out: all but the first of each cluster of a published list of duplicates."""
    expected = "a JSON list of clusters, each a list of paths"
    clusters = _load_json(path, read_list(path), expected)
    for cluster in clusters if isinstance(clusters, list) else [clusters]:
        if not isinstance(cluster, list) or not all(isinstance(name, str) for name in cluster):
            raise SourceError(f"{path}: expected {expected}, met {str(cluster)[:60]!r}")
    # Absolute paths begin with the folder in which the list was made; it is not part of the corpus.
    absolute = [name for cluster in clusters for name in cluster if name.startswith("/")]
    base = f"{commonpath(absolute)}/" if len(absolute) > 1 and not any("/data/" in name for name in absolute) else ""
    return frozenset(published_path(name.removeprefix(base)) for cluster in clusters for name in cluster[1:])


@cache
def read_allow_list(path: Path) -> frozenset[str]:
    """The files (of a manifest) or repositories (of a plain list) that may be used."""
    text = read_list(path)
    if text.lstrip()[:1] == "[":
        entries = _load_json(path, text, "a JSON list of objects with a filepath")
    elif text.lstrip()[:1] == "{":
        lines = filter(str.strip, text.splitlines())
        entries = [_load_json(path, line, "one JSON object per line") for line in lines]
    else:
        repositories = (line.split("#")[0].strip() for line in text.splitlines())
        return frozenset(published_path(name) for name in repositories if name)
    for entry in entries:
        if not isinstance(entry, dict) or not isinstance(entry.get("filepath"), str):
            raise SourceError(f"{path}: expected objects with a filepath, met {str(entry)[:60]!r}")
    return frozenset(published_path(entry["filepath"]) for entry in entries)


def _load_json(path: Path, text: str, expected: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise SourceError(f"{path}: expected {expected}, but it is not JSON: {error}") from None


def _load_example(record: bytes) -> dict[str, Any]:
    try:
        example = json.loads(record)
    except (ValueError, RecursionError) as error:
        raise RecordError(f"the example is not JSON: {error}") from None
    if not isinstance(example, dict):
        raise RecordError("a GREAT example is a JSON object")
    return example


def _tokens(example: dict[str, Any]) -> list[str]:
    tokens = example.get("source_tokens")
    if not isinstance(tokens, list) or not tokens or not all(isinstance(token, str) for token in tokens):
        raise RecordError("an example needs source_tokens, a list of strings that is not empty")
    return tokens


def _filepath(example: dict[str, Any]) -> str:
    try:
        path = example["provenances"][0]["datasetProvenance"]["filepath"]
    except (LookupError, TypeError):
        return ""
    return path if isinstance(path, str) else ""


def _bug(example: dict[str, Any], num_tokens: int) -> MisuseLabel:
    has_bug = example.get("has_bug")
    if not isinstance(has_bug, bool):
        raise RecordError("has_bug is missing or not true or false")
    candidates = _positions(example, "repair_candidates", num_tokens)
    kind = str(example.get("bug_kind_name", ""))
    if not has_bug:
        return MisuseLabel(0, (), candidates, kind)
    location = example.get("error_location")
    if type(location) is not int or not 0 < location < num_tokens:
        raise RecordError(f"error_location is {str(location)[:20]}; expected a token from 1 to {num_tokens - 1}")
    return MisuseLabel(location, _positions(example, "repair_targets", num_tokens), candidates, kind)


def _positions(example: dict[str, Any], key: str, num_tokens: int) -> tuple[int, ...]:
    """A list of token positions. Clean examples have names between them, which are dropped."""
    values = example.get(key, [])
    if not isinstance(values, list):
        raise RecordError(f"{key} is not a list")
    positions = tuple(value for value in values if type(value) is int)
    for position in positions:
        if not 0 <= position < num_tokens:
            raise RecordError(f"{key} has {str(position)[:20]}; the tokens are 0 to {num_tokens - 1}")
    return positions
