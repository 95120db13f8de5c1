"""The functions of a corpus that are eligible for variable misuse."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rarename.corpus.store import Corpus
from rarename.subtokens import MAX_SUBTOKENS, subtoken_ids
from rarename.syntax.functions import Slice
from rarename.syntax.scope import ScopeRules
from rarename.syntax.traversal import MisuseLabel
from rarename.tasks.misuse.functions import EncodedFile, Function, children_of, is_eligible, outermost_within
from rarename.tasks.misuse.similarity import NUM_BYTES, character_bigrams
from rarename.tasks.rank_mapping import IDENTITY, RankMapping
from rarename.vocabulary import Vocabulary


class FunctionDataset(Sequence[Function]):
    """The eligible functions of a split, by index. Published examples (GREAT) are taken whole, with their labels."""

    def __init__(
        self,
        corpus: Corpus,
        split: str,
        max_nodes: int,
        mapping: RankMapping = IDENTITY,
        subtokens: NDArray[np.int16] | None = None,
        bigrams: NDArray[np.uint8] | None = None,
    ) -> None:
        self._subtokens, self._bigrams = subtokens, bigrams
        self._files: list[EncodedFile] = []
        self._slices: list[NDArray[np.int64]] = []  # the functions of each file
        self._labels: dict[int, MisuseLabel] = {}  # by file
        project_ids: dict[str, int] = {}
        self._projects: list[int] = []  # of each file
        index: list[tuple[int, int, int]] = []
        rules = ScopeRules.of(corpus.types, corpus.language)
        is_unswappable_type = np.array([name in corpus.language.unswappable_types for name in corpus.types])
        for number, file in enumerate(corpus.split(split)):
            encoded = EncodedFile(
                types=mapping.map_types(file.types),
                values=mapping.map_values(file.values),
                roles=file.roles,
                scopes=rules.lookup_scopes(file.types, file.parents),
                is_unswappable=children_of(file.types, file.parents, is_unswappable_type),
            )
            self._files.append(encoded)
            self._slices.append(np.asarray(file.functions, dtype=np.int64).reshape(-1, 2))
            self._projects.append(project_ids.setdefault(file.project, len(project_ids)))
            if file.bug is not None:
                # In a few published bugs the correct name occurs nowhere else: pointing cannot repair them.
                if len(file.types) <= max_nodes and (not file.bug.location or file.bug.repair_targets):
                    index.append((number, 0, len(file.types)))
                    self._labels[number] = file.bug
                continue
            slices = [Slice(*pair) for pair in self._slices[-1].tolist()]
            for start, length in outermost_within(slices, max_nodes):
                if is_eligible(encoded.function_at(start, length)):
                    index.append((number, start, length))
        self._index = np.array(index, dtype=np.int64).reshape(-1, 3)  # file, start, length
        self.project_names = list(project_ids)

    @property
    def has_labels(self) -> bool:
        """Whether the examples come with published bugs, so that none are injected."""
        return bool(self._labels)

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Number of nodes of each function."""
        return self._index[:, 2]

    def project(self, index: int) -> int:
        """The project of a function, as an index into `project_names`."""
        return self._projects[int(self._index[index, 0])]

    def nested_slices(self, index: int) -> tuple[Slice, ...]:
        """A function and those nested in it, relative to its start; empty if it is no part of a file."""
        file, start, length = self._index[index].tolist()
        first, last = np.searchsorted(self._slices[file][:, 0], (start, start + length)).tolist()
        return tuple(Slice(each - start, count) for each, count in self._slices[file][first:last].tolist())

    def __len__(self) -> int:
        return len(self._index)

    def __getitem__(self, index: int) -> Function:  # type: ignore[override]
        file, start, length = self._index[index].tolist()
        function: Function = self._files[file].function_at(start, length)
        ranks = np.maximum(function.values, -1)  # the last row of a table is for nodes without a value
        return replace(
            function,
            subtokens=None if self._subtokens is None else self._subtokens[ranks],
            bigrams=None if self._bigrams is None else self._bigrams[ranks],
            label=self._labels.get(file),
        )


def subtoken_table(corpus: Corpus, mapping: RankMapping, vocabulary: Vocabulary) -> NDArray[np.int16]:
    """The subtokens of every value of a corpus by its rank; the last row is empty."""
    return _table_by_rank(corpus, mapping, subtoken_ids(corpus.values(), vocabulary), MAX_SUBTOKENS)


def bigram_table(corpus: Corpus, mapping: RankMapping) -> NDArray[np.uint8]:
    """The character bigrams of every value of a corpus by its rank; the last row is empty."""
    return _table_by_rank(corpus, mapping, character_bigrams(corpus.values()), NUM_BYTES)


def _table_by_rank(corpus: Corpus, mapping: RankMapping, rows: NDArray[Any], width: int) -> NDArray[Any]:
    ranks = mapping.map_values(np.arange(corpus.num_values))
    table = np.zeros((int(ranks.max(initial=-1)) + 2, width), dtype=rows.dtype)
    table[ranks] = rows
    return table
