"""The nodes that tell a function of the rest of its file."""

import numpy as np
import pytest

from rarename.assist import Checker
from rarename.corpus.store import Corpus
from rarename.encoding import Encoding
from rarename.presets import preset_config
from rarename.runs.run import _make_task, make_encoding, train
from rarename.syntax import JAVASCRIPT, PYTHON, parse
from rarename.syntax.functions import functions, qualified_name
from rarename.syntax.lines import rewrite
from rarename.tasks.misuse.context import CONTEXT_TYPES, FileContext
from rarename.tasks.misuse.functions import Function
from rarename.tasks.misuse.injection import sample_realistic_bug
from rarename.tasks.misuse.similarity import character_bigrams
from rarename.vocabulary import Vocabulary

PYTHON_TEXT = """
import os, sys as system
LIMIT = 3
class Box:
    def __init__(self, width, height, *rest):
        self.width = width
        self.other = rest.length
    def grow(self, by, box):
        self.width += by
        box.height = by.real
    def copy(self, args, os):
        made = Box(self.width, args.height, LIMIT)
        made.grow(args.width)
        return os.path
def later(args):
    return args.height
"""
JAVASCRIPT_TEXT = """
const fs = require("fs");
class Box { constructor(width, height) { this.width = width; } }
exports.load = function (path, done) { return fs.read(path.name); };
var close = (handle) => handle.end();
function run(path, handle, fs) { load(path, () => close(handle)); fs.read(path.name); return new Box(handle.end); }
"""


def contexts(text, language, num_nodes=24, encoding=None):
    """The context of each function, in words, by the name of the function."""
    tree = parse(text, language)
    roles = language.roles(tree)
    encoding = encoding or Encoding(Vocabulary([]), Vocabulary([*dict.fromkeys(tree.types), *CONTEXT_TYPES]))
    file = Function.of_file(tree, roles, language, encoding)
    names = {int(rank): name for rank, name in zip(file.values, tree.values, strict=True)}
    for start, length in functions(tree, language):
        function = FileContext.of_file(file, tree, language, encoding).function_at(start, length, num_nodes)
        nodes = range(length, length + function.num_context)
        words = [f"{encoding.types[function.types[node]][7:]} {names[function.values[node]] or ''}" for node in nodes]
        yield qualified_name(tree, roles, start, language), ", ".join(words)


def test_context_of_python():
    found = dict(contexts(PYTHON_TEXT, PYTHON))
    assert found["Box.copy"] == (
        "File , Function Box, Parameter width, Parameter height, Parameter rest, Function grow, Parameter by, "
        "Parameter box, Object self, Attribute width, Name os, Name LIMIT, Name Box"
    )
    assert found["Box.grow"] == "File , Object self, Attribute width"  # not of box: box.height occurs nowhere else
    assert found["later"] == "File , Object args, Attribute height"


def test_context_of_javascript():
    found = dict(contexts(JAVASCRIPT_TEXT, JAVASCRIPT))
    assert found["run"] == (
        "File , Function Box, Parameter width, Parameter height, Function load, Parameter path, Parameter done, "
        "Function close, Parameter handle, Object fs, Attribute read, Object path, Attribute name, Object handle, "
        "Attribute end, Name fs, Name Box, Name close"
    )


def test_the_number_of_nodes_is_limited():
    for limit in (0, 1, 5, 9):
        found = dict(contexts(PYTHON_TEXT, PYTHON, limit))["Box.copy"]
        assert len(found.split(", ")) <= 1 + limit
        assert bool(found) == bool(limit)
    assert dict(contexts("def f(a):\n    return g(a)\n", PYTHON)) == {"f": ""}  # nothing but the function


