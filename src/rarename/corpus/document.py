"""Documents, and the sources that they come from: a source lists its members in chunks, then reads a chunk."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from rarename.errors import UsageError
from rarename.syntax.traversal import MisuseLabel, Traversal

SPLIT_UNITS = ("repository", "owner")


@dataclass(frozen=True)
class Document:
    """One file, one published tree or one GREAT example on its way into a corpus."""

    path: str
    """`/`-separated, printable, unique within a source: `numpy/numpy/linalg/linalg.py`."""
    project: str
    """The unit of the splits: a package, or a repository (`owner/name`)."""
    content: bytes | Traversal
    """The bytes of a file, or the tree of a published record."""
    bug: MisuseLabel | None = None


@dataclass(frozen=True)
class Skip:
    """A file that was left out of a corpus, and why."""

    path: str
    project: str
    reason: str
    """One of few phrases, so that skips can be counted by reason."""
    detail: str = ""


@dataclass(frozen=True)
class ChunkLimits:
    """The size of a chunk. A chunk has at least one member, whatever its size."""

    members: int = 2_000
    num_bytes: int = 32_000_000


@dataclass(frozen=True)
class Chunk:
    """A contiguous run of members of one source, read by one task."""

    source: int
    """The index of the source."""
    first: int
    """The index of the first member in the listing, or its line (from 0) in a record file."""
    count: int
    num_bytes: int
    """Declared size, uncompressed: an estimate to balance work by."""
    members: tuple[str, ...] = ()
    """Folders only: the names of the files. A file that appears later must not shift the others."""
    offset: int = 0
    """Uncompressed record files only: the byte offset of the first line."""


@dataclass(frozen=True)
class Origin:
    """Where a source comes from, for the manifest."""

    spec: str
    """As the user wrote it."""
    kind: str
    """`folder`, `file`, `archive`, `pypi`, `npm`, `stdlib`, `trees` or `great`."""
    name: str
    version: str = ""
    sha256: str | None = None
    """Of the archive or record file; a folder has none."""


@dataclass(frozen=True)
class SourceOptions:
    """Limits against accidents and hostile archives, and how to find the project of a file."""

    max_file_bytes: int = 10_000_000
    """Larger files are skipped: they are generated data, not code."""
    max_record_bytes: int = 50_000_000
    """Longer lines of a record file are skipped. A tree is about twenty times as large as its source."""
    max_members: int = 200_000
    """The limit of entries of one archive, folders included; the rest is skipped."""
    max_archive_bytes: int = 20_000_000_000
    """The limit of uncompressed bytes of one archive; the rest is skipped."""
    max_ratio: int = 200
    """The largest compression ratio of an archive. Source text has a ratio of 3 to 10."""
    project_depth: int | None = None
    """The number of leading folders that name the project; 0: one project. By default a folder with project files is
    one project, any other folder has one project per entry, and an archive is one project."""
    record_paths: tuple[Path, ...] = ()
    """One list for each file of published trees, in the same order: line n is the path of tree n."""
    split_by: str = SPLIT_UNITS[0]
    """Published records: whether the repository or its owner (as in the paper) is the project."""
    duplicate_clusters: Path | None = None
    """Published records: a JSON list of clusters of paths. The first path of each cluster is kept."""
    allow_lists: tuple[Path, ...] = ()
    """Published records: manifests of files, or lists of repositories, that may be used."""

    def __post_init__(self) -> None:
        for name in ("max_file_bytes", "max_record_bytes", "max_members", "max_archive_bytes", "max_ratio"):
            if getattr(self, name) < 1:
                raise UsageError(f"{name} is {getattr(self, name)}; expected 1 or more")
        if self.project_depth is not None and self.project_depth < 0:
            raise UsageError(f"project_depth is {self.project_depth}; expected 0 or more")
        if self.split_by not in SPLIT_UNITS:
            raise UsageError(f"split_by is {self.split_by!r}; expected one of {', '.join(SPLIT_UNITS)}")


@dataclass(frozen=True)
class Source(ABC):
    """One folder, archive, package or record file. Can be pickled."""

    index: int
    """Its index among the sources of a corpus."""
    origin: Origin
    path: Path
    """The folder or file on this machine."""
    prefix: str
    """The first part of its documents' paths, unique within the corpus."""
    suffixes: tuple[str, ...]
    """The file endings of the language."""
    options: SourceOptions = field(repr=False)

    @abstractmethod
    def chunks(self, limits: ChunkLimits) -> tuple[list[Chunk], list[Skip]]:
        """List the members, always in the same order, without reading their contents."""

    @abstractmethod
    def read(self, chunk: Chunk) -> Iterator[Document | Skip]:
        """Read the members of a chunk, one at a time."""

    def skip_rest(self, reason: str, detail: str) -> Skip:
        """The skip of all that comes next in the source."""
        return Skip(self.prefix, self.prefix, reason, detail)

    def is_wanted(self, name: str) -> bool:
        """Whether a file is written in the language, by its ending."""
        return name.lower().endswith(self.suffixes)


def cut(source: int, sizes: Iterable[int], limits: ChunkLimits) -> list[Chunk]:
    """Cut a listing into chunks, given the size of each member.

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
    return [*chunks, Chunk(source, first, count, num_bytes)] if count else chunks


def cut_stream(source: int, sizes: list[int], limits: ChunkLimits) -> list[Chunk]:
    """Cut a compressed stream into at most 16 chunks: each of them is read from the start of the stream."""
    # Either limit ends at most 8 of them.
    members, num_bytes = -(-len(sizes) // 8), -(-sum(sizes) // 8)
    return cut(source, sizes, ChunkLimits(max(limits.members, members), max(limits.num_bytes, num_bytes)))
