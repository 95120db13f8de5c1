"""Variable misuse as a task: which examples come when."""

from collections.abc import Iterator
from dataclasses import replace
from functools import cache

import numpy as np

from rarename.config import MisuseConfig, ModelConfig
from rarename.corpus.store import Corpus
from rarename.encoding import Encoding
from rarename.errors import UsageError
from rarename.syntax import Role
from rarename.tasks.misuse.collate import MisuseBatch, MisuseCollator, MisuseExample
from rarename.tasks.misuse.dataset import FunctionDataset, bigram_table, subtoken_table
from rarename.tasks.misuse.injection import BUG_SAMPLERS, sample_local_bug, sample_local_bugs
from rarename.tasks.misuse.loss import misuse_loss
from rarename.tasks.misuse.metrics import MisuseMetrics
from rarename.tasks.misuse.model import MisuseModel
from rarename.tasks.misuse.predict import MisuseOutput
from rarename.tasks.rank_mapping import RankMapping
from rarename.tasks.sampler import bucketed_batches
from rarename.tasks.task import EVAL_SEED, Loss

BUGS_PER_FUNCTION = 3
"""Number of different bugs of a function (paper, section 4.1); each is seen once in as many epochs."""

EVAL_BATCH_NODES = 8_000


class MisuseTask:
    """The functions of a corpus, each once clean and once with a bug in an epoch."""

    selection_metric = "joint_accuracy"
    vocabulary_roles = ("names", "others", "numbers")
    """The groups of roles whose values the vocabulary ranks: everything that is not masked."""
    masked_literals = frozenset({Role.STRING, Role.REGEXP})
    """The literals that every strategy replaces by a mask."""

    def __init__(self, corpus: Corpus, encoding: Encoding, config: MisuseConfig, max_nodes: int, seed: int) -> None:
        if config.multi_bug_epochs and not corpus.language.function_types:
            raise UsageError("task.multi_bug_epochs injects bugs, but these examples have their own; set it to 0")
        self.encoding, self.config, self.max_batch_nodes, self.seed = encoding, config, max_nodes, seed
        self.collate = MisuseCollator.of(config, encoding)
        mapping = RankMapping.of(corpus, encoding, self.vocabulary_roles)
        subtokens = subtoken_table(corpus, mapping, encoding.subtokens) if encoding.subtokens else None
        bigrams = bigram_table(corpus, mapping) if config.similarity_weight else None
        self.dataset = cache(
            lambda split: FunctionDataset(corpus, split, config.max_function_nodes, mapping, subtokens, bigrams)
        )

    @staticmethod
    def check_encoding(config: MisuseConfig, num_placeholders: int) -> None:
        if num_placeholders < config.max_function_nodes:
            raise UsageError(
                f"encoding.num_placeholders is {num_placeholders}, but a function may have "
                f"{config.max_function_nodes} nodes, each with another name; set it to at least that"
            )

    @staticmethod
    def build_model(config: MisuseConfig, model_config: ModelConfig, encoding: Encoding) -> MisuseModel:
        num_ids = encoding.num_types, encoding.num_values
        return MisuseModel(model_config, *num_ids, config.pointer_head, config.usage_features, len(encoding.subtokens))

    def num_examples(self, num_epochs: float = 1.0) -> int:
        dataset, multi_bug_epochs = self.dataset("train"), min(num_epochs, self.config.multi_bug_epochs)
        return round((multi_bug_epochs + _examples_each(dataset) * (num_epochs - multi_bug_epochs)) * len(dataset))

    def is_multi_bug_epoch(self, epoch: int) -> bool:
        # These epochs have no clean functions. The model flags too many, which looks like finding more.
        return epoch < self.config.multi_bug_epochs

    def batches(self, epoch: int) -> Iterator[list[int]]:
        dataset, rng = self.dataset("train"), np.random.default_rng([self.seed, epoch])
        # A function takes twice its nodes if it comes clean and with a bug.
        times = 1 if self.is_multi_bug_epoch(epoch) else _examples_each(dataset)
        return bucketed_batches(times * dataset.lengths, self.max_batch_nodes, rng)

    def make_batch(self, indexes: list[int], epoch: int) -> MisuseBatch:
        dataset = self.dataset("train")
        if self.is_multi_bug_epoch(epoch):
            return self.collate([self._multi_bug_example(dataset, index, epoch) for index in indexes])
        return self.collate([example for index in indexes for example in self._pair(dataset, index, epoch)])

    def eval_batches(self, split: str, limit: int = 0) -> Iterator[MisuseBatch]:
        dataset = self.dataset(split)
        chosen = np.random.default_rng(EVAL_SEED).permutation(len(dataset))[: limit or None]
        for batch in bucketed_batches(_examples_each(dataset) * dataset.lengths[chosen], EVAL_BATCH_NODES, None):
            yield self.collate([each for index in batch for each in self._pair(dataset, int(chosen[index]), None)])

    def num_eval_examples(self, split: str) -> int:
        return _examples_each(self.dataset(split)) * len(self.dataset(split))

    def loss(self, output: MisuseOutput, batch: MisuseBatch) -> Loss:
        return misuse_loss(output, batch)

    def new_metrics(self, split: str) -> MisuseMetrics:
        return MisuseMetrics(len(self.encoding.values), self.dataset(split).project_names)

    def _multi_bug_example(self, dataset: FunctionDataset, index: int, epoch: int) -> MisuseExample:
        """A function with many bugs, others in each epoch."""
        function, rng = dataset[index], np.random.default_rng([self.seed, index, epoch, 2])
        bugs = sample_local_bugs(function, rng, self.config.multi_bug_rate, self.config.similarity_weight)
        return MisuseExample(function, bugs, int(rng.integers(2**63)), is_multi_bug=True)

    def _pair(self, dataset: FunctionDataset, index: int, epoch: int | None) -> list[MisuseExample]:
        """A function, clean and with a bug, for an epoch of training or, without one, for evaluation."""
        function, similarity_weight = dataset[index], self.config.similarity_weight
        if epoch is None:
            bug_seed, placeholder_seed, similarity_weight = [EVAL_SEED, index], [EVAL_SEED, index, 1], 0.0
        else:
            bug_seed = [self.seed, index, epoch % BUGS_PER_FUNCTION]
            placeholder_seed = [*bug_seed, 1, epoch]
        clean_seed, buggy_seed = np.random.default_rng(placeholder_seed).integers(2**63, size=2).tolist()
        # Models for use are evaluated the way `rarename check` uses them: one prediction per nested function.
        is_nested = epoch is None and self.config.pointer_head == "conditional"
        nested = dataset.nested_slices(index) if is_nested else ()
        clean = MisuseExample(function, (), clean_seed, project=dataset.project(index), nested_slices=nested)
        if function.label is not None:
            return [clean]  # clean or with its published bug, as it is
        rng = np.random.default_rng(bug_seed)
        if similarity_weight:
            bug = sample_local_bug(function, rng, similarity_weight)
        else:
            bug = BUG_SAMPLERS[self.config.bug_sampler](function, rng)
        # Not every function has a node for a bug of every sampler.
        return [clean] if bug is None else [clean, replace(clean, bugs=(bug,), seed=buggy_seed)]


def _examples_each(dataset: FunctionDataset) -> int:
    """Examples per function: clean and with a bug, unless it has a published label."""
    return 1 if dataset.has_labels else 2
