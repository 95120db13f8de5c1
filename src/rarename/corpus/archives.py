"""Zip and tar archives, wheels and npm packages: read in memory, never extracted, never trusted.

Nothing is written to disk, so no name can lead anywhere. What an archive can still do is lie and explode:
declared sizes are checked before and enforced while reading, and each archive has one budget of
uncompressed bytes, spent in the order of its listing, so that every process draws the same line.
"""

import stat
import struct
import tarfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Self

from rarename.corpus.documents import Chunk, ChunkLimits, Document, Skip, Source, coarse, cut
from rarename.corpus.paths import (
    ARCHIVE_WITHIN,
    DUPLICATE_NAME,
    LINK,
    SPECIAL_FILE,
    UNREADABLE,
    UNSAFE_NAME,
    is_archive,
    printable,
    shown,
    too_large,
    unsafe,
)
from rarename.corpus.streams import STREAM_ERRORS, BudgetSpent, Metered, open_stream
from rarename.errors import SourceError

BROKEN = "archive is broken"
ENCRYPTED = "encrypted"
OVER_BUDGET = "archive over its limits"
COMPRESSION = "unusual compression"

_ALWAYS_FINE = 1_000_000
"""Members up to this size may have any ratio: an empty table packs well and harms nobody."""
_MIN_BUDGET = 64_000_000
_HEADER_ROOM = 2_000_000
"""Bytes that may stand between two members of a tar: long names and the like, which tarfile keeps."""
_DIRECTORY_ENTRY = 200
"""Bytes of a zip's directory that an honest member takes: 46, its name, a few extra fields."""

_HOSTILE = (ArithmeticError, LookupError, RecursionError, ValueError, NotImplementedError, struct.error)
"""What the standard library lets through, besides its own errors, when an archive is made to hurt."""
_BROKEN_ZIP = (zipfile.BadZipFile, *STREAM_ERRORS, *_HOSTILE)
_BROKEN_TAR = (tarfile.TarError, *STREAM_ERRORS, *_HOSTILE)


@dataclass(frozen=True)
class _Member:
    name: str
    """As the archive has it."""
    path: str
    """Below the source's prefix."""
    size: int


@dataclass(frozen=True)
class ArchiveSource(Source):
    """What zip and tar have in common: how members are named, told apart and counted."""

    def _skip(self, name: str, reason: str, detail: str = "") -> Skip:
        path = self._inner_path(name)
        return Skip(f"{self.prefix}/{shown(path)}", self._project(path), reason, detail)

    def _whole(self, reason: str, detail: str) -> Skip:
        """A skip of the archive, or of the rest of it."""
        return Skip(self.prefix, self.prefix, reason, detail)

    def _inner_path(self, name: str) -> str:
        """A member's path without the folders that packaging added."""
        parts = printable(name).split("/")
        if self.origin.kind == "npm" and len(parts) > 1:
            return "/".join(parts[1:])  # `package/`, as a rule; npm drops the first folder whatever its name
        if parts[0].endswith(".data") and self.place.suffix.lower() == ".whl":
            return "/".join(parts[2:] if parts[1:2] in (["purelib"], ["platlib"]) else parts[1:])
        return "/".join(parts)

    def _project(self, path: str) -> str:
        if not self.options.project_depth:
            return self.origin.name if self.origin.kind in ("pypi", "npm") else self.prefix
        return "/".join(path.split("/")[: self.options.project_depth])

    def _judge(self, name: str, size: int, seen: set[str]) -> _Member | Skip | None:
        """Decide about a regular file by its name and declared size; None when it is of no interest."""
        if not self.is_wanted(name):
            return self._skip(name, ARCHIVE_WITHIN) if is_archive(name) else None
        fault = unsafe(name)
        if fault:
            return self._skip(name, UNSAFE_NAME, fault)
        if size > self.options.max_file_bytes:
            return self._skip(name, too_large(self.options.max_file_bytes), f"{size} bytes")
        path = self._inner_path(name)
        if path in seen:
            return self._skip(name, DUPLICATE_NAME, "the first one is kept")
        seen.add(path)
        return _Member(name, path, size)

    def _document(self, member: _Member, content: bytes) -> Document:
        return Document(f"{self.prefix}/{member.path}", self._project(member.path), content)

    def _budget(self) -> int:
        """How many uncompressed bytes the archive may have."""
        ratio_limit = max(_MIN_BUDGET, self.options.max_ratio * self.place.stat().st_size)
        return min(self.options.max_archive_bytes, ratio_limit)


