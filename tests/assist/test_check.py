"""Source text to findings: the tensors of training, the user's own names, and whatever people call source."""

import os
import shutil
from pathlib import Path

import numpy as np
import pytest

from rarename.assist import Checker, CheckModel, Diagnostic
from rarename.assist.check import MAX_FUNCTION_NODES
from rarename.assist.diagnostics import is_suppressed
from rarename.corpus.store import Corpus
from rarename.discovery import Files, Skipped
from rarename.errors import ParseError, RunError, UsageError
from rarename.inference.model_folder import packaged_model
from rarename.syntax import JAVASCRIPT, PYTHON, parse
from rarename.syntax.functions import functions
from rarename.tasks.misuse.dataset import FunctionDataset
from rarename.tasks.misuse.functions import Function, outermost_within
from rarename.tasks.misuse.predict import BugPredictions
from rarename.tasks.misuse.task import MisuseTask
from rarename.tasks.rank_mapping import RankMapping
from rarename.vocabulary import Special

AREA = """class Box:
    def area(self, width, height):
        größe = "ö", width; return width * width
"""


@pytest.fixture(scope="module")
def model(python_run):
    return CheckModel.load(python_run)


@pytest.fixture(scope="module")
def checker(model):
    return Checker([model], threshold=0)


@pytest.fixture(scope="module")
def both(model, javascript_run):
    return Checker([model, CheckModel.load(javascript_run)], threshold=0)


def check_files(checker, *paths, asked=None):
    return checker.check_files(Files([str(path) for path in paths], checker.languages, asked))


# --- the same tensors as in training ----------------------------------------------------------------------


def same_partition(left, right):
    """Whether two arrays of ids group their places alike, whatever the ids are."""
    return len(np.unique(left)) == len(np.unique(right)) == len(np.unique(np.stack([left, right]), axis=1).T)


@pytest.mark.parametrize("split", ["train", "test"])
def test_a_text_gives_the_tensors_that_training_makes_of_it(model, projects, corpus_folder, split):
    corpus = Corpus(corpus_folder)
    files = list(corpus.split(split))
    trained = FunctionDataset(corpus, split, 250, RankMapping(None, corpus.ranking(*MisuseTask.vocabulary_roles)))
    compared = 0
    for number, file in enumerate(files):
        text = PYTHON.decode((projects.parent / file.path).read_bytes())
        traversal, encoded = encode(model, text)
        slices = outermost_within(functions(traversal, PYTHON), 250)
        for index in np.nonzero(trained._index[:, 0] == number)[0]:
            where = tuple(trained._index[index, 1:])
            assert where in slices
            stored, read = model.make_batch([trained[int(index)]]), model.make_batch([encoded.function_at(*where)])
            for name, array in vars(stored).items():
                if name in ("name_ranks", "original_ranks"):  # rank ids of rare names are the corpus's own
                    assert same_partition(array[0], getattr(read, name)[0])
                elif name != "projects":
                    assert np.array_equal(array, getattr(read, name)), name
            compared += 1
    assert compared > 20


def encode(model, text):
    traversal = parse(text, PYTHON)
    return traversal, Function.of_file(traversal, PYTHON.roles(traversal), PYTHON, model.folder.encoding)


def test_a_type_that_the_model_has_not_met_is_unknown(model):
    source = "def f(a, b):\n    match a:\n        case [b, *_] | {'k': b}: return a, b\n    x: type[a] = b\n"
    traversal, encoded = encode(model, source)
    new = [kind not in model.folder.encoding.types for kind in traversal.types]
    assert any(new)
    start, length = functions(traversal, PYTHON)[0]
    types = model.make_batch([encoded.function_at(start, length)]).types[0]
    assert ((types == Special.UNK) == new[start : start + length]).all()


