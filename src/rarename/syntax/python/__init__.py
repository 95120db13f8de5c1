"""Python: source text to traversal, with the node types and the order of PY150.

The standard library's `ast` parses. A table of rules, one for each class of `ast`, defines the type, value and children
that a node has in PY150, whose trees were made by Python 2.7. What Python 2 lacked follows the same style and only adds
nodes, so that old code keeps its trees; `docs/syntax-python.md` lists the choices.

Reading order: parser, walker, rules, then what the rules use: literals, positions, fstrings; roles last.
"""

from rarename.syntax.language import Language, Lazy, RecordStyle
from rarename.syntax.python.node_types import FUNCTION_TYPES, SCOPE_TYPES

PYTHON = Language(
    name="python",
    suffixes=(".py", ".pyw"),
    interpreters=("python",),
    encoding=Lazy("python.parser", "encoding"),
    find_comments=Lazy("python.comments", "find_comments"),
    parse=Lazy("python.parser", "parse"),
    check_scopes=Lazy("python.parser", "check_scopes"),
    roles=Lazy("python.roles", "roles"),
    function_types=FUNCTION_TYPES,
    scope_types=SCOPE_TYPES,
    class_types=frozenset({"ClassDef"}),
    outer_types=frozenset(
        {"defaults", "kw_defaults", "decorator_list", "returns", "bases", "type_params", "annotation"}
    ),
    header_types=frozenset({"arguments", "NameParam", "vararg", "kwarg"}),
    iterating_types=frozenset({"comprehension"}),
    unswappable_types=frozenset({"Global", "Nonlocal"}),
    root_type="Module",
    possible_wrappers=(("Call",), ("AttributeLoad",), ("Call", "AttributeLoad"), ("SubscriptLoad",)),
    call_types=frozenset({"Call"}),
    receivers=frozenset({"self", "cls"}),
    constructors=frozenset({"__init__", "__new__"}),
    keyword_argument_type="keyword",
    function_prefix=r"(?:@|(?:async\s+)?def)\s*",
    assignment_rewrites={"Expr": ("Assign",), "AttributeLoad": ("AttributeStore",)},
    record=RecordStyle(has_ids=False, ends_with_zero=False),
    cursor=Lazy("python.cursor", "cursor_support"),
)
