"""The training recipe on a task with one parameter vector: no corpus, no Transformer."""

import json
import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from rarename.config import TrainingConfig
from rarename.tasks.batch import Batch
from rarename.tasks.task import Loss
from rarename.training import trainer as trainers
from rarename.training.checkpoint import read_tensors
from rarename.training.distributed import DistributedContext
from rarename.training.trainer import SCHEDULES, StopReason, Trainer, evaluate

pytestmark = pytest.mark.usefixtures("one_thread")

PLAIN = TrainingConfig(
    num_epochs=1.0,
    learning_rate=0.1,
    weight_decay=0.0,
    max_grad_norm=0.0,
    eval_every_examples=10**6,
    save_every_seconds=1e9,
)


class ToyModel(torch.nn.Module):
    """Three weights that start at 1."""

    def __init__(self):
        super().__init__()
        self.weights = torch.nn.Parameter(torch.ones(3))

    def forward(self, types, values, attention_mask):
        return self.weights


class ToyTask:
    """An epoch has `num_batches` batches of two examples; the loss is `slope` · Σ weights."""

    selection_metric = "score"
    last_phase = None

    def __init__(self, num_batches=10, slope=1.0, scores=(), num_multi_bug_epochs=0):
        self.num_batches, self.slope, self.scores = num_batches, slope, list(scores)
        self.num_multi_bug_epochs = num_multi_bug_epochs
        self.evaluated_at, self.limits, self.made = [], [], []

    def num_examples(self, num_epochs=1.0):
        return round(2 * self.num_batches * num_epochs)

    def num_last_examples(self):
        return 0

    def mines(self, epoch):
        return False

    def further_metrics(self, model):
        return {}

    def keeps_latest(self, epoch):
        return epoch < self.num_multi_bug_epochs

    def batches(self, epoch):
        return ([2 * number, 2 * number + 1] for number in range(self.num_batches))

    def make_batch(self, indexes, epoch):
        self.made.append((epoch, tuple(indexes)))
        mask = np.array([[True, True], [True, False]])[: len(indexes)]
        return Batch(np.zeros_like(mask, dtype=np.int64), np.zeros_like(mask, dtype=np.int64), mask)

    def eval_batches(self, split, limit):
        self.limits.append((split, limit))
        yield self.make_batch([0], 0)

    def loss(self, output, batch):
        return Loss((self.slope * output.sum()).reshape(1), torch.ones(1, dtype=torch.int64))

    def new_metrics(self, split):
        score = self.scores[len(self.evaluated_at)] if self.scores else 0.0
        self.evaluated_at.append(len(self.evaluated_at))
        return SimpleNamespace(update=lambda output, batch: None, compute=lambda: {"score": score})


def make_trainer(folder, task=None, **settings):
    return Trainer(task or ToyTask(), ToyModel(), replace(PLAIN, **settings), folder)


def recorded_steps(trainer, monkeypatch):
    """Train; return learning rate and gradient norm of each step."""
    steps, step = [], trainer.optimizers[0].step

    def record():
        norm = torch.linalg.vector_norm(trainer.model.weights.grad).item()
        steps.append((trainer.optimizers[0].param_groups[0]["lr"], norm))
        step()

    monkeypatch.setattr(trainer.optimizers[0], "step", record)
    assert trainer.run() is StopReason.COMPLETED
    return [list(column) for column in zip(*steps, strict=True)]


@pytest.mark.parametrize(
    ("name", "schedule"),
    [
        ("constant", lambda done: 1),
        ("linear", lambda done: 1 - done),
        ("cosine", lambda done: (1 + math.cos(math.pi * done)) / 2),
    ],
)
@pytest.mark.parametrize("warmup_steps", [0, 4])
def test_the_learning_rate_of_each_step(name, schedule, warmup_steps, tmp_path, monkeypatch):
    trainer = make_trainer(tmp_path, lr_scheduler=name, warmup_steps=warmup_steps)
    learning_rates, _ = recorded_steps(trainer, monkeypatch)
    warmup = [min(1, (step + 1) / 4) if warmup_steps else 1 for step in range(10)]
    assert learning_rates == pytest.approx([0.1 * warmup[step] * schedule(step / 10) for step in range(10)])


