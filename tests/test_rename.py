"""A source text, anonymized in place. Each file under `cases/anonymize` is a case: settings, source, expectation."""

from pathlib import Path

import pytest

from rarename import Vocabulary, anonymize_source, parse
from rarename.errors import ParseError
from rarename.syntax import language_of

CASES = sorted((Path(__file__).parent / "cases" / "anonymize").iterdir())


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.name)
def test_case(path):
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
def test_line_ends_are_kept(end):
    source = end.join(["\ufeffalpha = 1", "", "def beta(gamma):", "    return alpha + gamma", ""])
    expected = end.join(["\ufeffVAR1 = 1", "", "def VAR2(VAR3):", "    return VAR1 + VAR3", ""])
    assert anonymize_source(source, "python", Vocabulary([])).text == expected


def test_the_result_parses_to_the_same_tree():
    """On real code: renaming changes values, and nothing else."""
    source = Path(__file__).read_text(encoding="utf-8")
    result = anonymize_source(source, "python", Vocabulary([]))
    before, after = parse(source, "python"), parse(result.text, "python")
    assert after.types == before.types
    assert list(after.values) == list(result.values)


def test_names_are_put_back_into_a_text_made_from_it():
    result = anonymize_source("my_y = np.sin(my_x)", "python", Vocabulary(["np", "sin"]))
    assert result.restore("VAR2 = VAR1 + VAR9") == "my_x = my_y + VAR9"


def test_broken_code_is_an_error():
    with pytest.raises(ParseError, match="line 1: syntax error"):
        anonymize_source("def (", "python", Vocabulary([]))


def test_without_a_vocabulary_the_package_has_one():
    assert anonymize_source("self.frobnicated_zorp = len(value)", "python").text == "self.VAR1 = len(value)"
