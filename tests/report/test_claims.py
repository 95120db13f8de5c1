"""Every claim has a verdict for every outcome, and every verdict follows from the results alone."""

import math
from functools import partial

import pytest

from rarename.report.claims import CLAIMS, better, within
from rarename.report.page import make_report
from rarename.report.statistics import Difference

FAILS = "does not hold"
ANONYMIZATION, ORDERED, FREQUENCY, FULL, LARGEST, POINTER, BOTH, MORE_MISUSE, MORE_COMPLETION, TYPES, APART = range(11)


def verdicts(results, number):
    return make_report(results.folder).claims[number][1]


def outcome(results, number):
    (verdict,) = verdicts(results, number)
    return verdict.outcome


def difference(mean, error=0.0, seed_std=0.0):
    """With an interval of ± 1.96 standard errors."""
    return Difference(mean, error, 0.0, seed_std, math.inf, 20)


# --- rules --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("mean", "expected"), [(0.05, "holds"), (-0.05, "does not hold"), (0.015, "undecided")])
def test_better_needs_a_significant_difference(mean, expected):
    assert better([difference(mean, 0.01)]) == [(expected, abs(mean))]


def test_better_corrects_for_the_number_of_pairs():
    assert better([difference(0.021, 0.01)])[0][0] == "holds"  # p = 0.036
    assert [found for found, _ in better(2 * [difference(0.021, 0.01)])] == ["undecided"] * 2  # 0.072


@pytest.mark.parametrize(
    ("mean", "error", "expected"),
    [(0.0, 0.005, "holds"), (0.0, 0.006, "undecided"), (0.04, 0.01, "does not hold"), (-0.04, 0.01, "does not hold")],
)
def test_within_needs_the_whole_interval_on_one_side_of_a_bound(mean, error, expected):
    assert within(-0.01, 0.01, [difference(mean, error)])[0][0] == expected


def test_within_is_corrected_only_where_one_pair_may_refute():
    refuting, equal = difference(0.031, 0.01), difference(0.0, 0.005)  # the interval of the first begins at 0.0114
    rule = partial(within, -0.01, 0.01)
    assert [found for found, _ in rule([refuting])] == ["does not hold"]
    assert [found for found, _ in rule([refuting, equal])] == ["undecided", "holds"]


def test_within_returns_the_distance_to_the_nearest_bound():
    assert within(-0.02, 0.0, [difference(-0.005, 0.01)])[0][1] == pytest.approx(0.005)
    assert within(-0.01, math.inf, [difference(0.02, 0.03)])[0][1] == pytest.approx(0.03)


