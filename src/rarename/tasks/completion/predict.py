"""From logits to probabilities of the next value, in numpy: the same for every backend."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray


def extended_probs(outputs: Mapping[str, NDArray[Any]], extended_ids: NDArray[np.int64]) -> NDArray[Any]:
    """The probability of each value of the extended vocabulary after the last node: (V + S,).

    `outputs` are those of `CompletionModel.predict_next` for one window, and `extended_ids` (S,) those of its nodes.
    The first V values are generated; value V + j is copied from the first occurrence j of a value without an id.
    """
    generated = softmax(outputs["value_logits"][0])
    probs = np.concatenate([generated, np.zeros(len(extended_ids), dtype=generated.dtype)])
    if "gate_logit" not in outputs:
        return probs
    gate = 1 / (1 + np.exp(-np.clip(outputs["gate_logit"][0], -80, 80)))
    probs *= gate
    np.add.at(probs, extended_ids, (1 - gate) * np.exp(outputs["copy_log_probs"][0]))
    return probs


def softmax(logits: NDArray[Any]) -> NDArray[Any]:
    """Softmax over the last axis."""
    probs: NDArray[Any] = np.exp(log_softmax(logits))
    return probs


def log_softmax(logits: NDArray[Any]) -> NDArray[Any]:
    """Logarithm of the softmax over the last axis."""
    shifted = logits - logits.max(axis=-1, keepdims=True)
    log_probs: NDArray[Any] = shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
    return log_probs
