"""Imports point one way, and torch stays out of the torch-free half."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import rarename

PACKAGE = Path(rarename.__file__).parent

MAY_IMPORT = {
    "errors": set(),
    "files": set(),
    "syntax": {"errors"},
    "vocabulary": {"errors", "files"},
    "anonymize": {"errors", "vocabulary"},
    "parts": {"vocabulary"},
    "spelling": set(),
    "rename": {"anonymize", "syntax", "vocabulary"},
    "encoding": {"anonymize", "errors", "files", "syntax", "vocabulary"},
    "corpus": {"errors", "files", "syntax", "vocabulary"},
    "model": {"errors"},
    "tasks": {"anonymize", "corpus", "encoding", "errors", "model", "parts", "spelling", "syntax", "vocabulary"},
    "training": {"errors", "files", "tasks"},
    "experiment": {
        "",
        "anonymize",
        "corpus",
        "encoding",
        "errors",
        "files",
        "model",
        "parts",
        "tasks",
        "training",
        "vocabulary",
    },
    "evaluation": {"errors", "files"},
    "assist": {"", "corpus", "encoding", "errors", "experiment", "syntax", "tasks", "training"},
    "cli": {
        "",
        "anonymize",
        "assist",
        "corpus",
        "encoding",
        "errors",
        "evaluation",
        "experiment",
        "files",
        "rename",
        "syntax",
        "training",
        "vocabulary",
    },
}
"""What each part of the package may import of the others; "" is the package itself."""

TORCH_FREE = [
    "errors", "files", "syntax", "vocabulary", "anonymize", "rename", "encoding", "corpus", "parts", "spelling",
    "evaluation",
]  # fmt: skip


MODULES = [
    pytest.param(path.relative_to(PACKAGE).with_suffix("").parts[0], path, id=str(path.relative_to(PACKAGE)))
    for path in sorted(PACKAGE.rglob("*.py"))
    if path.parent != PACKAGE or path.stem not in ("__init__", "__main__")
]


def imported(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            yield node.module
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


@pytest.mark.parametrize(("part", "path"), MODULES)
def test_imports_point_one_way(part, path):
    for name in imported(path):
        top, _, rest = name.partition(".")
        if top == "rarename":
            target = rest.split(".")[0]
            assert target == part or target in MAY_IMPORT[part], f"{part} may not import {name}"


@pytest.mark.parametrize(("part", "path"), MODULES)
def test_the_torch_free_half_does_not_name_torch(part, path):
    if part in TORCH_FREE:
        assert not [name for name in imported(path) if name.split(".")[0] == "torch"]


def test_every_part_has_its_rule():
    parts = {path.stem for path in PACKAGE.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
    assert parts - {"__init__", "__main__"} == set(MAY_IMPORT)


def test_nothing_heavy_is_imported_before_it_is_needed():
    """`rarename --help` and a pipeline that anonymizes pay for neither torch nor Arrow."""
    code = (
        "import sys, rarename, rarename.cli.main, rarename.cli.anonymize, rarename.cli.check;"
        "print(*{'torch', 'pyarrow', 'rich'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_torch_is_not_loaded_by_preparing():
    code = "import sys, rarename.corpus; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_the_public_names():
    assert rarename.__all__ == sorted(rarename.__all__, key=lambda name: (not name.isupper(), name))
    assert set(rarename.__all__) == {
        "LANGUAGES", "STRATEGIES", "Anonymized", "AnonymizedSource", "Encoded", "Encoding", "Language",
        "RarenameError", "Role", "Special", "Traversal", "Vocabulary", "anonymize_ranks",
        "anonymize_source", "anonymize_values", "parse",
    }  # fmt: skip
    assert all(hasattr(rarename, name) for name in rarename.__all__)
