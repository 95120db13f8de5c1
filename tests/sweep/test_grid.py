"""Experiment files become trials; a wrong file is an error before training starts."""

import re
import runpy
from pathlib import Path

import pytest

from rarename.config import MAX_SIZE
from rarename.errors import UsageError
from rarename.report.groups import Cell
from rarename.report.paper import paper_scores
from rarename.sweep.grid import load_sweep

ROOT = Path(__file__).parents[2]
EXPERIMENTS = sorted((ROOT / "experiments").rglob("*.toml"))
BASE = 'title = "T"\ntask = "completion"\ncorpus = "c"\n'


def load(tmp_path, text):
    (tmp_path / "some-name.toml").write_text(BASE + text)
    return load_sweep(tmp_path / "some-name.toml")


def test_a_grid_is_the_product_of_its_lists(tmp_path):
    text = '[[grid]]\nstrategy = ["ordered", "standard"]\nvocabulary_size = [20, 100]\nseed = [0, 1]\n'
    trials = load(tmp_path, text).trials
    assert [trial.name for trial in trials] == [
        f"{strategy}-{size}-{seed}" for strategy in ("ordered", "standard") for size in (20, 100) for seed in (0, 1)
    ]
    assert trials[-1].settings == {"encoding.strategy": "standard", "encoding.vocabulary_size": 100, "seed": 1}


@pytest.mark.parametrize(
    ("grid", "name"),
    [
        ('strategy = "standard"\ncopy_pointer = true\nvocabulary_size = 1000', "standard-pointer-1000-0"),
        ('strategy = "randomized"\nvocabulary_size = 1000\nnum_placeholders = 2000', "randomized-1000-an2000-0"),
        ('strategy = "full"', "full-0"),
        ('strategy = "standard"\nvocabulary_size = "max"', "standard-max-0"),
        ('strategy = "full"\nvocabulary_size = 100', "full-100-0"),
        ("seed = 7\nmodel.num_layers = 2", "ordered-7-model.num_layers=2"),
        ('preset = "tiny"\ntraining.lr_scheduler = "cosine"', "ordered-tiny-0-training.lr_scheduler=cosine"),
        ("model.scale_embeddings = false", "ordered-0-model.scale_embeddings=false"),
    ],
)
def test_names_of_trials(tmp_path, grid, name):
    assert [trial.name for trial in load(tmp_path, f"[[grid]]\n{grid}\n").trials] == [name]


def test_settings_of_the_file_apply_to_every_trial_unless_the_grid_has_its_own(tmp_path):
    text = "[settings]\nmodel.num_layers = 5\nseed = 3\n[[grid]]\nmodel.num_layers = [5, 2]\n"
    configs = [trial.config() for trial in load(tmp_path, text).trials]
    assert [(config.model.num_layers, config.seed) for config in configs] == [(5, 3), (2, 3)]


def test_full_anonymization_keeps_no_name(tmp_path):
    (trial,) = load(tmp_path, '[[grid]]\nstrategy = "full"\n').trials
    assert trial.config().encoding.vocabulary_size == 0


def test_the_preset_may_depend_on_the_language(tmp_path):
    text = BASE.replace("completion", "misuse") + 'preset = "paper"\n[[grid]]\nseed = 0\n'
    (tmp_path / "a.toml").write_text(text)
    (trial,) = load_sweep(tmp_path / "a.toml").trials
    assert [trial.config("c", language).training.num_epochs for language in ("python", "javascript")] == [25, 40]


