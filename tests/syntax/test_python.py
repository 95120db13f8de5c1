"""Python source to traversal: the trees of PY150, the choices for Python 3, spans, roles, failures."""

import ast
import gc
import io
import itertools
import keyword
import os
import random
import re
import sys
import sysconfig
import tokenize
import unicodedata
import warnings
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rarename.errors import ParseError
from rarename.syntax.python import PYTHON
from rarename.syntax.traversal import IDENTIFIER_ROLES, NO_SPAN, Role, Traversal

STDLIB = Path(sysconfig.get_paths()["stdlib"])
IS_THOROUGH = "RARENAME_THOROUGH" in os.environ
"""Set by `make check`: more files and more generated examples."""


def parse(text: str) -> Traversal:
    return PYTHON.parse(text, False)


def shown(traversal: Traversal, node: int = 0) -> str:
    """A tree on one line: `Type:value(children)`."""
    children, parts = traversal.children(), dict[int, str]()
    for index in range(len(traversal) - 1, node - 1, -1):
        value = traversal.values[index]
        inner = ", ".join(parts.pop(child) for child in children[index])
        parts[index] = traversal.types[index] + (f":{value}" if value is not None else "")
        parts[index] += f"({inner})" if inner else ""
    return parts[node]


def tree(text: str) -> str:
    """The statements of a text."""
    return shown(parse(text)).removeprefix("Module").removeprefix("(").removesuffix(")")


