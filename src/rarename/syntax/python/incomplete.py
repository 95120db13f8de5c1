"""Unfinished Python made into text that `ast` takes, with as much of the user's own as possible.

First the whole text is tried, with a made-up name at the cursor. If that does not parse, what stands behind the
cursor is left out, and the rest is mended in two parts. The statement at the cursor is closed: brackets, strings, a
missing `else` or `in`, the body of a header. The lines above get the brackets and colons that they lack, and are laid
out anew, one column a block, so that a block without a body, a `try` without `except` and an odd indentation do no
harm. Lines that still are in the way, such as the print statements of Python 2, are left out.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice, product
from keyword import iskeyword

from rarename.errors import ParseError
from rarename.syntax.cursor import CALL, MAX_TAIL_CHARS, LaterBindings, num_attempts
from rarename.syntax.language import Language
from rarename.syntax.open_brackets import OpenBracket
from rarename.syntax.python.lexer import Lexer, Line
from rarename.syntax.python.reading import syntax_tree
from rarename.syntax.traversal import Role, Traversal

_MOST_ENDINGS = 12
"""Ways to close one statement that are tried."""
_MOST_TAILS = 24
"""Parts of a broken statement that are tried, the longest first."""
_MOST_TAIL_ENDINGS = 4
"""Ways to close each of these parts that are tried."""
_MOST_BLAMED_LINES = 8
"""Lines that are left out one by one, because the parser blames them."""

STATEMENT_END = re.compile(r"[ \t\f\r]*(?:#|\n|\Z)")
_OUTERMOST = (
    re.compile(r"^(?!(?:elif|else|except|finally)\b)(?:[^\W\d]|@)", re.MULTILINE),
    re.compile(r"^(?:async|class|def|from|import|@)\b", re.MULTILINE),
)
"""Where a statement begins that stands in no other: any one; if that is misleading, one that is certain."""
_DEFINED = frozenset({Role.FUNCTION, Role.CLASS})


@dataclass(frozen=True)
class _Statement:
    """The mended line of the cursor, and the lines that it needs below, each with its depth relative to it."""

    text: str
    below: tuple[tuple[int, str], ...] = ()
    name: str = ""
    """The made-up name, which takes the place of the text where a line of its kind cannot stand."""


def later_bindings(rest: str, language: Language) -> LaterBindings:
    """What the text behind the cursor binds for the whole file."""
    rest = rest.partition("\n")[2]
    for start in filter(None, (pattern.search(rest) for pattern in _OUTERMOST)):
        try:
            return _names_bound_outermost(language.parse(rest[start.start() :], False), language)
        except ParseError:
            continue
    return LaterBindings()


def _names_bound_outermost(traversal: Traversal, language: Language) -> LaterBindings:
    """What the statements of a module bind that stand in no other."""
    definitions, variables = set(), set()
    for node, role in enumerate(language.roles(traversal)):
        parent = traversal.parents[node]
        is_outermost = 0 in (parent, traversal.parents[parent])
        name = (traversal.values[node] or "").partition(".")[0]
        if (role in _DEFINED and parent == 0) or (traversal.types[node] == "alias" and is_outermost):
            definitions.add(name)
        elif (traversal.types[node] == "NameStore" and is_outermost) or traversal.types[parent] == "Global":
            variables.add(name)
    return LaterBindings(frozenset(definitions), frozenset(variables))


def complete_prefix(lexer: Lexer, name: str, language: Language) -> tuple[str, Traversal]:
    """The text up to the cursor, made complete."""
    statement = replace(_closed_statement(lexer, name) or _tail(lexer, name), name=name)
    lines = [(line, lexer.text[line.start : line.end] + line.lacks) for line in lexer.lines]
    text, _ = _layout(lines, lexer.line, statement)
    try:
        return text, language.parse(text, False)
    except ParseError:
        lines = [(line, text) for line, text in map(_respelled, lines) if text]
    for _ in range(_MOST_BLAMED_LINES):
        text, origins = _layout(lines, lexer.line, statement)
        try:
            return text, language.parse(text, False)
        except ParseError as error:
            blamed = origins[min(error.line, len(origins)) - 1] if error.line else -1
        if not 0 <= blamed < len(lines):
            break
        del lines[blamed]
    for start in (_enclosing_block(lines, lexer.line), len(lines)):
        text, _ = _layout(lines[start:], lexer.line, statement)
        try:
            return text, language.parse(text, False)
        except ParseError:
            continue
    return name, language.parse(name, False)


def _enclosing_block(lines: Sequence[tuple[Line, str]], at: Line) -> int:
    """The index of the line that opens the innermost block around the cursor's line."""
    for index in range(len(lines) - 1, -1, -1):
        line, _ = lines[index]
        if line.opens_block and line.indent < at.indent:
            return index
    return len(lines)


