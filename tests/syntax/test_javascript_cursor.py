"""Unfinished JavaScript: the nodes before the cursor, what is left open above it, the names in scope, and errors."""

import time
from typing import NamedTuple

import pytest

from rarename.errors import ParseError
from rarename.syntax import JAVASCRIPT, Role
from rarename.syntax.cursor import Cursor, at_cursor

MARK = "‸"


def at_mark(text: str) -> Cursor:
    """The cursor at the mark in a text."""
    before, after = text.split(MARK)
    return at_cursor(before + after, JAVASCRIPT, before.count("\n") + 1, len(before) - before.rfind("\n"))


def nodes(cursor: Cursor) -> str:
    """All nodes before the cursor except the root, and the type at it: `Type:value Type > NextType`."""
    pairs = list(zip(cursor.traversal.types, cursor.traversal.values, strict=True))[1:]
    return " ".join(t if v is None else f"{t}:{v}" for t, v in pairs) + f" > {cursor.next_type}"


# Text → the last nodes and the type at the cursor. A bare name is taken for a call: alone it would do nothing.
CASES = {
    "‸": "Program ExpressionStatement CallExpression > Identifier",
    "a.b‸": "ExpressionStatement CallExpression MemberExpression Identifier:a > Property",
    "x = a?.‸": "ChainExpression MemberExpression Identifier:a > Property",
    "x = ‸": "AssignmentExpression Identifier:x > Identifier",
    "var x = ‸": "VariableDeclaration VariableDeclarator:x > Identifier",
    "let ‸": "Program VariableDeclaration > VariableDeclarator",
    "const {a, ‸": "ObjectPattern Property:a Identifier:a > Property",
    "const {a: ‸": "ObjectPattern Property:a > Identifier",
    "const [a, ‸": "ArrayPattern Identifier:a > Identifier",
    "({a, b = ‸": "Property:a Identifier:a Property:b AssignmentPattern Identifier:b > Identifier",
    "if (‸": "Program IfStatement > Identifier",
    "if (a) {\n} else if (‸": "Identifier:a BlockStatement IfStatement > Identifier",
    "if (a) b;else (0, c.‸": "SequenceExpression LiteralNumber:0 MemberExpression Identifier:c > Property",
    "for (‸": "Program ForStatement > Identifier",
    "for (const ‸": "ForOfStatement VariableDeclaration > VariableDeclarator",
    "for (const x of ‸": "VariableDeclaration VariableDeclarator:x > Identifier",
    "for (var i = 0; ‸": "VariableDeclarator:i LiteralNumber:0 > Identifier",
    "for (var i = 0; i < n; ‸": "BinaryExpression:< Identifier:i Identifier:n > Identifier",
    "for await (const x of ‸": "ForOfStatement VariableDeclaration VariableDeclarator:x > Identifier",
    "while (‸": "Program WhileStatement > Identifier",
    "do { x = ‸": "DoWhileStatement BlockStatement ExpressionStatement AssignmentExpression Identifier:x > Identifier",
    "do { x } while (‸": "ExpressionStatement Identifier:x > Identifier",
    "switch (‸": "Program SwitchStatement > Identifier",
    "switch (x) { case ‸": "SwitchStatement Identifier:x SwitchCase > Identifier",
    "switch (x) { case 1: return ‸": "LiteralNumber:1 BlockStatement ReturnStatement > Identifier",
    "try { return ‸": "TryStatement BlockStatement ReturnStatement > Identifier",
    "try { } catch (‸": "TryStatement BlockStatement CatchClause > Identifier",
    "try { } catch (e) { throw ‸": "CatchClause Identifier:e BlockStatement ThrowStatement > Identifier",
    "p.then(f)\n  .catch(‸": "Identifier:f Property:catch > Identifier",
    "function ‸": "Program FunctionDeclaration > Identifier",
    "function f(a, b = ‸": "Identifier:a AssignmentPattern Identifier:b > Identifier",
    "function f({a, ‸": "ObjectPattern Property:a Identifier:a > Property",
    "x = a => ‸": "ArrowFunctionExpression Identifier:a > Identifier",
    "f(async () => { await ‸": "BlockStatement ExpressionStatement AwaitExpression > Identifier",
    "function* f() { yield ‸": "BlockStatement ExpressionStatement YieldExpression > Identifier",
    "f(function (a) {\n  g(‸": "ExpressionStatement CallExpression Identifier:g > Identifier",
    "(function () { return ‸": "ExpressionStatement CallExpression FunctionExpression BlockStatement ReturnStatement"
    " > Identifier",
    "!function () { return ‸": "UnaryExpression:! CallExpression FunctionExpression BlockStatement ReturnStatement"
    " > Identifier",
    "var A = (function (b) { return ‸": "VariableDeclarator:A CallExpression FunctionExpression Identifier:b"
    " BlockStatement ReturnStatement > Identifier",
    "class ‸": "Program ClassDeclaration > Identifier",
    "class A extends ‸": "ClassDeclaration Identifier:A > Identifier",
    "class A { ‸": "Identifier:A ClassBody > MethodDefinition",
    "class A { get ‸": "Identifier:A ClassBody > MethodDefinition",
    "class A { m(‸": "MethodDefinition:m FunctionExpression > Identifier",
    "class A { m() { return this.‸": "ReturnStatement MemberExpression ThisExpression > Property",
    "class A { x = ‸": "ClassBody PropertyDefinition:x > Identifier",
    "class A { m() { } a b ‸": "MethodDefinition:m FunctionExpression BlockStatement > MethodDefinition",
    "x = this.#‸": "MemberExpression ThisExpression > PrivateIdentifier",
    "import ‸": "ImportDeclaration ImportDefaultSpecifier > Identifier",
    "import { a, ‸": "ImportSpecifier Identifier:a ImportSpecifier > Identifier",
    "import * as ‸": "ImportDeclaration ImportNamespaceSpecifier > Identifier",
    "export default ‸": "Program ExportDefaultDeclaration > Identifier",
    "export { ‸": "ExportNamedDeclaration ExportSpecifier > Identifier",
    "x = new ‸": "Identifier:x NewExpression > Identifier",
    "f(x ? ‸": "Identifier:f ConditionalExpression Identifier:x > Identifier",
    "f(x ? y : ‸": "ConditionalExpression Identifier:x Identifier:y > Identifier",
    "x = { ‸": "Identifier:x ObjectExpression > Property",
    "x = { a: ‸": "ObjectExpression Property:a > Identifier",
    "x = { class: ‸": "ObjectExpression Property:class > Identifier",
    "x = { a, ...‸": "Property:a Identifier:a SpreadElement > Identifier",
    "x = { [‸": "ObjectExpression Property > Identifier",
    "x = { set(a) { return ‸": "Property:set FunctionExpression Identifier:a BlockStatement ReturnStatement"
    " > Identifier",
    "x = `a${‸": "TemplateLiteral TemplateElement:a > Identifier",
    "x = a[‸": "ArrayAccess Identifier:a > Property",
    "x = a / b / ‸": "BinaryExpression:/ BinaryExpression:/ Identifier:a Identifier:b > Identifier",
    "x = /[/`'\"]/.test(‸": "LiteralRegExp:/[/`'\"]/ Property:test > Identifier",
    "x = <A‸": "JSXElement JSXOpeningElement > JSXIdentifier",
    "x = <div a={‸": "JSXAttribute JSXIdentifier:a JSXExpressionContainer > Identifier",
    "x = <div>it's <b>x</b>{a.‸": "JSXExpressionContainer MemberExpression Identifier:a > Property",
    "var a = 1\nvar b = ‸": "LiteralNumber:1 VariableDeclaration VariableDeclarator:b > Identifier",
    "if (a) { b() }\nreturn ‸": "Identifier:b ReturnStatement > Identifier",
    # Errors above the cursor, text after it.
    "var x = a )) b;\nfunction f(a) { return ‸": "Identifier:a BlockStatement ReturnStatement > Identifier",
    "f(1, ;\nfunction g(a) { return a.‸": "ReturnStatement MemberExpression Identifier:a > Property",
    "f(((]\nvar a = 1;\ng(a, ‸": "LiteralNumber:1 ExpressionStatement CallExpression Identifier:g Identifier:a"
    " > Identifier",
    "x = {\n  a: 1,\n\nlet y = 2;\nz = ‸": "LiteralNumber:2 ExpressionStatement AssignmentExpression Identifier:z"
    " > Identifier",
    "x = {\n  if (a) { },\n  return (b) { return ‸": "Identifier:b BlockStatement ReturnStatement > Identifier",
    "for (\n  var i = ‸": "ForStatement VariableDeclaration VariableDeclarator:i > Identifier",
    "x = ‸.b(c);": "AssignmentExpression Identifier:x CallExpression MemberExpression > Identifier",
    "a‸\nb();": "Program ExpressionStatement CallExpression > Identifier",
    "a‸\n  .b();": "Program ExpressionStatement CallExpression MemberExpression > Identifier",
    "f(‸\ng()\nfunction h() {}": "CallExpression Identifier:f > Identifier",
    "x = 'a';\r\ny = ‸\r\nz();": "AssignmentExpression Identifier:y > Identifier",
}


