"""Statistics by small cases that can be done by hand."""

import math

import numpy as np
import pytest

from rarename.report.statistics import (
    MAX_EXACT,
    Luck,
    compare,
    holm,
    luck,
    over_seeds,
    sign_flip,
    spread,
    t_quantile,
    t_test,
)


def test_mean_and_deviation_of_a_sample():
    value = spread([0.1, 0.2, 0.6])
    assert value.mean == pytest.approx(0.3)
    # squares of -0.2, -0.1, 0.3 add up to 0.14; half of it is 0.07
    assert value.deviation == pytest.approx(0.07**0.5)
    assert value.num_seeds == 3


def test_one_seed_has_no_deviation():
    assert spread([0.4]).deviation is None


@pytest.mark.parametrize(
    ("differences", "p"),
    [
        ([1, 2, 3], 2 / 8),  # only +++ and --- are as far from 0 as 6
        ([1, 1, 1, 1, 1], 2 / 32),
        ([3, -1, 1], 6 / 8),  # sums of ±3 ±1 ±1 are 5, 3, 3, 1 and their negatives; 6 of 8 are at least 3 from 0
        ([1, -1], 1.0),
        ([0, 0], 1.0),
    ],
)
def test_signs_are_counted_exactly(differences, p):
    assert sign_flip(np.array(differences, dtype=float)) == p


def test_many_projects_are_drawn_with_a_seed_and_never_reach_zero():
    differences = np.ones(MAX_EXACT + 10)
    assert sign_flip(differences) == sign_flip(differences) == pytest.approx(1 / 10_001)


def test_drawn_and_counted_agree():
    wave = np.array([0.9, -0.4, 0.5, 0.3, -0.2, 0.7, 0.1, -0.6, 0.2, 0.4, 0.3, -0.1, 0.2, 0.5])
    counted = sign_flip(wave)
    drawn = sign_flip(np.append(wave, 0.0))  # one more project without a difference changes nothing, but is drawn
    assert drawn == pytest.approx(counted, abs=0.015)


def test_projects_weigh_as_many_examples_as_they_have():
    ours = {"a": (0.5, 300), "b": (0.1, 100)}
    others = {"a": (0.3, 300), "b": (0.3, 100)}
    found = compare([ours], [others])
    assert found.difference == pytest.approx((300 * 0.2 - 100 * 0.2) / 400)
    assert found.num_projects == 2
    assert found.is_exact
    # of ++, +-, -+, --: 60 ± 20 are 40 and 80; all are at least 40 from 0
    assert found.p == 1.0
    assert found.low == pytest.approx(-0.2)
    assert found.high == pytest.approx(0.2)


def test_seeds_are_averaged_first():
    assert over_seeds([{"a": (0.2, 10)}, {"a": (0.4, 10)}]) == {"a": (pytest.approx(0.3), 10)}
    found = compare([{"a": (0.2, 1), "b": (0.2, 1)}, {"a": (0.4, 1), "b": (0.4, 1)}], [{"a": (0.1, 1), "b": (0.1, 1)}])
    assert found.difference == pytest.approx(0.2)
    assert (found.low, found.high) == (pytest.approx(0.2), pytest.approx(0.2))


def test_one_project_is_no_sample():
    assert compare([{"a": (0.2, 10)}], [{"a": (0.1, 10)}, {"a": (0.1, 10)}]) is None


def test_holm_never_lowers_a_p_and_keeps_the_order():
    assert holm([0.04, 0.01]) == [0.04, 0.02]
    assert holm([0.5, 0.9, 0.6]) == [1.0, 1.0, 1.0]
    assert holm([]) == []


@pytest.mark.parametrize(
    ("freedom", "t"), [(1, 12.706), (2, 4.303), (3, 3.182), (4, 2.776), (5, 2.571), (10, 2.228), (30, 2.042)]
)
def test_t_is_that_of_the_tables(freedom, t):
    assert t_quantile(freedom) == pytest.approx(t, abs=5e-4)
    assert t_test(-t, freedom) == pytest.approx(0.05, abs=5e-5)
    assert t_test(0, freedom) == 1


def test_luck_is_pooled_over_cells_with_several_seeds():
    assert luck([spread([0.1]), spread([0.5])]) is None
    found = luck([spread([0.1, 0.3]), spread([0.4, 0.5, 0.6]), spread([0.9])])
    assert found.freedom == 3
    assert found.deviation**2 == pytest.approx((0.02 + 0.02) / 3)


def test_a_difference_must_be_larger_than_the_luck_of_training():
    ours = [dict.fromkeys("abcdefgh", (0.32, 10))]
    others = [dict.fromkeys("abcdefgh", (0.3, 10))]
    assert compare(ours, others).p == pytest.approx(2 / 2**8)
    found = compare(ours, others, Luck(0.02, 4))
    assert found.p_projects == pytest.approx(2 / 2**8)
    assert found.p == found.p_trainings == pytest.approx(t_test(1 / math.sqrt(2), 4))
    assert (found.low, found.high) == pytest.approx(
        (0.02 - 2.776 * 0.02 * 2**0.5, 0.02 + 2.776 * 0.02 * 2**0.5), abs=1e-4
    )
    more = compare(3 * ours, 3 * others, Luck(0.02, 4))
    assert more.p_trainings < found.p_trainings
    assert more.high - more.low < found.high - found.low
    assert compare(ours, others, Luck(0.0, 2)).p_trainings == 0
