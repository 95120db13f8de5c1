"""The training log as curves in TensorBoard."""

from functools import partial
from pathlib import Path
from typing import Any

CURVES = ("loss", "learning_rate", "examples_per_second", "nodes_per_second", "data_wait", "padding")


class TensorBoardLogger:
    """Writes curves over the number of examples; a resumed run continues its curves."""

    def __init__(self, run: Path) -> None:
        from torch.utils.tensorboard import SummaryWriter  # a missing package is an error before training

        self._open = partial(SummaryWriter, str(run / "tensorboard"))
        self._writer: Any = None

    def __call__(self, record: dict[str, Any]) -> None:
        if self._writer is None:  # what an interrupted process wrote beyond this point is written again
            self._writer = self._open(purge_step=record["examples"])
        curves = {f"training/{name}": record[name] for name in CURVES}
        curves |= {f"validation/{name}": value for name, value in record.get("validation", {}).items()}
        for name, value in curves.items():
            self._writer.add_scalar(name, value, record["examples"])

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()
