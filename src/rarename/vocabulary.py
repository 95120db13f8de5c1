"""Vocabulary: the names that keep their own name, most frequent first; and the special values."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from enum import IntEnum
from functools import cache
from importlib.resources import files
from itertools import islice
from pathlib import Path
from typing import overload

import numpy as np
from numpy.typing import NDArray

from rarename.errors import CorpusError, UnknownName
from rarename.io import write_text


class Special(IntEnum):
    """Model ids that stand for no name. They are special at every vocabulary size and never renamed."""

    PAD = 0
    """No node: fills a batch up."""
    UNK = 1
    """A rare value whose name is not told."""
    EMPTY = 2
    """A node without a value."""
    STRING = 3
    """Any string, where a task hides them."""
    NUMBER = 4
    """Any number, where a task hides them."""
    REGEXP = 5
    """Any regular expression, where a task hides them."""

    @property
    def rank(self) -> int:
        """The code of this special value among rank ids: below zero, where no name can be."""
        return ~int(self)


PLACEHOLDER = "VAR{}"
"""How a placeholder is spelt; numbers count from 1, as in the paper."""

_PLACEHOLDER_NAME = re.compile(r"VAR[0-9]+\Z")


def is_placeholder(name: str) -> bool:
    """Whether a name is spelt like a placeholder: such a name may not be kept, or the two would be mixed up."""
    return _PLACEHOLDER_NAME.match(name) is not None


class Vocabulary(Sequence[str]):
    """Names by rank: the most frequent has rank 0.

    >>> vocabulary = Vocabulary.ranked(["x", "np", "np", "sin"])
    >>> list(vocabulary), vocabulary.rank("np"), vocabulary.rank("my_x")
    (['np', 'sin', 'x'], 0, None)

    Names that are spelt like placeholders are left out, so that `VAR1` always means a placeholder.
    """

    def __init__(self, names: Iterable[str]) -> None:
        self._ranks = {name: 0 for name in names if not is_placeholder(name)}
        for rank, name in enumerate(self._ranks):
            self._ranks[name] = rank
        self._names = list(self._ranks)

    @classmethod
    def ranked(cls, names: Iterable[str]) -> "Vocabulary":
        """Rank names by how often they occur, ties by the alphabet."""
        counts = Counter(names)
        return cls(sorted(counts, key=lambda name: (-counts[name], name)))

    @classmethod
    def read(cls, path: Path) -> "Vocabulary":
        """Read a text file with one name a line, most frequent first."""
        try:
            text = path.read_text(encoding="utf-8-sig")
        except UnicodeDecodeError as error:
            raise CorpusError(f"{path} is not a list of names in UTF-8: {error}") from error
        return cls(line.strip() for line in text.splitlines() if line.strip())

    @classmethod
    def default(cls, language: str) -> "Vocabulary":
        """The vocabulary inside the package, counted on popular packages (see docs/vocabularies.md).

        >>> Vocabulary.default("python").rank("self")
        0
        """
        return _default(language)

    def write(self, path: Path) -> None:
        """Write what `read` reads; the file is complete or absent."""
        write_text(path, "".join(f"{name}\n" for name in self))

    def rank(self, name: str) -> int | None:
        """The rank of a name, None if the vocabulary does not have it."""
        return self._ranks.get(name)

    def ranks(self, values: Iterable[str | None]) -> tuple[NDArray[np.int64], list[str]]:
        """Rank ids of a snippet, and the names that are new, in order of appearance.

        A value that the vocabulary lacks gets a rank beyond its end, one for each distinct value.

        >>> ids, new = Vocabulary(["np", "sin"]).ranks(["y", "np", None, "y"])
        >>> ids.tolist(), new
        ([2, 0, -3, 2], ['y'])
        """
        size, known = len(self), self._ranks
        new: dict[str, int] = {}
        ids = [
            Special.EMPTY.rank if value is None
            # A rank of 0 is false, hence no `or`.
            else rank if (rank := known.get(value)) is not None
            else new.setdefault(value, size + len(new))
            for value in values
        ]  # fmt: skip
        return np.array(ids, dtype=np.int64), list(new)

    def top(self, size: int) -> "Vocabulary":
        """The most frequent names only."""
        return Vocabulary(islice(self, min(size, len(self))))

    def __len__(self) -> int:
        return len(self._names)

    @overload
    def __getitem__(self, rank: int) -> str: ...
    @overload
    def __getitem__(self, rank: slice) -> list[str]: ...
    def __getitem__(self, rank: int | slice) -> str | list[str]:
        return self._names[rank]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __contains__(self, name: object) -> bool:
        return name in self._ranks

    def __repr__(self) -> str:
        return f"Vocabulary({len(self)} names: {', '.join(islice(self, 5))}, …)"


@cache
def _default(language: str) -> Vocabulary:
    folder = files("rarename") / "data" / "vocabularies"
    path = folder / f"{language}.txt"
    if not path.is_file():
        choices = sorted(entry.name.removesuffix(".txt") for entry in folder.iterdir())
        raise UnknownName("vocabulary inside the package for language", language, choices)
    return Vocabulary(path.read_text(encoding="utf-8").splitlines())
