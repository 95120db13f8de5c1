"""Runs: repeatable, resumable, and clear about what is wrong."""

import dataclasses
import errno
import fcntl
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

import pytest
import torch
from safetensors.torch import load_file, save_file

from rarename import config as experiments
from rarename.cli.main import main
from rarename.config import PRESETS, build
from rarename.corpus.build import PrepareConfig, prepare
from rarename.corpus.store import Corpus
from rarename.errors import RunError, UnknownName, UsageError
from rarename.runs.run import evaluate, train
from rarename.training import trainer as loop
from rarename.training.checkpoint import read_tensors
from rarename.training.trainer import StopReason

SETTINGS = {
    "encoding.vocabulary_size": 50,
    "encoding.num_placeholders": 80,
    "task.max_function_nodes": 80,
    "model": {"d_model": 16, "num_layers": 1, "num_heads": 2, "d_ff": 16, "dropout": 0.1},
    "training": {
        "num_epochs": 0.6,
        "max_batch_nodes": 1000,
        "eval_every_examples": 300,
        "eval_examples": 20,
        "save_every_seconds": 0.0,
    },
}


pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture(scope="module")
def setting(corpus_folder):
    return preset_config(str(corpus_folder), "tiny", SETTINGS)


@pytest.fixture(scope="module")
def undisturbed(setting, tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "undisturbed"
    assert train(setting, folder)
    return folder


def same_tensors(left, right):
    first, second = load_file(left), load_file(right)
    return first.keys() == second.keys() and all(torch.equal(first[name], second[name]) for name in first)


def assert_same_run(left, right):
    """Bit for bit, and nothing left lying about."""
    assert same_tensors(left / "model.safetensors", right / "model.safetensors")
    assert same_tensors(left / "trainer_state.safetensors", right / "trainer_state.safetensors")
    metrics = [[json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()] for run in (left, right)]
    times = {"seconds", "seconds_left", "examples_per_second", "nodes_per_second", "waiting"}
    first, second = ([{key: line[key] for key in line.keys() - times} for line in run] for run in metrics)
    assert first == second
    assert not list(right.glob(".*"))


def command(setting, folder, *more):
    """The words after `rarename` for a run."""
    toml = folder.with_suffix(".toml")
    save_config(setting, toml)
    return ["train", "misuse", "--corpus", setting.corpus, "--output-dir", str(folder), "--config", str(toml), *more]


def test_a_run_is_repeatable(setting, undisturbed, tmp_path):
    train(setting, tmp_path / "again")
    assert same_tensors(undisturbed / "model.safetensors", tmp_path / "again" / "model.safetensors")
    assert same_tensors(undisturbed / "trainer_state.safetensors", tmp_path / "again" / "trainer_state.safetensors")


def test_another_seed_is_another_run(setting, undisturbed, tmp_path):
    train(dataclasses.replace(setting, seed=1), tmp_path / "other")
    assert not same_tensors(undisturbed / "model.safetensors", tmp_path / "other" / "model.safetensors")


def test_stopped_again_and_again_it_ends_in_the_same_weights(setting, undisturbed, tmp_path):
    folder, stops = tmp_path / "run", 0
    while not train(setting, folder, resume=True, time_limit=0.0):
        stops += 1
    assert stops > 5
    assert_same_run(undisturbed, folder)


LIVES = """
import os, sys, torch._dynamo  # which the first optimizer would import
from rarename.cli import train
from rarename.cli.main import main
from rarename.runs import run
for _ in sys.stdin:
    if not (child := os.fork()):
        os._exit(main(sys.argv[1:]))
    print(child, flush=True)
    os.waitpid(child, 0)
    print("ended", flush=True)
"""
"""Runs a command again and again, and imports torch only once."""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_killed_at_any_moment_it_ends_in_the_same_weights(setting, undisturbed, tmp_path):
    folder, state, random, num_torn = tmp_path / "run", tmp_path / "run" / "trainer_state.safetensors", Random(0), 0
    words = [sys.executable, "-c", LIVES, *command(setting, folder, "--resume", "--num-threads", "1")]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL, "text": True}
    with subprocess.Popen(words, **pipes) as lives:
        for life in range(9):
            lives.stdin.write("once more\n")
            lives.stdin.flush()
            child = int(lives.stdout.readline())
            saved, num_saves, give_up = modified(state), random.randrange(1, 3), time.monotonic() + 60
            while num_saves and time.monotonic() < give_up:
                if life % 3 == 1 and any(folder.glob(".state*.part")):
                    break  # while it saves
                if (now := modified(state)) != saved:
                    num_saves, saved = num_saves - 1, now
                time.sleep(0.0005)
            if life % 3 == 2:
                time.sleep(random.uniform(0, 0.03))
            os.kill(child, signal.SIGKILL)
            assert lives.stdout.readline() == "ended\n"
            num_torn += any(folder.glob(".*.part"))
        lives.stdin.close()
    assert num_torn
    assert train(setting, folder, resume=True) is StopReason.FINISHED
    assert_same_run(undisturbed, folder)


