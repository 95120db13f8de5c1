"""The role of each node of a JavaScript tree, from types, values and positions in the tree alone."""

from rarename.syntax.javascript.walker import MISSING_NAME
from rarename.syntax.traversal import Role, Traversal


def _by_type(types_of: dict[Role, str]) -> dict[str, Role]:
    return {type_: role for role, types in types_of.items() for type_ in types.split()}


_FIXED_ROLES = _by_type(
    {
        Role.ATTRIBUTE: "ImportAttribute PrivateIdentifier",
        Role.CONSTANT: "LiteralBoolean LiteralNull MetaProperty",
        Role.NUMBER: "LiteralBigInt LiteralNumber",
        Role.OPERATOR: "BinaryExpression LogicalExpression UnaryExpression UpdateExpression",
        Role.REGEXP: "LiteralRegExp",
        Role.STRING: "JSXText LiteralString TemplateElement",
        Role.WRITE: "VariableDeclarator",
    }
)  # the role does not depend on the parent
_FIRST_CHILD_ROLES = _by_type(
    {
        Role.CLASS: "ClassDeclaration ClassExpression",
        Role.FUNCTION: "FunctionDeclaration",
        Role.WRITE: "AssignmentExpression CatchClause ForInStatement ForOfStatement UpdateExpression",
    }
)
_CHILD_ROLES = _by_type(
    {
        Role.MODULE: "ExportAllDeclaration",
        Role.PARAMETER: "FunctionDeclaration FunctionExpression",
        Role.WRITE: "ImportDefaultSpecifier ImportNamespaceSpecifier",
    }
)
"""The roles that parents give to their first child (these take precedence) and to every child."""
_PATTERNS = frozenset({"ArrayPattern", "ObjectPattern", "RestElement"})  # names are bound as the whole pattern is
_KEYED_TYPES = frozenset({"MethodDefinition", "Property", "PropertyDefinition"})


def roles(traversal: Traversal) -> list[Role]:
    """The role of every node.

    The role of an identifier depends on its parent, and inside a pattern on the parent of the pattern. So each node
    first gets the role that an identifier *would* have at its position.
    """
    types, values, parents = traversal.types, traversal.values, traversal.parents
    none, read = Role.NONE, Role.READ  # nearly every node is one of these, and a lookup in an Enum is slow
    last_child = [0] * len(types)
    reexports = set()  # `export {a} from "b"` reads no variable `a`
    for node, parent in enumerate(parents):
        if parent >= 0:
            last_child[parent] = node
            if types[node] == "LiteralString" and types[parent] == "ExportNamedDeclaration":
                reexports.add(parent)

    def identifier_role(node: int) -> Role:
        """The role that an identifier would have at the position of a node."""
        parent = parents[node]
        if parent < 0:
            return read
        type_, is_first, is_last = types[parent], node == parent + 1, node == last_child[parent]
        if is_first and type_ in _FIRST_CHILD_ROLES:
            return _FIRST_CHILD_ROLES[type_]
        if type_ in _CHILD_ROLES:
            return _CHILD_ROLES[type_]
        if type_ in _PATTERNS:
            return would_be[parent]
        if type_ == "AssignmentPattern":
            return would_be[parent] if is_first else Role.READ
        if type_ == "Property":
            return would_be[parent] if types[parents[parent]] == "ObjectPattern" and is_last else Role.READ
        if type_ == "ArrowFunctionExpression":
            return Role.READ if is_last else Role.PARAMETER
        if type_ == "VariableDeclarator":
            return Role.WRITE if is_first and values[parent] is None else Role.READ
        if type_ == "UnaryExpression":
            return Role.WRITE if values[parent] == "delete" else Role.READ
        if type_ == "ImportSpecifier":
            return Role.WRITE if is_last else Role.MODULE
        if type_ == "ExportSpecifier":
            return Role.READ if is_first and parents[parent] not in reexports else Role.MODULE
        return read

    would_be: list[Role] = []
    found: list[Role] = []
    for node, (type_, value, parent) in enumerate(zip(types, values, parents, strict=True)):
        would_be.append(identifier_role(node))
        if value is None:
            found.append(none)
        elif value == MISSING_NAME:
            found.append(Role.CONSTANT)  # nobody chose it, nothing may replace it
        elif type_ == "Identifier":
            found.append(would_be[node])
        elif type_ in _KEYED_TYPES:
            found.append(_key_role(types[parent] if parent >= 0 else "", value))
        elif type_ == "JSXIdentifier":
            found.append(_jsx_role(types[parent] if parent >= 0 else "", node == parent + 1, value))
        else:
            found.append(_FIXED_ROLES.get(type_, Role.NONE))
    return found


def _key_role(parent_type: str, value: str) -> Role:
    """A name after a dot or a key is an attribute, an index is a variable; other keys are literals."""
    if parent_type == "ArrayAccess":
        return Role.READ
    if value.replace("$", "_").isidentifier():
        return Role.ATTRIBUTE
    return Role.NUMBER if value[:1].isdigit() and value.replace(".", "").isalnum() else Role.STRING


def _jsx_role(parent_type: str, is_first: bool, value: str) -> Role:
    """A tag with a capital is a variable, one without an element of HTML."""
    is_tag = parent_type in ("JSXClosingElement", "JSXOpeningElement") and not value[:1].islower()
    is_object = parent_type == "JSXMemberExpression" and is_first
    return Role.READ if is_tag or is_object else Role.ATTRIBUTE
