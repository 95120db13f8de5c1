"""The source files under the paths that a user names: listed at once, read one at a time."""

import os
import stat
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePath

from rarename.assist.diagnostics import Skipped
from rarename.corpus.documents import Chunk, ChunkLimits, Document, Origin, Skip, SourceOptions
from rarename.corpus.folders import COMPILED, FOLDER_LEFT_OUT, HIDDEN, FolderSource
from rarename.corpus.paths import ARCHIVE_WITHIN, DUPLICATE_NAME, SPECIAL_FILE, UNREADABLE, printable
from rarename.errors import UsageError
from rarename.syntax import LANGUAGES, Language

MAX_FILE_BYTES = 1_000_000
"""Larger files are not checked: programs wrote them."""

STDIN, STDIN_SHOWN = "-", "<stdin>"

CHECKED = tuple(language for language in LANGUAGES.values() if language.function_types)
"""The languages that have functions to check."""


@dataclass(frozen=True)
class SourceFile:
    """A file that has been read, but not decoded."""

    path: str
    language: Language
    content: bytes


class Files:
    """The source files under some paths, which may be files, folders, or `-` for standard input.

    Folders give the files of the languages, by their endings; links are not followed; hidden folders and those of
    installed packages are left out. A file that is named may also tell its language in its first line, as scripts do.
    A language that the user asks for is the only one, and the one of every file that is named, whatever its ending.
    """

    def __init__(
        self, paths: Iterable[str], languages: Iterable[Language] = CHECKED, asked: Language | None = None
    ) -> None:
        self.languages = tuple(languages) if asked is None else (asked,)
        self._asked = asked
        self.skipped: list[Skipped] = []
        """What the listing left out."""
        self._found: list[tuple[FolderSource, Chunk] | None] = []
        self._names: set[str] = set()
        for path in paths:
            self._list(path)

    def __len__(self) -> int:
        return len(self._found)

    def __iter__(self) -> Iterator[SourceFile | Skipped]:
        for found in self._found:
            if found is None:
                yield self._read_stdin()
                continue
            for item in found[0].read(found[1]):
                yield _as_skipped(item) if isinstance(item, Skip) else self._as_file(item)

    def _list(self, path: str) -> None:
        if path == STDIN:
            if self._asked is None:
                raise UsageError("standard input has no name to tell the language from; say --language")
            if None not in self._found:  # it can be read but once
                self._found.append(None)
            return
        source = self._source(path)
        if source is None:
            return
        # One file in each chunk, so that they are read one at a time.
        chunks, skips = source.chunks(ChunkLimits(members=1))
        for chunk in chunks:
            name = os.path.realpath(source.place if source.origin.kind == "file" else source.place / chunk.members[0])
            if name not in self._names:
                self._names.add(name)
                self._found.append((source, chunk))
        self.skipped += [_as_skipped(skip) for skip in skips if self._is_worth_telling(skip)]
        if not chunks and not skips:
            endings = ", ".join(source.suffixes)
            self.skipped.append(Skipped(source.prefix, None, "no files to check", f"none ends in {endings}"))

    def _source(self, path: str) -> FolderSource | None:
        shown = "/".join(printable(part) or part for part in str(PurePath(path)).split("/"))
        try:
            is_folder = stat.S_ISDIR(os.stat(path).st_mode)  # noqa: PTH116 (a Path takes "" for ".")
        except (FileNotFoundError, NotADirectoryError, ValueError):
            raise UsageError(f"{shown if path else repr(path)}: there is no such file or folder") from None
        except OSError as error:
            self.skipped.append(Skipped(shown, None, UNREADABLE, error.strerror or type(error).__name__))
            return None
        place = Path(os.path.realpath(path))
        suffixes = tuple(ending for language in self.languages for ending in language.suffixes)
        options = SourceOptions(max_file_bytes=MAX_FILE_BYTES)
        source = FolderSource(
            0, Origin(path, "folder" if is_folder else "file", shown), place, shown, suffixes, options
        )
        if not is_folder and not place.is_file():
            self.skipped.append(Skipped(shown, None, SPECIAL_FILE, f"give it as standard input: {STDIN}"))
            return None
        is_named = is_folder or self._asked is not None or source.is_wanted(place.name)
        if not is_named and _of_script(_beginning(place), self.languages) is None:
            self.skipped.append(self._of_no_language(shown, place.suffix.lower()))
            return None
        return source

    def _of_no_language(self, shown: str, ending: str) -> Skipped:
        """Why a file that was named is not one of those to check."""
        if any(ending in language.suffixes for language in CHECKED):
            names = " and ".join(language.name for language in self.languages)
            return Skipped(shown, None, "another language", f"the model is for {names}")
        endings = ", ".join(ending for language in self.languages for ending in language.suffixes)
        return Skipped(shown, None, "unknown ending", f"none of {endings}; say --language to read it all the same")

    def _as_file(self, document: Document) -> SourceFile:
        assert isinstance(document.content, bytes)  # only published records are trees already
        ending = PurePath(document.path).suffix.lower()
        by_ending = next((one for one in self.languages if ending in one.suffixes), None)
        language = by_ending or _of_script(document.content, self.languages) or self.languages[0]
        return SourceFile(document.path.removeprefix("./"), language, document.content)

    def _read_stdin(self) -> SourceFile | Skipped:
        content = sys.stdin.buffer.read(MAX_FILE_BYTES + 1)
        if len(content) > MAX_FILE_BYTES:
            return Skipped(STDIN_SHOWN, None, f"over {MAX_FILE_BYTES // 1_000_000} MB")
        return SourceFile(STDIN_SHOWN, self.languages[0], content)

    def _is_worth_telling(self, skip: Skip) -> bool:
        """Nobody expects a linter to look into these."""
        if skip.reason == FOLDER_LEFT_OUT:
            return skip.detail not in (HIDDEN, COMPILED)
        if skip.reason in (SPECIAL_FILE, DUPLICATE_NAME):
            return skip.path.lower().endswith(tuple(e for language in self.languages for e in language.suffixes))
        return skip.reason != ARCHIVE_WITHIN


def _beginning(path: Path) -> bytes:
    """The first bytes of a file; none if it cannot be read, or is a pipe, which can be read but once."""
    try:
        if not path.is_file():
            return b""
        with path.open("rb") as file:
            return file.read(256)
    except OSError:
        return b""


def _of_script(content: bytes, languages: Iterable[Language]) -> Language | None:
    """The language of a script, by the program that its first line names.

    >>> _of_script(b"#!/usr/bin/env python3.11 -u\\n", CHECKED).name
    'python'
    """
    first = content.partition(b"\n")[0].decode("ascii", "replace")
    if not first.startswith("#!"):
        return None
    programs = {PurePath(word).name.rstrip("0123456789.") for word in first.removeprefix("#!").split()}
    return next((one for one in languages if programs & set(one.interpreters)), None)


def _as_skipped(skip: Skip) -> Skipped:
    return Skipped(skip.path.removeprefix("./"), None, skip.reason, skip.detail)
