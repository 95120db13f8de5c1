"""A folder of source files, a single file, or the standard library of the running interpreter."""

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from rarename.corpus.documents import Chunk, ChunkLimits, Document, Skip, Source, cut
from rarename.corpus.paths import (
    ARCHIVE_WITHIN,
    DUPLICATE_NAME,
    LINK,
    SPECIAL_FILE,
    UNREADABLE,
    is_archive,
    printable,
    shown,
    too_large,
)

FOLDER_LEFT_OUT = "folder left out"
HIDDEN, COMPILED = "hidden", "compiled code"

_PROJECT_MARKS = (".git", "pyproject.toml", "setup.py", "setup.cfg", "package.json")
_LEFT_OUT = {"node_modules": "installed packages", "__pycache__": COMPILED}
_STDLIB_LEFT_OUT = {
    "site-packages": "installed packages",
    "dist-packages": "installed packages",
    # Linux distributions ship the tests apart or not at all: without them the library is the same everywhere.
    "test": "tests of the standard library",
    "tests": "tests of the standard library",
    "idle_test": "tests of the standard library",
}


def project_depth(folder: Path) -> int:
    """How many leading folders name a project: none when the folder looks like one itself, else one."""
    return 0 if any((folder / mark).exists() for mark in _PROJECT_MARKS) else 1


@dataclass(frozen=True)
class FolderSource(Source):
    """The files of one language below a folder; `place` may also be one file."""

    depth: int = 0
    """How many leading folders name the project; 0: the folder is one project."""

    def chunks(self, limits: ChunkLimits) -> tuple[list[Chunk], list[Skip]]:
        """Walk the folder. Chunks carry names: a file that appears later does not shift the others."""
        files: dict[str, tuple[str, int]] = {}
        skips: list[Skip] = []
        for found in self._walk():
            if isinstance(found, Skip):
                skips.append(found)
                continue
            name, size = found
            path = printable(name)
            if path in files:
                skips.append(self._skip(name, DUPLICATE_NAME, "after escaping what cannot be printed"))
            elif size > self.options.max_file_bytes:
                skips.append(self._skip(name, too_large(self.options.max_file_bytes), f"{size} bytes"))
            else:
                files[path] = name, size
        listing = [files[path] for path in sorted(files)]
        chunks = [
            replace(chunk, members=tuple(name for name, _ in listing[chunk.first : chunk.first + chunk.count]))
            for chunk in cut(self.index, (size for _, size in listing), limits)
        ]
        return chunks, sorted(skips, key=lambda skip: skip.path)

    def read(self, chunk: Chunk) -> Iterator[Document | Skip]:
        """Read the files of a chunk."""
        root = self.place.parent if self.origin.kind == "file" else self.place
        for name in chunk.members:
            try:
                content = _read_regular(root / name, self.options.max_file_bytes)
            except OSError as error:
                yield self._skip(name, UNREADABLE, error.strerror or type(error).__name__)
                continue
            if content is None:
                yield self._skip(name, SPECIAL_FILE, "it was a file when the folder was listed")
            elif len(content) > self.options.max_file_bytes:
                yield self._skip(name, too_large(self.options.max_file_bytes))
            else:
                yield Document(self._path(name), self._project(name), content)

    def _walk(self) -> Iterator[tuple[str, int] | Skip]:
        if self.origin.kind == "file":
            yield self.place.name, self.place.stat().st_size
            return
        pending = [""]  # folders, relative to the place; no recursion, because folders may nest very deep
        while pending:
            folder = pending.pop()
            try:
                with os.scandir(self.place / folder) as entries:
                    found = sorted(entries, key=lambda entry: entry.name)
            except OSError as error:
                yield self._skip(folder or ".", UNREADABLE, error.strerror or type(error).__name__)
                continue
            if folder and any(entry.name == "pyvenv.cfg" for entry in found):
                yield self._skip(folder, FOLDER_LEFT_OUT, "virtual environment")
                continue
            for entry in found:
                name = f"{folder}/{entry.name}" if folder else entry.name
                try:
                    result = self._look(entry, name)
                except OSError as error:  # it went away, or may not be looked at
                    result = self._skip(name, UNREADABLE, error.strerror or type(error).__name__)
                if isinstance(result, str):
                    pending.append(result)
                elif result is not None:
                    yield result

    def _look(self, entry: os.DirEntry[str], name: str) -> tuple[str, int] | Skip | str | None:
        """A file and its size, a skip, a folder to walk, or nothing of interest."""
        if entry.is_symlink():
            # Links may lead in circles or out of the folder; what they point to is listed where it is.
            is_of_interest = self.is_wanted(entry.name) or entry.is_dir()
            return self._skip(name, LINK, "symbolic link") if is_of_interest else None
        if entry.is_dir(follow_symlinks=False):
            why = self._reason_to_leave_out(entry.name)
            return self._skip(name, FOLDER_LEFT_OUT, why) if why else name
        if not entry.is_file(follow_symlinks=False):
            return self._skip(name, SPECIAL_FILE)
        if self.is_wanted(entry.name):
            return name, entry.stat(follow_symlinks=False).st_size
        return self._skip(name, ARCHIVE_WITHIN) if is_archive(entry.name) else None

    def _reason_to_leave_out(self, folder: str) -> str:
        if folder.startswith("."):
            return HIDDEN
        if self.origin.kind == "stdlib" and folder in _STDLIB_LEFT_OUT:
            return _STDLIB_LEFT_OUT[folder]
        return _LEFT_OUT.get(folder, "")

    def _path(self, name: str) -> str:
        return self.prefix if self.origin.kind == "file" else f"{self.prefix}/{printable(name)}"

    def _project(self, name: str) -> str:
        if not self.depth:
            return self.prefix
        parts = printable(name).split("/")
        if len(parts) <= self.depth:
            parts[-1] = Path(parts[-1]).stem  # a module of one file: `argparse.py` is the project argparse
        return "/".join(parts[: self.depth])

    def _skip(self, name: str, reason: str, detail: str = "") -> Skip:
        path = self.prefix if self.origin.kind == "file" else f"{self.prefix}/{shown(name)}"
        return Skip(path, self._project(name), reason, detail)


def _read_regular(path: Path, limit: int) -> bytes | None:
    """Read a file up to one byte over the limit; None when it is no regular file (any more).

    Never follows a link and never waits for a pipe, even if one took the file's place since the listing.
    """
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    descriptor = os.open(path, flags)
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return None
        return file.read(limit + 1)
