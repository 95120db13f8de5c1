"""Text becomes the tokens of GREAT, each with its class, role and span."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rarename.errors import ParseError
from rarename.syntax.tokens import TOKEN_CLASSES, TOKENS, sequence, token_class
from rarename.syntax.traversal import NO_SPAN, Role

FUNCTION = '''\
@cached
def  total (self, *names, scale=1.5, **options):
    # not a token
    if self is not None and names not in ('é', b"x"):
        for name in names:
            options[name] = load(name, key=scale)

    return """two
lines""" + self.total
'''


def tokens_of(text):
    return list(TOKENS.parse(text, False).values)


def test_text_is_split_as_great_does():
    assert " ".join(tokens_of(FUNCTION)) == (
        "#NEWLINE# @ cached #NEWLINE# def total( self , * names , scale = 1.5 , **options ) : "
        "#NEWLINE# #INDENT# if self is not None and names not in ( 'é' , b\"x\" ) : "
        "#NEWLINE# #INDENT# for name in names : "
        "#NEWLINE# #INDENT# options [ name ] = load ( name , key = scale ) #NEWLINE# #UNINDENT# #UNINDENT# "
        'return """two\nlines""" + self . total'
    )


def test_every_token_is_a_root():
    tree = TOKENS.parse(FUNCTION, False)
    assert set(tree.parents) == {-1}
    assert set(tree.types) <= set(TOKEN_CLASSES)


def test_span_of_a_name_covers_its_text():
    tree = TOKENS.parse(FUNCTION, True)
    lines = FUNCTION.encode().split(b"\n")
    checked = 0
    for node, (kind, value) in enumerate(zip(tree.types, tree.values, strict=True)):
        span = tree.span(node)
        if kind == "Layout":
            assert span == NO_SPAN
        elif span.line == span.end_line:
            text = lines[span.line - 1][span.column : span.end_column].decode()
            assert text == ("total" if kind == "Function" else value)
            checked += 1
    assert checked > 40


def test_roles_follow_from_the_neighbours():
    tree = TOKENS.parse(FUNCTION + "import os\nfrom a import b\nwith x as y: z += 1\nclass K(K2): pass\n", False)
    found = {
        (value, role.name)
        for value, role, kind in zip(tree.values, TOKENS.roles(tree), tree.types, strict=True)
        if kind not in ("Layout", "Operator")
    }
    expected = {
        ("def total(", "FUNCTION"), ("self", "PARAMETER"), ("names", "PARAMETER"), ("scale", "PARAMETER"),
        ("**options", "KEYWORD"), ("None", "CONSTANT"), ("self", "READ"), ("name", "WRITE"), ("name", "READ"),
        ("key", "KEYWORD"), ("scale", "READ"), ("total", "ATTRIBUTE"), ("1.5", "NUMBER"), ("'é'", "STRING"),
        ("os", "MODULE"), ("a", "MODULE"), ("b", "MODULE"), ("y", "WRITE"), ("z", "WRITE"), ("x", "READ"),
        ("class K", "CLASS"), ("K2", "READ"), ("return", "OPERATOR"),
    }  # fmt: skip
    assert expected <= found
    assert ("key", "READ") not in found and ("os", "READ") not in found


def test_ready_made_tokens_keep_their_positions():
    tokens = [
        "#NEWLINE#",
        "def f(",
        "x",
        ")",
        ":",
        "#NEWLINE#",
        "#INDENT#",
        "return",
        "x",
        "django.db",
        "as np",
    ]
    tree = sequence(tokens)
    assert tree.values == tokens
    assert tree.types[-2:] == ["Name", "Name"]
    assert TOKENS.roles(tree)[-1] is Role.KEYWORD


@pytest.mark.parametrize(
    ("token", "kind"),
    [
        ("", "Layout"),
        ("**kw", "Name"),
        ("**", "Operator"),
        (".5", "Number"),
        ("lambda", "Keyword"),
        ("✖", "Operator"),
        ("'", "String"),
    ],
)
def test_class_of_odd_tokens(token, kind):
    assert token_class(token) == kind


def test_text_that_is_not_utf8_is_refused():
    with pytest.raises(ParseError) as caught:
        TOKENS.decode(b"a\xff")
    assert str(caught.value) == "not text in a known encoding: invalid start byte at byte 1"


def test_byte_order_mark_is_dropped():
    assert TOKENS.decode(b"\xef\xbb\xbfx") == "x"


def test_empty_text_has_no_tokens():
    tree = TOKENS.parse("\n\n  # nothing\n", False)
    assert len(tree) == 0 and tree.spans.shape == (0, 4)


@pytest.mark.parametrize("text", ['"\\' * 20_000, "'''\\" * 20_000, "\\" * 40_000, "(" * 40_000, "1." * 40_000])
def test_hostile_text_takes_linear_time(text):
    assert len(TOKENS.parse(text, False)) > 0


@given(st.text(alphabet=st.characters() | st.sampled_from("\"'\\\n \t#(*d")))
def test_any_text_has_tokens_and_roles(text):
    tree = TOKENS.parse(text, False)
    assert len(TOKENS.roles(tree)) == len(tree.spans) == len(tree)
    kept = "".join(value for value, kind in zip(tree.values, tree.types, strict=True) if kind != "Layout")
    assert len(kept) <= len(text)
