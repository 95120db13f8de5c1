"""Several processes train as one would."""

import json
import os
import subprocess
import sys

import pytest
import torch
from safetensors.torch import load_file

from rarename.experiment import experiment as experiments
from rarename.experiment.experiment import build
from rarename.experiment.run import train
from rarename.training.loop import Outcome
from rarename.training.processes import Processes

SETTINGS = {
    "encoding.vocabulary_size": 50,
    "encoding.placeholders": 80,
    "task.max_nodes": 80,
    "model": {"width": 16, "layers": 1, "heads": 2, "inner_width": 16, "dropout": 0.0},
    # Small batches: some have one function only, which leaves nothing for the second process.
    "training": {"epochs": 0.3, "batch_nodes": 300, "validate_every": 100, "validation_functions": 20, "warmup": 10},
}


@pytest.fixture(scope="module")
def setting(corpus_folder):
    return build(str(corpus_folder), "tiny", SETTINGS)


@pytest.fixture(scope="module")
def by_one(setting, tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "one"
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    assert train(setting, folder) is Outcome.FINISHED
    torch.set_num_threads(before)
    return folder


def by_two(*words, check=True):
    """Run a command in two processes, which meet on a free port."""
    launch = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    done = subprocess.run([*launch, *words], env=environment, capture_output=True, text=True, timeout=300)
    assert not check or done.returncode == 0, done.stderr
    return done


def train_by_two(setting, folder, *more, check=True):
    toml = folder.with_suffix(".toml")
    experiments.write(setting, toml)
    words = ["--corpus", setting.corpus, "--run", str(folder), "--config", str(toml), *more]
    return by_two("-m", "--", "rarename", "train", "misuse", *words, check=check)


def assert_same_run(left, right):
    for name in ("weights.safetensors", "state.safetensors"):
        first, second = load_file(left / name), load_file(right / name)
        assert first.keys() == second.keys()
        for key in first:
            torch.testing.assert_close(first[key], second[key], rtol=1e-4, atol=1e-5, msg=lambda m, k=key: f"{k}: {m}")
    metrics = [[json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()] for run in (left, right)]
    assert len(metrics[0]) == len(metrics[1]) > 2
    for first, second in zip(*metrics, strict=True):
        assert first["loss"] == pytest.approx(second["loss"], rel=1e-5)
        for key in ("examples", "epoch", "step", "learning_rate", "validation"):
            assert first[key] == second[key]


@pytest.mark.slow
def test_two_processes_learn_what_one_learns(setting, by_one, tmp_path):
    done = train_by_two(setting, tmp_path / "two")
    assert_same_run(by_one, tmp_path / "two")
    # Only the first process speaks.
    assert done.stderr.count("finished; the best weights are in") == 1
    assert done.stderr.count("examples/s") == len((by_one / "metrics.jsonl").read_text().splitlines())


@pytest.mark.slow
def test_a_run_may_go_on_with_another_number_of_processes(setting, by_one, tmp_path):
    folder = tmp_path / "mixed"
    done = train_by_two(setting, folder, "--time-limit", "0")
    assert done.stderr.count("the time is up; the same command with --resume goes on") == 1
    for _ in range(5):
        assert train(setting, folder, resume=True, time_limit=0.0) is Outcome.INTERRUPTED
    train_by_two(setting, folder, "--resume")
    assert_same_run(by_one, folder)


@pytest.mark.slow
def test_what_is_wrong_is_said_once(setting, by_one):
    done = by_two(
        "-m", "--", "rarename", "train", "misuse", "--corpus", setting.corpus, "--run", str(by_one), check=False
    )
    assert done.returncode != 0
    assert done.stderr.count("holds a run already; say --resume to go on with it") == 1
    assert "Connection closed" not in done.stderr


SCRIPT = """
import torch
from rarename.training.processes import started

with started() as processes:
    module = torch.nn.ModuleDict({name: torch.nn.Linear(1, 1, bias=False) for name in ("both", "second", "none")})
    for name in ("both", "second")[: processes.rank + 1]:
        module[name].weight.grad = torch.tensor([[1.0 + processes.rank]])
    loss = processes.add_gradients(module, torch.tensor(0.5))
    gradients = {name: None if part.weight.grad is None else part.weight.grad.item() for name, part in module.items()}
    assert gradients == {"both": 3.0, "second": 2.0, "none": None}, gradients
    assert loss.item() == 1.0
    assert processes.by_first(lambda: processes.rank + 7) == 7
    assert processes.add_up(torch.tensor([processes.rank, 1])).tolist() == [1, 2]
"""


@pytest.mark.slow
def test_gradients_are_added_up_and_a_parameter_that_nobody_used_has_none(tmp_path):
    (tmp_path / "script.py").write_text(SCRIPT)
    by_two(str(tmp_path / "script.py"))


@pytest.mark.parametrize("count", [1, 2, 3, 7])
def test_shares_are_disjoint_and_make_up_the_batch(count):
    shares = [Processes(rank, count).share([5, 3, 8, 1]) for rank in range(count)]
    assert sorted(index for share in shares for index in share) == [1, 3, 5, 8]
    assert max(map(len, shares)) - min(map(len, shares)) <= 1


def test_alone_nothing_is_sent():
    alone = Processes()
    assert alone.is_first
    assert alone.by_first(lambda: 3) == 3
    assert alone.add_up(torch.tensor(2.0)).item() == 2.0
