"""Broken JavaScript made parsable, as far as a few general rules go."""

import re
from dataclasses import replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from rarename.syntax.javascript.cst import ERROR, FIELDS, ConcreteTree, concrete_tree

_IMPOSSIBLE = re.compile(rb"#(?![A-Za-z_$\\\x80-\xff])|\\(?!u)|[\x00-\x08\x0e-\x1f\x7f]")
"""Characters that no token of JavaScript starts with."""
_ASSIGNS = re.compile(rb"\s*=(?![=>])")
_LACKS_OPERAND = re.compile(rb"[-+*/%&|^<>=?:.](?=\s*([;)\]}]|\Z))")
"""An operator with nothing after it."""
_QUOTED = frozenset({"string", "template_string", "regex"})
_LITERALS = frozenset({"number", "string", "true", "false", "null"})


def recovered(tree: ConcreteTree) -> tuple[ConcreteTree, frozenset[int]]:
    """A tree with fewer errors if possible, and the bytes at which a name was made up.

    1. Characters that no token starts with are dropped: `[#1#]` is `[1]`.
    2. A literal that is assigned to, as in `1 = x`, is replaced by a made-up name.
    3. An operator that lacks its operand, as in `a = ;`, gets a made-up name.
    """
    source = _without_impossible_characters(tree)
    if source != tree.source:
        tree = concrete_tree(source)
    source, made_up = _without_assigned_literals(tree)
    changed = concrete_tree(source) if made_up else tree
    is_better = len(changed.errors) < len(tree.errors)
    tree, made_up = (changed, made_up) if is_better else (tree, frozenset())
    inserted = _with_operands_inserted(tree)
    return (inserted if len(inserted.errors) < len(tree.errors) else tree), made_up


def _is_in_error(tree: ConcreteTree) -> bytearray:
    is_in_error = bytearray(len(tree.source))
    reached = 0  # errors may contain errors: no byte is written twice
    for error in tree.errors:
        start, end = max(tree.starts[error], reached), tree.ends[error]
        if tree.kinds[error] == ERROR and start < end:
            is_in_error[start:end] = b"\1" * (end - start)
            reached = end
    return is_in_error


def _without_impossible_characters(tree: ConcreteTree) -> bytes:
    """The source with blanks for those characters, inside errors and outside quotes."""
    is_open = _is_in_error(tree)
    reached = 0  # templates may contain templates
    for node, kind in enumerate(tree.kinds):
        if kind in _QUOTED and tree.ends[node] > reached:
            is_open[tree.starts[node] : tree.ends[node]] = bytes(tree.ends[node] - tree.starts[node])
            reached = tree.ends[node]
    source = bytearray(tree.source)
    for match in _IMPOSSIBLE.finditer(tree.source):
        if is_open[match.start()]:
            source[match.start()] = ord(" ")
    return bytes(source)


def _without_assigned_literals(tree: ConcreteTree) -> tuple[bytes, frozenset[int]]:
    """The source with names of the same length for literals before a `=` that could not be parsed."""
    is_in_error = _is_in_error(tree)
    source, made_up = bytearray(tree.source), set()
    for node, kind in enumerate(tree.kinds):
        if kind in _LITERALS and tree.fields[node] != FIELDS["property"]:
            start, end = tree.starts[node], tree.ends[node]
            match = _ASSIGNS.match(tree.source, end)
            if match and is_in_error[match.end() - 1]:
                source[start:end] = b"$" * (end - start)
                made_up.add(start)
    return bytes(source), frozenset(made_up)


def _with_operands_inserted(tree: ConcreteTree) -> ConcreteTree:
    """The tree of the source with a name after each operator that lacks its operand.

    The made-up names are taken out again afterwards: they become nodes of length 0.
    """
    is_in_error = _is_in_error(tree) + b"\0"  # the end of the text
    found = _LACKS_OPERAND.finditer(tree.source)
    operators = [match.end() for match in found if is_in_error[match.start()] or is_in_error[match.start(1)]]
    if not operators:
        return tree
    longer = concrete_tree(b"$".join(tree.source[a:b] for a, b in pairwise([0, *operators, len(tree.source)])))
    names = np.array(operators) + np.arange(len(operators))  # the offsets of the names in the longer text
    starts, ends = _in_original(longer.starts, names), _in_original(longer.ends, names)
    return replace(longer, source=tree.source, starts=starts, ends=ends)


def _in_original(offsets: list[int], names: NDArray[np.int64]) -> list[int]:
    longer = np.array(offsets, dtype=np.int64)
    shorter: list[int] = (longer - np.searchsorted(names, longer, side="left")).tolist()
    return shorter
