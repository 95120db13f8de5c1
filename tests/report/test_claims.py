"""Every claim has a verdict for every outcome, and every verdict follows from the results alone."""

import math
from functools import partial

import pytest

from rarename.report.claims import CLAIMS, better, within
from rarename.report.groups import Cell, group_results
from rarename.report.page import make_report
from rarename.report.statistics import Difference

ANONYMIZATION, ORDERED, FREQUENCY, FULL, LARGEST, POINTER, BOTH, MORE_MISUSE, MORE_COMPLETION, TYPES, APART = range(11)


def verdicts(results, number):
    return make_report(results.folder).claims[number][1]


def outcome(results, number):
    (verdict,) = verdicts(results, number)
    return verdict.outcome


def difference(mean, error=0.0, seed_std=0.0):
    """With an interval of ± 1.96 standard errors."""
    return Difference(mean, error, 0.0, seed_std, math.inf, 20)


# --- judges -------------------------------------------------------------------------------------------------------


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
    judge = partial(within, -0.01, 0.01)
    assert [found for found, _ in judge([refuting])] == ["does not hold"]
    assert [found for found, _ in judge([refuting, equal])] == ["undecided", "holds"]


def test_within_says_how_far_the_nearest_bound_is():
    assert within(-0.02, 0.0, [difference(-0.005, 0.01)])[0][1] == pytest.approx(0.005)
    assert within(-0.01, math.inf, [difference(0.02, 0.03)])[0][1] == pytest.approx(0.03)


# --- claims -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ordered", "standard", "expected"),
    [
        ((0.3, 0.4), (0.2, 0.3), "holds"),
        ((0.2, 0.3), (0.3, 0.4), "does not hold"),
        ((0.3, 0.3), (0.2, 0.4), "does not hold"),  # the opposite at one size
        ((0.3, 0.3), (0.2, 0.3), "undecided"),
    ],
)
def test_anonymization_must_be_better_at_every_size(results, ordered, standard, expected):
    results.add_seeds(0.0001)
    for size, ours, others in zip((100, 1000), ordered, standard, strict=True):
        results.add("ordered", size, ours)
        results.add("standard", size, others)
    assert outcome(results, ANONYMIZATION) == expected


def test_randomized_counts_as_anonymization(results):
    results.add_seeds(0.0001)
    for strategy, score in (("ordered", 0.4), ("standard", 0.3), ("randomized", 0.2)):
        results.add(strategy, 100, score)
    assert outcome(results, ANONYMIZATION) == "does not hold"


@pytest.mark.parametrize(("ordered", "expected"), [(0.295, "holds"), (0.4, "holds"), (0.26, "does not hold")])
def test_ordered_may_be_better_than_randomized_but_not_worse(results, ordered, expected):
    results.add_seeds(0.0001)
    results.add("ordered", 100, ordered)
    results.add("randomized", 100, 0.3)
    assert outcome(results, ORDERED) == expected


@pytest.mark.parametrize(
    ("other", "std", "expected"), [(0.302, 0.0001, "holds"), (0.34, 0.0001, "does not hold"), (0.3, 0.01, "undecided")]
)
def test_numbering_by_frequency_must_be_equal(results, other, std, expected):
    results.add_seeds(std)
    results.add("ordered", 100, 0.3)
    results.add("by_frequency", 100, other)
    assert outcome(results, FREQUENCY) == expected


@pytest.mark.parametrize(("full", "expected"), [(0.25, "holds"), (0.29, "does not hold"), (0.28, "undecided")])
def test_full_anonymization_is_compared_with_every_size(results, full, expected):
    results.add_seeds(0.0001)
    results.add("full", 1000, full)
    results.add("ordered", 100, 0.28)
    results.add("ordered", 1000, 0.3)
    assert outcome(results, FULL) == expected


@pytest.mark.parametrize(("largest", "expected"), [(0.3, "holds"), (0.5, "does not hold"), (0.4, "undecided")])
def test_the_largest_vocabulary_of_standard_is_compared_with_50000_names(results, largest, expected):
    results.add_seeds(0.0001)
    results.add("standard", 50_000, 0.4)
    assert verdicts(results, LARGEST) == []
    results.add("standard", 60_000, 0.2)
    results.add("standard", 600_000, largest)
    assert outcome(results, LARGEST) == expected


