"""Lines and columns of a source text."""

import pytest

from rarename.syntax import JAVASCRIPT, PYTHON, parse
from rarename.syntax.lines import Lines


@pytest.mark.parametrize("break_", ["\n", "\r\n", "\r"])
def test_lines_are_those_of_the_parser(break_):
    lines = Lines(break_.join(["", "ä = 'ö'", "", "x"]).encode(), PYTHON)
    assert [lines.line(number) for number in (1, 2, 3, 4)] == ["", "ä = 'ö'", "", "x"]


def test_a_byte_order_mark_is_on_no_line():
    assert Lines("\ufeffx = 1".encode(), PYTHON).line(1) == "x = 1"


@pytest.mark.parametrize(("language", "source"), [(PYTHON, "é = '😀'; x = é"), (JAVASCRIPT, "é = '😀'; x = é")])
def test_columns_in_bytes_are_columns_in_characters(language, source):
    lines, traversal = Lines(source.encode(), language), parse(source, language)
    nodes = [node for node, value in enumerate(traversal.values) if value in ("é", "x")]
    spans = [traversal.span(node) for node in nodes]
    assert [lines.characters(span.line, span.column) for span in spans] == [0, 9, 13]
    assert [lines.text(span) for span in spans] == ["é", "x", "é"]
