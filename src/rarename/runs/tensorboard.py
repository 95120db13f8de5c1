"""The training log as curves in TensorBoard."""

from importlib.util import find_spec
from pathlib import Path
from typing import Any

from rarename.errors import UsageError

CURVES = ("loss", "learning_rate", "examples_per_second", "nodes_per_second", "data_wait", "padding")


def check_installed() -> None:
    """Report a missing package before training, not after."""
    if find_spec("tensorboard") is None:
        raise UsageError("--tensorboard needs tensorboard; install it with pip install 'rarename[tensorboard]'")


class TensorBoardLogger:
    """Writes curves over the number of examples; a resumed run continues its curves."""

    def __init__(self, run: Path) -> None:
        self._folder = run / "tensorboard"
        self._writer: Any = None

    def __call__(self, record: dict[str, Any]) -> None:
        if self._writer is None:
            from torch.utils.tensorboard import SummaryWriter

            # What an interrupted process wrote beyond this point is written again.
            self._writer = SummaryWriter(str(self._folder), purge_step=record["examples"])
        for name in CURVES:
            self._writer.add_scalar(f"training/{name}", record[name], record["examples"])
        for name, value in record.get("validation", {}).items():
            self._writer.add_scalar(f"validation/{name}", value, record["examples"])

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()
