"""Session: the one interface between prediction and the backend that computes."""

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from rarename.inference.model_folder import ONNX_MODEL, ModelFolder

Arrays = Mapping[str, NDArray[Any]]


class Cache(Protocol):
    """What a causal model keeps of the nodes that it has read."""

    def crop(self, length: int) -> None:
        """Keep only the first nodes."""


class Session(Protocol):
    """A model with loaded weights. Inputs and outputs are numpy arrays by name."""

    def run(self, inputs: Arrays, cache: Cache | None = None) -> dict[str, NDArray[Any]]:
        """Compute the outputs of a batch; with a cache, read further nodes and predict the next one."""

    def new_cache(self) -> Cache:
        """Make an empty cache; only causal models have one."""


def are_logits(outputs: Arrays) -> bool:
    """Whether no output of a model is NaN or infinite. Minus infinity stands for what is impossible."""
    return all(bool((array < np.inf).all()) for array in outputs.values())


def open_session(folder: ModelFolder) -> Session:
    """Load the weights of a model: an exported one with ONNX Runtime, otherwise with torch."""
    if (folder.path / ONNX_MODEL).exists():
        from rarename.inference.onnx_session import OnnxSession

        return OnnxSession(folder)
    from rarename.inference.torch_session import TorchSession

    return TorchSession(folder)
