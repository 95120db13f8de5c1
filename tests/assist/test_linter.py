"""The habits of a linter: settings, selected files, suppressions, baselines, changed lines, repairs."""

import errno
import json
import os
import shutil
import signal
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from urllib.parse import unquote_to_bytes

import pytest

from rarename.assist import baseline, fixes
from rarename.assist.changed_lines import changed_lines, is_touched
from rarename.assist.diagnostics import Diagnostic
from rarename.assist.selection import Selection
from rarename.assist.settings import Configuration, load_settings
from rarename.assist.suppressions import suppressions
from rarename.cli.main import main
from rarename.discovery import Files
from rarename.errors import UsageError
from rarename.syntax import JAVASCRIPT, PYTHON

ROOT = Path(__file__).parent.parent.parent
AREA = "def area(width, height):\n    return width * width\n"
START = AREA.removesuffix("width\n")
ODD = "a\x1b[31m\n::error::\u202e.py"


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def check(here, capfdbinary):
    """Run the command; returns its exit code, stdout and stderr."""

    def call(*words):
        try:
            code = main(["check", *map(str, words)])
        except SystemExit as leaving:
            code = leaving.code
        captured = capfdbinary.readouterr()
        return code, captured.out.decode(), captured.err.decode()

    return call


def git(folder, *words):
    settings = ("-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "protocol.file.allow=always")
    subprocess.run(["git", *settings, *words], cwd=folder, check=True, capture_output=True)


def write(folder, files):
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())


def listed(*paths, changed=None, **overrides):
    files = Files([str(path) for path in paths], selection=Selection(Configuration(overrides), changed))
    return sorted(files.real_paths)


# Settings


def test_the_nearest_file_wins_and_options_win_over_files(here):
    write(here, {
        "pyproject.toml": "[tool.rarename]\nmin-confidence = 0.5\n",
        "a/pyproject.toml": "[tool.other]\n",
        "b/pyproject.toml": "[tool.rarename]\nmin-confidence = 0.6\n",
        "b/rarename.toml": "min-confidence = 0.7\n",
    })  # fmt: skip
    configuration = Configuration()
    found = [configuration.settings_for(here / name).min_confidence for name in (".", "a", "b", "b/c")]
    assert found == [0.5, 0.5, 0.7, 0.7]
    assert Configuration({"min_confidence": 0.9}).settings_for(here / "b").min_confidence == 0.9
    assert Configuration(is_isolated=True).settings_for(here / "b").min_confidence is None
    assert Configuration(file=here / "rarename.toml").settings_for(here / "b").min_confidence is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("excude = []", "unknown setting 'excude'; did you mean 'exclude'?"),
        ("zzz = 1", "unknown setting 'zzz'; expected one of include, exclude"),
        ("exclude = 'a'", "exclude is 'a'; expected a list of patterns"),
        ("min-confidence = 2", "min-confidence is 2; expected a number from 0 to 1"),
        ("min-confidence = true", "min-confidence is True"),
        ("output-format = 'xml'", "expected one of text, full, json"),
        ("output-format = ['json']", "expected one of text, full, json"),
        ("force-exclude = 1", "expected true or false"),
        ("per-file-ignores = {a = 'RN001'}", "expected a table such as"),
        ("per-file-ignores = {a = ['RN01']}", 'expected a table such as { "tests/*" = ["RN001"] }'),
        ("exclude = ['a*b*c*d*']", "rarename.toml: the pattern 'a*b*c*d*' has too many *"),
        ("per-file-ignores = {'!' = ['RN001']}", "rarename.toml: '!' is not a list of patterns"),
        ("min-confidence = ", "cannot be read"),
        (f"min-confidence = 0x{'f' * 4000}", "cannot be read: it contains a whole number of more than 64 bits"),
        ("output-format = ['text']", "expected one of text, full, json"),
        ("exclude = ['[z-a]']", "toml: '[z-a]' is not a list of patterns"),
        ("exclude = ['**/**/**/a']", "toml: the pattern '**/**/**/a' has too many *"),
    ],
)
def test_wrong_settings_are_errors(here, text, message):
    (here / "rarename.toml").write_text(text)
    with pytest.raises(UsageError) as caught:
        load_settings(here / "rarename.toml")
    assert message in str(caught.value)


