"""Unfinished Python: the nodes before the cursor, the names in scope, modules, arguments, and where no name can be."""

from typing import NamedTuple

import pytest

from rarename.errors import ParseError
from rarename.syntax import PYTHON, Role
from rarename.syntax.cursor import Cursor, at_cursor

MARK = "‸"


def at_mark(text: str) -> Cursor:
    """The cursor at the mark in a text."""
    before, after = text.split(MARK)
    return at_cursor(before + after, PYTHON, before.count("\n") + 1, len(before) - before.rfind("\n"))


def shown(cursor: Cursor, num_nodes: int) -> str:
    """The last nodes before the cursor, and the type at it: `Type:value Type > NextType`."""
    nodes = list(zip(cursor.traversal.types, cursor.traversal.values, strict=True))[-num_nodes:]
    return " ".join(t if v is None else f"{t}:{v}" for t, v in nodes) + f" > {cursor.next_type}"


# Text → the last nodes and the type at the cursor. A bare name is taken for a call: alone it would do nothing.
CASES = {
    "‸": "Module Expr Call > NameLoad",
    "a.b‸": "Expr Call AttributeLoad NameLoad:a > attr",
    "x = ‸": "Module Assign NameStore:x > NameLoad",
    "x = a.‸": "NameStore:x AttributeLoad NameLoad:a > attr",
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
    "for a in ‸": "For NameStore:a > NameLoad",
    "while a and ‸": "While BoolOpAnd NameLoad:a > NameLoad",
    "with ‸": "Module With > NameLoad",
    "with a as ‸": "With NameLoad:a > NameStore",
    "with a as b, ‸": "NameLoad:a NameStore:b body With > NameLoad",
    "async def f():\n async with ‸": "body AsyncWith > NameLoad",
    "async def f():\n async for x in ‸": "AsyncFor NameStore:x > NameLoad",
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
    "{‸": "Module Expr Dict > NameLoad",
    "{a: ‸": "Dict NameLoad:a > NameLoad",
    "{a: {b: {c: {d: {e: ‸": "Dict NameLoad:b Dict NameLoad:c Dict NameLoad:d Dict NameLoad:e > NameLoad",
    "{a: b, ‸": "Dict NameLoad:a > NameLoad",
    "{a, ‸": "Set NameLoad:a > NameLoad",
    "{**‸": "Dict DoubleStarred > NameLoad",
    "{a: b for ‸": "NameLoad:a NameLoad:b comprehension > NameStore",
    "x[‸": "SubscriptLoad NameLoad:x Index > NameLoad",
    "x[a:‸": "Slice NameLoad:a > NameLoad",
    "f(‸": "Expr Call NameLoad:f > NameLoad",
    "f(a=‸": "NameLoad:f keyword:a > NameLoad",
    "f(a=1, ‸": "keyword:a Num:1 > keyword",
    "f(*‸": "Call NameLoad:f > NameLoad",
    "(x := ‸": "NamedExpr NameStore:x > NameLoad",
    "return ‸": "Module Return > NameLoad",
    "raise E from ‸": "Raise NameLoad:E > NameLoad",
    "del ‸": "Module Delete > NameDel",
    "global ‸": "Module Global > identifier",
    "yield ‸": "Expr Yield > NameLoad",
    "match ‸": "Module Match > NameLoad",
    "match x:\n  case ‸": "cases match_case MatchAs > NameStore",
    "match x:\n  case C(a=‸": "NameLoad:C keyword:a MatchAs > NameStore",
    "match x:\n  case [a, *b] if ‸": "MatchAs NameStore:a MatchStar NameStore:b > NameLoad",
    "match x:\n  case a if ‸:": "match_case MatchAs NameStore:a > NameLoad",
    "match.‸": "Expr Call AttributeLoad NameLoad:match > attr",
    "try:\n  x = ‸": "TryExcept body Assign NameStore:x > NameLoad",
    "try: ‸": "TryExcept body Expr Call > NameLoad",
    "try:\n  pass\nexcept ‸": "handlers ExceptHandler type > NameLoad",
    "try:\n  pass\nexcept E as ‸": "type NameLoad:E name > NameStore",
    "try:\n  pass\nfinally:\n  return ‸": "Module TryFinally body Pass finalbody Return > NameLoad",
    "f'{‸": "JoinedStr FormattedValue > NameLoad",
    "f'{x!r:>{‸": "JoinedStr Str:> FormattedValue > NameLoad",
    "f'''a{{b\n{x.‸": "FormattedValue AttributeLoad NameLoad:x > attr",
    "f'{x:{y}}\\N{EM DASH}{{{‸": "NameLoad:y Str:—{ FormattedValue > NameLoad",
    "x = '''a\n'b''' + ‸": "BinOpAdd Str:a\n'b > NameLoad",
    # Errors above the cursor.
    "print 'a'\nx = ‸": "Module Assign NameStore:x > NameLoad",
    "def f(a):\n  print a\n  return ‸": "defaults body Return > NameLoad",
    "try:\n  a\nexcept E, e:\n  return ‸": "NameStore:e body Return > NameLoad",
    "def f(a, b: int = 1 c) -> d:\n  return ‸": "args NameParam:a NameParam:b defaults body Return > NameLoad",
    "class A(B C):\n  x = ‸": "ClassDef:A bases body Assign NameStore:x > NameLoad",
    "def f(:\n  pass\nx = ‸": "decorator_list Assign NameStore:x > NameLoad",
    "x = (1,\ndef f():\n  y = ‸": "body Assign NameStore:y > NameLoad",
    "x = 'a\ny = ‸": "Module Assign NameStore:y > NameLoad",
    "    x = ‸": "Module Assign NameStore:x > NameLoad",
    "else: ‸": "Module Expr > NameLoad",
    "x = )\ny = ‸": "Module Assign NameStore:y > NameLoad",
    "try:\n  a\nexcept B C:\n  d\nx = ‸": "If Num:0 body Expr NameLoad:d Assign NameStore:x > NameLoad",
    "case a:\n  b\nx = ‸": "If Num:0 body Expr NameLoad:b Assign NameStore:x > NameLoad",
    "x = 1\n@a\nb\ny = ‸": "Num:1 Pass Pass Assign NameStore:y > NameLoad",
    "x = 1\nmatch a:\n  b = ‸": "NameStore:x Num:1 If Num:0 body Expr > NameLoad",
    # Headers without their colon.
    "if a\nb = ‸": "Module Assign NameStore:b > NameLoad",
    "if a\n  b = 1\nc = ‸": "If NameLoad:a body Assign NameStore:b Num:1 Assign NameStore:c > NameLoad",
    "def f(a)\n  b = a\n  c = ‸": "body Assign NameStore:b NameLoad:a Assign NameStore:c > NameLoad",
    "def f\n  return ‸": "FunctionDef:f arguments args defaults body Return > NameLoad",
    "def f(a\n  return ‸": "NameParam:a defaults body Return > NameLoad",
    "try\n  a = 1\nexcept E\n  b = ‸": "handlers ExceptHandler type NameLoad:E body Assign NameStore:b > NameLoad",
    "match = a\n  b = ‸": "NameStore:match NameLoad:a Assign NameStore:b > NameLoad",
    # Headers with their colon in brackets.
    "def f(a, b:\n  for c in a:\n    g(‸": "NameParam:a NameParam:b defaults body For NameStore:c NameLoad:a body"
    " Expr Call NameLoad:g > NameLoad",
    "def f(a,\n      b=1:  # c\n  x = ‸": "NameParam:a NameParam:b defaults Num:1 body Assign NameStore:x > NameLoad",
    "for a in range(10:\n  f(‸)": "NameStore:a Call NameLoad:range Num:10 body Expr Call NameLoad:f > NameLoad",
    "if a in {b:\n  ‸": "CompareIn NameLoad:a Dict NameLoad:b > NameLoad",
    "if f(lambda:\n  ‸": "Call NameLoad:f Lambda arguments args defaults > NameLoad",
    # Brackets left open in the lines above.
    "x = f(a\ny = b\nz = ‸": "NameStore:x Call NameLoad:f NameLoad:a Assign NameStore:y NameLoad:b"
    " Assign NameStore:z > NameLoad",
    "x = [a, {b\nif c:\n  return ‸": "ListLoad NameLoad:a Set NameLoad:b If NameLoad:c body Return > NameLoad",
    "x = f(a\nfor b in c:  # d\n  return ‸": "NameLoad:f NameLoad:a For NameStore:b NameLoad:c body Return > NameLoad",
    # Continued lines: a keyword argument, a comprehension, a condition, and deeper lines.
    "x = f(a,\ny = ‸": "NameLoad:a keyword:y > NameLoad",
    "x = f(\ny = ‸": "NameLoad:f keyword:y > NameLoad",
    "if f(\n  a,\n  y=‸": "NameLoad:a keyword:y > NameLoad",
    "def f(a,\n  b = ‸": "NameParam:a NameParam:b defaults > NameLoad",
    "x = [a\nfor b in ‸": "NameLoad:a comprehension NameStore:b > NameLoad",
    "x = (a\nif b else ‸": "NameStore:x IfExp NameLoad:b NameLoad:a > NameLoad",
    "x = f(a +\ny, ‸": "BinOpAdd NameLoad:a NameLoad:y > NameLoad",
    # Statements that cannot be closed: the longest expression at their end is kept.
    "print a, b.‸": "NameLoad:a AttributeLoad NameLoad:b > attr",
    # Text after the cursor determines the shape of the tree.
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


@pytest.mark.parametrize(("text", "expected"), CASES.items())
def test_nodes_before_the_cursor(text: str, expected: str) -> None:
    assert shown(at_mark(text), len(expected.split(" > ")[0].split(" "))) == expected


def test_a_carriage_return_alone_ends_a_line_of_python() -> None:
    cursor = at_cursor("import os\rtotal = 1  # a\rto", PYTHON, 3, 3)
    assert (cursor.word, cursor.bound_names) == ("to", {"os", "total"})
    assert shown(cursor, 3) == "Num:1 Expr Call > NameLoad"


def test_the_role_is_that_of_the_name_at_the_cursor() -> None:
    expected = {"x = ‸": Role.READ, "x = a.‸": Role.ATTRIBUTE, "for ‸": Role.WRITE, "def f(‸": Role.PARAMETER}
    expected |= {"f(a=1, ‸": Role.KEYWORD, "import ‸": Role.MODULE, "def ‸": Role.FUNCTION, "class ‸": Role.CLASS}
    assert {text: at_mark(text).role for text in expected} == expected


# -- scope ------------------------------------------------------------------------------------------------------------


class Scope(NamedTuple):
    text: str
    visible: str
    hidden: str = ""


SCOPES = [
    Scope("import os.path\nimport a.b as c\nfrom d import e\n‸", "os c e print", "a b d path"),
    Scope("x = ‸", "", "x"),
    Scope("f = lambda: ‸", "f"),
    Scope("class A:\n  a = 1\n  b = [c for c in ‸]", "a", "b c"),
    Scope("class A:\n  a = 1\n  b = [c for c in d for e in ‸]", "c d", "a b e"),
    Scope("class A:\n  a = 1\n  b = [‸ for c in d]", "c d", "a b"),
    Scope("def f(a, *b, c=1, **d):\n  ‸", "a b c d f"),
    Scope("def f(a, b=‸", "", "a b f"),
    Scope("def f(a, b: ‸", "", "a b f"),
    Scope("def f(a) -> ‸: pass\n", "", "a f"),
    Scope("@‸\ndef f(a): pass\n", "", "a f"),
    Scope("class C(‸): a = 1\n", "", "C a"),
    Scope("class C:\n  a = 1\n  def f(self, b: ‸): pass\n", "a", "b f self"),
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
    Scope("x = (‸\n\nclass C:\n  def m(self): pass\n", "C", "m self"),
    Scope("x = (‸\n\nCONST = 1\ndef g(): pass\n", "g", "CONST"),
    # Names that come from elsewhere.
    Scope("def f(a):\n  b = 1\n  print(other, a, b)\n‸", "other f", "a b"),
    Scope("def f():\n  return ‸\nother()\n", "other"),
    Scope("print(a)\ndel a\nx = ‸", "print", "a"),
    Scope("from a import b as c\n‸", "c", "a b"),
    Scope("‸", "__file__ __name__ __doc__ __path__", "__class__ __module__"),
    Scope("class C:\n  ‸", "__module__ __qualname__", "__class__"),
    Scope("class C:\n  def f(self):\n    ‸", "__class__ __file__", "__qualname__"),
    # Lines above that are completed.
    Scope("class A:\n  def f(self, a):\n    if a\n      x = 1\n    y = ‸", "A self a x", "y"),
    Scope("def f(a, b):\n  x = g(a\n  y = b\n  z = ‸", "a b x y", "z"),
    # Names of code that is left out.
    Scope("def f(a b):\n  return ‸\n)", "a b f", "return def"),
    Scope("def f(a b):\n  pass\ndef g(c):\n  return ‸", "c f g", "a"),
    Scope("class A(b c):\n  ‸", "b c", "A class"),
    Scope("for i on x:\n  foo(‸)", "i x foo", "for"),
    Scope("x = foo.\ny = 2\nbar(‸)", "x y foo bar"),
    Scope("with open(a as b:\n  foo(‸)", "a b"),
    Scope('x y = a.b + f\'c\' + """d \'e""" + \'g\' + 0x1f  # h\n‸', "x y a", "b c d e f g h x1f"),
    Scope("x y\nfrom a import b\nc = ‸", "x y b", "a c"),
    Scope("def g(h):\n  pass\nx y\n‸", "x y g", "h"),
]


@pytest.mark.parametrize(("text", "visible", "hidden"), SCOPES)
def test_scope(text: str, visible: str, hidden: str) -> None:
    names = at_mark(text).in_scope
    assert set(visible.split()) <= names
    assert not set(hidden.split()) & names


def test_names_of_code_that_is_left_out_are_possible_where_a_variable_is_read() -> None:
    assert at_mark("x y\nfrom a import *\nz = ‸").bound_names == frozenset()  # any name is possible
    assert not at_mark("x y\nz.‸").in_scope
    assert at_mark("x y\nz = (‸)\n").bound_names == {"x", "y"}


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
def test_the_prefix_of_a_module_name(text: str, prefix: str | None, word: str) -> None:
    cursor = at_mark(text)
    assert (cursor.module and cursor.module.prefix, cursor.word) == (prefix, word)


def known_modules(text: str) -> frozenset[str] | None:
    module = at_mark(text).module
    assert module is not None
    return module.known


def test_relative_modules_are_those_in_the_text() -> None:
    text = (
        "from .a.b import c\nfrom . import d as e, f\nfrom .. import g\nfrom os import h\nfrom .‸\nfrom .i import (j)\n"
    )
    assert known_modules(text) == {"a.b", "d", "f", "i"}
    assert known_modules("from .. import (a,\n  b as c)\nfrom ..‸") == {"a", "b"}
    assert known_modules("from .‸") == frozenset()
    assert known_modules("from ‸") is None
    assert at_mark("from . import ‸").module is None


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
    found = at_mark(text).argument_names
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
    assert at_mark(text).argument_names == set(names.split())


def test_a_function_that_takes_any_name_takes_no_argument_twice() -> None:
    names = at_mark("def f(path, mode, **others): pass\nf('a', ‸").argument_names
    assert {"mode", "encoding"} <= names
    assert "path" not in names


@pytest.mark.parametrize("text", ["‸", "x = ‸", "‸(a)", "f(*‸", "f(**‸", "f(a + ‸", "f(a=‸", "(a, ‸", "[‸", "f(x[‸"])
def test_other_names_are_not_arguments(text: str) -> None:
    assert not at_mark(text).argument_names


def test_names_in_a_similar_role_are_found() -> None:
    text = "class A:\n  def run(self, speed):\n    self.gear = speed\n    total = 0\n"
    assert at_mark(f"{text}    self.‸").same_role_names == {"run", "gear"}
    assert at_mark(f"{text}    ‸ += 1").same_role_names >= {"total", "speed", "self"}
    assert at_mark(f"{text}    f(x=1, ‸").same_role_names == {"x", "self", "speed"}
    assert not at_mark(f"{text}    x = ‸").same_role_names  # scope decides


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
def test_targets_of_comprehensions_are_unused_in_their_element(text: str, names: str) -> None:
    assert at_mark(text).unused_targets == set(names.split())


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
        ("f'{x:{y}} ‸", "a string"),
        ("f'{{ ‸", "a string"),
    ],
)
def test_where_no_name_is_possible(text: str, where: str) -> None:
    with pytest.raises(ParseError) as caught:
        at_mark(text)
    line = text.split(MARK)[0].count("\n") + 1
    assert str(caught.value) == f"line {line}: no name to complete: the cursor is in {where}"
