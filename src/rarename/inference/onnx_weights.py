"""The weights of an exported model, to evaluate it or to train it further. Needs the extra `export`."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rarename.errors import RunError
from rarename.reading import open_regular

HALF, TRANSPOSED = ".half", ".T"
"""Suffixes of an initializer in the graph: stored in half precision, and a matrix whose last two axes are swapped."""


def onnx_weights(path: Path) -> dict[str, NDArray[np.float32]]:
    """The parameters of the model by name. Weights must be in the file itself."""
    import onnx
    from onnx import numpy_helper

    weights: dict[str, NDArray[Any]] = {}
    try:
        with open_regular(path) as file:
            graph = onnx.load_model_from_string(file.read()).graph
        for tensor in graph.initializer:
            if tensor.name.startswith("model.") and tensor.data_location != onnx.TensorProto.EXTERNAL:
                name, array = tensor.name.removeprefix("model.").removesuffix(HALF), numpy_helper.to_array(tensor)
                is_transposed = name.endswith(TRANSPOSED)
                weights[name.removesuffix(TRANSPOSED)] = array.swapaxes(-1, -2) if is_transposed else array
        return {name: np.array(array, dtype=np.float32, order="C") for name, array in weights.items()}
    except Exception as error:  # onnx and protobuf have classes of errors without a common base
        raise RunError(f"{path} is damaged: {error}; export it again, or restore a copy") from error