FILES = {"a.py": AREA, "b/c.py": AREA, "b/d.py": AREA, "node_modules/e.py": AREA, "script": "#!/usr/bin/env python\n"}


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ("", ["a.py", "b/c.py", "b/d.py"]),
        ("exclude = ['b']", ["a.py", "node_modules/e.py"]),  # the defaults are replaced
        ("extend-exclude = ['b/c.py']", ["a.py", "b/d.py"]),
        ("include = ['b/*.py', 'script']", ["b/c.py", "b/d.py", "script"]),
        ("per-file-ignores = {'b/*' = ['RN001']}", ["a.py"]),
        ("per-file-ignores = {'b/*' = []}", ["a.py", "b/c.py", "b/d.py"]),
        ("per-file-ignores = {'b/*' = ['ALL']}", ["a.py"]),
    ],
)
def test_patterns_select_files(here, settings, expected):
    write(here, FILES | {"rarename.toml": settings})
    assert listed(".") == expected


def test_a_file_with_settings_may_be_named_through_a_link(here):
    write(here, FILES | {"settings.toml": "extend-exclude = ['b']"})
    (here / "link").symlink_to(here)
    files = Files(["link"], selection=Selection(Configuration(file=Path("link/settings.toml"))))
    assert sorted(files.real_paths) == ["link/a.py"]


def test_an_included_file_of_no_language_is_skipped(here, check):
    write(here, {"rarename.toml": "include = ['*.txt', '*.py']", "a.txt": AREA, "a.py": AREA})
    code, out, err = check(".")
    assert code == 1 and "1 file; 1 skipped (1 unknown ending)" in out and "a.txt: skipped: unknown ending" in err


def test_git_ignores_the_same_files(here):
    write(here, {
        ".gitignore": "*.py\n!keep.py\n/top\ndeep/**/x.py\n", "keep.py": "", "a.py": "", "top/keep.py": "",
        "sub/top/keep.py": "", "sub/.gitignore": "!a.py\n/keep.py\n", "sub/a.py": "", "sub/keep.py": "",
        "sub/b/keep.py": "", "sub/b/.gitignore": "*\n!keep.py\n",
        "bom/keep.py": "", "bom/.gitignore": "\ufeffkeep.py\r\n",
    })  # fmt: skip
    git(here, "init")
    command = ["git", "ls-files", "--others", "--exclude-standard", "*.py"]
    expected = subprocess.run(command, cwd=here, capture_output=True, text=True, check=True).stdout.split()
    assert listed(".") == sorted(expected) == ["keep.py", "sub/a.py", "sub/b/keep.py", "sub/top/keep.py"]


def test_named_files_are_checked_unless_exclusion_is_forced(here):
    write(here, FILES | {"rarename.toml": "extend-exclude = ['b']"})
    assert listed("b/c.py") == ["b/c.py"]
    assert listed("b/c.py", "b", "a.py", force_exclude=True) == ["a.py"]


def test_gitignore_is_respected_in_a_repository(here):
    write(here, FILES | {".gitignore": "b/*.py\n", "b/.gitignore": "!d.py\n"})
    assert listed(".") == ["a.py", "b/c.py", "b/d.py"]  # not a repository
    git(here, "init")
    assert listed(".") == ["a.py", "b/d.py"]
    assert listed("b") == ["b/d.py"]
    assert listed("b/c.py") == ["b/c.py"]  # named
    assert listed(".", respect_gitignore=False) == ["a.py", "b/c.py", "b/d.py"]
    write(here, {".gitignore": "b/\n", ".git/info/exclude": "a.py\n", "b/.gitignore": ""})
    assert listed(".") == []
    assert listed("b") == ["b/c.py", "b/d.py"]  # a named folder is checked


