"""Sessions that compute with ONNX Runtime, on one thread."""

import os
from threading import Timer
from typing import Any

os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")  # or it reports its use to its makers and keeps an id in the home

import numpy as np
import onnxruntime
from numpy.typing import NDArray

from rarename.config import CompletionConfig
from rarename.errors import RunError
from rarename.inference.model_folder import ONNX_MODEL, ModelFolder
from rarename.inference.session import Arrays, Cache, are_logits
from rarename.reading import open_regular

MAX_MODEL_BYTES = 2_000_000_000  # a file of this format cannot be larger
MAX_SECONDS = 300  # for one batch, which takes a second: a graph may contain loops
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
            with open_regular(path) as file:
                content = file.read(MAX_MODEL_BYTES + 1)
            if len(content) > MAX_MODEL_BYTES:
                raise ValueError(f"it has more than {MAX_MODEL_BYTES:,} bytes")
            options = onnxruntime.SessionOptions()
            options.intra_op_num_threads = options.inter_op_num_threads = 1
            options.log_severity_level = 4  # errors are raised as exceptions
            # The weights must be in the file itself: files that the graph names are looked up in no folder.
            options.add_session_config_entry("session.model_external_initializers_file_folder_path", os.devnull)
            self._session = onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
        except Exception as error:  # ONNX Runtime has many classes of errors without a common base
            raise RunError(f"{path} cannot be loaded: {error}; export it again with `rarename export model`") from error
        self._path, self._folder = path, folder
        self._inputs = {each.name for each in self._session.get_inputs()}
        self._outputs = [each.name for each in self._session.get_outputs()]

    def run(self, inputs: Arrays, cache: Cache | None = None) -> dict[str, NDArray[Any]]:
        feed = {name: np.ascontiguousarray(array) for name, array in inputs.items() if name in self._inputs}
        shapes = self._output_shapes(inputs)
        if isinstance(cache, OnnxCache):
            feed |= {PAST + name: np.ascontiguousarray(array) for name, array in cache.arrays.items()}
            for name, array in cache.arrays.items():
                shapes[PRESENT + name] = (
                    *array.shape[:-2],
                    array.shape[-2] + shapes["type_logits"][1],
                    array.shape[-1],
                )
        options = onnxruntime.RunOptions()
        timer = Timer(MAX_SECONDS, setattr, (options, "terminate", True))
        timer.daemon = True
        timer.start()
        try:
            outputs = dict(zip(self._outputs, self._session.run(None, feed, options), strict=True))
        except Exception as error:  # as above
            raise self._error(f"cannot be computed: {error}") from error
        finally:
            timer.cancel()
        # A graph may also compute sequences, or nothing.
        found = {
            name: (getattr(each, "shape", ()), getattr(each, "dtype", type(each))) for name, each in outputs.items()
        }
        for name in sorted(shapes.keys() | found.keys()):
            expected = (shapes[name], np.dtype(np.float32)) if name in shapes else "no such output"
            if found.get(name) != expected:
                raise self._error(f"computes {name} as {found.get(name, 'nothing')}; expected {expected}")
        if not are_logits(outputs):
            raise self._error("computes NaN or infinity")
        if isinstance(cache, OnnxCache):
            cache.arrays = {name: outputs.pop(PRESENT + name) for name in cache.arrays}
        return outputs

    def _error(self, problem: str) -> RunError:
        return RunError(f"{self._path} {problem}; it is damaged or of another run, export it again")

    def _output_shapes(self, inputs: Arrays) -> dict[str, tuple[int, ...]]:
        task, encoding, (batch, length) = self._folder.config.task, self._folder.encoding, inputs["types"].shape
        if not isinstance(task, CompletionConfig):
            length = inputs["nodes"].shape[1] if "nodes" in inputs else length
            num_locations = length if task.pointer_head == "conditional" else 1
            return {"location_logits": (batch, 1 + length), "repair_logits": (batch, num_locations, length)}
        logits = {"type_logits": (batch, length, encoding.num_types), "value_logits": (batch, encoding.num_values)}
        pointer = {"copy_log_probs": inputs["has_value"].shape, "gate_logit": (batch,)}
        return logits | (pointer if task.copy_pointer else {})

    def new_cache(self) -> Cache:
        if not isinstance(task := self._folder.config.task, CompletionConfig):
            raise ValueError("only a causal model can cache keys and values")
        model = self._folder.config.model
        shape = (1, model.num_heads, 0, model.d_model // model.num_heads)
        shapes: dict[str, tuple[int, ...]]
        shapes = {f"{kind}_{layer}": shape for layer in range(model.num_layers) for kind in ("keys", "values")}
        if task.copy_pointer and PAST + "pointer_keys" in self._inputs:
            shapes["pointer_keys"] = (1, 0, model.d_model)
        return OnnxCache({name: np.zeros(size, dtype=np.float32) for name, size in shapes.items()})
