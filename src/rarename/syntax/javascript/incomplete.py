"""Unfinished JavaScript made into text that the parser takes, with as much of the user's own as possible.

First the whole text is tried, with a made-up name at the cursor. If that does not parse, what stands behind the
cursor is left out, and all that is open is closed: brackets, templates, elements of JSX, and before each of them what
the construct lacks, such as the `: …` of a conditional, the body of a loop or the `catch` of a `try`. Statements above
the cursor that still do not parse are left out; if that does not help, all that stands outside the function is.
"""

import re
from collections.abc import Iterator
from itertools import islice

from rarename.errors import ParseError
from rarename.syntax.cursor import CALL, MAX_TAIL_CHARS, LaterBindings, num_attempts
from rarename.syntax.javascript.closing import CLASS, STATEMENTS, closer_of, closings, missing, parses, statement_start
from rarename.syntax.javascript.cst import IS_NAMED, KIND_NAMES, ConcreteTree, concrete_tree
from rarename.syntax.javascript.lexer import Lexer
from rarename.syntax.language import Language
from rarename.syntax.traversal import Role, Traversal

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


def later_bindings(rest: str, language: Language) -> LaterBindings:
    """What the text behind the cursor binds for the whole file."""
    rest = rest.partition("\n")[2]
    variables = frozenset(found[1] for found in _DECLARATION.finditer(rest))
    try:
        traversal = language.parse(rest, True)
    except ParseError:
        return LaterBindings(variables=variables)
    functions = frozenset(
        traversal.values[node] or ""
        for node, role in enumerate(language.roles(traversal))
        if role == Role.FUNCTION and traversal.parents[traversal.parents[node]] == 0
    )
    return LaterBindings(functions, variables)


def complete_prefix(lexer: Lexer, name: str, language: Language) -> tuple[str, Traversal]:
    """The text up to the cursor, made complete."""
    innermost = max(depth for depth, level in enumerate(lexer.stack) if level.kind in STATEMENTS | {CLASS})
    start, tail, ending = _closed(lexer, innermost, name)
    text = f"{lexer.text[:start]}{lexer.text[tail:]}{name}{ending}"
    cursor = len(text) - len(name) - len(ending)
    endings = [""]
    for depth in range(innermost - 1, -1, -1):
        inner = lexer.stack[depth + 1]
        closer = closer_of(lexer.stack, depth + 1)
        endings.append(endings[-1] + closer + missing(lexer.stack, depth, inner.opener + inner.closer)[0])
    whole = text + endings[-1]
    for attempt in _attempts(whole, cursor):
        try:
            return attempt, language.parse(attempt, False)
        except ParseError:
            continue
    for depth, level in enumerate(lexer.stack[: innermost + 1]):
        if level.kind in STATEMENTS:
            attempt = text[statement_start(lexer.stack, depth, start) :] + endings[innermost - depth]
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


def _closed(lexer: Lexer, innermost: int, name: str) -> tuple[int, int, str]:
    """From where to where to leave out text, and what to write behind the cursor, up to the innermost block.

    Nothing is left out unless the statement is beyond repair: then its longest end that is an expression stays.
    """
    level = lexer.stack[innermost]
    start = statement_start(lexer.stack, innermost, len(lexer.text))
    for ending in islice(_endings(lexer, innermost, name), num_attempts(len(lexer.text) - start, _MOST_ENDINGS)):
        if parses(level, f"{lexer.text[start:]}{name}{ending}"):
            return start, start, ending
    if level.kind == CLASS:
        return start, len(lexer.text), "() {}"
    tails = [
        (depth, index)
        for depth in range(innermost, len(lexer.stack))
        for index in range(int(depth == innermost), len(lexer.stack[depth].tokens))
    ]
    for depth, index in tails[-_MOST_TAILS:]:
        tail = lexer.stack[depth].starts[index]
        if len(lexer.text) - tail > MAX_TAIL_CHARS:
            continue
        for ending in islice(closings(lexer.stack, depth, index, name), _MOST_TAIL_ENDINGS):
            if parses(None, f"{lexer.text[tail:]}{name}{ending}"):
                return start, tail, ending
    return start, len(lexer.text), ""


def _endings(lexer: Lexer, innermost: int, name: str) -> Iterator[str]:
    """What may stand behind the cursor to end the statement, the likeliest first."""
    if lexer.is_bare_name:
        yield CALL
    yield from closings(lexer.stack, innermost, 0, name)
