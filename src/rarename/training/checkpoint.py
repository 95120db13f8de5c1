"""Tensors on disk: files that are complete or absent, and the only loader of model weights."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from rarename.config import ExperimentConfig
from rarename.encoding import Encoding
from rarename.errors import RunError
from rarename.io import replacing
from rarename.tasks.registry import TASKS

WEIGHTS = "model.safetensors"


def build_model(config: ExperimentConfig, encoding: Encoding) -> nn.Module:
    """Make the model of a config, with weights drawn from torch's generator."""
    model: nn.Module = TASKS[config.task.name].build_model(config.task, config.model, encoding)
    return model


def load_model(folder: Path, config: ExperimentConfig, encoding: Encoding) -> nn.Module:
    """Make the model of a run with its best weights."""
    model = build_model(config, encoding)
    tensors, _ = read_tensors(folder / WEIGHTS)
    try:
        model.load_state_dict(tensors)
    except RuntimeError as error:
        raise RunError(f"{folder / WEIGHTS} does not match the config of {folder}: {error}") from error
    return model


def read_tensors(path: Path) -> tuple[dict[str, Tensor], dict[str, str]]:
    """Read the tensors of a file and its metadata."""
    try:
        tensors = load_file(path)
        with safe_open(path, framework="pt") as file:
            return tensors, dict(file.metadata() or {})
    except FileNotFoundError as error:
        raise RunError(
            f"{path} is missing. If the run was killed before its first evaluation, resume it with `rarename train "
            "--resume`; otherwise train again, or restore a copy"
        ) from error
    except (OSError, SafetensorError) as error:
        raise RunError(f"{path} is damaged: {error}; train again, or restore a copy") from error


def write_tensors(path: Path, tensors: dict[str, Tensor], metadata: dict[str, str] | None = None) -> None:
    """Write tensors and metadata; if that fails, the old file is still there."""
    with explain_write_errors(path), replacing(path) as temporary:
        save_file({name: tensor.contiguous() for name, tensor in tensors.items()}, temporary, metadata)


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
