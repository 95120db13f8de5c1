"""Unfinished Python, completed into text that `ast` accepts, with as much of the original as possible.

The statement at the cursor is closed: brackets, strings, a missing `else` or `in`, the body of a header. The lines
above get a new indentation, one column for each block, so that an empty block, a `try` without `except` or an odd
indentation does no harm. Lines that still do not parse, such as the print statements of Python 2, are simplified or
left out.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice, product
from keyword import iskeyword

from rarename.errors import ParseError
from rarename.syntax.cursor import CALL, MAX_TAIL_CHARS, LaterBindings, num_attempts
from rarename.syntax.language import Language
from rarename.syntax.open_brackets import OpenBracket
from rarename.syntax.python.lexer import Lexer, Line
from rarename.syntax.python.parser import parse_ast
from rarename.syntax.python.scope import FUNCTION_TYPES
from rarename.syntax.traversal import Traversal

_MAX_ENDINGS = 12  # attempts to close the statement at the cursor
_MAX_TAILS = 24  # attempts to find the longest part of a broken statement that is an expression
_MAX_TAIL_ENDINGS = 4  # attempts to close each of these parts
_MAX_REMOVED_LINES = 8  # lines removed one by one because the parser reports an error in them

STATEMENT_END = re.compile(r"[ \t\f\r]*(?:#|\n|\Z)")
_TOP_LEVEL_STATEMENTS = (
    re.compile(r"^(?!(?:elif|else|except|finally)\b)(?:[^\W\d]|@)", re.MULTILINE),
    re.compile(r"^(?:async|class|def|from|import|@)\b", re.MULTILINE),
)
"""The start of a statement of the module: any statement, or only those that are certain."""
_DEFINITION_TYPES = FUNCTION_TYPES | {"ClassDef"}


def later_bindings(rest: str, language: Language) -> LaterBindings:
    """What the text after the cursor binds for the whole module."""
    rest = rest.partition("\n")[2]
    for start in filter(None, (pattern.search(rest) for pattern in _TOP_LEVEL_STATEMENTS)):
        try:
            traversal = language.parse(rest[start.start() :], False)
        except ParseError:
            continue
        definitions, variables = set[str](), set[str]()
        for value, type_, parent in zip(traversal.values, traversal.types, traversal.parents, strict=True):
            is_top_level, name = 0 in (parent, traversal.parents[parent]), (value or "").partition(".")[0]
            if (parent == 0 and type_ in _DEFINITION_TYPES) or (type_ == "alias" and is_top_level):
                definitions.add(name)
            elif (type_ == "NameStore" and is_top_level) or traversal.types[parent] == "Global":
                variables.add(name)
        return LaterBindings(frozenset(definitions), frozenset(variables))
    return LaterBindings()


@dataclass(frozen=True)
class _Statement:
    """The completed statement at the cursor."""

    text: str
    below: str = ""
    """A further line that it needs, with its indentation relative to the statement."""


def complete_prefix(lexer: Lexer, dummy: str, language: Language) -> tuple[str, Traversal]:
    """The text before the cursor, completed, and its tree."""
    statement = _closed_statement(lexer, dummy)
    lines = lexer.lines
    for attempt in range(_MAX_REMOVED_LINES + 1):
        layout = _Layout(lines, lexer.line, statement, dummy)
        try:
            return layout.text, language.parse(layout.text, False)
        except ParseError as error:
            if attempt == 0:
                lines = [line for line in map(_simplified, lines) if line.text]
                continue
            origin = layout.origins[min(error.line, len(layout.origins)) - 1] if error.line else -1
        if not 0 <= origin < len(lines):
            break
        del lines[origin]
    enclosing = [index for index, line in enumerate(lines) if line.opens_block and line.indent < lexer.line.indent]
    for kept in (lines[enclosing[-1] :] if enclosing else [], []):
        text = _Layout(kept, lexer.line, statement, dummy).text
        if _is_valid(text):
            return text, language.parse(text, False)
    return dummy, language.parse(dummy, False)


# -- the statement at the cursor ----------------------------------------------------------------------------


def _closed_statement(lexer: Lexer, dummy: str) -> _Statement:
    """The statement with a suffix that makes it complete, or the longest end of it that is an expression."""
    for prefix, suffixes, first in _closable_prefixes(lexer, dummy):
        for suffix in suffixes:
            statement = replace(suffix, text=f"{prefix}{dummy}{suffix.text}")
            if _parses(statement, first):
                return statement
    return _Statement(dummy)


def _closable_prefixes(lexer: Lexer, dummy: str) -> Iterator[tuple[str, Iterator[_Statement], str]]:
    """Texts before the cursor that may be closed, the suffixes to try for each, and its first token."""
    first, whole = lexer.line.first, lexer.text[lexer.line.start :]
    yield whole, islice(_suffixes(lexer, dummy), num_attempts(len(whole), _MAX_ENDINGS)), first
    head = lexer.text[lexer.line.start : lexer.statement_start] if not lexer.is_in_header else ""
    starts = [
        (depth, index)
        for depth, bracket in enumerate(lexer.stack)
        for index in range(int(depth == 0), len(bracket.tokens))  # the first token starts the whole statement
    ]
    for depth, index in starts[-_MAX_TAILS:]:
        bracket = lexer.stack[depth]
        tail = lexer.text[bracket.starts[index] :]
        if len(tail) <= MAX_TAIL_CHARS:
            stack = [OpenBracket("", "", bracket.tokens[index:]), *lexer.stack[depth + 1 :]]
            closings = islice(_closings(stack, dummy), _MAX_TAIL_ENDINGS)
            yield head + tail, map(_Statement, closings), first if head else ""
    yield head, iter([_Statement("")]), first


_CONTEXTS = {"elif": "if 0: pass\n", "else": "if 0: pass\n", "except": "try: pass\n", "finally": "try: pass\n"}


def _parses(statement: _Statement, first: str) -> bool:
    """Whether a statement parses in a context in which its first token is possible."""
    text = f"{statement.text}\n{statement.below}"
    if first == "case":
        return _is_valid(f"match 0:\n {text}") or _is_valid(text)
    return _is_valid(_CONTEXTS.get(first, "") + text + ("except: pass" if first == "try" else ""))


def _is_valid(text: str) -> bool:
    try:
        parse_ast(text)
    except ParseError:
        return False
    return True


def _suffixes(lexer: Lexer, dummy: str) -> Iterator[_Statement]:
    """What may follow the cursor and end the statement, the most probable first."""
    first, is_decorator = lexer.line.first, lexer.line.first == "@"
    body = ": pass" if lexer.is_in_header and first != "match" else ""
    if body and len(lexer.stack) == 1 and lexer.stack[0].last == "def":
        body = "(): pass"
    if lexer.is_bare_name and not is_decorator:
        yield _Statement(CALL)
    for closing in _closings(lexer.stack, dummy):
        if first in ("match", "case"):
            yield _Statement(closing)
        yield _Statement(closing + body, "def _(): pass" if is_decorator else "")
        if first == "match":
            yield _Statement(closing + ":", " case _: pass")
        if first == "from":
            yield _Statement(closing + " import _")


def _closings(stack: Sequence[OpenBracket], dummy: str) -> Iterator[str]:
    """The ends of all open brackets, from the innermost to the outermost, in all ways that are possible."""
    options = []
    for depth, bracket in enumerate(stack):
        is_innermost = depth == len(stack) - 1
        inner = dummy if is_innermost else stack[depth + 1].opener[:1] + stack[depth + 1].closer
        options.append([rest + bracket.closer for rest in _missing(bracket, inner, is_innermost)])
    # The innermost is the last factor of the product, so it varies fastest.
    return ("".join(reversed(chosen)) for chosen in product(*options))


def _missing(bracket: OpenBracket, inner: str, is_innermost: bool) -> Sequence[str]:
    """What may be missing after the last token in a bracket, before the bracket can be closed."""
    tokens = [*bracket.tokens, inner]
    is_conditional = not bracket.opener and tokens[0] in ("if", "case") and "if" in tokens  # `if a`, `case a if b`
    pending = _pending(tokens[tokens.index("if") + 1 :] if is_conditional else tokens)
    element_start = max((index + 1 for index, token in enumerate(bracket.tokens) if token == ","), default=0)
    earlier, element = tokens[:element_start], tokens[element_start:]
    if bracket.opener == "{":
        if ":" in element or element[0] == "**" or "for" in element:
            return [pending]
        is_set = earlier and ":" not in earlier and "**" not in earlier
        return [pending, pending + ": 0"] if is_set else [pending + ": 0", pending]
    if bracket.opener == "(" and is_innermost and len(element) == 1:
        return [pending, pending + "=0"]
    if element[0] == "*" and bracket.opener != "[":
        return [pending, pending + ","]
    return [pending, " else 0"] if "if" in tokens and not pending else [pending]


def _pending(tokens: Sequence[str]) -> str:
    """What the expressions in one bracket lack: the rest of `a if b`, `for a`, `lambda a`."""
    pending: list[str] = []
    in_comprehension = False
    for token in tokens:
        last = pending[-1] if pending else ""
        if token == "lambda":
            pending.append(": 0")
        elif token == "for":
            pending.append(" in 0")
            in_comprehension = True
        elif token == "if" and not in_comprehension:
            pending.append(" else 0")
        elif (token, last) in ((":", ": 0"), ("in", " in 0"), ("else", " else 0")):
            pending.pop()
        elif token == "," and last != " in 0":
            in_comprehension = False
    return "".join(reversed(pending))


# -- the lines above ----------------------------------------------------------------------------------------

_PYTHON_2_EXCEPT = re.compile(r"(except\b.*?),\s*(\w+)\s*(?=:)", re.DOTALL)
_DEFINITION = re.compile(r"(?:async\s+)?(def|class)\s+(\w+)")
_PARAMETER = re.compile(r"#[^\n]*|[:=][^\S\n]*[^\s,)]*|([^\W\d]\w*)")
"""A parameter; or its annotation or default, roughly, or a comment."""
_PLAIN_HEADERS = {"elif": "elif 0:", "else": "else:", "except": "except:", "finally": "finally:", "try": "try:"}


def _simplified(line: Line) -> Line:
    """The line if it parses by itself. Otherwise a plainer header, so that its block is kept, or no text."""
    body, below = " pass" if line.opens_block else "", "def _(): pass" if line.first == "@" else ""
    if line.first == "match" and line.opens_block:
        body, below = "", " case _: pass"
    if _parses(_Statement(line.text + body, below), line.first):
        return line
    definition = _DEFINITION.match(line.text)
    if definition and (line.opens_block or line.is_broken):
        parameters = _parameters(line.text[definition.end() :]) if definition[1] == "def" else ""
        return replace(line, opens_block=True, text=f"{definition[1]} {definition[2]}({parameters}):")
    if line.first == "except" and line.opens_block:
        modern = _PYTHON_2_EXCEPT.sub(r"\1 as \2", line.text)
        if modern != line.text and _parses(_Statement(modern + body), line.first):
            return replace(line, text=modern)
    return replace(line, text=_PLAIN_HEADERS.get(line.first, "if 0:") if line.opens_block else "")


def _parameters(text: str) -> str:
    """The probable names of the parameters in a header that does not parse.

    >>> _parameters("(self, size: int = 3 rest) -> list[int]:")
    'self, size, rest'
    """
    names = _PARAMETER.findall(text.partition("->")[0])
    return ", ".join(dict.fromkeys(name for name in names if name and not iskeyword(name)))


_CLAUSE_HEADS = {
    "elif": {"if", "elif"},
    "else": {"if", "elif", "for", "while", "except", "async"},
    "except": {"try", "except"},
    "finally": {"try", "except", "else"},
}
"""The clauses of compound statements, and the headers that may precede each."""


class _Layout:
    """Lines and the statement at the cursor with a new indentation: one column for each block around them."""

    def __init__(self, lines: Sequence[Line], last: Line, statement: _Statement, dummy: str) -> None:
        self.rows: list[str] = []
        self.origins: list[int] = []
        """For each row of the new text the index of its line."""
        self._indents = [0]
        self._heads = [""]
        """The first token of the last statement in each open block."""
        self._expects_body = False
        for origin, line in enumerate(lines):
            self._add(line, origin, orphan="pass")
        self._add(replace(last, opens_block=False, text=statement.text), len(lines), orphan=dummy)
        if statement.below:
            self._write(statement.below, len(lines))
        while self._indents:
            self._close_block()
        self.text = "\n".join(self.rows) + "\n"

    def _add(self, line: Line, origin: int, orphan: str) -> None:
        """Add a line, or the orphan in place of a clause that belongs to no statement."""
        text = line.text
        if self._expects_body and line.indent > self._indents[-1]:
            self._indents.append(line.indent)
            self._heads.append("")
        elif self._expects_body:
            self.rows[-1] += " pass"
        while line.indent < self._indents[-1] and len(self._indents) > 1:
            self._close_block()
        if line.first not in _CLAUSE_HEADS:
            self._end_try()
        elif self._heads[-1] not in _CLAUSE_HEADS[line.first]:
            text = "if 0:" if line.opens_block else orphan
        self._heads[-1] = line.first
        self._expects_body = line.opens_block
        self._write(text, origin)

    def _close_block(self) -> None:
        self._end_try()
        self._indents.pop()
        self._heads.pop()

    def _end_try(self) -> None:
        """Give a `try` the handler that it lacks."""
        if self._heads[-1] == "try":
            self._write("except: pass", -1)

    def _write(self, text: str, origin: int) -> None:
        self.rows.append(" " * (len(self._indents) - 1) + text)
        self.origins += [origin] * (text.count("\n") + 1)
