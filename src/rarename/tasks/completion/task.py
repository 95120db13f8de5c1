"""Code completion as a task: which windows come when."""

import numpy as np

from rarename.config import CompletionConfig, ModelConfig
from rarename.corpus.store import ROLE_GROUPS, Corpus
from rarename.encoding import Encoding
from rarename.tasks.completion.collate import CompletionBatch, collate
from rarename.tasks.completion.dataset import WindowDataset
from rarename.tasks.completion.loss import completion_loss
from rarename.tasks.completion.metrics import CompletionMetrics
from rarename.tasks.completion.model import CompletionModel, CompletionOutput
from rarename.tasks.rank_mapping import RankMapping
from rarename.tasks.task import EVAL_SEED, Loss, Task


class CompletionTask(Task):
    """The windows of a corpus, each once in an epoch."""

    config: CompletionConfig
    selection_metric = "mrr_values"
    length_setting = "window_size"
    vocabulary_roles = tuple(ROLE_GROUPS)
    masked_literals = frozenset()

    def __init__(
        self,
        corpus: Corpus,
        encoding: Encoding,
        config: CompletionConfig,
        max_nodes: int,
        seed: int,
        batch_size: int = 0,
    ) -> None:
        mapping = RankMapping.of(corpus, encoding, self.vocabulary_roles)
        super().__init__(
            lambda split: WindowDataset(corpus, split, config, mapping), encoding, config, max_nodes, seed, batch_size
        )

    @staticmethod
    def build_model(config: CompletionConfig, model_config: ModelConfig, encoding: Encoding) -> CompletionModel:
        pointer = config.copy_pointer, config.pointer_attention
        return CompletionModel(model_config, encoding.num_types, encoding.num_values, *pointer, config.window_size)

    def make_batch(self, indexes: list[int], epoch: int) -> CompletionBatch:
        return self._collate(indexes, "train", self.seed, epoch)

    def make_eval_batch(self, indexes: list[int], split: str) -> CompletionBatch:
        return self._collate(indexes, split, EVAL_SEED, 0)

    def _collate(self, indexes: list[int], split: str, seed: int, epoch: int) -> CompletionBatch:
        sequences = [np.random.SeedSequence((seed, index, epoch)) for index in indexes]
        seeds = [int(sequence.generate_state(1, np.uint64)[0]) for sequence in sequences]
        return collate([self.dataset(split)[index] for index in indexes], self.encoding, seeds)

    def loss(self, output: CompletionOutput, batch: CompletionBatch) -> Loss:
        return completion_loss(output, batch)

    def new_metrics(self, split: str) -> CompletionMetrics:
        return CompletionMetrics(self.dataset(split).project_names)
