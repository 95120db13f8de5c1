"""Variable misuse as a task for training: which examples, in which order."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import ClassVar

import numpy as np
from torch import nn

from rarename.corpus.store import Corpus
from rarename.encoding import Encoding
from rarename.errors import UnknownName, UsageError, check_least
from rarename.model import ModelConfig
from rarename.syntax import Role
from rarename.tasks.misuse.collate import Batch, Collator, Example
from rarename.tasks.misuse.examples import WAYS, Functions, draw_local, draw_many, part_table, spelling_table
from rarename.tasks.misuse.model import HEADS, Answer, MisuseModel
from rarename.tasks.misuse.scoring import Counts, loss
from rarename.tasks.rank_mapping import Alignment
from rarename.tasks.sampler import batches
from rarename.tasks.task import MEASURED_SEED, Loss

BUGS_PER_FUNCTION = 3
"""Different misuses of a function (paper, section 4.1); each is seen once in as many epochs."""


@dataclass(frozen=True)
class MisuseConfig:
    """What is asked."""

    counted: ClassVar[tuple[str, ...]] = ("names", "others", "numbers")
    """What the vocabulary ranks: all that is not hidden."""
    hidden: ClassVar[frozenset[Role]] = frozenset({Role.STRING, Role.REGEXP})
    """Literals that every strategy replaces by a stand-in."""

    name: str = "misuse"
    way: str = "paper"
    """How misuses are drawn: a key of `examples.WAYS`."""
    likeness: float = 0.0
    """In training, how much likelier `local` misuses are whose names are spelled alike: see `draw_local`."""
    max_nodes: int = 250
    """Longer functions are left out."""
    head: str = "pointers"
    """How the model points: a key of `model.HEADS`. `pairs` looks at reads of local names alone."""
    counts_uses: bool = False
    """Tell the model of each variable how often it is read, bound, and used before."""
    dense_epochs: int = 0
    """Epochs at the start in which a function has many misuses at once, and each place is judged by itself."""
    dense_share: float = 0.15
    """The share of the reads of local names that is wrong then."""

    def __post_init__(self) -> None:
        if self.name != "misuse":
            raise ValueError(f"the settings are those of misuse, not of {self.name!r}")
        check_least(self, max_nodes=1, dense_epochs=0, likeness=0)
        if not 0 < self.dense_share <= 1:
            raise ValueError(f"dense_share is {self.dense_share}; it must be above 0 and at most 1")
        if self.way not in WAYS:
            raise UnknownName("way to make a misuse", self.way, WAYS)
        if self.head not in HEADS:
            raise UnknownName("head", self.head, HEADS)
        if self.likeness and self.way != "local":
            raise ValueError(f"likeness is for the way 'local'; the way is {self.way!r}")

    def check_placeholders(self, placeholders: int) -> None:
        """Every node may hold another rare name."""
        if placeholders < self.max_nodes:
            raise UsageError(
                f"encoding.placeholders is {placeholders}, but a function may have {self.max_nodes} nodes, each "
                "another name; set it to as many"
            )

    def model(self, config: ModelConfig, encoding: Encoding) -> MisuseModel:
        """A model for this, with weights drawn from torch's generator."""
        return MisuseModel(
            config, encoding.num_types, encoding.num_values, self.head, self.counts_uses, len(encoding.subtokens)
        )

    def task(self, corpus: Corpus, encoding: Encoding, batch_nodes: int, seed: int) -> "MisuseTask":
        """The task on a corpus."""
        return MisuseTask(corpus, encoding, self, batch_nodes, seed)

    def collator(self, encoding: Encoding) -> Collator:
        """What makes its batches."""
        return Collator(encoding, is_local=self.head == "pairs", counts_uses=self.counts_uses)


