"""Cut a traversal: into functions, for variable misuse; into overlapping windows, for completion."""

from collections.abc import Sequence
from typing import NamedTuple

from rarename.syntax.language import Language
from rarename.syntax.traversal import Traversal


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


def windows(length: int, size: int = 500, stride: int = 250) -> list[Window]:
    """Cover a traversal with windows; each node is predicted in one of them (paper, section 4.1; Kim et al. 2021).

    >>> [tuple(window) for window in windows(900)]
    [(0, 500, 0), (250, 750, 250), (400, 900, 350)]

    The last window reaches back so that it is as long as the others: its targets have as much context as can be had.
    """
    if not 0 < stride <= size:
        raise ValueError(f"the stride must be between 1 and the size {size}, not {stride}")
    result: list[Window] = []
    covered = 0
    while covered < length:
        stop = min(covered + stride if result else size, length)
        start = max(0, stop - size)
        result.append(Window(start, stop, covered - start))
        covered = stop
    return result
