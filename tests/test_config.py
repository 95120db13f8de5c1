"""Settings: presets, choices, help texts, errors, and TOML."""

import dataclasses
from typing import get_args

import pytest

from rarename import config as configs
from rarename.anonymize import STRATEGIES
from rarename.config import (
    MAX_SIZE,
    TASK_CONFIGS,
    CompletionConfig,
    EncodingConfig,
    ExperimentConfig,
    MisuseConfig,
    ModelConfig,
    TrainingConfig,
    config_from,
    describe,
    load_config,
    load_settings,
    mismatches,
    save_config,
)
from rarename.errors import RunError, UnknownName, UsageError
from rarename.presets import PRESETS, preset_config


def preset(name, task="misuse", **settings):
    return preset_config("corpus", name, settings, task=task)


def test_the_paper_preset_of_misuse():
    config = preset("paper")
    assert config.encoding == EncodingConfig(1_000, "ordered", 250, 0)
    assert config.task == MisuseConfig("misuse", "published", 0.0, 250, "independent", False, 0, 0.15)
    assert config.model == ModelConfig(
        512, 6, 8, 2048, 8, 0.2, False, False, False, False, "relu", "mixed", True, ffn_dropout=True, init="torch"
    )
    assert config.training == TrainingConfig(
        25.0, 4_000, "adam", 1e-5, 2e-3, "constant", 0, 0.0, 0.0, 50_000, 2_000, 0, 60.0, batch_size=32
    )


def test_max_is_a_vocabulary_size():
    for config in (EncodingConfig("max"), preset("paper", encoding={"vocabulary_size": "max"}).encoding):
        assert config.vocabulary_size == MAX_SIZE
    with pytest.raises(UsageError, match=r"encoding\.vocabulary_size is 'most'; expected int"):
        preset("paper", **{"encoding.vocabulary_size": "most"})


def test_the_paper_preset_of_completion():
    config = preset("paper", "completion")
    assert config.encoding == EncodingConfig(1_000, "ordered", 500, 0)
    assert config.task == CompletionConfig("completion", 500, 250, False, min_new_nodes=2)
    assert config.model == ModelConfig(
        512, 6, 8, 2048, 32, 0.1, False, False, False, False, "gelu", "pre", shared_offsets=True, init="xavier"
    )
    assert config.training == TrainingConfig(
        20.0, 4_000, "adam", 1e-3, 2e-3, "cosine", 2_000, 0.0, 0.2, 50_000, 2_000, 0, 60.0, batch_size=32
    )


def test_the_small_presets():
    misuse, completion = preset("small"), preset("small", "completion")
    assert misuse.model == ModelConfig(128, 3, 4, 512, 8, 0.0, True, False, True, True)
    assert misuse.training == TrainingConfig(3.0, 1_000, "muon", 4e-3, 2e-3, "linear", 200, 0.01, 1.0)
    assert completion.encoding.num_placeholders == completion.task.stride == 500
    assert completion.model == ModelConfig(128, 3, 2, 512, 32, 0.0, True, True, True, True)
    assert completion.training == TrainingConfig(1.0, 1_000, "muon", 3e-3, 2e-3, "linear", 200, 0.01, 1.0, 4_000, 200)


def test_the_presets_of_the_packaged_models():
    check, complete = preset("check"), preset("complete", "completion")
    assert check.encoding == EncodingConfig(5_000, "ordered", 1_024, 6_000)
    assert check.task == MisuseConfig(
        "misuse",
        "realistic",
        0.0,
        1_000,
        "conditional",
        True,
        5,
        0.15,
        True,
        1.2,
        context_nodes=24,
        epoch_functions=20_000,
    )
    assert check.model == dataclasses.replace(preset("small").model, num_layers=4)
    assert check.training == TrainingConfig(9.0, 3_000, "muon", 3e-3, 2e-3, "linear", 300, 0.01, 1.0)
    assert complete.encoding == EncodingConfig(5_000, "ordered", 500, 0)
    assert complete.task == CompletionConfig("completion", 500, 500, True)
    assert complete.model == preset("small", "completion").model


