"""Which names a variable at the cursor can mean in JavaScript: hoisting, blocks and the globals of the standard."""

import re
from collections.abc import Sequence

from rarename.syntax.javascript import JAVASCRIPT
from rarename.syntax.source import Lines
from rarename.syntax.traversal import Role, Traversal
from rarename.syntax.unfinished.mended import Mended

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

_FUNCTIONS = JAVASCRIPT.function_types
_PATTERNS = frozenset({"ArrayPattern", "AssignmentPattern", "ObjectPattern", "Property", "RestElement"})
_IMPORTS = frozenset({"ImportDefaultSpecifier", "ImportNamespaceSpecifier", "ImportSpecifier"})
_BINDING_ROLES = frozenset({Role.WRITE, Role.PARAMETER, Role.FUNCTION, Role.CLASS})
_OWN_NAME = re.compile(rb"(?:async\s+)?function\s*\*?\s*([\w$\x80-\xff]+)")


def in_scope(mended: Mended, roles: Sequence[Role], node: int) -> frozenset[str]:
    """The names that the variable at a node can mean, globals included."""
    reader = _Reader(mended, node)
    names = set(mended.later_names)
    for binding, role in enumerate(roles):
        if role in _BINDING_ROLES and binding != node and reader.is_visible(binding, role):
            names.add(mended.traversal.values[binding] or "")
    names.discard("")
    return frozenset(names | reader.own_names()) | GLOBALS


class _Reader:
    """The place from which names are looked at."""

    def __init__(self, mended: Mended, node: int) -> None:
        self.traversal: Traversal = mended.traversal
        self.node, self.is_whole = node, mended.is_whole
        self.lines = Lines(mended.text.encode(), JAVASCRIPT)
        self.ancestors = {node}
        ancestor = node
        while ancestor >= 0:
            self.ancestors.add(ancestor)
            ancestor = self.traversal.parents[ancestor]
        self.function = self._function_around(node)

    def own_names(self) -> set[str]:
        """What functions around the place are called inside of themselves, and `arguments`."""
        names = set()
        for ancestor in self.ancestors:
            type_ = self.traversal.types[ancestor]
            if type_ == "FunctionExpression":
                found = _OWN_NAME.match(self.lines.data, self.lines.slice(self.traversal.span(ancestor)).start)
                if found:
                    names.add(found[1].decode("utf-8", "replace"))
            if type_ in ("FunctionExpression", "FunctionDeclaration"):
                names.add("arguments")
        return names

    def is_visible(self, binding: int, role: Role) -> bool:
        """Whether the name that a node binds can be seen."""
        types, parents = self.traversal.types, self.traversal.parents
        owner = binding if types[binding] == "VariableDeclarator" else parents[binding]
        while types[owner] in _PATTERNS:
            owner = parents[owner]
        if role == Role.PARAMETER:
            return self._function_around(owner, itself=True) in self.ancestors
        if role == Role.FUNCTION:
            return self._is_reachable(self._function_around(parents[owner], itself=True), binding, is_hoisted=True)
        if role == Role.CLASS and types[owner] == "ClassExpression":
            return owner in self.ancestors
        if types[owner] == "CatchClause" or types[owner] in _IMPORTS:
            return types[owner] in _IMPORTS or owner in self.ancestors
        if role == Role.CLASS:
            return self._is_reachable(self._block_around(owner), binding, is_hoisted=False)
        if types[owner] != "VariableDeclarator" or (owner in self.ancestors and not self._is_deferred(owner)):
            return False  # an assignment declares nothing; `let a = ‸` does not read this `a`
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
        is_late = self.is_whole and (is_hoisted or self._function_around(scope, itself=True) != self.function)
        return binding < self.node or is_late

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
        while node > 0 and self.traversal.types[node] not in _FUNCTIONS:
            node = self.traversal.parents[node]
        return max(node, 0)

    def _block_around(self, node: int) -> int:
        """The innermost block around a node; 0, the program, when there is none."""
        node = self.traversal.parents[node]
        while node > 0 and self.traversal.types[node] not in JAVASCRIPT.scope_types:
            node = self.traversal.parents[node]
        return max(node, 0)
