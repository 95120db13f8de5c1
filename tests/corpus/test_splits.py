"""Splits by project."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rarename.corpus.splits import SplitName, assign_splits, read_splits
from rarename.errors import SourceError, UsageError

sizes = st.dictionaries(st.text(max_size=5), st.integers(1, 1000), min_size=1, max_size=40)


def projects_of(splits, name):
    return {project for project, split in splits.items() if split == name}


@given(sizes, st.integers(0, 5))
def test_every_project_is_assigned_and_no_split_is_empty(projects, seed):
    splits = assign_splits(projects, seed)
    assert splits.keys() == projects.keys()
    assert SplitName.TRAIN in splits.values()
    if len(projects) >= 3:
        assert set(splits.values()) == set(SplitName)
    assert splits == assign_splits(dict(reversed(projects.items())), seed)


@pytest.mark.parametrize(
    ("seed", "validation", "test"),
    [(0, {"p7", "p10"}, {"p0", "p1", "p6", "p9"}), (1, {"p1", "p3", "p14"}, {"p0", "p17"})],
)
def test_the_same_seed_gives_the_same_splits(seed, validation, test):
    splits = assign_splits({f"p{number}": number + 1 for number in range(20)}, seed)
    assert projects_of(splits, "validation") == validation
    assert projects_of(splits, "test") == test


def test_a_split_is_full_when_5_percent_of_it_are_left():
    splits = assign_splits({f"p{number}": 1 for number in range(1000)}, seed=0)
    assert [len(projects_of(splits, name)) for name in SplitName] == [810, 95, 95]


def test_a_project_that_does_not_fit_is_for_training():
    splits = assign_splits({"huge": 1000, "exact": 101, "tiny": 1}, seed=0)  # 110.2 nodes fit into a split
    assert splits["huge"] == "train"
    assert splits["exact"] != "train"


def test_an_empty_split_takes_the_smallest_project_of_training():
    assert assign_splits({"a": 50, "b": 40, "c": 45}, seed=0) == {"a": "train", "b": "test", "c": "validation"}
    assert assign_splits({"a": 50, "b": 40}, seed=0) == {"a": "train", "b": "test"}
    assert assign_splits({"a": 50}, seed=0) == {"a": "train"}


def test_a_list_of_splits_is_read_and_checked(tmp_path):
    (tmp_path / "splits.txt").write_text("# by hand\n\ntrain a\ntest  b c \n")
    assert read_splits(tmp_path / "splits.txt") == {"a": "train", "b c": "test"}
    (tmp_path / "splits.txt").write_text("train a\nexam b\n")
    with pytest.raises(UsageError, match=r"splits.txt:2: expected one of train, validation, test, a blank and a proj"):
        read_splits(tmp_path / "splits.txt")
    with pytest.raises(SourceError, match="the list cannot be read"):
        read_splits(tmp_path / "nowhere")
