"""The rules: which type, value and children each node of `ast` has in PY150.

`match` and the other statements that Python 2 lacked follow the style of the old ones.
"""

import ast
from collections.abc import Callable, Sequence
from typing import Any

from rarename.syntax.python import positions
from rarename.syntax.python.fstrings import FSTRINGS_ARE_MISPLACED, fix_spans
from rarename.syntax.python.literals import number
from rarename.syntax.python.positions import RawSpan, Source, name_at_end, name_at_start, set_extent, set_span, span_of
from rarename.syntax.traversal import NO_SPAN

Translation = tuple[str, str | None, Sequence[Any]]
"""Type, value and children. A child is a node of `ast`, a `Node`, a list node `(type, elements)`, or a string: the
name after a dot."""

Rule = Callable[[Any, Source], Translation]
"""The tree is ours alone, so a rule may build further nodes of `ast` and set their spans."""


class Node:
    """A node that `ast` lacks: `identifier`, `vararg`, the NameStore of `except E as name` …

    Its span has the attribute names of `ast`, so that all spans are read alike.
    """

    __slots__ = ("children", "col_offset", "end_col_offset", "end_lineno", "lineno", "type", "value")

    def __init__(self, type_: str, value: str | None, span: RawSpan, children: Sequence[Any] = ()) -> None:
        self.type, self.value, self.children = type_, value, children
        set_span(self, span)


def _present(*children: Any) -> list[Any]:
    return [child for child in children if child is not None]


def _list(type_: str, elements: Sequence[Any]) -> list[Any]:
    """A list node; it is left out when empty."""
    return [(type_, elements)] if elements else []


def _suffixed(type_: str, base: type[ast.AST]) -> dict[type, str]:
    """PY150 has no nodes for contexts and operators: their names are appended to the type."""
    return {suffix: type_ + suffix.__name__ for suffix in base.__subclasses__()}


NAME_TYPES = _suffixed("Name", ast.expr_context)
ATTRIBUTE_TYPES = _suffixed("Attribute", ast.expr_context)
_SUBSCRIPT_TYPES = _suffixed("Subscript", ast.expr_context)
_BIN_OP_TYPES = _suffixed("BinOp", ast.operator)
_UNARY_OP_TYPES = _suffixed("UnaryOp", ast.unaryop)
_SUFFIXES = {*NAME_TYPES, *_BIN_OP_TYPES, *_UNARY_OP_TYPES, *ast.boolop.__subclasses__(), *ast.cmpop.__subclasses__()}


def default_rule(node: Any, source: Source) -> Translation:
    """The rule of all other nodes, also of future ones: children are the fields in order.

    A node without a position gets an empty span.
    """
    type_, children = type(node).__name__, []
    for field in node._fields:
        value = getattr(node, field, None)
        for child in value if isinstance(value, list) else (value,):
            if type(child) in _SUFFIXES:
                type_ += type(child).__name__
            elif isinstance(child, ast.AST):
                children.append(child)
    if getattr(node, "end_lineno", None) is None:
        set_span(node, NO_SPAN)
    return type_, None, children


# -- statements ---------------------------------------------------------------------------------------------


def _module(node: Any, source: Source) -> Translation:
    set_span(node, (1, 0, *source.span(0, len(source.text))[2:]))
    return "Module", None, node.body


def _annotated_assign(node: Any, source: Source) -> Translation:
    """`x: int = 1` is an Assign with a last child for the annotation: without it, the tree of `x = 1`."""
    type_ = "AnnAssign" if node.value is None else "Assign"
    return type_, None, _present(node.target, node.value, ("annotation", [node.annotation]))


def _function(node: Any, source: Source) -> Translation:
    children = [node.args, ("body", node.body), ("decorator_list", node.decorator_list)]
    return type(node).__name__, node.name, children + _list("returns", _present(node.returns)) + _type_parameters(node)