def test_settings_on_the_command_line(here, check):
    write(here, FILES | {"rarename.toml": "min-confidence = 1\noutput-format = 'json'\n"})
    code, out, _ = check("a.py")
    assert code == 0 and json.loads(out)["findings"] == []
    code, out, _ = check("a.py", "--min-confidence", "0.1", "--output-format", "json-lines")
    assert code == 1
    [finding] = map(json.loads, out.splitlines())
    assert finding["model"] == "misuse-python 2" and finding["code"] == "RN001" and finding["path"] == "a.py"
    code, out, err = check("a.py", "--exclude", "a.py", "--force-exclude")
    assert (code, json.loads(out)["summary"]["files"]) == (0, 0)  # as pre-commit needs it
    (here / "rarename.toml").write_text("exclud = []")
    code, _, err = check("a.py")
    assert code == 2 and "did you mean 'exclude'?" in err


@pytest.fixture
def stdin(here, monkeypatch):
    """A file as standard input."""
    path = here / "in"
    path.write_text(AREA)
    with path.open() as stream:
        monkeypatch.setattr("sys.stdin", stream)
        yield stream


def test_standard_input_has_a_file_name(here, check, stdin):
    write(here, {"rarename.toml": "per-file-ignores = {'tests/*' = ['RN001']}"})
    for name, expected in (("src/area.py", 1), ("tests/area.py", 0)):
        stdin.seek(0)
        code, out, _ = check("-", "--stdin-filename", name)
        assert code == expected
        assert out.startswith(f"{name}:2:20: RN001") == bool(expected)
    code, _, err = check("-", "--stdin-filename", "a.txt")
    assert code == 2 and "unknown ending" in err


def test_standard_input_without_a_file_name_has_the_settings_of_the_current_folder(here, check, stdin):
    write(here, {"rarename.toml": "min-confidence = 1"})
    assert check("-", "--language", "python")[0] == 0


def test_the_file_name_of_standard_input_may_lead_through_links_and_other_folders(here, check, stdin, monkeypatch):
    git(here, "init")
    write(here, {"sub/rarename.toml": "min-confidence = 1", "area.py": AREA})
    git(here, "add", "sub")
    git(here, "commit", "-m", "one")
    (here / "link").symlink_to(here)
    monkeypatch.chdir(here / "sub")
    for name in ("../area.py", here / "link" / "area.py"):
        stdin.seek(0)
        assert check("-", "--stdin-filename", name, "--since", "HEAD")[0] == 1


@pytest.mark.parametrize("option", ["--fix", "--diff", "--add-noqa", "--write-baseline"])
def test_options_that_need_files_refuse_standard_input(check, option):
    code, out, err = check("--stdin-filename", "a.py", "--baseline", "old.json", option)
    assert (code, out) == (2, "") and "need files, not standard input" in err


# Output


@pytest.mark.parametrize("name", ["text", "full", "json", "json-lines", "github", "gitlab", "junit", "sarif"])
def test_no_format_passes_on_control_characters(here, check, name):
    write(here, {ODD: AREA, "::error::.py": AREA, os.fsdecode(b"\xff.py"): AREA})
    code, out, err = check(".", "--output-format", name)
    assert code == 1
    assert all(char.isprintable() or char == "\n" for char in out + err)
    assert not any(line.lstrip().startswith(("::error", "##[")) for line in (out + err).split("\n"))
    assert "%1B" in out or "%251B" in out
    if name == "junit":
        root = ElementTree.fromstring(out.encode())
        assert root.get("failures") == "3" and len(root.findall(".//failure")) == 3
    if name == "sarif":
        [run] = json.loads(out)["runs"]
        places = [result["locations"][0]["physicalLocation"] for result in run["results"]]
        met = {unquote_to_bytes(place["artifactLocation"]["uri"]) for place in places}
        assert met == {os.fsencode(path.name) for path in here.iterdir()}
    if name == "gitlab":
        issues = json.loads(out)
        assert len({issue["fingerprint"] for issue in issues}) == 3
        assert issues[0]["location"]["positions"]["begin"] == {"line": 2, "column": 20}


