"""tree-sitter's concrete JavaScript tree to the abstract tree of JS150: its types, values and order.

A concrete node is converted by the method with the name of its kind in tree-sitter's grammar. Kinds without a method
are in `plain_types`, or leave nothing but their children.
"""

from collections.abc import Sequence
from typing import ClassVar

from rarename.syntax.javascript.cst import ERROR, FIELDS, NODE_KINDS, ConcreteTree
from rarename.syntax.javascript.jsx import JsxWalker
from rarename.syntax.javascript.literals import cooked_number, cooked_regexp, cooked_string, cooked_template
from rarename.syntax.javascript.walker import MISSING_NAME, Method
from rarename.syntax.traversal import NumberValue, Traversal

_IDENTIFIERS = frozenset({"identifier", "undefined"})
_SHORTHANDS = frozenset({"shorthand_property_identifier", "shorthand_property_identifier_pattern", "identifier"})
_NAMES = _SHORTHANDS | {"undefined", "property_identifier", "private_property_identifier"}
_LITERALS = frozenset({"number", "string", "true", "false", "null", "regex"})
_FUNCTION_EXPRESSIONS = frozenset({"function_expression", "generator_function"})
_FUNCTIONS = _FUNCTION_EXPRESSIONS | {
    "arrow_function", "function_declaration", "generator_function_declaration", "method_definition",
}  # fmt: skip
_LINKS = frozenset({"member_expression", "subscript_expression", "call_expression"})
_PAIRS = frozenset({"pair", "pair_pattern"})
_PATTERNS = {
    "array": "ArrayPattern",
    "array_pattern": "ArrayPattern",
    "object": "ObjectPattern",
    "object_pattern": "ObjectPattern",
    "spread_element": "RestElement",
}
"""What literals become where a value is assigned to them."""
_SAME_NAMES = frozenset(
    """
    array_pattern assignment_pattern await_expression break_statement catch_clause continue_statement debugger_statement
    decorator empty_statement expression_statement if_statement object_pattern return_statement sequence_expression
    spread_element super switch_statement throw_statement variable_declaration while_statement with_statement
    yield_expression
    """.split()  # noqa: SIM905
)
"""Kinds of the grammar with the children and the name of the abstract node: `if_statement` is an `IfStatement`."""


def to_estree(tree: ConcreteTree, made_up_names: frozenset[int] = frozenset()) -> Traversal:
    """The abstract tree of a concrete one. At the bytes in `made_up_names` the source has no name of its own."""
    converter = _Converter(tree, made_up_names)
    # The root of hopeless code is an error, not a program.
    converter.statements(converter._children(0), converter._write("Program", 0, -1))
    converter.run()
    if tree.errors:
        converter.add_leftovers()
    return converter.traversal()