def test_more_rare_names_than_placeholders_are_unknown(checker, model):
    names = [f"rare_{number}" for number in range(model.folder.encoding.num_placeholders + 20)]
    source = f"def f({', '.join(names)}):\n    return {' + '.join(names)}\n"
    [finding] = checker.check(source, "python")
    assert {finding.name, finding.suggestion} <= set(names)
    _, encoded = encode(model, source)
    values = model.make_batch([encoded.function_at(1, len(encoded.types) - 1)]).values
    assert (values == Special.UNK).sum() == 2 * 21  # `f` has the first placeholder


def test_functions_are_judged_alike_alone_and_together(checker):
    texts = [f"def f{n}(a, b, c):\n" + "    a = b + c\n" * n + "    return a\n" for n in range(1, 30)]
    together = checker.check("\n".join(texts), "python")
    alone = [checker.check(text, "python")[0] for text in texts]
    for one, other in zip(alone, together, strict=True):
        assert (one.function, one.name, one.suggestion) == (other.function, other.name, other.suggestion)
        assert one.confidence == pytest.approx(other.confidence, abs=1e-5)


# --- findings ---------------------------------------------------------------------------------------------


def test_a_finding_speaks_the_users_names(checker):
    [finding] = checker.check(AREA, "python", "box.py")
    assert (finding.path, finding.function) == ("box.py", "Box.area")
    names = {"self", "width", "height", "größe"}
    assert finding.name in names and finding.suggestion in names - {finding.name}
    assert 0 <= finding.confidence <= 1
    lines = AREA.splitlines()
    assert lines[finding.line - 1][finding.column - 1 : finding.end_column - 1] == finding.name
    assert finding.line == finding.end_line
    assert finding.source == lines[finding.line - 1]
    assert finding.message == f"{finding.name!r} may be misused here; {finding.suggestion!r} fits better"


@pytest.mark.parametrize(
    "source", ["ü = 1\ndef f(a, b):\n    return 'ä😀', a, b\n", "\ufeffdef f(é, ö):\r\n    return é\r\n"]
)
def test_columns_count_characters(checker, source):
    [finding] = checker.check(source, "python")
    line = source.removeprefix("\ufeff").splitlines()[finding.line - 1]
    assert line[finding.column - 1 : finding.end_column - 1] == finding.name


def test_every_function_of_real_code_has_one_finding_at_most(checker, projects):
    report = check_files(checker, projects / "json", projects / "tomllib")
    assert report.diagnostics
    assert len(report.diagnostics) <= report.num_functions
    assert report.skipped == []
    paths = [str(path) for name in ("json", "tomllib") for path in sorted((projects / name).rglob("*.py"))]
    order = [(paths.index(finding.path), finding.line, finding.column) for finding in report.diagnostics]
    assert order == sorted(order)
    for finding in report.diagnostics:
        line = Path(finding.path).read_text(encoding="utf-8").splitlines()[finding.line - 1]
        assert line[finding.column - 1 : finding.end_column - 1] == finding.name


def test_nothing_to_confuse_is_nothing_to_find(checker, tmp_path):
    (tmp_path / "m.py").write_text("def f():\n    return 1\n\ndef g(a):\n    return a\n\nx = y\n")
    report = check_files(checker, tmp_path)
    assert (report.diagnostics, report.num_functions, report.num_files, report.skipped) == ([], 2, 1, [])
    assert report.exit_code == 0


def test_what_is_below_the_least_confidence_is_not_shown(model):
    [finding] = Checker([model], threshold=0).check(AREA, "python")
    assert Checker([model], threshold=finding.confidence).check(AREA, "python") == [finding]
    assert Checker([model], threshold=min(1.0, finding.confidence + 1e-6)).check(AREA, "python") == []


def test_the_least_confidence_is_a_probability(model):
    with pytest.raises(UsageError, match=r"the minimum confidence is 1\.5; expected a number from 0 to 1"):
        Checker([model], threshold=1.5)


def test_javascript(both):
    source = "class Réader { read(a, b) { return {a, b}; } }\nmodule.exports.run = (a, b) => a + b;\n"
    found = both.check(source, "javascript")
    assert [finding.function for finding in found] == ["Réader.read", "run"]
    for finding in found:
        line = source.splitlines()[finding.line - 1]
        assert line[finding.column - 1 : finding.end_column - 1] == finding.name


