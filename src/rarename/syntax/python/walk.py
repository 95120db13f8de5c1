"""The walk: from the tree of `ast` to the traversal, by the rules."""

import ast
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rarename.syntax.python.literals import literal
from rarename.syntax.python.places import NAME_PLACES, Place, Source, extent
from rarename.syntax.python.rules import ATTRIBUTE_TYPES, NAME_TYPES, RULES, call_children, default
from rarename.syntax.traversal import NO_PLACE, Traversal

_COLUMNS = 4
"""Type, value, parent and place of a node: they stand in one list, one node behind the other."""


def walk(tree: ast.Module, source: Source) -> Traversal:
    """The nodes in pre-order, without recursion.

    A node with children makes its later siblings wait, until the walk is through with the children. Names,
    literals, attributes and calls are most of all nodes, so their rules stand in the loop itself; for the same
    reason it appends to one list, and an attribute of a name, such as `self.x`, goes there as three nodes at once.
    """
    rows: list[Any] = []
    node = parent = -1
    inner: Sequence[Any]  # the children of the node at hand
    children: Iterator[Any] = iter((tree,))
    waiting: list[tuple[Iterator[Any], int]] = []  # children still to be gone through, and their parent
    name_kind, literal_kind, attribute_kind = ast.Name, ast.Constant, ast.Attribute
    call_kind, starred_kind = ast.Call, ast.Starred
    name_types, attribute_types, rules, name_places = NAME_TYPES, ATTRIBUTE_TYPES, RULES, NAME_PLACES
    place_of, is_ascii = extent, source.is_ascii  # all these, because locals are faster than globals
    while True:
        for item in children:
            node += 1
            kind = type(item)
            if kind is name_kind:
                rows += (name_types[type(item.ctx)], item.id, parent, place_of(item))
                continue
            if kind is literal_kind:
                value = item.value
                if type(value) is str and value.isascii():
                    rows += ("Str", value, parent, place_of(item))
                else:
                    type_, value = literal(value)
                    rows += (type_, value, parent, place_of(item))
                continue
            if kind is attribute_kind:
                owner, name, place = item.value, item.attr, place_of(item)
                if type(owner) is name_kind:
                    _, _, line, column = place
                    width = len(name) if is_ascii else source.width_before(line, column, name)
                    rows += (
                        attribute_types[type(item.ctx)], None, parent, place,
                        "NameLoad", owner.id, node, place_of(owner),
                        "attr", name, node, (line, column - width, line, column),
                    )  # fmt: skip
                    node += 2
                    continue
                rows += (attribute_types[type(item.ctx)], None, parent, place)
                inner = (owner, name)
            elif kind is call_kind:
                rows += ("Call", None, parent, place_of(item))
                if item.keywords or starred_kind in map(type, item.args):
                    inner = call_children(item)
                else:
                    inner = (item.func, *item.args)
            elif kind is str:
                _, _, line, column = rows[_COLUMNS * parent + 3]  # the end of the attribute
                width = len(item) if is_ascii else source.width_before(line, column, item)
                rows += ("attr", item, parent, (line, column - width, line, column))
                continue
            elif kind is tuple:
                type_, inner = item
                if not inner:
                    rows += (type_, None, parent, NO_PLACE)
                    continue
                first, last = inner[0], inner[-1]
                place = (first.lineno, first.col_offset, last.end_lineno, last.end_col_offset)
                rows += (type_, None, parent, place)
            else:
                type_, value, inner = rules.get(kind, default)(item, source)
                if value is None or kind not in name_places:
                    rows += (type_, value, parent, place_of(item))
                else:
                    rows += (type_, value, parent, name_places[kind](item, source))
                if not inner:
                    continue
            waiting.append((children, parent))
            children, parent = iter(inner), node
            break
        else:
            if not waiting:
                break
            children, parent = waiting.pop()
    types, values, parents, places = (rows[column::_COLUMNS] for column in range(_COLUMNS))
    return Traversal(types, values, parents, _table(places))


def _table(places: list[Place]) -> NDArray[np.int32]:
    """One row a node. What only starts or only ends somewhere, at an f-string that could not be mended, is nowhere."""
    spans = np.fromiter(chain.from_iterable(places), np.int32, 4 * len(places)).reshape(-1, 4)
    spans[(spans[:, 0] == 0) | (spans[:, 2] == 0)] = NO_PLACE
    return spans
