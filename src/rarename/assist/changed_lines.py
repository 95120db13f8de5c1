"""Lines that changed since a revision of a git repository."""

import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from rarename.assist.diagnostics import Diagnostic
from rarename.errors import UsageError
from rarename.git import DIFF_OPTIONS, git

ChangedLines = Mapping[Path, list[range] | None]
"""For each changed file, by its resolved path, the changed lines. A range `5, 5` is a removal before line 5. A new file
has None: all of its lines."""


def changed_lines(folder: Path, revision: str) -> ChangedLines:
    """The lines that differ from a revision, or from the commit where the current branch left it, uncommitted ones too.

    In a shallow clone, where that commit may be absent, the revision itself is compared.
    """
    root = Path(git(folder, "rev-parse", "--show-toplevel").removesuffix("\n")).resolve()
    try:
        commit = git(root, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}").strip()
    except UsageError:
        raise UsageError(
            f"git has no revision {revision!r} here; in a shallow clone, fetch it first "
            "(git fetch --depth=1 origin BRANCH) and compare with FETCH_HEAD"
        ) from None
    with suppress(UsageError):  # a shallow clone, or unrelated histories
        commit = git(root, "merge-base", commit, "HEAD").strip()
    output = git(root, "diff", *DIFF_OPTIONS, "--raw", "-z", "--text", commit)
    names: list[str] = []
    while output.startswith(":"):
        status, name, output = output.split("\0", 2)
        names += [name] * (1 + status.endswith("T"))  # a file that was a link: both are in the patch, the file last
    sections = re.split(r"^diff --git .*\n", output.removeprefix("\0"), flags=re.MULTILINE)[1:]
    changed: dict[Path, list[range] | None] = {
        root / name: [
            _range(*found.groups()) for found in re.finditer(r"^@@ -\S+ \+(\d+)(?:,(\d+))? @@", section, re.MULTILINE)
        ]
        for name, section in zip(names, sections, strict=True)
    }
    new = git(root, "ls-files", "--others", "--exclude-standard", "-z").split("\0")
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
