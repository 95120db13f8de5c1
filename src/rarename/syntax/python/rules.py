"""The rules: which type, value and children each node of `ast` has in PY150."""

import ast
from collections.abc import Sequence
from typing import Any

from rarename.syntax.python.fstrings import FSTRINGS_ARE_MISPLACED, mend
from rarename.syntax.python.literals import number
from rarename.syntax.python.patterns import (
    match,
    match_capture,
    match_case,
    match_class,
    match_mapping,
    match_singleton,
)
from rarename.syntax.python.places import AS_NAME, COMMENT, WORD, Source, end_name, extent, put, put_between, start_name
from rarename.syntax.python.shapes import Node, Rule, Shape, optional_list, some
from rarename.syntax.traversal import NO_PLACE


def _suffixed(type_: str, kind: type[ast.AST]) -> dict[type, str]:
    """PY150 has no nodes for contexts and operators: their names are appended to the type."""
    return {suffix: type_ + suffix.__name__ for suffix in kind.__subclasses__()}


NAME_TYPES = _suffixed("Name", ast.expr_context)
ATTRIBUTE_TYPES = _suffixed("Attribute", ast.expr_context)
_SUBSCRIPT = _suffixed("Subscript", ast.expr_context)
_TUPLE = _suffixed("Tuple", ast.expr_context)
_LIST = _suffixed("List", ast.expr_context)
_BIN_OP = _suffixed("BinOp", ast.operator)
_BOOL_OP = _suffixed("BoolOp", ast.boolop)
_UNARY_OP = _suffixed("UnaryOp", ast.unaryop)
_COMPARE = _suffixed("Compare", ast.cmpop)
_IN_TYPE = (ast.expr_context, ast.operator, ast.boolop, ast.unaryop, ast.cmpop)


def default(node: Any, source: Source) -> Shape:
    """The rule of all nodes without their own: fields in order, contexts and operators into the type.

    Nodes of a Python newer than this file end here too; one without a place gets none.
    """
    type_, children = type(node).__name__, []
    for field in node._fields:
        found = getattr(node, field, None)
        for child in found if isinstance(found, list) else (found,):
            if isinstance(child, _IN_TYPE):
                type_ += type(child).__name__
            elif isinstance(child, ast.AST):
                children.append(child)
    if getattr(node, "end_lineno", None) is None:
        put(node, NO_PLACE)
    return type_, None, children


def _module(node: Any, source: Source) -> Shape:
    node.lineno, node.col_offset = 1, 0
    _, _, node.end_lineno, node.end_col_offset = source.place(0, len(source.text))
    return "Module", None, node.body


def _expression_statement(node: Any, source: Source) -> Shape:
    return "Expr", None, (node.value,)


def _assign(node: Any, source: Source) -> Shape:
    return "Assign", None, (*node.targets, node.value)


def _annotated_assign(node: Any, source: Source) -> Shape:
    """`x: int = 1` is an Assign, its annotation behind: without it, the tree of `x = 1`."""
    annotation = ("annotation", [node.annotation])
    if node.value is None:
        return "AnnAssign", None, (node.target, annotation)
    return "Assign", None, (node.target, node.value, annotation)


def _return(node: Any, source: Source) -> Shape:
    return "Return", None, () if node.value is None else (node.value,)


def _function(node: Any, source: Source) -> Shape:
    children = [node.args, ("body", node.body), ("decorator_list", node.decorator_list)]
    if node.returns is not None:
        children.append(("returns", [node.returns]))
    if type_params := getattr(node, "type_params", None):
        children.append(("type_params", type_params))
    return type(node).__name__, node.name, children


def _class(node: Any, source: Source) -> Shape:
    return (
        "ClassDef",
        node.name,
        [
            ("bases", node.bases),
            *_keywords_first(node.keywords),
            ("body", node.body),
            ("decorator_list", node.decorator_list),
            *optional_list("type_params", getattr(node, "type_params", ())),
        ],
    )


