"""Our trees of real packages against acorn's ESTree, mapped by independent code (`acorn/to_record.mjs`).

The first run downloads the packages of `acorn/package.json` into `.cache/acorn`.
"""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rarename.errors import ParseError
from rarename.syntax.javascript import JAVASCRIPT
from rarename.syntax.javascript.parser import parse

HERE = Path(__file__).parent / "acorn"
CACHE = Path(__file__).parents[2] / ".cache" / "acorn"
SUFFIXES = frozenset(JAVASCRIPT.suffixes)

EXCEPTIONS: dict[str, str] = {}
"""Files whose trees differ from acorn's, each with the reason: `package/file` → why."""

SAMPLING_STEP = int(os.environ.get("RARENAME_ACORN_EVERY", "5"))
"""Every how many files one is compared. Set the variable to 1 to compare all of them, which takes a minute."""

NOT_ACORN = ("using a", "export {a", "@d class", "return\n", "<!-- html", "using += ")
"""Beginnings of snippets that acorn does not take: proposals, and exports of undeclared names."""


def run(*command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, encoding="utf-8", check=False)


@pytest.fixture(scope="module")
def packages() -> Path:
    """The folder with the packages and acorn, installed when `package.json` is new."""
    if not shutil.which("node") or not shutil.which("npm"):
        pytest.skip("the comparison with acorn needs Node.js and npm")
    wanted = (HERE / "package.json").read_text(encoding="utf-8")
    stamp = CACHE / "installed.json"
    if not stamp.is_file() or stamp.read_text(encoding="utf-8") != wanted:
        CACHE.mkdir(parents=True, exist_ok=True)
        (CACHE / "package.json").write_text(wanted, encoding="utf-8")
        flags = ("--ignore-scripts", "--no-audit", "--no-fund", "--no-package-lock", "--legacy-peer-deps")
        installed = run("npm", "install", *flags, folder=CACHE)
        if installed.returncode:
            pytest.skip(f"npm could not install the packages to compare with: {installed.stderr[-300:]}")
        stamp.write_text(wanted, encoding="utf-8")
    return CACHE


def acorn_trees(cache: Path, files: list[Path]) -> Iterator[tuple[Path, list[Any] | None]]:
    """The nodes `[type, value, parent]` of each file; None for one that acorn refuses."""
    names = cache / "files.txt"
    names.write_text("\n".join(map(str, files)), encoding="utf-8")
    command = ["node", "--stack-size=4000", str(HERE / "to_record.mjs"), str(cache)]
    with (
        names.open(encoding="utf-8") as stdin,
        subprocess.Popen(command, stdin=stdin, stdout=subprocess.PIPE, text=True, encoding="utf-8") as node,
    ):
        assert node.stdout is not None
        for line in node.stdout:
            answer = json.loads(line)
            yield Path(answer["file"]), answer.get("nodes")
    assert node.returncode == 0


def difference(file: Path, expected: list[Any]) -> str:
    """The first node where our tree differs from the expected one; empty when they are equal."""
    try:
        traversal = parse(JAVASCRIPT.decode(file.read_bytes()), False)
    except ParseError as error:
        return str(error)
    ours = zip(traversal.types, traversal.values, traversal.parents, strict=True)
    for node, (mine, theirs) in enumerate(zip(ours, expected, strict=False)):
        if list(mine) != theirs:
            return f"node {node} {tuple(traversal.span(node))}: {mine}, acorn has {theirs}"
    return "" if len(traversal) == len(expected) else f"{len(traversal)} nodes, acorn has {len(expected)}"


@pytest.mark.slow
def test_real_packages_have_the_trees_of_acorn(packages: Path) -> None:
    modules = packages / "node_modules"
    wanted = json.loads((packages / "package.json").read_text(encoding="utf-8"))["dependencies"]
    files = [
        file
        for name in wanted
        for file in sorted((modules / name).rglob("*"))
        if file.suffix in SUFFIXES and file.is_file() and "node_modules" not in file.relative_to(modules).parts
    ]
    assert len(files) > 3000
    files = files[::SAMPLING_STEP]
    num_compared = 0
    differing = {}
    for file, expected in acorn_trees(packages, files):
        if expected is None:
            continue
        num_compared += 1
        if found := difference(file, expected):
            differing[file.relative_to(modules).as_posix()] = found
    assert num_compared > 0.99 * len(files)
    assert differing.keys() == EXCEPTIONS.keys(), differing


@pytest.mark.slow
def test_snippets_have_the_trees_of_acorn(packages: Path, tmp_path: Path) -> None:
    cases = (Path(__file__).parent / "javascript_trees.txt").read_text(encoding="utf-8").split("\n\n")
    files = []
    for number, case in enumerate(cases):
        lines = [line for line in case.split("\n") if not line.startswith(("=> ", "#  "))]
        snippet = "\n".join(lines)
        if snippet.strip() and not snippet.startswith(NOT_ACORN):
            files.append(tmp_path / f"{number}.js")
            files[-1].write_text(snippet, encoding="utf-8")
    for file, expected in acorn_trees(packages, files):
        assert expected is not None, f"acorn refuses {file.read_text(encoding='utf-8')}"
        assert difference(file, expected) == "", file.read_text(encoding="utf-8")
