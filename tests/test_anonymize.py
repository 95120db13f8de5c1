"""Replacing rare names by placeholders, and back."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rarename.anonymize import STRATEGIES, anonymize_ranks, anonymize_values
from rarename.errors import TooFewPlaceholders, UnknownName, UsageError
from rarename.vocabulary import Special, Vocabulary

names = st.text(alphabet="abcxyz_VAR12", min_size=1, max_size=6)
snippets = st.lists(st.one_of(st.none(), names), max_size=40)
vocabularies = st.lists(names, max_size=8).map(Vocabulary)
renaming = [name for name, strategy in STRATEGIES.items() if strategy.renames != "none"]

FIGURE_1 = ["my_y", "np", "sin", "my_x", "my_x"]


@pytest.mark.parametrize(
    ("strategy", "expected"),
    [
        ("standard", "UNK np sin UNK UNK"),
        ("ordered", "VAR1 np sin VAR2 VAR2"),
        ("by_frequency", "VAR2 np sin VAR1 VAR1"),
        ("full", "VAR1 VAR2 VAR3 VAR4 VAR4"),
    ],
)
def test_figure_1_of_the_paper(strategy, expected):
    assert anonymize_values(FIGURE_1, ["np", "sin"], strategy).values == tuple(expected.split())


def test_frequency_breaks_ties_by_first_appearance():
    snippet = ["once", "also_once", "twice", "twice"]
    assert anonymize_values(snippet, [], "by_frequency").values == ("VAR2", "VAR3", "VAR1", "VAR1")


def test_the_vocabulary_size_is_the_first_rare_rank():
    assert anonymize_ranks(np.array([2, 1, 0]), 2, num_placeholders=9).tolist() == [len(Special) + 2, 7, 6]


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("vocabulary_size", [0, 3])
def test_special_values_are_never_renamed(strategy, vocabulary_size):
    ranks = np.array([special.rank for special in Special])
    ids = anonymize_ranks(ranks, vocabulary_size, strategy, num_placeholders=9, seeds=[0])
    assert ids.tolist() == [int(special) for special in Special]


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_only_identifiers_are_renamed(strategy):
    values = anonymize_values(["x", None, "'text'", "y"], [], strategy, is_identifier=[True, True, False, True]).values
    assert values[1:3] == (None, "'text'")
    assert "x" not in values and "y" not in values


def test_randomized_depends_on_the_seed_alone():
    same = [anonymize_values(FIGURE_1, [], "randomized", num_placeholders=500, seed=7).values for _ in range(2)]
    other = anonymize_values(FIGURE_1, [], "randomized", num_placeholders=500, seed=8).values
    assert same[0] == same[1] != other


def test_randomized_draws_from_as_many_placeholders_as_the_snippet_is_long():
    drawn = {anonymize_values([None, None, "x"], [], "randomized", seed=seed).values[2] for seed in range(100)}
    assert drawn == {"VAR1", "VAR2", "VAR3"}


def test_randomized_uses_all_placeholders_evenly():
    rows = np.tile(np.arange(3), (4000, 1))
    ids = anonymize_ranks(rows, 0, "randomized", num_placeholders=6, seeds=range(4000)) - len(Special)
    assert np.bincount(ids.ravel(), minlength=6) == pytest.approx(2000, rel=0.1)


def test_randomized_without_a_seed_per_snippet_is_an_error():
    with pytest.raises(UsageError, match="the strategy 'randomized' needs a seed for each snippet"):
        anonymize_ranks(np.array([1]), 0, "randomized", num_placeholders=5)
    with pytest.raises(UsageError, match="1 seeds for more snippets; expected one for each"):
        anonymize_ranks(np.array([[1], [2]]), 0, "randomized", num_placeholders=5, seeds=[0])


@pytest.mark.parametrize(
    ("strategy", "unknown"),
    [("ordered", "UNK last"), ("randomized", "UNK last"), ("full", "UNK last"), ("by_frequency", "UNK first")],
)
def test_names_that_overflow_become_unk(strategy, unknown):
    ranks = np.array([4, 5, 5, 6, 6])
    ids = anonymize_ranks(ranks, 2, strategy, num_placeholders=2, seeds=[0])
    assert (ids == Special.UNK).tolist() == (ranks == (4 if unknown == "UNK first" else 6)).tolist()


@pytest.mark.parametrize("strategy", renaming)
def test_overflow_may_be_an_error(strategy):
    ranks = np.array([4, 5, 6, 4])
    message = "a snippet has 3 rare names, but there are 2 placeholders; set `num_placeholders` to the length of the"
    with pytest.raises(TooFewPlaceholders, match=message):
        anonymize_ranks(ranks, 2, strategy, num_placeholders=2, seeds=[0], on_overflow="error")
    ids = anonymize_ranks(ranks, 2, strategy, num_placeholders=3, seeds=[0], on_overflow="error")
    assert sorted(set(ids)) == [8, 9, 10]


def test_a_huge_number_of_placeholders_costs_nothing():
    assert len(set(anonymize_values(["a", "b"], [], "randomized", num_placeholders=10**12).values)) == 2


def test_wrong_arguments_are_refused():
    with pytest.raises(UnknownName, match="no strategy 'sorted'; choose one of standard, ordered"):
        anonymize_values([], [], "sorted")
    with pytest.raises(UsageError, match="-7 is neither a rank nor the code of a special value"):
        anonymize_ranks(np.array([1, -7]), 5, num_placeholders=5)
    for size, num_placeholders in ((-1, 5), (5, -1)):
        with pytest.raises(UsageError, match="cannot be below 0"):
            anonymize_ranks(np.array([1]), size, num_placeholders=num_placeholders)


@pytest.mark.parametrize("shape", [(0,), (0, 5), (3, 0)])
def test_empty_arrays_keep_their_shape(shape):
    assert anonymize_ranks(np.empty(shape, dtype=np.int32), 5, num_placeholders=5).shape == shape


def test_restore_puts_names_into_other_values():
    result = anonymize_values(FIGURE_1, ["np", "sin"])
    assert result.names == {"VAR1": "my_y", "VAR2": "my_x"}
    assert result.restore(["np", "VAR2", None, "VAR9"]) == ["np", "my_x", None, "VAR9"]
    assert result.restore([]) == []


@given(snippets, vocabularies, st.sampled_from(renaming), st.integers(0, 9))
def test_renaming_is_one_to_one_and_can_be_undone(snippet, vocabulary, strategy, seed):
    result = anonymize_values(snippet, vocabulary, strategy, seed=seed)
    pairs = {(old, new) for old, new in zip(snippet, result.values, strict=True) if old is not None}
    assert len(pairs) == len({old for old, _ in pairs}) == len({new for _, new in pairs})
    assert result.restore() == snippet


@given(
    st.lists(st.lists(st.integers(-6, 12), min_size=6, max_size=6), min_size=1, max_size=8),
    st.integers(0, 8),
    st.sampled_from(list(STRATEGIES)),
)
@example([[7, 8, -1, -1, -1, -1], [9, 9, -1, -1, -1, -1]], 0, "by_frequency")
def test_a_snippet_does_not_depend_on_its_batch(rows, size, strategy):
    batch, seeds = np.array(rows), list(range(len(rows)))
    together = anonymize_ranks(batch, size, strategy, num_placeholders=4, seeds=seeds)
    for row, seed, ids in zip(batch, seeds, together, strict=True):
        assert ids.tolist() == anonymize_ranks(row, size, strategy, num_placeholders=4, seeds=[seed]).tolist()


@given(st.lists(st.integers(0, 30), max_size=40), st.integers(0, 20))
def test_the_fast_numbering_equals_the_obvious_one(ranks, size):
    numbers: dict[int, int] = {}
    obvious = [rank if rank < size else size + numbers.setdefault(rank, len(numbers)) for rank in ranks]
    ids = anonymize_ranks(np.array(ranks, dtype=np.int64), size, num_placeholders=50)
    assert (ids - len(Special)).tolist() == obvious


def test_identifiers_are_a_list_or_a_function():
    values, expected = ["x", "1", None], ("VAR1", "1", None)
    for is_identifier in ([True, False, False], str.isidentifier):
        assert anonymize_values(values, [], is_identifier=is_identifier).values == expected
    with pytest.raises(ValueError, match="is_identifier has 1 items for 3 values"):
        anonymize_values(values, [], is_identifier=[True])
