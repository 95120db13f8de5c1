"""Unfinished JavaScript as levels: the brackets, templates and elements of JSX that are open at the end."""

import re
from dataclasses import dataclass

from rarename.syntax.source import is_name
from rarename.syntax.unfinished.levels import NUMBER, STRING, Level

BLOCK, SWITCH, CLASS, OBJECT, SPECIFIERS, EXPRESSION = "block", "switch", "class", "object", "specifiers", "expression"
"""What a brace can hold. An expression stands in the braces of JSX and of a template."""
TAG, CHILDREN, CLOSING_TAG, TEMPLATE = "tag", "children", "closing tag", "template"
"""The levels that are no bracket."""
MEMBER = "member"
"""The token for a name behind a dot, which may be spelled like a keyword."""
STATEMENTS = frozenset({BLOCK, SWITCH})
"""The levels that hold statements."""

_TOKEN = re.compile(
    r"""
    (?P<newline>\s*[\n\u2028\u2029]\s*)
  | (?P<blank>\s+)
  | (?P<comment>//[^\n]*|/\*.*?(?:\*/|\Z)|<!--[^\n]*|\A\#![^\n]*)
  | (?P<string>"(?:[^"\\\n]|\\.)*+"?|'(?:[^'\\\n]|\\.)*+'?)
  | (?P<template>`)
  | (?P<name>\#?(?:[^\W\d]|[$\\])(?:[\w$\\]|(?<=\\u)\{\w+\})*)
  | (?P<number>(?:\d|\.\d)(?:[eE][+-]|[\w.])*)
  | (?P<operator>=>|\?\.(?!\d)|\?\?=?|\.\.\.|\+\+|--|&&=?|\|\|=?|===?|!==?|<=|>=|<<=?|>>>?=?|\*\*=?|[-+*%&|^]=|.)
    """,
    re.VERBOSE | re.DOTALL,
)
_REGEXP = re.compile(r"/(?:[^/\\\[\n]|\\[^\n]|\[(?:[^\]\\\n]|\\[^\n])*+\])*+(?P<end>/\w*)?")
_TEMPLATE_PART = re.compile(r"\\.|\$\{|`", re.DOTALL)
_JSX_TEXT_END = re.compile(r"[{<]")
_JSX_START = re.compile(r"<(?=[\w$>]|\Z)")
_JSX_TOKEN = re.compile(
    r"(?P<blank>\s+|//[^\n]*\n|/\*.*?\*/)|(?P<string>\"[^\"]*\"?|'[^']*'?)|(?P<end>/\s*>)|(?P<other>[\w$.:-]+|.)",
    re.DOTALL,
)
_CLOSING_TAG = re.compile(r"</\s*[\w$.:-]*\s*(?P<end>>)?")

_BEFORE_OPERAND = frozenset(
    {"await", "case", "default", "delete", "do", "else", "extends", "in", "instanceof", "new", "of", "return"}
    | {"throw", "typeof", "void", "yield"}
)
"""The words behind which an expression starts."""
_LOOKS_BACK = frozenset({"in", "instanceof", "of", "as", "from", "else", "catch", "finally", "while", "extends"})
"""The words that may continue a statement on a new line."""
_NEVER_IN_BRACKETS = re.compile(
    r"(?:var|let|const|return|throw|import|export)\s+[\w$'\"{\[](?!\s*(?:in|of)\b)|(?P<control>(?:if|for|while|switch)\s*\()"
)
"""What begins a statement wherever it begins a line: a bracket before it was left open. A method may be named `if`."""
_CONTROL = frozenset({"if", "while", "for", "with"})
_BLOCK_STATEMENTS = frozenset(
    {"async", "catch", "class", "do", "else", "export", "finally", "for", "function", "if", "switch", "try", "while"}
    | {"with", "{}"}
)
"""The words that begin a statement that ends with a block."""
_KEYWORDS = _BEFORE_OPERAND | _BLOCK_STATEMENTS | {"break", "const", "continue", "debugger", "import", "let", "var"}
_LINKS = frozenset({".", "?.", "()", "[]", STRING})
_CLOSERS = {"(": ")", "[": "]", "{": "}"}


