"""What training tells, as curves in TensorBoard."""

from importlib.util import find_spec
from pathlib import Path
from typing import Any

from rarename.errors import UsageError

FOLDER = "tensorboard"
"""Inside the run."""

CURVES = ("loss", "learning_rate", "examples_per_second", "nodes_per_second", "waiting", "padding")


def check_installed() -> None:
    """Say what to install before training begins, not after."""
    if find_spec("tensorboard") is None:
        raise UsageError("--tensorboard needs the package tensorboard; install it with rarename[tensorboard]")


class Curves:
    """Writes curves over the number of examples; a run that goes on goes on with its curves."""

    def __init__(self, run: Path) -> None:
        self._folder = run / FOLDER
        self._writer: Any = None

    def __call__(self, told: dict[str, Any]) -> None:
        if self._writer is None:
            from torch.utils.tensorboard import SummaryWriter

            # What an interrupted process wrote beyond this point is written again.
            self._writer = SummaryWriter(str(self._folder), purge_step=told["examples"])
        for name in CURVES:
            self._writer.add_scalar(f"training/{name}", told[name], told["examples"])
        for name, score in told.get("validation", {}).items():
            self._writer.add_scalar(f"validation/{name}", score, told["examples"])

    def close(self) -> None:
        """Write what is not written yet."""
        if self._writer is not None:
            self._writer.close()
