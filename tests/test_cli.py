"""The commands, end to end: what they print, and their exit codes."""

import json
import os
import re
import subprocess
import sys
from argparse import ArgumentTypeError
from importlib import import_module
from pathlib import Path

import pytest

import rarename
from rarename.cli.common import number
from rarename.cli.display import table_text
from rarename.cli.evaluate import describe
from rarename.cli.main import COMMANDS, main
from rarename.corpus.store import Corpus
from rarename.encoding import Encoding
from rarename.errors import RarenameError
from rarename.vocabulary import Vocabulary

needs_full_device = pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")


@pytest.fixture
def run(capfdbinary):
    """Call a command; returns its exit code, stdout and stderr."""

    def call(*words):
        try:
            code = main([str(word) for word in words])
        except SystemExit as leaving:
            code = leaving.code
        captured = capfdbinary.readouterr()
        return code, captured.out.decode(), captured.err.decode()

    return call


@pytest.fixture
def figure(tmp_path):
    (tmp_path / "figure.py").write_text("my_y = np.sin(my_x) + my_x\n")
    (tmp_path / "names.txt").write_text("np\nsin\n")
    return tmp_path / "figure.py"


def test_help_lists_every_command(run):
    code, out, _ = run("--help")
    assert code == 0
    assert all(f"    {name}" in out for name in COMMANDS)
    assert run("--version")[1].startswith("rarename 0.")


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_an_example(run, command):
    code, out, _ = run(command, "--help")
    assert code == 0
    assert f"rarename {command}" in out.split("example:")[1]


@pytest.mark.parametrize("words", [["prepare", "--help"], ["train", "misuse", "--help-settings"]])
def test_help_is_printed_in_every_encoding(words):
    environment = os.environ | {"PYTHONIOENCODING": "ascii"}
    done = subprocess.run([sys.executable, "-m", "rarename", *words], env=environment, capture_output=True)
    assert (done.returncode, done.stderr) == (0, b"") and rb"\u" in done.stdout


