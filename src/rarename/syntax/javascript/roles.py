"""What each node of a JavaScript tree is to the program, from types, values and places in the tree alone."""

from collections.abc import Sequence

from rarename.syntax.javascript.walker import MISSING_NAME
from rarename.syntax.traversal import Role, Traversal

_FIXED_ROLES = {
    "BinaryExpression": Role.OPERATOR,
    "ImportAttribute": Role.ATTRIBUTE,
    "LiteralBigInt": Role.NUMBER,
    "LiteralBoolean": Role.CONSTANT,
    "LiteralNull": Role.CONSTANT,
    "LiteralNumber": Role.NUMBER,
    "LiteralRegExp": Role.REGEXP,
    "LiteralString": Role.STRING,
    "JSXText": Role.STRING,
    "LogicalExpression": Role.OPERATOR,
    "MetaProperty": Role.CONSTANT,
    "PrivateIdentifier": Role.ATTRIBUTE,
    "TemplateElement": Role.STRING,
    "UnaryExpression": Role.OPERATOR,
    "UpdateExpression": Role.OPERATOR,
    "VariableDeclarator": Role.WRITE,
}
"""The types whose values mean the same wherever they stand."""

_KEYED_TYPES = frozenset({"MethodDefinition", "Property", "PropertyDefinition"})
_PATTERN_TYPES = frozenset({"ArrayPattern", "AssignmentPattern", "ObjectPattern", "Property", "RestElement"})
_JSX_TAG_TYPES = frozenset({"JSXClosingElement", "JSXOpeningElement"})

_FIRST_CHILD_ROLES = {
    "AssignmentExpression": Role.WRITE,
    "CatchClause": Role.WRITE,
    "ClassDeclaration": Role.CLASS,
    "ClassExpression": Role.CLASS,
    "ForInStatement": Role.WRITE,
    "ForOfStatement": Role.WRITE,
    "FunctionDeclaration": Role.FUNCTION,
    "UpdateExpression": Role.WRITE,
}
_EVERY_CHILD_ROLES = {
    "ExportAllDeclaration": Role.MODULE,
    "FunctionDeclaration": Role.PARAMETER,
    "FunctionExpression": Role.PARAMETER,
    "ImportDefaultSpecifier": Role.WRITE,
    "ImportNamespaceSpecifier": Role.WRITE,
}
"""The roles that parents give to identifiers, the first child's own before that of every child."""


def roles(traversal: Traversal) -> list[Role]:
    """The role of every node.

    An identifier's role depends on where it stands, and inside a pattern on where the pattern stands;
    so each node first gets the role that an identifier *would* have in its place.
    """
    types, values, parents = traversal.types, traversal.values, traversal.parents
    num_children = _num_children(parents)
    num_seen = [0] * len(types)
    places: list[Role] = []
    found: list[Role] = []
    reexports = _reexports(types, parents)
    for type_, value, parent in zip(types, values, parents, strict=True):
        position = -1
        if parent >= 0:
            position = num_seen[parent]
            num_seen[parent] += 1
            place = _place(types, values, parents, places, num_children, parent, position, reexports)
        else:
            place = Role.READ
        places.append(place)
        if value is None:
            found.append(Role.NONE)
        elif value == MISSING_NAME:
            found.append(Role.CONSTANT)  # nobody chose it, nothing may replace it
        elif type_ == "Identifier":
            found.append(place)
        elif type_ in _KEYED_TYPES:
            found.append(_key_role(types[parent] if parent >= 0 else "", value))
        elif type_ == "JSXIdentifier":
            found.append(_jsx_role(types[parent] if parent >= 0 else "", position, value))
        else:
            found.append(_FIXED_ROLES.get(type_, Role.NONE))
    return found


def _num_children(parents: Sequence[int]) -> list[int]:
    counts = [0] * len(parents)
    for parent in parents:
        if parent >= 0:
            counts[parent] += 1
    return counts


def _reexports(types: Sequence[str], parents: Sequence[int]) -> frozenset[int]:
    """The exports that name a module: `export {a} from "b"` reads no variable `a`."""
    return frozenset(
        parent
        for type_, parent in zip(types, parents, strict=True)
        if type_ == "LiteralString" and parent >= 0 and types[parent] == "ExportNamedDeclaration"
    )


def _place(
    types: Sequence[str],
    values: Sequence[str | None],
    parents: Sequence[int],
    places: Sequence[Role],
    num_children: Sequence[int],
    parent: int,
    position: int,
    reexports: frozenset[int],
) -> Role:
    """The role of an identifier that is this child of this parent."""
    type_ = types[parent]
    is_last = position == num_children[parent] - 1
    if position == 0 and type_ in _FIRST_CHILD_ROLES:
        return _FIRST_CHILD_ROLES[type_]
    if type_ in _EVERY_CHILD_ROLES:
        return _EVERY_CHILD_ROLES[type_]
    if type_ == "ArrowFunctionExpression":
        return Role.READ if is_last else Role.PARAMETER
    if type_ in _PATTERN_TYPES:
        return _pattern_place(type_, places[parent], types[parents[parent]], position, is_last)
    if type_ == "VariableDeclarator":
        return Role.WRITE if position == 0 and values[parent] is None else Role.READ
    if type_ == "UnaryExpression":
        return Role.WRITE if values[parent] == "delete" else Role.READ
    if type_ == "ImportSpecifier":
        return Role.WRITE if is_last else Role.MODULE
    if type_ == "ExportSpecifier":
        return Role.MODULE if position or parents[parent] in reexports else Role.READ
    return Role.READ


def _pattern_place(type_: str, place: Role, grandparent_type: str, position: int, is_last: bool) -> Role:
    """Inside a pattern names are bound as the whole pattern is; defaults and computed keys are read."""
    if type_ == "AssignmentPattern":
        return place if position == 0 else Role.READ
    if type_ == "Property":
        return place if grandparent_type == "ObjectPattern" and is_last else Role.READ
    return place


def _key_role(parent_type: str, value: str) -> Role:
    """A name behind a dot or a key is an attribute, an index is a variable; other keys are literals."""
    if parent_type == "ArrayAccess":
        return Role.READ
    if value.replace("$", "_").isidentifier():
        return Role.ATTRIBUTE
    return Role.NUMBER if value[:1].isdigit() and value.replace(".", "").isalnum() else Role.STRING


def _jsx_role(parent_type: str, position: int, value: str) -> Role:
    """A tag with a capital is a variable, one without an element of HTML."""
    is_variable = parent_type in _JSX_TAG_TYPES and not value[:1].islower()
    is_object = parent_type == "JSXMemberExpression" and position == 0
    return Role.READ if is_variable or is_object else Role.ATTRIBUTE
