"""Runs: repeatable, resumable after any interruption, and clear about errors."""

import dataclasses
import errno
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from random import Random
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from rarename.cli.main import main
from rarename.config import load_config, save_config
from rarename.corpus.store import Corpus
from rarename.encoding import Encoding
from rarename.errors import RarenameError, RunError, UsageError
from rarename.presets import preset_config
from rarename.runs.embeddings import analyze_embeddings
from rarename.runs.run import _found_corpus, evaluate, make_encoding, train
from rarename.runs.tensorboard import TensorBoardLogger
from rarename.training.trainer import StopReason

SETTINGS = {
    "encoding": {"vocabulary_size": 50, "num_placeholders": 80},
    "task": {"max_function_nodes": 80},
    "model": {"d_model": 16, "num_layers": 1, "num_heads": 2, "d_ff": 16, "dropout": 0.1},
    "training": {
        "num_epochs": 0.3, "max_batch_nodes": 1000, "eval_every_examples": 150, "eval_examples": 20,
        "save_every_seconds": 0.0,
    },
}  # fmt: skip

pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture(scope="module")
def config(corpus_folder):
    return preset_config(str(corpus_folder), "tiny", SETTINGS)


@pytest.fixture(scope="module")
def undisturbed(config, tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "undisturbed"
    assert train(config, folder) is StopReason.COMPLETED
    return folder


@pytest.fixture
def started(config, tmp_path):
    """A run after its first step."""
    assert train(config, tmp_path / "started", time_limit=-1.0) is StopReason.INTERRUPTED
    return tmp_path / "started"


@pytest.fixture
def finished(undisturbed, tmp_path):
    """A copy of a finished run that a test may damage."""
    return Path(shutil.copytree(undisturbed, tmp_path / "finished"))


def same_tensors(left, right):
    first, second = load_file(left), load_file(right)
    return first.keys() == second.keys() and all(torch.equal(first[name], second[name]) for name in first)


def evaluations(run):
    return [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]


def assert_same_run(left, right):
    """Bit for bit, and no temporary file is left."""
    for name in ("model.safetensors", "trainer_state.safetensors"):
        assert same_tensors(left / name, right / name)
    times = {"seconds", "seconds_left", "examples_per_second", "nodes_per_second", "data_wait"}
    first, second = ([{k: line[k] for k in line.keys() - times} for line in evaluations(run)] for run in (left, right))
    assert first == second
    assert {path.name for path in right.glob(".*")} <= {".lock"}


def command(config, folder, *options):
    """The command line of a run."""
    path = folder.with_suffix(".toml")
    save_config(config, path)
    return ["train", "misuse", str(folder), "--corpus", config.corpus, "--config", str(path), *options]


# Repeating and resuming


def test_a_run_is_repeatable_and_depends_on_the_seed(config, undisturbed, tmp_path):
    train(config, tmp_path / "again")
    assert_same_run(undisturbed, tmp_path / "again")
    training = dataclasses.replace(config.training, learning_rate=0.0)  # keeps the initial weights
    for seed in (0, 1):
        train(dataclasses.replace(config, seed=seed, training=training), tmp_path / str(seed), time_limit=-1.0)
    assert not same_tensors(tmp_path / "0" / "model.safetensors", tmp_path / "1" / "model.safetensors")


def test_a_run_that_is_stopped_again_and_again_ends_with_the_same_weights(config, undisturbed, tmp_path):
    folder, num_stops = tmp_path / "run", 0
    while not train(config, folder, resume=True, time_limit=-1.0):
        num_stops += 1
        if num_stops == 1:  # before the first evaluation it can be tried out
            assert not (folder / "metrics.jsonl").exists()
            assert evaluate(folder)["num_clean"] > 0
    assert num_stops > 5
    assert_same_run(undisturbed, folder)


class Killed(BaseException):
    """Simulates SIGKILL at a point of the code."""


def test_a_run_killed_at_any_write_ends_with_the_same_weights(config, undisturbed, tmp_path, monkeypatch):
    """Each process ends before or after a file is renamed, a few writes after its start."""
    folder, random, real_replace = tmp_path / "run", Random(0), Path.replace
    for life in range(6):
        num_left = random.randrange(1, 4)

        def replace_or_die(self, target, dies_before=life % 2 == 0):
            nonlocal num_left
            num_left -= 1
            if not num_left and dies_before:
                raise Killed
            real_replace(self, target)
            if not num_left:
                raise Killed

        monkeypatch.setattr(Path, "replace", replace_or_die)
        with pytest.raises(Killed):
            train(config, folder, resume=True)
        (folder / ".trainer_state.safetensors.1.part").write_text("cut off")  # what a real kill leaves
    monkeypatch.undo()
    assert train(config, folder, resume=True) is StopReason.COMPLETED
    assert_same_run(undisturbed, folder)


@pytest.mark.slow
def test_a_killed_process_is_resumed(config, undisturbed, tmp_path):
    folder = tmp_path / "run"
    words = [sys.executable, "-m", "rarename", *command(config, folder, "--num-threads", "1")]
    with subprocess.Popen(words, stderr=subprocess.DEVNULL) as process:
        deadline = time.monotonic() + 120
        while not (folder / "trainer_state.safetensors").exists() and time.monotonic() < deadline:
            time.sleep(0.01)
        process.kill()
    assert process.returncode == -signal.SIGKILL
    assert train(config, folder, resume=True) is StopReason.COMPLETED
    assert_same_run(undisturbed, folder)


@pytest.mark.parametrize("event", ["ctrl-c", "closed output"])
def test_an_interrupted_run_ends_its_step_and_saves(config, undisturbed, tmp_path, event, monkeypatch, capsys):
    def interrupt(text, file=None, flush=False):
        if file is not None:  # a message, not a record
            print(text, file=file)
        elif event == "closed output":
            raise BrokenPipeError
        else:
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr("rarename.cli.train.print", interrupt, raising=False)
    monkeypatch.setattr("rarename.training.trainer.LOG_EVERY_STEPS", 3)
    rarely = dataclasses.replace(config, training=dataclasses.replace(config.training, save_every_seconds=1e9))
    folder = tmp_path / "run"
    assert main(command(rarely, folder, "--output-format", "json")) == 130
    assert capsys.readouterr().err == "rarename train: interrupted; run the same command with --resume\n"
    assert train(rarely, folder, resume=True) is StopReason.COMPLETED
    assert_same_run(undisturbed, folder)


@pytest.mark.parametrize(
    ("strategy", "copy_pointer", "optimizer"), [("ordered", False, "muon"), ("standard", True, "adamw")]
)
def test_a_run_of_completion_is_resumed_and_evaluated(corpus_folder, tmp_path, strategy, copy_pointer, optimizer):
    settings = {
        "encoding": {"vocabulary_size": 50, "num_placeholders": 100, "strategy": strategy},
        "task": {"window_size": 100, "stride": 100, "copy_pointer": copy_pointer},
        "model": {"d_model": 16, "num_layers": 2, "num_heads": 2, "d_ff": 16, "max_relative_distance": 8},
        "training": {"num_epochs": 0.1, "max_batch_nodes": 1_000, "eval_every_examples": 25, "eval_examples": 20},
    }
    settings["training"]["optimizer"] = optimizer
    config = preset_config(str(corpus_folder), "tiny", settings, task="completion")
    assert train(config, tmp_path / "whole")
    stops = iter([False] * 4 + [True])
    assert not train(config, tmp_path / "parts", should_stop=lambda: next(stops))
    assert train(config, tmp_path / "parts", resume=True)
    assert_same_run(tmp_path / "whole", tmp_path / "parts")
    metrics = evaluate(tmp_path / "whole")
    for group in ("values", "types"):
        projects = metrics["by_project"].values()
        assert metrics[f"num_{group}"] == sum(each[f"num_{group}"] for each in projects) > 0
        total = sum(each[f"num_{group}"] * each[f"mrr_{group}"] for each in projects)
        assert metrics[f"mrr_{group}"] == pytest.approx(total / metrics[f"num_{group}"])
    assert metrics == evaluate(tmp_path / "whole")


def test_a_run_that_stopped_early_is_not_continued(config, tmp_path, capsys):
    """With a learning rate of 0 no evaluation is better than the first."""
    changes = {"learning_rate": 0.0, "early_stopping_patience": 2, "eval_every_examples": 60}
    hopeless = dataclasses.replace(config, training=dataclasses.replace(config.training, **changes))
    assert train(hopeless, tmp_path / "run") is StopReason.EARLY_STOPPED
    assert len(evaluations(tmp_path / "run")) == 3
    before = (tmp_path / "run" / "trainer_state.safetensors").stat().st_mtime_ns
    assert main(command(hopeless, tmp_path / "run", "--resume")) == 0
    assert "rarename train: stopped early; the best weights are in" in capsys.readouterr().err
    assert (tmp_path / "run" / "trainer_state.safetensors").stat().st_mtime_ns == before


# What a run holds


def test_a_run_holds_its_config_and_its_evaluation_is_repeatable(config, undisturbed):
    expected = dataclasses.replace(config, corpus_digest=Corpus(config.corpus).digest())
    assert load_config(undisturbed / "config.toml") == expected
    metrics = evaluate(undisturbed, "validation")
    assert metrics["num_clean"] > 10
    assert 0 <= metrics["joint_accuracy"] <= metrics["location_accuracy"] <= 1
    assert evaluate(undisturbed, "validation") == metrics


def test_the_encoding_of_a_run(corpus_folder):
    settings = SETTINGS | {"encoding.num_subtokens": 30}
    encoding = make_encoding(preset_config(str(corpus_folder), "tiny", settings))
    corpus = Corpus(corpus_folder)
    assert list(encoding.values) == list(corpus.vocabulary(50, "names", "others", "numbers"))
    assert list(encoding.types) == list(corpus.types)
    assert (len(encoding.subtokens), encoding.num_placeholders, encoding.strategy) == (30, 80, "ordered")
    assert {role.name for role in encoding.masked_literals} == {"STRING", "REGEXP"}


def test_the_vocabulary_size_max_is_saved_as_the_number_of_all_values(corpus_folder, tmp_path):
    config = preset_config(str(corpus_folder), "tiny", SETTINGS | {"encoding.vocabulary_size": "max"})
    for resume in (False, True):
        train(config, tmp_path / "run", time_limit=-1.0, resume=resume)
    size = load_config(tmp_path / "run/config.toml").encoding.vocabulary_size
    assert size == Corpus(corpus_folder).num_occurring("names", "others", "numbers") > 1_000
    assert len(Encoding.load(tmp_path / "run/encoding.json").values) == size


def test_the_vocabulary_of_published_misuse_ranks_the_values_of_its_functions(tmp_path, prepare_corpus):
    (tmp_path / "src" / "a").mkdir(parents=True)
    text = "outside = outside2 = 7\n\n\ndef f(a, b, c):\n    return a, a, b, c, 8, 's'\n"
    (tmp_path / "src" / "a" / "m.py").write_text(text)
    splits = tmp_path / "splits.txt"
    splits.write_text("train a\n")
    corpus = prepare_corpus(tmp_path / "corpus", tmp_path / "src", splits=splits)
    for size in ("max", 5):
        encoding = make_encoding(preset_config(str(corpus), "paper", {"encoding.vocabulary_size": size}))
        assert (encoding.values[0], set(encoding.values)) == ("a", {"a", "b", "c", "f", "8"})


def test_evaluation_on_the_command_line_and_on_another_corpus(undisturbed, other_corpus_folder, capsys):
    assert main(["evaluate", str(undisturbed), "--split", "validation", "--output-format", "json"]) == 0
    assert json.loads(capsys.readouterr().out) == evaluate(undisturbed, "validation")
    assert evaluate(undisturbed, corpus=str(other_corpus_folder)) == evaluate(undisturbed)


def test_embeddings_of_a_run(undisturbed, monkeypatch):
    monkeypatch.setattr("rarename.runs.embeddings.project", lambda vectors: np.zeros((len(vectors), 2)))
    analysis = analyze_embeddings(undisturbed)
    groups = [group for _, _, group, _ in analysis["points"]]
    assert (groups.count("vocabulary"), groups.count("placeholder")) == (50, 80)
    assert analysis["points"][50][2:] == ["placeholder", "VAR1"]
    assert analysis["cosine"].keys() == {"within_placeholders", "within_vocabulary", "between"}


# Errors


def test_an_existing_folder_is_not_overwritten(config, undisturbed, tmp_path, capsys):
    with pytest.raises(RunError, match=r"holds a run with other settings: seed \(0, not 5\); choose another folder"):
        train(dataclasses.replace(config, seed=5), undisturbed, resume=True)
    (tmp_path / "precious.txt").write_text("mine")
    with pytest.raises(RunError, match="exists and is not a run; choose another folder"):
        train(config, tmp_path)
    with pytest.raises(RunError, match=r"is not a run: it has no config.toml; create one with `rarename train`"):
        evaluate(tmp_path)
    with pytest.raises(RunError, match=r"precious.txt is a file; choose another folder"):
        train(config, tmp_path / "precious.txt")
    assert main(["train", "misuse", str(undisturbed), "--corpus", config.corpus]) == 2
    assert "already holds a run; add --resume to continue it" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["trainer_state.safetensors", "model.safetensors"])
