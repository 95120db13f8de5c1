"""Anonymize a source text in place: the method, seen in a file that a person can read."""

from dataclasses import dataclass

from rarename.anonymize import Anonymized, anonymize_values
from rarename.syntax import Language, Traversal, language_named, parse
from rarename.syntax.lines import identifiers, rewrite
from rarename.vocabulary import Vocabulary


@dataclass(frozen=True)
class AnonymizedSource:
    """A source text whose rare identifiers have been replaced, with the way back."""

    text: str
    """Comments, literals and layout are those of the original."""
    names: dict[str, str]
    """What each placeholder stands for."""
    traversal: Traversal
    """The tree of the original."""
    values: tuple[str | None, ...]
    """The values of the tree's nodes, rare identifiers replaced."""
    language: Language

    def restore(self, text: str | None = None) -> str:
        """Put the names back, into this text or into one made from it: a model's output, say."""
        text = self.text if text is None else text
        traversal = parse(text, self.language, tolerant=True)
        values = Anonymized(tuple(traversal.values), self.names).restore()
        return rewrite(text, traversal, values, self.language)


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
    """Replace the rare identifiers of a source text where they stand.

    >>> result = anonymize_source("my_y  = np.sin(my_x) + my_x  # fig. 1", "python", Vocabulary(["np", "sin"]))
    >>> result.text
    'VAR1  = np.sin(VAR2) + VAR2  # fig. 1'
    >>> result.restore("VAR1 += VAR2")
    'my_y += my_x'

    Without a vocabulary the thousand most frequent names of the package's own stay. The tree may be handed in
    if it has been parsed before.
    """
    if isinstance(language, str):
        language = language_named(language)
    if vocabulary is None:
        vocabulary = Vocabulary.default(language.name).top(1000)
    if traversal is None:
        traversal = parse(text, language)
    result = anonymize_values(
        traversal.values,
        vocabulary,
        strategy,
        is_identifier=identifiers(traversal, language),
        num_placeholders=num_placeholders,
        seed=seed,
    )
    new_text = rewrite(text, traversal, result.values, language)
    return AnonymizedSource(new_text, result.names, traversal, result.values, language)
