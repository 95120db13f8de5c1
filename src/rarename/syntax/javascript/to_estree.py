"""tree-sitter's concrete JavaScript tree to the abstract tree of JS150: its types, values and order.

Every kind of concrete node has one method here, listed in `_METHODS` at the end. A method writes the
abstract node (`_node`) and lays its children, last one first, on a stack (`_later`): so the walk is in
pre-order, and code that nests a hundred thousand levels deep is walked without recursion.
"""

from collections.abc import Iterable

from rarename.syntax.javascript.cst import ERROR_KIND, IS_NAMED, KIND_NAMES, ConcreteTree
from rarename.syntax.javascript.jsx import JsxWalk
from rarename.syntax.javascript.literals import (
    cooked_big_integer,
    cooked_number,
    cooked_regexp,
    cooked_string,
    cooked_template,
    is_big_integer,
)
from rarename.syntax.javascript.walker import (
    MISSING_NAME,
    NOWHERE,
    Method,
    field,
    kinds_named,
    token,
)
from rarename.syntax.traversal import NumberValue, Traversal

_ARGUMENTS = field("arguments")
_BODY = field("body")
_CONDITION = field("condition")
_CONSTRUCTOR = field("constructor")
_DECLARATION = field("declaration")
_FINALIZER = field("finalizer")
_FUNCTION = field("function")
_HANDLER = field("handler")
_INCREMENT = field("increment")
_INDEX = field("index")
_INITIALIZER = field("initializer")
_KEY = field("key")
_KIND = field("kind")
_LEFT = field("left")
_NAME = field("name")
_OBJECT = field("object")
_PARAMETER = field("parameter")
_PARAMETERS = field("parameters")
_PROPERTY = field("property")
_RIGHT = field("right")
_VALUE = field("value")

_DEFAULT, _OF, _STAR = token("default"), token("of"), token("*")
_ASYNC_TOKENS = frozenset({token("async")})
_FUNCTIONS = kinds_named(
    "arrow_function",
    "function_declaration",
    "function_expression",
    "generator_function",
    "generator_function_declaration",
    "method_definition",
)
_OPTIONAL = kinds_named("optional_chain")
_CHAIN = kinds_named("member_expression", "subscript_expression", "call_expression")
_SUBSCRIPTS = kinds_named("subscript_expression")
_IDENTIFIERS = kinds_named("identifier", "undefined")
_SHORTHANDS = kinds_named("shorthand_property_identifier", "shorthand_property_identifier_pattern", "identifier")
_NAMES = _SHORTHANDS | kinds_named("undefined", "property_identifier", "private_property_identifier")
_PROPERTY_NAMES = kinds_named("property_identifier")
_PRIVATE = kinds_named("private_property_identifier")
_STRINGS, _NUMBERS, _TEMPLATES = kinds_named("string"), kinds_named("number"), kinds_named("template_string")
_COMPUTED = kinds_named("computed_property_name")
_DECORATORS = kinds_named("decorator")
_PARENTHESES = kinds_named("parenthesized_expression")
_OBJECTS, _ARRAYS = kinds_named("object", "object_pattern"), kinds_named("array", "array_pattern")
_IMPORT = kinds_named("import")
_FUNCTION_EXPRESSIONS = kinds_named("function_expression", "generator_function")
_CLASS_EXPRESSIONS = kinds_named("class")
_HERITAGES, _NAMESPACE_EXPORTS = kinds_named("class_heritage"), kinds_named("namespace_export")
_ASSIGNMENTS, _PAIRS = kinds_named("assignment_expression"), kinds_named("pair", "pair_pattern")
_LITERALS = kinds_named("number", "string", "true", "false", "null", "regex")
_METHOD_DEFINITIONS, _FIELD_DEFINITIONS = kinds_named("method_definition"), kinds_named("field_definition")
_EMPTY_STATEMENTS = kinds_named("empty_statement")
_SPREADS = kinds_named("spread_element")
_LOGICAL_OPERATORS = frozenset({"&&", "||", "??"})


