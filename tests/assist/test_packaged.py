"""The models inside the package: there, small, described, and able to do what the paper begins with."""

import tomllib

import pytest

from rarename.assist import Checker, CheckModel, Completer
from rarename.discovery import CHECKED
from rarename.inference.model_folder import packaged_model

MEGABYTE = 1_000_000

PAPER = "def load(myfnm):\n    with open(myfnm) as myfp:\n        data = myfnm.read()\n    return data\n"


@pytest.mark.parametrize("language", [language.name for language in CHECKED])
def test_a_model_is_inside_the_package(language):
    folder = packaged_model(language)
    assert sum(path.stat().st_size for path in folder.iterdir()) < 10 * MEGABYTE
    bound = tomllib.loads((folder / "check.toml").read_text())["min_confidence"]
    assert CheckModel.load(folder).threshold == bound
    assert 0.5 < bound < 1
    card = (folder / "README.md").read_text()
    assert f"{bound}" in card
    assert "rarename train misuse" in card
    assert "/tmp" not in (folder / "config.toml").read_text()


def test_the_example_of_the_paper_is_found():
    """`myfnm` is read where `myfp` was opened for it."""
    (finding,) = Checker.load().check(PAPER, "python")
    assert (finding.line, finding.column, finding.name, finding.suggestion) == (3, 16, "myfnm", "myfp")


def test_the_same_without_the_mistake_is_silent():
    right = PAPER.replace("myfnm.read", "myfp.read")
    assert Checker.load().check(right, "python") == []


@pytest.mark.parametrize(
    ("text", "name", "suggestion"),
    [
        ("function load(name, done) { var file = open(name); var text = name.read(); done(text); }", "name", "file"),
        ("function area(width, height) { var result = width * width; return result; }", "width", "height"),
    ],
)
def test_mistakes_in_javascript_are_found(text, name, suggestion):
    (finding,) = Checker.load().check(text, "javascript")
    assert (finding.name, finding.suggestion) == (name, suggestion)
    assert text[finding.column - 1 :].startswith(name)


@pytest.mark.parametrize("language", [language.name for language in CHECKED])
def test_a_model_for_completion_is_inside_the_package(language):
    folder = packaged_model(language, "completion")
    assert sum(path.stat().st_size for path in folder.iterdir()) < 12 * MEGABYTE
    card = (folder / "README.md").read_text()
    assert "rarename train completion" in card
    assert "/tmp" not in (folder / "config.toml").read_text()
    assert Completer.load(language).language.name == language


@pytest.mark.parametrize(
    ("language", "text", "name"),
    [
        ("python", "def area(width, height):\n    return width * ", "height"),
        ("python", "def load(fnm):\n    with open(fnm) as stream:\n        return stream.", "read"),
        ("javascript", "function area(width, height) {\n  return width * ", "height"),
        ("javascript", "const wanted = [];\nfor (const item of items) {\n  wanted.", "push"),
        ("javascript", "class Row { cells = []; add(cell) { this.cells.push(cell) } }\nnew Row().", "add"),
    ],
)
def test_obvious_names_are_suggested(language, text, name):
    lines = text.split("\n")
    found = Completer.load(language).complete(text, len(lines), len(lines[-1]) + 1, top_k=3)
    assert name in [each.name for each in found]
