"""Parts of a traversal: functions, for variable misuse; overlapping windows, for completion."""

from collections.abc import Sequence
from typing import NamedTuple

from rarename.syntax.language import Language
from rarename.syntax.traversal import Role, Traversal

ANONYMOUS = "<anonymous>"  # the name of a function that has none
_MAX_LEVELS = 200  # of the tree around a function that its name may mention: a limit for hostile code
_DEFINED = frozenset({Role.FUNCTION, Role.CLASS})
_BOUND = frozenset({Role.WRITE, Role.ATTRIBUTE})


class Slice(NamedTuple):
    """A subtree, as a run of nodes."""

    start: int
    length: int


class Window(NamedTuple):
    """A run of nodes. The first `context` nodes also belong to the window before and are not predicted again."""

    start: int
    stop: int
    context: int


def functions(traversal: Traversal, language: Language) -> list[Slice]:
    """Every function, methods and nested ones included, in pre-order."""
    rows = enumerate(zip(traversal.types, traversal.lengths(), strict=True))
    return [Slice(node, length) for node, (type_, length) in rows if type_ in language.function_types]


def outermost(slices: Sequence[Slice]) -> list[Slice]:
    """The functions that are in no other: nested functions are not separated from them (paper, section 4.1).

    >>> outermost([Slice(2, 10), Slice(5, 3), Slice(12, 4)])
    [Slice(start=2, length=10), Slice(start=12, length=4)]
    """
    result: list[Slice] = []
    for candidate in slices:
        if not result or candidate.start >= result[-1].start + result[-1].length:
            result.append(candidate)
    return result


def qualified_name(traversal: Traversal, roles: Sequence[Role], node: int, language: Language) -> str:
    """The name of a function after those of the classes and functions around it: `Parser.read`.

    An anonymous function has the name of the variable, the method or the key that it is assigned to.
    """
    names = [_name(traversal, roles, node, language) or ANONYMOUS]
    for _ in range(_MAX_LEVELS):
        if (node := traversal.parents[node]) < 0:
            break
        names.append(_name(traversal, roles, node, language) or "")
    return ".".join(filter(None, reversed(names)))


def _name(traversal: Traversal, roles: Sequence[Role], node: int, language: Language) -> str | None:
    """The name of a function or class: its value, or that of its first child, or what a function is assigned to."""
    types, values, parent, child = traversal.types, traversal.values, traversal.parents[node], node + 1
    if roles[node] in _DEFINED:
        return values[node]
    if child < len(traversal) and traversal.parents[child] == node and roles[child] in _DEFINED:
        # A definition that is the first child of a block is not the block's name.
        return None if types[child] in language.scope_types else values[child]
    if parent >= 0 and types[node] in language.function_types:
        if roles[parent] in _BOUND:
            return values[parent]
        if types[parent] in language.naming_types and roles[node - 1] in _BOUND:
            return values[node - 1]
    return None


def windows(length: int, size: int = 500, stride: int = 250) -> list[Window]:
    """Cover a traversal with windows. Each node is predicted in one of them (paper, section 4.1; Kim et al. 2021).

    >>> [tuple(window) for window in windows(900)]
    [(0, 500, 0), (250, 750, 250), (400, 900, 350)]

    The last window starts earlier so that it is as long as the others, which gives its targets the most context.
    If the stride equals the size, no windows overlap, not even the last one.
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
