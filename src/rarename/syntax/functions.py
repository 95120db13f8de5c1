"""Cut a traversal: into functions, for variable misuse; into overlapping windows, for completion."""

from collections.abc import Sequence
from typing import NamedTuple

from rarename.syntax.language import Language
from rarename.syntax.traversal import Role, Traversal

ANONYMOUS = "<anonymous>"
"""The name of a function that has none."""

_DEFINED = frozenset({Role.FUNCTION, Role.CLASS})
_BOUND = frozenset({Role.WRITE, Role.ATTRIBUTE})


class Slice(NamedTuple):
    """A subtree, as a run of nodes."""

    start: int
    length: int


class Window(NamedTuple):
    """A run of nodes whose first `context` nodes have been seen before and are context only."""

    start: int
    stop: int
    context: int


def functions(traversal: Traversal, language: Language) -> list[Slice]:
    """Every function, methods and nested ones included, in pre-order."""
    lengths = traversal.lengths()
    return [
        Slice(node, lengths[node])
        for node, node_type in enumerate(traversal.types)
        if node_type in language.function_types
    ]


def outermost(slices: Sequence[Slice]) -> list[Slice]:
    """Those functions that stand in no other: nested functions are not taken apart (paper, section 4.1).

    >>> outermost([Slice(2, 10), Slice(5, 3), Slice(12, 4)])
    [Slice(start=2, length=10), Slice(start=12, length=4)]
    """
    result: list[Slice] = []
    for candidate in slices:
        if not result or candidate.start >= result[-1].start + result[-1].length:
            result.append(candidate)
    return result


def qualified_name(traversal: Traversal, roles: Sequence[Role], node: int, language: Language) -> str:
    """The name of a function, behind those of the classes and functions around it: `Parser.read`.

    A function that is born without a name has that of the variable, the method or the key that it is given to.
    """
    names = [_function_name(traversal, roles, node, language) or ANONYMOUS]
    while (node := traversal.parents[node]) >= 0:
        is_function = traversal.types[node] in language.function_types
        look = _function_name if is_function else _own_name
        if name := look(traversal, roles, node, language):
            names.append(name)
    return ".".join(reversed(names))


def _function_name(traversal: Traversal, roles: Sequence[Role], node: int, language: Language) -> str | None:
    if name := _own_name(traversal, roles, node, language):
        return name
    parent = traversal.parents[node]
    if parent < 0:
        return None
    if roles[parent] in _BOUND:
        return traversal.values[parent]
    if traversal.types[parent] in language.naming_types and roles[node - 1] in _BOUND:
        return traversal.values[node - 1]
    return None


def _own_name(traversal: Traversal, roles: Sequence[Role], node: int, language: Language) -> str | None:
    """The name that a function or class is defined with: its value, or that of its first child."""
    if roles[node] in _DEFINED:
        return traversal.values[node]
    child = node + 1
    if child < len(traversal) and traversal.parents[child] == node and roles[child] in _DEFINED:
        # A definition that is the first child of a block is not the block's name.
        return None if traversal.types[child] in language.scope_types else traversal.values[child]
    return None


def windows(length: int, size: int = 500, stride: int = 250) -> list[Window]:
    """Cover a traversal with windows; each node is predicted in one of them (paper, section 4.1; Kim et al. 2021).

    >>> [tuple(window) for window in windows(900)]
    [(0, 500, 0), (250, 750, 250), (400, 900, 350)]

    The last window reaches back so that it is as long as the others: its targets have as much context as can be had.
    Windows as far apart as they are long do not overlap, nor does the last one.
    """
    if not 0 < stride <= size:
        raise ValueError(f"the stride must be between 1 and the size {size}, not {stride}")
    result: list[Window] = []
    covered = 0
    while covered < length:
        stop = min(covered + stride if result else size, length)
        start = covered if stride == size else max(0, stop - size)
        result.append(Window(start, stop, covered - start))
        covered = stop
    return result
