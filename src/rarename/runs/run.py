"""A run: one config, from a corpus to the best weights, in one folder.

run/
├── config.toml                 every setting; training with it again repeats the run
├── encoding.json               vocabulary and strategy
├── model.safetensors           the weights with the best validation metric
├── trainer_state.safetensors   weights, optimizer and progress at the last checkpoint, to resume from
├── metrics.jsonl               one line for each evaluation on the validation split
├── mined.json                  the clean functions that the model flagged, for each epoch on real fixes
└── metrics-test.json           the output of `rarename evaluate`
"""

import dataclasses
import hashlib
import math
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import torch

from rarename.assist.check import CheckModel
from rarename.config import MAX_SIZE, ExperimentConfig, MisuseConfig, TaskConfig, load_config, mismatches, save_config
from rarename.corpus.splits import read_splits
from rarename.corpus.store import Corpus
from rarename.encoding import Encoding
from rarename.errors import RunError, UsageError
from rarename.inference.model_folder import CONFIG, ENCODING, load_run_config
from rarename.io import locked
from rarename.progress import NullProgress, Progress
from rarename.reading import open_regular
from rarename.runs.fix_evaluation import clean_confidences, evaluate_fixes
from rarename.subtokens import frequent_subtokens
from rarename.syntax import Language
from rarename.tasks.misuse.fix_phase import FixPhase, fix_examples
from rarename.tasks.misuse.fixes import read_fixes
from rarename.tasks.registry import TASKS
from rarename.tasks.task import Metrics, Task
from rarename.training.checkpoint import WEIGHTS, build_model, load_model
from rarename.training.distributed import DistributedContext, choose_device
from rarename.training.trainer import STATE, LogRecord, StopReason, Trainer
from rarename.training.trainer import evaluate as evaluate_model
from rarename.vocabulary import Vocabulary

LOCK = ".lock"


def train(
    config: ExperimentConfig,
    folder: Path,
    *,
    resume: bool = False,
    time_limit: float = math.inf,
    on_log: Callable[[LogRecord], None] = lambda _: None,
    should_stop: Callable[[], bool] = lambda: False,
    context: DistributedContext | None = None,
) -> StopReason:
    """Train, or resume training."""
    context = context or DistributedContext(device=choose_device())
    with _locked(folder, context):
        config, encoding = context.on_main_process(lambda: _open_folder(config, folder, resume))
        task = _make_task(config, encoding, has_fixes=bool(config.fixes))
        _check_not_empty(config.corpus, "train", task.num_examples())
        _check_not_empty(config.corpus, "validation", task.num_eval_examples("validation"))
        context.on_main_process(lambda: _save_once(config, encoding, folder))
        torch.manual_seed(config.seed)
        model = build_model(config, encoding)
        if config.init and not (folder / STATE).exists():
            model.load_state_dict(load_model(Path(config.init), config, encoding).state_dict())
        trainer = Trainer(task, model, config.training, folder, config.seed, context)
        trainer.load()
        return trainer.run(time_limit, on_log, should_stop)


@contextmanager
def _locked(folder: Path, context: DistributedContext) -> Iterator[None]:
    """Lock a folder against a second training."""
    with ExitStack() as stack:

        def lock() -> None:
            try:
                folder.mkdir(parents=True, exist_ok=True)
            except FileExistsError as error:
                raise RunError(f"{folder} is a file; choose another folder") from error
            stack.callback(_remove_if_unused, folder)
            message = f"another process is training in {folder}; wait for it, or stop it"
            stack.enter_context(locked(folder / LOCK, message))

        context.on_main_process(lock)
        yield


def _remove_if_unused(folder: Path) -> None:
    if folder.is_dir() and {path.name for path in folder.iterdir()} <= {LOCK}:
        (folder / LOCK).unlink(missing_ok=True)
        folder.rmdir()


