"""From logits to predicted bugs, in numpy: the same for every backend."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rarename.tasks.batch import Array
from rarename.tasks.misuse.collate import MisuseBatch
from rarename.tasks.misuse.functions import NestedFunctions

NUM_LOCATIONS, NUM_REPAIRS = 3, 2
"""How many locations are predicted, and how many repairs at each."""


@dataclass(frozen=True)
class MisuseOutput:
    """The unmasked logits of the model, as torch tensors or numpy arrays."""

    location_logits: Array  # (B, 1 + L), "no bug" first
    repair_logits: Array  # (B, L, L), given the location of the bug; (B, 1, L) if independent of it
    is_conditional: bool = True
    nodes: Array | None = None  # (B, N), if the repair logits (B, N, N) are of these nodes only

    @classmethod
    def of_nodes(
        cls, location_logits: NDArray[Any], repair_logits: NDArray[Any], nodes: NDArray[np.int64], length: int
    ) -> "MisuseOutput":
        """From logits of some nodes. Those of the others are 0: they are neither candidates nor variables."""
        location = np.zeros((len(nodes), 1 + length), dtype=location_logits.dtype)
        location[:, 0] = location_logits[:, 0]
        np.put_along_axis(location[:, 1:], nodes, location_logits[:, 1:], axis=1)
        return cls(location, repair_logits, nodes=nodes)

    def repair_at(self, rows: Array, locations: Array) -> Array:
        """The repair logits for some locations, (N, L)."""
        if self.nodes is None:
            return self.repair_logits[rows, locations if self.is_conditional else 0]
        nodes = self.nodes[rows]
        logits = np.zeros((len(rows), self.location_logits.shape[1] - 1), dtype=self.repair_logits.dtype)
        at_location = self.repair_logits[rows, (nodes == locations[:, None]).argmax(axis=1)]
        np.put_along_axis(logits, nodes, at_location, axis=1)
        return logits

    def can_repair(self, batch: MisuseBatch, rows: Array, locations: Array) -> Array:
        """Mask of the possible repairs, (N, L). A conditional head cannot point at the wrong name itself."""
        is_variable, names = batch.is_variable[rows], batch.name_ranks[rows]
        wrong = batch.name_ranks[rows, locations][:, None]
        return is_variable & (names != wrong) if self.is_conditional else is_variable


@dataclass(frozen=True)
class BugPredictions:
    """The most probable bugs of each function, the first one at the most probable location."""

    row: NDArray[np.int64]  # (N,), the example that holds the function
    location: NDArray[np.int64]  # (N, CANDIDATES), -1 where no bug is possible
    repair: NDArray[np.int64]  # (N, CANDIDATES), a node that holds the suggested variable
    confidence: NDArray[np.floating[Any]]  # (N, CANDIDATES), P(location) · P(repair | location)

    def best_per_example(self, num_examples: int) -> "BugPredictions":
        """The prediction with the highest confidence for each example."""
        best = np.zeros(num_examples, dtype=np.int64)
        for index in np.argsort(self.confidence[:, 0], kind="stable"):
            best[self.row[index]] = index
        return self.take(best)

    def first(self) -> "BugPredictions":
        """The first candidate of each function; the columns have one axis."""
        return BugPredictions(self.row, self.location[:, 0], self.repair[:, 0], self.confidence[:, 0])

    def take(self, index: Any) -> "BugPredictions":
        """Some of the predictions."""
        return BugPredictions(**{name: column[index] for name, column in vars(self).items()})


def predict_bugs(output: MisuseOutput, batch: MisuseBatch, nested: Sequence[NestedFunctions] = ()) -> BugPredictions:
    """Predict the most probable bugs of each example, however improbable they are: two at each of three locations.

    With nested functions there is one prediction for each function. The nodes of other functions are left out of its
    probabilities, since several functions may have bugs at once, and only variables visible at the location are
    suggested.
    """
    rows, is_candidate = np.arange(len(batch)), batch.is_candidate
    if nested:
        owners = [(row, functions, owner) for row, functions in enumerate(nested) for owner in functions.functions]
        rows = np.array([row for row, _, _ in owners])
        is_own = np.zeros((len(owners), batch.types.shape[1]), dtype=bool)
        for mask, (_, functions, owner) in zip(is_own, owners, strict=True):
            mask[: len(functions.owners)] = functions.owners == owner
        is_candidate = is_candidate[rows] & is_own
    location_probs = masked_softmax(
        output.location_logits[rows], np.pad(is_candidate, ((0, 0), (1, 0)), constant_values=True)
    )[:, 1:]
    location_probs = np.where(is_candidate & batch.is_variable[rows], location_probs, -1.0)
    names, found = batch.name_ranks[rows], []
    for location in np.argsort(-location_probs, axis=1, kind="stable")[:, :NUM_LOCATIONS].T:
        location_prob = np.take_along_axis(location_probs, location[:, None], axis=1)[:, 0]
        is_other = batch.is_variable[rows] & (names != np.take_along_axis(names, location[:, None], axis=1))
        if nested:
            for mask, row, node in zip(is_other, rows.tolist(), location.tolist(), strict=True):
                mask[: len(nested[row].owners)] &= nested[row].visible_from(node)
        repair_probs = masked_softmax(output.repair_at(rows, location), is_other)
        for _ in range(NUM_REPAIRS):
            repair, repair_prob = most_probable_variable(repair_probs, names, is_other)
            is_possible = (location_prob >= 0) & is_other.any(axis=1)
            confidence = np.where(is_possible, location_prob * repair_prob, 0.0)
            found.append((np.where(is_possible, location, -1), repair, confidence))
            is_other = is_other & (names != np.take_along_axis(names, repair[:, None], axis=1))
            repair_probs = np.where(is_other, repair_probs, 0.0)
    locations, repairs, confidences = (np.stack(columns, axis=1) for columns in zip(*found, strict=True))
    # The most probable repair at the most probable location stays first.
    order = np.argsort(-confidences[:, 1:], axis=1, kind="stable") + 1
    order = np.concatenate([np.zeros((len(order), 1), dtype=np.int64), order], axis=1)
    locations, repairs, confidences = (
        np.take_along_axis(each, order, axis=1) for each in (locations, repairs, confidences)
    )
    return BugPredictions(rows, locations, repairs, confidences)


def most_probable_variable(
    probs: NDArray[Any], names: NDArray[np.int64], is_variable: NDArray[np.bool_]
) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """For each row a node of the variable whose nodes have the highest total probability, and that probability.

    `probs` are 0 outside `is_variable`.
    """
    distinct, columns = np.unique(names, return_inverse=True)
    columns = columns.reshape(names.shape)
    totals = np.zeros((len(names), len(distinct)), dtype=probs.dtype)
    np.add.at(totals, (np.arange(len(names))[:, None], columns), probs)
    per_node = np.where(is_variable, np.take_along_axis(totals, columns, axis=1), -1.0)
    return per_node.argmax(axis=1), per_node.max(axis=1).clip(min=0)


def masked_softmax(logits: NDArray[Any], mask: NDArray[np.bool_]) -> NDArray[Any]:
    """Softmax over the last axis among what the mask keeps; all zero where it keeps nothing."""
    masked = np.where(mask, logits, -np.inf)
    highest = masked.max(axis=-1, keepdims=True)
    exps = np.exp(masked - np.where(np.isfinite(highest), highest, 0))
    probs: NDArray[Any] = exps / np.maximum(exps.sum(axis=-1, keepdims=True), np.finfo(exps.dtype).tiny)
    return probs