TREES = {
    # Trees of the reference parser under Python 2.7.
    "": "",
    "x[a:b, c]": "Expr(SubscriptLoad(NameLoad:x, ExtSlice(Slice(NameLoad:a, NameLoad:b), Index(NameLoad:c))))",
    "x[a, b]": "Expr(SubscriptLoad(NameLoad:x, Index(TupleLoad(NameLoad:a, NameLoad:b))))",
    "x[..., 0]": "Expr(SubscriptLoad(NameLoad:x, ExtSlice(Ellipsis, Index(Num:0))))",
    "x[...]": "Expr(SubscriptLoad(NameLoad:x, Ellipsis))",
    "x[1::]": "Expr(SubscriptLoad(NameLoad:x, Slice(Num:1, NameLoad:None)))",
    "x[::]": "Expr(SubscriptLoad(NameLoad:x, Slice(NameLoad:None)))",
    "x[a:b:]": "Expr(SubscriptLoad(NameLoad:x, Slice(NameLoad:a, NameLoad:b, NameLoad:None)))",
    "x[a:(b)]": "Expr(SubscriptLoad(NameLoad:x, Slice(NameLoad:a, NameLoad:b)))",
    "x[1:  # ::\n]": "Expr(SubscriptLoad(NameLoad:x, Slice(Num:1)))",
    "x[:]": "Expr(SubscriptLoad(NameLoad:x, Slice))",
    "f(a, *b, k=1, **kw)": "Expr(Call(NameLoad:f, NameLoad:a, keyword:k(Num:1), NameLoad:b, NameLoad:kw))",
    "x = y = 1": "Assign(NameStore:x, NameStore:y, Num:1)",
    "x //= 3": "AugAssignFloorDiv(NameStore:x, Num:3)",
    "del z, q[0]": "Delete(NameDel:z, SubscriptDel(NameLoad:q, Index(Num:0)))",
    "u if v else w": "Expr(IfExp(NameLoad:v, NameLoad:u, NameLoad:w))",
    "{1:'a', 'k':2}": "Expr(Dict(Num:1, Str:k, Str:a, Num:2))",
    "{k: v for k, v in z}": (
        "Expr(DictComp(NameLoad:k, NameLoad:v, comprehension(TupleStore(NameStore:k, NameStore:v), NameLoad:z)))"
    ),
    "a.b.c = d.e": (
        "Assign(AttributeStore(AttributeLoad(NameLoad:a, attr:b), attr:c), AttributeLoad(NameLoad:d, attr:e))"
    ),
    "from . import a": "ImportFrom(alias:a)",
    "from .p.m import b as c": "ImportFrom:p.m(alias:b(identifier:c))",
    "import os.path as o": "Import(alias:os.path(identifier:o))",
    "from x import *": "ImportFrom:x(alias:*)",
    "def f(p, q=2, *a, **k): pass": (
        "FunctionDef:f(arguments(args(NameParam:p, NameParam:q), defaults(Num:2), vararg:a, kwarg:k), "
        "body(Pass), decorator_list)"
    ),
    "@d\ndef f(): return": ("FunctionDef:f(arguments(args, defaults), body(Return), decorator_list(NameLoad:d))"),
    "lambda x: x": "Expr(Lambda(arguments(args(NameParam:x), defaults), NameLoad:x))",
    "class K(B): pass": "ClassDef:K(bases(NameLoad:B), body(Pass), decorator_list)",
    "try: pass\nexcept (A, B) as e: raise\nelse: z = 1\nfinally: pass": (
        "TryFinally(body(TryExcept(body(Pass), handlers(ExceptHandler(type(TupleLoad(NameLoad:A, NameLoad:B)), "
        "name(NameStore:e), body(Raise))), orelse(Assign(NameStore:z, Num:1)))), finalbody(Pass))"
    ),
    "try: pass\nfinally: pass": "TryFinally(body(Pass), finalbody(Pass))",
    "try: pass\nexcept: pass": "TryExcept(body(Pass), handlers(ExceptHandler(body(Pass))))",
    "with a as f, b: pass": "With(NameLoad:a, NameStore:f, body(With(NameLoad:b, body(Pass))))",
    "y = -1.5; -(2)": "Assign(NameStore:y, Num:-1.5), Expr(UnaryOpUSub(Num:2))",
    "--1; - 1; -1j; -0; -0.0; +1; -2**2": (
        "Expr(UnaryOpUSub(Num:-1)), Expr(Num:-1), Expr(Num:-1j), Expr(Num:0), Expr(Num:-0.0), "
        "Expr(UnaryOpUAdd(Num:1)), Expr(UnaryOpUSub(BinOpPow(Num:2, Num:2)))"
    ),
    "0x10; 1.1234567890123456; 1e11; 99999999999.0; 1e400; 2j; 1e-5; 123456789012.0": (
        "Expr(Num:16), Expr(Num:1.12345678901), Expr(Num:1e+11), Expr(Num:99999999999.0), Expr(Num:inf), "
        "Expr(Num:2j), Expr(Num:1e-05), Expr(Num:1.23456789012e+11)"
    ),
    "1 < a <= b != c": "Expr(CompareLtLtENotEq(Num:1, NameLoad:a, NameLoad:b, NameLoad:c))",
    "b'\\xc3\\xa9'; u'a' 'b'": "Expr(Str:é), Expr(Str:ab)",
    "global a, b": "Global(identifier:a, identifier:b)",
    "if a: pass\nelif b: pass\nelse: pass": (
        "If(NameLoad:a, body(Pass), orelse(If(NameLoad:b, body(Pass), orelse(Pass))))"
    ),
    "for x in y: pass\nelse: pass": "For(NameStore:x, NameLoad:y, body(Pass), orelse(Pass))",
    "while 1: break": "While(Num:1, body(Break))",
    "None, True": "Expr(TupleLoad(NameLoad:None, NameLoad:True))",
    # Our own choices.
    "def f(a, /, b, *, c=1, d): pass": (
        "FunctionDef:f(arguments(args(NameParam:a, NameParam:b), defaults, "
        "kwonlyargs(NameParam:c, NameParam:d), kw_defaults(Num:1)), body(Pass), decorator_list)"
    ),
    "def f(*, c, **k): pass": (
        "FunctionDef:f(arguments(args, defaults, kwarg:k, kwonlyargs(NameParam:c)), body(Pass), decorator_list)"
    ),
    "def f(a: A, *b: B) -> C: pass": (
        "FunctionDef:f(arguments(args(NameParam:a(annotation(NameLoad:A))), defaults, "
        "vararg:b(annotation(NameLoad:B))), body(Pass), decorator_list, returns(NameLoad:C))"
    ),
    "x: int = 1": "Assign(NameStore:x, Num:1, annotation(NameLoad:int))",
    "x.y: int": "AnnAssign(AttributeStore(NameLoad:x, attr:y), annotation(NameLoad:int))",
    "async def f(): await x": (
        "AsyncFunctionDef:f(arguments(args, defaults), body(Expr(Await(NameLoad:x))), decorator_list)"
    ),
    "async for x in y: pass": "AsyncFor(NameStore:x, NameLoad:y, body(Pass))",
    "async with a as b, c: pass": ("AsyncWith(NameLoad:a, NameStore:b, body(AsyncWith(NameLoad:c, body(Pass))))"),
    "[x async for x in y]": "Expr(ListComp(NameLoad:x, comprehension(NameStore:x, NameLoad:y)))",
    "(yield from x)": "Expr(YieldFrom(NameLoad:x))",
    "(n := 1)": "Expr(NamedExpr(NameStore:n, Num:1))",
    "a, *b = c": "Assign(TupleStore(NameStore:a, StarredStore(NameStore:b)), NameLoad:c)",
    "[*a]": "Expr(ListLoad(StarredLoad(NameLoad:a)))",
    "f(*a, b, *c, **d, e=1)": (
        "Expr(Call(NameLoad:f, NameLoad:b, keyword:e(Num:1), NameLoad:a, NameLoad:c, NameLoad:d))"
    ),
    "{**a, 'b': 1}": "Expr(Dict(Str:b, DoubleStarred(NameLoad:a), Num:1))",
    "class A(B, metaclass=M, **k): pass": (
        "ClassDef:A(bases(NameLoad:B), keyword:metaclass(NameLoad:M), NameLoad:k, body(Pass), decorator_list)"
    ),
    "nonlocal a": "Nonlocal(identifier:a)",
    "a @ b": "Expr(BinOpMatMult(NameLoad:a, NameLoad:b))",
    "raise A from b": "Raise(NameLoad:A, NameLoad:b)",
    "...": "Expr(Ellipsis)",
    "x[*a]": "Expr(SubscriptLoad(NameLoad:x, Index(TupleLoad(StarredLoad(NameLoad:a)))))",
    "f'a{x}{y!r:>{w}}'": (
        "Expr(JoinedStr(Str:a, FormattedValue(NameLoad:x), "
        "FormattedValueRepr(NameLoad:y, JoinedStr(Str:>, FormattedValue(NameLoad:w)))))"
    ),
    "try: pass\nexcept* E as e: pass\nfinally: pass": (
        "TryFinally(body(TryExceptStar(body(Pass), handlers(ExceptHandler(type(NameLoad:E), name(NameStore:e), "
        "body(Pass))))), finalbody(Pass))"
    ),
    "match x:\n case 1 if g: pass": ("Match(NameLoad:x, cases(match_case(MatchValue(Num:1), NameLoad:g, body(Pass))))"),
    "match x:\n case [a, *b] | None as c: pass\n case _: pass": (
        "Match(NameLoad:x, cases(match_case(MatchAs(MatchOr(MatchSequence(MatchAs(NameStore:a), "
        "MatchStar(NameStore:b)), MatchSingleton(NameLoad:None)), NameStore:c), body(Pass)), "
        "match_case(MatchAs, body(Pass))))"
    ),
    "match x:\n case {'k': v, **r}: pass": (
        "Match(NameLoad:x, cases(match_case(MatchMapping(Str:k, MatchAs(NameStore:v), NameStore:r), body(Pass))))"
    ),
    "match x:\n case m.C(a, k=b): pass": (
        "Match(NameLoad:x, cases(match_case(MatchClass(AttributeLoad(NameLoad:m, attr:C), MatchAs(NameStore:a), "
        "keyword:k(MatchAs(NameStore:b))), body(Pass))))"
    ),
}
if sys.version_info >= (3, 12):
    TREES |= {
        "type X[T: int, *Ts, **P] = T": (
            "TypeAlias(NameStore:X, NameLoad:T, type_params(TypeVar:T(NameLoad:int), TypeVarTuple:Ts, ParamSpec:P))"
        ),
        "def f[T](x: T): pass": (
            "FunctionDef:f(arguments(args(NameParam:x(annotation(NameLoad:T))), defaults), body(Pass), "
            "decorator_list, type_params(TypeVar:T))"
        ),
        "class A[T]: pass": "ClassDef:A(bases, body(Pass), decorator_list, type_params(TypeVar:T))",
    }


