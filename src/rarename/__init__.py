"""Placeholders for rare identifiers in neural models of source code.

The method, in reading order: `syntax` (source text to traversal), `vocabulary` (which names are frequent),
`anonymize` (rare names to placeholders), `anonymize_source` (the same in a source text), `encoding` (vocabulary and
strategy together, to the ids that a model reads), `corpus` (many files, encoded once for all of that).
`docs/method.md` follows the paper.
"""

from rarename._version import __version__ as __version__
from rarename.anonymize import STRATEGIES, Anonymized, anonymize_ranks, anonymize_values
from rarename.anonymize_source import AnonymizedSource, anonymize_source
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
