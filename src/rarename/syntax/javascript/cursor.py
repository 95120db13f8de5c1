"""How unfinished JavaScript is read."""

from rarename.syntax.cursor import ONE_LINE_STRING, CursorSupport
from rarename.syntax.javascript.incomplete import STATEMENT_END, complete_prefix, later_bindings
from rarename.syntax.javascript.lexer import Lexer
from rarename.syntax.javascript.scope import keywords, visible_names


def cursor_support() -> CursorSupport:
    return CursorSupport(
        name_char=r"[\w$]",
        non_code=rf"//[^\n]*|/\*.*?(?:\*/|\Z)|`(?:[^`\\]|\\.)*+`?|{ONE_LINE_STRING}",
        statement_end=STATEMENT_END,
        lexer=Lexer,
        complete_prefix=complete_prefix,
        later_bindings=later_bindings,
        visible_names=visible_names,
        keywords=keywords,
    )