def test_help_needs_no_extra():
    code = (
        "import contextlib, sys; from rarename.cli.main import COMMANDS, EXTRAS, main\n"
        "sys.modules.update(dict.fromkeys(EXTRAS))\n"  # as if they were not installed
        "for name in COMMANDS:\n"
        "    with contextlib.suppress(SystemExit): main([name, '--help'])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.stdout.count("example:"), done.stderr) == (len(COMMANDS), "")


@pytest.mark.parametrize("words", [[], ["frobnicate"], ["parse"], ["parse", "x.py", "--frobnicate"]])
def test_wrong_usage_is_exit_2(run, words):
    code, out, err = run(*words)
    assert (code, out) == (2, "")
    assert "usage: rarename" in err


def test_parse_shows_a_tree(run, figure):
    assert run("parse", figure)[1] == (
        "Module  1:1\n"
        "  Assign  1:1\n"
        "    NameStore my_y  1:1\n"
        "    BinOpAdd  1:8\n"
        "      Call  1:8\n"
        "        AttributeLoad  1:8\n"
        "          NameLoad np  1:8\n"
        "          attr sin  1:11\n"
        "        NameLoad my_x  1:15\n"
        "      NameLoad my_x  1:23\n"
    )


def test_a_tree_shortens_long_values_and_escapes_line_breaks(run, tmp_path):
    (tmp_path / "m.py").write_text(f"x = 'a\\nb', {60 * 'y'}, {61 * 'z'}\n")
    values = [line.split()[1] for line in run("parse", tmp_path / "m.py")[1].splitlines()[4:]]
    assert values == [r"a\nb", 60 * "y", 60 * "z" + "…"]


def test_parse_writes_a_record_of_py150(run, tmp_path):
    (tmp_path / "m.py").write_text("x = 7\n")
    assert run("parse", tmp_path / "m.py", "--output-format", "record")[1] == (
        '[{"type":"Module","children":[1]},{"type":"Assign","children":[2,3]},'
        '{"type":"NameStore","value":"x"},{"type":"Num","value":"7"}]\n'
    )


def test_parse_as_json_has_spans_and_roles(run, figure):
    nodes = json.loads(run("parse", figure, "--output-format", "json")[1])["nodes"]
    assert nodes[2] == {"type": "NameStore", "value": "my_y", "parent": 1, "role": "write", "span": [1, 0, 1, 4]}


def test_parse_reads_standard_input():
    done = subprocess.run(
        [sys.executable, "-m", "rarename", "parse", "-", "--language", "javascript"],
        input="f(1)", capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.splitlines()[-1] == "      LiteralNumber 1  1:3"


def test_javascript_with_a_syntax_error_is_parsed_with_a_warning(run, tmp_path):
    (tmp_path / "m.js").write_text("var a = ;\nf(a)")
    code, out, err = run("parse", tmp_path / "m.js")
    assert code == 0
    assert "Identifier f" in out
    assert err.endswith("m.js: line 1: syntax error: unexpected ';'; parsed with error recovery\n")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("m.py", b"def f(:\n", "m.py: line 1: syntax error"),
        ("m.py", b"x = 1\nprint 'a'\n", "m.py: line 2: Python 2 only"),
        ("m.py", b"\xff\xfe", "m.py: not text in a known encoding"),
        ("m.cob", b"", "the ending is none of .py"),
    ],
)
def test_a_file_that_cannot_be_read_is_exit_2(run, tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    code, out, err = run("parse", tmp_path / name)
    assert (code, out) == (2, "")
    assert message in err


def test_a_missing_file_is_exit_2(run, figure):
    assert run("parse", "none.py") == (2, "", "rarename parse: none.py: No such file or directory\n")
    message = "rarename anonymize: none.txt: No such file or directory\n"
    assert run("anonymize", figure, "--vocabulary", "none.txt") == (2, "", message)


def test_standard_input_needs_a_language(run):
    message = "rarename anonymize: standard input has no file name to detect the language; add --language\n"
    assert run("anonymize", "-") == (2, "", message)


def test_anonymize_reproduces_figure_1(run, figure):
    names = figure.with_name("names.txt")
    assert run("anonymize", figure, "--vocabulary", names)[1] == "VAR1 = np.sin(VAR2) + VAR2\n"


def test_anonymize_as_json_and_as_tree(run, figure):
    names = figure.with_name("names.txt")
    content = json.loads(run("anonymize", figure, "--vocabulary", names, "--output-format", "json")[1])
    assert content["placeholders"] == {"VAR1": "my_y", "VAR2": "my_x"}
    assert content["source"] == "VAR1 = np.sin(VAR2) + VAR2\n"
    assert [node["value"] for node in content["nodes"] if node["value"]] == ["VAR1", "np", "sin", "VAR2", "VAR2"]
    assert (content["language"], content["strategy"], content["vocabulary_size"]) == ("python", "ordered", 2)
    tree = run("anonymize", figure, "--vocabulary", names, "--output-format", "tree")[1]
    assert "    NameStore VAR1  1:1\n" in tree


def test_anonymize_with_the_same_seed_gives_the_same_output(run, figure):
    words = ["anonymize", figure, "--strategy", "randomized", "--vocabulary-size", 0, "--num-placeholders", 900]
    assert run(*words, "--seed", 1)[1] == run(*words, "--seed", 1)[1] != run(*words, "--seed", 2)[1]


@pytest.mark.parametrize("kind", ["package", "list", "run", "corpus"])
def test_anonymize_keeps_the_most_frequent_names_of_a_vocabulary(run, tmp_path, corpus_folder, kind):
    names = Corpus(corpus_folder).vocabulary(3) if kind == "corpus" else Vocabulary.default("python").top(3)
    (tmp_path / "list.txt").write_text("".join(f"{name}\n" for name in names))
    Encoding(names).save(tmp_path / "encoding.json")
    (tmp_path / "m.py").write_text("; ".join(names))
    vocabulary = {"package": [], "list": [tmp_path / "list.txt"], "run": [tmp_path], "corpus": [corpus_folder]}[kind]
    options = ["--vocabulary", *vocabulary] if vocabulary else []
    words = ["anonymize", tmp_path / "m.py", "--vocabulary-size", 2, *options]
    assert run(*words)[1] == f"{names[0]}; {names[1]}; VAR1"
    words[3] = "max"
    assert run(*words)[1] == "; ".join(names)


def test_anonymize_keeps_a_thousand_names_by_default(run, tmp_path):
    last, next_name = Vocabulary.default("python")[999:1001]
    (tmp_path / "m.py").write_text(f"{last} = {next_name}")
    assert run("anonymize", tmp_path / "m.py")[1] == f"{last} = VAR1"


def test_anonymize_refuses_a_corpus_of_another_language(run, tmp_path, corpus_folder):
    (tmp_path / "m.js").write_text("x")
    code, _, err = run("anonymize", tmp_path / "m.js", "--vocabulary", corpus_folder)
    assert code == 2
    assert err.endswith("is a python corpus, but the file is javascript\n")


def test_anonymize_warns_of_a_list_without_names(run, figure):
    figure.with_name("names.txt").write_text("\n")
    _, out, err = run("anonymize", figure, "--vocabulary", figure.with_name("names.txt"))
    assert out == "VAR1 = VAR2.VAR3(VAR4) + VAR4\n"
    assert err.endswith("names.txt contains no names, so every identifier is rare\n")


def test_anonymize_needs_a_vocabulary_if_the_package_has_none(run, tmp_path):
    (tmp_path / "m.txt").write_text("a b")
    message = (
        "rarename anonymize: the package has no vocabulary for tokens; use one of your own, such as a list of names\n"
    )
    assert run("anonymize", tmp_path / "m.txt") == (2, "", message)


def test_anonymize_gives_unk_to_names_without_a_placeholder(run, figure):
    words = ["anonymize", figure, "--vocabulary", figure.with_name("names.txt"), "--num-placeholders", 1]
    assert run(*words)[1] == "VAR1 = np.sin(UNK) + UNK\n"


@pytest.mark.parametrize("option", ["--vocabulary-size", "--num-placeholders", "--seed"])
@pytest.mark.parametrize("text", ["-1", "1.5", "many"])
def test_numbers_are_checked(run, figure, option, text):
    code, _, err = run("anonymize", figure, option, text)
    assert code == 2
    assert err.endswith(f"argument {option}: '{text}' is not a whole number of at least 0\n")


@pytest.mark.parametrize("text", ["-0.1", "1.1", "nan", "x"])
def test_a_number_outside_its_range_is_refused(text):
    with pytest.raises(ArgumentTypeError, match=f"'{text}' is not a number from 0 to 1"):
        number(float, 0, 1)(text)
    assert [number(float, 0, 1)(each) for each in ("0", "0.5", "1")] == [0, 0.5, 1]


@pytest.mark.parametrize(
    ("name", "source", "encoding"),
    [
        ("m.py", "# -*- coding: latin-1 -*-\nalpha = 'ä'\n", "latin-1"),
        ("m.py", "alpha = 'ä'\n", "utf-8"),
        ("m.py", "alpha = 'ä'\n", "utf-8-sig"),
        ("m.js", "alpha = 'ä';\n", "utf-8"),
        ("m.js", "alpha = 'ä';\n", "utf-8-sig"),
        ("m.js", "alpha = 'ä';\n", "utf-16"),
        ("m.txt", "alpha = 'ä'\n", "utf-8-sig"),
    ],
)
def test_a_text_is_written_in_its_own_encoding(tmp_path, capfdbinary, name, source, encoding):
    (tmp_path / name).write_bytes(source.encode(encoding))
    (tmp_path / "names.txt").write_text("none\n")
    main(["anonymize", str(tmp_path / name), "--vocabulary", str(tmp_path / "names.txt")])
    assert capfdbinary.readouterr().out == source.replace("alpha", "VAR1").encode(encoding)


@pytest.mark.parametrize(
    ("file", "reader", "shown"), [(sys.modules["ast"].__file__, "head -1", "Module  1:1\n"), ("", "true", "")]
)
def test_a_closed_pipe_is_not_an_error(figure, file, reader, shown):
    command = f"(env -u PYTHONUNBUFFERED {sys.executable} -m rarename parse {file or figure}; echo $? >&2) | {reader}"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == (shown, "0\n")


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (None, 0, ""),
        (KeyboardInterrupt(), 130, "interrupted"),
        (RarenameError("no such model"), 2, "no such model"),
        (PermissionError(13, "Permission denied", "a.py"), 2, "a.py: Permission denied"),
        (ModuleNotFoundError("x", name="scipy.stats"), 2, "needs scipy, which .* run: pip install 'rarename.report.'"),
        (ModuleNotFoundError("x", name="rarename.gone"), 2, "unexpected ModuleNotFoundError: x .* this is a bug"),
        (TypeError("a\n\x1b[31m"), 2, r"unexpected TypeError: a%0A%1B\[31m \(test_cli.py, line .* this is a bug"),
        (MemoryError(), 2, "unexpected MemoryError"),
        (RecursionError("too deep"), 2, "unexpected RecursionError: too deep"),
    ],
)
def test_every_way_to_end_has_its_exit_code(run, monkeypatch, command, error, code, message):
    def end(arguments):
        if error is not None:
            raise error
        return 0

    module = import_module(f"rarename.cli.{command}")
    monkeypatch.setattr(module, "run", end)
    monkeypatch.setattr(module, "add_arguments", lambda parser: None)
    met, out, err = run(command)
    assert (met, out, err.count("\n")) == (code, "", 0 if error is None else 1)
    assert re.match(f"rarename {command}: {message}" if message else "$", err)


