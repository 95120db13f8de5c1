"""Tokens: source text as a plain sequence, the third kind of traversal.

The tokens are written as in the GREAT data set, so that its examples and other texts have the same tokens: lines begin
with `#NEWLINE#`, deeper lines with `#INDENT#`, and `def name(`, `class Name`, `is not`, `not in` and the `**kwargs` of
a parameter list are one token each.

Every token is a root (parent -1): the position of a token is its index.
"""

import codecs
import keyword
import re
from collections.abc import Iterator, Sequence

from rarename.syntax.language import Language
from rarename.syntax.records import PY150
from rarename.syntax.traversal import NO_SPAN, Role, Span, Traversal

TOKEN_CLASSES = ("Name", "Function", "Class", "Keyword", "Number", "String", "Operator", "Layout")
"""The node types. `Function` is `def name(`, `Class` is `class Name`."""

NEWLINE, INDENT, UNINDENT = "#NEWLINE#", "#INDENT#", "#UNINDENT#"

_STRING_START = r"[bBrRuUfF]{0,2}"
# A string that is never closed ends with its line (triple quotes: with the text). So every quote starts a token, none
# is tried twice, and the time stays linear whatever the text.
_STRING = "|".join(
    _STRING_START + body
    for body in (
        r'"""(?:[^"\\]|\\.|"(?!""))*+(?:""")?',
        r"'''(?:[^'\\]|\\.|'(?!''))*+(?:''')?",
        r'"(?:[^"\\\n]|\\.)*+"?',
        r"'(?:[^'\\\n]|\\.)*+'?",
    )
)
_NAME = r"[^\W\d]\w*"
_NUMBER = r"0[xXoObB]\w+|(?:\d[\d_]*\.?[\d_]*|\.\d[\d_]*)(?:[eE][+-]?\d+)?[jJlLn]?"
_OPERATOR = r"\*\*=|//=|>>=|<<=|===|!==|\.\.\.|\*\*|//|>>|<<|<=|>=|==|!=|<>|->|:=|=>|\+\+|--|&&|\|\||[-+*/%&|^@]=|\S"
_LEXER = re.compile(
    rf"(?P<line>(?:\n[ \t\f\r]*)+)|(?P<comment>#[^\n]*)|(?P<blank>[^\S\n]+|\\\r?\n)|(?P<string>{_STRING})"
    rf"|(?P<function>def[ \t]+(?P<function_name>{_NAME})[ \t]*\()|(?P<class>class[ \t]+(?P<class_name>{_NAME}))"
    rf"|(?P<pair>is[ \t]+not\b|not[ \t]+in\b)|(?P<kwargs>\*\*(?!{_STRING_START}['\"]){_NAME})"
    rf"|(?P<name>{_NAME})|(?P<number>{_NUMBER})|(?P<operator>{_OPERATOR})",
    re.DOTALL,
)

_DEFINITION = re.compile(rf"(def|class)\s+{_NAME}")
_COMPOUND = re.compile(rf"\*{{1,2}}{_NAME}|as\s+{_NAME}")
_DOTTED = re.compile(rf"\.*{_NAME}(?:\.{_NAME})*")
_WHOLE_STRING = re.compile(f"{_STRING_START}['\"]")
_WHOLE_NUMBER = re.compile(r"[-+]?\.?\d")

_CONSTANTS = frozenset({"None", "True", "False"})
_KEYWORDS = frozenset(keyword.kwlist) | {"is not", "not in"}
_AUGMENTED = frozenset({"+=", "-=", "*=", "/=", "//=", "%=", "**=", "&=", "|=", "^=", ">>=", "<<=", "@=", ":="})
_OPENING, _CLOSING = frozenset("([{"), frozenset(")]}")


def token_class(token: str) -> str:
    """The class of a token, from its text alone; one of `TOKEN_CLASSES`.

    >>> [token_class(token) for token in ("#INDENT#", "def f(", "x", "is not", "1e-08", "b'x'", "+=")]
    ['Layout', 'Function', 'Name', 'Keyword', 'Number', 'String', 'Operator']
    """
    if token in _KEYWORDS:
        return "Keyword"
    if token in (NEWLINE, INDENT, UNINDENT) or not token or token.isspace():
        return "Layout"
    if definition := _DEFINITION.match(token):
        return "Function" if definition[1] == "def" else "Class"
    if _WHOLE_STRING.match(token):
        return "String"
    if _WHOLE_NUMBER.match(token):
        return "Number"
    return "Name" if _DOTTED.fullmatch(token) or _COMPOUND.fullmatch(token) else "Operator"


def sequence(tokens: Sequence[str]) -> Traversal:
    """A traversal of ready-made tokens, such as those of a GREAT example. Positions stay the same."""
    return Traversal([token_class(token) for token in tokens], list(tokens), [-1] * len(tokens))


def _encoding(data: bytes) -> str:
    return "utf-8-sig" if data.startswith(codecs.BOM_UTF8) else "utf-8"


def _parse(text: str, _tolerant: bool) -> Traversal:  # any text can be split
    pairs = list(_lex(text.replace("\r\n", "\n").replace("\r", "\n")))
    tree = sequence([token for token, _ in pairs])
    import numpy as np  # most commands need no tokens

    spans = np.array([span for _, span in pairs], dtype=np.int32).reshape(len(pairs), 4)
    return Traversal(tree.types, tree.values, tree.parents, spans)


