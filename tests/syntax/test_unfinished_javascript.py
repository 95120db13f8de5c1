"""Unfinished JavaScript: what is left open above the cursor, which names can be meant, and where none can stand."""

import time

import pytest

from rarename.errors import ParseError
from rarename.syntax import JAVASCRIPT, Role
from rarename.syntax.unfinished import Cursor, at_cursor

MARK = "‸"


def look(text: str) -> Cursor:
    """What is known at the mark in a text."""
    before, after = text.split(MARK)
    return at_cursor(before + after, JAVASCRIPT, before.count("\n") + 1, len(before) - before.rfind("\n"))


def nodes(cursor: Cursor) -> str:
    """All nodes before the cursor, without the program, and the type at it: `Type:value Type > NextType`."""
    pairs = list(zip(cursor.traversal.types, cursor.traversal.values, strict=True))[1:]
    return " ".join(t if v is None else f"{t}:{v}" for t, v in pairs) + f" > {cursor.next_type}"


# -- what is left open above the cursor -------------------------------------------------------------------------------

DECLARED = "VariableDeclaration VariableDeclarator:a"
BELOW = "VariableDeclaration VariableDeclarator:b LiteralNumber:2 ExpressionStatement CallExpression Identifier:f"


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("const a = g(1", f"{DECLARED} CallExpression Identifier:g LiteralNumber:1"),
        ("const a = g(1, // why", f"{DECLARED} CallExpression Identifier:g LiteralNumber:1"),
        ("const a = g(x +", f"{DECLARED} CallExpression Identifier:g Identifier:x"),
        ("const a = [1", f"{DECLARED} ArrayExpression LiteralNumber:1"),
        ("const a = {x: 1", f"{DECLARED} ObjectExpression Property:x LiteralNumber:1"),
        ("const a = {x:", f"{DECLARED} ObjectExpression Property:x Identifier:x"),
        ("const a = x.", f"{DECLARED} Identifier:x"),
        ("const a = x?.", f"{DECLARED} Identifier:x"),
        ("const a = x +", f"{DECLARED} Identifier:x"),
        ("const a =", DECLARED),
        ("const a = () =>", f"{DECLARED} ArrowFunctionExpression BlockStatement"),
        ("const a = x ? 1", f"{DECLARED} ConditionalExpression Identifier:x LiteralNumber:1 LiteralNumber:0"),
        ("import a from", "ImportDeclaration ImportDefaultSpecifier Identifier:a LiteralString:"),
        ("if (x &&", "IfStatement Identifier:x BlockStatement"),
        ("g((]", ""),
    ],
)
def test_a_statement_that_stops_short_ends_before_the_next(statement: str, expected: str) -> None:
    assert nodes(look(f"{statement}\nconst b = 2;\nf({MARK}")) == f"{expected} {BELOW} > Identifier".lstrip()


def test_functions_classes_and_control_words_begin_a_statement_too() -> None:
    for begin in ("function b(x) {", "async function b(x) {", "if (x) {", "for (const x of y) {"):
        cursor = look(f"const a = fs.\n{begin}\n  return {MARK}")
        assert {"a", "fs", "x"} <= cursor.in_scope, begin
    assert {"g", "x"} <= look("g(1\nfunction b(x) {\n  return ‸").in_scope
    assert "a" in look("const a = fs.\nclass B {\n  m() { return ‸").in_scope
    assert look("const a = fs.\nfunction ‸").role == Role.FUNCTION
    assert look("const a = fs.\nreturn ‸").role == Role.READ


@pytest.mark.parametrize(
    "header",
    ["function f(x", "function f(x)", "const f = function (x", "const f = (x) =>", "for (const [x", "while (x &&"],
)
def test_a_header_without_its_brace_has_a_body_if_the_next_line_stands_deeper(header: str) -> None:
    assert {"x", "y"} <= look(f"{header}\n  const y = 1;\n  g(‸").in_scope
    assert "y" not in look(f"{header}\n  const y = 1;\n}}\ng(‸").in_scope


def test_a_case_without_its_colon() -> None:
    assert {"x", "y"} <= look("switch (x) {\n  case 1\n    let y = 1; f(‸").in_scope


