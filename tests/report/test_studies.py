"""What may stand in one table, and what may not."""

import json

import pytest

from rarename.report.charts import _learning
from rarename.report.results import read_results
from rarename.report.statistics import Spread
from rarename.report.studies import Series, studies
from rarename.report.tables import pairs, placeholders


def read(results):
    return studies(read_results(results.folder)[0])


def test_seeds_become_a_mean_with_its_deviation(results):
    for seed, score in enumerate((0.1, 0.2, 0.6)):
        results.add("ordered", 100, score, seed=seed)
    (study,), left_out = read(results)
    value = study.value(Series("ordered"), 100)
    assert left_out == []
    assert (value.mean, value.num_seeds) == (pytest.approx(0.3), 3)
    assert value.deviation == pytest.approx(0.07**0.5)


def test_tasks_and_languages_of_an_experiment_are_studies_of_their_own(results):
    results.add("ordered", 100, 0.3, experiment="both")
    results.add("ordered", 100, 0.3, experiment="both", language="javascript", cell="js", corpus={"digest": "7"})
    results.add("ordered", 100, 0.3, experiment="both", task="completion", cell="cc")
    found, left_out = read(results)
    assert left_out == []
    assert [study.name for study in found] == [
        "Variable misuse, Python", "Variable misuse, JavaScript", "Code completion, Python",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"corpus": {"digest": "7" * 64}}, "has the corpus digest 777777777777; 2 others have 555555555555"),
        ({"code": {"recipe": 2}}, "has the recipe 2; 2 others have 1"),
        ({"examples": 2000}, "has the number of examples 2,000; 2 others have 1,000"),
        ({"split": "validation"}, "has the split validation; 2 others have test"),
        ({"scores": {"no_bug_accuracy": 0.5}}, "has no joint_accuracy"),
    ],
)
def test_the_odd_one_is_left_out_by_name(results, changes, reason):
    results.add("ordered", 100, 0.3)
    results.add("standard", 100, 0.2)
    results.add("randomized", 100, 0.25, **changes)
    (study,), (left_out,) = read(results)
    assert [series.label for series in study.series] == ["ordered", "standard"]
    assert (left_out.path, left_out.reason) == ("misuse-python/randomized-100-250-0.json", reason)


def test_of_equally_many_the_newer_recipe_stays(results):
    results.add("ordered", 100, 0.3, code={"recipe": 2}, corpus={"digest": "1"})
    results.add("standard", 100, 0.2, code={"recipe": 1}, corpus={"digest": "2"})
    (study,), (left_out,) = read(results)
    assert [series.label for series in study.series] == ["ordered"]
    assert left_out.reason == "has the corpus digest 2; another has 1"


def test_batches_may_end_a_little_earlier(results):
    results.add("ordered", 100, 0.3, examples=1000)
    results.add("standard", 100, 0.2, examples=1004)
    assert read(results)[1] == []


def test_the_same_cell_and_seed_counts_once(results):
    results.add("ordered", 100, 0.3)
    results.add("ordered", 100, 0.4, cell="z-again")
    (study,), (left_out,) = read(results)
    assert study.value(Series("ordered"), 100).num_seeds == 1
    assert left_out.reason == "is the same cell and seed as misuse-python/ordered-100-250-0.json"


def test_other_settings_that_were_varied_are_told(results):
    settings = {"model.width": 128, "model.layers": 3}
    results.add("ordered", 100, 0.3, settings=settings)
    results.add("ordered", 1000, 0.3, settings=settings)
    results.add("ordered", 100, 0.3, cell="deep", settings=settings | {"model.layers": 6})
    results.add("ordered", 100, 0.3, cell="many", placeholders=500, settings=settings)
    (study,), left_out = read(results)
    assert left_out == []
    assert [series.label for series in study.series] == [
        "ordered",
        "ordered, model.layers=6",
        "ordered, 500 placeholders",
    ]
    assert study.usual == {"model.layers": 3, "placeholders": 250}


TINY = {"preset": "tiny", "settings": {"model.width": 64, "model.layers": 2, "training.epochs": 4.0}}


def test_presets_are_series_of_their_own(results):
    for strategy in ("ordered", "standard"):
        results.add(strategy, 100, 0.3)
        results.add(strategy, 100, 0.2, cell=f"{strategy}-tiny", examples=4000, **TINY)
    results.add("ordered", 1000, 0.4)
    results.add("randomized", 100, 0.2, cell="randomized-tiny", examples=5000, **TINY)
    (study,), (left_out,) = read(results)
    assert [series.label for series in study.series] == [
        "ordered", "ordered, preset=tiny", "standard", "standard, preset=tiny",
    ]  # fmt: skip
    assert study.usual == {"preset": "small"}
    assert left_out.path == "misuse-python/randomized-tiny.json"
    assert left_out.reason == "has the number of examples 5,000; 2 others have 4,000"
    assert ("ordered, preset=tiny", "standard, preset=tiny") in [
        (first.label, second.label) for first, second in pairs(study)
    ]


