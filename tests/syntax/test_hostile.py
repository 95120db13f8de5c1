"""Texts on which a pattern that backtracks would not end in hours, or a quadratic step not in minutes."""

import sys
import unicodedata

import pytest

from rarename.errors import ParseError
from rarename.syntax import LANGUAGES, parse
from rarename.syntax.cursor import at_cursor


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("javascript", "let\n" + "/**/" * 50_000 + "=1;"),
        ("javascript", "let\n" + "// x\n" * 50_000 + "a = 1;"),
        ("javascript", "x = <a>/* b */ " + "/**/" * 50_000 + "</a>"),
        ("python", "lambda," * 100_000),
        ("python", "raise " * 200_000),
        ("python", "with a" + ", a" * 100_000 + ": pass"),
        ("python", "x = [" + "é.é, " * 50_000 + "]"),
        ("python", 'x = f"{(a)}"\n' * 20_000),
        ("python", "import a" + "\\\n.á" * 60_000),
        ("python", "from ." + ".a" * 100_000 + " import b"),
        ("python", "x = a" + "\u0316\u0300" * 100_000),
        ("python", "x = a" + "\u0316\uff9e" * 100_000),
    ],
)
def test_a_hostile_text_is_parsed_or_refused(language, text):
    try:
        assert len(parse(text, language)) > 1
    except ParseError as error:
        assert error.reason in ("syntax error", "nested too deeply")


def test_all_characters_that_normalization_moves_are_counted():
    letters = map(chr, range(0x80, sys.maxunicode + 1))
    moved = [each for each in letters if unicodedata.combining(unicodedata.normalize("NFKD", each)[0])]
    assert len(moved) > 900
    for each in moved:
        with pytest.raises(ParseError, match="line 2: nested too deeply: a name with more than 500 parts or combining"):
            parse(f"\na{each * 501} = 1", "python")


def test_long_names_are_no_problem():
    module = ".".join(["a\u0300"] * 501)
    tree = parse(f"import {module}\n{'a' * 5_000} = 'a{chr(0x300) * 400}', '{'─' * 500}'", "python")
    assert unicodedata.normalize("NFKC", module) in tree.values


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("javascript", "f(\nfunction" + " " * 50_000 + "!\nx."),
        ("javascript", "f(\nclass" + " " * 200_000 + "!\nx."),
        ("javascript", "switch(a){case b:" * 2_000 + "x."),
        ("javascript", "case " + "a?b:" * 20_000 + "\nx."),
        ("javascript", "x" + " +]" * 50_000 + "\nx."),
        ("javascript", "(" * 20_000 + "a{}" * 20_000 + "\nx."),
        ("javascript", "(function" + " " * 50_000 + "(){})\nx."),
        ("javascript", "[" + "[a," * 10_000 + "] = b" + "]" * 10_000 + "\nx."),
        ("javascript", "cursor" + "_" * 200_000 + "\nx."),
        ("python", "except " * 50_000 + "\nx."),
        ("python", 'f"' + r"\N{" * 50_000 + "{x."),
        ("python", "from " + "." * 200_000 + " import a\nx."),
    ],
)
def test_a_name_after_a_hostile_text_is_completed(language, text):
    lines = text.split("\n")
    assert at_cursor(text, LANGUAGES[language], len(lines), len(lines[-1]) + 1).word == ""


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("raise E, 'x'", "Python 2 only"),
        ("def f(a, (b, c)): pass", "Python 2 only"),
        ("x = 10L", "Python 2 only"),
        ("ur'x'", "Python 2 only"),
        ("a <> b", "Python 2 only"),
        ("f(async=1)", "Python 2 only"),
        ("lambda,", "syntax error"),
        ("f(a, ,)", "syntax error"),
    ],
)
def test_python_2_is_recognized_at_the_error(text, reason):
    with pytest.raises(ParseError) as caught:
        parse(text, "python")
    assert caught.value.reason == reason
