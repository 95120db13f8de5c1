"""Python: live source to traversal, with the node names and the order of PY150.

The standard library's `ast` parses; a table of rules, one for each node class, says which type, value and
children a node has in PY150, whose trees were made by Python 2.7. What Python 2 lacked follows the same
style and adds only new nodes, so that old code gives old trees; `docs/syntax-python.md` lists the choices.

Reading order: parsing is the whole in five lines; then its steps: reading (bytes to text to `ast`), rules
(with shapes, literals, patterns and fstrings), walk, places; last roles.
"""

from rarename.syntax.language import Language, RecordStyle
from rarename.syntax.python.parsing import parse
from rarename.syntax.python.reading import encoding
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
