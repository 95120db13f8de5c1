"""Training, validation and test: by project, never by file (paper, section 4.1)."""

import hashlib
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path

from rarename.corpus.document import read_list
from rarename.errors import UsageError


class SplitName(StrEnum):
    """The splits of a corpus."""

    TRAIN = "train"
    VALIDATION = "validation"
    TEST = "test"


FRACTIONS = {SplitName.TEST: 0.1, SplitName.VALIDATION: 0.1}  # of all nodes; training has the rest
GAP = 0.05
"""A split is full when less than this fraction of it is left. Only small projects would fit into the last gap, so
filling it would draw the smallest projects into every test split."""


def assign_splits(sizes: Mapping[str, int], seed: int) -> dict[str, SplitName]:
    """Assign each project, given its size in nodes, to a split.

    Projects come in an order drawn from the seed. Each is assigned to test or validation, whichever has more room left,
    if it fits there. All others are for training. An empty split takes the smallest project of training, unless that
    is the only one.
    """

    def drawn(project: str) -> bytes:
        return hashlib.blake2b(f"{seed}\0{project}".encode("utf-8", "surrogateescape"), digest_size=8).digest()

    total = sum(sizes.values())
    room = {split: fraction * total for split, fraction in FRACTIONS.items()}
    assigned = dict.fromkeys(sorted(sizes, key=drawn), SplitName.TRAIN)
    for project in assigned:
        split = max(room, key=lambda split: room[split] / FRACTIONS[split])
        if sizes[project] <= room[split] and room[split] > GAP * FRACTIONS[split] * total:
            assigned[project] = split
            room[split] -= sizes[project]
    for split in FRACTIONS:
        trained = [project for project, given in assigned.items() if given == SplitName.TRAIN]
        if split not in assigned.values() and len(trained) > 1:
            assigned[min(trained, key=lambda project: sizes[project])] = split
    return assigned


def read_splits(path: Path) -> dict[str, SplitName]:
    """Read the splits of projects: each line is the name of a split, a blank and a project."""
    splits = {}
    for number, line in enumerate(read_list(path).splitlines(), start=1):
        if line.strip() and not line.startswith("#"):
            name, _, project = line.strip().partition(" ")
            if name not in list(SplitName) or not project:
                expected = f"one of {', '.join(SplitName)}, a blank and a project"
                raise UsageError(f"{path}:{number}: expected {expected}, not {line!r}")
            splits[project.strip()] = SplitName(name)
    return splits
