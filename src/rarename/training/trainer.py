"""Weights from batches: one loop, and a state that can be saved and taken up again, bit for bit."""

import dataclasses
import json
import math
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from rarename.errors import RunError, UnknownName, check_least
from rarename.io import write_text
from rarename.tasks.task import Counts, Task
from rarename.training.checkpoint import read_tensors as read_tensors
from rarename.training.checkpoint import words_for_failure, write_tensors
from rarename.training.distributed import Processes

WEIGHTS, STATE, METRICS = "weights.safetensors", "state.safetensors", "metrics.jsonl"

SCHEDULES: dict[str, Callable[[float], float]] = {
    "constant": lambda done: 1.0,
    "linear": lambda done: max(0.0, 1.0 - done),
    "cosine": lambda done: 0.5 * (1.0 + math.cos(math.pi * min(1.0, done))),
}
"""The learning rate, as a share of the largest, by the share of training that is done."""


@dataclass(frozen=True)
class TrainingConfig:
    """How weights are learned."""

    epochs: float = 25.0
    """Passes over the training examples; need not be whole."""
    batch_nodes: int = 4_000
    """Nodes of a batch, padding included."""
    learning_rate: float = 1e-5
    schedule: str = "constant"
    """A key of `SCHEDULES`."""
    warmup: int = 0
    """Steps in which the learning rate grows to its full size."""
    weight_decay: float = 0.01
    clip: float = 1.0
    """The largest norm of a gradient; larger ones are scaled down. 0 leaves all as they are."""
    validate_every: int = 50_000
    """Examples between two looks at the validation split."""
    validation_snippets: int = 2_000
    """How many of its functions or windows are looked at then."""
    patience: int = 0
    """So many looks without a better score end training early; 0 lets it go on to the end."""
    save_every: float = 60.0
    """Seconds between two saved states."""

    def __post_init__(self) -> None:
        if self.schedule not in SCHEDULES:
            raise UnknownName("schedule", self.schedule, SCHEDULES)
        check_least(self, batch_nodes=1, warmup=0, weight_decay=0, clip=0, validate_every=1, validation_snippets=1)
        check_least(self, learning_rate=0, patience=0, save_every=0)
        if not self.epochs > 0:
            raise ValueError(f"epochs is {self.epochs}; it must be above 0")


class Outcome(Enum):
    """How training ended; true if there is nothing left to do."""

    FINISHED = "finished"
    EARLY = "stopped early"
    """No better score for as long as the setting has patience."""
    INTERRUPTED = "interrupted"
    """By the time limit or by the user; it can go on."""

    def __bool__(self) -> bool:
        return self is not Outcome.INTERRUPTED


@dataclass
class Position:
    """How far training is: all of it is saved, and besides the times it is the same in every process."""

    epoch: int = 0
    batch: int = 0
    """Batches of the epoch that are done."""
    step: int = 0
    examples: int = 0
    nodes: int = 0
    places: int = 0
    """Nodes and padding."""
    seconds: float = 0.0
    waiting: float = 0.0
    """Of these seconds, those in which the next batch was not there yet."""
    best: float = -1.0
    stale: int = 0
    """Looks at the validation split since the best."""
    next_validation: int = 0


@dataclass(frozen=True)
class _Coming:
    """A batch, and which one it is."""

    epoch: int
    number: int
    batch: Any
    weight: int
    """0 if it is only there to keep a process busy."""


