"""The walk over the tree of `ast`: nodes in pre-order, each translated by its rule."""

import ast
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any

import numpy as np

from rarename.syntax.python.literals import literal
from rarename.syntax.python.positions import NAME_SPANS, Source, span_of
from rarename.syntax.python.rules import ATTRIBUTE_TYPES, NAME_TYPES, RULES, arguments_of, default_rule
from rarename.syntax.traversal import NO_SPAN, Traversal

_NUM_COLUMNS = 4  # type, value, parent and span: the rows of all nodes are in one flat list


def walk(tree: ast.Module, source: Source) -> Traversal:
    """The nodes in pre-order, without recursion.

    The later siblings of a node with children wait on a stack until its subtree is done. Most nodes are names,
    literals, attributes and calls, so their rules are inlined here. An attribute of a name, such as `self.x`, is
    written as three nodes at once.
    """
    rows: list[Any] = []
    node = parent = -1
    children: Sequence[Any]
    siblings: Iterator[Any] = iter((tree,))
    stack: list[tuple[Iterator[Any], int]] = []  # siblings still to be visited, and their parent
    # Local variables are faster than globals and attributes.
    name_class, literal_class, attribute_class = ast.Name, ast.Constant, ast.Attribute
    call_class, starred_class = ast.Call, ast.Starred
    name_types, attribute_types, rules, name_spans = NAME_TYPES, ATTRIBUTE_TYPES, RULES, NAME_SPANS
    get_span, is_ascii = span_of, source.is_ascii
    while True:
        for item in siblings:
            node += 1
            kind = type(item)
            if kind is name_class:
                rows += (name_types[type(item.ctx)], item.id, parent, get_span(item))
                continue
            if kind is literal_class:
                value = item.value
                if type(value) is str and value.isascii():
                    rows += ("Str", value, parent, get_span(item))
                else:
                    type_, value = literal(value)
                    rows += (type_, value, parent, get_span(item))
                continue
            if kind is attribute_class:
                owner, name, span = item.value, item.attr, get_span(item)
                if type(owner) is name_class:
                    _, _, line, column = span
                    width = len(name) if is_ascii else source.width_before(line, column, name)
                    rows += (
                        attribute_types[type(item.ctx)], None, parent, span,
                        "NameLoad", owner.id, node, get_span(owner),
                        "attr", name, node, (line, column - width, line, column),
                    )  # fmt: skip
                    node += 2
                    continue
                rows += (attribute_types[type(item.ctx)], None, parent, span)
                children = (owner, name)
            elif kind is call_class:
                rows += ("Call", None, parent, get_span(item))
                if item.keywords or starred_class in map(type, item.args):
                    children = (item.func, *arguments_of(item.args, item.keywords))
                else:
                    children = (item.func, *item.args)
            elif kind is str:
                _, _, line, column = rows[_NUM_COLUMNS * parent + 3]  # the name ends where the attribute ends
                width = len(item) if is_ascii else source.width_before(line, column, item)
                rows += ("attr", item, parent, (line, column - width, line, column))
                continue
            elif kind is tuple:
                type_, children = item
                if not children:
                    rows += (type_, None, parent, NO_SPAN)
                    continue
                first, last = children[0], children[-1]
                span = (first.lineno, first.col_offset, last.end_lineno, last.end_col_offset)
                rows += (type_, None, parent, span)
            else:
                type_, value, children = rules.get(kind, default_rule)(item, source)
                if value is None or kind not in name_spans:
                    rows += (type_, value, parent, get_span(item))
                else:
                    rows += (type_, value, parent, name_spans[kind](item, source))
                if not children:
                    continue
            stack.append((siblings, parent))
            siblings, parent = iter(children), node
            break
        else:
            if not stack:
                break
            siblings, parent = stack.pop()
    types, values, parents, spans = (rows[column::_NUM_COLUMNS] for column in range(_NUM_COLUMNS))
    table = np.fromiter(chain.from_iterable(spans), np.int32, 4 * len(spans)).reshape(-1, 4)
    # Next to an f-string whose expressions were not found, a node may have only a start or only an end.
    table[(table[:, 0] == 0) | (table[:, 2] == 0)] = NO_SPAN
    return Traversal(types, values, parents, table)
