"""The training loop, with a state that is saved and resumed bit for bit."""

import json
import math
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from enum import Enum
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from rarename.config import TrainingConfig
from rarename.errors import RunError
from rarename.io import write_text
from rarename.reading import check_shape, read_json
from rarename.tasks.batch import Batch, map_arrays
from rarename.tasks.task import Metrics, Task
from rarename.training.checkpoint import WEIGHTS, check_finite, explain_write_errors, read_tensors, write_tensors
from rarename.training.distributed import DistributedContext
from rarename.training.optimizer import build_optimizers

STATE, METRICS, MINED = "trainer_state.safetensors", "metrics.jsonl", "mined.json"
LOG_EVERY_STEPS = 20
MAX_INDEX = 2**40
LogRecord = dict[str, Any]

SCHEDULES: dict[str, Callable[[float], float]] = {
    "constant": lambda done: 1.0,
    "linear": lambda done: max(0.0, 1.0 - done),
    "cosine": lambda done: 0.5 * (1.0 + math.cos(math.pi * min(1.0, done))),
}
"""The fraction of the peak learning rate by the fraction of training that is done."""


class StopReason(Enum):
    """Why training stopped; false if it can be resumed."""

    COMPLETED = "completed"
    EARLY_STOPPED = "stopped early"
    INTERRUPTED = "interrupted"  # by the time limit or by the user

    def __bool__(self) -> bool:
        return self is not StopReason.INTERRUPTED


@dataclass
class TrainerState:
    """Progress of training. All of it is saved and, apart from the times, the same in every process."""

    epoch: int = 0
    batch: int = 0  # number of batches of the epoch that are done
    step: int = 0
    examples: int = 0
    nodes: int = 0
    padded_nodes: int = 0  # nodes and padding
    seconds: float = 0.0
    data_wait_seconds: float = 0.0  # part of `seconds` in which the next batch was not ready
    best: float = -1.0  # best value of the selection metric
    evals_since_best: int = 0
    next_eval: int = 0  # number of examples at which the next evaluation is due


@dataclass(frozen=True)
class PreparedBatch:
    """A batch and its position in the order of batches."""

    epoch: int
    number: int
    batch: Batch
    weight: int  # 0 if it only keeps a process without a shard busy