def test_a_replacement_is_right_at_a_shorthand(both, monkeypatch):
    source = "function f(a, b) { return {a}; }\n"
    said(monkeypatch, "javascript", both, source, place=-1, repair="b")
    [finding] = both.check(source, "javascript")
    assert (finding.name, finding.suggestion, finding.fix) == ("a", "b", "a: b")
    assert source[finding.column - 1 : finding.end_column - 1] == "a"


def test_a_replacement_is_the_suggestion_elsewhere(both, monkeypatch):
    source = "function f(a, b) { return a; }\n"
    said(monkeypatch, "javascript", both, source, place=-1, repair="b")
    assert [finding.fix for finding in both.check(source, "javascript")] == ["b"]


def test_one_of_two_tags_is_not_replaced(both, monkeypatch):
    source = "function f(Aa, Bb) { return <Aa>x</Aa>; }\n"
    said(monkeypatch, "javascript", both, source, place=-1, repair="Bb")
    assert [finding.fix for finding in both.check(source, "javascript")] == [None]


def said(monkeypatch, language, checker, source, place, repair):
    """Let the model of a checker predict the variable number `place` of the only function, and the name `repair`."""
    language = {"javascript": JAVASCRIPT, "python": PYTHON}[language]
    traversal = parse(source, language)
    start, _ = functions(traversal, language)[0]

    def predict(self, given, nested):
        [function] = given
        correct = next(node for node in function.variables if traversal.values[start + node] == repair)
        columns = ([0], [function.variables[place]], [correct], [0.97])
        return BugPredictions(*(np.array(column) for column in columns))

    monkeypatch.setattr(CheckModel, "predict", predict)


# --- comments that silence --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("comment", "is_silent"),
    [
        ("# noqa", True),
        ("#noqa", True),
        ("# NoQA: RN001", True),
        ("# noqa:RN001", True),
        ("# noqa: E501, RN001", True),
        ("# noqa: E501", False),
        ("# noqa: E", False),
        ("# noqa: RN", True),
        ("# noqa: we know", True),
        ("# noqa: rn001 because", True),
        ("# type: ignore # noqa", True),
        ("# noqa: E501 # noqa: RN001", True),
        ("# noqandom", False),
        ("// noqa", False),
        ("", False),
    ],
)
def test_a_comment_silences_its_line(checker, monkeypatch, comment, is_silent):
    source = f"def f(a, b):\n    return a  {comment}\n".replace("//", "# //")
    said(monkeypatch, "python", checker, source, place=-1, repair="b")
    assert (checker.check(source, "python") == []) == is_silent


def test_javascript_has_its_own_comments():
    assert is_suppressed("x = a; // noqa: RN001", JAVASCRIPT)
    assert not is_suppressed("x = a; // eslint-disable-line", JAVASCRIPT)
    assert not is_suppressed("x = a; # noqa", JAVASCRIPT)


def test_what_is_silenced_is_counted(checker, tmp_path):
    lines = "".join(f"{line}  # noqa\n" for line in AREA.splitlines())
    (tmp_path / "m.py").write_text(lines, encoding="utf-8")
    report = check_files(checker, tmp_path)
    assert (report.diagnostics, report.num_suppressed, report.exit_code) == ([], 1, 0)


# --- functions in functions -------------------------------------------------------------------------------


NESTED = """\
def outer(width, height):
    def area(left, right):
        return left * left

    def load(path):
        with open(path) as file:
            return path.read()

    return area(width, height), load(width)
"""


def test_each_function_has_its_own_most_suspicious_place(tmp_path):
    (tmp_path / "m.py").write_text(NESTED)
    report = check_files(Checker.load(threshold=0), tmp_path)
    assert report.num_functions == 3
    found = {finding.function: finding for finding in report.diagnostics}
    assert sorted(found) == ["outer", "outer.area", "outer.load"]
    assert found["outer"].line == 9
    assert (found["outer.area"].line, found["outer.area"].suggestion) == (3, "right")
    assert (found["outer.load"].line, found["outer.load"].suggestion) == (7, "file")