# -- the statement at the cursor ----------------------------------------------------------------------------


def _closed_statement(lexer: Lexer, name: str) -> _Statement | None:
    """The statement with what it lacks behind the cursor; None when nothing helps."""
    text = lexer.text[lexer.line.start :]
    for ending in islice(_endings(lexer, name), num_attempts(len(text), _MOST_ENDINGS)):
        statement = replace(ending, text=f"{text}{name}{ending.text}")
        if _parses(statement, lexer.line.first):
            return statement
    return None


def _tail(lexer: Lexer, name: str) -> _Statement:
    """The end of a statement that cannot be closed: the longest part that is an expression."""
    starts = [
        (depth, index) for depth, level in enumerate(lexer.stack) for index in range(int(depth == 0), len(level.tokens))
    ]
    head = lexer.text[lexer.line.start : lexer.simple_start] if not lexer.is_header else ""
    for depth, index in starts[-_MOST_TAILS:]:
        level = lexer.stack[depth]
        levels = [OpenBracket("", "", level.tokens[index:]), *lexer.stack[depth + 1 :]]
        tail = lexer.text[level.starts[index] :]
        if len(tail) > MAX_TAIL_CHARS:
            continue
        for ending in islice(_closings(levels, name), _MOST_TAIL_ENDINGS):
            statement = _Statement(f"{head}{tail}{name}{ending}")
            if _parses(statement, lexer.line.first if head else ""):
                return statement
    statement = _Statement(head + name)
    return statement if _parses(statement, lexer.line.first) else _Statement(name)


_CONTEXTS = {"elif": "if 0: pass\n", "else": "if 0: pass\n", "except": "try: pass\n", "finally": "try: pass\n"}
_CASE_CONTEXT = "match 0:\n"


def _parses(statement: _Statement, first: str) -> bool:
    """Whether a statement parses where its first word may stand."""
    depth = int(first == "case")
    context = _CASE_CONTEXT if first == "case" else _CONTEXTS.get(first, "")
    lines = [(depth, statement.text), *((depth + deeper, text) for deeper, text in statement.below)]
    if first == "try":
        lines.append((depth, "except: pass"))
    text = context + "\n".join(" " * indent + line for indent, line in lines)
    return _is_python(text) or (first == "case" and _is_python(statement.text))


def _is_python(text: str) -> bool:
    try:
        syntax_tree(text, "exec")
    except ParseError:
        return False
    return True


def _endings(lexer: Lexer, name: str) -> Iterator[_Statement]:
    """What may stand behind the cursor to end the statement, the likeliest first."""
    tokens, is_inner = lexer.stack[0].tokens, len(lexer.stack) > 1
    first, last = lexer.line.first, tokens[-1:] if not is_inner else ["()"]
    below: tuple[tuple[int, str], ...] = ()
    colon = ""
    if first == "@":
        below = ((0, "def _(): pass"),)
    elif lexer.is_header and first != "match":
        colon = "(): pass" if last == ["def"] else ": pass"
    if lexer.is_bare_name and first != "@":
        yield _Statement(CALL)
    for ending in _closings(lexer.stack, name):
        if first in ("match", "case"):
            yield _Statement(ending)
        yield _Statement(ending + colon, below)
        if first == "match":
            yield _Statement(ending + ":", ((1, "case _: pass"),))
        if first == "from":
            yield _Statement(ending + " import _")


