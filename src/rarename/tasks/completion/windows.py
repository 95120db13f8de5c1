"""Windows of files: long files are cut, with an overlap that is context only (paper, section 4.1; Kim et al. 2021)."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rarename.corpus.store import Corpus
from rarename.syntax.functions import windows
from rarename.tasks.rank_mapping import UNCHANGED, Alignment

WINDOW = 500
"""Nodes that a model reads at once."""

STRIDE = 250
"""Nodes from one window to the next where it is measured: all but the first nodes of a file have so much context."""


@dataclass(frozen=True)
class Snippet:
    """A window of a file; the arrays are views, one entry a node."""

    types: NDArray[np.int16]
    """Rank ids; a type that the model has not met is `Special.UNK.rank`."""
    values: NDArray[np.integer]
    """Rank ids."""
    roles: NDArray[np.int8]
    context: int = 0
    """So many nodes at its start are no targets: another window has them, or there is nothing to learn from them."""
    project: int = 0
    """A number, see `Windows.projects`."""

    def __len__(self) -> int:
        return len(self.types)


class Windows:
    """The windows of a split, by index. The nodes stay in the memory-mapped files of the corpus."""

    def __init__(
        self,
        corpus: Corpus,
        split: str,
        size: int = WINDOW,
        stride: int = STRIDE,
        alignment: Alignment = UNCHANGED,
    ) -> None:
        self._alignment = alignment
        found = corpus.split(split)
        self._shards = list(found.shards("types", "values", "roles"))
        numbers: dict[str, int] = {}
        places: list[tuple[int, int, int, int, int]] = []
        for shard, (lengths, projects, _) in enumerate(self._shards):
            start = 0
            for length, project in zip(lengths.tolist(), projects, strict=True):
                number = numbers.setdefault(project, len(numbers))
                for window in windows(length, size, stride):
                    places.append((shard, start + window.start, window.stop - window.start, window.context, number))
                start += length
        self.projects = list(numbers)
        self._places = np.array(places, dtype=np.int64).reshape(-1, 5)

    @property
    def lengths(self) -> NDArray[np.int64]:
        """The number of nodes of each window."""
        return self._places[:, 2]

    def __len__(self) -> int:
        return len(self._places)

    def __getitem__(self, index: int) -> Snippet:
        shard, start, length, context, project = self._places[index].tolist()
        columns = self._shards[shard][2]
        nodes = slice(start, start + length)
        types = self._alignment.align_types(columns["types"][nodes])
        values = self._alignment.align_values(columns["values"][nodes])
        return Snippet(types, values, columns["roles"][nodes], context, project)
