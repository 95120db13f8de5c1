"""Two processes train as one does."""

import json
import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from rarename.training.checkpoint import read_tensors
from rarename.training.distributed import DistributedContext

ROOT = Path(__file__).parents[2]
WORKER = Path(__file__).with_name("distributed_worker.py")


def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


@pytest.fixture(scope="module")
def output(corpus_folder, tmp_path_factory):
    """What the two processes wrote."""
    folder = tmp_path_factory.mktemp("distributed")
    port = free_port()
    processes = []
    for rank in range(2):
        environment = os.environ | {
            "RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": "2",
            "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "OMP_NUM_THREADS": "1",
        }  # fmt: skip
        command = [sys.executable, str(WORKER), str(corpus_folder), str(folder)]
        processes.append(subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True))
    errors = [process.communicate(timeout=300)[1] for process in processes]
    assert [process.returncode for process in processes] == [0, 0], errors
    return folder


def observed(output):
    return [json.loads((output / f"observed-{rank}.json").read_text()) for rank in range(2)]


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("misuse-alone", "misuse-together"),
        ("completion-alone", "completion-together"),
        ("misuse-alone", "misuse-mixed"),  # resumed with another number of processes
    ],
)
def test_two_processes_train_to_the_weights_of_one(output, one, two):
    first, second = (load_file(output / run / "model.safetensors") for run in (one, two))
    assert first.keys() == second.keys()
    for name in first:
        torch.testing.assert_close(first[name], second[name], rtol=1e-7, atol=1e-7)
    logs = [
        [json.loads(line) for line in (output / run / "metrics.jsonl").read_text().splitlines()] for run in (one, two)
    ]
    assert len(logs[0]) == len(logs[1]) > 2
    for alone, together in zip(*logs, strict=True):
        assert alone["loss"] == pytest.approx(together["loss"], rel=1e-9)
        for key in ("examples", "epoch", "step", "learning_rate", "validation"):
            assert alone[key] == together[key]


def test_only_the_main_process_logs(output):
    counts = [each["num_log_records"] for each in observed(output)]
    assert counts[0] >= len((output / "misuse-together" / "metrics.jsonl").read_text().splitlines())
    assert counts[1] == 0


def test_gradients_are_summed_and_an_unused_parameter_has_none(output):
    for rank, each in enumerate(observed(output)):
        assert each["context"] == [rank, 2, rank == 0]
        assert each["sums"] == {"both": 3.0, "second": 2.0, "none": None, "loss": 1.0}
        assert each["sum"] == [1, 2]
        assert each["from_main"] == 7


def test_an_error_of_the_main_process_ends_all_processes(output):
    assert [each["error"] for each in observed(output)] == ["RunError('no run')", "SystemExit(2)"]


@pytest.mark.slow
def test_torchrun_prints_an_error_once(corpus_folder, tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "precious.txt").write_text("mine")
    launch = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", "-m", "--"]
    command = ["rarename", "train", "misuse", str(tmp_path / "run"), "--corpus", str(corpus_folder)]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    done = subprocess.run([*launch, *command], env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode != 0
    assert done.stderr.count("exists and is not a run; choose another folder") == 1
    assert "Connection closed" not in done.stderr


@pytest.mark.slow
def test_the_documented_job_trains_with_two_agents(corpus_folder, tmp_path):
    """The script for Slurm; `srun` starts two agents on this machine."""
    script = re.search(r"```bash\n(.*?)```", (ROOT / "docs" / "scale.md").read_text(), re.DOTALL).group(1)
    settings = "--preset tiny --set training.num_epochs=0.02 --set training.eval_examples=20 --resume"
    changes = {
        "gpu \\": "1 \\", "29500": str(free_port()), "--resume": settings,
        "/shared/corpora/pypi": str(corpus_folder), "/shared/runs": str(tmp_path),
    }  # fmt: skip
    for documented, here in changes.items():
        assert documented in script
        script = script.replace(documented, here)
    for name, text in {"srun": '"$@" & "$@" && wait $!', "scontrol": "echo 127.0.0.1"}.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / name).chmod(0o755)
    path = os.pathsep.join([str(tmp_path), str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = os.environ | {
        "PATH": path, "SLURM_NNODES": "2", "SLURM_JOB_ID": "7", "SLURM_JOB_NODELIST": "here", "OMP_NUM_THREADS": "1",
    }  # fmt: skip
    done = subprocess.run(["bash", "-c", script], env=environment, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr  # alone, an agent would wait; in two trainings, one would be refused
    assert read_tensors(tmp_path / "ordered" / "trainer_state.safetensors")[1]["examples"]


@pytest.mark.parametrize("world_size", [1, 2, 3, 7])
def test_shards_are_disjoint_and_cover_the_batch(world_size):
    shards = [DistributedContext(rank, world_size).shard([5, 3, 8, 1]) for rank in range(world_size)]
    assert sorted(index for shard in shards for index in shard) == [1, 3, 5, 8]
    assert max(map(len, shards)) - min(map(len, shards)) <= 1
