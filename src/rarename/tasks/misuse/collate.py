"""Examples to padded arrays, the input of the model in training and prediction."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rarename.anonymize import OnOverflow
from rarename.config import MisuseConfig
from rarename.encoding import Encoding
from rarename.subtokens import MAX_SUBTOKENS
from rarename.syntax import Role
from rarename.syntax.functions import Slice
from rarename.syntax.traversal import IDENTIFIER_ROLES
from rarename.tasks.batch import Array, Batch, pad
from rarename.tasks.misuse.functions import Function, Mask, NestedFunctions
from rarename.vocabulary import Special, rank_to_id

if TYPE_CHECKING:
    from rarename.tasks.misuse.injection import InjectedBug  # which imports the random generators of numpy

_MAX_COUNTS = (3, 2, 3)
NUM_USAGES = 1 + math.prod(count + 1 for count in _MAX_COUNTS)
"""Reads, bindings and earlier uses of a variable, each capped at its maximum count; 0 is for other nodes."""

MULTIPLE_BUGS = -1
"""The location of an example with any number of bugs, in which each candidate is classified by itself."""

_PADDING = dict.fromkeys(["types", "name_ranks", "original_ranks"], Special.PAD.rank)
_IS_IDENTIFIER = np.isin(np.arange(128), [int(role) for role in IDENTIFIER_ROLES])


@dataclass(frozen=True)
class MisuseExample:
    """A function with its bugs, or clean, and the seed of its placeholders."""

    function: Function
    bugs: "tuple[InjectedBug, ...]"  # at most one, unless it is a multi-bug example
    seed: int
    is_multi_bug: bool = False
    nested_slices: tuple[Slice, ...] = ()  # the function and those in it, if each of them gets its own prediction


@dataclass(frozen=True)
class MisuseBatch(Batch):
    """Padded examples."""

    name_ranks: Array  # (B, L), rank ids: equal for the same variable, whatever the strategy shows
    original_ranks: Array  # (B, L), rank ids without the bugs
    is_variable: Array  # (B, L)
    is_candidate: Array  # (B, L), the nodes that may be the location of a bug
    is_bug: Array  # (B, L)
    location: Array  # (B,), the node of the bug plus 1; 0 for no bug, or MULTIPLE_BUGS
    is_repair: Array  # (B, L), the other nodes that hold the variable that belongs at the location
    projects: Array  # (B,)
    num_context: Array = 0  # (B,), the number of nodes of the context
    has_twin: Array | None = None  # (B,), whether the example before is the same function without the bug
    usages: Array | None = None  # (B, L), below NUM_USAGES
    subtokens: Array | None = None  # (B, L, MAX_SUBTOKENS), 0 for none
    nested: tuple[NestedFunctions, ...] = ()  # one per example, if nested functions get their own prediction

    def inputs(self) -> dict[str, Array]:
        extra = {"usages": self.usages, "subtokens": self.subtokens}
        return super().inputs() | {name: array for name, array in extra.items() if array is not None}


@dataclass(frozen=True)
class MisuseCollator:
    """Injects the bugs, anonymizes and pads."""

    encoding: Encoding
    config: MisuseConfig = field(default_factory=MisuseConfig)

    def __call__(
        self, examples: Sequence[MisuseExample], on_overflow: OnOverflow = "error", has_pairs: bool = False
    ) -> MisuseBatch:
        """Make a batch. More rare names than placeholders are an error unless `on_overflow` is "unk"."""
        rows = [self._arrays(example) for example in examples]
        columns = {name: pad([row[name] for row in rows], _PADDING.get(name, 0)) for name in rows[0]}
        types, roles = columns.pop("types"), columns.pop("roles")
        names, is_bug = columns["name_ranks"], columns["is_bug"]
        location = np.where(is_bug.any(axis=1), is_bug.argmax(axis=1) + 1, 0)
        return MisuseBatch(
            types=rank_to_id(types),
            values=self.encoding.encode_ranks(names, roles, [example.seed for example in examples], on_overflow),
            attention_mask=types != Special.PAD.rank,
            location=np.where([example.is_multi_bug for example in examples], MULTIPLE_BUGS, location),
            projects=np.array([example.function.project for example in examples]),
            num_context=np.array([example.function.num_context for example in examples]),
            has_twin=_has_twin(examples) if has_pairs else None,
            usages=usage_ids(names, columns["is_variable"], roles) if self.config.usage_features else None,
            nested=tuple(
                NestedFunctions(replace(example.function, values=row["name_ranks"]), example.nested_slices)
                for example, row in zip(examples, rows, strict=True)
                if example.nested_slices
            ),
            **columns,
        )

    def _arrays(self, example: MisuseExample) -> dict[str, NDArray[Any]]:
        function, label = example.function, example.function.label
        ranks, original = function.values.copy(), function.values.copy()
        is_bug, is_repair = np.zeros((2, len(function)), dtype=bool)
        for location, wrong in example.bugs:
            ranks[location], is_bug[location] = wrong, True
        if label is not None and label.location:
            original[label.location], is_bug[label.location] = ranks[label.repair_targets[0]], True
            is_repair[list(label.repair_targets)] = True
        elif example.bugs and not example.is_multi_bug:
            is_repair = function.is_variable & (original == original[example.bugs[0].location]) & ~is_bug
        is_variable, is_candidate = self._masks(function, ranks)
        arrays: dict[str, NDArray[Any]] = {"types": function.types, "roles": function.roles}
        arrays |= {"name_ranks": ranks, "original_ranks": original, "is_bug": is_bug, "is_repair": is_repair}
        arrays |= {"is_variable": is_variable, "is_candidate": is_candidate}
        return arrays | {"subtokens": _subtokens(example)} if self.encoding.subtokens else arrays

    def _masks(self, function: Function, ranks: NDArray[np.int64]) -> tuple[Mask, Mask]:
        """The variables and the candidates.

        In the paper every variable can be the repair and every node the location. A conditional head points only at
        names bound in the function, and locates bugs only at reads of them.
        """
        if self.config.pointer_head == "independent":
            return function.is_variable, np.ones(len(function), dtype=bool)
        if function.label is not None:
            return function.is_variable, function.is_variable  # tokens do not distinguish reads from bindings
        # Functions are short: comparing all pairs takes less time than `isin`, which sorts.
        is_bound = (ranks[:, None] == np.unique(function.values[function.bindings])).any(axis=1)
        is_candidate = function.is_variable & is_bound & (function.roles == Role.READ)
        if function.is_unswappable is not None:
            is_candidate &= ~function.is_unswappable
        return function.is_variable & is_bound, is_candidate


def _has_twin(examples: Sequence[MisuseExample]) -> NDArray[np.bool_]:
    before = (None, *examples)
    pairs = zip(before, examples, strict=False)
    return np.array([one is not None and one.function is each.function and bool(each.bugs) for one, each in pairs])


def usage_ids(name_ranks: NDArray[np.int64], is_variable: Mask, roles: NDArray[np.int64]) -> NDArray[np.int64]:
    """For each variable node one id for how often the variable is read, bound, and used before: (B, L).

    A variable that is bound and never read, or read before it is bound, hints at a bug.
    """
    ids = np.zeros(name_ranks.shape, dtype=np.int64)
    rows, nodes = np.nonzero(is_variable)
    names = name_ranks[rows, nodes]
    _, variables = np.unique(rows << 40 | (names + len(Special)), return_inverse=True)
    is_read = roles[rows, nodes] == Role.READ
    num_reads, num_uses = np.bincount(variables[is_read], minlength=len(variables)), np.bincount(variables)
    order = np.argsort(variables, kind="stable")
    num_before = np.empty(len(order), dtype=np.int64)
    num_before[order] = np.arange(len(order)) - np.repeat(np.cumsum(num_uses) - num_uses, num_uses)
    reads = num_reads[variables]
    combined = np.zeros(len(order), dtype=np.int64)
    for count, max_count in zip((reads, num_uses[variables] - reads, num_before), _MAX_COUNTS, strict=True):
        combined = combined * (max_count + 1) + np.minimum(count, max_count)
    ids[rows, nodes] = combined + 1
    return ids


def _subtokens(example: MisuseExample) -> NDArray[np.int16]:
    function = example.function
    if function.subtokens is None:
        return np.zeros((len(function), MAX_SUBTOKENS), dtype=np.int16)
    subtokens = function.subtokens.copy()
    for location, wrong in example.bugs:
        subtokens[location] = function.subtokens[np.argmax(function.values == wrong)]
    subtokens[~_IS_IDENTIFIER[function.roles]] = 0
    return subtokens
