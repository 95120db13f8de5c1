"""Which names a variable at the cursor can mean in JavaScript: hoisting, blocks and the globals of the standard.

A name that is declared nowhere in the text is a global, made by an assignment or by another file: `describe`, `jQuery`.
"""

import re
from collections.abc import Iterable, Sequence

from rarename.syntax.cursor import CompletedSource, VisibleNames
from rarename.syntax.lines import Lines
from rarename.syntax.traversal import Role, Traversal

FUNCTION_TYPES = frozenset({"FunctionDeclaration", "FunctionExpression", "ArrowFunctionExpression"})
SCOPE_TYPES = FUNCTION_TYPES | {
    "BlockStatement", "CatchClause", "ForStatement", "ForInStatement", "ForOfStatement", "ClassBody", "StaticBlock",
}  # fmt: skip

GLOBALS = frozenset(
    """
    AbortController AggregateError Array ArrayBuffer Atomics BigInt BigInt64Array BigUint64Array Blob Boolean Buffer
    CustomEvent DataView Date Document Element Error EvalError Event EventTarget File FileReader Float32Array
    Float64Array FormData Function HTMLElement Headers Image Infinity Int16Array Int32Array Int8Array Intl JSON Map Math
    MutationObserver NaN Node Number Object Promise Proxy RangeError ReferenceError Reflect RegExp Request Response Set
    SharedArrayBuffer String Symbol SyntaxError TextDecoder TextEncoder TypeError URIError URL URLSearchParams
    Uint16Array Uint32Array Uint8Array Uint8ClampedArray WeakMap WeakRef WeakSet WebAssembly WebSocket Worker
    XMLHttpRequest __dirname __filename addEventListener alert atob btoa cancelAnimationFrame clearImmediate
    clearInterval clearTimeout confirm console crypto decodeURI decodeURIComponent document encodeURI encodeURIComponent
    escape eval exports fetch global globalThis history isFinite isNaN localStorage location module navigator parseFloat
    parseInt performance process prompt queueMicrotask removeEventListener require requestAnimationFrame screen self
    sessionStorage setImmediate setInterval setTimeout structuredClone undefined unescape window
    """.split()  # noqa: SIM905
)
"""Names of ECMAScript, browsers and Node.js that need no declaration."""

_PRIVATE = "PrivateIdentifier"
"""The type of a name behind `#` where it is used; where it is declared, the tree does not tell it from others."""
_PRIVATE_NAME = re.compile(r"#((?:[^\W\d]|\$)[\w$]*)")
_USED_PRIVATE_NAME = re.compile(r"\.\s*#((?:[^\W\d]|\$)[\w$]*)")
_DECLARED_PRIVATE_NAME = re.compile(r"(?<!\.)#((?:[^\W\d]|\$)[\w$]*)")
_PUBLIC_NAME = re.compile(r"(?<![\w$#])(?:[^\W\d]|\$)[\w$]*")

_CONSTANTS = frozenset({"false", "null", "true"})
_KEYWORDS = frozenset(
    """
    await break case catch class const continue debugger default delete do else enum export extends false finally for
    function if import in instanceof new null return super switch this throw true try typeof var void while with yield
    """.split()  # noqa: SIM905
)

_PATTERNS = frozenset({"ArrayPattern", "AssignmentPattern", "ObjectPattern", "Property", "RestElement"})
_MEMBERS = frozenset({"MethodDefinition", "PropertyDefinition"})
_IMPORTS = frozenset({"ImportDefaultSpecifier", "ImportNamespaceSpecifier", "ImportSpecifier"})
_DECLARING = _IMPORTS | {"CatchClause", "VariableDeclarator"}
_BINDING_ROLES = frozenset({Role.WRITE, Role.PARAMETER, Role.FUNCTION, Role.CLASS})
_OWN_NAME = re.compile(rb"(?:async\s+)?function\s*\*?\s*([\w$\x80-\xff]+)")