# --- claims -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("number", "cells", "expected"),
    [
        (ANONYMIZATION, {"ordered 100": 0.3, "ordered 9": 0.4, "standard 100": 0.2, "standard 9": 0.3}, "holds"),
        (ANONYMIZATION, {"ordered 100": 0.3, "ordered 9": 0.3, "standard 100": 0.2, "standard 9": 0.4}, FAILS),
        (ANONYMIZATION, {"ordered 100": 0.3, "ordered 9": 0.3, "standard 100": 0.2, "standard 9": 0.3}, "undecided"),
        (ANONYMIZATION, {"ordered 100": 0.3, "ordered 9": 0.3, "standard 100": 0.4, "standard 9": 0.3}, FAILS),
        (ANONYMIZATION, {"ordered 100": 0.4, "standard 100": 0.3, "randomized 100": 0.2}, FAILS),
        (ORDERED, {"ordered 100": 0.295, "randomized 100": 0.3}, "holds"),
        (ORDERED, {"ordered 100": 0.4, "randomized 100": 0.3}, "holds"),
        (ORDERED, {"ordered 100": 0.26, "randomized 100": 0.3}, FAILS),
        (FREQUENCY, {"by_frequency 100": 0.302, "ordered 100": 0.3}, "holds"),
        (FREQUENCY, {"by_frequency 100": 0.34, "ordered 100": 0.3}, FAILS),
        (FREQUENCY, {"by_frequency 100": 0.31, "ordered 100": 0.3}, "undecided"),
        (FULL, {"full 1000": 0.25, "ordered 100": 0.28, "ordered 1000": 0.3}, "holds"),
        (FULL, {"full 1000": 0.29, "ordered 100": 0.28, "ordered 1000": 0.3}, FAILS),
        (FULL, {"full 1000": 0.28, "ordered 100": 0.28, "ordered 1000": 0.3}, "undecided"),
        (LARGEST, {"standard 50000": 0.4, "standard 60000": 0.2, "standard 600000": 0.3}, "holds"),
        (LARGEST, {"standard 50000": 0.4, "standard 60000": 0.2, "standard 600000": 0.5}, FAILS),
        (LARGEST, {"standard 20000": 0.2, "standard 50000": 0.4}, None),
        (POINTER, {"ordered 100": 0.4, "pointer 100": 0.35}, "holds"),
        (POINTER, {"ordered 100": 0.3, "pointer 100": 0.35}, FAILS),
        (POINTER, {"ordered 100": 0.35, "pointer 100": 0.35}, "undecided"),
        (POINTER, {"ordered 100": 0.4, "pointer 1000": 0.35}, None),
    ],
)  # fmt: skip
def test_a_claim_must_hold_at_every_size_and_is_refuted_by_one(results, number, cells, expected):
    task = "completion" if number == POINTER else "misuse"
    results.add_seeds(0.0001, task=task)
    for cell, score in cells.items():
        strategy, size = cell.split()
        is_pointer = strategy == "pointer"
        results.add("standard" if is_pointer else strategy, int(size), score, task=task, pointer=is_pointer)
    assert [verdict.outcome for verdict in verdicts(results, number)] == ([expected] if expected else [])


@pytest.mark.parametrize(
    ("both", "expected"), [(0.401, "holds"), (0.3, "holds"), (0.45, "does not hold"), (0.41, "undecided")]
)
def test_both_is_compared_with_the_better_one_on_validation(results, both, expected):
    results.add_seeds(0.0001, task="completion")
    results.add("ordered", 100, 0.4, task="completion")
    curve = [{"examples": 1000, "validation": {"mrr_values": 0.3}}]
    results.add("standard", 100, 0.6, task="completion", pointer=True, curve=curve)  # better on the test split alone
    results.add("ordered", 100, both, task="completion", pointer=True)
    assert outcome(results, BOTH) == expected


@pytest.mark.parametrize(
    ("number", "most", "expected"),
    [
        (MORE_COMPLETION, 0.445, "holds"), (MORE_COMPLETION, 0.35, "does not hold"),
        (MORE_COMPLETION, 0.47, "does not hold"), (MORE_COMPLETION, 0.45, "undecided"),
        (MORE_MISUSE, 0.449, "holds"), (MORE_MISUSE, 0.42, "does not hold"), (MORE_MISUSE, 0.46, "undecided"),
    ],
)  # fmt: skip
def test_most_placeholders_are_compared_with_the_usual_number(results, number, most, expected):
    task = "misuse" if number == MORE_MISUSE else "completion"
    usual = {"task": task, "settings": {"encoding.num_placeholders": 500}}
    results.add_seeds(0.0001, **usual)
    for size in (20, 100):  # most of the group has 500
        results.add("randomized", size, 0.3, **usual)
    for placeholders, score in ((500, 0.45), (1000, 0.9), (3000, most)):
        results.add("randomized", 1000, score, task=task, settings={"encoding.num_placeholders": placeholders})
    assert outcome(results, number) == expected
    assert verdicts(results, MORE_MISUSE + MORE_COMPLETION - number) == []


@pytest.mark.parametrize(("ordered", "expected"), [(0.4, "holds"), (0.3, "does not hold"), (0.35, "undecided")])
def test_types_are_judged_by_their_own_metric(results, ordered, expected):
    results.add_seeds(0.0001, task="completion")
    metrics = {"mrr_values": 0.9, "by_project": {name: {"mrr_types": ordered, "num_types": 9} for name in "abcdefgh"}}
    other = {"mrr_values": 0.1, "by_project": {name: {"mrr_types": 0.35, "num_types": 9} for name in "abcdefgh"}}
    results.add("ordered", 100, 0.0, task="completion", metrics=metrics)
    results.add("standard", 100, 0.0, task="completion", metrics=other)
    assert outcome(results, TYPES) == expected


