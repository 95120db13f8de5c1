"""Published records are read in either format, written as published, and refused when wrong."""

import contextlib
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rarename.errors import RecordError
from rarename.syntax.records import JS150, PY150, read_record, write_record
from rarename.syntax.traversal import NumberValue, Traversal

PYTHON_LINE = (
    '[{"type":"Module","children":[1,4]},{"type":"Assign","children":[2,3]},'
    '{"type":"NameStore","value":"x"},{"type":"Str","value":"naïve ✖\\n"},'
    '{"type":"ImportFrom","children":[5],"value":"os"},{"type":"alias","value":"path"}]'
)
JAVASCRIPT_LINE = (
    '[ { "id":0, "type":"Program", "children":[1,4] }, '
    '{ "id":1, "type":"VariableDeclaration", "children":[2] }, '
    '{ "id":2, "type":"VariableDeclarator", "value":"naïve", "children":[3] }, '
    '{ "id":3, "type":"LiteralString", "value":"a\\"b" }, { "id":4, "type":"EmptyStatement" }, 0]'
)

PREORDER = "a record lists its nodes in pre-order"


@pytest.mark.parametrize(("line", "style"), [(PYTHON_LINE, PY150), (JAVASCRIPT_LINE, JS150)])
def test_published_line_is_written_byte_for_byte(line, style):
    assert write_record(read_record(line), style) == line
    assert write_record(read_record(line.encode()), style) == line


def test_pretty_printed_record_with_ids_is_the_same_tree():
    pretty = json.dumps(json.loads(JAVASCRIPT_LINE), indent=2)
    assert write_record(read_record(pretty), JS150) == JAVASCRIPT_LINE


def test_node_without_children_has_no_such_key():
    assert write_record(Traversal(["Module"], [None], [-1]), PY150) == '[{"type":"Module"}]'


def test_numbers_as_values_become_text_and_missing_values_stay_missing():
    tree = read_record(
        '[{"type":"P","children":[1,2,3]},{"type":"Property","value":7},'
        '{"type":"Property","value":1.10},{"type":"Identifier","value":null}, 0, 0]'
    )
    assert tree.values == [None, "7", "1.10", None]
    assert tree.parents == [-1, 0, 0, 0]
    assert '"value":7 }' in write_record(tree, JS150)
    assert '"value":1.10 }' in write_record(tree, JS150)


def test_a_number_that_json_lacks_is_written_as_text():
    assert '"value":"Infinity"' in write_record(Traversal(["Property"], [NumberValue("Infinity")], [-1]), JS150)


def test_half_a_surrogate_pair_stays_escaped():
    line = write_record(Traversal(["Str"], ["é\ud800"], [-1]), PY150)
    assert line.encode() == b'[{"type":"Str","value":"\\u00e9\\ud800"}]'
    assert read_record(line).values == ["é\ud800"]


def test_sequence_without_children_has_only_roots():
    assert read_record('[{"type":"Name","value":"a"},{"type":"Name","value":"b"}]').parents == [-1, -1]


def test_deep_tree_needs_no_recursion():
    size = 50_000
    tree = Traversal(["N"] * size, [None] * size, list(range(-1, size - 1)))
    assert read_record(write_record(tree, PY150)).parents == tree.parents


