"""Which names a variable at the cursor can mean in Python: LEGB, with textual order inside a function.

A name that is read somewhere and bound nowhere comes from elsewhere: it can be meant everywhere.
"""

import builtins
from collections.abc import Iterator, Sequence
from keyword import kwlist

from rarename.syntax.cursor import CompletedSource, VisibleNames
from rarename.syntax.traversal import Role, Traversal

FUNCTION_TYPES = frozenset({"FunctionDef", "AsyncFunctionDef"})
SCOPE_TYPES = FUNCTION_TYPES | {"Lambda", "ClassDef", "ListComp", "SetComp", "DictComp", "GeneratorExp"}
OUTER_TYPES = frozenset({"defaults", "kw_defaults", "decorator_list", "returns", "bases", "type_params", "annotation"})
HEADER_TYPES = frozenset({"arguments", "NameParam", "vararg", "kwarg"})

BUILTINS = frozenset(dir(builtins)) | {"__annotations__", "__builtins__", "__cached__", "__file__", "__path__"}
"""What every module has without binding it."""
_IN_CLASSES = frozenset({"__module__", "__qualname__"})
_IN_METHODS = frozenset({"__class__"})
_CONSTANTS = frozenset({"None", "True", "False"})
_KEYWORDS = frozenset(kwlist)

_FUNCTIONS = FUNCTION_TYPES | {"Lambda"}
_COMPREHENSIONS = SCOPE_TYPES - _FUNCTIONS - {"ClassDef"}
_LOOPS = frozenset({"For", "AsyncFor", "While"})
_BINDING_ROLES = frozenset({Role.WRITE, Role.PARAMETER, Role.FUNCTION, Role.CLASS, Role.MODULE})
_BINDING_STATEMENTS = frozenset({"Assign", "AnnAssign", "NamedExpr"})
_DECLARATIONS = frozenset({"Global", "Nonlocal"})


def keywords(_source: CompletedSource, role: Role, _node: int) -> frozenset[str]:
    """The words that cannot be a name in a role."""
    return _KEYWORDS - _CONSTANTS if role == Role.READ else _KEYWORDS


def visible_names(source: CompletedSource, roles: Sequence[Role], node: int) -> VisibleNames:
    """The names that the variable at a node can mean, if one is read or deleted there, or declared `global`."""
    traversal = source.traversal
    if traversal.types[traversal.parents[node]] in _DECLARATIONS:
        return _in_scope_of_declaration(source, roles, node)
    is_deleted = traversal.types[node] == "NameDel"
    if roles[node] != Role.READ and not is_deleted:
        return VisibleNames()
    scopes = _scopes(traversal)
    visible = _visible_scopes(traversal, scopes, node)
    # Elsewhere any order will do: a comprehension binds behind its element, a function around may run on before.
    ordered = _running_scopes(traversal, scopes, node)
    loop_ends = _loop_ends(traversal, scopes, node)
    not_yet = _targets_of_own_statements(traversal, scopes, node)
    names = set(source.later.definitions | (source.later.variables if 0 not in ordered else frozenset()))
    names |= _names_from_elsewhere(traversal, roles, node)
    has_star = False
    for binding in _bindings(traversal, roles):
        if binding == node or binding in not_yet:
            continue
        has_star = has_star or _is_star(traversal, binding)
        scope = _scope_of_binding(traversal, scopes, binding)
        if scope not in visible:
            continue
        is_before = binding < node or binding < loop_ends
        is_defined_later = scope == 0 and _is_definition(traversal, binding)
        if is_before or (source.parses_with_suffix and (scope not in ordered or is_defined_later)):
            names.add(_bound_name(traversal, binding))
    names.discard("")
    given = frozenset[str]() if is_deleted else BUILTINS | _names_of_classes(traversal, scopes, node)
    expected = names & _unused_targets(traversal, node) if source.parses_with_suffix else frozenset[str]()
    return VisibleNames(frozenset(names), given, is_known=not has_star, unused_targets=frozenset(expected))


