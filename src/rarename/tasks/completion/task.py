"""Code completion as a task for training: which windows, in which order."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import ClassVar

import numpy as np
from torch import nn

from rarename.corpus.store import ROLE_GROUPS as GROUPS
from rarename.corpus.store import Corpus
from rarename.encoding import Encoding
from rarename.errors import UsageError
from rarename.model import ModelConfig
from rarename.syntax import Role
from rarename.tasks.completion.collate import Batch, Collator
from rarename.tasks.completion.model import Answer, CompletionModel
from rarename.tasks.completion.scoring import Counts, loss
from rarename.tasks.completion.windows import STRIDE, WINDOW, Windows
from rarename.tasks.rank_mapping import Alignment
from rarename.tasks.sampler import batches
from rarename.tasks.task import MEASURED_SEED, Loss

_MEASURED_NODES = 8_000


@dataclass(frozen=True)
class CompletionConfig:
    """What is asked."""

    counted: ClassVar[tuple[str, ...]] = tuple(GROUPS)
    """What the vocabulary ranks: all values."""
    hidden: ClassVar[frozenset[Role]] = frozenset()
    """Literals that every strategy replaces by a stand-in: none."""

    name: str = "completion"
    window: int = WINDOW
    """Nodes that are read at once."""
    stride: int = STRIDE
    """Nodes from one window of training to the next; what overlaps is context only. Without overlap, `window`, an epoch
    takes about half the time, and the first nodes of a window are learned from little context. Scores are always
    measured with half a window of overlap."""
    has_pointer: bool = False
    """Whether values may be copied from places before: the baseline of the paper."""

    def __post_init__(self) -> None:
        if self.name != "completion":
            raise ValueError(f"the settings are those of completion, not of {self.name!r}")
        if self.window < 2 or not 0 < self.stride <= self.window:
            raise ValueError("window must be at least 2, stride at least 1 and at most the window")

    def check_placeholders(self, placeholders: int) -> None:
        """Every node may hold another rare value."""
        if placeholders < self.window:
            raise UsageError(
                f"encoding.placeholders is {placeholders}, but a window has {self.window} nodes, each another value "
                "perhaps; set it to as many"
            )

    def model(self, config: ModelConfig, encoding: Encoding) -> CompletionModel:
        """A model for this, with weights drawn from torch's generator."""
        if not config.is_causal:
            raise UsageError(
                "completion needs model.is_causal = true: a model that sees the next node has nothing to tell"
            )
        return CompletionModel(config, encoding.num_types, encoding.num_values, self.has_pointer)

    def task(self, corpus: Corpus, encoding: Encoding, batch_nodes: int, seed: int) -> "CompletionTask":
        """The task on a corpus."""
        return CompletionTask(corpus, encoding, self, batch_nodes, seed)


class CompletionTask:
    """The windows of a corpus, each once in an epoch."""

    best = "mrr_values"

    def __init__(
        self, corpus: Corpus, encoding: Encoding, config: CompletionConfig, batch_nodes: int, seed: int
    ) -> None:
        self.encoding, self.config, self.batch_nodes, self.seed = encoding, config, batch_nodes, seed
        self.collate = Collator(encoding)
        strides, measured_stride = {"train": config.stride}, max(1, config.window // 2)
        alignment = Alignment.of(corpus, encoding, config.counted)
        self.windows = cache(
            lambda split: Windows(corpus, split, config.window, strides.get(split, measured_stride), alignment)
        )

    def build(self, config: ModelConfig) -> nn.Module:
        return self.config.model(config, self.encoding)

    def num_examples(self, epochs: float = 1.0) -> int:
        return round(epochs * len(self.windows("train")))

    def is_warming_up(self, epoch: int) -> bool:
        return False

    def batches(self, epoch: int) -> Iterator[list[int]]:
        return batches(self.windows("train").lengths, self.batch_nodes, np.random.default_rng([self.seed, epoch]))

    def batch(self, indexes: list[int], epoch: int) -> Batch:
        windows = self.windows("train")
        seeds = [_seed(self.seed, index, epoch) for index in indexes]
        return self.collate([windows[index] for index in indexes], seeds)

    def measured(self, split: str, limit: int = 0) -> Iterator[Batch]:
        windows = self.windows(split)
        chosen = np.random.default_rng(MEASURED_SEED).permutation(len(windows))[: limit or None]
        for batch in batches(windows.lengths[chosen], _MEASURED_NODES, None):
            indexes = chosen[batch].tolist()
            seeds = [_seed(MEASURED_SEED, index, 0) for index in indexes]
            yield self.collate([windows[index] for index in indexes], seeds)

    def num_measured(self, split: str) -> int:
        return len(self.windows(split))

    def loss(self, answer: Answer, batch: Batch) -> Loss:
        return loss(answer, batch)

    def counts(self, split: str) -> Counts:
        return Counts(self.windows(split).projects)


def _seed(*numbers: int) -> int:
    """The seed of a window's placeholders."""
    return int(np.random.SeedSequence(numbers).generate_state(1, np.uint64)[0])
