"""Python: source text to traversal, with the node types and the order of PY150.

The standard library's `ast` parses. A table of rules, one for each class of `ast`, defines the type, value and children
that a node has in PY150, whose trees were made by Python 2.7. What Python 2 lacked follows the same style and only adds
nodes, so that old code keeps its trees; `docs/syntax-python.md` lists the choices.

Reading order: parser, walker, rules, then what the rules use: literals, positions, fstrings; roles last.
"""

from rarename.syntax.language import Language, RecordStyle
from rarename.syntax.python.parser import encoding, parse
from rarename.syntax.python.roles import roles

PYTHON = Language(
    name="python",
    suffixes=(".py", ".pyw"),
    interpreters=("python",),
    encoding=encoding,
    parse=parse,
    roles=roles,
    function_types=frozenset({"FunctionDef", "AsyncFunctionDef"}),
    scope_types=frozenset(
        {"FunctionDef", "AsyncFunctionDef", "Lambda", "ClassDef", "ListComp", "SetComp", "DictComp", "GeneratorExp"}
    ),
    class_types=frozenset({"ClassDef"}),
    outer_types=frozenset({"defaults", "kw_defaults", "decorator_list", "returns", "bases", "type_params"}),
    iterating_types=frozenset({"comprehension"}),
    fixed_types=frozenset({"Global", "Nonlocal"}),
    root_type="Module",
    around_names=(("Call",), ("AttributeLoad",), ("Call", "AttributeLoad"), ("SubscriptLoad",)),
    call_types=frozenset({"Call"}),
    as_target={"Expr": ("Assign",), "AttributeLoad": ("AttributeStore",)},
    record=RecordStyle(has_ids=False, ends_with_zero=False),
)
