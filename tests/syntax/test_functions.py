"""Functions and windows."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rarename.syntax import LANGUAGES, parse
from rarename.syntax.functions import functions, outermost, qualified_name, windows

NESTED = """
def first(a):
    def inner(b):
        return b
    return inner

class K:
    async def second(self):
        return lambda: 0
"""


def test_functions_are_slices_in_pre_order():
    traversal = parse(NESTED, "python")
    found = functions(traversal, LANGUAGES["python"])
    assert [traversal.values[start] for start, _ in found] == ["first", "inner", "second"]
    for start, length in found:
        inside = range(start, start + length)
        assert all(traversal.parents[node] >= start for node in inside[1:])
        stop = start + length
        assert stop == len(traversal) or traversal.parents[stop] < start


def test_nested_functions_stay_in_the_outermost_one():
    traversal = parse(NESTED, "python")
    found = outermost(functions(traversal, LANGUAGES["python"]))
    assert [traversal.values[start] for start, _ in found] == ["first", "second"]


NAMED = {
    "python": (NESTED, ["first", "first.inner", "K.second"]),
    "javascript": (
        """
        function declared(x) { return () => x; }
        const held = (y) => y;
        exports.given = function (z) { return z; };
        assigned = function () {};
        class K { method(q) { return q; } field = () => 1; }
        (function () { var o = { key: function () {}, short() {} }; call(a.b, function () {}); })();
        export default function () {}
        """,
        [
            "declared",
            "declared.<anonymous>",
            "held",
            "given",
            "assigned",
            "K.method",
            "K.field",
            "<anonymous>",
            "key",
            "short",
            "<anonymous>",
            "<anonymous>",
        ],
    ),
}


@pytest.mark.parametrize("language", NAMED)
def test_an_anonymous_function_is_named_by_what_it_is_assigned_to(language):
    source, expected = NAMED[language]
    language = LANGUAGES[language]
    traversal = parse(source, language)
    roles = language.roles(traversal)
    found = [qualified_name(traversal, roles, start, language) for start, _ in functions(traversal, language)]
    assert found == expected


@given(st.integers(0, 3000), st.integers(1, 600), st.data())
def test_windows_predict_each_node_once(length, size, data):
    stride = data.draw(st.integers(1, size))
    found = windows(length, size, stride)
    predicted = [node for window in found for node in range(window.start + window.context, window.stop)]
    assert predicted == list(range(length))
    assert all(window.stop - window.start <= size for window in found)


def test_a_stride_beyond_the_size_would_leave_gaps():
    with pytest.raises(ValueError, match="between 1 and the size 500, not 501"):
        windows(1000, 500, 501)