def _lex(text: str) -> Iterator[tuple[str, Span]]:
    indents = [0]
    line, column = 1, 0
    indentation: int | None = len(text) - len(text.lstrip(" \t"))  # of a line that just began
    header_depth = 0  # brackets open since `def name(`; 0 outside a parameter list
    for match in _LEXER.finditer(text):
        kind, piece = match.lastgroup, match[0]
        start = (line, column)
        if num_lines := piece.count("\n"):
            line, column = line + num_lines, _num_bytes(piece[piece.rindex("\n") + 1 :])
        else:
            column += _num_bytes(piece)
        if kind == "line":
            indentation = len(piece[piece.rindex("\n") + 1 :].expandtabs(8))
        if kind in ("line", "comment", "blank"):
            continue
        if indentation is not None:
            yield from ((token, NO_SPAN) for token in _layout(indentation, indents))
            indentation = None
        if kind == "function":
            header_depth = 1
        elif header_depth and kind == "operator":
            header_depth += (piece in _OPENING) - (piece in _CLOSING)
        if kind == "kwargs" and not header_depth:
            middle = (start[0], start[1] + 2)
            yield "**", Span(*start, *middle)
            yield piece[2:], Span(*middle, line, column)
        elif kind in ("function", "class", "pair"):
            first, last = match.span(f"{kind}_name" if kind != "pair" else kind)
            start_column = column - _num_bytes(text[first : match.end()])
            span = Span(line, start_column, line, start_column + _num_bytes(text[first:last]))
            yield re.sub(r"\s+", " ", piece).replace(" (", "("), span
        else:
            yield piece, Span(*start, line, column)


def _num_bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def _layout(indentation: int, indents: list[int]) -> Iterator[str]:
    yield NEWLINE
    if indentation > indents[-1]:
        indents.append(indentation)
        yield INDENT
    while indentation < indents[-1]:
        indents.pop()
        yield UNINDENT


_ROLES = {
    "Function": Role.FUNCTION,
    "Class": Role.CLASS,
    "Number": Role.NUMBER,
    "String": Role.STRING,
    # Words and signs of the language itself: kept as values, never a name that somebody chose.
    "Keyword": Role.OPERATOR,
    "Operator": Role.OPERATOR,
}


def _roles(traversal: Traversal) -> list[Role]:
    """The role of each token, guessed from its class and its neighbours."""
    roles: list[Role] = []
    statement = ""  # the keyword that began the statement, when it changes what names mean
    brackets: list[str] = []  # what opened each bracket that is still open: a call, a parameter list, other
    tokens = [value or "" for value in traversal.values]
    for index, (kind, token) in enumerate(zip(traversal.types, tokens, strict=True)):
        previous, following = tokens[index - 1] if index else "", "".join(tokens[index + 1 : index + 2])
        if kind == "Layout":
            roles.append(Role.OPERATOR)
            if not brackets:
                statement = ""
        elif kind == "Name":
            roles.append(_role_of_name(token, previous, following, statement, brackets[-1] if brackets else ""))
        else:
            roles.append(_ROLES[kind] if token not in _CONSTANTS else Role.CONSTANT)
            if token in ("from", "import", "for", "lambda", "global", "nonlocal"):
                statement = token
            elif token == "in" or (token == ":" and statement == "lambda"):
                statement = ""
            if kind == "Function":
                brackets.append("parameters")
            elif token in _OPENING:
                is_call = index > 0 and (traversal.types[index - 1] == "Name" or previous in (")", "]"))
                brackets.append("call" if token == "(" and is_call else "other")
            elif token in _CLOSING and brackets:
                brackets.pop()
    return roles


def _role_of_name(token: str, previous: str, following: str, statement: str, bracket: str) -> Role:
    if _COMPOUND.fullmatch(token):
        # `**kwargs` is the parameter `kwargs` with its stars, `as np` likewise. No other token can have that value, so
        # it must not be a candidate for a misuse, although it is a name.
        return Role.KEYWORD
    if previous == ".":
        return Role.ATTRIBUTE
    if statement in ("from", "import"):
        return Role.WRITE if previous == "as" else Role.MODULE
    begins = previous == "," or previous.endswith("(")
    if bracket == "parameters":
        return Role.PARAMETER if begins or previous == "*" else Role.READ
    if statement == "lambda":
        return Role.PARAMETER if previous in ("lambda", ",", "*", "**") else Role.READ
    if bracket == "call" and following == "=" and begins:
        return Role.KEYWORD
    if following in (".", "[", "("):
        return Role.READ
    is_bound = following == "=" or following in _AUGMENTED or previous == "as"
    return Role.WRITE if is_bound or statement in ("for", "global", "nonlocal") else Role.READ


TOKENS = Language(
    name="tokens",
    suffixes=(".txt",),
    encoding=_encoding,
    parse=_parse,
    roles=_roles,
    function_types=frozenset(),  # a sequence has no subtrees to cut out: it is one snippet
    scope_types=frozenset(),
    record=PY150,
)
