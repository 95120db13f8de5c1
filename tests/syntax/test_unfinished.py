"""What stands before the name at a cursor: by hand, against the finished text, and at every place of a text."""

import random
import sysconfig
import time
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import pytest

from rarename.errors import ParseError, UsageError
from rarename.syntax import JAVASCRIPT, PYTHON, TOKENS, Language, Role
from rarename.syntax.source import Lines
from rarename.syntax.unfinished import Cursor, at_cursor

STDLIB = Path(sysconfig.get_paths()["stdlib"])
PACKAGES = Path(__file__).parents[2] / ".cache" / "acorn" / "node_modules"
"""Real JavaScript, if the comparison with acorn has downloaded it."""
MARK = "‸"


def look(text: str, language: Language) -> Cursor:
    """What is known at the mark in a text."""
    before, after = text.split(MARK)
    return at_cursor(before + after, language, before.count("\n") + 1, len(before) - before.rfind("\n"))


def shown(cursor: Cursor, num_nodes: int) -> str:
    """The last nodes before the cursor, and the type at it: `Type:value Type > NextType`."""
    nodes = list(zip(cursor.traversal.types, cursor.traversal.values, strict=True))[-num_nodes:]
    return " ".join(t if v is None else f"{t}:{v}" for t, v in nodes) + f" > {cursor.next_type}"


