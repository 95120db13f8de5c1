"""Sessions that compute with ONNX Runtime, on one thread."""

import os
from typing import Any

os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")  # or it reports its use to its makers and keeps an id in the home

import numpy as np
import onnxruntime
from numpy.typing import NDArray

from rarename.errors import RunError
from rarename.inference.model_folder import ONNX_MODEL, ModelFolder
from rarename.inference.session import Arrays, Cache

MAX_MODEL_BYTES = 2_000_000_000  # a file of this format cannot be larger
PAST, PRESENT = "past_", "present_"
"""Prefixes of a cache in the graph: `past_keys_0` is an input, and `present_keys_0` the output that replaces it."""


class OnnxCache:
    """Keys and values of the nodes that the graph has read; their second-last axis counts the nodes."""

    def __init__(self, arrays: dict[str, NDArray[Any]]) -> None:
        self.arrays = arrays

    def crop(self, length: int) -> None:
        self.arrays = {name: array[..., :length, :] for name, array in self.arrays.items()}


class OnnxSession:
    """A model that `export_model` wrote."""

    def __init__(self, folder: ModelFolder) -> None:
        path = folder.path / ONNX_MODEL
        try:
            if (num_bytes := path.stat().st_size) > MAX_MODEL_BYTES:
                raise RunError(f"{path} has {num_bytes:,} bytes; expected at most {MAX_MODEL_BYTES:,}")
            options = onnxruntime.SessionOptions()
            options.intra_op_num_threads = options.inter_op_num_threads = 1
            options.log_severity_level = 4  # errors are raised as exceptions
            # The weights must be in the file itself: files that the graph names are looked up in no folder.
            options.add_session_config_entry("session.model_external_initializers_file_folder_path", os.devnull)
            self._session = onnxruntime.InferenceSession(path.read_bytes(), options, providers=["CPUExecutionProvider"])
        except RunError:
            raise
        except Exception as error:  # ONNX Runtime has many classes of errors without a common base
            raise RunError(f"{path} cannot be loaded: {error}; export it again with `rarename export model`") from error
        self._path = path
        self._inputs = {each.name: each for each in self._session.get_inputs()}
        self._outputs = [each.name for each in self._session.get_outputs()]

    def run(self, inputs: Arrays, cache: Cache | None = None) -> dict[str, NDArray[Any]]:
        feed = {name: np.ascontiguousarray(array) for name, array in inputs.items() if name in self._inputs}
        if isinstance(cache, OnnxCache):
            feed |= {PAST + name: np.ascontiguousarray(array) for name, array in cache.arrays.items()}
        outputs = dict(zip(self._outputs, self._session.run(None, feed), strict=True))
        if any(np.isnan(array).any() for array in outputs.values()):
            raise RunError(f"{self._path} computes NaN; its weights are damaged, export it again")
        if isinstance(cache, OnnxCache):
            cache.arrays = {name: outputs.pop(PRESENT + name) for name in cache.arrays}
        return outputs

    def new_cache(self) -> Cache:
        past = [each for name, each in self._inputs.items() if name.startswith(PAST)]
        if not past:
            raise ValueError("only a causal model can cache keys and values")
        shapes = {each.name.removeprefix(PAST): [*each.shape[:-2], 0, each.shape[-1]] for each in past}
        sizes = {name: [1 if isinstance(size, str) else size for size in shape] for name, shape in shapes.items()}
        return OnnxCache({name: np.zeros(size, dtype=np.float32) for name, size in sizes.items()})
