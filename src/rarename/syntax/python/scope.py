"""The names that a variable at the cursor can refer to: the LEGB rule, with textual order inside a function.

A name that is read somewhere and bound nowhere comes from elsewhere, so it is visible everywhere.
"""

import builtins
from collections.abc import Iterator, Sequence
from itertools import takewhile
from keyword import kwlist

from rarename.syntax.cursor import CompletedSource, VisibleNames
from rarename.syntax.python.node_types import COMPREHENSION_TYPES, DEFINITION_TYPES, FUNCTION_TYPES
from rarename.syntax.scope import scopes_of
from rarename.syntax.traversal import Role

_CALLABLE_TYPES = FUNCTION_TYPES | {"Lambda"}

_BUILTINS = frozenset(dir(builtins)) | {"__annotations__", "__builtins__", "__cached__", "__file__", "__path__"}

_BINDING_ROLES = frozenset({Role.WRITE, Role.PARAMETER, Role.FUNCTION, Role.CLASS, Role.MODULE})
_DECLARATION_TYPES = frozenset({"Global", "Nonlocal"})
_ASSIGNMENT_TYPES = frozenset({"Assign", "AnnAssign", "NamedExpr"})
_FOR_TYPES = frozenset({"For", "AsyncFor"})
_LOOP_TYPES = _FOR_TYPES | {"While"}


def keywords(_source: CompletedSource, role: Role, _node: int) -> frozenset[str]:
    """The words that cannot be a name in a role."""
    return frozenset(kwlist).difference(("None", "True", "False") if role == Role.READ else ())


def visible_names(source: CompletedSource, roles: Sequence[Role], node: int) -> VisibleNames:
    """The names that the variable at a node can refer to, if it is read, deleted or declared `global` there."""
    traversal = source.traversal
    if traversal.types[traversal.parents[node]] in _DECLARATION_TYPES:
        return _Resolver(source, roles, node).declarable_names()
    if roles[node] == Role.READ or traversal.types[node] == "NameDel":
        return _Resolver(source, roles, node).readable_names()
    return VisibleNames()


