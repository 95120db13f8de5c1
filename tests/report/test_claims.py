"""Verdicts follow from the results, and from nothing else."""

import json

import pytest

from rarename.report.report import make_report


def verdicts(results) -> dict[str, list[str]]:
    return {claim.name: [each.verdict for each in claim.findings] for claim in make_report(results.folder).claims}


def findings(results, name):
    return next(claim.findings for claim in make_report(results.folder).claims if claim.name == name)


def test_what_no_cell_tells_is_not_measured(results):
    results.add("ordered", 100, 0.3)
    assert set(map(tuple, verdicts(results).values())) == {()}
    assert "**not measured** here: no experiment has the cells." in "".join(
        item for block in make_report(results.folder).document.blocks if hasattr(block, "items") for item in block.items
    )


@pytest.mark.parametrize(
    ("ordered", "standard", "verdict"),
    [
        ((0.3, 0.4), (0.2, 0.3), "holds"),
        ((0.2, 0.3), (0.3, 0.4), "does not hold"),
        ((0.3, 0.3), (0.2, 0.4), "holds in part"),
        ((0.3, 0.3), (0.2, 0.3), "holds in part"),
        ((0.3, 0.3), (0.3, 0.4), "does not hold"),  # the other way at one size, and nothing is shown at the other
    ],
)
def test_anonymization_against_standard(results, ordered, standard, verdict):
    for size, ours, others in zip((100, 1000), ordered, standard, strict=True):
        results.add("ordered", size, ours)
        results.add("standard", size, others)
    assert verdicts(results)["anonymization against standard"] == ["undecided"]
    (claim, *_) = make_report(results.folder).claims
    assert claim.findings[0].text.endswith(
        f"One training each, and its luck is not known; of these models alone it {verdict}"
    )
    results.add_luck()
    assert verdicts(results)["anonymization against standard"] == [verdict]


def test_what_luck_may_explain_is_not_shown(results):
    results.add("ordered", 100, 0.32)
    results.add("standard", 100, 0.30)
    results.add("standard", 100, 0.33, seed=1)
    (claim, *_) = make_report(results.folder).claims
    assert claim.findings[0].verdict == "undecided"
    assert "luck" not in claim.findings[0].text


@pytest.mark.parametrize(("deviation", "verdict"), [(0.001, "holds"), (0.03, "undecided")])
def test_luck_that_is_not_known_is_that_of_like_experiments(results, deviation, verdict):
    results.add("ordered", 100, 0.4)
    results.add("standard", 100, 0.3)
    results.add_luck(deviation)
    (claim, *_) = make_report(results.folder).claims
    assert claim.findings[0].verdict == verdict
    assert claim.findings[0].text.endswith(". One training each; its luck is that of `seeds`")


@pytest.mark.parametrize("changes", [{"task": "completion"}, {"preset": "tiny"}, {"code": {"recipe": 2}}])
def test_luck_of_unlike_experiments_says_nothing(results, changes):
    results.add("ordered", 100, 0.4)
    results.add("standard", 100, 0.3)
    results.add_luck(**changes)
    assert verdicts(results)["anonymization against standard"] == ["undecided"]


@pytest.mark.parametrize(
    ("ordered", "verdict"), [(0.305, "holds"), (0.32, "holds"), (0.377, "holds in part"), (0.26, "does not hold")]
)
def test_ordered_may_be_slightly_better_than_randomized(results, ordered, verdict):
    results.add_luck()
    results.add("ordered", 100, ordered)
    results.add("randomized", 100, 0.3)
    (found,) = findings(results, "ordered against randomized")
    assert found.verdict == verdict
    said = "Much better, not slightly, at 100 (the paper: up to +1.1)"
    assert (said in found.text) == (verdict == "holds in part")


def test_without_projects_nothing_is_shown(results):
    for strategy, joint in (("ordered", 0.3), ("standard", 0.2)):
        results.add(strategy, 100, joint, scores={"joint_accuracy": joint, "num_buggy": 800})
    (claim, *_) = make_report(results.folder).claims
    assert [each.verdict for each in claim.findings] == ["undecided"]
    assert "+10.0 at 100; without scores by project there is no test" in claim.findings[0].text


