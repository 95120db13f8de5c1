"""What a predicted bug is worth: from the probabilities of a model to how often such a prediction is right.

Synthetic bugs, from which a model learns, are drawn from another distribution than real ones. A logistic regression on
the model's log-odds and a few readable features, fitted to real fixes and clean code, corrects both this and the scale.
It also decides between the candidates of a function.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rarename.errors import RunError
from rarename.tasks.misuse.features import FEATURES, misuse_features
from rarename.tasks.misuse.functions import Function
from rarename.tasks.misuse.predict import BugPredictions
from rarename.tasks.misuse.similarity import bigram_similarities

INPUTS = ("bias", "log_odds", "margin", "log_nodes", *FEATURES)
"""What the regression weighs: the log-odds of the model's probability, the logarithm of its ratio to the next candidate
of the function, that of the number of nodes, and the features of the misuse."""
_LEAST = 1e-6
_MOST = 700.0  # log-odds: the exponential of larger ones overflows


@dataclass(frozen=True)
class Calibration:
    """The weights of `INPUTS`."""

    weights: NDArray[np.float64]

    @classmethod
    def of(cls, table: Mapping[str, float]) -> "Calibration":
        """Take the weights by name; those that are not given are 0."""
        if unknown := table.keys() - set(INPUTS):
            raise RunError(f"the calibration weighs {min(unknown)!r}, which this version of rarename does not know")
        return cls(np.array([float(table.get(name, 0.0)) for name in INPUTS]))

    def apply(self, predictions: BugPredictions, functions: Sequence[Function]) -> BugPredictions:
        """The candidates of each prediction with a calibrated confidence, the most probable one first."""
        confidence = self.confidence(calibration_inputs(predictions, functions))
        confidence = np.where(predictions.location >= 0, confidence, -1.0)  # what is not possible comes last
        order = np.argsort(-confidence, axis=1, kind="stable")
        return BugPredictions(
            predictions.row,
            np.take_along_axis(predictions.location, order, axis=1),
            np.take_along_axis(predictions.repair, order, axis=1),
            np.take_along_axis(confidence, order, axis=1).clip(min=0),
        )

    def confidence(self, inputs: NDArray[np.float64]) -> NDArray[np.float64]:
        """The probability that each prediction is right, by its inputs (…, INPUTS)."""
        odds: NDArray[np.float64] = np.clip(inputs @ self.weights, -_MOST, _MOST)
        return np.asarray(1 / (1 + np.exp(-odds)))


def calibration_inputs(predictions: BugPredictions, functions: Sequence[Function]) -> NDArray[np.float64]:
    """The inputs of the regression for all candidates: (N, CANDIDATES, INPUTS)."""
    function, lengths = Function.joined(functions), np.array([len(each) for each in functions])
    assert function.bigrams is not None
    is_possible = predictions.location >= 0
    rows = np.broadcast_to(predictions.row[:, None], is_possible.shape)[is_possible]
    starts = (np.cumsum(lengths) - lengths)[rows]
    locations, repairs = (each[is_possible] + starts for each in (predictions.location, predictions.repair))
    similarity = bigram_similarities(function.bigrams[locations], function.bigrams[repairs])
    right, wrong = function.values[repairs], function.values[locations]
    features = np.zeros((*is_possible.shape, len(FEATURES)))
    features[is_possible] = misuse_features(function, locations, right, wrong, similarity, 1 + lengths[rows])

    probabilities = np.clip(predictions.confidence.astype(np.float64), _LEAST, 1 - _LEAST)
    probabilities = np.where(is_possible, probabilities, _LEAST)
    highest = np.sort(np.pad(probabilities, ((0, 0), (1, 0)), constant_values=_LEAST), axis=1)
    first, second = highest[:, -1:], highest[:, -2:-1]
    num_nodes = np.array([len(each) - each.num_context for each in functions])[predictions.row, None]
    own = [
        np.ones_like(probabilities),
        np.log(probabilities / (1 - probabilities)),
        np.log(probabilities / np.where(probabilities == first, second, first)),
        np.log(np.broadcast_to(num_nodes, probabilities.shape)),
    ]
    return np.concatenate([np.stack(own, axis=-1), features], axis=-1)