@dataclass(frozen=True)
class ZipSource(ArchiveSource):
    """A zip archive or wheel."""

    def chunks(self, limits: ChunkLimits) -> tuple[list[Chunk], list[Skip]]:
        """List the directory at the archive's end."""
        try:
            with self._open() as archive:
                members, skips = self._list(archive)
        except SourceError as error:
            return [], [self._whole(BROKEN, str(error))]
        return cut(self.index, (info.file_size for info, _ in members), limits), skips

    def read(self, chunk: Chunk) -> Iterator[Document | Skip]:
        """Read the members of a chunk, each up to its declared size."""
        try:
            with self._open() as archive:
                members, _ = self._list(archive)
                for info, member in members[chunk.first : chunk.first + chunk.count]:
                    yield self._read_member(archive, info, member)
        except SourceError as error:
            yield self._whole(BROKEN, str(error))

    @contextmanager
    def _open(self) -> Iterator[zipfile.ZipFile]:
        try:
            num_bytes = _directory_bytes(self.place)
            if num_bytes > self.options.max_members * _DIRECTORY_ENTRY:
                raise SourceError(
                    f"{self.place.name} has a directory of {num_bytes} bytes, "
                    f"too large for {self.options.max_members} members"
                )
            archive = zipfile.ZipFile(self.place)
        except _BROKEN_ZIP as error:
            raise SourceError(f"{self.place.name} cannot be opened: {error}") from None
        with archive:
            yield archive

    def _list(self, archive: zipfile.ZipFile) -> tuple[list[tuple[zipfile.ZipInfo, _Member]], list[Skip]]:
        members: list[tuple[zipfile.ZipInfo, _Member]] = []
        skips: list[Skip] = []
        seen: set[str] = set()
        budget = self._budget()
        infos = archive.infolist()
        if len(infos) > self.options.max_members:
            surplus = len(infos) - self.options.max_members
            skips.append(self._whole(OVER_BUDGET, f"{surplus} members beyond {self.options.max_members}"))
        for info in infos[: self.options.max_members]:
            found = self._judge_info(info, seen)
            if isinstance(found, _Member):
                # Members may share their packed bytes, so the archive's own size says nothing.
                budget -= info.file_size
                if budget < 0:
                    skips.append(self._whole(OVER_BUDGET, f"over {self._budget()} bytes, uncompressed"))
                    break
                members.append((info, found))
            elif found is not None:
                skips.append(found)
        members.sort(key=lambda pair: pair[1].path)
        return members, skips

    def _judge_info(self, info: zipfile.ZipInfo, seen: set[str]) -> _Member | Skip | None:
        # `orig_filename`, because zipfile cuts the other one at a NUL
        name = info.orig_filename
        mode = info.external_attr >> 16
        if info.is_dir() or stat.S_ISDIR(mode):
            return None
        if stat.S_ISLNK(mode):
            return self._skip(name, LINK, "symbolic link")
        if stat.S_IFMT(mode) and not stat.S_ISREG(mode):
            return self._skip(name, SPECIAL_FILE)
        if not self.is_wanted(name):
            return self._judge(name, info.file_size, seen)
        if info.flag_bits & 0x1:
            return self._skip(name, ENCRYPTED)
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            # The other methods cannot be unpacked in small steps: one step could fill the memory.
            return self._skip(name, COMPRESSION, f"method {info.compress_type}; expected stored or deflated")
        if info.file_size > max(_ALWAYS_FINE, self.options.max_ratio * info.compress_size):
            return self._skip(name, COMPRESSION, f"{info.compress_size} bytes hold {info.file_size}")
        return self._judge(name, info.file_size, seen)

    def _read_member(self, archive: zipfile.ZipFile, info: zipfile.ZipInfo, member: _Member) -> Document | Skip:
        try:
            with archive.open(info) as file:
                # zipfile gives no more than the declared size, then compares the checksum
                content = file.read(info.file_size + 1)
        except _BROKEN_ZIP as error:
            return self._skip(member.name, UNREADABLE, str(error))
        except RuntimeError:  # what zipfile raises when a password is missing
            return self._skip(member.name, ENCRYPTED)
        if len(content) != info.file_size:
            return self._skip(member.name, UNREADABLE, f"{len(content)} bytes, {info.file_size} declared")
        return self._document(member, content)


