"""Windows to padded arrays, the input of the model in training and prediction."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rarename.anonymize import OnOverflow
from rarename.encoding import Encoding
from rarename.tasks.batch import Array, Batch, pad
from rarename.vocabulary import Special, rank_to_id


@dataclass(frozen=True)
class Window:
    """A window of a file; the arrays are views with one entry per node.

    Long files are cut, with an overlap that is context only (paper, section 4.1; Kim et al. 2021).
    """

    types: NDArray[np.int16]  # rank ids; a type that the encoding lacks is `Special.UNK.rank`
    values: NDArray[np.integer]  # rank ids
    roles: NDArray[np.int8]
    num_context: int = 0  # number of nodes at the start that are targets of the window before, not of this one
    project: int = 0  # an index into `WindowDataset.project_names`


@dataclass(frozen=True)
class CompletionBatch(Batch):
    """Padded windows. The hidden state of node i - 1 predicts node i."""

    extended_ids: Array  # (B, L), the value in the extended vocabulary: its id, or V plus its first occurrence if UNK
    first_occurrence: Array  # (B, L), the first node of the window that holds the same value
    is_target: Array  # (B, L), the nodes whose type is predicted
    has_value: Array  # (B, L), the nodes that have a value
    is_predictable: Array  # (B, L), values that can be generated: neither UNK nor the first occurrence of a placeholder
    is_rare: Array  # (B, L), values outside the vocabulary
    roles: Array  # (B, L)
    projects: Array  # (B,)

    def inputs(self) -> dict[str, Array]:
        return super().inputs() | {"has_value": self.has_value}


def collate(
    windows: Sequence[Window], encoding: Encoding, seeds: Sequence[int], on_overflow: OnOverflow = "error"
) -> CompletionBatch:
    """Anonymize and pad. More rare values than placeholders are an error unless `on_overflow` is "unk"."""
    types = pad([window.types for window in windows], Special.PAD.rank)
    ranks = pad([window.values for window in windows], Special.PAD.rank)
    roles = pad([window.roles for window in windows])
    values = encoding.encode_ranks(ranks, roles, seeds, on_overflow)
    positions = np.arange(types.shape[1])
    first = first_occurrence(ranks)
    is_placeholder = values >= encoding.first_placeholder
    attention_mask = types != Special.PAD.rank
    # No node before the first one could predict it.
    num_context = np.array([max(1, window.num_context) for window in windows])
    return CompletionBatch(
        types=rank_to_id(types),
        values=values,
        attention_mask=attention_mask,
        extended_ids=np.where(values == Special.UNK, encoding.num_values + first, values),
        first_occurrence=first,
        is_target=attention_mask & (positions >= num_context[:, None]),
        has_value=attention_mask & (values != Special.EMPTY),
        is_predictable=(values != Special.UNK) & ~(is_placeholder & (first == positions)),
        is_rare=(values == Special.UNK) | is_placeholder,
        roles=roles,
        projects=np.array([window.project for window in windows]),
    )


def first_occurrence(ranks: NDArray[np.int64]) -> NDArray[np.int64]:
    """For each node the first node of its row with the same rank id.

    >>> first_occurrence(np.array([[7, 3, 7, 3, 1]]))
    array([[0, 1, 0, 1, 4]])
    """
    rows, length = ranks.shape
    keys = ranks + (np.arange(rows) * (int(ranks.max(initial=0)) + len(Special) + 1))[:, None]
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    positions: NDArray[np.int64] = first[inverse].reshape(rows, length) % length
    return positions