@pytest.mark.parametrize(
    "words",
    [
        ["parse", "missing.py"],
        ["anonymize", "missing.py"],
        ["prepare", "corpus", "missing", "--language", "python"],
        ["inspect", "missing"],
        ["train", "misuse", "run", "--corpus", "missing"],
        ["evaluate", "missing"],
        ["sweep", "missing.toml"],
        ["report", "missing"],
        ["check", "missing.py"],
        ["complete", "missing.py:1:1"],
        ["lsp", "--frobnicate"],
        ["export", "model", "missing", "copy"],
        ["mine", "missing", "--language", "python", "--out", "fixes.jsonl"],
    ],
)
def test_every_command_without_its_input_is_exit_2(run, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, out, err = run(*words)
    assert (code, out) == (2, "")
    assert "unexpected" not in err and "Traceback" not in err


@pytest.mark.parametrize("output_format", ["tree", "json"])
def test_names_with_control_characters_are_escaped(run, tmp_path, output_format):
    path = tmp_path / "m.js"
    path.write_text(r"var a\u001b\u009b\u202e\u000ab = 1;")
    code, out, _ = run("parse", str(path), "--output-format", output_format)
    assert code == 0 and out.replace("\n", "").isprintable()
    if output_format == "json":
        assert r"a\u001b\u009b\u202e\nb" in out
        json.loads(out)
    assert "\x1b" not in table_text(["a\x1b"], [["b\x1b"]])


def test_names_of_broken_files_are_escaped(run, tmp_path):
    path = tmp_path / "a\x1b[31m\n::error::.js"
    path.write_text("x = ;")
    code, _, err = run("parse", str(path))
    assert code == 0 and "a%1B[31m%0A::error::.js" in err and err.count("\n") == 1


def test_the_traceback_of_a_bug_is_printed_on_request(run, monkeypatch, figure):
    monkeypatch.setattr("rarename.cli.parse.run", lambda arguments: 1 // 0)
    assert "Traceback" not in run("parse", figure)[2]
    monkeypatch.setenv("RARENAME_TRACEBACK", "1")
    assert "Traceback" in run("parse", figure)[2]


@pytest.mark.parametrize("start", ["-m rarename", "-c 'import sys, rarename.__main__ as m; sys.exit(m.main())'"])
def test_an_interrupt_while_modules_are_imported_is_exit_130(tmp_path, start):
    (tmp_path / "argparse.py").write_text("raise KeyboardInterrupt\n")
    path = os.pathsep.join([str(tmp_path), str(Path(rarename.__file__).parents[1])])
    command = f"{sys.executable} {start} parse x.py"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, env=os.environ | {"PYTHONPATH": path})
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "rarename: interrupted\n")