def keywords(source: CompletedSource, role: Role, node: int) -> frozenset[str]:
    """The words that cannot be a name in a role. A key can be any word, an attribute too, but no private name."""
    types, parents = source.traversal.types, source.traversal.parents
    if types[node] == "Property" and types[parents[node]] == "MemberExpression":
        private = set(_PRIVATE_NAME.findall(source.text))
        return frozenset(private - set(_PUBLIC_NAME.findall(source.text)) if private else ())
    if role in (Role.ATTRIBUTE, Role.MODULE):
        return frozenset()
    return _KEYWORDS - _CONSTANTS if role == Role.READ else _KEYWORDS


def visible_names(source: CompletedSource, roles: Sequence[Role], node: int) -> VisibleNames:
    """The names that the variable at a node can mean, if one is read or deleted, or a private name, or a closed tag.

    The key of `{name}` is the variable as well, and a tag may be one; what is a key only can be any name.
    """
    types, values, parents = source.traversal.types, source.traversal.values, source.traversal.parents
    if types[node] == _PRIVATE:
        names = set(_PRIVATE_NAME.findall(_class_around(source, node))) & set(values)  # one in a comment is none
        return VisibleNames(frozenset(names - {values[node]}), is_known=True)
    if types[node] in _MEMBERS and f"#{values[node]}" in source.text:
        return _undeclared_private_names(source, node)
    if closed := _closed_tag(source.traversal, node):
        return VisibleNames(frozenset({closed}), is_known=True)
    is_deleted = types[parents[node]] == "UnaryExpression" and roles[node] == Role.WRITE
    if roles[node] == Role.READ or is_deleted:
        return _variables(source, roles, node)
    if types[parents[node]] == "JSXOpeningElement":
        return VisibleNames(frozenset(name for name in _variables(source, roles, node).bound if name[0].isupper()))
    is_both = node + 1 < len(types) and parents[node + 1] == node and values[node + 1] == values[node]
    if is_both and roles[node] == Role.ATTRIBUTE and roles[node + 1] == Role.READ:
        return VisibleNames(_variables(source, roles, node + 1).bound - {values[node] or ""})
    return VisibleNames()


def _undeclared_private_names(source: CompletedSource, node: int) -> VisibleNames:
    """The private names that a class uses and does not declare yet: one of them is expected where it declares one."""
    text = _class_around(source, node)
    used = set(_USED_PRIVATE_NAME.findall(text)) & {value for value in source.traversal.values if value}
    names = frozenset(used - set(_DECLARED_PRIVATE_NAME.findall(text)))
    return VisibleNames(names, unused_targets=names)


def _class_around(source: CompletedSource, node: int) -> str:
    """The text of the outermost class around a node; the whole text where there is none."""
    types, parents = source.traversal.types, source.traversal.parents
    body = -1
    while node > 0:
        node = parents[node]
        body = node if types[node] == "ClassBody" else body
    if body < 0:
        return source.text
    lines = Lines(source.text.encode(), source.language)
    return lines.data[lines.slice(source.traversal.span(body))].decode()


def _closed_tag(traversal: Traversal, node: int) -> str:
    """The tag that a node has to close; empty if it closes none, or one with dots."""
    closing = traversal.parents[node]
    if traversal.types[closing] != "JSXClosingElement":
        return ""
    opening = traversal.parents[closing] + 1
    tag = opening + 1
    return traversal.values[tag] or "" if traversal.parents[tag] == opening else ""