@pytest.mark.parametrize("source", TREES)
def test_a_text_gives_the_tree_of_py150_or_the_documented_one(source: str) -> None:
    assert tree(source) == TREES[source]


def test_an_unknown_node_follows_the_default_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    class Novelty(ast.expr):
        _fields = ("value", "ctx", "name")

    novelty = Novelty(value=ast.Name("x", ast.Load(), lineno=1, col_offset=0, end_lineno=1, end_col_offset=1))
    novelty.ctx, novelty.name = ast.Load(), "lost"
    module = ast.Module([novelty], [])
    monkeypatch.setattr(ast, "parse", lambda text: module)
    traversal = parse("x")
    assert shown(traversal) == "Module(NoveltyLoad(NameLoad:x))"
    assert traversal.span(1) == NO_SPAN


def test_strings_that_are_not_utf8_are_written_with_backslashes() -> None:
    assert tree(r"b'\xff'; '\ud800'") == r"Expr(Str:\xff), Expr(Str:\ud800)"


def test_an_integer_too_long_for_decimal_is_hexadecimal() -> None:
    digits = "f" * 5000
    assert tree(f"0x{digits}") == f"Expr(Num:0x{digits})"


def test_without_its_annotations_the_tree_is_that_of_unannotated_code() -> None:
    annotated = tree("def f(a: A, *b: B, c: C = 1) -> D:\n    x: E = a\n")
    assert re.sub(r"(, )?\(?(annotation|returns)\(NameLoad:[A-E]\)", "\0", annotated).count("\0") == 5
    bare = re.sub(r"\(annotation\(NameLoad:[A-E]\)\)|, (annotation|returns)\(NameLoad:[A-E]\)", "", annotated)
    assert bare == tree("def f(a, *b, c=1):\n    x = a\n")


