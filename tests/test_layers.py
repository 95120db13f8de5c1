"""Modules import from layers above, and prediction needs neither torch nor pyarrow."""

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import rarename
from rarename.cli.main import EXTRAS

PACKAGE = Path(rarename.__file__).parent

LAYERS = """
    errors _version progress processes printable reading
    io git
    syntax.traversal syntax.open_brackets
    syntax.language
    syntax.lines syntax.functions syntax.scope syntax.records
    syntax.tokens syntax.cursor
    syntax.python syntax.javascript
    syntax
    vocabulary time_limit
    anonymize
    subtokens anonymize_text encoding
    discovery
    config
    presets
    tasks.batch tasks.sampler
    tasks.misuse.similarity
    tasks.misuse.functions
    tasks.misuse.context tasks.misuse.features
    tasks.misuse.injection
    tasks.misuse.fixes
    tasks.misuse.fix_phase
    tasks.misuse.collate tasks.completion.collate
    tasks.misuse.predict tasks.completion.predict
    tasks.misuse.confidence
    inference.model_folder
    inference.session
    inference.onnx_session inference.onnx_weights
    assist
    lsp

    cluster
    corpus
    mining
    tasks.rank_mapping
    tasks.misuse.dataset tasks.completion.dataset
    model
    tasks.task
    tasks.misuse.model tasks.completion.model
    tasks.misuse.loss tasks.completion.loss
    tasks.misuse.metrics tasks.completion.metrics
    tasks.misuse.task tasks.completion.task
    tasks.registry
    training
    inference.torch_session inference.onnx_export
    runs
    sweep
    report
    cli
"""
"""A module imports from its own part and from lines above it. Above the empty line there is no torch and no pyarrow.

`inference.session` imports a backend when a model is opened: the one exception.
"""

LINES = [line.split() for line in LAYERS.split("\n")]
LAYER = {part: number for number, parts in enumerate(LINES) for part in parts}
FIRST_HEAVY = next(number for number, parts in enumerate(LINES) if not parts and number > 2)


BACKENDS = {("inference.session", f"inference.{name}_session") for name in ("onnx", "torch")}


def part_of(module: str) -> str | None:
    """The longest part of the table that a module belongs to."""
    words = module.split(".")[1:]
    names = [".".join(words[:length]) for length in range(len(words), 0, -1)]
    return next((name for name in names if name in LAYER), None)


def modules():
    for path in sorted(PACKAGE.rglob("*.py")):
        name = ".".join(["rarename", *path.relative_to(PACKAGE).with_suffix("").parts]).removesuffix(".__init__")
        yield name, ast.parse(path.read_text(encoding="utf-8"))


def imported(tree):
    typing_only = {
        inner
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        if node in typing_only:
            continue
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            yield node.module or ""
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def test_every_module_has_its_layer():
    packages = {"rarename", "rarename.__main__", "rarename.tasks", "rarename.inference"}
    packages |= {"rarename.tasks.misuse", "rarename.tasks.completion"}
    assert {name for name, _ in modules() if part_of(name) is None} == packages


def test_modules_import_only_from_layers_above():
    wrong = []
    for name, tree in modules():
        part = part_of(name)
        for target in imported(tree):
            other = part_of(target) if target.startswith("rarename.") else None
            if part is None or other is None or other == part:
                continue
            if LAYER[other] >= LAYER[part] and (part, other) not in BACKENDS:
                wrong.append(f"{name} imports {target}")
    assert not wrong


def test_torch_and_pyarrow_stay_below():
    light = [(name, tree) for name, tree in modules() if LAYER.get(part_of(name) or "", 99) < FIRST_HEAVY]
    assert len(light) > 40
    heavy = {"torch", "pyarrow", "safetensors", "scipy", "matplotlib", "fcntl"}
    assert not [name for name, tree in light for target in imported(tree) if target.partition(".")[0] in heavy]


def test_a_missing_module_can_be_named_with_its_extra():
    with (Path(__file__).parents[1] / "pyproject.toml").open("rb") as file:
        project = tomllib.load(file)["project"]
    base = {re.match(r"[\w-]+", each)[0].replace("-", "_") for each in project["dependencies"]}
    roots = {target.partition(".")[0] for _, tree in modules() for target in imported(tree)}
    assert roots - sys.stdlib_module_names - base - {"rarename"} <= EXTRAS.keys()
    assert {*EXTRAS.values()} <= project["optional-dependencies"].keys()


def loaded_by(code: str) -> set[str]:
    command = f"import sys; {code}; print(*sys.modules)"
    return set(
        subprocess.run([sys.executable, "-c", command], capture_output=True, text=True, check=True).stdout.split()
    )


def test_prediction_and_help_load_nothing_heavy():
    heavy = {"torch", "pyarrow", "fcntl", "rich"}
    assert not heavy & loaded_by("import rarename.assist")
    assert not heavy & loaded_by("import rarename, rarename.cli.main, rarename.cli.anonymize, rarename.cli.check")
    assert "torch" not in loaded_by("import rarename.corpus.store, rarename.cli.train")


def test_the_package_exports_its_public_names():
    assert rarename.__all__ == sorted(rarename.__all__, key=lambda name: (not name.isupper(), name))
    assert set(rarename.__all__) == {
        "LANGUAGES", "STRATEGIES", "Anonymized", "AnonymizedSource", "Encoded", "Encoding", "Language",
        "RarenameError", "Role", "Special", "Traversal", "Vocabulary", "anonymize_ranks",
        "anonymize_source", "anonymize_values", "parse",
    }  # fmt: skip
    assert all(hasattr(rarename, name) for name in rarename.__all__)
