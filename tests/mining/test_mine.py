"""Made-up git histories, and what is mined from them."""

import json
import os
import shutil
import signal
import subprocess
import sys

import pytest

from rarename.cli.main import main
from rarename.errors import UsageError
from rarename.mining.fixes import candidates, changes
from rarename.mining.history import Repository, subject_and_date
from rarename.mining.mine import mine
from rarename.syntax import LANGUAGES, language_named, parse

pytestmark = pytest.mark.skipif(not shutil.which("git"), reason="git is not installed")

AREA = "def area(width, height):\n    print(width)\n    print(height)\n    return width * width\n"
FIXED = AREA.replace("* width", "* height")


def git(folder, *words, **variables):
    names = ("GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL")
    dates = {"GIT_AUTHOR_DATE": "2020-02-03T04:05:06Z", "GIT_COMMITTER_DATE": "2021-02-03T04:05:06Z"}
    environment = os.environ | dict.fromkeys(names, "x@y") | dates | {"GIT_CONFIG_GLOBAL": "absent"} | variables
    command = ["git", "-c", "protocol.file.allow=always", *map(str, words)]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.decode(errors="replace").strip()


def commit(folder, message, files=None, **variables):
    """Write files, commit them, and return the id of the commit."""
    for name, content in (files or {}).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    git(folder, "add", "--all")
    git(folder, "commit", "--allow-empty", "--message", message, **variables)
    return git(folder, "rev-parse", "HEAD")


@pytest.fixture
def repository(tmp_path):
    """Make a repository with one commit for each version of its files."""

    def make(*versions, name="project", message="Fix the area"):
        folder = tmp_path / name
        folder.mkdir()
        git(folder, "init", "--initial-branch=main")
        for version in versions:
            commit(folder, message, version if isinstance(version, dict) else {"a.py": version})
        return folder

    return make


def mined(*paths, language="python", jobs=1):
    """The fixes in repositories, and what was left out."""
    out = paths[0].parent / "fixes.jsonl"
    out.unlink(missing_ok=True)
    result = mine(paths, language, out, jobs)
    return [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()], dict(result.skipped)


def patches(folder):
    repository = Repository.at(folder)
    return list(repository.patches(repository.commits(), [".py"]))


def only_fix(*paths, language="python"):
    fixes, _ = mined(*paths, language=language)
    assert len(fixes) == 1
    return fixes[0]


def test_a_fix_has_its_origin_its_functions_and_its_place(repository):
    folder = repository(AREA, FIXED)
    assert only_fix(folder) == {
        "repo": "project", "commit": git(folder, "rev-parse", "HEAD"), "date": "2020-02-03",
        "subject": "Fix the area", "path": "a.py", "function": "area", "language": "python",
        "tier": "A", "is_test": False,
        "wrong": "width", "right": "height",
        "before_function": AREA.rstrip(), "after_function": FIXED.rstrip(), "line": 4, "column": 20, "offset": 79,
    }  # fmt: skip


METHOD = """class Page {{
  static async load(url, ünï) {{
    const text = await get(url);
    log(ünï); return ünï + {};
  }}
}}
"""


def test_a_method_of_javascript_begins_with_its_name_and_offsets_count_utf_16_units(repository):
    fix = only_fix(repository({"a.mjs": METHOD.format("url")}, {"a.mjs": METHOD.format("text")}), language="javascript")
    text = fix["before_function"]
    assert text.startswith("static async load(url") and text.endswith("\n}") and fix["function"] == "Page.load"
    assert text.encode("utf-16-le")[2 * fix["offset"] :].decode("utf-16-le").startswith("url;")
    line = text.split("\n")[fix["line"] - 1].encode()
    assert line[fix["column"] - 1 :].startswith(b"url;")


