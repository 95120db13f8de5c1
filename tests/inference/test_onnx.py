"""An exported model computes what torch computes."""

import os
import subprocess
import sys

import numpy as np
import pytest

from rarename.cli.main import main
from rarename.errors import RunError
from rarename.inference.model_folder import ONNX_MODEL, ModelFolder, packaged_model
from rarename.inference.onnx_export import export_model
from rarename.inference.onnx_session import OnnxSession
from rarename.inference.onnx_weights import onnx_weights
from rarename.inference.session import open_session
from rarename.inference.torch_session import TorchSession
from rarename.presets import preset_config
from rarename.runs.run import evaluate, train

pytestmark = pytest.mark.slow


def close(outputs, expected):
    assert outputs.keys() == expected.keys()
    for name, array in expected.items():
        np.testing.assert_allclose(outputs[name], array, rtol=0, atol=1e-4)


@pytest.mark.parametrize("task", ["misuse", "completion"])
def test_logits_are_those_of_torch(task, tmp_path):
    folder = ModelFolder.load(packaged_model("python", task), task)
    export_model(folder, tmp_path)
    onnx, torch = open_session(ModelFolder.load(tmp_path, task)), TorchSession(folder)
    assert isinstance(onnx, OnnxSession)
    rng = np.random.default_rng(0)
    weights = {name: tensor.numpy() for name, tensor in torch._model.state_dict().items()}
    stored = onnx_weights(tmp_path / ONNX_MODEL)
    assert weights.keys() == stored.keys()
    assert all(np.array_equal(weights[name], stored[name]) for name in weights)
    for length in (1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 32, 33, 64, 65, 127, 300, 1000):
        ids = {name: rng.integers(0, 50, (1, length)) for name in ("types", "values")}
        if task == "misuse":
            mask = np.arange(length)[None] < max(1, length - 3)
            more = {"usages": rng.integers(0, 40, (1, length)), "subtokens": rng.integers(0, 900, (1, length, 4))}
            inputs = ids | more | {"attention_mask": mask}
            nodes = rng.permutation(length)[None, : 1 + length // 3]
            of_nodes, of_all = torch.run(inputs | {"nodes": nodes}), torch.run(inputs)
            close(onnx.run(inputs | {"nodes": nodes}), of_nodes)
            kept = nodes[0]
            location, repair = of_all["location_logits"], of_all["repair_logits"]
            selected = np.concatenate([location[:, :1], location[:, 1 + kept]], axis=1)
            close(of_nodes, {"location_logits": selected, "repair_logits": repair[:, kept][:, :, kept]})
            continue
        caches = onnx.new_cache(), torch.new_cache()
        first = ids | {"has_value": np.ones((1, length), dtype=bool)}
        close(onnx.run(first, caches[0]), torch.run(first, caches[1]))
        for cache in caches:
            cache.crop(length // 2)
        new = {name: array[:, :1] for name, array in ids.items()}
        new["has_value"] = np.ones((1, length // 2 + 1), dtype=bool)
        close(onnx.run(new, caches[0]), torch.run(new, caches[1]))
    (tmp_path / ONNX_MODEL).write_bytes(b"damaged")
    with pytest.raises(RunError, match="cannot be loaded"):
        open_session(ModelFolder.load(tmp_path, task))


@pytest.mark.parametrize("task", ["misuse", "completion"])
def test_models_of_other_attention_train_and_are_exported(task, corpus_folder, tmp_path):
    settings = {
        "model": {"d_model": 16, "num_heads": 2, "d_ff": 16, "attention": "absolute", "init_neighbour_heads": False},
        "training.eval_examples": 10,
    }
    if task == "completion":
        settings |= {"task.copy_pointer": True, "task.pointer_attention": "last_layer", "task.window_size": 40}
        settings |= {"task.stride": 40}
    train(preset_config(str(corpus_folder), "tiny", settings, task=task), tmp_path / "run", time_limit=-1.0)
    evaluate(tmp_path / "run", "validation")
    folder = ModelFolder.load(tmp_path / "run", task)
    export_model(folder, tmp_path / "model")
    onnx, torch = open_session(ModelFolder.load(tmp_path / "model", task)), TorchSession(folder)
    rng = np.random.default_rng(0)
    for length in (1, 7, 300):  # longer than the windows
        inputs = {name: rng.integers(0, 50, (1, length)) for name in ("types", "values")}
        if task == "misuse":
            inputs["attention_mask"] = np.arange(length)[None] < max(1, length - 3)
            close(onnx.run(inputs), torch.run(inputs))
            continue
        caches, has_value = (onnx.new_cache(), torch.new_cache()), rng.random((1, length + 1)) < 0.5
        for stop, new in ((length, inputs), (length + 1, {name: array[:, :1] for name, array in inputs.items()})):
            new = new | {"has_value": has_value[:, :stop]}
            close(onnx.run(new, caches[0]), torch.run(new, caches[1]))


def test_check_uses_an_exported_model(tmp_path, capsys):
    main(["export", "model", str(packaged_model("python")), str(tmp_path / "model")])
    file = tmp_path / "load.py"
    file.write_text("def load(myfnm):\n    with open(myfnm) as myfp:\n        data = myfnm.read()\n    return data\n")
    outputs = []
    for model in ([], ["--model", str(tmp_path / "model")]):
        assert main(["check", str(file), *model]) == 1
        outputs.append(capsys.readouterr().out)
    assert "'myfnm' may be misused here; 'myfp' fits better" in outputs[1]
    assert outputs[0].splitlines()[0] == outputs[1].splitlines()[0]


def test_a_check_reports_nothing_to_the_makers_of_the_runtime(tmp_path):
    """Its telemetry would keep an id and a database in the home folder."""
    (tmp_path / "a.py").write_text("def area(width, height):\n    return width * width\n")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("ORT_", "XDG_"))}
    command = [sys.executable, "-m", "rarename", "check", "a.py"]
    home = tmp_path / "home"
    home.mkdir()
    done = subprocess.run(command, cwd=tmp_path, env=environment | {"HOME": str(home)}, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (1, "")
    assert not [path for path in home.rglob("*") if "rarename" not in path.parts and "onnxruntime" in path.name]


def test_weights_in_another_file_are_refused(tmp_path, monkeypatch):
    """ONNX Runtime would look for the file in the working directory."""
    onnx = pytest.importorskip("onnx")
    folder = ModelFolder.load(packaged_model("python"), "misuse")
    export_model(folder, tmp_path)
    graph = onnx.load(tmp_path / ONNX_MODEL)
    onnx.save_model(graph, tmp_path / ONNX_MODEL, save_as_external_data=True, location="weights.bin", size_threshold=0)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(RunError, match="cannot be loaded"):
        open_session(ModelFolder.load(tmp_path, "misuse"))


def test_weights_that_are_not_numbers_are_an_error(tmp_path):
    onnx = pytest.importorskip("onnx")
    export_model(ModelFolder.load(packaged_model("python"), "misuse"), tmp_path)
    graph = onnx.load(tmp_path / ONNX_MODEL)
    largest = max(graph.graph.initializer, key=lambda each: len(each.raw_data))
    largest.raw_data = np.full(len(largest.raw_data) // 4, np.nan, dtype=np.float32).tobytes()
    onnx.save_model(graph, tmp_path / ONNX_MODEL)
    session = open_session(ModelFolder.load(tmp_path, "misuse"))
    ids = {name: np.ones((1, 3), dtype=np.int64) for name in ("types", "values", "usages", "nodes")}
    inputs = ids | {"subtokens": np.ones((1, 3, 4), dtype=np.int64), "attention_mask": np.ones((1, 3), dtype=bool)}
    with pytest.raises(RunError, match="computes NaN"):
        session.run(inputs)