def _lambda(node: Any, source: Source) -> Shape:
    return "Lambda", None, (node.args, node.body)


def _arguments(node: Any, source: Source) -> Shape:
    parameters = node.posonlyargs + node.args if node.posonlyargs else node.args
    children: list[Any] = [("args", parameters), ("defaults", node.defaults)]
    edges = parameters + node.defaults[-1:]  # in the order of the source: each part that is there moves the end
    if node.vararg is not None:
        children.append(_star_parameter("vararg", node.vararg, source))
        edges.append(node.vararg)
    if node.kwarg is not None:
        children.append(_star_parameter("kwarg", node.kwarg, source))
    if node.kwonlyargs:
        children.append(("kwonlyargs", node.kwonlyargs))
        children += optional_list("kw_defaults", some(*node.kw_defaults))
        edges += (node.kwonlyargs[0], node.kw_defaults[-1] or node.kwonlyargs[-1])
    if node.kwarg is not None:
        edges.append(node.kwarg)
    if edges:
        put_between(node, edges[0], edges[-1])
    else:
        put(node, NO_PLACE)
    return "arguments", None, children


def _star_parameter(type_: str, node: Any, source: Source) -> Node:
    return Node(type_, node.arg, start_name(node, source), _annotation(node))


def _annotation(node: Any) -> Sequence[Any]:
    return () if node.annotation is None else (("annotation", [node.annotation]),)


def _parameter(node: Any, source: Source) -> Shape:
    return "NameParam", node.arg, _annotation(node)


def _keyword(node: Any, source: Source) -> Shape:
    return "keyword", node.arg, (node.value,)


def _keywords_first(keywords: Sequence[Any]) -> list[Any]:
    """The named ones, then what stands behind `**`, bare."""
    named = [keyword for keyword in keywords if keyword.arg is not None]
    return named + [keyword.value for keyword in keywords if keyword.arg is None]


def call_children(node: Any) -> Sequence[Any]:
    """Python 2 kept what stands behind `*` and `**` apart: both come last, bare."""
    plain = [arg for arg in node.args if type(arg) is not ast.Starred]
    starred = [arg.value for arg in node.args if type(arg) is ast.Starred]
    named = [keyword for keyword in node.keywords if keyword.arg is not None]
    unpacked = [keyword.value for keyword in node.keywords if keyword.arg is None]
    return node.func, *plain, *named, *starred, *unpacked


def _sequence(types: dict[type, str]) -> Rule:
    """The rule of List or Tuple."""

    def rule(node: Any, source: Source) -> Shape:
        return types[type(node.ctx)], None, node.elts

    return rule


def _subscript(node: Any, source: Source) -> Shape:
    return _SUBSCRIPT[type(node.ctx)], None, (node.value, _index(node.slice))


def _index(node: Any) -> Any:
    """Python 2 set slices and `...` apart from indices; a tuple that holds one of them is an ExtSlice."""
    if _is_slice(node):
        return node
    if type(node) is ast.Tuple and any(map(_is_slice, node.elts)):
        parts = [part if _is_slice(part) else ("Index", [part]) for part in node.elts]
        return Node("ExtSlice", None, extent(node), parts)
    return "Index", [node]


def _is_slice(node: Any) -> bool:
    return type(node) is ast.Slice or (type(node) is ast.Constant and node.value is ...)


def _slice(node: Any, source: Source) -> Shape:
    """`x[a::]` has a third part in Python 2, a None that nobody wrote."""
    children = some(node.lower, node.upper, node.step)
    if node.step is None and _has_second_colon(node, source):
        children.append(Node("NameLoad", "None", NO_PLACE))
    return "Slice", None, children


def _has_second_colon(node: Any, source: Source) -> bool:
    """Whether two colons are left when the parts before are taken away; comments may hold further ones."""
    end = source.offset(node.end_lineno, node.end_col_offset)
    if node.upper is not None:
        return source.text[end - 1 : end] == b":"
    if node.lower is not None:
        start = source.offset(node.lower.end_lineno, node.lower.end_col_offset)
    else:
        start = source.offset(node.lineno, node.col_offset)
    return COMMENT.sub(b"", source.text[start:end]).count(b":") > 1