def test_schedules_do_not_rise_after_the_end():
    assert {name: schedule(1.5) for name, schedule in SCHEDULES.items()} == {"constant": 1, "linear": 0, "cosine": 0}


@pytest.mark.parametrize(("max_grad_norm", "norm"), [(0.5, 0.5), (0.0, 100 * 3**0.5), (1e6, 100 * 3**0.5)])
def test_gradients_are_clipped(max_grad_norm, norm, tmp_path, monkeypatch):
    trainer = make_trainer(tmp_path, ToyTask(slope=100.0), max_grad_norm=max_grad_norm)
    _, norms = recorded_steps(trainer, monkeypatch)
    assert norms == pytest.approx([norm] * 10, rel=1e-4)


def test_weight_decay_and_betas_of_adamw(tmp_path):
    trainer = make_trainer(tmp_path, ToyTask(num_batches=1, slope=0.0), weight_decay=0.3)
    assert trainer.optimizers[0].param_groups[0]["betas"] == (0.9, 0.98)
    assert isinstance(trainer.optimizers[0], torch.optim.AdamW)
    trainer.run()
    assert trainer.model.weights.tolist() == pytest.approx([1 - 0.1 * 0.3] * 3)


def test_training_stops_after_the_given_epochs(tmp_path):
    task = ToyTask(num_batches=3)
    trainer = make_trainer(tmp_path, task, num_epochs=2.3)  # 13.8 of 6 examples each, in batches of 2
    trainer.run()
    assert (trainer.state.epoch, trainer.state.batch, trainer.state.examples) == (2, 1, 14)
    assert task.made[:7] == [(epoch, (2 * n, 2 * n + 1)) for epoch in range(3) for n in range(3)][:7]
    assert (trainer.state.step, trainer.state.nodes, trainer.state.padded_nodes) == (7, 21, 28)


def evaluations(folder):
    return [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]


@pytest.mark.parametrize(("every", "expected"), [(6, [6, 12, 18, 20]), (7, [8, 14, 20]), (100, [20])])
def test_evaluations_come_at_the_interval_and_at_the_end(every, expected, tmp_path):
    task = ToyTask()
    make_trainer(tmp_path, task, eval_every_examples=every, eval_examples=17).run()
    assert [line["examples"] for line in evaluations(tmp_path)] == expected
    assert set(task.limits) == {("validation", 17)}


def weights_in(folder):
    return read_tensors(folder / "model.safetensors")[0]["weights"][0].item()


def test_the_weights_with_the_best_metric_are_kept(tmp_path):
    scores, saved = [0.2, 0.5, 0.5, 0.4, 0.1], []
    task = ToyTask(scores=scores)
    trainer = make_trainer(tmp_path, task, eval_every_examples=4)
    trainer.run(on_log=lambda record: saved.append((weights_in(tmp_path), trainer.model.weights[0].item())))
    assert [line["validation"]["score"] for line in evaluations(tmp_path)] == scores
    best = saved[1][1]
    assert [weights for weights, _ in saved] == [saved[0][1], best, best, best, best]  # the first of equals
    assert (trainer.state.best, weights_in(tmp_path)) == (0.5, best)
    assert trainer.state.evals_since_best == 3


@pytest.mark.parametrize(("patience", "num_evaluations"), [(0, 5), (1, 3), (2, 4), (3, 5)])
def test_training_stops_early_after_evaluations_without_improvement(patience, num_evaluations, tmp_path):
    task = ToyTask(scores=[0.2, 0.5, 0.5, 0.4, 0.1])
    trainer = make_trainer(tmp_path, task, eval_every_examples=4, early_stopping_patience=patience)
    assert trainer.run() is (StopReason.EARLY_STOPPED if num_evaluations < 5 else StopReason.COMPLETED)
    assert len(evaluations(tmp_path)) == num_evaluations
    assert trainer.run() is trainer.stop_reason  # nothing is trained again
    assert len(evaluations(tmp_path)) == num_evaluations