# --- long functions ---------------------------------------------------------------------------------------


def test_a_function_that_is_too_long_is_taken_apart(checker, tmp_path):
    inner = "    def inner(a, b):\n        return a + b\n"
    source = "def outer(a, b):\n" + inner + "    a = b\n" * MAX_FUNCTION_NODES + "\ndef after(a, b):\n    return a\n"
    (tmp_path / "m.py").write_text(source)
    report = check_files(checker, tmp_path)
    assert [finding.function for finding in report.diagnostics] == ["outer.inner", "after"]
    assert report.num_functions == 2
    assert report.skipped == [Skipped(str(tmp_path / "m.py"), 1, "function over 2,000 nodes", "outer")]
    assert report.exit_code == 1


def test_a_function_of_the_longest_length_is_checked(checker):
    source = "def f(a, b):\n" + "    a = b\n" * 600
    assert len(parse(source, PYTHON)) in range(MAX_FUNCTION_NODES - 500, MAX_FUNCTION_NODES)
    assert len(checker.check(source, "python")) == 1


# --- whatever people call source --------------------------------------------------------------------------


BAD = {
    "broken.py": (b"x = 1\ndef f(:\n", 2, "syntax error"),
    "old.py": (b"import os\nprint 'a'\n", 2, "Python 2 only"),
    "encoding.py": (b"\xff\xfe\x00x", None, "not text in a known encoding"),
    "unknown.py": (b"# coding: klingon\n", None, "not text in a known encoding"),
    "nul.py": (b"x = 1\0\n", None, "null bytes"),
    "deep.py": (b"(\n" * 5000 + b")\n" * 5000, None, "nested too deeply"),
    "chain.py": (b"x = " + b"1+\\\n" * 100_000 + b"1", None, "nested too deeply"),
    "broken.js": (b"f(1);\nvar a = ;\n", 2, "syntax error"),
    "bundle.js": (b"var a=1;" * 1000, None, "minified"),
    "large.js": (b"var a = 1;\n" * 100_000, None, "over 1 MB"),
    "jinja.py": (b"x = {{ y }}\n{% if z %}\n", 2, "syntax error"),
}


@pytest.fixture
def bad(tmp_path):
    for name, (content, _, _) in BAD.items():
        (tmp_path / name).write_bytes(content)
    (tmp_path / "good.py").write_text(AREA, encoding="utf-8")
    (tmp_path / "latin.py").write_bytes(b"# coding: latin-1\ndef f(\xe4, b): return \xe4\n")
    (tmp_path / "empty.py").write_bytes(b"")
    (tmp_path / "notes.txt").write_text("no code")
    return tmp_path


def test_bad_files_are_named_and_the_rest_goes_on(both, bad):
    report = check_files(both, bad)
    assert [finding.path for finding in report.diagnostics] == [str(bad / "good.py"), str(bad / "latin.py")]
    assert report.num_files == 3
    told = {entry.path.removeprefix(f"{bad}/"): entry for entry in report.skipped}
    assert sorted(told) == sorted(BAD)
    for name, (_, line, reason) in BAD.items():
        assert told[name].reason == reason
        if line is not None:
            assert told[name].line == line
    assert report.skip_reasons()["not text in a known encoding"] == 2


def test_a_text_that_is_none_raises(checker):
    with pytest.raises(ParseError, match="line 1: syntax error"):
        checker.check("def f(:\n", "python")


def test_links_are_not_followed_and_loops_do_no_harm(checker, tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "m.py").write_text(AREA, encoding="utf-8")
    (tmp_path / "a" / "loop").symlink_to(tmp_path)
    (tmp_path / "self.py").symlink_to("self.py")
    (tmp_path / "other.py").symlink_to(tmp_path / "a" / "m.py")
    report = check_files(checker, tmp_path)
    assert [finding.path for finding in report.diagnostics] == [str(tmp_path / "a" / "m.py")]
    assert [entry.path for entry in report.skipped] == [
        str(tmp_path / "a" / "loop"), str(tmp_path / "other.py"), str(tmp_path / "self.py")
    ]  # fmt: skip
    assert report.skip_reasons() == {"link": 3}


