"""Completion at a cursor: the user's own names, in scope first, and no node read twice."""

import dataclasses
import json
from dataclasses import replace

import numpy as np
import pytest

from rarename.assist.complete import BUILTIN_FALLBACK_PROBABILITY, FALLBACK_PROBABILITY, Completer, Reader
from rarename.cli.main import main
from rarename.errors import ParseError, RunError, UsageError
from rarename.tasks.completion.collate import CompletionBatch

TEXT = """import os

def load_everything(first_folder, second_folder):
    for zebra_file in os.listdir(first_folder):
        print(zebra_file)
    return zeb
"""


@pytest.fixture(scope="module")
def completer(completion_run):
    return Completer.load("python", completion_run)


def names(suggestions):
    return [each.name for each in suggestions]


def test_rare_names_of_the_text_are_suggested_by_their_own_name(completer):
    assert names(completer.complete(TEXT, 6, 15)) == ["zebra_file"]
    everything = names(completer.complete(TEXT, 6, 12, top_k=10_000))
    assert {"zebra_file", "first_folder", "second_folder", "os", "load_everything"} <= set(everything)
    assert not any(name.startswith("VAR") or name in ("UNK", "EMPTY", "PAD") for name in everything)


def test_what_the_model_can_tell_has_its_probability(completer):
    told = completer.probabilities(cursor_of(completer, TEXT, 6, 12))
    assert told["zebra_file"] != FALLBACK_PROBABILITY
    assert 0 < sum(told.values()) <= 1 + 1e-5


def test_what_may_stand_around_a_name_is_asked_for_where_nothing_follows(completer):
    def ways(text, rest=""):
        line = text.split("\n")[-1]
        cursor = cursor_of(completer, text + rest, text.count("\n") + 1, len(line) + 1)
        begin, found = completer._continuations(cursor)
        return cursor.traversal.types[begin:], [way.types for way in found]

    nodes, found = ways("def f(reader):\n    x = rea")
    assert nodes == []
    assert found[0] == ["NameLoad"]
    assert ["Call", "NameLoad"] in found
    assert ways("def f(reader):\n    x = rea", ".read()")[1] == [["NameLoad"]]
    assert ways("def f(reader):\n    x = rea", "(1)")[1] == [["NameLoad"]]
    assert ways("def f(rea")[1] == [["NameParam"]]  # a parameter is no expression
    # A name alone is mended to a call, which is one of the ways, and not there twice.
    nodes, found = ways("def f(reader):\n    rea")
    assert nodes == ["Expr", "Call"]
    assert found.count(["Expr", "Call", "NameLoad"]) == 1
    assert not any("Assign" in way for way in found)
    # An attribute may turn out to be assigned to.
    nodes, found = ways("def f(self):\n    self.")
    assert nodes == ["Expr", "Call", "AttributeLoad", "NameLoad"]
    assert ["Expr", "Call", "AttributeLoad", "NameLoad", "attr"] in found
    assert ["Assign", "AttributeStore", "NameLoad", "attr"] in found
    assert not any("Assign" in way for way in ways("def f(self):\n    x = self.")[1])


def cursor_of(completer, text, line, column):
    from rarename.syntax.cursor import at_cursor

    return at_cursor(text, completer.language, line, column)


def test_names_in_scope_come_first(completer):
    suggestions = completer.complete(TEXT, 6, 12, top_k=10_000)
    claims = [each.is_in_scope for each in suggestions]
    assert claims == sorted(claims, reverse=True)
    assert True in claims
    assert False in claims  # names of the vocabulary that this text does not have
    for group in (True, False):
        probabilities = [each.probability for each in suggestions if each.is_in_scope is group]
        assert probabilities == sorted(probabilities, reverse=True)


def test_builtins_that_the_model_cannot_tell_come_behind_names_of_the_text(completer):
    far = "def far_away(argument):\n" + "    argument = argument + 1\n" * 300 + "    return "
    found = {each.name: each for each in completer.complete(far, 302, 12, top_k=10_000)}
    assert found["far_away"].probability == FALLBACK_PROBABILITY
    assert found["BaseExceptionGroup"].probability == BUILTIN_FALLBACK_PROBABILITY
    assert found["far_away"].is_in_scope
    assert found["BaseExceptionGroup"].is_in_scope


def test_names_that_are_read_but_bound_nowhere_can_be_in_scope(completer):
    text = "def f():\n    local_zebra = 1\n    return zebra_from_elsewhere(local_zebra)\nx = "
    found = {each.name: each.is_in_scope for each in completer.complete(text, 4, 5, top_k=10_000)}
    assert found["zebra_from_elsewhere"]
    assert not found["local_zebra"]