class _Walk(JsxWalk):
    """What becomes of each kind of concrete node."""

    def __init__(self, tree: ConcreteTree, missing: frozenset[int]) -> None:
        super().__init__(tree, _METHODS_BY_KIND)
        self.missing = missing
        """The bytes at which a made-up name stands."""
        self.is_broken = bool(tree.errors)
        self.has_chains = b"?." in tree.source or b"await" in tree.source
        self.may_await: list[bool] | None = None
        self.awaited: set[int] = set()
        """The calls `await (x)` and indices `await [x]` that are no such thing."""

    def run(self) -> None:
        """Walk the whole tree."""
        # The root of hopeless code is an error, no program.
        self.statements(self._children(0), self._construct("Program", None, 0, -1))
        self.finish()
        if self.is_broken:
            self._keep_leftovers()

    def _keep_leftovers(self) -> None:
        """Names that stand at odd places of broken code come at the end of the program: none may vanish."""
        written = set(self.places[::2])
        for node, kind in enumerate(self.kinds):
            start, end = self.starts[node], self.ends[node]
            is_written = start in written or start + 1 in written  # a private name starts behind its #
            if kind in _NAMES and start < end and not is_written and not self._is_own_name(node):
                statement = self._construct("ExpressionStatement", None, node, 0)
                self._node("Identifier", self._spelling(start, end).lstrip("#"), statement, start, end)

    def _is_own_name(self, node: int) -> bool:
        """Whether a name is that of a function expression, which JS150 does not keep."""
        before = node - 1
        while before > 0 and not IS_NAMED[self.kinds[before]]:
            before -= 1
        return self.fields[node] == _NAME and self.kinds[before] in _FUNCTION_EXPRESSIONS

    # -- reading ------------------------------------------------------------------------------------

    def _string(self, node: int) -> str:
        return cooked_string(self._raw(self.starts[node] + 1, self.ends[node] - 1))

    def _decorators(self, node: int) -> list[int]:
        return [child for child in self.tree.children(node) if self.kinds[child] in _DECORATORS]

    # -- names and literals -------------------------------------------------------------------------

    def skipped(self, node: int, parent: int) -> None:
        """A concrete node that the abstract tree has no place for."""

    def transparent(self, node: int, parent: int) -> None:
        """A concrete node that leaves no trace but its children: parentheses, `else`, …"""
        self._later(self._children(node), parent)

    def identifier(self, node: int, parent: int) -> None:
        start, end = self.starts[node], self.ends[node]
        if start == end or start in self.missing:
            self._node("Identifier", MISSING_NAME, parent, start, end)
            return
        self._node("Identifier", self._spelling(start, end), parent, start, end)

    def private_name(self, node: int, parent: int) -> None:
        start, end = self.starts[node] + 1, self.ends[node]
        self._node("PrivateIdentifier", self._spelling(start, end), parent, start, end)

    def boolean(self, node: int, parent: int) -> None:
        self._construct("LiteralBoolean", self._text(node), node, parent)

    def null(self, node: int, parent: int) -> None:
        self._construct("LiteralNull", "null", node, parent)

    def number(self, node: int, parent: int) -> None:
        raw = self._text(node)
        if is_big_integer(raw):
            self._construct("LiteralBigInt", cooked_big_integer(raw), node, parent)
        else:
            self._construct("LiteralNumber", cooked_number(raw), node, parent)

    def string(self, node: int, parent: int) -> None:
        self._construct("LiteralString", self._string(node), node, parent)

    def regexp(self, node: int, parent: int) -> None:
        raw = self._raw(self.starts[node], self.ends[node])
        self._construct("LiteralRegExp", cooked_regexp(raw), node, parent)

    def template(self, node: int, parent: int) -> None:
        """Text and expressions alternate, as in the source; there is text at both ends, maybe empty."""
        literal = self._construct("TemplateLiteral", None, node, parent)
        start = self.starts[node] + 1
        work: list[tuple[Method, int, int]] = []
        for hole in self._children(node):
            work.append((_template_text(start, self.starts[hole]), node, literal))
            work.append((self.methods[self.kinds[hole]], hole, literal))
            start = self.ends[hole]
        work.append((_template_text(start, self.ends[node] - 1), node, literal))
        self.stack.extend(reversed(work))

    def meta_property(self, node: int, parent: int) -> None:
        """`new.target`, `import.meta`: one word, whatever blanks or comments stand inside."""
        value = "new.target" if self.tree.source.startswith(b"new", self.starts[node]) else "import.meta"
        self._construct("MetaProperty", value, node, parent)

    # -- expressions --------------------------------------------------------------------------------

    def plain(self, node: int, parent: int) -> None:
        """A concrete node whose children are those of the abstract one, in the same order."""
        type_ = _PLAIN_TYPES_BY_KIND[self.kinds[node]]
        written = self._construct(type_, None, node, parent)
        children = self._children(node)
        if self.is_broken and type_ == "BlockStatement":
            self.statements(children, written)
        else:
            self._later(children, written)

    def unary(self, node: int, parent: int) -> None:
        self._later(self._children(node), self._construct("UnaryExpression", self._operator(node), node, parent))

    def update(self, node: int, parent: int) -> None:
        operator = self._operator(node)
        value = f"{operator}?" if not IS_NAMED[self.kinds[node + 1]] else f"?{operator}"
        self._later(self._children(node), self._construct("UpdateExpression", value, node, parent))

    def binary(self, node: int, parent: int) -> None:
        value = self._operator(node)
        type_ = "LogicalExpression" if value in _LOGICAL_OPERATORS else "BinaryExpression"
        self._later(self._children(node), self._construct(type_, value, node, parent))

    def assignment(self, node: int, parent: int) -> None:
        """`a = b` and `a += b` alike: JS150 keeps no operator here."""
        written = self._construct("AssignmentExpression", None, node, parent)
        self._later([self._child(node, _RIGHT)], written)
        self.stack.append((_Walk.target, self._child(node, _LEFT), written))

    def member(self, node: int, parent: int) -> None:
        self.link(node, self._chain(node, parent))

    def link(self, node: int, parent: int) -> None:
        """A member, an index or a call, inside a chain that is already written."""
        kind = self.kinds[node]
        if node in self.awaited:
            self._awaited(node, parent)
        elif kind not in _CHAIN:
            self.methods[kind](self, node, parent)
        elif KIND_NAMES[kind] == "member_expression":
            self._member_link(node, parent)
        elif KIND_NAMES[kind] == "subscript_expression":
            self._index_link(node, parent)
        else:
            self._call_link(node, parent)

    def _chain(self, node: int, parent: int) -> int:
        """Write what goes around a whole chain of links: ChainExpression when any of them is a `?.`.

        tree-sitter takes `await (a).b` for a call of a function named await, so that is set right here.
        """
        if not self.has_chains:
            return parent
        link, is_optional = node, False
        while self.kinds[link] in _CHAIN and self.after[link] > link + 1:
            is_optional = is_optional or self._first(link, _OPTIONAL) >= 0
            link += 1  # the object or callee comes first
        if link > node and self._is_await(link) and self._is_operand_known(link - 1):
            self.awaited.add(link - 1)
            parent = self._construct("AwaitExpression", None, node, parent)
        return self._construct("ChainExpression", None, node, parent) if is_optional else parent

    def _is_await(self, name: int) -> bool:
        """Whether this identifier is the keyword: its function is asynchronous, or there is none."""
        if self.kinds[name] not in _IDENTIFIERS or self._text(name) != "await":
            return False
        if self.may_await is None:
            self.may_await = self._awaiting_places()
        return self.may_await[name]

    def _is_operand_known(self, node: int) -> bool:
        return max(self._child(node, _INDEX), self._child(node, _ARGUMENTS)) >= 0

    def _awaiting_places(self) -> list[bool]:
        """For every concrete node whether `await` is a keyword there."""
        may_await = [True]
        for node, parent in enumerate(self.tree.parents()[1:], 1):
            is_function = self.kinds[node] in _FUNCTIONS
            may_await.append(self._first(node, _ASYNC_TOKENS) >= 0 if is_function else may_await[parent])
        return may_await

    def _awaited(self, node: int, parent: int) -> None:
        """The operand of `await (x)`, `await [x]` or `await `x``, from the call or index it was taken for."""
        if self.kinds[node] in _SUBSCRIPTS:
            index = self._child(node, _INDEX)
            is_list = KIND_NAMES[self.kinds[index]] == "sequence_expression"
            start = self.tree.source.find(b"[", self.starts[node])
            array = self._node("ArrayExpression", None, parent, start, self.ends[node])
            self._later(self._children(index) if is_list else [index], array)
            return
        arguments = self._child(node, _ARGUMENTS)
        values = self._children(arguments)
        if self.kinds[arguments] in _TEMPLATES:
            self._later([arguments], parent)
        elif len(values) == 1:
            self._later(values, parent)
        else:
            self._later(values, self._construct("SequenceExpression", None, arguments, parent))

    def _member_link(self, node: int, parent: int) -> None:
        written = self._construct("MemberExpression", None, node, parent)
        self.stack.append((_Walk.property_name, self._child(node, _PROPERTY), written))
        self._object(self._child(node, _OBJECT), written)

    def _index_link(self, node: int, parent: int) -> None:
        written = self._construct("ArrayAccess", None, node, parent)
        self.stack.append((_Walk.index, self._child(node, _INDEX), written))
        self._object(self._child(node, _OBJECT), written)

    def _object(self, node: int, parent: int) -> None:
        self.stack.append((_Walk.link if node >= 0 else _Walk.nothing, node, parent))

    def _call_link(self, node: int, parent: int) -> None:
        callee, arguments = self._child(node, _FUNCTION), self._child(node, _ARGUMENTS)
        if arguments >= 0 and self.kinds[arguments] in _TEMPLATES:
            written = self._construct("TaggedTemplateExpression", None, node, parent)
            self._later([arguments], written)
        elif callee >= 0 and self.kinds[callee] in _IMPORT:
            written = self._construct("ImportExpression", None, node, parent)
            self._later(self._children(arguments) if arguments >= 0 else [], written)
            return
        else:
            written = self._construct("CallExpression", None, node, parent)
            self._later(self._children(arguments) if arguments >= 0 else [], written)
        self._object(callee, written)

    def new(self, node: int, parent: int) -> None:
        written = self._construct("NewExpression", None, node, parent)
        arguments = self._child(node, _ARGUMENTS)
        if arguments >= 0:
            self._later(self._children(arguments), written)
        self._later([self._child(node, _CONSTRUCTOR)], written)

    def property_name(self, node: int, parent: int) -> None:
        """The name behind a dot."""
        if node < 0:
            self.nothing(node, parent)
        elif self.kinds[node] in _PRIVATE:
            self.private_name(node, parent)
        else:
            self._construct("Property", self._text(node) or MISSING_NAME, node, parent)

    def index(self, node: int, parent: int) -> None:
        """The index of an ArrayAccess: JS150 calls a bare identifier Property here."""
        while node >= 0 and self.kinds[node] in _PARENTHESES and len(self._children(node)) == 1:
            node = self._children(node)[0]
        if node >= 0 and self.kinds[node] in _IDENTIFIERS:
            self._construct("Property", self._text(node) or MISSING_NAME, node, parent)
        else:
            self._later([node], parent)

    def target(self, node: int, parent: int) -> None:
        """What is assigned to: an array or object here is a pattern, even if it was read as a literal."""
        while node >= 0 and self.kinds[node] in _PARENTHESES and len(self._children(node)) == 1:
            node = self._children(node)[0]
        kind = self.kinds[node] if node >= 0 else -1
        if kind in _ARRAYS or kind in _OBJECTS:
            written = self._construct("ArrayPattern" if kind in _ARRAYS else "ObjectPattern", None, node, parent)
            self.stack.extend((_Walk.target, child, written) for child in reversed(self._children(node)))
        elif kind in _SPREADS:
            written = self._construct("RestElement", None, node, parent)
            self.stack.extend((_Walk.target, child, written) for child in reversed(self._children(node)))
        elif kind in _ASSIGNMENTS:
            written = self._construct("AssignmentPattern", None, node, parent)
            self._later([self._child(node, _RIGHT)], written)
            self.stack.append((_Walk.target, self._child(node, _LEFT), written))
        elif kind in _PAIRS:
            self._pair(node, parent, _Walk.target)
        elif kind in _LITERALS:
            self.nothing(node, parent)
        else:
            self._later([node], parent)

    # -- object literals and patterns ---------------------------------------------------------------

    def _keyed(self, type_: str, key: int, parent: int) -> int:
        """Write a node that carries its key as its value; a computed key becomes its first child."""
        kind = self.kinds[key] if key >= 0 else -1
        if kind in _COMPUTED:
            written = self._construct(type_, None, key, parent)
            self._later(self._children(key), written)
            return written
        if key < 0:
            return self._node(type_, MISSING_NAME, parent, -1, -1)
        start, end = self.starts[key], self.ends[key]
        if kind in _STRINGS:
            value = self._string(key)
            if self._raw(start + 1, end - 1) == value:
                start, end = start + 1, end - 1
        elif kind in _NUMBERS:
            raw = self._text(key)
            value = cooked_big_integer(raw) if is_big_integer(raw) else NumberValue(cooked_number(raw))
        else:
            start += kind in _PRIVATE
            value = self._spelling(start, end)
        return self._node(type_, value, parent, start, end)

    def _member_of(self, type_: str, key: int, parent: int, rest: Iterable[tuple[Method, int]]) -> None:
        """Write a keyed node whose further children are `rest`, behind a computed key."""
        base = len(self.stack)
        written = self._keyed(type_, key, parent)
        self.stack[base:base] = [(method, node, written) for method, node in reversed(list(rest))]

    def pair(self, node: int, parent: int) -> None:
        self._pair(node, parent, None)

    def _pair(self, node: int, parent: int, method: Method | None) -> None:
        value = self._child(node, _VALUE)
        if method is None:
            method = self.methods[self.kinds[value]] if value >= 0 else _Walk.nothing
        self._member_of("Property", self._child(node, _KEY), parent, [(method, value)])

    def shorthand(self, node: int, parent: int) -> None:
        """`{a}` is `{a: a}`."""
        self._later_identifier(node, self._construct("Property", self._text(node), node, parent))

    def _later_identifier(self, node: int, parent: int) -> None:
        self.stack.append((_Walk.identifier, node, parent))

    def default_property(self, node: int, parent: int) -> None:
        """`{a = 1}` in a pattern is `{a: a = 1}`."""
        left, right = self._child(node, _LEFT), self._child(node, _RIGHT)
        if left < 0 or self.kinds[left] not in _SHORTHANDS:
            self._later([left, right], self._construct("AssignmentPattern", None, node, parent))
            return
        written = self._construct("Property", self._text(left), left, parent)
        pattern = self._construct("AssignmentPattern", None, node, written)
        self._later([right], pattern)
        self._later_identifier(left, pattern)

    def method(self, node: int, parent: int) -> None:
        self._method("Property", node, parent)

    def _method(self, type_: str, node: int, parent: int) -> None:
        decorators = [(_Walk.plain, child) for child in self._decorators(node)]
        self._member_of(type_, self._child(node, _NAME), parent, [(_Walk.method_function, node), *decorators])

    def method_function(self, node: int, parent: int) -> None:
        """The function of a method: it starts at its parameters, as in ESTree."""
        parameters, body = self._child(node, _PARAMETERS), self._child(node, _BODY)
        start = self.starts[parameters] if parameters >= 0 else self.starts[node]
        written = self._node("FunctionExpression", None, parent, start, self.ends[node])
        self._later([*self._parameters(node), *self._present(body)], written)

    # -- functions and classes ----------------------------------------------------------------------

    def _parameters(self, node: int) -> list[int]:
        parameter = self._child(node, _PARAMETER)
        if parameter >= 0:
            return [parameter]
        parameters = self._child(node, _PARAMETERS)
        return self._children(parameters) if parameters >= 0 else []

    def function_declaration(self, node: int, parent: int) -> None:
        """The name, or an EmptyStatement where `export default function () {}` has none."""
        written = self._construct("FunctionDeclaration", None, node, parent)
        self._later([*self._parameters(node), *self._present(self._child(node, _BODY))], written)
        self._name_or_empty(self._child(node, _NAME), written)

    def _name_or_empty(self, name: int, parent: int) -> None:
        self.stack.append((_Walk.identifier if name >= 0 else _Walk.filling, name, parent))

    def filling(self, node: int, parent: int) -> None:
        """An EmptyStatement that keeps the place of a part the source leaves out."""
        self._node("EmptyStatement", None, parent, -1, -1)

    def function_expression(self, node: int, parent: int) -> None:
        """The function's own name is lost, as in JS150."""
        written = self._construct("FunctionExpression", None, node, parent)
        self._later([*self._parameters(node), *self._present(self._child(node, _BODY))], written)

    def arrow(self, node: int, parent: int) -> None:
        written = self._construct("ArrowFunctionExpression", None, node, parent)
        body = self._child(node, _BODY)
        if self._is_labelled_block(body):
            self.stack.append((_Walk.labelled_block, body, written))
        else:
            self._later([body], written)
        self._later(self._parameters(node), written)

    def class_declaration(self, node: int, parent: int) -> None:
        self._class("ClassDeclaration", node, parent)

    def class_expression(self, node: int, parent: int) -> None:
        self._class("ClassExpression", node, parent)

    def _class(self, type_: str, node: int, parent: int) -> None:
        """The name or an EmptyStatement, the superclass if any, the body, the decorators."""
        written = self._construct(type_, None, node, parent)
        heritage = self._first(node, _HERITAGES)
        parts = self._present(heritage, self._child(node, _BODY))
        self._later([*parts, *self._decorators(node)], written)
        self._name_or_empty(self._child(node, _NAME), written)

    def class_body(self, node: int, parent: int) -> None:
        written = self._construct("ClassBody", None, node, parent)
        for child in reversed(self._children(node)):
            self.stack.append((_Walk.class_member, child, written))

    def class_member(self, node: int, parent: int) -> None:
        kind = self.kinds[node]
        if kind in _METHOD_DEFINITIONS:
            self._method("MethodDefinition", node, parent)
        elif kind in _FIELD_DEFINITIONS:
            value = [(self.methods[self.kinds[v]], v) for v in self._present(self._child(node, _VALUE))]
            decorators = [(_Walk.plain, child) for child in self._decorators(node)]
            self._member_of("PropertyDefinition", self._child(node, _PROPERTY), parent, [*value, *decorators])
        else:
            self.methods[kind](self, node, parent)

    def static_block(self, node: int, parent: int) -> None:
        body = self._child(node, _BODY)
        written = self._construct("StaticBlock", None, node, parent)
        self.statements(self._children(body) if body >= 0 else [], written)

    # -- statements ---------------------------------------------------------------------------------

    def statements(self, children: list[int], parent: int) -> None:
        """A list of statements. In broken code an expression may stand there alone."""
        if not self.is_broken:
            self._later(children, parent)
            return
        for child in reversed(children):
            self.stack.append((_Walk.statement, child, parent))

    def statement(self, node: int, parent: int) -> None:
        """A statement of a broken list: what is none becomes an ExpressionStatement."""
        kind = self.kinds[node]
        if kind == ERROR_KIND:
            self.statements(self._children(node), parent)
        elif kind in _STATEMENTS:
            self.methods[kind](self, node, parent)
        else:
            self._later([node], self._construct("ExpressionStatement", None, node, parent))

    def expression_statement(self, node: int, parent: int) -> None:
        """No expression statement starts with a brace: tree-sitter took a block for an object."""
        if self._is_labelled_block(node + 1):
            self.labelled_block(node + 1, parent)
        else:
            self.plain(node, parent)

    def _is_labelled_block(self, node: int) -> bool:
        """Whether an object where a statement or body must stand is a block: `{a: b}` labels `b`."""
        if node >= len(self.kinds) or self.kinds[node] not in _OBJECTS:
            return False
        first, *others = self._children(node) or [NOWHERE]
        return (
            first >= 0
            and self.kinds[first] in _PAIRS
            and self.kinds[first + 1] in _PROPERTY_NAMES
            and all(self.kinds[other] in _SHORTHANDS for other in others)
        )

    def labelled_block(self, node: int, parent: int) -> None:
        block = self._construct("BlockStatement", None, node, parent)
        pair, *others = self._children(node)
        label = self._construct("LabeledStatement", None, pair, block)
        written = self._construct("ExpressionStatement", None, pair, label)
        if others:
            written = self._construct("SequenceExpression", None, pair, written)
        self.stack.extend((_Walk.identifier, other, written) for other in reversed(others))
        self._later([self._child(pair, _VALUE)], written)

    def declarator(self, node: int, parent: int) -> None:
        self._declared(self._child(node, _NAME), self._child(node, _VALUE), parent)

    def _declared(self, name: int, value: int, parent: int) -> None:
        """A name is the declarator's value; a pattern is its first child."""
        if name >= 0 and self.kinds[name] not in _IDENTIFIERS:
            written = self._construct("VariableDeclarator", None, name, parent)
            self._later(self._present(value), written)
            self.stack.append((_Walk.target, name, written))
            return
        spelling = (self._text(name) if name >= 0 else "") or MISSING_NAME
        place = (self.starts[name], self.ends[name]) if name >= 0 else (-1, -1)
        self._later(self._present(value), self._node("VariableDeclarator", spelling, parent, *place))

    def for_loop(self, node: int, parent: int) -> None:
        """Always four children; EmptyStatement takes the place of a missing one."""
        written = self._construct("ForStatement", None, node, parent)
        self._later([self._child(node, _BODY)], written)
        for place in (_INCREMENT, _CONDITION, _INITIALIZER):
            part = self._child(node, place)
            is_left_out = part < 0 or self.kinds[part] in _EMPTY_STATEMENTS
            if is_left_out:
                self.stack.append((_Walk.filling, part, written))
            else:
                self._later([part], written)

    def for_in_loop(self, node: int, parent: int) -> None:
        is_of = any(self.kinds[child] == _OF for child in self.tree.children(node))
        written = self._construct("ForOfStatement" if is_of else "ForInStatement", None, node, parent)
        self._later([self._child(node, _RIGHT), self._child(node, _BODY)], written)
        is_declared = self._child(node, _KIND) >= 0
        self.stack.append(
            (_Walk.loop_declaration, node, written)
            if is_declared
            else (_Walk.target, self._child(node, _LEFT), written)
        )

    def loop_declaration(self, node: int, parent: int) -> None:
        """The `var x` of `for (var x in y)`."""
        left, value = self._child(node, _LEFT), self._child(node, _VALUE)
        last = value if value >= 0 else left
        start, end = self.starts[self._child(node, _KIND)], self.ends[last] if last >= 0 else -1
        declaration = self._node("VariableDeclaration", None, parent, start, end)
        self._declared(left, value, declaration)

    def try_statement(self, node: int, parent: int) -> None:
        """A missing `finally` leaves an EmptyStatement, a missing `catch` nothing."""
        written = self._construct("TryStatement", None, node, parent)
        finalizer = self._child(node, _FINALIZER)
        self.stack.append((_Walk.transparent if finalizer >= 0 else _Walk.filling, finalizer, written))
        self._later(self._present(self._child(node, _BODY), self._child(node, _HANDLER)), written)

    def switch_case(self, node: int, parent: int) -> None:
        """The statements of a case stand in a made-up BlockStatement."""
        written = self._construct("SwitchCase", None, node, parent)
        self.stack.append((_Walk.case_block, node, written))
        self._later(self._present(self._child(node, _VALUE)), written)

    def case_block(self, node: int, parent: int) -> None:
        test = self._child(node, _VALUE)
        body = [child for child in self._children(node) if child != test]
        start, end = (self.starts[body[0]], self.ends[body[-1]]) if body else (-1, -1)
        self.statements(body, self._node("BlockStatement", None, parent, start, end))

    def labeled(self, node: int, parent: int) -> None:
        """Labels are lost, as in JS150."""
        body = self._child(node, _BODY)
        self._later(self._present(body), self._construct("LabeledStatement", None, node, parent))

    # -- modules ------------------------------------------------------------------------------------

    def specifier(self, node: int, parent: int) -> None:
        """`a as b` has two children, `a` one. `default` is a token of the grammar, and a name to us."""
        type_ = "ImportSpecifier" if KIND_NAMES[self.kinds[node]] == "import_specifier" else "ExportSpecifier"
        written = self._construct(type_, None, node, parent)
        for child in reversed(self.tree.children(node)):
            is_default = self.kinds[child] == _DEFAULT
            method = _Walk.identifier if is_default else self.methods[self.kinds[child]]
            self.stack.append((method, child, written))

    def import_clause(self, node: int, parent: int) -> None:
        for child in reversed(self._children(node)):
            is_default = self.kinds[child] in _IDENTIFIERS
            method = _Walk.default_import if is_default else self.methods[self.kinds[child]]
            self.stack.append((method, child, parent))

    def default_import(self, node: int, parent: int) -> None:
        self._later_identifier(node, self._construct("ImportDefaultSpecifier", None, node, parent))

    def attributes(self, node: int, parent: int) -> None:
        """`with {type: "json"}`: each pair is an ImportAttribute, a leaf's parent like a Property."""
        for pairs in self._children(node):
            for pair in reversed(self._children(pairs)):
                self.stack.append((_Walk.attribute, pair, parent))

    def attribute(self, node: int, parent: int) -> None:
        value = self._child(node, _VALUE)
        self._later([value], self._keyed("ImportAttribute", self._child(node, _KEY), parent))

    def export(self, node: int, parent: int) -> None:
        tokens = {self.kinds[child] for child in self.tree.children(node)}
        if _DEFAULT in tokens:
            self._export_default(node, parent)
            return
        type_ = "ExportAllDeclaration" if tokens & ({_STAR} | _NAMESPACE_EXPORTS) else "ExportNamedDeclaration"
        decorators = self._decorators(node)
        rest = [child for child in self._children(node) if child not in decorators]
        self._later([*rest, *decorators], self._construct(type_, None, node, parent))

    def _export_default(self, node: int, parent: int) -> None:
        written = self._construct("ExportDefaultDeclaration", None, node, parent)
        self._later(self._decorators(node), written)
        value, declaration = self._child(node, _VALUE), self._child(node, _DECLARATION)
        kind = self.kinds[value] if value >= 0 else -1
        if kind in _FUNCTION_EXPRESSIONS:
            self.stack.append((_Walk.function_declaration, value, written))
        elif kind in _CLASS_EXPRESSIONS:
            self.stack.append((_Walk.class_declaration, value, written))
        else:
            self._later(self._present(declaration, value), written)


