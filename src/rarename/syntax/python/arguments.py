"""Which names an argument can be passed by: those of the function if it is known, otherwise all that are common."""

import builtins
import inspect
from collections.abc import Sequence
from dataclasses import dataclass

from rarename.syntax.python.scope import FUNCTION_TYPES
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
"""Names by which many projects on PyPI pass arguments, and some of the standard library."""

_INSTANCES = frozenset({"self", "cls"})
"""The names of what a method is called on, which is no argument of the call."""
_CONSTRUCTOR = "__init__"
_NAMELESS = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
"""The parameters of builtins to which nothing can be passed by their name."""


@dataclass(frozen=True)
class _Signature:
    """What a function can be passed."""

    names: frozenset[str]
    """The parameters that an argument can name."""
    positional: tuple[str, ...]
    """The parameters that arguments without a name fill, in this order."""
    takes_others: bool
    """Whether an argument may have any other name: `**kwargs`."""


def argument_names(traversal: Traversal, roles: Sequence[Role], node: int) -> frozenset[str]:
    """The names by which the argument at a node can be passed; empty if the node is no argument of a call."""
    types, values, parents = traversal.types, traversal.values, traversal.parents
    call = parents[parents[node]] if types[parents[node]] == "bases" else parents[node]
    named = [other for other, role in enumerate(roles) if role == Role.KEYWORD and other != node]
    passed = {values[other] or "" for other in named if parents[other] == call}
    if types[call] == "ClassDef":
        return frozenset({"metaclass"} - passed)
    if types[call] != "Call" or node == call + 1:
        return frozenset()
    functions = _functions_named(traversal, _name_called(traversal, call))
    signatures = _known_signatures(traversal, roles, call, functions)
    num_filled = sum(parents[other] == call and types[other] != "keyword" for other in range(call + 2, node))
    passed.update(*(signature.positional[:num_filled] for signature in signatures))
    names: set[str] = set()
    if not signatures or any(signature.takes_others for signature in signatures):
        names |= COMMON_NAMES | {values[other] or "" for other in named}
        signatures = [*signatures, *(_signature(traversal, function) for function in functions)]
    return frozenset(names.union(*(signature.names for signature in signatures)) - passed)


def _name_called(traversal: Traversal, call: int) -> str:
    """The name of what is called: `b` of `b()` and of `a.b()`."""
    callee = call + 1
    if traversal.types[callee] == "AttributeLoad":
        callee = next((n for n in range(callee, len(traversal)) if _is_attribute_of(traversal, n, callee)), callee)
    return traversal.values[callee] or ""


def _is_attribute_of(traversal: Traversal, node: int, callee: int) -> bool:
    return traversal.types[node] == "attr" and traversal.parents[node] == callee


def _functions_named(traversal: Traversal, name: str) -> list[int]:
    """The functions that have a name, and those that make an object of the class with that name."""
    found = []
    for node, type_ in enumerate(traversal.types):
        if type_ in FUNCTION_TYPES:
            owner = _class_of(traversal, node) if traversal.values[node] == _CONSTRUCTOR else node
            if owner is not None and traversal.values[owner] == name:
                found.append(node)
    return found


def _class_of(traversal: Traversal, function: int) -> int | None:
    """The class whose method a function is, if it is one."""
    owner = traversal.parents[traversal.parents[function]]
    return owner if owner > 0 and traversal.types[owner] == "ClassDef" else None


def _known_signatures(
    traversal: Traversal, roles: Sequence[Role], call: int, functions: Sequence[int]
) -> list[_Signature]:
    """What the function that is called can be passed; more than one if the text defines it more than once.

    Of the functions with its name a method is meant for certain only where `self` has it: any object may have one.
    """
    values, callee = traversal.values, call + 1
    if roles[callee] == Role.READ:
        return _signatures_of_name(traversal, roles, values[callee] or "", functions)
    is_own = roles[callee + 1] == Role.READ and values[callee + 1] in _INSTANCES
    around = _class_around(traversal, call) if is_own else None
    return [_signature(traversal, each) for each in functions if around and _class_of(traversal, each) == around]


def _signatures_of_name(
    traversal: Traversal, roles: Sequence[Role], name: str, functions: Sequence[int]
) -> list[_Signature]:
    """What a function can be passed that is called by its name alone; nothing is known of imports and variables."""
    bound = {role for value, role in zip(traversal.values, roles, strict=True) if value == name}
    if bound & {Role.WRITE, Role.PARAMETER, Role.MODULE}:
        return []
    known = [
        _signature(traversal, function)
        for function in functions
        if traversal.values[function] == _CONSTRUCTOR or _class_of(traversal, function) is None
    ]
    return known if known or Role.CLASS in bound else _signatures_of_builtin(name)


def _class_around(traversal: Traversal, node: int) -> int | None:
    """The innermost class that a node stands in, if it stands in one."""
    while node > 0 and traversal.types[node] != "ClassDef":
        node = traversal.parents[node]
    return node if node > 0 else None


def _signature(traversal: Traversal, function: int) -> _Signature:
    """What a function of the text can be passed."""
    types, values, parents = traversal.types, traversal.values, traversal.parents
    inside = range(function + 1, len(types))
    arguments = next(node for node in inside if types[node] == "arguments" and parents[node] == function)
    positional: list[str] = []
    by_name: list[str] = []
    takes_others = False
    for node in range(arguments + 1, len(types)):
        if parents[node] < arguments:
            break
        if types[node] == "NameParam" and parents[parents[node]] == arguments:
            (positional if types[parents[node]] == "args" else by_name).append(values[node] or "")
        takes_others = takes_others or (types[node] == "kwarg" and parents[node] == arguments)
    if positional and positional[0] in _INSTANCES:
        del positional[0]
    return _Signature(frozenset([*positional, *by_name]), tuple(positional), takes_others)


def _signatures_of_builtin(name: str) -> list[_Signature]:
    """What a builtin can be passed; nothing if there is none of that name, or if it does not tell."""
    try:
        parameters = inspect.signature(vars(builtins)[name]).parameters.values()
    except (KeyError, TypeError, ValueError):
        return []
    names = frozenset(parameter.name for parameter in parameters if parameter.kind not in _NAMELESS)
    positional = (each.name for each in parameters if each.kind is not inspect.Parameter.KEYWORD_ONLY)
    takes_others = any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in parameters)
    return [_Signature(names, tuple(positional), takes_others)]