def _closings(levels: Sequence[OpenBracket], name: str) -> Iterator[str]:
    """The ends of all levels, from the innermost to the outermost, in all ways that may be meant."""
    options: list[Sequence[str]] = []
    for depth in range(len(levels) - 1, -1, -1):
        level = levels[depth]
        is_innermost = depth == len(levels) - 1
        inner = name if is_innermost else levels[depth + 1].opener[:1] + levels[depth + 1].closer
        missing = _missing(level, inner, is_innermost)
        options.append([part + level.closer for part in missing])
    # The last factor of a product varies fastest: that shall be the innermost level.
    return ("".join(reversed(chosen)) for chosen in product(*reversed(options)))


def _missing(level: OpenBracket, inner: str, is_innermost: bool) -> Sequence[str]:
    """What a level lacks behind its last token, before it can be closed."""
    tokens = [*level.tokens, inner]
    pending = "".join(reversed(_pending(tokens if level.opener else tokens[_num_leading(tokens) :])))
    last_comma = max((index for index, token in enumerate(level.tokens) if token == ","), default=-1)
    entry = tokens[last_comma + 1 :]
    if level.opener == "{":
        is_dict = ":" in tokens[: last_comma + 1] or "**" in tokens[: last_comma + 1]
        if ":" in entry or entry[0] == "**" or "for" in entry:
            return [pending]
        if last_comma >= 0:
            return [pending + ": 0", pending] if is_dict else [pending, pending + ": 0"]
        return [pending + ": 0", pending]
    if level.opener == "(" and is_innermost and len(entry) == 1:
        return [pending, pending + "=0"]
    if entry[0] == "*" and level.opener != "[":
        return [pending, pending + ","]
    return [pending, " else 0"] if "if" in tokens and not pending else [pending]


def _num_leading(tokens: Sequence[str]) -> int:
    """Tokens at the start of a statement whose last one looks like a part of an expression: `if`, `case a if`."""
    if tokens[0] == "case" and "if" in tokens:
        return tokens.index("if") + 1
    return int(tokens[0] in ("if", "elif", "while"))


def _pending(tokens: Iterable[str]) -> list[str]:
    """What the expressions at one level lack: the rest of `a if b`, `for a`, `lambda a`."""
    pending: list[str] = []
    in_comprehension = False
    for token in tokens:
        top = pending[-1] if pending else ""
        if token == "lambda":
            pending.append(": 0")
        elif token == "for":
            pending.append(" in 0")
            in_comprehension = True
        elif token == "if" and not in_comprehension:
            pending.append(" else 0")
        elif (token, top) in ((":", ": 0"), ("in", " in 0"), ("else", " else 0")):
            pending.pop()
        elif token == "," and top != " in 0":
            in_comprehension = False
    return pending


# -- the lines above ----------------------------------------------------------------------------------------

_PYTHON_2_EXCEPT = re.compile(r"(except\b.*?),\s*(\w+)\s*(?=:)", re.DOTALL)
_DEFINITION = re.compile(r"(?:async\s+)?(def|class)\s+(\w+)")
_PARAMETER = re.compile(r"#[^\n]*|[:=][^\S\n]*[^\s,)]*|([^\W\d]\w*)")
"""A parameter; or its annotation or default value, roughly, or a comment."""
_PLAIN_HEADERS = {"elif": "elif 0:", "else": "else:", "except": "except:", "finally": "finally:", "try": "try:"}


