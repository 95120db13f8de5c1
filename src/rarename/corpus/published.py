"""Published records: the trees of PY150 and JS150, the examples of GREAT, and the lists that go with them.

Files of trees hold one record a line, files of examples one JSON object a line; either may be gzipped. They
are never held in memory: a chunk is a run of lines, found by its byte offset.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from itertools import islice
from pathlib import Path
from posixpath import commonpath
from typing import Any

from rarename.corpus.documents import Chunk, ChunkLimits, Document, Skip, Source, coarse, cut
from rarename.corpus.paths import UNREADABLE, published, repository, shown, too_large
from rarename.corpus.streams import STREAM_ERRORS, BudgetSpent, Metered, Stream, is_compressed, open_stream
from rarename.errors import RecordError, SourceError
from rarename.syntax.records import read_record
from rarename.syntax.tokens import sequence
from rarename.syntax.traversal import MisuseLabel

MALFORMED = "malformed record"
LISTED_DUPLICATE = "listed as duplicate"
NOT_ALLOWED = "repository not allowed"

TREES, EXAMPLES = "trees", "great"

_FIRST_LINE = 64_000_000
"""A record file's first line must end within these bytes, or it is no record file."""


def kind_of_records(path: Path) -> str | None:
    """`trees` or `great` when a file holds published records, None when it holds something else."""
    try:
        with open_stream(path) as stream:
            start = stream.read(4096).lstrip(b"\xef\xbb\xbf \t\r\n")
    except STREAM_ERRORS:
        return None
    if start[:1] == b"[" and start[1:].lstrip()[:1] in (b"{", b"]", b""):
        return TREES
    return EXAMPLES if start[:1] == b"{" and b'"' in start else None


def root_type(path: Path) -> str:
    """The type of the first node of a file of trees, which tells its language; empty if it cannot be told."""
    with open_stream(path) as stream:
        found = re.search(rb'"type"\s*:\s*"(\w+)"', stream.read(4096))
    return found[1].decode() if found else ""