@pytest.mark.parametrize(
    ("redirection", "code"),
    [
        ("<&-", 0), (">&-", 0), ("2>&-", 0), ("<&- >&- 2>&-", 0),
        pytest.param(">/dev/full", 2, marks=needs_full_device), pytest.param("2>/dev/full", 0, marks=needs_full_device),
    ],
)  # fmt: skip
def test_closed_and_full_streams_do_not_change_the_meaning_of_exit_codes(figure, redirection, code):
    for file, met in ((figure, code), ("missing.py", 2), ("- --language python", code)):
        command = f"{sys.executable} -m rarename parse {file} {redirection}"
        stdin = None if "<&-" in redirection else subprocess.DEVNULL
        done = subprocess.run(command, shell=True, capture_output=True, text=True, stdin=stdin)
        assert done.returncode == met, (command, done)
        assert "Traceback" not in done.stderr


def test_prepare_and_inspect(run, projects, tmp_path):
    code, out, err = run("prepare", tmp_path / "corpus", projects, "--language", "python", "--jobs", 1)
    assert code == 0, err
    assert out.startswith("python corpus from 1 source\n              projects  files  functions   nodes\n  train  ")
    options = ("--language", "python", "--jobs", 1, "--output-format", "json")
    assert json.loads(run("prepare", tmp_path / "corpus", projects, *options)[1])["format"] == "rarename-corpus"
    code, out, _ = run("inspect", tmp_path / "corpus", "--top-k", 3)
    assert code == 0
    assert "self" in out and "50000" in out
    content = json.loads(run("inspect", tmp_path / "corpus", "--output-format", "json")[1])
    fractions = content["coverage"]["train"]["fractions"]
    assert list(fractions) == ["1", "20", "100", "300", "1000", "10000", "25000", "50000", "all"]
    assert fractions["all"] == 1.0 > fractions["100"] > fractions["1"] > 0
    assert 0 < content["coverage"]["test"]["fractions"]["all"] < 1
    assert run("inspect", tmp_path / "corpus", "--output-format", "names", "--top-k", 1)[1] == "self\n"
    tasks = json.loads(run("inspect", tmp_path / "corpus", "--preset", "tiny", "--output-format", "json")[1])["tasks"]
    counts = tasks["misuse"]["train"]
    assert counts["functions"] == counts["buggy"] == counts["examples_per_epoch"] / 2 > 100
    assert sorted(tasks) == ["completion", "misuse"]
    out = run("inspect", tmp_path / "corpus", "--preset", "check", "--files")[1]
    assert "train projects" in out and "misuse, preset check" in out and "completion" not in out