class Trainer:
    """The training of one model, in a folder that holds its state."""

    def __init__(
        self,
        task: Task,
        model: nn.Module,
        config: TrainingConfig,
        folder: Path,
        seed: int = 0,
        processes: Processes = Processes(),  # noqa: B008, frozen
    ) -> None:
        self.task, self.config, self.folder, self.seed, self.processes = task, config, folder, seed, processes
        self.model = model.to(processes.device)
        self.position = Position(next_validation=config.validate_every)
        self.total = max(1, task.num_examples(config.epochs))
        self.optimizer = torch.optim.AdamW(
            model.parameters(), lr=config.learning_rate, betas=(0.9, 0.98), weight_decay=config.weight_decay, fused=True
        )
        self.running = torch.full((), math.nan, device=processes.device)
        """The loss of the last steps, the last one weighing most."""
        self._can_mix = processes.device.type == "cuda" and torch.cuda.is_bf16_supported()

    @property
    def outcome(self) -> Outcome | None:
        """Whether training is over, and how."""
        if self.position.examples >= self.total:
            return Outcome.FINISHED
        return Outcome.EARLY if 0 < self.config.patience <= self.position.stale else None

    def run(
        self,
        time_limit: float = math.inf,
        tell: Callable[[dict[str, Any]], None] = lambda _: None,
        is_interrupted: Callable[[], bool] = lambda: False,
    ) -> Outcome:
        """Train to the end, or until the time is up or somebody interrupts; only the first process tells."""
        position, began = self.position, time.monotonic()
        saved, before = began, position.seconds
        if self.outcome:
            return self.outcome
        self.model.train()
        for coming in self._coming():
            now = time.monotonic()
            # The processes do not read the same time: what one of them wants, all do, after the same step.
            wishes = (is_interrupted() or now - began > time_limit, now - saved > self.config.save_every)
            must_stop, must_save = self._step(coming, wishes)
            position.seconds = before + time.monotonic() - began
            if position.step % 20 == 0 and self.processes.is_first:
                tell(self._progress())
            if position.examples >= min(self.total, position.next_validation):
                self._validate(tell)
            if self.outcome or must_stop or must_save:
                self.save()
                saved = time.monotonic()
            if self.outcome or must_stop:
                self.processes.by_first(self._write_first_weights)
                return self.outcome or Outcome.INTERRUPTED
        raise AssertionError("batches do not end")

    def _coming(self) -> Iterator["_Coming"]:
        """The batches from here on, epoch after epoch; while one is learned from, a thread makes the next."""
        with ThreadPoolExecutor(1) as pool:
            before: Future[_Coming] | None = None
            for epoch, number, indexes in self._order(self.position.epoch, self.position.batch):
                following = pool.submit(self._make, epoch, number, indexes)
                if before is not None:
                    yield self._wait(before)
                before = following
        raise AssertionError("epochs do not end")

    def _order(self, epoch: int, batch: int) -> Iterator[tuple[int, int, list[int]]]:
        """Epoch, number and indexes of each batch, from a certain one on, without end."""
        while True:
            for number, indexes in enumerate(self.task.batches(epoch)):
                if number >= batch:
                    yield epoch, number, indexes
            epoch, batch = epoch + 1, 0

    def _make(self, epoch: int, number: int, indexes: list[int]) -> "_Coming":
        share = self.processes.share(indexes)
        # A process without a share works on that of another, and counts it as nothing: fewer cases, no time lost.
        return _Coming(epoch, number, self.task.batch(share or indexes[:1], epoch), 1 if share else 0)

    def _wait(self, coming: "Future[_Coming]") -> "_Coming":
        began = time.monotonic()
        result = coming.result()
        self.position.waiting += time.monotonic() - began
        return result

    def _step(self, coming: "_Coming", wishes: tuple[bool, bool]) -> list[bool]:
        """Learn from a batch; returns what any of the processes wishes."""
        position, processes = self.position, self.processes
        batch, weight = coming.batch, coming.weight
        numbers = [weight * len(batch), weight * int(batch.is_node.sum()), weight * batch.is_node.numel(), *wishes]
        batch = batch.to(processes.device)
        # Dropout is drawn from the step's own seed, so no state of a generator needs to be saved for each process.
        torch.manual_seed(int(np.random.SeedSequence([self.seed, position.step, processes.rank]).generate_state(1)[0]))
        for group in self.optimizer.param_groups:
            group["lr"] = self._learning_rate()
        with torch.autocast(processes.device.type, torch.bfloat16, enabled=self._can_mix):
            loss = self.task.loss(self.model(batch), batch)
        part = weight * loss.over(processes.add_up(weight * loss.counts))
        self.optimizer.zero_grad(set_to_none=True)
        part.backward()  # type: ignore[no-untyped-call]
        whole = processes.add_gradients(self.model, part.detach())
        if self.config.clip:
            nn.utils.clip_grad_norm_(self.model.parameters(), self.config.clip)
        self.optimizer.step()
        self.running = torch.where(self.running.isnan(), whole, 0.98 * self.running + 0.02 * whole)
        examples, nodes, places, *wanted = processes.add_up(torch.tensor(numbers, dtype=torch.float64)).tolist()
        position.step += 1
        position.epoch, position.batch = coming.epoch, coming.number + 1
        position.examples += int(examples)
        position.nodes += int(nodes)
        position.places += int(places)
        return [wish > 0 for wish in wanted]

    def _learning_rate(self) -> float:
        config, position = self.config, self.position
        warm = min(1.0, (position.step + 1) / config.warmup) if config.warmup else 1.0
        return config.learning_rate * warm * SCHEDULES[config.schedule](position.examples / self.total)

    def _progress(self) -> dict[str, Any]:
        position = self.position
        seconds = max(1e-9, position.seconds)
        rate = position.examples / seconds
        return {
            "examples": position.examples,
            "total_examples": self.total,
            "epoch": position.epoch,
            "step": position.step,
            "loss": float(self.running),
            "learning_rate": self._learning_rate(),
            "seconds": position.seconds,
            "examples_per_second": rate,
            "nodes_per_second": position.nodes / seconds,
            "seconds_left": max(0, self.total - position.examples) / max(1e-9, rate),
            "waiting": position.waiting / seconds,
            "padding": 1 - position.nodes / max(1, position.places),
        }

    def _validate(self, tell: Callable[[dict[str, Any]], None]) -> None:
        """Look at the validation split, and keep the weights if they are the best."""
        position, config = self.position, self.config
        while position.next_validation <= position.examples:
            position.next_validation += config.validate_every
        # The first process looks alone; the scores of parts of a split need not add up, and it is a short look.
        scores = self.processes.by_first(
            lambda: measure(self.task, self.model, "validation", config.validation_snippets).scores()
        )
        is_better = scores[self.task.best] > position.best
        if self.task.is_warming_up(position.epoch):
            is_better = True  # the last weights stand until there are some to compare
        else:
            position.stale = 0 if is_better else position.stale + 1
            position.best = max(position.best, scores[self.task.best])
        told = self._progress() | {"validation": scores}

        def write() -> None:
            if is_better:
                write_tensors(self.folder / WEIGHTS, self.model.state_dict())
            with words_for_failure(self.folder / METRICS), (self.folder / METRICS).open("a", encoding="utf-8") as file:
                file.write(json.dumps(told) + "\n")
            tell(told)

        self.processes.by_first(write)

    def _write_first_weights(self) -> None:
        """Stopped before the first look at the validation split, a run can be tried out all the same."""
        if not (self.folder / WEIGHTS).exists():
            write_tensors(self.folder / WEIGHTS, self.model.state_dict())

    def save(self) -> None:
        """Write all that is needed to go on."""
        tensors = {f"model.{name}": tensor for name, tensor in self.model.state_dict().items()}
        for name, parameter in self.model.named_parameters():
            for key, value in self.optimizer.state[parameter].items():
                tensors[f"optimizer.{name}.{key}"] = value
        tensors["running"] = self.running
        position = {f"position.{key}": repr(value) for key, value in vars(self.position).items()}
        self.processes.by_first(lambda: write_tensors(self.folder / STATE, tensors, position))

    def load(self) -> None:
        """Take up what `save` wrote; without it, begin anew."""
        self.processes.by_first(self._load)  # what is wrong with the file is told once
        if not self.processes.is_first:
            self._load()

    def _load(self) -> None:
        path = self.folder / STATE
        if path.exists():
            tensors, metadata = read_tensors(path)
            try:
                self._take_up(tensors, metadata)
            except (KeyError, ValueError, RuntimeError) as error:
                raise RunError(
                    f"{path} does not fit this version of rarename or the run's settings ({error}); go on with the "
                    "version that began the run, or begin it anew in another folder"
                ) from error
            if self.position.best >= 0 or (self.folder / WEIGHTS).exists():
                read_tensors(self.folder / WEIGHTS)  # they may stay the best: better to know now that they are damaged
        if self.processes.is_first:
            self._forget_later_metrics()

    def _take_up(self, tensors: dict[str, Tensor], metadata: dict[str, str]) -> None:
        device = self.processes.device
        self.model.load_state_dict({k[6:]: v for k, v in tensors.items() if k.startswith("model.")})
        for name, parameter in self.model.named_parameters():
            prefix = f"optimizer.{name}."
            state = {k[len(prefix) :]: v.to(device) for k, v in tensors.items() if k.startswith(prefix)}
            if state:  # a parameter that was never used has none
                self.optimizer.state[parameter] = state
        self.running = tensors["running"].to(device)
        for entry in dataclasses.fields(Position):
            kind: Any = entry.type
            setattr(self.position, entry.name, kind(metadata[f"position.{entry.name}"]))

    def _forget_later_metrics(self) -> None:
        """Drop what was measured after the state was saved: it will be measured again. A line may be torn."""
        path = self.folder / METRICS
        if path.exists():
            kept = []
            for line in path.read_text(encoding="utf-8", errors="replace").splitlines(keepends=True):
                try:
                    is_later = json.loads(line)["examples"] > self.position.examples
                except (ValueError, KeyError, TypeError):
                    break
                if is_later or not line.endswith("\n"):
                    break
                kept.append(line)
            write_text(path, "".join(kept))


def measure(
    task: Task, model: nn.Module, split: str, limit: int = 0, tell: Callable[[int], None] = lambda _: None
) -> Counts:
    """What a model answers on a split, or on so many of its examples; `tell` hears how many were added."""
    counts = task.counts(split)
    was_training = model.training
    device = next(model.parameters()).device
    model.eval()
    with torch.inference_mode():
        for batch in task.measured(split, limit):
            moved = batch.to(device)
            counts.add(model(moved), moved)
            tell(len(batch))
    model.train(was_training)
    return counts