@dataclass(frozen=True)
class TarSource(ArchiveSource):
    """A tar archive, compressed or not. It has no directory: to list or to read it is a pass over it."""

    def chunks(self, limits: ChunkLimits) -> tuple[list[Chunk], list[Skip]]:
        """List the archive in one pass, within its budget."""
        sizes: list[int] = []
        skips: list[Skip] = []
        for found, _ in self._pass():
            if isinstance(found, Skip):
                skips.append(found)
            else:
                sizes.append(found.size)
        return cut(self.index, sizes, coarse(limits, len(sizes), sum(sizes))), skips

    def read(self, chunk: Chunk) -> Iterator[Document | Skip]:
        """Pass over the archive up to the chunk's last member; skips were reported by the listing."""
        number = -1
        for found, file in self._pass():
            if isinstance(found, Skip):
                continue
            number += 1
            if number < chunk.first:
                continue
            if file is None:
                yield self._skip(found.name, UNREADABLE, "the archive has no content for it")
                continue
            try:
                content = file.read(found.size + 1)
            except (BudgetSpent, *_BROKEN_TAR) as error:
                yield self._skip(found.name, UNREADABLE, str(error))
                return
            if len(content) != found.size:
                yield self._skip(found.name, UNREADABLE, f"{len(content)} bytes, {found.size} declared")
            else:
                yield self._document(found, content)
            if number + 1 == chunk.first + chunk.count:
                return

    def _pass(self) -> Iterator[tuple[_Member | Skip, IO[bytes] | None]]:
        """Every member worth reading, and every skip, in the archive's order."""
        seen: set[str] = set()
        budget = self._budget()
        try:
            with open_stream(self.place) as stream:
                metered = Metered(stream, budget)
                metered.allow(_HEADER_ROOM)
                headers = _Headers()
                with tarfile.open(fileobj=metered, mode="r|", tarinfo=headers.type) as archive:
                    num_members = 0
                    while (info := archive.next()) is not None:
                        num_members += 1
                        if num_members > self.options.max_members:
                            yield self._whole(OVER_BUDGET, f"members beyond {self.options.max_members}"), None
                            return
                        if info.size < 0 or info.issparse():
                            detail = "negative size" if info.size < 0 else "sparse file"
                            yield self._whole(BROKEN, f"the rest cannot be read: {detail}"), None
                            return
                        archive.members = []  # type: ignore[attr-defined]  # tarfile would remember them all
                        metered.allow(info.size + _HEADER_ROOM)
                        found = self._judge_tarinfo(info, seen)
                        if isinstance(found, _Member):
                            yield found, archive.extractfile(info)
                        elif found is not None:
                            yield found, None
                    if not headers.at_end:
                        yield (
                            self._whole(BROKEN, "the rest cannot be read: it ends without an end mark"),
                            None,
                        )
        except BudgetSpent as spent:
            yield self._whole(OVER_BUDGET, str(spent)), None
        except _BROKEN_TAR as error:
            yield self._whole(BROKEN, f"the rest cannot be read: {error}"), None

    def _judge_tarinfo(self, info: tarfile.TarInfo, seen: set[str]) -> _Member | Skip | None:
        if info.isdir():
            return None
        if info.issym() or info.islnk():
            return self._skip(info.name, LINK, "symbolic link" if info.issym() else "hard link")
        if not info.isreg():
            return self._skip(info.name, SPECIAL_FILE)
        return self._judge(info.name, info.size, seen)


class _Headers:
    """Watches the headers that tarfile reads: a damaged one ends the archive for it, without a word."""

    def __init__(self) -> None:
        self.at_end = False
        watcher = self

        class Header(tarfile.TarInfo):
            @classmethod
            def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> Self:
                watcher.at_end = bool(buf) and not any(buf)  # a block of zeros is the end mark
                return super().frombuf(buf, encoding, errors)

        self.type = Header


def _directory_bytes(path: Path) -> int:
    """The size of a zip's directory, as its last record claims; 0 when there is no such record.

    zipfile reads the whole directory at once: better to know beforehand what that would take.
    """
    with path.open("rb") as file:
        end = file.seek(0, 2)
        file.seek(max(0, end - 65_600 - 20))
        tail = file.read()
        place = tail.rfind(b"PK\x05\x06")
        if place < 0 or len(tail) < place + 22:
            return 0
        num_bytes = int(struct.unpack_from("<L", tail, place + 12)[0])
        if num_bytes < 0xFFFFFFFF or tail[place - 20 : place - 16] != b"PK\x06\x07":
            return num_bytes
        file.seek(struct.unpack_from("<Q", tail, place - 12)[0])
        record = file.read(56)
        return int(struct.unpack_from("<Q", record, 40)[0]) if len(record) == 56 else num_bytes