class _Resolver:
    """The scopes around one node, and all bindings of the tree."""

    def __init__(self, source: CompletedSource, roles: Sequence[Role], node: int) -> None:
        self.source, self.roles, self.node = source, roles, node
        traversal = source.traversal
        self.types, self.values, self.parents = traversal.types, traversal.values, traversal.parents
        self.scopes = scopes_of(traversal, source.language)
        self.enclosing = [self.scopes[node]]
        """The scopes around the node, innermost first; the module is the last."""
        while self.enclosing[-1]:
            self.enclosing.append(self.scopes[self.enclosing[-1]])
        self.bindings = [
            (each, self._bound_name(each), self._binding_scope(each))
            for each, role in enumerate(roles)
            if role in _BINDING_ROLES and self.types[each] not in ("NameDel", "ImportFrom")
        ]
        """Nodes, the names that they bind, and in which scope; the name is `*` for a star import."""
        self.bound_names = {name for _, name, _ in self.bindings}

    def readable_names(self) -> VisibleNames:
        """The names that can be read or deleted at the node."""
        ordered, is_final = self._ordered_scopes(), self.source.parses_with_suffix
        visible = {self.enclosing[0], *(scope for scope in self.enclosing if self.types[scope] != "ClassDef")}
        not_yet_bound, loop_end = self._not_yet_bound(), self._loop_end()
        names = self._names_from_elsewhere() | self.source.later.definitions
        if 0 not in ordered:
            names |= self.source.later.variables
        for node, name, scope in self.bindings:
            is_before = node < self.node or node < loop_end
            is_definition = self.types[node] in DEFINITION_TYPES or self.types[self.parents[node]] == "alias"
            is_available_later = scope not in ordered or (scope == 0 and is_definition)
            if scope in visible and node not in not_yet_bound and (is_before or (is_final and is_available_later)):
                names.add(name)
        names -= {"", "*"}
        is_deleted = self.types[self.node] == "NameDel"
        return VisibleNames(
            bound=frozenset(names),
            builtins=frozenset() if is_deleted else _BUILTINS | self._implicit_names(),
            is_known="*" not in self.bound_names,
            unused_targets=frozenset(names & self._unused_targets()) if is_final else frozenset(),
        )

    def declarable_names(self) -> VisibleNames:
        """The names that `global` or `nonlocal` can declare: those of the module, or of the functions around."""
        statement, names = self.parents[self.node], set[str]()
        visible = {scope for scope in self.enclosing[1:] if scope and self.types[scope] != "ClassDef"}
        if self.types[statement] == "Global":
            visible = {0}
            names |= self.source.later.definitions | self.source.later.variables
        names |= {name for node, name, scope in self.bindings if scope in visible and self.parents[node] != statement}
        return VisibleNames(frozenset(names - {"", "*"}), is_known="*" not in names)

    # -- bindings -------------------------------------------------------------------------------------------

    def _bound_name(self, node: int) -> str:
        """`import a.b` binds `a`, `import a.b as c` only `c`."""
        name = self.values[node] or ""
        if self.types[node] != "alias":
            return name
        has_asname = node + 1 < len(self.parents) and self.parents[node + 1] == node
        return "" if has_asname else name.partition(".")[0]

    def _binding_scope(self, node: int) -> int:
        """`global` binds in the module, `:=` in the scope around a comprehension."""
        scope, parent_type = self.scopes[node], self.types[self.parents[node]]
        while parent_type == "NamedExpr" and self.types[scope] in COMPREHENSION_TYPES:
            scope = self.scopes[scope]
        return 0 if parent_type == "Global" else scope

    def _names_from_elsewhere(self) -> set[str]:
        """The names that are read but bound nowhere: another module, or the program that runs the text, binds them."""
        wanted = Role.READ  # looked up once: an Enum is slow
        read = {self.values[node] or "" for node, role in enumerate(self.roles) if role is wanted and node != self.node}
        deleted = {self.values[node] or "" for node, type_ in enumerate(self.types) if type_ == "NameDel"}
        return read - deleted - self.bound_names

    def _implicit_names(self) -> frozenset[str]:
        """The names that the body of a class, and the functions in it, have without a binding."""
        is_class = [self.types[scope] == "ClassDef" for scope in self.enclosing]
        if is_class[0]:
            return frozenset({"__module__", "__qualname__"})
        return frozenset({"__class__"} if any(is_class) else ())

    # -- order of execution ---------------------------------------------------------------------------------

    def _ordered_scopes(self) -> set[int]:
        """The scopes whose statements run in textual order up to the node: its function, and the classes in that.

        In others the order is unknown: a comprehension binds after its element, an outer function may have continued.
        """
        ordered = set[int]()
        for scope in self.enclosing:
            if self.types[scope] not in COMPREHENSION_TYPES:
                ordered.add(scope)
            if self.types[scope] in _CALLABLE_TYPES:
                break
        return ordered

    def _ancestors(self) -> Iterator[tuple[int, int]]:
        """The ancestors of the node, innermost first, each with its child on the way to the node."""
        child, ancestor = self.node, self.parents[self.node]
        while ancestor >= 0:
            yield child, ancestor
            child, ancestor = ancestor, self.parents[ancestor]

    def _local_scopes(self) -> set[int]:
        """The scope of the node, and the one around its comprehension, which runs at once."""
        is_outer = (self.types[scope] not in COMPREHENSION_TYPES for scope in self.enclosing)
        return set(self.enclosing[: list(is_outer).index(True) + 1])

    def _subtree_end(self, root: int) -> int:
        size = len(self.parents)
        return next((node for node in range(root + 1, size) if self.parents[node] < root), size)

    def _loop_end(self) -> int:
        """The end of the outermost loop around the node, inside its scope; 0 if there is none."""
        local = self._local_scopes()
        inside = takewhile(lambda ancestor: self.scopes[ancestor] in local, (each for _, each in self._ancestors()))
        loops = [ancestor for ancestor in inside if self.types[ancestor] in _LOOP_TYPES]
        return self._subtree_end(loops[-1]) if loops else 0

    def _not_yet_bound(self) -> set[int]:
        """The bindings that take effect only after the statement around the node.

        `x = ‸` does not read this `x`, nor does `for x in ‸`; but `x = lambda: ‸` may.
        """
        found, local = set[int](), self._local_scopes()
        for child, ancestor in self._ancestors():
            type_ = self.types[ancestor]
            is_target_before = (
                type_ in _ASSIGNMENT_TYPES
                or (type_ in _FOR_TYPES and self.types[child] not in ("body", "orelse"))
                or (type_ == "comprehension" and self.parents[ancestor + 1 : child].count(ancestor) <= 1)
            )
            if is_target_before and self.scopes[ancestor] in local:
                found.update(range(ancestor + 1, child))
            elif (type_ in FUNCTION_TYPES and self.types[child] != "body") or (
                type_ == "ClassDef" and self.enclosing[0] in (ancestor, self.scopes[ancestor])
            ):
                found.add(ancestor)
        return found

    def _unused_targets(self) -> set[str]:
        """The targets of comprehensions whose element contains the node, without those already used before it."""
        found = set[str]()
        for child, ancestor in self._ancestors():
            if self.types[ancestor] in _CALLABLE_TYPES:
                break
            if self.types[ancestor] in COMPREHENSION_TYPES and self.types[child] != "comprehension":
                after = range(self.node, self._subtree_end(ancestor))
                targets = {self.values[node] or "" for node in after if self.types[node] == "NameStore"}
                found |= targets.difference(self.values[ancestor : self.node])
        return found
