"""Batches of snippets of similar length."""

import numpy as np
import pytest

from rarename.tasks.sampler import bucketed_batches

LENGTHS = np.random.default_rng(0).integers(1, 60, size=500)


@pytest.mark.parametrize("seed", [None, 0])
def test_batches_hold_each_snippet_once_within_the_limit(seed):
    batches = list(bucketed_batches(LENGTHS, 200, None if seed is None else np.random.default_rng(seed)))
    assert sorted(index for batch in batches for index in batch) == list(range(500))
    padded = [len(batch) * LENGTHS[batch].max() for batch in batches]
    assert max(padded) <= 200
    assert sum(padded) < 1.1 * LENGTHS.sum()  # little padding
    assert sum(padded) > 0.8 * 200 * len(batches)  # full batches


def test_training_is_shuffled_and_evaluation_is_sorted():
    sorted_batches = [index for batch in bucketed_batches(LENGTHS, 200, None) for index in batch]
    assert (np.diff(LENGTHS[sorted_batches]) >= 0).all()
    first, again, other = (list(bucketed_batches(LENGTHS, 200, np.random.default_rng(seed))) for seed in (0, 0, 1))
    assert first == again != other
    means = [LENGTHS[batch].mean() for batch in first]
    assert abs(np.corrcoef(means, range(len(means)))[0, 1]) < 0.3


def test_a_snippet_beyond_the_limit_has_its_own_batch():
    assert list(bucketed_batches(np.array([5, 50, 5]), 10, None)) == [[0, 2], [1]]
    assert list(bucketed_batches(np.zeros(0, np.int64), 10, np.random.default_rng(0))) == []


@pytest.mark.parametrize("seed", [None, 0])
def test_batches_of_a_number_of_snippets_have_like_lengths(seed):
    rng = None if seed is None else np.random.default_rng(seed)
    batches = list(bucketed_batches(LENGTHS, 1, rng, batch_size=32))
    assert sorted(index for batch in batches for index in batch) == list(range(500))
    assert sorted(map(len, batches)) == [500 % 32, *[32] * (500 // 32)]
    assert sum(len(batch) * LENGTHS[batch].max() for batch in batches) < 1.1 * LENGTHS.sum()
