"""What the rest of a file says about a function, as a few nodes after those of the function.

- The functions of the file that it names, each with its parameters: an argument should fit its parameter.
- The attributes that its variables have elsewhere, for a method in its class: `self.size` is doubtful in a class that
  uses no other `self.size`.
- Which of its names are also names of the module.

All depends on the sets of names in the function, not on where they stand: a bug, which exchanges a name for another one
of the function, does not change it. The nodes have types and roles that are neither candidates nor repairs.
"""

from collections.abc import Collection, Sequence
from dataclasses import fields, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rarename.encoding import Encoding
from rarename.syntax import Language, Role, Traversal
from rarename.syntax.traversal import IDENTIFIER_ROLES
from rarename.tasks.misuse.functions import OBJECT, OTHER, Function

CONTEXT_TYPES = (
    "ContextFile",
    "ContextFunction",
    "ContextParameter",
    "ContextObject",
    "ContextAttribute",
    "ContextName",
)
FILE, FUNCTION, PARAMETER, OBJECT_NODE, ATTRIBUTE, NAME = range(len(CONTEXT_TYPES))
_ROLES = np.array([Role.NONE, Role.FUNCTION, Role.KEYWORD, Role.MODULE, Role.ATTRIBUTE, Role.MODULE], dtype=np.int8)
_IS_IDENTIFIER = np.isin(np.arange(128), [int(role) for role in IDENTIFIER_ROLES])
_BOUND = (Role.WRITE, Role.ATTRIBUTE)

MIN_OTHER_NODES = 16
"""A file has a context if this many of its nodes are outside the function; otherwise it holds the function alone."""
MAX_PARAMETERS = 5
"""Of each function."""

Nodes = NDArray[np.int64]


