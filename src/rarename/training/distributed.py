"""Training in several processes started by `torchrun`, or in a single one.

Each process computes a shard of every batch, and all take the same optimizer step. The main process makes decisions
and writes files.
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

TIMEOUT = timedelta(days=30)
"""The main process may evaluate for hours while the others wait. If one dies, torchrun ends the rest."""

SHUTDOWN_SECONDS = 0.5
"""Time for gloo's threads to release their buffers; a thread that still does so when Python exits aborts it."""


@dataclass(frozen=True)
class DistributedContext:
    """This process among those that train together."""

    rank: int = 0
    world_size: int = 1
    device: torch.device = field(default_factory=lambda: torch.device("cpu"))

    @property
    def is_main_process(self) -> bool:
        return self.rank == 0

    def shard(self, indexes: list[int]) -> list[int]:
        """This process's part of a batch, which may be empty.

        Neighbours in a batch have similar lengths, so taking every n-th example gives shards of similar size.

        >>> DistributedContext(rank=1, world_size=2).shard([7, 3, 9, 4, 5])
        [3, 4]
        """
        return indexes[self.rank :: self.world_size]

    def all_reduce_sum(self, tensor: Tensor) -> Tensor:
        """Replace a tensor by its sum over all processes."""
        if self.world_size > 1:
            distributed.all_reduce(tensor)
        return tensor

    def all_reduce_gradients(self, module: nn.Module, loss: Tensor) -> Tensor:
        """Replace the gradients of a module by their sums over all processes; return the sum of the losses.

        DistributedDataParallel overlaps communication with the backward pass, but it averages where we need sums, and
        it expects every process to use the same parameters. Here all gradients are sent once, in one tensor. A
        parameter that no process used keeps no gradient, so the optimizer skips it as in a single process.
        """
        if self.world_size == 1:
            return loss
        parameters = list(module.parameters())
        gradients = [torch.zeros_like(p) if p.grad is None else p.grad for p in parameters]
        is_used = loss.new_tensor([p.grad is not None for p in parameters])
        flat = self.all_reduce_sum(torch.cat([*(gradient.flatten() for gradient in gradients), is_used, loss.view(1)]))
        *sums, is_used, loss = torch.split(flat, [*(p.numel() for p in parameters), len(parameters), 1])
        for parameter, gradient, used in zip(parameters, sums, is_used.tolist(), strict=True):
            parameter.grad = gradient.view_as(parameter) if used else None
        return loss[0]

    def on_main_process(self, work: Callable[[], T]) -> T:
        """Run `work` on the main process; every process gets its result.

        If it fails, the main process raises the error, and the others exit without a message.
        """
        if self.world_size == 1:
            return work()
        result: list[Any] = [False, None]
        try:
            if self.is_main_process:
                result = [True, work()]
        finally:
            distributed.broadcast_object_list(result, device=torch.device("cpu"))
        if not result[0]:
            raise SystemExit(2)
        return result[1]  # type: ignore[no-any-return]


@contextmanager
def init_distributed() -> Iterator[DistributedContext]:
    """Join the process group if torchrun started several processes; it sets these environment variables."""
    rank, world_size, local_rank = (
        int(os.environ.get(name, default)) for name, default in (("RANK", 0), ("WORLD_SIZE", 1), ("LOCAL_RANK", 0))
    )
    device = choose_device(local_rank)
    if world_size == 1:
        yield DistributedContext(device=device)
        return
    if device.type == "cuda":
        torch.cuda.set_device(device)
    distributed.init_process_group("cpu:gloo,cuda:nccl" if device.type == "cuda" else "gloo", timeout=TIMEOUT)
    try:
        yield DistributedContext(rank, world_size, device)
        distributed.barrier()  # exit together: the first to leave closes a connection that others may still use
    finally:
        distributed.destroy_process_group()
        time.sleep(SHUTDOWN_SECONDS)


def choose_device(local_rank: int = 0) -> torch.device:
    """A GPU if there is one, else the CPU."""
    if not torch.cuda.is_available():
        return torch.device("cpu")
    if local_rank >= torch.cuda.device_count():
        raise UsageError(
            f"there are {torch.cuda.device_count()} GPUs, but process {local_rank} needs one of its own; start as many "
            "processes as there are GPUs: torchrun --nproc-per-node gpu"
        )
    return torch.device("cuda", local_rank)