def test_a_method_of_python_has_its_decorators_and_no_indentation(repository):
    method = (
        "class A:\n    @cached\n    async def area(self, ä, b):\n        '''\n    x'''\n        b()\n        ä(ä, {})\n"
    )
    fix = only_fix(repository(method.format("ä"), method.format("b")))
    assert fix["before_function"].startswith("@cached\nasync def area(self, ä, b):\n    '''\nx'''\n")
    assert (fix["line"], fix["column"]) == (6, 5 + len("ä(ä, ".encode()))
    parse(fix["after_function"], "python")


def test_a_fix_has_the_outermost_function_that_changed_nowhere_else(repository):
    nested = "def outer(n):\n    m = n\n    def area(width, height):\n"
    nested += "        print(width, height)\n        return width * {}\n"
    rest = "    print(n)\n    return area(m, {})\n"
    folder = repository((nested + rest).format("width", "n"), (nested + rest).format("height", "n"))
    assert only_fix(folder)["function"] == "outer"
    folder = repository((nested + rest).format("width", "n"), (nested + rest).format("height", "m"), name="both")
    assert {fix["function"] for fix in mined(folder)[0]} == {"outer.area"}
    long = nested + "    print(n)\n" * 400 + rest
    folder = repository(long.format("width", "n"), long.format("height", "n"), name="long")
    assert only_fix(folder)["function"] == "outer.area"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("def f(a, b):\n    b()\n    return a\n", "def f(c, b):\n    b()\n    return c\n"),  # renamed
        ("def f(a, b):\n    return a.x, b\n", "def f(a, b):\n    return a.y, b\n"),  # an attribute
        ("def f(a, b):\n    return g(a=a), b\n", "def f(a, b):\n    return g(b=a), b\n"),  # a keyword
        ("def f(a, b):\n    return 'a', b\n", "def f(a, b):\n    return 'b', b\n"),  # a string
        ("def f(a, b):\n    return a, b\n", "def f(a, b):\n    return a, c\n"),  # not bound in the function
        ("def f(a, b):\n    return a, b\n", "def f(a, b):\n    return b, a\n"),  # two names
        ("def f(a, b):\n    a()\n    x\n    return a\n", "def f(a, b):\n    a()\n    y()\n    return b\n"),  # and more
        ("a = b = 1\nprint(a)\n", "a = b = 1\nprint(b)\n"),  # no function
        ("def f(a, b):\n    return a, 1\n", "def f(a, b):\n    return a, b\n"),  # a number
    ],
)
def test_other_changes_are_no_fixes(repository, before, after):
    assert mined(repository(before, after))[0] == []


@pytest.mark.parametrize("after", ["f(a,\n  c)\n", "f(a, c)  # new\n", "f( a , c )"])
def test_layout_and_comments_may_change_with_the_name(after):
    (change,) = changes("f(a, b)  # old\n", after, language_named("python"))
    assert change[1:] == ("b", "c") and after[change.starts[1]] == "c"


@pytest.mark.parametrize(
    ("message", "before", "after", "tier"),
    [
        ("Fix the area", "g(a, b)\n    a(a)", "g(a, b)\n    a(b)", "A"),
        ("Work on the area", "g(a, b)\n    a(a)", "g(a, b)\n    a(b)", "B"),
        ("Fix typo and add tests", "g(a, b)\n    a(a)", "g(a, b)\n    a(b)", "B"),
        ("Fix #12345", "g(a, b)\n    a(a)", "g(a, b)\n    a(b)", "B"),
        ("Revert 'fix the area'", "g(a, b)\n    a(a)", "g(a, b)\n    a(b)", "B"),
        ("Work on the area", "a(a)", "a(b)", "A"),  # b was never read
        ("Refactor the area", "a(a)", "a(b)", "B"),
        ("Fix the area", "g(b)\n    g(a)", "g(b)\n    g(b)", "B"),  # a is not read any more
        ("Fix the area", "a(a)\n    b = 1\n    g(b)", "a(b)\n    b = 1\n    g(b)", "A"),
    ],
)
def test_tiers(repository, message, before, after, tier):
    header = "def f(a, b):\n    "
    assert only_fix(repository(header + before, header + after, message=message))["tier"] == tier