# Text → the last nodes and the type at the cursor. A bare name is taken for a call: alone it would do nothing.
PYTHON_CASES = {
    "‸": "Module Expr Call > NameLoad",
    "a.b‸": "Expr Call AttributeLoad NameLoad:a > attr",
    "x = ‸": "Module Assign NameStore:x > NameLoad",
    "x = a.‸": "NameStore:x AttributeLoad NameLoad:a > attr",
    "x = y = ‸": "Assign NameStore:x NameStore:y > NameLoad",
    "x = a + ‸": "NameStore:x BinOpAdd NameLoad:a > NameLoad",
    "x = a + \\\n  ‸": "NameStore:x BinOpAdd NameLoad:a > NameLoad",
    "x: ‸": "AnnAssign NameStore:x annotation > NameLoad",
    "x = *‸": "Assign NameStore:x StarredLoad > NameLoad",
    "if ‸": "Module If > NameLoad",
    "if a: ‸": "body Expr Call > NameLoad",
    "if a: b; ‸": "Expr NameLoad:b Expr Call > NameLoad",
    "if a:\n‸": "If NameLoad:a body Pass Expr Call > NameLoad",
    "if a:\n  pass\nelif ‸": "Pass orelse If > NameLoad",
    "if a:\n  pass\nelse:\n  b = ‸": "orelse Assign NameStore:b > NameLoad",
    "for ‸": "Module For > NameStore",
    "for a, ‸": "For TupleStore NameStore:a > NameStore",
    "for a in ‸": "For NameStore:a > NameLoad",
    "while a and ‸": "While BoolOpAnd NameLoad:a > NameLoad",
    "with ‸": "Module With > NameLoad",
    "with a as ‸": "With NameLoad:a > NameStore",
    "with a as b, ‸": "NameLoad:a NameStore:b body With > NameLoad",
    "async def f():\n async with ‸": "body AsyncWith > NameLoad",
    "async def f():\n async for x in ‸": "AsyncFor NameStore:x > NameLoad",
    "await ‸": "Expr Await > NameLoad",
    "def ‸": "Module > FunctionDef",
    "async def ‸": "Module > AsyncFunctionDef",
    "def f(‸": "FunctionDef:f arguments args > NameParam",
    "def f(a: ‸": "NameParam:a annotation > NameLoad",
    "def f(a, b=‸": "NameParam:a NameParam:b defaults > NameLoad",
    "def f(a, *‸": "NameParam:a defaults > vararg",
    "def f() -> ‸": "decorator_list returns > NameLoad",
    "class ‸": "Module > ClassDef",
    "class C(‸": "ClassDef:C bases > NameLoad",
    "class C(B, metaclass=‸": "NameLoad:B keyword:metaclass > NameLoad",
    "@‸": "body Pass decorator_list > NameLoad",
    "class C:\n    @a.‸": "decorator_list AttributeLoad NameLoad:a > attr",
    "import ‸": "Module Import > alias",
    "import os.‸": "Module Import > alias",
    "import os as ‸": "Import alias:os > identifier",
    "from ‸": "Module > ImportFrom",
    "from .a.‸": "Module > ImportFrom",
    "from ...‸": "Module > ImportFrom",
    "from a import ‸": "Module ImportFrom:a > alias",
    "from a import (b, ‸": "ImportFrom:a alias:b > alias",
    "lambda ‸": "Lambda arguments args > NameParam",
    "lambda a: ‸": "NameParam:a defaults > NameLoad",
    "f(lambda a, ‸": "args NameParam:a > NameParam",
    "x = a if ‸": "NameStore:x IfExp > NameLoad",
    "x = a if b else ‸": "IfExp NameLoad:b NameLoad:a > NameLoad",
    "x = [‸": "NameStore:x ListLoad > NameLoad",
    "[x for ‸": "NameLoad:x comprehension > NameStore",
    "[x for y in ‸": "comprehension NameStore:y > NameLoad",
    "[x for y in z if ‸": "NameStore:y NameLoad:z > NameLoad",
    "{a: ‸": "Dict NameLoad:a > NameLoad",
    "{a: b, ‸": "Dict NameLoad:a > NameLoad",
    "{a, ‸": "Set NameLoad:a > NameLoad",
    "{**‸": "Dict DoubleStarred > NameLoad",
    "{a: b for ‸": "NameLoad:a NameLoad:b comprehension > NameStore",
    "x[‸": "SubscriptLoad NameLoad:x Index > NameLoad",
    "x[a:‸": "Slice NameLoad:a > NameLoad",
    "x[a:b, ‸": "Slice NameLoad:a NameLoad:b Index > NameLoad",
    "f(‸": "Expr Call NameLoad:f > NameLoad",
    "f(a=‸": "NameLoad:f keyword:a > NameLoad",
    "f(a=1, ‸": "keyword:a Num:1 > keyword",
    "f(*‸": "Call NameLoad:f > NameLoad",
    "(x := ‸": "NamedExpr NameStore:x > NameLoad",
    "return ‸": "Module Return > NameLoad",
    "raise E from ‸": "Raise NameLoad:E > NameLoad",
    "assert a, ‸": "Assert NameLoad:a > NameLoad",
    "del ‸": "Module Delete > NameDel",
    "global ‸": "Module Global > identifier",
    "yield ‸": "Expr Yield > NameLoad",
    "match ‸": "Module Match > NameLoad",
    "match x:\n  case ‸": "cases match_case MatchAs > NameStore",
    "match x:\n  case C(a=‸": "NameLoad:C keyword:a MatchAs > NameStore",
    "match x:\n  case [a, *b] if ‸": "MatchAs NameStore:a MatchStar NameStore:b > NameLoad",
    "match x:\n  case a if ‸:": "match_case MatchAs NameStore:a > NameLoad",
    "match x:\n  case a if b if ‸": "MatchAs NameStore:a IfExp > NameLoad",
    "match.‸": "Expr Call AttributeLoad NameLoad:match > attr",
    "try:\n  x = ‸": "TryExcept body Assign NameStore:x > NameLoad",
    "try: ‸": "TryExcept body Expr Call > NameLoad",
    "try:\n  pass\nexcept ‸": "handlers ExceptHandler type > NameLoad",
    "try:\n  pass\nexcept E as ‸": "type NameLoad:E name > NameStore",
    "try:\n  pass\nfinally:\n  return ‸": "finalbody Return > NameLoad",
    "f'{‸": "JoinedStr FormattedValue > NameLoad",
    "f'{x!r:>{‸": "JoinedStr Str:> FormattedValue > NameLoad",
    "f'''a{{b\n{x.‸": "FormattedValue AttributeLoad NameLoad:x > attr",
    "x = '''a\n'b''' + ‸": "BinOpAdd Str:a\n'b > NameLoad",
    # Errors above the cursor.
    "print 'a'\nx = ‸": "Module Assign NameStore:x > NameLoad",
    "def f(a):\n  print a\n  return ‸": "defaults body Return > NameLoad",
    "try:\n  a\nexcept E, e:\n  return ‸": "NameStore:e body Return > NameLoad",
    "def f(a, b: int = 1 c) -> d:\n  return ‸": "NameParam:a NameParam:b NameParam:c defaults body Return > NameLoad",
    "def f a, b):\n  return ‸": "args NameParam:a NameParam:b defaults body Return > NameLoad",
    "class A(B C):\n  x = ‸": "ClassDef:A bases body Assign NameStore:x > NameLoad",
    "def f(:\n  pass\nx = ‸": "decorator_list Assign NameStore:x > NameLoad",
    "x = (1,\ndef f():\n  y = ‸": "body Assign NameStore:y > NameLoad",
    "x = 'a\ny = ‸": "Module Assign NameStore:y > NameLoad",
    "    x = ‸": "Module Assign NameStore:x > NameLoad",
    "if a:\n      b\n   c\nx = ‸": "NameLoad:c Assign NameStore:x > NameLoad",
    "else: ‸": "Module Expr > NameLoad",
    "x = )\ny = ‸": "Module Assign NameStore:y > NameLoad",
    # Headers without their colon.
    "if a\n  b = 1\nc = ‸": "If NameLoad:a body Assign NameStore:b Num:1 Assign NameStore:c > NameLoad",
    "def f(a)\n  b = a\n  c = ‸": "body Assign NameStore:b NameLoad:a Assign NameStore:c > NameLoad",
    "def f(a)\n  return ‸": "NameParam:a defaults body Return > NameLoad",
    "for a in b\n  f(‸": "For NameStore:a NameLoad:b body Expr Call NameLoad:f > NameLoad",
    "def f\n  return ‸": "FunctionDef:f arguments args defaults body Return > NameLoad",
    "def f(a\n  return ‸": "NameParam:a defaults body Return > NameLoad",
    "try\n  a = 1\nexcept E\n  b = ‸": "handlers ExceptHandler type NameLoad:E body Assign NameStore:b > NameLoad",
    "match = a\n  b = ‸": "NameStore:match NameLoad:a Assign NameStore:b > NameLoad",
    # Headers with their colon in brackets.
    "def f(a, b:\n  for c in a:\n    g(‸": "NameParam:a NameParam:b defaults body For NameStore:c NameLoad:a body"
    " Expr Call NameLoad:g > NameLoad",
    "def f(a,\n      b=1:  # c\n  x = ‸": "NameParam:a NameParam:b defaults Num:1 body Assign NameStore:x > NameLoad",
    "for a in range(10:\n  f(‸)": "NameStore:a Call NameLoad:range Num:10 body Expr Call NameLoad:f > NameLoad",
    "class A(B:\n  def f(a:\n    return ‸": "NameParam:a defaults body Return > NameLoad",
    "if a in {b:\n  ‸": "CompareIn NameLoad:a Dict NameLoad:b > NameLoad",
    "if f(lambda:\n  ‸": "Call NameLoad:f Lambda arguments args defaults > NameLoad",
    # Brackets left open in the lines above.
    "x = f(a\ny = b\nz = ‸": "NameStore:x Call NameLoad:f NameLoad:a Assign NameStore:y NameLoad:b"
    " Assign NameStore:z > NameLoad",
    "x = [a, {b\nif c:\n  return ‸": "ListLoad NameLoad:a Set NameLoad:b If NameLoad:c body Return > NameLoad",
    "x = f(a\nfor b in c:  # d\n  return ‸": "NameLoad:f NameLoad:a For NameStore:b NameLoad:c body Return > NameLoad",
    "x = f(a\nself.y = ‸": "NameLoad:f NameLoad:a Assign AttributeStore NameLoad:self attr:y > NameLoad",
    "x = f(\n  a,\n  b,\ny = ‸": "NameLoad:a NameLoad:b Assign NameStore:y > NameLoad",
    "def f(a\n  x = a\n  y = ‸": "defaults body Assign NameStore:x NameLoad:a Assign NameStore:y > NameLoad",
    "if f(a\n  g(b)\n  return ‸": "NameLoad:f NameLoad:a body Expr Call NameLoad:g NameLoad:b Return > NameLoad",
    # These go on: a keyword argument, a comprehension, a condition, and what stands deeper.
    "x = f(a,\ny = ‸": "NameLoad:a keyword:y > NameLoad",
    "x = f(\ny = ‸": "NameLoad:f keyword:y > NameLoad",
    "if f(\n  a,\n  y=‸": "NameLoad:a keyword:y > NameLoad",
    "def f(a,\n  b = ‸": "NameParam:a NameParam:b defaults > NameLoad",
    "x = [a\nfor b in ‸": "NameLoad:a comprehension NameStore:b > NameLoad",
    "x = (a\nif b else ‸": "NameStore:x IfExp NameLoad:b NameLoad:a > NameLoad",
    "x = f(a +\ny, ‸": "BinOpAdd NameLoad:a NameLoad:y > NameLoad",
    # Statements that cannot be closed: what can be read of them is.
    "print a, b.‸": "NameLoad:a AttributeLoad NameLoad:b > attr",
    "a <> b.‸": "Module Expr AttributeLoad NameLoad:b > attr",
    # Text behind the cursor tells the shape of the tree.
    "a.‸b.c = 1\n": "AttributeStore AttributeLoad NameLoad:a > attr",
    "‸x = 3": "Module Assign > NameStore",
    "x = fo‸o(1)\n": "NameStore:x Call > NameLoad",
    "@‸\ndef f(): return 1\n": "Num:1 decorator_list > NameLoad",
    "x = ‸\ny = )\n": "Assign NameStore:x > NameLoad",
    # Odd text.
    "x = 1\r\nif x:\r\n\ty = ‸": "body Assign NameStore:y > NameLoad",
    "\fx = ‸": "Assign NameStore:x > NameLoad",
    "größe = ‸": "Assign NameStore:größe > NameLoad",
    "x = 'a\0b'\ny = ‸": "Assign NameStore:y > NameLoad",
    "x = '\ud800'\ny = ‸": "Str:? Assign NameStore:y > NameLoad",
}

