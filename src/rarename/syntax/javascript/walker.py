"""The walk over tree-sitter's concrete tree: reading its nodes, writing abstract ones, in pre-order."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rarename.syntax.javascript.cst import GRAMMAR, IS_NAMED, KIND_NAMES, ConcreteTree
from rarename.syntax.javascript.literals import cooked_identifier
from rarename.syntax.traversal import Traversal

MISSING_NAME = "✖"
"""The identifier that stands where broken code lacks an expression, as in JS150."""
NOWHERE = -1
"""The index of a concrete node that is not there."""

Method = Callable[[Any, int, int], None]
"""Writes what a concrete node stands for: a method of a subclass of `Walk`, not yet bound to the walk."""


def kinds_named(*names: str) -> frozenset[int]:
    """The kinds of concrete nodes with these names, tokens left out."""
    return frozenset(kind for kind, name in enumerate(KIND_NAMES) if name in names and IS_NAMED[kind])


def token(name: str) -> int:
    """The kind of a token."""
    return next(k for k, n in enumerate(KIND_NAMES) if n == name and not IS_NAMED[k])


def field(name: str) -> int:
    """The number of a field of the grammar."""
    number = GRAMMAR.field_id_for_name(name)
    assert number is not None, name
    return number


class Walk:
    """One walk over a concrete tree, and the abstract nodes written so far."""

    def __init__(self, tree: ConcreteTree, methods: Sequence[Method]) -> None:
        self.tree = tree
        self.kinds, self.starts, self.ends = tree.kinds, tree.starts, tree.ends
        self.fields, self.after = tree.fields, tree.after
        self.methods = methods
        """What to do with each kind of concrete node."""
        self.types: list[str] = []
        self.values: list[str | None] = []
        self.parents: list[int] = []
        self.places: list[int] = []
        """Start and end byte of each node, one after the other; -1 for a made-up node."""
        self.stack: list[tuple[Method, int, int]] = []
        self.spellings: dict[bytes, str] = {}

    def finish(self) -> None:
        """Work off the stack: all that is left to visit."""
        stack = self.stack
        while stack:
            method, node, parent = stack.pop()
            method(self, node, parent)

    def traversal(self) -> Traversal:
        """What was written."""
        return Traversal(self.types, self.values, self.parents, _spans(self.tree.source, self.places))

    # -- writing ------------------------------------------------------------------------------------

    def _node(self, type_: str, value: str | None, parent: int, start: int, end: int) -> int:
        """Write an abstract node that stands at the given bytes."""
        self.types.append(type_)
        self.values.append(value)
        self.parents.append(parent)
        self.places.append(start)
        self.places.append(end)
        return len(self.types) - 1

    def _construct(self, type_: str, value: str | None, node: int, parent: int) -> int:
        """Write an abstract node that stands where a whole concrete node does."""
        return self._node(type_, value, parent, self.starts[node], self.ends[node])

    def _later(self, children: list[int], parent: int) -> None:
        """Visit these concrete nodes next, in this order, as children of an abstract node."""
        kinds, methods, stack = self.kinds, self.methods, self.stack
        for child in reversed(children):
            stack.append((methods[kinds[child]] if child >= 0 else Walk.nothing, child, parent))

    def nothing(self, node: int, parent: int) -> None:
        """Broken code lacks an expression here."""
        self._node("Identifier", MISSING_NAME, parent, -1, -1)

    # -- reading ------------------------------------------------------------------------------------

    def _children(self, node: int) -> list[int]:
        """The children of a concrete node, without tokens."""
        kinds = self.kinds
        return [child for child in self.tree.children(node) if IS_NAMED[kinds[child]]]

    def _child(self, node: int, field: int) -> int:
        """The child in a field of the grammar; -1 when there is none."""
        fields, after = self.fields, self.after
        end = after[node]
        child = node + 1
        while child < end:
            if fields[child] == field:
                return child
            child = after[child]
        return NOWHERE

    def _first(self, node: int, kinds: frozenset[int]) -> int:
        """The first child of some kinds; -1 when there is none."""
        return next((child for child in self.tree.children(node) if self.kinds[child] in kinds), NOWHERE)

    def _operator(self, node: int) -> str | None:
        """The operator of an expression: its only token."""
        kinds, after = self.kinds, self.after
        end = after[node]
        child = node + 1
        while child < end:
            if not IS_NAMED[kinds[child]]:
                return KIND_NAMES[kinds[child]]
            child = after[child]
        return None

    def _present(self, *nodes: int) -> list[int]:
        return [node for node in nodes if node >= 0]

    def _text(self, node: int) -> str:
        return self._spelling(self.starts[node], self.ends[node])

    def _spelling(self, start: int, end: int) -> str:
        """A stretch of the source. The same name is one string object however often it occurs."""
        raw = self.tree.source[start:end]
        spelling = self.spellings.get(raw)
        if spelling is None:
            spelling = self.spellings[raw] = cooked_identifier(raw.decode("utf-8", "replace"))
        return spelling

    def _raw(self, start: int, end: int) -> str:
        return self.tree.source[start:end].decode("utf-8", "replace")


def _spans(source: bytes, places: list[int]) -> NDArray[np.int32]:
    """Byte offsets as lines and columns; a row of zeros for what stands nowhere."""
    offsets = np.array(places, dtype=np.int64)
    newlines = np.flatnonzero(np.frombuffer(source, dtype=np.uint8) == ord("\n"))
    line_starts = np.concatenate([[0], newlines + 1])
    lines = np.searchsorted(line_starts, offsets, side="right")
    columns = offsets - line_starts[lines - 1]
    spans = np.stack([lines, columns], axis=1).reshape(-1, 4).astype(np.int32)
    spans[offsets.reshape(-1, 2)[:, 0] < 0] = 0
    return spans