def test_what_is_varied_within_a_preset_is_told_beside_it(results):
    results.add("ordered", 100, 0.3)
    results.add("ordered", 1000, 0.3)
    results.add("ordered", 100, 0.2, cell="tiny", **TINY)
    results.add("ordered", 1000, 0.2, cell="tiny-1000", **TINY)
    deep = TINY["settings"] | {"model.layers": 6}
    results.add("ordered", 100, 0.2, cell="deep", preset="tiny", settings=deep)
    many = {"cell": "many", "placeholders": 500}
    results.add("ordered", 100, 0.1, **many)
    (study,), left_out = read(results)
    assert left_out == []
    assert [series.label for series in study.series] == [
        "ordered", "ordered, preset=tiny", "ordered, preset=tiny, model.layers=6", "ordered, 500 placeholders",
    ]  # fmt: skip
    counts = placeholders(study, None)
    assert counts.columns == ["Placeholders", "ordered, 100"]
    assert [row[1].value["mean"] for row in counts.rows] == [0.3, 0.1]


def test_series_have_one_order(results):
    for strategy in ("standard", "full", "sorted", "randomized", "ordered"):
        results.add(strategy, 100, 0.3)
    results.add("standard", 100, 0.3, pointer=True)
    (study,), _ = read(results)
    assert [series.label for series in study.series] == [
        "ordered", "randomized", "standard", "standard + pointer", "full", "sorted",
    ]  # fmt: skip


def test_projects_are_compared_cell_by_cell(results):
    results.add("ordered", 100, 0.3)
    results.add("standard", 100, 0.2)
    (study,), _ = read(results)
    found = study.compare((Series("ordered"), 100), (Series("standard"), 100))
    assert found.difference == pytest.approx(0.1)
    assert found.p == 2 / 2**8  # all eight projects are better by the same
    assert study.compare((Series("ordered"), 100), (Series("standard"), 7)) is None


def test_luck_is_lent_once_by_each_training(results):
    results.add("ordered", 100, 0.3, language="javascript")
    for experiment in ("misuse-python", "misuse-again"):
        for seed, score in enumerate((0.1, 0.2, 0.6)):
            results.add("ordered", 100, score, seed=seed, experiment=experiment)
    results.add("ordered", 1000, 0.3, seed=0)
    results.add("ordered", 1000, 0.4, seed=1)
    python, again, javascript = read(results)[0]
    assert (python.experiment, again.experiment) == ("misuse-python", "misuse-again")
    assert (python.luck().freedom, python.lenders()) == (3, [])
    assert javascript.own_luck() is None
    assert javascript.luck().freedom == 3
    assert javascript.luck().deviation == pytest.approx(((2 * 0.07 + 0.005) / 3) ** 0.5)
    assert javascript.lenders() == ["misuse-python"]


def test_the_best_size_is_chosen_on_the_validation_split(results):
    peak_before_the_end = [{"examples": n, "validation": {"joint_accuracy": s}} for n, s in ((500, 0.5), (1000, 0.4))]
    for seed in (0, 1):
        results.add("ordered", 100, 0.2, seed=seed, curve=peak_before_the_end)
        results.add("ordered", 1000, 0.45, seed=seed)  # better on the test split, not on the validation split
    results.add("standard", 100, 0.2, curve=[])
    (study,), _ = read(results)
    assert study.best_size(Series("ordered")) == 100
    assert study.best_size(Series("standard")) is None


def test_settings_that_go_with_a_strategy_are_told_too(results):
    results.add("standard", 100, 0.2)
    path = results.add("ordered", 100, 0.3)
    content = json.loads(path.read_text())
    path.write_text(json.dumps(content | {"settings": content["settings"] | {"task.counts_uses": True}}))
    results.add("randomized", 100, 0.25, placeholders=3000)
    results.add("by_frequency", 100, 0.25)
    (study,), _ = read(results)
    assert [series.label for series in study.series] == [
        "ordered, task.counts_uses=True", "randomized, 3,000 placeholders", "by_frequency", "standard",
    ]  # fmt: skip


def test_an_experiment_with_embeddings_keeps_scores_that_no_other_has(results):
    for strategy in ("ordered", "standard"):
        results.add(strategy, 100, 0.3, embeddings={"points": [[0, 1, "vocabulary", "self"]]})
    (study,), _ = read(results)
    assert len(study.results) == 2
    results.add("ordered", 100, 0.3, experiment="scores")
    results.add("standard", 100, 0.3, experiment="scores")
    (study,), _ = read(results)
    assert study.experiment == "scores"


def test_seeds_of_a_learning_curve_go_together_though_batches_end_elsewhere(results):
    for seed, examples in enumerate((500, 504)):
        curve = [{"examples": examples, "validation": {"joint_accuracy": 0.2 + 0.1 * seed}}]
        results.add("ordered", 100, 0.3, seed=seed, curve=curve)
    (study,), _ = read(results)
    (at,) = _learning(study.results, "joint_accuracy").items()
    assert at == (502, Spread(pytest.approx(0.25), pytest.approx(0.1 / 2**0.5), 2))