class MisuseTask:
    """The functions of a corpus, each once clean and once with a misuse in an epoch."""

    best = "joint_accuracy"

    def __init__(self, corpus: Corpus, encoding: Encoding, config: MisuseConfig, batch_nodes: int, seed: int) -> None:
        if config.dense_epochs and not corpus.language.function_types:
            raise UsageError("task.dense_epochs draws misuses, but these examples come with their own; set it to 0")
        self.encoding, self.config, self.batch_nodes, self.seed = encoding, config, batch_nodes, seed
        self.collate = config.collator(encoding)
        alignment = Alignment.of(corpus, encoding, config.counted)
        parts = part_table(corpus, alignment, encoding.subtokens) if encoding.subtokens else None
        spellings = spelling_table(corpus, alignment) if config.likeness else None
        self.functions = cache(lambda split: Functions(corpus, split, alignment, config.max_nodes, parts, spellings))

    def build(self, config: ModelConfig) -> nn.Module:
        return self.config.model(config, self.encoding)

    def num_examples(self, epochs: float = 1.0) -> int:
        functions, dense = self.functions("train"), min(epochs, self.config.dense_epochs)
        return round((dense + functions.examples_each * (epochs - dense)) * len(functions))

    def is_warming_up(self, epoch: int) -> bool:
        # Dense epochs have no clean functions: the model flags too many, which passes for finding more.
        return epoch < self.config.dense_epochs

    def batches(self, epoch: int) -> Iterator[list[int]]:
        functions, generator = self.functions("train"), np.random.default_rng([self.seed, epoch])
        # A function takes twice its room if it comes with and without its misuse.
        times = 1 if self.is_warming_up(epoch) else functions.examples_each
        return batches(times * functions.lengths, self.batch_nodes, generator)

    def batch(self, indexes: list[int], epoch: int) -> Batch:
        functions = self.functions("train")
        if self.is_warming_up(epoch):
            return self.collate([self._dense(functions, index, epoch) for index in indexes])
        return self.collate([example for index in indexes for example in self._pair(functions, index, epoch)])

    def measured(self, split: str, limit: int = 0) -> Iterator[Batch]:
        functions = self.functions(split)
        chosen = np.random.default_rng(MEASURED_SEED).permutation(len(functions))[: limit or None]
        for batch in batches(functions.examples_each * functions.lengths[chosen], 8_000, None):
            yield self.collate([one for index in batch for one in self._pair(functions, int(chosen[index]), None)])

    def num_measured(self, split: str) -> int:
        return self.functions(split).examples_each * len(self.functions(split))

    def loss(self, answer: Answer, batch: Batch) -> Loss:
        return loss(answer, batch)

    def counts(self, split: str) -> Counts:
        return Counts(len(self.encoding.values), self.functions(split).projects)

    def _dense(self, functions: Functions, index: int, epoch: int) -> Example:
        """A function with many misuses, others in each epoch."""
        function, generator = functions[index], np.random.default_rng([self.seed, index, epoch, 2])
        misuses = draw_many(function, generator, self.config.dense_share, self.config.likeness)
        return Example(function, misuses, int(generator.integers(2**63)), is_dense=True)

    def _pair(self, functions: Functions, index: int, epoch: int | None) -> list[Example]:
        """A function, clean and with a misuse, for an epoch of training, or, without one, to measure with."""
        function = functions[index]
        if epoch is None:
            seed, of_placeholders, likeness = [MEASURED_SEED, index], [MEASURED_SEED, index, 1], 0.0
        else:
            seed, likeness = [self.seed, index, epoch % BUGS_PER_FUNCTION], self.config.likeness
            of_placeholders = [*seed, 1, epoch]
        clean, buggy = np.random.default_rng(of_placeholders).integers(2**63, size=2).tolist()
        # Models for use are measured as `rarename check` uses them.
        inside = functions.inside(index) if epoch is None and self.config.head == "pairs" else ()
        first = Example(function, (), clean, project=functions.project(index), inside=inside)
        if function.bug is not None:  # it has come with a misuse, or clean, as it is
            return [first]
        generator = np.random.default_rng(seed)
        misuse = draw_local(function, generator, likeness) if likeness else WAYS[self.config.way](function, generator)
        # Not every function has a place for a misuse of every way.
        return [first] if misuse is None else [first, replace(first, misuses=(misuse,), seed=buggy)]