def modified(path):
    return path.stat().st_mtime_ns if path.exists() else 0


@pytest.mark.slow
@pytest.mark.parametrize("event", ["ctrl-c", "nobody listens"])
def test_interrupted_the_step_is_ended_and_the_state_saved(setting, undisturbed, tmp_path, event):
    folder = tmp_path / "run"
    folder_setting = dataclasses.replace(setting, training=dataclasses.replace(setting.training, save_every=1e9))
    words = command(folder_setting, folder, "--output-format", "json", "--num-threads", "1")
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, "-m", "rarename", *words], **pipes) as process:
        process.stdout.readline()
        assert not (folder / "trainer_state.safetensors").exists()
        if event == "ctrl-c":
            process.send_signal(signal.SIGINT)
        else:
            process.stdout.close()
        error = process.stderr.read()
    assert process.returncode == 130
    assert error == "rarename train: interrupted; the same command with --resume goes on\n"
    assert (folder / "trainer_state.safetensors").exists()
    assert train(folder_setting, folder, resume=True) is StopReason.FINISHED
    assert_same_run(undisturbed, folder)


def test_the_best_weights_are_kept_and_can_be_evaluated(setting, undisturbed):
    lines = [json.loads(line) for line in (undisturbed / "metrics.jsonl").read_text().splitlines()]
    assert len(lines) >= 2
    scores = evaluate(undisturbed, "test")
    assert scores["num_clean"] > 10
    assert 0 <= scores["joint_accuracy"] <= scores["location_accuracy"] <= 1
    assert evaluate(undisturbed, "test") == scores


def test_scores_of_dense_epochs_choose_no_weights(setting, tmp_path, monkeypatch):
    """They are made perfect here; the best weights are still some of the epochs that follow."""
    dense = dataclasses.replace(setting.task, way="local", head="pairs", dense_epochs=1)
    training = dataclasses.replace(setting.training, epochs=1.3, validate_every=200)
    measured = loop.measure

    def measure(task, model, split, limit):
        counts = measured(task, model, split, limit)
        score = 0.1 if num_looks.append(split) or len(num_looks) > 2 else 1.0
        return SimpleNamespace(scores=lambda: counts.scores() | {"joint_accuracy": score})

    num_looks = []
    monkeypatch.setattr(loop, "measure", measure)
    train(dataclasses.replace(setting, task=dense, training=training), tmp_path / "dense")
    assert len(num_looks) > 3
    _, state = read_tensors(tmp_path / "dense" / "trainer_state.safetensors")
    assert float(state["position.best"]) == 0.1


def test_the_setting_is_saved_with_the_run(setting, undisturbed):
    saved = load_config(undisturbed / "config.toml")
    assert saved == dataclasses.replace(setting, corpus_digest=Corpus(setting.corpus).digest())