JAVASCRIPT_CASES = {
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
    # Errors above the cursor, text behind it.
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


@pytest.mark.parametrize(("text", "expected"), PYTHON_CASES.items())
def test_python(text: str, expected: str) -> None:
    assert shown(look(text, PYTHON), len(expected.split(" > ")[0].split(" "))) == expected


@pytest.mark.parametrize(("text", "expected"), JAVASCRIPT_CASES.items())
def test_javascript(text: str, expected: str) -> None:
    assert shown(look(text, JAVASCRIPT), len(expected.split(" > ")[0].split(" "))) == expected


def test_the_word_is_what_stands_left_of_the_cursor() -> None:
    assert look("x = a.fo‸o(1)", PYTHON).word == "fo"
    assert look("x = a.‸foo", PYTHON).word == ""
    assert look("x = $a‸", JAVASCRIPT).word == "$a"
    assert look("x = ‸", PYTHON).word == ""
    assert look("größ‸", PYTHON).word == "größ"


def test_a_byte_order_mark_does_not_count() -> None:
    assert shown(at_cursor("\ufeffx = ", PYTHON, 1, 5), 2) == "Assign NameStore:x > NameLoad"


def test_a_carriage_return_alone_ends_a_line_of_python() -> None:
    cursor = at_cursor("import os\rtotal = 1  # a\rto", PYTHON, 3, 3)
    assert (cursor.word, cursor.own_names) == ("to", {"os", "total"})
    assert shown(cursor, 3) == "Num:1 Expr Call > NameLoad"


def test_the_role_is_that_of_the_name_at_the_cursor() -> None:
    expected = {"x = ‸": Role.READ, "x = a.‸": Role.ATTRIBUTE, "for ‸": Role.WRITE, "def f(‸": Role.PARAMETER}
    expected |= {"f(a=1, ‸": Role.KEYWORD, "import ‸": Role.MODULE, "def ‸": Role.FUNCTION, "class ‸": Role.CLASS}
    assert {text: look(text, PYTHON).role for text in expected} == expected


# -- scope ------------------------------------------------------------------------------------------------------------


class Scope(NamedTuple):
    text: str
    visible: str
    hidden: str = ""


PYTHON_SCOPES = [
    Scope("import os.path\nimport a.b as c\nfrom d import e\n‸", "os c e print", "a b d path"),
    Scope("x = ‸", "", "x"),
    Scope("f = lambda: ‸", "f"),
    Scope("class A:\n  a = 1\n  b = [c for c in ‸]", "a", "b c"),
    Scope("class A:\n  a = 1\n  b = [c for c in d for e in ‸]", "c d", "a b e"),
    Scope("class A:\n  a = 1\n  b = [‸ for c in d]", "c d", "a b"),
    Scope("def f(a, *b, c=1, **d):\n  ‸", "a b c d f"),
    Scope("def f(a, b=‸", "", "a b f"),
    Scope("def f(a):\n  b = 1\n  def g(c):\n    ‸", "a b c f g"),
    Scope("def f(a):\n  b = 1\nx = ‸", "f", "a b"),
    Scope("class C:\n  a = 1\n  b = ‸", "a", "C b"),
    Scope("class C:\n  a = 1\n  def f(self):\n    ‸", "C self", "a f"),
    Scope("class C:\n  a = 1\n  def f(self, b=‸", "a", "f self"),
    Scope("[‸ for a in b]\n", "a"),
    Scope("[a for a in b if ‸", "a"),
    Scope("[a for a in ‸", "", "a"),
    Scope("x = [a for a in b]\n‸", "x", "a"),
    Scope("[(y := a) for a in b]\n‸", "y", "a"),
    Scope("x = lambda a: ‸", "a x"),
    Scope("for a in ‸", "", "a"),
    Scope("for a in b:\n  ‸", "a"),
    Scope("def f():\n  for a in b:\n    ‸\n    c = 1\n  d = 2\n", "a c", "d"),
    Scope("def f():\n  ‸\n  c = 1\n", "", "c"),
    Scope("def f():\n  x = [‸ for a in b]\n  c = 1\n", "a f", "c x"),
    Scope("def f():\n  def g():\n    ‸\n  c = 1\n", "f g c"),
    Scope("with a as b:\n  ‸", "b"),
    Scope("try:\n  pass\nexcept E as e:\n  ‸", "e"),
    Scope("match a:\n  case [b, C(c=d)]:\n    return ‸", "b d", "c"),
    Scope("def f():\n  global a\n  a = 1\n‸", "a"),
    Scope("def f():\n  return ‸\ndef g():\n  global a\n  a = 1\n", "a"),
    Scope("def f():\n  return (‸\ndef g():\n  global a\n  a = 1\n", "a"),
    Scope("x = ‸\ndef g():\n  global a\n  a = 1\n", "", "a"),
    Scope("def f():\n  a = 1\n  def g():\n    nonlocal a\n    ‸", "a"),
    Scope("a = 1\ndef f():\n  b = 1\ndef g(c):\n  global d, ‸\ne = 1\n", "a e f g", "b c d print"),
    Scope("def f():\n  global ‸\n  )\ne = 1\n", "e f", "print"),
    Scope("a = 1\ndef f(b):\n  def g(c):\n    d = 1\n    nonlocal ‸", "b g", "a c d f print"),
    Scope("class A:\n  a = 1\n  def f(self):\n    nonlocal ‸", "", "A a f self"),
    Scope("def f():\n  a = 1\ndef g(b):\n  del ‸\n  c = 1", "b f g", "a c print"),
    Scope("def f():\n  ‸\ndef g(): pass\nclass C: pass\nimport a.b\nx = 1\n", "f g C a x"),
    Scope("‸\ndef g(): pass\nx = 1\n", "g", "x"),
    Scope("class C:\n  ‸\nx = 1\n", "", "x"),
    Scope("def f():\n  class C:\n    ‸\n  y = 1\nx = 1\n", "x", "y"),
    Scope("def f():\n  x = (‸\n\ndef g(): pass\nclass C: pass\nimport a.b\n", "f g C a", "x"),
    Scope("def f():\n  x = (‸\n\nelse:\n  a = 1\nCONST = 1\ndef g(): y = 1\n", "g CONST", "a y"),
    Scope("x = (‸\n\nCONST = 1\ndef g(): pass\n", "g", "CONST"),
    # Names that come from elsewhere.
    Scope("def f(a):\n  b = 1\n  print(other, a, b)\n‸", "other f", "a b"),
    Scope("def f():\n  return ‸\nother()\n", "other"),
    Scope("from a import b as c\n‸", "c", "a b"),
    Scope("‸", "__file__ __name__ __doc__ __path__", "__class__ __module__"),
    Scope("class C:\n  ‸", "__module__ __qualname__", "__class__"),
    Scope("class C:\n  def f(self):\n    ‸", "__class__ __file__", "__qualname__"),
    # Lines above that are mended.
    Scope("class A:\n  def f(self, a):\n    if a\n      x = 1\n    y = ‸", "A self a x", "y"),
    Scope("class A:\n  def f(self, a)\n    x = a\n    y = ‸", "A self a x", "y"),
    Scope("def f(a, b):\n  x = g(a\n  y = b\n  z = ‸", "a b x y", "z"),
    Scope("def f(a, b):\n  x = [a, b\n  y = b\n  if y:\n    return ‸", "a b x y"),
    # Names of code that is left out.
    Scope("def f(a b):\n  return ‸\n)", "a b f", "return def"),
    Scope("def f(a b):\n  pass\ndef g(c):\n  return ‸", "c f g", "a b"),
    Scope("class A(b c):\n  ‸", "b c", "A class"),
    Scope("for i on x:\n  foo(‸)", "i x foo", "for"),
    Scope("x = foo.\ny = 2\nbar(‸)", "x y foo bar"),
    Scope("with open(a as b:\n  foo(‸)", "a b"),
    Scope('x y = a.b + f\'c\' + """d \'e""" + \'g\' + 0x1f  # h\n‸', "x y a", "b c d e f g h x1f"),
    Scope("x y\nfrom a import b\nc = ‸", "x y b", "a c"),
    Scope("def g(h):\n  pass\nx y\n‸", "x y g", "h"),
]

JAVASCRIPT_SCOPES = [
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
    Scope("for (let a of ‸", "", "a"),
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
    # Names of code that is left out.
    Scope("let a = [...$b] c;\nlet d = e.f 'g' `h` i; // j\nk = ‸", "a $b c d e i", "f g h j k let"),
]


def test_scope() -> None:
    for language, scopes in ((PYTHON, PYTHON_SCOPES), (JAVASCRIPT, JAVASCRIPT_SCOPES)):
        for text, visible, hidden in scopes:
            names = look(text, language).in_scope
            assert set(visible.split()) <= names, text
            assert not set(hidden.split()) & names, text


def test_scope_says_nothing_of_attributes() -> None:
    for language in (PYTHON, JAVASCRIPT):
        cursor = look("x = a.‸", language)
        assert (cursor.in_scope, cursor.own_names, cursor.is_scope_known) == (frozenset(), frozenset(), False)


def test_names_of_the_text_are_told_from_those_that_need_no_binding() -> None:
    cursor = look("def f(a):\n  print(other)\n  return ‸", PYTHON)
    assert cursor.own_names == {"f", "a", "print", "other"}
    assert "len" in cursor.in_scope
    cursor = look("function f(a) { return ‸ }", JAVASCRIPT)
    assert cursor.own_names == {"f", "a", "arguments"}
    assert "Math" in cursor.in_scope


def test_names_of_code_that_is_left_out_stand_where_a_variable_is_read() -> None:
    assert look("x y\nfrom a import *\nz = ‸", PYTHON).own_names == frozenset()  # any name may be meant
    assert not look("x y\nz.‸", PYTHON).in_scope
    assert look("x y\nz = (‸)\n", PYTHON).own_names == {"x", "y"}


def test_any_name_may_come_with_a_star() -> None:
    assert look("from a import b\nx = ‸", PYTHON).is_scope_known
    cursor = look("from a import *\nx = 1\ny = ‸", PYTHON)
    assert not cursor.is_scope_known
    assert {"x", "len"} <= cursor.in_scope
    assert look("import * as a from 'b'; ‸", JAVASCRIPT).is_scope_known


def test_words_of_the_language_are_no_names() -> None:
    read, written, attribute = (look(text, PYTHON).reserved for text in ("x = ‸", "for ‸", "x.‸"))
    assert {"class", "in", "return"} <= read & written & attribute
    assert not {"None", "True", "False", "print", "match"} & read
    assert {"None", "True", "False"} <= written & attribute
    read, written, attribute = (look(text, JAVASCRIPT).reserved for text in ("x = ‸", "let ‸", "x.‸"))
    assert {"class", "this", "function"} <= read & written
    assert not {"null", "true", "false", "undefined", "async"} & read
    assert {"null", "true", "false"} <= written
    assert not attribute  # `promise.catch`


# -- modules and arguments --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "prefix", "word"),
    [
        ("import ‸", "", ""),
        ("import os.‸", "os.", ""),
        ("import a, b.c.d‸e.f\n", "b.c.", "d"),
        ("from ‸", "", ""),
        ("from os.pa‸", "os.", "pa"),
        ("from .a.‸", "a.", ""),
        ("from os import ‸", None, ""),
        ("import os as ‸", None, ""),
        ("x = os.‸", None, ""),
    ],
)
def test_what_stands_before_the_word_in_the_name_of_a_module(text: str, prefix: str | None, word: str) -> None:
    cursor = look(text, PYTHON)
    assert (cursor.module and cursor.module.prefix, cursor.word) == (prefix, word)


