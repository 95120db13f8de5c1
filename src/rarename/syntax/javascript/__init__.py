"""JavaScript: live source to traversal, with the node names, the values and the order of JS150.

tree-sitter parses, tolerantly; its tree is made into the one of ESTree as JS150 knows it. Newer syntax follows
ESTree; `docs/syntax-javascript.md` lists the choices.

Reading order: parsing is the whole; then its steps: source (text to tree-sitter's tree, as flat arrays), walk, nodes
(what each construct becomes; with literals and jsx), mending (broken code); last roles.
"""

from rarename.syntax.javascript.parsing import encoding, parse
from rarename.syntax.javascript.roles import roles
from rarename.syntax.language import Language, RecordStyle

JAVASCRIPT = Language(
    name="javascript",
    suffixes=(".js", ".mjs", ".cjs", ".jsx"),
    interpreters=("node", "nodejs", "deno", "bun"),
    encoding=encoding,
    parse=parse,
    roles=roles,
    function_types=frozenset({"FunctionDeclaration", "FunctionExpression", "ArrowFunctionExpression"}),
    scope_types=frozenset(
        {
            "FunctionDeclaration",
            "FunctionExpression",
            "ArrowFunctionExpression",
            "BlockStatement",
            "CatchClause",
            "ForStatement",
            "ForInStatement",
            "ForOfStatement",
            "ClassBody",
            "StaticBlock",
        }
    ),
    class_types=frozenset({"ClassBody"}),
    iterating_types=frozenset({"ForInStatement", "ForOfStatement"}),
    fixed_types=frozenset({"JSXOpeningElement", "JSXClosingElement", "JSXMemberExpression"}),
    root_type="Program",
    around_names=(
        ("CallExpression",),
        ("MemberExpression",),
        ("CallExpression", "MemberExpression"),
        ("ArrayAccess",),
    ),
    call_types=frozenset({"CallExpression", "NewExpression"}),
    as_target={"ExpressionStatement": ("ExpressionStatement", "AssignmentExpression")},
    record=RecordStyle(has_ids=True, ends_with_zero=True),
    line_break=rb"\n",
    comments=("//", "/*"),
    naming_types=frozenset({"AssignmentExpression"}),
)
