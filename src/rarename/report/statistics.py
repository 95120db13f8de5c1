"""Mean and deviation over seeds; the tests over projects and over trainings (why these: docs/report.md)."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from random import Random

import numpy as np
from numpy.typing import NDArray

MAX_EXACT = 14
"""Projects up to which all patterns of signs are counted rather than drawn: 2 to the power of 14 are 16,384."""

DRAWS = 10_000
"""Patterns of signs drawn otherwise, and samples of the bootstrap."""

SEED = 20210606
"""Of all draws: the same results give the same report."""


@dataclass(frozen=True)
class Spread:
    """A score over seeds."""

    mean: float
    deviation: float | None
    """The standard deviation of the sample, with n - 1; None for one seed."""
    num_seeds: int


def spread(values: Sequence[float]) -> Spread:
    """Mean and standard deviation.

    >>> spread([1.0, 2.0, 3.0])
    Spread(mean=2.0, deviation=1.0, num_seeds=3)
    """
    mean = math.fsum(values) / len(values)
    if len(values) == 1:
        return Spread(mean, None, 1)
    return Spread(mean, math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1)), len(values))


@dataclass(frozen=True)
class Luck:
    """How much a score depends on the luck of one training, told by cells with several seeds."""

    deviation: float
    freedom: int
    """Degrees of freedom behind the deviation."""

    def error(self, *num_seeds: int) -> float:
        """The standard error of a difference of means over so many seeds each."""
        return self.deviation * math.sqrt(sum(1 / count for count in num_seeds))


def luck(cells: Iterable[Spread]) -> Luck | None:
    """The deviation within cells, pooled over them: a cell by itself has too few seeds. None if each has one seed.

    >>> luck([Spread(0.3, 0.03, 3), Spread(0.5, 0.01, 3), Spread(0.4, None, 1)])
    Luck(deviation=0.022360679774997897, freedom=4)
    """
    several = [(each.deviation, each.num_seeds - 1) for each in cells if each.deviation is not None]
    freedom = sum(count for _, count in several)
    if not freedom:
        return None
    return Luck(math.sqrt(math.fsum(count * value**2 for value, count in several) / freedom), freedom)


Projects = Mapping[str, tuple[float, float]]
"""For each project its score and how many examples are behind it."""


@dataclass(frozen=True)
class Comparison:
    """How much better one is than another on the same projects."""

    difference: float
    low: float
    high: float
    """A 95 % interval: how far it might lie with other projects and, if known, with other luck in training."""
    p_projects: float
    """Two-sided, of the sign-flip test over projects."""
    p_trainings: float | None
    """Two-sided, of the t-test over seeds; None if no cell has several."""
    num_projects: int
    is_exact: bool

    @property
    def p(self) -> float:
        """The larger one: what is shown must be so on other projects and after other trainings."""
        return max(self.p_projects, self.p_trainings or 0.0)


def over_seeds(seeds: Sequence[Projects]) -> dict[str, tuple[float, float]]:
    """The mean score of each project that all seeds have.

    >>> over_seeds([{"a": (0.25, 10), "b": (1.0, 1)}, {"a": (0.75, 10)}])
    {'a': (0.5, 10.0)}
    """
    shared = [name for name in sorted(seeds[0]) if all(name in seed for seed in seeds)]
    return {
        name: (
            math.fsum(seed[name][0] for seed in seeds) / len(seeds),
            math.fsum(seed[name][1] for seed in seeds) / len(seeds),
        )
        for name in shared
    }


def compare(ours: Sequence[Projects], others: Sequence[Projects], of_training: Luck | None = None) -> Comparison | None:
    """The first against the second, seeds averaged; None if they share fewer than two projects.

    The difference is the mean of the projects' differences, weighted by their examples: that of all examples together.
    If neither were better, each project's difference could as well have the other sign.
    """
    first, second = over_seeds(ours), over_seeds(others)
    names = [name for name in first if name in second and first[name][1] + second[name][1] > 0]
    if len(names) < 2:
        return None
    weights = np.array([(first[name][1] + second[name][1]) / 2 for name in names])
    weighted = weights * np.array([first[name][0] - second[name][0] for name in names])
    total = float(weights.sum())
    difference = float(weighted.sum()) / total
    low, high = _interval(weighted, weights)
    p_trainings = None
    if of_training is not None:
        error = of_training.error(len(ours), len(others))
        p_trainings = t_test(difference / error, of_training.freedom) if error else float(difference == 0)
        margin = error * t_quantile(of_training.freedom)
        low = difference - math.hypot(difference - low, margin)
        high = difference + math.hypot(high - difference, margin)
    is_exact = len(names) <= MAX_EXACT
    return Comparison(difference, low, high, sign_flip(weighted), p_trainings, len(names), is_exact)


def sign_flip(differences: NDArray[np.float64]) -> float:
    """How often a sum as far from 0, or farther, comes about when each difference may have either sign.

    >>> sign_flip(np.array([1.0, 2.0, 3.0]))  # +++ and ---, of eight
    0.25
    """
    count = len(differences)
    if count <= MAX_EXACT:
        patterns = np.arange(2**count)[:, None] >> np.arange(count) & 1
    else:
        patterns = _bytes(DRAWS * count).reshape(DRAWS, count) & 1
    sums = np.abs((2.0 * patterns - 1.0) @ differences)
    observed = abs(float(differences.sum()))
    as_far = int((sums >= observed - 1e-9 * max(1.0, observed)).sum())
    # The pattern that was observed is one of those possible; drawn ones need not contain it.
    return as_far / len(sums) if count <= MAX_EXACT else (as_far + 1) / (DRAWS + 1)


def _interval(weighted: NDArray[np.float64], weights: NDArray[np.float64]) -> tuple[float, float]:
    """The middle 95 % of the difference, when as many projects are drawn with replacement."""
    count = len(weights)
    drawn = np.frombuffer(_bytes(4 * DRAWS * count).tobytes(), dtype="<u4").reshape(DRAWS, count)
    chosen = (drawn.astype(np.uint64) * count) >> 32
    totals = weights[chosen].sum(axis=1)
    differences = weighted[chosen].sum(axis=1) / np.where(totals > 0, totals, 1.0)
    low, high = np.quantile(differences, [0.025, 0.975])
    return float(low), float(high)


def _bytes(count: int) -> NDArray[np.uint8]:
    """Random bytes. Python promises that a seed gives the same ones in every version; numpy does not."""
    return np.frombuffer(Random(SEED).randbytes(count), dtype=np.uint8)


def t_test(t: float, freedom: int) -> float:
    """How likely Student's t is as far from 0, or farther (Abramowitz and Stegun 1964, 26.7.3 and 26.7.4).

    >>> round(t_test(2.776, 4), 3)
    0.05
    """
    angle = math.atan(abs(t) / math.sqrt(freedom))
    sine, cosine = math.sin(angle), math.cos(angle)
    is_odd = freedom % 2
    term, total = (cosine, 0.0) if is_odd else (1.0, 0.0)
    for step in range(2 + is_odd, freedom + 1, 2):
        total += term
        term *= cosine**2 * (step - 1) / step
    within = 2 / math.pi * (angle + sine * total) if is_odd else sine * total
    return max(0.0, 1 - within)


def t_quantile(freedom: int, p: float = 0.05) -> float:
    """The t beyond which, on both sides, p of the distribution lies.

    >>> round(t_quantile(4), 3)
    2.776
    """
    low, high = 0.0, 1e6
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if t_test(middle, freedom) > p else (low, middle)
    return high


def holm(p_values: Sequence[float]) -> list[float]:
    """The p values, corrected for there being several of them (Holm 1979).

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    corrected = [0.0] * len(p_values)
    highest = 0.0
    for rank, index in enumerate(sorted(range(len(p_values)), key=lambda index: p_values[index])):
        highest = max(highest, min(1.0, (len(p_values) - rank) * p_values[index]))
        corrected[index] = highest
    return corrected
