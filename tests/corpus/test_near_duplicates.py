"""Near-duplicates by MinHash."""

import numpy as np
import pytest

from rarename.corpus.near_duplicates import (
    NUM_BANDS,
    NUM_HASHES,
    band_keys,
    first_of_each,
    signature,
    similar_pairs,
    stable_hash,
)

BAND = 8


def hashes(words):
    return np.array([stable_hash(word) for word in words], dtype=np.uint64)


def jaccard(left, right, size=5):
    shingles = [{tuple(words[n : n + size]) for n in range(len(words) - size + 1)} for words in (left, right)]
    return len(shingles[0] & shingles[1]) / len(shingles[0] | shingles[1])


def cluster(signatures):
    """The first file of the cluster of each file."""
    keys, files = band_keys(signatures).ravel(), np.repeat(np.arange(len(signatures)), NUM_BANDS)
    order = np.argsort(keys, kind="stable")
    found = similar_pairs(keys[order], lambda rows: signatures[files[order][rows]])
    first = first_of_each((files[order][left], files[order][right]) for left, right in found)
    return np.array([first.get(file, file) for file in range(len(signatures))])


def with_differences(base, *positions):
    """A signature that differs from another one at these positions."""
    changed = base.copy()
    changed[list(positions)] += 100_000
    return changed


def test_hashes_and_signatures_are_the_same_on_every_machine():
    assert stable_hash("self") == 7_184_761_924_116_163_360
    words = [f"w{n * n % 17}" for n in range(40)]
    assert signature(hashes(words))[:4].tolist() == [288_452_143, 168_290_360, 84_679_717, 465_711_215]
    assert signature(hashes(words[:3]))[:2].tolist() == [133_752_017, 1_936_644_019]


@pytest.mark.parametrize("num_changed", [0, 5, 20, 60, 200])
def test_equal_hashes_estimate_equal_shingles(num_changed):
    rng = np.random.default_rng(num_changed)
    words = [f"w{n}" for n in rng.integers(0, 400, 1000)]
    other = list(words)
    for position in rng.choice(1000, num_changed, replace=False):
        other[position] = f"new{position}"
    estimate = (signature(hashes(words)) == signature(hashes(other))).mean()
    assert estimate == pytest.approx(jaccard(words, other), abs=0.15)


@pytest.mark.parametrize(("num_equal", "clusters"), [(90, [0, 0]), (89, [0, 1])])
def test_files_are_near_duplicates_from_a_fraction_of_0_7(num_equal, clusters):
    base = np.arange(NUM_HASHES, dtype=np.uint32)
    assert cluster(np.stack([base, with_differences(base, *range(num_equal, NUM_HASHES))])).tolist() == clusters


def test_similar_files_that_agree_in_no_band_are_not_compared():
    base = np.arange(NUM_HASHES, dtype=np.uint32)
    once_per_band = range(0, NUM_HASHES, BAND)
    assert cluster(np.stack([base, with_differences(base, *once_per_band)])).tolist() == [0, 1]
    assert cluster(np.stack([base, with_differences(base, *once_per_band[1:])])).tolist() == [0, 0]


@pytest.mark.parametrize(("num_between", "is_found"), [(15, True), (16, False)])
def test_in_a_large_band_16_neighbours_are_compared(num_between, is_found):
    """Two similar files agree in the first band alone, and there other files are between them."""
    base = np.arange(NUM_HASHES, dtype=np.uint32)
    similar = with_differences(base, *range(BAND, NUM_HASHES, BAND))
    others = [with_differences(base, *range(BAND, NUM_HASHES)) for _ in range(num_between)]
    for number, other in enumerate(others):
        other[BAND:] += np.uint32(1000 * number)
    found = cluster(np.stack([base, *others, similar]))
    assert found[:-1].tolist() == list(range(num_between + 1))
    assert (found[-1] == 0) == is_found


def test_two_alternating_files_are_two_clusters():
    base = np.arange(NUM_HASHES, dtype=np.uint32)
    other = with_differences(base, *range(BAND, NUM_HASHES))
    assert cluster(np.stack([base, other] * 500)).tolist() == [0, 1] * 500


def test_resemblance_is_transitive():
    """A resembles B, B resembles C, A does not resemble C: one cluster, named by its first file."""
    base = np.arange(NUM_HASHES, dtype=np.uint32)
    middle, last = with_differences(base, *range(30)), with_differences(base, *range(60))
    assert ((base == last).mean(), (middle == last).mean()) == (68 / 128, 98 / 128)
    assert cluster(np.stack([base + np.uint32(5000), base, last, middle])).tolist() == [0, 1, 1, 1]


def test_short_files_are_compared_as_a_whole():
    same = [signature(hashes(["a", "b"])) for _ in range(2)]
    assert cluster(np.stack([*same, signature(hashes(["a", "c"]))])).tolist() == [0, 0, 2]
    repeated = [signature(hashes(["a"] * length)) for length in (4, 5, 6)]  # the last two have the same shingle
    assert cluster(np.stack(repeated)).tolist() == [0, 1, 1]


def test_no_files_have_no_clusters():
    assert cluster(np.empty((0, NUM_HASHES), dtype=np.uint32)).tolist() == []
