"""`prepare` and `sweep` on a real Dask scheduler with worker processes."""

import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import rarename
from rarename.cli.main import main

pytest.importorskip("distributed")
ROOT = Path(rarename.__file__).parents[1]

CUSTOMIZE = """
import os, signal, time
from dataclasses import replace
from pathlib import Path
from rarename import syntax

def die_once(name):
    flag = Path(os.environ["FLAGS"], name)
    if flag.exists():
        flag.unlink()
        os.kill(os.getpid(), signal.SIGKILL)

def parse(text, tolerant):
    if "KILLS_ALWAYS" in text:
        os.kill(os.getpid(), signal.SIGKILL)
    die_once("parse")
    while Path(os.environ["FLAGS"], "wait").exists() and "WAITS" in text:
        time.sleep(0.05)
    return syntax.PYTHON.parse(text, tolerant)

syntax.LANGUAGES["python"] = replace(syntax.PYTHON, parse=parse)

import rarename.corpus.groups as groups
count_group = groups.count_group

def count(group):
    die_once("count")
    count_group(group)

groups.count_group = count
count.__qualname__ = count.__name__ = "count_group"
count.__module__ = groups.__name__
"""
"""Every worker imports it at its start: it dies, or waits, if a file tells it to."""


@contextmanager
def scheduler_with_workers(folder: Path, options: list[str], worker_options: list[str]) -> Iterator[Path]:
    """The file of a scheduler, in a folder with files that say when a worker dies or waits."""
    (folder / "sitecustomize.py").write_text(CUSTOMIZE)
    file, module = folder / "scheduler.json", [sys.executable, "-m"]
    environment = os.environ | {"PYTHONPATH": f"{folder}{os.pathsep}{ROOT}", "FLAGS": str(folder)}
    scheduler = [*module, "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard"]
    worker = [*module, "distributed.cli.dask_worker", "--no-dashboard", *worker_options]
    processes = [
        subprocess.Popen(
            [*command, "--scheduler-file", file, *options], env=environment, cwd=folder,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )
        for command in (scheduler, worker)
    ]  # fmt: skip
    end = time.monotonic() + 300
    while not file.exists():
        assert time.monotonic() < end
        time.sleep(0.1)
    try:
        yield file
    finally:
        for process in reversed(processes):
            process.send_signal(signal.SIGTERM)
            process.wait(timeout=30)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """The file of a scheduler with three workers."""
    workers = ["--nworkers", "3", "--nthreads", "1", "--resources", "GPU=1"]
    with scheduler_with_workers(tmp_path_factory.mktemp("cluster"), [], workers) as file:
        yield file


def contents(corpus: Path) -> dict[str, str]:
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(corpus.iterdir())}


def prepare(corpus: Path, source: Path, *options: object) -> int:
    return main(["prepare", str(corpus), str(source), "--language", "python", *map(str, options)])


@pytest.fixture
def source(tmp_path):
    for number in range(250):  # three shards
        path = tmp_path / "src" / f"p{number % 7}" / f"m{number}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"def f{number}(a, b):\n    return a.x{number} + b * {number}\n")
    return tmp_path / "src"


@pytest.mark.parametrize("step", ["parse", "count"])
def test_a_worker_that_is_killed_changes_no_byte(cluster, source, tmp_path, step):
    assert prepare(tmp_path / "here", source, "--jobs", 1) == 0
    (cluster.parent / step).touch()
    assert prepare(tmp_path / "new" / "there", source, "--cluster", cluster) == 0
    assert not (cluster.parent / step).exists()
    assert contents(tmp_path / "new" / "there") == contents(tmp_path / "here")
    assert not list(tmp_path.rglob(".visible-*"))


def test_a_driver_that_is_killed_and_started_again_changes_no_byte(cluster, source, tmp_path):
    (source / "p3" / "m249.py").write_text("def waits(WAITS):\n    return WAITS.x + 1\n")
    assert prepare(tmp_path / "here", source, "--jobs", 1) == 0
    (cluster.parent / "wait").touch()
    command = [sys.executable, "-m", "rarename", "prepare", tmp_path / "there", source, "--language", "python"]
    driver = subprocess.Popen([*command, "--cluster", cluster], env=os.environ | {"PYTHONPATH": str(ROOT)})
    end = time.monotonic() + 120
    while not list(tmp_path.glob("there/.work/*.skips.json")):
        assert time.monotonic() < end
        time.sleep(0.1)
    driver.kill()
    driver.wait()
    (cluster.parent / "wait").unlink()
    assert prepare(tmp_path / "there", source, "--cluster", cluster) == 0
    assert contents(tmp_path / "there") == contents(tmp_path / "here")
    assert not list(tmp_path.glob(".visible-*"))


