"""How an unfinished statement may end: what each open bracket lacks, and whether the whole then parses."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from itertools import islice, product

from rarename.errors import ParseError
from rarename.syntax.cursor import num_attempts
from rarename.syntax.javascript.cst import ERROR, concrete_tree
from rarename.syntax.open_brackets import OpenBracket

_MAX_ENDINGS = 4  # attempts to close one statement above the cursor
_MAX_LEFT_OUT = 3  # tokens at the end of such a statement that may be left out: the dot of `a.`, the operator of `a +`
_DECLARES = frozenset({"var", "let", "const"})
_WRAPPING_OPERATORS = frozenset({"!", "+", "-", "~", "void"})
_MODIFIERS = frozenset({"get", "set", "async", "static", "*"})
_BEFORE_BODY = frozenset({"if", "while", "for", "with", "switch", "catch"})


Kind = Enum("Kind", "GROUP BLOCK SWITCH CLASS OBJECT SPECIFIERS EXPRESSION TEMPLATE TAG CHILDREN CLOSING_TAG")
"""What an open bracket holds. An `EXPRESSION` is in the braces of JSX and of a template."""
_STATEMENT_KINDS = (Kind.BLOCK, Kind.SWITCH)
_BODY_KINDS = (*_STATEMENT_KINDS, Kind.CLASS)


@dataclass(slots=True)
class JsBracket(OpenBracket):
    """An open bracket, and what it holds."""

    kind: Kind = Kind.GROUP
    is_done: bool = False  # the last token ended a statement, unless an `else` or the like follows
    start: int = 0  # the offset of its content in the text

    @property
    def has_statements(self) -> bool:
        return self.kind in _STATEMENT_KINDS

    @property
    def is_body(self) -> bool:
        return self.kind in _BODY_KINDS

    def starts_with(self, token: str) -> bool:
        return self.tokens[:1] == [token]


_AROUND = {Kind.CLASS: "class _ extends _ {", Kind.SWITCH: "switch (0) {"}
Stack = Sequence[JsBracket]  # the open brackets, from the outermost, the program, to the innermost


def statement_start(stack: Stack, depth: int, end: int) -> int:
    """The offset of the current statement in a bracket: of its first token, or of the bracket that it starts with."""
    if stack[depth].starts:
        return stack[depth].starts[0]
    return stack[depth + 1].start - len(stack[depth + 1].opener) if depth + 1 < len(stack) else end


def parses(bracket: JsBracket | None, text: str) -> bool:
    """Whether statements parse inside a bracket; without a bracket, whether an expression parses."""
    before = _AROUND.get(bracket.kind, "async function* _() {") if bracket and bracket.opener else ""
    after = "}" if before else ""
    if bracket is None:
        before = "0, "
    elif bracket.kind is Kind.SWITCH and not bracket.starts_with("case"):
        before += " default: "
    if bracket is not None and bracket.starts_with("else"):
        before += "if (0); "
    try:
        tree = concrete_tree(f"{before}{text}{after}".encode())
    except ParseError:
        return False
    return not tree.errors and ERROR not in tree.kinds


def completed(text: str, stack: Stack, depth: int, lacks_operand: bool) -> str | None:
    """The statement of a bracket, completed where the text ends; None if no attempt succeeds.

    Its last tokens may be left out, an operator that lacks an operand always: `f(a, b +` becomes `f(a, b )`. The
    first one stays.
    """
    innermost, start = stack[-1], statement_start(stack, depth, len(text))
    num_tokens = len(innermost.tokens)
    least = max(num_tokens - _MAX_LEFT_OUT, int(innermost is stack[depth]))
    for num_kept in range(max(num_tokens - lacks_operand, 0), least - 1, -1):
        kept = text[start : (*innermost.starts, len(text))[num_kept]]
        brackets = [*stack[:-1], replace(innermost, tokens=innermost.tokens[:num_kept])]
        for ending in islice(closings(brackets, depth, 0, ""), num_attempts(len(kept), _MAX_ENDINGS)):
            if parses(brackets[depth], kept + ending):
                return kept + ending
    return None


def closings(stack: Stack, outermost: int, first: int, name: str) -> Iterator[str]:
    """The ways to close all brackets from the innermost up to one, the most probable first.

    `name` is the name at the cursor, empty where a statement ends without one. Of the outermost bracket only the
    tokens from `first` on count.
    """
    options: list[Sequence[str]] = []
    for depth in range(len(stack) - 1, outermost - 1, -1):
        inner = name if depth == len(stack) - 1 else stack[depth + 1].opener + stack[depth + 1].closer
        closer = stack[depth].closer if depth > outermost else ""
        options.append([part + closer for part in missing(stack, depth, inner, first if depth == outermost else 0)])
    return ("".join(reversed(chosen)) for chosen in product(*reversed(options)))


def missing(stack: Stack, depth: int, inner: str, first: int = 0) -> Sequence[str]:
    """What a bracket lacks after its last token before it can be closed, the most probable first."""
    bracket = stack[depth]
    tokens = [*bracket.tokens[first:], inner] if inner else bracket.tokens[first:]
    if not tokens:
        return [""]
    rest = _rest_of_expression(tokens)
    if bracket.opener == "(" and depth and "for" in stack[depth - 1].tokens[-2:]:
        return _rest_of_loop(tokens, rest)
    if bracket.kind is Kind.OBJECT:
        return _rest_of_property(tokens, rest)
    if bracket.kind is Kind.CLASS:
        return _rest_of_member(tokens, rest)
    if bracket.has_statements:
        is_called = _is_wrapped_function(tokens, stack[depth + 1 : depth + 2])
        return ["()"] if is_called else _rest_of_statement(tokens, rest)
    # `({a = 1` and `(...a` can only be parameters of an arrow function.
    return [rest, rest + ") => (0"] if bracket.opener == "(" else [rest]


def _rest_of_expression(tokens: Sequence[str]) -> str:
    """What an expression lacks: the body of a function or class, the other half of a conditional."""
    last, before, two_before = (*reversed(tokens[-3:]), "", "", "")[:3]
    ending = ""
    if last == "()":
        ending = " {}" if is_pending(tokens[:-1], "function", ("()", "{}")) else ""
    elif before == "function" or (before == "*" and two_before == "function"):
        ending = "() {}"
    if not ending and is_pending(tokens, "class", ("{}",)):
        ending = " {}"
    num_open = 0
    for token in tokens:
        num_open = num_open + 1 if token == "?" else max(num_open - (token == ":"), 0)
    return ending + " : 0" * num_open


def is_pending(tokens: Sequence[str], word: str, ends: Sequence[str]) -> bool:
    """Whether the tokens have a word and none after it ends the construct that it begins."""
    return next((token == word for token in reversed(tokens) if token == word or token in ends), False)


def _is_wrapped_function(tokens: Sequence[str], inner: Stack) -> bool:
    """Whether a statement is `(function () {…})` or `!function () {…}`, which is written only to be called at once."""
    if tokens[0] in _WRAPPING_OPERATORS and tokens[1:2] == ["function"]:
        return tokens[-1] == "{}"
    if tokens[-1] != "()" or not inner or "{}" in inner[0].tokens:
        return False
    is_group = len(tokens) == 1 or tokens[-2] in ("=", "&&", "||", "return")
    return is_group and any(map(inner[0].starts_with, ("function", "async", "()")))


def _rest_of_loop(tokens: Sequence[str], rest: str) -> Sequence[str]:
    if num_done := tokens.count(";"):
        return [rest + ";" * (2 - num_done)]
    if "of" in tokens or "in" in tokens:
        return [rest]
    return [" of 0", ";;"] if tokens[0] in _DECLARES and len(tokens) == 2 else [rest + ";;", " of 0"]


def _rest_of_property(tokens: Sequence[str], rest: str) -> Sequence[str]:
    if tokens[1:2] == [":"]:
        return [_rest_of_expression(tokens[2:])]
    if tokens == ["[]"]:
        return [": 0"]
    if tokens[-1] == "()" and ":" not in tokens and "=" not in tokens:
        return [" {}", rest]
    if tokens[0] in _MODIFIERS and len(tokens) > 1 and tokens[-1] != "{}":
        return ["() {}", rest]
    return [rest, ": 0"]


def _rest_of_member(tokens: Sequence[str], rest: str) -> Sequence[str]:
    if "=" in tokens or tokens[-1] == "{}":
        return [rest]
    if tokens[0] == "@":
        return [" _() {}"]
    return [" {}" if tokens[-1] == "()" else "() {}", rest]


def _rest_of_statement(tokens: Sequence[str], rest: str) -> Sequence[str]:
    last, before = tokens[-1], tokens[-2] if len(tokens) > 1 else ""
    if before in _DECLARES and last in ("{}", "[]"):
        return [" = 0"]
    if last == "()" and (before in _BEFORE_BODY or tokens[-3:-1] == ["for", "await"]):
        return [" {}"]
    if last == "{}" and before == "try":
        return [" catch {}"]
    if before == "do":
        return [" while (0)" if last == "{}" else "; while (0)"]
    if tokens[0] == "@":
        return [" class _ {}"]
    is_import = "import" in tokens and last != "()"
    if "from" not in tokens and (is_import or ("export" in tokens and "*" in tokens)):
        return [" from ''", rest]
    if "case" in tokens:
        return [rest + ":", rest]
    return [rest, rest + " = 0", rest + " {}"] if tokens[0] in _DECLARES else [rest, rest + " {}"]
