"""JavaScript to traversals: trees, values, spans, roles, broken code, hostile code."""

import pickle
import re
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rarename.errors import ParseError
from rarename.syntax.javascript import JAVASCRIPT, cst
from rarename.syntax.javascript.literals import cooked_number, cooked_regexp, cooked_string
from rarename.syntax.javascript.parser import parse
from rarename.syntax.traversal import NO_SPAN, Role, Traversal


def compact(traversal: Traversal) -> list[str]:
    """The tree of each statement on one line: `ExpressionStatement(CallExpression(Identifier:f))`."""
    children = traversal.children()
    written = [""] * len(traversal)
    for node in range(len(traversal) - 1, -1, -1):
        value = traversal.values[node]
        inner = ", ".join(written[child] for child in children[node])
        written[node] = (
            traversal.types[node] + (f":{value}" if value is not None else "") + (f"({inner})" if inner else "")
        )
    return [written[child] for child in children[0]]


def tree_of(text: str, *, tolerant: bool = False) -> str:
    return "; ".join(compact(parse(text, tolerant)))


def read_cases() -> list[tuple[str, list[str]]]:
    blocks = Path(__file__).with_name("javascript_trees.txt").read_text(encoding="utf-8").split("\n\n")
    cases = []
    for block in blocks:
        lines = [line for line in block.split("\n") if line and not line.startswith("#  ")]
        trees = [line.removeprefix("=> ") for line in lines if line.startswith("=> ")]
        snippet = "\n".join(line for line in lines if not line.startswith("=> "))
        if snippet:
            cases.append((snippet, trees))
    return cases


CASES = read_cases()


@pytest.mark.parametrize(("snippet", "trees"), CASES, ids=[snippet for snippet, _ in CASES])
def test_tree_of_a_snippet(snippet: str, trees: list[str]) -> None:
    assert compact(parse(snippet, False)) == trees


def test_empty_program_is_a_lone_node() -> None:
    for text in ("", " \n", "// only a comment", "#!/usr/bin/env node"):
        assert list(parse(text, False).types) == ["Program"]


# -- values -----------------------------------------------------------------------------------------


NUMBERS = [
    ("0", "0"), ("472450", "472450"), ("0xFEFF", "65279"), ("0b11", "3"), ("0o17", "15"), ("017", "15"),
    ("089", "89"), ("09.5", "9.5"), (".5", "0.5"), ("5.", "5"), ("1.0", "1"), ("1_000", "1000"), ("1e3", "1000"),
    ("1e20", "100000000000000000000"), ("1e21", "1e+21"), ("1.5e300", "1.5e+300"), ("0.000001", "0.000001"),
    ("1e-7", "1e-7"), ("1.25e-9", "1.25e-9"), ("1e400", "Infinity"), ("123456789012345678", "123456789012345680"),
    ("9007199254740993", "9007199254740992"), ("5e-324", "5e-324"), ("0x" + "f" * 400, "Infinity"),
]  # fmt: skip


@pytest.mark.parametrize(("raw", "value"), NUMBERS)
def test_numbers_are_printed_as_javascript_prints_them(raw: str, value: str) -> None:
    assert cooked_number(raw) == value
    assert f"LiteralNumber:{value}" in tree_of(f"x = {raw}")


def test_big_integers_of_any_length() -> None:
    assert cooked_number("0x10n") == "16"
    assert cooked_number("9" * 9000 + "n") == "9" * 9000
    assert len(cooked_number("0x" + "f" * 9000 + "n")) > 9000


@pytest.mark.parametrize(
    ("raw", "value"),
    [
        (r"plain", "plain"),
        (r"\n\t\r\b\f\v", "\n\t\r\b\f\v"),
        (r"\x41\u0041\u{1F600}", "AA😀"),
        (r"\0 \101 \7 \377 \8", "\0 A \7 ÿ 8"),
        (r"\'\"\\\z", "'\"\\z"),
        ("a\\\nb\\\r\nc", "abc"),
        (r"\ud83d\ude00", "😀"),
        (r"\ud800 \ude00\ud83d", "\ufffd \ufffd\ufffd"),
        (r"\u{110000}\u{ffffffffff}", "\ufffd\ufffd"),
    ],
)
def test_strings_are_cooked(raw: str, value: str) -> None:
    assert cooked_string(raw) == value
    cooked_string(raw).encode()