def test_a_full_disk_leaves_the_last_checkpoint(config, undisturbed, started, monkeypatch, name):
    before = (started / "trainer_state.safetensors").read_bytes()

    def write_until_full(path, content, write=Path.write_bytes):
        if name in str(path):
            write(path, b"the beginning of")
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return write(path, content)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_bytes", write_until_full)
        message = rf"{name} could not be written: .*No space left.* is intact; free some space, then run .* --resume"
        with pytest.raises(RunError, match=message):
            train(config, started, resume=True)
    if name == "trainer_state.safetensors":
        assert (started / name).read_bytes() == before
    assert train(config, started, resume=True) is StopReason.COMPLETED
    assert_same_run(undisturbed, started)


def test_evaluations_after_the_checkpoint_are_repeated(config, started):
    (started / "metrics.jsonl").write_text('{"examples": 0}\n{"examples": 1000}\n{"examples": 0}\n')
    train(config, started, resume=True, time_limit=-1.0)
    assert (started / "metrics.jsonl").read_text() == '{"examples": 0}\n'
    (started / "metrics.jsonl").write_text('{"examples": 0}\n{"exam')
    train(config, started, resume=True, time_limit=-1.0)
    assert (started / "metrics.jsonl").read_text() == '{"examples": 0}\n'