def test_a_link_that_is_named_is_followed(checker, tmp_path):
    (tmp_path / "m.py").write_text(AREA, encoding="utf-8")
    (tmp_path / "link.py").symlink_to("m.py")
    report = check_files(checker, tmp_path / "link.py")
    assert [finding.path for finding in report.diagnostics] == [str(tmp_path / "link.py")]


def test_a_file_is_checked_once(checker, tmp_path):
    (tmp_path / "m.py").write_text(AREA, encoding="utf-8")
    report = check_files(checker, tmp_path, tmp_path / "m.py", tmp_path)
    assert (len(report.diagnostics), report.num_files) == (1, 1)


def test_folders_that_nobody_wrote_are_left_out(checker, tmp_path):
    for folder in (".git", "__pycache__", "node_modules", "env"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "m.py").write_text(AREA, encoding="utf-8")
    (tmp_path / "env" / "pyvenv.cfg").write_text("")
    (tmp_path / "archive.zip").write_bytes(b"")
    os.mkfifo(tmp_path / "pipe")
    os.mkfifo(tmp_path / "pipe.py")
    report = check_files(checker, tmp_path)
    assert [(entry.path.removeprefix(f"{tmp_path}/"), entry.explanation) for entry in report.skipped] == [
        ("env", "folder left out: virtual environment"),
        ("node_modules", "folder left out: installed packages"),
        ("pipe.py", "not a regular file"),
    ]
    assert report.exit_code == 2


def test_an_empty_folder_is_named(checker, tmp_path):
    report = check_files(checker, tmp_path)
    assert report.skipped == [Skipped(str(tmp_path), None, "no files to check", "none ends in .py, .pyw")]
    assert report.exit_code == 2


def test_a_file_of_no_language_is_named(both, tmp_path):
    (tmp_path / "notes.md").write_text("# Notes")
    [entry] = check_files(both, tmp_path / "notes.md").skipped
    assert entry.explanation == (
        "unknown ending: none of .py, .pyw, .js, .mjs, .cjs, .jsx; say --language to read it all the same"
    )


def test_a_file_of_another_language_than_the_model_is_named(checker, tmp_path):
    (tmp_path / "m.js").write_text("f(1);")
    [entry] = check_files(checker, tmp_path / "m.js").skipped
    assert entry.explanation == "another language: the model is for python"


def test_a_pipe_is_no_file_that_could_be_read(checker, tmp_path):
    os.mkfifo(tmp_path / "pipe.py")
    [entry] = check_files(checker, tmp_path / "pipe.py").skipped
    assert entry.explanation == "not a regular file: give it as standard input: -"


def test_data_in_a_line_does_not_make_a_file_minified(checker, tmp_path):
    (tmp_path / "picture.py").write_text(f'DATA = "{"iVBORw0KGgo/" * 1_000}"\n{AREA}', encoding="utf-8")
    (tmp_path / "old.py").write_text("".join(f"def f{n}(a, b):\r    return a + b\r" for n in range(100)))
    (tmp_path / "tight.py").write_text("x = 1; y = x + 1; " * 1_000)
    report = check_files(checker, tmp_path)
    assert report.num_functions == 1 + 100
    assert [(entry.path, entry.reason) for entry in report.skipped] == [(str(tmp_path / "tight.py"), "minified")]


def test_the_bound_is_told_though_nothing_could_be_read(model, tmp_path):
    (tmp_path / "broken.py").write_text("def (")
    assert check_files(Checker([model]), tmp_path).threshold == model.threshold > 0