def test_commands(setting, undisturbed, capfd):
    assert main(["evaluate", str(undisturbed), "--split", "validation", "--output-format", "json"]) == 0
    assert json.loads(capfd.readouterr().out) == evaluate(undisturbed, "validation")
    assert main(["train", "misuse", "--corpus", setting.corpus, "--output-dir", str(undisturbed)]) == 2
    assert "holds a run already; say --resume to go on with it" in capfd.readouterr().err


def test_a_run_with_other_settings_is_not_touched(setting, undisturbed):
    with pytest.raises(RunError, match=r"holds a run with other settings: seed \(0, not 5\); choose another folder"):
        train(dataclasses.replace(setting, seed=5), undisturbed, resume=True)


def test_a_folder_that_is_no_run_is_not_touched(setting, tmp_path):
    (tmp_path / "precious.txt").write_text("mine")
    with pytest.raises(RunError, match="exists and is no run"):
        train(setting, tmp_path)
    with pytest.raises(RunError, match=r"is no run \(it has no config.toml\)"):
        evaluate(tmp_path)


# --- faults -----------------------------------------------------------------------------------------------


@pytest.fixture
def begun(setting, tmp_path):
    """A run that has taken its first step."""
    assert train(setting, tmp_path / "begun", time_limit=0.0) is StopReason.INTERRUPTED
    return tmp_path / "begun"


@pytest.fixture
def finished(undisturbed, tmp_path):
    """A copy of a finished run, to be spoilt."""
    return Path(shutil.copytree(undisturbed, tmp_path / "finished"))


@pytest.mark.parametrize("name", ["trainer_state.safetensors", "model.safetensors"])
def test_a_full_disk_leaves_what_was_saved(setting, undisturbed, begun, monkeypatch, name):
    before = (begun / "trainer_state.safetensors").read_bytes()

    def save_until_full(tensors, path, metadata):
        if name in str(path):
            Path(path).write_bytes(b"the beginning of")
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        save_file(tensors, path, metadata)

    with monkeypatch.context() as patch:
        patch.setattr("rarename.training.checkpoint.save_file", save_until_full)
        message = rf"{name} could not be written: .*No space left.*; when there is room .* with --resume goes on"
        with pytest.raises(RunError, match=message):
            train(setting, begun, resume=True)
    if name == "trainer_state.safetensors":
        assert (begun / name).read_bytes() == before
    assert not list(begun.glob(".*"))
    assert train(setting, begun, resume=True) is StopReason.FINISHED
    assert_same_run(undisturbed, begun)


def test_a_torn_line_of_metrics_is_written_again(setting, undisturbed, begun):
    (begun / "metrics.jsonl").write_text('{"examples": 0}\n{"exam')
    train(setting, begun, resume=True, time_limit=0.0)
    assert (begun / "metrics.jsonl").read_text() == '{"examples": 0}\n'


def test_a_truncated_file_says_so(setting, finished):
    for name in ("model.safetensors", "trainer_state.safetensors"):
        (finished / name).write_bytes((finished / name).read_bytes()[:1000])
    with pytest.raises(RunError, match=r"weights\.safetensors is damaged: .*; train again, or put back a copy"):
        evaluate(finished)
    with pytest.raises(RunError, match=r"state\.safetensors is damaged"):
        train(setting, finished, resume=True)


@pytest.mark.parametrize("is_there", [True, False])
def test_a_run_does_not_go_on_without_its_best_weights(setting, finished, is_there):
    """They may stay the best, and all that is trained from here on would come to nothing."""
    weights = finished / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-50])
    if not is_there:
        weights.unlink()
    said = "damaged: " if is_there else "missing: "
    with pytest.raises(RunError, match=rf"weights\.safetensors is {said}.* put back a copy of it"):
        train(setting, finished, resume=True)