def _open_folder(config: ExperimentConfig, folder: Path, resume: bool) -> tuple[ExperimentConfig, Encoding]:
    """The config with the digest of its corpus, and the encoding; an existing run must have the same config."""
    config = dataclasses.replace(
        resolve_size(config),
        corpus_digest=Corpus(config.corpus).digest(),
        fixes_digest=_digest_of(config.fixes, config.fixes_splits),
    )
    if (folder / CONFIG).exists():
        if not resume:
            raise RunError(f"{folder} already holds a run; add --resume to continue it, or choose another folder")
        # A checkpoint has the weights: the model that training started from may be gone.
        config = dataclasses.replace(config, init_digest=load_config(folder / CONFIG).init_digest)
        saved = dataclasses.replace(load_config(folder / CONFIG), corpus=config.corpus)  # the corpus may have moved
        if differing := mismatches(dataclasses.replace(saved, corpus_digest=config.corpus_digest), config):
            raise RunError(f"{folder} holds a run with other settings: {', '.join(differing)}; choose another folder")
        _check_digest(saved, folder)
    elif any(path.name != LOCK and path.suffix != ".part" for path in folder.iterdir()):
        raise RunError(f"{folder} exists and is not a run; choose another folder")
    for leftover in folder.glob(".*.part"):
        leftover.unlink()  # of a process that was killed while it wrote
    path = folder / ENCODING
    if not path.exists() and config.init:
        config = dataclasses.replace(config, init_digest=_digest_of(str(Path(config.init) / WEIGHTS)))
    return config, Encoding.load(path) if path.exists() else make_encoding(config)


def _digest_of(*paths: str) -> str:
    """A SHA-256 of the bytes of files; empty if there are none."""
    digest, given = hashlib.sha256(), [path for path in paths if path]
    for path in given:
        try:
            with open_regular(Path(path)) as file:
                digest.update(hashlib.file_digest(file, "sha256").digest())
        except OSError as error:
            raise UsageError(f"{path} cannot be read: {error.strerror}") from error
    return digest.hexdigest() if given else ""


def _save_once(config: ExperimentConfig, encoding: Encoding, folder: Path) -> None:
    if not (folder / ENCODING).exists():
        save_config(config, folder / CONFIG)
        encoding.save(folder / ENCODING)


def _found_corpus(corpus: str, folder: Path) -> str:
    """The corpus of a run; a relative path that is not here is looked for in the folders above the run."""
    above = [parent / corpus for parent in folder.resolve().parents]
    return next((str(path) for path in (Path(corpus), *above) if path.exists()), corpus)


def _check_not_empty(corpus: str, split: str, count: int) -> None:
    if not count:
        raise UsageError(f"the {split} split of {corpus} has no examples for this task; prepare it from more code")


def _check_digest(config: ExperimentConfig, folder: Path) -> None:
    if Corpus(config.corpus).digest() != config.corpus_digest:
        raise RunError(
            f"{config.corpus} is no longer the corpus that {folder} was started with; prepare that one again, or train "
            "a new run on this one"
        )


def evaluate(folder: Path, split: str = "test", corpus: str = "", progress: Progress | None = None) -> dict[str, Any]:
    """The metrics of a run's best weights on a split of its corpus, or of another corpus."""
    metrics = evaluate_per_example(folder, split, corpus, progress)
    return metrics.compute() | metrics.breakdown()


def evaluate_on_fixes(
    folder: Path,
    fixes: Path,
    splits: Path | None,
    split: str,
    tiers: str = "A",
    corpus: str = "",
    progress: Progress | None = None,
) -> dict[str, Any]:
    """The metrics of a misuse model on real fixes; with a corpus, at false alarm rates on a split of it."""
    model = CheckModel.load(folder)
    found = read_fixes(fixes, model.language, tiers, read_splits(splits) if splits else None, split)
    clean = None
    if corpus:
        config = dataclasses.replace(model.folder.config, corpus=corpus)
        _check_language(Corpus(corpus), model.folder.encoding)
        clean = clean_confidences(model, _make_task(config, model.folder.encoding).dataset(split), progress=progress)
    return evaluate_fixes(model, found, clean, progress)


