"""Unfinished JavaScript as tokens in open brackets, templates and elements of JSX, up to the cursor.

Where a new line begins another statement, the lexer closes what the statement above left open, and so in `if (a {`.
"""

import re

from rarename.syntax.javascript.closing import JsBracket, Kind, completed, is_pending, missing, statement_start
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
_REGEXP = re.compile(r"/(?:[^/\\\[\n]|\\[^\n]?+|\[(?:[^\]\\\n]|\\[^\n]?+)*+(?:\]|\Z|(?=\n)))*+(?P<end>/\w*)?")
_TEMPLATE_PART = re.compile(r"\\.|\$\{|`", re.DOTALL)
_JSX_TEXT_END = re.compile(r"[{<]")
_JSX_START = re.compile(r"<(?=[\w$>]|\Z)")
_JSX_TOKEN = re.compile(
    r"(?P<blank>\s+|//[^\n]*\n|/\*.*?\*/)|(?P<string>\"[^\"]*\"?|'[^']*'?)|(?P<end>/\s*>)|(?P<other>[\w$.:-]+|.)",
    re.DOTALL,
)
_CLOSING_TAG = re.compile(r"</\s*[\w$.:-]*\s*(?P<end>>)?")

_BEFORE_OPERAND = frozenset(
    "await case default delete do else extends in instanceof new of return throw typeof void yield".split()  # noqa: SIM905
)  # the words before an expression
_LOOKS_BACK = frozenset({"in", "instanceof", "of", "as", "from", "else", "catch", "finally", "while", "extends"})
"""The words that may continue a statement on a new line."""
_STATEMENT = re.compile(
    r"""
    (?:var|let|const|return|throw|import|export) \s++ (?:[\w$'"{\[] (?!\s*+(?:in|of)\b) | \Z)
  | (?P<control>(?:if|for|while|switch) (?P<gap>\s*+) \()
  | (?P<definition>(?:async\s++)? function\b \s*+\*?+\s*+ [\w$]*+ \s*+(?:\(|\Z)
      | class\s++(?:extends\b|[\w$]*+\s*+(?:\{|extends\b|\Z)))
    """,
    re.VERBOSE,
)
"""What begins a statement at the start of a line even if a bracket or an operator before it was left open.

A method may be named `if`, and a member called, as in `Symbol.for(…)`; a function or class may be an operand.
"""
_BEFORE_STATEMENT = frozenset({"()", "do", "else", "return", "yield"})  # after these no operand is missing
_CONTROL = frozenset({"if", "while", "for", "with"})
_BLOCK_STATEMENTS = frozenset(
    "async catch class do else export finally for function if switch try while with {}".split()  # noqa: SIM905
)  # the words that begin a statement that ends with a block
_KEYWORDS = _BEFORE_OPERAND | _BLOCK_STATEMENTS | {"break", "const", "continue", "debugger", "import", "let", "var"}
_BEFORE_NAME = (_KEYWORDS | {"as", "get", "set", "static", "type", "using"}) - {"{}"}
_MEMBER = "member"  # the token for a name after a dot, which may be a keyword
_DOTS = frozenset({".", "?."})
_LINKS = _DOTS | {"()", "[]", STRING}
_CLOSERS = {"(": ")", "[": "]", "{": "}"}
_MAX_LEVELS = 30  # of brackets around the last one that are looked at
_TEXT_KINDS = (Kind.TEMPLATE, Kind.TAG, Kind.CHILDREN)  # where other tokens are read than in code
_ENCLOSING = {Kind.TEMPLATE: "a template", Kind.CHILDREN: "the text of an element"}


