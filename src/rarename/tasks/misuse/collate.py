"""Examples to padded, named tensors."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from rarename.anonymize import OnOverflow
from rarename.encoding import Encoding
from rarename.subtokens import MAX_SUBTOKENS
from rarename.syntax import Role
from rarename.syntax.functions import Slice
from rarename.syntax.traversal import IDENTIFIER_ROLES
from rarename.tasks.misuse.examples import Function, Misuse, Nest
from rarename.vocabulary import Special, rank_to_id

_MOST = (3, 2, 3)
NUM_USAGES = 1 + math.prod(most + 1 for most in _MOST)
"""Reads, bindings and earlier places of a variable, each counted up to so many; 0 is for what is no variable."""

_IS_IDENTIFIER = np.zeros(128, dtype=bool)
_IS_IDENTIFIER[[int(role) for role in IDENTIFIER_ROLES]] = True

MANY = -1
"""The location of an example with any number of misuses, in which each candidate is judged by itself."""


@dataclass(frozen=True)
class Example:
    """A function with its misuses, or clean, and the seed of its placeholders."""

    function: Function
    misuses: tuple[Misuse, ...]
    """At most one, unless each place is judged by itself."""
    seed: int
    is_dense: bool = False
    """Whether each place is judged by itself."""
    project: int = 0
    """A number, see `Functions.projects`."""
    inside: tuple[Slice, ...] = ()
    """The function and those nested in it, if each is to be judged by itself."""


@dataclass(frozen=True)
class Batch:
    """Examples side by side."""

    types: Tensor  # (B, L)
    values: Tensor  # (B, L)
    names: Tensor  # (B, L), rank ids: which places hold the same variable, whatever the strategy shows of it
    right: Tensor  # (B, L), rank ids without the misuses: what belongs there
    is_node: Tensor  # (B, L)
    is_variable: Tensor  # (B, L)
    is_candidate: Tensor  # (B, L), the places that may be wrong
    is_wrong: Tensor  # (B, L), the places of the misuses
    location: Tensor  # (B,), the place of the misuse plus 1; 0 when there is none; MANY, see there
    is_repair: Tensor  # (B, L), the other places of the variable that belongs at the location
    projects: Tensor  # (B,)
    usages: Tensor | None = None  # (B, L), below NUM_USAGES
    parts: Tensor | None = None  # (B, L, MAX_SUBTOKENS), 0 for none
    nests: tuple[Nest, ...] = ()  # of each example, if the functions in it are judged by themselves

    def __len__(self) -> int:
        return len(self.location)

    def to(self, device: torch.device) -> "Batch":
        """The same on a device."""
        values = vars(self).items()
        moved = {name: value.to(device, non_blocking=True) for name, value in values if isinstance(value, Tensor)}
        return Batch(**vars(self) | moved)


@dataclass(frozen=True)
class Collator:
    """Puts the misuses in, anonymizes, pads: the one way from functions to tensors, in training and in use."""

    encoding: Encoding
    is_local: bool = False
    """Only names that are bound in the function are looked at, and only reads of them may be wrong; otherwise every
    variable is, and any node may be wrong, as in the paper."""
    counts_uses: bool = False
    """Tell the model how often the variable at a node is used."""

    def __call__(self, examples: Sequence[Example], on_overflow: OnOverflow = "error") -> Batch:
        """A batch. More rare names than placeholders are an error, unless said otherwise."""
        length = max(len(example.function) for example in examples)
        shape = (len(examples), length)
        types = np.full(shape, Special.PAD, dtype=np.int64)
        ranks = np.full(shape, Special.PAD.rank, dtype=np.int64)
        right = np.full(shape, Special.PAD.rank, dtype=np.int64)
        roles = np.zeros(shape, dtype=np.int8)
        is_variable, is_candidate, is_wrong, is_repair = (np.zeros(shape, dtype=bool) for _ in range(4))
        location = np.zeros(len(examples), dtype=np.int64)
        parts = np.zeros((*shape, MAX_SUBTOKENS), dtype=np.int64) if self.encoding.subtokens else None
        for row, example in enumerate(examples):
            function = example.function
            nodes = slice(0, len(function))
            types[row, nodes] = rank_to_id(function.types)
            right[row, nodes] = ranks[row, nodes] = function.values
            roles[row, nodes] = function.roles
            variables = function.variables
            is_variable[row, variables] = True
            if parts is not None and function.parts is not None:
                parts[row, nodes] = function.parts
                for place, wrong in example.misuses:
                    parts[row, place] = function.parts[np.argmax(function.values == wrong)]
            for place, wrong in example.misuses:
                ranks[row, place] = wrong
                is_wrong[row, place] = True
            if example.is_dense:
                location[row] = MANY
            elif example.misuses:
                place = example.misuses[0].location
                is_repair[row, variables[function.values[variables] == function.values[place]]] = True
                is_repair[row, place] = False
                location[row] = place + 1
            if function.bug is not None and function.bug.location:
                place, targets = function.bug.location, list(function.bug.repair_targets)
                is_repair[row, targets] = True
                is_wrong[row, place] = True
                right[row, place] = function.values[targets[0]]
                location[row] = place + 1
            if not self.is_local:
                is_candidate[row, nodes] = True
            elif function.bug is not None:
                is_candidate[row, variables] = True  # tokens do not tell reads from bindings
            else:
                # Functions are short: comparing all pairs takes less time than `isin`, which sorts.
                is_bound = (ranks[row, nodes, None] == np.unique(function.values[function.bindings])).any(axis=1)
                is_variable[row, nodes] &= is_bound
                is_candidate[row, nodes] = is_bound & (function.roles == Role.READ)
                if function.is_fixed is not None:
                    is_candidate[row, nodes] &= ~function.is_fixed
        values = self.encoding.encode_ranks(ranks, roles, [example.seed for example in examples], on_overflow)
        if parts is not None:
            parts[~_IS_IDENTIFIER[roles]] = 0
        return Batch(
            types=torch.from_numpy(types),
            values=torch.from_numpy(values),
            names=torch.from_numpy(ranks),
            right=torch.from_numpy(right),
            is_node=torch.from_numpy(types != Special.PAD),
            is_variable=torch.from_numpy(is_variable),
            is_candidate=torch.from_numpy(is_candidate),
            is_wrong=torch.from_numpy(is_wrong),
            location=torch.from_numpy(location),
            is_repair=torch.from_numpy(is_repair),
            projects=torch.tensor([example.project for example in examples]),
            usages=torch.from_numpy(count_uses(ranks, is_variable, roles)) if self.counts_uses else None,
            parts=None if parts is None else torch.from_numpy(parts),
            nests=tuple(
                Nest(replace(example.function, values=ranks[row, : len(example.function)]), example.inside)
                for row, example in enumerate(examples)
                if example.inside
            ),
        )


def count_uses(names: NDArray[np.int64], is_variable: NDArray[np.bool_], roles: NDArray[np.int8]) -> NDArray[np.int64]:
    """For each variable how often it is read, how often bound, and how often it stood before, as one number: (B, L).

    A variable that is bound and never read, or read before it is bound, hints at a misuse.
    """
    length = names.shape[1]
    is_read = (roles == Role.READ) & is_variable
    same = (names[:, :, None] == names[:, None, :]) & is_variable[:, None, :]  # (B, L, L)
    num_reads = (same & is_read[:, None, :]).sum(axis=2)
    num_bindings = (same & ~is_read[:, None, :]).sum(axis=2)
    num_before = (same & np.tri(length, k=-1, dtype=bool)).sum(axis=2)
    number = np.zeros(names.shape, dtype=np.int64)
    for count, most in zip((num_reads, num_bindings, num_before), _MOST, strict=True):
        number = number * (most + 1) + np.minimum(count, most)
    return np.where(is_variable, number + 1, 0)