def test_damaged_and_missing_files_are_named(config, finished):
    state, weights = finished / "trainer_state.safetensors", finished / "model.safetensors"
    whole = weights.read_bytes()
    weights.write_bytes(whole[:1000])
    with pytest.raises(RunError, match=r"model\.safetensors is damaged: .*; train again, or restore a copy"):
        evaluate(finished)
    with pytest.raises(RunError, match=r"model\.safetensors is damaged"):  # found before training, not after
        train(config, finished, resume=True)
    weights.unlink()
    with pytest.raises(RunError, match=r"model\.safetensors is missing. If the run was killed before its first eval"):
        train(config, finished, resume=True)
    weights.write_bytes(whole)
    state.write_bytes(state.read_bytes()[:1000])
    with pytest.raises(RunError, match=r"trainer_state\.safetensors is damaged"):
        train(config, finished, resume=True)
    save_file({"other": torch.zeros(1)}, state)
    with pytest.raises(RunError, match=r"(?s)does not match this version .*; resume with the version that started"):
        train(config, finished, resume=True)
    save_file({"other": torch.zeros(1)}, weights)
    with pytest.raises(RunError, match=r"(?s)model\.safetensors does not match the config of "):
        evaluate(finished)


def test_a_corpus_that_differs_is_refused(corpus_folder, other_corpus_folder, finished, tmp_path, javascript_run):
    with pytest.raises(RunError, match="is a corpus of javascript, and the run was trained on another language; use"):
        evaluate(finished, corpus=load_config(javascript_run / "config.toml").corpus)
    corpus = Path(shutil.copytree(corpus_folder, tmp_path / "corpus"))
    config, folder = preset_config(str(corpus), "tiny", SETTINGS), tmp_path / "run"
    train(config, folder, time_limit=-1.0)
    shutil.rmtree(corpus)
    shutil.copytree(other_corpus_folder, corpus)
    message = "corpus is no longer the corpus that .*run was started with; prepare that one again, or train a new run"
    for use in (lambda: evaluate(folder), lambda: train(config, folder, resume=True)):
        with pytest.raises(RunError, match=message):
            use()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"task.max_function_nodes": 3}, "the train split of .* has no examples for this task; prepare it from more"),
        ({"encoding.vocabulary_size": 10_000_000}, "has only .* values; choose a smaller size"),
        ({"encoding.num_placeholders": 10}, "may have 80 nodes, each with another name; set it to at least that"),
    ],
)
def test_a_config_that_does_not_fit_the_corpus_leaves_no_folder(corpus_folder, tmp_path, settings, message):
    with pytest.raises(UsageError, match=message):
        train(preset_config(str(corpus_folder), "tiny", SETTINGS | settings), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_an_empty_validation_split_is_found_before_training(config, tmp_path, monkeypatch):
    monkeypatch.setattr("rarename.tasks.misuse.task.MisuseTask.num_eval_examples", lambda self, split: 0)
    with pytest.raises(UsageError, match=r"the validation split of .* has no examples for this task"):
        train(config, tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_two_processes_do_not_train_in_one_folder(config, tmp_path):
    refused = []

    def train_again(record):
        with pytest.raises(RarenameError, match=r"another process is training in .*; wait for it, or stop it"):
            train(config, tmp_path / "run", resume=True)
        refused.append(record)

    assert train(config, tmp_path / "run", on_log=train_again) is StopReason.COMPLETED
    assert refused


# Options of the command line


def test_a_new_run_with_resume_is_announced(config, tmp_path, capsys):
    for is_new in (True, False):
        assert main(command(config, tmp_path / "new", "--resume", "--time-limit", "0")) == 0
        error = capsys.readouterr().err
        assert ("new has no checkpoint; training starts from the beginning\n" in error) == is_new
        assert "rarename train: the time limit is reached; run the same command with --resume\n" in error


def test_wrong_options_are_refused(config, tmp_path, capsys):
    assert main(command(config, tmp_path / "run", "--pointer")) == 2
    assert "rarename train: --pointer is for completion, not for misuse\n" in capsys.readouterr().err
    for limit in ("-1", "nan", "long"):
        with pytest.raises(SystemExit, match="2"):
            main(command(config, tmp_path / "run", f"--time-limit={limit}"))


def test_curves_of_tensorboard(config, tmp_path, monkeypatch, capsys):
    curves = {}
    writer = SimpleNamespace(
        add_scalar=lambda name, value, examples: curves.setdefault(name, []).append(examples), close=lambda: None
    )
    fake = SimpleNamespace(SummaryWriter=lambda folder, purge_step: writer)
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", fake)
    monkeypatch.setattr("rarename.training.trainer.LOG_EVERY_STEPS", 3)
    logger = TensorBoardLogger(tmp_path)
    train(config, tmp_path / "run", on_log=logger)
    logger.close()
    assert curves["validation/joint_accuracy"] == [line["examples"] for line in evaluations(tmp_path / "run")]
    assert set(curves["training/loss"]) > set(curves["validation/joint_accuracy"])
    monkeypatch.delitem(sys.modules, "torch.utils.tensorboard")
    monkeypatch.setitem(sys.modules, "tensorboard", None)
    assert main(command(config, tmp_path / "none", "--tensorboard")) == 2
    message = "needs tensorboard, which is not installed; run: pip install 'rarename[tensorboard]'\n"
    assert capsys.readouterr().err.endswith(message)
    assert not (tmp_path / "none").exists()


def test_a_run_finds_its_corpus_from_another_folder(tmp_path, monkeypatch):
    (tmp_path / "corpora" / "a").mkdir(parents=True)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    run = tmp_path / "runs" / "r"
    assert _found_corpus("corpora/a", run) == str(tmp_path / "corpora" / "a")
    assert _found_corpus("corpora/b", run) == "corpora/b"
    (tmp_path / "elsewhere" / "corpora" / "a").mkdir(parents=True)
    assert _found_corpus("corpora/a", run) == "corpora/a"  # the current folder first
