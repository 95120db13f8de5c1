"""Unfinished Python as logical lines and open brackets: what is complete, and what is still open at the cursor."""

import re
from dataclasses import dataclass
from keyword import iskeyword

from rarename.syntax.open_brackets import NUMBER, STRING, OpenBracket

_HEADER = re.compile(
    r"(?:async|class|def|elif|else|except|finally|for|if|try|while|with)\b|(?:match|case)\b(?![^\S\n]*[=.,:)])"
)
_NEVER_IN_BRACKETS = frozenset(
    {"assert", "break", "class", "continue", "def", "del", "elif", "except", "finally", "global", "import", "nonlocal"}
    | {"pass", "raise", "return", "try", "while", "with"}
)
_HEADER_LINE = re.compile(r"(?:async[^\S\n]+)?(?:for|if|else)\b[^\n]*:[^\S\n]*(?:#[^\n]*)?$", re.MULTILINE)
"""A header whose keyword is also possible in brackets; there no line would end with a colon."""
_CLOSERS = {"(": ")", "[": "]", "{": "}"}
_OPERANDS = frozenset({"()", "[]", "{}", NUMBER, STRING, "None", "True", "False", "..."})
_BEFORE_NAME = (["match"], ["case"], ["type"], ["print"], ["from", "..."])
"""What a name may follow although it ends like an operand; `print` is a statement of Python 2."""

_TOKEN = re.compile(
    r"""
    (?P<newline>\n)
  | (?P<blank>[^\S\n]+|\\\n)
  | (?P<comment>\#[^\n]*)
  | (?P<prefix>[rbuft]{0,2})
    (?: (?P<open_triple>\"{3}|'{3})(?:[^"'\\]++|\\[\s\S]?|(?!(?P=open_triple))["'])*+(?P<triple>(?P=open_triple))?
      | (?P<open_single>["'])(?:[^"'\\\n]++|\\[\s\S]?|(?!(?P=open_single))["'])*+(?P<single>(?P=open_single))? )
  | (?P<name>[^\W\d]\w*)
  | (?P<number>(?:\d|\.\d)(?:[eE][+-]|[\w.])*)
  | (?P<operator>\*\*=?|//=?|>>=?|<<=?|<=|>=|==|!=|->|:=|<>|\.\.\.|[-+*/%&|^@]=|.)
    """,
    re.VERBOSE | re.IGNORECASE,
)
_ENCLOSING = {"comment": "a comment", "number": "a number", "open_triple": "a string", "open_single": "a string"}
_BRACES = re.compile(r"\\N\{[^{}]*+\}|\{\{?|\}\}?")
_FIELD = "{field"  # the opener of a replacement field of an f-string


@dataclass(slots=True)
class Line:
    """A logical line; it may extend over many lines of the text."""

    start: int  # the offset of its first token
    indent: int  # in columns
    first: str = ""  # its first token
    text: str = ""  # with the closing brackets and the colon that it lacks