def test_flags_of_a_regular_expression_are_sorted() -> None:
    assert cooked_regexp("/a/mig") == "/a/gim"


def test_escapes_in_names() -> None:
    assert tree_of(r"\u0061b = c\u{64}") == tree_of("ab = cd")


def test_lines_of_a_template_end_with_one_newline() -> None:
    assert parse("`a\r\nb\rc`", False).values[-1] == "a\nb\nc"


# -- spans ------------------------------------------------------------------------------------------


def text_at(source: str, traversal: Traversal, node: int) -> str:
    lines = source.encode().split(b"\n")
    line, column, end_line, end_column = traversal.span(node)
    if line == end_line:
        return lines[line - 1][column:end_column].decode()
    inner = [lines[line - 1][column:], *lines[line : end_line - 1], lines[end_line - 1][:end_column]]
    return b"\n".join(inner).decode()


@pytest.mark.parametrize(
    ("source", "type_", "text"),
    [
        ("var é, abc = 1;", "VariableDeclarator", "é"),
        ("x = {key: 1}", "Property", "key"),
        ("x = {'key': 1}", "Property", "key"),
        (r"x = {'k\x65y': 1}", "Property", r"'k\x65y'"),
        ("a.\n  name", "Property", "name"),
        ("a[ index ]", "Property", "index"),
        ("class A { #field = 1 }", "PropertyDefinition", "field"),
        ("class A { async method() {} }", "MethodDefinition", "method"),
        ("x = {get y() { return 1 }}", "FunctionExpression", "() { return 1 }"),
        ("for (var k in o) ;", "VariableDeclaration", "var k"),
        ("switch (a) { case 1: b; c }", "BlockStatement", "b; c"),
        ("😀 = `x${ y }z`", "TemplateElement", "x"),
        ("a +\n b", "BinaryExpression", "a +\n b"),
    ],
)
def test_span_of_a_node(source: str, type_: str, text: str) -> None:
    traversal = parse(source, False)
    assert text_at(source, traversal, list(traversal.types).index(type_)) == text


def test_made_up_nodes_have_no_span() -> None:
    traversal = parse("for (;;) {}", False)
    assert [traversal.span(node) for node in (2, 3, 4)] == [NO_SPAN] * 3


def test_lines_end_with_newline_alone() -> None:
    traversal = parse("a;\r\nb;\u2028c;", False)
    assert [traversal.span(node).line for node, value in enumerate(traversal.values) if value] == [1, 2, 2]


# -- roles ------------------------------------------------------------------------------------------


def roles_of(text: str) -> str:
    traversal = parse(text, False)
    roles = JAVASCRIPT.roles(traversal)
    return " ".join(
        f"{value}:{role.name}" for value, role in zip(traversal.values, roles, strict=True) if value is not None
    )


