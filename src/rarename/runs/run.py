"""A run: one experiment, from a corpus to the best weights, as a folder.

run/
├── experiment.toml       the whole setting; running it again repeats the run
├── encoding.json         vocabulary and strategy
├── weights.safetensors   the weights that were best on the validation split
├── state.safetensors     weights, optimizer and generator as they were last, to go on from
├── metrics.jsonl         a line for each look at the validation split
└── scores-test.json      what `rarename evaluate` measured
"""

import dataclasses
import math
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import nn

from rarename import config as experiments
from rarename.config import Experiment
from rarename.corpus.store import Corpus
from rarename.encoding import Encoding
from rarename.errors import RunError, UsageError
from rarename.progress import NullProgress, Progress
from rarename.subtokens import frequent_subtokens
from rarename.tasks.task import Counts, Task
from rarename.training.checkpoint import read_tensors
from rarename.training.distributed import Processes, choose_device
from rarename.training.trainer import WEIGHTS as WEIGHTS
from rarename.training.trainer import Outcome, Trainer, measure
from rarename.vocabulary import Vocabulary

SETTING, ENCODING = "experiment.toml", "encoding.json"


def train(
    experiment: Experiment,
    folder: Path,
    *,
    resume: bool = False,
    time_limit: float = math.inf,
    tell: Callable[[dict[str, Any]], None] = lambda _: None,
    is_interrupted: Callable[[], bool] = lambda: False,
    processes: Processes | None = None,
) -> Outcome:
    """Train, or go on training; what comes of it is true if there is nothing left to do."""
    processes = processes or Processes(device=choose_device())
    with _locked(folder, processes):
        processes.by_first(lambda: _begin(experiment, folder, resume))
        task = _task(experiment, Encoding.load(folder / ENCODING))
        try:
            _check_not_empty(experiment.corpus, "train", task.num_examples())
            _check_not_empty(experiment.corpus, "validation", task.num_measured("validation"))
        except UsageError:
            processes.by_first(lambda: _take_back(folder))
            raise
        torch.manual_seed(experiment.seed)
        trainer = Trainer(task, task.build(experiment.model), experiment.training, folder, experiment.seed, processes)
        trainer.load()
        return trainer.run(time_limit, tell, is_interrupted)


@contextmanager
def _locked(folder: Path, processes: Processes) -> Iterator[None]:
    """Keep a second training out of a folder; the folder itself is the lock, which ends with the process."""
    import fcntl  # not on every system, and models are loaded from here too

    held: list[int] = []

    def lock() -> None:
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except FileExistsError as error:
            raise RunError(f"{folder} is a file; choose another folder") from error
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            held.append(descriptor)
        except BlockingIOError as error:
            os.close(descriptor)  # and leave the folder alone, though it may be empty still
            raise RunError(f"another process is training in {folder}; wait for it or stop it") from error

    try:
        processes.by_first(lock)
        yield
    finally:
        for descriptor in held:
            if folder.exists() and not any(folder.iterdir()):
                folder.rmdir()  # nothing came of it
            os.close(descriptor)


def _begin(experiment: Experiment, folder: Path, resume: bool) -> None:
    """Make the folder of a run, or see that the one that is there is what was asked for."""
    experiment = dataclasses.replace(experiment, corpus_digest=Corpus(experiment.corpus).digest())
    if (folder / SETTING).exists():
        if not resume:
            raise RunError(f"{folder} holds a run already; say --resume to go on with it, or choose another folder")
        saved = experiments.read(folder / SETTING)
        unlike = experiments.differences(dataclasses.replace(saved, corpus_digest=experiment.corpus_digest), experiment)
        if unlike:
            raise RunError(f"{folder} holds a run with other settings: {', '.join(unlike)}; choose another folder")
        _check_digest(saved, folder)
    elif folder.exists() and any(path.suffix != ".part" for path in folder.iterdir()):
        raise RunError(f"{folder} exists and is no run; choose another folder")
    for left_over in folder.glob(".*.part"):
        left_over.unlink()  # of a process that was killed while it wrote
    if not (folder / ENCODING).exists():
        encoding = make_encoding(experiment)
        folder.mkdir(parents=True, exist_ok=True)
        experiments.write(experiment, folder / SETTING)
        encoding.save(folder / ENCODING)


def _check_not_empty(corpus: str, split: str, count: int) -> None:
    if not count:
        raise UsageError(
            f"{corpus} has no file or function in its {split} split that fits the task; prepare it from more code"
        )


