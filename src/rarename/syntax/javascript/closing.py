"""How a statement that stops short may end: what each open level lacks, and whether the whole parses then."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice, product

from rarename.errors import ParseError
from rarename.syntax.cursor import num_attempts
from rarename.syntax.javascript.cst import ERROR_KIND, concrete_tree
from rarename.syntax.open_brackets import OpenBracket

BLOCK, SWITCH, CLASS, OBJECT, SPECIFIERS, EXPRESSION = "block", "switch", "class", "object", "specifiers", "expression"
"""What a brace can hold. An expression stands in the braces of JSX and of a template."""
TAG, CHILDREN, CLOSING_TAG, TEMPLATE = "tag", "children", "closing tag", "template"
"""The levels that are no bracket."""
MEMBER = "member"
"""The token for a name behind a dot, which may be spelled like a keyword."""
STATEMENTS = frozenset({BLOCK, SWITCH})
"""The levels that hold statements."""


@dataclass(slots=True)
class JsBracket(OpenBracket):
    """A level, and what it is."""

    kind: str = ""
    name: str = ""
    """The name of an element of JSX."""
    is_done: bool = False
    """Whether the last token ended a statement, unless an `else` or the like follows."""
    start: int = 0
    """Where its content starts in the text."""
    is_group: bool = False
    """Whether it is a bracket where an operand may stand: it groups, or holds the parameters of an arrow function."""
    has_default: bool = False
    """Whether an element before the current one was `name = …`: then braces hold no literal but a pattern."""


def statement_start(stack: Sequence[JsBracket], depth: int, end: int) -> int:
    """Where the current statement of a level starts: at its first token, or at the bracket that it starts with."""
    if stack[depth].starts:
        return stack[depth].starts[0]
    return stack[depth + 1].start - len(stack[depth + 1].opener) if depth + 1 < len(stack) else end


_MOST_ENDINGS = 4
"""Ways to close one statement above the cursor that are tried."""
_MOST_LEFT_OUT = 3
"""Tokens at the end of such a statement that may be left out: the dot of `a.`, the operator of `a +`."""


def parses(level: JsBracket | None, text: str) -> bool:
    """Whether the text of one statement, or of several, parses where it stands."""
    if level is None:
        around = ("0, ", "")
    elif level.kind == CLASS:
        around = ("class _ extends _ {", "}")
    elif level.kind == SWITCH:
        around = ("switch (0) {" if level.tokens[:1] == ["case"] else "switch (0) { default: ", "}")
    elif level.opener:
        around = ("async function* _() {", "}")
    else:
        around = ("", "")
    if level is not None and level.tokens[:1] == ["else"]:
        around = (around[0] + "if (0); ", around[1])
    try:
        tree = concrete_tree(f"{around[0]}{text}{around[1]}".encode())
    except ParseError:
        return False
    return not tree.errors and all(kind != ERROR_KIND for kind in tree.kinds)


def completed(text: str, stack: Sequence[JsBracket], depth: int, lacks_operand: bool) -> str | None:
    """The statement of a level, made complete where the text ends; None if no way is found.

    Its last tokens may be left out, the operator that lacks an operand always: `f(a, b +` becomes `f(a, b )`. The
    first one stays.
    """
    innermost, start = stack[-1], statement_start(stack, depth, len(text))
    num_tokens = len(innermost.tokens)
    least, most = max(num_tokens - _MOST_LEFT_OUT, int(innermost is stack[depth])), max(num_tokens - lacks_operand, 0)
    for num_kept in range(most, least - 1, -1):
        kept = text[start : (*innermost.starts, len(text))[num_kept]]
        levels = [*stack[:-1], replace(innermost, tokens=innermost.tokens[:num_kept])]
        for ending in islice(closings(levels, depth, 0, ""), num_attempts(len(kept), _MOST_ENDINGS)):
            if parses(levels[depth], kept + ending):
                return kept + ending
    return None


def closings(stack: Sequence[JsBracket], outermost: int, first: int, name: str) -> Iterator[str]:
    """The ends of all levels from the innermost up to one, in all ways that may be meant.

    The name stands at the cursor; it is empty where a statement ends without one.
    """
    options: list[Sequence[str]] = []
    for depth in range(len(stack) - 1, outermost - 1, -1):
        inner = name if depth == len(stack) - 1 else stack[depth + 1].opener + stack[depth + 1].closer
        closer = closer_of(stack, depth) if depth > outermost else ""
        options.append([part + closer for part in missing(stack, depth, inner, first if depth == outermost else 0)])
    return ("".join(reversed(chosen)) for chosen in product(*reversed(options)))


def closer_of(stack: Sequence[JsBracket], depth: int) -> str:
    """What closes a level, with the rest of the arrow function if it holds parameters that cannot be anything else."""
    level = stack[depth]
    is_arrow = level.is_group and (level.tokens[:1] == ["..."] or _is_arrow_pattern(stack, depth))
    return level.closer + " => 0" if is_arrow else level.closer


def _is_arrow_pattern(stack: Sequence[JsBracket], depth: int) -> bool:
    """Whether a group ends in a pattern, and is not itself the statement, as in `({a = 1} = b)`."""
    return _holds_pattern(stack, depth) and bool(stack[depth - 1].tokens or stack[depth - 1].kind not in STATEMENTS)


def _holds_pattern(stack: Sequence[JsBracket], depth: int) -> bool:
    """Whether the brackets that are open inside of a level are a pattern: `{a = b` is no literal."""
    for inner in range(depth + 1, len(stack)):
        level = stack[inner]
        if level.kind != OBJECT and level.opener != "[":
            return False
        if level.kind == OBJECT and (level.has_default or level.tokens[1:2] == ["="]):
            return True
    return False


_DECLARES = frozenset({"var", "let", "const"})
_WRAPPING_OPERATORS = frozenset({"!", "+", "-", "~", "void"})
_MODIFIERS = frozenset({"get", "set", "async", "static", "*"})


def missing(stack: Sequence[JsBracket], depth: int, inner: str, first: int = 0) -> Sequence[str]:
    """What a level lacks behind its last token, before it can be closed: the likeliest first."""
    level = stack[depth]
    tokens = [*level.tokens[first:], inner] if inner else level.tokens[first:]
    if not tokens:
        return [""]
    rest = _rest_of_expression(tokens)
    if level.opener == "(" and depth and "for" in stack[depth - 1].tokens[-2:]:
        return _rest_of_loop(tokens, rest)
    if _holds_pattern(stack, depth):
        return [rest + " = 0", rest] if level.kind in STATEMENTS else [rest, rest + " = 0"]
    if level.kind == OBJECT:
        return _rest_of_property(tokens, rest)
    if level.kind == CLASS:
        return _rest_of_member(tokens, rest)
    if level.kind in STATEMENTS:
        if _is_wrapped_function(tokens, stack[depth + 1 : depth + 2]):
            return ["()"]
        return _rest_of_statement(tokens, rest)
    return [rest]


def _rest_of_expression(tokens: Sequence[str]) -> str:
    """What an expression lacks: the body of a function or class, the other half of a conditional."""
    last, before, two_before = (*reversed(tokens[-3:]), "", "", "")[:3]
    ending = ""
    if last == "()":
        ending = " {}" if _is_since(tokens[:-1], "function", ("()", "{}")) else ""
    elif before == "function" or (before == "*" and two_before == "function"):
        ending = "() {}"
    if not ending and _is_since(tokens, "class", ("{}",)):
        ending = " {}"
    pending = 0
    for token in tokens:
        if token == "?":
            pending += 1
        elif token == ":" and pending:
            pending -= 1
    return ending + " : 0" * pending


def _is_since(tokens: Sequence[str], word: str, ends: Sequence[str]) -> bool:
    """Whether a word is among the tokens, and none that would end what it begins has come since."""
    for token in reversed(tokens):
        if token == word:
            return True
        if token in ends:
            return False
    return False


def _is_wrapped_function(tokens: Sequence[str], inner: Sequence[JsBracket]) -> bool:
    """Whether a statement is `(function () {…})` or `!function () {…}`: nobody writes that but to call it at once."""
    if tokens[0] in _WRAPPING_OPERATORS and tokens[1:2] == ["function"]:
        return tokens[-1] == "{}"
    if tokens[-1] != "()" or not inner or "{}" in inner[0].tokens:
        return False
    is_group = len(tokens) == 1 or tokens[-2] in ("=", "&&", "||", "return")
    return is_group and inner[0].tokens[:1] in (["function"], ["async"], ["()"])


def _rest_of_loop(tokens: Sequence[str], rest: str) -> Sequence[str]:
    """The parts of `for (…` that are still to come."""
    num_done = tokens.count(";")
    if num_done or "of" in tokens or "in" in tokens:
        return [rest + ";" * (2 - num_done) if num_done else rest]
    if tokens[0] in _DECLARES and len(tokens) == 2:
        return [" of 0", ";;"]
    return [rest + ";;", " of 0"]


def _rest_of_property(tokens: Sequence[str], rest: str) -> Sequence[str]:
    if tokens[1:2] == [":"]:
        return [_rest_of_expression(tokens[2:])]
    if tokens[0] == "[]" and len(tokens) == 1:
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
    if last == "()" and (
        before in ("if", "while", "for", "with", "switch", "catch") or tokens[-3:-1] == ["for", "await"]
    ):
        return [" {}"]
    if last == "{}" and before == "try":
        return [" catch {}"]
    if before == "do":
        return [" while (0)" if last == "{}" else "; while (0)"]
    if tokens[0] == "@":
        return [" class _ {}"]
    if "import" in tokens and "from" not in tokens and last != "()":
        return [" from ''", rest]
    if "export" in tokens and "*" in tokens and "from" not in tokens:
        return [" from ''", rest]
    if "case" in tokens:
        return [rest + ":", rest]
    return [rest, rest + " = 0", rest + " {}"] if tokens[0] in _DECLARES else [rest, rest + " {}"]
