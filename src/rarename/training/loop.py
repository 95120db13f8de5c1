"""Weights from batches: one loop, and a state that can be saved and taken up again, bit for bit."""

import json
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from rarename.errors import RunError, UnknownName
from rarename.files import replacing, write_text
from rarename.tasks.task import Task

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
    """The largest norm of a gradient; larger ones are scaled down."""
    validate_every: int = 50_000
    """Examples between two looks at the validation split."""
    validation_functions: int = 2_000
    """How many of its functions are looked at then."""
    save_every: float = 60.0
    """Seconds between two saved states."""

    def __post_init__(self) -> None:
        if self.schedule not in SCHEDULES:
            raise UnknownName("schedule", self.schedule, SCHEDULES)


@dataclass
class Position:
    """How far training is."""

    epoch: int = 0
    batch: int = 0
    """Batches of the epoch that are done."""
    step: int = 0
    examples: int = 0
    nodes: int = 0
    seconds: float = 0.0
    best: float = -1.0
    next_validation: int = 0


class Trainer:
    """The training of one model, in a folder that holds its state."""

    def __init__(self, task: Task, model: nn.Module, config: TrainingConfig, folder: Path) -> None:
        self.task, self.model, self.config, self.folder = task, model, config, folder
        self.position = Position(next_validation=config.validate_every)
        self.total = max(1, round(config.epochs * task.num_examples()))
        self.optimizer = torch.optim.AdamW(
            model.parameters(), lr=config.learning_rate, betas=(0.9, 0.98), weight_decay=config.weight_decay, fused=True
        )

    def run(self, time_limit: float = math.inf, tell: Callable[[dict[str, Any]], None] = lambda _: None) -> bool:
        """Train to the end, or until the time is up; returns whether the end was reached."""
        position, began = self.position, time.monotonic()
        saved, before = began, position.seconds
        running: Tensor | None = None
        self.model.train()
        while position.examples < self.total:
            for number, indexes in enumerate(self.task.batches(position.epoch)):
                if number < position.batch:
                    continue
                loss = self._step(indexes)
                running = loss if running is None else 0.98 * running + 0.02 * loss
                position.batch += 1
                now = time.monotonic()
                position.seconds = before + now - began
                if position.step % 20 == 0:
                    tell(self._progress(float(running)))
                is_done = position.examples >= self.total
                if is_done or position.examples >= position.next_validation:
                    self._validate(float(running), tell)
                if is_done or now - began > time_limit or now - saved > self.config.save_every:
                    self.save()
                    saved = now
                if is_done or now - began > time_limit:
                    return is_done
            position.epoch, position.batch = position.epoch + 1, 0
        return True

    def _step(self, indexes: list[int]) -> Tensor:
        position = self.position
        batch = self.task.batch(indexes, position.epoch)
        for group in self.optimizer.param_groups:
            group["lr"] = self._learning_rate()
        loss = self.task.loss(self.model(batch), batch).mean()
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(self.model.parameters(), self.config.clip)
        self.optimizer.step()
        position.step += 1
        position.examples += len(batch)
        position.nodes += int(batch.is_node.sum())
        return loss.detach()

    def _learning_rate(self) -> float:
        config, position = self.config, self.position
        warm = min(1.0, (position.step + 1) / config.warmup) if config.warmup else 1.0
        return config.learning_rate * warm * SCHEDULES[config.schedule](position.examples / self.total)

    def _progress(self, loss: float) -> dict[str, Any]:
        position = self.position
        rate = position.examples / max(1e-9, position.seconds)
        return {
            "examples": position.examples,
            "epoch": position.epoch,
            "step": position.step,
            "loss": loss,
            "seconds": position.seconds,
            "examples_per_second": rate,
            "nodes_per_second": position.nodes / max(1e-9, position.seconds),
            "seconds_left": max(0, self.total - position.examples) / max(1e-9, rate),
        }

    def _validate(self, loss: float, tell: Callable[[dict[str, Any]], None]) -> None:
        """Look at the validation split, and keep the weights if they are the best."""
        position = self.position
        while position.next_validation <= position.examples:
            position.next_validation += self.config.validate_every
        scores = measure(self.task, self.model, "validation", self.config.validation_functions)
        told = self._progress(loss) | {"validation": scores}
        if scores[self.task.best] > position.best:
            position.best = scores[self.task.best]
            save_weights(self.model, self.folder / "weights.safetensors")
        with (self.folder / "metrics.jsonl").open("a", encoding="utf-8") as file:
            file.write(json.dumps(told) + "\n")
        tell(told)

    def save(self) -> None:
        """Write all that is needed to go on."""
        tensors = {f"model.{name}": tensor for name, tensor in self.model.state_dict().items()}
        for name, parameter in self.model.named_parameters():
            for key, value in self.optimizer.state[parameter].items():
                tensors[f"optimizer.{name}.{key}"] = value
        tensors["generator"] = torch.get_rng_state()
        position = {f"position.{key}": repr(value) for key, value in vars(self.position).items()}
        with replacing(self.folder / "state.safetensors") as path:
            save_file(tensors, path, metadata=position)

    def load(self) -> None:
        """Take up what `save` wrote."""
        path = self.folder / "state.safetensors"
        tensors, metadata = read_tensors(path)
        self.model.load_state_dict({k[6:]: v for k, v in tensors.items() if k.startswith("model.")})
        for name, parameter in self.model.named_parameters():
            prefix = f"optimizer.{name}."
            self.optimizer.state[parameter] = {k[len(prefix) :]: v for k, v in tensors.items() if k.startswith(prefix)}
        torch.set_rng_state(tensors["generator"])
        for key, kind in (("epoch", int), ("batch", int), ("step", int), ("examples", int), ("nodes", int),
                          ("seconds", float), ("best", float), ("next_validation", int)):  # fmt: skip
            setattr(self.position, key, kind(metadata[f"position.{key}"]))
        self._forget_later_metrics()

    def _forget_later_metrics(self) -> None:
        """Drop what was measured after the state was saved: it will be measured again."""
        path = self.folder / "metrics.jsonl"
        if path.exists():
            lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
            kept = [line for line in lines if json.loads(line)["examples"] <= self.position.examples]
            write_text(path, "".join(kept))


def measure(task: Task, model: nn.Module, split: str, limit: int = 0) -> dict[str, float]:
    """The scores of a model on a split, or on so many of its examples."""
    counts = task.counts()
    was_training = model.training
    model.eval()
    with torch.inference_mode():
        for batch in task.measured(split, limit):
            counts.add(model(batch), batch)
    model.train(was_training)
    return counts.scores()


def save_weights(model: nn.Module, path: Path) -> None:
    """Write a model's weights, whole or not at all."""
    with replacing(path) as temporary:
        save_file(model.state_dict(), temporary)


def read_tensors(path: Path) -> tuple[dict[str, Tensor], dict[str, str]]:
    """The tensors of a file, and what is written beside them."""
    try:
        tensors = load_file(path)
        with safe_open(path, framework="pt") as file:
            return tensors, dict(file.metadata() or {})
    except (OSError, SafetensorError) as error:
        raise RunError(f"{path} is missing or damaged: {error}") from error