@dataclass(frozen=True)
class RecordSource(Source):
    """A file of published trees or of GREAT examples."""

    paths: Path | None = None
    """The list that names the trees, line by line."""
    is_single: bool = False
    """The whole file is one tree, pretty-printed."""

    def chunks(self, limits: ChunkLimits) -> tuple[list[Chunk], list[Skip]]:
        """Find the lines in one pass; they are counted, not parsed."""
        if self.is_single:
            size = self.place.stat().st_size
            return [Chunk(self.index, 0, 1, size)], []
        lengths: list[int] = []
        skips: list[Skip] = []
        with open_stream(self.place) as stream:
            try:
                for _, length in _lines(stream, self._budget(), 0):
                    lengths.append(length)
            except BudgetSpent as spent:
                skips.append(self._whole(str(spent)))
            except STREAM_ERRORS as error:
                skips.append(self._whole(f"the rest cannot be read: {error}"))
        self._check_list(sum(length > 1 for length in lengths))
        if is_compressed(self.place):
            return cut(self.index, lengths, coarse(limits, len(lengths), sum(lengths))), skips
        chunks: list[Chunk] = []
        offset = 0
        for chunk in cut(self.index, lengths, limits):
            chunks.append(replace(chunk, offset=offset))
            offset += chunk.num_bytes
        return chunks, skips

    def _check_list(self, num_trees: int) -> None:
        """A list that ends too early would leave trees without a project."""
        if self.paths is None:
            return
        with self.paths.open("rb") as lines:
            num_paths = sum(1 for _ in lines)
        if num_paths < num_trees:
            raise SourceError(
                f"{self.paths} names {num_paths} of the {num_trees} trees in {self.place}; is it the right list?"
            )

    def read(self, chunk: Chunk) -> Iterator[Document | Skip]:
        """Read the records of a chunk."""
        names = self._names(chunk)
        if self.is_single:
            yield self._document(0, next(names), self.place.read_bytes())
            return
        with open_stream(self.place) as stream:
            if chunk.offset:
                stream.seek(chunk.offset)
            start = 0 if chunk.offset else chunk.first
            lines = _lines(stream, self._budget(), self.options.max_record_bytes)
            try:
                for number, (line, length) in enumerate(islice(lines, start, start + chunk.count), chunk.first):
                    name = next(names)
                    if length > self.options.max_record_bytes:
                        yield self._skip(number, name, too_large(self.options.max_record_bytes))
                    elif line.strip():
                        yield self._document(number, name, line)
            except (BudgetSpent, *STREAM_ERRORS) as error:
                yield self._whole(str(error))

    def _document(self, number: int, name: str, record: bytes) -> Document | Skip:
        try:
            if self.origin.kind == TREES:
                reason = self._reason_to_leave_out(name)
                if reason:
                    return self._skip(number, name, reason)
                return Document(name or self._place(number), self._project(number, name), read_record(record))
            return self._example(number, record)
        except RecordError as error:
            return self._skip(number, name, MALFORMED, str(error))

    def _example(self, number: int, record: bytes) -> Document | Skip:
        """A GREAT example. Its file has other examples too, so the record's place is added to the path."""
        example = _load_example(record)
        name = published(_filepath(example))
        reason = self._reason_to_leave_out(name)
        if reason:
            return self._skip(number, name, reason)
        tokens = _tokens(example)
        path = f"{name}#{self._place(number)}" if name else self._place(number)
        return Document(path, self._project(number, name), sequence(tokens), _bug(example, len(tokens)))

    def _names(self, chunk: Chunk) -> Iterator[str]:
        """The path of each record of a chunk; empty when the list has none, or there is no list."""
        if self.paths is not None:
            with self.paths.open(encoding="utf-8", errors="surrogateescape") as lines:
                for line in islice(lines, chunk.first, chunk.first + chunk.count):
                    yield published(line)
        while True:
            yield ""

    def _place(self, number: int) -> str:
        return f"{self.prefix}:{number + 1}"

    def _project(self, number: int, name: str) -> str:
        if not name:
            return self._place(number)  # nothing is known about it, so nothing can be kept together
        return name.split("/")[0] if self.options.by_owner else repository(name)

    def _reason_to_leave_out(self, name: str) -> str:
        if not name:
            return ""
        if self.options.allowed and not any(
            name in allowed or repository(name) in allowed for allowed in map(read_allowed, self.options.allowed)
        ):
            return NOT_ALLOWED
        duplicates = self.options.duplicates
        return LISTED_DUPLICATE if duplicates and name in read_duplicates(duplicates) else ""

    def _skip(self, number: int, name: str, reason: str, detail: str = "") -> Skip:
        path = shown(name) if name else self._place(number)
        return Skip(path, self._project(number, name), reason, detail)

    def _whole(self, detail: str) -> Skip:
        return Skip(self.prefix, self.prefix, UNREADABLE, detail)

    def _budget(self) -> int:
        size = self.place.stat().st_size
        if not is_compressed(self.place):
            return size
        return min(self.options.max_archive_bytes, max(_FIRST_LINE, self.options.max_ratio * size))


def open_records(source: RecordSource) -> RecordSource:
    """Look at a record file's first line and at its list, so that mistakes show before the work begins."""
    try:
        with open_stream(source.place) as stream:
            line, _ = next(_lines(stream, source._budget(), _FIRST_LINE), (b"", 0))
    except (BudgetSpent, *STREAM_ERRORS) as error:
        raise SourceError(f"{source.place} cannot be read: {error}") from None
    if source.origin.kind == EXAMPLES:
        try:
            _tokens(_load_example(line))
        except RecordError as error:
            raise SourceError(f"{source.place} holds neither published trees nor GREAT examples: {error}") from None
        return source
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        # Not a line of its own: perhaps one tree over many lines. If it is not, its only document says so.
        if is_compressed(source.place) or source.place.stat().st_size > source.options.max_record_bytes:
            raise SourceError(f"{source.place}: the first line is not a record; expected one tree a line") from None
        return replace(source, is_single=True)
    return source