def known_modules(text: str) -> frozenset[str] | None:
    module = look(text, PYTHON).module
    assert module is not None
    return module.known


def test_relative_modules_are_those_that_the_text_has() -> None:
    text = (
        "from .a.b import c\nfrom . import d as e, f\nfrom .. import g\nfrom os import h\nfrom .‸\nfrom .i import (j)\n"
    )
    assert known_modules(text) == {"a.b", "d", "f", "i"}
    assert known_modules("from .. import (a,\n  b as c)\nfrom ..‸") == {"a", "b"}
    assert known_modules("from .‸") == frozenset()
    assert known_modules("from ‸") is None
    assert look("from . import ‸", PYTHON).module is None


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("f(‸", "encoding"),
        ("f(a, e‸n)", "encoding"),
        ("f(a,  # why\n  ‸", "encoding"),
        ("f(own=1)\ng(a, ‸", "encoding own"),
        ("def f(a, *b, c, **d): pass\nf(‸", "encoding a c"),
        ("class A:\n  def f(self, a): pass\nx.f(‸", "encoding a"),
        ("class A(B): pass\nA(‸", "encoding"),
        ("class A:\n  def __init__(self, a): super().__init__(‸", "encoding"),
        ("from c import open\nopen(‸", "encoding text"),
        ("f(b=1, ‸", "encoding"),
    ],
)
def test_an_argument_may_be_passed_by_name(text: str, names: str) -> None:
    found = look(text, PYTHON).argument_names
    assert set(names.split()) <= found
    assert not {"self", "b", "d"} & found


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("def f(a, b, *, c): pass\nf(‸", "a b c"),
        ("def f(a, b, *, c): pass\nf(1, ‸)", "b c"),
        ("def f(a, b, c=lambda d, **e: 1): pass\nf(1, c=2, ‸", "b"),
        ("f(‸)\nasync def f(a): pass\nclass B:\n  def f(self, c): pass", "a"),
        ("class A:\n  def __init__(self, a, b): pass\nA(1, ‸", "b"),
        ("class A:\n  def f(self, a, b): pass\n  def g(self): self.f(1, ‸", "b"),
        ("sorted(a, ‸", "key reverse"),
        ("class A:\n  def print(self, a): pass\nprint(‸", "end file flush sep"),
        ("len(‸", ""),
        ("class A(meta‸", "metaclass"),
        ("class A(B, metaclass=C, ‸", ""),
    ],
)
def test_the_names_of_arguments_are_those_of_the_function_if_it_is_known(text: str, names: str) -> None:
    assert look(text, PYTHON).argument_names == set(names.split())