def _unary(node: Any, source: Source) -> Shape:
    """Python 2 reads `-1` as one literal, as long as no bracket stands between."""
    operand = node.operand
    if type(node.op) is ast.USub and type(operand) is ast.Constant and type(operand.value) in (int, float, complex):
        start = source.offset(node.lineno, node.col_offset) + 1
        between = source.text[start : source.offset(operand.lineno, operand.col_offset)]
        if not between or b"(" not in COMMENT.sub(b"", between):
            return "Num", number(operand.value, is_negative=True), ()
    return _UNARY_OP[type(node.op)], None, (operand,)


def _binary(node: Any, source: Source) -> Shape:
    return _BIN_OP[type(node.op)], None, (node.left, node.right)


def _boolean(node: Any, source: Source) -> Shape:
    return _BOOL_OP[type(node.op)], None, node.values


def _compare(node: Any, source: Source) -> Shape:
    """A chain takes the names of all its operators: `a < b <= c` is CompareLtLtE."""
    if len(node.ops) == 1:
        return _COMPARE[type(node.ops[0])], None, (node.left, *node.comparators)
    names = "".join([type(operator).__name__ for operator in node.ops])
    return f"Compare{names}", None, (node.left, *node.comparators)


def _dict(node: Any, source: Source) -> Shape:
    """All keys, then all values; the value of `**more` is marked, for it has no key."""
    if None not in node.keys:
        return "Dict", None, (*node.keys, *node.values)
    values = [
        value if key is not None else ("DoubleStarred", [value])
        for key, value in zip(node.keys, node.values, strict=True)
    ]
    return "Dict", None, (*some(*node.keys), *values)


def _comprehension(node: Any, source: Source) -> Shape:
    put_between(node, node.target, (node.ifs or [node.iter])[-1])
    return "comprehension", None, (node.target, node.iter, *node.ifs)


def _if(node: Any, source: Source) -> Shape:
    """If and While."""
    type_ = type(node).__name__
    if not node.orelse:
        return type_, None, (node.test, ("body", node.body))
    return type_, None, (node.test, ("body", node.body), ("orelse", node.orelse))


def _for(node: Any, source: Source) -> Shape:
    body = ("body", node.body)
    return type(node).__name__, None, [node.target, node.iter, body, *optional_list("orelse", node.orelse)]


def _with(node: Any, source: Source) -> Shape:
    """Each further item is a With of its own inside the body."""
    item, *others = node.items
    body = node.body
    if others:
        inner = type(node)(items=others, body=node.body)
        body = [put_between(inner, others[0].context_expr, node)]
    children = some(item.context_expr, item.optional_vars, ("body", body))
    return type(node).__name__, None, children


def _try(node: Any, source: Source) -> Shape:
    """`try/except/finally` is a TryFinally whose body holds one TryExcept; `except*` has its own type."""
    if not node.finalbody:
        type_ = "TryExcept" if type(node) is ast.Try else "TryExceptStar"
        orelse = optional_list("orelse", node.orelse)
        return type_, None, [("body", node.body), ("handlers", node.handlers), *orelse]
    body = node.body
    if node.handlers:
        inner = type(node)(body=node.body, handlers=node.handlers, orelse=node.orelse, finalbody=[])
        body = [put_between(inner, node, (node.orelse or node.handlers)[-1])]
    return "TryFinally", None, (("body", body), ("finalbody", node.finalbody))


def _handler(node: Any, source: Source) -> Shape:
    children: list[Any] = [] if node.type is None else [("type", [node.type])]
    if node.name is not None:
        place = source.find(AS_NAME, node.type.end_lineno, node.type.end_col_offset)
        children.append(("name", [Node("NameStore", node.name, place)]))
    return "ExceptHandler", None, [*children, ("body", node.body)]


