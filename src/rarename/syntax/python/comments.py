"""Comments of a Python text."""

import io
import tokenize
from collections.abc import Iterator
from contextlib import suppress

from rarename.syntax.language import Comment


def find_comments(text: str) -> Iterator[Comment]:
    """The comments of a text, up to the first token that cannot be read."""
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    with suppress(tokenize.TokenError, SyntaxError):
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT:
                line, column = token.start
                yield Comment(line, column + 1, line, token.string)
