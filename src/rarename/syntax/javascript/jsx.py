"""JSX: elements inside JavaScript, with the nodes of ESTree's extension."""

from rarename.syntax.javascript.cst import KIND_NAMES
from rarename.syntax.javascript.walker import NOWHERE, Walk, field, kinds_named

_ATTRIBUTE, _NAME = field("attribute"), field("name")
_SPREADS, _STRINGS = kinds_named("spread_element"), kinds_named("string")


class JsxWalk(Walk):
    """What becomes of the concrete nodes of JSX."""

    def jsx_element(self, node: int, parent: int) -> None:
        """An element, or a fragment when the tags have no name."""
        children = self._children(node)
        is_fragment = bool(children) and self._child(children[0], _NAME) < 0
        written = self._construct("JSXFragment" if is_fragment else "JSXElement", None, node, parent)
        self._later(children, written)

    def jsx_opening(self, node: int, parent: int) -> None:
        self._jsx_tag("JSXOpening", node, parent)

    def jsx_closing(self, node: int, parent: int) -> None:
        self._jsx_tag("JSXClosing", node, parent)

    def _jsx_tag(self, type_: str, node: int, parent: int) -> None:
        name = self._child(node, _NAME)
        written = self._construct(type_ + ("Element" if name >= 0 else "Fragment"), None, node, parent)
        self._later([child for child in self._children(node) if child != name], written)
        if name >= 0:
            self.stack.append((JsxWalk.jsx_name, name, written))

    def jsx_self_closing(self, node: int, parent: int) -> None:
        self.jsx_opening(node, self._construct("JSXElement", None, node, parent))

    def jsx_name(self, node: int, parent: int) -> None:
        """The name of a tag or attribute: `a`, `a.b`, `a:b`."""
        kind = KIND_NAMES[self.kinds[node]]
        type_ = {"member_expression": "JSXMemberExpression", "jsx_namespace_name": "JSXNamespacedName"}.get(kind)
        if type_ is None:
            self._construct("JSXIdentifier", self._text(node), node, parent)
            return
        written = self._construct(type_, None, node, parent)
        self.stack.extend((JsxWalk.jsx_name, child, written) for child in reversed(self._children(node)))

    def jsx_attribute(self, node: int, parent: int) -> None:
        written = self._construct("JSXAttribute", None, node, parent)
        name, *value = self._children(node) or [NOWHERE]
        for child in value:
            method = JsxWalk.jsx_string if self.kinds[child] in _STRINGS else self.methods[self.kinds[child]]
            self.stack.append((method, child, written))
        self.stack.append((JsxWalk.jsx_name if name >= 0 else Walk.nothing, name, written))

    def jsx_string(self, node: int, parent: int) -> None:
        """Backslashes are ordinary in a JSX string; character references stay as they are spelled."""
        value = self._raw(self.starts[node] + 1, self.ends[node] - 1)
        self._construct("LiteralString", value, node, parent)

    def jsx_expression(self, node: int, parent: int) -> None:
        children = self._children(node)
        if len(children) == 1 and self.kinds[children[0]] in _SPREADS:
            type_ = "JSXSpreadAttribute" if self.fields[node] == _ATTRIBUTE else "JSXSpreadChild"
            self._later(self._children(children[0]), self._construct(type_, None, node, parent))
            return
        written = self._construct("JSXExpressionContainer", None, node, parent)
        if children:
            self._later(children, written)
        else:
            self._node("JSXEmptyExpression", None, written, self.starts[node] + 1, self.ends[node] - 1)

    def jsx_text(self, node: int, parent: int) -> None:
        """Text between tags; blanks that only lay out the lines say nothing and leave no node."""
        raw = self._raw(self.starts[node], self.ends[node])
        if raw.strip() or "\n" not in raw:
            self._construct("JSXText", raw, node, parent)
