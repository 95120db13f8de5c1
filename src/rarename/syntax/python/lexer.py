"""Unfinished Python as logical lines and open brackets: what is complete, and what is still open at the cursor."""

import re
from dataclasses import dataclass
from keyword import iskeyword

from rarename.syntax.open_brackets import NUMBER, STRING, OpenBracket

_SOFT_HEADERS = frozenset({"match", "case"})
_HEADERS = _SOFT_HEADERS | {
    *("async", "class", "def", "elif", "else", "except", "finally", "for", "if", "try", "while", "with")
}
_SOFT_KEYWORDS = _SOFT_HEADERS | {"type", "print"}
"""Names that may start a statement; `print` does in Python 2."""
_NEVER_IN_BRACKETS = frozenset(
    {"assert", "break", "class", "continue", "def", "del", "elif", "except", "finally", "global", "import", "nonlocal"}
    | {"pass", "raise", "return", "try", "while", "with"}
)
"""The keywords that always start a statement at the start of a line: a bracket before them was left open."""
_CLOSERS = {"(": ")", "[": "]", "{": "}"}
_OPERANDS = frozenset({"()", "[]", "{}", NUMBER, STRING, "None", "True", "False", "..."})
_LINKS = frozenset({".", "()", "[]", STRING})
_HEADER_LINE = re.compile(r"(?:async[^\S\n]+)?(?:for|if|else)\b[^\n]*:[^\S\n]*(?:#[^\n]*)?$", re.MULTILINE)
"""A header whose keyword is also possible in brackets; there no line would end with a colon."""
_ASSIGNMENT = re.compile(r"[^\W\d]\w*[^\S\n]*=(?!=)")
_STATEMENT = re.compile(r"[^\W\d][\w.]*(?:[^\S\n]+[-+*/%|&^@]?=(?!=)|\()")
"""A statement that is no keyword argument in usual formatting: `a = b`, `a(b)`."""

_TOKEN = re.compile(
    r"""
    (?P<newline>\n)
  | (?P<blank>[^\S\n]+|\\\n)
  | (?P<comment>\#[^\n]*)
  | (?:[rbu]?[ft]|[ft][rbuft])(?P<fstring>\"{3}|'{3}|"|')
  | [rbu]{0,2}(?P<triple>\"{3}|'{3})(?:[^"'\\]++|\\[\s\S]|(?!(?P=triple))["'])*+(?P<triple_end>(?P=triple))?
  | [rbu]{0,2}(?P<single>["'])(?:[^"'\\\n]++|\\[\s\S]|(?!(?P=single))["'])*+(?P<single_end>(?P=single))?
  | (?P<name>[^\W\d]\w*)
  | (?P<number>(?:\d|\.\d)(?:[eE][+-]|[\w.])*)
  | (?P<operator>\*\*=?|//=?|>>=?|<<=?|<=|>=|==|!=|->|:=|<>|\.\.\.|[-+*/%&|^@]=|.)
    """,
    re.VERBOSE | re.IGNORECASE,
)
_FSTRING_PART = {
    quote: re.compile(r"\\N\{[^}'\"\n]*\}|\\[^{}]|\{\{|\}\}|[{}]|" + quote + (r"|\n" if len(quote) == 1 else ""))
    for quote in ('"', "'", '"""', "'''")
}
_FIELD, _FORMAT = "{field", ":format"
"""The openers of a replacement field of an f-string, and of the format after its colon."""


@dataclass(slots=True)
class Line:
    """A logical line; it may extend over many lines of the text."""

    start: int  # the offset of its first token
    indent: int  # in columns
    first: str = ""  # its first token
    text: str = ""  # with the closing brackets and the colon that it lacks
    opens_block: bool = False  # it ends with the colon of a header
    is_broken: bool = False  # a bracket or string was left open in it
    has_deeper_lines: bool = False  # it contains a line of the text with a deeper indentation
    may_lack_colon: bool = False  # it is a header without its colon, provided that a block follows


