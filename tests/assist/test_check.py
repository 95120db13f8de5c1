"""Source text to diagnostics: the arrays of training, the names of the text, and files that cannot be checked."""

import os
import shutil
from itertools import pairwise
from pathlib import Path
from unittest.mock import Mock, call

import numpy as np
import pytest

from rarename.assist import Checker, CheckModel, Diagnostic
from rarename.assist.check import MAX_FUNCTION_NODES, WINDOW_STRIDE, _ParsedFile, _windows
from rarename.assist.suppressions import suppressions
from rarename.corpus.store import Corpus
from rarename.discovery import Files
from rarename.errors import ParseError, RunError, UsageError
from rarename.progress import NullProgress
from rarename.syntax import JAVASCRIPT, PYTHON, Role, parse
from rarename.syntax.functions import functions
from rarename.tasks.misuse.collate import MisuseExample
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
SUM = "function f(a, b) { return a + b; }\n"


@pytest.fixture(scope="module")
def model(python_run):
    return CheckModel.load(python_run)


@pytest.fixture(scope="module")
def checker(model):
    return Checker([model], threshold=0)


@pytest.fixture(scope="module")
def both(model, javascript_run):
    return Checker([model, CheckModel.load(javascript_run)], threshold=0)


def is_suppressed(line, language):
    return any(each.covers(1, "RN001") for each in suppressions(line, language))


def check_files(checker, *paths, only=None):
    return checker.check_files(Files([str(path) for path in paths], checker.languages, only))


def write(folder, **texts):
    """Write a Python file for each text."""
    for name, text in texts.items():
        (folder / f"{name}.py").write_text(text, encoding="utf-8")


def underlined(source, diagnostic):
    """The text that a diagnostic covers."""
    assert diagnostic.line == diagnostic.end_line
    line = source.removeprefix("\ufeff").splitlines()[diagnostic.line - 1]
    assert diagnostic.source == line
    return line[diagnostic.column - 1 : diagnostic.end_column - 1]


def same_partition(left, right):
    """Whether two arrays of ids group their nodes alike, whatever the ids are."""
    return len(np.unique(left)) == len(np.unique(right)) == len(np.unique(np.stack([left, right]), axis=1).T)


def encode(model, text):
    traversal = parse(text, PYTHON)
    return traversal, Function.of_file(traversal, PYTHON.roles(traversal), PYTHON, model.folder.encoding)


def make_batch(model, function):
    return model.collate([MisuseExample(function, (), seed=0)], on_overflow="unk")


@pytest.mark.parametrize("split", ["train", "test"])
def test_a_text_gives_the_arrays_of_training(model, projects, corpus_folder, split):
    corpus = Corpus(corpus_folder)
    trained = FunctionDataset(corpus, split, 250, RankMapping(None, corpus.ranking(*MisuseTask.vocabulary_roles)))
    num_compared = 0
    for number, file in enumerate(corpus.split(split)):
        traversal, encoded = encode(model, PYTHON.decode((projects.parent / file.path).read_bytes()))
        slices = outermost_within(functions(traversal, PYTHON), 250)
        for index in np.nonzero(trained._index[:, 0] == number)[0]:
            where = tuple(trained._index[index, 1:3])
            assert where in slices
            stored, read = make_batch(model, trained[int(index)]), make_batch(model, encoded.function_at(*where))
            for name, array in vars(stored).items():
                if name in ("name_ranks", "original_ranks"):  # rank ids of rare names are the corpus's own
                    assert same_partition(array[0], getattr(read, name)[0])
                elif name != "projects":
                    assert np.array_equal(array, getattr(read, name)), name
            num_compared += 1
    assert num_compared > 20


def test_an_unseen_node_type_is_unknown(model):
    source = "def f(a, b):\n    match a:\n        case [b, *_] | {'k': b}: return a, b\n    x: type[a] = b\n"
    traversal, encoded = encode(model, source)
    is_new = [name not in model.folder.encoding.types for name in traversal.types]
    assert any(is_new)
    start, length = functions(traversal, PYTHON)[0]
    types = make_batch(model, encoded.function_at(start, length)).types[0]
    assert ((types == Special.UNK) == is_new[start : start + length]).all()


