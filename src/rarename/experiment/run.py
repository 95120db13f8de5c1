"""A run: one experiment, from a corpus to the best weights, as a folder.

run/
├── experiment.toml       the whole setting; running it again repeats the run
├── encoding.json         vocabulary and strategy
├── weights.safetensors   the weights that were best on the validation split
├── state.safetensors     weights, optimizer and generator as they were last, to go on from
├── metrics.jsonl         a line for each look at the validation split
└── scores-test.json      what `rarename evaluate` measured
"""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from rarename.corpus.store import Corpus
from rarename.encoding import Encoding
from rarename.errors import RunError, UsageError
from rarename.experiment import experiment as experiments
from rarename.experiment.experiment import Experiment
from rarename.tasks.variable_misuse.task import COUNTED, HIDDEN, MisuseTask
from rarename.training.loop import Trainer, measure, read_tensors

SETTING, ENCODING, WEIGHTS, STATE = "experiment.toml", "encoding.json", "weights.safetensors", "state.safetensors"


def train(
    experiment: Experiment,
    folder: Path,
    *,
    resume: bool = False,
    time_limit: float = math.inf,
    tell: Callable[[dict[str, Any]], None] = lambda _: None,
) -> bool:
    """Train, or go on training; returns whether the end was reached."""
    if (folder / SETTING).exists():
        if not resume:
            raise RunError(f"{folder} holds a run already; say --resume to go on with it, or choose another folder")
        if experiments.read(folder / SETTING) != experiment:
            raise RunError(f"{folder} holds a run with other settings; choose another folder")
    elif folder.exists() and any(folder.iterdir()):
        raise RunError(f"{folder} exists and is no run; choose another folder")
    folder.mkdir(parents=True, exist_ok=True)
    task = _task(experiment, make_encoding(experiment))
    experiments.write(experiment, folder / SETTING)
    task.encoding.save(folder / ENCODING)
    torch.manual_seed(experiment.seed)
    trainer = Trainer(task, task.build(experiment.model), experiment.training, folder)
    if (folder / STATE).exists():
        trainer.load()
    return trainer.run(time_limit, tell)


def evaluate(folder: Path, split: str = "test", corpus: str | None = None) -> dict[str, float]:
    """The scores of a run's best weights on a split of its corpus, or of another corpus."""
    experiment = load_experiment(folder)
    if corpus is not None:
        experiment = experiments.replace_corpus(experiment, corpus)
    task = _task(experiment, Encoding.load(folder / ENCODING))
    model = task.build(experiment.model)
    tensors, _ = read_tensors(folder / WEIGHTS)
    try:
        model.load_state_dict(tensors)
    except RuntimeError as error:
        raise RunError(f"{folder / WEIGHTS} does not fit {folder / SETTING}: {error}") from error
    return measure(task, model, split)


def load_experiment(folder: Path) -> Experiment:
    """The setting of a run."""
    if not (folder / SETTING).is_file():
        raise RunError(f"{folder} is no run (it has no {SETTING}); make one with `rarename train`")
    return experiments.read(folder / SETTING)


def make_encoding(experiment: Experiment) -> Encoding:
    """The encoding of a new run, from its corpus."""
    corpus, config = Corpus(experiment.corpus), experiment.encoding
    if config.placeholders < experiment.task.max_nodes:
        raise UsageError(
            f"encoding.placeholders is {config.placeholders}, but a function may have {experiment.task.max_nodes} "
            "nodes, each another name; set it to as many"
        )
    values = corpus.vocabulary(config.vocabulary_size, *COUNTED)
    if len(values) < config.vocabulary_size:
        raise UsageError(
            f"encoding.vocabulary_size is {config.vocabulary_size}, but {experiment.corpus} has only {len(values)} "
            "values in training; choose a smaller one"
        )
    return Encoding(values, corpus.types, config.strategy, config.placeholders, HIDDEN)


def _task(experiment: Experiment, encoding: Encoding) -> MisuseTask:
    corpus = Corpus(experiment.corpus)
    if list(corpus.types) != list(encoding.types):
        raise RunError(
            f"{experiment.corpus} has other node types than the run was trained with; use the run's own corpus"
        )
    return MisuseTask(
        corpus,
        encoding,
        experiment.task.way,
        experiment.task.max_nodes,
        experiment.training.batch_nodes,
        experiment.seed,
    )
