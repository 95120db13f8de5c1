"""Source files under the paths that a user names: listed first, then read one at a time.

`rarename check` uses `Files`. A corpus of a folder uses the same walk, the same limits and the same printable paths.
"""

import os
import stat
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path, PurePath
from typing import NamedTuple, Protocol

from rarename.errors import UsageError
from rarename.printable import escaped
from rarename.syntax import LANGUAGES, Language

CHECKED = tuple(language for language in LANGUAGES.values() if language.function_types)
"""The languages with functions, which `rarename check` can check."""

MAX_FILE_BYTES = 1_000_000  # `rarename check` skips larger files: they are generated
STDIN, STDIN_SHOWN = "-", "<stdin>"
ARCHIVE_ENDINGS = (".zip", ".whl", ".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tbz2", ".tar.xz", ".txz")
HIDDEN, COMPILED, INSTALLED = "hidden", "compiled code", "installed packages"
EXCLUDED_FOLDERS = {"node_modules": INSTALLED, "__pycache__": COMPILED}


class Reason(StrEnum):
    """Why a file or folder is left out of a listing."""

    ARCHIVE_WITHIN = "archive inside a folder or archive"
    DUPLICATE_NAME = "name occurs twice"
    EXCLUDED = "excluded by the settings"
    FOLDER_LEFT_OUT = "folder left out"
    LINK = "link"
    MINIFIED = "minified"
    SPECIAL_FILE = "not a regular file"
    UNREADABLE = "cannot be read"


@dataclass(frozen=True)
class SourceFile:
    """The undecoded content of a file."""

    path: str
    language: Language
    content: bytes
    min_confidence: float | None = None  # the threshold of the settings for this file


class PathSelection(Protocol):
    """What the settings of a user leave out. Paths are absolute; see `assist.selection`."""

    def name_folder(self, folder: Path) -> None: ...
    def leaves_out(self, path: Path, is_folder: bool = False) -> bool: ...
    def leaves_out_named(self, path: Path, is_folder: bool = False) -> bool: ...
    def includes(self, path: Path) -> bool | None: ...
    def replaces_defaults(self, folder: Path) -> bool: ...
    def min_confidence(self, path: Path) -> float | None: ...


@dataclass(frozen=True)
class Skipped:
    """A file, a folder or a function that was left out, and why."""

    path: str
    line: int | None
    reason: str  # one of a few phrases, so that skips can be counted by reason
    detail: str = ""

    @property
    def explanation(self) -> str:
        """The reason with its detail."""
        return f"{self.reason}: {self.detail}" if self.detail else self.reason


class ListedFile(NamedTuple):
    """A file found by `list_files`."""

    name: str  # relative to the folder, as the file system has it
    num_bytes: int


