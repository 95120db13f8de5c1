"""git as a subprocess that executes nothing that a repository configures."""

import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import IO

from rarename.errors import UsageError

DIFF_OPTIONS = (
    *("--patch", "--unified=0", "--no-renames", "--no-color", "--no-ext-diff", "--no-textconv", "--ignore-submodules"),
    *("--src-prefix=a/", "--dst-prefix=b/", "--inter-hunk-context=0"),
)
_COMMAND = (
    *("git", "--no-pager", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null"),
    *("-c", "core.quotePath=false"),
)


def git(
    folder: Path,
    *words: str,
    stdin: str = "",
    stdout: IO[bytes] | None = None,
    environment: Mapping[str, str] | None = None,
) -> str:
    """Run a command of git in a folder. Its output is returned, or written to `stdout`."""
    output = stdout or subprocess.PIPE
    try:
        done = subprocess.run(
            [*_COMMAND, *words],
            cwd=folder, env=environment, input=stdin.encode(), stdout=output, stderr=subprocess.PIPE, check=False,
        )  # fmt: skip
    except FileNotFoundError:
        raise UsageError("git is needed, and it is not installed") from None
    if done.returncode:
        message = " ".join(done.stderr.decode(errors="replace").split())
        raise UsageError(f"git {words[0]} failed: {message or f'exit code {done.returncode}'}")
    return (done.stdout or b"").decode("utf-8", "surrogateescape")
