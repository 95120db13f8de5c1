"""Which scope each node of a tree stands in, for whole arrays of nodes at once.

A node stands in the innermost function, class, comprehension or block around it, with two exceptions: defaults,
decorators and bases are evaluated around what they belong to, and so is what is looped over. Names of a class are seen
in its body, but not by the functions in it. Whether a name of JavaScript was declared with `var` a tree does not tell;
all are taken to be seen in their block alone.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rarename.syntax.language import Language

Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class Scoping:
    """What each node type means for scopes; every array has an entry for each type id."""

    opens: Flags
    is_class: Flags
    is_outer: Flags
    iterates: Flags

    @classmethod
    def of(cls, types: Sequence[str], language: Language) -> "Scoping":
        """For a list of types, by their ids."""

        def among(some: Iterable[str]) -> Flags:
            return np.array([name in frozenset(some) for name in types], dtype=bool)

        return cls(
            opens=among(language.scope_types),
            is_class=among(language.class_types),
            is_outer=among(language.outer_types),
            iterates=among(language.iterating_types),
        )

    def scopes(self, types: NDArray[np.integer], parents: NDArray[np.int32]) -> NDArray[np.int32]:
        """For each node the node that opens its scope, and for one that opens a scope the next that it sees; or -1."""
        opens = self.opens[types]
        inner = _innermost(opens, parents)
        outer = np.nonzero(self.is_outer[types] & (parents >= 0))[0]
        outer = np.concatenate([outer, _looped_over(self.iterates[types], opens, parents)])
        scope = inner[parents[outer]]
        outer, scope = outer[scope >= 0], scope[scope >= 0]
        above = parents.copy()
        above[outer] = parents[scope]
        inner = _innermost(opens, above)
        result = np.where(above >= 0, inner[above], -1)
        is_class = self.is_class[types]
        # From inside a scope, classes around it are not seen.
        while (skipped := opens & (result >= 0) & is_class[result]).any():
            result[skipped] = np.where(above[result] >= 0, inner[above[result]], -1)[skipped]
        return result.astype(np.int32)


def _innermost(opens: Flags, above: NDArray[np.int32]) -> NDArray[np.int32]:
    """For each node the first that opens a scope on the way up, beginning with itself; -1 for none.

    Every node points to the one above it, scopes to themselves; pointing twice as far each time, all arrive soon.
    """
    nodes = np.arange(len(above), dtype=np.int32)
    target = np.where(opens | (above < 0), nodes, above)
    while True:
        further = target[target]
        if (further == target).all():
            return np.where(opens[target], target, -1)
        target = further


def _looped_over(iterates: Flags, opens: Flags, parents: NDArray[np.int32]) -> NDArray[np.int64]:
    """The second part of each loop that opens a scope, and of the first loop in a comprehension."""
    loops = np.nonzero(iterates)[0]
    if not len(loops):
        return loops
    own, inside = loops[opens[loops]], loops[~opens[loops]]
    _, first = np.unique(parents[inside], return_index=True)
    loops = np.union1d(own, inside[first])
    # The first part of a node comes right behind it; the second is the next that has the same parent.
    parts = np.nonzero(np.isin(parents, loops))[0]
    parts = parts[parts != parents[parts] + 1]
    _, second = np.unique(parents[parts], return_index=True)
    found: NDArray[np.int64] = parts[second]
    return found