class Files:
    """The source files under some paths. A path is a file, a folder, or `-` for standard input.

    A folder yields the files with an ending of one of the languages. Links are not followed. Hidden folders and
    installed packages are left out. A file that the user names may also declare its language in its first line, as
    scripts do. With `only`, every named file is read in that language. `stdin_name` is the path that standard input
    has for the settings and in the results.
    """

    def __init__(
        self,
        paths: Iterable[str],
        languages: Iterable[Language] = CHECKED,
        only: Language | None = None,
        selection: PathSelection | None = None,
        stdin_name: str | None = None,
    ) -> None:
        self.num_excluded = 0  # what the selection left out
        self._selection, self._stdin_name = selection, stdin_name
        self._stdin_path = os.path.realpath(stdin_name or STDIN)  # without a name, in the current folder
        self.languages = tuple(languages) if only is None else (only,)
        self.skipped: list[Skipped] = []  # what the listing left out
        self._suffixes = tuple(suffix for language in self.languages for suffix in language.suffixes)
        self._only = only
        self._shown_paths: dict[str, str] = {}  # by resolved path, so that each file is read once
        for path in paths:
            self._list(path)

    def __len__(self) -> int:
        return len(self._shown_paths)

    @property
    def real_paths(self) -> dict[str, Path]:
        """The resolved path of each file, by the path that is shown."""
        return {shown: Path(path) for path, shown in self._shown_paths.items() if path != STDIN}

    def __iter__(self) -> Iterator[SourceFile | Skipped]:
        for path, shown in self._shown_paths.items():
            content = _read_stdin() if path == STDIN else read_regular(Path(path), shown, MAX_FILE_BYTES)
            if isinstance(content, Skipped):
                yield content
            else:
                path = self._stdin_path if path == STDIN else path
                language = self._only or self._language(path, content)
                if language is None:
                    yield Skipped(shown, None, "unknown ending", "nor does its first line name an interpreter")
                    continue
                threshold = self._selection.min_confidence(Path(path)) if self._selection else None
                yield SourceFile(shown, language, content, threshold)

    def _list(self, path: str) -> None:
        if path == STDIN:
            self._list_stdin()
            return
        shown = _shown(path)
        try:
            is_folder = stat.S_ISDIR(os.stat(path).st_mode)  # noqa: PTH116 (a Path takes "" for ".")
            resolved = Path(os.path.realpath(path))
            if self._selection and self._selection.leaves_out_named(resolved, is_folder):
                self.num_excluded += 1
            elif is_folder:
                self._list_folder(resolved, shown)
            elif problem := self._why_unfit(resolved):
                self.skipped.append(Skipped(shown, None, *problem))
            else:
                self._shown_paths.setdefault(str(resolved), shown)
        except (FileNotFoundError, NotADirectoryError, ValueError):
            raise UsageError(f"{shown if path else repr(path)}: there is no such file or folder") from None
        except OSError as error:
            self.skipped.append(_unreadable(shown, error))

    def _list_stdin(self) -> None:
        if self._stdin_name is None:
            if self._only is None:
                message = "standard input has no file name to detect the language; add --language or --stdin-filename"
                raise UsageError(message)
            self._shown_paths[STDIN] = STDIN_SHOWN
        elif self._selection and self._selection.leaves_out_named(Path(self._stdin_path)):
            self.num_excluded += 1
        elif self._only is None and self._language(self._stdin_path, b"") is None:
            raise UsageError(f"{self._stdin_name}: unknown ending; add --language")
        else:
            self._shown_paths[STDIN] = _shown(self._stdin_name)

    def _list_folder(self, folder: Path, shown: str) -> None:
        if self._selection:
            self._selection.name_folder(folder)
        files, skipped = list_files(folder, self._suffixes, MAX_FILE_BYTES, selection=self._selection)
        self.num_excluded += sum(skip.reason == Reason.EXCLUDED for skip in skipped)
        prefix = f"{shown}/".removeprefix("./")
        for file in files:
            self._shown_paths.setdefault(str(folder / file.name), prefix + printable(file.name))
        for skip in filter(self._is_reported, skipped):
            self.skipped.append(replace(skip, path=prefix + display_path(skip.path)))
        if not files and not skipped:
            self.skipped.append(Skipped(shown, None, "no files to check", f"none ends in {', '.join(self._suffixes)}"))

    def _why_unfit(self, path: Path) -> tuple[str, str] | None:
        if not path.is_file():
            return Reason.SPECIAL_FILE, f"give it as standard input: {STDIN}"
        with path.open("rb") as file:
            if self._only or self._language(path.name, file.read(256)):
                return None
        if any(path.name.lower().endswith(language.suffixes) for language in CHECKED):
            return "another language", f"the model is for {' and '.join(language.name for language in self.languages)}"
        return "unknown ending", f"none of {', '.join(self._suffixes)}; add --language to read it anyway"

    def _is_reported(self, skip: Skipped) -> bool:
        """False for files and folders that a user does not expect to be checked."""
        if skip.reason == Reason.EXCLUDED:
            return False
        if skip.reason == Reason.FOLDER_LEFT_OUT:
            return skip.detail not in (HIDDEN, COMPILED)
        if skip.reason in (Reason.SPECIAL_FILE, Reason.DUPLICATE_NAME):
            return skip.path.lower().endswith(self._suffixes)
        return skip.reason != Reason.ARCHIVE_WITHIN

    def _language(self, path: str, content: bytes) -> Language | None:
        """The language by the ending of the path, or by the program that the first line of a script names."""
        by_ending = [language for language in self.languages if path.lower().endswith(language.suffixes)]
        first_line = content.partition(b"\n")[0].decode("ascii", "replace")
        words = first_line.removeprefix("#!").split() if first_line.startswith("#!") else []
        programs = {PurePath(word).name.rstrip("0123456789.") for word in words}
        by_program = [language for language in self.languages if programs & set(language.interpreters)]
        return next(iter(by_ending + by_program), None)


def list_files(
    root: Path,
    suffixes: tuple[str, ...],
    max_bytes: int,
    excluded: Mapping[str, str] = EXCLUDED_FOLDERS,
    selection: PathSelection | None = None,
) -> tuple[list[ListedFile], list[Skipped]]:
    """The files below a folder, sorted by their printable paths, and what was left out. `root` may also be one file."""
    files: dict[str, ListedFile] = {}
    skipped: list[Skipped] = []
    is_file = not root.is_dir()
    for found in (
        [ListedFile(root.name, root.stat().st_size)] if is_file else _walk(root, suffixes, excluded, selection)
    ):
        if isinstance(found, Skipped):
            skipped.append(replace(found, path=printable(found.path)))
        elif (path := printable(found.name)) in files:
            skipped.append(Skipped(path, None, Reason.DUPLICATE_NAME, "after escaping what cannot be printed"))
        elif found.num_bytes > max_bytes:
            skipped.append(Skipped(path, None, over_limit(max_bytes), f"{found.num_bytes} bytes"))
        else:
            files[path] = found
    return [files[path] for path in sorted(files)], sorted(skipped, key=lambda skip: skip.path)


