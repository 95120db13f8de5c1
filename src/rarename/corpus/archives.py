"""Zip and tar archives, wheels and npm packages: read in memory, never extracted, never trusted.

Declared sizes may be wrong, and an archive may be a compression bomb. So sizes are checked before reading and enforced
while reading, and each archive has one budget of uncompressed bytes, used up in the order of the listing.
"""

import re
import stat
import struct
import tarfile
import zipfile
from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from tarfile import EOFHeaderError  # type: ignore[attr-defined]
from typing import IO, Any, NamedTuple, Self, cast

from rarename.corpus.document import Chunk, Document, Skip, Source, make_chunks
from rarename.corpus.streams import STREAM_ERRORS, BudgetExceeded, MeteredStream, open_stream
from rarename.discovery import EXCLUDED_FOLDERS, Reason, display_path, is_archive, over_limit, printable

BROKEN, OVER_BUDGET = "archive is broken", "archive over its limits"

_ANY_RATIO_BYTES = 1_000_000  # members up to this size may have any compression ratio: they are harmless
_DIRECTORY_ENTRY_BYTES = 200  # per member in the directory of a zip: 46, the name and a few extra fields
_HEADER_BYTES = 2_000_000  # between two members of a tar, such as long names: tarfile keeps them in memory
_MAX_NAME_LENGTH = 1_000

# What the standard library raises, besides its own errors, for a malicious archive.
_HOSTILE = (ArithmeticError, LookupError, RecursionError, ValueError, NotImplementedError, struct.error)
_BROKEN = (zipfile.BadZipFile, tarfile.TarError, *STREAM_ERRORS, *_HOSTILE)


_Opener = Callable[[], IO[bytes]]


class _Member(NamedTuple):
    name: str  # as the archive has it
    path: str  # below the source's prefix
    size: int
    open: _Opener


@dataclass(frozen=True)
class ArchiveSource(Source):
    """What zip and tar have in common: names, projects and limits of members."""

    @abstractmethod
    def _scan(self) -> Iterator[_Member | Skip]:
        """Every selected member and every skip, always in the same order."""

    def chunks(self) -> tuple[list[Chunk], list[Skip]]:
        found = list(self._scan())
        sizes = [member.size for member in found if isinstance(member, _Member)]
        is_stream = isinstance(self, TarSource)
        return make_chunks(self.index, sizes, is_stream), [skip for skip in found if isinstance(skip, Skip)]

    def read(self, chunk: Chunk) -> Iterator[Document | Skip]:
        members = (found for found in self._scan() if isinstance(found, _Member))
        return map(self._read_member, islice(members, chunk.first, chunk.first + chunk.count))

    def _read_member(self, member: _Member) -> Document | Skip:
        try:
            with member.open() as file:
                content = file.read(member.size + 1)
        except (BudgetExceeded, *_BROKEN) as error:
            return self._skip(member.name, Reason.UNREADABLE, str(error))
        except RuntimeError:  # zipfile: a password is missing
            return self._skip(member.name, "encrypted")
        if len(content) != member.size:
            return self._skip(member.name, Reason.UNREADABLE, f"{len(content)} bytes, {member.size} declared")
        return Document(f"{self.prefix}/{member.path}", self._project(member.path), content)

    def _skip(self, name: str, reason: str, detail: str = "") -> Skip:
        path = self._path_within(name)
        return Skip(f"{self.prefix}/{display_path(path)}", self._project(path), reason, detail)

    def _path_within(self, name: str) -> str:
        """The path of a member without the folders that packaging added."""
        parts = printable(name).split("/")
        if self.origin.kind == "npm" and len(parts) > 1:
            return "/".join(parts[1:])  # usually `package/`; npm drops the first folder whatever its name
        if parts[0].endswith(".data") and self.path.suffix.lower() == ".whl":
            return "/".join(parts[2:] if parts[1:2] in (["purelib"], ["platlib"]) else parts[1:])
        return "/".join(parts)

    def _project(self, path: str) -> str:
        if not self.options.project_depth:
            return self.origin.name if self.origin.kind in ("pypi", "npm") else self.prefix
        return "/".join(path.split("/")[: self.options.project_depth])

    def _is_wanted(self, name: str) -> bool:
        return name.lower().endswith(self.suffixes)

    def _select(self, name: str, size: int, seen: set[str], opener: _Opener) -> _Member | Skip | None:
        """Select or skip a regular file, by its name and declared size; None if it is not of the language."""
        if not self._is_wanted(name):
            return self._skip(name, Reason.ARCHIVE_WITHIN) if is_archive(name) else None
        if fault := _name_fault(name):
            return self._skip(name, "unsafe name", fault)
        folders = name.split("/")[:-1]
        for number, folder in enumerate(folders, start=1):
            if folder in EXCLUDED_FOLDERS:
                excluded = "/".join(folders[:number])
                is_new = excluded not in seen
                seen.add(excluded)
                return self._skip(excluded, Reason.FOLDER_LEFT_OUT, EXCLUDED_FOLDERS[folder]) if is_new else None
        if size > self.options.max_file_bytes:
            return self._skip(name, over_limit(self.options.max_file_bytes), f"{size} bytes")
        path = self._path_within(name)
        if path in seen:
            return self._skip(name, Reason.DUPLICATE_NAME, "the first one is kept")
        seen.add(path)
        return _Member(name, path, size, opener)