def test_choices_are_the_registries():
    from rarename.model.transformer import ACTIVATIONS
    from rarename.tasks.misuse.injection import BUG_SAMPLERS
    from rarename.tasks.misuse.model import POINTER_HEADS
    from rarename.tasks.registry import TASKS
    from rarename.training.optimizer import BETAS
    from rarename.training.trainer import SCHEDULES

    def choices(config_class, name):
        return get_args({entry.name: entry.type for entry in dataclasses.fields(config_class)}[name])

    assert choices(MisuseConfig, "bug_sampler") == tuple(BUG_SAMPLERS)
    assert choices(MisuseConfig, "pointer_head") == tuple(POINTER_HEADS)
    assert choices(ModelConfig, "activation") == tuple(ACTIVATIONS)
    assert choices(TrainingConfig, "lr_scheduler") == tuple(SCHEDULES)
    assert choices(TrainingConfig, "optimizer") == tuple(BETAS)
    assert {setting.key: setting.choices for setting in describe("misuse")}["encoding.strategy"] == tuple(STRATEGIES)
    assert list(TASKS) == list(TASK_CONFIGS) == list(PRESETS)
    for name, config_class in TASK_CONFIGS.items():
        assert config_class().name == name


@pytest.mark.parametrize("task", TASK_CONFIGS)
def test_every_setting_has_a_help_text_and_its_default(task):
    described = {setting.key: setting for setting in describe(task)}
    default = ExperimentConfig("corpus", task=TASK_CONFIGS[task]())
    settings = configs.flatten(dataclasses.asdict(default))
    assert described.keys() == settings.keys()
    for key, setting in described.items():
        assert setting.help.endswith(".")
        assert setting.default == (None if key == "corpus" else settings[key])
    assert described["training.max_grad_norm"].help == (
        "Gradients with a larger norm are scaled down to it; 0 turns clipping off."
    )


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"model.widht": 3}, UsageError, "^no setting 'model.widht'; choose one of model.d_model, model.num_layers, "),
        ({"colour": 3}, UsageError, "^no setting 'colour'; choose one of corpus, corpus_digest, seed, encoding, task"),
        ({"seed.number": 3}, UsageError, "^no setting 'seed.number'; choose one of corpus, "),
        ({"model": 3}, UsageError, "^model is a table of settings, not 3$"),
        ({"model.d_model": "wide"}, UsageError, "^model.d_model is 'wide'; expected int$"),
        ({"task.usage_features": 1}, UsageError, "^task.usage_features is 1; expected bool$"),
        ({"training.num_epochs": True}, UsageError, "^training.num_epochs is True; expected float$"),
        ({"training.lr_scheduler": "x"}, UnknownName, "^no lr_scheduler 'x'; choose one of constant, linear, cosine$"),
        ({"task.pointer_head": "x"}, UnknownName, "^no pointer_head 'x'; choose one of independent, conditional$"),
        ({"encoding.strategy": "x"}, UnknownName, "^no strategy 'x'; choose one of standard, ordered, "),
        ({"task.name": "x"}, UsageError, "^the settings are for x, not for misuse$"),
        ({"model.num_heads": 3}, UsageError, "^model.d_model is 64; it must be a multiple of num_heads, 3$"),
        ({"model.num_layers": 0}, UsageError, "^model.num_layers is 0; it must be at least 1$"),
        ({"model.dropout": 1.0}, UsageError, "^model.dropout is 1.0; it must be below 1$"),
        ({"training.num_epochs": float("nan")}, UsageError, "^training.num_epochs is nan; it must be at least 0$"),
        ({"training.learning_rate": float("nan")}, UsageError, "^training.learning_rate is nan; .* at least 0$"),
        ({"training.learning_rate": -1.0}, UsageError, "^training.learning_rate is -1.0; it must be at least 0$"),
        ({"training.max_batch_nodes": 0}, UsageError, "^training.max_batch_nodes is 0; it must be at least 1$"),
        ({"encoding.vocabulary_size": -5}, UsageError, "^encoding.vocabulary_size is -5; it must be at least 0$"),
        ({"task.multi_bug_rate": 5.0}, UsageError, "^task.multi_bug_rate is 5.0; it must be at most 1$"),
        ({"task.bug_sampler": "published", "task.multi_bug_epochs": 1}, UsageError, "^task.multi_bug_epochs must be 0"),
        ({"task.similarity_weight": 1.0}, UsageError, "^task.similarity_weight needs the bug_sampler 'local', not"),
        ({"training.optimizer": "adam"}, UsageError, "^training.weight_decay is 0.01; adam has none: set it to 0, or"),
        ({"model.shared_offsets": True}, UsageError, "^model.init_neighbour_heads needs offsets for each head; set"),
        ({"seed": -1}, UsageError, "^seed is -1; it must be at least 0$"),
    ],
)
def test_a_wrong_setting_is_refused(settings, error, message):
    with pytest.raises(error, match=message):
        preset_config("corpus", "tiny", settings)