def test_prepare_with_one_project_reports_empty_splits(run, projects, tmp_path):
    out = run("prepare", tmp_path / "c", projects, "--language", "python", "--jobs", 1, "--project-depth", 0)[1]
    assert "too few projects to fill every split" in out


def test_prepare_needs_a_job(run, tmp_path):
    code, _, err = run("prepare", tmp_path / "c", "stdlib", "--language", "python", "--jobs", 0)
    assert (code, err) == (2, "rarename prepare: jobs is 0; expected 1 or more\n")


def test_a_folder_that_cannot_be_written_is_exit_2(run, tmp_path):
    (tmp_path / "file").write_text("in the way")
    code, _, err = run("prepare", tmp_path / "file" / "corpus", "stdlib", "--language", "python", "--jobs", 1)
    assert code == 2
    assert err == f"rarename prepare: {tmp_path}/file/corpus/.work: Not a directory\n"


@pytest.mark.parametrize(
    ("module", "requirement"),
    [
        ("torch", "'rarename[train]'"),
        ("matplotlib.pyplot", "'rarename[report]'"),
        ("tensorboard", "'rarename[tensorboard]'"),
    ],
)
def test_a_missing_dependency_is_reported_with_its_install_command(run, figure, monkeypatch, module, requirement):
    def fail(arguments):
        raise ModuleNotFoundError(name=module)

    monkeypatch.setattr("rarename.cli.parse.run", fail)
    name = module.partition(".")[0]
    message = f"rarename parse: needs {name}, which is not installed; run: pip install {requirement}\n"
    assert run("parse", figure) == (2, "", message)


