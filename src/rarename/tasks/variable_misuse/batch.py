"""Examples to padded, named tensors."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from rarename.anonymize import Surplus
from rarename.encoding import Encoding
from rarename.tasks.variable_misuse.examples import Function, Misuse
from rarename.vocabulary import Special


@dataclass(frozen=True)
class Example:
    """A function, with a misuse or clean, and the seed of its placeholders."""

    function: Function
    misuse: Misuse | None
    seed: int


@dataclass(frozen=True)
class Batch:
    """Examples side by side."""

    types: Tensor  # (B, L)
    values: Tensor  # (B, L)
    names: Tensor  # (B, L), rank ids: which places hold the same variable, whatever the strategy shows of it
    is_node: Tensor  # (B, L)
    is_variable: Tensor  # (B, L)
    location: Tensor  # (B,), the place of the misuse plus 1; 0 when there is none
    is_repair: Tensor  # (B, L), the other places of the variable that belongs there

    def __len__(self) -> int:
        return len(self.location)

    def to(self, device: torch.device) -> "Batch":
        """The same on a device."""
        moved = {name: value.to(device, non_blocking=True) for name, value in vars(self).items()}
        return replace(self, **moved)


def collate(examples: Sequence[Example], encoding: Encoding, surplus: Surplus = "error") -> Batch:
    """Put the misuses in, anonymize, pad. More rare names than placeholders are an error, unless said otherwise."""
    length = max(len(example.function) for example in examples)
    shape = (len(examples), length)
    types = np.full(shape, Special.PAD, dtype=np.int64)
    ranks = np.full(shape, Special.PAD.rank, dtype=np.int64)
    roles = np.zeros(shape, dtype=np.int8)
    is_variable, is_repair = np.zeros(shape, dtype=bool), np.zeros(shape, dtype=bool)
    location = np.zeros(len(examples), dtype=np.int64)
    for row, example in enumerate(examples):
        function, misuse = example.function, example.misuse
        nodes = slice(0, len(function))
        types[row, nodes] = np.where(function.types < 0, ~function.types, function.types + len(Special))
        ranks[row, nodes] = function.values
        roles[row, nodes] = function.roles
        variables = function.variables
        is_variable[row, variables] = True
        if misuse is not None:
            right = function.values[misuse.location]
            is_repair[row, variables[function.values[variables] == right]] = True
            is_repair[row, misuse.location] = False
            ranks[row, misuse.location] = misuse.wrong
            location[row] = misuse.location + 1
    values = encoding.encode_ranks(ranks, roles, [example.seed for example in examples], surplus)
    return Batch(
        types=torch.from_numpy(types),
        values=torch.from_numpy(values),
        names=torch.from_numpy(ranks),
        is_node=torch.from_numpy(types != Special.PAD),
        is_variable=torch.from_numpy(is_variable),
        location=torch.from_numpy(location),
        is_repair=torch.from_numpy(is_repair),
    )
