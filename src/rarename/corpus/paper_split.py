"""The paper's split of PY150 and JS150, by the rules and lists of its authors.

A record stays if its path is not a listed duplicate, if no identical record was kept before (training file first, then
evaluation file) and, in Python, if a manifest of redistributable files has it. The list with its owner is its split.
"""

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np

from rarename.corpus.document import PrepareConfig, Source, read_list
from rarename.corpus.record_files import DECISIONS, RecordSource
from rarename.corpus.splits import SplitName
from rarename.errors import SourceError, UsageError
from rarename.progress import Progress

FILES = {
    "py150": ("python", ("python100k_train.json", "python50k_eval.json")),
    "js150": ("javascript", ("programs_training.json", "programs_eval.json")),
}
PUBLISHED_FILES = {"python": (76_467, 8_004, 38_694), "javascript": (69_038, 8_665, 41_542)}
"""Files of training, validation and test in the paper's split."""

PUBLISHED_EXAMPLES = {
    ("misuse", "python"): ("417K functions", "231K functions"),
    ("misuse", "javascript"): ("202K functions", "108K functions"),
    ("completion", "python"): ("186K windows", "100K windows"),
    ("completion", "javascript"): ("270K windows", "220K windows"),
}
"""What the paper trained and tested on, by task and language; it does not say how much it validated on."""

_ABBREVIATIONS = {"python": "py", "javascript": "js"}
_LISTS = {SplitName.TRAIN: "train", SplitName.VALIDATION: "val", SplitName.TEST: "test"}
_PY_PREFIX, _DATA = "/scratchvol/miallama/py150/", "data/"
_RECORDS_PER_STEP = 1_000  # of the progress


def for_paper_split(config: PrepareConfig) -> PrepareConfig:
    """The config without any filter of ours."""
    if config.sources.paper_split is None:
        return config
    others = (config.splits, config.sources.duplicate_clusters, *config.sources.allow_lists)
    if any(others):
        raise UsageError("--paper-split brings its own lists; leave out --splits, --duplicate-clusters, --allow-list")
    no_limit = 2**31 - 1
    sources = replace(config.sources, max_record_bytes=no_limit, split_by="owner")
    return replace(config, max_nodes=no_limit, keep_near_duplicates=True, sources=sources)


def read_owners(lists: Path, language: str) -> dict[str, SplitName]:
    """The split of each GitHub owner; of two lists with the same owner, the first counts."""
    splits: dict[str, SplitName] = {}
    for split, name in _LISTS.items():
        path = lists / "repos" / f"{name}_repos_{_ABBREVIATIONS[language]}.txt"
        for number, line in enumerate(read_list(path).split("\n"), start=1):
            if set(line) & set('/ "[{'):
                raise SourceError(f"{path}:{number}: expected one GitHub owner, met {line[:60]!r}")
            if line:
                splits.setdefault(line, split)
    return splits


def mark_kept(sources: Sequence[Source], lists: Path, language: str, work: Path, progress: Progress) -> list[Source]:
    """Decide for each record whether it stays. The decisions of a source are a file, which its readers use."""
    owners, duplicates = read_owners(lists, language), _read_duplicates(lists, language)
    allowed = _read_manifests(lists) if language == "python" else None
    seen: set[bytes] = set()
    marked: list[Source] = []
    for source in sources:
        if not isinstance(source, RecordSource):
            raise UsageError(f"{source.origin.spec}: --paper-split needs py150:DIR or js150:DIR")
        if source.record_paths is None:
            raise SourceError(f"{source.path.with_suffix('.txt')}: no such list of the paths of {source.path.name}")
        codes, num_read = list[int](), 0
        progress.start(f"choosing records of {source.path.name}, in MB", source.path.stat().st_size >> 20)
        for path, digest, offset in _records(source.path, source.record_paths):
            if len(codes) % _RECORDS_PER_STEP == 0:
                progress.advance((offset >> 20) - num_read)
                num_read = offset >> 20
            if path in duplicates:
                codes.append(DECISIONS.index("listed as duplicate"))
            elif digest in seen:
                codes.append(DECISIONS.index("identical record"))
            elif allowed is not None and path not in allowed:
                codes.append(DECISIONS.index("not in a manifest"))
            elif path.split("/")[0] not in owners:
                codes.append(DECISIONS.index("owner in no list"))
            else:
                codes.append(DECISIONS.index("kept"))
                seen.add(digest)
        decisions = work / f"paper-split-{source.index}.npy"
        np.save(decisions, np.array(codes, dtype=np.int8))
        marked.append(replace(source, decisions=decisions.resolve()))
    return marked


def _records(trees: Path, paths: Path) -> Iterator[tuple[str, bytes, int]]:
    """The path, from the owner on, and a digest of each record, and where it ends."""
    offset = 0
    with trees.open("rb") as records, paths.open(encoding="utf-8", errors="surrogateescape") as names:
        for number, (record, name) in enumerate(zip_longest(records, names), start=1):
            if record is None or name is None:
                longer, shorter = (paths, trees) if record is None else (trees, paths)
                raise SourceError(f"{longer}:{number}: {shorter} has only {number - 1} lines; they must fit each other")
            name = name.strip()
            if not name.startswith(_DATA):
                raise SourceError(f"{paths}:{number}: expected data/OWNER/REPOSITORY/…, met {name[:60]!r}")
            offset += len(record)
            yield name[len(_DATA) :], hashlib.blake2b(record.strip(), digest_size=16).digest(), offset


def _read_duplicates(lists: Path, language: str) -> frozenset[str]:
    path = lists / "duplicates" / f"{_ABBREVIATIONS[language]}150-duplicates.json"
    prefix = _PY_PREFIX if language == "python" else ""
    duplicates = []
    for number, group in enumerate(_load(path), start=1):
        names: list[Any] = group if isinstance(group, list) else [None]
        if not all(isinstance(name, str) and name.startswith(prefix) for name in names):
            expected = f"a list of paths{f' that begin with {prefix}' if prefix else ''}"
            raise SourceError(f"{path}: group {number}: expected {expected}, met {str(group)[:60]!r}")
        duplicates += [name[len(prefix) :] for name in names[1:]]
    # The paths of Python begin with data/, those of JavaScript do not.
    start = _DATA if language == "python" else ""
    return frozenset(name[len(start) :] for name in duplicates if name.startswith(start))


def _read_manifests(lists: Path) -> frozenset[str]:
    allowed = []
    for name in ("dev", "train", "eval"):
        path = lists / "py_redistributable_repos" / f"{name}__manifest.json"
        for number, entry in enumerate(_load(path), start=1):
            if not isinstance(entry, dict) or not isinstance(entry.get("filepath"), str):
                raise SourceError(
                    f"{path}: entry {number}: expected an object with a filepath, met {str(entry)[:60]!r}"
                )
            allowed.append(entry["filepath"])
    return frozenset(allowed)


def _load(path: Path) -> list[Any]:
    try:
        content = json.loads(read_list(path))
    except json.JSONDecodeError as error:
        raise SourceError(f"{path}:{error.lineno}: the list is not JSON: {error.msg}") from None
    except RecursionError:
        raise SourceError(f"{path}: the list is nested too deep") from None
    if not isinstance(content, list):
        raise SourceError(f"{path}: expected a JSON list, met {str(content)[:60]!r}")
    return content
