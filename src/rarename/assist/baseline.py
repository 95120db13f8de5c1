"""Baselines: old findings that stay silent. They are matched by the text of their function, not by line."""

import hashlib
import json
import os
import textwrap
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rarename.assist.diagnostics import Diagnostic
from rarename.errors import UsageError
from rarename.io import write_text
from rarename.reading import check_shape, read_json

VERSION = 1


@dataclass(frozen=True)
class Entry:
    """An old finding. Only the fingerprint is compared; the rest is for the reader, and to know when it is gone."""

    path: str  # relative to the folder of the baseline
    function: str
    name: str
    suggestion: str
    confidence: float
    fingerprint: str


def fingerprint(function_text: str, name: str, suggestion: str) -> str:
    """A hash of a function and of what was found in it; indentation and line ends do not matter.

    >>> fingerprint("def f():\\n    a", "a", "b") == fingerprint("def f():\\r\\n    a  ", "a", "b")
    True
    """
    text = textwrap.dedent("\n".join(line.rstrip() for line in function_text.splitlines()))
    content = "\0".join((text, name, suggestion))
    return hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def read_baseline(path: Path) -> list[Entry]:
    """Read a baseline."""
    try:
        content = read_json(path)
        check_shape(content, {"version": int})
        if content["version"] != VERSION:
            raise UsageError(f"{path} has version {content['version']!r}; this rarename reads version {VERSION}")
        check_shape(content, {"findings": [Entry.__annotations__]})
        return [Entry(**{key: entry[key] for key in Entry.__annotations__}) for entry in content["findings"]]
    except FileNotFoundError:
        raise UsageError(f"there is no baseline {path}; write one with --baseline {path} --write-baseline") from None
    except (OSError, ValueError) as error:
        raise UsageError(f"{path} is not a baseline: {error}; write it again with --write-baseline") from error


def write_baseline(path: Path, entries: Sequence[Entry]) -> None:
    """Write a baseline, sorted, so that two branches merge well."""
    ordered = sorted(entries, key=lambda each: (each.path, each.function, each.fingerprint))
    content = {"version": VERSION, "findings": [vars(each) for each in ordered]}
    write_text(path, json.dumps(content, indent=1, ensure_ascii=True) + "\n")


def entries_of(diagnostics: Sequence[Diagnostic], real_paths: Mapping[str, Path], folder: Path) -> list[Entry]:
    """The entries of a new baseline in a folder."""
    return [
        Entry(
            _relative(real_paths.get(each.path, Path(each.path)), folder),
            each.function,
            each.name,
            each.suggestion,
            round(each.confidence, 4),
            each.fingerprint,
        )
        for each in diagnostics
    ]


class KnownFindings:
    """Separates new findings from those of a baseline. Equal entries match one diagnostic each."""

    def __init__(self, entries: Sequence[Entry]) -> None:
        self.matched: list[Diagnostic] = []
        self._unmatched = Counter(entry.fingerprint for entry in entries)

    def new(self, diagnostics: Sequence[Diagnostic]) -> list[Diagnostic]:
        """The diagnostics that match no entry which is left."""
        new = []
        for each in diagnostics:
            if self._unmatched[each.fingerprint] > 0:
                self._unmatched[each.fingerprint] -= 1
                self.matched.append(each)
            else:
                new.append(each)
        return new


def remaining_entries(
    entries: Sequence[Entry], matched: Sequence[Entry], folder: Path, thresholds: Mapping[Path, float]
) -> list[Entry]:
    """The entries without those that are gone for sure: their file was checked, or does not exist any more.

    `matched` has the old findings where they are now. An entry whose finding has moved to another file gets the path of
    that file. `thresholds` has the checked files. An entry below the threshold of its file was not looked for, so it
    stays.
    """
    found = Counter((each.path, each.fingerprint) for each in matched)
    remaining, absent = [], []
    for entry in entries:
        path = Path(os.path.normpath(folder / entry.path))
        if found[entry.path, entry.fingerprint] > 0:
            found[entry.path, entry.fingerprint] -= 1
            remaining.append(entry)
        elif (path in thresholds and entry.confidence >= thresholds[path]) or not _exists(path):
            absent.append(entry)
        else:
            remaining.append(entry)
    elsewhere = defaultdict(list)
    for name, fingerprint in found.elements():
        elsewhere[fingerprint].append(name)
    moved = [replace(each, path=names.pop()) for each in absent if (names := elsewhere[each.fingerprint])]
    return remaining + moved


def _exists(path: Path) -> bool:
    return os.path.exists(path)  # noqa: PTH110 (`Path.exists` raises an error for names that no file can have)


def merged_entries(old: Sequence[Entry], new: Sequence[Entry], folder: Path, checked: Collection[Path]) -> list[Entry]:
    """The entries of `--write-baseline`: new ones for the checked files, old ones for files that still exist."""
    kept = [
        entry for entry in old if (path := Path(os.path.normpath(folder / entry.path))) not in checked and _exists(path)
    ]
    return [*kept, *new]


def _relative(path: Path, folder: Path) -> str:
    return Path(os.path.relpath(path, folder)).as_posix()