def test_a_function_that_takes_any_name_takes_no_argument_twice() -> None:
    names = look("def f(path, mode, **others): pass\nf('a', ‸", PYTHON).argument_names
    assert {"mode", "encoding"} <= names
    assert "path" not in names


@pytest.mark.parametrize("text", ["‸", "x = ‸", "‸(a)", "f(*‸", "f(**‸", "f(a + ‸", "f(a=‸", "(a, ‸", "[‸", "f(x[‸"])
def test_nothing_else_is_passed_by_name(text: str) -> None:
    assert not look(text, PYTHON).argument_names


def test_arguments_of_javascript_have_no_names() -> None:
    assert not look("f(a, ‸", JAVASCRIPT).argument_names


def test_a_name_is_open_until_it_is_called_has_an_attribute_or_is_assigned_to() -> None:
    texts = ("x = ‸", "f(‸)  # why", "x = ‸ + 1", "x = f'{‸}'", "x = [‸ for y in z]", "f(‸, 1)", "x = ‸ == 1")
    assert all(look(text, PYTHON).is_open for text in texts)
    assert not any(look(text, PYTHON).is_open for text in ("x = ‸(1)", "x = ‸.y", "x = ‸[0]", "‸ = 1"))
    texts = ("f(‸) /* why */;", "x = `${‸}`", "<a b={‸} />", "x = ‸ ?? 1", "‸ => 1")
    assert all(look(text, JAVASCRIPT).is_open for text in texts)
    assert not any(look(text, JAVASCRIPT).is_open for text in ("x = ‸?.y", "x = ‸`y`", "x = ‸ (1)", "‸ = 1"))


