"""JSX: elements inside JavaScript, with the nodes of ESTree's extension."""

from rarename.syntax.javascript.cst import FIELDS
from rarename.syntax.javascript.walker import Walker

_NAME_TYPES = {"member_expression": "JSXMemberExpression", "jsx_namespace_name": "JSXNamespacedName"}


class JsxWalker(Walker):
    """What becomes of the concrete nodes of JSX."""

    def jsx_element(self, node: int, parent: int) -> None:
        """An element, or a fragment when the tags have no name."""
        children = self._children(node)
        is_fragment = bool(children) and self._child(children[0], "name") < 0
        self._visit(children, self._write("JSXFragment" if is_fragment else "JSXElement", node, parent))

    def jsx_opening_element(self, node: int, parent: int) -> None:
        name = self._present(node, "name")
        side = "JSXClosing" if self.kinds[node] == "jsx_closing_element" else "JSXOpening"
        written = self._write(side + ("Element" if name else "Fragment"), node, parent)
        self._visit([child for child in self._children(node) if child not in name], written)
        self._visit_as(self.tag_name, name, written)

    jsx_closing_element = jsx_opening_element

    def jsx_self_closing_element(self, node: int, parent: int) -> None:
        self.jsx_opening_element(node, self._write("JSXElement", node, parent))

    def tag_name(self, node: int, parent: int) -> None:
        """The name of a tag or attribute: `a`, `a.b`, `a:b`."""
        type_ = _NAME_TYPES.get(self.kinds[node])
        if type_ is None:
            self._write("JSXIdentifier", node, parent, self._text(node))
        else:
            self._visit_as(self.tag_name, self._children(node), self._write(type_, node, parent))

    def jsx_attribute(self, node: int, parent: int) -> None:
        written = self._write("JSXAttribute", node, parent)
        children = self._children(node)
        for child in children[1:]:
            method = self.attribute_string if self.kinds[child] == "string" else self.methods[self.kinds[child]]
            self.stack.append((method, child, written))
        if children:
            self._visit_as(self.tag_name, children[:1], written)
        else:
            self.missing(node, written)

    def attribute_string(self, node: int, parent: int) -> None:
        """A backslash is an ordinary character here; character references stay as they are written."""
        self._write("LiteralString", node, parent, self._raw(self.starts[node] + 1, self.ends[node] - 1))

    def jsx_expression(self, node: int, parent: int) -> None:
        children = self._children(node)
        if [self.kinds[child] for child in children] == ["spread_element"]:
            is_attribute = self.fields[node] == FIELDS["attribute"]
            written = self._write("JSXSpreadAttribute" if is_attribute else "JSXSpreadChild", node, parent)
            self._visit(self._children(children[0]), written)
            return
        written = self._write("JSXExpressionContainer", node, parent)
        self._visit(children, written)
        if not children:
            self._write_at("JSXEmptyExpression", self.starts[node] + 1, self.ends[node] - 1, written)

    def jsx_text(self, node: int, parent: int) -> None:
        """Text between tags. Blanks that only lay out the lines leave no node."""
        raw = self._raw(self.starts[node], self.ends[node])
        if raw.strip() or "\n" not in raw:
            self._write("JSXText", node, parent, raw)
