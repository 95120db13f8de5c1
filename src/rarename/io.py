"""Files that are complete or absent, and locks between processes."""

import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from glob import escape
from pathlib import Path

from rarename.errors import UsageError


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A temporary path in the same folder, which is renamed to `path` when the block ends without an error.

    A device or a pipe, such as /dev/stdout, is written itself: renaming a file to it would remove it. A link stays,
    and the file that it leads to is replaced.
    """
    if path.exists() and not path.is_file():
        yield path
        return
    target = Path(os.path.realpath(path))
    temporary = target.with_name(f".{target.name}.{uuid.uuid4().hex[:12]}.part")  # two machines may write the same file
    try:
        yield temporary
        with temporary.open("rb") as file:
            os.fsync(file.fileno())  # after a power cut, a renamed file has its content
        temporary.replace(target)
    except OSError as error:
        if error.filename == str(temporary):  # a user does not know this name
            error.filename = str(path)
        raise
    finally:
        with suppress(OSError):  # there is none; on a read-only file system that is another error
            temporary.unlink()


def remove_parts(path: Path) -> None:
    """Remove what a killed process left when it wrote to `path`."""
    for part in path.parent.glob(f".{escape(path.name)}.{'[0-9a-f]' * 12}.part"):
        part.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Write a text file in UTF-8, atomically."""
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")


@contextmanager
def locked(path: Path, message: str) -> Iterator[None]:
    """Hold an exclusive lock on `path`; raise `UsageError(message)` at once if another process holds it.

    The lock ends with the process, even if it is killed. The empty lock file may stay.
    """
    from filelock import FileLock, Timeout  # not needed to read files

    try:
        lock = FileLock(path).acquire(blocking=False)
    except Timeout:
        raise UsageError(message) from None
    with lock:
        yield
