"""Examples to padded arrays: the one way from functions to the input of the model, in training and in use."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

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
from rarename.tasks.misuse.functions import Function, NestedFunctions
from rarename.tasks.misuse.injection import InjectedBug
from rarename.vocabulary import Special, rank_to_id

_MAX_COUNTS = (3, 2, 3)
NUM_USAGES = 1 + math.prod(count + 1 for count in _MAX_COUNTS)
"""Reads, bindings and earlier uses of a variable, each capped at its maximum count; 0 is for other nodes."""

MULTIPLE_BUGS = -1
"""The location of an example with any number of bugs, in which each candidate is classified by itself."""

_IS_IDENTIFIER = np.isin(np.arange(128), [int(role) for role in IDENTIFIER_ROLES])

Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class MisuseExample:
    """A function with its bugs, or clean, and the seed of its placeholders."""

    function: Function
    bugs: tuple[InjectedBug, ...]  # at most one, unless it is a multi-bug example
    seed: int
    is_multi_bug: bool = False
    project: int = 0  # an index into `FunctionDataset.project_names`
    nested_slices: tuple[Slice, ...] = ()
    """The function and those nested in it, if each of them gets its own prediction."""


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
    local_only: bool = False
    """Point only at names bound in the function, and locate bugs only at reads of them. Otherwise every variable can
    be the repair and every node the location, as in the paper."""
    usage_features: bool = False

    @classmethod
    def of(cls, config: MisuseConfig, encoding: Encoding) -> "MisuseCollator":
        """Make the collator that fits a model."""
        return cls(encoding, config.pointer_head == "conditional", config.usage_features)

    def __call__(self, examples: Sequence[MisuseExample], on_overflow: OnOverflow = "error") -> MisuseBatch:
        """Make a batch. More rare names than placeholders are an error unless `on_overflow` is "unk"."""
        functions = [example.function for example in examples]
        types = pad([function.types for function in functions], np.int64, Special.PAD.rank)
        buggy = [_inject(example) for example in examples]
        name_ranks = pad(buggy, np.int64, Special.PAD.rank)
        roles = pad([function.roles for function in functions], np.int8)
        variable_masks = [self._is_variable(*each) for each in zip(functions, buggy, strict=True)]
        is_variable = pad(variable_masks, bool)
        locations, bug_masks, repair_masks = zip(*map(_labels, examples), strict=True)
        return MisuseBatch(
            types=rank_to_id(types),
            values=self.encoding.encode_ranks(name_ranks, roles, [example.seed for example in examples], on_overflow),
            attention_mask=types != Special.PAD.rank,
            name_ranks=name_ranks,
            original_ranks=pad([_original_ranks(function) for function in functions], np.int64, Special.PAD.rank),
            is_variable=is_variable,
            is_candidate=pad([self._is_candidate(*each) for each in zip(functions, variable_masks, strict=True)], bool),
            is_bug=pad(bug_masks, bool),
            location=np.array(locations, dtype=np.int64),
            is_repair=pad(repair_masks, bool),
            projects=np.array([example.project for example in examples]),
            usages=usage_ids(name_ranks, is_variable, roles) if self.usage_features else None,
            subtokens=pad([_subtokens(each) for each in examples], np.int64) if self.encoding.subtokens else None,
            nested=tuple(
                NestedFunctions(replace(example.function, values=ranks), example.nested_slices)
                for example, ranks in zip(examples, buggy, strict=True)
                if example.nested_slices
            ),
        )

    def _is_variable(self, function: Function, ranks: NDArray[np.int64]) -> Mask:
        is_variable = _mask(function, function.variables)
        if self.local_only and function.label is None:
            # Functions are short: comparing all pairs takes less time than `isin`, which sorts.
            is_variable &= (ranks[:, None] == np.unique(function.values[function.bindings])).any(axis=1)
        return is_variable

    def _is_candidate(self, function: Function, is_variable: Mask) -> Mask:
        if not self.local_only:
            return np.ones(len(function), dtype=bool)
        if function.label is not None:
            return is_variable  # tokens do not distinguish reads from bindings
        is_candidate: Mask = is_variable & (function.roles == Role.READ)
        return is_candidate if function.is_unswappable is None else is_candidate & ~function.is_unswappable


def usage_ids(name_ranks: NDArray[np.int64], is_variable: Mask, roles: NDArray[np.int8]) -> NDArray[np.int64]:
    """For each variable node one id for how often the variable is read, bound, and used before: (B, L).

    A variable that is bound and never read, or read before it is bound, hints at a bug.
    """
    is_read = (roles == Role.READ) & is_variable
    is_same = (name_ranks[:, :, None] == name_ranks[:, None, :]) & is_variable[:, None, :]  # (B, L, L)
    num_reads = (is_same & is_read[:, None, :]).sum(axis=2)
    num_bindings = (is_same & ~is_read[:, None, :]).sum(axis=2)
    num_before = (is_same & np.tri(name_ranks.shape[1], k=-1, dtype=bool)).sum(axis=2)
    ids = np.zeros(name_ranks.shape, dtype=np.int64)
    for count, max_count in zip((num_reads, num_bindings, num_before), _MAX_COUNTS, strict=True):
        ids = ids * (max_count + 1) + np.minimum(count, max_count)
    return np.where(is_variable, ids + 1, 0)


def _mask(function: Function, nodes: Sequence[int] | NDArray[np.int64]) -> Mask:
    mask = np.zeros(len(function), dtype=bool)
    mask[nodes] = True
    return mask


def _inject(example: MisuseExample) -> NDArray[np.int64]:
    ranks = example.function.values.copy()
    for location, wrong in example.bugs:
        ranks[location] = wrong
    return ranks


def _original_ranks(function: Function) -> NDArray[np.int64]:
    if function.label is None or not function.label.location:
        return function.values
    original = function.values.copy()
    original[function.label.location] = function.values[function.label.repair_targets[0]]
    return original


def _labels(example: MisuseExample) -> tuple[int, Mask, Mask]:
    """The location as the model predicts it, and masks of bugs and repairs."""
    function, label = example.function, example.function.label
    if label is not None and label.location:
        return label.location + 1, _mask(function, [label.location]), _mask(function, list(label.repair_targets))
    bugs = [bug.location for bug in example.bugs]
    if example.is_multi_bug:
        return MULTIPLE_BUGS, _mask(function, bugs), _mask(function, [])
    if not bugs:
        return 0, _mask(function, []), _mask(function, [])
    is_repair = _mask(function, function.variables) & (function.values == function.values[bugs[0]])
    is_repair[bugs[0]] = False
    return bugs[0] + 1, _mask(function, bugs), is_repair


def _subtokens(example: MisuseExample) -> NDArray[np.int16]:
    function = example.function
    if function.subtokens is None:
        return np.zeros((len(function), MAX_SUBTOKENS), dtype=np.int16)
    subtokens = function.subtokens.copy()
    for location, wrong in example.bugs:
        subtokens[location] = function.subtokens[np.argmax(function.values == wrong)]
    subtokens[~_IS_IDENTIFIER[function.roles]] = 0
    return subtokens
