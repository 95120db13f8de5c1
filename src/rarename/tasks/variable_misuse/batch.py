"""Examples to padded, named tensors."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from rarename.anonymize import Surplus
from rarename.encoding import Encoding
from rarename.syntax import Role
from rarename.tasks.variable_misuse.examples import Function, Misuse
from rarename.vocabulary import Special

RELATIONS = ("same name", "last use", "next use", "parent", "child", "sibling")
"""What attention may be told of a pair of nodes, one bias each (compare Hellendoorn et al. 2020)."""

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
    relations: Tensor | None = None  # (B, L, L, len(RELATIONS))

    def __len__(self) -> int:
        return len(self.location)

    def to(self, device: torch.device) -> "Batch":
        """The same on a device."""
        tensors = {name: value for name, value in vars(self).items() if value is not None}
        return replace(self, **{name: value.to(device, non_blocking=True) for name, value in tensors.items()})


@dataclass(frozen=True)
class Collator:
    """Puts the misuses in, anonymizes, pads: the one way from functions to tensors, in training and in use."""

    encoding: Encoding
    is_local: bool = False
    """Only names that are bound in the function are looked at, and only reads of them may be wrong; otherwise every
    variable is, and any node may be wrong, as in the paper."""
    is_relating: bool = False
    """Tell attention the `RELATIONS` between nodes."""

    def __call__(self, examples: Sequence[Example], surplus: Surplus = "error") -> Batch:
        """A batch. More rare names than placeholders are an error, unless said otherwise."""
        length = max(len(example.function) for example in examples)
        shape = (len(examples), length)
        types = np.full(shape, Special.PAD, dtype=np.int64)
        ranks = np.full(shape, Special.PAD.rank, dtype=np.int64)
        right = np.full(shape, Special.PAD.rank, dtype=np.int64)
        roles = np.zeros(shape, dtype=np.int8)
        parents = np.full(shape, -1, dtype=np.int64)
        is_variable, is_candidate, is_wrong, is_repair = (np.zeros(shape, dtype=bool) for _ in range(4))
        location = np.zeros(len(examples), dtype=np.int64)
        for row, example in enumerate(examples):
            function = example.function
            nodes = slice(0, len(function))
            types[row, nodes] = np.where(function.types < 0, ~function.types, function.types + len(Special))
            right[row, nodes] = ranks[row, nodes] = function.values
            roles[row, nodes] = function.roles
            parents[row, nodes] = function.parents
            variables = function.variables
            is_variable[row, variables] = True
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
                is_bound = np.isin(ranks[row, nodes], function.values[function.bindings])
                is_variable[row, nodes] &= is_bound
                is_candidate[row, nodes] = is_bound & (function.roles == Role.READ)
        values = self.encoding.encode_ranks(ranks, roles, [example.seed for example in examples], surplus)
        relations = relate(ranks, is_variable, parents) if self.is_relating else None
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
            relations=None if relations is None else torch.from_numpy(relations),
        )


def relate(names: NDArray[np.int64], is_variable: NDArray[np.bool_], parents: NDArray[np.int64]) -> NDArray[np.float32]:
    """Which of the `RELATIONS` hold between each pair of nodes, as 0 and 1: (B, L, L, len(RELATIONS))."""
    batch, length = names.shape
    result = np.zeros((batch, length, length, len(RELATIONS)), dtype=np.float32)
    nodes = np.arange(length)
    # What is no variable gets a name of its own.
    keys = np.where(is_variable, names, np.iinfo(np.int64).min + nodes)
    same = keys[:, :, None] == keys[:, None, :]
    same[:, nodes, nodes] = False
    result[..., 0] = same
    before = same & (nodes[:, None] > nodes[None, :])
    rows, places = np.nonzero(before.any(axis=2))
    last = length - 1 - before[rows, places, ::-1].argmax(axis=1)
    result[rows, places, last, 1] = 1
    result[rows, last, places, 2] = 1
    rows, places = np.nonzero(parents >= 0)
    above = parents[rows, places]
    result[rows, places, above, 3] = 1
    result[rows, above, places, 4] = 1
    result[..., 5] = (parents[:, :, None] == parents[:, None, :]) & (parents[:, :, None] >= 0)
    result[:, nodes, nodes, 5] = 0
    return result
