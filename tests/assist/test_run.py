"""A check of many files: equal for any number of processes, cached, and never lost at Ctrl-C."""

import json
import os
import signal
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

import pytest

from rarename.assist import Checker
from rarename.assist.file_check import FileCheck
from rarename.cli.main import main

SOURCE = "def area_{0}(width, height):\n    return width * width\n\n\ndef ok_{0}(a, b):\n    return a + b\n"


@pytest.fixture
def tree(tmp_path, monkeypatch):
    """Five files with a finding each, in chunks of one file, and a cache of their own."""
    folder = tmp_path / "tree"
    folder.mkdir()
    for number in range(5):
        (folder / f"m{number}.py").write_text(SOURCE.format(number))
    (folder / "n.js").write_text("function f(a, b) { return a - b; }\n")
    (folder / "o.py").write_text("def (")
    monkeypatch.chdir(folder)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr("rarename.assist.run.CHUNK_BYTES", 1)
    return folder


def check(capsys, *options):
    code = main(["check", "--isolated", *options])
    return code, capsys.readouterr().out


def forbid_computing(monkeypatch):
    monkeypatch.setattr("rarename.assist.run._load", lambda _: pytest.fail("nothing should be computed"))


@pytest.mark.parametrize("options", [[], ["--min-confidence", "0", "--output-format", "json-lines"]])
def test_any_number_of_processes_and_the_cache_give_the_same_output(tree, capsys, options, monkeypatch):
    expected = check(capsys, "--no-cache", "--jobs", "1", *options)
    assert expected[0] == 1 and expected[1].count("'width' may") + expected[1].count('"function": "area_') == 5
    assert check(capsys, "--jobs", "2", *options) == expected
    forbid_computing(monkeypatch)
    assert check(capsys, "--jobs", "2", *options) == expected


def test_a_cached_finding_equals_a_computed_one(tree, capsys, monkeypatch):
    inputs = Path(__file__).parents[1] / "golden" / "inputs"
    contents = [("python", path.read_bytes()) for path in inputs.rglob("*.py")]
    contents.append(("python", b"def f(a, b):\n    'caf\\N{DIGIT ONE} \xc3\xa9\xe2\x80\xa8'; return a - a\n"))
    checks = Checker.load().check_contents(contents, 0.0)
    assert sum(bool(each.alternatives) for check in checks for each in check.findings) > 20
    assert any(check.suppressions for check in checks) and any(check.skipped for check in checks)
    for check in checks:  # the repr also compares types: an Alternative equals a tuple
        assert repr(asdict(FileCheck.from_json(check.to_json()))) == repr(asdict(check))
    options = ("--min-confidence", "0", "--output-format", "json", str(inputs / "mistakes"), str(inputs / "slips"))
    _, cold = check_json(capsys, *options)
    forbid_computing(monkeypatch)
    _, cached = check_json(capsys, *options)
    assert cached == cold and len(cold["findings"]) > 15


def check_json(capsys, *options):
    code, out = check(capsys, "--jobs", "1", *options)
    content = json.loads(out)
    del content["summary"]["seconds"]
    return code, content


def test_only_what_changed_is_computed(tree, capsys, monkeypatch):
    computed = []
    original = Checker.check_contents

    def check_contents(self, contents, *rest):
        computed.extend(contents)
        return original(self, contents, *rest)

    monkeypatch.setattr(Checker, "check_contents", check_contents)
    assert check(capsys, "--jobs", "1")[1].splitlines()[-1].startswith("5 findings in 11 functions, 6 files; 1 skipped")
    assert len(computed) == 7
    (tree / "m9.py").write_text((tree / "m1.py").read_text())
    (tree / "m2.py").write_text("def g(a, b):\n    return a + b\n")
    computed.clear()
    _, out = check(capsys, "--jobs", "1")
    assert [content for _, content in computed] == [(tree / "m2.py").read_bytes()]
    assert "m9.py:2:20: RN001" in out and "m2.py" not in out
    check(capsys, "--min-confidence", "0.99", "--jobs", "1")
    assert len(computed) == 1
    check(capsys, "--min-confidence", "0", "--jobs", "1")
    assert len(computed) == 8  # m1 and m9 are equal


def test_a_cached_check_imports_neither_numpy_nor_a_parser(tree):
    code = "import sys; from rarename.cli.main import main; main(); print(*sys.modules, file=sys.stderr)"
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-c", code, "check", "m1.py"], capture_output=True, text=True, check=True
        )
    assert "1 finding in 2 functions, 1 file" in done.stdout
    modules = done.stderr.split()
    assert "rarename.assist.run" in modules
    assert not {"numpy", "onnxruntime", "tree_sitter", "rich", "rarename.syntax.python.parser"} & {*modules}


@pytest.mark.parametrize("output_format", ["text", "json-lines", "github", "json", "sarif"])
def test_what_was_found_before_ctrl_c_is_written(tree, capsys, monkeypatch, output_format):
    original = Checker.check_contents

    def check_contents(self, contents, *rest):
        if contents[0][1] == (tree / "m2.py").read_bytes():
            os.kill(os.getpid(), signal.SIGINT)
        return original(self, contents, *rest)

    monkeypatch.setattr(Checker, "check_contents", check_contents)
    code = main(["check", "--jobs", "1", "--no-cache", "--output-format", output_format])
    out, err = capsys.readouterr()
    assert code == 130
    assert "m0.py" in out and "m1.py" in out and "m2.py" not in out
    assert "interrupted after 2 of 7 files" in err
    if output_format in ("json", "sarif"):
        json.loads(out)


def test_findings_are_written_as_they_are_found(tree, capfd, monkeypatch):
    original, written = Checker.check_contents, []

    def check_contents(self, contents, *rest):
        written.append(capfd.readouterr().out)
        return original(self, contents, *rest)

    monkeypatch.setattr(Checker, "check_contents", check_contents)
    assert main(["check", "--jobs", "1", "--no-cache"]) == 1
    assert [out.count("RN001") for out in written[:4]] == [0, 1, 1, 1]


def test_output_to_a_device_or_a_pipe_leaves_it_in_place(tree):
    os.mkfifo("pipe")
    reader = os.open("pipe", os.O_RDONLY | os.O_NONBLOCK)  # to wait for a writer could take forever
    command = [sys.executable, "-m", "rarename", "check", "m0.py", "--output-file", "pipe"]
    assert subprocess.run(command, check=False).returncode == 1
    assert b"m0.py:2:20" in os.read(reader, 10_000)
    os.close(reader)
    assert (tree / "pipe").is_fifo()
