"""Placeholders for rare identifiers in neural models of source code.

The method, in reading order: `syntax` (source text to traversal), `vocabulary` (which names are frequent),
`anonymize` (rare names to placeholders), `anonymize_text` (the same in a source text), `encoding` (vocabulary and
strategy together, to the ids that a model reads), `corpus` (many files, encoded once for all of that).
`docs/method.md` follows the paper.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from rarename._version import __version__ as __version__

if TYPE_CHECKING:
    from rarename.anonymize import STRATEGIES, Anonymized, anonymize_ranks, anonymize_values
    from rarename.anonymize_text import AnonymizedSource, anonymize_source
    from rarename.encoding import Encoded, Encoding
    from rarename.errors import RarenameError
    from rarename.syntax import LANGUAGES, Language, Role, Traversal, parse
    from rarename.vocabulary import Special, Vocabulary

__all__ = [
    "LANGUAGES",
    "STRATEGIES",
    "Anonymized",
    "AnonymizedSource",
    "Encoded",
    "Encoding",
    "Language",
    "RarenameError",
    "Role",
    "Special",
    "Traversal",
    "Vocabulary",
    "anonymize_ranks",
    "anonymize_source",
    "anonymize_values",
    "parse",
]

_MODULES = ("errors", "syntax", "vocabulary", "anonymize", "anonymize_text", "encoding")


def __getattr__(name: str) -> Any:
    """Import a public name at its first use, so that a command starts, and can be interrupted, at once."""
    if name in __all__:
        for module in _MODULES:
            if (value := vars(import_module(f"rarename.{module}")).get(name)) is not None:
                globals()[name] = value
                return value
    raise AttributeError(f"module 'rarename' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