@pytest.mark.parametrize(("other", "verdict"), [(0.302, "holds"), (0.34, "does not hold")])
def test_as_good_as_the_same_needs_a_narrow_interval(results, other, verdict):
    results.add_luck()
    results.add("ordered", 100, 0.3)
    results.add("by_frequency", 100, other)
    assert verdicts(results)["numbering by frequency"] == [verdict]


def test_no_difference_seen_is_not_the_same_as_no_difference(results):
    results.add("ordered", 100, 0.3)
    path = results.add("by_frequency", 100, 0.3)
    content = json.loads(path.read_text())
    for number, project in enumerate(content["scores"]["by_project"].values()):
        project["joint_accuracy"] += 0.1 if number % 2 else -0.1
    path.write_text(json.dumps(content))
    assert verdicts(results)["numbering by frequency"] == ["undecided"]


def test_the_vocabulary_of_standard_must_be_large_to_be_judged(results):
    results.add_luck()
    results.add("standard", 1000, 0.3)
    results.add("standard", 50_000, 0.4)
    assert verdicts(results)["a larger vocabulary for standard"] == ["not measured"]
    results.add("standard", 600_000, 0.35)
    (results.folder / "misuse-python" / "standard-50000-250-0.json").unlink()
    assert verdicts(results)["a larger vocabulary for standard"] == ["not measured"]
    results.add("standard", 50_000, 0.4)
    assert verdicts(results)["a larger vocabulary for standard"] == ["holds"]
    results.add("standard", 900_000, 0.45)
    assert verdicts(results)["a larger vocabulary for standard"] == ["does not hold"]


def test_full_anonymization_is_compared_with_every_size(results):
    results.add_luck()
    results.add("full", 1000, 0.25)
    results.add("ordered", 100, 0.28)
    results.add("ordered", 1000, 0.3)
    found = findings(results, "full anonymization")
    assert found[0].verdict == "holds"
    assert "full anonymization, points: +3.0 at 100 (p 0.016), +5.0 at 1,000 (p 0.016)" in found[0].text
    results.add("ordered", 10, 0.2)
    found = findings(results, "full anonymization")
    assert found[0].verdict == "holds in part"


def test_full_anonymization_may_be_ordered_without_a_vocabulary(results):
    results.add_luck()
    results.add("ordered", 0, 0.25)
    results.add("ordered", 100, 0.28)
    found = findings(results, "full anonymization")
    assert [each.verdict for each in found] == ["holds"]
    assert "full anonymization, points: +3.0 at 100" in found[0].text


def test_pointer_placeholders_and_types(results):
    results.add_luck(task="completion")
    for strategy, pointer, mrr in (
        ("ordered", False, 0.5), ("standard", True, 0.45), ("standard", False, 0.3), ("ordered", True, 0.501),
    ):  # fmt: skip
        results.add(strategy, 1000, mrr, task="completion", pointer=pointer)
    for placeholders, mrr in ((500, 0.45), (3000, 0.445)):
        results.add("randomized", 1000, mrr, task="completion", placeholders=placeholders)
    found = verdicts(results)
    assert found["anonymization against a pointer"] == ["holds"]
    assert found["pointer and anonymization together"] == ["holds"]
    assert found["more placeholders than needed"] == ["holds"]
    assert found["types of nodes"] == ["holds"]


@pytest.mark.parametrize(("between", "verdict"), [(-0.1, "holds"), (0.2, "does not hold")])
def test_where_placeholders_lie(results, between, verdict):
    cosine = {"within_vocabulary": 0.1, "within_placeholders": 0.05, "between": between}
    embeddings = {"points": [[0, 1.5, "placeholder", "VAR1"], [2, 1, "vocabulary", "self"]], "cosine": cosine}
    results.add("randomized", 1000, 0, task="completion", experiment="embeddings", scores={}, embeddings=embeddings)
    assert verdicts(results)["where placeholders lie"] == [verdict]


@pytest.mark.parametrize(("p", "verdict"), [(0.001, "holds in part"), (0.2, "does not hold")])
def test_placeholders_may_lie_apart_once_what_all_have_in_common_is_taken_away(results, p, verdict):
    alike = {"within_vocabulary": 0.5, "within_placeholders": 0.3, "between": 0.4}
    centred = {"within_vocabulary": 0.05, "within_placeholders": 0.06, "between": -0.06}
    embeddings = {"points": [], "cosine": alike, "cosine_centred": centred, "p_centred": p}
    results.add("randomized", 1000, 0, task="completion", experiment="embeddings", scores={}, embeddings=embeddings)
    (finding,) = findings(results, "where placeholders lie")
    assert finding.verdict == verdict
    assert "without what all embeddings have in common, 0.05 within the vocabulary" in finding.text