def test_a_bug_does_not_change_the_context(projects):
    """Otherwise the context would tell where the bug is."""
    encoding, rng = Encoding(Vocabulary([]), Vocabulary(CONTEXT_TYPES)), np.random.default_rng(0)
    num_compared = 0
    for path in sorted(projects.rglob("*.py"))[:25]:
        text = path.read_text()
        tree = parse(text, PYTHON)
        roles, (_, names) = PYTHON.roles(tree), Vocabulary([]).ranks(tree.values)
        file = Function.of_file(tree, roles, PYTHON, encoding)
        bigrams = character_bigrams(tree.values)
        for number, (start, length) in enumerate(functions(tree, PYTHON)[:4]):
            function = file.function_at(start, length)
            object.__setattr__(function, "bigrams", bigrams[start : start + length])
            if bug := sample_realistic_bug(function, rng):
                values = list(tree.values)
                values[start + bug.location] = names[bug.wrong]
                changed = rewrite(text, tree, values, PYTHON)
                before, after = (list(contexts(each, PYTHON))[number] for each in (text, changed))
                assert before == after
                num_compared += len(before[1]) > len("File ")
    assert num_compared > 20


@pytest.fixture(scope="module")
def settings():
    model = {"d_model": 16, "num_layers": 1, "num_heads": 2, "d_ff": 16}
    encoding = {"vocabulary_size": 40, "num_placeholders": 200, "num_subtokens": 50}
    training = {"num_epochs": 0.05, "max_batch_nodes": 1000, "eval_examples": 10}
    task = {"max_function_nodes": 80, "context_nodes": 16, "multi_bug_epochs": 0, "epoch_functions": 0}
    return {"encoding": encoding, "model": model, "training": training, "task": task}


def test_training_and_check_see_the_same_context(corpus_folder, projects, settings):
    config = preset_config(str(corpus_folder), "check", settings)
    corpus, encoding = Corpus(corpus_folder), make_encoding(config)
    dataset = _make_task(config, encoding).dataset("train")
    num_compared = 0
    for number, stored in enumerate(corpus.split("train")):
        rows = np.nonzero(dataset._index[:, 0] == number)[0][:5].tolist()
        if not rows or num_compared > 60:
            continue
        tree = parse((projects.parent / stored.path).read_text(), PYTHON)
        file = Function.of_file(tree, PYTHON.roles(tree), PYTHON, encoding)
        context = FileContext.of_file(file, tree, PYTHON, encoding)
        for row in rows:
            _, start, length, _ = dataset._index[row].tolist()
            expected, function = context.function_at(start, length, 16), dataset[row]
            for column in ("types", "roles", "scopes", "places", "subtokens"):
                assert np.array_equal(getattr(function, column), getattr(expected, column)), column
            ids = [encoding.encode_ranks(each.values, each.roles, [0]) for each in (function, expected)]
            assert np.array_equal(*ids)
            assert len(dataset.function(row, has_context=False)) == length == len(function) - function.num_context
            num_compared += function.num_context > 1
    assert num_compared > 40


def test_half_of_the_functions_in_training_have_a_context(corpus_folder, settings):
    config = preset_config(str(corpus_folder), "check", settings)
    task = _make_task(config, make_encoding(config))
    batch = task.make_batch(list(range(60)), 0)
    assert 0.2 < (batch.num_context[::2] > 0).mean() < 0.8
    assert not (batch.is_variable | batch.is_candidate | batch.is_repair)[
        batch.types >= task.encoding.num_types - 6
    ].any()
    assert task.make_eval_batch(list(range(20)), "validation").num_context.any()


def test_a_model_with_context_checks_files(corpus_folder, settings, tmp_path):
    assert train(preset_config(str(corpus_folder), "check", settings), tmp_path / "run")
    checker = Checker.load(tmp_path / "run", threshold=0)
    found = {each.function: each for each in checker.check(PYTHON_TEXT, PYTHON)}
    assert found.keys() >= {"Box.copy", "Box.grow"}
    encoding = checker.model(PYTHON).folder.encoding
    assert set(CONTEXT_TYPES) <= set(encoding.types)
