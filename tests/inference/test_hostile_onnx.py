"""Graphs that somebody else made: an error that names the file, never a crash, a wait or a prediction."""

import os
import shutil

import numpy as np
import pytest

from rarename.assist.check import Checker
from rarename.errors import RunError
from rarename.inference import onnx_session
from rarename.inference.model_folder import ModelFolder, packaged_model
from rarename.training.checkpoint import load_model

onnx = pytest.importorskip("onnx")
FLOAT, INT64, BOOL = onnx.TensorProto.FLOAT, onnx.TensorProto.INT64, onnx.TensorProto.BOOL
helper, from_array = onnx.helper, onnx.numpy_helper.from_array
OUTPUTS = ("location_logits", "repair_logits")


def constants(shape):
    """A graph whose outputs are zeros of a shape."""
    nodes = [helper.make_node("ConstantOfShape", ["shape"], [name]) for name in OUTPUTS]
    return nodes, FLOAT, [from_array(np.array(shape), "shape")]


def endless_loop():
    cond, value = (helper.make_tensor_value_info(name, kind, None) for name, kind in (("c", BOOL), ("v", INT64)))
    next_cond, next_value = (
        helper.make_tensor_value_info(f"{each.name}2", kind, None) for each, kind in ((cond, BOOL), (value, INT64))
    )
    step = helper.make_tensor_value_info("i", INT64, [])
    nodes = [helper.make_node("Identity", [name], [f"{name}2"]) for name in "cv"]
    body = helper.make_graph(nodes, "body", [step, cond, value], [next_cond, next_value])
    loops = [helper.make_node("Loop", ["n", "true", "types"], [name], body=body) for name in OUTPUTS]
    return loops, INT64, [from_array(np.array(2**60), "n"), from_array(np.array(True), "true")]


def external_weights():
    weights = onnx.TensorProto(name="w", data_type=FLOAT, dims=[4], data_location=onnx.TensorProto.EXTERNAL)
    weights.external_data.add(key="location", value="../../../../etc/hostname")
    return (
        [helper.make_node("Identity", ["w"], [name]) for name in OUTPUTS],
        FLOAT,
        [weights],
    )


def large_weights():
    weights = onnx.TensorProto(name="w", data_type=FLOAT, dims=[2**31, 2**20])
    return (
        [helper.make_node("Identity", ["w"], [name]) for name in OUTPUTS],
        FLOAT,
        [weights],
    )


def sequences():
    nodes = [helper.make_node("SequenceConstruct", ["types"], [name]) for name in OUTPUTS]
    return nodes, None, []


def every_node():
    """A graph that computes infinity for every node, as models did before they had the input `nodes`."""
    constant = {"value": helper.make_tensor("v", FLOAT, [1], [np.inf])}
    nodes = [
        helper.make_node("Shape", ["types"], ["shape"]),
        helper.make_node("Add", ["shape", "one"], ["locations"]),
        helper.make_node("Gather", ["shape", "axes"], ["repairs"]),
        helper.make_node("ConstantOfShape", ["locations"], [OUTPUTS[0]], **constant),
        helper.make_node("ConstantOfShape", ["repairs"], [OUTPUTS[1]], **constant),
    ]
    return nodes, FLOAT, [from_array(np.array([0, 1]), "one"), from_array(np.array([0, 1, 1]), "axes")]


def every_chosen_node():
    nodes, kind, weights = every_node()
    nodes[0].input[0] = "nodes"
    return nodes, kind, weights


def unknown_operator():
    return [helper.make_node("Evil", ["types"], ["location_logits"], domain="evil")], FLOAT, []


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        (constants([1, 3]), r"computes location_logits as \(\(1, 3\), dtype\('float32'\)\); expected \(\(1, 5\)"),
        (sequences(), r"computes location_logits as \(\(\), <class 'list'>\); expected \(\(1, 5\)"),
        (every_node(), r"computes location_logits as \(\(1, 13\), dtype\('float32'\)\); expected \(\(1, 5\)"),
        (every_chosen_node(), "computes NaN or infinity"),
        (constants([2**40, 2**20]), "cannot be computed: .*"),
        (endless_loop(), "cannot be computed: .*terminat"),
        (external_weights(), "cannot be loaded: .*external"),
        (large_weights(), "cannot be loaded: "),
        (unknown_operator(), "cannot be loaded: .*not a registered"),
    ],
    ids=["shape", "sequences", "without nodes", "infinity", "memory", "loop", "external", "weights", "operator"],
)  # fmt: skip
def test_a_hostile_graph_is_an_error(tmp_path, monkeypatch, graph, message):
    monkeypatch.setattr(onnx_session, "MAX_SECONDS", 1)
    nodes, kind, weights = graph
    inputs = [helper.make_tensor_value_info(name, INT64, ["b", "l"]) for name in ("types", "values", "nodes")]
    make = helper.make_tensor_value_info if kind else helper.make_tensor_sequence_value_info
    outputs = [make(name, kind or INT64, None) for node in nodes for name in node.output if name in OUTPUTS]
    imports = [helper.make_opsetid("", 18), helper.make_opsetid("evil", 1)]
    model = helper.make_model(
        helper.make_graph(nodes, "g", inputs, outputs, weights), opset_imports=imports, ir_version=9
    )
    folder = shutil.copytree(packaged_model("python"), tmp_path / "model")
    (folder / "model.onnx").write_bytes(model.SerializeToString())
    with pytest.raises(RunError, match=rf"(?is)model\.onnx {message}"):
        Checker.load(folder).check("def area(width, height):\n    return width * width\n", "python")


def test_a_pipe_in_place_of_a_graph_is_an_error(tmp_path):
    folder = shutil.copytree(packaged_model("python"), tmp_path / "model")
    (folder / "model.onnx").unlink()
    os.mkfifo(folder / "model.onnx")
    with pytest.raises(RunError, match="not a regular file"):
        Checker.load(folder)


@pytest.mark.parametrize("kind", ["pipe", "garbage", "huge"])
def test_hostile_weights_are_an_error(tmp_path, kind):
    folder = shutil.copytree(packaged_model("python"), tmp_path / "model")
    (folder / "model.onnx").unlink()
    if kind == "pipe":
        os.mkfifo(folder / "model.onnx")
    elif kind == "garbage":
        (folder / "model.onnx").write_bytes(b"\xff" * 100)
    else:
        huge = onnx.TensorProto(name="model.a", data_type=FLOAT, dims=[2**31, 2**20], raw_data=bytes(8))
        (folder / "model.onnx").write_bytes(
            helper.make_model(helper.make_graph([], "g", [], [], [huge])).SerializeToString()
        )
    model = ModelFolder.load(folder, "misuse")
    with pytest.raises(RunError, match=r"model\.onnx is damaged"):
        load_model(folder, model.config, model.encoding)
