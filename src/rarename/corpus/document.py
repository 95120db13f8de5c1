"""Documents, and the sources that they come from: a source lists its members in chunks, then reads a chunk."""

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rarename.errors import SourceError, UsageError
from rarename.syntax import language_named
from rarename.syntax.traversal import MisuseLabel, Traversal

SHARD_FILES, SHARD_BYTES = 100, 2_000_000  # small, for little memory; but large, so that values occur more than once
SPLIT_UNITS = ("repository", "owner")


@dataclass(frozen=True)
class Document:
    """One file, one published tree or one GREAT example on its way into a corpus."""

    path: str  # `/`-separated, printable, unique within a source: `numpy/numpy/linalg/linalg.py`
    project: str  # the unit of the splits: a package, or a repository (`owner/name`)
    content: bytes | Traversal  # the bytes of a file, or the tree of a published record
    bug: MisuseLabel | None = None


@dataclass(frozen=True)
class Skip:
    """A file that was left out of a corpus, and why."""

    path: str
    project: str
    reason: str  # one of a few phrases, so that skips can be counted by reason
    detail: str = ""


@dataclass(frozen=True)
class Chunk:
    """A contiguous run of members of one source, read by one task."""

    source: int  # its index
    first: int  # the index of the first member in the listing, or its line (from 0) in a record file
    count: int
    num_bytes: int  # declared size, uncompressed: an estimate to balance work by
    offset: int  # the bytes of all members before: where to begin in an uncompressed record file
    members: tuple[str, ...] = ()  # folders only: file names, because a file that appears later must not shift others


@dataclass(frozen=True)
class Origin:
    """Where a source comes from, for the manifest."""

    spec: str  # as the user wrote it
    kind: str  # `folder`, `file`, `archive`, `pypi`, `npm`, `stdlib`, `trees`, `great` or `parquet`
    name: str
    version: str = ""
    sha256: str | None = None  # of the archive or record file; a folder has none


@dataclass(frozen=True)
class SourceOptions:
    """Limits against accidents and hostile archives, and how to find the project of a file."""

    max_file_bytes: int = 10_000_000  # larger files are skipped: they are generated data, not code
    max_record_bytes: int = (
        50_000_000  # of a line in a record file: a tree is about twenty times as large as its source
    )
    max_members: int = 200_000  # of one archive, folders included; the rest is skipped
    max_archive_bytes: int = 20_000_000_000  # of one archive, uncompressed; the rest is skipped
    max_ratio: int = 200  # the largest compression ratio of an archive; source text has a ratio of 3 to 10
    project_depth: int | None = None
    """The number of leading folders that name the project; 0: one project. By default a folder with project files is
    one project, any other folder has one project per entry, and an archive is one project."""
    # Published records:
    record_paths: tuple[Path, ...] = ()  # one for each file of trees, in the same order: line n is the path of tree n
    split_by: str = SPLIT_UNITS[0]  # the project is the repository, or its owner as in the paper
    duplicate_clusters: Path | None = None  # a JSON list of clusters of paths; the first path of each is kept
    allow_lists: tuple[Path, ...] = ()  # manifests of files, or lists of repositories, that may be used
    paper_split: Path | None = None  # the folder of the lists that define the paper's split
    # Parquet files; by default the columns of well-known data sets:
    text_column: str | None = None
    path_column: str | None = None
    project_column: str | None = None

    def __post_init__(self) -> None:
        limits = ("max_file_bytes", "max_record_bytes", "max_members", "max_archive_bytes", "max_ratio")
        for name, least in (dict.fromkeys(limits, 1) | {"project_depth": 0}).items():
            value = getattr(self, name)
            if value is not None and value < least:
                raise UsageError(f"{name} is {value}; expected {least} or more")
        if self.split_by not in SPLIT_UNITS:
            raise UsageError(f"split_by is {self.split_by!r}; expected one of {', '.join(SPLIT_UNITS)}")


@dataclass(frozen=True)
class PrepareConfig:
    """Everything that determines the content of a corpus, besides its sources."""

    language: str  # a key of `syntax.LANGUAGES`
    seed: int = 0  # draws the split of each project
    max_nodes: int = 100_000  # larger trees are left out: they are data or bundles, and outweigh a hundred files
    keep_minified: bool = False  # minified files have names without meaning
    keep_near_duplicates: bool = False  # files that are nearly the same as others
    splits: Path | None = None  # a list of projects and their splits; the split of any other project is drawn
    sources: SourceOptions = field(default_factory=SourceOptions)

    def __post_init__(self) -> None:
        language_named(self.language)
        if self.max_nodes < 1:
            raise UsageError(f"max_nodes is {self.max_nodes}; expected 1 or more")


@dataclass(frozen=True)
class Source(ABC):
    """One folder, archive, package or record file. Can be pickled."""

    index: int  # among the sources of a corpus
    origin: Origin
    path: Path  # the folder or file on this machine
    prefix: str  # the first part of its documents' paths, unique within the corpus
    suffixes: tuple[str, ...]  # the file endings of the language
    options: SourceOptions = field(repr=False)

    @abstractmethod
    def chunks(self) -> tuple[list[Chunk], list[Skip]]:
        """List the members, always in the same order, without reading their contents."""

    @abstractmethod
    def read(self, chunk: Chunk) -> Iterator[Document | Skip]:
        """Read the members of a chunk, one at a time."""

    def skip_rest(self, reason: str, detail: str) -> Skip:
        """The skip of the rest of the source."""
        return Skip(self.prefix, self.prefix, reason, detail)

    def budget(self) -> int:
        """How many bytes a compressed source may have, uncompressed."""
        ratio_limit = max(64_000_000, self.options.max_ratio * self.path.stat().st_size)
        return min(self.options.max_archive_bytes, ratio_limit)


def make_chunks(source: int, sizes: Sequence[int], is_stream: bool = False) -> list[Chunk]:
    """Cut a listing into chunks, given the size of each member. A chunk has at least one member, whatever its size."""
    max_count, max_bytes = SHARD_FILES, SHARD_BYTES
    if is_stream:  # at most 16 chunks, 8 by either limit, because each is read from the start of the stream
        max_count, max_bytes = max(max_count, -(-len(sizes) // 8)), max(max_bytes, -(-sum(sizes) // 8))
    chunks: list[Chunk] = []
    first = offset = num_bytes = 0
    for index, size in enumerate(sizes):
        if index > first and (index - first == max_count or num_bytes + size > max_bytes):
            chunks.append(Chunk(source, first, index - first, num_bytes, offset))
            first, offset, num_bytes = index, offset + num_bytes, 0
        num_bytes += size
    return [*chunks, Chunk(source, first, len(sizes) - first, num_bytes, offset)] if sizes else []


def read_list(path: Path) -> str:
    """The text of a list that the user named."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise SourceError(f"{path}: the list cannot be read: {error}") from None


def sha256(path: Path) -> str:
    """The SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
