"""The documents: their code runs, their commands print the documented output, their links have a target."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "CHANGELOG.md",
    *sorted((ROOT / "docs").glob("*.md")),
]


def blocks(page: Path, kind: str) -> list[str]:
    return re.findall(rf"^```{kind}\n(.*?)^```$", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


@pytest.fixture
def environment(tmp_path):
    """Commands find `rarename`, and nothing reaches for the network or the user's caches."""
    scripts = Path(sys.executable).parent
    return os.environ | {
        "PATH": f"{scripts}{os.pathsep}{os.environ['PATH']}",
        "HF_HUB_OFFLINE": "1",
        "HF_HOME": str(tmp_path / "hf"),
        "COLUMNS": "100",
    }


@pytest.mark.slow
def test_the_library_page_runs(tmp_path, environment):
    code = "\n".join(blocks(ROOT / "docs" / "library.md", "python"))
    assert "datasets" in code
    (tmp_path / "page.py").write_text(code, encoding="utf-8")
    done = subprocess.run([sys.executable, "page.py"], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def sessions(text: str) -> list[tuple[str, str]]:
    """Pairs of a command and what it prints."""
    parts = re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]
    return [tuple(part.split("\n", 1)) for part in parts]


@pytest.mark.slow
@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "console")], ids=lambda page: page.name)
def test_commands_print_the_documented_output(page, tmp_path, environment):
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    commands = [pair for block in blocks(page, "console") for pair in sessions(block)]
    assert commands
    for command, expected in commands:
        done = subprocess.run(
            command, shell=True, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == (1 if " RN001 " in expected else 0), done.stderr
        if "…" in expected:
            # What depends on the interpreter's library is left out of the page by an ellipsis.
            pattern = ".*".join(re.escape(part) for part in expected.split("…"))
            assert re.fullmatch(pattern, done.stdout, re.DOTALL), done.stdout
        else:
            assert done.stdout == expected


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_have_a_target(page):
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), f"{page.name} links to {target}"


def number_in(text: str, pattern: str) -> float:
    """The number that a pattern captures; line breaks count as blanks."""
    found = re.search(pattern, " ".join(text.split()))
    assert found, pattern
    return float(found[1].replace(",", ""))


def table_row(page: Path, name: str) -> list[float]:
    (row,) = re.findall(rf"^\| {re.escape(name)} \|(.*)\|$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return [float(cell.strip().replace(",", "")) for cell in row.split("|")]


def test_the_numbers_of_the_readme_are_those_of_the_model_card_and_the_vocabulary_page():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    model = ROOT / "src/rarename/data/models/misuse-python"
    fixes = json.loads((model / "metrics-fixes.json").read_text())["test"]
    shown = fixes["at_false_alarms"]["default"]
    assert number_in(readme, r"We tested (\d+) functions") == fixes["num"]
    assert number_in(readme, r"every function, (\d+) %") == round(100 * fixes["joint"])
    assert number_in(readme, r"threshold `check` shows (\d+) % of them") == round(100 * shown["joint"])
    row = table_row(ROOT / "docs" / "check.md", "Python")
    pattern = r"In ([\d,]+) functions of released packages it has (\d+) findings: (\d+) [^;]*; (\d+)"
    found = re.search(pattern, " ".join(readme.split()))
    assert found and [float(each.replace(",", "")) for each in found.groups()] == row[1:5]
    coverage = table_row(ROOT / "docs" / "vocabularies.md", "Python, test")
    assert number_in(readme, r"frequent names cover (\d+) %") == round(coverage[4])
    assert number_in(readme, r"10,000 cover (\d+) %") == round(coverage[5])
    assert number_in(readme, r"training split only (\d+) %") == round(coverage[8])


@pytest.mark.parametrize(("language", "title"), [("python", "Python"), ("javascript", "JavaScript")])
def test_the_phases_of_the_packaged_models_are_those_of_their_cards(language, title):
    page = (ROOT / "docs" / "variable-misuse.md").read_text(encoding="utf-8")
    model = ROOT / "src/rarename/data/models" / f"misuse-{language}"
    card, fixes = (
        " ".join((model / "README.md").read_text().split()),
        json.loads((model / "metrics-fixes.json").read_text()),
    )
    rows = page[page.index(f"| {title}, after") :].partition("| JavaScript, after" if language == "python" else "\n\n")[
        0
    ]
    injected = re.findall(r"\| (\d+\.\d / \d+\.\d) \|", rows)
    assert len(injected) >= 2 and all(each in card for each in injected)
    tune = fixes["validation"]
    shown = f"| {100 * tune['joint']:.1f} | {100 * tune['at_false_alarms']['0.001']['joint']:.1f} |"
    assert rows.strip().splitlines()[-1].endswith(shown)
    assert f"{100 * fixes['test']['joint']:.1f} %" in page
