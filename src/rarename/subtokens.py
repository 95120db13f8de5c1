"""Subtokens of names: `maxIndex` and `max_index` both consist of `max` and `index`.

A placeholder identifies a variable but hides its name. A model may receive the subtokens of the name in addition to the
placeholder. The paper has no such input.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from rarename.vocabulary import Vocabulary

MAX_SUBTOKENS = 4  # a longer name keeps its last ones: in `old_max_row_index`, `index` matters more than `old`

_SUBTOKEN = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_MAX_NAME_LENGTH = 60


def split_subtokens(name: str | None) -> list[str]:
    """Split a name into lower-case subtokens, without digits.

    >>> [split_subtokens(name) for name in ("max_index", "maxIndex2", "HTTPServer", "x", "_", None)]
    [['max', 'index'], ['max', 'index'], ['http', 'server'], ['x'], [], []]
    """
    if name is None or len(name) > _MAX_NAME_LENGTH or not name.isascii():
        return []
    return [subtoken.lower() for subtoken in _SUBTOKEN.findall(name)]


def frequent_subtokens(names: Iterable[str], counts: Iterable[int], size: int) -> Vocabulary:
    """Return the `size` most frequent subtokens of names that occur `counts` times.

    >>> list(frequent_subtokens(["max_index", "index"], [2, 1], 1))
    ['index']
    """
    total: Counter[str] = Counter()
    for name, count in zip(names, counts, strict=True):
        for subtoken in split_subtokens(name) if count else ():
            total[subtoken] += count
    return Vocabulary.ranked(total).top(size)


def subtoken_ids(names: Sequence[str | None], subtokens: Vocabulary) -> NDArray[np.int16]:
    """Return the rank of each subtoken plus 1, padded with 0: (names, MAX_SUBTOKENS)."""
    ids = np.zeros((len(names), MAX_SUBTOKENS), dtype=np.int16)
    for row, name in enumerate(names):
        known = [rank + 1 for subtoken in split_subtokens(name) if (rank := subtokens.rank(subtoken)) is not None]
        last = known[-MAX_SUBTOKENS:]
        ids[row, : len(last)] = last
    return ids
