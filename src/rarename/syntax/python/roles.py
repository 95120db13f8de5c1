"""The role of every node, from types, values and parents alone, so that published records have roles too."""

from rarename.syntax.traversal import Role, Traversal

_ROLES = {
    "NameLoad": Role.READ,
    "NameStore": Role.WRITE,
    "NameDel": Role.WRITE,
    "identifier": Role.WRITE,  # `b` of `import a as b` and of `global b`
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
    """The role of every node; a node without a value has none."""
    types, values, parents = traversal.types, traversal.values, traversal.parents
    role_of, none = _ROLES.get, Role.NONE
    found = [
        none if value is None
        else Role.CONSTANT if value in _CONSTANTS and type_ == "NameLoad"
        else role_of(type_, none)
        for type_, value in zip(types, values, strict=True)
    ]  # fmt: skip
    # Python 2's `def f(a, (b, c))` has a TupleStore of NameStores among its parameters.
    for outer in [node for node, type_ in enumerate(types) if type_ == "TupleStore" and types[parents[node]] == "args"]:
        inside = {outer}
        for node in range(outer + 1, len(types)):
            if parents[node] not in inside:
                break
            inside.add(node)
            if types[node] == "NameStore":
                found[node] = Role.PARAMETER
    return found
