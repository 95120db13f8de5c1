"""Vocabulary: names ranked by frequency, and the special values.

A corpus identifies a name by its *rank id*: 0 is the most frequent name, and special values are below 0. Rank ids do
not depend on the vocabulary size of a model. A model reads *model ids*, which start with the special values.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from enum import IntEnum
from functools import cache
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray

from rarename.errors import CorpusError, UsageError


class Special(IntEnum):
    """Model ids that are not names. They exist at every vocabulary size and are never renamed."""

    PAD = 0  # padding of a batch
    UNK = 1  # a rare name without a placeholder
    EMPTY = 2  # a node without a value
    STRING = 3  # any string literal, if the encoding masks strings
    NUMBER = 4  # any number, if the encoding masks numbers
    REGEXP = 5  # any regular expression, if the encoding masks them

    @property
    def rank(self) -> int:
        """The rank id of this special value."""
        return ~int(self)


def rank_to_id(ranks: NDArray[np.integer]) -> NDArray[np.int64]:
    """Model ids of names that all keep their name.

    >>> rank_to_id(np.array([0, 1, Special.UNK.rank]))
    array([6, 7, 1])
    """
    ranks = np.asarray(ranks, dtype=np.int64)
    return np.where(ranks < 0, ~ranks, ranks + len(Special))


PLACEHOLDER = "VAR{}"  # numbers start at 1, as in the paper


def is_placeholder(name: str) -> bool:
    """Whether a name looks like a placeholder. Such a name is always renamed, so that `VAR1` is never ambiguous."""
    return re.fullmatch(r"VAR[0-9]+", name) is not None


class Vocabulary(tuple[str, ...]):
    """Names by rank: the most frequent name has rank 0. Names that look like placeholders are left out.

    >>> vocabulary = Vocabulary.ranked(["x", "np", "np", "sin"])
    >>> list(vocabulary), vocabulary.rank("np"), vocabulary.rank("my_x")
    (['np', 'sin', 'x'], 0, None)
    """

    _ranks: dict[str, int]

    def __new__(cls, names: Iterable[str]) -> Self:
        vocabulary = super().__new__(cls, (name for name in dict.fromkeys(names) if not is_placeholder(name)))
        vocabulary._ranks = {name: rank for rank, name in enumerate(vocabulary)}
        return vocabulary

    @classmethod
    def ranked(cls, names: Iterable[str] | Mapping[str, int]) -> "Vocabulary":
        """Rank names, or names with their counts, by frequency; equally frequent names are ranked alphabetically."""
        counts = Counter(names)
        return cls(sorted(counts, key=lambda name: (-counts[name], name)))

    @classmethod
    def read(cls, path: Path) -> "Vocabulary":
        """Read a text file with one name per line, the most frequent first."""
        try:
            text = path.read_text(encoding="utf-8-sig")
        except UnicodeDecodeError as error:
            raise CorpusError(f"{path} is not a list of names in UTF-8: {error}") from error
        return cls(line.strip() for line in text.splitlines() if line.strip())

    @classmethod
    @cache
    def default(cls, language: str) -> "Vocabulary":
        """Load the vocabulary of the package for a language (docs/vocabularies.md).

        >>> Vocabulary.default("python").rank("self")
        0
        """
        path = Path(__file__).parent / "data" / "vocabularies" / f"{language}.txt"
        if not path.is_file():
            advice = "use one of your own, such as a list of names"
            raise UsageError(f"the package has no vocabulary for {language}; {advice}")
        return cls(path.read_text(encoding="utf-8").splitlines())

    def rank(self, name: str) -> int | None:
        """Return the rank of a name, or None if the vocabulary does not contain it."""
        return self._ranks.get(name)

    def ranks(self, values: Iterable[str | None]) -> tuple[NDArray[np.int64], list[str]]:
        """Return the rank ids of a snippet and its names outside the vocabulary, in order of first appearance.

        Each distinct name outside the vocabulary gets its own rank id after the last rank.

        >>> ids, new = Vocabulary(["np", "sin"]).ranks(["y", "np", None, "y"])
        >>> ids.tolist(), new
        ([2, 0, -3, 2], ['y'])
        """
        known, new, empty = self._ranks, _NewRanks(len(self)), Special.EMPTY.rank
        ids = [empty if value is None else known[value] if value in known else new[value] for value in values]
        return np.array(ids, dtype=np.int64), list(new)

    def top(self, size: int) -> "Vocabulary":
        """Keep only the most frequent names."""
        return Vocabulary(self[:size])

    def __contains__(self, name: object) -> bool:
        return name in self._ranks

    def __repr__(self) -> str:
        return f"Vocabulary({len(self)} names: {', '.join(self[:5])}, …)"


class _NewRanks(dict[str, int]):
    """Numbers each new name when it is first looked up."""

    def __init__(self, first: int) -> None:
        self._first = first

    def __missing__(self, name: str) -> int:
        self[name] = rank = self._first + len(self)
        return rank
