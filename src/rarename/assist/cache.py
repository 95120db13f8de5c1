"""A cache on disk, one file per user, which may be deleted at any time. Without access to it, nothing is cached."""

import os
import sys
import time
import zlib
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import sqlite3

MAX_BYTES = 100_000_000  # when it is full, the half that was not used for the longest time is deleted
_TABLE = "CREATE TABLE IF NOT EXISTS entries (key BLOB PRIMARY KEY, day INTEGER NOT NULL, value BLOB NOT NULL)"
_DELETE_HALF = """DELETE FROM entries WHERE rowid IN
    (SELECT rowid FROM entries ORDER BY day, rowid LIMIT (SELECT (count(*) + 1) / 2 FROM entries))"""


def cache_folder() -> Path:
    """Where programs of this platform keep what can be computed again."""
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "rarename"
    configured = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(configured) if Path(configured).is_absolute() else Path.home() / ".cache") / "rarename"


class Cache:
    """Bytes by key. Several processes may use it at once.

    Values are compressed with a checksum, so a damaged one is not found. A file that is no database is replaced.
    """

    def __init__(self, folder: Path | None = None, max_bytes: int = MAX_BYTES) -> None:
        self._max_bytes, self._day = max_bytes, int(time.time() // 86_400)
        self._used: list[bytes] = []  # keys that were last used on another day
        self._database: sqlite3.Connection | None = None
        with suppress(ImportError, OSError, RuntimeError):  # RuntimeError: there is no home folder
            self._path = (folder or cache_folder()) / "check.sqlite3"
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)  # it contains lines of source text
            self._open()

    def _open(self) -> None:
        import sqlite3  # absent from some builds of Python

        for _ in range(2):
            try:
                # All is lost at a power cut, and that does not matter.
                self._database = sqlite3.connect(self._path, timeout=1.0, isolation_level=None)
                self._database.execute("PRAGMA synchronous = OFF")
                self._database.execute(_TABLE)
                return
            except sqlite3.OperationalError:  # no access, or another process writes for too long
                self._database = None
                return
            except sqlite3.DatabaseError:
                self._remove()

    def _remove(self) -> None:
        if self._database:
            self._database.close()
        self._database = None
        for suffix in ("", "-journal"):
            Path(f"{self._path}{suffix}").unlink(missing_ok=True)

    def get(self, key: bytes) -> bytes | None:
        """The value of a key, if it is known."""
        rows = self._execute("SELECT day, value FROM entries WHERE key = ?", key)
        try:
            for day, value in rows:
                if day != self._day:
                    self._used.append(key)
                return zlib.decompress(value)
        except (zlib.error, TypeError):
            pass
        return None

    def put(self, values: Mapping[bytes, bytes]) -> None:
        """Store values, and delete old ones when there are too many."""
        rows = [(key, self._day, zlib.compress(value, 1)) for key, value in values.items()]
        self._execute("BEGIN IMMEDIATE")
        for row in rows:
            self._execute("INSERT OR REPLACE INTO entries VALUES (?, ?, ?)", *row)
        for key in self._used:
            self._execute("UPDATE entries SET day = ? WHERE key = ?", self._day, key)
        self._used = []
        pages = "SELECT (page_count - freelist_count) * page_size FROM pragma_page_count, pragma_freelist_count, "
        for (num_bytes,) in self._execute(pages + "pragma_page_size"):
            if num_bytes > self._max_bytes:
                self._execute(_DELETE_HALF)
        self._execute("COMMIT")

    def _execute(self, statement: str, *values: object) -> list[Any]:
        if self._database is None:
            return []
        import sqlite3

        try:
            return self._database.execute(statement, values).fetchall()
        except sqlite3.OperationalError:  # read-only, full, or locked for too long
            return []
        except sqlite3.DatabaseError:
            with suppress(OSError):
                self._remove()
            return []