def test_a_tolerant_parse_does_not_recover() -> None:
    with pytest.raises(ParseError):
        PYTHON.parse("x = = 1", True)


# -- spans --------------------------------------------------------------------------------------------------


def text_of(traversal: Traversal, node: int, lines: list[bytes]) -> str | None:
    """The text in the span of a node, None if it has no span."""
    line, column, end_line, end_column = traversal.span(node)
    if line == 0:
        return None
    if line == end_line:
        return lines[line - 1][column:end_column].decode()
    inner = [lines[line - 1][column:], *lines[line : end_line - 1], lines[end_line - 1][:end_column]]
    return b"\n".join(inner).decode()


def misplaced(text: str) -> list[tuple[str, str | None, str | None]]:
    """The identifiers whose span does not contain their text."""
    traversal = parse(text)
    lines = text.replace("\r\n", "\n").replace("\r", "\n").encode().split(b"\n")
    found = []
    for node, role in enumerate(PYTHON.roles(traversal)):
        if role in IDENTIFIER_ROLES:
            value, there = traversal.values[node], text_of(traversal, node, lines)
            plain = re.sub(r"\\\n|#[^\n]*\n|\s", "", there or "")
            if unicodedata.normalize("NFKC", plain) != value or (there != plain and "." not in plain):
                found.append((traversal.types[node], value, there))
    return found


def lost(text: str) -> set[str]:
    """The identifiers of a text that no node has as its value."""
    values = parse(text).values
    kept = {part for value in values if value is not None for part in (value, *value.split("."))}
    tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
    names = {
        token.string
        for before, token in itertools.pairwise(tokens)
        if token.type == tokenize.NAME and before.string != "!"  # `r` of `{x!r}` is a token since 3.12
    }
    names = {unicodedata.normalize("NFKC", name) for name in names if not keyword.iskeyword(name)}
    return names - kept - set(keyword.softkwlist)


IDENTIFIERS = [
    "async  def \\\n  f ( a : A = 1 , / , * b : B , c : C = 2 , ** d : D ) -> E : pass",
    "class  K ( B , m = 1 ) : pass",
    "import os . path as p, sys as \\\n s, a . b",
    "from . . p . m import ( b as c , # d\n e )",
    "from .a import b",
    "try: pass\nexcept ( # as x\n A ) as e : pass",
    "def f():\n  global a , \\\n b\n",
    "def f():\n  nonlocal  a\n",
    "( a # .\n . # b\n b . \\\n c )",
    "f ( k = 1 , # z = 2\n z = 3 )",
    "match x:\n case C ( # ( y = 1\n (a) , k = ( b ) , l = c , ) : pass",
    "match x:\n case { 'k' : ( v ) , # ** q\n ** r , } : pass\n case { ** s } : pass",
    "match x:\n case [ a , * b ] | ( c as d ) : pass",
    "é = ñ.ü; ﬁ.ﬂ(ﬃ=𝐱)\nclass ｆ: pass",
    "import ﬁ.ﬂ as ﬃ\ndef 𝐟(𝐱, *𝐲: é, **𝐳): pass",
    "x = 'é'; y.z = 1",
    "\f\nx = 1\n\fy.z = 2",
    "if x:\n\ty.z",
    "f'{a}{b.c}' 'd' f'{e!r:>{g.h}}'",
    "x = ('é' f'{a}'\n  # {c}\n  rf'\\{b.d}' f'\\N{DIGIT ONE}{e}{{f}}{ g }')",
    "f'''\n{a}\n  {b.c}{\nd.e\n}{f'{g}' + h:{i}}\n'''",
    "f'{ (a) }{a, b}{*a, b}{(yield c)}{(x for x in y)}{lambda_ if d else e}{f!s}{g=}{h = !r:^{i}}'",
    "f\"{x['a']}{ {'k': y}[z] }{a != b}{c == d}{e <= g}{(lambda q: q)(r)}\"",
    'f"{f\'{a.b}\'}" f"{k(l=m)}"',
    "print(f'{a}', f'{a}', f\"{f'{a}'}\", f'{a}')",
    "f'''{(\na.b,\n c)}'''",
    "a.b\r\nc.d\re.f",
]


