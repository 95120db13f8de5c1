"""Processes that train one model together, started by `torchrun`; or one process alone, which needs no starting.

Each takes a share of every batch, and all take the same step. What must be decided or written once, the first does.
"""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, TypeVar

import torch
from torch import Tensor, distributed, nn

from rarename.errors import UsageError

T = TypeVar("T")

PATIENCE = timedelta(days=30)
"""How long a process waits for the others. The first may validate for hours; if one dies, torchrun ends the rest."""


@dataclass(frozen=True)
class Processes:
    """This process among those that train together."""

    rank: int = 0
    count: int = 1
    device: torch.device = field(default_factory=lambda: torch.device("cpu"))

    @property
    def is_first(self) -> bool:
        """Whether this is the process that decides, writes and tells."""
        return self.rank == 0

    def share(self, indexes: list[int]) -> list[int]:
        """This process's part of a batch, which may be empty.

        Neighbours in a batch are of like length, so every second one, say, makes shares of like size.

        >>> Processes(rank=1, count=2).share([7, 3, 9, 4, 5])
        [3, 4]
        """
        return indexes[self.rank :: self.count]

    def add_up(self, tensor: Tensor) -> Tensor:
        """Replace a tensor by its sum over all processes."""
        if self.count > 1:
            distributed.all_reduce(tensor)
        return tensor

    def add_gradients(self, module: nn.Module, loss: Tensor) -> Tensor:
        """Replace the gradients of a module by their sums over all processes; returns the sum of the losses.

        One tensor with everything in it is sent at the end, where DistributedDataParallel sends pieces while others are
        still computed. That hides some of the sending, but it wants to see every parameter used in every process in the
        same order, and it divides by the number of processes what must only be added up here. A parameter that
        no process used keeps no gradient, so that the optimizer leaves it alone as it would in one process.
        """
        if self.count == 1:
            return loss
        parameters = list(module.parameters())
        gradients = [torch.zeros_like(p) if p.grad is None else p.grad for p in parameters]
        is_used = loss.new_tensor([p.grad is not None for p in parameters])
        flat = self.add_up(torch.cat([*(gradient.flatten() for gradient in gradients), is_used, loss.view(1)]))
        *sums, is_used, loss = torch.split(flat, [*(p.numel() for p in parameters), len(parameters), 1])
        for parameter, gradient, used in zip(parameters, sums, is_used.tolist(), strict=True):
            parameter.grad = gradient.view_as(parameter) if used else None
        return loss[0]

    def by_first(self, work: Callable[[], T]) -> T:
        """Let the first process do what must be done once; all get what came of it.

        If it fails, the first process raises the error and tells the user; the others end without a word.
        """
        if self.count == 1:
            return work()
        outcome: list[Any] = [False, None]
        try:
            if self.is_first:
                outcome = [True, work()]
        finally:
            distributed.broadcast_object_list(outcome, device=torch.device("cpu"))
        if not outcome[0]:
            raise SystemExit(2)
        return outcome[1]  # type: ignore[no-any-return]


@contextmanager
def started() -> Iterator[Processes]:
    """Meet the other processes, if torchrun started some: it tells who we are by environment variables."""
    rank, count, local_rank = (int(os.environ.get(name, default)) for name, default in _VARIABLES.items())
    device = choose_device(local_rank)
    if count == 1:
        yield Processes(device=device)
        return
    if device.type == "cuda":
        torch.cuda.set_device(device)
    distributed.init_process_group("cpu:gloo,cuda:nccl" if device.type == "cuda" else "gloo", timeout=PATIENCE)
    try:
        yield Processes(rank, count, device)
        distributed.barrier()  # leave together: who goes first closes a connection that others may still listen to
    finally:
        distributed.destroy_process_group()
        time.sleep(LETTING_GO)


LETTING_GO = 0.5
"""Seconds for gloo's threads to let go of what they have sent: one that still does so when Python ends aborts it."""

_VARIABLES = {"RANK": "0", "WORLD_SIZE": "1", "LOCAL_RANK": "0"}


def choose_device(local_rank: int = 0) -> torch.device:
    """A graphics card if there is one, else the processor."""
    if not torch.cuda.is_available():
        return torch.device("cpu")
    if local_rank >= torch.cuda.device_count():
        raise UsageError(
            f"there are {torch.cuda.device_count()} graphics cards, but process {local_rank} wants one of its own; "
            "start as many processes as there are cards: torchrun --nproc-per-node gpu"
        )
    return torch.device("cuda", local_rank)
