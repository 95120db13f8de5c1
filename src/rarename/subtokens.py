"""The parts of names: `maxIndex` and `max_index` are both `max index`.

A placeholder tells which variable is which; the parts of a rare name still tell what it may be about. The paper has no
such thing: a model may be told them beside the placeholder, never instead of it.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from rarename.vocabulary import Vocabulary

MAX_PARTS = 4
"""Of a longer name the last ones count: they say what it is, those before say which."""

_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_MAX_LENGTH = 60


def parts_of(name: str | None) -> list[str]:
    """The parts of a name, in lower case; digits are none.

    >>> [parts_of(name) for name in ("max_index", "maxIndex2", "HTTPServer", "x", "_", None)]
    [['max', 'index'], ['max', 'index'], ['http', 'server'], ['x'], [], []]
    """
    if name is None or len(name) > _MAX_LENGTH or not name.isascii():
        return []
    return [part.lower() for part in _PART.findall(name)]


def frequent_parts(names: Iterable[str], counts: Iterable[int], size: int) -> Vocabulary:
    """The most frequent parts of names that occur so often.

    >>> list(frequent_parts(["max_index", "index"], [2, 1], 1))
    ['index']
    """
    total: Counter[str] = Counter()
    for name, count in zip(names, counts, strict=True):
        if count:
            for part in parts_of(name):
                total[part] += count
    ranked = sorted(total.items(), key=lambda item: (-item[1], item[0]))
    return Vocabulary([part for part, _ in ranked[:size]])


def part_ids(names: Sequence[str | None], parts: Vocabulary) -> NDArray[np.int16]:
    """For each name the ranks of its parts plus 1, and 0 for none: (names, MAX_PARTS)."""
    result = np.zeros((len(names), MAX_PARTS), dtype=np.int16)
    for row, name in enumerate(names):
        found = [rank + 1 for part in parts_of(name) if (rank := parts.rank(part)) is not None][-MAX_PARTS:]
        result[row, : len(found)] = found
    return result
