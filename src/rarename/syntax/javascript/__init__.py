"""JavaScript: live source to traversal, with the node names, the values and the order of JS150.

tree-sitter parses, tolerantly; its tree is made into the one of ESTree as JS150 knows it. Newer syntax follows
ESTree; `docs/syntax-javascript.md` lists the choices.

Reading order: parsing is the whole; then its steps: source (text to tree-sitter's tree, as flat arrays), walk, nodes
(what each construct becomes; with literals and jsx), mending (broken code); last roles.
"""

from rarename.syntax.cursor import ONE_LINE_STRING, CursorSupport
from rarename.syntax.javascript.incomplete import STATEMENT_END, complete_prefix, later_bindings
from rarename.syntax.javascript.lexer import Lexer
from rarename.syntax.javascript.parser import encoding, parse
from rarename.syntax.javascript.roles import roles
from rarename.syntax.javascript.scope import FUNCTION_TYPES, SCOPE_TYPES, keywords, visible_names
from rarename.syntax.language import Language, RecordStyle

JAVASCRIPT = Language(
    name="javascript",
    suffixes=(".js", ".mjs", ".cjs", ".jsx"),
    interpreters=("node", "nodejs", "deno", "bun"),
    encoding=encoding,
    parse=parse,
    roles=roles,
    function_types=FUNCTION_TYPES,
    scope_types=SCOPE_TYPES,
    class_types=frozenset({"ClassBody"}),
    iterating_types=frozenset({"ForInStatement", "ForOfStatement"}),
    unswappable_types=frozenset({"JSXOpeningElement", "JSXClosingElement", "JSXMemberExpression"}),
    paired_types=frozenset({"JSXIdentifier"}),
    root_type="Program",
    possible_wrappers=(
        ("CallExpression",),
        ("MemberExpression",),
        ("CallExpression", "MemberExpression"),
        ("ArrayAccess",),
    ),
    call_types=frozenset({"CallExpression", "NewExpression"}),
    assignment_rewrites={"ExpressionStatement": ("ExpressionStatement", "AssignmentExpression")},
    record=RecordStyle(has_ids=True, ends_with_zero=True),
    line_break=rb"\n",
    comments=("//", "/*"),
    naming_types=frozenset({"AssignmentExpression"}),
    cursor=CursorSupport(
        name_char=r"[\w$]",
        non_code=rf"//[^\n]*|/\*.*?(?:\*/|\Z)|`(?:[^`\\]|\\.)*+`?|{ONE_LINE_STRING}",
        statement_end=STATEMENT_END,
        lexer=Lexer,
        complete_prefix=complete_prefix,
        later_bindings=later_bindings,
        visible_names=visible_names,
        keywords=keywords,
    ),
)
