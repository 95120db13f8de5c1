"""Tensors on disk: files that are whole or absent, and errors that say what to do."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save_file
from torch import Tensor

from rarename.errors import RunError
from rarename.io import replacing


def read_tensors(path: Path) -> tuple[dict[str, Tensor], dict[str, str]]:
    """The tensors of a file, and what is written beside them."""
    try:
        tensors = load_file(path)
        with safe_open(path, framework="pt") as file:
            return tensors, dict(file.metadata() or {})
    except FileNotFoundError as error:
        raise RunError(
            f"{path} is missing: if the run was killed before its first look at the validation split, go on with "
            "`rarename train` and --resume; else train again, or put back a copy of it"
        ) from error
    except (OSError, SafetensorError) as error:
        raise RunError(f"{path} is damaged: {error}; train again, or put back a copy of it") from error


def write_tensors(path: Path, tensors: dict[str, Tensor], metadata: dict[str, str] | None = None) -> None:
    """Write tensors, and some words beside them; if that fails, what was there before is still there."""
    with words_for_failure(path), replacing(path) as temporary:
        save_file({name: tensor.contiguous() for name, tensor in tensors.items()}, temporary, metadata)


@contextmanager
def words_for_failure(path: Path) -> Iterator[None]:
    """Say which file of a run could not be written, and what to do: the disk may be full."""
    try:
        yield
    except (OSError, SafetensorError) as error:
        raise RunError(
            f"{path} could not be written: {error}. The run is as it was last saved; when there is room again, the "
            "same command with --resume goes on"
        ) from error