def _respelled(entry: tuple[Line, str]) -> tuple[Line, str]:
    """A line that does not parse by itself goes; its header stays in a plainer form, so that its block stays."""
    line, text = entry
    body = " pass" if line.opens_block else ""
    below = ((0, "def _(): pass"),) if line.first == "@" else ()
    if line.first == "match" and line.opens_block:
        body, below = "", ((1, "case _: pass"),)
    if _parses(_Statement(text + body, below), line.first):
        return line, text
    definition = _DEFINITION.match(text)
    if definition and (line.opens_block or line.is_broken):
        parameters = _parameters(text[definition.end() :]) if definition[1] == "def" else ""
        return replace(line, opens_block=True), f"{definition[1]} {definition[2]}({parameters}):"
    if not line.opens_block:
        return line, ""
    if line.first == "except":
        modern = _PYTHON_2_EXCEPT.sub(r"\1 as \2", text)
        if modern != text and _parses(_Statement(modern + body), line.first):
            return line, modern
    return line, _PLAIN_HEADERS.get(line.first, "if 0:")


def _parameters(text: str) -> str:
    """The names of the parameters in a header that does not parse, as far as can be told.

    >>> _parameters("(self, size: int = 3 rest) -> list[int]:")
    'self, size, rest'
    """
    names = _PARAMETER.findall(text.partition("->")[0])
    return ", ".join(dict.fromkeys(name for name in names if name and not iskeyword(name)))


_NEXT_CLAUSES = {
    "if": {"elif", "else"},
    "elif": {"elif", "else"},
    "for": {"else"},
    "while": {"else"},
    "try": {"except", "finally"},
    "except": {"except", "else", "finally"},
    "else": {"finally"},
    "async": {"else"},
}
_CLAUSES = frozenset({"elif", "else", "except", "finally"})


class _Layout:
    """Lines laid out anew, one column for each block that they stand in."""

    def __init__(self) -> None:
        self.rows: list[str] = []
        self.origins: list[int] = []
        """For each row of the new text the index of the line that it is from."""
        self.indents = [0]
        self.heads = [""]
        """The first word of the last statement in each open block."""
        self.expects_body = False

    def add(self, line: Line, text: str, origin: int, plain: str = "pass") -> None:
        """One more line; the plain text takes its place if it is a clause that belongs to no statement."""
        if self.expects_body and line.indent > self.indents[-1]:
            self.indents.append(line.indent)
            self.heads.append("")
        elif self.expects_body:
            self.rows[-1] += " pass"
        while line.indent < self.indents[-1] and len(self.indents) > 1:
            self._close_block()
        if line.first in _CLAUSES:
            if line.first not in _NEXT_CLAUSES.get(self.heads[-1], ()):
                text = "if 0:" if line.opens_block else plain
        else:
            self._end_try()
        self.heads[-1] = line.first
        self.expects_body = line.opens_block
        self._write(text, origin)

    def finish(self, statement: _Statement, line: Line, origin: int) -> None:
        """The last line, and the end of all blocks."""
        self.add(replace(line, opens_block=False), statement.text, origin, statement.name)
        for deeper, text in statement.below:
            self._write(" " * deeper + text, origin)
        while self.indents:
            self._close_block()

    def _close_block(self) -> None:
        self._end_try()
        self.indents.pop()
        self.heads.pop()

    def _end_try(self) -> None:
        """Give a `try` the handler that it lacks."""
        if self.heads[-1] == "try":
            self._write("except: pass", -1)

    def _write(self, text: str, origin: int) -> None:
        self.rows.append(" " * (len(self.indents) - 1) + text)
        self.origins += [origin] * (text.count("\n") + 1)


def _layout(lines: Sequence[tuple[Line, str]], last: Line, statement: _Statement) -> tuple[str, list[int]]:
    """The text of all lines, and for each row of it the index of the line that it is from."""
    layout = _Layout()
    for index, (line, text) in enumerate(lines):
        layout.add(line, text, index)
    layout.finish(statement, last, len(lines))
    return "\n".join(layout.rows) + "\n", layout.origins