if sys.version_info >= (3, 12):
    IDENTIFIERS += ["type X [ T : int , * Ts , ** P ] = T", "def f [ T ] ( ) : pass", "f'{f'{a.b}'}'"]


@pytest.mark.parametrize("source", IDENTIFIERS)
def test_an_identifier_has_the_span_of_its_text(source: str) -> None:
    assert misplaced(source) == []


def spans(source: str) -> dict[str, str | None]:
    """Node types, and the text in the span of the last node of each."""
    traversal, lines = parse(source), source.encode().split(b"\n")
    return {type_: text_of(traversal, node, lines) for node, type_ in enumerate(traversal.types)}


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("a\nb", {"Module": "a\nb", "Expr": "b"}),
        ("if a:\n  b\n  c", {"If": "if a:\n  b\n  c", "body": "b\n  c"}),
        ("def f(a, b=1, *c): pass", {"arguments": "a, b=1, *c", "args": "a, b"}),
        ("def f(*, a=1): pass", {"arguments": "a=1"}),
        ("def f(): pass", {"arguments": None, "args": None, "decorator_list": None, "FunctionDef": "f"}),
        ("with a as b, c: d", {"With": "c: d"}),
        ("try: a\nexcept B: c\nfinally: d", {"TryExcept": "try: a\nexcept B: c", "finalbody": "d"}),
        ("[a for b in c if d]", {"comprehension": "b in c if d"}),
        ("x[a:b, c]", {"ExtSlice": "a:b, c", "Slice": "a:b", "Index": "c"}),
        ("x[a::]", {"Slice": "a::"}),
        ("- 1", {"Num": "- 1"}),
        ("f'a{b!r}c'", {"FormattedValueRepr": "{b!r}", "JoinedStr": "f'a{b!r}c'"}),
        ("match a:\n case b: c; d", {"match_case": "b: c; d", "cases": "b: c; d"}),
    ],
)
def test_other_nodes_have_the_extent_of_their_construct(source: str, expected: dict[str, str]) -> None:
    found = spans(source)
    assert {type_: found[type_] for type_ in expected} == expected


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="Python 3.12 requires brackets there")
def test_a_generator_without_brackets_in_an_fstring_has_its_spans() -> None:
    source = "f'{x for x in y}'"
    traversal = parse(source)
    spans = [traversal.span(node) for node, value in enumerate(traversal.values) if value in ("x", "y")]
    assert [source[span.column : span.end_column] for span in spans] == ["x", "x", "y"]


def test_the_none_that_is_not_in_the_source_has_no_span() -> None:
    traversal = parse("x[a::]")
    assert (traversal.values[-1], traversal.span(len(traversal) - 1)) == ("None", NO_SPAN)


def test_a_byte_order_mark_does_not_count() -> None:
    assert parse("\ufeffx.y").span(3) == (1, 0, 1, 1)
    assert PYTHON.decode(b"\xef\xbb\xbfx") == "x"


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="f-strings are corrected for Python 3.11")
@pytest.mark.parametrize("source", ["f'{a.b(c=1)}'", "f'''\n{f(a.b, c=-1)[x]}'''", "f'''\n{f\"{a}\"}'''"])
def test_what_is_not_found_in_an_fstring_has_no_span(source: str, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = shown(parse(source))
    monkeypatch.setattr("rarename.syntax.python.fstrings._fields", lambda *_, **__: [])
    traversal = parse(source)
    assert shown(traversal) == expected
    assert {traversal.span(node) for node in range(4, len(traversal))} == {NO_SPAN}


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="f-strings are corrected for Python 3.11")
def test_an_fstring_that_cannot_be_parsed_again_has_no_spans(monkeypatch: pytest.MonkeyPatch) -> None:
    parse_once = ast.parse

    def refuse(text: str, mode: str = "exec") -> ast.AST:
        if mode == "eval":
            raise RecursionError
        return parse_once(text, mode=mode)

    monkeypatch.setattr(ast, "parse", refuse)
    traversal = parse("f'''{\na.b}''', c")
    found = dict(zip(traversal.values, map(traversal.span, range(len(traversal))), strict=True))
    assert (found["a"], found["b"], found["c"]) == (NO_SPAN, NO_SPAN, (2, 9, 2, 10))


