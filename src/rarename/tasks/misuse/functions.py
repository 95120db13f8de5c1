"""Functions as arrays of rank ids: the input of variable misuse, in training and in `rarename check`."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from rarename.encoding import Encoding
from rarename.subtokens import subtoken_ids
from rarename.syntax import Language, Role, Traversal
from rarename.syntax.functions import Slice, outermost
from rarename.syntax.scope import ScopeRules
from rarename.syntax.traversal import VARIABLE_ROLES, MisuseLabel
from rarename.vocabulary import Vocabulary

_IS_VARIABLE = np.isin(np.arange(128), [int(role) for role in VARIABLE_ROLES])


@dataclass(frozen=True)
class Function:
    """One function; the arrays are views with one entry per node."""

    types: NDArray[np.int16]  # rank ids; a type that the encoding lacks is `Special.UNK.rank`
    values: NDArray[np.int64]  # rank ids
    roles: NDArray[np.int8]
    scopes: NDArray[np.int32]
    """The node that opens the scope of each node (`rarename.syntax.scope`); -1 outside the function."""
    subtokens: NDArray[np.int16] | None = None  # subtoken ids of each name: see `rarename.subtokens`
    bigrams: NDArray[np.uint8] | None = None  # character bigrams of each name: see `similarity`
    label: MisuseLabel | None = None  # a published bug, which `values` already contains
    is_unswappable: NDArray[np.bool_] | None = None
    """Names that cannot be replaced alone, such as one of the two tags of an element."""

    def __len__(self) -> int:
        return len(self.types)

    @cached_property
    def variables(self) -> NDArray[np.int64]:
        """The nodes that hold a variable."""
        if self.label is not None:
            # A few of the published repairs are not among the candidates published with them.
            return np.array(sorted({*self.label.repair_candidates, *self.label.repair_targets}), dtype=np.int64)
        return np.nonzero(_IS_VARIABLE[self.roles])[0]

    @cached_property
    def bindings(self) -> NDArray[np.int64]:
        """The nodes that bind a name: parameters and assignment targets."""
        return np.nonzero((self.roles == Role.WRITE) | (self.roles == Role.PARAMETER))[0]

    def bindings_visible_in(self, scope: int) -> NDArray[np.int64]:
        """The nodes that bind a name in a scope or in one around it."""
        enclosing = []
        while scope >= 0:
            enclosing.append(scope)
            scope = int(self.scopes[scope])
        return self.bindings[np.isin(self.scopes[self.bindings], enclosing)]


def is_eligible(function: Function) -> bool:
    """Whether a bug can be injected and repaired: three variable nodes, three names, one of them twice."""
    names = function.values[function.variables]
    _, counts = np.unique(names, return_counts=True)
    return len(names) >= 3 and len(counts) >= 3 and int(counts.max()) >= 2


def outermost_within(slices: Sequence[Slice], max_nodes: int) -> list[Slice]:
    """Of the functions with at most `max_nodes` nodes, the outermost."""
    return outermost([each for each in slices if each.length <= max_nodes])


class NestedFunctions:
    """A function and the functions nested in it: which one owns a node, and which names a node can see."""

    def __init__(self, function: Function, slices: Sequence[Slice]) -> None:
        self._function = function
        self.functions = {start: start + length for start, length in slices}
        """Start and end of each function in pre-order; the first is the whole."""
        self._owners = np.zeros(len(function), dtype=np.int64)
        for start, stop in self.functions.items():  # an inner function comes later and overwrites
            self._owners[start:stop] = start
        self._bound: dict[int, NDArray[np.int64]] = {}

    def __len__(self) -> int:
        return len(self._owners)

    def owner(self, node: int) -> int:
        """The first node of the innermost function around a node."""
        return int(self._owners[node])

    def owned_by(self, owner: int) -> NDArray[np.bool_]:
        """Mask of the nodes whose innermost function is this one."""
        is_owned: NDArray[np.bool_] = self._owners == owner
        return is_owned

    def visible_from(self, node: int) -> NDArray[np.bool_]:
        """Mask of the nodes whose name is visible from a node."""
        names = np.union1d(self._bound_in(int(self._function.scopes[node])), self._free_names)
        return np.isin(self._function.values, names)

    def _bound_in(self, scope: int) -> NDArray[np.int64]:
        if scope not in self._bound:
            self._bound[scope] = np.unique(self._function.values[self._function.bindings_visible_in(scope)])
        return self._bound[scope]

    @cached_property
    def _free_names(self) -> NDArray[np.int64]:
        """Names used where no binding is visible: globals, builtins, and names declared by a `var` in a block."""
        function, variables = self._function, self._function.variables
        scopes = function.scopes[variables]
        free = [
            np.setdiff1d(function.values[variables[scopes == scope]], self._bound_in(scope))
            for scope in np.unique(scopes).tolist()
        ]
        return np.unique(np.concatenate(free)) if free else np.zeros(0, dtype=np.int64)


@dataclass(frozen=True)
class EncodedFile:
    """The nodes of a whole file, of which functions are slices; the arrays are those of `Function`."""

    types: NDArray[np.int16]
    values: NDArray[np.int64]
    roles: NDArray[np.int8]
    scopes: NDArray[np.int32]
    subtokens: NDArray[np.int16] | None = None
    is_unswappable: NDArray[np.bool_] | None = None

    @classmethod
    def of(cls, traversal: Traversal, roles: Sequence[Role], language: Language, encoding: Encoding) -> "EncodedFile":
        """Encode a parsed file. Rare names get other rank ids than in a corpus, but the same model ids."""
        values, _ = encoding.values.ranks(traversal.values)
        nodes = np.arange(len(traversal), dtype=np.int32)  # the scope rule takes type ids: here each node has its own
        parents = np.array(traversal.parents, dtype=np.int32)
        is_unswappable_type = np.array([name in language.unswappable_types for name in traversal.types])
        return cls(
            types=encoding.type_ranks(traversal.types),
            values=values,
            roles=np.array(roles, dtype=np.int8),
            scopes=ScopeRules.of(traversal.types, language).lookup_scopes(nodes, parents),
            subtokens=_subtokens(traversal, values, encoding.subtokens) if encoding.subtokens else None,
            is_unswappable=children_of(nodes, parents, is_unswappable_type),
        )

    def function_at(self, start: int, length: int) -> Function:
        nodes = slice(start, start + length)
        return Function(
            types=self.types[nodes],
            values=self.values[nodes],
            roles=self.roles[nodes],
            scopes=np.maximum(self.scopes[nodes] - start, -1),
            subtokens=None if self.subtokens is None else self.subtokens[nodes],
            is_unswappable=None if self.is_unswappable is None else self.is_unswappable[nodes],
        )


def children_of(
    types: NDArray[np.integer], parents: NDArray[np.int32], is_parent_type: NDArray[np.bool_]
) -> NDArray[np.bool_] | None:
    """Mask of the nodes directly below one of these types; None if there are none, as in most files."""
    if not is_parent_type[types].any():
        return None
    is_child: NDArray[np.bool_] = is_parent_type[types[parents]] & (parents >= 0)
    return is_child


def _subtokens(traversal: Traversal, values: NDArray[np.int64], vocabulary: Vocabulary) -> NDArray[np.int16]:
    """The subtokens of each node; `values` are its rank ids, so that each distinct value is split once."""
    _, first, inverse = np.unique(values, return_index=True, return_inverse=True)
    return subtoken_ids([traversal.values[node] for node in first.tolist()], vocabulary)[inverse]