@pytest.mark.parametrize(
    ("text", "roles"),
    [
        ("var a = b, c;", "a:WRITE b:READ c:WRITE"),
        ("a = b; a += b; a.b = c;", "a:WRITE b:READ a:WRITE b:READ a:READ b:ATTRIBUTE c:READ"),
        ("i++; delete j;", "?++:OPERATOR i:WRITE delete:OPERATOR j:WRITE"),
        ("a[i][j.k];", "a:READ i:READ j:READ k:ATTRIBUTE"),
        ("for (k in o) ; for (var k in o) ;", "k:WRITE o:READ k:WRITE o:READ"),
        ("function f(a, b) { return a }", "f:FUNCTION a:PARAMETER b:PARAMETER a:READ"),
        ("x = function (a) {}", "x:WRITE a:PARAMETER"),
        ("(a, {b, c: d = e}, ...g) => a",
         "a:PARAMETER b:ATTRIBUTE b:PARAMETER c:ATTRIBUTE d:PARAMETER e:READ g:PARAMETER a:READ"),
        ("a => { a }; b => c", "a:PARAMETER a:READ b:PARAMETER c:READ"),
        ("try {} catch (e) { e }", "e:WRITE e:READ"),
        ("try {} catch { f }", "f:READ"),
        ("x = {a: b, 'c d': 1, 2: 3}", "x:WRITE a:ATTRIBUTE b:READ c d:STRING 1:NUMBER 2:NUMBER 3:NUMBER"),
        ("x = {$a: b, [c]: d}", "x:WRITE $a:ATTRIBUTE b:READ c:READ d:READ"),
        ("[a, {b: c, [d]: e}] = f", "a:WRITE b:ATTRIBUTE c:WRITE d:READ e:WRITE f:READ"),
        ("var {a = b, ...c} = d", "a:ATTRIBUTE a:WRITE b:READ c:WRITE d:READ"),
        ("class A extends B { m() {} #p = q; }", "A:CLASS B:READ m:ATTRIBUTE p:ATTRIBUTE q:READ"),
        ("x = class extends B {}", "x:WRITE B:READ"),
        ("import a, {b, c as d} from 'm'", "a:WRITE b:WRITE c:MODULE d:WRITE m:STRING"),
        ("import * as n from 'm'", "n:WRITE m:STRING"),
        ("export {a, b as c}", "a:READ b:READ c:MODULE"),
        ("export {a, b as c} from 'm'", "a:MODULE b:MODULE c:MODULE m:STRING"),
        ("export default function (a) {}", "a:PARAMETER"),
        ("true; null; 1; 2n; 'a'; /b/; `c`; new.target",
         "true:CONSTANT null:CONSTANT 1:NUMBER 2:NUMBER a:STRING /b/:REGEXP c:STRING new.target:CONSTANT"),
        ("a + b && !c", "&&:OPERATOR +:OPERATOR a:READ b:READ !:OPERATOR c:READ"),
        ("x = <A b={c}>d<e/></A>", "x:WRITE A:READ b:ATTRIBUTE c:READ d:STRING e:ATTRIBUTE A:READ"),
    ],
)  # fmt: skip
def test_roles(text: str, roles: str) -> None:
    assert roles_of(text) == roles


def test_roles_of_a_published_record_with_odd_nodes() -> None:
    """Rare published nodes lack a value, and their keys may be anything."""
    traversal = Traversal(
        ["Program", "Identifier", "Property", "VariableDeclarator", "Property", "Identifier", "Unheard"],
        [None, None, None, None, "12", "✖", "x"],
        [-1, 0, 0, 0, 0, 0, 0],
    )
    none = Role.NONE
    assert JAVASCRIPT.roles(traversal) == [none, none, none, none, Role.NUMBER, Role.CONSTANT, none]


# -- bytes and failures -----------------------------------------------------------------------------


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_known_encodings(encoding: str) -> None:
    assert JAVASCRIPT.decode("é = '✓'".encode(encoding)) == "é = '✓'"


@pytest.mark.parametrize("content", [b"\xff\xfe\x00", b"\xe9 = 1", b"\xfe\xff\xd8\x00"])
def test_unknown_encodings(content: bytes) -> None:
    with pytest.raises(ParseError, match=r"^not text in a known encoding"):
        JAVASCRIPT.decode(content)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a;\nvar = 1;", "line 2: syntax error: unexpected 'var ='"),
        ("a;\nf(", "line 2: syntax error: unexpected 'f('"),
        ("if (a", "line 1: syntax error: unexpected 'if (a'"),
        ("a;\n\nb = {c: };", "line 3: syntax error: expected 'identifier'"),
    ],
)
def test_message_of_a_syntax_error(text: str, message: str) -> None:
    with pytest.raises(ParseError) as caught:
        parse(text, False)
    assert str(caught.value) == message
    assert str(pickle.loads(pickle.dumps(caught.value))) == message


def test_hostile_text_times_out() -> None:
    started = time.process_time()
    with pytest.raises(ParseError, match=r"^gave up after too long: 1\.0 seconds$"):
        parse("'" * 100_001, True)
    assert time.process_time() - started < 5


