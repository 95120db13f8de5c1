"""Map the ids of a corpus to the rank ids of an encoding that was made from another corpus.

Each corpus ranks its values and types by its own counts. A model can still be evaluated on another corpus, because a
value with a name in the encoding keeps that name.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rarename.corpus.store import Corpus
from rarename.encoding import Encoding


class RankMapping(NamedTuple):
    """A rank id for each id of a corpus; None where both are the same."""

    types: NDArray[np.int16] | None
    values: NDArray[np.int64] | None

    @classmethod
    def of(cls, corpus: Corpus, encoding: Encoding, roles: tuple[str, ...]) -> "RankMapping":
        """Map a corpus to an encoding whose vocabulary ranks the values in these groups of roles."""
        types = None if list(corpus.types) == list(encoding.types) else encoding.type_ranks(corpus.types)
        if list(corpus.vocabulary(len(encoding.values), *roles)) != list(encoding.values):
            values, _ = encoding.values.ranks(corpus.values())
            return cls(types, values)
        ranking = corpus.ranking(*roles)
        return cls(types, None if (ranking == np.arange(len(ranking))).all() else ranking)

    def map_types(self, types: NDArray[np.int16]) -> NDArray[np.int16]:
        return types if self.types is None else self.types[types]

    def map_values(self, values: NDArray[np.integer]) -> NDArray[np.int64]:
        """Map values; ids below 0 mean no value and stay."""
        ids: NDArray[np.int64] = values.astype(np.int64, copy=False)
        return ids if self.values is None else np.where(ids >= 0, self.values[ids], ids)


IDENTITY = RankMapping(None, None)
