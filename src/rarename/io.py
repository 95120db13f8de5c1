"""Files that are complete or absent: written under a temporary name, then renamed. Locks between processes."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rarename.errors import UsageError


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A temporary path in the same folder, which becomes `path` when the block ends well.

    The name holds the process id, so that two processes that write the same file do not meet.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        yield temporary
        # Without this a power cut could leave a renamed file without its content.
        with temporary.open("rb") as file:
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Write a text file in UTF-8, whole or not at all."""
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")


@contextmanager
def locked(path: Path, message: str) -> Iterator[None]:
    """Hold an exclusive lock on `path`; raise `UsageError(message)` at once if another process holds it.

    The lock ends with the process that holds it, however that ends; the empty lock file may stay.
    """
    from filelock import FileLock, Timeout  # imports fcntl, which prediction does not need

    lock = FileLock(path, blocking=False)
    try:
        lock.acquire()
    except Timeout as error:
        raise UsageError(message) from error
    try:
        yield
    finally:
        lock.release()