def test_output_file_statistics_and_exit_zero(here, check):
    write(here, {"a.py": AREA, "b.py": AREA})
    code, out, err = check(".", "--output-format", "sarif", "--output-file", "out.sarif", "--exit-zero")
    assert (code, out) == (0, "") and "2 findings" in err
    assert len(json.loads((here / "out.sarif").read_text())["runs"][0]["results"]) == 2
    code, out, _ = check(".", "--statistics")
    assert (code, out) == (1, "2 RN001 'width' → 'height'\n")


def test_an_error_names_the_output_file(here, check, monkeypatch):
    def unlink(path, missing_ok=False):
        raise OSError(errno.EROFS, "Read-only file system", str(path))

    monkeypatch.setattr(Path, "unlink", unlink)
    write(here, {"a.py": AREA})
    code, _, err = check("a.py", "--output-file", "missing/out.txt")
    assert code == 2 and err.endswith("missing/out.txt: No such file or directory\n")


def test_a_link_to_the_output_file_stays(here, check):
    write(here, {"a.py": AREA, "out/old.txt": "old"})
    (here / "link").symlink_to("out/old.txt")
    check("a.py", "--output-file", "link")
    assert (here / "link").is_symlink() and "RN001" in (here / "out/old.txt").read_text()


def test_explain(check):
    code, out, _ = check("--explain", "RN001")
    assert code == 0 and all(word in out for word in ("noqa: RN001", "false alarms", "--unsafe-fixes", "--baseline"))
    assert check("--explain", "RN999")[0] == 2


# Suppressions


@pytest.mark.parametrize(
    ("text", "language", "expected"),
    [
        ("x  # noqa\n'''\n# noqa\n'''\n", PYTHON, [(1, ())]),  # not in a string
        ("# rarename-ignore-next-line RN001\nx\n", PYTHON, [(2, ("RN001",))]),
        ("# rarename-ignore-file\nx\n", PYTHON, [(None, ())]),
        ("# rarename: noqa: RN001\nx\n", PYTHON, [(None, ("RN001",))]),
        ("# see the page about noqa\n", PYTHON, []),
        ("x('// noqa'); `// noqa`; // noqa: RN001\n", JAVASCRIPT, [(1, ("RN001",))]),
        (
            "/* a\n rarename-ignore-next-line */\n// rarename-ignore-next-line RN001\r\nx\n",
            JAVASCRIPT,
            [(4, ("RN001",))],
        ),
        ("/* rarename-ignore-next-line\n */\nx\n", JAVASCRIPT, [(3, ())]),
    ],
)
def test_comments_that_suppress(text, language, expected):
    assert [(each.target, each.codes) for each in suppressions(text, language)] == expected


def test_unused_comments_are_reported_on_request(here, check):
    used = AREA.replace("* width\n", "* width  # noqa: RN001\n")
    write(here, {"a.py": f"{used}x = 1  # noqa: RN001, E501\ny = 1  # noqa\n"})
    assert check("a.py")[0] == 0
    code, out, _ = check("a.py", "--report-unused-noqa")
    assert code == 1
    assert out.startswith("a.py:3:8: RN100 '# noqa: RN001, E501' suppresses nothing\n1 finding in")


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (AREA, AREA.replace("* width\n", "* width  # noqa: RN001\n")),
        (f"{START}width  # why\r\n", f"{START}width  # why  # noqa: RN001\r\n"),
        (
            f"{START}width + \\\n        0\n",
            START.replace("    return", "    # rarename-ignore-next-line RN001\n    return")
            + "width + \\\n        0\n",
        ),
    ],
)
def test_noqa_comments_are_added(here, check, source, expected):
    write(here, {"a.py": source})
    assert check("a.py", "--add-noqa")[0] == 0
    assert (here / "a.py").read_bytes().decode() == expected
    assert check("a.py")[0] == 0


