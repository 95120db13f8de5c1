"""Anonymize a source text in place."""

from dataclasses import dataclass

from rarename.anonymize import anonymize_values
from rarename.syntax import Language, Traversal, language_named, parse
from rarename.syntax.lines import identifiers, rewrite
from rarename.vocabulary import Vocabulary


@dataclass(frozen=True)
class AnonymizedSource:
    """A source text with placeholders for its rare identifiers, and the original names."""

    text: str  # comments, literals and layout are unchanged
    names: dict[str, str]  # the original name of each placeholder
    traversal: Traversal  # the syntax tree of the original text
    values: tuple[str | None, ...]  # of its nodes, rare identifiers replaced
    language: Language
    original: str  # the text before

    def restore(self, text: str | None = None) -> str:
        """Put the original names back, into this text or into another one with its placeholders.

        This text is restored exactly. Another one gets each name as the tree has it: `os.path` for `os . path`.
        """
        if text is None or text == self.text:
            return self.original
        traversal = parse(text, self.language, tolerant=True)
        originals = [self.names.get(value or "") for value in traversal.values]  # None keeps the name as it is
        return rewrite(text, traversal, originals, self.language)


def anonymize_source(
    text: str,
    language: str | Language,
    vocabulary: Vocabulary | None = None,
    strategy: str = "ordered",
    *,
    traversal: Traversal | None = None,
    num_placeholders: int | None = None,
    seed: int = 0,
) -> AnonymizedSource:
    """Replace the rare identifiers of a source text.

    >>> result = anonymize_source("my_y  = np.sin(my_x) + my_x  # fig. 1", "python", Vocabulary(["np", "sin"]))
    >>> result.text
    'VAR1  = np.sin(VAR2) + VAR2  # fig. 1'
    >>> result.restore("VAR1 += VAR2")
    'my_y += my_x'

    The default vocabulary is the thousand most frequent names of the package's own. `traversal` is the syntax tree of
    the text, if it has been parsed already.
    """
    language = language_named(language) if isinstance(language, str) else language
    vocabulary = Vocabulary.default(language.name).top(1000) if vocabulary is None else vocabulary
    traversal = parse(text, language) if traversal is None else traversal
    is_identifier, values = identifiers(traversal, language), traversal.values
    result = anonymize_values(
        values, vocabulary, strategy, is_identifier=is_identifier, num_placeholders=num_placeholders, seed=seed
    )
    new_text = rewrite(text, traversal, result.values, language)
    return AnonymizedSource(new_text, result.names, traversal, result.values, language, text)
