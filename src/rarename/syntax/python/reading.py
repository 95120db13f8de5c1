"""Bytes to text to the tree of `ast`, and why a file could not be read."""

import ast
import io
import re
import tokenize
from typing import Any

from rarename.errors import ParseError
from rarename.syntax.language import silenced_warnings


def encoding(data: bytes) -> str:
    """The encoding of a file, by its byte order mark or coding cookie (PEP 263), else UTF-8."""
    # A cookie may stand in a file with the line ends of an old Mac, which `tokenize` does not know.
    head = data[:1000].replace(b"\r", b"\n") if b"\r" in data[:1000] else data
    try:
        return tokenize.detect_encoding(io.BytesIO(head).readline)[0]
    except SyntaxError as problem:
        raise ParseError("not text in a known encoding", str(problem)) from None


def syntax_tree(text: str, mode: str) -> Any:
    """The tree of `ast`; every way in which that fails becomes a ParseError."""
    if "\0" in text:
        raise ParseError("null bytes", line=text[: text.index("\0")].count("\n") + 1)
    try:
        with silenced_warnings():
            return ast.parse(text, mode=mode)
    except SyntaxError as problem:
        raise _failure(problem, text) from None
    except (RecursionError, MemoryError) as problem:
        raise ParseError("nested too deeply", type(problem).__name__) from None
    except UnicodeError as problem:
        raise ParseError("not text in a known encoding", str(problem)) from None
    except (ValueError, OverflowError, SystemError) as problem:
        raise ParseError("syntax error", str(problem)) from None


_PYTHON_2_MESSAGE = re.compile(
    r"""
    Missing\ parentheses\ in\ call\ to\ '(?:print|exec)'
  | multiple\ exception\ types\ must\ be\ parenthesized      # except E, e
  | leading\ zeros\ in\ decimal\ integer\ literals           # 0777
  | inconsistent\ use\ of\ tabs
  | \(unicode\ error\)\ 'unicodeescape'(?!.*\\x)           # '\user' is no escape there
  | (?:Function|Lambda\ expression)\ parameters\ cannot\ be\ parenthesized
    """,
    re.VERBOSE,
)
_PYTHON_2_LINE = re.compile(  # the NUL marks the place that the parser blames
    r"""
    \0(?: <> | ` )
  | \b[uU][rR]\0["']
  | \braise\b.*\0,
  | \0[0-9a-fA-F][lL]\b                              # 10L
  | \b(?:def|lambda)\b.*[(,]\s*\0\(                  # def f(a, (b, c)=d)
  | \0(?:async|await)\s*[=.,)] | \b(?:async|await)\s*\0[=.,)]
    """,
    re.VERBOSE,
)


def _failure(problem: SyntaxError, text: str) -> ParseError:
    """The reason for which `ast` refused a text; whether Python 2 would take it is a good guess."""
    message, line = problem.msg or "", problem.lineno or 0
    if message.startswith(("too many nested", "too many levels")):
        return ParseError("nested too deeply", message, line)
    lines = text.split("\n")
    blamed = lines[line - 1] if 0 < line <= len(lines) else ""
    column = max((problem.offset or 0) - 1, 0)
    marked = f"{blamed[:column]}\0{blamed[column:]}"
    if _PYTHON_2_MESSAGE.match(message) or _PYTHON_2_LINE.search(marked):
        return ParseError("Python 2 only", message, line)
    return ParseError("syntax error", message, line)