# Baselines


def test_a_baseline_shrinks_by_itself_and_never_grows(here, check):
    write(here, {"a.py": AREA, "b.py": AREA.replace("area", "other")})
    assert check(".", "--baseline", "old.json")[0] == 2  # there is none
    assert check("--write-baseline")[0] == 2
    assert check(".", "--baseline", "old.json", "--write-baseline")[0] == 0
    written = (here / "old.json").read_text()
    assert len(json.loads(written)["findings"]) == 2
    code, out, _ = check(".", "--baseline", "old.json")
    assert code == 0 and "2 in the baseline" in out
    write(here, {"a.py": f"import os\n\n\n{AREA}", "c.py": AREA.replace("area", "third")})  # moved; new
    code, out, _ = check(".", "--baseline", "old.json")
    assert code == 1 and out.startswith("c.py:2:20") and "1 finding " in out
    assert (here / "old.json").read_text() == written
    assert check("c.py", "--baseline", "old.json", "--min-confidence", "1")[0] == 0  # others were not looked for
    assert check(".", "--baseline", "old.json", "--min-confidence", "1")[0] == 0
    assert (here / "old.json").read_text() == written
    write(here, {"a.py": AREA.replace("width * width", "width * height")})
    (here / "b.py").unlink()
    _, _, err = check("a.py", "c.py", "--baseline", "old.json")
    assert "2 findings are gone" in err
    assert json.loads((here / "old.json").read_text())["findings"] == []


def test_a_changed_function_is_new(here, check):
    write(here, {"rarename.toml": "baseline = 'old.json'", "a.py": AREA})
    check("--write-baseline")
    assert check()[0] == 0
    write(here, {"a.py": AREA.replace("    return", "    # changed\n    return")})
    assert check()[0] == 1


def test_equal_entries_match_one_diagnostic_each():
    one = Diagnostic("a.py", 1, 1, 1, 2, "f", "a", "b", 0.9, fingerprint="x")
    [entry] = baseline.entries_of([one], {}, Path())
    known = baseline.KnownFindings([entry])
    assert (known.new([one, one]), known.matched) == ([one], [one])
    known = baseline.KnownFindings([entry, entry])
    assert (known.new([one]), known.matched) == ([], [one])


def test_an_entry_moves_with_its_function(here, check):
    """Each check is of the files that changed, as in a hook for pre-commit."""
    write(here, {"rarename.toml": "baseline = 'old.json'", "a.py": AREA, "b.py": AREA, "c.py": ""})
    check("--write-baseline")
    (here / "a.py").rename(here / "d.py")  # a renamed file
    assert "0 findings are gone, 1 are in other files" in check("d.py")[2]
    write(here, {"b.py": "", "e.py": AREA})  # a function that moved
    check("b.py", "e.py")
    check("b.py", "c.py")
    assert [entry.path for entry in baseline.read_baseline(here / "old.json")] == ["d.py", "e.py"]
    write(here, {"f.py": AREA})  # a copy
    assert check("f.py")[0] == 0 and check()[0] == 1
    write(here, {"f.py": "", "d.py": ""})
    assert check()[0] == 0
    assert [entry.path for entry in baseline.read_baseline(here / "old.json")] == ["e.py"]