# -- roles --------------------------------------------------------------------------------------------------


def test_roles_of_source_text() -> None:
    source = (
        "import a.b as c\nfrom d import e\nfrom . import u\nglobal g\n"
        "class F(h.i): pass\n"
        "def j(k, *l, m=None, **n): return o(p=1)\n"
        "q = 's', True\ndel t\n"
    )
    traversal = parse(source)
    roles = {
        value: role for value, role in zip(traversal.values, PYTHON.roles(traversal), strict=True) if value is not None
    }
    assert roles == {
        "a.b": Role.MODULE, "c": Role.WRITE, "d": Role.MODULE, "e": Role.MODULE, "g": Role.WRITE,
        "F": Role.CLASS, "h": Role.READ, "i": Role.ATTRIBUTE, "j": Role.FUNCTION, "k": Role.PARAMETER,
        "l": Role.PARAMETER, "m": Role.PARAMETER, "None": Role.CONSTANT, "n": Role.PARAMETER, "o": Role.READ,
        "p": Role.KEYWORD, "1": Role.NUMBER, "q": Role.WRITE, "s": Role.STRING, "t": Role.WRITE, "u": Role.MODULE,
        "True": Role.CONSTANT,
    }  # fmt: skip


def test_roles_of_a_published_record_of_python_2() -> None:
    # def f((a, (b, c))): print `a`; True = 1
    types = ["Module", "FunctionDef", "arguments", "args", "TupleStore", "NameStore", "TupleStore", "NameStore",
             "NameStore", "defaults", "body", "Print", "Repr", "NameLoad", "Assign", "NameStore",
             "Num"]  # fmt: skip
    values = [None, "f", None, None, None, "a", None, "b", "c", None, None, None, None, "a", None, "True", "1"]
    parents = [-1, 0, 1, 2, 3, 4, 4, 6, 6, 2, 1, 10, 11, 12, 10, 14, 14]
    roles = PYTHON.roles(Traversal(types, values, parents))
    assert [role.name for role, value in zip(roles, values, strict=True) if value] == [
        "FUNCTION", "PARAMETER", "PARAMETER", "PARAMETER", "READ", "WRITE", "NUMBER"
    ]  # fmt: skip
    assert all(role is Role.NONE for role, value in zip(roles, values, strict=True) if value is None)


# -- failures -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("x = = 1", "line 1: syntax error: invalid syntax"),
        ("\nprint 'a'", "line 2: Python 2 only: Missing parentheses in call to 'print'."
                        " Did you mean print(...)?"),
        ("x\0", "line 1: null bytes"),
        ("a\n\0", "line 2: null bytes"),
        ("x = '\ud800'", "not text in a known encoding: 'utf-8' codec can't encode character '\\ud800'"
                         " in position 5: surrogates not allowed"),
        ("(" * 300, "line 1: nested too deeply: too many nested parentheses"),
    ],
)  # fmt: skip
def test_an_error_has_a_reason_and_a_line(source: str, message: str) -> None:
    with pytest.raises(ParseError) as failure:
        parse(source)
    assert str(failure.value) == message


@pytest.mark.parametrize(
    "source",
    ["print a", "print >>f, 'a' % b; print c", "exec 'a' in b", "try: pass\nexcept A, e: pass", "`a`",
     "a <> b", "raise A, 'b'", "0777", "ur'a'", "10L", "0xFL", "def f(a, (b, c)): pass",
     "def f(a, (b, c)=d): pass", "lambda (a, b): a",
     "async = 1", "f(async=1)", "'\\user'", "if a:\n        b\n\tc"],
)  # fmt: skip
def test_what_only_python_2_accepts_has_its_own_reason(source: str) -> None:
    with pytest.raises(ParseError) as failure:
        parse(source)
    assert failure.value.reason == "Python 2 only"


@pytest.mark.parametrize("source", ["def f(", "x = '<>' 1", "a b", "if x:\npass", "print(", "'\\x'", "0b2", "a ? b"])
def test_what_is_broken_in_every_python_is_a_syntax_error(source: str) -> None:
    with pytest.raises(ParseError) as failure:
        parse(source)
    assert failure.value.reason == "syntax error"


