"""Published records: one syntax tree as one line of JSON, as in PY150 and JS150.

PY150   [{"type":"Module","children":[1]},{"type":"Expr","children":[2]},{"type":"NameLoad","value":"x"}]
JS150   [ { "id":0, "type":"Program", "children":[1] }, { "id":1, "type":"EmptyStatement" }, 0]
"""

import json
import re
from typing import Any, NoReturn

from rarename.errors import RecordError
from rarename.syntax.language import RecordStyle
from rarename.syntax.traversal import NumberValue, Traversal

PY150 = RecordStyle(has_ids=False, ends_with_zero=False)
JS150 = RecordStyle(has_ids=True, ends_with_zero=True)


def write_record(traversal: Traversal, style: RecordStyle) -> str:
    """Write a traversal as the published corpora do, without the end of the line.

    >>> tree = Traversal(["Module", "Expr", "NameLoad"], [None, None, "x"], [-1, 0, 1])
    >>> write_record(tree, PY150)
    '[{"type":"Module","children":[1]},{"type":"Expr","children":[2]},{"type":"NameLoad","value":"x"}]'
    """
    nodes = []
    rows = zip(traversal.types, traversal.values, traversal.children(), strict=True)
    for node, (type_, value, children) in enumerate(rows):
        parts = [f'"type":{_quote(type_)}']
        if value is not None:
            parts.append(f'"value":{_quote(value)}')
        if children:
            # JS150 has the children at the end, PY150 before the value.
            parts.insert(2 if style.has_ids else 1, f'"children":[{",".join(map(str, children))}]')
        nodes.append(f'{{ "id":{node}, {", ".join(parts)} }}' if style.has_ids else f"{{{','.join(parts)}}}")
    if style.ends_with_zero:
        nodes.append("0")
    return f"[ {', '.join(nodes)}]" if style.has_ids else f"[{','.join(nodes)}]"


def read_record(line: str | bytes) -> Traversal:
    """Read one record of either corpus, on one line or pretty-printed.

    Some irregularities of the published files are accepted: numbers as values (they become text), missing values, and
    anything but objects at the end. A record that would make a wrong tree is a RecordError. A record in which no node
    has children is a sequence: every node is a root.
    """
    nodes = _without_end(_load(line))
    types = [_type_of(index, node) for index, node in enumerate(nodes)]
    values = [_value_of(index, node) for index, node in enumerate(nodes)]
    parents = [-1] * len(nodes)
    for index, node in enumerate(nodes):
        _set_parents(index, node, parents)
    _check_preorder(parents)
    return Traversal(types, values, parents)


_PREORDER = "a record lists its nodes in pre-order"
_JSON_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")


def _quote(text: str) -> str:
    if isinstance(text, NumberValue) and _JSON_NUMBER.fullmatch(text):  # Infinity is not one
        return str(text)
    quoted = json.dumps(text, ensure_ascii=False)
    if not quoted.isascii() and any("\ud800" <= char <= "\udfff" for char in quoted):
        return json.dumps(text)  # half a surrogate pair has no UTF-8: it must stay escaped
    return quoted


def _load(line: str | bytes) -> list[Any]:
    try:
        record = json.loads(line, parse_float=NumberValue, parse_constant=_refuse_constant)
    except RecursionError:
        raise RecordError("the JSON is nested too deep; a record is one flat array of nodes") from None
    except UnicodeDecodeError as error:
        raise RecordError(f"the record is not UTF-8: {error.reason} at byte {error.start}") from None
    except ValueError as error:  # malformed JSON, or an integer of more digits than Python converts
        raise RecordError(f"the record is not JSON: {error}") from None
    if not isinstance(record, list):
        raise RecordError(f"a record is a JSON array of nodes, not {_name_of(record)}")
    return record


def _refuse_constant(name: str) -> NoReturn:
    raise RecordError(f"the record is not JSON: {name} is not a JSON number")


def _without_end(nodes: list[Any]) -> list[Any]:
    """Drop what is not a node from the end: JS150 puts a 0 there."""
    while nodes and not isinstance(nodes[-1], dict):
        nodes.pop()
    if not nodes:
        raise RecordError("the record has no nodes")
    return nodes


def _type_of(index: int, node: Any) -> str:
    if not isinstance(node, dict):
        raise RecordError(f"node {index} is {_name_of(node)}, not an object")
    kind = node.get("type")
    if type(kind) is not str:
        met = "no type" if kind is None else f"{_name_of(kind)} as its type"
        raise RecordError(f"node {index} has {met}; every node of PY150 and JS150 has a type, a string")
    number = node.get("id", index)
    if type(number) is not int or number != index:
        raise RecordError(f"node {index} has the id {_short(number)}; ids count the nodes from 0")
    return kind


def _value_of(index: int, node: dict[str, Any]) -> str | None:
    value = node.get("value")
    if value is None or isinstance(value, str):
        return value
    if type(value) is int:
        return NumberValue(value)
    raise RecordError(f"node {index} has {_name_of(value)} as its value; expected a string or a number")


def _set_parents(index: int, node: dict[str, Any], parents: list[int]) -> None:
    children = node.get("children", [])
    if not isinstance(children, list):
        raise RecordError(f"the children of node {index} are {_name_of(children)}, not an array of node numbers")
    previous = index
    for child in children:
        if type(child) is not int:
            raise RecordError(f"node {index} has {_name_of(child)} among its children; expected node numbers")
        if not 0 <= child < len(parents):
            raise RecordError(f"node {index} has a child {_short(child)}, but the nodes are 0 to {len(parents) - 1}")
        if child <= previous:
            after = "its parent" if previous == index else f"its sibling {previous}"
            raise RecordError(f"node {child}, a child of node {index}, does not come after {after}; {_PREORDER}")
        if parents[child] >= 0:
            raise RecordError(f"node {child} is a child of both node {parents[child]} and node {index}")
        parents[child] = index
        previous = child


def _check_preorder(parents: list[int]) -> None:
    if max(parents) < 0:
        return
    if -1 in parents[1:]:
        raise RecordError(f"node {parents.index(-1, 1)} has no parent; only node 0 may be the root")
    path = [0]  # from the root to the node before
    for node, parent in enumerate(parents[1:], 1):
        while path and path[-1] != parent:
            path.pop()
        if not path:
            raise RecordError(f"node {node} is a child of node {parent}, whose subtree has already ended; {_PREORDER}")
        path.append(node)


def _name_of(value: object) -> str:
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    if isinstance(value, (int, NumberValue)):
        return f"the number {_short(value)}"
    if isinstance(value, str):
        return f"the string {_short(value)!r}"
    return "an array" if isinstance(value, list) else "an object"


def _short(value: object) -> str:
    text = str(value)
    return text if len(text) <= 20 else text[:20] + "…"