def test_an_entry_of_a_baseline_may_have_a_path_that_no_file_can_have(here, check):
    write(here, {"a.py": AREA})
    for name in ("a" * 5_000, "a\0", "\ud800"):
        entry = baseline.Entry(name, "area", "width", "height", 1.0, "0")
        for words in (), ("--write-baseline",):
            baseline.write_baseline(here / "old.json", [entry])
            assert check(".", "--baseline", "old.json", *words)[0] == (0 if words else 1)
            assert entry not in baseline.read_baseline(here / "old.json")


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"version": 2}', '{"version": 1, "findings": [{}]}'])
def test_a_damaged_baseline_is_an_error(here, text):
    (here / "old.json").write_text(text)
    with pytest.raises(UsageError, match=r"not a baseline|has version"):
        baseline.read_baseline(here / "old.json")


# Changed lines


TWO = "def first(a, b):\n    x = a\n    y = b\n    return x, y\n\n\ndef second(a, b):\n    x = a\n    return x, b\n"


def spans(lines):
    functions = [Diagnostic("a.py", 1, 1, 1, 2, "f", "a", "b", 1, function_line=start, function_end_line=end)
                 for start, end in ((1, 4), (7, 9))]  # fmt: skip
    return [is_touched(each, lines) for each in functions]


def test_changed_lines(here, check):
    git(here, "init", "-b", "main")
    write(here, {"a.py": TWO, "sub/b c\n.py": TWO, "d.py": TWO})
    git(here, "add", ".")
    git(here, "commit", "-m", "one")
    write(
        here,
        {
            "a.py": TWO.replace("    y = b\n", ""),
            "new.py": TWO,
            "sub/b c\n.py": TWO.replace("return x, b", "return b, x"),
        },
    )
    found = changed_lines(here / "sub", "HEAD")
    assert {path.name: spans(lines) for path, lines in found.items()} == {
        "a.py": [True, False], "b c\n.py": [False, True], "new.py": [True, True],
    }  # fmt: skip
    with pytest.raises(UsageError, match="no revision '--output=x'"):
        changed_lines(here, "--output=x")
    code, out, _ = check("--since", "HEAD", "--min-confidence", "0")
    assert code == 1
    assert sorted(line.split(" [")[1] for line in out.splitlines()[:-1]) == ["first]", "first]", "second]", "second]"]
    assert "3 files" in out


def test_lines_between_functions_touch_neither():
    assert spans([range(5, 7)]) == spans([range(5, 5)]) == spans([range(7, 7)]) == [False, False]
    assert spans([range(4, 5), range(9, 10)]) == spans([range(2, 2), range(9, 9)]) == [True, True]
    assert spans(None) == [True, True] and spans([]) == [False, False]


def test_changes_of_the_other_branch_do_not_count_and_a_shallow_clone_works(here):
    origin = here / "origin"
    write(origin, {"a.py": TWO, "b.py": TWO})
    git(origin, "init", "-b", "main")
    git(origin, "add", ".")
    git(origin, "commit", "-m", "one")
    git(origin, "checkout", "-b", "branch")
    write(origin, {"a.py": TWO + "x = 1\n"})
    git(origin, "commit", "-am", "two")
    git(origin, "checkout", "main")
    write(origin, {"b.py": TWO + "x = 1\n"})
    git(origin, "commit", "-am", "three")
    git(origin, "checkout", "branch")
    assert [path.name for path in changed_lines(origin, "main")] == ["a.py"]
    git(here, "clone", "--depth=1", "--branch", "branch", f"file://{origin}", "clone")
    with pytest.raises(UsageError, match="in a shallow clone, fetch it first"):
        changed_lines(here / "clone", "origin/main")
    git(here / "clone", "fetch", "--depth=1", "origin", "main")
    assert here / "clone" / "a.py" in changed_lines(here / "clone", "FETCH_HEAD")


def test_a_link_that_became_a_file_has_changed(here):
    git(here, "init")
    write(here, {"a.py": TWO})
    (here / "b.py").symlink_to("a.py")
    git(here, "add", ".")
    git(here, "commit", "-m", "one")
    (here / "b.py").unlink()
    write(here, {"b.py": TWO})
    found = changed_lines(here, "HEAD")
    assert {path.name: spans(lines) for path, lines in found.items()} == {"b.py": [True, True]}


