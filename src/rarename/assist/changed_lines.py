"""Lines that changed since a revision of a git repository."""

import re
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from rarename.assist.diagnostics import Diagnostic
from rarename.errors import UsageError

ChangedLines = Mapping[Path, list[range] | None]
"""For each changed file, by its resolved path, the changed lines. A range `5, 5` is a removal before line 5. A new file
has None: all of its lines."""


def changed_lines(folder: Path, revision: str) -> ChangedLines:
    """The lines that differ from a revision, or from the commit where the current branch left it, uncommitted ones too.

    In a shallow clone, where that commit may be absent, the revision itself is compared.
    """
    root = Path(_git(folder, "rev-parse", "--show-toplevel").removesuffix("\n")).resolve()
    try:
        commit = _git(root, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}").strip()
    except UsageError:
        raise UsageError(
            f"git has no revision {revision!r} here; in a shallow clone, fetch it first "
            "(git fetch --depth=1 origin BRANCH) and compare with FETCH_HEAD"
        ) from None
    with suppress(UsageError):  # a shallow clone, or unrelated histories
        commit = _git(root, "merge-base", commit, "HEAD").strip()
    options = (
        "--no-ext-diff",
        "--no-textconv",
        "--no-renames",
        "--no-color",
        "--ignore-submodules",
        "--src-prefix=a/",
        "--dst-prefix=b/",
    )
    output = _git(root, "diff", *options, "--raw", "-z", "--patch", "--unified=0", "--text", commit)
    names: list[str] = []
    while output.startswith(":"):
        _, name, output = output.split("\0", 2)
        names.append(name)
    sections = re.split(r"^diff --git .*\n", output.removeprefix("\0"), flags=re.MULTILINE)[1:]
    changed: dict[Path, list[range] | None] = {
        root / name: [
            _range(*found.groups()) for found in re.finditer(r"^@@ -\S+ \+(\d+)(?:,(\d+))? @@", section, re.MULTILINE)
        ]
        for name, section in zip(names, sections, strict=True)
    }
    new = _git(root, "ls-files", "--others", "--exclude-standard", "-z").split("\0")
    return changed | {root / name: None for name in new if name}


def is_touched(diagnostic: Diagnostic, lines: list[range] | None) -> bool:
    """Whether a changed line is inside the function of a diagnostic."""
    first, last = diagnostic.function_line, diagnostic.function_end_line
    return lines is None or any(
        first <= each.stop - 1 and each.start <= last if each else first < each.start <= last for each in lines
    )


def _range(start: str, count: str | None) -> range:
    number = int(count or 1) if count != "0" else 0
    return range(int(start), int(start) + number) if number else range(int(start) + 1, int(start) + 1)


def _git(folder: Path, *words: str) -> str:
    # A repository can name programs to run in its configuration; none of them is run.
    command = ["git", "-c", "core.fsmonitor=false", "-c", "core.quotePath=false", *words]
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, check=False, stdin=subprocess.DEVNULL)
    except FileNotFoundError:
        raise UsageError("--since needs git, which is not installed") from None
    if done.returncode:
        raise UsageError(f"git {words[0]} failed: {done.stderr.decode(errors='replace').strip()}")
    return done.stdout.decode("utf-8", "surrogateescape")
