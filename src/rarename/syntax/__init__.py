"""Source text to traversal: the first step of the method.

Reading order: traversal, language, python, javascript, tokens, functions, scope, lines, records, cursor.
"""

from pathlib import PurePath

from rarename.errors import UnknownName, UsageError
from rarename.syntax.javascript import JAVASCRIPT
from rarename.syntax.language import Language
from rarename.syntax.python import PYTHON
from rarename.syntax.tokens import TOKENS
from rarename.syntax.traversal import Role, Span, Traversal

__all__ = [
    "JAVASCRIPT", "LANGUAGES", "PYTHON", "TOKENS", "Language", "Role", "Span", "Traversal",
    "language_named", "language_of", "parse",
]  # fmt: skip

LANGUAGES = {language.name: language for language in (PYTHON, JAVASCRIPT, TOKENS)}


def language_named(name: str) -> Language:
    """The language of that name."""
    if name not in LANGUAGES:
        raise UnknownName("language", name, LANGUAGES)
    return LANGUAGES[name]


def language_of(path: str | PurePath) -> Language:
    """The language of a file, by the ending of its name."""
    by_suffix = {suffix: language for language in LANGUAGES.values() for suffix in language.suffixes}
    suffix = PurePath(path).suffix.lower()
    if suffix not in by_suffix:
        raise UsageError(f"{path}: the ending is none of {', '.join(by_suffix)}; add --language")
    return by_suffix[suffix]


def parse(text: str, language: str | Language, *, tolerant: bool = False) -> Traversal:
    """Parse a source text. A tolerant parse recovers from syntax errors where the language's parser can.

    >>> traversal = parse("x = 7", "python")
    >>> list(zip(traversal.types, traversal.values))
    [('Module', None), ('Assign', None), ('NameStore', 'x'), ('Num', '7')]
    """
    if isinstance(language, str):
        language = language_named(language)
    return language.parse(text, tolerant)