def _class(node: Any, source: Source) -> Translation:
    children = [("bases", node.bases), *arguments_of((), node.keywords), ("body", node.body)]
    return "ClassDef", node.name, [*children, ("decorator_list", node.decorator_list), *_type_parameters(node)]


def _type_parameters(node: Any) -> list[Any]:
    return _list("type_params", getattr(node, "type_params", ()))


def _parameters(node: Any, source: Source) -> Translation:
    parameters = node.posonlyargs + node.args
    stars = [
        Node(type_, star.arg, name_at_start(star, source), _annotation(star))
        for type_, star in (("vararg", node.vararg), ("kwarg", node.kwarg))
        if star is not None
    ]
    named = _list("kwonlyargs", node.kwonlyargs) + _list("kw_defaults", _present(*node.kw_defaults))
    last = (*node.defaults[-1:], node.vararg, *node.kwonlyargs, *node.kw_defaults[-1:], node.kwarg)
    in_order = [*parameters, *_present(*last)]
    if in_order:
        set_extent(node, in_order[0], in_order[-1])
    else:
        set_span(node, NO_SPAN)
    return "arguments", None, [("args", parameters), ("defaults", node.defaults), *stars, *named]


def _annotation(node: Any) -> Sequence[Any]:
    return () if node.annotation is None else (("annotation", [node.annotation]),)


def _blocks(node: Any) -> Sequence[Any]:
    return (("body", node.body), ("orelse", node.orelse)) if node.orelse else (("body", node.body),)


def _with(node: Any, source: Source) -> Translation:
    """Each further item is a nested With in the body."""
    body = node.body
    for item in reversed(node.items[1:]):
        inner = type(node)(items=[item], body=body)
        body = [set_extent(inner, item.context_expr, node)]
    item = node.items[0]
    return type(node).__name__, None, _present(item.context_expr, item.optional_vars, ("body", body))


def _try(node: Any, source: Source) -> Translation:
    """`try/except/finally` is a TryFinally whose body holds one TryExcept; `except*` has its own type."""
    if not node.finalbody:
        type_ = "TryExcept" if type(node) is ast.Try else "TryExceptStar"
        return type_, None, [("body", node.body), ("handlers", node.handlers), *_list("orelse", node.orelse)]
    body = node.body
    if node.handlers:
        inner = type(node)(body=node.body, handlers=node.handlers, orelse=node.orelse, finalbody=[])
        body = [set_extent(inner, node, (node.orelse or node.handlers)[-1])]
    return "TryFinally", None, (("body", body), ("finalbody", node.finalbody))


def _except_handler(node: Any, source: Source) -> Translation:
    children: list[Any] = [] if node.type is None else [("type", [node.type])]
    if node.name is not None:
        span = source.find(positions.AS_NAME, node.type.end_lineno, node.type.end_col_offset)
        children.append(("name", [Node("NameStore", node.name, span)]))
    return "ExceptHandler", None, [*children, ("body", node.body)]


def _alias(node: Any, source: Source) -> Translation:
    if node.asname is None:
        return "alias", node.name, ()
    return "alias", node.name, (Node("identifier", node.asname, name_at_end(node, node.asname, source)),)


def _global_or_nonlocal(node: Any, source: Source) -> Translation:
    words = positions.NAME.finditer(source.text, source.start(node), source.end(node))
    spans = [source.span(*word.span()) for word in words][1:]
    names = [Node("identifier", name, span) for name, span in zip(node.names, spans, strict=True)]
    return type(node).__name__, None, names


def _type_parameter(node: Any, source: Source) -> Translation:
    """TypeVar, TypeVarTuple and ParamSpec."""
    children = _present(getattr(node, "bound", None), getattr(node, "default_value", None))
    return type(node).__name__, node.name, children


# -- patterns -----------------------------------------------------------------------------------------------


def _match(node: Any, source: Source) -> Translation:
    for case in node.cases:
        set_extent(case, case.pattern, case.body[-1])
    return "Match", None, (node.subject, ("cases", node.cases))