def test_rare_names_beyond_the_placeholders_are_unknown(checker, model):
    names = [f"rare_{number}" for number in range(model.folder.encoding.num_placeholders + 20)]
    source = f"def f({', '.join(names)}):\n    return {' + '.join(names)}\n"
    [diagnostic] = checker.check(source, "python")
    assert {diagnostic.name, diagnostic.suggestion} <= set(names)
    _, encoded = encode(model, source)
    values = make_batch(model, encoded.function_at(1, len(encoded.types) - 1)).values
    assert (values == Special.UNK).sum() == 2 * 21  # `f` has the first placeholder


def test_only_functions_that_changed_are_predicted_again(model, monkeypatch):
    predicted, predict = [], CheckModel.predict
    monkeypatch.setattr(CheckModel, "predict", lambda *both: predicted.extend(both[1]) or predict(*both))
    first = "def f(rare_one, rare_two):\n    return rare_one\n"
    second = "def g(rare_one, rare_two):\n    return rare_two\n"
    checker = Checker([model], threshold=0)
    before = checker.check(f"{first}\n{second}", "python")
    assert (len(predicted), len(before)) == (2, 2)
    after = checker.check(f"rare_new = 0\n{first}\n{second.replace('return', 'yield')}", "python")
    assert (len(predicted), len(after)) == (3, 2)
    assert (after[0].line, after[0].confidence) == (before[0].line + 1, before[0].confidence)
    assert after[1].line == before[1].line + 1
    same_for_the_model = second.replace("rare_one", "other").replace("rare_two", "another")
    assert checker.check(same_for_the_model, "python")[0].confidence == before[1].confidence
    assert len(predicted) == 3


def test_batching_does_not_change_predictions(model):
    checker = Checker([model], threshold=0)
    texts = [f"def f{n}(a, b, c):\n" + "    a = b + c\n" * n + "    return a\n" for n in range(1, 30)]
    batched = checker.check("\n".join(texts), "python")
    alone = (Checker([model], threshold=0).check(text, "python")[0] for text in texts)
    for one, other in zip(alone, batched, strict=True):
        assert (one.function, one.name, one.suggestion) == (other.function, other.name, other.suggestion)
        assert one.confidence == pytest.approx(other.confidence, abs=1e-5)


def test_a_diagnostic_has_the_names_and_positions_of_the_text(checker):
    [diagnostic] = checker.check(AREA, "python", "box.py")
    assert (diagnostic.path, diagnostic.function) == ("box.py", "Box.area")
    names = {"self", "width", "height", "größe"}
    assert diagnostic.name in names and diagnostic.suggestion in names - {diagnostic.name}
    assert 0 <= diagnostic.confidence <= 1
    assert underlined(AREA, diagnostic) == diagnostic.name
    assert diagnostic.message == f"{diagnostic.name!r} may be misused here; {diagnostic.suggestion!r} fits better"
    assert diagnostic == Diagnostic(**vars(diagnostic))
    assert "source" not in repr(diagnostic)


def test_the_node_after_a_nested_function_belongs_to_the_outer_one(both):
    (pending,) = both._functions(_ParsedFile("function f(a) { return use(c => c, a); }", JAVASCRIPT))
    *_, inner, after = pending.example.function.variables.tolist()
    assert [pending.diagnostic([(node, after, 0.5)]).function for node in (inner, after)] == ["f.<anonymous>", "f"]


@pytest.mark.parametrize(
    ("language", "source", "qualified_names"),
    [
        ("python", "ü = 1\ndef f(a, b):\n    return 'ä😀', a, b\n", ["f"]),
        ("python", "\ufeffdef f(é, ö):\r\n    return é\r\n", ["f"]),
        (
            "javascript",
            "class Réader { read(a, b) { return {a, b}; } }\nexports.run = (a, b) => a;",
            ["Réader.read", "run"],
        ),
    ],
)
def test_columns_count_characters(both, language, source, qualified_names):
    found = both.check(source, language)
    assert [each.function for each in found] == qualified_names
    assert [underlined(source, each) for each in found] == [each.name for each in found]


def test_a_check_can_be_stopped(model):
    checker = Checker([model], threshold=0)
    assert not checker.check(AREA, "python", should_stop=lambda: True)
    assert checker.check(AREA, "python", should_stop=lambda: False)


def test_functions_with_one_variable_have_no_diagnostic(checker, tmp_path):
    write(tmp_path, m="def f():\n    return 1\n\ndef g(a):\n    return a\n\nx = y\n")
    result = check_files(checker, tmp_path)
    assert (result.findings, result.num_functions, result.num_files, result.skipped) == ([], 2, 1, [])
    assert result.exit_code == 0


