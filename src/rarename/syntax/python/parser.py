"""Bytes to text, text to the tree of `ast`, that tree to a traversal."""

import ast
import gc
import io
import re
import tokenize

from rarename.errors import ParseError
from rarename.syntax.language import check_deadline, suppressed_warnings
from rarename.syntax.python.positions import Source
from rarename.syntax.python.walker import walk
from rarename.syntax.traversal import Traversal


def encoding(data: bytes) -> str:
    """The encoding of a file, by its byte order mark or coding cookie (PEP 263), else UTF-8."""
    # `tokenize` does not find a cookie in a file whose lines end with `\r` alone.
    head = data[:1000].replace(b"\r", b"\n") if b"\r" in data[:1000] else data
    try:
        return tokenize.detect_encoding(io.BytesIO(head).readline)[0]
    except SyntaxError as error:
        raise ParseError("not text in a known encoding", str(error)) from None


def parse(text: str, tolerant: bool = False) -> Traversal:
    """Parse a text. `ast` cannot recover from errors, so `tolerant` changes nothing.

    A byte order mark is dropped and all line ends become `\\n`; columns count without them.
    """
    text = text.removeprefix("\ufeff")
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    was_enabled = gc.isenabled()
    gc.disable()  # parsing makes no cycles: the collector would traverse the growing tree for nothing
    try:
        return walk(parse_ast(text), Source(text))
    finally:
        if was_enabled:
            gc.enable()


def parse_ast(text: str) -> ast.Module:
    """The tree of `ast`; every failure becomes a ParseError."""
    check_deadline()
    if "\0" in text:
        raise ParseError("null bytes", line=text[: text.index("\0")].count("\n") + 1)
    _refuse_slow_names(text)
    try:
        with suppressed_warnings():
            return ast.parse(text)
    except SyntaxError as error:
        raise _parse_error(error, text) from None
    except (RecursionError, MemoryError) as error:
        raise ParseError("nested too deeply", type(error).__name__) from None
    except UnicodeError as error:
        raise ParseError("not text in a known encoding", str(error)) from None
    except (ValueError, OverflowError, SystemError) as error:
        raise ParseError("syntax error", str(error)) from None


def check_scopes(text: str) -> None:
    """Raise ParseError for names that `ast` accepts and CPython refuses, such as one used above its `global`."""
    import symtable  # only repairs need it

    try:
        with suppressed_warnings():
            symtable.symtable(text.removeprefix("\ufeff"), "<text>", "exec")
    except SyntaxError as error:
        raise _parse_error(error, text) from None
    except (RecursionError, MemoryError) as error:
        raise ParseError("nested too deeply", type(error).__name__) from None


_MAX_PARTS = 500
_NAME = r"[\s\\]*+[\w\x80-\U0010ffff]++"
_DOTTED = re.compile(rf"\.{_NAME}(?:[\s\\]*+\.{_NAME})*+")
_MARKS = re.compile(r"(?:[^\w\s\x00-\x7f]|[\uff9e\uff9f])++")
"""Among others, all characters that normalization moves before others: combining characters, and two letters."""


def _refuse_slow_names(text: str) -> None:
    """Raise ParseError for names that take CPython's parser, which nothing interrupts, quadratic time.

    It copies the name of a module for each part, and keeps all copies. It sorts combining characters by insertion.
    """
    found = [each for each in _DOTTED.finditer(text) if each[0].count(".") > _MAX_PARTS]
    if not text.isascii():
        found += [each for each in _MARKS.finditer(text) if len(each[0]) > _MAX_PARTS]
    if found:
        line = text.count("\n", 0, found[0].start()) + 1
        raise ParseError("nested too deeply", f"a name with more than {_MAX_PARTS} parts or combining characters", line)


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
_PYTHON_2_TOKEN = re.compile(r"<>|`|[0-9a-fA-F][lL]\b|(?:async|await)\s*[=.,)]")  # `10L` fails at its last digit


def _is_python_2(before: str, after: str) -> bool:
    """Whether a line may be Python 2, from its text before and after the position of the error."""
    head = before.rstrip()
    return (
        _PYTHON_2_TOKEN.match(after) is not None
        or (after.startswith(("'", '"')) and re.search(r"\b[uU][rR]\Z", before) is not None)
        or (after.startswith(",") and re.search(r"\braise\b", before) is not None)
        or (after[:1] in tuple("=.,)") and re.search(r"\b(?:async|await)\Z", head) is not None)
        # def f(a, (b, c)=d)
        or (after.startswith("(") and head.endswith(("(", ",")) and re.search(r"\b(?:def|lambda)\b", head) is not None)
    )


def _parse_error(error: SyntaxError, text: str) -> ParseError:
    """Why `ast` rejected a text. Whether Python 2 would accept it is a guess from the first error alone."""
    message, line = error.msg or "", error.lineno or 0
    if message.startswith(("too many nested", "too many levels")):
        return ParseError("nested too deeply", message, line)
    lines = text.split("\n")
    rejected = lines[line - 1] if 0 < line <= len(lines) else ""
    column = max((error.offset or 0) - 1, 0)
    is_python_2 = _PYTHON_2_MESSAGE.match(message) or _is_python_2(rejected[:column], rejected[column:])
    return ParseError("Python 2 only" if is_python_2 else "syntax error", message, line)