def test_beginning_anew_is_told(setting, tmp_path, capfd):
    assert main(command(setting, tmp_path / "new", "--resume", "--time-limit", "0")) == 0
    assert f"rarename train: nothing is saved in {tmp_path / 'new'} to go on with; it begins anew\n" in (
        capfd.readouterr().err
    )
    assert main(command(setting, tmp_path / "new", "--resume", "--time-limit", "0")) == 0
    assert "begins anew" not in capfd.readouterr().err


def test_misuse_has_no_pointer(setting, tmp_path, capfd):
    assert main(command(setting, tmp_path / "run", "--pointer")) == 2
    assert "rarename train: --pointer is for completion; misuse has nothing to copy\n" in capfd.readouterr().err


@pytest.mark.parametrize("time", ["-1", "nan", "long"])
def test_a_time_limit_is_a_time(setting, tmp_path, time):
    with pytest.raises(SystemExit, match="2"):
        main(command(setting, tmp_path / "run", f"--time-limit={time}"))


def test_a_state_of_another_version_says_so(setting, finished):
    save_file({"other": torch.zeros(1)}, finished / "trainer_state.safetensors")
    with pytest.raises(
        RunError, match=r"(?s)state\.safetensors does not fit this version .*; go on with the version that"
    ):
        train(setting, finished, resume=True)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "version = 1\n",
            "version = 99\n",
            "is of version 99; this rarename reads version 1; use the rarename that made",
        ),
        (
            "version = 1\n",
            "",
            "written by another version of rarename: it has no version; use the rarename that made it",
        ),
        (
            "patience = 0\n",
            "",
            "another version of rarename: it has no training.early_stopping_patience; .* or train again with this one",
        ),
        ("[model]\n", "[model]\ncolour = 1\n", "it has model.colour, which this version does not know; use the"),
    ],
)
def test_a_run_of_another_version_says_so(setting, finished, old, new, message):
    path = finished / "config.toml"
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))
    with pytest.raises(RunError, match=message):
        evaluate(finished)
    with pytest.raises(RunError, match=message):
        train(setting, finished, resume=True)


def test_a_corpus_of_another_language_says_so(finished, tmp_path):
    for name in "abcdefghij":
        (tmp_path / "src" / name).mkdir(parents=True)
        (tmp_path / "src" / name / "m.js").write_text(f"function {name}(x, y) {{ return x + y - {name}; }}\n")
    prepare(tmp_path / "js", [str(tmp_path / "src")], PrepareConfig("javascript", keep_near_duplicates=True))
    with pytest.raises(
        RunError, match="js, a corpus of javascript, has other node types than the run was trained with"
    ):
        evaluate(finished, corpus=str(tmp_path / "js"))


def test_a_corpus_that_ranks_names_otherwise_says_so(finished):
    path = finished / "encoding.json"
    content = json.loads(path.read_text())
    content["values"][:2] = content["values"][1::-1]
    path.write_text(json.dumps(content))
    with pytest.raises(RunError, match="another order of names than the run was trained with"):
        evaluate(finished)


def test_a_corpus_that_has_changed_says_so(corpus_folder, tmp_path):
    corpus = Path(shutil.copytree(corpus_folder, tmp_path / "corpus"))
    setting, folder = preset_config(str(corpus), "tiny", SETTINGS), tmp_path / "run"
    train(setting, folder, time_limit=0.0)
    manifest = json.loads((corpus / "manifest.json").read_text()) | {"digest": 64 * "0"}
    (corpus / "manifest.json").write_text(json.dumps(manifest))
    message = "corpus is not the corpus any more that .*run was begun with; prepare that one again, or train a new run"
    with pytest.raises(RunError, match=message):
        train(setting, folder, resume=True)
    with pytest.raises(RunError, match=message):
        evaluate(folder)