@dataclass(frozen=True)
class ZipSource(ArchiveSource):
    """A zip archive or wheel, sorted by path. Its directory is at the end."""

    def _scan(self) -> Iterator[_Member | Skip]:
        max_members = self.options.max_members
        try:
            num_bytes = _directory_bytes(self.path)
            if num_bytes > max_members * _DIRECTORY_ENTRY_BYTES:
                size = f"a directory of {num_bytes} bytes, too large for {max_members} members"
                yield self.skip_rest(BROKEN, f"{self.path.name} has {size}")
                return
            archive = zipfile.ZipFile(self.path)
        except _BROKEN as error:
            yield self.skip_rest(BROKEN, f"{self.path.name} cannot be opened: {error}")
            return
        members: list[_Member] = []
        seen: set[str] = set()
        budget = left = self.budget()
        with archive:
            infos = archive.infolist()
            if len(infos) > max_members:
                yield self.skip_rest(OVER_BUDGET, f"{len(infos) - max_members} members beyond {max_members}")
            for info in infos[:max_members]:
                found = self._select_info(archive, info, seen)
                if isinstance(found, Skip):
                    yield found
                elif found is not None:
                    # Members may share their compressed bytes, so the size of the archive does not limit theirs.
                    left -= found.size
                    if left < 0:
                        yield self.skip_rest(OVER_BUDGET, f"over {budget} bytes, uncompressed")
                        break
                    members.append(found)
            yield from sorted(members, key=lambda member: member.path)

    def _select_info(self, archive: zipfile.ZipFile, info: zipfile.ZipInfo, seen: set[str]) -> _Member | Skip | None:
        # `orig_filename`, because zipfile cuts `filename` at a NUL
        name, mode = info.orig_filename, info.external_attr >> 16
        if info.is_dir() or stat.S_ISDIR(mode):
            return None
        if stat.S_ISLNK(mode):
            return self._skip(name, Reason.LINK, "symbolic link")
        if stat.S_IFMT(mode) and not stat.S_ISREG(mode):
            return self._skip(name, Reason.SPECIAL_FILE)
        if self._is_wanted(name):
            if info.flag_bits & 0x1:
                return self._skip(name, "encrypted")
            if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                # The other methods cannot be unpacked in small steps: one step could fill the memory.
                return self._skip(
                    name, "unusual compression", f"method {info.compress_type}; expected stored or deflated"
                )
            if info.file_size > max(_ANY_RATIO_BYTES, self.options.max_ratio * info.compress_size):
                return self._skip(name, "unusual compression", f"{info.compress_size} bytes hold {info.file_size}")
        # zipfile returns at most the declared size, then compares the checksum
        return self._select(name, info.file_size, seen, partial(archive.open, info))