def test_inspect_refuses_a_folder_that_is_not_a_corpus(run, tmp_path):
    code, _, err = run("inspect", tmp_path)
    problem = f"{tmp_path} is not a corpus (it has no manifest.json); make one with `rarename prepare`"
    assert (code, err) == (2, f"rarename inspect: {problem}\n")


def test_evaluate_shows_a_table_for_each_section():
    group = {"joint_accuracy": 0.5, "joint_accuracy_paper": 0.25, "num_buggy": 1200}
    group |= {"no_bug_accuracy": 1.0, "num_clean": 9}
    all_clean = dict.fromkeys(group, 0.0) | {"num_buggy": 0, "num_clean": 7}
    at_confidence = {"0.1": {"false_alarms": 0.012345, "joint_accuracy": 0.4}}
    text = describe(group | {"by_length": {"up to 25": group, "over 250": all_clean}, "at_confidence": at_confidence})
    assert (
        text.rpartition("\n* ")[0]
        == """\
       joint  joint*  no bug  buggy  clean
  all   50.0    25.0   100.0  1,200      9

by the number of nodes
            joint  joint*  no bug  buggy  clean
  up to 25   50.0    25.0   100.0  1,200      9
  over 250      –       –     0.0      0      7

at a confidence threshold of `rarename check`; false alarms: flagged clean functions
       false alarms  joint
  0.1          1.23  40.00
"""
    )


def test_evaluate_of_completion_shows_values_and_types():
    values, types = {"mrr_values": 0.5, "accuracy_values": 0.4, "num_values": 7}, {"mrr_types": 0.1, "num_types": 3}
    lines = describe(values | types | {"accuracy_types": 0.0, "possible_values": 0.75}).splitlines()
    assert [line.split() for line in lines[1:3]] == [["values", "50.0", "40.0", "7"], ["types", "10.0", "0.0", "3"]]
    assert lines[4].startswith("75.0 % of the values are predictable")


MISUSED = "def area(width, height):\n    return width * width\n"


