"""Snippets to padded, named tensors: what is read, what is to be told, and what counts."""

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from rarename.anonymize import OnOverflow
from rarename.encoding import Encoding
from rarename.tasks.completion.windows import Snippet
from rarename.vocabulary import Special, rank_to_id


@dataclass(frozen=True)
class Batch:
    """Snippets side by side. A node is told from those before it: the state of node i - 1 tells node i."""

    types: Tensor  # (B, L)
    values: Tensor  # (B, L)
    is_node: Tensor  # (B, L)
    choices: (
        Tensor  # (B, L), the value in the extended vocabulary: its id, or for one without an id, by its first place
    )
    first: Tensor  # (B, L), the first place in the snippet that holds the same value
    is_target: Tensor  # (B, L), the nodes whose type is asked for
    has_value: Tensor  # (B, L), the nodes that have a value: of the targets, those whose value is asked for
    is_known: Tensor  # (B, L), the values that can be generated: neither UNK nor a placeholder's first occurrence
    is_rare: Tensor  # (B, L), the values that the vocabulary lacks
    roles: Tensor  # (B, L)
    projects: Tensor  # (B,)

    def __len__(self) -> int:
        return len(self.types)

    def to(self, device: torch.device) -> "Batch":
        """The same on a device."""
        return Batch(*(getattr(self, entry.name).to(device, non_blocking=True) for entry in fields(self)))


@dataclass(frozen=True)
class Collator:
    """Anonymizes and pads: the one way from windows to tensors, in training and in use."""

    encoding: Encoding

    def __call__(self, snippets: Sequence[Snippet], seeds: Sequence[int], on_overflow: OnOverflow = "error") -> Batch:
        """A batch. More rare values than placeholders are an error, unless said otherwise."""
        shape = (len(snippets), max(len(snippet) for snippet in snippets))
        types = np.full(shape, Special.PAD, dtype=np.int64)
        ranks = np.full(shape, Special.PAD.rank, dtype=np.int64)
        roles = np.zeros(shape, dtype=np.int8)
        is_target = np.zeros(shape, dtype=bool)
        for row, snippet in enumerate(snippets):
            nodes = slice(0, len(snippet))
            types[row, nodes] = rank_to_id(snippet.types)
            ranks[row, nodes] = snippet.values
            roles[row, nodes] = snippet.roles
            # Nothing stands before the first node to tell it from.
            is_target[row, max(1, snippet.context) : len(snippet)] = True
        values = self.encoding.encode_ranks(ranks, roles, seeds, on_overflow)
        first = first_places(ranks)
        is_first = first == np.arange(shape[1])
        is_placeholder = values >= self.encoding.first_placeholder
        is_node = types != Special.PAD
        return Batch(
            types=torch.from_numpy(types),
            values=torch.from_numpy(values),
            is_node=torch.from_numpy(is_node),
            choices=torch.from_numpy(np.where(values == Special.UNK, self.encoding.num_values + first, values)),
            first=torch.from_numpy(first),
            is_target=torch.from_numpy(is_target),
            has_value=torch.from_numpy(is_node & (values != Special.EMPTY)),
            is_known=torch.from_numpy((values != Special.UNK) & ~(is_placeholder & is_first)),
            is_rare=torch.from_numpy((values == Special.UNK) | is_placeholder),
            roles=torch.from_numpy(roles),
            projects=torch.tensor([snippet.project for snippet in snippets]),
        )


def first_places(ranks: NDArray[np.int64]) -> NDArray[np.int64]:
    """For each node of each row the first place in the row with the same rank id.

    >>> first_places(np.array([[7, 3, 7, 3, 1]]))
    array([[0, 1, 0, 1, 4]])
    """
    rows, length = ranks.shape
    keys = ranks + (np.arange(rows) * (int(ranks.max(initial=0)) + len(Special) + 1))[:, None]
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    places: NDArray[np.int64] = first[inverse].reshape(rows, length) % length
    return places
