"""Means over seeds, and the difference of two strategies with its uncertainty (docs/experiments.md)."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

import numpy as np
from scipy import stats

ProjectScores = Mapping[str, tuple[float, float]]
"""For each test project the score of one model, and the number of examples."""


@dataclass(frozen=True)
class MeanStd:
    """A score over seeds. The standard deviation is that of a sample, and None for one seed."""

    mean: float
    std: float | None
    num_seeds: int

    @classmethod
    def of(cls, values: Sequence[float]) -> "MeanStd":
        return cls(fmean(values), stdev(values) if len(values) > 1 else None, len(values))


@dataclass(frozen=True)
class SeedVariance:
    """How much a score varies between trainings that differ in the seed alone."""

    std: float
    degrees_of_freedom: int

    @classmethod
    def pooled(cls, scores: Iterable[MeanStd]) -> "SeedVariance | None":
        """Over all cells with several seeds, because three seeds of one cell say little.

        >>> SeedVariance.pooled([MeanStd(0.3, 0.03, 3), MeanStd(0.5, 0.01, 3), MeanStd(0.4, None, 1)])
        SeedVariance(std=0.022360679774997897, degrees_of_freedom=4)
        """
        repeated = [(each.std, each.num_seeds - 1) for each in scores if each.std is not None]
        degrees = sum(count for _, count in repeated)
        return cls(math.sqrt(sum(std**2 * count for std, count in repeated) / degrees), degrees) if degrees else None


@dataclass(frozen=True)
class Difference:
    """How much better one strategy is than another on the same test projects."""

    mean: float
    project_error: float
    """The standard error due to the choice of test projects; `seed_error` is the part due to the seeds."""
    seed_error: float
    seed_std: float
    degrees_of_freedom: float
    num_projects: int

    @property
    def p(self) -> float:
        """Of a two-sided t-test."""
        error = math.hypot(self.project_error, self.seed_error)
        return 2 * float(stats.t.sf(abs(self.mean) / error, self.degrees_of_freedom)) if error else float(not self.mean)

    def interval(self, level: float = 0.05) -> tuple[float, float]:
        """The confidence interval, which misses the true difference with probability `level`."""
        reach = math.hypot(self.project_error, self.seed_error) * float(stats.t.isf(level / 2, self.degrees_of_freedom))
        return self.mean - reach, self.mean + reach


def compare(first: Sequence[ProjectScores], second: Sequence[ProjectScores], seeds: SeedVariance) -> Difference | None:
    """The mean difference over all examples, given the scores of each seed on either side.

    The variances over projects and over seeds add up. A few large projects hold most of the examples, so the effective
    number of projects counts, (Σ w)² / Σ w². The degrees of freedom are those of Welch and Satterthwaite.
    """
    names = sorted(set(first[0]).intersection(*first[1:], *second))
    if len(names) < 2:
        return None
    weights = np.array([first[0][name][1] for name in names])
    weights = weights / weights.sum()
    gaps = np.array(
        [fmean(each[name][0] for each in first) - fmean(each[name][0] for each in second) for name in names]
    )
    mean = float(weights @ gaps)
    degrees = 1 / float(weights @ weights) - 1
    of_projects = float(weights**2 @ (gaps - mean) ** 2) * (degrees + 1) / degrees
    of_seeds = seeds.std**2 * (1 / len(first) + 1 / len(second))
    if total := of_projects + of_seeds:
        degrees = total**2 / (of_projects**2 / degrees + of_seeds**2 / seeds.degrees_of_freedom)
    return Difference(mean, math.sqrt(of_projects), math.sqrt(of_seeds), seeds.std, degrees, len(names))


def holm(p_values: Sequence[float]) -> list[float]:
    """Correct p values for multiple tests (Holm 1979).

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    order = np.argsort(p_values)
    factors = len(p_values) - np.arange(len(p_values))
    corrected = np.empty(len(p_values))
    corrected[order] = np.minimum(1.0, np.maximum.accumulate(factors * np.asarray(p_values)[order]))
    return [float(p) for p in corrected]