def test_a_change_that_a_commit_makes_twice_is_of_tier_b_and_many_times_a_renaming(repository):
    def text(count, right):
        return "".join(f"def f{n}(a, b):\n    g(a, b)\n    return {right}\n\n" for n in range(count))

    fixes, _ = mined(repository(text(2, "a"), text(2, "b")))
    assert [fix["tier"] for fix in fixes] == ["B", "B"]
    assert mined(repository(text(5, "a"), text(5, "b"), name="many"))[0] == []


def test_a_large_commit_is_no_fix_of_tier_a(repository):
    filler = "".join(f"x{n} = 1\n" for n in range(60))
    body = "def f(a, b):\n    g(a, b)\n    return {}\n"
    folder = repository(filler + body.format("a"), filler.replace("x", "y") + body.format("b"))
    assert only_fix(folder)["tier"] == "B"


@pytest.mark.parametrize("path", ["tests/a.py", "pkg/test_a.py", "a_test.py", "conftest.py"])
def test_fixes_of_tests_are_marked(repository, path):
    assert only_fix(repository({path: AREA}, {path: FIXED}))["is_test"]


def test_each_fix_is_written_once(repository, tmp_path):
    folder = repository(AREA, FIXED)
    git(folder, "branch", "release", "HEAD~")
    git(folder, "switch", "release")
    commit(folder, "Another file", {"b.py": "x = 1\n"})
    git(folder, "cherry-pick", "main")
    git(tmp_path, "clone", folder, "fork")
    copy = repository({"vendored/b.py": "import os\n" + AREA}, {"vendored/b.py": "import os\n" + FIXED}, name="copy")
    fixes, skipped = mined(folder, tmp_path / "fork", copy)
    assert [fix["repo"] for fix in fixes] == ["project"] and skipped == {"found before": 2}


def test_of_a_change_that_is_undone_the_later_one_stays(repository):
    folder = repository(FIXED, AREA, FIXED)
    fixes, skipped = mined(folder)
    assert [fix["commit"] for fix in fixes] == [git(folder, "rev-parse", "HEAD")]
    assert fixes[0]["right"] == "height" and skipped == {"undone later": 1}


# Repositories as they are


def test_the_name_of_a_repository_is_where_it_was_cloned_from(repository):
    folder = repository(AREA)
    for address in ("https://name:secret@host.org/owner/thing.git", "git@host.org:owner/thing", "ssh://h/owner/thing/"):
        git(folder, "config", "remote.origin.url", address)
        assert Repository.at(folder).name == "owner/thing"
    git(folder, "config", "remote.origin.url", "https://name:secret@thing.org")
    assert "secret" not in Repository.at(folder).name


def test_bare_and_shallow_clones_and_worktrees(repository, tmp_path):
    folder = repository(AREA, AREA + "x = 1\n", FIXED + "x = 1\n")
    git(tmp_path, "clone", "--bare", folder, "bare.git")
    git(tmp_path, "clone", "--depth=2", f"file://{folder}", "shallow")
    git(tmp_path, "clone", "--depth=1", f"file://{folder}", "one")
    git(folder, "worktree", "add", tmp_path / "tree", "HEAD~")
    git(folder, "gc")
    for name in ("bare.git", "shallow", "tree"):
        assert only_fix(tmp_path / name)["wrong"] == "width"
    assert mined(tmp_path / "one") == ([], {})