@pytest.mark.parametrize(("text", "expected"), CASES.items())
def test_nodes_before_the_cursor(text: str, expected: str) -> None:
    assert f" Program {nodes(at_mark(text))}".endswith(f" {expected}")


class Scope(NamedTuple):
    text: str
    visible: str
    hidden: str = ""


SCOPES = [
    Scope("import a, {b as c, d} from 'm'; ‸", "a c d console undefined", "b m"),
    Scope("import * as a from 'm'; ‸", "a"),
    Scope("function f(a, {b, c: d = 1}, [e], ...g) { ‸ }", "a b d e g f arguments", "c"),
    Scope("x = (a, b) => ‸;", "a b", "arguments"),
    Scope("var a = ‸;", "", "a"),
    Scope("function f() { ‸; var a; let b; function g() {} }", "a g f", "b"),
    Scope("function f() { return ‸ } let a; class B {}", "a B f"),
    Scope("{ let a; var b; function c() {} } ‸", "b c", "a"),
    Scope("function f(a) { let b; } ‸", "f", "a b"),
    Scope("for (let a of b) { ‸ }", "a"),
    Scope("for (let a of b) { function f() { return ‸ } }", "a"),
    Scope("for (let a of ‸", "", "a"),
    Scope("for (var a of [].map(() => ‸)) {}", "", "a"),
    Scope("for (let a of b) {} ‸", "", "a"),
    Scope("try {} catch (e) { ‸ }", "e"),
    Scope("try {} catch (e) {} ‸", "", "e"),
    Scope("var x = function own() { return ‸ }", "own x"),
    Scope("x = class A { m() { return ‸ } }", "A x", "m"),
    Scope("function f() { x = ‸\n)\n}\nfunction g() {}", "f g", "x"),
    Scope("function f() { x = ‸\n)\n}\nconst a = 1;\nexport class B {}\nif (a) {\n  let c;\n}", "a B", "c x"),
    Scope("x = ‸\n)\nconst a = 1;\nfunction g() {}", "g", "a x"),
    # Names that come from elsewhere, and globals that an assignment makes.
    Scope("describe('a', () => {\n  it('b', (done) => {});\n  ‸", "describe it", "done"),
    Scope("function f(a) { let b = other; b = a; }\n‸", "other f", "a b"),
    Scope("x = 5;\nfunction f() { y = 1; for (z in x) {} }\n‸", "x y z f"),
    Scope("x = ‸;", "", "x"),
    Scope("x = x + ‸;", "x"),
    Scope("var a = function own() { own(); return arguments; };\n‸", "a", "own arguments"),
    Scope("x = ‸;", "null true false undefined", "this"),
    # Parameters, patterns, classes, exports and switches.
    Scope("class A {}\nclass B extends ‸", "A", "B"),
    Scope("x = class B extends f(‸) {}", "f", "B"),
    Scope("class B { [‸]() {} }", "", "B"),
    Scope("class B { [‸] = 1; }", "", "B"),
    Scope("class B { [x] = ‸; }", "B"),
    Scope("class B { static { ‸ } }", "B"),
    Scope("class B extends f(() => ‸) {}", "B"),
    Scope("function f(a, b = ‸, c) {}", "a f", "b c"),
    Scope("function f(a, { b, c = ‸ }, d) {}", "a b", "c d"),
    Scope("function f([a, b] = ‸) {}", "", "a b"),
    Scope("function f(a, b = () => ‸, c) {}", "a b c"),
    Scope("function f(a, b = 1) { return ‸ }", "a b"),
    Scope("const { a, b = ‸ } = x", "a x", "b"),
    Scope("const { a } = ‸", "", "a"),
    Scope("export { ‸ }; const late = 1", "late"),
    Scope("export { ‸\nconst late = 1", "late"),
    Scope("f(‸); const late = 1", "", "late"),
    Scope("switch (x) { case 1: let t; break; case 2: t = 2; f(‸) }", "t"),
    Scope("switch (x) { case 1: { let t } case 2: f(‸) }", "", "t"),
    Scope("const a = {};\ndelete ‸", "a"),
    # Names of code that is left out.
    Scope("let a = [...$b] c;\nlet d = e.f 'g' `h` i; // j\nk = ‸", "a $b c d e i", "f g h j k let"),
]


