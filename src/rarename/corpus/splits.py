"""Training, validation and test: by project, never by file (paper, section 4.1)."""

import hashlib
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path

from rarename.errors import UsageError


class SplitName(StrEnum):
    """The parts of a corpus."""

    TRAIN = "train"
    VALIDATION = "validation"
    TEST = "test"


SHARES = {SplitName.TEST: 0.1, SplitName.VALIDATION: 0.1}
"""The part of all nodes that each split should hold; training has the rest."""


def assign(sizes: Mapping[str, int], seed: int, shares: Mapping[SplitName, float] = SHARES) -> dict[str, SplitName]:
    """Give each project, of which the size in nodes is known, to a split.

    Projects come in an order drawn from the seed. Test, then validation, takes those that fit until its share
    is nearly full, so a project larger than a share is for training; a split that got nothing takes the
    smallest project left, if another one remains for training.

    >>> splits = assign({"a": 50, "b": 40, "c": 5, "d": 5}, seed=0)
    >>> sorted((name, str(split)) for name, split in splits.items())
    [('a', 'train'), ('b', 'train'), ('c', 'test'), ('d', 'validation')]
    """
    left = sorted(sizes, key=lambda project: _draw(project, seed))
    total = sum(sizes.values())
    result: dict[str, SplitName] = {}
    for split, share in shares.items():
        room, taken = share * total, []
        for project in left:
            # Filling the last gap would draw the smallest projects into every test split.
            if room > 0.05 * share * total and sizes[project] <= room:
                taken.append(project)
                room -= sizes[project]
        if not taken and len(left) > 1:
            taken = [min(left, key=lambda project: sizes[project])]
        result |= dict.fromkeys(taken, split)
        left = [project for project in left if project not in result]
    return result | dict.fromkeys(left, SplitName.TRAIN)


def _draw(project: str, seed: int) -> bytes:
    return hashlib.blake2b(f"{seed}\0{project}".encode("utf-8", "surrogateescape"), digest_size=8).digest()


def read_splits(path: Path) -> dict[str, SplitName]:
    """Read which project belongs to which split: lines of a split's name, a blank, a project."""
    result = {}
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        if not line.strip() or line.startswith("#"):
            continue
        name, _, project = line.strip().partition(" ")
        if name not in list(SplitName) or not project:
            raise UsageError(
                f"{path}:{number}: expected one of {', '.join(SplitName)}, a blank and a project, not {line!r}"
            )
        result[project.strip()] = SplitName(name)
    return result
