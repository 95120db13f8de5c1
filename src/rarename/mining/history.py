"""What the commits of a git repository changed.

Only plumbing commands are used, with the path of the git folder. No hook, filter, text conversion, external diff,
signature check or fetch of a missing object can run, whatever the repository configures.
"""

import os
import re
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import IO

from rarename.errors import UsageError
from rarename.git import DIFF_OPTIONS, git
from rarename.printable import escaped

MAX_HUNK_LINES, MAX_HUNK_CHARS = 50, 100_000  # longer hunks change more than a name, or are of generated code
_MAX_SUBJECT_BYTES = 1_000
# Larger files are binary, which keeps them out of memory; a repository cannot name a file of attributes without an end.
_SETTINGS = ("-c", "core.bigFileThreshold=10m", "-c", "core.attributesFile=/dev/null")
_KEPT = ("GIT_CONFIG_", "GIT_EXEC_PATH")  # of the user's environment; other variables of git name a repository
_LAST_DATE = datetime(9999, 12, 31, tzinfo=UTC).timestamp()
_HUNK = re.compile(rb"@@ -(\d+)(?:,\d+)? \+(\d+)")
_BLOBS = re.compile(rb"index ([0-9a-f]{40,64})\.\.([0-9a-f]{40,64})(?: 100|$)")  # a regular file, before and after
_COMMIT = re.compile(rb"[0-9a-f]{40,64}\n")


@dataclass(frozen=True)
class Repository:
    """A git repository of this machine."""

    git_folder: Path
    name: str  # the last two parts of the address it was cloned from, such as `owner/name`, or the name of its folder

    @classmethod
    def at(cls, path: Path) -> "Repository":
        """The repository of a clone or a bare repository; raises UsageError for any other path."""
        if not path.is_dir():
            raise UsageError("there is no such folder")
        environment = _environment() | {"GIT_CEILING_DIRECTORIES": str(path.resolve().parent)}
        folder = Path(git(path, "rev-parse", "--absolute-git-dir", environment=environment).removesuffix("\n"))
        try:
            address = git(folder, "config", "--get", "remote.origin.url", environment=environment).strip()
        except UsageError:  # it was not cloned
            address = ""
        if not address or address.startswith(("/", ".", "file:")):
            name = (folder.parent if folder.name == ".git" else folder).name.removesuffix(".git")
            return cls(folder, escaped(name))
        # The address may begin with a password.
        parts = re.split(r"[/:]+", address.rpartition("@")[2].rstrip("/").removesuffix(".git"))
        return cls(folder, escaped("/".join(parts[-2:])))

    def commits(self) -> list[str]:
        """Every commit of every branch and tag that has one parent, in the order of their dates."""
        words = ("--reverse", "--min-parents=1", "--max-parents=1", "--exclude=refs/stash", "--all")
        return git(self.git_folder, "rev-list", *words, environment=_environment()).split()

    def patches(self, commits: Sequence[str], suffixes: Sequence[str]) -> Iterator["Patch"]:
        """What the commits changed in files with these endings. Renamed, added and removed files are not compared."""
        words = ("diff-tree", "--stdin", "-r", "--always", "--full-index", "--diff-filter=M", *DIFF_OPTIONS)
        paths = [f":(icase)*{suffix}" for suffix in suffixes]
        with tempfile.TemporaryFile() as output:
            self._run(output, *words, "--", *paths, lines=commits)
            yield from _patches(output)

    def objects(self, ids: Sequence[str], max_bytes: int) -> Iterator[bytes | None]:
        """The content of objects. None stands for what is missing or larger."""
        with tempfile.TemporaryFile() as output:
            self._run(output, "cat-file", "--batch", lines=ids)
            for _ in ids:
                size = output.readline().split()[-1]
                if size == b"missing":
                    yield None
                elif int(size) > max_bytes:
                    output.seek(int(size) + 1, os.SEEK_CUR)
                    yield None
                else:
                    yield output.read(int(size) + 1)[:-1]

    def _run(self, output: IO[bytes], *words: str, lines: Sequence[str]) -> None:
        stdin = "".join(f"{line}\n" for line in lines)
        # An explicit folder: git neither searches for a repository nor trusts `core.worktree`.
        words = ("--git-dir=.", *_SETTINGS, *words)
        git(self.git_folder, *words, stdin=stdin, stdout=output, environment=_environment())
        output.seek(0)