class FileContext:
    """The names of one file by their use."""

    def __init__(
        self,
        file: Function,
        parents: NDArray[np.int32],
        type_names: Sequence[str],
        type_ids: NDArray[np.integer],
        language: Language,
        context_types: NDArray[np.int16],
    ) -> None:
        """`file` is encoded, `type_ids` are indexes of `type_names`, `context_types` rank ids of CONTEXT_TYPES."""
        self._file, self._parents, self._context_types = file, parents, context_types
        self._types, self._language, self._type_names = type_ids, language, type_names
        self._ends: dict[int, int] = {}  # of classes

    @classmethod
    def of_file(cls, file: Function, traversal: Traversal, language: Language, encoding: Encoding) -> "FileContext":
        """The context in a parsed file, encoded by `Function.of_file`."""
        nodes, parents = np.arange(len(traversal)), np.array(traversal.parents, dtype=np.int32)
        return cls(file, parents, traversal.types, nodes, language, encoding.type_ranks(CONTEXT_TYPES))

    def function_at(self, start: int, length: int, num_nodes: int) -> Function:
        """A function of the file, followed by up to `num_nodes` nodes of context."""
        return self.extend(self._file.function_at(start, length), start, length, num_nodes)

    def extend(self, function: Function, start: int, length: int, num_nodes: int) -> Function:
        """A function of the file, or a part of it, followed by up to `num_nodes` nodes of context."""
        kinds, sources = self._context(function, start, start + length, num_nodes)
        if not len(kinds):
            return function
        extra = {
            "types": self._context_types[kinds],
            "roles": _ROLES[kinds],
            "scopes": np.full(len(kinds), -1, dtype=np.int32),
            "places": np.full(len(kinds), OTHER, dtype=np.int8),
            "is_unswappable": np.zeros(len(kinds), dtype=bool),
        }
        columns: dict[str, Any] = {}
        for name in (each.name for each in fields(function)):
            own, of_file = getattr(function, name), getattr(self._file, name)
            if isinstance(own, np.ndarray):
                columns[name] = np.concatenate([own, extra.get(name, of_file[sources])])
        return replace(function, **columns, num_context=len(kinds))

    def _context(self, function: Function, start: int, stop: int, num_nodes: int) -> tuple[Nodes, Nodes]:
        """The kind of each node of the context, and the node of the file whose name it has."""
        kinds, sources = [FILE], [0]  # the root has no name
        if len(self._file) - (stop - start) < MIN_OTHER_NODES or num_nodes < 1:
            return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)

        def add(limit: int, *nodes: tuple[int, int]) -> bool:
            """Add nodes that belong together, if there is room for all."""
            if len(kinds) + len(nodes) > limit:
                return False
            kinds.extend(kind for kind, _ in nodes)
            sources.extend(source for _, source in nodes)
            return True

        values = function.values
        names = np.unique(values[_IS_IDENTIFIER[function.roles]])
        variables = np.unique(values[function.variables])
        attributes = np.unique(values[function.roles == Role.ATTRIBUTE])
        for callable_, name in self._callables[np.isin(self._callable_names, names)].tolist():
            if not start <= callable_ < stop:
                parameters = self._parameters_of(callable_)[:MAX_PARAMETERS].tolist()
                add(1 + num_nodes // 2, (FUNCTION, name), *((PARAMETER, each) for each in parameters))
        objects = self._objects_near(start)
        objects = objects[(objects < start) | (objects >= stop)]
        of_file = self._file.values
        objects = objects[np.isin(of_file[objects], variables) & np.isin(of_file[objects + 1], attributes)]
        first: dict[int, int] = {}
        pairs: dict[tuple[int, int], int] = {}
        columns = objects, of_file[objects], of_file[objects + 1]
        for node, name, attribute in zip(*(each.tolist() for each in columns), strict=True):
            first.setdefault(name, node)
            pairs.setdefault((name, attribute), node)
        previous = None
        for (name, _), node in sorted(pairs.items(), key=lambda item: (first[item[0][0]], item[1])):
            before = [] if name == previous else [(OBJECT_NODE, node)]
            if add(1 + num_nodes * 5 // 6, *before, (ATTRIBUTE, node + 1)):
                previous = name
        for node in self._module_names[np.isin(of_file[self._module_names], variables)].tolist():
            add(1 + num_nodes, (NAME, node))
        return np.array(kinds), np.array(sources)

    def _objects_near(self, start: int) -> Nodes:
        """The names before a dot in the class around a function, or in the whole file."""
        node = int(self._parents[start])
        while node >= 0 and not self._is_class[node]:
            node = int(self._parents[node])
        if node < 0:
            return self._objects
        if node not in self._ends:
            after = np.nonzero(self._parents[node + 1 :] < node)[0]
            self._ends[node] = node + 1 + int(after[0]) if len(after) else len(self._parents)
        first, last = np.searchsorted(self._objects, (node, self._ends[node])).tolist()
        return self._objects[first:last]

    def _parameters_of(self, callable_: int) -> Nodes:
        first, last = np.searchsorted(self._parameter_scopes, (callable_, callable_ + 1)).tolist()
        return self._parameters[first:last]

    def _among(self, names: Collection[str]) -> NDArray[np.bool_]:
        """Mask of the nodes whose type is one of these."""
        is_among: NDArray[np.bool_] = np.array([name in names for name in self._type_names], dtype=bool)[self._types]
        return is_among

    @cached_property
    def _is_class(self) -> NDArray[np.bool_]:
        return self._among(self._language.class_types)

    @cached_property
    def _objects(self) -> Nodes:
        assert self._file.places is not None
        return np.nonzero(self._file.places == OBJECT)[0]

    @cached_property
    def _module_names(self) -> Nodes:
        """The first node that binds each name of the module."""
        roles = self._file.roles
        is_bound = (roles == Role.WRITE) | (roles == Role.MODULE) | (roles == Role.CLASS)
        nodes = np.nonzero(is_bound & (self._file.scopes < 0))[0]
        _, first = np.unique(self._file.values[nodes], return_index=True)
        return nodes[np.sort(first)]

    @cached_property
    def _parameters(self) -> Nodes:
        """The parameters of all functions, by function; without `self` and the like."""
        roles, values, scopes = self._file.roles, self._file.values, self._file.scopes
        nodes = np.nonzero((roles == Role.PARAMETER) & ~np.isin(values, self._file.receivers))[0]
        return nodes[np.argsort(scopes[nodes], kind="stable")]

    @cached_property
    def _parameter_scopes(self) -> Nodes:
        return self._file.scopes[self._parameters].astype(np.int64)

    @cached_property
    def _callables(self) -> Nodes:
        """Each function and the node that holds its name, for a constructor that of its class: (functions, 2)."""
        language, roles, parents = self._language, self._file.roles, self._parents
        nodes = np.nonzero(self._among(language.function_types))[0]
        parent, child = parents[nodes], np.minimum(nodes + 1, len(roles) - 1)
        is_assigned = self._among(language.naming_types)[parent] & np.isin(roles[nodes - 1], _BOUND)
        name = np.select(
            [roles[nodes] == Role.FUNCTION, (roles[child] == Role.FUNCTION) & (parents[child] == nodes),
             np.isin(roles[parent], _BOUND) & (parent >= 0), is_assigned & (parent >= 0)],
            [nodes, child, parent, nodes - 1],
            -1,
        )  # fmt: skip
        is_constructor = (name >= 0) & np.isin(self._file.values[name], self._file.constructors)
        name[is_constructor] = [self._class_name(node) for node in nodes[is_constructor].tolist()]
        found: Nodes = np.stack([nodes, name], axis=1)[name >= 0]
        return found

    def _class_name(self, node: int) -> int:
        """The node with the name of the class around a function; -1 if there is none."""
        while node >= 0 and not self._is_class[node]:
            node = int(self._parents[node])
        if node < 0:
            return -1
        first = int(self._parents[node]) + 1  # in JavaScript the name comes before the body of the class
        return next((each for each in (node, first) if self._file.roles[each] == Role.CLASS), -1)

    @cached_property
    def _callable_names(self) -> Nodes:
        return self._file.values[self._callables[:, 1]]