def test_merges_submodules_links_and_renamed_files(repository, tmp_path):
    inner = repository(AREA, name="inner")
    folder = repository(AREA, {"b.py": AREA.replace("area", "other")})
    git(folder, "submodule", "add", inner, "module.py")
    (folder / "link.py").symlink_to("a.py")
    commit(folder, "Add a submodule and a link")
    commit(inner, "Fix the area", {"a.py": FIXED})
    git(folder / "module.py", "pull")
    (folder / "link.py").unlink()
    (folder / "link.py").symlink_to("b.py")
    git(folder, "mv", "b.py", "c.py")
    commit(folder, "Fix names", {"c.py": FIXED.replace("area", "other")})  # renamed and changed: not compared
    git(folder, "switch", "--create", "side", "HEAD~")
    commit(folder, "Fix the area", {"a.py": FIXED})
    git(folder, "switch", "main")
    git(folder, "merge", "side")
    fixes, _ = mined(folder)
    assert [(fix["path"], fix["subject"]) for fix in fixes] == [("a.py", "Fix the area")]


def test_strange_paths_bytes_and_dates(repository):
    names = ["two words.py", 'quo"te.py', "tab\t.py", "line\nbreak.py", "ünï.PY", os.fsdecode(b"\xff.py")]

    def version(text):
        return {name: text.replace("area", f"f{number}") for number, name in enumerate(names)}

    latin = "# coding: latin-1\r\n" + AREA.replace("print(height)", "print('ä', height)").replace("\n", "\r\n")
    files = {"latin.py": latin.replace("area", "g").encode("latin-1")}
    broken = {"broken.py": b"\xff" + AREA.encode(), "two.py": AREA.replace("print(width)", "print width")}
    huge = {"huge.py": AREA.replace("area", "h") + "x = 1\n" * 200_000}

    def fixed(files):
        return {
            name: content.replace(b"* width", b"* height")
            if isinstance(content, bytes)
            else content.replace("* width", "* height")
            for name, content in files.items()
        }

    folder = repository(files | broken | huge | {"null.py": b"\0" + AREA.encode()})
    commit(folder, "x", version(AREA))
    git(folder, "config", "i18n.commitEncoding", "latin-1")
    commit(folder, os.fsdecode(b"Fix \xe9"), fixed(files | broken | huge | {"null.py": b"\0" + AREA.encode()}))
    for number, name in enumerate(names):
        commit(folder, "Fix it", {name: FIXED.replace("area", f"f{number}")}, GIT_AUTHOR_DATE="@99999999999999 +0000")
    fixes, skipped = mined(folder)
    assert {fix["function"]: fix["path"] for fix in fixes} == {
        "g": "latin.py", "f0": "two words.py", "f1": 'quo"te.py', "f2": "tab%09.py", "f3": "line%0Abreak.py",
        "f4": "ünï.PY", "f5": "%FF.py",
    }  # fmt: skip
    assert skipped == {"not text in a known encoding": 1, "Python 2 only": 1, "over 1 MB": 1}
    assert fixes[0]["subject"] == "Fix é" and "print('ä', height)\n" in fixes[0]["before_function"]
    assert fixes[-1]["date"] == "9999-12-31"


def test_what_is_no_repository_is_reported_and_the_rest_is_read(repository, tmp_path, capsys, monkeypatch):
    folder = repository(AREA, FIXED)
    repository(name="empty")
    (folder / "src").mkdir()  # inside a repository, but not one
    (tmp_path / "file").write_text("x")
    monkeypatch.chdir(tmp_path)
    options = ["--language", "python", "--out", "out.jsonl", "--jobs", "1"]
    paths = ["project/src", "missing", "file", "empty", "project"]
    assert main(["mine", *paths, *options]) == 2
    out, err = capsys.readouterr()
    assert out == "out.jsonl: 1 fixes (1 of tier A, 0 of tier B) in 1 commits\n3 of the paths could not be read\n"
    assert "project/src: git rev-parse failed: fatal: not a git repository" in err
    assert "missing: there is no such folder" in err and "file: there is no such folder" in err
    assert "empty: it has no commit with a parent" in err and "Traceback" not in err
    assert main(["mine", "project", *options]) == 2
    assert capsys.readouterr().err == "rarename mine: out.jsonl exists; remove it or choose another file\n"
    assert main(["mine", "missing", *options[:3], "other.jsonl"]) == 2
    assert "none of the repositories can be read" in capsys.readouterr().err
    assert main(["mine", "empty", *options[:3], "none.jsonl"]) == 0
    assert (tmp_path / "none.jsonl").read_text() == ""
    assert sorted(path.name for path in tmp_path.iterdir() if path.name.startswith(".")) == []


