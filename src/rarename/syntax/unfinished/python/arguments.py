"""Which names an argument can be passed by: those of the function if the text has it, and those that are common."""

from collections.abc import Sequence

from rarename.syntax.python import PYTHON
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


def argument_names(traversal: Traversal, roles: Sequence[Role], node: int) -> frozenset[str]:
    """The names by which the argument at a node can be passed; empty if the node is no argument of a call."""
    types, values, parents = traversal.types, traversal.values, traversal.parents
    call = parents[node]
    if types[call] != "Call" or node == call + 1:
        return frozenset()
    named = [other for other, role in enumerate(roles) if role == Role.KEYWORD and other != node]
    used = {values[other] or "" for other in named}
    passed = {values[other] or "" for other in named if parents[other] == call}
    return (COMMON_NAMES | used | _parameters(traversal, _name_called(traversal, call))) - passed


def _name_called(traversal: Traversal, call: int) -> str:
    """The name of what is called: `b` of `b()` and of `a.b()`."""
    callee = call + 1
    if traversal.types[callee] == "AttributeLoad":
        callee = next((n for n in range(callee, len(traversal)) if _is_attribute_of(traversal, n, callee)), callee)
    return traversal.values[callee] or ""


def _is_attribute_of(traversal: Traversal, node: int, callee: int) -> bool:
    return traversal.types[node] == "attr" and traversal.parents[node] == callee


def _parameters(traversal: Traversal, name: str) -> set[str]:
    """The parameters of the functions that have a name, or that make an object of the class with that name."""
    types, values, parents = traversal.types, traversal.values, traversal.parents
    found = set()
    for node, type_ in enumerate(types):
        if type_ != "NameParam":
            continue
        function = parents[parents[parents[node]]]
        if types[function] not in PYTHON.function_types:
            continue
        owner = parents[parents[function]] if values[function] == "__init__" else function
        if values[owner] == name:
            found.add(values[node] or "")
    return found - {"self", "cls"}