@pytest.mark.parametrize(
    "source",
    ["(" * 100_000, "-" * 100_000 + "1", "a" + ".b" * 100_000, "a" + "+a" * 100_000, "x = " + "[" * 100_000,
     "if a: pass\n" + "elif b: pass\n" * 100_000, "not " * 100_000 + "a", "a" + "()" * 100_000,
     "\n".join(" " * depth + "if a:" for depth in range(1000)), "lambda: " * 50_000 + "a", "{" * 5000,
     "f'{" * 200, "a = " * 100_000 + "b", "a if b else " * 50_000 + "c", "@" * 10_000],
    ids=range(15),
)  # fmt: skip
def test_deep_nesting_neither_crashes_nor_hangs(source: str) -> None:
    try:
        traversal = parse(source)
    except ParseError as failure:
        assert failure.reason in ("nested too deeply", "syntax error")
    else:
        assert len(PYTHON.roles(traversal)) == len(traversal)


def test_a_tree_deeper_than_the_recursion_limit_is_walked() -> None:
    num_terms = 900
    assert len(parse("a" + "+a" * num_terms)) == 2 * num_terms + 3


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"# coding: latin-1\nx = '\xe9'", "# coding: latin-1\nx = 'é'"),
        (b"#!python\r# -*- coding: cp1252 -*-\rx = '\x80'", "#!python\r# -*- coding: cp1252 -*-\rx = '€'"),
        ("x = 'é'".encode(), "x = 'é'"),
        (b"", ""),
    ],
)
def test_bytes_are_decoded_by_mark_or_cookie(data: bytes, text: str) -> None:
    assert PYTHON.decode(data) == text


@pytest.mark.parametrize(
    "data",
    [b"\xff\xfex\0", b"x = '\xe9'", b"# coding: klingon\n", b"# coding: rot13\n", b"# coding: undefined\n",
     b"\xef\xbb\xbf# coding: latin-1\n", b"# coding: hex\n41", b"# coding: utf-8\n\x80"],
)  # fmt: skip
def test_bytes_in_no_known_encoding_are_refused(data: bytes) -> None:
    with pytest.raises(ParseError, match=r"^not text in a known encoding: .+"):
        PYTHON.decode(data)


def test_every_encoding_of_python_gives_text_or_a_parse_error() -> None:
    for path in sorted((STDLIB / "encodings").glob("*.py")):
        try:
            assert isinstance(PYTHON.decode(f"# coding: {path.stem}\n'\\d'".encode() + bytes([0x80])), str)
        except ParseError as failure:
            assert failure.reason == "not text in a known encoding"


def test_warnings_about_the_parsed_file_are_suppressed() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert tree(r"'\d' is x") == r"Expr(CompareIs(Str:\d, NameLoad:x))"


@pytest.mark.parametrize("is_on", [True, False])
def test_the_garbage_collector_is_left_as_it_was(is_on: bool) -> None:
    was_on = gc.isenabled()
    try:
        (gc.enable if is_on else gc.disable)()
        parse("x")
        with pytest.raises(ParseError):
            parse("x x")
        assert gc.isenabled() is is_on
    finally:
        (gc.enable if was_on else gc.disable)()


# -- properties ---------------------------------------------------------------------------------------------


def standard_library(num_files: int, seed: int) -> list[str]:
    """A fixed sample of the files of the standard library that can be parsed."""
    paths = sorted(path for path in STDLIB.rglob("*.py") if "site-packages" not in path.parts)
    texts = []
    for path in random.Random(seed).sample(paths, num_files):
        try:
            text = PYTHON.decode(path.read_bytes())
            parse(text)
        except ParseError:
            continue
        texts.append(text)
    return texts


def check_traversal(text: str) -> None:
    """What holds for every text that can be parsed."""
    traversal = parse(text)
    assert len(traversal.types) == len(traversal.values) == len(traversal.parents)
    assert traversal.parents[0] == -1
    assert all(0 <= parent < node for node, parent in enumerate(traversal.parents) if node)
    for value in traversal.values:
        assert value is None or value.encode().decode() == value
    assert traversal.spans is not None
    assert traversal.spans.shape == (len(traversal), 4)
    starts, ends = traversal.spans[:, :2].astype("int64"), traversal.spans[:, 2:].astype("int64")
    assert (starts[:, 0] * 10**6 + starts[:, 1] <= ends[:, 0] * 10**6 + ends[:, 1]).all()
    assert (traversal.spans >= 0).all()
    assert misplaced(text) == []