@pytest.mark.parametrize(
    ("encoding", "message", "subject"),
    [
        ("undefined", "Fix it", "Fix it"),
        ("idna", "Fix it", "Fix it"),
        ("a\0b", "Fix it", "Fix it"),
        ("unicode_escape", "Fix \\ud800", "Fix ?"),
        ("punycode", "a-" + "zzzz9a" * 60_000, None),  # takes minutes as a whole
    ],
)
def test_a_commit_may_name_any_encoding_and_date(encoding, message, subject):
    content = f"tree 0\nauthor a <a@b> {'9' * 5_000} +0000\nencoding {encoding}\n\n{message}\n"
    found, day = subject_and_date(content.encode())
    assert day == "9999-12-31" and found.encode() and subject in (found, None)


def test_the_name_of_a_repository_can_be_written(repository, tmp_path):
    folder = repository(AREA, FIXED, name=os.fsdecode(b"\xff"))
    assert only_fix(folder)["repo"] == "%FF"
    git(folder, "config", "remote.origin.url", os.fsdecode(b"https://x/\x1b[31m/\xfe.git"))
    assert only_fix(folder)["repo"] == "%1B[31m/%FE"


def test_large_files_and_hunks_are_left_out(repository):
    line = "x = y\n"
    text = AREA + "\n" + line.replace("\n", " ") * 30_000
    huge = AREA + line * 2_000_000
    before = {"a.py": text, "b.py": huge, "c.py": AREA}
    [patch] = patches(repository(before, {name: each.replace("width *", "height *").replace("y x", "z x", 1)
                                          for name, each in before.items()}))  # fmt: skip
    assert [hunk.path for hunk in patch.hunks] == ["a.py", "a.py", "c.py"]
    assert [each.hunk.path for each in candidates(patch, language_named("python"))] == ["a.py", "c.py"]


def test_functions_that_are_nested_very_deep_end_at_the_limit(repository, monkeypatch):
    monkeypatch.setattr("rarename.time_limit.SECONDS", 1)
    text = "function f(x, y) {\n" * 10_000 + "return x + x\n" + "}" * 10_000
    folder = repository({"a.js": text}, {"a.js": text.replace("x + x", "x + y")})
    assert mined(folder, language="javascript") == ([], {"gave up after too long": 1})


def test_a_damaged_object_costs_only_its_commits(repository):
    other = AREA.replace("area", "other")
    folder = repository({"a.py": AREA, "b.py": other}, {"a.py": FIXED}, {"b.py": other.replace("* width", "* height")})
    id_ = git(folder, "rev-parse", "HEAD:b.py")
    path = folder / ".git" / "objects" / id_[:2] / id_[2:]
    path.chmod(0o644)
    path.write_bytes(b"damaged")
    fixes, skipped = mined(folder)
    assert [fix["function"] for fix in fixes] == ["area"]
    assert skipped == {"commit with missing or damaged objects": 1}


HOSTILE = """
[core]
    fsmonitor = {touch}
    hooksPath = {hooks}
    pager = {touch}
    sshCommand = {touch}
    alternateRefsCommand = {touch}
    worktree = {hooks}
    attributesFile = /dev/zero
[alias]
    rev-list = !{touch}
    cat-file = !{touch}
[diff]
    external = {touch}
[diff "hostile"]
    command = {touch}
    textconv = {touch}
[filter "hostile"]
    clean = {touch}
    smudge = {touch}
    process = {touch}
    required = true
[log]
    showSignature = true
[gpg]
    program = {touch}
[remote "origin"]
    url = {url}
    uploadpack = {touch}
    promisor = true
    partialclonefilter = blob:none
[credential]
    helper = {touch}
"""


