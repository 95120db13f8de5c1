"""Unfinished Python, completed into text that `ast` accepts, with as much of the original as possible.

The statement at the cursor is closed: brackets, strings, a missing `else` or `in`, the body of a header. The lines
above get a new indentation, one column for each block, so that an empty block, a `try` without `except` or an odd
indentation does no harm. Lines that still do not parse, such as the print statements of Python 2, are simplified or
left out.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice, product, takewhile

from rarename.errors import ParseError
from rarename.syntax.cursor import CALL, MAX_TAIL_CHARS, LaterBindings, num_attempts
from rarename.syntax.language import Language
from rarename.syntax.open_brackets import OpenBracket
from rarename.syntax.python.lexer import Lexer, Line
from rarename.syntax.python.node_types import DEFINITION_TYPES
from rarename.syntax.python.parser import parse_ast
from rarename.syntax.traversal import Traversal

_MAX_ENDINGS = 12  # attempts to close the statement at the cursor
_MAX_TAILS = 24  # attempts to find the longest part of a broken statement that is an expression
_MAX_TAIL_ENDINGS = 4  # attempts to close each of these parts
_MAX_LAYOUTS = 10  # attempts to make the lines above parse

STATEMENT_END = re.compile(r"[ \t\f\r]*(?:#|\n|\Z)")
_TOP_LEVEL_STATEMENT = re.compile(r"^(?!(?:elif|else|except|finally)\b)(?:[^\W\d]|@)", re.MULTILINE)


def later_bindings(rest: str, language: Language) -> LaterBindings:
    """What the text after the cursor binds for the whole module."""
    rest = rest.partition("\n")[2]
    for start in islice(_TOP_LEVEL_STATEMENT.finditer(rest), 2):  # the first may belong to what was left out
        try:
            traversal = language.parse(rest[start.start() :], False)
        except ParseError:
            continue
        definitions, variables = set[str](), set[str]()
        for value, type_, parent in zip(traversal.values, traversal.types, traversal.parents, strict=True):
            is_top_level, name = 0 in (parent, traversal.parents[parent]), (value or "").partition(".")[0]
            if type_ in DEFINITION_TYPES and is_top_level:
                definitions.add(name)
            elif (type_ == "NameStore" and is_top_level) or traversal.types[parent] == "Global":
                variables.add(name)
        return LaterBindings(frozenset(definitions), frozenset(variables))
    return LaterBindings()


def complete_prefix(lexer: Lexer, dummy: str, language: Language) -> tuple[str, Traversal]:
    """The text before the cursor, completed, and its tree."""
    statements = ((text, first) for text, first in _closed_statements(lexer, dummy) if _parses(text, first))
    statement, first = next(statements, (dummy, ""))
    last = Line(0, lexer.line.indent, first, statement)
    text = _layout([*lexer.lines, last])
    for attempt in range(_MAX_LAYOUTS):
        try:
            return text, language.parse(text, False)
        except ParseError as error:
            if attempt == 0:
                text = _layout([*map(_simplified, lexer.lines), last])
            else:
                text = _without_row(text, error.line, dummy)
    text = statement if _is_valid(statement) else dummy
    return text, language.parse(text, False)


# -- the statement at the cursor ----------------------------------------------------------------------------


def _closed_statements(lexer: Lexer, dummy: str) -> Iterator[tuple[str, str]]:
    """The statement with possible endings, then its tails as expressions; each with its first token."""
    first, whole = lexer.line.first, lexer.text[lexer.line.start :] + dummy
    if lexer.is_bare_name:
        yield whole + CALL, first
    ends = [":"] if lexer.is_in_header else [""]
    if first in ("match", "case"):
        ends = ["", ":"]
    elif first == "from":
        ends = ["", " import _"]
    elif lexer.is_in_header and len(lexer.stack) == 1 and lexer.stack[0].last == "def":
        ends = ["():"]
    endings = (closing + end for closing in _closings(lexer.stack) for end in ends)
    for ending in islice(endings, num_attempts(len(whole), _MAX_ENDINGS)):
        yield whole + ending, first
    head = lexer.text[lexer.line.start : lexer.statement_start]
    starts = [start for bracket in lexer.stack for start in bracket.starts]
    for start in [*starts[1:][-_MAX_TAILS:], len(lexer.text)]:  # the first token starts the whole statement
        tail = lexer.text[start:]
        if len(tail) <= MAX_TAIL_CHARS:
            for closing in islice(_closings(Lexer(tail).stack), _MAX_TAIL_ENDINGS):
                yield head + tail + dummy + closing, first if head else ""


def _closings(stack: Sequence[OpenBracket]) -> Iterator[str]:
    """The ends of all open brackets, from the innermost to the outermost, in every possible combination."""
    options = [[rest + bracket.closer for rest in _missing(bracket)] for bracket in stack]
    # The innermost is the last factor of the product, so it varies fastest.
    return ("".join(reversed(chosen)) for chosen in product(*options))


def _missing(bracket: OpenBracket) -> list[str]:
    """What may be missing after the last token in a bracket, before the bracket can be closed."""
    rests = {"if": " else 0", "for": " in 0", "lambda": ": 0"}
    missing = ["", *(rest for token, rest in rests.items() if token in bracket.tokens)]
    element = list(takewhile(lambda token: token != ",", reversed(bracket.tokens)))
    if bracket.opener == "{" and ":" not in element:  # more dicts than sets are written
        return [rest + ": 0" for rest in missing] + missing
    if bracket.opener == "(" and not element:
        missing.append("=0")
    return missing


_CONTEXTS = {"except": "try: pass\n", "finally": "try: pass\n", "case": "match 0:\n "}
_CONTEXTS |= dict.fromkeys(("elif", "else"), "if 0: pass\n")


def _parses(text: str, first: str) -> bool:
    """Whether a statement parses in a context in which its first token is possible."""
    text += _body(text, first) + ("\nexcept: pass" if first == "try" else "")
    return any(_is_valid(context + text) for context in {_CONTEXTS.get(first, ""), ""})


def _body(text: str, first: str) -> str:
    """What must follow a header or a decorator."""
    if first == "@":
        return "\ndef _(): pass"
    if not text.endswith(":"):
        return ""
    return "\n case _: pass" if first == "match" else " pass"


def _is_valid(text: str) -> bool:
    try:
        parse_ast(text)
    except ParseError:
        return False
    return True


# -- the lines above ----------------------------------------------------------------------------------------

_PYTHON_2_EXCEPT = re.compile(r"(except\b.*?),\s*+(\w++)\s*+:", re.DOTALL)
_DEFINITION = re.compile(r"(?:async\s+)?(def|class)\s+(\w+)")
_PARAMETER = re.compile(r"[(,]\s*\**([^\W\d]\w*)")


def _simplified(line: Line) -> Line:
    """The line if it parses alone. Otherwise a simpler header, so that its block is kept, or no text."""
    found = _PYTHON_2_EXCEPT.match(line.text)
    for text in (line.text, *([f"{found[1]} as {found[2]}:{line.text[found.end() :]}"] if found else [])):
        if _parses(text, line.first):
            return replace(line, text=text)
    if definition := _DEFINITION.match(line.text):
        names = dict.fromkeys(_PARAMETER.findall(line.text) if definition[1] == "def" else ())
        return replace(line, text=f"{definition[1]} {definition[2]}({', '.join(names)}):")
    return replace(line, first="if", text="if 0:" if line.text.endswith(":") else "")


def _layout(lines: Iterable[Line]) -> str:
    """Lines with a new indentation, one column for each block, and with what the blocks lack."""
    rows: list[str] = []
    indents = [0]
    heads = [""]  # the first token of the last statement in each open block

    def write(text: str) -> None:
        rows.append(" " * (len(indents) - 1) + text)

    def end_try() -> None:
        if heads[-1] == "try":
            write("except: pass")

    for line in lines:
        if not line.text:
            continue
        if rows and rows[-1].endswith(":"):
            if line.indent > indents[-1]:
                indents.append(line.indent)
                heads.append("")
            else:
                rows[-1] += " pass"
        while line.indent < indents[-1]:
            end_try()
            del indents[-1], heads[-1]
        if line.first not in ("except", "finally"):
            end_try()
        heads[-1] = line.first
        write(line.text)
    rows[-1] += _body(line.text, line.first).replace("\n", "\n" + " " * (len(indents) - 1))
    while heads:
        end_try()
        del indents[-1], heads[-1]
    return "\n".join(rows) + "\n"


def _without_row(text: str, number: int, dummy: str) -> str:
    """The text with a row without meaning instead of the one that the parser rejects."""
    rows = text.split("\n")
    index = min(number, len(rows)) - 1
    while index > 0 and rows[index].strip() in ("", "pass", "if 0:", dummy):  # the cause is above
        index -= 1
    row = rows[index].lstrip()
    header = "if 0:" if row.endswith(":") else "pass"
    rows[index] = rows[index].removesuffix(row) + (dummy if dummy in row else header)
    return "\n".join(rows)
