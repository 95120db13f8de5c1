"""How much of a corpus's identifiers a vocabulary covers: what `rarename inspect` shows."""

from dataclasses import dataclass

import numpy as np

from rarename.corpus.splits import SplitName
from rarename.corpus.store import Corpus
from rarename.syntax.traversal import IDENTIFIER_ROLES

SIZES = (1, 20, 100, 300, 1_000, 10_000, 25_000, 50_000)
"""The vocabulary sizes of the paper."""


@dataclass(frozen=True)
class Coverage:
    """The share of a split's identifier occurrences that a vocabulary of each size holds."""

    split: SplitName
    identifiers: int
    """Occurrences of identifiers in the split."""
    shares: dict[str, float]
    """By vocabulary size; `all` is every name of the training split."""


def coverage(corpus: Corpus) -> list[Coverage]:
    """Coverage of each split, for the sizes of the paper. Names are ranked by their occurrences as names."""
    ranking = corpus.ranking("names")
    num_names = corpus.num_occurring("names")
    sizes = {str(size): min(size, num_names) for size in SIZES} | {"all": num_names}
    is_identifier = np.zeros(128, dtype=bool)
    is_identifier[[int(role) for role in IDENTIFIER_ROLES]] = True
    result = []
    for name in SplitName:
        split = corpus.split(name)
        occurrences = np.zeros(len(ranking) + 1, dtype=np.int64)
        for values, roles in zip(split.column("values"), split.column("roles"), strict=True):
            places = is_identifier[roles] & (values >= 0)
            occurrences[: len(ranking)] += np.bincount(ranking[values[places]], minlength=len(ranking))
        covered = np.concatenate([[0], np.cumsum(occurrences)])
        total = int(covered[-1])
        shares = {label: float(covered[size] / total) if total else 0.0 for label, size in sizes.items()}
        result.append(Coverage(name, total, shares))
    return result
