"""The scope of a node: one rule for bug sampling and name resolution."""

import numpy as np
import pytest

from rarename.syntax import JAVASCRIPT, PYTHON, Language, parse
from rarename.syntax.scope import ScopeRules, scopes_of


def scope_types(text: str, language: Language, is_hoisted: bool = False) -> dict[str, str]:
    """For each name in a text the type of the node that opens its scope."""
    tree = parse(text, language)
    scopes = scopes_of(tree, language, [is_hoisted] * len(tree))
    return {value: tree.types[scopes[node]] for node, value in enumerate(tree.values) if value}


@pytest.mark.parametrize(
    ("language", "text", "expected"),
    [
        (PYTHON, "a", {"a": "Module"}),
        (PYTHON, "def f(p, *q): v", {"f": "Module", "p": "FunctionDef", "q": "FunctionDef", "v": "FunctionDef"}),
        (PYTHON, "def f(p=a, *, q=b): pass", {"a": "Module", "b": "Module", "q": "FunctionDef"}),
        (PYTHON, "@d\ndef f() -> r: pass", {"d": "Module", "r": "Module"}),
        (PYTHON, "def f(p: a, *q: b, r: c, **s: d): pass", dict.fromkeys("abcd", "Module") | {"p": "FunctionDef"}),
        (PYTHON, "def f():\n  x: a\n  y: b = 1", {"a": "FunctionDef", "b": "FunctionDef", "y": "FunctionDef"}),
        (PYTHON, "@d\nclass C(b): v", {"d": "Module", "b": "Module", "v": "ClassDef"}),
        (PYTHON, "[e for x in a if c for y in b]", {"a": "Module"} | dict.fromkeys("excyb", "ListComp")),
        (PYTHON, "lambda p=a: v", {"p": "Lambda", "a": "Module", "v": "Lambda"}),
        (JAVASCRIPT, "{ a } b", {"a": "BlockStatement", "b": "Program"}),
        (JAVASCRIPT, "for (let x of a) b", {"x": "ForOfStatement", "a": "Program", "b": "ForOfStatement"}),
        (JAVASCRIPT, "for (let i = a;;) b", dict.fromkeys("iab", "ForStatement")),
        (JAVASCRIPT, "class A { m() { v } }", {"A": "Program", "m": "ClassBody", "v": "BlockStatement"}),
    ],
)
def test_scope_of_each_name(language: Language, text: str, expected: dict[str, str]) -> None:
    assert expected.items() <= scope_types(text, language).items()


def test_a_hoisted_name_belongs_to_the_function_around_all_blocks() -> None:
    text = "function f() { for (;;) { a } } { b }"
    assert scope_types(text, JAVASCRIPT)["a"] == "BlockStatement"
    hoisted = scope_types(text, JAVASCRIPT, is_hoisted=True)
    assert (hoisted["a"], hoisted["b"]) == ("FunctionDeclaration", "Program")


def test_functions_do_not_see_the_names_of_the_classes_around_them() -> None:
    tree = parse("class A:\n  class B:\n    def f(): v", PYTHON)
    ids = np.arange(len(tree), dtype=np.int32)
    rules, parents = ScopeRules.of(tree.types, PYTHON), np.array(tree.parents, dtype=np.int32)
    outer, inner, function = (list(tree.values).index(name) for name in ("A", "B", "f"))
    assert rules.scopes(ids, parents)[[inner, function]].tolist() == [outer, inner]
    assert rules.lookup_scopes(ids, parents)[[inner, function]].tolist() == [-1, -1]
    assert rules.lookup_scopes(ids, parents)[list(tree.values).index("v")] == function