def _match_as_or_star(node: Any, source: Source) -> Translation:
    """The wildcard `_` binds nothing and has no name."""
    children = _present(getattr(node, "pattern", None))
    if node.name is not None:
        children.append(Node("NameStore", node.name, name_at_end(node, node.name, source)))
    return type(node).__name__, None, children


def _match_mapping(node: Any, source: Source) -> Translation:
    children = [*node.keys, *node.patterns]
    if node.rest is not None:
        _, _, line, column = span_of(node.patterns[-1]) if node.patterns else (0, 0, node.lineno, node.col_offset)
        children.append(Node("NameStore", node.rest, source.find(positions.REST_NAME, line, column)))
    return "MatchMapping", None, children


def _match_class(node: Any, source: Source) -> Translation:
    """`C(a, b=c)` is a class, patterns, then one `keyword` for each named pattern."""
    children = [node.cls, *node.patterns]
    previous = children[-1]
    for name, pattern in zip(node.kwd_attrs, node.kwd_patterns, strict=True):
        span = source.find(positions.PATTERN_KEYWORD, previous.end_lineno, previous.end_col_offset)
        children.append(Node("keyword", name, span, (pattern,)))
        previous = pattern
    return "MatchClass", None, children


# -- expressions --------------------------------------------------------------------------------------------


def arguments_of(args: Sequence[Any], keywords: Sequence[Any]) -> list[Any]:
    """In Python 2 the operands of `*` and `**` are apart from the arguments: they come last, without a wrapper."""
    plain = [arg for arg in args if type(arg) is not ast.Starred]
    named = [keyword for keyword in keywords if keyword.arg is not None]
    starred = [arg.value for arg in args if type(arg) is ast.Starred]
    return plain + named + starred + [keyword.value for keyword in keywords if keyword.arg is None]


def _index(node: Any) -> Any:
    """Python 2 distinguishes slices and `...` from indices; a tuple with one of them is an ExtSlice."""
    if _is_slice(node):
        return node
    if type(node) is ast.Tuple and any(map(_is_slice, node.elts)):
        parts = [part if _is_slice(part) else ("Index", [part]) for part in node.elts]
        return Node("ExtSlice", None, span_of(node), parts)
    return "Index", [node]


def _is_slice(node: Any) -> bool:
    return type(node) is ast.Slice or (type(node) is ast.Constant and node.value is ...)


def _slice(node: Any, source: Source) -> Translation:
    """`x[a::]` has a third child in Python 2, a None that is not in the source."""
    children = _present(node.lower, node.upper, node.step)
    if node.step is None and _has_second_colon(node, source):
        children.append(Node("NameLoad", "None", NO_SPAN))
    return "Slice", None, children


def _has_second_colon(node: Any, source: Source) -> bool:
    end = source.end(node)
    if node.upper is not None:
        return source.text[end - 1 : end] == b":"
    start = source.start(node) if node.lower is None else source.end(node.lower)
    return positions.COMMENT.sub(b"", source.text[start:end]).count(b":") > 1


def _unary(node: Any, source: Source) -> Translation:
    """Python 2 reads `-1` as one literal, unless there is a parenthesis in between."""
    operand = node.operand
    if type(node.op) is ast.USub and type(operand) is ast.Constant and type(operand.value) in (int, float, complex):
        between = source.text[source.start(node) + 1 : source.start(operand)]
        if not between or b"(" not in positions.COMMENT.sub(b"", between):
            return "Num", number(operand.value, is_negative=True), ()
    return _UNARY_OP_TYPES[type(node.op)], None, (operand,)


def _dict(node: Any, source: Source) -> Translation:
    """All keys, then all values; the value of `**more`, which has no key, is wrapped."""
    pairs = zip(node.keys, node.values, strict=True)
    values = [value if key is not None else ("DoubleStarred", [value]) for key, value in pairs]
    return "Dict", None, _present(*node.keys) + values