@dataclass(slots=True)
class Open(Level):
    """A level, and what it is."""

    kind: str = ""
    name: str = ""
    """The name of an element of JSX."""
    is_done: bool = False
    """Whether the last token ended a statement, unless an `else` or the like follows."""
    start: int = 0
    """Where its content starts in the text."""


class Scan:
    """A text up to the cursor, and what is open there."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.stack = [Open("", "", kind=BLOCK)]
        """The open levels; the outermost is the program."""
        self.enclosing = ""
        """What the cursor stands in, if that is no code."""
        self._position = 0
        self._is_operand_next = True
        """Whether an operand may come next, and not an operator: then `/` starts a regular expression."""
        self._has_newline = False
        self._run()

    @property
    def is_bare(self) -> bool:
        """Whether the statement is a name so far, or one behind a dot: `‸`, `a.b().‸`."""
        tokens = self.stack[-1].tokens if not self.stack[-1].is_done else []
        is_chain = all(token in _LINKS or (is_name(token) and token not in _KEYWORDS) for token in tokens)
        return self.stack[-1].kind in STATEMENTS and is_chain and (not tokens or tokens[-1] in (".", "?."))

    @property
    def is_behind_operand(self) -> bool:
        """Whether something ends right before the cursor that no name can follow without a blank: `f(a)‸`, `a[0]‸`."""
        if self.text.endswith(")"):
            return self.stack[-1].tokens[-2:-1] not in (["if"], ["for"], ["while"], ["with"], ["await"])
        return self.text.endswith(("]", '"', "'", "`"))

    @property
    def begins_argument(self) -> bool:
        """Whether an argument may begin with its name: never in JavaScript."""
        return False

    def _run(self) -> None:
        size = len(self.text)
        while self._position < size:
            kind = self.stack[-1].kind
            if kind == TEMPLATE:
                self._template_text()
            elif kind == TAG:
                self._tag()
            elif kind == CHILDREN:
                self._jsx_text()
            else:
                self._code()
        if self.stack[-1].kind == TEMPLATE:
            self.enclosing = "a template"
        elif self.stack[-1].kind == CHILDREN:
            self.enclosing = "the text of an element"

    # -- code -----------------------------------------------------------------------------------------------

    def _code(self) -> None:
        match = _TOKEN.match(self.text, self._position)
        assert match is not None  # the last alternative takes any character
        token, kind, start = match[0], match.lastgroup, match.start()
        is_last = match.end() == len(self.text)
        if token == "/" and self._is_operand_next and self._regexp():
            return
        if token == "<" and self._is_operand_next and _JSX_START.match(self.text, start):
            self._push(Open("<", " />", kind=TAG), start)
            return
        self._position = match.end()
        if kind == "newline":
            self._has_newline = True
            return
        if kind == "comment":
            is_closed = token.startswith("/*") and len(token) > 3 and token.endswith("*/")
            self.enclosing = "a comment" if is_last and not is_closed else ""
            self._has_newline = self._has_newline or "\n" in token
        elif kind == "string":
            self._value(STRING, start)
            is_closed = len(token) > 1 and token[-1] == token[0]
            self.enclosing = "a string" if self._position >= len(self.text) - 1 and not is_closed else ""
            if self.text[self._position :] == "\n":
                self.enclosing = ""
        elif kind == "template":
            self._push(Open("`", "`", kind=TEMPLATE), start)
        elif kind == "number":
            self._value(NUMBER, start)
            self.enclosing = "a number" if is_last else ""
        elif kind == "name":
            self._name(token, start)
        elif kind == "operator":
            self._operator(token, start)
        if kind != "blank":
            self._has_newline = False

    def _regexp(self) -> bool:
        match = _REGEXP.match(self.text, self._position)
        if match is None:
            return False
        start, self._position = match.span()
        if match["end"] is None and self._position >= len(self.text) - 1 and self.text[self._position :] != "\n":
            self.enclosing = "a regular expression"
        self._value(STRING, start)
        return True

    def _value(self, token: str, start: int) -> None:
        self._add(token, start)
        self._is_operand_next = False

    def _add(self, token: str, start: int) -> None:
        level = self.stack[-1]
        if level.is_done and level.tokens:
            goes_on = token in ("else", "catch", "finally") or (token == "while" and level.tokens[0] == "do")
            if not goes_on:
                level.clear()
        level.is_done = False
        level.add(token, start)

    def _name(self, token: str, start: int) -> None:
        level = self.stack[-1]
        is_member = level.last in (".", "?.")
        if self._has_newline and not is_member and level.opener in _CLOSERS and level.kind not in STATEMENTS:
            found = _NEVER_IN_BRACKETS.match(self.text, start)
            if found and (level.opener != "{" or not found["control"]):
                level = self._give_up_brackets(start)
        has_statements = level.kind in STATEMENTS or level.kind == CLASS
        if has_statements and self._has_newline and not self._is_operand_next and token not in _LOOKS_BACK:
            level.clear()  # a semicolon is understood
        self._add(MEMBER if is_member else token, start)
        self._is_operand_next = token in _BEFORE_OPERAND and not is_member

    def _give_up_brackets(self, end: int) -> Open:
        """A statement begins inside of brackets: blank out the one that left them open."""
        depth = len(self.stack) - 1
        while self.stack[depth].opener in _CLOSERS and self.stack[depth].kind not in (BLOCK, SWITCH, CLASS):
            depth -= 1
        level = self.stack[depth]
        is_loop = self.stack[-2:-1] and self.stack[-2].last == "for"
        if depth < len(self.stack) - 1 and level.kind in STATEMENTS and not is_loop:
            start = self.statement_start(depth)
            blank = re.sub(r"[^\n]", " ", self.text[start:end])
            self.text = f"{self.text[:start]}{blank}{self.text[end:]}"
            del self.stack[depth + 1 :]
            level.clear()
        return self.stack[-1]

    def statement_start(self, depth: int) -> int:
        """Where the current statement of a level starts: at its first token, or at the bracket that it starts with."""
        if self.stack[depth].starts:
            return self.stack[depth].starts[0]
        if depth + 1 < len(self.stack):
            return self.stack[depth + 1].start - len(self.stack[depth + 1].opener)
        return len(self.text)

    def _operator(self, token: str, start: int) -> None:
        level = self.stack[-1]
        if token in _CLOSERS:
            kind = self._brace_kind() if token == "{" else ""
            if level.is_done and level.tokens:
                level.clear()
            level.is_done = False
            self._push(Open(token, _CLOSERS[token], kind=kind), start)
        elif token in (")", "]", "}"):
            self._close(token, start)
        elif token == ";" and level.opener != "(":
            level.clear()
            self._is_operand_next = True
        elif token == "," and level.opener:
            if level.kind in STATEMENTS:
                self._add(token, start)
            else:
                level.clear()
            self._is_operand_next = True
        elif token == ":" and self._ends_label():
            level.clear()
            self._is_operand_next = True
        else:
            self._add(token, start)
            if token not in ("++", "--"):
                self._is_operand_next = True

    def _ends_label(self) -> bool:
        """Whether a colon ends a `case`, a `default` or a label, and the statement starts behind it."""
        level = self.stack[-1]
        if level.kind not in STATEMENTS or level.tokens.count("?") > level.tokens.count(":"):
            return False
        return len(level.tokens) == 1 or level.tokens[:1] == ["case"]

    def _brace_kind(self) -> str:
        level = self.stack[-1]
        tokens, last = ([], "") if level.is_done else (level.tokens, level.last)
        if "class" in tokens and "{}" not in tokens[_last_index(tokens, "class") :] and last != "=":
            return CLASS
        if last == "()":
            return SWITCH if tokens[-2:-1] == ["switch"] else BLOCK
        if last in ("=>", "else", "do", "try", "finally", "catch") or (last == "static" and level.kind == CLASS):
            return BLOCK
        if level.kind in STATEMENTS and not tokens:
            return BLOCK
        if ("import" in tokens or "export" in tokens) and last in ("import", "export", ","):
            return SPECIFIERS
        if level.kind in STATEMENTS and not self._is_operand_next and self._has_newline:
            return BLOCK
        return OBJECT

    # -- levels ---------------------------------------------------------------------------------------------

    def _push(self, level: Open, start: int) -> None:
        self._position = start + len(level.opener)
        level.start = self._position
        self.stack.append(level)
        self._is_operand_next = True

    def _close(self, token: str, start: int) -> None:
        if self.stack[-1].closer != token:
            return
        level = self.stack.pop()
        if level.opener == "${":
            return
        parent = self.stack[-1]
        is_control = level.opener == "(" and parent.last in _CONTROL
        parent.add(level.opener + token, level.start - 1)
        is_body = level.kind in (BLOCK, SWITCH, CLASS)
        self._is_operand_next = is_control or is_body
        if is_body and parent.kind in STATEMENTS:
            parent.is_done = parent.tokens[0] in _BLOCK_STATEMENTS
            if parent.tokens[0] in ("async", "export") and not {"function", "class"} & set(parent.tokens):
                parent.is_done = False
            self._is_operand_next = parent.is_done
        elif is_body and parent.kind == CLASS:
            parent.clear()
        elif is_body:
            self._is_operand_next = False

    # -- templates and JSX ----------------------------------------------------------------------------------

    def _template_text(self) -> None:
        match = _TEMPLATE_PART.search(self.text, self._position)
        if match is None:
            self._position = len(self.text)
        elif match[0] == "${":
            self._push(Open("${", "}", kind=EXPRESSION), match.start())
        else:
            self._position = match.end()
            if match[0] == "`":
                level = self.stack.pop()
                self._value(STRING, level.start - 1)

    def _tag(self) -> None:
        """Inside of `<a b="c" …`."""
        match = _JSX_TOKEN.match(self.text, self._position)
        assert match is not None
        level, token, start = self.stack[-1], match[0], match.start()
        self._position = match.end()
        if match["end"]:
            self._end_element(start)
        elif match["string"]:
            level.add(STRING, start)
            if match.end() == len(self.text) and (len(token) < 2 or token[-1] != token[0]):
                self.enclosing = "a string"
        elif token == "{":
            self._push(Open("{", "}", kind=EXPRESSION), start)
        elif token == ">":
            level.name = level.tokens[0] if level.tokens else ""
            level.kind, level.closer = CHILDREN, f"</{level.name}>"
        elif match["other"]:
            level.add(token, start)

    def _jsx_text(self) -> None:
        """Between tags."""
        match = _JSX_TEXT_END.search(self.text, self._position)
        if match is None:
            self._position = len(self.text)
        elif match[0] == "{":
            self._push(Open("{", "}", kind=EXPRESSION), match.start())
        elif closing := _CLOSING_TAG.match(self.text, match.start()):
            if closing["end"]:
                self._position = closing.end()
                self._end_element(match.start())
            else:
                self._position = len(self.text)
                self.stack[-1].kind, self.stack[-1].closer = CLOSING_TAG, ">"
        else:
            self._push(Open("<", " />", kind=TAG), match.start())

    def _end_element(self, start: int) -> None:
        self.stack.pop()
        if self.stack[-1].kind != CHILDREN:
            self._value(STRING, start)


def _last_index(tokens: list[str], token: str) -> int:
    return len(tokens) - 1 - tokens[::-1].index(token)
