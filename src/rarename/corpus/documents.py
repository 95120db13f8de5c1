"""What travels from a source into a corpus: documents, skips, and the chunks they are read in."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from rarename.errors import UsageError
from rarename.syntax.traversal import MisuseLabel, Traversal


@dataclass(frozen=True)
class Document:
    """One file, one published tree or one GREAT example on its way into a corpus."""

    path: str
    """`/`-separated, unique within a source and readable: `numpy/numpy/linalg/linalg.py`."""
    project: str
    """What splits keep together: a package, or a repository (`owner/name`)."""
    content: bytes | Traversal
    """A file's bytes; a published record is a tree already."""
    bug: MisuseLabel | None = None


@dataclass(frozen=True)
class Skip:
    """Something that was left out, and why. Reasons are few, so that they can be counted."""

    path: str
    project: str
    reason: str
    detail: str = ""


@dataclass(frozen=True)
class ChunkLimits:
    """How much one chunk may hold. A chunk has at least one member, whatever its size."""

    members: int = 2_000
    num_bytes: int = 32_000_000

    def __post_init__(self) -> None:
        if self.members < 1 or self.num_bytes < 1:
            raise UsageError(f"a chunk needs room for one member and one byte at least: {self}")


@dataclass(frozen=True)
class Chunk:
    """A contiguous run of members of one source: the unit of work of one process."""

    source: int
    """The index of the source, as `resolve` numbered it."""
    first: int
    """The first member: its place in the source's listing, or its line (from 0) in a file of records."""
    count: int
    num_bytes: int
    """Declared size, uncompressed; an estimate to balance work by."""
    members: tuple[str, ...] = ()
    """Of a folder: the files' names, relative to it. Elsewhere the listing is as fixed as the file."""
    offset: int = 0
    """Of an uncompressed file of records: the byte at which the first line starts."""

    def to_json(self) -> dict[str, Any]:
        """A dict of plain values. Names that are not text hold escapes: write it with ASCII only."""
        return asdict(self) | {"members": list(self.members)}

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> "Chunk":
        """The chunk that `to_json` described."""
        return cls(**(values | {"members": tuple(values["members"])}))


@dataclass(frozen=True)
class Origin:
    """Where a source comes from, for the corpus's manifest."""

    spec: str
    """As the user wrote it."""
    kind: str
    """`folder`, `file`, `archive`, `pypi`, `npm`, `stdlib`, `trees` or `great`."""
    name: str
    version: str = ""
    sha256: str | None = None
    """Of the archive or record file; a folder has none."""

    def to_json(self) -> dict[str, Any]:
        """A dict of plain values."""
        return asdict(self)

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> "Origin":
        """The origin that `to_json` described."""
        return cls(**values)


@dataclass(frozen=True)
class SourceOptions:
    """Limits against accidents and hostile archives, and how projects and records are told apart."""

    max_file_bytes: int = 10_000_000
    """Larger files are skipped: they are generated data, not code."""
    max_record_bytes: int = 50_000_000
    """Longer lines of a record file are skipped; a tree takes some twenty times the room of its source."""
    max_members: int = 200_000
    """Of one archive, directories and other files included; the rest is skipped."""
    max_archive_bytes: int = 20_000_000_000
    """Of one archive, uncompressed; the rest is skipped."""
    max_ratio: int = 200
    """How many times larger an archive may become by uncompressing it. Source text packs 3 to 10 times."""
    project_depth: int | None = None
    """How many leading folders name the project. None: a folder is one project if it looks like one, else
    each of its entries is; an archive is one. 0: always one."""
    paths: tuple[Path, ...] = ()
    """One list for each file of published trees, in that order: line n is the path of tree n."""
    by_owner: bool = False
    """Published records: the owner, not the repository, is the project (the paper's split)."""
    duplicates: Path | None = None
    """Published records: a JSON list of clusters of paths; the first of each cluster stays."""
    allowed: tuple[Path, ...] = ()
    """Published records: manifests of files, or lists of repositories, that may be used."""

    def __post_init__(self) -> None:
        for name in ("max_file_bytes", "max_record_bytes", "max_members", "max_archive_bytes", "max_ratio"):
            if getattr(self, name) < 1:
                raise UsageError(f"{name} is {getattr(self, name)}; expected 1 or more")
        if self.project_depth is not None and self.project_depth < 0:
            raise UsageError(f"project_depth is {self.project_depth}; expected 0 or more")


@dataclass(frozen=True)
class Source(ABC):
    """Where files come from: one folder, archive, package or file of records. Safe to pickle."""

    index: int
    """Its place among the sources of a corpus."""
    origin: Origin
    place: Path
    """The folder or file on this machine."""
    prefix: str
    """The first part of its documents' paths; no other source of the corpus has it."""
    suffixes: tuple[str, ...]
    """The file names' endings of the language."""
    options: SourceOptions = field(repr=False)

    @abstractmethod
    def chunks(self, limits: ChunkLimits) -> tuple[list[Chunk], list[Skip]]:
        """List the members, always in the same order, and cut the list; contents are not looked at."""

    @abstractmethod
    def read(self, chunk: Chunk) -> Iterator[Document | Skip]:
        """The members of a chunk, one at a time."""

    def is_wanted(self, name: str) -> bool:
        """Whether a file is one of the language, by its ending."""
        return name.lower().endswith(self.suffixes)


def cut(source: int, sizes: Iterable[int], limits: ChunkLimits) -> list[Chunk]:
    """Cut a listing of members, given by their sizes, into chunks.

    >>> [(chunk.first, chunk.count) for chunk in cut(0, [5, 5, 90, 5], ChunkLimits(members=2, num_bytes=50))]
    [(0, 2), (2, 1), (3, 1)]
    """
    chunks: list[Chunk] = []
    first = count = num_bytes = 0
    for size in sizes:
        if count and (count == limits.members or num_bytes + size > limits.num_bytes):
            chunks.append(Chunk(source, first, count, num_bytes))
            first, count, num_bytes = first + count, 0, 0
        count, num_bytes = count + 1, num_bytes + size
    if count:
        chunks.append(Chunk(source, first, count, num_bytes))
    return chunks


MOST_PASSES = 16
"""A compressed stream must be read from its start for each chunk: so it is cut into no more than these."""


def coarse(limits: ChunkLimits, num_members: int, num_bytes: int) -> ChunkLimits:
    """Limits that cut a compressed stream into few chunks, so that reading them all is not quadratic."""
    parts = MOST_PASSES // 2  # each of the two limits may end that many chunks
    return ChunkLimits(max(limits.members, -(-num_members // parts)), max(limits.num_bytes, -(-num_bytes // parts)))