class Trainer:
    """Trains one model in a folder that holds its state."""

    def __init__(
        self,
        task: Task,
        model: nn.Module,
        config: TrainingConfig,
        folder: Path,
        seed: int = 0,
        context: DistributedContext = DistributedContext(),  # noqa: B008, frozen
    ) -> None:
        self.task, self.config, self.folder, self.seed, self.context = task, config, folder, seed, context
        self.model = model.to(context.device)
        self.state = TrainerState(next_eval=config.eval_every_examples)
        self.first_examples = task.num_examples(config.num_epochs)  # before the last phase, if there is one
        self.total_examples = max(1, self.first_examples + task.num_last_examples())
        self.optimizers = build_optimizers(self.model, config)
        groups = [(optimizer, group) for optimizer in self.optimizers for group in optimizer.param_groups]
        self._states = {parameter: optimizer.state for optimizer, group in groups for parameter in group["params"]}
        self.running_loss = torch.full((), math.nan, device=context.device)  # exponential moving average
        self._use_bf16 = context.device.type == "cuda" and torch.cuda.is_bf16_supported(including_emulation=False)

    @property
    def stop_reason(self) -> StopReason | None:
        """Why training is over, or None."""
        last_phase = self.task.last_phase
        if self.state.examples >= self.total_examples or (last_phase and self.state.epoch >= sum(last_phase[:2])):
            return StopReason.COMPLETED
        patience = self.config.early_stopping_patience
        return StopReason.EARLY_STOPPED if 0 < patience <= self.state.evals_since_best else None

    def run(
        self,
        time_limit: float = math.inf,
        on_log: Callable[[LogRecord], None] = lambda _: None,
        should_stop: Callable[[], bool] = lambda: False,
    ) -> StopReason:
        """Train to the end, or until the time limit or `should_stop`; only the main process calls `on_log`."""
        state, started = self.state, time.monotonic()
        last_save, seconds_before = started, state.seconds
        if self.stop_reason:
            return self.stop_reason
        self.model.train()
        for prepared in self._prefetch():
            now = time.monotonic()
            # The clocks of the processes differ: if one is due to stop or save, all do so after the same step.
            requests = (should_stop() or now - started > time_limit, now - last_save > self.config.save_every_seconds)
            must_stop, must_save = self._step(prepared, requests)
            state.seconds = seconds_before + time.monotonic() - started
            if state.step % LOG_EVERY_STEPS == 0 and self.context.is_main_process:
                on_log(self._log_record())
            if state.examples >= min(self.total_examples, state.next_eval):
                self._evaluate(on_log)
            if self.stop_reason or must_stop or must_save:
                self.save()
                last_save = time.monotonic()
            if self.stop_reason or must_stop:
                self.context.on_main_process(lambda: self._write_weights(only_first=True))  # to try the run
                return self.stop_reason or StopReason.INTERRUPTED
        # The last phase has a number of epochs, and not all of its functions give two examples.
        assert self.task.last_phase is not None, "epochs do not end"
        self._evaluate(on_log)
        state.epoch, state.batch = int(sum(self.task.last_phase[:2])), 0
        self.save()
        return StopReason.COMPLETED

    def _prefetch(self) -> Iterator[PreparedBatch]:
        """The batches from here on, epoch after epoch."""
        epoch, batch, last_phase = self.state.epoch, self.state.batch, self.task.last_phase
        while last_phase is None or epoch < sum(last_phase[:2]):
            if self.task.mines(epoch):
                self.task.begin_epoch(epoch, self.context.on_main_process(partial(self._mined, epoch)))
            yield from self._prefetch_epoch(epoch, batch)
            epoch, batch = epoch + 1, 0

    def _mined(self, epoch: int) -> list[int]:
        """What the items of an epoch depend on. It is kept in a file, since the model changes within the epoch."""
        path = self.folder / MINED
        try:
            mined: dict[str, list[int]] = read_json(path) if path.exists() else {}
            check_shape(mined, {str: [range(MAX_INDEX)]})
        except (OSError, ValueError) as error:
            raise RunError(f"{path} is damaged: {error}; start again in another folder") from error
        if str(epoch) not in mined:
            self.model.eval()
            mined[str(epoch)] = self.task.mine(self.model, epoch)
            self.model.train()
            with explain_write_errors(path):
                write_text(path, json.dumps(mined) + "\n")
        return mined[str(epoch)]

    def _prefetch_epoch(self, epoch: int, batch: int) -> Iterator[PreparedBatch]:
        """The batches of an epoch from one on; a thread makes the next one while the model computes."""
        with ThreadPoolExecutor(1) as pool:
            pending: Future[PreparedBatch] | None = None
            for number, indexes in enumerate(self.task.batches(epoch)):
                if number < batch:
                    continue
                following = pool.submit(self._prepare, epoch, number, indexes)
                if pending is not None:
                    started = time.monotonic()
                    prepared = pending.result()
                    self.state.data_wait_seconds += time.monotonic() - started
                    yield prepared
                pending = following
            if pending is not None:
                yield pending.result()

    def _prepare(self, epoch: int, number: int, indexes: list[int]) -> PreparedBatch:
        shard = self.context.shard(indexes)
        # A process without a shard computes one example with weight 0: fewer cases, and no time is lost.
        return PreparedBatch(epoch, number, self.task.make_batch(shard or indexes[:1], epoch), 1 if shard else 0)

    def _step(self, prepared: PreparedBatch, requests: tuple[bool, bool]) -> list[bool]:
        """Take an optimizer step; return what any of the processes requests."""
        state, context, weight = self.state, self.context, prepared.weight
        mask = prepared.batch.attention_mask
        numbers = [weight * len(prepared.batch), weight * int(mask.sum()), weight * mask.size, *requests]
        batch = to_device(prepared.batch, context.device)
        # Dropout has a seed per step, so that no generator state must be saved for each process.
        torch.manual_seed(int(np.random.SeedSequence([self.seed, state.step, context.rank]).generate_state(1)[0]))
        for group in (group for optimizer in self.optimizers for group in optimizer.param_groups):
            group["lr"] = group["peak_lr"] * self.lr_factor(prepared.epoch)
        with torch.autocast(context.device.type, torch.bfloat16, enabled=self._use_bf16):
            loss = self.task.loss(self.model(**batch.inputs()), batch)
        shard_loss = weight * loss.over(context.all_reduce_sum(weight * loss.counts))
        self.model.zero_grad(set_to_none=True)
        shard_loss.backward()  # type: ignore[no-untyped-call]
        batch_loss = context.all_reduce_gradients(self.model, shard_loss.detach())
        if self.config.max_grad_norm:
            nn.utils.clip_grad_norm_(self.model.parameters(), self.config.max_grad_norm)
        for optimizer in self.optimizers:
            optimizer.step()
        is_first_step = self.running_loss.isnan()
        self.running_loss = torch.where(is_first_step, batch_loss, 0.98 * self.running_loss + 0.02 * batch_loss)
        totals = context.all_reduce_sum(torch.tensor(numbers, dtype=torch.float64)).tolist()
        state.step += 1
        state.epoch, state.batch = prepared.epoch, prepared.number + 1
        state.examples += int(totals[0])
        state.nodes += int(totals[1])
        state.padded_nodes += int(totals[2])
        return [total > 0 for total in totals[3:]]

    def lr_factor(self, epoch: int = 0) -> float:
        """The fraction of the peak learning rate in the next step, which belongs to an epoch."""
        if (last := self.task.last_phase) and epoch >= last[0]:
            return last[2] * (1 - (epoch - last[0]) / last[1])
        warmup = min(1.0, (self.state.step + 1) / max(1, self.config.warmup_steps))
        return warmup * SCHEDULES[self.config.lr_scheduler](self.state.examples / max(1, self.first_examples))

    def _log_record(self) -> LogRecord:
        state = self.state
        seconds = max(1e-9, state.seconds)
        examples_per_second = state.examples / seconds
        return {
            "examples": state.examples,
            "total_examples": self.total_examples,
            "epoch": state.epoch,
            "step": state.step,
            "loss": float(self.running_loss),
            "learning_rate": self.config.learning_rate * self.lr_factor(state.epoch),
            "seconds": state.seconds,
            "examples_per_second": examples_per_second,
            "nodes_per_second": state.nodes / seconds,
            "seconds_left": max(0, self.total_examples - state.examples) / max(1e-9, examples_per_second),
            "data_wait": state.data_wait_seconds / seconds,
            "padding": 1 - state.nodes / max(1, state.padded_nodes),
        }

    def _evaluate(self, on_log: Callable[[LogRecord], None]) -> None:
        """Evaluate on the validation split, and save the weights if they are the best."""
        state, config, selection_metric = self.state, self.config, self.task.selection_metric
        while state.next_eval <= state.examples:
            state.next_eval += config.eval_every_examples
        # The main process evaluates alone: it takes little time, and metrics of shards need not add up.
        metrics = self.context.on_main_process(
            lambda: (
                evaluate(self.task, self.model, "validation", config.eval_examples).compute()
                | further_metrics(self.task, self.model)
            )
        )
        keeps_latest = self.task.keeps_latest(state.epoch)
        is_best = keeps_latest or metrics[selection_metric] > state.best
        if not keeps_latest:
            state.evals_since_best = 0 if is_best else state.evals_since_best + 1
            state.best = max(state.best, metrics[selection_metric])
        record = self._log_record() | {"validation": metrics}

        def write() -> None:
            if is_best:
                self._write_weights()
            path = self.folder / METRICS
            with explain_write_errors(path), path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(record) + "\n")
            on_log(record)

        self.context.on_main_process(write)

    def _write_weights(self, only_first: bool = False) -> None:
        if not (only_first and (self.folder / WEIGHTS).exists()):
            write_tensors(self.folder / WEIGHTS, self.model.state_dict())

    def save(self) -> None:
        """Write everything that is needed to resume."""
        tensors = {f"model.{name}": tensor for name, tensor in self.model.state_dict().items()}
        for name, parameter in self.model.named_parameters():
            for key, value in self._states[parameter][parameter].items():
                tensors[f"optimizer.{name}.{key}"] = value
        tensors["running_loss"] = self.running_loss
        metadata = {key: repr(value) for key, value in vars(self.state).items()}
        self.context.on_main_process(lambda: write_tensors(self.folder / STATE, tensors, metadata))

    def load(self) -> None:
        """Resume from the last checkpoint; without one, start from the beginning."""
        self.context.on_main_process(self._load)  # so that an error is reported once
        if not self.context.is_main_process:
            self._load()

    def _load(self) -> None:
        path = self.folder / STATE
        if path.exists():
            tensors, metadata = read_tensors(path)
            try:
                check_finite(path, _below("model.", tensors))
                self.model.load_state_dict(_below("model.", tensors))
                for name, parameter in self.model.named_parameters():
                    if state := _below(f"optimizer.{name}.", tensors):  # an unused parameter has no state
                        if any(value.dim() and value.shape != parameter.shape for value in state.values()):
                            raise ValueError(f"the optimizer state of {name} has another shape than {name}")
                        device = self.context.device
                        self._states[parameter][parameter] = {key: value.to(device) for key, value in state.items()}
                self.running_loss = tensors["running_loss"].to(self.context.device)
                types: dict[str, Any] = TrainerState.__annotations__
                self.state = TrainerState(**{name: convert(metadata[name]) for name, convert in types.items()})
            except (KeyError, ValueError, RuntimeError) as error:
                raise RunError(
                    f"{path} does not match this version of rarename or the run's settings ({error}); resume with the "
                    "version that started the run, or start again in another folder"
                ) from error
            if self.state.best >= 0 or (self.folder / WEIGHTS).exists():
                read_tensors(self.folder / WEIGHTS)  # they may remain the best: find damage now, not at the end
        if self.context.is_main_process:
            self._drop_later_metrics()

    def _drop_later_metrics(self) -> None:
        """Drop evaluations made after the checkpoint, which are repeated, and a line that was cut off."""
        path, kept = self.folder / METRICS, ""
        if not path.exists():
            return
        for line in path.read_text(encoding="utf-8", errors="replace").splitlines(keepends=True):
            try:
                is_later = json.loads(line)["examples"] > self.state.examples
            except (ValueError, KeyError, TypeError, RecursionError):
                break
            if is_later or not line.endswith("\n"):
                break
            kept += line
        write_text(path, kept)


def _below(prefix: str, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}


def to_device(batch: Batch, device: torch.device) -> Batch:
    """Turn the arrays of a batch into tensors on a device."""
    return map_arrays(batch, lambda array: torch.from_numpy(array).to(device, non_blocking=True))


def further_metrics(task: Task, model: nn.Module) -> dict[str, float]:
    """Metrics of other examples than those of the corpus."""
    was_training = model.training
    metrics = task.further_metrics(model.eval())
    model.train(was_training)
    return metrics


def evaluate(
    task: Task, model: nn.Module, split: str, limit: int = 0, on_advance: Callable[[int], None] = lambda _: None
) -> Metrics:
    """Evaluate a model on a split, or on `limit` functions or windows of it."""
    metrics = task.new_metrics(split)
    was_training = model.training
    device = next(model.parameters()).device
    model.eval()
    with torch.inference_mode():
        for batch in task.eval_batches(split, limit):
            moved = to_device(batch, device)
            metrics.update(model(**moved.inputs()), moved)
            on_advance(len(batch))
    model.train(was_training)
    return metrics
