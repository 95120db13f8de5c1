"""One of two processes that train together; `test_distributed.py` starts both once and checks what they write.

Everything is computed in double precision, so that the order of summation does not matter.
"""

import json
import sys
from pathlib import Path

import torch
from torch import distributed

from rarename.errors import RunError
from rarename.presets import preset_config
from rarename.runs.run import train
from rarename.training.distributed import DistributedContext, init_distributed
from rarename.training.trainer import StopReason

MISUSE = {
    "encoding": {"vocabulary_size": 50, "num_placeholders": 80},
    "task": {"max_function_nodes": 80},
    "model": {"d_model": 16, "num_layers": 1, "num_heads": 2, "d_ff": 16},
    # Small batches: some have one function only, which leaves nothing for the second process.
    "training": {
        "num_epochs": 0.1, "max_batch_nodes": 300, "eval_every_examples": 40, "eval_examples": 20, "warmup_steps": 10,
    },
}  # fmt: skip
COMPLETION = {
    "encoding": {"vocabulary_size": 50, "num_placeholders": 100, "strategy": "standard"},
    "task": {"window_size": 100, "stride": 100, "copy_pointer": True},
    "model": {"d_model": 16, "num_layers": 2, "num_heads": 2, "d_ff": 16, "max_relative_distance": 8},
    "training": {
        "num_epochs": 0.06, "max_batch_nodes": 300, "eval_every_examples": 15, "eval_examples": 20, "warmup_steps": 10,
    },
}  # fmt: skip


def main(corpus: str, output: Path) -> None:
    torch.set_default_dtype(torch.float64)
    torch.set_num_threads(1)
    misuse = preset_config(corpus, "tiny", MISUSE)
    completion = preset_config(corpus, "tiny", COMPLETION, task="completion")
    alone, observed = DistributedContext(), {}
    with init_distributed() as context:
        observed["context"] = [context.rank, context.world_size, context.is_main_process]
        observed["sums"] = sum_gradients(context)
        observed["sum"] = context.all_reduce_sum(torch.tensor([context.rank, 1])).tolist()
        observed["from_main"] = context.on_main_process(lambda: context.rank + 7)
        observed["error"] = error_of_main_process(context)
        # Each of the two trains one run alone, then both train the same runs together.
        train(
            *((misuse, output / "misuse-alone"), (completion, output / "completion-alone"))[context.rank], context=alone
        )
        train(completion, output / "completion-together", context=context)
        records = []
        train(misuse, output / "misuse-together", on_log=records.append, context=context)
        observed["num_log_records"] = len(records)
        mixed = output / "misuse-mixed"
        stops = [train(misuse, mixed, time_limit=-1.0, context=context)]
        if context.is_main_process:
            stops += [train(misuse, mixed, resume=True, time_limit=-1.0, context=alone) for _ in range(5)]
        distributed.barrier()
        should_stop = iter([False, context.rank == 1])  # what one process requests, both do
        stops.append(train(misuse, mixed, resume=True, should_stop=lambda: next(should_stop), context=context))
        assert all(stop is StopReason.INTERRUPTED for stop in stops)
        assert train(misuse, mixed, resume=True, context=context) is StopReason.COMPLETED
    (output / f"observed-{context.rank}.json").write_text(json.dumps(observed))


def sum_gradients(context: DistributedContext) -> dict[str, object]:
    module = torch.nn.ModuleDict({name: torch.nn.Linear(1, 1, bias=False) for name in ("both", "second", "none")})
    for name in ("both", "second")[: context.rank + 1]:
        module[name].weight.grad = torch.tensor([[1.0 + context.rank]])
    loss = context.all_reduce_gradients(module, torch.tensor(0.5))
    gradients = {name: part.weight.grad for name, part in module.items()}
    return {name: None if grad is None else grad.item() for name, grad in gradients.items()} | {"loss": loss.item()}


def error_of_main_process(context: DistributedContext) -> str:
    def fail() -> None:
        raise RunError("no run")

    try:
        context.on_main_process(fail)
    except (RunError, SystemExit) as error:
        return repr(error)
    return "none"


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