def test_files_that_kill_their_workers_are_skipped_by_name(cluster, source, tmp_path, capfd):
    killers = [f"p{number % 7}/m{number}.py" for number in range(3, 38, 7)]  # in one shard; Dask gives up after four
    for name in killers:
        (source / name).write_text("KILLS_ALWAYS = 1\n")
    assert prepare(tmp_path / "corpus", source, "--cluster", cluster) == 0
    assert "src/p3/m3.py: the parser crashed; the file is skipped\n" in capfd.readouterr().err
    skips = map(json.loads, (tmp_path / "corpus" / "skipped.jsonl").read_text().splitlines())
    assert {(skip["path"], skip["reason"]) for skip in skips} == {
        (f"src/{name}", "the parser crashed") for name in killers
    }


def test_a_worker_with_another_version_is_an_error(cluster, source, tmp_path, capfd, monkeypatch):
    monkeypatch.setattr("rarename._version.__version__", "99.0")
    assert prepare(tmp_path / "corpus", source, "--cluster", cluster) == 2
    assert "rarename prepare: the worker tcp://127.0.0.1:" in (error := capfd.readouterr().err)
    assert "; expected rarename 99.0" in error


def test_a_worker_that_does_not_see_the_folder_is_an_error(cluster, source, tmp_path, capfd, monkeypatch):
    monkeypatch.setattr("pathlib.Path.touch", lambda path: None)
    assert prepare(tmp_path / "corpus", source, "--cluster", cluster) == 2
    assert f"does not see the folder {tmp_path}; all workers must share it" in capfd.readouterr().err


def test_a_scheduler_that_is_not_there_is_an_error(source, tmp_path, capfd):
    assert prepare(tmp_path / "corpus", source, "--cluster", "tcp://127.0.0.1:9") == 2
    assert "no Dask scheduler answers at tcp://127.0.0.1:9; expected tcp://HOST:PORT" in capfd.readouterr().err


EXPERIMENT = """
title = "Tiny"
reproduces = "nothing"
task = "misuse"
preset = "tiny"
corpus = "{corpus}"

[settings]
model.d_model = 16
model.num_layers = 1
model.num_heads = 2
model.d_ff = 16
training.num_epochs = 0.2
training.eval_examples = 20
encoding.num_placeholders = 80
task.max_function_nodes = 80

[[grid]]
strategy = ["ordered", "standard"]
vocabulary_size = 40
seed = 0
"""


def sweep(folder: Path, *options: object) -> int:
    folders = ["--runs", folder / "runs", "--results", folder / "results"]
    return main(["sweep", str(folder / "tiny.toml"), *map(str, [*folders, *options])])


def test_a_sweep_runs_on_workers_with_a_resource(cluster, tmp_path, corpus_folder, capfd):
    (tmp_path / "tiny.toml").write_text(EXPERIMENT.format(corpus=corpus_folder))
    assert sweep(tmp_path, "--cluster", cluster, "--resource", "TPU=2") == 2
    assert "has TPU=2; start some with: dask worker --resources TPU=2" in capfd.readouterr().err
    assert sweep(tmp_path, "--cluster", cluster, "--resource", "GPU=1") == 0
    assert {path.stem for path in (tmp_path / "results" / "tiny").iterdir()} == {"ordered-40-0", "standard-40-0"}
    assert not list(tmp_path.rglob(".visible-*"))
    assert sweep(tmp_path, "--list") == 0
    assert "2 of 2 trials done" in capfd.readouterr().err


@pytest.mark.skipif(shutil.which("openssl") is None, reason="makes a certificate with openssl")
def test_a_scheduler_with_tls_takes_only_clients_with_a_certificate(source, tmp_path, corpus_folder, capfd):
    request = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"]
    (tmp_path / "tls").mkdir()
    certificate, key = tmp_path / "tls" / "certificate.pem", tmp_path / "tls" / "key.pem"
    subprocess.run([*request, "-keyout", key, "-out", certificate], check=True, capture_output=True)
    tls = ["--tls-ca-file", str(certificate), "--tls-cert", str(certificate), "--tls-key", str(key)]
    with scheduler_with_workers(tmp_path / "tls", [*tls, "--protocol", "tls"], ["--nthreads", "2"]) as file:
        assert prepare(tmp_path / "corpus", source, "--cluster", file) == 2
        assert "no Dask scheduler answers at" in capfd.readouterr().err
        assert prepare(tmp_path / "corpus", source, "--cluster", file, *tls) == 0
        (tmp_path / "tiny.toml").write_text(EXPERIMENT.format(corpus=corpus_folder))
        assert sweep(tmp_path, "--cluster", file, *tls) == 2
        assert " runs 2 tasks in one process; start it with --nthreads 1" in capfd.readouterr().err
