"""Which names a variable at the cursor can refer to in JavaScript: hoisting, blocks and the globals of the standard.

A name that is declared nowhere in the text is a global, made by an assignment or by another file: `describe`, `jQuery`.
"""

import re
from collections.abc import Iterable, Sequence
from functools import cached_property

from rarename.syntax.cursor import CompletedSource, VisibleNames
from rarename.syntax.javascript.cst import RESERVED
from rarename.syntax.javascript.node_types import FUNCTION_TYPES, ITERATING_TYPES
from rarename.syntax.lines import Lines
from rarename.syntax.scope import scopes_of
from rarename.syntax.traversal import Role, Traversal

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

_CONSTANTS = frozenset({"false", "null", "true"})
_KEYWORDS = RESERVED | {"await", "yield"}
_NAME = r"(?:[^\W\d]|\$)[\w$]*"
_PRIVATE_NAME = re.compile(f"#({_NAME})")
_USED_PRIVATE_NAME = re.compile(rf"\.\s*#({_NAME})")
_DECLARED_PRIVATE_NAME = re.compile(rf"(?<!\.)#({_NAME})")
_PUBLIC_NAME = re.compile(rf"(?<![\w$#]){_NAME}")
_OWN_NAME = re.compile(rb"(?:async\s++)?function\s*+\*?+\s*+([\w$\x80-\xff]++)")

_PATTERNS = frozenset({"ArrayPattern", "AssignmentPattern", "ObjectPattern", "Property", "RestElement"})
_IMPORTS = frozenset({"ImportDefaultSpecifier", "ImportNamespaceSpecifier", "ImportSpecifier"})
_DECLARING = _IMPORTS | {"CatchClause", "VariableDeclarator"}
_NAME_ROLES = frozenset({Role.READ, Role.WRITE, Role.PARAMETER, Role.FUNCTION, Role.CLASS})  # not an attribute's


def keywords(source: CompletedSource, role: Role, node: int) -> frozenset[str]:
    """The words that cannot be a name in a role. A key or an attribute can be any word, except a private name."""
    types, parents = source.traversal.types, source.traversal.parents
    if types[node] == "Property" and types[parents[node]] == "MemberExpression":
        private = set(_PRIVATE_NAME.findall(source.text))
        return frozenset(private - set(_PUBLIC_NAME.findall(source.text)) if private else ())
    if role in (Role.ATTRIBUTE, Role.MODULE):
        return frozenset()
    return _KEYWORDS - _CONSTANTS if role == Role.READ else _KEYWORDS


def visible_names(source: CompletedSource, roles: Sequence[Role], node: int) -> VisibleNames:
    """The names that a node can refer to: a variable that is read or deleted, a private name, or a closing tag.

    The key of `{name}` is a variable as well, and a tag may be one. Any other key can be any name.
    """
    types, values, parents = source.traversal.types, source.traversal.values, source.traversal.parents
    if types[node] == "PrivateIdentifier":
        private = set(_PRIVATE_NAME.findall(_class_text(source, node))) & set(values)  # without those in comments
        return VisibleNames(frozenset(private - {values[node]}), is_known=True)
    if types[node] in ("MethodDefinition", "PropertyDefinition") and f"#{values[node]}" in source.text:
        return _undeclared_private_names(source, node)
    if tag := _tag_to_close(source.traversal, node):
        return VisibleNames(frozenset({tag}), is_known=True)
    is_deleted = types[parents[node]] == "UnaryExpression" and roles[node] == Role.WRITE
    if roles[node] == Role.READ or is_deleted:
        return _variables(source, roles, node)
    if types[parents[node]] == "JSXOpeningElement":
        return VisibleNames(frozenset(name for name in _variables(source, roles, node).bound if name[0].isupper()))
    is_shorthand = node + 1 < len(types) and parents[node + 1] == node and values[node + 1] == values[node]
    if is_shorthand and roles[node] == Role.ATTRIBUTE and roles[node + 1] == Role.READ:
        return VisibleNames(_variables(source, roles, node + 1).bound - {values[node] or ""})
    return VisibleNames()