def test_lines_between_two_changes_have_not_changed_whatever_git_shows(here):
    git(here, "init")
    git(here, "config", "diff.interHunkContext", "99")
    write(here, {"a.py": f"x = 1\n{AREA}y = 1\n"})
    git(here, "add", ".")
    git(here, "commit", "-m", "one")
    write(here, {"a.py": f"x = 2\n{AREA}y = 2\n"})
    assert changed_lines(here, "HEAD") == {here / "a.py": [range(1, 2), range(4, 5)]}


def test_an_unused_comment_on_a_changed_line_is_reported(here, check):
    git(here, "init")
    write(here, {"a.py": "x = 1  # noqa: RN001\ny = 1\n"})
    git(here, "add", ".")
    git(here, "commit", "-m", "one")
    write(here, {"a.py": "x = 1  # noqa: RN001\ny = 1  # noqa: RN001\n"})
    code, out, _ = check("--since", "HEAD", "--report-unused-noqa")
    assert code == 1 and out.startswith("a.py:2:8: RN100") and "1 finding " in out


def test_an_empty_revision_is_an_error(here, check):
    git(here, "init")
    code, _, err = check("--since", "")
    assert code == 2 and "no revision ''" in err


def test_since_outside_of_a_repository_is_an_error(here, check):
    code, _, err = check("--since", "HEAD")
    assert code == 2 and "not a git repository" in err


# Repairs


def test_repairs_need_unsafe_fixes(here, check):
    write(here, {"a.py": AREA})
    code, _, err = check("a.py", "--fix")
    assert code == 1 and "never safe; add --unsafe-fixes" in err
    code, out, _ = check("a.py", "--diff", "--unsafe-fixes")
    assert code == 1
    change = "-    return width * width\n+    return width * height\n"
    assert out == f"--- a/a.py\n+++ b/a.py\n@@ -1,2 +1,2 @@\n def area(width, height):\n{change}"
    assert (here / "a.py").read_text() == AREA
    code, out, _ = check("a.py", "--fix", "--unsafe-fixes")
    assert code == 0 and "1 fixed" in out
    assert (here / "a.py").read_text() == AREA.replace("* width", "* height")


def test_a_patch_on_a_terminal_has_the_lines_of_the_file(here, check, monkeypatch):
    write(here, {"a.py": f"s = '\x0b+\u2028+'\r\n{AREA}"})
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    out = check("a.py", "--diff", "--unsafe-fixes")[1]
    assert out.split("\n")[3] == " s = '%0B+%E2%80%A8+'" and len(out.split("\n")) == 8


@pytest.mark.parametrize("tool", ["git apply", "patch -p1 --binary"])
def test_a_patch_applies_to_odd_files(here, tool):
    """Odd line ends, encodings and names, from the root and from a subfolder."""
    text = f"# coding: latin-1\nx = 'ö'\n\x0c\ny = 1\r\n{AREA}".rstrip("\n").encode("latin-1")
    names = ("a.py", "sub/b c.py", "sub/ö ä.py", f"sub/{ODD}", "sub/\"'\\.py", os.fsdecode(b"sub/\xff.py"))
    write(here, dict.fromkeys(names, text))
    git(here, "init")
    for folder, path in ((here / "sub", "b c.py"), (here, ".")):
        command = [sys.executable, "-m", "rarename", "check", path, "--diff", "--unsafe-fixes"]
        patch = subprocess.run(command, cwd=folder, capture_output=True).stdout
        subprocess.run(tool.split(), cwd=folder, input=patch, check=True)
    for name in names:
        assert (here / name).read_bytes() == text.replace(b"* width", b"* height")


