"""The wheel in an empty environment: what it brings, what works offline, and which extra a command needs."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    """A virtual environment with nothing but the wheel and its dependencies."""
    folder = tmp_path_factory.mktemp("installed")
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    settings = os.environ | {"PIP_CONSTRAINT": str(ROOT / "constraints.txt")}
    subprocess.run([*pip, "wheel", "--no-deps", "--wheel-dir", folder, ROOT], env=settings, check=True)
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder / "env"], check=True)
    [wheel] = folder.glob("rarename-*.whl")
    into = ["--python", folder / "env", "install", "--no-compile"]
    subprocess.run([*pip, *into, wheel], env=settings, check=True)
    return folder / "env"


@pytest.fixture
def installed(environment, tmp_path, monkeypatch):
    """Run a program of the environment in an empty folder without a network."""
    monkeypatch.chdir(tmp_path)
    isolated = ["unshare", "--map-root-user", "--net"]
    try:
        subprocess.run([*isolated, "true"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        isolated = []  # then a closed port must do
    closed = dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"), "http://127.0.0.1:9")
    settings = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), **closed}

    def run(program, *words):
        command = [*isolated, environment / "bin" / program, *words]
        done = subprocess.run(command, env=settings, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        return done.returncode, done.stdout, done.stderr

    return run


def test_it_brings_nothing_for_training(installed):
    code = "from importlib.metadata import distributions; print(*(each.name.lower() for each in distributions()))"
    _, names, _ = installed("python", "-c", code)
    assert {"rarename", "numpy", "onnxruntime", "rich", "tree-sitter", "tree-sitter-javascript"} <= {*names.split()}
    assert not {"torch", "pyarrow", "safetensors", "onnx", "scipy", "pip"} & {*names.split()}


def test_it_checks_a_folder_and_completes_a_name_offline(installed, tmp_path):
    source = tmp_path / "source"
    source.mkdir()
    (source / "area.py").write_text("def area(width, height):\n    return width * width\n")
    (source / "area.js").write_text("function range(low, high) {\n  this.low = low;\n  this.high = low;\n}\n")
    code, out, err = installed("rarename", "check", "source", "--min-confidence", "0.5")
    assert (code, err) == (1, "")
    assert "source/area.js:3:15: RN001 'low' may" in out and "source/area.py:2:20: RN001 'width' may" in out
    (source / "area.py").write_text("def area(width, height):\n    return width * ")
    code, out, err = installed("rarename", "complete", "source/area.py", "--line", "2", "--column", "20")
    assert (code, err) == (0, "")
    assert out.startswith("height ")


@pytest.mark.parametrize(
    ("command", "missing", "extra"),
    [
        ("prepare corpus src --language python", "pyarrow", "train"),
        ("prepare corpus src --language python --cluster tcp://127.0.0.1:9", "pyarrow", "train"),
        ("inspect corpus", "pyarrow", "train"),
        ("train misuse run --corpus corpus", "torch", "train"),
        ("evaluate run", "torch", "train"),
        ("sweep experiment.toml", "pyarrow", "train"),
        ("export data corpus out --strategy ordered --vocabulary-size 9", "pyarrow", "train"),
        ("export model run out", "onnxscript", "export"),
        ("report results --output-dir out", "scipy", "report"),
        ("lsp", "lsprotocol", "lsp"),
    ],
)
def test_a_command_names_the_extra_that_it_needs(installed, tmp_path, command, missing, extra):
    message = f"needs {missing}, which is not installed; run: pip install 'rarename[{extra}]'\n"
    assert installed("rarename", *command.split()) == (2, "", f"rarename {command.split()[0]}: {message}")
    assert not list(tmp_path.iterdir())
