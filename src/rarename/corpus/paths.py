"""Names of files that others chose: made safe to store and print, and read for the project they tell."""

import re

MAX_LENGTH = 1_000
ARCHIVE_ENDINGS = (".zip", ".whl", ".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tbz2", ".tar.xz", ".txz")

ARCHIVE_WITHIN = "archive inside a folder or archive"
DUPLICATE_NAME = "name occurs twice"
LINK = "link"
SPECIAL_FILE = "not a regular file"
UNREADABLE = "cannot be read"
UNSAFE_NAME = "unsafe name"


def too_large(limit: int) -> str:
    """The reason for leaving out what is larger than a limit.

    >>> too_large(10_000_000), too_large(1500)
    ('over 10 MB', 'over 1500 bytes')
    """
    return f"over {limit // 1_000_000} MB" if limit % 1_000_000 == 0 else f"over {limit} bytes"


def unsafe(name: str) -> str:
    """What is wrong with an archive member's name; empty when nothing is.

    >>> unsafe("a/../../etc/x.py"), unsafe("C:/x.py"), unsafe("a/b.py")
    ('leads out of the archive', 'absolute', '')
    """
    parts = _split(name)
    if not any(parts):
        return "empty"
    if len(name) > MAX_LENGTH:
        return f"longer than {MAX_LENGTH} characters"
    if any(char < " " or char == "\x7f" for char in name):
        return "has control characters"
    if not parts[0] or re.match(r"[A-Za-z]:", name):
        return "absolute"
    return "leads out of the archive" if ".." in parts else ""


def printable(name: str) -> str:
    """A path that can be stored and shown: what cannot be printed is escaped, byte for byte.

    >>> printable("a//./b\\udcff.py"), printable("ä\\u202e.py")
    ('a/b%FF.py', 'ä%E2%80%AE.py')
    """
    path = "/".join(part for part in _split(name) if part not in ("", "."))
    if path.isprintable():
        return path
    return "".join(char if char.isprintable() else _escape(char) for char in path)


def shown(name: str) -> str:
    """A name for a report, of a length that a reader can stand."""
    text = printable(name) or "(no name)"
    return text if len(text) <= 200 else text[:200] + "…"


def repository(path: str) -> str:
    """The `owner/name` that a published path begins with.

    >>> repository("django/django/db/models.py")
    'django/django'
    """
    return "/".join(path.split("/")[:2])


def published(path: str) -> str:
    """A path of a published list, from the owner on: the corpora put it under `data/`.

    >>> published("data/django/django/setup.py"), published("/scratch/py150/data/django/django/setup.py")
    ('django/django/setup.py', 'django/django/setup.py')
    """
    parts = printable(path.strip()).split("/")
    if path.startswith("/") and "data" in parts:
        return "/".join(parts[parts.index("data") + 1 :])
    return "/".join(parts[1:] if parts[0] == "data" else parts)


def is_archive(name: str) -> bool:
    """Whether a file is an archive, by its ending."""
    return name.lower().endswith(ARCHIVE_ENDINGS)


def _split(name: str) -> list[str]:
    return name.replace("\\", "/").split("/")


def _escape(char: str) -> str:
    if "\udc80" <= char <= "\udcff":
        return f"%{ord(char) - 0xDC00:02X}"  # a byte of a file name that is not UTF-8
    return "".join(f"%{byte:02X}" for byte in char.encode("utf-8", "surrogatepass"))
