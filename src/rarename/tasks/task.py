"""Task: what training and evaluation need from variable misuse, code completion, or a task of your own."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from rarename.config import ModelConfig
from rarename.encoding import Encoding
from rarename.tasks.batch import Batch

EVAL_SEED = 20_210_606
"""Bugs and placeholders of the validation and test split are drawn once, so every model sees the same examples."""


def min_logit(logits: Tensor) -> float:
    """The logit of what is masked out. Minus infinity would give NaN gradients."""
    return torch.finfo(logits.dtype).min / 4


@dataclass(frozen=True)
class Loss:
    """A sum of means, each kept as a sum and a count, so that shards of a batch add up to the whole."""

    sums: Tensor  # (N,), one per term
    counts: Tensor  # (N,), how many each term averages over

    def mean(self) -> Tensor:
        """The loss of a whole batch."""
        return self.over(self.counts)

    def over(self, counts: Tensor) -> Tensor:
        """The contribution of this shard to the loss of a batch with these counts."""
        return (self.sums / counts.clamp(min=1)).sum()


class Metrics(Protocol):
    """Accumulates predictions over batches."""

    def update(self, output: Any, batch: Any) -> None:
        """Add the predictions for a batch."""

    def compute(self) -> dict[str, float]:
        """The metrics over everything that was added."""

    def breakdown(self) -> dict[str, Any]:
        """Metrics by group, and others that are too long for a training log."""


class Task(Protocol):
    """Examples, batches, model, loss and metrics of one task, on one corpus with one encoding."""

    selection_metric: str  # the metric that selects the best checkpoint on the validation split

    @staticmethod
    def check_encoding(config: Any, num_placeholders: int) -> None:
        """Refuse an encoding that cannot hold every snippet of the task."""

    @staticmethod
    def build_model(config: Any, model_config: ModelConfig, encoding: Encoding) -> nn.Module:
        """Make a model whose weights are drawn from torch's generator."""

    def num_examples(self, num_epochs: float = 1.0) -> int:
        """Number of examples in the first epochs."""

    def is_multi_bug_epoch(self, epoch: int) -> bool:
        """Whether an epoch trains on something else than what is evaluated, so its metrics select no checkpoint."""

    def batches(self, epoch: int) -> Iterator[list[int]]:
        """The batches of an epoch as lists of example indexes, in an order that depends on the seed."""

    def make_batch(self, indexes: list[int], epoch: int) -> Batch:
        """Collate examples; an example does not depend on the others in its batch."""

    def eval_batches(self, split: str, limit: int) -> Iterator[Batch]:
        """The batches of a split for evaluation, the same for every strategy and vocabulary size."""

    def num_eval_examples(self, split: str) -> int:
        """About how many examples a split has."""

    def loss(self, output: Any, batch: Any) -> Loss:
        """The training loss."""

    def new_metrics(self, split: str) -> Metrics:
        """Empty metrics for a split."""
