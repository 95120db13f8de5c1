"""Rare names to placeholders and back (section 3 of the paper): the one place where it is done.

A strategy is two decisions: which names are renamed, and how placeholders are numbered. Everything here
works on integer arrays, many snippets at once, because it runs for every batch of a training; lists of
names go through the same code.

A name is *rare* when its rank is not below the vocabulary size. When a snippet has more rare names than
there are placeholders, the surplus becomes UNK, or is an error if the caller says so: `surplus="error"`
is for setting a training up, where it means that the configuration is wrong.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rarename.errors import TooFewPlaceholders, UnknownName, UsageError
from rarename.vocabulary import PLACEHOLDER, Special, Vocabulary

Ints = NDArray[np.int64]
Surplus = Literal["unknown", "error"]


class RareNames(NamedTuple):
    """The distinct rare names of each snippet, snippet by snippet, in order of first appearance."""

    snippet: Ints
    """Which snippet a name belongs to; never falls."""
    position: Ints
    """How many rare names its snippet had before it."""
    occurrences: Ints
    """How often the name occurs in its snippet."""


Numbering = Callable[[RareNames, int, Sequence[int] | None], Ints]
"""Numbers for rare names, from 0, distinct within a snippet, given the number of placeholders and a seed
for each snippet. A number that is not below the number of placeholders marks a name as surplus."""


def by_appearance(names: RareNames, placeholders: int, seeds: Sequence[int] | None) -> Ints:
    """Number names in the order in which they first appear: `b a b` gives b=0, a=1."""
    return names.position


def by_frequency(names: RareNames, placeholders: int, seeds: Sequence[int] | None) -> Ints:
    """Number the most frequent name of the snippet first, ties by first appearance: `a b b` gives b=0, a=1."""
    order = np.lexsort((names.position, -names.occurrences, names.snippet))
    numbers = np.empty_like(names.position)
    # Sorting keeps each snippet's names together, so the k-th of them gets what the k-th had by appearance.
    numbers[order] = names.position
    return numbers


def at_random(names: RareNames, placeholders: int, seeds: Sequence[int] | None) -> Ints:
    """Number names with distinct random numbers, drawn for each snippet from that snippet's own seed.

    A seed for each snippet, not for each batch, so that a snippet's numbers do not depend on its neighbours.
    """
    if seeds is None:
        raise UsageError("the strategy 'randomized' needs a seed for each snippet")
    if len(names.snippet) and len(seeds) <= names.snippet[-1]:
        raise UsageError(f"{len(seeds)} seeds for more snippets; expected one for each")
    numbers = names.position.copy()
    snippets, starts = np.unique(names.snippet, return_index=True)
    for snippet, start, stop in zip(snippets, starts, [*starts[1:], len(numbers)], strict=True):
        generator = np.random.default_rng(seeds[snippet])
        drawn = min(stop - start, placeholders)
        numbers[start : start + drawn] = generator.choice(placeholders, drawn, replace=False)
    return numbers


@dataclass(frozen=True)
class Strategy:
    """Which names are renamed, how placeholders are numbered."""

    renames: Literal["none", "rare", "all"]
    numbering: Numbering
    summary: str


STRATEGIES = {
    "standard": Strategy("none", by_appearance, "rare names become UNK"),
    "ordered": Strategy("rare", by_appearance, "rare names are numbered by first appearance"),
    "randomized": Strategy("rare", at_random, "rare names are numbered at random, anew for each snippet"),
    "by_frequency": Strategy("rare", by_frequency, "rare names are numbered, the most frequent first"),
    "full": Strategy("all", by_appearance, "all names are numbered by first appearance"),
}


def strategy_named(name: str) -> Strategy:
    """The strategy of that name.

    >>> strategy_named("sorted")
    Traceback (most recent call last):
    rarename.errors.UnknownName: no strategy 'sorted'; choose one of standard, ordered, randomized, by_frequency, full
    """
    if name not in STRATEGIES:
        raise UnknownName("strategy", name, STRATEGIES)
    return STRATEGIES[name]


def anonymize_ranks(
    ranks: NDArray[np.integer],
    vocabulary_size: int,
    strategy: str = "ordered",
    *,
    placeholders: int,
    seeds: Sequence[int] | None = None,
    surplus: Surplus = "unknown",
) -> Ints:
    """Rank ids to model ids: one snippet, or a batch with a snippet in each row.

    Rank ids below zero are special values (`Special.X.rank`). The model ids are, in this order, the special
    values, the names that are kept, the placeholders; `model_names` gives the names back.

    >>> figure_1 = [7, 0, 1, 9, 9]                        # my_y = np.sin(my_x) + my_x
    >>> anonymize_ranks(np.array(figure_1), 2, "ordered", placeholders=10) - len(Special)
    array([2, 0, 1, 3, 3])
    """
    chosen = strategy_named(strategy)
    if vocabulary_size < 0 or placeholders < 0:
        raise UsageError("a vocabulary size and a number of placeholders cannot be below 0")
    if not ranks.size:
        return np.empty(ranks.shape, dtype=np.int64)
    rows = np.asarray(ranks, dtype=np.int64).reshape(-1, ranks.shape[-1])
    if int(rows.min()) < -len(Special):
        raise UsageError(f"{rows.min()} is neither a rank nor the code of a special value")
    kept = 0 if chosen.renames == "all" else vocabulary_size
    ids = np.where(rows < 0, ~rows, rows + len(Special))
    is_rare = rows >= kept
    if chosen.renames == "none":
        ids[is_rare] = Special.UNK
    elif is_rare.any():
        snippets = np.nonzero(is_rare)[0]
        numbers = _numbers(rows[is_rare], snippets, chosen.numbering, placeholders, seeds)
        is_surplus = numbers >= placeholders
        if surplus == "error" and is_surplus.any():
            raise TooFewPlaceholders(
                f"a snippet has {numbers.max() + 1} rare names, but there are {placeholders} placeholders; "
                "set `placeholders` to the length of the longest snippet"
            )
        ids[is_rare] = np.where(is_surplus, Special.UNK, len(Special) + vocabulary_size + numbers)
    return ids.reshape(ranks.shape)


def _numbers(names: Ints, snippets: Ints, numbering: Numbering, placeholders: int, seeds: Sequence[int] | None) -> Ints:
    """The placeholder number of each rare place, given the name and the snippet of each, in reading order."""
    # One key for each pair of snippet and name, dense so that it cannot overflow.
    _, dense = np.unique(names, return_inverse=True)
    keys = snippets * (dense.max() + 1) + dense
    _, first, inverse, counts = np.unique(keys, return_index=True, return_inverse=True, return_counts=True)
    by_first = np.argsort(first)
    snippet = snippets[first[by_first]]
    position = np.arange(len(snippet)) - np.searchsorted(snippet, snippet)
    numbers = numbering(RareNames(snippet, position, counts[by_first]), placeholders, seeds)
    of_key = np.empty_like(numbers)
    of_key[by_first] = numbers
    return of_key[inverse]


@dataclass(frozen=True)
class Anonymized:
    """A snippet whose rare names have been replaced, with the way back."""

    values: tuple[str | None, ...]
    """The values of the snippet, rare ones replaced."""
    names: dict[str, str]
    """What each placeholder stands for."""

    def restore(self, values: Iterable[str | None] | None = None) -> list[str | None]:
        """Put the names back, into the snippet itself or into any values that speak of its placeholders."""
        return [
            value if value is None else self.names.get(value, value)
            for value in (self.values if values is None else values)
        ]


def anonymize_values(
    values: Sequence[str | None],
    vocabulary: Vocabulary | Iterable[str],
    strategy: str = "ordered",
    *,
    is_identifier: Sequence[bool] | None = None,
    placeholders: int | None = None,
    seed: int = 0,
) -> Anonymized:
    """Replace the rare names of one snippet, given as a list of tokens or of node values.

    Values that are None, and those that `is_identifier` excludes, stay as they are.

    >>> anonymize_values(["my_y", "np", "sin", "my_x", "my_x"], ["np", "sin"]).values
    ('VAR1', 'np', 'sin', 'VAR2', 'VAR2')
    """
    if not isinstance(vocabulary, Vocabulary):
        vocabulary = Vocabulary(vocabulary)
    is_name = [value is not None for value in values]
    if is_identifier is not None:
        is_name = [a and bool(b) for a, b in zip(is_name, is_identifier, strict=True)]
    places = [place for place, is_one in enumerate(is_name) if is_one]
    ranks, _ = vocabulary.ranks(values[place] for place in places)
    if placeholders is None:
        # Enough for any snippet of this length; `randomized` draws from as many.
        placeholders = len(values)
    ids = anonymize_ranks(ranks, len(vocabulary), strategy, placeholders=placeholders, seeds=[seed])
    first_placeholder = len(Special) + len(vocabulary)
    result, names = list(values), {}
    for place, model_id in zip(places, ids.tolist(), strict=True):
        if model_id == Special.UNK:
            result[place] = Special.UNK.name
        elif model_id >= first_placeholder:
            placeholder = PLACEHOLDER.format(model_id - first_placeholder + 1)
            names[placeholder] = values[place]
            result[place] = placeholder
    return Anonymized(tuple(result), {key: name for key, name in names.items() if name is not None})
