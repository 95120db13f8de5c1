"""Unfinished JavaScript as levels: the brackets, templates and elements of JSX that are open at the end.

Where a line begins another statement, what the one before it left open is closed on the way, and so is `if (a {`.
"""

import re

from rarename.syntax.javascript.closing import (
    BLOCK,
    CHILDREN,
    CLASS,
    CLOSING_TAG,
    EXPRESSION,
    MEMBER,
    OBJECT,
    SPECIFIERS,
    STATEMENTS,
    SWITCH,
    TAG,
    TEMPLATE,
    JsBracket,
    completed,
    missing,
    statement_start,
)
from rarename.syntax.lines import is_name
from rarename.syntax.open_brackets import NUMBER, STRING

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
_REGEXP = re.compile(r"/(?:[^/\\\[\n]|\\[^\n]?+|\[(?:[^\]\\\n]|\\[^\n]?+)*+(?:\]|\Z))*+(?P<end>/\w*)?")
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
_STATEMENT = re.compile(
    r"""
    (?:var|let|const|return|throw|import|export) \s+ (?:[\w$'"{\[] (?!\s*(?:in|of)\b) | \Z)
  | (?P<control>(?:if|for|while|switch) (?P<gap>\s*) \()
  | (?P<definition>(?:async\s+)? function\b \s*\*?\s* [\w$]* \s*(?:\(|\Z) | class\s+[\w$]*\s*(?:\{|extends\b|\Z))
    """,
    re.VERBOSE,
)
"""What begins a statement wherever it begins a line, so that a bracket or an operator before it was left alone.

A method may be named `if`, and a member called, as in `Symbol.for(…)`; a function or class may be an operand.
"""
_BEFORE_STATEMENT = frozenset({"()", "do", "else", "return", "yield"})
"""The tokens behind which no operand is missing: a statement may come, or nothing."""
_CONTROL = frozenset({"if", "while", "for", "with"})
_BLOCK_STATEMENTS = frozenset(
    {"async", "catch", "class", "do", "else", "export", "finally", "for", "function", "if", "switch", "try", "while"}
    | {"with", "{}"}
)
"""The words that begin a statement that ends with a block."""
_KEYWORDS = _BEFORE_OPERAND | _BLOCK_STATEMENTS | {"break", "const", "continue", "debugger", "import", "let", "var"}
_BEFORE_NAME = (_KEYWORDS | {"as", "get", "set", "static", "type", "using"}) - {"{}"}
"""The words that a name may follow."""
_DOTS = frozenset({".", "?."})
_LINKS = _DOTS | {"()", "[]", STRING}
_CLOSERS = {"(": ")", "[": "]", "{": "}"}