@pytest.mark.parametrize(
    ("record", "text"),
    [
        ("", "the record is not JSON: Expecting value: line 1 column 1 (char 0)"),
        ("7", "a record is a JSON array of nodes, not the number 7"),
        ('{"type":"Module"}', "a record is a JSON array of nodes, not an object"),
        ("[]", "the record has no nodes"),
        ("[0, 0]", "the record has no nodes"),
        ("[" * 100_000, "the JSON is nested too deep; a record is one flat array of nodes"),
        ('[{"type":"A","value":NaN}]', "the record is not JSON: NaN is not a JSON number"),
        (b'[{"type":"\xff"}]', "the record is not UTF-8: invalid start byte at byte 10"),
        ('[0,{"type":"A"}]', "node 0 is the number 0, not an object"),
        ('[{"value":"x"}]', "node 0 has no type; every node of PY150 and JS150 has a type, a string"),
        ('[{"type":3}]',
         "node 0 has the number 3 as its type; every node of PY150 and JS150 has a type, a string"),
        ('[{"type":"A","id":1}]', "node 0 has the id 1; ids count the nodes from 0"),
        ('[{"type":"A","value":true}]', "node 0 has true as its value; expected a string or a number"),
        ('[{"type":"A","value":["x"]}]', "node 0 has an array as its value; expected a string or a number"),
        ('[{"type":"A","children":5}]',
         "the children of node 0 are the number 5, not an array of node numbers"),
        ('[{"type":"A","children":["1"]},{"type":"B"}]',
         "node 0 has the string '1' among its children; expected node numbers"),
        ('[{"type":"A","children":[true]},{"type":"B"}]',
         "node 0 has true among its children; expected node numbers"),
        ('[{"type":"A","children":[1.0]},{"type":"B"}]',
         "node 0 has the number 1.0 among its children; expected node numbers"),
        ('[{"type":"A","children":[-1]},{"type":"B"}]', "node 0 has a child -1, but the nodes are 0 to 1"),
        ('[{"type":"A","children":[' + "9" * 40 + "]}]",
         "node 0 has a child 99999999999999999999…, but the nodes are 0 to 0"),
        ('[{"type":"A","children":[0]}]',
         "node 0, a child of node 0, does not come after its parent; " + PREORDER),
        ('[{"type":"A","children":[2,1]},{"type":"B"},{"type":"C"}]',
         "node 1, a child of node 0, does not come after its sibling 2; " + PREORDER),
        ('[{"type":"A","children":[1,1]},{"type":"B"}]',
         "node 1, a child of node 0, does not come after its sibling 1; " + PREORDER),
        ('[{"type":"A","children":[1,2]},{"type":"B","children":[2]},{"type":"C"}]',
         "node 2 is a child of both node 0 and node 1"),
        ('[{"type":"A","children":[1]},{"type":"B"},{"type":"C"}]',
         "node 2 has no parent; only node 0 may be the root"),
        ('[{"type":"A","children":[1,2]},{"type":"B","children":[3]},{"type":"C"},{"type":"D"}]',
         "node 3 is a child of node 1, whose subtree has already ended; " + PREORDER),
    ],
)  # fmt: skip
def test_wrong_record_is_refused_with_the_reason(record, text):
    with pytest.raises(RecordError) as caught:
        read_record(record)
    assert str(caught.value) == text


def test_integer_of_too_many_digits_is_refused():
    with pytest.raises(RecordError, match="the record is not JSON: Exceeds the limit"):
        read_record('[{"type":"A","value":' + "1" * 5000 + "}]")


@st.composite
def trees(draw):
    size = draw(st.integers(1, 12))
    parents, path = [-1], [0]
    for node in range(1, size):
        del path[draw(st.integers(1, len(path))) :]
        parents.append(path[-1])
        path.append(node)
    types = draw(st.lists(st.text(), min_size=size, max_size=size))
    values = draw(st.lists(st.none() | st.text(), min_size=size, max_size=size))
    return Traversal(types, values, parents)


@settings(max_examples=50)
@given(tree=trees(), style=st.sampled_from([PY150, JS150]))
def test_written_tree_is_read_back(tree, style):
    again = read_record(write_record(tree, style))
    assert (again.types, again.values, again.parents) == (tree.types, tree.values, tree.parents)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["type", "value", "children", "id"]), inner)
    ),
    max_leaves=8,
)


@settings(max_examples=40)
@given(value=st.lists(json_values, max_size=4))
def test_any_json_is_a_tree_or_a_record_error(value):
    try:
        tree = read_record(json.dumps(value))
    except RecordError:
        return
    assert len(tree) >= 1


@given(line=st.binary(max_size=60))
def test_any_bytes_are_a_tree_or_a_record_error(line):
    with contextlib.suppress(RecordError):
        read_record(line)
