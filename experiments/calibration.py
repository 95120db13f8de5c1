"""Fit the calibration of a misuse model: `[confidence]` of check.toml.

A logistic regression on the candidates of the functions of real fixes, before and after the fix, and of clean functions
of a corpus, on projects that the model was not trained on. Half of the weight is on functions with a mistake, a quarter
each on their fixed twins and on clean functions, drawn with the lengths of real ones. A second fit, of scale and bias
alone, makes the confidence of the most probable candidate of a function as often right as it says.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rarename.assist.check import Checker, CheckModel, _ParsedFile
from rarename.tasks.misuse.collate import MisuseExample
from rarename.tasks.misuse.confidence import INPUTS, calibration_inputs
from rarename.tasks.misuse.dataset import FunctionDataset
from rarename.tasks.misuse.fixes import Fix

PENALTY = 1.0
"""Of the squared distance from the probabilities of the model as they are; the bias is free."""
LENGTH_EXPONENT = 1.2  # as in the preset `check`
NUM_CLEAN = 4_000


class Group(NamedTuple):
    """The candidates of one function with those nested in it."""

    inputs: NDArray[np.float64]  # (candidates, INPUTS)
    is_right: NDArray[np.bool_]
    kind: str  # before, after or clean


def fix_groups(model: CheckModel, fixes: Sequence[Fix]) -> list[Group]:
    """The candidates in the functions of fixes."""
    groups, checker = [], Checker([model], threshold=0)
    for fix in fixes:
        for kind, text in (("before", fix.text), ("after", fix.fixed_text)):
            inputs, is_right = [np.zeros((0, len(INPUTS)))], []
            parsed = _ParsedFile(text, model.language)
            for pending in checker._functions(parsed):
                found = model.predict([pending.example])
                is_possible = found.location >= 0
                inputs.append(calibration_inputs(found, [pending.example.function])[is_possible])
                for location, repair in zip(found.location[is_possible], found.repair[is_possible], strict=True):
                    is_place = kind == "before" and int(pending.nodes[location]) == fix.node
                    is_right.append(is_place and parsed.traversal.values[int(pending.nodes[repair])] == fix.right)
            groups.append(Group(np.concatenate(inputs), np.array(is_right, dtype=bool), kind))
    return groups


def clean_groups(model: CheckModel, dataset: FunctionDataset, number: int = NUM_CLEAN) -> list[Group]:
    """The candidates in clean functions of a corpus, long ones drawn more often."""
    weights = dataset.lengths.astype(float) ** LENGTH_EXPONENT
    groups = []
    for item in np.random.default_rng(0).choice(len(dataset), number, p=weights / weights.sum()).tolist():
        example = MisuseExample(dataset[item], (), 0, nested_slices=dataset.nested_slices(item))
        found = model.predict([example])
        inputs = calibration_inputs(found, [example.function])[found.location >= 0]
        groups.append(Group(inputs, np.zeros(len(inputs), dtype=bool), "clean"))
    return groups


def fit_calibration(groups: Sequence[Group]) -> dict[str, float]:
    """The weights by name, rounded."""
    groups = [each for each in groups if len(each.inputs)]
    kinds = [each.kind for each in groups]
    shares = {"before": 0.5, "after": 0.25, "clean": 0.25}
    of_group = np.array([shares[kind] * len(groups) / kinds.count(kind) for kind in kinds])
    sizes = [len(each.inputs) for each in groups]
    inputs, is_right = (np.concatenate(columns) for columns in list(zip(*groups, strict=True))[:2])
    as_it_is = np.isin(INPUTS, "log_odds").astype(float)
    penalty = np.where(np.isin(INPUTS, "bias"), 1e-3, PENALTY)
    weights = logistic_regression(inputs, is_right, np.repeat(of_group, sizes), as_it_is, penalty)
    # The most probable candidate of each function, which is what `check` reports.
    ends = np.cumsum(sizes)[:-1]
    tops = [part[np.argmax(part @ weights)] for part in np.split(inputs, ends)]
    rights = [part[1][np.argmax(part[0] @ weights)] for part in groups]
    scores = np.stack([np.ones(len(tops)), np.array(tops) @ weights], axis=1)
    rights, unchanged = np.array(rights), np.array([0.0, 1.0])
    bias, scale = logistic_regression(scores, rights, of_group, unchanged, np.array([1e-3, PENALTY]))
    weights = scale * weights
    weights[INPUTS.index("bias")] += bias
    return {name: round(float(weight), 4) for name, weight in zip(INPUTS, weights, strict=True)}


def threshold_at(clean: NDArray[np.floating], rate: float) -> float:
    """The lowest threshold, to four digits, from which at most a fraction of the clean functions is flagged."""
    falling = sorted(clean.tolist(), reverse=True)
    return min(1.0, math.floor(10_000 * falling[int(rate * len(falling))] + 1) / 10_000)


def logistic_regression(
    inputs: NDArray[np.float64], is_right: NDArray[np.bool_], sample_weights: NDArray[np.float64],
    prior: NDArray[np.float64], penalty: NDArray[np.float64],
) -> NDArray[np.float64]:  # fmt: skip
    """The weights with the highest likelihood, penalized by their distance from `prior`, by Newton's method."""

    def loss(weights: NDArray[np.float64]) -> float:
        scores = inputs @ weights
        data = sample_weights @ (np.logaddexp(0, scores) - is_right * scores)
        return float(data + penalty @ (weights - prior) ** 2 / 2)

    weights = prior.copy()
    for _ in range(50):
        probability = 1 / (1 + np.exp(-inputs @ weights))
        gradient = inputs.T @ (sample_weights * (probability - is_right)) + penalty * (weights - prior)
        curvature = sample_weights * probability * (1 - probability)
        step = np.linalg.solve((inputs.T * curvature) @ inputs + np.diag(penalty + 1e-9), gradient)
        size = 1.0
        while loss(weights - size * step) > loss(weights) and size > 1e-6:
            size /= 2
        weights = weights - size * step
        if np.abs(size * step).max() < 1e-6:
            break
    return weights
