"""Several processes train as one would."""

import json
import math
import os
import subprocess
import sys

import pytest
import torch
from safetensors.torch import load_file

from rarename import config as experiments
from rarename.presets import preset_config
from rarename.runs.run import train
from rarename.training.distributed import DistributedContext
from rarename.training.trainer import StopReason

SETTINGS = {
    "encoding.vocabulary_size": 50,
    "encoding.num_placeholders": 80,
    "task.max_function_nodes": 80,
    "model": {"d_model": 16, "num_layers": 1, "num_heads": 2, "d_ff": 16, "dropout": 0.0},
    # Small batches: some have one function only, which leaves nothing for the second process.
    "training": {"num_epochs": 0.3, "max_batch_nodes": 300, "eval_every_examples": 100, "eval_examples": 20, "warmup_steps": 10},
}


@pytest.fixture(scope="module")
def setting(corpus_folder):
    return preset_config(str(corpus_folder), "tiny", SETTINGS)


def by_one(setting, folder, dtype):
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    torch.set_default_dtype(dtype)
    try:
        return train(setting, folder, resume=folder.exists(), time_limit=0.0 if folder.name == "mixed" else math.inf)
    finally:
        torch.set_default_dtype(torch.float32)
        torch.set_num_threads(threads)


def by_two(*words, check=True):
    """Run a command in two processes, which meet on a free port."""
    launch = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    done = subprocess.run([*launch, *words], env=environment, capture_output=True, text=True, timeout=300)
    assert not check or done.returncode == 0, done.stderr
    return done


def command(setting, folder, *more):
    toml = folder.with_suffix(".toml")
    save_config(setting, toml)
    return ["train", setting.task.name, "--corpus", setting.corpus, "--output-dir", str(folder), "--config", str(toml), *more]


def mismatches(left, right, blind=()):
    """The largest difference of any two weights of two runs, relative to the larger weights."""
    first, second = load_file(left / "model.safetensors"), load_file(right / "model.safetensors")
    assert first.keys() == second.keys()
    return max(
        ((first[name] - second[name]).abs() / (1 + first[name].abs())).max().item()
        for name in first
        if not name.endswith(blind)
    )


def assert_same_metrics(left, right, rel):
    metrics = [[json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()] for run in (left, right)]
    assert len(metrics[0]) == len(metrics[1]) > 2
    for first, second in zip(*metrics, strict=True):
        assert first["loss"] == pytest.approx(second["loss"], rel=rel)
        for key in ("examples", "epoch", "step", "learning_rate", "validation"):
            assert first[key] == second[key]


BLIND = ("pointers.bias", "qkv_proj.bias")
"""A number added to all scores of a softmax changes nothing: the gradient of these is noise, and Adam blows it up."""


@pytest.mark.slow
def test_two_processes_learn_what_one_learns(setting, tmp_path):
    assert by_one(setting, tmp_path / "one", torch.float32) is StopReason.FINISHED
    done = by_two("-m", "--", "rarename", *command(setting, tmp_path / "two"))
    assert mismatches(tmp_path / "one", tmp_path / "two", BLIND) < 1e-4
    assert_same_metrics(tmp_path / "one", tmp_path / "two", rel=1e-5)
    # Only the first process speaks.
    assert done.stderr.count("finished; the best weights are in") == 1
    assert done.stderr.count("examples/s") == len((tmp_path / "one" / "metrics.jsonl").read_text().splitlines())


DOUBLE = """
import sys, torch
torch.set_default_dtype(torch.float64)
from rarename.cli.main import main
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.slow
def test_a_run_may_go_on_with_another_number_of_processes(setting, tmp_path):
    """In double precision, where nothing hides behind rounding."""
    (tmp_path / "double.py").write_text(DOUBLE)
    assert by_one(setting, tmp_path / "one", torch.float64) is StopReason.FINISHED
    folder = tmp_path / "mixed"
    done = by_two("--", str(tmp_path / "double.py"), *command(setting, folder, "--time-limit", "0"))
    assert done.stderr.count("the time is up; the same command with --resume goes on") == 1
    for _ in range(5):
        assert by_one(setting, folder, torch.float64) is StopReason.INTERRUPTED
    by_two("--", str(tmp_path / "double.py"), *command(setting, folder, "--resume"))
    assert mismatches(tmp_path / "one", folder) < 1e-7
    assert_same_metrics(tmp_path / "one", folder, rel=1e-9)


@pytest.mark.slow
def test_two_processes_learn_completion_as_one_does(corpus_folder, tmp_path):
    settings = {
        "encoding": {"vocabulary_size": 50, "num_placeholders": 100, "strategy": "standard"},
        "task": {"window_size": 100, "stride": 100, "copy_pointer": True},
        "model": {"d_model": 16, "num_layers": 2, "num_heads": 2, "d_ff": 16, "max_relative_distance": 8},
        "training": {"num_epochs": 0.1, "max_batch_nodes": 300, "eval_every_examples": 25, "eval_examples": 20, "warmup_steps": 10},
    }
    setting = preset_config(str(corpus_folder), "tiny", settings, task="completion")
    (tmp_path / "double.py").write_text(DOUBLE)
    assert by_one(setting, tmp_path / "one", torch.float64) is StopReason.FINISHED
    by_two("--", str(tmp_path / "double.py"), *command(setting, tmp_path / "two"))
    assert mismatches(tmp_path / "one", tmp_path / "two") < 1e-7
    assert_same_metrics(tmp_path / "one", tmp_path / "two", rel=1e-9)


@pytest.mark.slow
def test_what_is_wrong_is_said_once(setting, tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "precious.txt").write_text("mine")
    done = by_two("-m", "--", "rarename", *command(setting, tmp_path / "run"), check=False)
    assert done.returncode != 0
    assert done.stderr.count("exists and is no run; choose another folder") == 1
    assert "Connection closed" not in done.stderr


SCRIPT = """
import torch
from rarename.training.distributed import init_distributed

with init_distributed() as processes:
    module = torch.nn.ModuleDict({name: torch.nn.Linear(1, 1, bias=False) for name in ("both", "second", "none")})
    for name in ("both", "second")[: processes.rank + 1]:
        module[name].weight.grad = torch.tensor([[1.0 + processes.rank]])
    loss = processes.all_reduce_gradients(module, torch.tensor(0.5))
    gradients = {name: None if part.weight.grad is None else part.weight.grad.item() for name, part in module.items()}
    assert gradients == {"both": 3.0, "second": 2.0, "none": None}, gradients
    assert loss.item() == 1.0
    assert processes.on_main_process(lambda: processes.rank + 7) == 7
    assert processes.all_reduce_sum(torch.tensor([processes.rank, 1])).tolist() == [1, 2]
"""


@pytest.mark.slow
def test_gradients_are_added_up_and_a_parameter_that_nobody_used_has_none(tmp_path):
    (tmp_path / "script.py").write_text(SCRIPT)
    by_two(str(tmp_path / "script.py"))


@pytest.mark.parametrize("count", [1, 2, 3, 7])
def test_shares_are_disjoint_and_make_up_the_batch(count):
    shares = [DistributedContext(rank, count).share([5, 3, 8, 1]) for rank in range(count)]
    assert sorted(index for share in shares for index in share) == [1, 3, 5, 8]
    assert max(map(len, shares)) - min(map(len, shares)) <= 1


def test_alone_nothing_is_sent():
    alone = DistributedContext()
    assert alone.is_main_process
    assert alone.on_main_process(lambda: 3) == 3
    assert alone.all_reduce_sum(torch.tensor(2.0)).item() == 2.0