def _take_back(folder: Path) -> None:
    """Leave nothing of a run that cannot begin; one that has begun stays."""
    if {path.name for path in folder.iterdir()} <= {SETTING, ENCODING}:
        for name in (SETTING, ENCODING):
            (folder / name).unlink(missing_ok=True)
        folder.rmdir()


def _check_digest(experiment: Experiment, folder: Path) -> None:
    if Corpus(experiment.corpus).digest() != experiment.corpus_digest:
        raise RunError(
            f"{experiment.corpus} is not the corpus any more that {folder} was begun with; prepare that one again, or "
            "train a new run on this one"
        )


def evaluate(
    folder: Path, split: str = "test", corpus: str | None = None, progress: Progress | None = None
) -> dict[str, Any]:
    """The scores of a run's best weights on a split of its corpus, or of another corpus."""
    counts = judge(folder, split, corpus, progress)
    return counts.scores() | counts.details()


def judge(folder: Path, split: str, corpus: str | None = None, progress: Progress | None = None) -> Counts:
    """What a run's best weights answer on a split, example by example."""
    experiment = load_experiment(folder)
    encoding = Encoding.load(folder / ENCODING)
    if corpus is None:
        _check_digest(experiment, folder)
        task = _task(experiment, encoding)
    else:
        experiment = experiments.replace_corpus(experiment, corpus)
        task = _task_elsewhere(experiment, encoding)
    _check_not_empty(experiment.corpus, split, task.num_measured(split))
    model = load_model(folder, experiment, encoding).to(choose_device())
    progress = progress or NullProgress()
    progress.start("evaluating", task.num_measured(split))
    return measure(task, model, split, tell=progress.advance)


def load_model(folder: Path, experiment: Experiment, encoding: Encoding) -> nn.Module:
    """The model of a run, with its best weights."""
    model: nn.Module = experiment.task.model(experiment.model, encoding)
    tensors, _ = read_tensors(folder / WEIGHTS)
    try:
        model.load_state_dict(tensors)
    except RuntimeError as error:
        raise RunError(f"{folder / WEIGHTS} does not fit {folder / SETTING}: {error}") from error
    return model


def load_experiment(folder: Path) -> Experiment:
    """The setting of a run."""
    if not (folder / SETTING).is_file():
        raise RunError(f"{folder} is no run (it has no {SETTING}); make one with `rarename train`")
    return experiments.read(folder / SETTING)


def make_encoding(experiment: Experiment) -> Encoding:
    """The encoding of a new run, from its corpus."""
    corpus, config = Corpus(experiment.corpus), experiment.encoding
    experiment.task.check_placeholders(config.placeholders)
    values = corpus.vocabulary(config.vocabulary_size, *experiment.task.counted)
    if len(values) < config.vocabulary_size:
        raise UsageError(
            f"encoding.vocabulary_size is {config.vocabulary_size}, but {experiment.corpus} has only {len(values)} "
            "values in training; choose a smaller one"
        )
    parts = frequent_subtokens(corpus.values(), corpus.counts("names").tolist(), config.parts) if config.parts else []
    return Encoding(
        values, corpus.types, config.strategy, config.placeholders, experiment.task.hidden, Vocabulary(list(parts))
    )


def _task(experiment: Experiment, encoding: Encoding) -> Task:
    """The task on the corpus that the encoding was made from."""
    corpus = Corpus(experiment.corpus)
    values = corpus.vocabulary(len(encoding.values), *experiment.task.counted)
    if list(corpus.types) != list(encoding.types) or list(values) != list(encoding.values):
        raise RunError(
            f"{experiment.corpus} has other node types or another order of names than the run was trained with; use "
            "the run's own corpus, or measure on this one with `rarename evaluate --corpus`"
        )
    return experiment.task.task(corpus, encoding, experiment.training.batch_nodes, experiment.seed)


def _task_elsewhere(experiment: Experiment, encoding: Encoding) -> Task:
    """The task on any corpus of the same language."""
    corpus = Corpus(experiment.corpus)
    root = corpus.language.root_type
    if root not in encoding.types if root else not set(corpus.types) & set(encoding.types):
        raise RunError(
            f"{experiment.corpus}, a corpus of {corpus.language.name}, has other node types than the run was trained "
            "with; use one of the same language"
        )
    return experiment.task.task(corpus, encoding, experiment.training.batch_nodes, experiment.seed)
