"""Traversal: the pre-order walk of a syntax tree as parallel arrays."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Role(IntEnum):
    """What the value of a node means in the program, determined from the tree alone."""

    NONE = 0  # the node has no value
    READ = 1  # a variable is read
    WRITE = 2  # a variable is bound or deleted
    PARAMETER = 3  # of a function
    ATTRIBUTE = 4  # a name after a dot, or a key of an object literal
    FUNCTION = 5  # the name of a function, where it is defined
    CLASS = 6  # the name of a class, where it is defined
    MODULE = 7  # a module, or what is imported from one
    KEYWORD = 8  # the name of a keyword argument at a call
    OPERATOR = 9  # an operator that the format keeps as a value (`+` of a JavaScript expression)
    CONSTANT = 10  # a constant with a keyword: None, true. `Infinity` is a variable
    NUMBER = 11
    STRING = 12
    REGEXP = 13

    __hash__ = int.__hash__  # faster than that of Enum, which hashes the name in Python code


VARIABLE_ROLES = frozenset({Role.READ, Role.WRITE, Role.PARAMETER})
IDENTIFIER_ROLES = VARIABLE_ROLES | {Role.ATTRIBUTE, Role.FUNCTION, Role.CLASS, Role.MODULE, Role.KEYWORD}
"""The roles of names that somebody chose: what anonymization of source text may replace."""


class Span(NamedTuple):
    """An extent in the source: lines from 1, columns from 0 in UTF-8 bytes, the end exclusive."""

    line: int
    column: int
    end_line: int
    end_column: int


NO_SPAN = Span(0, 0, 0, 0)
"""The span of a node without text in the source, such as an empty list of decorators."""


class NumberValue(str):
    """A value that JS150 writes as a JSON number: the key of `{1: x}`. Elsewhere it is a string of digits."""

    __slots__ = ()


@dataclass(frozen=True)
class MisuseLabel:
    """The label of a ready-made variable misuse, as in the GREAT data set. Positions are node indexes."""

    location: int  # of the wrong name; 0 if there is no bug
    repair_targets: tuple[int, ...]
    """The right name. Empty if there is no bug, and in the few published bugs whose right name occurs nowhere else."""
    repair_candidates: tuple[int, ...]  # every variable
    kind: str


@dataclass(frozen=True, slots=True, eq=False)
class Traversal:
    """A syntax tree as its pre-order walk.

    A subtree is a contiguous slice, so a function is `(start, length)`.

    `spans` has a row `line, column, end_line, end_column` for each node. The span of a node with an identifier is that
    of the identifier's text (for `def f(): ...` the `f`); for any other node it is the extent of the construct.
    Published records have no positions: `spans` is None.
    """

    types: Sequence[str]
    values: Sequence[str | None]
    parents: Sequence[int]  # -1 for the root
    spans: "NDArray[np.int32] | None" = None

    def __len__(self) -> int:
        return len(self.types)

    def span(self, node: int) -> Span:
        """The span of a node, `NO_SPAN` if it has none."""
        return NO_SPAN if self.spans is None else Span(*self.spans[node].tolist())

    def children(self) -> list[list[int]]:
        """The children of every node, in order."""
        children: list[list[int]] = [[] for _ in self.types]
        for node, parent in enumerate(self.parents):
            if parent >= 0:
                children[parent].append(node)
        return children

    def lengths(self) -> list[int]:
        """The number of nodes in the subtree of every node, itself included."""
        lengths = [1] * len(self)
        for node in range(len(self) - 1, -1, -1):
            if self.parents[node] >= 0:
                lengths[self.parents[node]] += lengths[node]
        return lengths
