"""The functions of a corpus that are eligible for variable misuse."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rarename.corpus.store import Corpus
from rarename.syntax import Role
from rarename.syntax.functions import Slice
from rarename.syntax.scope import ScopeRules
from rarename.tasks.misuse.context import FileContext
from rarename.tasks.misuse.functions import (
    Function,
    is_eligible,
    is_unswappable,
    outermost_within,
    places,
    published_functions,
    published_variables,
)
from rarename.tasks.misuse.injection import repairable_nodes
from rarename.tasks.rank_mapping import IDENTITY, RankMapping

MASKED_LITERALS = frozenset({Role.STRING, Role.REGEXP})
_IS_MASKED = np.isin(np.arange(128), [int(role) for role in MASKED_LITERALS])

BUGS_PER_FUNCTION = 3
"""Largest number of different bugs of a function (paper, section 4.1)."""


class FunctionDataset(Sequence[Function]):
    """The eligible functions of a split, by index. Published examples (GREAT) are taken whole, with their labels.

    With `is_published`, functions and variables are those of the published code, and a function comes once for each of
    its bugs, in a row: `bug_numbers` counts them.
    """

    def __init__(
        self,
        corpus: Corpus,
        split: str,
        max_nodes: int,
        mapping: RankMapping = IDENTITY,
        subtokens: NDArray[np.int16] | None = None,
        bigrams: NDArray[np.uint8] | None = None,
        is_published: bool = False,
        has_features: bool = False,
        num_context: int = 0,
        context_types: NDArray[np.int16] | None = None,
    ) -> None:
        self._subtokens, self._bigrams, self._num_context = subtokens, bigrams, num_context
        self._contexts: list[FileContext] = []  # of each file, if functions have a context
        self._files: list[Function] = []
        self._slices: list[NDArray[np.int64]] = []  # the functions of each file
        project_ids: dict[str, int] = {}
        index: list[tuple[int, int, int, int]] = []
        has_properties = is_published and "Property" in corpus.types
        # `isidentifier` knows no dollar sign.
        names = [each.replace("$", "_").isidentifier() for each in corpus.values()] if has_properties else []
        is_identifier = np.array(names, dtype=bool)

        def ranks_of(chosen: frozenset[str]) -> tuple[int, ...]:
            ranks = [rank for rank, name in enumerate(corpus.values()) if name in chosen] if has_features else []
            return tuple(mapping.map_values(np.array(ranks, dtype=np.int64)).tolist())

        receivers, constructors = ranks_of(corpus.language.receivers), ranks_of(corpus.language.constructors)
        rules = ScopeRules.of(corpus.types, corpus.language)
        for number, file in enumerate(corpus.split(split)):
            variables, roles = None, file.roles
            if is_published and file.bug is None:
                types, values = file.types, file.values
                variables, literals = published_variables(types, values, is_identifier, corpus.types, corpus.language)
                roles = np.where(literals, np.int8(Role.STRING), roles)  # such keys get a stand-in
            encoded = Function(
                types=mapping.map_types(file.types),
                values=mapping.map_values(file.values),
                roles=roles,
                scopes=rules.lookup_scopes(file.types, file.parents),
                is_unswappable=is_unswappable(file.types, file.parents, corpus.types, corpus.language),
                published_variables=variables,
                label=file.bug,
                places=places(file.types, file.parents, file.roles, corpus.types, corpus.language)
                if has_features
                else None,
                receivers=receivers,
                constructors=constructors,
                project=project_ids.setdefault(file.project, len(project_ids)),
            )
            self._files.append(encoded)
            if context_types is not None:
                tree = file.parents, corpus.types, file.types
                self._contexts.append(FileContext(encoded, *tree, corpus.language, context_types))
            self._slices.append(np.asarray(file.functions, dtype=np.int64).reshape(-1, 2))
            if file.bug is not None:
                # In a few published bugs the correct name occurs nowhere else: pointing cannot repair them.
                if len(encoded) <= max_nodes and (not file.bug.location or file.bug.repair_targets):
                    index.append((number, 0, len(encoded), 0))
                continue
            slices = [Slice(*pair) for pair in self._slices[-1].tolist()]
            if is_published:
                walk = published_functions(file.types, file.parents, corpus.types, corpus.language)
                slices = sorted(set(walk).intersection(slices))  # without duplicates
            for start, length in outermost_within(slices, max_nodes):
                if is_eligible(function := encoded.function_at(start, length)):
                    num_bugs = min(len(repairable_nodes(function)), BUGS_PER_FUNCTION) if is_published else 1
                    index += [(number, start, length, bug) for bug in range(num_bugs)]
        self._index = np.array(index, dtype=np.int64).reshape(-1, 4)  # file, start, length, number of the bug
        self.project_names = list(project_ids)
        self.has_labels = any(file.label is not None for file in self._files)
        """Whether the examples come with published bugs, so that none are injected."""

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Number of nodes of each function."""
        return self._index[:, 2]

    @property
    def bug_numbers(self) -> NDArray[np.int64]:
        """Which bug of its function each item has, from 0."""
        return self._index[:, 3]

    def value_counts(self, num_values: int) -> NDArray[np.int64]:
        """How often each value occurs in the functions, by rank id. Literals with a stand-in are left out."""
        found: list[NDArray[Any]] = [np.zeros(0, dtype=np.int64)]
        for file, start, length, bug in self._index.tolist():
            if bug == 0:
                values, roles = (
                    column[start : start + length] for column in (self._files[file].values, self._files[file].roles)
                )
                found.append(values[(values >= 0) & ~_IS_MASKED[roles]])
        return np.bincount(np.concatenate(found), minlength=num_values)

    def summary(self, num_values: int) -> dict[str, int]:
        """The numbers of functions, of those with a bug and of all examples in an epoch, and of distinct values."""
        labels = [self._files[file].label for file in self._index[:, 0].tolist()]
        return {
            "functions": int((self.bug_numbers == 0).sum()),
            "buggy": sum(label is None or label.location > 0 for label in labels),
            "examples_per_epoch": len(self) * (1 if self.has_labels else 2),
            "distinct_values": int(np.count_nonzero(self.value_counts(num_values))),
        }

    def nested_slices(self, index: int) -> tuple[Slice, ...]:
        """A function and those nested in it, relative to its start; empty if it is not part of a file."""
        file, start, length, _ = self._index[index].tolist()
        first, last = np.searchsorted(self._slices[file][:, 0], (start, start + length)).tolist()
        return tuple(Slice(each - start, count) for each, count in self._slices[file][first:last].tolist())

    def __len__(self) -> int:
        return len(self._index)

    def __getitem__(self, index: int) -> Function:  # type: ignore[override]
        return self.function(index)

    def function(self, index: int, has_context: bool = True) -> Function:
        """A function, by default with its context, if functions have one."""
        file, start, length, _ = self._index[index].tolist()
        function: Function
        if has_context and self._contexts:
            function = self._contexts[file].function_at(start, length, self._num_context)
        else:
            function = self._files[file].function_at(start, length)
        ranks = np.maximum(function.values, -1)  # the last row of a table is for nodes without a value
        tables = {"subtokens": self._subtokens, "bigrams": self._bigrams}
        rows: dict[str, Any] = {name: table[ranks] for name, table in tables.items() if table is not None}
        return replace(function, **rows)


def table_by_rank(corpus: Corpus, mapping: RankMapping, rows: NDArray[Any]) -> NDArray[Any]:
    """Sort rows, one per value of a corpus, by the rank of the value; the last row is empty."""
    ranks = mapping.map_values(np.arange(corpus.num_values))
    table = np.zeros((int(ranks.max(initial=-1)) + 2, rows.shape[1]), dtype=rows.dtype)
    table[ranks] = rows
    return table
