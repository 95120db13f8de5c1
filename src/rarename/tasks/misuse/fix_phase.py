"""The last phase of training: real fixes with their fixed twins, among clean functions.

An epoch of it has every fix once, for each fix some clean functions of the corpus, and some with a synthetic bug, so
that the model forgets nothing. Part of the clean functions are hard: the model flags them when the epoch begins.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rarename.config import MisuseConfig
from rarename.encoding import Encoding
from rarename.syntax import Language
from rarename.tasks.misuse.fixes import Fix
from rarename.tasks.misuse.functions import Function
from rarename.tasks.misuse.injection import InjectedBug

PAIR, CLEAN, FIX = range(3)
KIND = 1 << 40
"""The item `kind · KIND + index` is a function of the corpus, with a bug or only clean, or a fix."""


class FixExample(NamedTuple):
    """A fixed function, and the fix undone."""

    function: Function
    bug: InjectedBug


@dataclass
class FixPhase:
    """The fixes to train on, and those that show the progress."""

    first_epoch: int
    train: Sequence[FixExample]
    validation: Sequence[FixExample] = ()
    hard: list[int] = field(default_factory=list)
    """The clean functions that the model flags, the most suspicious first, for the epoch that has begun."""

    def num_examples(self, config: MisuseConfig) -> int:
        """Number of examples in an epoch."""
        num_clean, num_synthetic = self._counts(config)
        return 2 * len(self.train) + num_clean + 2 * num_synthetic

    def num_hard(self, config: MisuseConfig) -> int:
        """Number of hard functions in an epoch."""
        return round(config.fix_hard_fraction * self._counts(config)[0])

    def items(
        self, lengths: NDArray[np.int64], config: MisuseConfig, rng: np.random.Generator
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The items of an epoch and the numbers of their nodes, those of both twins together."""
        num_clean, num_synthetic = self._counts(config)
        hard = np.array(self.hard[: self.num_hard(config)], dtype=np.int64)
        weights = lengths.astype(float) ** config.length_exponent
        drawn = rng.choice(len(lengths), num_clean - len(hard) + num_synthetic, p=weights / weights.sum())
        synthetic, clean = drawn[:num_synthetic], np.concatenate([hard, drawn[num_synthetic:]])
        fixes = np.arange(len(self.train))
        fix_lengths = np.array([len(each.function) for each in self.train], dtype=np.int64)
        items = [PAIR * KIND + synthetic, CLEAN * KIND + clean, FIX * KIND + fixes]
        return np.concatenate(items), np.concatenate([2 * lengths[synthetic], lengths[clean], 2 * fix_lengths])

    def _counts(self, config: MisuseConfig) -> tuple[int, int]:
        num_fixes = len(self.train)
        return round(config.fix_clean_functions * num_fixes), round(config.fix_synthetic_functions * num_fixes)


def fix_examples(fixes: Sequence[Fix], language: Language, encoding: Encoding, max_nodes: int) -> list[FixExample]:
    """The fixes that a model can learn from: the wrong name is a local one, and the function not too long."""
    examples = (fix.example(language, encoding) for fix in fixes)
    found = [FixExample(*example) for example in examples if example is not None]
    return [each for each in found if len(each.function) <= max_nodes and is_local(each)]


def is_local(example: FixExample) -> bool:
    """Whether both names are bound in the function; a conditional head points at no others."""
    function, (location, wrong) = example
    bound = function.values[function.bindings]
    return bool(np.isin([wrong, function.values[location]], bound).all())
