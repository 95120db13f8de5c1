"""`prepare` on a real Dask scheduler with worker processes."""

import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import rarename
from rarename.cli.main import main

pytest.importorskip("distributed")
ROOT = Path(rarename.__file__).parents[1]

PARSER = """
import os, signal, time
from dataclasses import replace
from pathlib import Path
from rarename import syntax

def parse(text, tolerant):
    flag = Path(os.environ["FLAG"])
    if "KILLS_ALWAYS" in text:
        os.kill(os.getpid(), signal.SIGKILL)
    if "KILLED_ONCE" in text and not flag.exists():
        flag.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return syntax.PYTHON.parse(text, tolerant)

syntax.LANGUAGES["python"] = replace(syntax.PYTHON, parse=parse)
"""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """The scheduler file of a scheduler with three workers, whose parser dies at some files."""
    folder = tmp_path_factory.mktemp("cluster")
    (folder / "sitecustomize.py").write_text(PARSER)
    environment = os.environ | {
        "PYTHONPATH": f"{folder}{os.pathsep}{ROOT}", "FLAG": str(folder / "flag"),
    }  # fmt: skip
    file, quiet = folder / "scheduler.json", {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    module = [sys.executable, "-m"]
    command = [*module, "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard"]
    processes = [subprocess.Popen([*command, "--scheduler-file", file], env=environment, cwd=folder, **quiet)]
    command = [*module, "distributed.cli.dask_worker", "--scheduler-file", file, "--nworkers", "3"]
    processes += [
        subprocess.Popen([*command, "--nthreads", "1", "--no-dashboard"], env=environment, cwd=folder, **quiet)
    ]
    end = time.monotonic() + 60
    while not file.exists():
        assert time.monotonic() < end
        time.sleep(0.1)
    yield file
    for process in reversed(processes):
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=30)


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


def test_a_worker_that_dies_changes_no_byte(cluster, source, tmp_path):
    (source / "p3" / "m3.py").write_text("def f(KILLED_ONCE):\n    return KILLED_ONCE.x + 1\n")
    assert prepare(tmp_path / "here", source, "--jobs", 1) == 0
    assert prepare(tmp_path / "new" / "there", source, "--cluster", cluster) == 0
    assert (cluster.parent / "flag").exists()
    assert contents(tmp_path / "new" / "there") == contents(tmp_path / "here")
    assert not list(tmp_path.glob(".visible-*"))


def test_a_file_that_kills_its_worker_is_skipped_by_name(cluster, source, tmp_path, capfd):
    (source / "p3" / "m3.py").write_text("KILLS_ALWAYS = 1\n")
    assert prepare(tmp_path / "corpus", source, "--cluster", cluster) == 0
    assert "src/p3/m3.py: the parser crashed; the file is skipped\n" in capfd.readouterr().err
    skipped = json.loads((tmp_path / "corpus" / "manifest.json").read_text())["skipped"]
    assert skipped["the parser crashed"] == {"count": 1, "examples": ["src/p3/m3.py"]}


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
