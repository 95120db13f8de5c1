"""The names by which an argument can be passed: those of the function if it is known, otherwise all common ones."""

import builtins
from collections.abc import Sequence
from dataclasses import dataclass
from inspect import Parameter, signature

from rarename.syntax.python.node_types import FUNCTION_TYPES
from rarename.syntax.traversal import Role, Traversal

COMMON_NAMES = frozenset(
    """
    action aliases args backend block body bound cache callback capture_output category check choices cls code color
    compression config content context count cwd daemon data day days debug default default_factory delete description
    dest dir dtype encoding end ensure_ascii env errors exc_info exclude exist_ok extensions extra file filename fileobj
    filter flags flush force format frozen group header headers height help host hour hours id indent index init input
    keepends key kind label last length level limit line loop match max max_length maxlen maxsize maxsplit message
    metaclass metadata metavar method microsecond microseconds minute minutes mode module month n name names nargs
    newline number offset op options order parameters params parent parents password path pattern port prefix protocol
    quiet raw reason recursive repr request required reverse safe scheme scope second seconds sep session shape shell
    size sort source stacklevel start state status status_code stderr stdin stdout stream strict suffix target text
    timeout title token total type tz tzinfo universal_newlines uri url usage username validate value verbose version
    wait width y year
    """.split()  # noqa: SIM905
)
"""Keywords in the calls of many projects on PyPI, and of the standard library."""

_SELF_NAMES = frozenset({"self", "cls"})
_NAMELESS_KINDS = (Parameter.POSITIONAL_ONLY, Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)


@dataclass(frozen=True)
class _Function:
    """A function that may be called."""

    positional: Sequence[str]  # the parameters that positional arguments fill, in this order
    names: frozenset[str]  # the parameters that a keyword can name
    takes_any_keyword: bool  # it has `**kwargs`
    class_: int = 0  # the class whose method it is; 0 if there is none
    is_constructor: bool = False


def argument_names(traversal: Traversal, roles: Sequence[Role], node: int) -> frozenset[str]:
    """The names by which the argument at a node can be passed; empty if the node is not an argument of a call."""
    types, values, parents = traversal.types, traversal.values, traversal.parents
    call = parents[parents[node]] if types[parents[node]] == "bases" else parents[node]
    keywords = [other for other, role in enumerate(roles) if role == Role.KEYWORD and other != node]
    passed = {values[keyword] or "" for keyword in keywords if parents[keyword] == call}
    if types[call] == "ClassDef":
        return frozenset({"metaclass"} - passed)
    if types[call] != "Call" or node == call + 1:
        return frozenset()
    children = traversal.children()
    name = call + 1 if types[call + 1] != "AttributeLoad" else children[call + 1][-1]
    possible = _functions_named(values[name] or "", traversal, children)
    certain = _certain_functions(possible, call, traversal, roles)
    num_filled = sum(types[child] != "keyword" and child < node for child in children[call][1:])
    for function in certain:
        passed.update(function.positional[:num_filled])
    names = frozenset[str]()
    if not certain or any(function.takes_any_keyword for function in certain):
        names = COMMON_NAMES.union(values[keyword] or "" for keyword in keywords)
        certain = certain + possible
    return names.union(*(function.names for function in certain)) - passed


def _functions_named(name: str, traversal: Traversal, children: Sequence[Sequence[int]]) -> list[_Function]:
    """The functions with a name, and the constructors of classes with that name."""
    types, values, parents = traversal.types, traversal.values, traversal.parents
    found = []
    for node, type_ in enumerate(types):
        if type_ not in FUNCTION_TYPES:
            continue
        class_, is_constructor = parents[parents[node]], values[node] == "__init__"
        if class_ < 0 or types[class_] != "ClassDef":
            class_ = 0
        if name != values[class_ if is_constructor else node]:
            continue
        lists = {types[child]: children[child] for child in children[children[node][0]]}
        positional = [values[parameter] or "" for parameter in lists["args"]]
        keyword_only = [values[parameter] or "" for parameter in lists.get("kwonlyargs", ())]
        if positional and positional[0] in _SELF_NAMES:
            del positional[0]
        names = frozenset(positional + keyword_only)
        found.append(_Function(positional, names, "kwarg" in lists, class_, is_constructor))
    return found


def _certain_functions(
    functions: list[_Function], call: int, traversal: Traversal, roles: Sequence[Role]
) -> list[_Function]:
    """The functions that the callee may be: several if the text defines it repeatedly, none if it is unknown.

    A method is certain only if it is called on `self`: any other object may have one of that name.
    """
    values, callee = traversal.values, call + 1
    if roles[callee] != Role.READ:
        is_own = roles[callee + 1] == Role.READ and values[callee + 1] in _SELF_NAMES
        class_ = call if is_own else 0
        while class_ > 0 and traversal.types[class_] != "ClassDef":
            class_ = traversal.parents[class_]
        return [function for function in functions if class_ > 0 and function.class_ == class_]
    bindings = {role for value, role in zip(values, roles, strict=True) if value == values[callee]}
    if bindings & {Role.WRITE, Role.PARAMETER, Role.MODULE}:  # nothing is known about imports and variables
        return []
    certain = [function for function in functions if function.is_constructor or not function.class_]
    return certain if certain or Role.CLASS in bindings else _builtin_functions(values[callee] or "")


def _builtin_functions(name: str) -> list[_Function]:
    """The builtin with a name; empty if there is none, or if its parameters are unknown."""
    try:
        parameters = signature(vars(builtins)[name]).parameters.values()
    except (KeyError, TypeError, ValueError):
        return []
    names = frozenset(parameter.name for parameter in parameters if parameter.kind not in _NAMELESS_KINDS)
    positional = [parameter.name for parameter in parameters if parameter.kind != Parameter.KEYWORD_ONLY]
    return [_Function(positional, names, any(parameter.kind == Parameter.VAR_KEYWORD for parameter in parameters))]