def test_a_corpus_without_fit_functions_says_so(corpus_folder, tmp_path):
    with pytest.raises(UsageError, match="has no file or function in its train split that fits the task"):
        train(preset_config(str(corpus_folder), "tiny", SETTINGS | {"task.max_function_nodes": 3}), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_corpus_with_nothing_to_measure_says_so_before_training(tmp_path):
    for project, text in {
        "one": "def f(a, b, c):\n    return a + b + c + a\n",
        "two": "x = 1\n",
        "three": "y = 2\n",
    }.items():
        (tmp_path / "code" / project).mkdir(parents=True)
        (tmp_path / "code" / project / "m.py").write_text(text)
    splits = tmp_path / "splits.txt"
    splits.write_text("train one\nvalidation two\ntest three\n")
    prepare(tmp_path / "corpus", [str(tmp_path / "code")], PrepareConfig("python", splits=splits))
    setting = preset_config(str(tmp_path / "corpus"), "tiny", SETTINGS | {"encoding.vocabulary_size": 2})
    with pytest.raises(UsageError, match="has no file or function in its validation split that fits the task"):
        train(setting, tmp_path / "run")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("model.num_heads", 3, "model: a width of 64 cannot be divided among 3 heads"),
        ("model.num_layers", 0, "^model.num_layers is 0; it must be at least 1"),
        ("model.dropout", 1.0, "dropout is 1.0; it must be below 1"),
        ("training.num_epochs", float("nan"), "epochs is nan; it must be above 0"),
        ("training.learning_rate", -1.0, "learning_rate is -1.0; it must be at least 0"),
        ("training.max_batch_nodes", 0, "batch_nodes is 0; it must be at least 1"),
        ("encoding.vocabulary_size", -5, "vocabulary_size is -5; it must be at least 0"),
        ("task.multi_bug_rate", 5.0, "dense_share is 5.0; it must be above 0 and at most 1"),
        ("seed", -1, "^seed is -1; it must be at least 0"),
    ],
)
def test_settings_that_make_no_sense_are_refused(corpus_folder, name, value, message):
    with pytest.raises(UsageError, match=message):
        preset_config(str(corpus_folder), "tiny", {name: value})


def test_curves_need_a_package(setting, tmp_path, monkeypatch, capfd):
    monkeypatch.setattr("rarename.runs.tensorboard.find_spec", lambda name: None)
    assert main(command(setting, tmp_path / "run", "--tensorboard")) == 2
    message = "rarename train: --tensorboard needs the package tensorboard; install it with rarename[tensorboard]\n"
    assert capfd.readouterr().err == message
    assert not (tmp_path / "run").exists()


@pytest.mark.slow
def test_curves_are_written(setting, tmp_path):
    pytest.importorskip("tensorboard")
    assert main(command(setting, tmp_path / "run", "--tensorboard")) == 0
    assert list((tmp_path / "run" / "tensorboard").glob("events.*"))


# --- early stop -------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def hopeless(setting):
    """It learns nothing, so the second look at the validation split cannot be better."""
    training = dataclasses.replace(setting.training, learning_rate=0.0, patience=2, validate_every=100)
    return dataclasses.replace(setting, training=training)


def test_it_stops_when_patience_is_at_its_end(hopeless, tmp_path, capfd):
    assert train(hopeless, tmp_path / "run") is StopReason.EARLY
    lines = (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()
    assert len(lines) == 3
    before = (tmp_path / "run" / "trainer_state.safetensors").stat().st_mtime_ns
    assert main(command(hopeless, tmp_path / "run", "--resume")) == 0
    assert (
        "stopped early, after 2 validations without a better score; the best weights are in" in capfd.readouterr().err
    )
    assert (tmp_path / "run" / "trainer_state.safetensors").stat().st_mtime_ns == before


def test_interrupted_it_stops_early_at_the_same_place(hopeless, tmp_path):
    train(hopeless, tmp_path / "once")
    while (outcome := train(hopeless, tmp_path / "often", resume=True, time_limit=0.0)) is StopReason.INTERRUPTED:
        pass
    assert outcome is StopReason.EARLY
    assert_same_run(tmp_path / "once", tmp_path / "often")


# --- settings ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"encoding.vocabulary_size": 10_000_000}, "has only .* values in training; choose a smaller one"),
        ({"encoding.num_placeholders": 10}, "each another name; set it to as many"),
    ],
)
def test_a_setting_that_does_not_fit_the_corpus_says_so(corpus_folder, tmp_path, settings, message):
    with pytest.raises(UsageError, match=message):
        train(preset_config(str(corpus_folder), "tiny", SETTINGS | settings), tmp_path / "run")
    assert not (tmp_path / "run" / "config.toml").exists()