def test_a_run_of_comments_takes_linear_time() -> None:
    started = time.process_time()
    assert tree_of("let\n" + "/**/" * 40 + "=1;") == tree_of("let = 1;")
    assert cst._LINE_END.match(b"/**/" * 40 + b"=") is None
    assert cst._LINE_END.match(b"/**/" * 40 + b"\n")
    assert time.process_time() - started < 1


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("x = [#1#]", "ExpressionStatement(AssignmentExpression(Identifier:x, ArrayExpression(LiteralNumber:1)))"),
        ("({a: 1 = [2]})",
         "ExpressionStatement(ObjectExpression(Property:a(AssignmentExpression(Identifier:✖, "
         "ArrayExpression(LiteralNumber:2)))))"),
        ("a; }", "ExpressionStatement(Identifier:a)"),
        ("a = ;", "ExpressionStatement(AssignmentExpression(Identifier:a, Identifier:✖))"),
        ("a.", "ExpressionStatement(MemberExpression(Identifier:a, Property:✖))"),
        ("'a' = b", "ExpressionStatement(AssignmentExpression(Identifier:✖, Identifier:b))"),
        ("f(a b)", "ExpressionStatement(CallExpression(Identifier:f, Identifier:a, Identifier:b))"),
    ],
)  # fmt: skip
def test_recovery_from_syntax_errors(text: str, tree: str) -> None:
    assert tree_of(text, tolerant=True) == tree
    with pytest.raises(ParseError):
        parse(text, False)


def test_recovery_keeps_the_spans_of_names() -> None:
    source = "é = ;\nb = +;\nc"
    traversal = parse(source, True)
    found = [(value, text_at(source, traversal, node)) for node, value in enumerate(traversal.values) if value]
    assert found == [("é", "é"), ("✖", ""), ("b", "b"), ("+", "+"), ("✖", ""), ("c", "c")]


def test_recovery_does_not_add_the_own_names_of_functions() -> None:
    assert tree_of("x = function own() { a b }", tolerant=True).count("Identifier") == 3


def test_correct_code_has_the_same_tree_in_a_tolerant_parse() -> None:
    for snippet, trees in CASES:
        assert compact(parse(snippet, True)) == trees


# -- deep code --------------------------------------------------------------------------------------

DEEP = 20_000


@pytest.mark.parametrize(
    ("text", "num_nodes"),
    [
        ("(" * DEEP + "a" + ")" * DEEP, 3),
        ("[" * DEEP + "]" * DEEP, DEEP + 2),
        ("a+" * DEEP + "a", 2 * DEEP + 3),
        ("a" + ".b" * DEEP, 2 * DEEP + 3),
        ("a" + "?.b" * DEEP, 2 * DEEP + 4),
        ("if (a) b; else " * DEEP + "c", 4 * DEEP + 3),
        ("a => " * DEEP + "b", 2 * DEEP + 3),
        ("await (" * (DEEP) + "a" + ").b" * (DEEP), 3 * (DEEP) + 3),
    ],
    ids=["parentheses", "arrays", "sums", "members", "optional members", "else if", "arrows", "awaits"],
)
def test_deep_code_is_walked_without_recursion(text: str, num_nodes: int) -> None:
    traversal = parse(text, False)
    assert len(JAVASCRIPT.roles(traversal)) == len(traversal) == num_nodes


# -- properties -------------------------------------------------------------------------------------

NAMES = st.integers(0, 9).map("n{}".format)


