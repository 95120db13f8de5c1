"""The rules of `match`: Python 2 had no such statement, so the nodes follow the style of the others."""

from typing import Any

from rarename.syntax.python.places import PATTERN_NAME, REST_NAME, Source, end_name, extent, put_between
from rarename.syntax.python.shapes import Node, Shape, some


def match(node: Any, source: Source) -> Shape:
    for case in node.cases:
        put_between(case, case.pattern, case.body[-1])
    return "Match", None, (node.subject, ("cases", node.cases))


def match_case(node: Any, source: Source) -> Shape:
    return "match_case", None, [*some(node.pattern, node.guard), ("body", node.body)]


def match_singleton(node: Any, source: Source) -> Shape:
    return "MatchSingleton", None, (Node("NameLoad", str(node.value), extent(node)),)


def match_capture(node: Any, source: Source) -> Shape:
    """MatchAs and MatchStar; the wildcard `_` binds nothing and has no name."""
    children = some(getattr(node, "pattern", None))
    if node.name is not None:
        children.append(Node("NameStore", node.name, end_name(node, node.name, source)))
    return type(node).__name__, None, children


def match_mapping(node: Any, source: Source) -> Shape:
    children = [*node.keys, *node.patterns]
    if node.rest is not None:
        if node.patterns:
            last = node.patterns[-1]
            place = source.find(REST_NAME, last.end_lineno, last.end_col_offset)
        else:
            place = source.find(REST_NAME, node.lineno, node.col_offset)
        children.append(Node("NameStore", node.rest, place))
    return "MatchMapping", None, children


def match_class(node: Any, source: Source) -> Shape:
    """`C(a, b=c)` is a class, patterns, then one `keyword` for each named pattern."""
    children = [node.cls, *node.patterns]
    for name, pattern in zip(node.kwd_attrs, node.kwd_patterns, strict=True):
        before = children[-1] if type(children[-1]) is not Node else children[-1].children[0]
        place = source.find(PATTERN_NAME, before.end_lineno, before.end_col_offset)
        children.append(Node("keyword", name, place, (pattern,)))
    return "MatchClass", None, children
