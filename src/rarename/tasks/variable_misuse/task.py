"""Variable misuse as a task for training: which examples, in which order."""

from collections.abc import Iterator
from functools import cache

import numpy as np
from torch import nn

from rarename.corpus.store import Corpus
from rarename.encoding import Encoding
from rarename.errors import UnknownName
from rarename.model import ModelConfig
from rarename.syntax import Role
from rarename.tasks.batches import batches
from rarename.tasks.task import Loss
from rarename.tasks.variable_misuse.batch import Batch, Example, collate
from rarename.tasks.variable_misuse.examples import WAYS, Functions
from rarename.tasks.variable_misuse.scoring import Answer, Counts, MisuseModel, loss

HIDDEN = frozenset({Role.STRING, Role.REGEXP})
"""Literals that every strategy replaces by a stand-in."""

COUNTED = ("names", "others", "numbers")
"""What the vocabulary ranks: all that is not hidden."""

BUGS_PER_FUNCTION = 3
"""Different misuses of a function (paper, section 4.1); each is seen once in as many epochs."""

_MEASURED_SEED = 20_210_606
"""Misuses of validation and test are drawn once: every cell of a table is measured on the same examples."""


class MisuseTask:
    """The functions of a corpus, each once clean and once with a misuse in an epoch."""

    best = "joint_accuracy"

    def __init__(
        self, corpus: Corpus, encoding: Encoding, way: str, max_nodes: int, batch_nodes: int, seed: int
    ) -> None:
        if way not in WAYS:
            raise UnknownName("way to make a misuse", way, WAYS)
        self.encoding, self.way, self.batch_nodes, self.seed = encoding, way, batch_nodes, seed
        ranking = corpus.ranking(*COUNTED)
        self.functions = cache(lambda split: Functions(corpus, split, ranking, max_nodes))

    def build(self, config: ModelConfig) -> nn.Module:
        return MisuseModel(config, self.encoding.num_types, self.encoding.num_values)

    def num_examples(self) -> int:
        return 2 * len(self.functions("train"))

    def batches(self, epoch: int) -> Iterator[list[int]]:
        generator = np.random.default_rng([self.seed, epoch])
        # A function takes twice its room: it comes with and without its misuse.
        return batches(2 * self.functions("train").lengths, self.batch_nodes, generator)

    def batch(self, indexes: list[int], epoch: int) -> Batch:
        functions = self.functions("train")
        examples = [
            example
            for index in indexes
            for example in self._pair(functions, index, [self.seed, index, epoch % BUGS_PER_FUNCTION], [epoch])
        ]
        return collate(examples, self.encoding)

    def measured(self, split: str, limit: int = 0) -> Iterator[Batch]:
        functions = self.functions(split)
        chosen = np.random.default_rng(_MEASURED_SEED).permutation(len(functions))[: limit or None]
        for batch in batches(2 * functions.lengths[chosen], 8_000, None):
            pairs = [
                self._pair(functions, int(chosen[index]), [_MEASURED_SEED, int(chosen[index])], []) for index in batch
            ]
            yield collate([example for pair in pairs for example in pair], self.encoding)

    def loss(self, answer: Answer, batch: Batch) -> Loss:
        return loss(answer, batch)

    def counts(self) -> Counts:
        return Counts()

    def _pair(self, functions: Functions, index: int, seed: list[int], more: list[int]) -> list[Example]:
        """A function, clean and with a misuse. The misuse follows from `seed`, the placeholders also from `more`."""
        function = functions[index]
        misuse = WAYS[self.way](function, np.random.default_rng(seed))
        clean, buggy = np.random.default_rng([*seed, 1, *more]).integers(2**63, size=2).tolist()
        pair = [Example(function, None, clean)]
        # Not every function has a place for a misuse of every way.
        return pair if misuse is None else [*pair, Example(function, misuse, buggy)]
