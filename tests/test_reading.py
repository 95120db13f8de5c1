"""Hostile and damaged files of models end in an error that names the file, never in a traceback or a wait."""

import json
import os
import shutil
import stat
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from rarename.assist.check import Checker
from rarename.encoding import Encoding
from rarename.errors import CorpusError, RunError, UsageError
from rarename.inference.model_folder import ModelFolder
from rarename.reading import read_json, read_toml
from rarename.training.checkpoint import load_model


@pytest.fixture
def model(python_run, tmp_path):
    return Path(shutil.copytree(python_run, tmp_path / "run"))


@pytest.mark.parametrize("number", ["many", None, 1.5, True, -1, 10**12, 10**30])
def test_a_wrong_number_of_placeholders_is_an_error(model, number):
    path = model / "encoding.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"num_placeholders": number}))
    with pytest.raises(CorpusError, match=r"num_placeholders is .*; expected a whole number from 0 to 1000000"):
        Encoding.load(path)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"values": 7}, "values is 7; expected list"),
        ({"values": ["a", 7]}, r"values\[1\] is 7; expected str"),
        ({"types": {"Module": 1}}, "types is {'Module': 1}; expected list"),
        ({"types": [str(number) for number in range(40_000)]}, "there are 40,000 node types; expected at most 32,000"),
        ({"strategy": "cobol"}, "strategy is 'cobol'; expected one of standard"),
        ({"masked_literals": ["READ"]}, r"masked_literals\[0\] is 'READ'; expected one of STRING"),
        ({"version": "2"}, "version is '2'; expected int"),
    ],
)
def test_a_wrong_entry_of_an_encoding_is_an_error(model, changes, message):
    path = model / "encoding.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))
    with pytest.raises(CorpusError, match=message):
        Encoding.load(path)


@pytest.mark.parametrize("read", [read_json, read_toml])
def test_deep_nesting_large_files_folders_and_pipes_are_errors(tmp_path, monkeypatch, read):
    path = tmp_path / "file"
    path.write_text(("" if read is read_json else "a = ") + "[" * 200_000)
    with pytest.raises(ValueError, match="it is nested too deep"):
        read(path)
    monkeypatch.setattr("rarename.reading.read_text.__defaults__", (1000,))
    with pytest.raises(ValueError, match="it has more than 1,000 bytes"):
        read(path)
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("pipe")
    for name in ("pipe", "link", "."):
        with pytest.raises(OSError, match="not a regular file"):
            read(tmp_path / name)


@pytest.mark.parametrize("text", ["1e999", "[-1e999]", "9" * 400, "9" * 5_000, "NaN"])
def test_a_number_of_json_is_finite(tmp_path, text):
    (tmp_path / "a.json").write_text(text)
    with pytest.raises(ValueError, match=r"it contains .*, which is (too large|not a number)"):
        read_json(tmp_path / "a.json")


@pytest.mark.parametrize("key", ["a." * 200_000 + "a", 'a . "b" .' * 100_000 + "a", "'a'." * 100 + "a"])
def test_a_key_of_toml_has_few_parts(tmp_path, key):
    for text in (f"{key} = 1", f"[{key}]", f"x = {{{key} = 1}}"):
        (tmp_path / "a.toml").write_text(text)
        with pytest.raises(ValueError, match="a key has more than 100 parts"):
            read_toml(tmp_path / "a.toml")
    (tmp_path / "a.toml").write_text(f"{'a.' * 99}a = '{'. ' * 1_000}'")
    assert read_toml(tmp_path / "a.toml")


def load(folder):
    opened = ModelFolder.load(folder, "misuse")
    return load_model(folder, opened.config, opened.encoding)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_weights_that_are_not_finite_are_an_error(model, value):
    tensors = load_file(model / "model.safetensors")
    name = next(iter(tensors))
    tensors[name].view(-1)[0] = value
    save_file(tensors, model / "model.safetensors")
    with pytest.raises(RunError, match=f"has NaN or infinity in {name}"):
        load(model)


def test_weights_are_compared_with_the_config_before_memory_is_taken(model):
    config = model / "config.toml"
    text = config.read_text()
    config.write_text(text.replace("d_ff = 16", "d_ff = 1000000"))
    with pytest.raises(RunError, match=r"does not match the config of .*1000000"):
        load(model)
    config.write_text(text.replace("d_model = 16", "d_model = 10000000"))
    with pytest.raises(UsageError, match=r"config\.toml: model.d_model is 10000000; it must be at most 65536"):
        load(model)
    config.write_text(text.replace("num_epochs = 0.3", "num_epochs = inf"))
    with pytest.raises(UsageError, match=r"training.num_epochs is inf; expected a number below"):
        load(model)


@pytest.mark.parametrize("kind", [torch.int32, torch.float8_e4m3fn])
def test_weights_of_other_types_are_an_error(model, kind):
    tensors = load_file(model / "model.safetensors")
    save_file({name: tensor.to(kind) for name, tensor in tensors.items()}, model / "model.safetensors")
    with pytest.raises(RunError, match="expected floating-point numbers"):
        load(model)


def test_weights_that_make_predictions_infinite_are_an_error(model):
    tensors = load_file(model / "model.safetensors")
    save_file({name: tensor * 1e30 for name, tensor in tensors.items()}, model / "model.safetensors")
    with pytest.raises(RunError, match="computes NaN or infinity"):
        Checker.load(model).check("def area(width, height):\n    return width * width\n", "python")


@pytest.mark.parametrize("kind", ["pipe", "folder", "link to itself"])
def test_weights_must_be_a_regular_file(model, kind):
    path = model / "model.safetensors"
    path.unlink()
    match kind:
        case "pipe":
            os.mkfifo(path)
        case "folder":
            path.mkdir()
        case _:
            path.symlink_to(path.name)
    with pytest.raises(RunError, match=r"model\.safetensors is damaged: .*(not a regular file|Too many levels)"):
        load(model)


def test_weights_may_be_a_link_and_are_readable_like_other_files(model, tmp_path):
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in model.iterdir() if not path.name.startswith(".")}
    assert len(set(modes.values())) == 1, modes
    (model / "model.safetensors").rename(tmp_path / "weights")
    (model / "model.safetensors").symlink_to(tmp_path / "weights")
    assert load(model)