def test_functions_without_two_bound_names_need_no_prediction(monkeypatch):
    monkeypatch.setattr(CheckModel, "predict", lambda *_: pytest.fail("nothing to predict"))
    assert Checker.load(threshold=0).check("def f(a):\n    return print(a, a)\n", "python") == []


def test_predictions_below_the_threshold_are_not_reported(model):
    [diagnostic] = Checker([model], threshold=0).check(AREA, "python")
    assert Checker([model], threshold=diagnostic.confidence).check(AREA, "python") == [diagnostic]
    assert Checker([model], threshold=min(1.0, diagnostic.confidence + 1e-6)).check(AREA, "python") == []
    with pytest.raises(UsageError, match=r"the minimum confidence is 1\.5; expected a number from 0 to 1"):
        Checker([model], threshold=1.5)


def predict_last_variable(monkeypatch, language, source, repair):
    """Let models predict a bug at the last variable of the only function, with `repair` as the suggestion."""
    traversal = parse(source, language)
    start, _ = functions(traversal, language)[0]

    def predict(self, examples):
        [example] = examples
        variables = example.function.variables
        correct = next(node for node in variables if traversal.values[start + node] == repair)
        return BugPredictions(np.array([0]), *(np.array([[column]]) for column in (variables[-1], correct, 0.97)))

    monkeypatch.setattr(CheckModel, "predict", predict)


@pytest.mark.parametrize(
    ("source", "name", "fix"),
    [
        ("function f(a, b) { return a; }", "a", "b"),
        ("function f(a, b) { return {a}; }", "a", "a: b"),  # both a key and a variable
        ("function f(Aa, b) { return <Aa>x</Aa>; }", "Aa", None),  # there are two tags
    ],
)
def test_a_fix_replaces_the_name_where_one_edit_is_enough(both, monkeypatch, source, name, fix):
    predict_last_variable(monkeypatch, JAVASCRIPT, source, repair="b")
    [diagnostic] = both.check(source, "javascript")
    assert (diagnostic.name, diagnostic.suggestion, diagnostic.fix) == (name, "b", fix)
    assert underlined(source, diagnostic) == name


@pytest.mark.parametrize(
    ("language", "suppressing", "others"),
    [
        (PYTHON, "# noqa, #noqa, # NoQA: RN001, # noqa:RN001, # noqa: E501 RN001, # noqa: RN, # noqa: we know, "
         "# noqa: rn001 because, # type: ignore # noqa, # noqa: E501 # noqa: RN001",
         "# noqa: E501, # noqa: E, # noqandom, // noqa, # // noqa, "),
        (JAVASCRIPT, "// noqa: RN001, {/* noqa */}", "// eslint-disable-line, # noqa, 'https://noqa.org'"),
    ],
)  # fmt: skip
def test_a_noqa_comment_suppresses_diagnostics_of_its_line(language, suppressing, others):
    for comment in suppressing.split(", "):
        assert is_suppressed(f"x = a  {comment}", language), comment
    for comment in others.split(", "):
        assert not is_suppressed(f"x = a  {comment}", language), comment
    assert is_suppressed("x = a  # noqa: E501, RN001", PYTHON)


def test_suppressed_diagnostics_are_counted(checker, tmp_path):
    text = "".join(f"{line}  # noqa\n" for line in AREA.splitlines())
    write(tmp_path, m=text)
    result = check_files(checker, tmp_path)
    assert (result.findings, result.num_suppressed, result.exit_code) == ([], 1, 0)
    assert checker.check(text, "python") == []


def test_each_nested_function_has_its_own_diagnostic(tmp_path):
    area = "    def area(left, right):\n        return left * left\n"
    load = "    def load(path):\n        with open(path) as file:\n            return path.read()\n"
    write(tmp_path, m=f"def outer(width, height):\n{area}{load}    return area(width, height), load(width)\n")
    result = check_files(Checker.load(threshold=0), tmp_path)
    assert result.num_functions == 3
    *inner, outer = ((each.function, each.line, each.suggestion) for each in result.findings)
    assert inner == [("outer.area", 3, "right"), ("outer.load", 6, "file")]
    assert outer[:2] == ("outer", 7)


def long_function(num_lines):
    body = "".join(f"    late{line % 7} = first + late{line % 7}\n" for line in range(num_lines))
    inner = "    def inner(a, b):\n        return a + b\n"
    return f"def outer(first, unused):\n    late0 = first\n{inner}{body}    return late0\n"