def test_a_line_that_goes_on_is_left_alone() -> None:
    for text in (
        "p.\n  then(f).\n  catch(‸",
        "x = Symbol.\n  for(‸",
        "if (a)\n  return ‸",
        "x = a ||\n  function own() { return ‸",
        "@a()\nexport class B { m() { return ‸",
        "import 'a'\nimport b from 'c'\nf(‸",
    ):
        before = text.removesuffix(MARK)
        closed = before + "cursor_" + {"(": ")", " ": "}" * before.count("{")}[before[-1]]
        tree = JAVASCRIPT.parse(closed, False)
        cursor = look(text)
        assert list(cursor.traversal.types) == list(tree.types[: len(cursor.traversal)]), text
        assert tree.values[len(cursor.traversal)] == "cursor_", text


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("class A {\n  m(x {\n    return ‸\n  }\n}", "A x"),
        ("x = {\n  m(y {\n    return ‸\n  }\n}", "y"),
        ("function f(x {\n  return ‸", "f x"),
        ("g(function (x {\n  return ‸", "g x"),
        ("for (let i = 0; i < 3; i++ {\n  f(‸)\n}", "f i"),
        ("for await (const x of y {\n  f(‸)\n}", "f x y"),
        ("try {} catch (e {\n  f(‸", "e f"),
        ("if (g(x {\n  y();\n}\nfunction f(value) {\n  return ‸\n}", "f g value x y"),
    ],
)
def test_a_bracket_that_is_missing_before_a_block(text: str, names: str) -> None:
    cursor = look(text)
    assert cursor.role == Role.READ
    assert set(names.split()) <= cursor.in_scope


def test_braces_in_brackets_that_lack_nothing() -> None:
    assert look("for (const {a} of b) f(‸").in_scope >= {"a", "b", "f"}
    assert look("if (f(class { m() { return ‸").next_type == "Identifier"
    assert nodes(look("g(a, {b: ‸")).endswith("Identifier:a ObjectExpression Property:b > Identifier")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("const f = (a, ...‸)", "Identifier:a RestElement > Identifier"),
        ("g((a, ...‸", "Identifier:a RestElement > Identifier"),
        ("const f = async (a, ...‸", "Identifier:a RestElement > Identifier"),
        ("class A { #f = (a, ...‸", "Identifier:a RestElement > Identifier"),
        (
            "const f = ({ a = 1, ‸ })",
            "ObjectPattern Property:a AssignmentPattern Identifier:a LiteralNumber:1 > Property",
        ),
        ("g(({ a: { b = 1, ‸", "ObjectPattern Property:b AssignmentPattern Identifier:b LiteralNumber:1 > Property"),
    ],
)
def test_parameters_of_an_arrow_function_without_its_arrow(text: str, expected: str) -> None:
    cursor = look(text)
    assert "ArrowFunctionExpression" in cursor.traversal.types
    assert nodes(cursor).endswith(f" {expected}")


def test_patterns_that_are_no_parameters_of_an_arrow_function() -> None:
    assert nodes(look("({ a = 1, ‸")).startswith("ExpressionStatement AssignmentExpression ObjectPattern")
    assert nodes(look("function f({ a = 1, ‸")).startswith("FunctionDeclaration Identifier:f ObjectPattern")
    assert "ArrowFunctionExpression" not in look("g(a, ...‸").traversal.types


# -- names that can be meant ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "visible", "hidden"),
    [
        ("class A {}\nclass B extends ‸", "A", "B"),
        ("x = class B extends f(‸) {}", "f", "B"),
        ("class B { [‸]() {} }", "", "B"),
        ("class B { [‸] = 1; }", "", "B"),
        ("class B { [x] = ‸; }", "B", ""),
        ("class B { static { ‸ } }", "B", ""),
        ("class B extends f(() => ‸) {}", "B", ""),
        ("function f(a, b = ‸, c) {}", "a f", "b c"),
        ("function f(a, { b, c = ‸ }, d) {}", "a b", "c d"),
        ("function f([a, b] = ‸) {}", "", "a b"),
        ("function f(a, b = () => ‸, c) {}", "a b c", ""),
        ("function f(a, b = 1) { return ‸ }", "a b", ""),
        ("const { a, b = ‸ } = x", "a x", "b"),
        ("const { a } = ‸", "", "a"),
        ("export { ‸ }; const late = 1", "late", ""),
        ("export { ‸\nconst late = 1", "late", ""),
        ("f(‸); const late = 1", "", "late"),
        ("switch (x) { case 1: let t; break; case 2: t = 2; f(‸) }", "t", ""),
        ("switch (x) { case 1: { let t } case 2: f(‸) }", "", "t"),
        ("const a = {};\ndelete ‸", "a", ""),
    ],
)
def test_scope(text: str, visible: str, hidden: str) -> None:
    cursor = look(text)
    assert cursor.is_scope_known
    assert set(visible.split()) <= cursor.in_scope
    assert not set(hidden.split()) & cursor.in_scope


