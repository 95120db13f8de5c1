"""Tensors on disk: files that are complete or absent, and the only loader of model weights."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save
from torch import Tensor, nn

from rarename.config import ExperimentConfig
from rarename.encoding import Encoding
from rarename.errors import RunError
from rarename.inference.model_folder import ONNX_MODEL
from rarename.inference.onnx_weights import onnx_weights
from rarename.io import replacing
from rarename.reading import open_regular
from rarename.tasks.registry import TASKS

WEIGHTS = "model.safetensors"


def build_model(config: ExperimentConfig, encoding: Encoding) -> nn.Module:
    """Make the model of a config, with weights drawn from torch's generator."""
    model: nn.Module = TASKS[config.task.name].build_model(config.task, config.model, encoding)
    return model


def load_model(folder: Path, config: ExperimentConfig, encoding: Encoding) -> nn.Module:
    """Make the model of a run with its best weights.

    The shapes in the file are compared with those of the config before either is allocated: so a model takes no more
    memory than its file.
    """
    path, tensors = folder / WEIGHTS, {}
    if not path.exists() and (folder / ONNX_MODEL).exists():  # an exported model, or one of the package
        path = folder / ONNX_MODEL
        tensors = {name: torch.from_numpy(array) for name, array in onnx_weights(path).items()}
    with torch.device("meta"):
        expected = {name: tuple(tensor.shape) for name, tensor in build_model(config, encoding).state_dict().items()}
    found = {name: tuple(tensor.shape) for name, tensor in tensors.items()} or _shapes(path)
    for name in expected | found:
        shapes = [str(shapes.get(name, "nothing")) for shapes in (found, expected)]
        if shapes[0] != shapes[1]:
            raise RunError(f"{path} does not match the config of {folder}: {name} is {shapes[0]}, not {shapes[1]}")
    tensors = tensors or read_tensors(path)[0]
    check_finite(path, tensors)
    model = build_model(config, encoding)
    model.load_state_dict(tensors)
    return model


def _shapes(path: Path) -> dict[str, tuple[int, ...]]:
    with _explain_read_errors(path), safe_open(path, framework="pt") as file:
        return {name: tuple(file.get_slice(name).get_shape()) for name in file.keys()}  # noqa: SIM118


def check_finite(path: Path, tensors: Mapping[str, Tensor]) -> None:
    """Raise RunError if a tensor contains NaN or infinity: predictions would be meaningless."""
    for name, tensor in tensors.items():
        if tensor.dtype not in (torch.float64, torch.float32, torch.float16, torch.bfloat16):
            raise RunError(f"{path} is damaged: {name} has values of {tensor.dtype}; expected floating-point numbers")
        if not tensor.isfinite().all():
            raise RunError(
                f"{path} has NaN or infinity in {name}: the file is damaged, or training diverged; restore a copy, or "
                "train again with a lower learning rate"
            )


def read_tensors(path: Path) -> tuple[dict[str, Tensor], dict[str, str]]:
    """Read the tensors of a file and its metadata."""
    with _explain_read_errors(path):
        tensors = load_file(path)
        with safe_open(path, framework="pt") as file:
            return tensors, dict(file.metadata() or {})


@contextmanager
def _explain_read_errors(path: Path) -> Iterator[None]:
    try:
        open_regular(path).close()  # a pipe would never end
        yield
    except FileNotFoundError as error:
        raise RunError(
            f"{path} is missing. If the run was killed before its first evaluation, resume it with `rarename train "
            "--resume`; otherwise train again, or restore a copy"
        ) from error
    except (OSError, SafetensorError, KeyError) as error:  # KeyError: a data type that torch does not have
        raise RunError(f"{path} is damaged: {error}; train again, or restore a copy") from error


def write_tensors(path: Path, tensors: dict[str, Tensor], metadata: dict[str, str] | None = None) -> None:
    """Write tensors and metadata; if that fails, the old file is still there."""
    # Not `save_file`: it has a temporary file of its own, which a killed process leaves, and gives it the mode 0600.
    with explain_write_errors(path), replacing(path) as temporary:
        temporary.write_bytes(save({name: tensor.contiguous() for name, tensor in tensors.items()}, metadata))


@contextmanager
def explain_write_errors(path: Path) -> Iterator[None]:
    """Turn a failed write into an error with the file and the remedy: the disk may be full."""
    try:
        yield
    except (OSError, SafetensorError) as error:
        raise RunError(
            f"{path} could not be written: {error}. The last checkpoint is intact; free some space, then run the same "
            "command with --resume"
        ) from error