def _in_scope_of_declaration(source: CompletedSource, roles: Sequence[Role], node: int) -> VisibleNames:
    """The names that `global` or `nonlocal` can declare: those of the module, or of the functions around."""
    traversal = source.traversal
    statement = traversal.parents[node]
    scopes = _scopes(traversal)
    if traversal.types[statement] == "Global":
        visible = [0]
        names = set(source.later.definitions | source.later.variables)
    else:
        visible = [scope for scope in _visible_scopes(traversal, scopes, node)[1:] if scope]
        names = set()
    has_star = False
    for binding in _bindings(traversal, roles):
        if traversal.parents[binding] != statement and _scope_of_binding(traversal, scopes, binding) in visible:
            names.add(_bound_name(traversal, binding))
            has_star = has_star or _is_star(traversal, binding)
    return VisibleNames(frozenset(names - {""}), is_known=not has_star)


def _bindings(traversal: Traversal, roles: Sequence[Role]) -> Iterator[int]:
    """The nodes that bind a name."""
    for node, role in enumerate(roles):
        if role in _BINDING_ROLES and traversal.types[node] not in ("NameDel", "ImportFrom"):
            yield node


def _is_star(traversal: Traversal, binding: int) -> bool:
    """Whether a node is the star of `from a import *`."""
    return traversal.types[binding] == "alias" and traversal.values[binding] == "*"


def _scope_of_binding(traversal: Traversal, scopes: Sequence[int], binding: int) -> int:
    """The scope in which a name is bound: that of the module by `global`, the one around a comprehension by `:=`."""
    scope, statement = scopes[binding], traversal.types[traversal.parents[binding]]
    if statement == "Global":
        return 0
    if statement == "NamedExpr":
        while traversal.types[scope] in _COMPREHENSIONS:
            scope = scopes[scope]
    return scope


def _unused_targets(traversal: Traversal, node: int) -> set[str]:
    """The variables of comprehensions in whose element a node stands, without those that it has before already."""
    types, values, parents = traversal.types, traversal.values, traversal.parents
    found: set[str] = set()
    child, ancestor = node, parents[node]
    while ancestor >= 0 and types[ancestor] not in _FUNCTIONS:
        if types[ancestor] in _COMPREHENSIONS and types[child] != "comprehension":
            end = next((other for other in range(node, len(types)) if parents[other] < ancestor), len(types))
            stored = {values[other] or "" for other in range(node, end) if types[other] == "NameStore"}
            found |= stored - {values[other] or "" for other in range(ancestor, node)}
        child, ancestor = ancestor, parents[ancestor]
    return found


def _names_from_elsewhere(traversal: Traversal, roles: Sequence[Role], node: int) -> set[str]:
    """The names that are read but bound nowhere: another module or whoever runs the text has put them there."""
    bound: set[str] = set()
    read: set[str] = set()
    for place, role in enumerate(roles):
        if role in _BINDING_ROLES and traversal.types[place] != "ImportFrom":
            bound.add(_bound_name(traversal, place))
        elif role == Role.READ and place != node:
            read.add(traversal.values[place] or "")
    return read - bound


def _names_of_classes(traversal: Traversal, scopes: Sequence[int], node: int) -> frozenset[str]:
    """What the body of a class and the functions in it have without binding it."""
    scope = scopes[node]
    if traversal.types[scope] == "ClassDef":
        return _IN_CLASSES
    while scope and traversal.types[scope] != "ClassDef":
        scope = scopes[scope]
    return _IN_METHODS if scope else frozenset()


def _is_definition(traversal: Traversal, binding: int) -> bool:
    """Whether a function, a class or an import binds the name."""
    return traversal.types[binding] in ("FunctionDef", "AsyncFunctionDef", "ClassDef", "alias") or (
        traversal.types[traversal.parents[binding]] == "alias"
    )


def _bound_name(traversal: Traversal, binding: int) -> str:
    """The name that a node binds: `import a.b` binds `a`, `import a.b as c` only `c`."""
    value = traversal.values[binding] or ""
    if traversal.types[binding] != "alias":
        return value
    has_own_name = binding + 1 < len(traversal) and traversal.parents[binding + 1] == binding
    return "" if has_own_name or value == "*" else value.partition(".")[0]