class Lexer:
    """A text up to the cursor, and what is open there."""

    starts_argument = False  # JavaScript has no keyword arguments

    def __init__(self, text: str) -> None:
        self.text = text
        self.stack = [JsBracket("", "", kind=Kind.BLOCK)]  # the open brackets; the outermost is the program
        self.enclosing = ""  # what contains the cursor if it is not in code
        self._position = 0
        self._code_end = 0  # the end of the last token
        self._is_operand_next = True  # an operand may come next, and not an operator: `/` starts a regular expression
        self._has_newline = False  # whether a line has ended since the last token
        read = {Kind.TEMPLATE: self._template_text, Kind.TAG: self._tag, Kind.CHILDREN: self._jsx_text}
        while self._position < len(self.text):
            kind = self.stack[-1].kind
            (read[kind] if kind in _TEXT_KINDS else self._code)()
        self.enclosing = _ENCLOSING.get(self.stack[-1].kind, self.enclosing)

    @property
    def is_bare_name(self) -> bool:
        """Whether the statement consists of a name, or of one after a dot: `‸`, `a.b().‸`."""
        bracket = self.stack[-1]
        tokens = [] if bracket.is_done else bracket.tokens
        is_chain = all(token in _LINKS or (is_name(token) and token not in _KEYWORDS) for token in tokens)
        return bracket.has_statements and is_chain and (not tokens or tokens[-1] in _DOTS)

    @property
    def is_after_operand(self) -> bool:
        """Whether an operand ends before the cursor, in its line: `f(a)‸`, `a ‸`, `import {a} from ‸`."""
        bracket = self.stack[-1]
        if bracket.kind in (Kind.TAG, Kind.CLOSING_TAG):
            return self.text.endswith(('"', "'"))
        if bracket.kind is Kind.CLASS and "=" not in bracket.tokens:
            return self.text.endswith((")", "]", '"', "'"))
        return not self._is_operand_next and not self._has_newline and bracket.last not in _BEFORE_NAME

    # -- tokens -------------------------------------------------------------------------------------------------------

    def _code(self) -> None:
        match = _TOKEN.match(self.text, self._position)
        assert match is not None  # the last alternative takes any character
        token, kind, start = match[0], match.lastgroup, match.start()
        if token == "/" and self._is_operand_next and self._regexp():
            return
        if token == "<" and self._is_operand_next and _JSX_START.match(self.text, start):
            self._push(JsBracket("<", " />", kind=Kind.TAG), start)
            return
        self._position = match.end()
        is_last = self._position == len(self.text)
        if kind == "newline":
            self._has_newline = True
        elif kind == "comment":
            is_closed = token.startswith("/*") and len(token) > 3 and token.endswith("*/")
            self.enclosing = "a comment" if is_last and not is_closed else ""
            self._has_newline = self._has_newline or "\n" in token
        elif kind == "string":
            self._literal(STRING, start)
            is_closed = len(token) > 1 and token[-1] == token[0]
            self.enclosing = "a string" if self._is_unfinished() and not is_closed else ""
        elif kind == "number":
            self._literal(NUMBER, start)
            self.enclosing = "a number" if is_last else ""
        elif kind == "template":
            self._push(JsBracket("`", "`", kind=Kind.TEMPLATE), start)
        elif kind == "name":
            self._name(token, start)
        elif kind == "operator":
            self._operator(token, start)
        if kind not in ("newline", "blank", "comment"):
            self._has_newline = False
            self._code_end = self._position

    def _is_unfinished(self) -> bool:
        """Whether the text ends with the last token. One character is left if it ends with a backslash."""
        return self._position >= len(self.text) - 1 and self.text[self._position :] != "\n"

    def _regexp(self) -> bool:
        match = _REGEXP.match(self.text, self._position)
        if match is not None:
            start, self._position = match.span()
            if match["end"] is None and self._is_unfinished():
                self.enclosing = "a regular expression"
            self._literal(STRING, start)
        return match is not None

    def _literal(self, token: str, start: int) -> None:
        self._add(token, start)
        self._is_operand_next = self._has_newline = False
        self._code_end = self._position

    def _add(self, token: str, start: int) -> None:
        bracket = self.stack[-1]
        continues = token in ("else", "catch", "finally") or (token == "while" and bracket.starts_with("do"))
        if bracket.is_done and not continues:
            bracket.clear()
        bracket.is_done = False
        bracket.add(token, start)

    def _name(self, token: str, start: int) -> None:
        if self._has_newline and self._is_next_statement(start):
            start = self._end_statement(start)
        bracket = self.stack[-1]
        is_member = bracket.last in _DOTS
        if bracket.is_body and self._has_newline and not self._is_operand_next and token not in _LOOKS_BACK:
            bracket.clear()  # the end of the line counts as a semicolon
        self._add(_MEMBER if is_member else token, start)
        self._is_operand_next = token in _BEFORE_OPERAND and not is_member

    def _operator(self, token: str, start: int) -> None:
        if token == "{" and not self._is_operand_next:
            start = self._close_header(start)
        bracket = self.stack[-1]
        if token in _CLOSERS:
            kind = self._brace_kind() if token == "{" else Kind.GROUP
            if bracket.is_done:
                bracket.clear()
            bracket.is_done = False
            self._push(JsBracket(token, _CLOSERS[token], kind=kind), start)
        elif token in (")", "]", "}"):
            self._close(token)
        elif self._separates(token):
            bracket.clear()
            self._is_operand_next = True
        else:
            self._add(token, start)
            self._is_operand_next = self._is_operand_next or token not in ("++", "--")

    def _separates(self, token: str) -> bool:
        """Whether a token ends a statement, an element of a list, a `case`, a `default` or a label."""
        bracket = self.stack[-1]
        if token in (";", ","):
            return bracket.opener != "(" if token == ";" else bool(bracket.opener) and not bracket.has_statements
        is_label = len(bracket.tokens) == 1 or bracket.starts_with("case")
        if token != ":" or not bracket.has_statements or not is_label:
            return False
        return bracket.tokens.count("?") <= bracket.tokens.count(":")  # otherwise it is in a conditional

    def _brace_kind(self) -> Kind:
        bracket = self.stack[-1]
        tokens, last = ([], "") if bracket.is_done else (bracket.tokens, bracket.last)
        if is_pending(tokens, "class", ("{}",)) and last != "=":
            return Kind.CLASS
        if last == "()":
            return Kind.SWITCH if tokens[-2:-1] == ["switch"] else Kind.BLOCK
        if last in ("=>", "else", "do", "try", "finally", "catch") or (last == "static" and bracket.kind is Kind.CLASS):
            return Kind.BLOCK
        if ("import" in tokens or "export" in tokens) and last in ("import", "export", ","):
            return Kind.SPECIFIERS
        begins_statement = not tokens or (not self._is_operand_next and self._has_newline)
        return Kind.BLOCK if bracket.has_statements and begins_statement else Kind.OBJECT

    # -- what was left open above -------------------------------------------------------------------------------------

    def _is_next_statement(self, start: int) -> bool:
        """Whether a statement begins at a new line although the one before it is not complete."""
        bracket, found = self.stack[-1], _STATEMENT.match(self.text, start)
        if found is None or (found["definition"] and self._is_operand_next and bracket.last not in _DOTS):
            return False
        if bracket.last in _DOTS:
            return found["gap"] != ""
        if bracket.has_statements:
            return self._is_incomplete()
        is_method = bracket.opener == "{" and found["control"]
        is_loop = bracket.opener == "(" and not bracket.tokens and "for" in self.stack[-2].tokens[-2:]
        return not is_method and not is_loop

    def _is_incomplete(self) -> bool:
        """Whether more of the current statement must follow: an operand, the other half of a conditional."""
        bracket = self.stack[-1]
        if not bracket.tokens or bracket.is_done or bracket.starts_with("@"):
            return False
        if self._is_operand_next:
            return bracket.last not in _BEFORE_STATEMENT
        return bracket.last == "from" or missing(self.stack, len(self.stack) - 1, "")[0] != ""

    def _end_statement(self, start: int) -> int:
        """Complete the statement before another one, or blank it out; return the new start of the other one."""
        depth = len(self.stack) - 1
        outermost = max(0, depth - _MAX_LEVELS)
        while depth > outermost and self.stack[depth].opener in _CLOSERS and not self.stack[depth].is_body:
            depth -= 1
        bracket, end = self.stack[depth], self._code_end
        if not bracket.has_statements:
            return start
        first = statement_start(self.stack, depth, end)
        lacks_operand = self._is_operand_next and self.stack[-1].last != "=>"  # its body may be a block
        statement = completed(self.text[:end], self.stack, depth, lacks_operand)
        if statement is None and bracket is self.stack[-1] and not lacks_operand:
            return start  # nothing is open: the parser may find its end
        if statement is None:
            statement = re.sub(r"[^\n]", " ", self.text[first:end])
        del self.stack[depth + 1 :]
        bracket.clear()
        self._replace(first, end, statement)
        self._is_operand_next = True
        return start + len(statement) - (end - first)

    def _close_header(self, start: int) -> int:
        """Close the parentheses of `if (a {` and `m(a {` before the brace; return the new start of the brace."""
        tokens = self.stack[-1].tokens
        if self.stack[-1].last in ("var", "let", "const") or {"class", "function"} & set(tokens):
            return start
        depth = len(self.stack) - 1
        outermost = max(0, depth - _MAX_LEVELS)
        while depth > outermost and self.stack[depth].opener == "(" and not self._begins_header(depth):
            depth -= 1
        if self.stack[depth].opener != "(" or depth == outermost:
            return start
        num_open = len(self.stack) - depth
        self._replace(self._code_end, self._code_end, ")" * num_open)
        for _ in range(num_open):
            self._close(")")
        return start + num_open

    def _begins_header(self, depth: int) -> bool:
        """Whether a parenthesis belongs to `if`, `catch`, a function, a method or the like: then a block follows it."""
        parent = self.stack[depth - 1]
        if parent.kind in (Kind.CLASS, Kind.OBJECT):
            return bool(parent.tokens) and not {"=", ":", "...", "?"} & set(parent.tokens)
        is_function = is_pending(parent.tokens, "function", ("()",))
        return is_function or _is_control(parent.tokens) or parent.last in ("catch", "switch")

    def _replace(self, start: int, end: int, code: str) -> None:
        self.text = f"{self.text[:start]}{code}{self.text[end:]}"
        shift = len(code) - (end - start)
        self._position += shift
        self._code_end += shift

    # -- brackets -----------------------------------------------------------------------------------------------------

    def _push(self, bracket: JsBracket, start: int) -> None:
        self._position = bracket.start = start + len(bracket.opener)
        self.stack.append(bracket)
        self._is_operand_next = True

    def _close(self, token: str) -> None:
        if self.stack[-1].closer != token:
            return
        bracket = self.stack.pop()
        if bracket.opener == "${":
            return
        parent = self.stack[-1]
        is_control = bracket.opener == "(" and _is_control(parent.tokens)
        parent.add(bracket.opener + token, bracket.start - 1)
        if not bracket.is_body:
            self._is_operand_next = is_control
        elif parent.has_statements:
            is_modifier = parent.tokens[0] in ("async", "export") and not {"function", "class"} & set(parent.tokens)
            parent.is_done = self._is_operand_next = parent.tokens[0] in _BLOCK_STATEMENTS and not is_modifier
        else:
            self._is_operand_next = parent.kind is Kind.CLASS
            if self._is_operand_next:
                parent.clear()

    # -- templates and JSX --------------------------------------------------------------------------------------------

    def _template_text(self) -> None:
        match = _TEMPLATE_PART.search(self.text, self._position)
        if match is None:
            self._position = len(self.text)
        elif match[0] == "${":
            self._push(JsBracket("${", "}", kind=Kind.EXPRESSION), match.start())
        else:
            self._position = match.end()
            if match[0] == "`":
                self._literal(STRING, self.stack.pop().start - 1)

    def _tag(self) -> None:
        match = _JSX_TOKEN.match(self.text, self._position)
        assert match is not None
        bracket, token, start = self.stack[-1], match[0], match.start()
        self._position = match.end()
        if match["end"]:
            self._end_element(start)
        elif match["string"]:
            bracket.add(STRING, start)
            if match.end() == len(self.text) and (len(token) < 2 or token[-1] != token[0]):
                self.enclosing = "a string"
        elif token == "{":
            self._push(JsBracket("{", "}", kind=Kind.EXPRESSION), start)
        elif token == ">":
            bracket.kind, bracket.closer = Kind.CHILDREN, f"</{''.join(bracket.tokens[:1])}>"
        elif match["other"]:
            bracket.add(token, start)

    def _jsx_text(self) -> None:
        match = _JSX_TEXT_END.search(self.text, self._position)
        if match is None:
            self._position = len(self.text)
        elif match[0] == "{":
            self._push(JsBracket("{", "}", kind=Kind.EXPRESSION), match.start())
        elif closing := _CLOSING_TAG.match(self.text, match.start()):
            if closing["end"]:
                self._position = closing.end()
                self._end_element(match.start())
            else:
                self._position = len(self.text)
                self.stack[-1].kind, self.stack[-1].closer = Kind.CLOSING_TAG, ">"
        else:
            self._push(JsBracket("<", " />", kind=Kind.TAG), match.start())

    def _end_element(self, start: int) -> None:
        self.stack.pop()
        if self.stack[-1].kind is not Kind.CHILDREN:
            self._literal(STRING, start)


def _is_control(tokens: list[str]) -> bool:
    """Whether a parenthesis after these tokens is followed by a statement."""
    return bool(tokens) and (tokens[-1] in _CONTROL or tokens[-2:] == ["for", "await"])
