"""Groups hold comparable results; series differ in what was varied."""

import pytest

from rarename.report.groups import METRICS, Cell, group_results
from rarename.report.tables import readme_table
from rarename.sweep.result import read_result
from rarename.tasks.registry import TASKS


def groups(results):
    return group_results(read_result(path) for path in sorted(results.folder.glob("*/*.json")))


def test_strategies_are_compared_by_what_selects_the_best_weights():
    assert METRICS == {"misuse": "joint_accuracy", "completion": "mrr_values"}
    assert {name: task.selection_metric for name, task in TASKS.items()} == METRICS


def test_seeds_of_a_cell_are_averaged(results):
    results.add("ordered", 100, 0.3)
    results.add("ordered", 100, 0.4, seed=1)
    (group,) = groups(results)
    assert group.scores(Cell("ordered", 100)) == [0.3, 0.4]
    assert group.score(Cell("ordered", 100)) == (pytest.approx(0.35), pytest.approx(0.005**0.5))
    assert group.score(Cell("ordered", 100), "by_rarity", "both rare", "joint_accuracy").mean == pytest.approx(0.175)
    assert group.score(Cell("ordered", 7)) is None


@pytest.mark.parametrize(
    "changes",
    [{"language": "javascript"}, {"task": "completion"}, {"preset": "tiny"}, {"code": {"recipe": 2}},
     {"corpus": {"name": "npm", "digest": "6", "projects": 9}}, {"split": "validation"}],
)  # fmt: skip
def test_results_that_cannot_be_compared_are_in_different_groups(results, changes):
    results.add("ordered", 100, 0.3)
    results.add("standard", 100, 0.2, experiment="another", **changes)
    assert [len(group.results) for group in groups(results)] == [1, 1]


def test_groups_of_two_scales_have_different_titles(results):
    results.add("ordered", 100, 0.3)
    results.add(
        "ordered", 100, 0.6, experiment="large", preset="paper", corpus={"name": "py150", "digest": "7", "projects": 9}
    )
    results.add("ordered", 100, 0.4, language="javascript")
    python, javascript = "Variable misuse, Python", "Variable misuse, JavaScript"
    titles = [group.title for group in groups(results)]
    assert titles == [f"{python} (py150, paper)", f"{python} (pypi, small)", javascript]
    assert readme_table(groups(results), "misuse").count("Python") == 1


def test_a_setting_that_old_results_lack_makes_another_series(results):
    results.add("standard", 100, 0.3, task="completion", pointer=True)
    added = {"settings": {"task.pointer_attention": "last_layer"}, "experiment": "new"}
    results.add("standard", 100, 0.2, task="completion", pointer=True, **added)
    (group,) = groups(results)
    assert group.series == ["standard + pointer", "standard + pointer, pointer_attention=last_layer"]


def test_experiments_are_one_group_and_a_model_counts_once(results):
    results.add("ordered", 100, 0.3)
    results.add("ordered", 100, 0.3, experiment="again")
    results.add("standard", 100, 0.3, experiment="again")
    (group,) = groups(results)
    assert len(group.results) == 2


def test_of_two_equal_models_the_one_with_embeddings_is_taken(results):
    for experiment in ("a", "b", "c"):
        embeddings = {"points": [], "cosine": {}} if experiment == "b" else {}
        results.add("ordered", 100, 0.3, experiment=experiment, embeddings=embeddings)
    (group,) = groups(results)
    assert [each.experiment for each in group.results] == ["b"]


def test_settings_that_differ_from_most_make_another_series(results):
    for strategy in ("ordered", "standard"):
        for size in (20, 100):
            results.add(strategy, size, 0.3)
        results.add(strategy, 20, 0.2, trial=f"deep-{strategy}", settings={"model.num_layers": 6})
        results.add(strategy, 1000, 0.2, trial=f"many-{strategy}", settings={"encoding.num_placeholders": 3000})
    (group,) = groups(results)
    assert group.series == [
        "ordered", "ordered, num_layers=6", "ordered, num_placeholders=3000", "standard", "standard, num_layers=6",
        "standard, num_placeholders=3000",
    ]  # fmt: skip
    assert group.sizes == [20, 100, 1000]


def test_saving_more_often_is_not_another_series(results):
    results.add("ordered", 100, 0.3, settings={"training.save_every_seconds": 1.0})
    results.add("ordered", 1000, 0.3, settings={"training.save_every_seconds": 2.0})
    assert groups(results)[0].series == ["ordered"]


def test_full_anonymization_is_ordered_without_a_vocabulary(results):
    results.add("full", 1000, 0.3)
    (group,) = groups(results)
    assert list(group.cells) == [Cell("ordered", 0)]


def test_series_and_groups_have_one_order(results):
    for strategy in ("standard", "sorted", "randomized", "ordered"):
        results.add(strategy, 100, 0.3, task="completion")
    results.add("standard", 100, 0.3, task="completion", pointer=True)
    results.add("ordered", 100, 0.3, language="javascript")
    results.add("ordered", 100, 0.3)
    found = groups(results)
    assert [group.title for group in found] == [
        "Variable misuse, Python", "Variable misuse, JavaScript", "Code completion, Python",
    ]  # fmt: skip
    names = ["ordered", "randomized", "standard", "standard + pointer", "sorted"]
    assert found[2].series == names


def test_the_best_size_is_chosen_on_the_validation_split(results):
    peak_before_the_end = [{"examples": n, "validation": {"joint_accuracy": s}} for n, s in ((500, 0.5), (1000, 0.4))]
    for seed in (0, 1):
        results.add("ordered", 100, 0.2, seed=seed, curve=peak_before_the_end)
        results.add("ordered", 1000, 0.45, seed=seed)  # better on the test split
    (group,) = groups(results)
    assert group.best_size("ordered") == 100


def test_own_seeds_come_before_those_of_related_groups(results):
    for seed, score in enumerate((0.1, 0.2, 0.6)):
        results.add("ordered", 100, score, seed=seed)
    results.add("ordered", 1000, 0.3, seed=0)
    results.add("ordered", 1000, 0.4, seed=1)
    results.add("ordered", 100, 0.3, language="javascript")
    python, javascript = groups(results)
    for group in (python, javascript):
        variance = group.seed_variance(group.metric)
        assert variance.degrees_of_freedom == 3
        assert variance.std == pytest.approx(((2 * 0.07 + 0.005) / 3) ** 0.5)
    results.add("ordered", 100, 0.3, seed=1, language="javascript")
    degrees = [group.seed_variance(group.metric).degrees_of_freedom for group in groups(results)]
    assert degrees == [3, 1]


def test_cells_are_compared_by_project_in_the_given_metric(results):
    results.add_seeds(task="completion")
    results.add("ordered", 100, 0.3, task="completion")
    results.add("standard", 100, 0.2, task="completion")
    (group,) = groups(results)
    cells = Cell("ordered", 100), Cell("standard", 100)
    for metric in (group.metric, "mrr_types"):
        found = group.compare(*cells, metric)
        assert (found.mean, found.num_projects) == (pytest.approx(0.1), 8)


def test_projects_without_examples_do_not_count(results):
    results.add_seeds()
    projects = {name: {"joint_accuracy": 0.3, "num_buggy": 0 if name == "a" else 10} for name in "abcd"}
    for strategy in ("ordered", "standard"):
        results.add(strategy, 100, 0.3, metrics={"joint_accuracy": 0.3, "by_project": projects})
    (group,) = groups(results)
    assert group.compare(Cell("ordered", 100), Cell("standard", 100), group.metric).num_projects == 3