def _walk(
    root: Path, suffixes: tuple[str, ...], excluded: Mapping[str, str], selection: PathSelection | None
) -> Iterator[ListedFile | Skipped]:
    pending = [""]  # folders relative to the root; no recursion, because folders may nest very deep
    while pending:
        folder = pending.pop()
        try:
            with os.scandir(root / folder) as scanned:
                entries = sorted(scanned, key=lambda entry: entry.name)
        except OSError as error:
            yield _unreadable(folder, error)
            continue
        if folder and any(entry.name == "pyvenv.cfg" for entry in entries):
            yield Skipped(folder, None, Reason.FOLDER_LEFT_OUT, "virtual environment")
            continue
        defaults = {} if selection and selection.replaces_defaults(root / folder) else excluded
        for entry in entries:
            name, is_source = f"{folder}/{entry.name}".removeprefix("/"), entry.name.lower().endswith(suffixes)
            why_excluded = HIDDEN if entry.name.startswith(".") else defaults.get(entry.name, "")
            is_included = selection.includes(root / name) if selection else None
            is_source = is_source if is_included is None else is_included
            try:
                if entry.is_symlink():
                    # Links may form cycles or lead out of the folder; their targets are listed where they are.
                    if is_source or entry.is_dir():
                        yield Skipped(name, None, Reason.LINK, "symbolic link")
                elif selection and (entry.is_dir() or is_source) and selection.leaves_out(root / name, entry.is_dir()):
                    yield Skipped(name, None, Reason.EXCLUDED)
                elif entry.is_dir() and not why_excluded:
                    pending.append(name)
                elif entry.is_dir():
                    yield Skipped(name, None, Reason.FOLDER_LEFT_OUT, why_excluded)
                elif not entry.is_file():
                    yield Skipped(name, None, Reason.SPECIAL_FILE)
                elif is_source:
                    yield ListedFile(name, entry.stat().st_size)
                elif is_archive(entry.name):
                    yield Skipped(name, None, Reason.ARCHIVE_WITHIN)
            except OSError as error:  # it was removed, or may not be read
                yield _unreadable(name, error)


def read_regular(path: Path, shown: str, max_bytes: int) -> bytes | Skipped:
    """The content of a listed file, or why it is left out: it may have changed since it was listed.

    Never follows a link and never waits for a pipe, even if one has replaced the file.
    """
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    try:
        with os.fdopen(os.open(path, flags), "rb") as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                return Skipped(shown, None, Reason.SPECIAL_FILE, "it was a file when the folder was listed")
            content = file.read(max_bytes + 1)
    except OSError as error:
        return _unreadable(shown, error)
    is_small = len(content) <= max_bytes
    return content if is_small else Skipped(shown, None, over_limit(max_bytes), f"{status.st_size} bytes")


def _shown(path: str) -> str:
    return "/".join(printable(part) or part for part in str(PurePath(path)).split("/"))


def _read_stdin() -> bytes | Skipped:
    content = sys.stdin.buffer.read(MAX_FILE_BYTES + 1)
    return content if len(content) <= MAX_FILE_BYTES else Skipped(STDIN_SHOWN, None, over_limit(MAX_FILE_BYTES))


def _unreadable(path: str, error: OSError) -> Skipped:
    return Skipped(path, None, Reason.UNREADABLE, error.strerror or type(error).__name__)


def is_minified(text: str) -> bool:
    """Whether a text looks generated: over 2,000 characters, and over 200 per line on average."""
    return len(text) > 2_000 and len(text) / (text.count("\n") + 1) > 200


def is_archive(name: str) -> bool:
    """Whether a file is an archive, by its ending."""
    return name.lower().endswith(ARCHIVE_ENDINGS)


def over_limit(num_bytes: int) -> str:
    """The reason for leaving out a file over a size limit.

    >>> over_limit(10_000_000), over_limit(1500)
    ('over 10 MB', 'over 1500 bytes')
    """
    return f"over {num_bytes // 1_000_000} MB" if num_bytes % 1_000_000 == 0 else f"over {num_bytes} bytes"


def printable(name: str) -> str:
    """A path that can be stored and printed.

    >>> printable("a//./b\\udcff.py"), printable("ä\\u202e.py"), printable("::error::.py")
    ('a/b%FF.py', 'ä%E2%80%AE.py', '%3A:error::.py')
    """
    path = "/".join(part for part in name.replace("\\", "/").split("/") if part not in ("", "."))
    if path.startswith(("::", "##[")):  # at the start of a line, the log of GitHub Actions takes it for a command
        path = f"%{ord(path[0]):02X}{path[1:]}"
    return escaped(path)


def display_path(name: str) -> str:
    """A printable path of at most 200 characters, for reports."""
    path = printable(name) or "(no name)"
    return path if len(path) <= 200 else path[:200] + "…"
