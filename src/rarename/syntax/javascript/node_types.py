"""Node types that mean the same in several modules."""

FUNCTION_TYPES = frozenset({"FunctionDeclaration", "FunctionExpression", "ArrowFunctionExpression"})
SCOPE_TYPES = FUNCTION_TYPES | {
    "BlockStatement", "CatchClause", "ForStatement", "ForInStatement", "ForOfStatement", "ClassBody", "StaticBlock",
}  # fmt: skip
ITERATING_TYPES = frozenset({"ForInStatement", "ForOfStatement"})