def test_private_names_are_reserved_behind_a_dot_only() -> None:
    assert "total" not in look("class A { #total = 0; get to‸() { return this.#total } }").reserved
    assert "total" not in look("class A { #total = 0 }\nx = { to‸: 1 }").reserved
    assert "total" in look("class A { #total = 0; m() { this.to‸ } }").reserved


def test_private_names_are_those_of_the_class() -> None:
    assert look("class A { #a }\nclass B { #b; m() { this.#‸ } }").in_scope == {"b"}


def test_a_private_name_that_is_used_is_expected_where_one_is_declared() -> None:
    for text in (
        "class A { #size; add() { this.#total += this.#size } #to‸ }",
        "class A { add() { this.#total++ }\n  #‸",
    ):
        cursor = look(text)
        assert (cursor.expected, cursor.reserved, cursor.is_scope_known) == ({"total"}, frozenset(), False)
    assert not look("class A { add() { this.#total++ } to‸ }").expected


# -- places without a name --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["s.replace(/[a-z‸", "s.replace(/[a-z‸]/g, '')", "x = /[\\‸x00", "x = /\\‸d/"])
def test_no_name_in_a_class_of_a_regular_expression(text: str) -> None:
    with pytest.raises(ParseError, match=r"the cursor stands in a regular expression$"):
        look(text)


@pytest.mark.parametrize(
    "text",
    [
        "x = /abc/‸g",
        "x = /abc/g‸",
        "const x = y ‸",
        "const x = y /* why */ ‸",
        "const x = y.of ‸",
        "const x = f() ‸",
        "const x = {} ‸",
        "const x = function () {} ‸",
        "f(this ‸",
        "i++ ‸",
        "for (const row o‸",
        "import { a ‸",
        "import { a } from ‸",
        "import fs fr‸",
        "x = { a ‸",
        "class A { x = y ‸",
        "x = `${y ‸}`",
    ],
)
def test_no_name_behind_an_operand(text: str) -> None:
    with pytest.raises(ParseError, match=r"an operator or a separator must come first$"):
        look(text)


@pytest.mark.parametrize(
    "text",
    [
        "async ‸",
        "async function ‸",
        "x = async ‸ => 1",
        "x = { get ‸",
        "x = { async ‸",
        "class A { static ‸",
        "class A { set ‸",
        "class A { x ‸",
        "import * as ‸",
        "import a, { b as ‸",
        "for (const a of ‸",
        "for await (const a of b) ‸",
        "a: ‸",
        "if (a) {} ‸",
        "function f() {} ‸",
        "x = y\n‸",
        "x = y // why\n‸",
        "x = y\n/* why */ ‸",
        "f(a\n  ‸",
        "x = <a b ‸",
        'x = <a b="c" ‸',
        "x = <a b={c} ‸",
        "x = `a ${‸",
        "x = a / ‸",
    ],
)
def test_names_behind_words_and_at_a_new_line(text: str) -> None:
    assert look(text).role in (Role.READ, Role.WRITE, Role.PARAMETER, Role.FUNCTION, Role.ATTRIBUTE)


@pytest.mark.parametrize(
    "text",
    [
        "f(1\nconst b = 2\n" * 3_000,
        "x = fs.\nconst y = 3\n" * 3_000,
        "x = {a: [\n" * 2_000 + "const b = ",
        "if (x {\n" * 2_000,
        "({a = 1, " * 1_000,
        "f((" * 3_000 + "a, {",
    ],
    ids=lambda text: text[:12],
)
def test_hostile_text_ends_in_time(text: str) -> None:
    start = time.process_time()
    look(text + MARK)
    assert time.process_time() - start < 10