@pytest.mark.parametrize(("text", "visible", "hidden"), SCOPES)
def test_scope(text: str, visible: str, hidden: str) -> None:
    cursor = at_mark(text)
    assert cursor.is_scope_known
    assert set(visible.split()) <= cursor.in_scope
    assert not set(hidden.split()) & cursor.in_scope


def test_the_key_of_an_object_may_be_a_variable() -> None:
    cursor = at_mark("function load() {}\nmodule.exports = { lo‸ }")
    assert cursor.role == Role.ATTRIBUTE
    assert "load" in cursor.in_scope
    assert not cursor.is_scope_known
    assert not at_mark("function load() {}\nmodule.exports = { lo‸: 1 }").in_scope
    assert not at_mark("function load() {}\nconst { lo‸ } = a").in_scope


def test_a_closing_tag_has_the_name_of_its_opening_tag() -> None:
    for text in ("x = <div><p></‸", "x = <p>a</‸>", "x = <p>a</p‸>"):
        cursor = at_mark(text)
        assert (cursor.in_scope, cursor.is_scope_known) == ({"p"}, True)
    assert at_mark("x = <Row>a</R‸").in_scope == {"Row"}
    assert not at_mark("x = <a.b></a.‸>").in_scope
    cursor = at_mark("import Row, { load } from 'a'; x = <‸")
    assert (cursor.in_scope, cursor.is_scope_known) == ({"Row"}, False)


