"""JavaScript: source text to traversal, with the node names, the values and the order of JS150.

tree-sitter parses, tolerantly; its tree is converted to ESTree as JS150 has it. Newer syntax follows ESTree;
`docs/syntax-javascript.md` lists the choices.

Reading order: parser is the whole; then its steps: cst (text to tree-sitter's tree), to_estree (with walker, literals
and jsx), error_recovery; then roles. For unfinished code: lexer, closing, incomplete, scope.
"""

from rarename.syntax.cursor import ONE_LINE_STRING, CursorSupport
from rarename.syntax.javascript.comments import find_comments
from rarename.syntax.javascript.incomplete import STATEMENT_END, complete_prefix, later_bindings
from rarename.syntax.javascript.lexer import Lexer
from rarename.syntax.javascript.parser import encoding, parse
from rarename.syntax.javascript.roles import roles
from rarename.syntax.javascript.scope import FUNCTION_TYPES, ITERATING_TYPES, SCOPE_TYPES, keywords, visible_names
from rarename.syntax.language import Language
from rarename.syntax.records import JS150

JAVASCRIPT = Language(
    name="javascript",
    suffixes=(".js", ".mjs", ".cjs", ".jsx"),
    interpreters=("node", "nodejs", "deno", "bun"),
    encoding=encoding,
    find_comments=find_comments,
    parse=parse,
    roles=roles,
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
    record=JS150,
    line_break=rb"\n",
    comments=("//", "/*"),
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