def test_with_a_star_any_name_can_be_in_scope(completer):
    text = "from zoo import *\ndef f():\n    zebra_file = 1\nx = "
    assert all(each.is_in_scope for each in completer.complete(text, 4, 5, top_k=10_000))


def test_words_of_the_language_are_left_out(completer):
    cursor = cursor_of(completer, TEXT, 6, 12)
    assert "os" in names(completer.complete_at(cursor, top_k=10_000))
    assert "os" not in names(completer.complete_at(replace(cursor, keywords=frozenset({"os"})), top_k=10_000))


def test_an_argument_may_be_passed_by_its_name(completer):
    text = "def load(first_folder, second_folder, other):\n    return second_folder\nx = load(other, "
    cursor = cursor_of(completer, text, 3, 17)
    assert ["keyword"] in [way.types for way in completer._continuations(cursor)[1]]
    found = {each.name: each for each in completer.complete_at(cursor, top_k=10_000)}
    assert found["second_folder"].is_in_scope  # not as a variable
    assert 0 < found["second_folder"].probability < completer.probabilities(cursor)["second_folder"]
    # What is assigned to such an argument is a variable.
    (suggestion,) = completer.complete(text + "other=second", 3, 29)
    assert (suggestion.name, suggestion.is_in_scope) == ("second_folder", False)


def test_which_suggestions_name_an_argument(completer):
    text = "def travel(zebra_file, speed_limit): pass\n" + "x = 1\n" * 300 + "own_value = 2\ntravel(1, {})"
    line = text.count("\n") + 1
    found = {each.name: each for each in completer.complete(text.format(""), line, 11, top_k=10_000)}
    assert found["speed_limit"].is_argument  # though the window does not show the function
    assert not found["own_value"].is_argument
    found = completer.complete(text.format("speed_limit=3, "), line, 26, top_k=10_000)
    assert all(each.is_argument for each in found)
    assert {"zebra_file"} <= set(names(found))
    told = completer.probabilities(cursor_of(completer, text.format("speed_limit=3, "), line, 26))
    assert 0 < sum(told.values()) <= 1 + 1e-5


def test_arguments_of_a_class_are_told(completer):
    found = completer.complete("class A(B, meta=1): pass", 1, 12)
    assert len(found) == 10
    assert all(each.is_argument for each in found)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("self.far_attribute = 1\n{}self.far_‸", "far_attribute"),
        ("far_total = 1\n{}far_‸ += 1", "far_total"),
        ("far_total = 1\n{}def f():\n    global far_‸", "far_total"),
        ("f(far_option=1)\n{}g(a=1, far_‸", "far_option"),
    ],
)
def test_names_outside_of_the_window_are_suggested_in_every_role(completer, text, name):
    before = text.format("x = 1\n" * 300).split("‸")[0]
    line, column = before.count("\n") + 1, len(before.split("\n")[-1]) + 1
    assert names(completer.complete(before, line, column)) == [name]


def test_a_variable_of_a_comprehension_is_likely_in_its_element(completer):
    found = completer.complete("print([ for zebra in open(path)])", 1, 8)
    assert found[0].name == "zebra"  # as likely as the likeliest name, and before it


def test_a_module_is_completed_behind_its_package(completer):
    text = "import zoo.lion.cub\nimport zoo.zebra\nimport zoo"
    assert set(names(completer.complete(text + ".", 3, 12))) == {"lion", "zebra"}
    assert names(completer.complete(text + ".ze", 3, 14)) == ["zebra"]
    assert names(completer.complete(text, 3, 11)) == ["zoo"]
    assert not any("." in name for name in names(completer.complete(text + "\nx = ", 4, 5, top_k=10_000)))


def test_a_relative_module_is_one_that_the_text_has(completer):
    text = "import os\nfrom .lion import cub\nfrom . import zebra\nfrom ."
    assert set(names(completer.complete(text, 4, 7))) == {"lion", "zebra"}
    assert completer.complete("import os\nfrom .", 2, 7) == []


def test_behind_a_dot_scope_says_nothing(completer):
    text = "def f(reader):\n    return reader."
    suggestions = completer.complete(text, 2, len("    return reader.") + 1)
    assert len(suggestions) == 10
    assert all(each.is_in_scope for each in suggestions)


def test_behind_a_call_variables_of_the_text_are_hardly_attributes(completer, monkeypatch):
    text = "def f(self, path, own_name):\n    self.path.own_attribute()\n    return "
    told = {"own_name": 0.4, "path": 0.2, "own_attribute": 0.1, "strip": 0.1}
    monkeypatch.setattr(completer, "_sum", lambda shares: told if shares else {})
    behind_call = cursor_of(completer, f"{text}open(path).", 3, 23)
    found = completer.probabilities(behind_call)
    # A path is a variable, and an attribute too; own_name is a variable alone; strip is not in the text.
    assert sorted(found, key=found.__getitem__) == ["own_name", "path", "own_attribute", "strip"]
    assert found["own_attribute"] == pytest.approx(found["strip"])
    assert sum(found.values()) == pytest.approx(0.8)
    assert found["path"] / found["strip"] == pytest.approx(2 * 1.1 / 3.1)  # two of its three uses are not attributes
    for receiver in ("path", "self.path", "self.path[0]"):  # what follows these can be nothing but an attribute
        end = f"    return {receiver}."
        assert completer.probabilities(cursor_of(completer, f"{text}{receiver}.", 3, len(end) + 1)) == told