def test_private_names_are_only_visible_after_a_hash() -> None:
    text = "class A { #count = 1; size = 2; f() { this.‸ } }"
    public, private = at_mark(text), at_mark(text.replace("this.", "this.#"))
    assert "count" in public.keywords
    assert "size" not in public.keywords
    assert (private.in_scope, private.is_scope_known) == ({"count"}, True)
    assert "count" not in private.keywords


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("'abc ‸", "a string"),
        ("`abc ‸", "a template"),
        ("x = /abc ‸", "a regular expression"),
        ("/* abc ‸", "a comment"),
        ("// abc ‸", "a comment"),
        ("1‸", "a number"),
        ("<div>abc ‸", "the text of an element"),
        ("<div a='‸", "a string"),
    ],
)
def test_no_name_in_literals_and_comments(text: str, where: str) -> None:
    with pytest.raises(ParseError, match=f"^line 1: no name to complete: the cursor is in {where}$"):
        at_mark(text)


def test_names_that_the_tree_does_not_hold() -> None:
    for text in ("x = function ‸", "a: for (;;) break ‸"):
        with pytest.raises(ParseError, match="the tree does not keep the name at the cursor"):
            at_mark(text)


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
def test_an_unfinished_statement_ends_before_the_next(statement: str, expected: str) -> None:
    assert nodes(at_mark(f"{statement}\nconst b = 2;\nf({MARK}")) == f"{expected} {BELOW} > Identifier".lstrip()


def test_functions_classes_and_control_words_begin_a_statement_too() -> None:
    for begin in ("function b(x) {", "async function b(x) {", "if (x) {", "for (const x of y) {"):
        cursor = at_mark(f"const a = fs.\n{begin}\n  return {MARK}")
        assert {"a", "fs", "x"} <= cursor.in_scope, begin
    assert {"g", "x"} <= at_mark("g(1\nfunction b(x) {\n  return ‸").in_scope
    assert "a" in at_mark("const a = fs.\nclass B {\n  m() { return ‸").in_scope
    assert at_mark("const a = fs.\nfunction ‸").role == Role.FUNCTION
    assert at_mark("const a = fs.\nreturn ‸").role == Role.READ


def test_a_case_without_its_colon() -> None:
    assert {"x", "y"} <= at_mark("switch (x) {\n  case 1\n    let y = 1; f(‸").in_scope


def test_a_statement_that_continues_on_the_next_line_is_kept() -> None:
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
        cursor = at_mark(text)
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
def test_a_parenthesis_that_is_missing_before_a_block(text: str, names: str) -> None:
    cursor = at_mark(text)
    assert cursor.role == Role.READ
    assert set(names.split()) <= cursor.in_scope


def test_braces_in_brackets_that_lack_nothing() -> None:
    assert at_mark("for (const {a} of b) f(‸").in_scope >= {"a", "b", "f"}
    assert at_mark("if (f(class { m() { return ‸").next_type == "Identifier"
    assert nodes(at_mark("g(a, {b: ‸")).endswith("Identifier:a ObjectExpression Property:b > Identifier")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("const f = (a, ...‸)", "Identifier:a RestElement > Identifier"),
        ("g((a, ...‸", "Identifier:a RestElement > Identifier"),
        ("class A { #f = (a, ...‸", "Identifier:a RestElement > Identifier"),
        (
            "const f = ({ a = 1, ‸ })",
            "ObjectPattern Property:a AssignmentPattern Identifier:a LiteralNumber:1 > Property",
        ),
        ("g(({ a: { b = 1, ‸", "ObjectPattern Property:b AssignmentPattern Identifier:b LiteralNumber:1 > Property"),
    ],
)
def test_parameters_of_an_arrow_function_without_its_arrow(text: str, expected: str) -> None:
    cursor = at_mark(text)
    assert "ArrowFunctionExpression" in cursor.traversal.types
    assert nodes(cursor).endswith(f" {expected}")