def test_a_long_function_is_checked_in_windows(checker, tmp_path):
    write(tmp_path, m=long_function(500) + "\ndef after(a, b):\n    return a\n")
    result = check_files(checker, tmp_path)
    assert sorted(each.function for each in result.findings) == ["after", "outer", "outer.inner"]
    assert (result.num_functions, result.skipped) == (3, [])
    (outer,) = (each for each in result.findings if each.function == "outer")
    assert (outer.function_line, outer.function_end_line) == (1, 505)
    assert {outer.name, outer.suggestion} <= {"first", "unused", *(f"late{number}" for number in range(7))}


def test_windows_overlap_and_show_where_their_names_are_bound(model):
    source = long_function(500)
    parsed = _ParsedFile(source, PYTHON)
    file = Function.of_file(parsed.traversal, parsed.roles, PYTHON, model.folder.encoding)
    (start, length), (inner, inner_length) = parsed.functions
    shown = list(_windows(parsed, file, start))
    assert len(shown) > 3
    own = set(range(start, start + length)) - set(range(inner + 1, inner + inner_length))
    assert set(np.concatenate(shown).tolist()) == own
    for before, after in pairwise(shown):
        assert len(np.intersect1d(before, after)) >= WINDOW_STRIDE
    for nodes in shown:
        assert len(nodes) <= MAX_FUNCTION_NODES + 10
        function = file.select(nodes)
        bound = set(function.values[function.bindings].tolist())
        read = function.values[(function.roles == Role.READ)]
        assert set(read.tolist()) <= bound  # so each read can be a misuse
        assert nodes[0] == start
        assert set(function.scopes.tolist()) <= {-1, 0}


@pytest.mark.parametrize("is_over", [False, True])
def test_only_longer_functions_have_windows(model, monkeypatch, is_over):
    source = long_function(10)
    parsed = _ParsedFile(source, PYTHON)
    _, num_nodes = parsed.functions[0]
    monkeypatch.setattr("rarename.assist.check.MAX_FUNCTION_NODES", num_nodes - is_over)
    monkeypatch.setattr("rarename.assist.check.WINDOW_STRIDE", 10)
    pending = list(Checker([model])._functions(parsed))
    lengths = [len(each.example.nested_slices) for each in pending]
    assert lengths == ([1, 1] if is_over else [2])  # the inner function, and the outer one without it


def test_a_finding_has_the_next_two_candidates(checker):
    (finding,) = checker.check("def f(a, b, c):\n    return a + b + c\n", "python")
    first, second = finding.alternatives
    assert finding.confidence >= first.confidence * 0.3  # the first is at the most probable location
    assert first.confidence >= second.confidence > 0
    found = {(each.line, each.column, each.suggestion) for each in (finding, first, second)}
    assert len(found) == 3


BAD = {
    "broken.js": (b"f(1);\nvar a = ;\n", 2, "syntax error"),
    "broken.py": (b"x = 1\ndef f(:\n", 2, "syntax error"),
    "bundle.js": (b"var a=1;" * 1000, None, "minified"),
    "chain.py": (b"x = " + b"1+\\\n" * 100_000 + b"1", None, "nested too deeply"),
    "deep.py": (b"(\n" * 5000 + b")\n" * 5000, None, "nested too deeply"),
    "encoding.py": (b"\xff\xfe\x00x", None, "not text in a known encoding"),
    "jinja.py": (b"x = {{ y }}\n{% if z %}\n", 2, "syntax error"),
    "large.js": (b"var a = 1;\n" * 100_000, None, "over 1 MB"),
    "nul.py": (b"x = 1\0\n", None, "null bytes"),
    "old.py": (b"import os\nprint 'a'\n", 2, "Python 2 only"),
    "unknown.py": (b"# coding: klingon\n", None, "not text in a known encoding"),
}


def test_bad_files_are_skipped_with_a_reason_and_the_others_checked(both, tmp_path):
    for name, (content, _, _) in BAD.items():
        (tmp_path / name).write_bytes(content)
    write(tmp_path, good=AREA, empty="")
    (tmp_path / "latin.py").write_bytes(b"# coding: latin-1\ndef f(\xe4, b): return \xe4\n")
    (tmp_path / "notes.txt").write_text("no code")
    result = check_files(both, tmp_path)
    assert [each.path for each in result.findings] == [f"{tmp_path}/good.py", f"{tmp_path}/latin.py"]
    assert result.num_files == 3
    skipped = {entry.path: entry for entry in result.skipped}
    assert {path.removeprefix(f"{tmp_path}/") for path in skipped} == BAD.keys()
    for name, (_, line, reason) in BAD.items():
        entry = skipped[f"{tmp_path}/{name}"]
        assert (entry.reason, entry.line if line else None) == (reason, line)
    with pytest.raises(ParseError, match="line 1: syntax error"):
        both.check("def f(:\n", "python")


