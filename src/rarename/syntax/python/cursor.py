"""How unfinished Python is read."""

from rarename.syntax.cursor import ONE_LINE_STRING, CursorSupport
from rarename.syntax.python.arguments import argument_names
from rarename.syntax.python.imports import module_at
from rarename.syntax.python.incomplete import STATEMENT_END, complete_prefix, later_bindings
from rarename.syntax.python.lexer import Lexer
from rarename.syntax.python.scope import keywords, visible_names


def cursor_support() -> CursorSupport:
    return CursorSupport(
        name_char=r"\w",
        non_code=rf"#[^\n]*|[rRbBuUfFtT]{{0,2}}(?:\"{{3}}.*?\"{{3}}|'{{3}}.*?'{{3}}|{ONE_LINE_STRING})",
        statement_end=STATEMENT_END,
        lexer=Lexer,
        complete_prefix=complete_prefix,
        later_bindings=later_bindings,
        visible_names=visible_names,
        keywords=keywords,
        argument_names=argument_names,
        module_at=module_at,
    )
