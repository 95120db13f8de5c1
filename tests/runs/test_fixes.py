"""Training on real fixes and from the weights of another run."""

import gzip
import json
import re
import shutil
from collections import Counter

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from rarename.assist.check import CheckModel
from rarename.cli.main import main
from rarename.config import load_config
from rarename.errors import RunError, UsageError
from rarename.inference.model_folder import packaged_model
from rarename.presets import preset_config
from rarename.runs.fix_evaluation import _summary, evaluate_fixes
from rarename.runs.run import train
from rarename.syntax import JAVASCRIPT, PYTHON
from rarename.tasks.misuse.fixes import Fixes, parse_fix, read_fixes
from rarename.training.trainer import StopReason

SETTINGS = {
    "encoding": {"vocabulary_size": 50, "num_placeholders": 120, "num_subtokens": 50},
    "task": {
        "max_function_nodes": 60, "context_nodes": 8, "multi_bug_epochs": 0, "fix_epochs": 2, "fix_mined_functions": 60,
        "fix_clean_functions": 3.0, "epoch_functions": 0,
    },
    "model": {"d_model": 16, "num_layers": 1, "num_heads": 2, "d_ff": 16, "dropout": 0.1},
    "training": {
        "num_epochs": 0, "max_batch_nodes": 600, "eval_every_examples": 60, "eval_examples": 5, "optimizer": "adamw",
        "learning_rate": 1e-3,
    },
}  # fmt: skip

pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture(scope="module")
def fixes(tmp_path_factory):
    """Twelve fixes of three projects, one of which is for validation."""
    folder = tmp_path_factory.mktemp("fixes")
    rows = []
    for number in range(12):
        text = f"def copy_{number}(source, target, limit):\n    for line in source:\n        target.write(source)\n"
        row = {"repo": f"p/{number % 3}", "tier": "A", "wrong": "source", "right": "line", "line": 3, "column": 22}
        rows.append(row | {"before_function": text, "after_function": text.replace("write(source", "write(line")})
    (folder / "fixes.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "splits.txt").write_text("train p/0\ntrain p/1\nvalidation p/2\n")
    return folder


def fix_config(corpus_folder, fixes, **settings):
    paths = {"fixes": str(fixes / "fixes.jsonl"), "fixes_splits": str(fixes / "splits.txt")}
    return preset_config(str(corpus_folder), "check", SETTINGS | paths | settings)


@pytest.fixture(scope="module")
def config(corpus_folder, fixes):
    return fix_config(corpus_folder, fixes)


@pytest.fixture(scope="module")
def finished(config, tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "finished"
    assert train(config, folder) is StopReason.COMPLETED
    return folder


def weights(folder):
    return load_file(folder / "model.safetensors")


def test_a_last_phase_resumes_bit_for_bit(config, finished, tmp_path):
    folder, steps = tmp_path / "run", iter([False, True, False, False, False, True])
    reasons = [train(config, folder, resume=number > 0, should_stop=lambda: next(steps, False)) for number in range(3)]
    assert [*map(bool, reasons)] == [False, False, True]
    expected, resumed = weights(finished), weights(folder)
    assert all(torch.equal(expected[name], resumed[name]) for name in expected)
    assert train(config, folder, resume=True) is StopReason.COMPLETED  # nothing is left to do
    log = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    assert log[-1]["epoch"] == 1
    assert {"fixes_joint", "fixes_located", "fixes_above_twin"} < log[-1]["validation"].keys()
    assert log[-1]["learning_rate"] == pytest.approx(1e-3 * 0.2 / 2)  # of the second of two epochs
    mined = json.loads((folder / "mined.json").read_text())
    assert {epoch: len(set(indexes)) for epoch, indexes in mined.items()} == {"0": 12, "1": 12}  # half of 3 · 8


def test_fixes_come_after_the_epochs_on_the_corpus(corpus_folder, fixes, tmp_path):
    changed = {"training": SETTINGS["training"] | {"num_epochs": 1, "eval_every_examples": 10_000}}
    changed["task"] = SETTINGS["task"] | {"max_function_nodes": 30, "fix_hard_fraction": 0.0, "fix_epochs": 1}
    records = []
    assert train(fix_config(corpus_folder, fixes, **changed), tmp_path / "run", on_log=records.append)
    assert records[-1]["epoch"] == 1
    assert records[0]["learning_rate"] < 1e-3
    assert records[-1]["learning_rate"] == pytest.approx(0.2e-3)
    assert not (tmp_path / "run" / "mined.json").exists()


def test_training_starts_from_another_run(config, finished, corpus_folder, tmp_path, capsys):
    options = ["train", "misuse", str(tmp_path / "more"), "--corpus", str(corpus_folder)]
    options += ["--preset", "check", "--init", str(finished)]
    settings = {"learning_rate": 0, "muon_learning_rate": 0, "num_epochs": 1, "eval_examples": 5}
    options += [word for key, value in settings.items() for word in ("--set", f"training.{key}={value}")]
    options += ["--set", "task.multi_bug_epochs=0", "--set", "task.epoch_functions=0"]
    assert main([*options, "--time-limit", "0"]) == 0
    expected, started = weights(finished), weights(tmp_path / "more")
    assert all(torch.equal(expected[name], started[name]) for name in expected)
    shutil.rmtree(tmp_path / "more" / "tensorboard", ignore_errors=True)
    saved = load_config(tmp_path / "more" / "config.toml")
    assert (saved.encoding, saved.model) == (config.encoding, config.model)
    assert (saved.init, len(saved.init_digest)) == (str(finished), 64)
    assert main([*options, "--set", "model.d_model=32"]) == 2
    assert "model.d_model is 16" in capsys.readouterr().err
    assert main(["train", "misuse", "x", "--corpus", str(corpus_folder), "--init", str(tmp_path)]) == 2
    assert "is not a run" in capsys.readouterr().err


def test_evaluate_measures_a_model_on_fixes(finished, fixes, corpus_folder, tmp_path, capsys):
    options = ["evaluate", str(finished), "--fixes", str(fixes / "fixes.jsonl")]
    options += ["--fixes-splits", str(fixes / "splits.txt"), "--split", "validation"]
    assert main([*options, "--output-format", "json", "--corpus", str(corpus_folder)]) == 0
    metrics = json.loads(capsys.readouterr().out)
    assert (metrics["num"], metrics["skipped"]) == (4, {})
    assert 0 <= metrics["joint"] <= min(metrics["located"], metrics["repaired"]) <= 1
    assert metrics["by_length"]["up to 25"]["num"] == 4
    assert metrics["num_clean"] > 20
    limits = metrics["at_false_alarms"]
    assert all(group["false_alarms"] <= float(rate) for rate, group in limits.items() if rate != "default")
    assert limits["0.1"]["reported"] >= limits["0.005"]["reported"] >= limits["0.005"]["joint"]
    assert sum(row["num"] for row in metrics["reliability"]) == 8  # before and after
    (tmp_path / "more.jsonl").write_text('{"wrong": 3}\n' + (fixes / "fixes.jsonl").read_text() + "{\n")
    assert main(["evaluate", str(finished), "--fixes", str(tmp_path / "more.jsonl")]) == 0
    out = capsys.readouterr().out
    assert "located  repaired  both  functions" in out
    assert "all" in out.splitlines()[1]
    assert out.count("left out: ") == 2
    assert "line 1: before_function is missing" in out
    assert main(["evaluate", str(finished), "--fixes", str(tmp_path / "none.jsonl")]) == 2


def test_what_ranks_and_reliability_count():
    columns = {
        "length": np.array([10, 30]), "before": np.array([0.9, 0.2]), "after": np.array([0.2, 0.4]),
        "is_located": np.array([True, True]), "is_repaired": np.array([True, False]),
    }  # fmt: skip
    metrics = _summary(columns, np.array([0.1, 0.3] * 500 + [0.85]), 0.5)
    assert (metrics["located"], metrics["joint"], metrics["above_twin"], metrics["auc"]) == (1.0, 0.5, 0.5, 0.625)
    assert metrics["at_false_alarms"]["0.001"]["joint"] == 0.5  # 0.9 is above all but one clean function in 1,001
    assert metrics["at_false_alarms"]["0.001"]["false_alarms"] < 0.001
    assert metrics["at_false_alarms"]["default"] == {
        "threshold": 0.5, "joint": 0.5, "reported": 0.5, "reported_after_fix": 0.0, "false_alarms": 1 / 1001
    }  # fmt: skip
    assert [(row["num"], row["right"]) for row in metrics["reliability"]] == [(2, 0.0), (1, 0.0), (1, 1.0)]


def test_fixes_must_be_there_and_stay_the_same(config, finished, fixes, corpus_folder, tmp_path):
    shutil.copytree(finished, tmp_path / "run")
    changed = shutil.copytree(fixes, tmp_path / "fixes")
    (changed / "splits.txt").write_text("train p/0\n")
    with pytest.raises(RunError, match=r"other settings: .*fixes_digest"):
        train(fix_config(corpus_folder, changed), tmp_path / "run", resume=True)
    (changed / "splits.txt").write_text("validation p/0\n")
    with pytest.raises(UsageError, match="has no fix of python to train on"):
        train(fix_config(corpus_folder, changed), tmp_path / "new")
    (changed / "fixes.jsonl").unlink()
    with pytest.raises(UsageError, match=r"fixes\.jsonl cannot be read: No such file"):
        train(fix_config(corpus_folder, changed), tmp_path / "new")
    with pytest.raises(UsageError, match=r"num_epochs is 0\.5; with fixes it must be a whole number"):
        fix_config(corpus_folder, fixes, training={"num_epochs": 0.5})


TEXT = "def area(width, height):\n    return width * width\n"
FIX = {"before_function": TEXT, "after_function": TEXT.replace("* width", "* height"), "wrong": "width"}
FIX |= {"right": "height", "tier": "A", "line": 2, "column": 20}


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ('"line": 1e999', "line is inf; expected a whole number"),
        ('"column": 0.5', "column is 0.5; expected a whole number"),
        ('"offset": null', "offset is None; expected a whole number"),
        ('"tier": ["A"]', r"tier is \['A'\]; expected str"),
        ('"line": 3', "the wrong name is not a variable"),
    ],
)
def test_a_fix_with_wrong_fields_is_left_out(tmp_path, change, problem):
    lines = [json.dumps(FIX)[:-1] + f", {change}}}", json.dumps(FIX)]
    (tmp_path / "fixes.jsonl").write_text("\n".join(lines))
    read = read_fixes(tmp_path / "fixes.jsonl", PYTHON)
    assert len(read.fixes) == read.skipped.total() == 1
    assert re.search(problem, next(iter(read.skipped)))


