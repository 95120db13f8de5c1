"""The split of the projects with real bugs follows its stated rule, so that a new project has one place."""

import hashlib
from collections import Counter
from pathlib import Path

from rarename.corpus.splits import read_splits

SPLITS = Path(__file__).parents[2] / "experiments" / "corpora" / "real-bugs-splits.txt"


def test_each_project_is_in_the_part_of_its_hash():
    splits = read_splits(SPLITS)
    for project, split in splits.items():
        byte = hashlib.sha256(project.lower().encode()).digest()[0]
        assert split == ("train" if byte < 153 else "validation" if byte < 204 else "test"), project
    assert Counter(splits.values()) == {"train": 157, "validation": 76, "test": 56}
