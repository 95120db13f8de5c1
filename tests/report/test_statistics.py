"""Statistics against scipy and by hand."""

import math

import pytest
from scipy import stats

from rarename.report.statistics import MeanStd, SeedVariance, compare, holm, pooled_variance

SEEDS = SeedVariance(0.02, 4)


def test_mean_and_standard_deviation_of_a_sample():
    mean, std = MeanStd.of([0.1, 0.2, 0.6])
    assert mean == pytest.approx(0.3)
    assert std == pytest.approx(0.07**0.5)  # the squares of -0.2, -0.1, 0.3 sum to 0.14; divided by n - 1
    assert MeanStd.of([0.4]) == (0.4, None)


def test_seed_variance_is_pooled_over_cells_with_several_seeds():
    assert pooled_variance([[0.1], [0.5]]) == (math.inf, 1)
    found = pooled_variance([[0.1, 0.3], [0.4, 0.5, 0.6], [0.9]])
    assert found.degrees_of_freedom == 3
    assert found.std**2 == pytest.approx((0.02 + 0.02) / 3)


def test_with_an_unknown_seed_variance_nothing_is_significant():
    found = compare([dict.fromkeys("ab", (0.9, 10))], [dict.fromkeys("ab", (0.1, 10))], SeedVariance())
    assert (found.mean, found.p, found.interval()) == (pytest.approx(0.8), 1, (-math.inf, math.inf))


def test_without_seed_variance_it_is_the_paired_t_test_over_projects():
    ours, others = (0.5, 0.2, 0.4, 0.7, 0.3), (0.3, 0.25, 0.3, 0.5, 0.2)
    first, second = ({str(index): (score, 10) for index, score in enumerate(scores)} for scores in (ours, others))
    found, expected = compare([first], [second], SeedVariance(0.0, 4)), stats.ttest_rel(ours, others)
    assert found.p == pytest.approx(expected.pvalue)
    assert found.interval() == pytest.approx(expected.confidence_interval())
    assert found.interval(0.01) == pytest.approx(expected.confidence_interval(0.99))


def test_without_project_variance_it_is_the_t_test_over_seeds():
    first, second = dict.fromkeys("abcdefgh", (0.32, 10)), dict.fromkeys("abcdefgh", (0.3, 10))
    found = compare([first], [second], SEEDS)
    assert found.p == pytest.approx(2 * stats.t.sf(1 / math.sqrt(2), 4))
    assert found.interval()[1] - 0.02 == pytest.approx(stats.t.isf(0.025, 4) * 0.02 * math.sqrt(2))
    more = compare(3 * [first], [second], SEEDS)
    assert more.seed_error == pytest.approx(0.02 * math.sqrt(1 / 3 + 1))


def test_both_variances_add_up_with_the_degrees_of_freedom_of_welch_and_satterthwaite():
    first = {"a": (0.3, 10), "b": (0.4, 10), "c": (0.5, 10)}
    found = compare([first], [dict.fromkeys("abc", (0.3, 10))], SEEDS)
    assert found.project_error**2 == pytest.approx(0.01 / 3)  # the sample variance of 0, 0.1, 0.2, divided by 3
    assert found.seed_error**2 == pytest.approx(0.0008)
    expected = (0.01 / 3 + 0.0008) ** 2 / ((0.01 / 3) ** 2 / 2 + 0.0008**2 / 4)
    assert found.degrees_of_freedom == pytest.approx(expected)


def test_projects_weigh_as_many_examples_as_they_have():
    first, second = {"a": (0.5, 300), "b": (0.1, 100)}, {"a": (0.3, 300), "b": (0.3, 100)}
    found = compare([first], [second], SeedVariance(0.0, 4))
    assert found.mean == pytest.approx((300 * 0.2 - 100 * 0.2) / 400)
    assert found.degrees_of_freedom == pytest.approx(400**2 / (300**2 + 100**2) - 1)  # 1.6 effective projects


def test_seeds_are_averaged_and_projects_that_one_lacks_left_out():
    first = [{"a": (0.2, 1), "b": (0.2, 1)}, {"a": (0.4, 1), "b": (0.4, 1), "c": (0.9, 1)}]
    found = compare(first, [{"a": (0.1, 1), "b": (0.1, 1), "c": (0.1, 1)}], SEEDS)
    assert (found.mean, found.num_projects) == (pytest.approx(0.2), 2)
    assert compare([{"a": (0.2, 10)}], [{"a": (0.1, 10)}], SEEDS) is None


def test_equal_models_do_not_differ():
    first = dict.fromkeys("ab", (0.3, 10))
    assert compare([first], [first], SeedVariance(0.0, 2)).p == 1
    assert compare([dict.fromkeys("ab", (0.4, 10))], [first], SeedVariance(0.0, 2)).p == pytest.approx(0, abs=1e-6)


def test_holm_never_lowers_a_p_value_and_keeps_the_order():
    assert holm([0.04, 0.01]) == [0.04, 0.02]
    assert holm([0.5, 0.9, 0.6]) == [1.0, 1.0, 1.0]
    assert holm([]) == []