@pytest.mark.parametrize(
    ("first_line", "num_files"),
    [
        ("#!/usr/bin/env python3", 1),
        ("#! /usr/local/bin/python3.11 -u", 1),
        ("#!/opt/python/bin/perl", 0),  # a folder is no program
        ("#!/usr/bin/env node", 0),  # the model is for Python
        ("# python", 0),
    ],
)
def test_a_script_may_name_its_language_in_its_first_line(checker, tmp_path, first_line, num_files):
    (tmp_path / "script").write_text(f"{first_line}\n{AREA}", encoding="utf-8")
    assert check_files(checker, tmp_path / "script").num_files == num_files
    assert check_files(checker, tmp_path).num_files == 0  # folders give files by their endings


def test_scripts_of_both_languages_side_by_side(both, tmp_path):
    (tmp_path / "one").write_text(f"#!/usr/bin/env python3\n{AREA}", encoding="utf-8")
    (tmp_path / "two").write_text("#!/usr/bin/env -S node --no-warnings\nfunction f(a, b) { return a + b; }\n")
    report = check_files(both, tmp_path / "one", tmp_path / "two")
    assert (report.num_files, report.num_functions, report.skipped) == (2, 2, [])


def test_a_script_without_ending_is_of_the_language_that_is_asked_for(both, tmp_path):
    (tmp_path / "script").write_text(AREA, encoding="utf-8")
    assert len(check_files(both, tmp_path / "script", asked=PYTHON).diagnostics) == 1
    assert len(check_files(both, tmp_path / "script").diagnostics) == 0


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read_is_named(checker, tmp_path):
    (tmp_path / "m.py").write_text(AREA, encoding="utf-8")
    (tmp_path / "m.py").chmod(0)
    [entry] = check_files(checker, tmp_path).skipped
    assert entry.explanation == "cannot be read: Permission denied"


def test_a_path_that_is_not_there_is_an_error(checker, tmp_path):
    with pytest.raises(UsageError, match="nowhere: there is no such file or folder"):
        check_files(checker, tmp_path / "nowhere")
    with pytest.raises(UsageError, match="there is no such file or folder"):
        Files([""])
    with pytest.raises(UsageError, match="there is no such file or folder"):
        Files(["a\0b"])


def test_odd_names_are_printed_safely(checker, tmp_path):
    (tmp_path / "new\nline.py").write_text(AREA, encoding="utf-8")
    with open(os.fsencode(tmp_path) + b"/\xff.py", "w", encoding="utf-8") as file:  # noqa: PTH123
        file.write(AREA)
    expected = [f"{tmp_path}/%FF.py", f"{tmp_path}/new%0Aline.py"]
    assert [finding.path for finding in check_files(checker, tmp_path).diagnostics] == expected
    named = check_files(checker, tmp_path / "new\nline.py", os.fsdecode(os.fsencode(tmp_path) + b"/\xff.py"))
    assert [finding.path for finding in named.diagnostics] == expected[::-1]