@pytest.fixture
def folder(tmp_path):
    for name in (".git", "__pycache__", "a", "env", "node_modules"):
        (tmp_path / name).mkdir()
        write(tmp_path / name, m=AREA)
    for name in ("archive.zip", "env/pyvenv.cfg", "m.js", "notes.md"):
        (tmp_path / name).write_text(SUM)
    for name in ("pipe", "pipe.py"):
        os.mkfifo(tmp_path / name)
    for name, target in {"a/loop": tmp_path, "self.py": "self.py", "other.py": tmp_path / "a" / "m.py"}.items():
        (tmp_path / name).symlink_to(target)
    return tmp_path


def test_links_installed_packages_and_special_files_of_a_folder_are_left_out(checker, folder):
    result = check_files(checker, folder)
    assert [each.path for each in result.findings] == [f"{folder}/a/m.py"]
    assert [(entry.path.removeprefix(f"{folder}/"), entry.explanation) for entry in result.skipped] == [
        ("a/loop", "link: symbolic link"),
        ("env", "folder left out: virtual environment"),
        ("node_modules", "folder left out: installed packages"),
        ("other.py", "link: symbolic link"),
        ("pipe.py", "not a regular file"),
        ("self.py", "link: symbolic link"),
    ]


@pytest.mark.parametrize(
    ("name", "explanation"),
    [
        ("other.py", None),  # a link that is named is followed
        ("__pycache__/empty", "no files to check: none ends in .py, .pyw"),
        ("notes.md", "unknown ending: none of .py, .pyw; add --language to read it anyway"),
        ("m.js", "another language: the model is for python"),
        ("pipe.py", "not a regular file: give it as standard input: -"),
    ],
)
def test_why_a_named_path_is_skipped(checker, folder, name, explanation):
    (folder / "__pycache__" / "empty").mkdir()
    result = check_files(checker, folder / name)
    reported = [(each.path, None) for each in result.findings]
    skipped = [(entry.path, entry.explanation) for entry in result.skipped]
    assert reported + skipped == [(str(folder / name), explanation)]
    assert result.exit_code == (2 if skipped else 1)


@pytest.mark.parametrize("path", ["nowhere", "", "a\0b"])
def test_a_path_that_does_not_exist_is_an_error(path):
    with pytest.raises(UsageError, match="there is no such file or folder"):
        Files([path])


def test_long_strings_of_data_do_not_make_a_file_minified(checker, tmp_path):
    write(tmp_path, picture=f'DATA = "{"iVBORw0KGgo/" * 1_000}"\n{AREA}', tight="x = 1; y = x + 1; " * 1_000)
    (tmp_path / "old.py").write_text("".join(f"def f{n}(a, b):\r    return a + b\r" for n in range(100)))
    result = check_files(checker, tmp_path)
    assert result.num_functions == 1 + 100
    assert [(entry.path, entry.reason) for entry in result.skipped] == [(f"{tmp_path}/tight.py", "minified")]


@pytest.mark.parametrize(
    ("first_line", "only", "language"),
    [
        ("#!/usr/bin/env python3", None, "python"),
        ("#!/usr/bin/env -S node --no-warnings", None, "javascript"),
        ("#!/opt/python/bin/perl", None, None),  # a folder is not a program
        ("# python", None, None),
        ("# python", PYTHON, "python"),
    ],
)
def test_the_language_of_a_script_without_a_suffix(both, checker, tmp_path, first_line, only, language):
    (tmp_path / "script").write_text(f"{first_line}\n{SUM if language == 'javascript' else AREA}", encoding="utf-8")
    result = check_files(both, tmp_path / "script", only=only)
    assert result.num_files == result.num_functions == (language is not None)
    assert check_files(checker, tmp_path / "script", only=only).num_files == (language == "python")
    assert check_files(both, tmp_path, only=only).num_files == 0  # in folders only suffixes count