class _Converter(JsxWalker):
    """What becomes of each kind of concrete node."""

    plain_types: ClassVar = {kind: kind.title().replace("_", "") for kind in _SAME_NAMES} | {
        "array": "ArrayExpression",
        "do_statement": "DoWhileStatement",
        "import_statement": "ImportDeclaration",
        "lexical_declaration": "VariableDeclaration",
        "namespace_import": "ImportNamespaceSpecifier",
        "object": "ObjectExpression",
        "rest_pattern": "RestElement",
        "ternary_expression": "ConditionalExpression",
        "this": "ThisExpression",
        "using_declaration": "VariableDeclaration",
    }

    def __init__(self, tree: ConcreteTree, made_up_names: frozenset[int]) -> None:
        super().__init__(tree)
        self.made_up_names = made_up_names
        self.has_chains = b"?." in tree.source or b"await" in tree.source
        self.await_is_keyword: list[bool] = []  # at every concrete node; computed when the first `await` is met
        self.awaited: set[int] = set()  # the calls `await (x)` and indices `await [x]` that are no such thing

    def add_leftovers(self) -> None:
        """Write the names that broken code has at odd places to the end of the program: none may be lost."""
        written = set(self.offsets[::2])
        for node, kind in enumerate(self.kinds):
            start, end = self.starts[node], self.ends[node]
            is_written = start in written or start + 1 in written  # a private name starts after its #
            if kind in _NAMES and start < end and not is_written and not self._is_own_name(node):
                statement = self._write("ExpressionStatement", node, 0)
                self._write("Identifier", node, statement, self._name(start, end).lstrip("#"))

    def _is_own_name(self, node: int) -> bool:
        """Whether a name is that of a function expression, which JS150 does not keep."""
        before = node - 1
        while before > 0 and self.kinds[before] not in NODE_KINDS:
            before -= 1
        return self.fields[node] == FIELDS["name"] and self.kinds[before] in _FUNCTION_EXPRESSIONS

    # -- names and literals -------------------------------------------------------------------------------------------

    def identifier(self, node: int, parent: int) -> None:
        start, end = self.starts[node], self.ends[node]
        is_missing = start == end or start in self.made_up_names
        self._write("Identifier", node, parent, MISSING_NAME if is_missing else self._name(start, end))

    property_identifier = undefined = identifier

    def private_property_identifier(self, node: int, parent: int) -> None:
        start, end = self.starts[node] + 1, self.ends[node]
        self._write_at("PrivateIdentifier", start, end, parent, self._name(start, end))

    statement_identifier = optional_chain = JsxWalker.skipped

    def true(self, node: int, parent: int) -> None:
        self._write("LiteralBoolean", node, parent, self._text(node))

    false = true

    def null(self, node: int, parent: int) -> None:
        self._write("LiteralNull", node, parent, "null")

    def number(self, node: int, parent: int) -> None:
        raw = self._text(node)
        self._write("LiteralBigInt" if raw.endswith("n") else "LiteralNumber", node, parent, cooked_number(raw))

    def string(self, node: int, parent: int) -> None:
        self._write("LiteralString", node, parent, self._string_value(node))

    def _string_value(self, node: int) -> str:
        return cooked_string(self._raw(self.starts[node] + 1, self.ends[node] - 1))

    def regex(self, node: int, parent: int) -> None:
        self._write("LiteralRegExp", node, parent, cooked_regexp(self._raw(self.starts[node], self.ends[node])))

    def template_string(self, node: int, parent: int) -> None:
        """Text and expressions alternate, as in the source. There is text at both ends, possibly empty."""
        literal = self._write("TemplateLiteral", node, parent)
        end = self.ends[node] - 1
        for hole in reversed(self._children(node)):
            self.stack.append((self._template_element(self.ends[hole], end), node, literal))
            self._visit([hole], literal)
            end = self.starts[hole]
        self.stack.append((self._template_element(self.starts[node] + 1, end), node, literal))

    def _template_element(self, start: int, end: int) -> Method:
        def write(_node: int, literal: int) -> None:
            self._write_at("TemplateElement", start, end, literal, cooked_template(self._raw(start, end)))

        return write

    def meta_property(self, node: int, parent: int) -> None:
        """`new.target` or `import.meta`, without the blanks or comments inside."""
        is_new = self.tree.source.startswith(b"new", self.starts[node])
        self._write("MetaProperty", node, parent, "new.target" if is_new else "import.meta")

    # -- operators ----------------------------------------------------------------------------------------------------

    def _operator(self, node: int) -> str | None:
        """The operator of an expression: its only token."""
        for child in self.tree.children(node):
            if self.kinds[child] not in NODE_KINDS:
                return self.kinds[child]
        return None

    def unary_expression(self, node: int, parent: int) -> None:
        self._visit(self._children(node), self._write("UnaryExpression", node, parent, self._operator(node)))

    def update_expression(self, node: int, parent: int) -> None:
        operator = self._operator(node)
        value = f"?{operator}" if self.kinds[node + 1] in NODE_KINDS else f"{operator}?"
        self._visit(self._children(node), self._write("UpdateExpression", node, parent, value))

    def binary_expression(self, node: int, parent: int) -> None:
        value = self._operator(node)
        type_ = "LogicalExpression" if value in ("&&", "||", "??") else "BinaryExpression"
        self._visit(self._children(node), self._write(type_, node, parent, value))

    # -- assignments and patterns -------------------------------------------------------------------------------------

    def assignment_expression(self, node: int, parent: int, type_: str = "AssignmentExpression") -> None:
        """`a = b` and `a += b` alike: JS150 keeps no operator here."""
        written = self._write(type_, node, parent)
        self._visit([self._child(node, "right")], written)
        self.stack.append((self.target, self._child(node, "left"), written))

    augmented_assignment_expression = assignment_expression

    def target(self, node: int, parent: int) -> None:
        """What is assigned to. An array or object here is a pattern, even if it was parsed as a literal."""
        node = self._without_parentheses(node)
        kind = self._kind(node)
        if kind in _PATTERNS:
            self._visit_as(self.target, self._children(node), self._write(_PATTERNS[kind], node, parent))
        elif kind == "assignment_expression":
            self.assignment_expression(node, parent, "AssignmentPattern")
        elif kind in _PAIRS:
            self._keyed("Property", self._child(node, "key"), parent, [(self.target, self._child(node, "value"))])
        elif kind in _LITERALS:
            self.missing(node, parent)
        else:
            self._visit([node], parent)

    def _without_parentheses(self, node: int) -> int:
        while self._kind(node) == "parenthesized_expression" and len(self._children(node)) == 1:
            node = self._children(node)[0]
        return node

    # -- members, indices and calls -----------------------------------------------------------------------------------

    def member_expression(self, node: int, parent: int) -> None:
        self.link(node, self._chain(node, parent) if self.has_chains else parent)

    subscript_expression = call_expression = member_expression

    def link(self, node: int, parent: int) -> None:
        """A member, an index or a call, inside a chain that is already written."""
        kind = self.kinds[node]
        if node in self.awaited:
            self._awaited(node, parent)
        elif kind == "member_expression":
            written = self._write("MemberExpression", node, parent)
            self.stack.append((self.property_name, self._child(node, "property"), written))
            self._visit_object(self._child(node, "object"), written)
        elif kind == "subscript_expression":
            written = self._write("ArrayAccess", node, parent)
            self.stack.append((self.index, self._child(node, "index"), written))
            self._visit_object(self._child(node, "object"), written)
        else:
            self._call(node, parent)

    def _visit_object(self, node: int, parent: int) -> None:
        """Visit the object or callee of a link next. If it is a link, it is in the same chain."""
        kind = self._kind(node)
        self.stack.append((self.link if kind in _LINKS else self.methods[kind], node, parent))

    def _call(self, node: int, parent: int) -> None:
        callee, arguments = self._child(node, "function"), self._child(node, "arguments")
        is_import = self._kind(callee) == "import"
        if self._kind(arguments) == "template_string":
            written = self._write("TaggedTemplateExpression", node, parent)
            self._visit([arguments], written)
        else:
            written = self._write("ImportExpression" if is_import else "CallExpression", node, parent)
            self._visit(self._children(arguments), written)
        if not is_import:
            self._visit_object(callee, written)

    def _chain(self, node: int, parent: int) -> int:
        """Write what encloses a whole chain of links: a ChainExpression when any of them is a `?.`.

        tree-sitter takes `await (a).b` for a call of a function named await. This is corrected here.
        """
        link, is_optional = node, False
        while self.kinds[link] in _LINKS and self.after[link] > link + 1:
            is_optional = is_optional or bool(self._of_kind(link, "optional_chain"))
            link += 1  # the object or callee comes first
        if link > node and self._is_await(link) and self._present(link - 1, "index", "arguments"):
            self.awaited.add(link - 1)
            parent = self._write("AwaitExpression", node, parent)
        return self._write("ChainExpression", node, parent) if is_optional else parent

    def _is_await(self, name: int) -> bool:
        """Whether an identifier is the keyword: its function is asynchronous, or there is none."""
        if self.kinds[name] not in _IDENTIFIERS or self._text(name) != "await":
            return False
        if not self.await_is_keyword:
            self.await_is_keyword.append(True)
            for node, parent in enumerate(self.tree.parents()[1:], 1):
                is_function = self.kinds[node] in _FUNCTIONS
                is_keyword = bool(self._of_kind(node, "async")) if is_function else self.await_is_keyword[parent]
                self.await_is_keyword.append(is_keyword)
        return self.await_is_keyword[name]

    def _awaited(self, node: int, parent: int) -> None:
        """The operand of `await (x)`, `await [x]` or `await `x``, from the call or index it was taken for."""
        if self.kinds[node] == "subscript_expression":
            index = self._child(node, "index")
            start = self.tree.source.find(b"[", self.starts[node])
            array = self._write_at("ArrayExpression", start, self.ends[node], parent)
            self._visit(self._children(index) if self.kinds[index] == "sequence_expression" else [index], array)
            return
        arguments = self._child(node, "arguments")
        values = [arguments] if self.kinds[arguments] == "template_string" else self._children(arguments)
        self._visit(values, parent if len(values) == 1 else self._write("SequenceExpression", arguments, parent))

    def new_expression(self, node: int, parent: int) -> None:
        parts = [self._child(node, "constructor"), *self._children(self._child(node, "arguments"))]
        self._visit(parts, self._write("NewExpression", node, parent))

    def property_name(self, node: int, parent: int) -> None:
        """The name after a dot."""
        if node < 0 or self.kinds[node] == "private_property_identifier":
            self._default_method(node)(node, parent)
        else:
            self._write("Property", node, parent, self._text(node) or MISSING_NAME)

    def index(self, node: int, parent: int) -> None:
        """The index of an ArrayAccess. JS150 writes a bare identifier as a Property here."""
        node = self._without_parentheses(node)
        if self._kind(node) in _IDENTIFIERS:
            self.property_name(node, parent)
        else:
            self._visit([node], parent)

    # -- object literals ----------------------------------------------------------------------------------------------

    def _keyed(self, type_: str, key: int, parent: int, rest: Sequence[tuple[Method, int]]) -> None:
        """Write a node with its key as its value. A computed key becomes its first child, before the rest."""
        kind = self._kind(key)
        start, end = (self.starts[key], self.ends[key]) if kind else (-1, -1)
        value: str | None
        if kind == "computed_property_name":
            value = None
        elif kind == "string":
            value = self._string_value(key)
            if self._raw(start + 1, end - 1) == value:
                start, end = start + 1, end - 1
        elif kind == "number":
            raw = self._text(key)
            value = cooked_number(raw) if raw.endswith("n") else NumberValue(cooked_number(raw))
        elif kind:
            start += kind == "private_property_identifier"
            value = self._name(start, end)
        else:
            value = MISSING_NAME
        written = self._write_at(type_, start, end, parent, value)
        for method, node in reversed(rest):
            self.stack.append((method, node, written))
        if value is None:
            self._visit(self._children(key), written)

    def _default_method(self, node: int) -> Method:
        return self.methods[self._kind(node)]

    def pair(self, node: int, parent: int) -> None:
        value = self._child(node, "value")
        self._keyed("Property", self._child(node, "key"), parent, [(self._default_method(value), value)])

    pair_pattern = pair

    def shorthand_property_identifier(self, node: int, parent: int) -> None:
        """`{a}` is `{a: a}`."""
        self.stack.append((self.identifier, node, self._write("Property", node, parent, self._text(node))))

    shorthand_property_identifier_pattern = shorthand_property_identifier

    def object_assignment_pattern(self, node: int, parent: int) -> None:
        """`{a = 1}` in a pattern is `{a: a = 1}`."""
        left, right = self._child(node, "left"), self._child(node, "right")
        if self._kind(left) not in _SHORTHANDS:
            self._visit([left, right], self._write("AssignmentPattern", node, parent))
            return
        written = self._write("Property", left, parent, self._text(left))
        pattern = self._write("AssignmentPattern", node, written)
        self._visit([right], pattern)
        self.stack.append((self.identifier, left, pattern))

    def method_definition(self, node: int, parent: int, type_: str = "Property") -> None:
        self._keyed(type_, self._child(node, "name"), parent, [(self.method_function, node), *self._decorators(node)])

    def method_function(self, node: int, parent: int) -> None:
        """The function of a method: it starts at its parameters, as in ESTree."""
        start = self.starts[(self._present(node, "parameters") or [node])[0]]
        written = self._write_at("FunctionExpression", start, self.ends[node], parent)
        self._visit([*self._parameters(node), *self._present(node, "body")], written)

    # -- functions and classes ----------------------------------------------------------------------------------------

    def _parameters(self, node: int) -> list[int]:
        return self._present(node, "parameter") or self._children(self._child(node, "parameters"))

    def _decorators(self, node: int) -> list[tuple[Method, int]]:
        return [(self.plain, child) for child in self._of_kind(node, "decorator")]

    def function_declaration(self, node: int, parent: int) -> None:
        """The name comes first, or an EmptyStatement where `export default function () {}` has none."""
        written = self._write("FunctionDeclaration", node, parent)
        self._visit([*self._parameters(node), *self._present(node, "body")], written)
        self._name_or_empty(node, written)

    generator_function_declaration = function_declaration

    def _name_or_empty(self, node: int, parent: int) -> None:
        name = self._child(node, "name")
        self.stack.append((self.identifier if name >= 0 else self.left_out, name, parent))

    def left_out(self, _node: int, parent: int) -> None:
        """An EmptyStatement in place of a part that the source leaves out."""
        self._write_at("EmptyStatement", -1, -1, parent)

    def function_expression(self, node: int, parent: int) -> None:
        """The function's own name is lost, as in JS150."""
        written = self._write("FunctionExpression", node, parent)
        self._visit([*self._parameters(node), *self._present(node, "body")], written)

    generator_function = function_expression

    def arrow_function(self, node: int, parent: int) -> None:
        written = self._write("ArrowFunctionExpression", node, parent)
        body = self._child(node, "body")
        method = self.labelled_block if self._is_labelled_block(body) else self._default_method(body)
        self.stack.append((method, body, written))
        self._visit(self._parameters(node), written)

    def class_(self, node: int, parent: int) -> None:
        self.class_declaration(node, parent, "ClassExpression")

    def class_declaration(self, node: int, parent: int, type_: str = "ClassDeclaration") -> None:
        """The name or an EmptyStatement, the superclass if any, the body, the decorators."""
        written = self._write(type_, node, parent)
        heritage, decorators = self._of_kind(node, "class_heritage")[:1], self._of_kind(node, "decorator")
        self._visit([*heritage, *self._present(node, "body"), *decorators], written)
        self._name_or_empty(node, written)

    def class_body(self, node: int, parent: int) -> None:
        self._visit_as(self.class_member, self._children(node), self._write("ClassBody", node, parent))

    def class_member(self, node: int, parent: int) -> None:
        if self.kinds[node] == "method_definition":
            self.method_definition(node, parent, "MethodDefinition")
        else:
            self.methods[self.kinds[node]](node, parent)

    def field_definition(self, node: int, parent: int) -> None:
        value = [(self._default_method(child), child) for child in self._present(node, "value")]
        self._keyed("PropertyDefinition", self._child(node, "property"), parent, [*value, *self._decorators(node)])

    def class_static_block(self, node: int, parent: int) -> None:
        self.statements(self._children(self._child(node, "body")), self._write("StaticBlock", node, parent))

    # -- statements ---------------------------------------------------------------------------------------------------

    def statements(self, children: Sequence[int], parent: int) -> None:
        """A list of statements. In broken code there may be expressions among them."""
        if self.tree.errors:
            self._visit_as(self.statement, children, parent)
        else:
            self._visit(children, parent)

    def statement(self, node: int, parent: int) -> None:
        """A statement of a broken list. What is no statement becomes an ExpressionStatement."""
        kind = self.kinds[node]
        if kind == ERROR:
            self.statements(self._children(node), parent)
        elif kind.endswith(("_statement", "_declaration")) or kind == "statement_block":
            self.methods[kind](node, parent)
        else:
            self._visit([node], self._write("ExpressionStatement", node, parent))

    def statement_block(self, node: int, parent: int) -> None:
        self.statements(self._children(node), self._write("BlockStatement", node, parent))

    def expression_statement(self, node: int, parent: int) -> None:
        """No expression statement starts with a brace: tree-sitter took a block for an object."""
        if self._is_labelled_block(node + 1):
            self.labelled_block(node + 1, parent)
        else:
            self.plain(node, parent)

    def _is_labelled_block(self, node: int) -> bool:
        """Whether an object in place of a statement or body is a block: `{a: b}` labels `b`."""
        if not 0 <= node < len(self.kinds) or self.kinds[node] not in ("object", "object_pattern"):
            return False
        children = self._children(node)
        if not children or self.kinds[children[0]] not in _PAIRS:
            return False
        is_label = self.kinds[children[0] + 1] == "property_identifier"
        return is_label and all(self.kinds[other] in _SHORTHANDS for other in children[1:])

    def labelled_block(self, node: int, parent: int) -> None:
        block = self._write("BlockStatement", node, parent)
        pair, *others = self._children(node)
        written = self._write("ExpressionStatement", pair, self._write("LabeledStatement", pair, block))
        if others:
            written = self._write("SequenceExpression", pair, written)
        self._visit_as(self.identifier, others, written)
        self._visit([self._child(pair, "value")], written)

    def variable_declarator(self, node: int, parent: int) -> None:
        self._declared(self._child(node, "name"), self._present(node, "value"), parent)

    def _declared(self, name: int, value: Sequence[int], parent: int) -> None:
        """A name is the declarator's value; a pattern is its first child."""
        if name < 0:
            written = self._write_at("VariableDeclarator", -1, -1, parent, MISSING_NAME)
            self._visit(value, written)
            return
        is_name = self.kinds[name] in _IDENTIFIERS
        written = self._write("VariableDeclarator", name, parent, self._text(name) or MISSING_NAME if is_name else None)
        self._visit(value, written)
        if not is_name:
            self.stack.append((self.target, name, written))

    def for_statement(self, node: int, parent: int) -> None:
        """Always four children, with an EmptyStatement for each missing one."""
        written = self._write("ForStatement", node, parent)
        self._visit([self._child(node, "body")], written)
        for part in (self._child(node, field) for field in ("increment", "condition", "initializer")):
            is_left_out = self._kind(part) in ("", "empty_statement")
            self.stack.append((self.left_out if is_left_out else self.methods[self.kinds[part]], part, written))

    def for_in_statement(self, node: int, parent: int) -> None:
        written = self._write("ForOfStatement" if self._of_kind(node, "of") else "ForInStatement", node, parent)
        self._visit([self._child(node, "right"), self._child(node, "body")], written)
        is_declared = bool(self._present(node, "kind"))
        left = (self.loop_declaration, node) if is_declared else (self.target, self._child(node, "left"))
        self.stack.append((*left, written))

    def loop_declaration(self, node: int, parent: int) -> None:
        """The `var x` of `for (var x in y)`."""
        last = self._present(node, "left", "value")[-1:]
        start, end = self.starts[self._child(node, "kind")], self.ends[last[0]] if last else -1
        declaration = self._write_at("VariableDeclaration", start, end, parent)
        self._declared(self._child(node, "left"), self._present(node, "value"), declaration)

    def try_statement(self, node: int, parent: int) -> None:
        """A missing `finally` leaves an EmptyStatement, a missing `catch` nothing."""
        written = self._write("TryStatement", node, parent)
        finalizer = self._child(node, "finalizer")
        self.stack.append((self.transparent if finalizer >= 0 else self.left_out, finalizer, written))
        self._visit(self._present(node, "body", "handler"), written)

    def switch_case(self, node: int, parent: int) -> None:
        """The statements of a case are in a made-up BlockStatement."""
        written = self._write("SwitchCase", node, parent)
        self.stack.append((self.case_block, node, written))
        self._visit(self._present(node, "value"), written)

    switch_default = switch_case

    def case_block(self, node: int, parent: int) -> None:
        test = self._child(node, "value")
        body = [child for child in self._children(node) if child != test]
        start, end = (self.starts[body[0]], self.ends[body[-1]]) if body else (-1, -1)
        self.statements(body, self._write_at("BlockStatement", start, end, parent))

    def labeled_statement(self, node: int, parent: int) -> None:
        """The label is lost, as in JS150."""
        self._visit(self._present(node, "body"), self._write("LabeledStatement", node, parent))

    # -- modules ------------------------------------------------------------------------------------------------------

    def import_specifier(self, node: int, parent: int) -> None:
        """`a as b` has two children, `a` one. `default` is a token of the grammar, and a name here."""
        is_import = self.kinds[node] == "import_specifier"
        written = self._write("ImportSpecifier" if is_import else "ExportSpecifier", node, parent)
        for child in reversed(self.tree.children(node)):
            if self.kinds[child] == "default":
                self.stack.append((self.identifier, child, written))
            elif self.kinds[child] in NODE_KINDS:
                self._visit([child], written)

    export_specifier = import_specifier

    def import_clause(self, node: int, parent: int) -> None:
        for child in reversed(self._children(node)):
            is_default = self.kinds[child] in _IDENTIFIERS
            self.stack.append((self.default_import if is_default else self.methods[self.kinds[child]], child, parent))

    def default_import(self, node: int, parent: int) -> None:
        self.stack.append((self.identifier, node, self._write("ImportDefaultSpecifier", node, parent)))

    def import_attribute(self, node: int, parent: int) -> None:
        """`with {type: "json"}`: each pair is an ImportAttribute."""
        for pairs in self._children(node):
            self._visit_as(self.attribute, self._children(pairs), parent)

    def attribute(self, node: int, parent: int) -> None:
        value = self._child(node, "value")
        self._keyed("ImportAttribute", self._child(node, "key"), parent, [(self._default_method(value), value)])

    def export_statement(self, node: int, parent: int) -> None:
        decorators = self._of_kind(node, "decorator")
        if self._of_kind(node, "default"):
            written = self._write("ExportDefaultDeclaration", node, parent)
            self._visit(decorators, written)
            self._default_export(node, written)
            return
        is_all = self._of_kind(node, "*", "namespace_export")
        rest = [child for child in self._children(node) if child not in decorators]
        written = self._write("ExportAllDeclaration" if is_all else "ExportNamedDeclaration", node, parent)
        self._visit([*rest, *decorators], written)

    def _default_export(self, node: int, parent: int) -> None:
        """Functions and classes are declarations here, with or without a name."""
        value = self._child(node, "value")
        if self._kind(value) in _FUNCTION_EXPRESSIONS:
            self.stack.append((self.function_declaration, value, parent))
        elif self._kind(value) == "class":
            self.stack.append((self.class_declaration, value, parent))
        else:
            self._visit(self._present(node, "declaration", "value"), parent)