@pytest.mark.parametrize(("ordered", "expected"), [(0.4, "holds"), (0.3, "does not hold"), (0.35, "undecided")])
def test_anonymization_against_a_pointer(results, ordered, expected):
    results.add_seeds(0.0001, task="completion")
    results.add("ordered", 100, ordered, task="completion")
    results.add("standard", 100, 0.35, task="completion", pointer=True)
    assert outcome(results, POINTER) == expected


@pytest.mark.parametrize(
    ("both", "expected"), [(0.401, "holds"), (0.3, "holds"), (0.45, "does not hold"), (0.41, "undecided")]
)
def test_both_against_the_better_of_two_by_validation(results, both, expected):
    results.add_seeds(0.0001, task="completion")
    results.add("ordered", 100, 0.4, task="completion")
    curve = [{"examples": 1000, "validation": {"mrr_values": 0.3}}]
    results.add("standard", 100, 0.6, task="completion", pointer=True, curve=curve)  # better on the test split alone
    results.add("ordered", 100, both, task="completion", pointer=True)
    assert outcome(results, BOTH) == expected


def add_placeholders(results, task, least, most):
    for number, score in ((500, least), (1000, 0.9), (3000, most)):
        settings = {"encoding.num_placeholders": number}
        results.add("randomized", 1000, score, task=task, settings=settings)
    for size in (20, 100):  # most of the group has 500
        results.add("randomized", size, 0.3, task=task, settings={"encoding.num_placeholders": 500})


@pytest.mark.parametrize(
    ("most", "expected"), [(0.445, "holds"), (0.35, "does not hold"), (0.47, "does not hold"), (0.45, "undecided")]
)
def test_most_placeholders_may_cost_a_little_in_completion(results, most, expected):
    results.add_seeds(0.0001, task="completion", settings={"encoding.num_placeholders": 500})
    add_placeholders(results, "completion", 0.45, most)
    assert outcome(results, MORE_COMPLETION) == expected
    assert verdicts(results, MORE_MISUSE) == []


@pytest.mark.parametrize(("most", "expected"), [(0.449, "holds"), (0.42, "does not hold"), (0.46, "undecided")])
def test_most_placeholders_make_no_difference_in_misuse(results, most, expected):
    results.add_seeds(0.0001, settings={"encoding.num_placeholders": 500})
    add_placeholders(results, "misuse", 0.45, most)
    assert outcome(results, MORE_MISUSE) == expected
    assert verdicts(results, MORE_COMPLETION) == []


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
def test_without_a_known_seed_variance_nothing_is_shown(results, changes):
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


def test_undecided_claims_say_what_it_would_take(results):
    for seed, score in enumerate((0.3, 0.34)):
        results.add("standard", 100, score, seed=seed)
    results.add("ordered", 100, 0.35)
    (verdict,) = verdicts(results, ANONYMIZATION)
    # The difference is 0.03 and the seeds' standard deviation 0.0283: 2 · 0.0283² / (0.03 / 1.96)² = 6.8.
    assert verdict.it_takes == "about 7 seeds"
    (group,) = group_results([*(each for found in verdict.group.cells.values() for each in found)])
    assert group.compare(Cell("ordered", 100), Cell("standard", 100), group.metric).num_projects == 8


def test_projects_that_disagree_need_more_projects_and_not_more_seeds(results):
    results.add_seeds(0.0001)
    results.add("standard", 100, 0.3)
    projects = {f"{number}": {"joint_accuracy": 0.3 + 0.2 * (-1) ** number, "num_buggy": 9} for number in range(4)}
    for scores in (projects, {name: {"joint_accuracy": 0.29, "num_buggy": 9} for name in projects}):
        strategy = "ordered" if scores is projects else "standard"
        results.add(strategy, 100, 0.3, metrics={"joint_accuracy": 0.3, "by_project": scores})
    (verdict,) = verdicts(results, ANONYMIZATION)
    assert (verdict.outcome, verdict.it_takes) == ("undecided", "more than 4 test projects")