def test_unprintable_paths_are_escaped(checker, tmp_path):
    paths = [f"{tmp_path}/new\nline.py", os.fsdecode(os.fsencode(tmp_path) + b"/\xff.py")]
    for path in paths:
        Path(path).write_text(AREA, encoding="utf-8")
    expected = [f"{tmp_path}/new%0Aline.py", f"{tmp_path}/%FF.py"]
    assert [each.path for each in check_files(checker, *paths).findings] == expected
    assert [each.path for each in check_files(checker, tmp_path).findings] == expected[::-1]


def test_paths_are_shown_as_they_were_named(checker, tmp_path, monkeypatch):
    (tmp_path / "src").mkdir()
    write(tmp_path / "src", m=AREA)
    monkeypatch.chdir(tmp_path)
    for named in (".", "src", "./src/", "src/m.py"):
        assert [each.path for each in check_files(checker, named, named).findings] == ["src/m.py"]


@pytest.mark.parametrize("chunk_bytes", [1, 100, 200_000])
def test_files_in_any_number_of_chunks_give_ordered_diagnostics_and_progress(
    checker, tmp_path, monkeypatch, chunk_bytes
):
    write(tmp_path, **{f"m{number}": AREA.replace("Box", f"Box{number}") for number in range(9)}, n="def (")
    monkeypatch.setattr("rarename.assist.run.CHUNK_BYTES", chunk_bytes)
    progress = Mock(spec=NullProgress)
    result = checker.check_files(Files([str(tmp_path)]), progress)
    assert [each.function for each in result.findings] == [f"Box{number}.area" for number in range(9)]
    progress.start.assert_called_once_with("checking", 10)
    assert progress.advance.mock_calls == [call()] * 10


def test_models_of_a_checker(model, checker, both, tmp_path):
    assert [language.name for language in both.languages] == ["python", "javascript"]
    with pytest.raises(UsageError, match="the model is for python, not for javascript"):
        checker.check(SUM, "javascript")
    with pytest.raises(UsageError, match="two models are for the same language"):
        Checker([model, model])
    with pytest.raises(RunError, match=r"is not a run: it has no config\.toml; create one with `rarename train`"):
        Checker.load(tmp_path)


def test_packaged_models_are_loaded_when_needed(python_run, monkeypatch):
    loaded = []
    monkeypatch.setattr("rarename.assist.check.packaged_model", lambda language: loaded.append(language) or python_run)
    checker = Checker.load(threshold=0)
    assert loaded == []
    for _ in range(2):
        assert len(checker.check(AREA, "python")) == 1
    assert loaded == ["python"]


def test_the_threshold_of_a_model(python_run, tmp_path):
    folder = shutil.copytree(python_run, tmp_path / "run")
    write(tmp_path, broken="def (")
    for content, expected in {None: 0.9, "": 0.9, "min_confidence = 0.7": 0.7, "min_confidence = 1": 1.0}.items():
        if content is not None:
            (folder / "check.toml").write_text(content)
        for threshold in (None, 0.2):
            result = check_files(Checker.load(folder, threshold=threshold), tmp_path / "broken.py")
            assert (result.num_files, result.threshold) == (0, threshold or expected)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("min_confidence = 2\n", "min_confidence is 2; expected a number from 0 to 1"),
        ("min_confidence = true\n", "min_confidence is True; expected a number"),
        ("min_confidence = nan\n", "min_confidence is nan; expected a number"),
        ("version = [1]\n", r"version is \[1\]; expected a text"),
        (f"version = 0x{'f' * 4000}\n", "cannot be read: it contains a whole number of more than 64 bits"),
        ("least = 0.5\n", "has no setting 'least'; expected min_confidence"),
        ("= 1\n", "cannot be read"),
    ],
)
def test_a_wrong_threshold_setting_is_an_error(python_run, tmp_path, content, message):
    folder = shutil.copytree(python_run, tmp_path / "run")
    (folder / "check.toml").write_text(content)
    with pytest.raises(RunError, match=message):
        CheckModel.load(folder)


def test_the_reported_threshold_is_the_lowest_of_the_checked_languages(python_run, javascript_run, tmp_path):
    models = [CheckModel.load(python_run), CheckModel.load(javascript_run)]
    models[1].threshold = 0.8
    checker = Checker(models)
    write(tmp_path, m=AREA)
    (tmp_path / "m.js").write_text(SUM)
    assert check_files(checker, tmp_path / "m.py", tmp_path / "m.js").threshold == 0.8
    assert check_files(checker, tmp_path / "m.py").threshold == 0.9