def test_names_that_the_text_has_in_a_like_role() -> None:
    text = "class A:\n  def run(self, speed):\n    self.gear = speed\n    total = 0\n"
    assert look(f"{text}    self.‸", PYTHON).alike == {"run", "gear"}
    assert look(f"{text}    ‸ += 1", PYTHON).alike >= {"total", "speed", "self"}
    assert look(f"{text}    f(x=1, ‸", PYTHON).alike == {"x", "self", "speed"}
    assert not look(f"{text}    x = ‸", PYTHON).alike  # scope says all


def test_the_key_of_an_object_may_be_a_variable() -> None:
    cursor = look("function load() {}\nmodule.exports = { lo‸ }", JAVASCRIPT)
    assert cursor.role == Role.ATTRIBUTE
    assert "load" in cursor.in_scope
    assert not cursor.is_scope_known
    assert not look("function load() {}\nmodule.exports = { lo‸: 1 }", JAVASCRIPT).in_scope
    assert not look("function load() {}\nconst { lo‸ } = a", JAVASCRIPT).in_scope


def test_tags() -> None:
    for text in ("x = <div><p></‸", "x = <p>a</‸>", "x = <p>a</p‸>"):
        cursor = look(text, JAVASCRIPT)
        assert (cursor.in_scope, cursor.is_scope_known) == ({"p"}, True)
    assert look("x = <Row>a</R‸", JAVASCRIPT).in_scope == {"Row"}
    assert not look("x = <a.b></a.‸>", JAVASCRIPT).in_scope
    cursor = look("import Row, { load } from 'a'; x = <‸", JAVASCRIPT)
    assert (cursor.in_scope, cursor.is_scope_known) == ({"Row"}, False)


def test_private_names() -> None:
    text = "class A { #count = 1; size = 2; f() { this.‸ } }"
    public, private = look(text, JAVASCRIPT), look(text.replace("this.", "this.#"), JAVASCRIPT)
    assert "count" in public.reserved
    assert "size" not in public.reserved
    assert (private.in_scope, private.is_scope_known) == ({"count"}, True)
    assert "count" not in private.reserved


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("x = [‸ for y in z]", "y"),
        ("x = {‸: 1 for y, w in z}", "w y"),
        ("x = [y + ‸ for y in z]", ""),
        ("x = [y for y in ‸]", ""),
        ("x = [y for y in z if ‸]", ""),
        ("x = [[‸ for y in w] for w in z]", "w y"),
        ("x = [lambda: ‸ for y in z]", ""),
        ("x = ‸", ""),
    ],
)
def test_variables_of_comprehensions_are_expected_in_their_element(text: str, names: str) -> None:
    assert look(text, PYTHON).expected == set(names.split())


# -- errors -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("'abc ‸", "a string"),
        ("f'abc ‸", "a string"),
        ('x = """a\n‸', "a string"),
        ("x  # abc ‸", "a comment"),
        ("1‸", "a number"),
        ("x = 0x1‸f", "a number"),
        ("x = 1.‸", "a number"),
        ("f'{x:‸}'", "a string"),
        ("f'{x:‸", "a string"),
        ("f'{x!‸}'", "a string"),
        ("f'{x!r‸", "a string"),
        ("f'{x=‸}'", "a string"),
    ],
)
def test_no_name_in_python(text: str, where: str) -> None:
    with pytest.raises(ParseError) as caught:
        look(text, PYTHON)
    line = text.split(MARK)[0].count("\n") + 1
    assert str(caught.value) == f"line {line}: no name to complete: the cursor stands in {where}"


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
def test_no_name_in_javascript(text: str, where: str) -> None:
    with pytest.raises(ParseError, match=f"^line 1: no name to complete: the cursor stands in {where}$"):
        look(text, JAVASCRIPT)


