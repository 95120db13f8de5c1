"""From a run to a folder with an ONNX graph, which computes the same without torch."""

import shutil
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from rarename.inference.model_folder import CHECK_SETTINGS, CONFIG, ENCODING, ONNX_MODEL, ModelFolder
from rarename.inference.onnx_session import PAST, PRESENT
from rarename.inference.onnx_weights import HALF, TRANSPOSED
from rarename.io import replacing
from rarename.model.kv_cache import KVCache
from rarename.subtokens import MAX_SUBTOKENS
from rarename.tasks.completion.model import CompletionCache, CompletionModel
from rarename.tasks.misuse.model import ConditionalPointers
from rarename.training.checkpoint import load_model


class _Misuse(nn.Module):
    """The logits of a misuse model, in the order of their names."""

    outputs = ("location_logits", "repair_logits")

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, inputs: dict[str, Tensor]) -> tuple[Tensor, ...]:
        output = self.model(**inputs)
        return output.location_logits, output.repair_logits


class _Completion(nn.Module):
    """`predict_next`, with the cache as inputs and outputs."""

    def __init__(self, model: CompletionModel) -> None:
        super().__init__()
        self.model = model
        has_pointer = model.pointer is not None
        pointer = ("pointer_keys",) if model.pointer is not None and model.pointer.qk_proj is not None else ()
        layers = range(len(model.transformer.layers))
        self.cached = (*(f"{kind}_{index}" for index in layers for kind in ("keys", "values")), *pointer)
        logits = ("type_logits", "value_logits", *(("copy_log_probs", "gate_logit") if has_pointer else ()))
        self.outputs = (*logits, *(PRESENT + name for name in self.cached))

    def forward(self, inputs: dict[str, Tensor]) -> tuple[Tensor, ...]:
        past = {name: inputs[PAST + name] for name in self.cached}
        layers = [
            KVCache(past[f"keys_{index}"], past[f"values_{index}"])
            for index in range(len(self.model.transformer.layers))
        ]
        cache = CompletionCache(layers, past.get("pointer_keys"))
        # Without a pointer no output depends on the values of `has_value`; its length is that of the cache.
        outputs = self.model.predict_next(inputs["types"], inputs["values"], inputs["has_value"], cache)
        present = [each for layer in cache.layers for each in (layer.keys, layer.values)] + [cache.pointer_keys]
        return (*outputs.values(), *(each for each in present if each is not None))


def export_model(folder: ModelFolder, target: Path) -> None:
    """Write the model of a run to a folder. It computes in float32."""
    model: Any = load_model(folder.path, folder.config, folder.encoding).eval()
    ids = {name: torch.ones(2, 3, dtype=torch.int64) for name in ("types", "values")}
    if isinstance(model, CompletionModel):
        graph: Any = _Completion(model).eval()
        d_model, heads = folder.config.model.d_model, folder.config.model.num_heads
        inputs = ids | {"has_value": torch.ones(2, 8, dtype=torch.bool)}
        for name in graph.cached:
            shape = (2, 5, d_model) if name == "pointer_keys" else (2, heads, 5, d_model // heads)
            inputs[PAST + name] = torch.zeros(shape)
    else:
        graph = _Misuse(model).eval()
        inputs = ids | {"attention_mask": torch.ones(2, 3, dtype=torch.bool)}
        if model.usages is not None:
            inputs["usages"] = torch.ones(2, 3, dtype=torch.int64)
        if model.subtokens is not None:
            inputs["subtokens"] = torch.ones(2, 3, MAX_SUBTOKENS, dtype=torch.int64)
        if isinstance(model.head, ConditionalPointers):
            inputs["nodes"] = torch.tensor([[0, 1], [1, 2]])
    auto = torch.export.Dim.AUTO
    shapes = {name: {0: auto, array.dim() - 2 if name.startswith(PAST) else 1: auto} for name, array in inputs.items()}
    target.mkdir(parents=True, exist_ok=True)
    with warnings.catch_warnings(), torch.no_grad(), replacing(target / ONNX_MODEL) as temporary:
        warnings.simplefilter("ignore")  # of torch, about its own implementation
        program = torch.onnx.export(
            graph, kwargs={"inputs": inputs}, dynamo=True, dynamic_shapes={"inputs": shapes}, verbose=False,
            input_names=list(inputs), output_names=list(graph.outputs),
        )  # fmt: skip
        assert program is not None
        proto = program.model_proto
        _name_weights(proto, {name: tensor.numpy() for name, tensor in graph.state_dict().items()})
        _store_in_half_precision(proto)
        _remove_traces(proto)
        temporary.write_bytes(proto.SerializeToString())
    for name in (CONFIG, ENCODING, CHECK_SETTINGS):
        if (folder.path / name).exists() and not target.samefile(folder.path):
            shutil.copyfile(folder.path / name, target / name)


def _name_weights(proto: Any, weights: dict[str, NDArray[Any]]) -> None:
    """Name transposed weights after the parameter, so that `onnx_weights` finds all of them."""
    from onnx import numpy_helper

    names = {}
    for tensor in proto.graph.initializer:
        array = numpy_helper.to_array(tensor)
        if tensor.name not in weights and array.ndim >= 2:
            equal = (
                name
                for name, each in weights.items()
                if each.ndim == array.ndim and np.array_equal(each.swapaxes(-1, -2), array)
            )
            if name := next(equal, None):
                names[tensor.name] = name + TRANSPOSED
                tensor.name = name + TRANSPOSED
    for node in proto.graph.node:
        node.input[:] = [names.get(name, name) for name in node.input]


def _store_in_half_precision(proto: Any) -> None:
    """Halve the file where it changes no value: packaged weights are rounded to half precision."""
    from onnx import TensorProto, helper, numpy_helper

    graph, casts = proto.graph, []
    for tensor in graph.initializer:
        array = numpy_helper.to_array(tensor)
        if array.dtype == np.float32 and array.size > 64 and np.array_equal(array, array.astype(np.float16)):
            name = tensor.name
            tensor.CopyFrom(numpy_helper.from_array(array.astype(np.float16), name + HALF))
            casts.append(helper.make_node("Cast", [tensor.name], [name], to=TensorProto.FLOAT))
    nodes = [*casts, *graph.node]
    del graph.node[:]
    graph.node.extend(nodes)


def _remove_traces(proto: Any) -> None:
    """Remove where in the source each node was made: a tenth of the file, with the paths of this machine."""
    del proto.metadata_props[:], proto.graph.metadata_props[:], proto.graph.value_info[:]
    for each in (*proto.graph.node, *proto.graph.input, *proto.graph.output, *proto.graph.initializer):
        each.ClearField("doc_string")
        del each.metadata_props[:]
    for function in proto.functions:
        del function.metadata_props[:]
