"""Coverage: the fraction of identifiers that are in a vocabulary, as `rarename inspect` prints it."""

from dataclasses import dataclass

import numpy as np

from rarename.corpus.splits import SplitName
from rarename.corpus.store import Corpus
from rarename.syntax.traversal import IDENTIFIER_ROLES

SIZES = (1, 20, 100, 300, 1_000, 10_000, 25_000, 50_000)  # the vocabulary sizes of the paper


@dataclass(frozen=True)
class Coverage:
    """The coverage of one split."""

    split: SplitName
    num_identifiers: int  # occurrences of identifiers in the split
    fractions: dict[str, float]  # by vocabulary size; `all` is every name of the training split


def coverage(corpus: Corpus) -> list[Coverage]:
    """The coverage of each split, for the sizes of the paper."""
    ranking, num_names = corpus.ranking("names"), corpus.num_occurring("names")
    sizes = {str(size): min(size, num_names) for size in SIZES} | {"all": num_names}
    roles = [int(role) for role in IDENTIFIER_ROLES]
    result = []
    for name in SplitName:
        occurrences = np.zeros(len(ranking), dtype=np.int64)
        for _, _, columns in corpus.split(name).shards("values", "roles"):
            values = columns["values"][np.isin(columns["roles"], roles) & (columns["values"] >= 0)]
            occurrences += np.bincount(ranking[values], minlength=len(ranking))
        covered = np.concatenate([[0], np.cumsum(occurrences)])
        total = int(covered[-1])
        fractions = {label: float(covered[size] / total) if total else 0.0 for label, size in sizes.items()}
        result.append(Coverage(name, total, fractions))
    return result