def test_capitals_matter_unless_nothing_else_fits(completer):
    assert names(completer.complete(TEXT.replace("return zeb", "return ZEB"), 6, 15)) == ["zebra_file"]


def test_more_nodes_than_a_window(completer):
    text = "def f(argument):\n" + "    argument = argument + 1\n" * 300 + "    return arg"
    assert names(completer.complete(text, 302, 15))[0] == "argument"


def test_a_long_expression_leaves_room_for_what_stands_before_it(completer):
    text = "def f(reader):\n    reader" + ".read(1)" * 200 + "."
    cursor = cursor_of(completer, text, 2, len(text.split("\n")[1]) + 1)
    begin, ways = completer._continuations(cursor)
    assert (begin, len(ways)) == (len(cursor.traversal), 1)
    assert completer.complete_at(cursor)


def test_a_node_type_that_the_model_has_never_seen(completer):
    text = "def f(reader):\n    (await reader)."
    cursor = cursor_of(completer, text, 2, len("    (await reader).") + 1)
    assert any(kind not in completer.encoding.types for kind in cursor.traversal.types)
    assert len(completer._continuations(cursor)[1]) == 1
    assert completer.complete_at(cursor)


def window(length, values):
    """A batch of one window; its type ids follow from the position."""
    types = 6 + np.arange(length)[None] % 14
    fields = {entry.name: np.zeros((1, length), dtype=np.int64) for entry in dataclasses.fields(CompletionBatch)}
    return CompletionBatch(
        **fields | {"types": types, "values": values[None, :length], "has_value": values[None, :length] > 9}
    )


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
    lengths, session = [], completer._reader._session

    class Counting:
        def run(self, inputs, cache=None):
            lengths.append(inputs["types"].shape[1])
            return session.run(inputs, cache)

    completer._reader._session = Counting()
    text = "def f(argument):\n    value = argument\n    return "
    completer.complete(text, 3, 12)
    completer.complete(text + "value + ", 3, 20)
    assert lengths[0] > 5
    assert max(lengths[1:]) <= 4


def test_places_without_a_name_and_wrong_models(completer, python_run):
    with pytest.raises(UsageError, match="no line 99"):
        completer.complete(TEXT, 99, 1)
    with pytest.raises(ParseError, match="string"):
        completer.complete('x = "abc', 1, 7)
    with pytest.raises(RunError, match="is a run of misuse; expected one of completion"):
        Completer.load("python", python_run)
    with pytest.raises(UsageError, match="is a model for python, not for javascript"):
        Completer.load("javascript", completer.folder.path)


def test_the_command(completion_run, tmp_path, capsys):
    path = tmp_path / "loader.py"
    path.write_text(TEXT)
    place = [str(path), "--line", "6", "--column", "15", "--model", str(completion_run)]
    assert main(["complete", *place]) == 0
    assert capsys.readouterr().out.startswith("zebra_file ")
    assert main(["complete", *place, "--output-format", "json"]) == 0
    content = json.loads(capsys.readouterr().out)
    assert content["word"] == "zeb"
    assert [each["name"] for each in content["suggestions"]] == ["zebra_file"]
    assert content["suggestions"][0]["in_scope"]


def test_the_command_says_that_no_name_fits(completion_run, tmp_path, capsys):
    path = tmp_path / "loader.py"
    path.write_text("import zoo.ze")
    assert main(["complete", str(path), "--line", "1", "--column", "14", "--model", str(completion_run)]) == 0
    assert capsys.readouterr() == ("", "rarename complete: no name starts with 'zoo.ze'\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere.py", "--line", "1", "--column", "1"], "nowhere.py: No such file"),
        (["-", "--line", "1", "--column", "1"], "add --language"),
    ],
)
def test_what_the_command_cannot_do(arguments, message, capsys):
    assert main(["complete", *arguments]) == 2
    assert message in capsys.readouterr().err


def test_misuse_models_do_not_take_completion_runs(completion_run, capsys, tmp_path):
    (tmp_path / "x.py").write_text(TEXT)
    assert main(["check", str(tmp_path), "--model", str(completion_run)]) == 2
    assert "is a run of completion; expected one of misuse" in capsys.readouterr().err