def test_equal_trials_are_trained_once(tmp_path):
    grids = "[[grid]]\nvocabulary_size = [10, 20]\n[[grid]]\nvocabulary_size = [20, 30]\nnum_placeholders = 500\n"
    names = [trial.name for trial in load(tmp_path, grids).trials]
    assert names == ["ordered-10-0", "ordered-20-0", "ordered-30-an500-0"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("colour = 1\n", "no key 'colour'; choose one of title, reproduces, task, preset, corpus, settings, grid, emb"),
        ("[[grid]]\nsize = 1\n", "no key of a grid 'size'; choose one of strategy, .* such as model.num_layers"),
        ("[[grid]]\ncopy_pointer = true\ntask.copy_pointer = true\n", "both copy_pointer and task.copy_pointer, which"),
        ("[[grid]]\nseed = []\n", "seed of a grid is an empty list"),
        ("[[grid]]\nmodel.d_modle = 1\n", "no setting 'model.d_modle'; choose one of model.d_model"),
        ('[[grid]]\nstrategy = "sorted"\n', "no strategy 'sorted'; choose one of standard, ordered"),
        ('[[grid]]\npreset = "huge"\n', "no preset of completion 'huge'; choose one of"),
        ('[[grid]]\nmodel.d_model = "wide"\n', "model.d_model is 'wide'; expected int"),
        ("", "grid missing; expected title, task, corpus, grid"),
        ("grid = 3\n", "grid is 3; expected list"),
        ("grid = [3]\n", r"grid has 3; expected \[\[grid\]\]"),
        ("[[grid]]\nseed = 0\n[embeddings]\nmetric = 1\n", r"\[embeddings\] takes no settings, but has metric"),
        ("[[grid]]\nseed = 0\n[[grid]\n", "some-name.toml cannot be read: "),
    ],
)
def test_a_wrong_experiment_file_is_an_error_with_the_reason(tmp_path, text, message):
    with pytest.raises(UsageError, match=message):
        load(tmp_path, text)


# --- the files of this repository ---------------------------------------------------------------------------------


@pytest.mark.parametrize("path", EXPERIMENTS, ids=lambda path: path.stem)
def test_our_experiment_files_can_be_read(path):
    ours = load_sweep(path)
    assert ours.title and ours.reproduces
    assert ("paper" in path.parts) == ours.name.endswith("-paper")
    assert {trial.preset for trial in ours.trials} == {"paper" if "paper" in path.parts else "small"}


@pytest.mark.parametrize("task", ["misuse", "completion"])
@pytest.mark.parametrize("language", ["python", "javascript"])
def test_the_scale_of_the_paper_has_every_row_of_its_tables(task, language):
    trials = load_sweep(ROOT / "experiments" / "paper" / f"{task}-{language}-paper.toml").trials
    configs = [trial.config() for trial in trials]
    ours = set()
    for each in configs:
        suffix = " + pointer" if getattr(each.task, "copy_pointer", False) else ""
        ours.add(Cell(each.encoding.strategy + suffix, each.encoding.vocabulary_size))
    # The number of all values ("Max") depends on the corpus.
    sizes = dict.fromkeys((622_000, 266_000), MAX_SIZE)
    assert ours == {cell._replace(size=sizes.get(cell.size, cell.size)) for cell in paper_scores(task, language)}
    assert len(configs) == 3 * len(ours)


def test_the_page_lists_our_experiments_and_counts_their_trials():
    page = (ROOT / "docs" / "experiments.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| \[`([\w-]+)`\].* \| (\d+) \|$", page, re.MULTILINE))
    ours = {path.stem: load_sweep(path) for path in EXPERIMENTS if "paper" not in path.parts}
    assert {name: int(count) for name, count in rows.items()} == {name: len(each.trials) for name, each in ours.items()}


def test_the_page_of_the_paper_has_the_estimated_gpu_hours():
    table = runpy.run_path(str(ROOT / "experiments" / "gpu_hours.py"))["table"]()
    assert f"<!-- gpu-hours -->\n\n{table}\n<!-- /gpu-hours -->" in (ROOT / "docs" / "paper.md").read_text("utf-8")


def test_our_results_match_our_experiment_files():
    """A change of a file, a default or a preset would make all results stale."""
    import dataclasses

    from rarename.config import ADDED_SETTINGS, RECIPE_VERSION, flatten
    from rarename.sweep.result import read_result

    for path in sorted((ROOT / "results").glob("*/*.json")):
        result = read_result(path)
        spec = load_sweep(ROOT / "experiments" / f"{result.experiment}.toml")
        trial = next(each for each in spec.trials if each.name == result.trial)
        config = dataclasses.replace(trial.config(spec.corpus, result.language), corpus_digest=result.corpus["digest"])
        settings = flatten(dataclasses.asdict(config))
        added = {key: value for key, value in ADDED_SETTINGS.items() if key in settings}
        assert added | result.settings == settings, path
        assert (result.title, result.reproduces) == (spec.title, spec.reproduces)
        assert result.code["recipe"] == RECIPE_VERSION