def _expressions(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    shapes = [
        "({0}).{n}", "({0})[{1}]", "({0})({1}, ...{2})", "new ({0})({1})", "[{0}, , {1}]", "({0}) + ({1})",
        "({0}) ? ({1}) : ({2})", "({{ {n}: {0}, {m}, [{1}]: {2} }})", "(({n}, {{ {m} = {0} }}) => {1})",
        "(async ({n}) => {{ await ({0}).{m} }})", "`a${{{0}}}b${{{1}}}`", "({0})?.{n}?.[{1}]",
        "(class {n} extends ({0}) {{ #{m} = {1}; {n}() {{ return this.#{m} }} }})",
        "(function ({n}, ...{m}) {{ return {0} }})", "({n} = {0})", "([{n}, {{ {m}: n9 }}] = {0})",
        "(-{0}, {1})", "(typeof {0} in {1})", "({n}++)", "{n}`a${{{1}}}`", "(function* () {{ yield {0} }})",
    ]  # fmt: skip
    return st.builds(
        lambda shape, parts, n, m: shape.format(*parts, n=n, m=m),
        st.sampled_from(shapes),
        st.tuples(inner, inner, inner),
        NAMES,
        NAMES,
    )


EXPRESSIONS = st.recursive(NAMES, _expressions, max_leaves=12)
STATEMENTS = st.builds(
    lambda shape, a, b, n, m: shape.format(a, b, n=n, m=m),
    st.sampled_from(
        [
            "var {n} = {0}, [{m}] = {1};", "{0}\n;", "for (const {n} of {0}) {{ {1} }}", "for ({n} in {0}) ;",
            "function {n}({m} = {0}) {{ return {1} }}", "switch ({0}) {{ case {1}: {n}; default: {m} }}",
            "try {{ {0} }} catch ({n}) {{ {1} }} finally {{ {m} }}", "do {n}(); while ({0})",
            "import {n}, {{ {m} as n8 }} from 'm';", "export {{ {n} as {m} }};", "export default ({0});",
            "class {n} {{ static {{ {0} }} get {m}() {{ {1} }} }}", "if ({0}) {n}; else {m};",
        ]
    ),
    EXPRESSIONS,
    EXPRESSIONS,
    NAMES,
    NAMES,
)  # fmt: skip
PROGRAMS = st.lists(STATEMENTS, min_size=1, max_size=4).map("\n".join)
RELAXED = settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def assert_is_traversal(traversal: Traversal) -> None:
    assert len(traversal.types) == len(traversal.values) == len(traversal.parents)
    assert traversal.spans is not None and traversal.spans.shape == (len(traversal), 4)
    ancestors = [-1]
    for node, parent in enumerate(traversal.parents):
        while ancestors[-1] != parent:  # fails on an empty list when the order is not pre-order
            ancestors.pop()
        ancestors.append(node)
    for value in traversal.values:
        assert value is None or value.encode() is not None
    roles = JAVASCRIPT.roles(traversal)
    assert [role is Role.NONE for role in roles] == [value is None for value in traversal.values]


@RELAXED
@given(PROGRAMS)
def test_parse_keeps_every_identifier(source: str) -> None:
    traversal = parse(source, False)
    assert_is_traversal(traversal)
    starts = {
        (span.line, span.column)
        for span, value in ((traversal.span(node), value) for node, value in enumerate(traversal.values))
        if value is not None
    }
    for number, line in enumerate(source.split("\n"), 1):
        for match in re.finditer(r"\bn\d\b", line):
            assert (number, match.start()) in starts, match


@RELAXED
@given(PROGRAMS)
def test_spans_cover_the_text_of_identifiers(source: str) -> None:
    traversal = parse(source, False)
    for node, value in enumerate(traversal.values):
        if value is not None and re.fullmatch(r"n\d", value) and traversal.types[node] != "TemplateElement":
            assert text_at(source, traversal, node) == value


@st.composite
def damaged(draw: st.DrawFn) -> str:
    source = draw(st.sampled_from([snippet for snippet, _ in CASES]) | PROGRAMS)
    for _ in range(draw(st.integers(1, 3))):
        start = draw(st.integers(0, len(source)))
        end = min(len(source), start + draw(st.integers(0, 3)))
        noise = draw(st.sampled_from([*"()[]{}`'\"/=#\\\0é;,.<>", "=>", "${", "async ", "await ", "class "]))
        source = source[:start] + noise + source[end:]
    return source


@RELAXED
@given(damaged() | st.text(max_size=60))
def test_damaged_text_gives_a_traversal_or_a_parse_error(source: str) -> None:
    assert_is_traversal(parse(source, True))
    try:
        assert_is_traversal(parse(source, False))
    except ParseError as error:
        assert error.reason == "syntax error" and error.line > 0


@RELAXED
@given(st.binary(max_size=60))
def test_any_bytes_decode_or_are_refused(content: bytes) -> None:
    try:
        parse(JAVASCRIPT.decode(content), True)
    except ParseError as error:
        assert error.reason == "not text in a known encoding"