@pytest.mark.parametrize("is_partial", [False, True])
def test_nothing_of_a_repository_is_executed(repository, tmp_path, is_partial):
    origin = repository(AREA, {"a.py": FIXED, ".gitattributes": "*.py diff=hostile filter=hostile\n"})
    git(origin, "config", "uploadpack.allowFilter", "true")
    options = ["--filter=blob:none", "--no-checkout"] if is_partial else []
    git(tmp_path, "clone", *options, f"file://{origin}", "clone")
    folder, hooks, marker = tmp_path / "clone", tmp_path / "hooks", tmp_path / "executed"
    hooks.mkdir()
    script = hooks / "touch"
    script.write_text(f"#!/bin/sh\ntouch {marker}\n")
    script.chmod(0o755)
    for name in ("post-index-change", "reference-transaction", "fsmonitor-watchman", "post-checkout"):
        shutil.copy(script, hooks / name)
    with (folder / ".git" / "config").open("a") as config:
        config.write(HOSTILE.format(touch=script, hooks=hooks, url=origin))
    (folder / ".git" / "info").mkdir(exist_ok=True)
    (folder / ".git" / "info" / "attributes").write_text("*.py diff=hostile filter=hostile\n")
    fixes, skipped = mined(folder)
    assert not marker.exists()
    assert ([fix["right"] for fix in fixes], skipped) == (
        ([], {"commit with missing or damaged objects": 1}) if is_partial else (["height"], {})
    )


def test_the_environment_of_a_hook_does_not_change_what_is_read(repository, monkeypatch):
    folder, other = repository(AREA, FIXED), repository(AREA, name="other")
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    monkeypatch.setenv("GIT_EXTERNAL_DIFF", "false")
    assert only_fix(folder)["repo"] == "project"


def test_a_repository_of_another_user_is_not_read(repository, monkeypatch):
    folder = repository(AREA, FIXED)
    monkeypatch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")
    monkeypatch.setattr("rarename.mining.history._KEPT", ("GIT_TEST",))
    with pytest.raises(UsageError, match=r"dubious ownership in repository .* safe.directory"):
        Repository.at(folder)


# Processes

KILLED = """
import os, signal, sys
from pathlib import Path
from rarename.mining import mine
mine.CHUNK_COMMITS = 2
read, count = mine._mine_chunk, iter(range(100))
def until_killed(*arguments):
    if next(count) == {count}:
        os.kill(os.getpid(), signal.SIGKILL)
    read(*arguments)
mine._mine_chunk = until_killed
mine.mine([Path("project")], "python", Path("out.jsonl"))
"""


def test_a_killed_run_is_resumed_and_gives_the_same_file(repository, tmp_path, monkeypatch):
    versions = [AREA, FIXED]
    for number in range(8):
        text = (AREA + "y = 1\n").replace("area", f"f{number}")
        versions += [text, text.replace("* width", "* height")]
    folder = repository(*versions)
    monkeypatch.setattr("rarename.mining.mine.CHUNK_COMMITS", 2)
    mine([folder], "python", tmp_path / "whole.jsonl")
    whole = (tmp_path / "whole.jsonl").read_bytes()
    assert len(whole.splitlines()) == 9
    for count in (3, 2, 9):
        done = subprocess.run([sys.executable, "-c", KILLED.format(count=count)], cwd=tmp_path, capture_output=True)
        assert done.returncode in (0, -signal.SIGKILL), done.stderr
        assert (tmp_path / "out.jsonl").exists() == (count == 9)
    assert (tmp_path / "out.jsonl").read_bytes() == whole
    mine([folder], "python", tmp_path / "jobs.jsonl", jobs=2)
    assert (tmp_path / "jobs.jsonl").read_bytes() == whole
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]


def test_every_language_says_what_comes_before_its_functions():
    assert all(language.function_prefix for language in LANGUAGES.values() if language.function_types)