@dataclass(frozen=True)
class Hunk:
    """Lines that a commit replaced by others."""

    path: str
    blobs: tuple[str, str]  # the file before and after
    lines: tuple[int, int]  # the number of the first line, before and after
    removed: list[str] = field(default_factory=list)
    added: list[str] = field(default_factory=list)


@dataclass
class Patch:
    """What one commit changed in the files that were asked for."""

    commit: str
    hunks: list[Hunk] = field(default_factory=list)
    num_removed: int = 0  # lines


def _patches(output: IO[bytes]) -> Iterator[Patch]:
    patch: Patch | None = None
    hunk: Hunk | None = None
    path, blobs = "", ("", "")
    for line in output:
        if line.startswith((b"-", b"+")) and hunk is not None and patch is not None:
            patch.num_removed += line.startswith(b"-")
            block = hunk.removed if line.startswith(b"-") else hunk.added
            if len(block) <= MAX_HUNK_LINES:
                block.append(line[1 : 2 + MAX_HUNK_CHARS].decode("utf-8", "replace"))
        elif line.startswith(b"@@") and patch is not None and blobs[0] and (found := _HUNK.match(line)):
            hunk = Hunk(path, blobs, (int(found[1]), int(found[2])))
            patch.hunks.append(hunk)
        elif line.startswith(b"diff --git "):
            path, blobs, hunk = _path(line[11:-1]), ("", ""), None
        elif found := _BLOBS.match(line):
            blobs = (found[1].decode(), found[2].decode())
        elif _COMMIT.fullmatch(line):
            if patch is not None:
                yield patch
            patch, hunk = Patch(line.decode().strip()), None
    if patch is not None:
        yield patch


def _path(names: bytes) -> str:
    """The path from `a/PATH b/PATH`, in quotes if it holds a control character.

    >>> _path(b"a/x b/y.py b/x b/y.py"), _path(rb'"a/t\\tb.py" "b/t\\tb.py"')
    ('x b/y.py', 't\\tb.py')
    """
    name = names[: len(names) // 2]
    if name.startswith(b'"'):
        name = b" " + name[1:-1].decode("unicode_escape").encode("latin-1", "replace")
    return name.removeprefix(b" ").removeprefix(b"a/").decode("utf-8", "surrogateescape")


def subject_and_date(commit: bytes) -> tuple[str, str]:
    """The first line of a commit's message, and the day on which it was written."""
    header, _, message = commit.partition(b"\n\n")
    seconds = re.search(rb"^author .*> (-?\d+) ", header, re.MULTILINE)
    day = datetime.fromtimestamp(min(max(float(seconds[1]), 0), _LAST_DATE) if seconds else 0, UTC)
    named = re.search(rb"^encoding (.+)$", header, re.MULTILINE)
    line = message.strip().partition(b"\n")[0][:_MAX_SUBJECT_BYTES]  # decoding some encodings takes quadratic time
    try:
        subject = line.decode(named[1].decode() if named else "utf-8", "replace")
    except (LookupError, ValueError):  # not the name of an encoding, or of one that does not know `replace`
        subject = line.decode("utf-8", "replace")
    return subject.encode("utf-8", "replace").decode(), day.date().isoformat()  # without lone surrogates


def _environment() -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_") or name.startswith(_KEPT)}
    # A partial clone must not fetch what it lacks: `remote.origin.uploadpack` names a program.
    fixed = {"GIT_NO_LAZY_FETCH": "1", "GIT_ALLOW_PROTOCOL": "none", "GIT_TERMINAL_PROMPT": "0"}
    return kept | fixed | {"GIT_NO_REPLACE_OBJECTS": "1", "GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C"}
