"""Rare names to placeholders and back."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rarename.anonymize import STRATEGIES, anonymize_ranks, anonymize_values
from rarename.errors import TooFewPlaceholders, UnknownName, UsageError
from rarename.vocabulary import Special, Vocabulary, is_placeholder

names = st.text(alphabet="abcxyz_VAR12", min_size=1, max_size=6)
snippets = st.lists(st.one_of(st.none(), names), max_size=40)
vocabularies = st.lists(names, max_size=8).map(Vocabulary)
renaming = [name for name, strategy in STRATEGIES.items() if strategy.renames != "none"]

FIGURE_1 = ["my_y", "np", "sin", "my_x", "my_x"]


def test_figure_1_of_the_paper():
    assert anonymize_values(FIGURE_1, ["np", "sin"]).values == ("VAR1", "np", "sin", "VAR2", "VAR2")
    assert anonymize_values(FIGURE_1, ["np", "sin"], "standard").values == ("UNK", "np", "sin", "UNK", "UNK")


def test_frequency_numbers_the_most_frequent_name_first_and_breaks_ties_by_appearance():
    snippet = ["once", "also_once", "twice", "twice"]
    assert anonymize_values(snippet, [], "by_frequency").values == ("VAR2", "VAR3", "VAR1", "VAR1")


def test_full_renames_frequent_names_too():
    assert anonymize_values(FIGURE_1, ["np", "sin"], "full").values == (
        "VAR1",
        "VAR2",
        "VAR3",
        "VAR4",
        "VAR4",
    )


def test_full_is_ordered_with_an_empty_vocabulary():
    assert anonymize_values(FIGURE_1, [], "ordered").values == anonymize_values(FIGURE_1, ["np"], "full").values


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_missing_values_are_never_renamed(strategy):
    assert anonymize_values([None, "rare", None], [], strategy).values[::2] == (None, None)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_special_values_stay_special_when_the_vocabulary_is_empty(strategy):
    ranks = np.array([special.rank for special in Special])
    ids = anonymize_ranks(ranks, 0, strategy, num_placeholders=9, seeds=[0])
    assert ids.tolist() == [int(special) for special in Special]


def test_what_is_no_identifier_stays():
    values = anonymize_values(["x", "'text'"], [], is_identifier=[True, False]).values
    assert values == ("VAR1", "'text'")


def test_randomized_depends_on_the_seed_alone():
    same = [anonymize_values(FIGURE_1, [], "randomized", num_placeholders=500, seed=7).values for _ in range(2)]
    other = anonymize_values(FIGURE_1, [], "randomized", num_placeholders=500, seed=8).values
    assert same[0] == same[1] != other


def test_randomized_numbers_do_not_depend_on_the_neighbours_in_a_batch():
    rows = np.array([[5, 6, 5, 7], [9, 9, 8, 7]])
    batch = anonymize_ranks(rows, 2, "randomized", num_placeholders=50, seeds=[3, 4])
    alone = anonymize_ranks(rows[1], 2, "randomized", num_placeholders=50, seeds=[4])
    assert batch[1].tolist() == alone.tolist()


def test_randomized_uses_all_placeholders_evenly():
    rows = np.tile(np.arange(3), (4000, 1))
    ids = anonymize_ranks(rows, 0, "randomized", num_placeholders=6, seeds=range(4000)) - len(Special)
    assert np.bincount(ids.ravel(), minlength=6) == pytest.approx(2000, rel=0.1)


def test_randomized_without_seeds_is_an_error():
    with pytest.raises(UsageError, match="needs a seed for each snippet"):
        anonymize_ranks(np.array([1]), 0, "randomized", num_placeholders=5)


@pytest.mark.parametrize("strategy", renaming)
def test_surplus_names_become_unknown_in_use_and_an_error_in_training(strategy):
    ranks = np.array([4, 5, 6, 4])
    ids = anonymize_ranks(ranks, 2, strategy, num_placeholders=2, seeds=[0])
    assert (ids == Special.UNK).sum() == 1
    with pytest.raises(TooFewPlaceholders, match="3 rare names, but there are 2 placeholders; set `num_placeholders`"):
        anonymize_ranks(ranks, 2, strategy, num_placeholders=2, seeds=[0], on_overflow="error")


def test_an_unknown_strategy_names_the_choices():
    with pytest.raises(UnknownName, match="no strategy 'sorted'; choose one of standard, ordered"):
        anonymize_values([], [], "sorted")


def test_nothing_is_restored_to_nothing():
    assert anonymize_values(["a", "b"], []).restore([]) == []


def test_fewer_seeds_than_snippets_are_an_error():
    with pytest.raises(UsageError, match="1 seeds for more snippets; expected one for each"):
        anonymize_ranks(np.array([[1], [2]]), 0, "randomized", num_placeholders=5, seeds=[0])


def test_a_code_that_is_none_is_an_error():
    with pytest.raises(UsageError, match="-7 is neither a rank nor the code of a special value"):
        anonymize_ranks(np.array([1, -7]), 5, num_placeholders=5)


def test_a_huge_number_of_placeholders_costs_nothing():
    values = anonymize_values(["a", "b"], [], "randomized", num_placeholders=10**12).values
    assert len(set(values)) == 2


def test_negative_sizes_are_an_error():
    with pytest.raises(UsageError, match="cannot be below 0"):
        anonymize_ranks(np.array([1]), -1, num_placeholders=5)


@pytest.mark.parametrize("shape", [(0,), (0, 5), (3, 0)])
def test_empty_arrays_pass_through(shape):
    assert anonymize_ranks(np.empty(shape, dtype=np.int32), 5, num_placeholders=5).shape == shape


@given(snippets, vocabularies, st.sampled_from(renaming), st.integers(0, 9))
def test_no_strategy_but_standard_merges_two_names(snippet, vocabulary, strategy, seed):
    result = anonymize_values(snippet, vocabulary, strategy, seed=seed)
    pairs = {(old, new) for old, new in zip(snippet, result.values, strict=True) if old is not None}
    assert len(pairs) == len({old for old, _ in pairs}) == len({new for _, new in pairs})


@given(snippets, vocabularies, st.sampled_from(renaming), st.integers(0, 9))
def test_every_renaming_can_be_undone(snippet, vocabulary, strategy, seed):
    assert anonymize_values(snippet, vocabulary, strategy, seed=seed).restore() == snippet


@given(snippets, vocabularies, st.sampled_from(["ordered", "by_frequency"]))
def test_ordered_is_invariant_under_renaming_of_rare_names(snippet, vocabulary, strategy):
    other = [value if value is None or value in vocabulary else f"other_{value}_name" for value in snippet]
    assert (
        anonymize_values(snippet, vocabulary, strategy).values == anonymize_values(other, vocabulary, strategy).values
    )


@given(snippets, vocabularies)
def test_frequent_names_keep_their_name(snippet, vocabulary):
    values = anonymize_values(snippet, vocabulary).values
    for old, new in zip(snippet, values, strict=True):
        assert (old == new) == (old is None or old in vocabulary or old == new)
        if old is not None and old not in vocabulary:
            assert is_placeholder(new)


@given(
    st.lists(st.lists(st.integers(-6, 12), min_size=6, max_size=6), min_size=1, max_size=8),
    st.integers(0, 8),
    st.sampled_from(list(STRATEGIES)),
)
def test_a_batch_is_its_rows(rows, size, strategy):
    batch = np.array(rows)
    seeds = list(range(len(rows)))
    together = anonymize_ranks(batch, size, strategy, num_placeholders=6, seeds=seeds)
    alone = [
        anonymize_ranks(row, size, strategy, num_placeholders=6, seeds=[seed])
        for row, seed in zip(batch, seeds, strict=True)
    ]
    assert together.tolist() == [row.tolist() for row in alone]


@given(st.lists(st.integers(0, 30), max_size=40), st.integers(0, 20))
def test_the_fast_numbering_equals_the_obvious_one(ranks, size):
    numbers: dict[int, int] = {}
    obvious = [rank if rank < size else size + numbers.setdefault(rank, len(numbers)) for rank in ranks]
    ids = anonymize_ranks(np.array(ranks, dtype=np.int64), size, num_placeholders=50)
    assert (ids - len(Special)).tolist() == obvious
