"""Node types that mean the same in several modules."""

FUNCTION_TYPES = frozenset({"FunctionDef", "AsyncFunctionDef"})
COMPREHENSION_TYPES = frozenset({"ListComp", "SetComp", "DictComp", "GeneratorExp"})
SCOPE_TYPES = FUNCTION_TYPES | COMPREHENSION_TYPES | {"Lambda", "ClassDef"}
DEFINITION_TYPES = FUNCTION_TYPES | {"ClassDef", "alias"}