@pytest.mark.parametrize(
    ("preset", "settings", "error", "message"),
    [
        ("huge", {}, UnknownName, f"no preset of misuse 'huge'; choose one of {', '.join(PRESETS['misuse'])}"),
        ("tiny", {"model.widht": 3}, UsageError, "no setting 'model.widht'; choose one of model.d_model"),
        ("tiny", {"colour": 3}, UsageError, "no setting 'colour'; choose one of corpus, corpus_digest, seed"),
        ("tiny", {"model": 3}, UsageError, "model is a table of settings, not 3"),
        ("tiny", {"model.d_model": "wide"}, UsageError, "model.d_model is 'wide'; expected int"),
        ("tiny", {"training.lr_scheduler": "x"}, UnknownName, "no schedule 'x'; choose one of constant, linear, cosine"),
    ],
)
def test_a_wrong_setting_is_named(preset, settings, error, message):
    with pytest.raises(error, match=message):
        preset_config("corpus", preset, settings)


def test_a_run_that_is_stopped_early_can_be_tried_out_and_ends_the_same(setting, undisturbed, tmp_path):
    folder = tmp_path / "stopped"
    assert train(setting, folder, time_limit=0.0) is StopReason.INTERRUPTED
    assert not (folder / "metrics.jsonl").exists()
    assert evaluate(folder)["num_clean"] > 0
    assert train(setting, folder, resume=True) is StopReason.FINISHED
    assert_same_run(undisturbed, folder)


def test_without_weights_it_says_how_to_get_some(begun):
    (begun / "model.safetensors").unlink(missing_ok=True)
    with pytest.raises(RunError, match=r"weights\.safetensors is missing: .* go on with `rarename train` and --resume"):
        evaluate(begun)


def test_two_trainings_in_one_folder(setting, begun, tmp_path):
    met = []

    def begin_another(told):
        with pytest.raises(RunError, match="another process is training in"):
            train(setting, begun, resume=True)
        met.append(told)

    assert train(setting, begun, resume=True, tell=begin_another) is StopReason.FINISHED
    assert met
    (tmp_path / "file").write_text("")
    with pytest.raises(RunError, match="is a file"):
        train(setting, tmp_path / "file")


def test_a_run_is_measured_on_another_corpus(finished, other_corpus_folder):
    assert evaluate(finished, corpus=str(other_corpus_folder)) == evaluate(finished)


def test_a_second_training_leaves_a_folder_alone_that_is_empty_still(setting, tmp_path):
    folder = tmp_path / "new"
    folder.mkdir()
    descriptor = os.open(folder, os.O_RDONLY)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    with pytest.raises(RunError, match="another process is training in"):
        train(setting, folder)
    os.close(descriptor)
    assert folder.exists()


def test_where_there_is_no_terminal_training_tells_now_and_then(setting, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("rarename.cli.train.SECONDS_BETWEEN", 0.0)
    assert main(command(setting, tmp_path / "told")) == 0
    lines = [line for line in capsys.readouterr().err.splitlines() if " examples  loss " in line]
    assert all(line.startswith("told ") and line.partition("left")[1] for line in lines)
    assert any("joint" in line for line in lines)
    assert any("joint" not in line for line in lines)