def test_patterns_that_are_not_parameters_of_an_arrow_function() -> None:
    assert nodes(at_mark("function f({ a = 1, ‸")).startswith("FunctionDeclaration Identifier:f ObjectPattern")
    assert "ArrowFunctionExpression" not in at_mark("g(a, ...‸").traversal.types


# -- private names ---------------------------------------------------------------------------------------------------


def test_private_names_are_excluded_only_after_a_dot() -> None:
    assert "total" not in at_mark("class A { #total = 0; get to‸() { return this.#total } }").keywords
    assert "total" not in at_mark("class A { #total = 0 }\nx = { to‸: 1 }").keywords
    assert "total" in at_mark("class A { #total = 0; m() { this.to‸ } }").keywords


def test_private_names_are_those_of_the_class() -> None:
    assert at_mark("class A { #a }\nclass B { #b; m() { this.#‸ } }").in_scope == {"b"}


def test_a_used_private_name_is_suggested_where_one_is_declared() -> None:
    for text in (
        "class A { #size; add() { this.#total += this.#size } #to‸ }",
        "class A { add() { this.#total++ }\n  #‸",
    ):
        cursor = at_mark(text)
        assert (cursor.unused_targets, cursor.keywords, cursor.is_scope_known) == ({"total"}, frozenset(), False)
    assert not at_mark("class A { add() { this.#total++ } to‸ }").unused_targets


# -- positions without a name -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["s.replace(/[a-z‸", "s.replace(/[a-z‸]/g, '')", "x = /[\\‸x00", "x = /\\‸d/"])
def test_no_name_in_a_character_class_of_a_regular_expression(text: str) -> None:
    with pytest.raises(ParseError, match=r"the cursor is in a regular expression$"):
        at_mark(text)


AFTER_OPERANDS = [
    "x = /abc/‸g", "x = /abc/g‸", "const x = y ‸", "const x = y /* why */ ‸", "const x = y.of ‸", "const x = f() ‸",
    "const x = {} ‸", "const x = function () {} ‸", "f(this ‸", "i++ ‸", "for (const row o‸", "import { a ‸",
    "import { a } from ‸", "import fs fr‸", "x = { a ‸", "class A { x = y ‸", "x = `${y ‸}`",
]  # fmt: skip


@pytest.mark.parametrize("text", AFTER_OPERANDS)
def test_no_name_directly_after_an_operand(text: str) -> None:
    with pytest.raises(ParseError, match=r"an operator or a separator must come first$"):
        at_mark(text)


BEFORE_NAMES = [
    "async ‸", "async function ‸", "x = async ‸ => 1", "x = { get ‸", "x = { async ‸", "class A { static ‸",
    "class A { set ‸", "class A { x ‸", "import * as ‸", "import a, { b as ‸", "for (const a of ‸",
    "for await (const a of b) ‸", "a: ‸", "if (a) {} ‸", "function f() {} ‸", "x = y\n‸", "x = y // why\n‸",
    "x = y\n/* why */ ‸", "f(a\n  ‸", "x = <a b ‸", 'x = <a b="c" ‸', "x = <a b={c} ‸", "x = `a ${‸", "x = a / ‸",
]  # fmt: skip


@pytest.mark.parametrize("text", BEFORE_NAMES)
def test_names_after_keywords_and_on_a_new_line(text: str) -> None:
    assert at_mark(text).role in (Role.READ, Role.WRITE, Role.PARAMETER, Role.FUNCTION, Role.ATTRIBUTE)


@pytest.mark.parametrize(
    "text",
    [
        "f(1\nconst b = 2\n" * 3_000,
        "x = fs.\nconst y = 3\n" * 3_000,
        "x = {a: [\n" * 1_000 + "const b = ",
        "if (x {\n" * 2_000,
        "({a = 1, " * 500,
        "f((" * 3_000 + "a, {",
    ],
    ids=lambda text: text[:12],
)
def test_hostile_text_ends_in_time(text: str) -> None:
    start = time.process_time()
    at_mark(text + MARK)
    assert time.process_time() - start < 10
