"""Task: what training and measuring need to know of one."""

from collections.abc import Iterator
from typing import Any, Protocol

from torch import Tensor, nn

from rarename.model import ModelConfig


class Counts(Protocol):
    """Adds batches up to scores."""

    def add(self, answer: Any, batch: Any) -> None:
        """Count a batch."""

    def scores(self) -> dict[str, float]:
        """The scores of all that was counted."""


class Task(Protocol):
    """Examples, batches, model, loss and scores of one task, on one corpus with one encoding."""

    best: str
    """The score by which the best weights are chosen."""

    def build(self, config: ModelConfig) -> nn.Module:
        """A model of that shape, with weights drawn from torch's generator."""

    def num_examples(self) -> int:
        """Examples of one epoch."""

    def batches(self, epoch: int) -> Iterator[list[int]]:
        """The examples of an epoch, as batches of indexes, in an order that the seed decides."""

    def batch(self, indexes: list[int], epoch: int) -> Any:
        """The tensors of a batch; `len` of it counts examples."""

    def measured(self, split: str, limit: int) -> Iterator[Any]:
        """The batches of a split to measure on, the same for every strategy and vocabulary size."""

    def loss(self, answer: Any, batch: Any) -> Tensor:
        """What training makes small."""

    def counts(self) -> Counts:
        """A new count of zero."""