class Lexer:
    """The text before the cursor: its complete logical lines, the last one, and the brackets that are open there."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.lines: list[Line] = []
        """The complete lines, without empty ones and comments."""
        self.line = Line(0, 0)
        """The line of the cursor."""
        self.stack = [OpenBracket("", "")]
        """The open brackets. The outermost has the tokens of the current simple statement or header."""
        self.statement_start = 0
        """The offset of the current simple statement or header."""
        self.enclosing = ""
        """What contains the cursor if that is no code: "a string", "a comment"."""
        self._position = self._line_start = 0
        self._code_end = 0
        """The end of the last token; a comment may follow."""
        self._is_at_line_start = True
        self._has_colon = False
        while self._position < len(text):
            self._read()
        bracket = self.stack[-1]
        if bracket.opener == _FORMAT or (bracket.opener == _FIELD and bracket.last in ("!", "=")):
            self.enclosing = "a string"
        if self._is_at_line_start:
            self._start_line("", len(text))

    @property
    def is_in_header(self) -> bool:
        """Whether the cursor is in a header before its colon."""
        return not self._has_colon and self.line.first in _HEADERS and self.statement_start == self.line.start

    @property
    def is_bare_name(self) -> bool:
        """Whether the statement is only a name so far, or one after a dot: `‸`, `a.b().‸`."""
        tokens = self.stack[0].tokens
        is_chain = all(token in _LINKS or (token.isidentifier() and not iskeyword(token)) for token in tokens)
        return len(self.stack) == 1 and is_chain and (not tokens or tokens[-1] == ".")

    @property
    def starts_argument(self) -> bool:
        """Whether an argument of a call may start at the cursor, and with it a keyword: `f(a, ‸`."""
        return self.stack[-1].opener == "(" and self.stack[-1].last in ("", ",")

    @property
    def is_after_operand(self) -> bool:
        """Whether an expression precedes the cursor, so that no name is possible: `f(a) ‸`, `for a i‸`.

        An expression on a line above does not count: a bracket may have been left open, a comma forgotten.
        """
        bracket = self.stack[-1]
        is_soft = len(bracket.tokens) == 1 and bracket.last in _SOFT_KEYWORDS
        is_relative = bracket.tokens[:1] == ["from"] and bracket.last == "..."
        is_same_line = "\n" not in self.text[self._code_end :]
        return _is_operand(bracket.last) and not is_soft and not is_relative and is_same_line

    def _read(self) -> None:
        """Read the next token."""
        if self.stack[-1].opener in _FSTRING_PART or self.stack[-1].opener == _FORMAT:
            self._read_fstring_text()
            self._code_end = self._position
            return
        match = _TOKEN.match(self.text, self._position)
        assert match is not None  # the last alternative matches any character
        start, self._position = match.span()
        kind, is_last = match.lastgroup, self._position == len(self.text)
        if kind == "newline":
            self._end_text_line()
        elif kind == "comment":
            self.enclosing = "a comment" if is_last else ""
        elif kind != "blank":
            if self._is_at_line_start:
                self._start_line(match[0], start)
            if kind == "fstring":
                self.stack.append(OpenBracket(match["fstring"], match["fstring"]))
            elif kind == "number":
                self.stack[-1].add(NUMBER, start)
                self.enclosing = "a number" if is_last else ""
            elif kind in ("name", "operator"):
                self._add(match[0], start)
            else:
                self.stack[-1].add(STRING, start)
                if kind in ("triple", "single"):  # the end of the string did not match
                    self.line.is_broken = True
                    if self.text[self._position :] in ("", "\\"):
                        self.enclosing = "a string"
            self._code_end = self._position

    # -- lines ----------------------------------------------------------------------------------------------

    def _end_text_line(self) -> None:
        self._is_at_line_start = True
        self._line_start = self._position
        for depth, bracket in enumerate(self.stack):
            if bracket.opener in ('"', "'"):  # an f-string of one line, left open
                self._give_up_brackets(depth)
                self.line.is_broken = True
                break
        if len(self.stack) == 1:
            self._end_line()

    def _start_line(self, token: str, start: int) -> None:
        """Handle the first token on a line of the text."""
        self._is_at_line_start = False
        indent = len(self.text[self._line_start : start].rpartition("\f")[2].expandtabs(8))
        is_in_brackets = len(self.stack) > 1 and all(bracket.opener in _CLOSERS for bracket in self.stack[1:])
        if is_in_brackets and self._starts_statement(token, start, indent):
            self.line.is_broken = True
            closers = "".join(bracket.closer for bracket in reversed(self.stack[1:]))
            if self._has_colon_in_brackets():  # close the brackets before it; it is added after them
                self._code_end = self.stack[-1].starts[-1]
            self._give_up_brackets(1)
            self._end_line(closers)
        elif is_in_brackets and indent > self.line.indent:
            self.line.has_deeper_lines = True
        if len(self.stack) == 1 and not self.stack[0].tokens and not self.line.first:
            self.line = Line(start, indent, token)
            self.statement_start = start
            if self.lines and self.lines[-1].may_lack_colon and indent > self.lines[-1].indent:
                self.lines[-1].text += ":"
                self.lines[-1].opens_block = True

    def _starts_statement(self, token: str, start: int, indent: int) -> bool:
        """Whether a line inside of brackets cannot be part of them, so that they were left open."""
        if token in _NEVER_IN_BRACKETS:
            return True
        is_after_operand = _is_operand(self.stack[-1].last)
        if indent > self.line.indent:  # the body of a header
            is_body = self.is_in_header and not self.line.has_deeper_lines and is_after_operand
            return self._has_colon_in_brackets() or (is_body and _STATEMENT.match(self.text, start) is not None)
        if iskeyword(token):
            return _HEADER_LINE.match(self.text, start) is not None
        if self.line.has_deeper_lines and self.stack[-1].last == ",":  # the other arguments are indented
            return _ASSIGNMENT.match(self.text, start) is not None
        return token.isidentifier() and is_after_operand

    def _has_colon_in_brackets(self) -> bool:
        """Whether the colon that should end a header is in brackets, at the end of a line: `def f(a, b:`."""
        bracket = self.stack[-1]
        return self.is_in_header and bracket.opener != "{" and bracket.last == ":" and "lambda" not in bracket.tokens

    def _end_line(self, closers: str = "") -> None:
        if not self.line.first:
            return
        self.line.text = self.text[self.line.start : self._code_end] + closers
        self.line.opens_block = self._has_colon and not self.stack[0].tokens
        self.line.may_lack_colon = self._can_end_header()
        self.lines.append(self.line)
        self.line = Line(self._position, 0)
        self._has_colon = False
        self.stack[0].clear()

    # -- tokens ---------------------------------------------------------------------------------------------

    def _add(self, token: str, start: int) -> None:
        """Add a name or an operator."""
        bracket = self.stack[-1]
        if token in _CLOSERS:
            self.stack.append(OpenBracket(token, _CLOSERS[token]))
        elif token in _CLOSERS.values():
            if bracket.closer != token:
                self.line.is_broken = True
            elif self.stack.pop().opener != _FIELD:
                self.stack[-1].add(bracket.opener + token, start)
        elif bracket.opener == _FIELD and token == ":" and "lambda" not in bracket.tokens:
            self.stack.append(OpenBracket(_FORMAT, ""))
        elif not bracket.opener and (token == ";" or (token == ":" and self._can_end_header())):
            self._has_colon = self._has_colon or token == ":"
            bracket.clear()
            self.statement_start = self._position
        else:
            bracket.add(token, start)

    def _can_end_header(self) -> bool:
        tokens = self.stack[0].tokens
        if not self.is_in_header or tokens.count("lambda") > tokens.count(":"):
            return False
        return self.line.first not in _SOFT_HEADERS or (len(tokens) > 1 and tokens[1] not in ("=", ".", ","))

    def _give_up_brackets(self, depth: int) -> None:
        del self.stack[depth:]
        self.stack[-1].add(STRING, self._position)

    def _read_fstring_text(self) -> None:
        """Read the text of an f-string, or of a format in it, up to the next brace or the end."""
        quote = next(bracket.opener for bracket in reversed(self.stack) if bracket.opener in _FSTRING_PART)
        match = _FSTRING_PART[quote].search(self.text, self._position)
        if match is None:
            self._position = len(self.text)
            self.enclosing = "a string"
            return
        part, self._position = match[0], match.end()
        is_format = self.stack[-1].opener == _FORMAT
        if part == quote:
            while self.stack.pop().opener != quote:  # a field was left open
                self.line.is_broken = True
            self.stack[-1].add(STRING, match.start())
        elif part == "\n":
            self._end_text_line()
        elif part == "{" or (part == "{{" and is_format):
            self._position = match.start() + 1
            self.stack.append(OpenBracket(_FIELD, "}"))
        elif part[0] == "}" and is_format:
            self._position = match.start() + 1
            del self.stack[-2:]


def _is_operand(token: str) -> bool:
    return token in _OPERANDS or (token.isidentifier() and not iskeyword(token))