def _alias(node: Any, source: Source) -> Shape:
    if node.asname is None:
        return "alias", node.name, ()
    return "alias", node.name, (Node("identifier", node.asname, end_name(node, node.asname, source)),)


def _import_from(node: Any, source: Source) -> Shape:
    return "ImportFrom", node.module, node.names


def _global(node: Any, source: Source) -> Shape:
    """Global and Nonlocal."""
    start, end = source.extent(node)
    places = [source.place(*match.span()) for match in WORD.finditer(source.text, start, end)][1:]
    names = [Node("identifier", name, place) for name, place in zip(node.names, places, strict=True)]
    return type(node).__name__, None, names


def _joined(node: Any, source: Source) -> Shape:
    """Python 3.11 misplaces what stands in the braces of an f-string; later ones do not."""
    if FSTRINGS_ARE_MISPLACED:
        mend(node, source)
    return type(node).__name__, None, node.values


_CONVERSIONS = {ord("s"): "Str", ord("r"): "Repr", ord("a"): "Ascii"}


def _formatted(node: Any, source: Source) -> Shape:
    """FormattedValue, and Interpolation of template strings: `!r` goes into the type like an operator."""
    type_ = type(node).__name__ + _CONVERSIONS.get(node.conversion, "")
    if node.format_spec is None:
        return type_, None, (node.value,)
    # The format is a list here, not a node of its own: it has no quotes, nothing is to be mended in it.
    return type_, None, (node.value, ("JoinedStr", node.format_spec.values))


def _type_alias(node: Any, source: Source) -> Shape:
    return "TypeAlias", None, [node.name, node.value, *optional_list("type_params", node.type_params)]


def _type_parameter(node: Any, source: Source) -> Shape:
    """TypeVar, TypeVarTuple and ParamSpec."""
    children = some(getattr(node, "bound", None), getattr(node, "default_value", None))
    return type(node).__name__, node.name, children


def _made_up(node: Node, source: Source) -> Shape:
    return node.type, node.value, node.children


RULES: dict[type, Rule] = {
    Node: _made_up,
    ast.AnnAssign: _annotated_assign,
    ast.Assign: _assign,
    ast.AsyncFor: _for,
    ast.AsyncFunctionDef: _function,
    ast.AsyncWith: _with,
    ast.BinOp: _binary,
    ast.BoolOp: _boolean,
    ast.ClassDef: _class,
    ast.Compare: _compare,
    ast.Dict: _dict,
    ast.ExceptHandler: _handler,
    ast.Expr: _expression_statement,
    ast.For: _for,
    ast.FormattedValue: _formatted,
    ast.FunctionDef: _function,
    ast.Global: _global,
    ast.If: _if,
    ast.ImportFrom: _import_from,
    ast.JoinedStr: _joined,
    ast.Lambda: _lambda,
    ast.List: _sequence(_LIST),
    ast.Match: match,
    ast.MatchAs: match_capture,
    ast.MatchClass: match_class,
    ast.MatchMapping: match_mapping,
    ast.MatchSingleton: match_singleton,
    ast.MatchStar: match_capture,
    ast.Module: _module,
    ast.Nonlocal: _global,
    ast.Return: _return,
    ast.Slice: _slice,
    ast.Subscript: _subscript,
    ast.Try: _try,
    ast.TryStar: _try,
    ast.Tuple: _sequence(_TUPLE),
    ast.UnaryOp: _unary,
    ast.While: _if,
    ast.With: _with,
    ast.alias: _alias,
    ast.arg: _parameter,
    ast.arguments: _arguments,
    ast.comprehension: _comprehension,
    ast.keyword: _keyword,
    ast.match_case: match_case,
}

_NEWER_RULES: dict[str, Rule] = {
    "Interpolation": _formatted,
    "ParamSpec": _type_parameter,
    "TypeAlias": _type_alias,
    "TypeVar": _type_parameter,
    "TypeVarTuple": _type_parameter,
}
RULES |= {getattr(ast, name): rule for name, rule in _NEWER_RULES.items() if hasattr(ast, name)}