class _TarHeader(tarfile.TarInfo):
    """Records whether the end mark was read: tarfile also stops, without an error, at a damaged header."""

    @classmethod
    def fromtarfile(cls, tarfile: Any) -> Self:
        try:
            return super().fromtarfile(tarfile)
        except EOFHeaderError:
            tarfile.is_complete = True
            raise


@dataclass(frozen=True)
class TarSource(ArchiveSource):
    """A tar archive, compressed or not. It has no directory: listing it and reading a chunk each scan the archive."""

    def _scan(self) -> Iterator[_Member | Skip]:
        seen: set[str] = set()
        try:
            with open_stream(self.path) as stream:
                metered = MeteredStream(stream, self.budget())
                metered.allow(_HEADER_BYTES)
                with tarfile.open(fileobj=metered, mode="r|", tarinfo=_TarHeader) as archive:
                    for number, info in enumerate(iter(archive.next, None), start=1):
                        if number > self.options.max_members:
                            raise BudgetExceeded(f"members beyond {self.options.max_members}")
                        if info.size < 0 or info.issparse():
                            raise tarfile.ReadError("negative size" if info.size < 0 else "sparse file")
                        archive.members = []  # type: ignore[attr-defined]  # tarfile would keep them all
                        metered.allow(info.size + _HEADER_BYTES)
                        if found := self._select_info(archive, info, seen):
                            yield found
                    if not getattr(archive, "is_complete", False):
                        raise tarfile.ReadError("it ends without an end mark")
        except BudgetExceeded as error:
            yield self.skip_rest(OVER_BUDGET, str(error))
        except _BROKEN as error:
            yield self.skip_rest(BROKEN, f"the rest cannot be read: {error}")

    def _select_info(self, archive: tarfile.TarFile, info: tarfile.TarInfo, seen: set[str]) -> _Member | Skip | None:
        if info.isdir():
            return None
        if info.issym() or info.islnk():
            return self._skip(info.name, Reason.LINK, "symbolic link" if info.issym() else "hard link")
        if not info.isreg():
            return self._skip(info.name, Reason.SPECIAL_FILE)
        opener = cast(_Opener, partial(archive.extractfile, info))  # it returns None only for special files
        return self._select(info.name, info.size, seen, opener)


def _name_fault(name: str) -> str:
    """What is unsafe about the name of a member; empty if nothing is."""
    parts = name.replace("\\", "/").split("/")
    faults = {
        "empty": not any(parts),
        f"longer than {_MAX_NAME_LENGTH} characters": len(name) > _MAX_NAME_LENGTH,
        "has control characters": re.search(r"[\0-\x1f\x7f]", name),
        "absolute": not parts[0] or re.match(r"[A-Za-z]:", name),
        "leads out of the archive": ".." in parts,
    }
    return next((fault for fault, is_present in faults.items() if is_present), "")


def _directory_bytes(path: Path) -> int:
    """The declared size of a zip's directory, 0 if unknown: zipfile reads the whole directory into memory."""
    with path.open("rb") as file:
        file.seek(max(0, file.seek(0, 2) - 65_600 - 20))
        tail = file.read()
        end_record = tail.rfind(b"PK\x05\x06")
        if end_record < 0 or len(tail) < end_record + 22:
            return 0
        num_bytes = int(struct.unpack_from("<L", tail, end_record + 12)[0])
        if num_bytes < 0xFFFFFFFF or tail[end_record - 20 : end_record - 16] != b"PK\x06\x07":
            return num_bytes
        file.seek(struct.unpack_from("<Q", tail, end_record - 12)[0])
        zip64_record = file.read(56)
        return int(struct.unpack_from("<Q", zip64_record, 40)[0]) if len(zip64_record) == 56 else num_bytes
