"""Python: source text to traversal, with the node types and the order of PY150.

The standard library's `ast` parses. A table of rules, one for each class of `ast`, defines the type, value and children
that a node has in PY150, whose trees were made by Python 2.7. What Python 2 lacked follows the same style and only adds
nodes, so that old code keeps its trees; `docs/syntax-python.md` lists the choices.

Reading order: parser, walker, rules, then what the rules use: literals, positions, fstrings; roles last.
"""

from rarename.syntax.cursor import ONE_LINE_STRING, CursorSupport
from rarename.syntax.language import Language, RecordStyle
from rarename.syntax.python.arguments import argument_names
from rarename.syntax.python.comments import find_comments
from rarename.syntax.python.imports import module_at
from rarename.syntax.python.incomplete import STATEMENT_END, complete_prefix, later_bindings
from rarename.syntax.python.lexer import Lexer
from rarename.syntax.python.parser import encoding, parse
from rarename.syntax.python.roles import roles
from rarename.syntax.python.scope import FUNCTION_TYPES, SCOPE_TYPES, keywords, visible_names

PYTHON = Language(
    name="python",
    suffixes=(".py", ".pyw"),
    interpreters=("python",),
    encoding=encoding,
    find_comments=find_comments,
    parse=parse,
    roles=roles,
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
    assignment_rewrites={"Expr": ("Assign",), "AttributeLoad": ("AttributeStore",)},
    record=RecordStyle(has_ids=False, ends_with_zero=False),
    cursor=CursorSupport(
        name_char=r"\w",
        non_code=rf"#[^\n]*|[rRbBuUfFtT]{{0,2}}(?:\"{{3}}.*?\"{{3}}|'{{3}}.*?'{{3}}|{ONE_LINE_STRING})",
        statement_end=STATEMENT_END,
        lexer=Lexer,
        complete_prefix=complete_prefix,
        later_bindings=later_bindings,
        visible_names=visible_names,
        keywords=keywords,
        argument_names=argument_names,
        module_at=module_at,
    ),
)
