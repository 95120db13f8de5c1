"""Which scope each node of a tree is in: the rule for both misuse sampling and name resolution at a cursor.

A node is in the innermost function, class, comprehension or block around it, with two exceptions. Defaults, decorators,
bases and annotations of parameters are evaluated around what they belong to, and so is the iterable of a loop.
Functions inside a class do not see the names of the class.

A tree does not show whether a name was declared with `var`. The caller who has the text says so with `is_hoisted`;
otherwise each name is taken to belong to its block.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rarename.syntax.language import Language
from rarename.syntax.traversal import Traversal

Flags = NDArray[np.bool_]
Nodes = NDArray[np.int32]


def scopes_of(traversal: Traversal, language: Language, is_hoisted: Sequence[bool] | None = None) -> list[int]:
    """For each node of one tree the node that opens its scope; the root for all that is in no other scope."""
    ids = {type_: id_ for id_, type_ in enumerate(dict.fromkeys(traversal.types))}
    types = np.array([ids[type_] for type_ in traversal.types])
    hoisted = None if is_hoisted is None else np.array(is_hoisted, dtype=bool)
    parents = np.array(traversal.parents, dtype=np.int32)
    scopes: list[int] = ScopeRules.of(list(ids), language).scopes(types, parents, hoisted).clip(min=0).tolist()
    return scopes


@dataclass(frozen=True)
class ScopeRules:
    """What each node type means for scopes; every array has an entry for each type id."""

    opens: Flags
    is_function: Flags
    is_class: Flags
    is_outer: Flags
    is_header: Flags
    iterates: Flags

    @classmethod
    def of(cls, types: Sequence[str], language: Language) -> "ScopeRules":
        """The rules for a list of types, by their ids."""

        def among(some: Collection[str]) -> Flags:
            return np.array([name in some for name in types], dtype=bool)

        return cls(
            opens=among(language.scope_types),
            is_function=among(language.function_types),
            is_class=among(language.class_types),
            is_outer=among(language.outer_types),
            is_header=among(language.scope_types | language.header_types),
            iterates=among(language.iterating_types),
        )

    def scopes(self, types: NDArray[np.integer], parents: Nodes, is_hoisted: Flags | None = None) -> Nodes:
        """For each node the node that opens the scope it is in; -1 for the outermost scope."""
        above = self._above(types, parents)
        result = _around(self.opens[types], above)
        return result if is_hoisted is None else np.where(is_hoisted, _around(self.is_function[types], above), result)

    def lookup_scopes(self, types: NDArray[np.integer], parents: Nodes) -> Nodes:
        """The same, but for a node that opens a scope the next one in which names are looked up from inside it.

        That is never a class: the functions of a class do not see its names.
        """
        opens, is_class = self.opens[types], self.is_class[types]
        scopes = self.scopes(types, parents)
        result = scopes.copy()
        while (skipped := opens & (result >= 0) & is_class[result]).any():
            result[skipped] = scopes[result[skipped]]
        return result

    def _above(self, types: NDArray[np.integer], parents: Nodes) -> Nodes:
        """The parent of each node; for a node that is evaluated around a scope, the parent of the scope."""
        opens = self.opens[types]
        outer = np.nonzero(self.is_outer[types] & (parents >= 0) & self.is_header[types[parents]])[0]
        outer = np.concatenate([outer, _iterables(self.iterates[types], opens, parents)])
        scope = _innermost(opens, parents)[parents[outer]]
        outer, scope = outer[scope >= 0], scope[scope >= 0]
        above = parents.copy()
        above[outer] = parents[scope]
        return above


def _around(opens: Flags, above: Nodes) -> Nodes:
    """For each node the first that opens a scope on the way up, without itself; -1 for none."""
    return np.where(above >= 0, _innermost(opens, above)[above], -1).astype(np.int32)


def _innermost(opens: Flags, above: Nodes) -> Nodes:
    """For each node the first that opens a scope on the way up, beginning with itself; -1 for none.

    Every node points to the one above it, scopes to themselves. Pointers double their reach in each round.
    """
    nodes = np.arange(len(above), dtype=np.int32)
    target = np.where(opens | (above < 0), nodes, above)
    while True:
        further = target[target]
        if (further == target).all():
            return np.where(opens[target], target, -1)
        target = further


def _iterables(iterates: Flags, opens: Flags, parents: Nodes) -> NDArray[np.int64]:
    """The second child of each loop that opens a scope, and of the first loop in a comprehension."""
    loops = np.nonzero(iterates)[0]
    if not len(loops):
        return loops
    own, inside = loops[opens[loops]], loops[~opens[loops]]
    _, first = np.unique(parents[inside], return_index=True)
    loops = np.union1d(own, inside[first])
    # The first child of a node comes right after it; the second is the next node with the same parent.
    children = np.nonzero(np.isin(parents, loops))[0]
    children = children[children != parents[children] + 1]
    _, second = np.unique(parents[children], return_index=True)
    return np.asarray(children[second], dtype=np.int64)
