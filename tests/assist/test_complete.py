"""Completion at a cursor: the names of the text, names in scope first, and no node computed twice.

In the texts, `‸` marks the cursor.
"""

import dataclasses
from unittest.mock import Mock

import numpy as np
import pytest

from rarename.assist.complete import BUILTIN_FALLBACK_PROBABILITY, FALLBACK_PROBABILITY, Completer, Reader
from rarename.cli.main import main
from rarename.errors import ParseError, RunError, UsageError
from rarename.syntax.cursor import at_cursor
from rarename.tasks.completion.collate import CompletionBatch

TEXT = """import os

def load_everything(first_folder, second_folder):
    for zebra_file in os.listdir(first_folder):
        print(zebra_file)
    return ‸
"""
LONG = "x = 1\n" * 300
"""More nodes than a window has."""


@pytest.fixture(scope="module")
def completer(completion_run):
    return Completer.load("python", completion_run)


def cursor_in(completer, marked):
    before, _, after = marked.partition("‸")
    return at_cursor(before + after, completer.language, before.count("\n") + 1, len(before.split("\n")[-1]) + 1)


def complete(completer, marked, top_k=10_000):
    """The suggestions by name, the most probable first."""
    return {each.name: each for each in completer.complete_at(cursor_in(completer, marked), top_k)}


def continuations(completer, marked):
    """The types of the nodes that are replaced, and those of each continuation."""
    cursor = cursor_in(completer, marked)
    start, found = completer._continuations(cursor)
    return cursor.traversal.types[start:], [[node_type for node_type, _, _ in nodes] for nodes in found]


def test_rare_names_of_the_text_are_suggested_by_their_own_name(completer):
    found = complete(completer, TEXT)
    assert {"zebra_file", "first_folder", "second_folder", "os", "load_everything"} <= found.keys()
    assert not any(name.startswith("VAR") or name in ("UNK", "EMPTY", "PAD") for name in found)
    for typed in ("zeb‸", "ZEB‸"):  # case counts only if names match it
        assert list(complete(completer, TEXT.replace("‸", typed))) == ["zebra_file"]


@pytest.mark.parametrize("marked", [TEXT, "def travel(zebra, speed=1): pass\ntravel(speed=3, ‸)"])
def test_probabilities_sum_to_at_most_one(completer, marked):
    names, arguments = completer._predict(cursor_in(completer, marked))
    assert 0 < sum(names.values()) + sum(arguments.values()) <= 1 + 1e-5
    assert {**names, **arguments}.get("zebra_file") != FALLBACK_PROBABILITY


def test_continuations_of_a_name_that_nothing_follows(completer):
    nodes, found = continuations(completer, "def f(reader):\n    x = rea‸")
    assert nodes == []
    assert found[0] == ["NameLoad"]
    assert ["Call", "NameLoad"] in found
    for rest in (".read()", "(1)"):
        assert continuations(completer, f"def f(reader):\n    x = rea‸{rest}")[1] == [["NameLoad"]]
    assert continuations(completer, "def f(rea‸")[1] == [["NameParam"]]  # a parameter is not an expression
    # A name alone is completed to a call, which is one of the continuations, and not there twice.
    nodes, found = continuations(completer, "def f(reader):\n    rea‸")
    assert nodes == ["Expr", "Call"]
    assert found.count(["Expr", "Call", "NameLoad"]) == 1
    assert not any("Assign" in types for types in found)


def test_an_attribute_may_be_assigned_to(completer):
    nodes, found = continuations(completer, "def f(self):\n    self.‸")
    assert nodes == ["Expr", "Call", "AttributeLoad", "NameLoad"]
    assert ["Expr", "Call", "AttributeLoad", "NameLoad", "attr"] in found
    assert ["Assign", "AttributeStore", "NameLoad", "attr"] in found
    assert not any("Assign" in types for types in continuations(completer, "def f(self):\n    x = self.‸")[1])


@pytest.mark.parametrize("receiver", ["reader" + ".read(1)" * 200, "(await reader)"])
def test_a_long_expression_or_an_unseen_type_has_one_continuation(completer, receiver):
    marked = f"def f(reader):\n    {receiver}.‸"
    assert len(continuations(completer, marked)[1]) == 1
    assert complete(completer, marked)


