"""Code completion as a task: which windows come when."""

from collections.abc import Iterator
from functools import cache

import numpy as np

from rarename.config import CompletionConfig, ModelConfig
from rarename.corpus.store import ROLE_GROUPS, Corpus
from rarename.encoding import Encoding
from rarename.errors import UsageError
from rarename.syntax import Role
from rarename.tasks.completion.collate import CompletionBatch, collate
from rarename.tasks.completion.dataset import WindowDataset
from rarename.tasks.completion.loss import completion_loss
from rarename.tasks.completion.metrics import CompletionMetrics
from rarename.tasks.completion.model import CompletionModel, CompletionOutput
from rarename.tasks.rank_mapping import RankMapping
from rarename.tasks.sampler import bucketed_batches
from rarename.tasks.task import EVAL_SEED, Loss

EVAL_BATCH_NODES = 8_000


class CompletionTask:
    """The windows of a corpus, each once in an epoch."""

    selection_metric = "mrr_values"
    vocabulary_roles = tuple(ROLE_GROUPS)
    """The groups of roles whose values the vocabulary ranks: all."""
    masked_literals: frozenset[Role] = frozenset()  # the literals that every strategy replaces by a mask: none

    def __init__(self, corpus: Corpus, encoding: Encoding, config: CompletionConfig, max_nodes: int, seed: int) -> None:
        self.encoding, self.config, self.max_batch_nodes, self.seed = encoding, config, max_nodes, seed
        mapping = RankMapping.of(corpus, encoding, self.vocabulary_roles)
        strides, eval_stride = {"train": config.stride}, max(1, config.window_size // 2)
        self.dataset = cache(
            lambda split: WindowDataset(corpus, split, config.window_size, strides.get(split, eval_stride), mapping)
        )

    @staticmethod
    def check_encoding(config: CompletionConfig, num_placeholders: int) -> None:
        if num_placeholders < config.window_size:
            raise UsageError(
                f"encoding.num_placeholders is {num_placeholders}, but a window may have {config.window_size} nodes, "
                "each with another value; set it to at least that"
            )

    @staticmethod
    def build_model(config: CompletionConfig, model_config: ModelConfig, encoding: Encoding) -> CompletionModel:
        return CompletionModel(model_config, encoding.num_types, encoding.num_values, config.copy_pointer)

    def num_examples(self, num_epochs: float = 1.0) -> int:
        return round(num_epochs * len(self.dataset("train")))

    def is_multi_bug_epoch(self, epoch: int) -> bool:
        return False

    def batches(self, epoch: int) -> Iterator[list[int]]:
        rng = np.random.default_rng([self.seed, epoch])
        return bucketed_batches(self.dataset("train").lengths, self.max_batch_nodes, rng)

    def make_batch(self, indexes: list[int], epoch: int) -> CompletionBatch:
        dataset = self.dataset("train")
        seeds = [_placeholder_seed(self.seed, index, epoch) for index in indexes]
        return collate([dataset[index] for index in indexes], self.encoding, seeds)

    def eval_batches(self, split: str, limit: int = 0) -> Iterator[CompletionBatch]:
        dataset = self.dataset(split)
        chosen = np.random.default_rng(EVAL_SEED).permutation(len(dataset))[: limit or None]
        for batch in bucketed_batches(dataset.lengths[chosen], EVAL_BATCH_NODES, None):
            indexes = chosen[batch].tolist()
            seeds = [_placeholder_seed(EVAL_SEED, index, 0) for index in indexes]
            yield collate([dataset[index] for index in indexes], self.encoding, seeds)

    def num_eval_examples(self, split: str) -> int:
        return len(self.dataset(split))

    def loss(self, output: CompletionOutput, batch: CompletionBatch) -> Loss:
        return completion_loss(output, batch)

    def new_metrics(self, split: str) -> CompletionMetrics:
        return CompletionMetrics(self.dataset(split).project_names)


def _placeholder_seed(*numbers: int) -> int:
    return int(np.random.SeedSequence(numbers).generate_state(1, np.uint64)[0])