@pytest.mark.parametrize(
    "content",
    [
        b"\xef\xbb\xbf" + AREA.encode(),
        AREA.replace("\n", "\r\n").encode(),
        f"# coding: latin-1\nx = 'ö'; y = 1\n{AREA}".encode("latin-1"),
        AREA.rstrip("\n").encode(),
    ],
)
def test_repairs_keep_encodings_line_ends_and_permissions(here, check, content):
    write(here, {"a.py": content})
    (here / "a.py").chmod(0o755)
    assert check("a.py", "--fix", "--unsafe-fixes")[0] == 0
    assert (here / "a.py").read_bytes() == content.replace(b"* width", b"* height")
    assert (here / "a.py").stat().st_mode & 0o777 == 0o755


def test_a_file_that_would_not_parse_or_has_changed_stays():
    one = Diagnostic("a.py", 2, 20, 2, 25, "area", "width", "(", 0.9, source="    return width * width", fix="(")
    with pytest.raises(fixes.FixError, match="does not parse after the change"):
        fixes.fixed(AREA.encode(), [one], PYTHON)
    with pytest.raises(fixes.FixError, match="changed since"):
        fixes.fixed(AREA.replace("return", "return 1 +").encode(), [one], PYTHON)
    late = "def area(width):\n    return width\n    global height\n"
    one = Diagnostic("a.py", 2, 12, 2, 17, "area", "width", "height", 0.9, source="    return width", fix="height")
    with pytest.raises(fixes.FixError, match=r"line 3: does not parse after the change: .* prior to global"):
        fixes.fixed(late.encode(), [one], PYTHON)
    lacking = Diagnostic("a.py", 3, 20, 3, 25, "area", "width", "щ", 0.9, source="    return width * width", fix="щ")
    with pytest.raises(fixes.FixError, match="lacks a character"):
        fixes.fixed(f"# coding: latin-1\n{AREA}".encode(), [lacking], PYTHON)


def test_a_killed_repair_leaves_the_old_file(here):
    write(here, {"a.py": AREA})
    code = (
        "import os, signal, pathlib; from rarename.assist import fixes\n"
        "fixes.shutil.copymode = lambda *_: os.kill(os.getpid(), signal.SIGKILL)\n"
        f"fixes.replace_file(pathlib.Path('a.py'), {AREA.encode()!r}, b'new')"
    )
    assert subprocess.run([sys.executable, "-c", code], cwd=here).returncode == -signal.SIGKILL
    assert (here / "a.py").read_text() == AREA


# pre-commit


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("git"), reason="git is not installed")
def test_the_hook_runs_in_pre_commit(here):
    pytest.importorskip("pre_commit")
    write(here, {"hooks/.pre-commit-hooks.yaml": (ROOT / ".pre-commit-hooks.yaml").read_text()})
    git(here / "hooks", "init")
    git(here / "hooks", "add", ".")
    git(here / "hooks", "commit", "-m", "hooks")
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=here / "hooks", capture_output=True, text=True).stdout
    # Other than a user, the test does not install the package again.
    entry = f"{sys.executable} -m rarename check --force-exclude"
    hook = f"{{id: rarename, language: system, entry: '{entry}'}}"
    config = f"repos:\n- repo: {here / 'hooks'}\n  rev: {head}  hooks: [{hook}]\n"
    project = here / "project"
    write(project, {".pre-commit-config.yaml": config, "a.py": AREA, "b/c.py": AREA, "t.txt": "x",
                    "rarename.toml": "exclude = ['b']"})  # fmt: skip
    git(project, "init")
    git(project, "add", ".")
    environment = os.environ | {"PRE_COMMIT_HOME": str(here / "cache")}
    command = [sys.executable, "-m", "pre_commit", "run", "--all-files"]
    done = subprocess.run(command, cwd=project, env=environment, capture_output=True, text=True)
    assert done.returncode == 1 and "a.py:2:20: RN001" in done.stdout and "c.py" not in done.stdout, done.stdout
    write(project, {"rarename.toml": "exclude = ['b', 'a.py']"})
    git(project, "add", ".")
    done = subprocess.run(command, cwd=project, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