def _template_text(start: int, end: int) -> Method:
    def text(walk: _Walk, node: int, parent: int) -> None:
        walk._node("TemplateElement", cooked_template(walk._raw(start, end)), parent, start, end)

    return text


_PLAIN_TYPES = {
    "array": "ArrayExpression",
    "array_pattern": "ArrayPattern",
    "assignment_pattern": "AssignmentPattern",
    "await_expression": "AwaitExpression",
    "break_statement": "BreakStatement",
    "catch_clause": "CatchClause",
    "continue_statement": "ContinueStatement",
    "debugger_statement": "DebuggerStatement",
    "decorator": "Decorator",
    "do_statement": "DoWhileStatement",
    "empty_statement": "EmptyStatement",
    "expression_statement": "ExpressionStatement",
    "if_statement": "IfStatement",
    "import_statement": "ImportDeclaration",
    "lexical_declaration": "VariableDeclaration",
    "namespace_import": "ImportNamespaceSpecifier",
    "object": "ObjectExpression",
    "object_pattern": "ObjectPattern",
    "rest_pattern": "RestElement",
    "return_statement": "ReturnStatement",
    "sequence_expression": "SequenceExpression",
    "spread_element": "SpreadElement",
    "statement_block": "BlockStatement",
    "super": "Super",
    "switch_statement": "SwitchStatement",
    "ternary_expression": "ConditionalExpression",
    "this": "ThisExpression",
    "throw_statement": "ThrowStatement",
    "using_declaration": "VariableDeclaration",
    "variable_declaration": "VariableDeclaration",
    "while_statement": "WhileStatement",
    "with_statement": "WithStatement",
    "yield_expression": "YieldExpression",
}
"""The concrete nodes whose children are those of the abstract node, in the same order."""

