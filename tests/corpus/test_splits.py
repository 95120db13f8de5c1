"""Splits by project."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rarename.corpus.splits import SplitName, assign_splits, read_splits
from rarename.errors import UsageError

sizes = st.dictionaries(st.text(max_size=5), st.integers(1, 1000), min_size=1, max_size=40)


@given(sizes, st.integers(0, 5))
def test_every_project_goes_somewhere_and_training_is_never_empty(projects, seed):
    splits = assign_splits(projects, seed)
    assert splits.keys() == projects.keys()
    assert SplitName.TRAIN in splits.values()
    if len(projects) >= 3:
        assert set(splits.values()) == set(SplitName)


@given(sizes, st.integers(0, 5))
def test_the_order_of_the_projects_does_not_matter(projects, seed):
    assert assign_splits(projects, seed) == assign_splits(dict(reversed(projects.items())), seed)


def test_shares_are_met():
    splits = assign_splits({f"p{n}": 10 + n % 7 for n in range(1000)}, seed=0)
    counts = [list(splits.values()).count(name) for name in SplitName]
    assert counts == pytest.approx([800, 100, 100], rel=0.1)


def test_a_line_that_is_none_is_named(tmp_path):
    (tmp_path / "splits.txt").write_text("train a\nexam b\n")
    with pytest.raises(UsageError, match=r"splits.txt:2: expected one of train, validation, test"):
        read_splits(tmp_path / "splits.txt")
