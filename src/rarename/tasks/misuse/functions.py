"""Functions as arrays of rank ids: the input of variable misuse, in training and in `rarename check`."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rarename.encoding import Encoding
from rarename.subtokens import subtoken_ids
from rarename.syntax import Language, Role, Traversal
from rarename.syntax.functions import Slice, outermost
from rarename.syntax.scope import ScopeRules
from rarename.syntax.traversal import VARIABLE_ROLES, MisuseLabel
from rarename.tasks.batch import map_arrays
from rarename.tasks.misuse.similarity import character_bigrams

Mask = NDArray[np.bool_]

_IS_VARIABLE = np.isin(np.arange(128), [int(role) for role in VARIABLE_ROLES])

_PUBLISHED_FUNCTIONS = {
    "python": frozenset({"FunctionDef"}),
    "javascript": frozenset({"FunctionDeclaration", "FunctionExpression"}),
}
_PUBLISHED_VARIABLES = {
    "python": frozenset({"NameParam", "NameStore", "NameLoad"}),
    "javascript": frozenset({"Identifier", "VariableDeclarator", "Property"}),
}


PLACES = ("other", "argument", "callee", "object", "keyword")
"""What stands around a variable: nothing special, a positional argument, the called function, the name before a dot,
the value of a keyword argument."""
OTHER, ARGUMENT, CALLEE, OBJECT, KEYWORD = range(len(PLACES))


@dataclass(frozen=True)
class Function:
    """One function, or a whole file before it is cut into functions; the arrays have one entry per node."""

    types: NDArray[np.int16]  # rank ids; a type that the encoding lacks is `Special.UNK.rank`
    values: NDArray[np.int64]  # rank ids
    roles: NDArray[np.int8]
    scopes: NDArray[np.int32]  # the node that opens the scope of each node (`syntax.scope`); -1 outside the function
    subtokens: NDArray[np.int16] | None = None  # subtoken ids of each name: see `rarename.subtokens`
    bigrams: NDArray[np.uint8] | None = None  # character bigrams of each name: see `similarity`
    is_unswappable: Mask | None = None  # names that cannot be replaced alone, such as one of the two tags of an element
    places: NDArray[np.int8] | None = None  # what stands around each variable: see `features`
    receivers: tuple[int, ...] = ()  # the rank ids of names such as `self`
    constructors: tuple[int, ...] = ()  # the rank ids of names such as `__init__`
    num_context: int = 0  # the last nodes, about the rest of the file: see `context`
    published_variables: Mask | None = None  # the nodes that hold a variable, if `published_variables` chooses them
    label: MisuseLabel | None = None  # a published bug, which `values` already contains
    project: int = 0  # an index into `FunctionDataset.project_names`

    @classmethod
    def of_file(
        cls,
        traversal: Traversal,
        roles: Sequence[Role],
        language: Language,
        encoding: Encoding,
        has_bigrams: bool = False,
    ) -> "Function":
        """Encode a parsed file. Rare names get other rank ids than in a corpus, but the same model ids."""
        values, _ = encoding.values.ranks(traversal.values)
        nodes = np.arange(len(traversal), dtype=np.int32)  # the scope rule takes type ids: here each node has its own
        parents = np.array(traversal.parents, dtype=np.int32)

        def ranks_of(names: Collection[str]) -> tuple[int, ...]:
            found = [node for node, value in enumerate(traversal.values) if value in names]
            return tuple(np.unique(values[found]).tolist())

        subtokens = bigrams = None
        if encoding.subtokens or has_bigrams:
            _, first, inverse = np.unique(values, return_index=True, return_inverse=True)  # split each value once
            names = [traversal.values[node] for node in first]
            subtokens = subtoken_ids(names, encoding.subtokens)[inverse] if encoding.subtokens else None
            bigrams = character_bigrams(names)[inverse] if has_bigrams else None
        return cls(
            types=encoding.type_ranks(traversal.types),
            values=values,
            roles=np.array(roles, dtype=np.int8),
            scopes=ScopeRules.of(traversal.types, language).lookup_scopes(nodes, parents),
            subtokens=subtokens,
            bigrams=bigrams,
            is_unswappable=is_unswappable(nodes, parents, traversal.types, language),
            places=places(nodes, parents, np.array(roles, dtype=np.int8), traversal.types, language),
            receivers=ranks_of(language.receivers),
            constructors=ranks_of(language.constructors),
        )

    def function_at(self, start: int, length: int) -> "Function":
        """Cut a function from a file."""
        part = map_arrays(self, lambda array: array[start : start + length])
        return replace(part, scopes=np.maximum(part.scopes - start, -1))

    def select(self, nodes: NDArray[np.int64]) -> "Function":
        """Some nodes of a file, in order."""
        position = np.full(len(self) + 1, -1, dtype=np.int32)  # the last entry is for nodes in the outermost scope
        position[nodes] = np.arange(len(nodes))
        part = map_arrays(self, lambda array: array[nodes])
        selected: Function = replace(part, scopes=position[part.scopes])
        return selected

    @classmethod
    def joined(cls, functions: "Sequence[Function]") -> "Function":
        """Functions one after the other, as if they were one: the same name in two of them has two rank ids."""
        owners = np.repeat(np.arange(len(functions)), [len(each) for each in functions])
        columns: dict[str, Any] = {}
        for name in (each.name for each in fields(cls)):
            if all(isinstance(getattr(each, name), np.ndarray) for each in functions):
                columns[name] = np.concatenate([getattr(each, name) for each in functions])
        names, columns["values"] = np.unique(columns["values"] + owners * 2**40, return_inverse=True)
        receivers = [rank + number * 2**40 for number, each in enumerate(functions) for rank in each.receivers]
        return cls(**columns, receivers=tuple(np.nonzero(np.isin(names, receivers))[0].tolist()))

    def __len__(self) -> int:
        return len(self.types)

    @cached_property
    def is_variable(self) -> Mask:
        """Mask of the nodes that hold a variable."""
        if self.published_variables is not None:
            return self.published_variables
        if self.label is None:
            return _IS_VARIABLE[self.roles]
        # A few of the published repairs are not among the candidates published with them.
        return np.isin(np.arange(len(self)), [*self.label.repair_candidates, *self.label.repair_targets])

    @cached_property
    def variables(self) -> NDArray[np.int64]:
        """The nodes that hold a variable."""
        return np.nonzero(self.is_variable)[0]

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


def is_unswappable(
    types: NDArray[np.integer], parents: NDArray[np.int32], type_names: Sequence[str], language: Language
) -> Mask | None:
    """Mask of the names that cannot be replaced alone; None if there are none, as in most files."""
    is_parent = np.array([name in language.unswappable_types for name in type_names])[types]
    return is_parent[parents] & (parents >= 0) if is_parent.any() else None


def places(
    types: NDArray[np.integer],
    parents: NDArray[np.int32],
    roles: NDArray[np.int8],
    type_names: Sequence[str],
    language: Language,
) -> NDArray[np.int8]:
    """The place of each node of a tree, an index of `PLACES`; `OTHER` for what is no variable that is read."""
    nodes = np.arange(len(types))
    is_call = np.array([name in language.call_types for name in type_names], dtype=bool)[types]
    is_keyword = np.array([name == language.keyword_argument_type for name in type_names], dtype=bool)[types]
    is_first = nodes == parents + 1
    following = np.minimum(nodes + 1, len(nodes) - 1)
    # A name is a leaf, so the attribute after its dot is the next node.
    is_object = is_first & (roles[following] == Role.ATTRIBUTE) & (parents[following] == parents) & (following > nodes)
    result = np.select(
        [is_object, is_call[parents] & is_first, is_call[parents], is_keyword[parents]],
        [OBJECT, CALLEE, ARGUMENT, KEYWORD],
        OTHER,
    )
    return np.where((roles == Role.READ) & (parents >= 0), result, OTHER).astype(np.int8)


def is_eligible(function: Function) -> bool:
    """Whether a bug can be injected and repaired: three variable nodes, three names, one of them twice."""
    _, counts = np.unique(function.values[function.variables], return_counts=True)
    return len(counts) >= 3 and int(counts.max()) >= 2


def outermost_within(slices: Sequence[Slice], max_nodes: int) -> list[Slice]:
    """Of the functions with at most `max_nodes` nodes, the outermost."""
    return outermost([each for each in slices if each.length <= max_nodes])


def published_functions(
    types: NDArray[np.integer], parents: NDArray[np.int32], type_names: Sequence[str], language: Language
) -> list[Slice]:
    """The outermost functions of any length, as in the published code: a long one hides those nested in it."""
    is_function = np.array([name in _PUBLISHED_FUNCTIONS.get(language.name, ()) for name in type_names])[types]
    result, stop = [], 0
    for start in np.nonzero(is_function)[0].tolist():
        if start >= stop:
            stop = _subtree_end(parents, start)
            result.append(Slice(start, stop - start))
    return result


def _subtree_end(parents: NDArray[np.int32], start: int) -> int:
    size = 256  # few functions are longer: searching to the end of the file would take quadratic time
    while True:
        after = np.nonzero(parents[start + 1 : start + 1 + size] < start)[0]
        if len(after) or start + size >= len(parents):
            return start + 1 + int(after[0]) if len(after) else len(parents)
        size *= 2


def published_variables(
    types: NDArray[np.integer],
    values: NDArray[np.integer],
    is_identifier: Mask,
    type_names: Sequence[str],
    language: Language,
) -> tuple[Mask, Mask]:
    """Masks of the variables of the published code, and of the properties that are literals.

    Variables include None, True and False, and JavaScript's properties that are identifiers. `is_identifier` has an
    entry for each value.
    """
    chosen = _PUBLISHED_VARIABLES.get(language.name, frozenset())
    is_variable: Mask = np.array([name in chosen for name in type_names])[types] & (values >= 0)
    is_literal = is_variable & np.array([name == "Property" for name in type_names])[types]
    is_literal[is_literal] = ~is_identifier[values[is_literal]]
    return is_variable & ~is_literal, is_literal


class NestedFunctions:
    """A function and the functions nested in it: which one owns a node, and which names a node can see."""

    def __init__(self, function: Function, slices: Sequence[Slice]) -> None:
        self._function = function
        self.functions = [start for start, _ in slices]  # the first node of each, in pre-order
        self.owners = np.zeros(len(function), dtype=np.int64)  # the first node of the innermost function around a node
        for start, length in slices:  # an inner function comes later and overwrites
            self.owners[start : start + length] = start

    def visible_from(self, node: int) -> Mask:
        """Mask of the nodes whose name is visible from a node."""
        visible, rows, names = self._visible
        mask: Mask = visible[rows[node], names]
        return mask

    @cached_property
    def _visible(self) -> tuple[Mask, NDArray[np.int64], NDArray[np.int64]]:
        """Mask of the names visible in each scope, the row of each node in it, and its column.

        Visible are names bound in the scope or in one around it, and free ones: those used somewhere without a visible
        binding, such as globals, builtins, and names declared by a `var` in a block.
        """
        function, scopes = self._function, self._function.scopes
        openers, rows = np.unique(scopes, return_inverse=True)
        distinct, names = np.unique(function.values, return_inverse=True)
        is_bound, is_used = np.zeros((2, len(openers), len(distinct)), dtype=bool)
        is_bound[rows[function.bindings], names[function.bindings]] = True
        is_used[rows[function.variables], names[function.variables]] = True
        is_bound[openers < 0] = False  # nothing outside of the function is a local name
        row_of = {opener: row for row, opener in enumerate(openers.tolist())}
        for row, opener in enumerate(openers.tolist()):  # an outer scope opens before those in it
            outer = int(scopes[opener]) if opener >= 0 else -1
            while outer >= 0 and outer not in row_of:  # it has no nodes, so it binds nothing
                outer = int(scopes[outer])
            if outer >= 0:
                is_bound[row] |= is_bound[row_of[outer]]
        return is_bound | (is_used & ~is_bound).any(axis=0), rows, names
