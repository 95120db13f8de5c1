"""Task: what training and measuring need to know of one."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol, Self

import torch
from torch import Tensor, nn

from rarename.model import ModelConfig

MEASURED_SEED = 20_210_606
"""What is drawn for validation and test is drawn once: every cell of a table is measured on the same examples."""


@dataclass(frozen=True)
class Loss:
    """A sum of means, each kept as a sum and a count: those of the parts of a batch add up to those of the whole."""

    sums: Tensor  # (T,), one for each term
    counts: Tensor  # (T,), how many each term is the mean of

    def mean(self) -> Tensor:
        """The loss, if this is the whole batch."""
        return self.over(self.counts)

    def over(self, counts: Tensor) -> Tensor:
        """What this part contributes to the loss of a batch with these counts."""
        return (self.sums / counts.clamp(min=1)).sum()


class Batch(Protocol):
    """The tensors of some examples."""

    is_node: Tensor  # (B, L), what is no padding

    def __len__(self) -> int:
        """The number of examples."""

    def to(self, device: torch.device) -> Self:
        """The same on a device."""


class Counts(Protocol):
    """Adds batches up to scores."""

    def add(self, answer: Any, batch: Any) -> None:
        """Count a batch."""

    def scores(self) -> dict[str, float]:
        """The scores of all that was counted."""

    def details(self) -> dict[str, Any]:
        """Scores of parts of it, and others that training need not see."""


class Task(Protocol):
    """Examples, batches, model, loss and scores of one task, on one corpus with one encoding."""

    best: str
    """The score by which the best weights are chosen."""

    def build(self, config: ModelConfig) -> nn.Module:
        """A model of that shape, with weights drawn from torch's generator."""

    def num_examples(self, epochs: float = 1.0) -> int:
        """Examples of so many epochs, from the first on."""

    def is_warming_up(self, epoch: int) -> bool:
        """Whether an epoch trains on something else than what is measured, so that its scores choose no weights."""

    def batches(self, epoch: int) -> Iterator[list[int]]:
        """The examples of an epoch, as batches of indexes, in an order that the seed decides."""

    def batch(self, indexes: list[int], epoch: int) -> Any:
        """The `Batch` of these indexes, or of a part of them: an example does not depend on those beside it."""

    def measured(self, split: str, limit: int) -> Iterator[Any]:
        """The batches of a split to measure on, the same for every strategy and vocabulary size."""

    def num_measured(self, split: str) -> int:
        """How many examples a split has, about."""

    def loss(self, answer: Any, batch: Any) -> Loss:
        """What training makes small."""

    def counts(self, split: str) -> Counts:
        """A new count of zero, for a split."""
