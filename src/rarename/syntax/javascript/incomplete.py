"""Unfinished JavaScript completed to text that the parser accepts, with as much of the original as possible.

Everything that is open at the cursor is closed: brackets, templates, elements of JSX, and before each of them what the
construct lacks, such as the `: …` of a conditional, the body of a loop or the `catch` of a `try`. Statements above the
cursor that still do not parse are left out. If that does not help, everything outside the function is.
"""

import re
from collections.abc import Iterator
from itertools import accumulate, chain, islice

from rarename.errors import ParseError
from rarename.syntax.cursor import CALL, MAX_TAIL_CHARS, LaterBindings, num_attempts
from rarename.syntax.javascript.closing import Kind, closings, missing, parses, statement_start
from rarename.syntax.javascript.cst import ERROR, ConcreteTree, concrete_tree
from rarename.syntax.javascript.lexer import Lexer
from rarename.syntax.language import Language
from rarename.syntax.traversal import Role, Traversal

_MAX_ENDINGS = 16  # attempts to close one statement
_MAX_TAILS = 24  # parts of a broken statement that are tried, the longest first
_MAX_TAIL_ENDINGS = 4  # attempts to close each of these parts
_MAX_BLOCKS = 16  # blocks around the cursor that are tried alone, the innermost ones
_MAX_REPAIRS = 5  # passes that leave out broken statements above the cursor

STATEMENT_END = re.compile(r"[^\S\n]*(?:;|\}|\Z|(?://[^\n]*)?\n\s*(?:[\w$}]|//|/\*|\Z))")
"""What ends a statement, including the end of a line that counts as a semicolon: no operator may follow that."""
_DECLARATION = re.compile(r"^(?:export\s+(?:default\s+)?)?(?:var|let|const|class)\s+([\w$]+)", re.MULTILINE)
"""A variable or class of the whole file: it is declared at the beginning of a line."""


def later_bindings(rest: str, language: Language) -> LaterBindings:
    """What the text after the cursor binds for the whole file."""
    rest = rest.partition("\n")[2]
    variables = frozenset(found[1] for found in _DECLARATION.finditer(rest))
    try:
        tree = language.parse(rest, True)
    except ParseError:
        return LaterBindings(variables=variables)
    names = [node for node, role in enumerate(language.roles(tree)) if role == Role.FUNCTION]
    functions = frozenset(tree.values[node] or "" for node in names if tree.parents[tree.parents[node]] == 0)
    return LaterBindings(functions, variables)


def complete_prefix(lexer: Lexer, name: str, language: Language) -> tuple[str, Traversal]:
    """The text up to the cursor, completed, and its tree."""
    stack = lexer.stack
    innermost = max(d for d, bracket in enumerate(stack) if bracket.is_body)
    start, tail, ending = _closed_statement(lexer, innermost, name)
    before = lexer.text[:start] + lexer.text[tail:]
    text = before + name + ending
    closers = list[str]()  # what closes the brackets around the statement, from the innermost on
    for depth in range(innermost - 1, -1, -1):
        inner = stack[depth + 1].opener + stack[depth + 1].closer
        closers.append(stack[depth + 1].closer + missing(stack, depth, inner)[0])
    blocks = [depth for depth, bracket in enumerate(stack[: innermost + 1]) if bracket.has_statements]
    parts = (
        text[statement_start(stack, depth, start) :] + "".join(closers[: innermost - depth])
        for depth in blocks[-_MAX_BLOCKS:]
    )
    for attempt in chain(_without_broken_statements(text + "".join(closers), len(before.encode())), parts):
        try:
            return attempt, language.parse(attempt, False)
        except ParseError:
            continue
    return name, language.parse(name, False)


def _without_broken_statements(text: str, limit: int) -> Iterator[str]:
    """The text, then the text with blanks for broken statements that end before a byte."""
    source = text.encode()
    for _ in range(_MAX_REPAIRS):
        yield source.decode()
        try:
            tree = concrete_tree(source)
        except ParseError:
            return
        changed = bytearray(source)
        for start, end in _broken_statements(tree, limit):
            changed[start:end] = re.sub(rb"[^\n]", b" ", changed[start:end])
        if changed == source:
            return
        source = bytes(changed)


def _broken_statements(tree: ConcreteTree, limit: int) -> list[tuple[int, int]]:
    """The smallest statements that hold an error and end before a byte, without those inside another."""
    parents, seen = tree.parents(), set[int]()
    found = list[tuple[int, int]]()
    for node in tree.errors:
        while node > 0 and node not in seen and not _is_statement(tree, node):
            seen.add(node)
            node = parents[node]
        if node > 0 and node not in seen and tree.ends[node] <= limit:
            found.append((tree.starts[node], tree.ends[node]))
        seen.add(node)
    ordered = sorted(found, key=lambda each: (each[0], -each[1]))
    reached = accumulate((end for _, end in ordered), max, initial=0)
    return [each for each, last in zip(ordered, reached, strict=False) if each[1] > last]


def _is_statement(tree: ConcreteTree, node: int) -> bool:
    is_statement = tree.kinds[node].endswith(("_statement", "_declaration", "_definition", ERROR))
    return is_statement and tree.starts[node] < tree.ends[node]


def _closed_statement(lexer: Lexer, innermost: int, name: str) -> tuple[int, int, str]:
    """Where the text to leave out starts and ends, and what to write after the name, up to the innermost block.

    Nothing is left out unless the statement cannot be completed. Then its longest end that is an expression stays.
    """
    stack, text = lexer.stack, lexer.text
    bracket = stack[innermost]
    start = statement_start(stack, innermost, len(text))
    endings = chain([CALL] if lexer.is_bare_name else [], closings(stack, innermost, 0, name))
    for ending in islice(endings, num_attempts(len(text) - start, _MAX_ENDINGS)):
        if parses(bracket, f"{text[start:]}{name}{ending}"):
            return start, start, ending
    if bracket.kind is Kind.CLASS:
        return start, len(text), "() {}"
    tails = [
        (depth, index)
        for depth in range(innermost, len(stack))
        for index in range(int(depth == innermost), len(stack[depth].tokens))
    ]
    for depth, index in tails[-_MAX_TAILS:]:
        tail = stack[depth].starts[index]
        if len(text) - tail > MAX_TAIL_CHARS:
            continue
        for ending in islice(closings(stack, depth, index, name), _MAX_TAIL_ENDINGS):
            if parses(None, f"{text[tail:]}{name}{ending}"):
                return start, tail, ending
    return start, len(text), ""