def test_damaged_and_large_files_of_fixes_are_errors(tmp_path, monkeypatch):
    path = tmp_path / "fixes.jsonl"
    content = gzip.compress(json.dumps(FIX).encode() * 50)
    for wrong in (content[:-9], content[:12] + b"\xff\xff" + content[14:], b"\xff"):
        path.write_bytes(wrong)
        with pytest.raises(UsageError, match=r"fixes\.jsonl cannot be read"):
            read_fixes(path, PYTHON)
    path.write_bytes(b"{}\n" * 2_000)
    with pytest.raises(UsageError, match=r"fixes\.jsonl has more than 1,000 lines that are no fixes; the last: before"):
        read_fixes(path, PYTHON)
    for limit in ("MAX_LINE_BYTES", "MAX_BYTES"):
        monkeypatch.setattr(f"rarename.tasks.misuse.fixes.{limit}", 100)
        path.write_bytes(gzip.compress(b" " * 10**6 if limit == "MAX_LINE_BYTES" else b"\n" * 10**6))
        with pytest.raises(UsageError, match=r"fixes\.jsonl cannot be read: line \d+: over"):
            read_fixes(path, PYTHON)


def test_a_fixed_function_that_is_no_program_is_left_out():
    model = CheckModel.load(packaged_model("javascript"))
    text = "function area(width, height) { '\ud800'; return width * width }"
    fix = {"before_function": text, "after_function": text.replace("* width", "* height"), "wrong": "width"}
    fix |= {"right": "height", "offset": text.rindex("width")}
    fixes = [parse_fix(fix | change, JAVASCRIPT) for change in ({}, {"after_function": "function ("})]
    metrics = evaluate_fixes(model, Fixes(fixes, Counter()))
    assert (metrics["num"], metrics["located"], metrics["skipped"]) == (1, 1, {"syntax error": 1})
