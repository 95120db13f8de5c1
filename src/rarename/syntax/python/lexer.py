"""Unfinished Python as lines and levels: what is complete, and what is still open at the end."""

import re
from dataclasses import dataclass
from keyword import iskeyword

from rarename.syntax.open_brackets import NUMBER, STRING, OpenBracket

HEADERS = frozenset(
    {"async", "case", "class", "def", "elif", "else", "except", "finally", "for", "if", "match", "try", "while", "with"}
)
"""The words that begin a statement with a block."""
_SOFT_HEADERS = frozenset({"match", "case"})
_SOFT_KEYWORDS = _SOFT_HEADERS | {"type", "print"}
"""Names that may begin a statement; `print` is one in Python 2."""
_NEVER_IN_BRACKETS = frozenset(
    {"assert", "break", "class", "continue", "def", "del", "elif", "except", "finally", "global", "import", "nonlocal"}
    | {"pass", "raise", "return", "try", "while", "with"}
)
"""The words that begin a statement wherever they begin a line: a bracket before them was left open."""
_CLOSERS = {"(": ")", "[": "]", "{": "}"}
_GROUPS = frozenset({"()", "[]", "{}", NUMBER, STRING})
_CONSTANTS = frozenset({"None", "True", "False", "..."})
_BLOCK_HEADER = re.compile(r"(?:async[^\S\n]+)?(?:for|if|else)\b[^\n]*:[^\S\n]*(?:#[^\n]*)?$", re.MULTILINE)
"""A header whose word may stand in brackets as well; there no line would end with a colon."""
_ASSIGNMENT = re.compile(r"[^\W\d]\w*[^\S\n]*=(?!=)")
_BODY = re.compile(r"[^\W\d][\w.]*(?:[^\S\n]+[-+*/%|&^@]?=(?!=)|\()")
"""A statement that is no keyword argument as most people write it: `a = b`, `a(b)`."""
_LINKS = frozenset({".", "()", "[]", STRING})
_TAB = 8

_TOKEN = re.compile(
    r"""
    (?P<newline>\n)
  | (?P<blank>[^\S\n]+|\\\n)
  | (?P<comment>\#[^\n]*)
  | (?P<prefix>[rRbBuUfFtT]{0,2})(?P<quote>\"{3}|'{3}|"|')
  | (?P<name>[^\W\d]\w*)
  | (?P<number>(?:\d|\.\d)(?:[eE][+-]|[\w.])*)
  | (?P<operator>\*\*=?|//=?|>>=?|<<=?|<=|>=|==|!=|->|:=|<>|\.\.\.|[-+*/%&|^@]=|.)
    """,
    re.VERBOSE,
)
_STRING_END = {
    '"': re.compile(r'(?:[^"\\\n]|\\.)*+(?P<end>")?', re.DOTALL),
    "'": re.compile(r"(?:[^'\\\n]|\\.)*+(?P<end>')?", re.DOTALL),
    '"""': re.compile(r'(?:[^"\\]|\\.|"(?!""))*+(?P<end>""")?', re.DOTALL),
    "'''": re.compile(r"(?:[^'\\]|\\.|'(?!''))*+(?P<end>''')?", re.DOTALL),
}
_FORMAT_PART = {
    quote: re.compile(
        rf"\\N\{{[^}}'\"\n]*\}}|\\[^{{}}]|\{{\{{|\}}\}}|[{{}}]|{quote}" + (r"|\n" if len(quote) == 1 else ""), re.DOTALL
    )
    for quote in _STRING_END
}

_FIELD, _SPECIFICATION = "{field", ":format"
"""The openers of what stands in the braces of an f-string, and of the format behind its colon."""
_FIELD_ENDS = frozenset({"!", "="})
"""The tokens that end the expression in such braces: a conversion follows, or nothing."""


@dataclass(slots=True)
class Line:
    """A logical line: it may reach over many lines of the text."""

    start: int
    """Where its first token starts."""
    indent: int
    """Its indentation in columns."""
    first: str = ""
    """Its first token."""
    end: int = -1
    opens_block: bool = False
    """Whether it ends with the colon of a header."""
    is_broken: bool = False
    """Whether a bracket or string was left open in it."""
    lacks: str = ""
    """What it needs at its end: closing brackets, the colon of a header."""
    is_continued: bool = False
    """Whether a line of the text that stands deeper belongs to it."""
    is_header: bool = False
    """Whether it is a header without its colon, if a block should follow."""