def test_names_in_scope_come_first(completer):
    found = list(complete(completer, TEXT).values())
    assert {each.is_in_scope for each in found} == {True, False}  # the vocabulary has names that the text does not have
    order = [(not each.is_in_scope, -each.probability) for each in found]
    assert order == sorted(order)
    # A variable of a comprehension that is not used yet is as probable as the most probable name.
    assert next(iter(complete(completer, "print([‸ for zebra in open(path)])"))) == "zebra"


def test_names_that_the_model_cannot_predict_have_a_fallback_probability(completer):
    found = complete(completer, f"def far_away(argument):\n{'    argument = argument + 1;' * 300}    return ‸")
    assert found["argument"].is_in_scope
    assert found["far_away"].is_in_scope and found["far_away"].probability == FALLBACK_PROBABILITY
    builtin = found["BaseExceptionGroup"]
    assert builtin.is_in_scope and builtin.probability == BUILTIN_FALLBACK_PROBABILITY


def test_scope_of_unbound_and_of_star_imported_names(completer):
    text = "def f():\n    local_zebra = 1\n    return zebra_from_elsewhere(local_zebra)\nx = ‸"
    found = complete(completer, text)
    assert found["zebra_from_elsewhere"].is_in_scope
    assert not found["local_zebra"].is_in_scope
    for any_name in (f"from zoo import *\n{text}", "def f(reader):\n    return reader.‸"):
        assert all(each.is_in_scope for each in complete(completer, any_name).values())


def test_keywords_of_the_language_are_not_suggested(completer):
    cursor = cursor_in(completer, TEXT)
    found = completer.complete_at(dataclasses.replace(cursor, keywords=frozenset({"os"})), top_k=10_000)
    assert "os" not in [each.name for each in found]


def test_an_argument_may_be_passed_by_its_name(completer):
    text = "def load(first_folder, second_folder, other):\n    return second_folder\nx = load(other, ‸"
    assert ["keyword"] in continuations(completer, text)[1]
    names, arguments = completer._predict(cursor_in(completer, text))
    found = complete(completer, text)["second_folder"]
    assert found.is_in_scope
    assert 0 < found.probability == pytest.approx(arguments["second_folder"])  # not as a variable
    assert names["second_folder"] > 0
    (value,) = complete(completer, text.replace("‸", "other=second‸")).values()
    assert (value.name, value.is_in_scope) == ("second_folder", False)  # the value of an argument is a variable


def test_which_suggestions_are_arguments(completer):
    text = f"def travel(zebra_file, speed_limit): pass\n{LONG}own_value = 2\ntravel(1, "
    found = complete(completer, f"{text}‸)")
    assert found["speed_limit"].is_argument  # although the function is outside the window
    assert not found["own_value"].is_argument
    found = complete(completer, f"{text}speed_limit=3, ‸)")
    assert "zebra_file" in found
    in_class = complete(completer, "class A(B, ‸meta=1): pass", top_k=10)
    assert len(in_class) == 10
    assert all(each.is_argument for each in [*found.values(), *in_class.values()])


@pytest.mark.parametrize(
    ("marked", "name"),
    [
        ("self.far_attribute = 1\n{}self.far_‸", "far_attribute"),
        ("far_total = 1\n{}far_‸ += 1", "far_total"),
        ("far_total = 1\n{}def f():\n    global far_‸", "far_total"),
        ("f(far_option=1)\n{}g(a=1, far_‸", "far_option"),
    ],
)
def test_names_outside_the_window_are_suggested_in_every_role(completer, marked, name):
    assert list(complete(completer, marked.format(LONG))) == [name]


@pytest.mark.parametrize(
    ("marked", "expected"),
    [
        ("import zoo.lion.cub\nimport zoo.zebra\nimport zoo.‸", {"lion", "zebra"}),
        ("import zoo.lion.cub\nimport zoo.zebra\nimport zoo.ze‸", {"zebra"}),
        ("import zoo.lion.cub\nimport zoo‸", {"zoo"}),
        ("import os\nfrom .lion import cub\nfrom . import zebra\nfrom .‸", {"lion", "zebra"}),
        ("import os\nfrom .‸", set()),
    ],
)
def test_modules_are_completed_part_by_part(completer, marked, expected):
    assert complete(completer, marked).keys() == expected
    assert not any("." in name for name in complete(completer, f"{marked.replace('‸', '')}\nx = ‸"))