def test_a_whole_number_is_a_float_where_one_is_expected():
    assert type(preset("tiny", **{"training.num_epochs": 3}).training.num_epochs) is float


def test_wrong_settings_of_completion_and_unknown_presets_are_refused():
    with pytest.raises(UsageError, match="window_size must be at least 2, stride at least 1 and at most window_size"):
        preset_config("corpus", "tiny", {"task.stride": 501}, task="completion")
    with pytest.raises(UsageError, match="init_neighbour_heads needs two layers in completion; use more, or set it to"):
        preset_config("corpus", "tiny", {"model.num_layers": 1}, task="completion")
    with pytest.raises(UnknownName, match="no preset of misuse 'huge'; choose one of paper, small, check, tiny"):
        preset_config("corpus", "huge", {})
    with pytest.raises(UnknownName, match="no task 'x'; choose one of misuse, completion"):
        preset_config("corpus", "tiny", {}, task="x")
    with pytest.raises(UnknownName, match="no task 'x'; choose one of misuse, completion"):
        config_from({"corpus": "corpus", "task.name": "x"})
    with pytest.raises(UnknownName, match="no task"):
        config_from({"corpus": "corpus", "task.name": ["misuse"]})


@pytest.mark.parametrize(("task", "name"), [(task, name) for task in PRESETS for name in PRESETS[task]])
def test_a_saved_config_is_loaded_equal(task, name, tmp_path):
    config = preset(name, task, seed=7, corpus_digest='a "quoted" \\ name')
    save_config(config, tmp_path / "config.toml")
    assert load_config(tmp_path / "config.toml") == config
    assert preset_config("corpus", name, load_settings(tmp_path / "config.toml"), task=task) == config
    assert mismatches(config, config) == []


@pytest.mark.parametrize(
    ("old", "new", "error", "message"),
    [
        ("version = 2\n", "version = 1\n", RunError, "has format version 1, this rarename reads 2; use the version"),
        ("early_stopping_patience = 0\n", "", RunError, "rarename: training.early_stopping_patience is missing; use"),
        ("[model]\n", "[model]\ncolour = 1\n", RunError, "model.colour is unknown; use the version that wrote it, or"),
        ("[model]\n", "[model\n", UsageError, "config.toml cannot be read: "),
    ],
)
def test_a_config_of_another_version_is_refused(old, new, error, message, tmp_path):
    path = tmp_path / "config.toml"
    save_config(preset("tiny"), path)
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))
    with pytest.raises(error, match=message):
        load_config(path)


@pytest.mark.parametrize("task", TASK_CONFIGS)
def test_a_config_without_added_settings_has_what_its_code_did(task, tmp_path):
    path = tmp_path / "config.toml"
    save_config(preset("tiny", task), path)
    names = {key.rpartition(".")[2] for key in configs.ADDED_SETTINGS}
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(line for line in lines if line.partition(" ")[0] not in names))
    assert "activation" not in path.read_text()
    assert load_config(path) == preset("tiny", task)


def test_differences_between_tasks_are_listed_by_key():
    differing = mismatches(preset("tiny"), preset("tiny", "completion"))
    assert "task.bug_sampler ('paper', not None)" in differing
    assert "task.window_size (None, not 500)" in differing
