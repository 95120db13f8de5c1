"""Compressed files as streams with a limit of uncompressed bytes."""

import bz2
import gzip
import io
import lzma
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

STREAM_ERRORS = (OSError, EOFError, zlib.error, lzma.LZMAError, ValueError)  # raised for a damaged stream

Stream = io.BufferedReader | gzip.GzipFile | bz2.BZ2File | lzma.LZMAFile

# By the first bytes of a file.
_OPENERS: dict[bytes, Callable[[io.BufferedReader], Stream]]
_OPENERS = {b"\x1f\x8b": gzip.open, b"BZh": bz2.open, b"\xfd7zXZ\x00": lzma.open}


class BudgetExceeded(Exception):
    """A stream is longer than its budget."""


class MeteredStream(io.RawIOBase):
    """A stream that raises `BudgetExceeded` after `budget` bytes, or after those allowed for the next step."""

    def __init__(self, stream: Stream, budget: int) -> None:
        self._stream, self._budget = stream, budget
        self._left = self._allowed = budget

    def allow(self, num_bytes: int) -> None:
        """Limit the next step, such as reading a header, to `num_bytes`."""
        self._allowed = num_bytes

    def read(self, size: int = -1) -> bytes:
        """Read at most `size` bytes, and at most 1 MiB."""
        left = min(self._left, self._allowed)
        if left <= 0:
            if not self._stream.read1(1):
                return b""
            if self._left <= 0:
                raise BudgetExceeded(f"over {self._budget} bytes, uncompressed")
            raise BudgetExceeded("a header larger than any honest one")
        # `read` would collect all bytes, and lose those before a damaged part
        content = self._stream.read1(min(size if size >= 0 else left, left, 1 << 20))
        self._left -= len(content)
        self._allowed -= len(content)
        return content


@contextmanager
def open_stream(path: Path) -> Iterator[Stream]:
    """Open a file and uncompress it if its first bytes are those of gzip, bzip2 or xz."""
    with path.open("rb") as raw:
        head = raw.peek(6)
        opener = next((opener for start, opener in _OPENERS.items() if head.startswith(start)), None)
        with opener(raw) if opener else nullcontext(raw) as stream:
            yield stream


def is_compressed(path: Path) -> bool:
    """Whether a file starts as gzip, bzip2 or xz files do."""
    with path.open("rb") as file:
        return file.read(6).startswith(tuple(_OPENERS))