def _scopes(traversal: Traversal) -> list[int]:
    """For each node the function, class, comprehension or module whose names it sees first, and where it binds.

    A function stands in the scope around it, its parameters and body in its own.
    """
    types, parents = traversal.types, traversal.parents
    scope_types, outside = SCOPE_TYPES, OUTER_TYPES
    scopes = [0] * len(types)
    for node in range(1, len(types)):
        parent = parents[node]
        type_ = types[parent]
        if type_ in scope_types and types[node] not in outside:
            scopes[node] = parent
        elif type_ == "arguments" and types[node] in outside:
            scopes[node] = scopes[parents[parent]]
        elif types[node] == "annotation" and type_ in ("NameParam", "vararg", "kwarg"):
            scopes[node] = scopes[scopes[parent]]
        elif type_ == "comprehension" and _is_first_iterable(traversal, node):
            scopes[node] = scopes[parents[parent]]
        else:
            scopes[node] = scopes[parent]
    return scopes


def _is_first_iterable(traversal: Traversal, node: int) -> bool:
    """Whether a node is what the first `for` of a comprehension goes over: that is evaluated around it."""
    types, parents = traversal.types, traversal.parents
    loop = parents[node]
    is_first = not any(
        types[other] == "comprehension" and parents[other] == parents[loop] for other in range(parents[loop] + 1, loop)
    )
    return is_first and _position(parents, loop, node) == 1


def _visible_scopes(traversal: Traversal, scopes: Sequence[int], node: int) -> list[int]:
    """The scopes that a node sees, innermost first: a class only from its own body."""
    scope = scopes[node]
    visible = [scope]
    while scope:
        scope = scopes[scope]
        if traversal.types[scope] != "ClassDef":
            visible.append(scope)
    return visible


def _running_scopes(traversal: Traversal, scopes: Sequence[int], node: int) -> set[int]:
    """The scopes whose statements run in the order of the text up to a node: its function, and the classes in that."""
    scope = scopes[node]
    found = set()
    while scope and traversal.types[scope] not in _FUNCTIONS:
        if traversal.types[scope] == "ClassDef":
            found.add(scope)
        scope = scopes[scope]
    return found | {scope}


def _own_scopes(traversal: Traversal, scopes: Sequence[int], node: int) -> set[int]:
    """The scope of a node, and the one that holds it if that is a comprehension, which runs on the spot."""
    scope = scopes[node]
    own = {scope}
    while traversal.types[scope] in _COMPREHENSIONS:
        scope = scopes[scope]
        own.add(scope)
    return own


def _loop_ends(traversal: Traversal, scopes: Sequence[int], node: int) -> int:
    """The node behind the outermost loop around a node, inside its scope; 0 when there is none."""
    loop, ancestor = -1, traversal.parents[node]
    own = _own_scopes(traversal, scopes, node)
    while ancestor >= 0 and scopes[ancestor] in own:
        if traversal.types[ancestor] in _LOOPS:
            loop = ancestor
        ancestor = traversal.parents[ancestor]
    if loop < 0:
        return 0
    end = loop + 1
    while end < len(traversal) and traversal.parents[end] >= loop:
        end += 1
    return end


def _targets_of_own_statements(traversal: Traversal, scopes: Sequence[int], node: int) -> frozenset[int]:
    """The bindings that come into force only when the statement around a node is done.

    `x = ‸` does not read this `x`, nor does `for x in ‸`; but `x = lambda: ‸` may.
    """
    types, parents = traversal.types, traversal.parents
    own = _own_scopes(traversal, scopes, node)
    found: set[int] = set()
    child, ancestor = node, parents[node]
    while ancestor >= 0:
        is_own = scopes[ancestor] in own
        if is_own and types[ancestor] in _BINDING_STATEMENTS:
            found.update(range(ancestor + 1, child))
        elif (
            types[ancestor] in ("For", "AsyncFor", "comprehension")
            and is_own
            and types[child] not in ("body", "orelse")
        ):
            is_filter = types[ancestor] == "comprehension" and _position(parents, ancestor, child) > 1
            if not is_filter:
                found.update(range(ancestor + 1, child))
        elif types[ancestor] in FUNCTION_TYPES and types[child] in OUTER_TYPES | {"arguments"}:
            if scopes[node] != ancestor:
                found.add(ancestor)
        elif types[ancestor] == "ClassDef" and scopes[node] in (ancestor, scopes[ancestor]):
            found.add(ancestor)
        child, ancestor = ancestor, parents[ancestor]
    return frozenset(found)


def _position(parents: Sequence[int], parent: int, child: int) -> int:
    """Which child of its parent a node is, from 0."""
    return sum(parents[node] == parent for node in range(parent + 1, child))
