"""Ids of a corpus to the rank ids of an encoding that was made from another corpus.

On the corpus that a run was trained on they are the same. Any other ranks its values and types by its own counts; a
model can be measured on it all the same, for what has a name in the encoding keeps that name.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rarename.corpus.store import Corpus
from rarename.encoding import Encoding


class Alignment(NamedTuple):
    """For each id of a corpus a rank id; None where the ids are rank ids already."""

    types: NDArray[np.int16] | None
    values: NDArray[np.int64] | None

    @classmethod
    def of(cls, corpus: Corpus, encoding: Encoding, counted: tuple[str, ...]) -> "Alignment":
        """For an encoding whose vocabulary ranks what is `counted`."""
        types = None if list(corpus.types) == list(encoding.types) else encoding.type_ranks(corpus.types)
        if list(corpus.vocabulary(len(encoding.values), *counted)) != list(encoding.values):
            values, _ = encoding.values.ranks(corpus.values())
            return cls(types, values)
        ranking = corpus.ranking(*counted)
        return cls(types, None if (ranking == np.arange(len(ranking))).all() else ranking)

    def align_types(self, types: NDArray[np.int16]) -> NDArray[np.int16]:
        """The types of some nodes."""
        return types if self.types is None else self.types[types]

    def align_values(self, values: NDArray[np.integer]) -> NDArray[np.int64]:
        """The values of some nodes; ids below 0 stand for no value, and stay."""
        ids: NDArray[np.int64] = values.astype(np.int64, copy=False)
        return ids if self.values is None else np.where(ids >= 0, self.values[ids], ids)


UNCHANGED = Alignment(None, None)
