"""Replace rare names by placeholders, and back (paper, section 3).

A name is *rare* when its rank is not below the vocabulary size. A strategy decides which names are renamed and how
placeholders are numbered. The code works on integer arrays with many snippets at once, because it runs on every
training batch.

When a snippet has more rare names than there are placeholders, the names that overflow become UNK. In training that is
a wrong configuration, so the caller may ask for an error instead: `on_overflow="error"`.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from rarename.errors import TooFewPlaceholders, UnknownName, UsageError
from rarename.vocabulary import PLACEHOLDER, Special, Vocabulary, rank_to_id

Ints = NDArray[np.int64]
OnOverflow = Literal["unk", "error"]


@dataclass(frozen=True)
class RareNames:
    """The distinct rare names of each snippet, in order of first appearance."""

    snippet: Ints  # the snippet of each name, in ascending order
    position: Ints  # how many distinct rare names come before it in its snippet
    occurrences: Ints  # how often the name occurs in its snippet


Numbering = Callable[[RareNames, int, Sequence[int] | None], Ints]
"""Maps rare names, the number of placeholders and one seed per snippet to placeholder numbers.

Numbers start at 0 and are distinct within a snippet. Numbers from the number of placeholders on are overflow."""


def by_appearance(names: RareNames, num_placeholders: int, seeds: Sequence[int] | None) -> Ints:
    """Number names by first appearance: `b a b` gives b=0, a=1."""
    return names.position


def by_frequency(names: RareNames, num_placeholders: int, seeds: Sequence[int] | None) -> Ints:
    """Number the most frequent name of a snippet first, ties by first appearance: `a b b` gives b=0, a=1."""
    order = np.lexsort((names.position, -names.occurrences, names.snippet))
    numbers = np.empty_like(names.position)
    # The names of a snippet stay together in this order, so its k-th name gets the position k.
    numbers[order] = names.position
    return numbers


def at_random(names: RareNames, num_placeholders: int, seeds: Sequence[int] | None) -> Ints:
    """Draw distinct numbers for each snippet with its own seed, so that they do not depend on the rest of the batch."""
    if seeds is None:
        raise UsageError("the strategy 'randomized' needs a seed for each snippet")
    if len(names.snippet) and len(seeds) <= names.snippet[-1]:
        raise UsageError(f"{len(seeds)} seeds for more snippets; expected one for each")
    numbers = names.position.copy()
    snippets, starts, counts = np.unique(names.snippet, return_index=True, return_counts=True)
    for snippet, start, drawn in zip(snippets, starts, np.minimum(counts, num_placeholders), strict=True):
        generator = np.random.default_rng(seeds[snippet])
        numbers[start : start + drawn] = generator.choice(num_placeholders, drawn, replace=False)
    return numbers


@dataclass(frozen=True)
class Strategy:
    """Which names are renamed, and how placeholders are numbered."""

    renames: Literal["none", "rare", "all"]
    numbering: Numbering
    summary: str


STRATEGIES = {
    "standard": Strategy("none", by_appearance, "rare names become UNK"),
    "ordered": Strategy("rare", by_appearance, "rare names are numbered by first appearance"),
    "randomized": Strategy("rare", at_random, "rare names are numbered at random in each snippet"),
    "by_frequency": Strategy("rare", by_frequency, "rare names are numbered by frequency, the most frequent first"),
    "full": Strategy("all", by_appearance, "all names are numbered by first appearance"),
}


def strategy_named(name: str) -> Strategy:
    """Look up a strategy."""
    if name not in STRATEGIES:
        raise UnknownName("strategy", name, STRATEGIES)
    return STRATEGIES[name]


def anonymize_ranks(
    ranks: NDArray[np.integer],
    vocabulary_size: int,
    strategy: str = "ordered",
    *,
    num_placeholders: int,
    seeds: Sequence[int] | None = None,
    on_overflow: OnOverflow = "unk",
) -> Ints:
    """Map rank ids to model ids, for one snippet or a batch with one snippet per row.

    Rank ids below 0 are special values (`Special.X.rank`). Model ids are ordered: special values, names of the
    vocabulary, placeholders.

    >>> figure_1 = [7, 0, 1, 9, 9]                        # my_y = np.sin(my_x) + my_x
    >>> anonymize_ranks(np.array(figure_1), 2, "ordered", num_placeholders=10) - len(Special)
    array([2, 0, 1, 3, 3])
    """
    chosen = strategy_named(strategy)
    if vocabulary_size < 0 or num_placeholders < 0:
        raise UsageError("a vocabulary size and a number of placeholders cannot be below 0")
    if not ranks.size:
        return np.empty(ranks.shape, dtype=np.int64)
    rows = np.asarray(ranks, dtype=np.int64).reshape(-1, ranks.shape[-1])
    if int(rows.min()) < -len(Special):
        raise UsageError(f"{rows.min()} is neither a rank nor the code of a special value")
    ids = rank_to_id(rows)
    is_renamed = rows >= (0 if chosen.renames == "all" else vocabulary_size)
    if chosen.renames == "none":
        ids[is_renamed] = Special.UNK
    elif is_renamed.any():
        snippets = np.nonzero(is_renamed)[0]
        numbers = _placeholder_numbers(rows[is_renamed], snippets, chosen.numbering, num_placeholders, seeds)
        if on_overflow == "error" and numbers.max() >= num_placeholders:
            counts = f"{numbers.max() + 1} rare names, but there are {num_placeholders} placeholders"
            advice = "set `num_placeholders` to the length of the longest snippet"
            raise TooFewPlaceholders(f"a snippet has {counts}; {advice}")
        placeholders = len(Special) + vocabulary_size + numbers
        ids[is_renamed] = np.where(numbers < num_placeholders, placeholders, Special.UNK)
    return ids.reshape(ranks.shape)


def _placeholder_numbers(
    names: Ints, snippets: Ints, numbering: Numbering, num_placeholders: int, seeds: Sequence[int] | None
) -> Ints:
    """Number each occurrence of a rare name, given the rank and the snippet of each occurrence in reading order."""
    # One key per pair of snippet and name; the names are renumbered first so that keys cannot overflow.
    _, name_index = np.unique(names, return_inverse=True)
    keys = snippets * (name_index.max() + 1) + name_index
    _, first, inverse, counts = np.unique(keys, return_index=True, return_inverse=True, return_counts=True)
    order = np.argsort(first)
    snippet = snippets[first[order]]
    position = np.arange(len(snippet)) - np.searchsorted(snippet, snippet)
    numbers = np.empty_like(position)
    numbers[order] = numbering(RareNames(snippet, position, counts[order]), num_placeholders, seeds)
    return numbers[inverse]


@dataclass(frozen=True)
class Anonymized:
    """A snippet with placeholders for its rare names, and the original names."""

    values: tuple[str | None, ...]
    names: dict[str, str]  # the original name of each placeholder

    def restore(self, values: Iterable[str | None] | None = None) -> list[str | None]:
        """Put the original names back, into this snippet or into other values with its placeholders."""
        values = self.values if values is None else values
        return [None if value is None else self.names.get(value, value) for value in values]


IsIdentifier = Sequence[bool] | Callable[[str], bool]


def identifier_flags(values: Sequence[str | None], is_identifier: IsIdentifier | None) -> Sequence[bool]:
    """For each value whether it is an identifier; without a list or a function, all are.

    >>> identifier_flags(["x", "1", None], str.isidentifier)
    [True, False, False]
    """
    if is_identifier is None:
        return [True] * len(values)
    if callable(is_identifier):
        return [value is not None and is_identifier(value) for value in values]
    if len(is_identifier) != len(values):
        raise ValueError(f"is_identifier has {len(is_identifier)} items for {len(values)} values")
    return is_identifier


def anonymize_values(
    values: Sequence[str | None],
    vocabulary: Vocabulary | Iterable[str],
    strategy: str = "ordered",
    *,
    is_identifier: IsIdentifier | None = None,
    num_placeholders: int | None = None,
    seed: int = 0,
) -> Anonymized:
    """Replace the rare names of one snippet, given as a list of tokens or of node values.

    None and values that are not identifiers stay as they are; `is_identifier` has a bool for each value, or is a
    function of a value. There are enough placeholders by default.

    >>> anonymize_values(["my_y", "np", "sin", "my_x", "my_x"], ["np", "sin"]).values
    ('VAR1', 'np', 'sin', 'VAR2', 'VAR2')
    """
    if not isinstance(vocabulary, Vocabulary):
        vocabulary = Vocabulary(vocabulary)
    if num_placeholders is None:
        num_placeholders = len(values)
    is_name = identifier_flags(values, is_identifier)
    ranks, _ = vocabulary.ranks([value if named else None for value, named in zip(values, is_name, strict=True)])
    ids = anonymize_ranks(ranks, len(vocabulary), strategy, num_placeholders=num_placeholders, seeds=[seed])
    first_placeholder = len(Special) + len(vocabulary)
    result, names = list(values), dict[str, str]()
    for position, (model_id, name) in enumerate(zip(ids.tolist(), values, strict=True)):
        if model_id == Special.UNK:
            result[position] = Special.UNK.name
        elif model_id >= first_placeholder and name is not None:
            placeholder = PLACEHOLDER.format(model_id - first_placeholder + 1)
            result[position], names[placeholder] = placeholder, name
    return Anonymized(tuple(result), names)
