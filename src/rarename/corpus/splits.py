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

    Projects come in an order drawn from the seed. Each goes to test or validation, whichever has more room left, if it
    fits there; what does not fit, and all others once the shares are nearly full, is for training. A split that got
    nothing takes the smallest project of training, if another one remains there.

    >>> splits = assign({"a": 50, "b": 40, "c": 5, "d": 5}, seed=0)
    >>> sorted((name, str(split)) for name, split in splits.items())
    [('a', 'train'), ('b', 'train'), ('c', 'test'), ('d', 'validation')]
    """
    total = sum(sizes.values())
    room = {split: share * total for split, share in shares.items()}
    result = dict.fromkeys(sorted(sizes, key=lambda project: _draw(project, seed)), SplitName.TRAIN)
    for project in result:
        split = max(room, key=lambda split: room[split] / shares[split])
        # Filling the last gap would draw the smallest projects into every test split.
        if sizes[project] <= room[split] and room[split] > 0.05 * shares[split] * total:
            result[project] = split
            room[split] -= sizes[project]
    for split in shares:
        trained = [project for project, given in result.items() if given == SplitName.TRAIN]
        if split not in result.values() and len(trained) > 1:
            result[min(trained, key=lambda project: sizes[project])] = split
    return result


def _draw(project: str, seed: int) -> bytes:
    return hashlib.blake2b(f"{seed}\0{project}".encode("utf-8", "surrogateescape"), digest_size=8).digest()


def read_splits(path: Path) -> dict[str, SplitName]:
    """Read which project belongs to which split: lines of a split's name, a blank, a project."""
    result = {}
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: the list of splits cannot be read: {error}") from None
    for number, line in enumerate(lines, start=1):
        if not line.strip() or line.startswith("#"):
            continue
        name, _, project = line.strip().partition(" ")
        if name not in list(SplitName) or not project:
            raise UsageError(
                f"{path}:{number}: expected one of {', '.join(SplitName)}, a blank and a project, not {line!r}"
            )
        result[project.strip()] = SplitName(name)
    return result
