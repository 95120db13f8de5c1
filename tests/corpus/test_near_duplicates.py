"""Near-duplicates by MinHash."""

import numpy as np
import pytest

from rarename.corpus.near_duplicates import NUM_HASHES, cluster, signature, stable_hash


def hashes(words):
    return np.array([stable_hash(word) for word in words], dtype=np.uint64)


def jaccard(left, right, size=5):
    shingles = [{tuple(words[n : n + size]) for n in range(len(words) - size + 1)} for words in (left, right)]
    return len(shingles[0] & shingles[1]) / len(shingles[0] | shingles[1])


def test_hashes_are_the_same_on_every_machine():
    assert stable_hash("self") == 7_184_761_924_116_163_360


@pytest.mark.parametrize("changed", [0, 5, 20, 60, 200])
def test_the_share_of_equal_hashes_estimates_the_share_of_equal_shingles(changed):
    generator = np.random.default_rng(changed)
    words = [f"w{n}" for n in generator.integers(0, 400, 1000)]
    other = list(words)
    for place in generator.choice(1000, changed, replace=False):
        other[place] = f"new{place}"
    estimate = (signature(hashes(words)) == signature(hashes(other))).mean()
    assert estimate == pytest.approx(jaccard(words, other), abs=0.15)


def test_resemblance_is_passed_on():
    """A resembles B, B resembles C, A does not resemble C: one cluster."""
    base = np.arange(NUM_HASHES, dtype=np.uint32)
    middle, last = base.copy(), base.copy()
    middle[:30] += 1000
    last[:60] += 1000
    last[:30] = middle[:30]
    alone = base + 5000
    assert ((base == last).mean(), (middle == last).mean()) == (68 / 128, 98 / 128)
    assert cluster(np.stack([alone, base, last, middle])).tolist() == [0, 1, 1, 1]


def test_short_files_are_compared_as_a_whole():
    same = [signature(hashes(["a", "b"])) for _ in range(2)]
    other = signature(hashes(["a", "c"]))
    assert cluster(np.stack([*same, other])).tolist() == [0, 0, 2]


def test_a_huge_cluster_is_found_whole():
    base = np.arange(NUM_HASHES, dtype=np.uint32)
    assert set(cluster(np.tile(base, (5000, 1))).tolist()) == {0}


def test_no_files_no_clusters():
    assert cluster(np.empty((0, NUM_HASHES), dtype=np.uint32)).tolist() == []
