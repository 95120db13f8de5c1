"""Batches: named arrays of equal length, numpy when they are made and torch tensors once they are on a device."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

Array = Any
"""A numpy array or a torch tensor."""
Record = TypeVar("Record", bound=Any)


@dataclass(frozen=True)
class Batch:
    """The input of a model; tasks add labels and masks."""

    types: Array  # (B, L), type ids
    values: Array  # (B, L), value ids
    attention_mask: Array  # (B, L), False for padding

    def __len__(self) -> int:
        return len(self.types)

    def inputs(self) -> dict[str, Array]:
        """The arguments of the model."""
        return {"types": self.types, "values": self.values, "attention_mask": self.attention_mask}


def map_arrays(record: Record, convert: Callable[[Array], Array]) -> Record:
    """Convert every array of a dataclass, for example to tensors on a device."""
    content = {entry.name: getattr(record, entry.name) for entry in fields(record)}
    return replace(record, **{name: convert(each) for name, each in content.items() if hasattr(each, "shape")})


def to_numpy(array: Array) -> NDArray[Any]:
    """The array itself, or the content of a tensor."""
    return array if isinstance(array, np.ndarray) else array.cpu().numpy()


def pad(rows: Sequence[NDArray[Any]], fill: int = 0) -> NDArray[Any]:
    """Stack arrays of different lengths, filled up at the end, as booleans or int64.

    >>> pad([np.array([1, 2]), np.array([3])], fill=-1)
    array([[ 1,  2],
           [ 3, -1]])
    """
    dtype = bool if rows[0].dtype == bool else np.int64
    padded = np.full((len(rows), max(map(len, rows)), *rows[0].shape[1:]), fill, dtype)
    for target, row in zip(padded, rows, strict=True):
        target[: len(row)] = row
    return padded
