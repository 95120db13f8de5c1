"""Means over seeds, and the difference of two strategies with its uncertainty (docs/experiments.md)."""

import math
from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean, stdev, variance
from typing import NamedTuple

import numpy as np
from scipy import stats

_LEAST_DEGREES = 1e-9  # of freedom, with rounding errors

ProjectScores = Mapping[str, tuple[float, float]]
"""For each test project the score of one model, and the number of examples."""


class MeanStd(NamedTuple):
    """A score over seeds. The standard deviation is that of a sample, and None for one seed."""

    mean: float
    std: float | None = None

    @classmethod
    def of(cls, values: Sequence[float]) -> "MeanStd":
        return cls(fmean(values), stdev(values) if len(values) > 1 else None)


class SeedVariance(NamedTuple):
    """How much a score varies between trainings that differ in the seed alone; infinite if it is unknown."""

    std: float = math.inf
    degrees_of_freedom: int = 1


def pooled_variance(scores: Iterable[Sequence[float]]) -> SeedVariance:
    """Over all cells with several seeds, because three seeds of one cell are a poor estimate.

    >>> pooled_variance([[1, 3], [4, 5, 6], [9]])
    SeedVariance(std=1.1547005383792515, degrees_of_freedom=3)
    """
    repeated = [each for each in scores if len(each) > 1]
    degrees = sum(len(each) - 1 for each in repeated)
    squares = sum((len(each) - 1) * variance(each) for each in repeated)
    return SeedVariance(math.sqrt(squares / degrees), degrees) if degrees else SeedVariance()


class Difference(NamedTuple):
    """How much better one strategy is than another on the same test projects."""

    mean: float
    project_error: float  # the standard error due to the choice of test projects
    seed_error: float  # the standard error due to the seeds
    seed_std: float
    degrees_of_freedom: float
    num_projects: int

    @property
    def error(self) -> float:
        return max(1e-12, math.hypot(self.project_error, self.seed_error))

    @property
    def p(self) -> float:
        """Of a two-sided t-test."""
        return 2 * float(stats.t.sf(abs(self.mean) / self.error, self.degrees_of_freedom))

    def interval(self, level: float = 0.05) -> tuple[float, float]:
        """The confidence interval, which misses the true difference with probability `level`."""
        reach = self.error * float(stats.t.isf(level / 2, self.degrees_of_freedom))
        return self.mean - reach, self.mean + reach


def compare(first: Sequence[ProjectScores], second: Sequence[ProjectScores], seeds: SeedVariance) -> Difference | None:
    """The mean difference over all examples, given the scores of each seed on either side.

    The variances over projects and over seeds add up. A few large projects hold most of the examples, so the effective
    number of projects counts, (Σ w)² / Σ w². The degrees of freedom are those of Welch and Satterthwaite. None with
    fewer than two projects, or if one has nearly all examples.
    """
    names = sorted(set(first[0]).intersection(*first[1:], *second))
    if len(names) < 2:
        return None
    weights = np.array([first[0][name][1] for name in names])
    weights = weights / weights.sum()
    ours, others = (np.array([[each[name][0] for name in names] for each in side]).mean(0) for side in (first, second))
    mean = float(weights @ (ours - others))
    degrees = 1 / float(weights @ weights) - 1
    if degrees < _LEAST_DEGREES:
        return None
    of_projects = float(weights**2 @ (ours - others - mean) ** 2) * (degrees + 1) / degrees
    of_seeds = seeds.std**2 * (1 / len(first) + 1 / len(second))
    if 0 < (total := of_projects + of_seeds) < math.inf:
        degrees = total**2 / (of_projects**2 / degrees + of_seeds**2 / seeds.degrees_of_freedom)
    return Difference(mean, math.sqrt(of_projects), math.sqrt(of_seeds), seeds.std, degrees, len(names))


def holm(p_values: Sequence[float]) -> list[float]:
    """Correct p values for multiple tests (Holm 1979).

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    corrected, highest = list(p_values), 0.0
    for rank, index in enumerate(np.argsort(p_values)):
        corrected[index] = highest = max(highest, min(1.0, (len(p_values) - rank) * p_values[index]))
    return corrected