def test_real_code_keeps_every_identifier_in_its_span() -> None:
    for text in standard_library(120 if IS_THOROUGH else 40, seed=0):
        check_traversal(text)
        assert lost(text) == set()


NAMES = st.sampled_from(["a", "bc", "_d", "é", "ﬁn", "𝐱", "名前"])
BLANKS = st.sampled_from(["", " ", "  ", "\t", " \\\n "])


@st.composite
def expressions(draw: st.DrawFn, depth: int = 3) -> str:
    name, blank = draw(NAMES), draw(BLANKS)
    if depth == 0:
        return draw(st.sampled_from([name, "1", "-1", "'é'", "...", "None"]))
    inner, other = draw(expressions(depth=depth - 1)), draw(expressions(depth=depth - 1))
    shapes = [
        f"({inner}){blank}.{blank}{name}",
        f"{name}({inner},{blank}{name}{blank}={blank}{other})",
        f"{name}[{inner}:{other}:]",
        f"{name}[{inner},{blank}::]",
        f"(lambda {name}{blank}={inner}: {other})",
        f"[{inner} for {name} in {other}]",
        f"{{**{inner},{blank}{other}: {name}}}",
        f"({name} := {inner})",
        f"({inner}{blank}+ {other})",
    ]
    if "\\" not in inner and "'" not in inner and '"' not in inner:
        shapes += [f"f'é{{ {inner}!r:>{{{name}}}}}{{{name}}}'", f"f'''\n{{{name}}}\n{{ {inner}\n}}''' f'{{{name}}}'"]
    return draw(st.sampled_from(shapes))


@st.composite
def statements(draw: st.DrawFn) -> str:
    name, blank, value = draw(NAMES), draw(BLANKS), draw(expressions())
    other = draw(NAMES.filter(lambda other: other != name))
    return draw(
        st.sampled_from(
            [
                f"{name}{blank}: {other} = {value}",
                f"def {blank}{name}({other}: {value}, *, q={value}) -> {name}: {other}",
                f"class {blank}{name}({other}, k={value}): {name}",
                f"import {name}{blank}.{blank}{other} as {blank}{name}",
                f"from .{blank}{name} import {other} as {name}",
                f"try: {value}\nexcept ({name}){blank} as {blank}{other}: pass",
                f"with {value} as {name}, {other}: pass",
                f"global {blank}{name},{blank}{other}",
                f"match {value}:\n case {name}({other}, {other}=[*{name}]): pass\n case {{**{name}}}: pass",
                f"async def {name}():\n  async for {other} in {value}: await {name}",
            ]
        )
    )


@settings(max_examples=300 if IS_THOROUGH else 60, deadline=None)
@given(st.lists(statements(), min_size=1, max_size=4).map("\n".join))
def test_generated_code_keeps_every_identifier_in_its_span(text: str) -> None:
    try:
        ast.parse(text)
    except SyntaxError:
        return
    check_traversal(text)


@settings(max_examples=300, deadline=None)
@given(st.one_of(st.binary(max_size=200), st.text(max_size=100).map(lambda text: text.encode("utf-8", "ignore"))))
def test_any_bytes_give_a_traversal_or_a_parse_error(data: bytes) -> None:
    try:
        parse(PYTHON.decode(data))
    except ParseError as failure:
        assert failure.reason


@settings(max_examples=200, deadline=None)
@given(st.text(alphabet=st.sampled_from("ab1 \n\t\f\r\\'\"{}[]().,:;=!<>@#fr*\ud800é\0"), max_size=60))
def test_any_text_gives_a_traversal_or_a_parse_error(text: str) -> None:
    try:
        check_traversal(text)
    except ParseError as failure:
        assert failure.reason


MUTATED = standard_library(8, seed=2)


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(MUTATED), st.randoms(use_true_random=False))
def test_mutated_code_gives_a_traversal_or_a_parse_error(text: str, rng: random.Random) -> None:
    lines = text.split("\n")
    start = rng.randrange(len(lines))
    piece = "\n".join(lines[start : start + rng.randrange(1, 40)])
    for _ in range(rng.randrange(4)):
        at = rng.randrange(len(piece) + 1)
        piece = piece[:at] + rng.choice(["(", ")", "'", "{", "\n", "\r", "", ":", "f'", "é"]) + piece[at + 1 :]
    try:
        check_traversal(piece)
    except ParseError as failure:
        assert failure.reason
