"""Unfinished JavaScript made into text that the parser takes, with as much of the user's own as possible.

First the whole text is tried, with a made-up name at the cursor. If that does not parse, what stands behind the
cursor is left out, and all that is open is closed: brackets, templates, elements of JSX, and before each of them what
the construct lacks, such as the `: …` of a conditional, the body of a loop or the `catch` of a `try`. Statements above
the cursor that still do not parse are left out; if that does not help, all that stands outside the function is.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import islice, product

from rarename.errors import ParseError
from rarename.syntax.javascript.source import ERROR_KIND, IS_NAMED, KIND_NAMES, ConcreteTree, concrete_tree
from rarename.syntax.language import Language
from rarename.syntax.traversal import Role, Traversal
from rarename.syntax.unfinished.javascript.scanning import CLASS, OBJECT, STATEMENTS, SWITCH, Open, Scan
from rarename.syntax.unfinished.mended import CALL, LONGEST_TAIL, Later, num_tries

_MOST_ENDINGS = 16
"""Ways to close one statement that are tried."""
_MOST_TAILS = 24
"""Parts of a broken statement that are tried, the longest first."""
_MOST_TAIL_ENDINGS = 4
"""Ways to close each of these parts that are tried."""
_MOST_REPAIRS = 5
"""How often broken statements above the cursor are looked for and left out."""

STATEMENT_END = re.compile(r"[^\S\n]*(?:;|\}|\Z|(?://[^\n]*)?\n\s*(?:[\w$}]|//|/\*|\Z))")
"""What ends a statement, the line ends that stand for a semicolon included: no operator may follow those."""
_DECLARATION = re.compile(r"^(?:export\s+(?:default\s+)?)?(?:var|let|const|class)\s+([\w$]+)", re.MULTILINE)
"""A variable or class of the whole file, by its place at the beginning of a line."""
_STATEMENT_KINDS = frozenset(
    kind
    for kind, name in enumerate(KIND_NAMES)
    if IS_NAMED[kind] and (name.endswith(("_statement", "_declaration", "_definition")) or name == "ERROR")
)


def names_bound_in(rest: str, language: Language) -> Later:
    """What the text behind the cursor binds for the whole file."""
    rest = rest.partition("\n")[2]
    variables = frozenset(found[1] for found in _DECLARATION.finditer(rest))
    try:
        traversal = language.parse(rest, True)
    except ParseError:
        return Later(variables=variables)
    functions = frozenset(
        traversal.values[node] or ""
        for node, role in enumerate(language.roles(traversal))
        if role == Role.FUNCTION and traversal.parents[traversal.parents[node]] == 0
    )
    return Later(functions, variables)


def cut(scan: Scan, name: str, language: Language) -> tuple[str, Traversal]:
    """The text up to the cursor, made complete."""
    innermost = max(depth for depth, level in enumerate(scan.stack) if level.kind in STATEMENTS | {CLASS})
    start, tail, ending = _closed(scan, innermost, name)
    text = f"{scan.text[:start]}{scan.text[tail:]}{name}{ending}"
    cursor = len(text) - len(name) - len(ending)
    endings = [""]
    for depth in range(innermost - 1, -1, -1):
        inner = scan.stack[depth + 1]
        endings.append(endings[-1] + inner.closer + _missing(scan.stack, depth, inner.opener + inner.closer)[0])
    whole = text + endings[-1]
    for attempt in _attempts(whole, cursor):
        try:
            return attempt, language.parse(attempt, False)
        except ParseError:
            continue
    for depth, level in enumerate(scan.stack[: innermost + 1]):
        if level.kind in STATEMENTS:
            attempt = text[scan.statement_start(depth) :] + endings[innermost - depth]
            try:
                return attempt, language.parse(attempt, False)
            except ParseError:
                continue
    return name, language.parse(name, False)


def _attempts(text: str, cursor: int) -> Iterator[str]:
    """The text, then the text with blanks for broken statements before the cursor."""
    source, limit = text.encode(), len(text[:cursor].encode())
    for _ in range(_MOST_REPAIRS):
        yield source.decode()
        try:
            tree = concrete_tree(source)
        except ParseError:
            return
        changed = bytearray(source)
        for start, end in _broken_statements(tree, limit):
            changed[start:end] = bytes(byte if byte == ord("\n") else ord(" ") for byte in changed[start:end])
        if changed == source:
            return
        source = bytes(changed)


def _broken_statements(tree: ConcreteTree, limit: int) -> list[tuple[int, int]]:
    """The smallest statements that hold an error and end before a byte."""
    parents = tree.parents()
    found = []
    for error in tree.errors:
        node = error
        while node > 0 and (tree.kinds[node] not in _STATEMENT_KINDS or tree.starts[node] == tree.ends[node]):
            node = parents[node]
        if node > 0 and tree.ends[node] <= limit:
            found.append((tree.starts[node], tree.ends[node]))
    return found


# -- the statement at the cursor ----------------------------------------------------------------------------


def _closed(scan: Scan, innermost: int, name: str) -> tuple[int, int, str]:
    """From where to where to leave out text, and what to write behind the cursor, up to the innermost block.

    Nothing is left out unless the statement is beyond repair: then its longest end that is an expression stays.
    """
    level = scan.stack[innermost]
    start = scan.statement_start(innermost)
    for ending in islice(_endings(scan, innermost, name), num_tries(len(scan.text) - start, _MOST_ENDINGS)):
        if _parses(level, f"{scan.text[start:]}{name}{ending}"):
            return start, start, ending
    if level.kind == CLASS:
        return start, len(scan.text), "() {}"
    tails = [
        (depth, index)
        for depth in range(innermost, len(scan.stack))
        for index in range(int(depth == innermost), len(scan.stack[depth].tokens))
    ]
    for depth, index in tails[-_MOST_TAILS:]:
        tail = scan.stack[depth].starts[index]
        if len(scan.text) - tail > LONGEST_TAIL:
            continue
        for ending in islice(_closings(scan.stack, depth, index, name), _MOST_TAIL_ENDINGS):
            if _parses(None, f"{scan.text[tail:]}{name}{ending}"):
                return start, tail, ending
    return start, len(scan.text), ""


def _parses(level: Open | None, text: str) -> bool:
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


def _endings(scan: Scan, innermost: int, name: str) -> Iterator[str]:
    """What may stand behind the cursor to end the statement, the likeliest first."""
    if scan.is_bare:
        yield CALL
    yield from _closings(scan.stack, innermost, 0, name)


def _closings(stack: Sequence[Open], outermost: int, first: int, name: str) -> Iterator[str]:
    """The ends of all levels from the innermost up to one, in all ways that may be meant."""
    options: list[Sequence[str]] = []
    for depth in range(len(stack) - 1, outermost - 1, -1):
        level = stack[depth]
        inner = name if depth == len(stack) - 1 else stack[depth + 1].opener + stack[depth + 1].closer
        closer = level.closer if depth > outermost else ""
        options.append([part + closer for part in _missing(stack, depth, inner, first if depth == outermost else 0)])
    return ("".join(reversed(chosen)) for chosen in product(*reversed(options)))


_DECLARES = frozenset({"var", "let", "const"})
_WRAPPING_OPERATORS = frozenset({"!", "+", "-", "~", "void"})
_MODIFIERS = frozenset({"get", "set", "async", "static", "*"})


def _missing(stack: Sequence[Open], depth: int, inner: str, first: int = 0) -> Sequence[str]:
    """What a level lacks behind its last token, before it can be closed: the likeliest first."""
    level = stack[depth]
    tokens = [*level.tokens[first:], inner]
    rest = _rest_of_expression(tokens)
    if level.opener == "(" and depth and "for" in stack[depth - 1].tokens[-2:]:
        return _rest_of_loop(tokens, rest)
    if depth + 1 < len(stack) and stack[depth + 1].kind == OBJECT and stack[depth + 1].tokens[1:2] == ["="]:
        return [rest + " = 0", rest]  # `{a = b` is no literal but a pattern
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
    last, before, two_before = (*reversed(tokens[-3:]), "", "")[:3]
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


def _is_wrapped_function(tokens: Sequence[str], inner: Sequence[Open]) -> bool:
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