def _variables(source: CompletedSource, roles: Sequence[Role], node: int) -> VisibleNames:
    reader = _Reader(source, node)
    values = source.traversal.values
    is_late = reader.function or reader.is_export
    names = set(source.later.definitions | (source.later.variables if is_late else frozenset()))
    declared, undeclared = reader.names_of_functions() | {"arguments"}, set()
    for other, role in enumerate(roles):
        name = values[other] or ""
        if other == node or (role != Role.READ and role not in _BINDING_ROLES):
            continue
        if role == Role.READ or reader.is_assigned(other, role):
            if not reader.is_assigned_here(other, role):
                undeclared.add(name)
        else:
            declared.add(name)
            if reader.is_visible(other, role):
                names.add(name)
    names |= (undeclared - declared) | reader.own_names()
    return VisibleNames(frozenset(names - {"", values[node] or ""}), GLOBALS | _CONSTANTS, is_known=True)


class _Reader:
    """The place from which names are looked at."""

    def __init__(self, source: CompletedSource, node: int) -> None:
        self.traversal: Traversal = source.traversal
        self.node, self.parses_with_suffix = node, source.parses_with_suffix
        self.lines = Lines(source.text.encode(), source.language)
        self.ancestors = {node}
        ancestor = node
        while ancestor >= 0:
            self.ancestors.add(ancestor)
            ancestor = self.traversal.parents[ancestor]
        self.function = self._function_around(node)
        self.is_export = self.traversal.types[self.traversal.parents[node]] == "ExportSpecifier"
        """Whether it is the `‸` of `export {‸}`: what is declared further down can be meant as well."""
        self.is_in_parameters = self._has_later_part(self.function)
        """Whether it stands among the parameters of its function: the body comes later."""

    def own_names(self) -> set[str]:
        """What functions around the place are called inside of themselves, and `arguments`."""
        types = self.traversal.types
        names = self._names_of(ancestor for ancestor in self.ancestors if types[ancestor] == "FunctionExpression")
        if any(types[ancestor] in ("FunctionExpression", "FunctionDeclaration") for ancestor in self.ancestors):
            names.add("arguments")
        return names

    def names_of_functions(self) -> set[str]:
        """What functions anywhere are called inside of themselves alone: the tree does not keep these names."""
        types = self.traversal.types
        return self._names_of(node for node in range(len(types)) if types[node] == "FunctionExpression")

    def _names_of(self, functions: Iterable[int]) -> set[str]:
        data = self.lines.data
        starts = (self.lines.slice(self.traversal.span(function)).start for function in functions)
        return {found[1].decode("utf-8", "replace") for start in starts if (found := _OWN_NAME.match(data, start))}

    def is_assigned(self, binding: int, role: Role) -> bool:
        """Whether a name is assigned to and not declared, as in `a = 1` and `for (a of b)`."""
        return role == Role.WRITE and self.traversal.types[self._owner(binding)] not in _DECLARING

    def is_assigned_here(self, binding: int, role: Role) -> bool:
        """Whether a name gets the value in which the place stands: `a = ‸` does not read this `a`."""
        if role != Role.WRITE:
            return False
        owner = self._owner(binding)
        return owner in self.ancestors and not self._is_deferred(owner)

    def _owner(self, binding: int) -> int:
        """What binds a name: the node around the pattern that it stands in."""
        types, parents = self.traversal.types, self.traversal.parents
        owner = binding if types[binding] == "VariableDeclarator" else parents[binding]
        while types[owner] in _PATTERNS:
            owner = parents[owner]
        return owner

    def is_visible(self, binding: int, role: Role) -> bool:
        """Whether the name that a node binds can be seen."""
        types, parents = self.traversal.types, self.traversal.parents
        owner = self._owner(binding)
        if role == Role.PARAMETER:
            function = self._function_around(owner, itself=True)
            is_beside = function == self.function and self.is_in_parameters
            return self._is_bound_before(binding) if is_beside else function in self.ancestors
        if role == Role.FUNCTION:
            return self._is_reachable(self._function_around(parents[owner], itself=True), binding, is_hoisted=True)
        if role == Role.CLASS and self._is_in_class_head(owner):
            return False
        if role == Role.CLASS and types[owner] == "ClassExpression":
            return owner in self.ancestors
        if types[owner] == "CatchClause" or types[owner] in _IMPORTS:
            return types[owner] in _IMPORTS or owner in self.ancestors
        if role == Role.CLASS:
            return self._is_reachable(self._block_around(owner), binding, is_hoisted=False)
        if owner in self.ancestors and not self._is_deferred(owner):
            is_in_pattern = types[owner + 1] in _PATTERNS and owner + 1 in self.ancestors
            return is_in_pattern and self._is_bound_before(binding)  # `let a = ‸` does not read this `a`
        declaration = parents[owner]
        if self._is_looped_over(declaration):
            return False
        start = self.lines.slice(self.traversal.span(declaration)).start
        if self.lines.data.startswith(b"var", start):
            return self._is_reachable(self._function_around(declaration), binding, is_hoisted=True)
        return self._is_reachable(self._block_around(declaration), binding, is_hoisted=False)

    def _is_reachable(self, scope: int, binding: int, is_hoisted: bool) -> bool:
        if scope not in self.ancestors:
            return False
        is_deferred = is_hoisted or self.is_export or self._function_around(scope, itself=True) != self.function
        return binding < self.node or (self.parses_with_suffix and is_deferred)

    def _is_bound_before(self, binding: int) -> bool:
        """Whether a name is bound before a part of the same pattern: `{a, b = ‸, c}` can read `a` alone."""
        types, parents = self.traversal.types, self.traversal.parents
        pattern = parents[binding]
        while types[pattern] in _PATTERNS:
            is_around = types[pattern] == "AssignmentPattern" and pattern in self.ancestors
            if is_around and pattern + 1 not in self.ancestors:
                return False
            pattern = parents[pattern]
        return binding < self.node

    def _is_in_class_head(self, owner: int) -> bool:
        """Whether the place is evaluated before a class has its name: in `extends ‸` and in a key, `[‸]() {}`."""
        types, values, parents = self.traversal.types, self.traversal.values, self.traversal.parents
        node = self.node
        while node != owner and node > 0:
            is_value = types[node] == "PropertyDefinition" and (values[node] or node + 1 not in self.ancestors)
            if is_value or types[node] in FUNCTION_TYPES or types[node] == "StaticBlock":
                return False
            node = parents[node]
        return node == owner

    def _has_later_part(self, function: int) -> bool:
        """Whether a part of a function comes behind the one in which the place stands."""
        parents = self.traversal.parents
        return function > 0 and function in parents[self.node + 1 :]

    def _is_looped_over(self, declaration: int) -> bool:
        """Whether the place is the `‸` of `for (let a of ‸)`: it does not read this `a`."""
        loop = self.traversal.parents[declaration]
        if self.traversal.types[loop] not in ("ForInStatement", "ForOfStatement") or loop not in self.ancestors:
            return False
        parts = [node for node in range(loop + 1, self.node + 1) if self.traversal.parents[node] == loop]
        return len(parts) == 2 and parts[1] in self.ancestors

    def _is_deferred(self, owner: int) -> bool:
        """Whether a function stands between a declaration and the place: it runs later."""
        return self._function_around(owner) != self.function

    def _function_around(self, node: int, itself: bool = False) -> int:
        """The innermost function around a node; 0, the program, when there is none."""
        node = node if itself else self.traversal.parents[node]
        while node > 0 and self.traversal.types[node] not in FUNCTION_TYPES:
            node = self.traversal.parents[node]
        return max(node, 0)

    def _block_around(self, node: int) -> int:
        """The innermost block around a node, for a `switch` all its cases; 0, the program, when there is none."""
        types, parents = self.traversal.types, self.traversal.parents
        node = parents[node]
        while node > 0 and types[node] not in SCOPE_TYPES:
            node = parents[node]
        if node > 0 and types[parents[node]] == "SwitchCase":
            node = parents[parents[node]]
        return max(node, 0)