@pytest.mark.parametrize(
    ("language", "text"),
    [
        *((PYTHON, text) for text in ("load(path)‸", "rows[0]‸", "x = {}‸", "x = 'a'‸", "x = rows[0]na‸", "f'{a}'‸")),
        *((PYTHON, text) for text in ("for row i‸", "x = load ‸", "import os a‸", "f(1 ‸)", "x = None ‸", "f'{a ‸}'")),
        (PYTHON, "x = ...‸"),
        *(
            (JAVASCRIPT, text)
            for text in ("rows[0]‸", "x = 'a'‸", "x = `a`‸", '<p title="a"‸', "load(path)‸", "(a)na‸")
        ),
    ],
)
def test_no_name_behind_an_operand(language: Language, text: str) -> None:
    with pytest.raises(ParseError, match=r"no name to complete: an operator or a separator must come first$"):
        look(text, language)


@pytest.mark.parametrize(
    ("language", "text"),
    [
        *((PYTHON, text) for text in ("f'{a == ‸}'", "f'{f(a=‸)}'", "x = ..., ‸", "x = ...\n‸")),
        *((PYTHON, text) for text in ("print ‸", "match ‸:\n    case 1: pass", "f(a\n  ‸", "x = not ‸", "x = a if ‸")),
        *((JAVASCRIPT, text) for text in ("if (found)‸", "{}‸", "while (found)na‸", "for await (const a of b)‸")),
    ],
)
def test_names_where_a_statement_or_an_operand_may_begin(language: Language, text: str) -> None:
    assert look(text, language).role == Role.READ


def test_names_that_the_tree_does_not_keep() -> None:
    for text in ("x = function ‸", "a: for (;;) break ‸"):
        with pytest.raises(ParseError, match="the tree does not keep the name that stands at the cursor"):
            look(text, JAVASCRIPT)


def test_a_place_outside_the_text() -> None:
    text = "ab\r\nc"
    with pytest.raises(UsageError, match=r"^no line 3: the text has 2 lines$"):
        at_cursor(text, PYTHON, 3, 1)
    with pytest.raises(UsageError, match=r"^no line 0: the text has 1 line$"):
        at_cursor("", PYTHON, 0, 1)
    for language in (PYTHON, JAVASCRIPT):
        with pytest.raises(UsageError, match=r"^no column 4: line 1 has columns 1 to 3$"):
            at_cursor(text, language, 1, 4)
        assert at_cursor(text, language, 1, 3).word == "ab"


def test_a_language_without_completion() -> None:
    with pytest.raises(UsageError, match=r"^no names can be completed in tokens; choose one of python, javascript$"):
        at_cursor("a", TOKENS, 1, 1)


# -- real files -------------------------------------------------------------------------------------------------------


class Place(NamedTuple):
    """A name in a finished text."""

    node: int
    role: Role
    line: int
    column: int
    before: str


class Finished:
    """A file that parses, and names in it to complete."""

    def __init__(self, path: Path, language: Language) -> None:
        self.path, self.language = path, language
        self.text = language.decode(path.read_bytes()).removeprefix("\ufeff").replace("\r\n", "\n")
        self.tree = language.parse(self.text, False)
        self.roles = language.roles(self.tree)
        self.ends = [tuple(self.tree.span(node)[2:]) for node in range(len(self.tree))]

    def places(self, rng: random.Random, num_places: int) -> list[Place]:
        """Some names that are read, and some behind a dot."""
        lines = Lines(self.text.encode(), self.language)
        wanted = (Role.READ, Role.ATTRIBUTE)
        nodes = [node for node, role in enumerate(self.roles) if role in wanted and self.tree.span(node).line]
        found = []
        for node in rng.sample(nodes, min(num_places, len(nodes))):
            span = self.tree.span(node)
            before = lines.data[: lines.slice(span).start].decode()
            if before[-1:] not in ("'", '"'):  # a key in quotes is a string, nothing is completed there
                column = lines.characters(span.line, span.column) + 1
                found.append(Place(node, self.roles[node], span.line, column, before))
        return found

    def has_prefix(self, cursor: Cursor, node: int) -> bool:
        """Whether the nodes at the cursor are those before a node of the finished text."""
        ours, tree = cursor.traversal, self.tree
        return (
            list(ours.types) == list(tree.types[:node])
            and list(ours.values) == list(tree.values[:node])
            and list(ours.parents) == list(tree.parents[:node])
        )

    def knows_all(self, cursor: Cursor, place: Place) -> bool:
        """Whether all that can be known is there: the nodes that end before the cursor, in their order.

        What is still open there may turn out to be something else: an operand, an argument, a target.
        """
        span = self.tree.span(place.node)
        done = [
            _plain(self.tree.types[node], self.tree.values[node])
            for node in range(place.node)
            if (0, 0) < self.ends[node] <= (span.line, span.column)
        ]
        ours = iter(map(_plain, cursor.traversal.types, cursor.traversal.values))
        return all(node in ours for node in done)


def _plain(type_: str, value: str | None) -> tuple[str, str | None]:
    """A node without the context in its type: `a, b‸` may be read or written, nobody knows."""
    for context in ("Load", "Store", "Del"):
        type_ = type_.removesuffix(context)
    return type_, value


def finished_files(language: Language, rng: random.Random, num_files: int) -> list[Finished]:
    """Real files of moderate size."""
    if language is PYTHON:
        paths = [path for path in sorted(STDLIB.rglob("*.py")) if "site-packages" not in path.parts]
    else:
        if not PACKAGES.is_dir():
            pytest.skip("real JavaScript is there when the comparison with acorn has run once")
        paths = [path for path in sorted(PACKAGES.rglob("*.js")) if path.is_file() and ".min." not in path.name]
    files = []
    for path in rng.sample(paths, len(paths)):
        if len(files) == num_files:
            break
        if 500 < path.stat().st_size < 30_000:
            try:
                files.append(Finished(path, language))
            except ParseError:
                continue
    return files


