"""The walk over tree-sitter's concrete tree: reading its nodes and writing abstract ones, in pre-order."""

from collections.abc import Callable, Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from rarename.syntax.javascript.cst import FIELDS, NODE_KINDS, ConcreteTree
from rarename.syntax.javascript.literals import cooked_identifier
from rarename.syntax.traversal import Traversal

MISSING_NAME = "✖"  # the identifier in place of an expression that broken code lacks, as in JS150
ABSENT = -1  # the index of a concrete node that is not there

Method = Callable[[int, int], None]
"""Writes what a concrete node stands for, below an abstract node."""


class Walker:
    """One walk over a concrete tree, and the abstract nodes written so far.

    A concrete node is visited by the method with the name of its kind. The method writes the abstract node and puts
    its children on a stack. So code of any depth is walked without recursion.
    """

    plain_types: ClassVar[dict[str, str]] = {}
    """The kinds without a method whose children are those of the abstract node, and the type of that node."""

    def __init__(self, tree: ConcreteTree) -> None:
        self.tree = tree
        self.kinds, self.starts, self.ends = tree.kinds, tree.starts, tree.ends
        self.fields, self.after = tree.fields, tree.after
        self.types: list[str] = []
        self.values: list[str | None] = []
        self.parents: list[int] = []
        self.offsets: list[int] = []  # start and end byte of each node, one after the other; -1 for a node without text
        self.stack: list[tuple[Method, int, int]] = []
        self.methods = {kind: self._method(kind) for kind in set(tree.kinds)} | {"": self.missing}
        self._names: dict[bytes, str] = {}

    def _method(self, kind: str) -> Method:
        default = self.plain if kind in self.plain_types else self.transparent
        method: Method = getattr(self, "class_" if kind == "class" else kind, default)
        return method

    def run(self) -> None:
        stack = self.stack
        while stack:
            method, node, parent = stack.pop()
            method(node, parent)

    def traversal(self) -> Traversal:
        del self.methods  # they are bound to the walker: without this cycle the concrete tree is freed at once
        offsets = np.array(self.offsets, dtype=np.int64)
        return Traversal(self.types, self.values, self.parents, _spans(self.tree.source, offsets))

    def plain(self, node: int, parent: int) -> None:
        """A concrete node whose children are those of the abstract one, in the same order."""
        self._visit(self._children(node), self._write(self.plain_types[self.kinds[node]], node, parent))

    def transparent(self, node: int, parent: int) -> None:
        """A concrete node that leaves nothing but its children: parentheses, `else`, …"""
        self._visit(self._children(node), parent)

    def skipped(self, _node: int, _parent: int) -> None:
        """A concrete node that the abstract tree does not keep."""

    def missing(self, _node: int, parent: int) -> None:
        """An expression that broken code lacks."""
        self._write_at("Identifier", -1, -1, parent, MISSING_NAME)

    # -- writing ------------------------------------------------------------------------------------------------------

    def _write_at(self, type_: str, start: int, end: int, parent: int, value: str | None = None) -> int:
        """Write an abstract node with the given extent in bytes."""
        written = self._write(type_, 0, parent, value)
        self.offsets[-2:] = start, end
        return written

    def _write(self, type_: str, node: int, parent: int, value: str | None = None) -> int:
        """Write an abstract node with the extent of a concrete one."""
        self.types.append(type_)
        self.values.append(value)
        self.parents.append(parent)
        self.offsets.append(self.starts[node])
        self.offsets.append(self.ends[node])
        return len(self.types) - 1

    def _visit(self, children: Sequence[int], parent: int) -> None:
        """Visit concrete nodes next, in this order, as children of an abstract node."""
        kinds, methods, stack = self.kinds, self.methods, self.stack
        for child in reversed(children):
            stack.append((methods[kinds[child]] if child >= 0 else self.missing, child, parent))

    def _visit_as(self, method: Method, children: Sequence[int], parent: int) -> None:
        """The same, with one method for all of them."""
        self.stack.extend((method, child, parent) for child in reversed(children))

    # -- reading ------------------------------------------------------------------------------------------------------

    def _children(self, node: int) -> list[int]:
        """The children of a concrete node, without tokens; none if the node is absent."""
        kinds, after, children = self.kinds, self.after, []
        end = after[node] if node >= 0 else 0
        child = node + 1
        while child < end:
            if kinds[child] in NODE_KINDS:
                children.append(child)
            child = after[child]
        return children

    def _child(self, node: int, field: str) -> int:
        fields, after, wanted = self.fields, self.after, FIELDS[field]
        end = after[node]
        child = node + 1
        while child < end:
            if fields[child] == wanted:
                return child
            child = after[child]
        return ABSENT

    def _present(self, node: int, *fields: str) -> list[int]:
        """The children in some fields of the grammar, without those that are absent."""
        return [child for field in fields if (child := self._child(node, field)) >= 0]

    def _of_kind(self, node: int, *kinds: str) -> list[int]:
        return [child for child in self.tree.children(node) if self.kinds[child] in kinds]

    def _kind(self, node: int) -> str:
        return self.kinds[node] if node >= 0 else ""

    def _name(self, start: int, end: int) -> str:
        """A name in the source. Equal names are one string object."""
        raw = self.tree.source[start:end]
        name = self._names.get(raw)
        if name is None:
            name = self._names[raw] = cooked_identifier(raw.decode("utf-8", "replace"))
        return name

    def _text(self, node: int) -> str:
        return self._name(self.starts[node], self.ends[node])

    def _raw(self, start: int, end: int) -> str:
        return self.tree.source[start:end].decode("utf-8", "replace")


def _spans(source: bytes, offsets: NDArray[np.int64]) -> NDArray[np.int32]:
    """First and last bytes (2 * N,) as lines and columns (N, 4); a row of zeros for a node without text."""
    line_starts = np.concatenate([[0], np.flatnonzero(np.frombuffer(source, dtype=np.uint8) == ord("\n")) + 1])
    lines = np.searchsorted(line_starts, offsets, side="right")
    columns = offsets - line_starts[lines - 1]
    spans = np.stack([lines, columns], axis=1).reshape(-1, 4).astype(np.int32)
    spans[offsets[::2] < 0] = 0
    return spans
