"""Sessions that compute with torch."""

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from rarename.errors import RunError
from rarename.inference.model_folder import ModelFolder
from rarename.inference.session import Arrays, Cache, are_logits
from rarename.training.checkpoint import load_model


class TorchSession:
    """A model of a run or of the package, on the CPU."""

    def __init__(self, folder: ModelFolder) -> None:
        self._path = folder.path
        self._model: Any = load_model(folder.path, folder.config, folder.encoding).eval()

    def run(self, inputs: Arrays, cache: Cache | None = None) -> dict[str, NDArray[Any]]:
        tensors = {name: torch.from_numpy(np.ascontiguousarray(array)) for name, array in inputs.items()}
        with torch.inference_mode():
            outputs = (
                vars(self._model(**tensors)) if cache is None else self._model.predict_next(**tensors, cache=cache)
            )
        arrays = {name: output.numpy() for name, output in outputs.items() if isinstance(output, Tensor)}
        if not are_logits(arrays):
            raise RunError(f"{self._path} computes NaN or infinity: its weights are too large, train it again")
        return arrays

    def new_cache(self) -> Cache:
        cache: Cache = self._model.new_cache()
        return cache