def test_paths_are_shown_as_they_were_named(checker, tmp_path, monkeypatch):
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "m.py").write_text(AREA, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    for named in (".", "src", "./src/", "src/m.py"):
        assert [finding.path for finding in check_files(checker, named).diagnostics] == ["src/m.py"]


def test_many_files_are_looked_at_in_pools(checker, tmp_path, monkeypatch):
    for number in range(9):
        (tmp_path / f"m{number}.py").write_text(AREA.replace("Box", f"Box{number}"), encoding="utf-8")
    whole = check_files(checker, tmp_path)
    monkeypatch.setattr("rarename.assist.check.POOL_NODES", 40)
    parts = check_files(checker, tmp_path)
    assert [finding.function for finding in parts.diagnostics] == [f"Box{number}.area" for number in range(9)]
    assert [finding.path for finding in parts.diagnostics] == [finding.path for finding in whole.diagnostics]


# --- models -----------------------------------------------------------------------------------------------


def test_a_model_knows_its_language(model, javascript_run):
    assert model.language is PYTHON
    assert CheckModel.load(javascript_run).language is JAVASCRIPT


def test_a_model_is_for_its_own_language(checker):
    with pytest.raises(UsageError, match="the model is for python, not for javascript"):
        checker.check("function f(a, b) { return a; }", "javascript")


def test_two_models_for_one_language_are_one_too_many(model):
    with pytest.raises(UsageError, match="two models are for the same language"):
        Checker([model, model])


def test_a_model_that_the_package_does_not_have():
    with pytest.raises(
        RunError, match="the package has no misuse model for cobol; train one with `rarename train misuse`"
    ):
        packaged_model("cobol")


def test_the_models_of_the_package_are_read_when_needed(python_run, monkeypatch):
    asked = []
    monkeypatch.setattr("rarename.assist.check.packaged_model", lambda language: asked.append(language) or python_run)
    checker = Checker.load(threshold=0)
    assert asked == []
    assert len(checker.check(AREA, "python")) == 1
    checker.check(AREA, "python")
    assert asked == ["python"]


@pytest.mark.parametrize(
    ("content", "expected"),
    [(None, 0.9), ("", 0.9), ("min_confidence = 0.7\n", 0.7), ("min_confidence = 1\n", 1.0)],
)
def test_a_model_says_from_when_on_it_is_to_be_believed(python_run, tmp_path, content, expected):
    shutil.copytree(python_run, tmp_path / "run")
    if content is not None:
        (tmp_path / "run" / "check.toml").write_text(content)
    loaded = CheckModel.load(tmp_path / "run")
    assert loaded.threshold == expected
    assert Checker([loaded]).threshold(PYTHON) == expected
    assert Checker([loaded], threshold=0.2).threshold(PYTHON) == 0.2


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("min_confidence = 2\n", "min_confidence is 2; expected a number from 0 to 1"),
        ("min_confidence = true\n", "min_confidence is True; expected a number"),
        ("least = 0.5\n", "has no setting 'least'; expected min_confidence"),
        ("= 1\n", "cannot be read"),
    ],
)
def test_a_wrong_setting_is_an_error(python_run, tmp_path, content, message):
    shutil.copytree(python_run, tmp_path / "run")
    (tmp_path / "run" / "check.toml").write_text(content)
    with pytest.raises(RunError, match=message):
        CheckModel.load(tmp_path / "run")


def test_a_folder_that_is_no_run(tmp_path):
    with pytest.raises(RunError, match="is not a run"):
        Checker.load(tmp_path)


def test_a_finding_is_a_value():
    values = ("m.py", 1, 2, 1, 3, "f", "a", "b", 0.5)
    assert Diagnostic(*values) == Diagnostic(*values)
    assert "source" not in repr(Diagnostic(*values))


def test_the_reported_threshold_is_the_lowest_of_the_languages(model, javascript_run, tmp_path):
    folders = []
    for name, source, threshold in (("python", model.folder.path, 0.9), ("javascript", javascript_run, 0.8)):
        folders.append(shutil.copytree(source, tmp_path / name))
        (folders[-1] / "check.toml").write_text(f"min_confidence = {threshold}\n")
    (tmp_path / "m.py").write_text(AREA, encoding="utf-8")
    (tmp_path / "m.js").write_text("function f(a, b) { return a; }")
    checker = Checker.load(*folders)
    assert check_files(checker, tmp_path / "m.py", tmp_path / "m.js").threshold == 0.8
    assert check_files(checker, tmp_path / "m.py").threshold == 0.9


class Steps:
    """A progress that keeps what it is told."""

    def __init__(self):
        self.total, self.told = 0, []

    def start(self, title, total):
        self.total = total

    def advance(self, steps=1):
        self.told.append(steps)

    def log(self, text): ...


@pytest.mark.parametrize("pool", [1, 200, 50_000])
def test_progress_reaches_its_end_in_small_steps(checker, projects, monkeypatch, pool):
    monkeypatch.setattr("rarename.assist.check.POOL_NODES", pool)
    progress = Steps()
    checker.check_files(Files([str(projects / "json")]), progress)
    assert progress.total == sum(progress.told) == len(list((projects / "json").glob("*.py")))
    assert len(progress.told) >= 5
    assert min(progress.told) >= 0
