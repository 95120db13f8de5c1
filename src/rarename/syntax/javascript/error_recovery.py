"""Broken JavaScript made readable, as far as a few general rules go."""

import re
from dataclasses import replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from rarename.syntax.javascript.cst import ERROR_KIND, GRAMMAR, KIND_NAMES, ConcreteTree, concrete_tree

_IMPOSSIBLE = re.compile(rb"#(?![A-Za-z_$\\\x80-\xff])|\\(?!u)|[\x00-\x08\x0e-\x1f\x7f]")
"""Characters that no token of JavaScript starts with."""
_ASSIGNS = re.compile(rb"\s*=(?![=>])")
_LACKS_OPERAND = re.compile(rb"[-+*/%&|^<>=?:.](?=\s*([;)\]}]|\Z))")
"""An operator with nothing behind it."""
_QUOTED = frozenset(k for k, name in enumerate(KIND_NAMES) if name in ("string", "template_string", "regex"))
_LITERALS = frozenset(
    kind for kind, name in enumerate(KIND_NAMES) if name in ("number", "string", "true", "false", "null")
)
_PROPERTY = GRAMMAR.field_id_for_name("property")


def mended(tree: ConcreteTree) -> tuple[ConcreteTree, frozenset[int]]:
    """A tree with fewer errors if possible, and the bytes at which a name was made up.

    1. Characters that no token starts with are dropped: `[#1#]` is `[1]`.
    2. What is assigned to but cannot be, such as `1 = x`, gives way to a made-up name.
    3. An operator that lacks its operand, such as `a = ;`, gets a made-up name.
    """
    source = _without_impossible_characters(tree)
    if source != tree.source:
        tree = concrete_tree(source)
    source, made_up = _without_assigned_literals(tree)
    changed = concrete_tree(source) if made_up else tree
    if len(changed.errors) < len(tree.errors):
        tree = changed
    else:
        made_up = frozenset()
    inserted = _with_operands_inserted(tree)
    return (inserted if len(inserted.errors) < len(tree.errors) else tree), made_up


def _is_in_error(tree: ConcreteTree) -> bytearray:
    """For every byte whether it stands in an error."""
    is_in_error = bytearray(len(tree.source))
    reached = 0  # errors may contain errors: no byte is looked at twice
    for error in tree.errors:
        start, end = max(tree.starts[error], reached), tree.ends[error]
        if tree.kinds[error] == ERROR_KIND and start < end:
            is_in_error[start:end] = b"\1" * (end - start)
            reached = end
    return is_in_error


def _without_impossible_characters(tree: ConcreteTree) -> bytes:
    """The source with blanks for those characters, inside errors and outside quotes."""
    is_open = _is_in_error(tree)
    for node, kind in enumerate(tree.kinds):
        if kind in _QUOTED:
            is_open[tree.starts[node] : tree.ends[node]] = bytes(tree.ends[node] - tree.starts[node])
    source = bytearray(tree.source)
    for match in _IMPOSSIBLE.finditer(tree.source):
        if is_open[match.start()]:
            source[match.start()] = ord(" ")
    return bytes(source)


def _without_assigned_literals(tree: ConcreteTree) -> tuple[bytes, frozenset[int]]:
    """The source with names of the same length for literals before a `=` that was not understood."""
    is_in_error = _is_in_error(tree)
    source, made_up = bytearray(tree.source), set()
    for node, kind in enumerate(tree.kinds):
        if kind not in _LITERALS or tree.fields[node] == _PROPERTY:
            continue
        start, end = tree.starts[node], tree.ends[node]
        match = _ASSIGNS.match(tree.source, end)
        if match and is_in_error[match.end() - 1]:
            source[start:end] = b"$" * (end - start)
            made_up.add(start)
    return bytes(source), frozenset(made_up)


def _with_operands_inserted(tree: ConcreteTree) -> ConcreteTree:
    """The tree of the source with a name behind each operator that lacks its operand.

    The made-up names are taken out again afterwards: they are nodes without any width.
    """
    is_in_error = _is_in_error(tree)
    is_in_error.append(False)  # the end of the text
    places = [
        match.end()
        for match in _LACKS_OPERAND.finditer(tree.source)
        if is_in_error[match.start()] or is_in_error[match.start(1)]
    ]
    if not places:
        return tree
    bounds = [0, *places, len(tree.source)]
    pieces = [tree.source[start:end] for start, end in pairwise(bounds)]
    longer = concrete_tree(b"$".join(pieces))
    names = np.array(places) + np.arange(len(places))  # where the names stand in the longer text
    return replace(
        longer,
        source=tree.source,
        starts=_shortened(longer.starts, names),
        ends=_shortened(longer.ends, names),
    )


def _shortened(offsets: list[int], names: NDArray[np.int64]) -> list[int]:
    """Places in the longer text as places in the original one."""
    longer = np.array(offsets, dtype=np.int64)
    shorter: list[int] = (longer - np.searchsorted(names, longer, side="left")).tolist()
    return shorter
