"""Variable misuse as a task: which examples come when."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from rarename.config import MisuseConfig, ModelConfig
from rarename.corpus.store import Corpus
from rarename.encoding import Encoding
from rarename.errors import UsageError
from rarename.subtokens import subtoken_ids
from rarename.tasks.batch import map_arrays
from rarename.tasks.misuse.collate import MisuseBatch, MisuseCollator, MisuseExample
from rarename.tasks.misuse.context import CONTEXT_TYPES
from rarename.tasks.misuse.dataset import BUGS_PER_FUNCTION, MASKED_LITERALS, FunctionDataset, table_by_rank
from rarename.tasks.misuse.fix_phase import CLEAN, FIX, KIND, FixExample, FixPhase
from rarename.tasks.misuse.functions import Function
from rarename.tasks.misuse.injection import BUG_SAMPLERS, sample_bug, sample_local_bug, sample_local_bugs
from rarename.tasks.misuse.loss import misuse_loss, suspicion
from rarename.tasks.misuse.metrics import MisuseMetrics
from rarename.tasks.misuse.model import MisuseModel
from rarename.tasks.misuse.predict import MisuseOutput
from rarename.tasks.misuse.similarity import character_bigrams
from rarename.tasks.rank_mapping import RankMapping
from rarename.tasks.sampler import bucketed_batches
from rarename.tasks.task import EVAL_BATCH_NODES, EVAL_SEED, Loss, Task


class MisuseTask(Task):
    """The functions of a corpus, each once clean and once with a bug in an epoch.

    The bugs of a function take turns; with the sampler `published`, all come in every epoch, each with a clean copy.
    """

    config: MisuseConfig
    selection_metric = "joint_accuracy"
    length_setting = "max_function_nodes"
    vocabulary_roles = ("names", "others", "numbers")
    masked_literals = MASKED_LITERALS

    def __init__(
        self,
        corpus: Corpus,
        encoding: Encoding,
        config: MisuseConfig,
        max_nodes: int,
        seed: int,
        batch_size: int = 0,
        fixes: FixPhase | None = None,
    ) -> None:
        self.fixes = fixes
        if config.multi_bug_epochs and not corpus.language.function_types:
            raise UsageError("task.multi_bug_epochs injects bugs, but these examples have their own; set it to 0")
        mapping = RankMapping.of(corpus, encoding, self.vocabulary_roles)
        subtokens = bigrams = None
        if encoding.subtokens:
            subtokens = table_by_rank(corpus, mapping, subtoken_ids(corpus.values(), encoding.subtokens))
        is_realistic = config.bug_sampler == "realistic"
        if config.similarity_weight or is_realistic:
            bigrams = table_by_rank(corpus, mapping, character_bigrams(corpus.values()))

        def dataset(split: str) -> FunctionDataset:
            return FunctionDataset(
                corpus,
                split,
                config.max_function_nodes,
                mapping,
                subtokens,
                bigrams,
                is_published=config.bug_sampler == "published",
                has_features=is_realistic or config.context_nodes > 0,
                num_context=config.context_nodes,
                context_types=encoding.type_ranks(CONTEXT_TYPES) if config.context_nodes else None,
            )

        super().__init__(dataset, encoding, config, max_nodes, seed, batch_size)
        self.collate = MisuseCollator(encoding, config)

    @classmethod
    def value_counts(cls, corpus: Corpus, config: MisuseConfig) -> NDArray[np.int64]:
        if config.bug_sampler != "published":
            return super().value_counts(corpus, config)
        functions = FunctionDataset(corpus, "train", config.max_function_nodes, is_published=True)
        return functions.value_counts(corpus.num_values)

    @staticmethod
    def extra_types(config: MisuseConfig) -> tuple[str, ...]:
        return CONTEXT_TYPES if config.context_nodes else ()

    @staticmethod
    def build_model(config: MisuseConfig, model_config: ModelConfig, encoding: Encoding) -> MisuseModel:
        num_ids = encoding.num_types, encoding.num_values
        head = config.pointer_head, config.usage_features
        max_length = config.max_function_nodes
        return MisuseModel(model_config, *num_ids, *head, len(encoding.subtokens), max_length)

    def is_multi_bug_epoch(self, epoch: int) -> bool:
        # These epochs have no clean functions, so the model flags too many and its metrics are misleading.
        return epoch < self.config.multi_bug_epochs

    def _is_fix_epoch(self, epoch: int | None) -> bool:
        return self.fixes is not None and epoch is not None and epoch >= self.fixes.first_epoch

    def keeps_latest(self, epoch: int) -> bool:
        # Real fixes make the model worse at synthetic bugs, by which the best weights would be chosen.
        return self.is_multi_bug_epoch(epoch) or self._is_fix_epoch(epoch)

    @property
    def last_phase(self) -> tuple[int, int, float] | None:
        if self.fixes is None:
            return None
        return self.fixes.first_epoch, self.config.fix_epochs, self.config.fix_learning_rate

    def examples_each(self, split: str, epoch: int | None = None) -> int:
        """A function comes clean and with a bug, unless it has a published label or many bugs."""
        is_single = self.dataset(split).has_labels or (epoch is not None and self.is_multi_bug_epoch(epoch))
        return 1 if is_single else 2

    def num_examples(self, num_epochs: float = 1.0) -> int:
        multi_bug_epochs = min(num_epochs, self.config.multi_bug_epochs)
        each = multi_bug_epochs + self.examples_each("train") * (num_epochs - multi_bug_epochs)
        return round(each * self._epoch_functions())

    def _epoch_functions(self) -> int:
        return self.config.epoch_functions or len(self.dataset("train"))

    def num_last_examples(self) -> int:
        return 0 if self.fixes is None else self.config.fix_epochs * self.fixes.num_examples(self.config)

    def mines(self, epoch: int) -> bool:
        return self.fixes is not None and self._is_fix_epoch(epoch) and self.fixes.num_hard(self.config) > 0

    def mine(self, model: nn.Module, epoch: int) -> list[int]:
        """The clean functions that a model flags most among a random sample, the most suspicious first."""
        assert self.fixes is not None
        dataset, rng = self.dataset("train"), np.random.default_rng([self.seed, epoch, 6])
        pool = rng.permutation(len(dataset))[: self.config.fix_mined_functions]
        scores = np.zeros(len(pool))
        for positions in bucketed_batches(dataset.lengths[pool], EVAL_BATCH_NODES, None):
            examples = [self._clean(dataset, index, epoch) for index in pool[positions].tolist()]
            output, batch = self._predict(model, examples)
            scores[positions] = suspicion(output, batch).cpu().numpy()
        hardest = pool[np.argsort(-scores, kind="stable")[: self.fixes.num_hard(self.config)]]
        return [int(index) for index in hardest]

    def begin_epoch(self, epoch: int, mined: list[int]) -> None:
        assert self.fixes is not None
        self.fixes.hard = mined

    def further_metrics(self, model: nn.Module) -> dict[str, float]:
        """How the model does on the fixes of the validation split: located, repaired, ranked above the fixed code."""
        if self.fixes is None or not self.fixes.validation:
            return {}
        metrics, validation = MisuseMetrics(len(self.encoding.values)), self.fixes.validation
        for positions in bucketed_batches(np.array([2 * len(each[0]) for each in validation]), EVAL_BATCH_NODES, None):
            pairs = [self._fix_pair(validation[index], [EVAL_SEED, index]) for index in positions]
            metrics.update(*self._predict(model, [example for pair in pairs for example in pair]))
        clean, buggy = ({name: column[kind::2] for name, column in metrics.columns().items()} for kind in (0, 1))
        return {
            "fixes_joint": float(buggy["is_found"].mean()),
            "fixes_located": float(buggy["is_located"].mean()),
            "fixes_above_twin": float((buggy["confidence"] > clean["confidence"]).mean()),
        }

    def _predict(self, model: nn.Module, examples: Sequence[MisuseExample]) -> tuple[MisuseOutput, MisuseBatch]:
        device = next(model.parameters()).device
        batch = map_arrays(self.collate(examples), lambda array: torch.from_numpy(array).to(device))
        with torch.inference_mode():
            return model(**batch.inputs()), batch

    def epoch_items(self, epoch: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Each function once, or a sample; with `length_exponent`, long functions several times and short ones seldom.

        The item `index + copy · functions` is a further copy of a function, with another bug.
        """
        if self.fixes is not None and self._is_fix_epoch(epoch):
            rng = np.random.default_rng([self.seed, epoch, 7])
            return self.fixes.items(self.dataset("train").lengths, self.config, rng)
        items, lengths = super().epoch_items(epoch)
        if not (self.config.length_exponent or self.config.epoch_functions):
            return items, lengths
        expected = lengths.astype(float) ** self.config.length_exponent
        # Systematic sampling: each function comes as often as expected, rounded up or down.
        ends = (
            np.cumsum(self._epoch_functions() / expected.sum() * expected)
            + np.random.default_rng([self.seed, epoch, 4]).random()
        )
        counts = np.diff(np.floor(ends), prepend=0).astype(np.int64)
        copies = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        return np.repeat(items, counts) + len(items) * copies, np.repeat(lengths, counts)

    def make_batch(self, indexes: list[int], epoch: int) -> MisuseBatch:
        is_fix_epoch = self._is_fix_epoch(epoch)
        make: Callable[[FunctionDataset, int, int], list[MisuseExample]] = self._pair
        if self.is_multi_bug_epoch(epoch) or is_fix_epoch:
            make = self._fix_item if is_fix_epoch else self._multi_bug_example
        examples = [example for index in indexes for example in make(self.dataset("train"), index, epoch)]
        return self.collate(examples, has_pairs=is_fix_epoch)

    def make_eval_batch(self, indexes: list[int], split: str) -> MisuseBatch:
        return self.collate([example for index in indexes for example in self._pair(self.dataset(split), index, None)])

    def loss(self, output: MisuseOutput, batch: MisuseBatch) -> Loss:
        return misuse_loss(output, batch, self.config.fix_pair_weight)

    def new_metrics(self, split: str) -> MisuseMetrics:
        return MisuseMetrics(len(self.encoding.values), self.dataset(split).project_names)

    def _multi_bug_example(self, dataset: FunctionDataset, index: int, epoch: int) -> list[MisuseExample]:
        """A function with many bugs, others in each epoch."""
        function, rng = self._function(dataset, index, epoch), np.random.default_rng([self.seed, index, epoch, 2])
        is_realistic = self.config.bug_sampler == "realistic"
        bugs = sample_local_bugs(function, rng, self.config.multi_bug_rate, self.config.similarity_weight, is_realistic)
        return [MisuseExample(function, bugs, int(rng.integers(2**63)), is_multi_bug=True)]

    def _fix_item(self, dataset: FunctionDataset, item: int, epoch: int) -> list[MisuseExample]:
        """A fix with its twin, a clean function, or a pair as in other epochs."""
        kind, index = divmod(item, KIND)
        if kind == FIX:
            assert self.fixes is not None
            return self._fix_pair(self.fixes.train[index], [self.seed, index, epoch, 8])
        return [self._clean(dataset, index, epoch)] if kind == CLEAN else self._pair(dataset, index, epoch)

    def _fix_pair(self, example: FixExample, seed: list[int]) -> list[MisuseExample]:
        seeds = np.random.default_rng(seed).integers(2**63, size=2).tolist()
        bugs = (example.bug,)
        return [MisuseExample(example.function, (), seeds[0]), MisuseExample(example.function, bugs, seeds[1])]

    def _clean(self, dataset: FunctionDataset, index: int, epoch: int) -> MisuseExample:
        seed = int(np.random.default_rng([self.seed, index, epoch, 9]).integers(2**63))
        return MisuseExample(self._function(dataset, index, epoch), (), seed)

    def _function(self, dataset: FunctionDataset, item: int, epoch: int | None) -> Function:
        """The function of an item; in training half of them have no context, because many texts have none."""
        if not self.config.context_nodes:
            return dataset[item % len(dataset)]
        has_context = epoch is None or bool(np.random.default_rng([self.seed, item, epoch, 5]).integers(2))
        return dataset.function(item % len(dataset), has_context)

    def _pair(self, dataset: FunctionDataset, index: int, epoch: int | None) -> list[MisuseExample]:
        """A function, clean and with a bug, for an epoch of training or, without one, for evaluation."""
        function, similarity_weight = self._function(dataset, index, epoch), self.config.similarity_weight
        if epoch is None:
            bug_seed, placeholder_seed, similarity_weight = [EVAL_SEED, index], [EVAL_SEED, index, 1], 0.0
        else:
            bug_seed = [self.seed, index, epoch if self.config.redraw_bugs else epoch % BUGS_PER_FUNCTION]
            placeholder_seed = [*bug_seed, 1, epoch]
        clean_seed, buggy_seed = np.random.default_rng(placeholder_seed).integers(2**63, size=2).tolist()
        # A conditional head is evaluated as `rarename check` uses it: one prediction per nested function.
        is_nested = epoch is None and self.config.pointer_head == "conditional"
        nested = dataset.nested_slices(index) if is_nested else ()
        clean = MisuseExample(function, (), clean_seed, nested_slices=nested)
        if function.label is not None:
            return [clean]  # unchanged, clean or with its published bug
        rng = np.random.default_rng(bug_seed)
        if self.config.bug_sampler == "published":
            number = int(dataset.bug_numbers[index])
            # All bugs of a function share a generator state, which does not depend on the epoch.
            rng = np.random.default_rng([EVAL_SEED if epoch is None else self.seed, index - number])
            bug = sample_bug(function, rng, number)
        elif similarity_weight:
            bug = sample_local_bug(function, rng, similarity_weight)
        else:
            bug = BUG_SAMPLERS[self.config.bug_sampler](function, rng)
        # Not every function has a node for a bug of every sampler.
        return [clean] if bug is None else [clean, replace(clean, bugs=(bug,), seed=buggy_seed)]