NUM_FILES, NUM_PLACES = 40, 8


@pytest.mark.parametrize(
    ("language", "least_read", "least_attribute"),
    [(PYTHON, 0.28, 0.40), (JAVASCRIPT, 0.28, 0.50)],
    ids=["python", "javascript"],
)
def test_a_text_that_ends_at_the_cursor_has_the_nodes_of_the_finished_one(
    language: Language, least_read: float, least_attribute: float
) -> None:
    """All that can be known is there. Where the nodes differ, the reason stands behind the cursor.

    The finished text has parents above the name at the cursor that its end alone tells: the call and the attribute
    of `name.more()`, the operator behind an operand, the assignment to a target, `finally`, a key of a dict that comes
    later, the body of a function before its decorators. So only a part of the places has equal nodes.
    """
    rng = random.Random(2021)
    num, num_equal = Counter[Role](), Counter[Role]()
    for file in finished_files(language, rng, NUM_FILES):
        for place in file.places(rng, NUM_PLACES):
            cursor = at_cursor(place.before, language, place.line, place.column)
            assert file.knows_all(cursor, place), (file.path, place.line, place.column)
            num[place.role] += 1
            num_equal[place.role] += file.has_prefix(cursor, place.node)
    assert num_equal[Role.READ] >= least_read * num[Role.READ] > 0
    assert num_equal[Role.ATTRIBUTE] >= least_attribute * num[Role.ATTRIBUTE] > 0


@pytest.mark.parametrize("language", [PYTHON, JAVASCRIPT], ids=lambda language: language.name)
def test_a_text_that_goes_on_behind_the_cursor_has_exactly_the_nodes_of_the_finished_one(language: Language) -> None:
    rng = random.Random(2022)
    for file in finished_files(language, rng, NUM_FILES // 3):
        for place in file.places(rng, NUM_PLACES):
            cursor = at_cursor(file.text, language, place.line, place.column)
            assert file.has_prefix(cursor, place.node), (file.path, place.line, place.column)
            value = file.tree.values[place.node]
            is_scoped = place.role == Role.READ
            assert bool(cursor.in_scope) == is_scoped
            assert (cursor.next_type, cursor.role) == (file.tree.types[place.node], place.role), value


PYTHON_TEXT = """\
import os
from a import (b, c as d)

@d.e(1)
class A(b, m=1):
    x: int = {'k': [1, 2], **d}

    async def f(self, y, *z, k=lambda q: q + 1, **w) -> int:
        try:
            with open(f"{y!r:>{z}} {{}}") as g, h: print(g)
        except (E, F) as e:
            raise G from e
        finally:
            return [i async for i, j in y if i] if x else await z[1:2, ...]

print "old", x
match x:
    case {'a': [p, *q], **r} if p: pass
"""

JAVASCRIPT_TEXT = """\
import a, {b as c} from 'm';
export default class A extends B {
  static #x = /[/]'/g;
  get y() { return this.#x ?? `a${b.c(d => ({e, f: [1, ...g]}))} $`; }
}
function* f(a, {b = 1, ...c}) {
  for (const [k, v] of m) { if (k) continue; else yield k ? v : -1; }
  label: do { switch (x) { case 1: break label; default: y() } } while (0)
  try { throw new E } catch { var z = async () => { await w } }
  x = )
  return <A b="c" {...d}>it's {e}<br/></A>
}
(function () { a.b[0]?.c() })()
"""


@pytest.mark.parametrize(("text", "language"), [(PYTHON_TEXT, PYTHON), (JAVASCRIPT_TEXT, JAVASCRIPT)])
def test_every_place_of_a_text_has_an_answer(text: str, language: Language) -> None:
    """With the rest of the text, without it, and with a part of it missing."""
    rng = random.Random(3)
    for line, content in enumerate(text.split("\n"), 1):
        start = sum(map(len, text.split("\n")[: line - 1])) + line - 1
        for column in range(1, len(content) + 2):
            cut = start + column - 1
            for broken in (text, text[:cut], text[:cut] + text[cut + rng.randrange(40) :]):
                try:
                    cursor = at_cursor(broken, language, line, column)
                except ParseError as error:
                    assert error.reason == "no name to complete" and error.line == line
                else:
                    assert len(cursor.roles) == len(cursor.traversal)
                    assert cursor.traversal.types[0] == language.root_type


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("(" * 5_000, PYTHON),
        ("x = " + "a + " * 20_000, PYTHON),
        ("".join(" " * depth + "if a:\n" for depth in range(150)) + " " * 150, PYTHON),
        ("print a\n" * 5_000, PYTHON),
        ('f"{' * 200, PYTHON),
        ("(" * 20_000, JAVASCRIPT),
        ("a => {" * 2_000, JAVASCRIPT),
        ("a ? " * 2_000, JAVASCRIPT),
        ("<a>" * 500 + "{", JAVASCRIPT),
        ("`${" * 1_000, JAVASCRIPT),
        ("a(b[c], {d: e});" * 5_000, JAVASCRIPT),
    ],
    ids=lambda value: str(value)[:12],
)
def test_hostile_text_ends_in_time(text: str, language: Language) -> None:
    start = time.process_time()
    cursor = at_cursor(text, language, text.count("\n") + 1, len(text) - text.rfind("\n"))
    assert cursor.role == Role.READ
    assert time.process_time() - start < 10