class Lexer:
    """The text before the cursor: its complete logical lines, the last one, and the brackets that are open there."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.lines: list[Line] = []  # the complete ones, without empty lines and comments
        self.line = Line(0, 0)  # the line of the cursor
        self.stack = [OpenBracket("", "")]
        """The open brackets. The outermost has the tokens of the current simple statement or header."""
        self.statement_start = 0  # the offset of that statement or header
        self.is_in_header = False  # before its colon
        self.enclosing = ""
        """What contains the cursor if it is not in code: "a string", "a comment"."""
        self._position = self._line_start = 0
        self._code_end = 0  # the end of the last token; a comment may follow
        self._is_at_line_start = True
        self._lacked_colon = False  # the last complete line was a header without its colon
        while self._position < len(text):
            self._read()
        if self.stack[-1].opener == _FIELD and self.stack[-1].last in ("!", "="):
            self.enclosing = "a string"
        if self._is_at_line_start:
            self._start_line("", len(text))

    @property
    def is_bare_name(self) -> bool:
        """Whether the statement is only a name so far, or one after a dot: `‸`, `a.b().‸`."""
        is_chain = all(token == "." or _is_operand(token) for token in self.stack[0].tokens)
        return len(self.stack) == 1 and is_chain and self.stack[0].last in ("", ".")

    @property
    def starts_argument(self) -> bool:
        """Whether an argument of a call may start at the cursor, and with it a keyword: `f(a, ‸`."""
        return self.stack[-1].opener == "(" and self.stack[-1].last in ("", ",")

    @property
    def is_after_operand(self) -> bool:
        """Whether an expression precedes the cursor, so that no name is possible: `f(a) ‸`, `for a i‸`.

        An expression on a line above does not count: a bracket may have been left open, a comma forgotten.
        """
        bracket, is_same_line = self.stack[-1], "\n" not in self.text[self._code_end :]
        return _is_operand(bracket.last) and bracket.tokens not in _BEFORE_NAME and is_same_line

    def _read(self) -> None:
        """Read the next token."""
        match = _TOKEN.match(self.text, self._position)
        assert match is not None  # the last alternative matches any character
        start, self._position = match.span()
        kind = match.lastgroup or ""
        if self._position == len(self.text):
            self.enclosing = _ENCLOSING.get(kind, "")
        if kind == "newline":
            self._is_at_line_start = True
            self._line_start = self._position
            if len(self.stack) == 1:
                self._end_line()
        elif kind not in ("blank", "comment"):
            if self._is_at_line_start:
                self._start_line(match[0], start)
            if kind in ("name", "operator"):
                self._add(match[0], start)
            elif self.enclosing == "a string" and set(match["prefix"]) & set("fFtT"):
                self._open_field(match[kind], match.end(kind))
            else:
                self.stack[-1].add(NUMBER if kind == "number" else STRING, start)
            self._code_end = self._position

    def _add(self, token: str, start: int) -> None:
        """Add a name or an operator."""
        bracket = self.stack[-1]
        if token in _CLOSERS:
            self.stack.append(OpenBracket(token, _CLOSERS[token]))
        elif token == bracket.closer:
            self.stack.pop()
            self.stack[-1].add(bracket.opener + token, start)
        elif not bracket.opener and (token == ";" or (token == ":" and self.is_in_header)):
            self.is_in_header = False
            bracket.clear()
            self.statement_start = self._position
        elif token not in _CLOSERS.values():
            bracket.add(token, start)

    def _open_field(self, quote: str, start: int) -> None:
        """Resume in the replacement field of an f-string that contains the cursor, if one does."""
        fields: list[int] = []
        for braces in _BRACES.finditer(self.text, start):
            if braces[0][0] == "}":
                del fields[-len(braces[0]) :]
            elif braces[0] == "{" or (braces[0] == "{{" and fields):
                fields += range(braces.start() + 1, braces.end() + 1)
        if fields:
            self.enclosing = ""
            self.stack += [OpenBracket(quote, quote), OpenBracket(_FIELD, "}")]
            self._position = fields[0]

    def _start_line(self, token: str, start: int) -> None:
        """Handle the first token on a line of the text."""
        self._is_at_line_start = False
        indent = len(self.text[self._line_start : start].expandtabs(8))
        if len(self.stack) > 1 and self._starts_statement(token, start, indent):
            closers = "".join(bracket.closer for bracket in reversed(self.stack))
            if self._has_colon_in_brackets():  # close the brackets before it; it is added after them
                self._code_end = self.stack[-1].starts[-1]
            del self.stack[1:]
            self._end_line(closers)
        if len(self.stack) == 1 and not self.line.first:
            self.line = Line(start, indent, token)
            self.statement_start = start
            self.is_in_header = _HEADER.match(self.text, start) is not None
            if self._lacked_colon and indent > self.lines[-1].indent:
                self.lines[-1].text += ":"

    def _starts_statement(self, token: str, start: int, indent: int) -> bool:
        """Whether a line inside brackets cannot be part of them, because they were left open."""
        if token in _NEVER_IN_BRACKETS or self._has_colon_in_brackets():
            return True
        is_after_operand = _is_operand(self.stack[-1].last) and _is_operand(token)
        return indent <= self.line.indent and (is_after_operand or _HEADER_LINE.match(self.text, start) is not None)

    def _has_colon_in_brackets(self) -> bool:
        """Whether the colon that should end a header is in brackets, at the end of a line: `def f(a, b:`."""
        bracket = self.stack[-1]
        return self.is_in_header and bracket.opener == "(" and bracket.last == ":" and "lambda" not in bracket.tokens

    def _end_line(self, closers: str = "") -> None:
        if self.line.first:
            self.line.text = self.text[self.line.start : self._code_end] + closers
            self.lines.append(self.line)
            self.line = Line(self._position, 0)
            self._lacked_colon, self.is_in_header = self.is_in_header, False
            self.stack[0].clear()


def _is_operand(token: str) -> bool:
    return token in _OPERANDS or (token.isidentifier() and not iskeyword(token))