def evaluate_per_example(folder: Path, split: str, corpus: str = "", progress: Progress | None = None) -> Metrics:
    """The predictions of a run's best weights on a split."""
    config, encoding = load_run_config(folder), Encoding.load(folder / ENCODING)
    config = dataclasses.replace(config, corpus=corpus or _found_corpus(config.corpus, folder))
    if corpus:
        _check_language(Corpus(corpus), encoding)
    else:
        _check_digest(config, folder)
    task = _make_task(config, encoding)
    _check_not_empty(config.corpus, split, task.num_eval_examples(split))
    model = load_model(folder, config, encoding).to(choose_device())
    progress = progress or NullProgress()
    progress.start("evaluating", task.num_eval_examples(split))
    return evaluate_model(task, model, split, on_advance=progress.advance)


def resolve_size(config: ExperimentConfig) -> ExperimentConfig:
    """The config with the number of values of its corpus as the vocabulary size `max`."""
    if config.encoding.vocabulary_size != MAX_SIZE:
        return config
    size = _num_values(config.corpus, Corpus(config.corpus).digest(), config.task)
    return dataclasses.replace(config, encoding=dataclasses.replace(config.encoding, vocabulary_size=size))


@cache
def _num_values(corpus: str, digest: str, task: TaskConfig) -> int:
    opened = Corpus(corpus)
    return len(opened.most_frequent(TASKS[task.name].value_counts(opened, task)))


def make_encoding(config: ExperimentConfig) -> Encoding:
    """Make the encoding of a new run from its corpus."""
    config = resolve_size(config)
    corpus, task = Corpus(config.corpus), TASKS[config.task.name]
    if config.init:
        encoding = Encoding.load(Path(config.init) / ENCODING)
        task.check_encoding(config.task, encoding.num_placeholders)
        _check_language(corpus, encoding)
        return encoding
    size, num_subtokens = config.encoding.vocabulary_size, config.encoding.num_subtokens
    task.check_encoding(config.task, config.encoding.num_placeholders)
    values = corpus.most_frequent(task.value_counts(corpus, config.task), size)
    if len(values) < size:
        raise UsageError(
            f"encoding.vocabulary_size is {size}, but the training split of {config.corpus} has only {len(values)} "
            "values; choose a smaller size, or max for all of them"
        )
    subtokens = Vocabulary([])
    if num_subtokens:
        subtokens = frequent_subtokens(corpus.values(), corpus.counts("names").tolist(), num_subtokens)
    strategy, num_placeholders = config.encoding.strategy, config.encoding.num_placeholders
    types = Vocabulary([*corpus.types, *task.extra_types(config.task)])
    return Encoding(values, types, strategy, num_placeholders, task.masked_literals, subtokens)


def _make_task(config: ExperimentConfig, encoding: Encoding, has_fixes: bool = False) -> Task:
    task_class, corpus = TASKS[config.task.name], Corpus(config.corpus)
    further: dict[str, Any] = {"batch_size": config.training.batch_size}
    if has_fixes:
        further["fixes"] = _read_fixes(config, encoding, corpus.language)
    task: Task = task_class(corpus, encoding, config.task, config.training.max_batch_nodes, config.seed, **further)
    return task


def _read_fixes(config: ExperimentConfig, encoding: Encoding, language: Language) -> FixPhase:
    """The fixes of the last phase. Without a list of splits, all are to train on."""
    assert isinstance(config.task, MisuseConfig)
    splits = read_splits(Path(config.fixes_splits)) if config.fixes_splits else None
    found = {}
    for split in ("train", "validation") if splits else ("train",):
        fixes = read_fixes(Path(config.fixes), language, config.task.fix_tiers, splits, split).fixes
        found[split] = fix_examples(fixes, language, encoding, config.task.max_function_nodes)
    if not found["train"]:
        raise UsageError(f"{config.fixes} has no fix of {language.name} to train on")
    return FixPhase(int(config.training.num_epochs), found["train"], found.get("validation", []))


def _check_language(corpus: Corpus, encoding: Encoding) -> None:
    root = corpus.language.root_type
    if root not in encoding.types if root else not set(corpus.types) & set(encoding.types):
        raise RunError(
            f"{corpus.path} is a corpus of {corpus.language.name}, and the run was trained on another language; use "
            "a corpus of the same language"
        )
