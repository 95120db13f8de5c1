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
        location, repair = predictions.location.copy(), predictions.repair.copy()
        confidence = predictions.confidence.copy()
        for number, row in enumerate(predictions.row.tolist()):
            (possible,) = np.nonzero(location[number] >= 0)
            if len(possible):
                chosen = (each[number, possible] for each in (location, repair, confidence))
                found = self.confidence(calibration_inputs(functions[row], *chosen))
                order = np.argsort(-found, kind="stable")
                location[number, possible] = location[number, possible[order]]
                repair[number, possible] = repair[number, possible[order]]
                confidence[number, possible] = found[order]
        return BugPredictions(predictions.row, location, repair, confidence)

    def confidence(self, inputs: NDArray[np.float64]) -> NDArray[np.float64]:
        """The probability that each prediction is right, by its inputs (N, INPUTS)."""
        odds: NDArray[np.float64] = 1 / (1 + np.exp(-inputs @ self.weights))
        return odds


def calibration_inputs(
    function: Function, locations: NDArray[np.int64], repairs: NDArray[np.int64], confidences: NDArray[np.floating]
) -> NDArray[np.float64]:
    """The inputs of the regression for the candidates of a function: (candidates, INPUTS)."""
    assert function.bigrams is not None
    probabilities = np.clip(confidences.astype(np.float64), _LEAST, 1 - _LEAST)
    first, second = np.sort(np.append(probabilities, [_LEAST, _LEAST]))[[-1, -2]]
    others = np.where(probabilities == first, second, first)
    nodes, ids = np.unique(np.concatenate([locations, repairs]), return_inverse=True)
    similarities = bigram_similarities(function.bigrams[nodes])
    similarity = similarities[ids[: len(locations)], ids[len(locations) :]]
    values = function.values
    features = misuse_features(function, locations, values[repairs], values[locations], similarity)
    own = [
        np.ones(len(locations)),
        np.log(probabilities / (1 - probabilities)),
        np.log(probabilities / others),
        np.full(len(locations), np.log(len(function) - function.num_context)),
    ]
    return np.concatenate([np.stack(own, axis=1), features], axis=1)
