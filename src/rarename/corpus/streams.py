"""Compressed files as streams that cannot take more than their share of memory and time."""

import bz2
import gzip
import io
import lzma
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

STREAM_ERRORS = (OSError, EOFError, zlib.error, lzma.LZMAError, ValueError)
"""What reading a damaged stream raises."""


Stream = io.BufferedReader | gzip.GzipFile | bz2.BZ2File | lzma.LZMAFile


class BudgetSpent(Exception):
    """A stream gave more bytes than it may."""


class Metered(io.RawIOBase):
    """A stream that stops with `BudgetSpent` after a number of bytes, or after those allowed for a step."""

    def __init__(self, stream: Stream, budget: int) -> None:
        self._stream, self._budget = stream, budget
        self._left = self._allowed = budget

    def allow(self, num_bytes: int) -> None:
        """Let the next step, such as reading a header, take so many bytes."""
        self._allowed = num_bytes

    def read(self, size: int = -1) -> bytes:
        """Read some bytes: no more than asked for, and no more than one piece at once."""
        left = min(self._left, self._allowed)
        if left <= 0:
            if not self._stream.read1(1):
                return b""
            if self._left <= 0:
                raise BudgetSpent(f"over {self._budget} bytes, uncompressed")
            raise BudgetSpent("a header larger than any honest one")
        # `read` waits until it has all, and loses what came before a damaged place
        content = self._stream.read1(min(size, left, _PIECE) if size >= 0 else min(left, _PIECE))
        self._left -= len(content)
        self._allowed -= len(content)
        return content


_PIECE = 1 << 20


@contextmanager
def open_stream(path: Path) -> Iterator[Stream]:
    """Open a file for reading, uncompressed as its first bytes ask for: gzip, bzip2, xz, or not at all."""
    with path.open("rb") as raw:
        start = raw.read(6)
        raw.seek(0)
        opened: gzip.GzipFile | bz2.BZ2File | lzma.LZMAFile
        if start.startswith(b"\x1f\x8b"):
            opened = gzip.GzipFile(fileobj=raw)
        elif start.startswith(b"BZh"):
            opened = bz2.BZ2File(raw)
        elif start == b"\xfd7zXZ\x00":
            opened = lzma.LZMAFile(raw)  # noqa: SIM115 - closed below, as the others
        else:
            yield raw
            return
        with opened:
            yield opened


def is_compressed(path: Path) -> bool:
    """Whether a file starts as gzip, bzip2 or xz do."""
    with path.open("rb") as file:
        start = file.read(6)
    return start.startswith((b"\x1f\x8b", b"BZh")) or start == b"\xfd7zXZ\x00"