_METHODS: dict[str, Method] = {
    **dict.fromkeys(_PLAIN_TYPES, _Walk.plain),
    "arrow_function": _Walk.arrow,
    "assignment_expression": _Walk.assignment,
    "augmented_assignment_expression": _Walk.assignment,
    "binary_expression": _Walk.binary,
    "call_expression": _Walk.member,
    "class": _Walk.class_expression,
    "class_body": _Walk.class_body,
    "class_declaration": _Walk.class_declaration,
    "class_static_block": _Walk.static_block,
    "export_specifier": _Walk.specifier,
    "expression_statement": _Walk.expression_statement,
    "export_statement": _Walk.export,
    "false": _Walk.boolean,
    "field_definition": _Walk.class_member,
    "for_in_statement": _Walk.for_in_loop,
    "for_statement": _Walk.for_loop,
    "function_declaration": _Walk.function_declaration,
    "function_expression": _Walk.function_expression,
    "generator_function": _Walk.function_expression,
    "generator_function_declaration": _Walk.function_declaration,
    "identifier": _Walk.identifier,
    "import_attribute": _Walk.attributes,
    "import_clause": _Walk.import_clause,
    "import_specifier": _Walk.specifier,
    "jsx_attribute": _Walk.jsx_attribute,
    "jsx_closing_element": _Walk.jsx_closing,
    "jsx_element": _Walk.jsx_element,
    "jsx_expression": _Walk.jsx_expression,
    "jsx_opening_element": _Walk.jsx_opening,
    "jsx_self_closing_element": _Walk.jsx_self_closing,
    "jsx_text": _Walk.jsx_text,
    "labeled_statement": _Walk.labeled,
    "member_expression": _Walk.member,
    "meta_property": _Walk.meta_property,
    "method_definition": _Walk.method,
    "new_expression": _Walk.new,
    "null": _Walk.null,
    "number": _Walk.number,
    "object_assignment_pattern": _Walk.default_property,
    "optional_chain": _Walk.skipped,
    "pair": _Walk.pair,
    "pair_pattern": _Walk.pair,
    "private_property_identifier": _Walk.private_name,
    "property_identifier": _Walk.identifier,
    "regex": _Walk.regexp,
    "shorthand_property_identifier": _Walk.shorthand,
    "shorthand_property_identifier_pattern": _Walk.shorthand,
    "statement_identifier": _Walk.skipped,
    "string": _Walk.string,
    "subscript_expression": _Walk.member,
    "switch_case": _Walk.switch_case,
    "switch_default": _Walk.switch_case,
    "template_string": _Walk.template,
    "true": _Walk.boolean,
    "try_statement": _Walk.try_statement,
    "unary_expression": _Walk.unary,
    "undefined": _Walk.identifier,
    "update_expression": _Walk.update,
    "variable_declarator": _Walk.declarator,
}

_METHODS_BY_KIND: list[Method] = [
    _METHODS.get(name, _Walk.transparent) if IS_NAMED[kind] else _Walk.skipped for kind, name in enumerate(KIND_NAMES)
]
_PLAIN_TYPES_BY_KIND = [_PLAIN_TYPES.get(name, "") for name in KIND_NAMES]
_STATEMENTS = frozenset(
    kind
    for kind, name in enumerate(KIND_NAMES)
    if IS_NAMED[kind] and (name.endswith(("_statement", "_declaration")) or name == "statement_block")
)


def abstract_tree(tree: ConcreteTree, missing: frozenset[int] = frozenset()) -> Traversal:
    """The abstract tree of a concrete one. At the bytes in `missing` stands a name that was made up."""
    walk = _Walk(tree, missing)
    walk.run()
    return walk.traversal()