def test_metrics_of_multi_bug_epochs_select_nothing(tmp_path):
    task = ToyTask(num_batches=4, scores=[1.0, 1.0, 0.1, 0.3, 0.2, 0.2], num_multi_bug_epochs=1)
    trainer = make_trainer(tmp_path, task, num_epochs=3.0, eval_every_examples=4, early_stopping_patience=4)
    saved = []
    trainer.run(on_log=lambda record: saved.append((weights_in(tmp_path), trainer.model.weights[0].item())))
    assert (trainer.state.best, trainer.state.evals_since_best) == (0.3, 2)
    assert [weights == current for weights, current in saved] == [True, True, True, True, False, False]


def test_the_running_loss_is_a_moving_average(tmp_path):
    trainer = make_trainer(tmp_path, ToyTask(num_batches=3))
    records = []
    trainer.run(on_log=records.append)
    losses = [3 - 0.3 * step for step in range(3)]  # Adam moves each weight by the learning rate
    expected = losses[0]
    for loss in losses[1:]:
        expected = 0.98 * expected + 0.02 * loss
    assert records[-1]["loss"] == pytest.approx(expected, rel=1e-4)
    assert records[-1]["padding"] == pytest.approx(0.25)


def test_log_records_come_every_twenty_steps(tmp_path):
    records = []
    make_trainer(tmp_path, ToyTask(num_batches=50)).run(on_log=records.append)
    assert [(record["step"], "validation" in record) for record in records] == [(20, False), (40, False), (50, True)]
    assert records[0]["total_examples"] == 100


def test_dropout_has_its_own_seed_for_each_step_seed_and_process(tmp_path, monkeypatch):
    drawn = []
    monkeypatch.setattr(torch, "manual_seed", drawn.append)
    for seed, rank in ((0, 0), (1, 0), (0, 1)):
        Trainer(ToyTask(num_batches=4), ToyModel(), PLAIN, tmp_path, seed, DistributedContext(rank)).run()
    assert len(set(drawn)) == len(drawn) == 16  # the second process has one example in each of 8 steps


def test_a_resumed_run_continues_at_the_same_batch(tmp_path):
    once, parts = ToyTask(num_batches=3), ToyTask(num_batches=3)
    for name in ("once", "parts"):
        (tmp_path / name).mkdir()
    settings = {"num_epochs": 3.0, "eval_every_examples": 5, "lr_scheduler": "cosine", "warmup_steps": 5}
    whole = make_trainer(tmp_path / "once", once, **settings)
    whole.run()
    num_lives = 0
    while True:
        trainer = make_trainer(tmp_path / "parts", parts, **settings)
        trainer.load()
        num_lives += 1
        if trainer.run(time_limit=-1.0):
            break
    assert num_lives == 9
    assert torch.equal(trainer.model.weights, whole.model.weights)
    times = {"seconds", "data_wait_seconds"}
    assert {k: v for k, v in vars(trainer.state).items() if k not in times} == {
        k: v for k, v in vars(whole.state).items() if k not in times
    }
    assert torch.equal(trainer.running_loss, whole.running_loss)
    assert [line["examples"] for line in evaluations(tmp_path / "parts")] == [6, 10, 16, 18]


def test_an_evaluation_that_was_cut_off_is_dropped(tmp_path):
    make_trainer(tmp_path, eval_every_examples=6).run()
    path = tmp_path / "metrics.jsonl"
    path.write_text(path.read_text().removesuffix("\n"))
    make_trainer(tmp_path).load()
    assert [line["examples"] for line in evaluations(tmp_path)] == [6, 12, 18]


def test_a_checkpoint_is_written_when_its_time_has_come(tmp_path, monkeypatch):
    clock = iter(range(0, 10_000, 5))
    monkeypatch.setattr(trainers.time, "monotonic", lambda: next(clock))
    trainer = make_trainer(tmp_path, save_every_seconds=40.0)
    saved, save = [], trainer.save
    monkeypatch.setattr(trainer, "save", lambda: (saved.append(trainer.state.step), save()))
    trainer.run()
    assert saved == [3, 6, 9, 10]  # each step asks for the time four times, a checkpoint once


def test_evaluation_turns_dropout_off_and_on_again():
    model, modes = ToyModel(), []
    task = ToyTask()
    task.new_metrics = lambda split: SimpleNamespace(update=lambda output, batch: modes.append(model.training))
    evaluate(task, model.train(), "test")
    assert (modes, model.training) == ([False], True)
    evaluate(task, model.eval(), "test")
    assert not model.training