def _undeclared_private_names(source: CompletedSource, node: int) -> VisibleNames:
    """The private names that a class uses and does not declare yet, where it declares one.

    The tree does not show which declared names are private.
    """
    text = _class_text(source, node)
    used = set(_USED_PRIVATE_NAME.findall(text)) & {value for value in source.traversal.values if value}
    names = frozenset(used - set(_DECLARED_PRIVATE_NAME.findall(text)))
    return VisibleNames(names, unused_targets=names)


def _class_text(source: CompletedSource, node: int) -> str:
    """The text of the outermost class around a node; the whole text if there is none."""
    types, parents = source.traversal.types, source.traversal.parents
    body = -1
    while node > 0:
        node = parents[node]
        body = node if types[node] == "ClassBody" else body
    if body < 0:
        return source.text
    return Lines(source.text.encode(), source.language).text(source.traversal.span(body))


def _tag_to_close(traversal: Traversal, node: int) -> str:
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
    runs_later = reader.function or reader.is_export
    names = set(source.later.definitions | (source.later.variables if runs_later else frozenset()))
    declared, undeclared = reader.names_of_functions(range(len(values))) | {"arguments"}, set()
    for other, role in enumerate(roles):
        if role not in _NAME_ROLES or other == node:
            continue
        name = values[other] or ""
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
    """The node from which names are looked up."""

    def __init__(self, source: CompletedSource, node: int) -> None:
        self.traversal = tree = source.traversal
        self.types, self.values, self.parents = tree.types, tree.values, tree.parents
        self.node, self.parses_with_suffix = node, source.parses_with_suffix
        self.lines = Lines(source.text.encode(), source.language)
        self.is_hoisted = [
            type_ == "FunctionDeclaration" or (type_ == "VariableDeclaration" and self._is_var(other))
            for other, type_ in enumerate(tree.types)
        ]
        self.scopes = scopes_of(tree, source.language, self.is_hoisted)
        self.functions = [0] * len(tree)  # the innermost function around each node; 0, the program, if there is none
        for other, parent in enumerate(tree.parents[1:], 1):
            self.functions[other] = parent if tree.types[parent] in FUNCTION_TYPES else self.functions[parent]
        self.function = self.functions[node]
        self.owners = [0] * len(tree)  # what binds a name at each node: the node around the pattern that it is in
        for other, parent in enumerate(tree.parents[1:], 1):
            self.owners[other] = self.owners[parent] if tree.types[parent] in _PATTERNS else parent
        self.child_of = {node: -1}  # for each node around the reader its child on the way to the reader
        while (parent := self.parents[ancestor := next(reversed(self.child_of))]) >= 0:
            self.child_of[parent] = ancestor
        self.ancestors = {*self.child_of, -1}
        self.lengths = tree.lengths()
        # `export {‸}` can also name what is declared further down.
        self.is_export = self.types[self.parents[node]] == "ExportSpecifier"
        # Among the parameters of its function: the body comes later.
        self.is_in_parameters = self.function > 0 and self.function in self.parents[node + 1 :]

    def _is_var(self, node: int) -> bool:
        return self.lines.data.startswith(b"var", self.lines.slice(self.traversal.span(node)).start)

    def own_names(self) -> set[str]:
        """The names by which the functions around can call themselves, and `arguments`."""
        types = {self.types[node] for node in self.ancestors if node >= 0}
        names = self.names_of_functions(node for node in self.ancestors if node >= 0)
        return names | {"arguments"} if types & {"FunctionExpression", "FunctionDeclaration"} else names

    def names_of_functions(self, nodes: Iterable[int]) -> set[str]:
        """The names by which function expressions can call themselves. The tree does not keep these names."""
        functions = (node for node in nodes if self.types[node] == "FunctionExpression")
        starts = (self.lines.slice(self.traversal.span(function)).start for function in functions)
        matches = (_OWN_NAME.match(self.lines.data, start) for start in starts)
        return {match[1].decode("utf-8", "replace") for match in matches if match}

    def is_assigned(self, binding: int, role: Role) -> bool:
        """Whether a name is assigned to and not declared, as in `a = 1` and `for (a of b)`."""
        return role == Role.WRITE and self.types[self._owner(binding)] not in _DECLARING

    def is_assigned_here(self, binding: int, role: Role) -> bool:
        """Whether the reader is in the value that a name gets: `a = ‸` does not read this `a`."""
        return role == Role.WRITE and self._is_within(self._owner(binding))

    def _owner(self, binding: int) -> int:
        """What binds a name."""
        return binding if self.types[binding] == "VariableDeclarator" else self.owners[binding]

    def _is_within(self, owner: int) -> bool:
        """Whether the reader is in a statement, with no function in between that would run later."""
        return owner in self.ancestors and self.functions[owner] == self.function

    def is_visible(self, binding: int, role: Role) -> bool:
        owner = self._owner(binding)
        owner_type = self.types[owner]
        if role == Role.PARAMETER:
            is_in_same_list = owner == self.function and self.is_in_parameters
            return self._is_bound_before(binding) if is_in_same_list else owner in self.ancestors
        if owner_type in _IMPORTS:
            return True
        if role == Role.CLASS and self._is_in_class_head(owner):
            return False
        if owner_type in ("ClassExpression", "CatchClause"):
            return owner in self.ancestors
        if role in (Role.FUNCTION, Role.CLASS):
            return self._is_reachable(owner, binding)
        if self._is_within(owner):  # `let a = ‸` does not read this `a`
            is_in_pattern = self.types[owner + 1] in _PATTERNS and owner + 1 in self.ancestors
            return is_in_pattern and self._is_bound_before(binding)
        declaration = self.parents[owner]
        return not self._is_in_iterable(self.parents[declaration]) and self._is_reachable(declaration, binding)

    def _is_reachable(self, declaration: int, binding: int) -> bool:
        """Whether the scope of a declaration is around the reader, and the declaration has been executed there."""
        scope = self.scopes[declaration]
        if scope and self.types[self.parents[scope]] == "SwitchCase":
            scope = self.parents[self.parents[scope]]  # all cases of a switch have one scope
        if scope not in self.ancestors:
            return False
        function = scope if self.types[scope] in FUNCTION_TYPES else self.functions[scope]
        is_any_order = self.is_hoisted[declaration] or self.is_export or function != self.function
        return binding < self.node or (self.parses_with_suffix and is_any_order)

    def _is_bound_before(self, binding: int) -> bool:
        """Whether a name is bound before a part of the same pattern: `{a, b = ‸, c}` can only read `a`."""
        default = self._defaults.get(self._owner(binding), binding)
        return binding < self.node and not default < binding < default + self.lengths[default]

    def _is_in_class_head(self, owner: int) -> bool:
        """Whether the reader is evaluated before a class has its name: in `extends ‸` and in a key, `[‸]() {}`."""
        return owner in self._head

    @cached_property
    def _head(self) -> set[int]:
        """The nodes around the reader, up to the first whose content runs later."""
        found = set[int]()
        for node in self.child_of:
            found.add(node)
            type_ = self.types[node]
            is_value = type_ == "PropertyDefinition" and (self.values[node] or node + 1 not in self.ancestors)
            if is_value or type_ in FUNCTION_TYPES or type_ == "StaticBlock":
                break
        return found

    @cached_property
    def _defaults(self) -> dict[int, int]:
        """For each owner of a pattern the outermost `a = ‸` of the pattern that has the reader in its default."""
        ancestors = [node for node in self.child_of if self.types[node] == "AssignmentPattern"]
        return {self.owners[node]: node for node in ancestors if node + 1 not in self.ancestors}

    def _is_in_iterable(self, loop: int) -> bool:
        """Whether the reader is in `for (let a of ‸)`, which does not read this `a`."""
        second = loop + 1 + self.lengths[loop + 1] if loop + 1 < len(self.lengths) else -1
        return self.types[loop] in ITERATING_TYPES and self.child_of.get(loop) == second