def test_what_a_larger_study_has_is_told_once(results):
    """The same two models in two experiments are one finding; a model more is another."""
    for size in (100, 1000):
        results.add("ordered", size, 0.4)
        results.add("standard", size, 0.3)
    for strategy, score in (("ordered", 0.4), ("standard", 0.3), ("by_frequency", 0.4)):
        results.add(strategy, 100, score, experiment="misuse-frequency")
    report = make_report(results.folder)
    assert report.num_models == 5
    told = {claim.name: [each.experiment for each in claim.findings] for claim in report.claims}
    assert told["numbering by frequency"] == ["misuse-frequency"]
    against = next(claim for claim in report.claims if claim.name == "anonymization against standard")
    texts = {each.experiment: each.text for each in against.findings}
    assert "`ordered` − `standard`" in texts["misuse-python"]
    assert "`ordered` − `standard`" not in texts["misuse-frequency"]
    assert "`by_frequency` − `standard`" in texts["misuse-frequency"]


def test_strategies_that_disagree(results):
    """One of them worse than `standard`, the other neither: that is no part of the claim."""
    results.add_luck()
    results.add("standard", 100, 0.4)
    results.add("ordered", 100, 0.4)
    results.add("randomized", 100, 0.3)
    assert verdicts(results)["anonymization against standard"] == ["does not hold"]
    results.add("ordered", 100, 0.5)
    assert verdicts(results)["anonymization against standard"] == ["holds in part"]


def test_verdicts_and_the_p_beside_them_are_of_one_correction(results):
    for seed, luck in enumerate((-0.013, 0.013)):
        for size in (100, 1000, 10000):
            results.add("ordered", size, 0.36 + luck, seed=seed)
            results.add("standard", size, 0.3 - luck, seed=seed)
    (finding,) = findings(results, "anonymization against standard")
    assert finding.verdict == "undecided"
    assert "points: +6.0 at 100 (p 0.052), +6.0 at 1,000 (p 0.052), +6.0 at 10,000 (p 0.052)" in finding.text


@pytest.mark.parametrize(("more", "verdict"), [(0.45, "undecided"), (0.35, "does not hold"), (0.5, "does not hold")])
def test_many_placeholders_may_cost_a_little_and_not_much(results, more, verdict):
    results.add_luck(task="completion")
    for placeholders, mrr in ((500, 0.45), (3000, more)):
        results.add("randomized", 1000, mrr, task="completion", placeholders=placeholders)
        results.add("randomized", 1000, mrr - 0.2, task="completion", placeholders=placeholders, preset="tiny", seed=1)
    assert verdicts(results)["more placeholders than needed"] == [verdict]


def test_luck_is_that_of_models_of_the_same_preset(results):
    for strategy, score in (("ordered", 0.4), ("standard", 0.3)):
        results.add(strategy, 100, score)
        results.add(strategy, 1000, score)
    for seed in (0, 1, 2):
        results.add("ordered", 100, 0.2 + 1e-4 * seed, seed=seed, preset="tiny", cell=f"tiny-{seed}")
    (finding, *_) = findings(results, "anonymization against standard")
    assert finding.verdict == "undecided"
    assert "its luck is not known" in finding.text


def test_a_claim_is_told_elsewhere_only_if_the_same_series_tells_it(results):
    results.add_luck()
    for strategy, score in (("ordered", 0.4), ("standard", 0.3)):
        for experiment in ("shallow", "deep"):
            results.add(strategy, 100, score, experiment=experiment)
        for number in range(3):  # most of that experiment has six layers
            path = results.add(strategy, 1000 + number, score, experiment="deep")
            content = json.loads(path.read_text())
            path.write_text(json.dumps(content | {"settings": content["settings"] | {"model.layers": 6}}))
    found = findings(results, "anonymization against standard")
    assert {each.experiment for each in found} == {"shallow", "deep"}