@cache  # workers read many chunks with the same few lists
def read_duplicates(path: Path) -> frozenset[str]:
    """The paths to leave out: all but the first of each cluster of a published list of duplicates."""
    expected = "a JSON list of clusters, each a list of paths"
    clusters = _load_list(path, expected)
    for cluster in clusters:
        if not isinstance(cluster, list) or not all(isinstance(name, str) for name in cluster):
            raise SourceError(f"{path}: expected {expected}, met {str(cluster)[:60]!r}")
    # Absolute paths begin with the folder in which the list was made; it says nothing about the corpus.
    absolute = [name for cluster in clusters for name in cluster if name.startswith("/")]
    base = f"{commonpath(absolute)}/" if len(absolute) > 1 and not any("/data/" in a for a in absolute) else ""
    return frozenset(published(name.removeprefix(base)) for cluster in clusters for name in cluster[1:])


@cache
def read_allowed(path: Path) -> frozenset[str]:
    """The files (of a manifest) or repositories (of a plain list) that may be used."""
    text = _read_text(path)
    start = text.lstrip()[:1]
    if start == "[":
        entries = _load_list(path, "a JSON list of objects with a filepath")
    elif start == "{":
        entries = [_load_manifest_line(path, line) for line in text.splitlines() if line.strip()]
    else:
        names = (line.split("#")[0].strip() for line in text.splitlines())
        return frozenset(published(name) for name in names if name)
    files: set[str] = set()
    for entry in entries:
        if not isinstance(entry, dict) or not isinstance(entry.get("filepath"), str):
            raise SourceError(f"{path}: expected objects with a filepath, met {str(entry)[:60]!r}")
        files.add(published(entry["filepath"]))
    return frozenset(files)


def _read_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise SourceError(f"{path} cannot be read: {error}") from None


def _load_list(path: Path, expected: str) -> list[Any]:
    try:
        values = json.loads(_read_text(path))
    except (ValueError, RecursionError) as error:
        raise SourceError(f"{path}: expected {expected}, but it is not JSON: {error}") from None
    if not isinstance(values, list):
        raise SourceError(f"{path}: expected {expected}")
    return values


def _load_manifest_line(path: Path, line: str) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError) as error:
        raise SourceError(f"{path}: expected one JSON object a line: {error}") from None


def _lines(stream: Stream, budget: int, keep: int) -> Iterator[tuple[bytes, int]]:
    """The lines of a stream and their lengths in bytes. A line longer than `keep` comes empty.

    `readline` of a file would hold a line of any length.
    """
    metered = Metered(stream, budget)
    kept: list[bytes] = []
    length = 0
    while piece := metered.read():
        start = 0
        while start < len(piece):
            end = piece.find(b"\n", start) + 1
            part = piece[start : end or len(piece)]
            length += len(part)
            if length <= keep:
                kept.append(part)
            else:
                kept.clear()
            if end:
                yield b"".join(kept), length
                kept, length = [], 0
            start = end or len(piece)
    if length:
        yield b"".join(kept), length


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
    """Where the function comes from; empty when the example does not say."""
    provenances = example.get("provenances")
    first = provenances[0] if isinstance(provenances, list) and provenances else None
    provenance = first.get("datasetProvenance") if isinstance(first, dict) else None
    path = provenance.get("filepath") if isinstance(provenance, dict) else None
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
    """A list of token positions; the names that clean examples have between them are dropped."""
    values = example.get(key, [])
    if not isinstance(values, list):
        raise RecordError(f"{key} is not a list")
    positions = tuple(value for value in values if type(value) is int)
    for position in positions:
        if not 0 <= position < num_tokens:
            raise RecordError(f"{key} has {str(position)[:20]}; the tokens are 0 to {num_tokens - 1}")
    return positions