class Lexer:
    """A text up to the cursor: its complete logical lines, the last one, and what is open there."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.lines: list[Line] = []
        """The complete lines, empty ones and comments left out."""
        self.line = Line(0, 0)
        """The line of the cursor."""
        self.stack = [OpenBracket("", "")]
        """The open levels. Tokens of the outermost are those of the current simple statement or header."""
        self.simple_start = 0
        """Where the current simple statement or header starts in the text."""
        self.enclosing = ""
        """What the cursor stands in, if that is no code: "a string", "a comment"."""
        self._position = self._line_start = 0
        self._code_end = 0
        """Where the last token ends: a comment may follow."""
        self._at_line_start = True
        self._has_colon = False
        self._run()

    @property
    def is_header(self) -> bool:
        """Whether the cursor stands in a header whose colon is still to come."""
        return not self._has_colon and self.line.first in HEADERS and self.simple_start == self.line.start

    @property
    def is_bare_name(self) -> bool:
        """Whether the statement is a name so far, or one behind a dot: `‸`, `a.b().‸`."""
        tokens = self.stack[0].tokens
        is_chain = all(token in _LINKS or (token.isidentifier() and not iskeyword(token)) for token in tokens)
        return len(self.stack) == 1 and is_chain and (not tokens or tokens[-1] == ".")

    @property
    def starts_argument(self) -> bool:
        """Whether the cursor stands where an argument of a call may begin, and with it the name of one: `f(a, ‸`."""
        return self.stack[-1].opener == "(" and self.stack[-1].last in ("", ",")

    @property
    def is_after_operand(self) -> bool:
        """Whether an expression stands before the cursor, so that no name can: `f(a) ‸`, `for a i‸`.

        Not if it stands on a line above: brackets may have been left open, a comma forgotten.
        """
        level = self.stack[-1]
        is_soft = len(level.tokens) == 1 and level.last in _SOFT_KEYWORDS
        is_relative = level.tokens[:1] == ["from"] and level.last == "..."
        return _is_operand(level.last) and not is_soft and not is_relative and "\n" not in self.text[self._code_end :]

    def _run(self) -> None:
        text, size = self.text, len(self.text)
        while self._position < size:
            if self.stack[-1].opener in _FORMAT_PART or self.stack[-1].opener == _SPECIFICATION:
                self._format_text()
                self._code_end = self._position
                continue
            match = _TOKEN.match(text, self._position)
            if match is None:  # only a backslash before the end is none
                self._position += 1
                continue
            start, self._position = match.span()
            kind = match.lastgroup
            if kind == "newline":
                self._newline()
            elif kind == "comment":
                self.enclosing = "a comment" if self._position == size else ""
            elif kind != "blank":
                token = match[0]
                if self._at_line_start:
                    self._begin_line(token, start)
                if kind == "quote":
                    self._string(match["prefix"].lower(), match["quote"], start)
                elif kind == "number":
                    self.stack[-1].add(NUMBER, start)
                    self.enclosing = "a number" if self._position == size else ""
                else:
                    self._token(token, start)
                self._code_end = self._position
        level = self.stack[-1]
        if level.opener == _SPECIFICATION or (level.opener == _FIELD and level.last in _FIELD_ENDS):
            self.enclosing = "a string"
        if self._at_line_start:
            self._begin_line("", size)

    # -- lines ----------------------------------------------------------------------------------------------

    def _newline(self) -> None:
        self._at_line_start = True
        self._line_start = self._position
        for depth, level in enumerate(self.stack):
            if level.opener in ('"', "'"):  # an f-string of one line, left open
                self._close_to(depth)
                self.line.is_broken = True
                break
        if len(self.stack) == 1:
            self._end_line()

    def _begin_line(self, token: str, start: int) -> None:
        """The first token on a line of the text."""
        self._at_line_start = False
        indent = _width(self.text[self._line_start : start])
        is_in_brackets = len(self.stack) > 1 and all(level.opener in _CLOSERS for level in self.stack[1:])
        if is_in_brackets and self._begins_statement(token, start, indent):
            self.line.is_broken = True
            self.line.lacks = "".join(level.closer for level in reversed(self.stack[1:]))
            if self._has_colon_in_brackets():  # the brackets close before it, and it is added behind them
                self._code_end = self.stack[-1].starts[-1]
            self._close_to(1)
            self._end_line()
        elif is_in_brackets and indent > self.line.indent:
            self.line.is_continued = True
        if len(self.stack) == 1 and not self.stack[0].tokens and not self.line.first:
            self.line = Line(start, indent, token)
            self.simple_start = start
            self._end_header(indent)

    def _begins_statement(self, token: str, start: int, indent: int) -> bool:
        """Whether a line that begins in brackets can be no part of them, so that they were left open."""
        if token in _NEVER_IN_BRACKETS:
            return True
        is_behind_operand = _is_operand(self.stack[-1].last)
        if indent > self.line.indent:  # the body of a header
            if self._has_colon_in_brackets():
                return True
            is_first = self.is_header and not self.line.is_continued
            return is_first and is_behind_operand and _BODY.match(self.text, start) is not None
        if iskeyword(token):
            return _BLOCK_HEADER.match(self.text, start) is not None
        if self.line.is_continued and self.stack[-1].last == ",":  # the other arguments stand deeper
            return _ASSIGNMENT.match(self.text, start) is not None
        return token.isidentifier() and is_behind_operand

    def _has_colon_in_brackets(self) -> bool:
        """Whether the colon that should end a header stands in brackets, at the end of a line: `def f(a, b:`."""
        level = self.stack[-1]
        return self.is_header and level.opener != "{" and level.last == ":" and "lambda" not in level.tokens

    def _end_header(self, indent: int) -> None:
        """Give the line above the colon that it lacks, if it is a header and the next line stands deeper."""
        if self.lines and self.lines[-1].is_header and indent > self.lines[-1].indent:
            self.lines[-1].lacks += ":"
            self.lines[-1].opens_block = True

    def _end_line(self) -> None:
        if not self.line.first:
            return
        self.line.end = self._code_end
        self.line.opens_block = self._has_colon and not self.stack[0].tokens
        self.line.is_header = self._ends_header()
        self.lines.append(self.line)
        self.line = Line(self._position, 0)
        self._has_colon = False
        self.stack[0].clear()

    # -- tokens ---------------------------------------------------------------------------------------------

    def _token(self, token: str, start: int) -> None:
        level = self.stack[-1]
        if token in _CLOSERS:
            self.stack.append(OpenBracket(token, _CLOSERS[token]))
        elif token in (")", "]", "}"):
            self._close(token, start)
        elif level.opener == _FIELD and token == ":" and "lambda" not in level.tokens:
            self.stack.append(OpenBracket(_SPECIFICATION, ""))
        elif level.opener:
            level.add(token, start)
        elif token == ";" or (token == ":" and self._ends_header()):
            self._has_colon = self._has_colon or token == ":"
            level.clear()
            self.simple_start = self._position
        else:
            level.add(token, start)

    def _ends_header(self) -> bool:
        tokens = self.stack[0].tokens
        if not self.is_header or tokens.count("lambda") > tokens.count(":"):
            return False
        return self.line.first not in _SOFT_HEADERS or (len(tokens) > 1 and tokens[1] not in ("=", ".", ","))

    def _close(self, token: str, start: int) -> None:
        level = self.stack[-1]
        if level.closer != token or len(self.stack) == 1:
            self.line.is_broken = True
            return
        self.stack.pop()
        if level.opener != _FIELD:
            self.stack[-1].add(level.opener + token, start)

    def _close_to(self, depth: int) -> None:
        """Give up all levels from a depth on."""
        del self.stack[depth:]
        self.stack[-1].add(STRING, self._position)

    # -- strings --------------------------------------------------------------------------------------------

    def _string(self, prefix: str, quote: str, start: int) -> None:
        if "f" in prefix or "t" in prefix:
            self.stack.append(OpenBracket(quote, quote))
            return
        match = _STRING_END[quote].match(self.text, self._position)
        assert match is not None  # it matches the empty text
        self._position = match.end()
        if match["end"] is None:
            # One character is left when the text ends with a backslash: that is a string still.
            self.line.is_broken = True
            if self._position >= len(self.text) - 1 and self.text[self._position :] != "\n":
                self.enclosing = "a string"
        self.stack[-1].add(STRING, start)

    def _format_text(self) -> None:
        """The text of an f-string, or of a format in it, up to the next brace or the end."""
        quote = next(level.opener for level in reversed(self.stack) if level.opener in _FORMAT_PART)
        match = _FORMAT_PART[quote].search(self.text, self._position)
        if match is None:
            self._position = len(self.text)
            self.enclosing = "a string"
            return
        part, self._position = match[0], match.end()
        is_format = self.stack[-1].opener == _SPECIFICATION
        if part == quote:
            while self.stack[-1].opener != quote:  # a field was left open
                self.line.is_broken = True
                self.stack.pop()
            self.stack.pop()
            self.stack[-1].add(STRING, match.start())
        elif part == "\n":
            self._newline()
        elif part == "{" or (part == "{{" and is_format):
            self._position = match.start() + 1
            self.stack.append(OpenBracket(_FIELD, "}"))
        elif part[0] == "}" and is_format:
            self._position = match.start() + 1
            del self.stack[-2:]


def _is_operand(token: str) -> bool:
    """Whether a token ends an expression, so that no name can follow."""
    return token in _GROUPS or token in _CONSTANTS or (token.isidentifier() and not iskeyword(token))


def _width(blanks: str) -> int:
    """The columns of an indentation; a form feed starts anew, as Python has it."""
    width = 0
    for blank in blanks:
        if blank == "\t":
            width += _TAB - width % _TAB
        elif blank == "\f":
            width = 0
        else:
            width += 1
    return width
