"""Source texts, anonymized in place. Each file of `cases/anonymize` has settings, source and expected output."""

import sysconfig
from pathlib import Path

import pytest

from rarename import Vocabulary, anonymize_source, parse
from rarename.errors import ParseError
from rarename.syntax import PYTHON, language_of

CASES = sorted((Path(__file__).parent / "cases" / "anonymize").iterdir())


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.name)
def test_cases_have_the_expected_output(path):
    head, rest = path.read_text(encoding="utf-8").split("\n", 1)
    mark = head.split()[0]
    settings = dict(word.split("=") for word in head.split()[1:])
    source, expected = rest.split(f"{mark} output\n")
    result = anonymize_source(
        source, language_of(path), Vocabulary(settings["vocabulary"].split(",")), settings["strategy"]
    )
    assert result.text == expected
    if settings["strategy"] != "standard":
        assert result.restore() == source


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize(
    ("language", "lines", "expected"),
    [
        (
            "python",
            ["alpha = 1", "", "def beta(gamma):", "    return alpha + gamma", ""],
            ["VAR1 = 1", "", "def VAR2(VAR3):", "    return VAR1 + VAR3", ""],
        ),
        (
            "javascript",
            ["var alpha = 1;", "", "function beta(gamma) {", "  return alpha + gamma;", "}", ""],
            ["var VAR1 = 1;", "", "function VAR2(VAR3) {", "  return VAR1 + VAR3;", "}", ""],
        ),
    ],
)
def test_line_ends_and_byte_order_mark_are_kept(language, lines, expected, mark, end):
    result = anonymize_source(mark + end.join(lines), language, Vocabulary([]))
    assert result.text == mark + end.join(expected)


LIBRARY = sorted(Path(sysconfig.get_paths()["stdlib"]).glob("*.py"))[::5]


@pytest.mark.parametrize("path", LIBRARY, ids=lambda path: path.name)
def test_renaming_changes_names_and_nothing_else(path):
    source = PYTHON.decode(path.read_bytes())
    result = anonymize_source(source, "python", Vocabulary([]))
    after = parse(result.text, "python")
    assert after.types == result.traversal.types
    # An f-string such as f"{x=}" prints the name as well: there a string changes too.
    changed = [
        (after.types[node], result.values[node])
        for node, value in enumerate(after.values)
        if value != result.values[node]
    ]
    assert not [change for change in changed if change[0] != "Str" or not change[1].rstrip().endswith("=")]
    assert result.restore() == source


def test_names_are_put_back_into_a_text_made_from_it():
    result = anonymize_source("my_y = np.sin(my_x)", "python", Vocabulary(["np", "sin"]))
    assert result.restore("VAR2 = VAR1 + VAR9") == "my_x = my_y + VAR9"


def test_names_are_put_back_into_a_text_with_syntax_errors():
    result = anonymize_source("f(my_x);", "javascript", Vocabulary(["f"]))
    assert result.restore("f(VAR1, );\nif (VAR1") == "f(my_x, );\nif (my_x"


def test_a_syntax_error_is_refused():
    with pytest.raises(ParseError, match="line 1: syntax error"):
        anonymize_source("def (", "python", Vocabulary([]))


def test_the_default_vocabulary_is_a_thousand_names_of_the_package():
    last, next_name = Vocabulary.default("python")[999:1001]
    assert anonymize_source(f"{last} = {next_name}", "python").text == f"{last} = VAR1"


def test_strategy_seed_and_number_of_placeholders_are_passed_on():
    texts = [
        anonymize_source("a; b", "python", Vocabulary([]), "randomized", num_placeholders=500, seed=seed).text
        for seed in (1, 1, 2)
    ]
    assert texts[0] == texts[1] != texts[2]
    assert anonymize_source("a; b", "python", Vocabulary([]), num_placeholders=1).text == "VAR1; UNK"


@pytest.mark.parametrize("strategy", ["ordered", "randomized", "by_frequency", "full"])
@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("python", "\N{MICRO SIGN} = 1; \N{GREEK SMALL LETTER MU} = 2"),  # one name, because Python normalizes names
        ("python", "import os . path"),
        ("javascript", r"\u0061b = ab"),
        ("javascript", r"({'\u0061b': ab})"),
        ("javascript", "alpha = '\ud800'; beta = alpha"),
    ],
)
def test_every_spelling_of_a_name_is_restored(language, text, strategy):
    result = anonymize_source(text, language, Vocabulary([]), strategy)
    assert result.text != text
    assert result.restore() == result.restore(result.text) == text


def test_a_lone_surrogate_does_not_shift_the_names_after_it():
    assert anonymize_source("f('\ud800'); g(f)", "javascript", Vocabulary([])).text == "VAR1('\ud800'); VAR2(VAR1)"