def test_after_a_call_variables_of_the_text_are_rarely_attributes(completer, monkeypatch):
    text = "def f(self, path, own_name):\n    self.path.own_attribute()\n    return "
    predicted = {"own_name": 0.4, "path": 0.2, "own_attribute": 0.1, "strip": 0.1}
    monkeypatch.setattr(completer, "_sum", lambda weighted: predicted if weighted else {})
    found, _ = completer._predict(cursor_in(completer, f"{text}open(path).‸"))
    # `path` is a variable and an attribute, `own_name` only a variable, and `strip` is not in the text.
    assert sorted(found, key=found.__getitem__) == ["own_name", "path", "own_attribute", "strip"]
    assert found["own_attribute"] == pytest.approx(found["strip"])
    assert sum(found.values()) == pytest.approx(0.8)
    assert found["path"] / found["strip"] == pytest.approx(2 * 1.1 / 3.1)  # two of its three uses are not attributes
    for receiver in ("path", "self.path", "self.path[0]"):  # only an attribute can follow these
        assert completer._predict(cursor_in(completer, f"{text}{receiver}.‸")) == (predicted, {})


def window(length, values):
    """A batch of one window; its type ids follow from the position."""
    values = values[None, :length]
    arrays = {field.name: np.zeros((1, length), dtype=np.int64) for field in dataclasses.fields(CompletionBatch)}
    arrays |= {"types": 6 + np.arange(length)[None] % 14, "values": values, "has_value": values > 9}
    return CompletionBatch(**arrays)


def test_a_cached_prefix_gives_the_same_outputs(completer):
    session, rng = completer._reader._session, np.random.default_rng(0)
    reader, values = Reader(session), rng.integers(6, 40, 30)
    for length in (10, 11, 30, 25, 26, 30, 30):  # typed, pasted, deleted, typed again, unchanged
        cached_logits, cached = reader.read(window(length, values))
        fresh_logits, fresh = Reader(session).read(window(length, values))
        np.testing.assert_allclose(cached_logits, fresh_logits, atol=1e-5)
        for name in fresh.keys() - {"type_logits"}:
            np.testing.assert_allclose(cached[name], fresh[name], atol=1e-5, err_msg=name)
        values[length:] = rng.integers(6, 40, 30 - length)


def test_only_new_nodes_are_computed(completion_run):
    completer = Completer.load("python", completion_run)
    completer._reader._session = session = Mock(wraps=completer._reader._session)
    text = "def f(argument):\n    value = argument\n    return "
    complete(completer, f"{text}‸")
    complete(completer, f"{text}value + ‸")
    lengths = [inputs["types"].shape[1] for (inputs, _), _ in session.run.call_args_list]
    assert lengths[0] > 5
    assert max(lengths[1:]) <= 4


def test_wrong_positions_and_models_are_errors(completer, python_run):
    with pytest.raises(UsageError, match="no line 99"):
        completer.complete(TEXT, 99, 1)
    with pytest.raises(ParseError, match="string"):
        completer.complete('x = "abc', 1, 7)
    with pytest.raises(RunError, match="is a run of misuse; expected one of completion"):
        Completer.load("python", python_run)
    with pytest.raises(UsageError, match="is a model for python, not for javascript"):
        Completer.load("javascript", completer.folder.path)


def test_the_command_prints_suggestions(completion_run, tmp_path, capsys):
    path = tmp_path / "loader.py"
    arguments = ["complete", str(path), "--line", "1", "--model", str(completion_run), "--column"]
    path.write_text("zebra_file = 1; zeb")
    assert main([*arguments, "20"]) == 0
    assert capsys.readouterr().out.startswith("zebra_file ")
    path.write_text("import zoo.ze")
    assert main([*arguments, "14"]) == 0
    assert capsys.readouterr() == ("", "rarename complete: no name starts with 'zoo.ze'\n")


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("complete nowhere.py --line 1 --column 1", "nowhere.py: No such file"),
        ("complete - --line 1 --column 1", "add --language"),
        ("check . --model {run}", "is a run of completion; expected one of misuse"),
    ],
)
def test_errors_of_the_commands(completion_run, command, message, capsys):
    assert main(command.format(run=completion_run).split()) == 2
    assert message in capsys.readouterr().err
