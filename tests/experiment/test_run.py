"""Runs: repeatable, resumable, and clear about what is wrong."""

import dataclasses
import json
import os
import signal
import subprocess
import sys
import time

import pytest
import torch
from safetensors.torch import load_file

from rarename.cli.main import main
from rarename.corpus import Corpus
from rarename.errors import RunError, UnknownName, UsageError
from rarename.experiment import experiment as experiments
from rarename.experiment.experiment import build
from rarename.experiment.run import evaluate, train

SETTINGS = {
    "encoding.vocabulary_size": 50,
    "encoding.placeholders": 80,
    "task.max_nodes": 80,
    "model": {"width": 16, "layers": 1, "heads": 2, "inner_width": 16, "dropout": 0.1},
    "training": {
        "epochs": 0.6,
        "batch_nodes": 1000,
        "validate_every": 300,
        "validation_functions": 20,
        "save_every": 0.0,
    },
}


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    """Sums of floats depend on how they are divided among threads."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def setting(corpus_folder):
    return build(str(corpus_folder), "tiny", SETTINGS)


@pytest.fixture(scope="module")
def undisturbed(setting, tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "undisturbed"
    assert train(setting, folder)
    return folder


def same_tensors(left, right):
    first, second = load_file(left), load_file(right)
    return first.keys() == second.keys() and all(torch.equal(first[name], second[name]) for name in first)


def test_a_run_is_repeatable(setting, undisturbed, tmp_path):
    train(setting, tmp_path / "again")
    assert same_tensors(undisturbed / "weights.safetensors", tmp_path / "again" / "weights.safetensors")
    assert same_tensors(undisturbed / "state.safetensors", tmp_path / "again" / "state.safetensors")


def test_another_seed_is_another_run(setting, undisturbed, tmp_path):
    train(dataclasses.replace(setting, seed=1), tmp_path / "other")
    assert not same_tensors(undisturbed / "weights.safetensors", tmp_path / "other" / "weights.safetensors")


def test_stopped_again_and_again_it_ends_in_the_same_weights(setting, undisturbed, tmp_path):
    folder, stops = tmp_path / "run", 0
    while not train(setting, folder, resume=True, time_limit=0.0):
        stops += 1
    assert stops > 5
    assert same_tensors(undisturbed / "weights.safetensors", folder / "weights.safetensors")
    assert same_tensors(undisturbed / "state.safetensors", folder / "state.safetensors")
    examples = [
        [json.loads(line)["examples"] for line in (run / "metrics.jsonl").read_text().splitlines()]
        for run in (undisturbed, folder)
    ]
    assert examples[0] == examples[1]


@pytest.mark.slow
def test_killed_and_resumed_it_ends_in_the_same_weights(setting, undisturbed, tmp_path):
    experiments.write(setting, tmp_path / "setting.toml")
    command = [sys.executable, "-m", "rarename", "train", "misuse", "--corpus", setting.corpus, "--resume"]
    command += ["--run", str(tmp_path / "run"), "--config", str(tmp_path / "setting.toml"), "--threads", "1"]
    for tenths in (25, 32, 40):
        process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        time.sleep(tenths / 10)
        process.send_signal(signal.SIGKILL)
        process.wait()
    subprocess.run(command, check=True, capture_output=True, env=os.environ)
    assert same_tensors(undisturbed / "state.safetensors", tmp_path / "run" / "state.safetensors")


def test_the_best_weights_are_kept_and_can_be_evaluated(setting, undisturbed):
    lines = [json.loads(line) for line in (undisturbed / "metrics.jsonl").read_text().splitlines()]
    assert len(lines) >= 2
    scores = evaluate(undisturbed, "test")
    assert scores["num_clean"] > 10
    assert 0 <= scores["joint_accuracy"] <= scores["location_accuracy"] <= 1
    assert evaluate(undisturbed, "test") == scores


def test_the_setting_is_saved_with_the_run(setting, undisturbed):
    saved = experiments.read(undisturbed / "experiment.toml")
    assert saved == dataclasses.replace(setting, corpus_digest=Corpus(setting.corpus).digest())


def test_commands(setting, undisturbed, capfd):
    assert main(["evaluate", str(undisturbed), "--split", "validation", "--format", "json"]) == 0
    assert json.loads(capfd.readouterr().out) == evaluate(undisturbed, "validation")
    assert main(["train", "misuse", "--corpus", setting.corpus, "--run", str(undisturbed)]) == 2
    assert "holds a run already; say --resume to go on with it" in capfd.readouterr().err


def test_a_run_with_other_settings_is_not_touched(setting, undisturbed):
    with pytest.raises(RunError, match="holds a run with other settings"):
        train(dataclasses.replace(setting, seed=5), undisturbed, resume=True)


def test_a_folder_that_is_no_run_is_not_touched(setting, tmp_path):
    (tmp_path / "precious.txt").write_text("mine")
    with pytest.raises(RunError, match="exists and is no run"):
        train(setting, tmp_path)
    with pytest.raises(RunError, match=r"is no run \(it has no experiment.toml\)"):
        evaluate(tmp_path)


def test_truncated_weights_say_so(undisturbed, tmp_path):
    for name in ("experiment.toml", "encoding.json"):
        (tmp_path / name).write_bytes((undisturbed / name).read_bytes())
    whole = (undisturbed / "weights.safetensors").read_bytes()
    (tmp_path / "weights.safetensors").write_bytes(whole[:1000])
    with pytest.raises(RunError, match=r"weights\.safetensors is missing or damaged"):
        evaluate(tmp_path)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"encoding.vocabulary_size": 10_000_000}, "has only .* values in training; choose a smaller one"),
        ({"encoding.placeholders": 10}, "each another name; set it to as many"),
    ],
)
def test_a_setting_that_does_not_fit_the_corpus_says_so(corpus_folder, tmp_path, settings, message):
    with pytest.raises(UsageError, match=message):
        train(build(str(corpus_folder), "tiny", SETTINGS | settings), tmp_path / "run")
    assert not (tmp_path / "run" / "experiment.toml").exists()


@pytest.mark.parametrize(
    ("preset", "settings", "error", "message"),
    [
        ("huge", {}, UnknownName, "no preset 'huge'; choose one of paper, small, tiny"),
        ("tiny", {"model.widht": 3}, UsageError, "no setting 'model.widht'; choose one of model.width"),
        ("tiny", {"colour": 3}, UsageError, "no setting 'colour'; choose one of corpus, corpus_digest, seed"),
        ("tiny", {"model": 3}, UsageError, "model is a table of settings, not 3"),
        ("tiny", {"model.width": "wide"}, UsageError, "model.width is 'wide'; expected int"),
        ("tiny", {"training.schedule": "x"}, UnknownName, "no schedule 'x'; choose one of constant, linear, cosine"),
    ],
)
def test_a_wrong_setting_is_named(preset, settings, error, message):
    with pytest.raises(error, match=message):
        build("corpus", preset, settings)