class Lexer:
    """A text up to the cursor, and what is open there."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.stack = [JsBracket("", "", kind=BLOCK)]
        """The open levels; the outermost is the program."""
        self.enclosing = ""
        """What the cursor stands in, if that is no code."""
        self._position = 0
        self._is_operand_next = True
        """Whether an operand may come next, and not an operator: then `/` starts a regular expression."""
        self._has_newline = False
        """Whether a line has ended since the last token."""
        self._code_end = 0
        """Where the last token ended."""
        self._run()

    @property
    def is_bare_name(self) -> bool:
        """Whether the statement is a name so far, or one behind a dot: `‸`, `a.b().‸`."""
        tokens = self.stack[-1].tokens if not self.stack[-1].is_done else []
        is_chain = all(token in _LINKS or (is_name(token) and token not in _KEYWORDS) for token in tokens)
        return self.stack[-1].kind in STATEMENTS and is_chain and (not tokens or tokens[-1] in _DOTS)

    @property
    def is_after_operand(self) -> bool:
        """Whether an operand ends before the cursor, in its line: `f(a)‸`, `a ‸`, `import {a} from ‸`."""
        level = self.stack[-1]
        if level.kind in (TAG, CLOSING_TAG):
            return self.text.endswith(('"', "'"))
        if level.kind == CLASS and "=" not in level.tokens:
            return self.text.endswith((")", "]", '"', "'"))
        return not self._is_operand_next and not self._has_newline and level.last not in _BEFORE_NAME

    @property
    def starts_argument(self) -> bool:
        """Whether an argument may begin with its name: never in JavaScript."""
        return False

    def _run(self) -> None:
        while self._position < len(self.text):
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
            self._push(JsBracket("<", " />", kind=TAG), start)
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
            self._push(JsBracket("`", "`", kind=TEMPLATE), start)
        elif kind == "number":
            self._value(NUMBER, start)
            self.enclosing = "a number" if is_last else ""
        elif kind == "name":
            self._name(token, start)
        elif kind == "operator":
            self._operator(token, start)
        if kind not in ("blank", "comment"):
            self._has_newline = False
            self._code_end = self._position

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
        self._is_operand_next = self._has_newline = False
        self._code_end = self._position

    def _add(self, token: str, start: int) -> None:
        level = self.stack[-1]
        if level.is_done and level.tokens:
            goes_on = token in ("else", "catch", "finally") or (token == "while" and level.tokens[0] == "do")
            if not goes_on:
                level.clear()
        level.is_done = False
        level.add(token, start)

    def _name(self, token: str, start: int) -> None:
        if self._has_newline and self._stops_short(start):
            start = self._end_statement(start)
        level = self.stack[-1]
        is_member = level.last in _DOTS
        has_statements = level.kind in STATEMENTS or level.kind == CLASS
        if has_statements and self._has_newline and not self._is_operand_next and token not in _LOOKS_BACK:
            level.clear()  # a semicolon is understood
        self._add(MEMBER if is_member else token, start)
        self._is_operand_next = token in _BEFORE_OPERAND and not is_member

    def _stops_short(self, start: int) -> bool:
        """Whether a statement begins at a new line though the one before it is not complete."""
        level, found = self.stack[-1], _STATEMENT.match(self.text, start)
        if found is None or (found["definition"] and self._is_operand_next and level.last not in _DOTS):
            return False
        if level.last in _DOTS:
            return found["gap"] != ""
        if level.kind in STATEMENTS:
            return self._lacks_something()
        is_method = level.opener == "{" and found["control"]
        is_loop = level.opener == "(" and not level.tokens and "for" in self.stack[-2].tokens[-2:]
        return not is_method and not is_loop

    def _lacks_something(self) -> bool:
        """Whether more of the current statement must come: an operand, the other half of a conditional."""
        level = self.stack[-1]
        if not level.tokens or level.is_done or level.tokens[0] == "@":
            return False
        if self._is_operand_next:
            return level.last not in _BEFORE_STATEMENT
        return level.last == "from" or missing(self.stack, len(self.stack) - 1, "")[0] != ""

    def _end_statement(self, start: int) -> int:
        """Make the statement complete before another one, or blank it out; returns where the other one starts then.

        The block of `function f(a` stays open if the next line stands deeper.
        """
        depth = len(self.stack) - 1
        while self.stack[depth].opener in _CLOSERS and self.stack[depth].kind not in (BLOCK, SWITCH, CLASS):
            depth -= 1
        level, end = self.stack[depth], self._code_end
        if level.kind not in STATEMENTS:
            return start
        first = statement_start(self.stack, depth, end)
        lacks_operand = self._is_operand_next and self.stack[-1].last != "=>"  # its body may be a block
        statement = completed(self.text[:end], self.stack, depth, lacks_operand)
        if statement is None and level is self.stack[-1] and not lacks_operand:
            return start  # nothing is open: the parser may find its end
        if statement is None:
            statement = re.sub(r"[^\n]", " ", self.text[first:end])
        self._close_to(depth)
        has_made_up_block = statement.endswith(" {}") and not self.text.endswith("{}", first, end)
        if has_made_up_block and self._brace_kind() == BLOCK and self._indent(start) > self._indent(first):
            statement = statement[:-1]
            self.stack.append(JsBracket("{", "}", kind=BLOCK, start=first + len(statement)))
        else:
            level.clear()
        self._replace(first, end, statement)
        self._is_operand_next = True
        return start + len(statement) - (end - first)

    def _close_to(self, depth: int) -> None:
        """Close all levels inside of one."""
        if depth + 1 < len(self.stack):
            inner = self.stack[depth + 1]
            self.stack[depth].add(inner.opener + inner.closer, inner.start - len(inner.opener))
            del self.stack[depth + 1 :]

    def _indent(self, position: int) -> int:
        """How far the line of a place is indented."""
        line = self.text[self.text.rfind("\n", 0, position) + 1 : position]
        return len(line) - len(line.lstrip())

    def _replace(self, start: int, end: int, code: str) -> None:
        """Put other code in the place of what has been read already."""
        self.text = f"{self.text[:start]}{code}{self.text[end:]}"
        shift = len(code) - (end - start)
        self._position += shift
        self._code_end += shift

    def _operator(self, token: str, start: int) -> None:
        if token == "{" and not self._is_operand_next:
            start = self._close_header(start)
        level = self.stack[-1]
        if token in _CLOSERS:
            is_group = self._is_operand_next or level.last == "async"
            kind = self._brace_kind() if token == "{" else ""
            if level.is_done and level.tokens:
                level.clear()
            level.is_done = False
            self._push(JsBracket(token, _CLOSERS[token], kind=kind, is_group=token == "(" and is_group), start)
        elif token in (")", "]", "}"):
            self._close(token, start)
        elif token == ";" and level.opener != "(":
            level.clear()
            self._is_operand_next = True
        elif token == "," and level.opener:
            if level.kind in STATEMENTS:
                self._add(token, start)
            else:
                level.has_default = level.has_default or level.tokens[1:2] == ["="]
                level.clear()
            self._is_operand_next = True
        elif token == ":" and self._ends_label():
            level.clear()
            self._is_operand_next = True
        else:
            self._add(token, start)
            if token not in ("++", "--"):
                self._is_operand_next = True

    def _close_header(self, start: int) -> int:
        """Close the brackets of `if (a {` and `m(a {` before the brace; returns where that is then."""
        tokens = self.stack[-1].tokens
        if tokens[-1:] in (["var"], ["let"], ["const"]) or {"class", "function"} & set(tokens):
            return start
        depth = len(self.stack) - 1
        while self.stack[depth].opener == "(" and not self._begins_header(depth):
            depth -= 1
        if self.stack[depth].opener != "(":
            return start
        num_open, end = len(self.stack) - depth, self._code_end
        self._replace(end, end, ")" * num_open)
        for closer in range(end, end + num_open):
            self._close(")", closer)
        return start + num_open

    def _begins_header(self, depth: int) -> bool:
        """Whether a bracket belongs to `if`, `catch`, a function, a method or the like: then a block follows it."""
        parent = self.stack[depth - 1]
        if parent.kind in (CLASS, OBJECT):
            return bool(parent.tokens) and not {"=", ":", "...", "?"} & set(parent.tokens)
        is_function = (
            "function" in parent.tokens and "()" not in parent.tokens[_last_index(parent.tokens, "function") :]
        )
        return is_function or _is_control(parent.tokens) or parent.last in ("catch", "switch")

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

    def _push(self, level: JsBracket, start: int) -> None:
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
        is_control = level.opener == "(" and _is_control(parent.tokens)
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
            self._push(JsBracket("${", "}", kind=EXPRESSION), match.start())
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
            self._push(JsBracket("{", "}", kind=EXPRESSION), start)
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
            self._push(JsBracket("{", "}", kind=EXPRESSION), match.start())
        elif closing := _CLOSING_TAG.match(self.text, match.start()):
            if closing["end"]:
                self._position = closing.end()
                self._end_element(match.start())
            else:
                self._position = len(self.text)
                self.stack[-1].kind, self.stack[-1].closer = CLOSING_TAG, ">"
        else:
            self._push(JsBracket("<", " />", kind=TAG), match.start())

    def _end_element(self, start: int) -> None:
        self.stack.pop()
        if self.stack[-1].kind != CHILDREN:
            self._value(STRING, start)


def _is_control(tokens: list[str]) -> bool:
    """Whether a bracket behind these tokens is followed by a statement."""
    return bool(tokens) and (tokens[-1] in _CONTROL or tokens[-2:] == ["for", "await"])


def _last_index(tokens: list[str], token: str) -> int:
    return len(tokens) - 1 - tokens[::-1].index(token)
