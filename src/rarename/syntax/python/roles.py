"""What each node's value is to the program, from types, values and parents alone."""

from rarename.syntax.traversal import Role, Traversal

_ROLES = {
    "NameLoad": Role.READ,
    "NameStore": Role.WRITE,
    "NameDel": Role.WRITE,
    "identifier": Role.WRITE,  # `import a as b`, `global b`: in both a name of this file
    "TypeVar": Role.WRITE,
    "TypeVarTuple": Role.WRITE,
    "ParamSpec": Role.WRITE,
    "NameParam": Role.PARAMETER,
    "vararg": Role.PARAMETER,
    "kwarg": Role.PARAMETER,
    "attr": Role.ATTRIBUTE,
    "FunctionDef": Role.FUNCTION,
    "AsyncFunctionDef": Role.FUNCTION,
    "ClassDef": Role.CLASS,
    "alias": Role.MODULE,
    "ImportFrom": Role.MODULE,
    "keyword": Role.KEYWORD,
    "Num": Role.NUMBER,
    "Str": Role.STRING,
}
_CONSTANTS = frozenset({"None", "True", "False"})


def roles(traversal: Traversal) -> list[Role]:
    """The role of every node; a node without value has none."""
    role_of, constants, none, constant = _ROLES.get, _CONSTANTS, Role.NONE, Role.CONSTANT
    found = [
        none if value is None
        else constant if value in constants and type_ == "NameLoad"
        else role_of(type_, none)
        for type_, value in zip(traversal.types, traversal.values, strict=True)
    ]  # fmt: skip
    _mark_tuple_parameters(traversal, found)
    return found


def _mark_tuple_parameters(traversal: Traversal, found: list[Role]) -> None:
    """Python 2's `def f(a, (b, c))` has a TupleStore of NameStores among its parameters."""
    types, parents = traversal.types, traversal.parents
    for tuple_ in [node for node, type_ in enumerate(types) if type_ == "TupleStore"]:
        if types[parents[tuple_]] != "args":
            continue
        inside = {tuple_}
        for node in range(tuple_ + 1, len(types)):
            if parents[node] not in inside:
                break
            inside.add(node)
            if types[node] == "NameStore":
                found[node] = Role.PARAMETER