@pytest.fixture
def checked(run, python_run, tmp_path, monkeypatch):
    """Call `check` in a folder that holds one file."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "box.py").write_text(MISUSED)
    return lambda *words: run("check", *words, "--model", python_run)


def test_check_lists_every_function_at_confidence_0(checked):
    code, out, err = checked("box.py", "--min-confidence", 0)
    finding, summary = out.splitlines()
    assert code == 1
    assert re.fullmatch(
        r"box\.py:[12]:\d+: RN001 '\w+' may be misused here; '\w+' fits better \(0\.\d\d\) \[area\]", finding
    )
    assert (summary, err) == ("1 finding in 1 function, 1 file", "")


def test_check_finds_nothing_at_confidence_1(checked):
    assert checked("box.py", "--min-confidence", 1) == (0, "0 findings in 1 function, 1 file\n", "")


def test_check_as_json_sarif_and_github(checked):
    content = json.loads(checked(".", "--min-confidence", 0, "--output-format", "json")[1])
    [finding] = content["findings"]
    assert (finding["path"], finding["function"], content["summary"]["min_confidence"]) == ("box.py", "area", 0)
    sarif = json.loads(checked(".", "--min-confidence", 0, "--output-format", "sarif")[1])
    assert sarif["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["region"]["startLine"] == finding["line"]
    code, out, err = checked(".", "--min-confidence", 0, "--output-format", "github")
    assert code == 1
    assert out.startswith(f"::warning file=box.py,line={finding['line']},") and out.count("\n") == 1
    assert err == "1 finding in 1 function, 1 file\n"


def test_check_continues_after_unreadable_files(checked, tmp_path):
    (tmp_path / "bad.py").write_text("x = 1\ndef f(:\n")
    code, out, err = checked(".", "--min-confidence", 0)
    assert code == 1
    assert out.splitlines()[-1] == "1 finding in 1 function, 1 file; 1 skipped (1 syntax error)"
    assert err == "bad.py:2: skipped: syntax error: invalid syntax\n"


def test_check_without_readable_files_is_exit_2(checked, tmp_path):
    (tmp_path / "empty").mkdir()
    code, out, err = checked("empty")
    assert (code, out) == (2, "0 findings in 0 functions, 0 files; 1 skipped (1 no files to check)\n")
    skipped = "empty: skipped: no files to check: none ends in .py, .pyw"
    assert err == f"{skipped}\nrarename check: no file could be checked\n"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["nowhere"], "nowhere: there is no such file or folder"),
        (["box.py", "--min-confidence", "2"], "--min-confidence: '2' is not a number from 0 to 1"),
        (["box.py", "--min-confidence", "nan"], "--min-confidence: 'nan' is not a number from 0 to 1"),
        (["-"], "standard input has no file name to detect the language; add --language or --stdin-filename"),
        (["box.py", "--language", "javascript"], "the model is for python, not for javascript"),
        (["box.py", "--model", "."], ". is not a run: it has no config.toml; create one with `rarename train`"),
    ],
)
def test_check_with_wrong_arguments_is_exit_2(checked, words, message):
    code, out, err = checked(*words)
    assert (code, out) == (2, "")
    assert err.startswith(("rarename check: ", "usage: ")) and err.endswith(f"{message}\n")


def test_check_without_a_model_for_the_language_is_exit_2(run, tmp_path, monkeypatch):
    monkeypatch.setattr("rarename.inference.model_folder.__file__", str(tmp_path / "inference/model_folder.py"))
    (tmp_path / "box.py").write_text(MISUSED)
    code, _, err = run("check", tmp_path / "box.py")
    assert code == 2
    assert err.startswith("rarename check: the package has no misuse model for python; train one")


@pytest.mark.parametrize("module", ["torch", "pyarrow", "safetensors", "filelock", "tomli_w"])
def test_check_needs_nothing_of_the_extra_train(module):
    words = ["check", "-", "--language", "python"]
    code = f"import sys; sys.modules[{module!r}] = None; import rarename.cli.main as m; sys.exit(m.main({words}))"
    text = "def load(myfnm):\n    with open(myfnm) as myfp:\n        data = myfnm.read()\n    return data\n"
    done = subprocess.run([sys.executable, "-c", code], input=text, capture_output=True, text=True)
    assert done.returncode == 1 and "'myfp' fits better" in done.stdout, done.stderr


def test_check_reads_standard_input(python_run):
    words = ["check", "-", "--language", "python", "--model", python_run, "--min-confidence", "0"]
    done = subprocess.run([sys.executable, "-m", "rarename", *words], input=MISUSED, capture_output=True, text=True)
    assert done.returncode == 1, done.stderr
    assert done.stdout.startswith("<stdin>:")


@pytest.mark.parametrize("reader", ["head -1", "true"])
def test_check_keeps_its_exit_code_if_the_pipe_is_closed(python_run, projects, reader):
    check = f"{sys.executable} -m rarename check {projects} --model {python_run} --min-confidence 0"
    done = subprocess.run(f"({check}; echo $? >&2) | {reader}", shell=True, capture_output=True, text=True, check=True)
    assert done.stderr.splitlines()[-1] == "1"
    assert "Traceback" not in done.stderr and "Broken" not in done.stderr


def test_a_message_prints_no_control_characters_of_a_file_name(run, tmp_path):
    code, _, err = run("check", tmp_path / "a\x1b[31m\n::error::\u202e.py")
    assert code == 2
    assert err.count("\n") == 1 and "a%1B[31m%0A::error::%E2%80%AE.py" in err


def test_a_wrong_option_prints_the_usage_of_its_command(run):
    code, _, err = run("check", ".", "--fixx")
    assert code == 2 and err.startswith("usage: rarename check ") and err.endswith("unrecognized arguments: --fixx\n")
