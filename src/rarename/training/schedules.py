"""Learning rate schedules: the fraction of the peak learning rate by the fraction of training that is done."""

import math
from collections.abc import Callable

SCHEDULES: dict[str, Callable[[float], float]] = {
    "constant": lambda done: 1.0,
    "linear": lambda done: max(0.0, 1.0 - done),
    "cosine": lambda done: 0.5 * (1.0 + math.cos(math.pi * min(1.0, done))),
}


def warmup(step: int, warmup_steps: int) -> float:
    """The factor of a linear warm-up at a step, counted from 0."""
    return min(1.0, (step + 1) / warmup_steps) if warmup_steps else 1.0