def _comprehension(node: Any, source: Source) -> Translation:
    set_extent(node, node.target, (node.ifs or [node.iter])[-1])
    return "comprehension", None, (node.target, node.iter, *node.ifs)


def _joined_str(node: Any, source: Source) -> Translation:
    if FSTRINGS_ARE_MISPLACED:
        fix_spans(node, source)
    return type(node).__name__, None, node.values


_CONVERSIONS = {ord("s"): "Str", ord("r"): "Repr", ord("a"): "Ascii"}


def _formatted_value(node: Any, source: Source) -> Translation:
    """FormattedValue, and Interpolation of template strings: `!r` is appended to the type like an operator."""
    type_ = type(node).__name__ + _CONVERSIONS.get(node.conversion, "")
    # The format is a list node here, not a JoinedStr of `ast`: it has no quotes, its spans need no fix.
    format_ = [] if node.format_spec is None else [("JoinedStr", node.format_spec.values)]
    return type_, None, (node.value, *format_)


RULES: dict[type, Rule] = {
    Node: lambda node, _: (node.type, node.value, node.children),
    ast.AnnAssign: _annotated_assign,
    ast.Assign: lambda node, _: ("Assign", None, (*node.targets, node.value)),
    ast.AsyncFor: lambda node, _: ("AsyncFor", None, (node.target, node.iter, *_blocks(node))),
    ast.AsyncFunctionDef: _function,
    ast.AsyncWith: _with,
    ast.BinOp: lambda node, _: (_BIN_OP_TYPES[type(node.op)], None, (node.left, node.right)),
    ast.ClassDef: _class,
    ast.Dict: _dict,
    ast.ExceptHandler: _except_handler,
    ast.Expr: lambda node, _: ("Expr", None, (node.value,)),
    ast.For: lambda node, _: ("For", None, (node.target, node.iter, *_blocks(node))),
    ast.FormattedValue: _formatted_value,
    ast.FunctionDef: _function,
    ast.Global: _global_or_nonlocal,
    ast.If: lambda node, _: ("If", None, (node.test, *_blocks(node))),
    ast.ImportFrom: lambda node, _: ("ImportFrom", node.module, node.names),
    ast.JoinedStr: _joined_str,
    ast.Match: _match,
    ast.MatchAs: _match_as_or_star,
    ast.MatchClass: _match_class,
    ast.MatchMapping: _match_mapping,
    ast.MatchSingleton: lambda node, _: ("MatchSingleton", None, (Node("NameLoad", str(node.value), span_of(node)),)),
    ast.MatchStar: _match_as_or_star,
    ast.Module: _module,
    ast.Nonlocal: _global_or_nonlocal,
    ast.Return: lambda node, _: ("Return", None, () if node.value is None else (node.value,)),
    ast.Slice: _slice,
    ast.Subscript: lambda node, _: (_SUBSCRIPT_TYPES[type(node.ctx)], None, (node.value, _index(node.slice))),
    ast.Try: _try,
    ast.TryStar: _try,
    ast.UnaryOp: _unary,
    ast.While: lambda node, _: ("While", None, (node.test, *_blocks(node))),
    ast.With: _with,
    ast.alias: _alias,
    ast.arg: lambda node, _: ("NameParam", node.arg, _annotation(node)),
    ast.arguments: _parameters,
    ast.comprehension: _comprehension,
    ast.keyword: lambda node, _: ("keyword", node.arg, (node.value,)),
    ast.match_case: lambda node, _: ("match_case", None, (*_present(node.pattern, node.guard), ("body", node.body))),
}

_NEWER_RULES: dict[str, Rule] = {
    "Interpolation": _formatted_value,
    "ParamSpec": _type_parameter,
    "TypeAlias": lambda node, _: ("TypeAlias", None, (node.name, node.value, *_type_parameters(node))),
    "TypeVar": _type_parameter,
    "TypeVarTuple": _type_parameter,
}
RULES |= {getattr(ast, name): rule for name, rule in _NEWER_RULES.items() if hasattr(ast, name)}
