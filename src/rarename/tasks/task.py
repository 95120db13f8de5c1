"""Task: what training and evaluation need from variable misuse, code completion, or a task of your own."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from rarename.config import ModelConfig
from rarename.corpus.store import Corpus
from rarename.encoding import Encoding
from rarename.errors import UsageError
from rarename.syntax import Role
from rarename.tasks.batch import Array, Batch, to_numpy
from rarename.tasks.sampler import bucketed_batches

EVAL_SEED = 20_210_606
"""Bugs and placeholders of the validation and test split are drawn once, so every model sees the same examples."""

EVAL_BATCH_NODES = 8_000


def min_logit(logits: Tensor) -> float:
    """The logit of masked positions. Minus infinity would give NaN gradients."""
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


class Metrics(ABC):
    """Predictions, accumulated over batches in columns with one entry per prediction."""

    def __init__(self, project_names: Sequence[str] = ()) -> None:
        self.project_names = project_names
        self._chunks: dict[str, list[NDArray[Any]]] = {}

    @abstractmethod
    def update(self, output: Any, batch: Any) -> None:
        """Add the predictions for a batch."""

    @abstractmethod
    def compute(self) -> dict[str, float]:
        """The metrics over everything that was added."""

    @abstractmethod
    def breakdown(self) -> dict[str, Any]:
        """Metrics by group, and others that are too long for a training log."""

    def append(self, columns: Mapping[str, Array]) -> None:
        for name, column in columns.items():
            self._chunks.setdefault(name, []).append(to_numpy(column))

    def columns(self) -> dict[str, NDArray[Any]]:
        return {name: np.concatenate(chunks) for name, chunks in self._chunks.items()}


class Task(ABC):
    """Examples, batches, model, loss and metrics of one task, on one corpus with one encoding."""

    selection_metric: str  # selects the best checkpoint on the validation split
    length_setting: str  # of the task's config: the largest number of nodes of a snippet
    vocabulary_roles: tuple[str, ...]  # the groups of roles whose values the vocabulary ranks
    masked_literals: frozenset[Role]  # the literals that every strategy replaces by a mask

    def __init__(
        self,
        dataset: Callable[[str], Any],
        encoding: Encoding,
        config: Any,
        max_batch_nodes: int,
        seed: int,
        batch_size: int = 0,
    ) -> None:
        """`dataset` loads a split: items with `lengths` and `project_names`."""
        self.dataset = cache(dataset)
        self.encoding, self.config, self.max_batch_nodes, self.seed = encoding, config, max_batch_nodes, seed
        self.batch_size = batch_size  # in examples; 0 limits batches by nodes

    @classmethod
    def check_encoding(cls, config: Any, num_placeholders: int) -> None:
        """Refuse an encoding that cannot hold every snippet of the task."""
        if num_placeholders < (longest := getattr(config, cls.length_setting)):
            raise UsageError(
                f"encoding.num_placeholders is {num_placeholders}, but with task.{cls.length_setting} = {longest} a "
                f"snippet may have {longest} nodes, each with another name; set it to at least that"
            )

    @classmethod
    def value_counts(cls, corpus: Corpus, config: Any) -> NDArray[np.int64]:
        """How often each value of a corpus occurs in training, by rank id: what the vocabulary ranks."""
        return corpus.counts(*cls.vocabulary_roles)

    @staticmethod
    def extra_types(config: Any) -> tuple[str, ...]:
        """Node types of the input that no corpus has."""
        return ()

    @staticmethod
    @abstractmethod
    def build_model(config: Any, model_config: ModelConfig, encoding: Encoding) -> nn.Module:
        """Make a model whose weights are drawn from torch's generator."""

    @abstractmethod
    def make_batch(self, indexes: list[int], epoch: int) -> Batch:
        """Collate training examples; an example does not depend on the others in its batch."""

    @abstractmethod
    def make_eval_batch(self, indexes: list[int], split: str) -> Batch:
        """Collate examples for evaluation, the same for every strategy, vocabulary size and seed."""

    @abstractmethod
    def loss(self, output: Any, batch: Any) -> Loss:
        """The training loss."""

    @abstractmethod
    def new_metrics(self, split: str) -> Metrics:
        """Empty metrics for a split."""

    def is_multi_bug_epoch(self, epoch: int) -> bool:
        """Whether an epoch trains on other examples than evaluation uses; its metrics select no checkpoint."""
        return False

    def keeps_latest(self, epoch: int) -> bool:
        """Whether the latest weights of an epoch are kept, whatever its metrics."""
        return self.is_multi_bug_epoch(epoch)

    @property
    def last_phase(self) -> tuple[int, int, float] | None:
        """The first epoch of a last phase with other examples, its number of epochs, and the share of the peak learning
        rate with which it begins; None if there is no such phase."""
        return None

    def mines(self, epoch: int) -> bool:
        """Whether the items of an epoch depend on the model."""
        return False

    def mine(self, model: nn.Module, epoch: int) -> list[int]:
        """What the items of an epoch depend on, by the model before it."""
        raise NotImplementedError

    def begin_epoch(self, epoch: int, mined: list[int]) -> None:
        """Take the result of `mine`."""
        raise NotImplementedError

    def further_metrics(self, model: nn.Module) -> dict[str, float]:
        """Metrics of other examples than those of the corpus, in training."""
        return {}

    def examples_each(self, split: str, epoch: int | None = None) -> int:
        """Number of examples that an item of the dataset gives in an epoch, or in evaluation."""
        return 1

    def num_examples(self, num_epochs: float = 1.0) -> int:
        """Number of training examples in the first epochs."""
        return round(num_epochs * self.examples_each("train") * len(self.dataset("train")))

    def num_last_examples(self) -> int:
        """About how many examples the last phase has."""
        return 0

    def num_eval_examples(self, split: str) -> int:
        """About how many examples a split has."""
        return self.examples_each(split) * len(self.dataset(split))

    def batches(self, epoch: int) -> Iterator[list[int]]:
        """The batches of an epoch as lists of indexes, in an order that depends on the seed."""
        each, rng = self.examples_each("train", epoch), np.random.default_rng([self.seed, epoch])
        num_items = max(1, self.batch_size // each) if self.batch_size else 0
        items, lengths = self.epoch_items(epoch)
        for batch in bucketed_batches(lengths, self.max_batch_nodes, rng, num_items):
            yield items[batch].tolist()

    def epoch_items(self, epoch: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The items of an epoch, by default every index of the dataset, and the numbers of nodes of their examples."""
        lengths = self.dataset("train").lengths
        return np.arange(len(lengths)), self.examples_each("train", epoch) * lengths

    def eval_batches(self, split: str, limit: int = 0) -> Iterator[Batch]:
        """The batches of a split, or of `limit` items of it."""
        dataset = self.dataset(split)
        chosen = np.random.default_rng(EVAL_SEED).permutation(len(dataset))[: limit or None]
        lengths = self.examples_each(split) * dataset.lengths[chosen]
        for batch in bucketed_batches(lengths, EVAL_BATCH_NODES, None):
            yield self.make_eval_batch(chosen[batch].tolist(), split)