@pytest.mark.parametrize(("between", "expected"), [(-0.1, "holds"), (0.04, "holds"), (0.07, "does not hold")])
def test_embeddings_lie_apart_if_both_groups_are_closer_within(results, between, expected):
    cosine = {"within_vocabulary": 0.1, "within_placeholders": 0.05, "between": between}
    results.add("randomized", 1000, 0.3, task="completion", embeddings={"points": [], "cosine": cosine})
    (verdict,) = verdicts(results, APART)
    assert (verdict.outcome, verdict.cosines) == (expected, cosine)


# --- what a verdict rests on --------------------------------------------------------------------------------------


def test_claims_without_cells_have_no_verdict(results):
    results.add("ordered", 100, 0.3)
    assert [found for _, found in make_report(results.folder).claims] == [[]] * len(CLAIMS)


@pytest.mark.parametrize("changes", [{"task": "completion"}, {"preset": "tiny"}, {"code": {"recipe": 2}}, None])
def test_without_a_known_seed_variance_claims_are_undecided(results, changes):
    results.add("ordered", 100, 0.4)
    results.add("standard", 100, 0.3)
    if changes:
        results.add_seeds(**changes, experiment="another")
    (verdict,) = verdicts(results, ANONYMIZATION)
    assert verdict.outcome == "undecided"
    assert verdict.it_takes == "a trial with two seeds"


@pytest.mark.parametrize(("std", "expected"), [(0.001, "holds"), (0.03, "undecided")])
def test_the_seed_variance_may_be_that_of_another_language(results, std, expected):
    results.add("ordered", 100, 0.4)
    results.add("standard", 100, 0.3)
    results.add_seeds(std, language="javascript")
    assert outcome(results, ANONYMIZATION) == expected


def test_changed_settings_are_not_the_claim_of_the_paper(results):
    for size in (20, 100, 1000):
        results.add("ordered", size, 0.4)
    longer = {"settings": {"training.num_epochs": 9.0}}
    results.add("ordered", 20, 0.3, trial="a", **longer)
    results.add("standard", 20, 0.5, trial="b", **longer)
    assert verdicts(results, ANONYMIZATION) == []


@pytest.mark.parametrize(("second_seed", "one_pair", "two_pairs"), [(0.34, 7, 9), (0.307, 2, 2)])
def test_undecided_claims_list_what_would_decide_them(results, second_seed, one_pair, two_pairs):
    """The difference is 0.03 and the seeds' standard deviation 0.0283: 2 · 0.0283² / (0.03 / 1.96)² = 6.8 seeds."""
    for seed, score in enumerate((0.3, second_seed)):
        results.add("standard", 100, score, seed=seed)
    results.add("ordered", 100, 0.35)
    assert verdicts(results, ANONYMIZATION)[0].it_takes == f"about {one_pair} seeds"
    results.add("randomized", 100, 0.35)  # 2.24 in place of 1.96
    assert verdicts(results, ANONYMIZATION)[0].it_takes == f"about {two_pairs} seeds"


def test_projects_that_disagree_need_more_projects_and_not_more_seeds(results):
    results.add_seeds(0.0001)
    results.add("standard", 100, 0.3)
    projects = {f"{number}": {"joint_accuracy": 0.3 + 0.2 * (-1) ** number, "num_buggy": 9} for number in range(4)}
    for scores in (projects, {name: {"joint_accuracy": 0.29, "num_buggy": 9} for name in projects}):
        strategy = "ordered" if scores is projects else "standard"
        results.add(strategy, 100, 0.3, metrics={"joint_accuracy": 0.3, "by_project": scores})
    (verdict,) = verdicts(results, ANONYMIZATION)
    assert (verdict.outcome, verdict.it_takes) == ("undecided", "more than 4 test projects")
