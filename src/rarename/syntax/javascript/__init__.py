"""JavaScript: source text to traversal, with the node names, the values and the order of JS150.

tree-sitter parses, tolerantly; its tree is converted to ESTree as JS150 has it. Newer syntax follows ESTree;
`docs/syntax-javascript.md` lists the choices.

Reading order: parser is the whole; then its steps: cst (text to tree-sitter's tree), to_estree (with walker, literals
and jsx), error_recovery; then roles. For unfinished code: lexer, closing, incomplete, scope.
"""

from rarename.syntax.javascript.node_types import FUNCTION_TYPES, ITERATING_TYPES, SCOPE_TYPES
from rarename.syntax.language import Language, Lazy
from rarename.syntax.records import JS150

JAVASCRIPT = Language(
    name="javascript",
    suffixes=(".js", ".mjs", ".cjs", ".jsx"),
    interpreters=("node", "nodejs", "deno", "bun"),
    encoding=Lazy("javascript.parser", "encoding"),
    find_comments=Lazy("javascript.comments", "find_comments"),
    parse=Lazy("javascript.parser", "parse"),
    roles=Lazy("javascript.roles", "roles"),
    function_types=FUNCTION_TYPES,
    scope_types=SCOPE_TYPES,
    class_types=frozenset({"ClassBody"}),
    iterating_types=ITERATING_TYPES,
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
    receivers=frozenset({"self", "that", "_this"}),
    constructors=frozenset({"constructor"}),
    assignment_rewrites={"ExpressionStatement": ("ExpressionStatement", "AssignmentExpression")},
    naming_types=frozenset({"AssignmentExpression"}),
    function_prefix=r"(?:(?:static|async|get|set)\s+|\*\s*)*",
    record=JS150,
    line_break=rb"\n",
    comments=("//", "/*"),
    cursor=Lazy("javascript.cursor", "cursor_support"),
)
