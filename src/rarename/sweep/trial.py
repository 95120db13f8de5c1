"""One trial of a sweep: trained, evaluated and written as a result, by any process that can reach its folders.

runs/
├── misuse-ordered-1000-0-5f0c3b9a/             a run folder, named by a hash of its config
├── misuse-ordered-1000-0-5f0c3b9a.damaged-1/   a run folder that is damaged
└── .misuse-ordered-1000-0-5f0c3b9a.lock        held by the process that works on the trial
results/misuse-python/
├── ordered-1000-0.json                         the result
└── ordered-1000-0.json.stale-1                 a result that is damaged or of another config or recipe
"""

import dataclasses
import hashlib
import itertools
import json
import multiprocessing
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rarename.config import ADDED_SETTINGS, ExperimentConfig
from rarename.errors import RarenameError, RunError, UsageError
from rarename.io import locked, write_text
from rarename.progress import NullProgress
from rarename.sweep.result import Result, read_result, write_result

PROGRESS = "progress.json"
"""The last log record of a training, in its run folder."""
POLL_SECONDS = 0.5
_running: set[str] = set()  # the trials that this process works on


@dataclass(frozen=True)
class Job:
    """A trial and everything that a worker needs."""

    config: ExperimentConfig
    result: Result  # its result, still without metrics
    result_path: Path
    run_folder: Path
    stop_file: Path  # workers save and stop when this file appears
    has_embeddings: bool
    num_threads: int
    avx512: bool = False  # see `training.mkl`

    @property
    def name(self) -> str:
        return self.result.trial


@dataclass(frozen=True)
class TrialStatus:
    """The progress of a trial."""

    state: str  # done or open; when a sweep has ended, also stopped, failed or busy
    reason: str = ""
    result: Result | None = None


class _Stopped(Exception):
    """The sweep was stopped before the trial was done."""


def run_name(settings: Mapping[str, Any], recipe: Any) -> str:
    """The name of a run folder. The path of the corpus may change; its digest is one of the settings."""
    chosen = [settings.get(key) for key in ("task.name", "encoding.strategy", "encoding.vocabulary_size", "seed")]
    old = {"corpus": settings.get("corpus")} | ADDED_SETTINGS  # so that the folders of older versions are found
    hashed = json.dumps([recipe, sorted(item for item in settings.items() if item not in old.items())])
    return "-".join([*map(str, chosen), hashlib.sha256(hashed.encode()).hexdigest()[:8]])


def result_status(job: Job) -> TrialStatus:
    """Whether the result is there, complete, and of the same settings, corpus and recipe."""
    if not job.result_path.exists():
        record = read_progress(job.run_folder)
        return TrialStatus("open", f"{record['percent']} % trained" if record else "")
    try:
        result = read_result(job.result_path)
    except RunError as error:
        return TrialStatus("open", str(error))
    wanted, found = (
        {**ADDED_SETTINGS, **each.settings, "recipe": each.code.get("recipe")} for each in (job.result, result)
    )
    differing = [key for key in wanted | found if key != "corpus" and wanted.get(key) != found.get(key)]
    reasons = [f"{key} ({found.get(key)!r}, not {wanted.get(key)!r})" for key in differing]
    reasons += ["no embeddings"] if job.has_embeddings and not result.embeddings else []
    return TrialStatus("open", f"stale: {', '.join(reasons)}") if reasons else TrialStatus("done", result=result)


def read_progress(folder: Path) -> dict[str, Any]:
    """The last log record of a training with its `percent`; empty if there is none."""
    try:
        record: dict[str, Any] = json.loads((folder / PROGRESS).read_text(encoding="utf-8"))
        return record | {"percent": round(100 * record["examples"] / record["total_examples"])}
    except (OSError, ValueError, KeyError, TypeError, ArithmeticError, RecursionError):
        return {}


def wait_for_trials() -> None:
    """Wait until no trial runs in this process: one that runs when the sweep is killed is saved first."""
    while _running:
        time.sleep(POLL_SECONDS)


def run_trial(job: Job) -> TrialStatus:
    """Finish a trial. Runs in a worker."""
    _running.add(job.name)
    try:
        return _run_trial(job)
    finally:
        _running.discard(job.name)


def _run_trial(job: Job) -> TrialStatus:
    should_stop = _stop_signal(job.stop_file)
    if should_stop():
        return TrialStatus("stopped")
    job.run_folder.parent.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        try:
            stack.enter_context(locked(job.run_folder.with_name(f".{job.run_folder.name}.lock"), "busy"))
        except UsageError:
            return TrialStatus("busy", "another sweep works on it")
        if (status := result_status(job)).result:  # of another sweep
            return status
        try:
            curve, note = _train(job, should_stop)
            result = _evaluate(job, curve, should_stop)
        except _Stopped:
            return TrialStatus("stopped")
        except (RarenameError, OSError, ValueError, RuntimeError, MemoryError) as error:
            return TrialStatus("failed", str(error) or type(error).__name__)
        save_result(job, result)
        return TrialStatus("done", note, result)


def save_result(job: Job, result: Result) -> None:
    if job.result_path.exists():
        _move_aside(job.result_path, "stale")
    write_result(job.result_path, result)


def _stop_signal(stop_file: Path) -> Callable[[], bool]:
    """Whether the sweep was stopped or killed."""
    parent = multiprocessing.parent_process()
    return lambda: stop_file.exists() or (parent is not None and not parent.is_alive())


def _train(job: Job, should_stop: Callable[[], bool]) -> tuple[list[dict[str, Any]], str]:
    """Train or resume; returns the learning curve. A folder that cannot be resumed is moved aside and trained again."""
    import torch

    from rarename.runs.run import train
    from rarename.training.mkl import allow_avx512

    torch.set_num_threads(job.num_threads)
    if job.avx512:
        allow_avx512()
    has_begun, last_write, note = False, 0.0, ""

    def is_stopping() -> bool:
        nonlocal has_begun
        has_begun = True
        return should_stop()

    def on_log(record: dict[str, Any]) -> None:
        nonlocal last_write
        if "validation" in record or time.monotonic() - last_write >= 2 * POLL_SECONDS:  # each is seen by a poll
            last_write = time.monotonic()
            write_text(job.run_folder / PROGRESS, json.dumps(record))

    while True:
        try:
            if not train(job.config, job.run_folder, resume=True, on_log=on_log, should_stop=is_stopping):
                raise _Stopped
            return _learning_curve(job.run_folder), note
        except RarenameError as error:
            if has_begun or note or not job.run_folder.exists():
                raise  # the folder is not the cause
            note = f"trained again, the old run folder is now {_move_aside(job.run_folder, 'damaged').name}: {error}"


def _learning_curve(folder: Path) -> list[dict[str, Any]]:
    """The evaluations on the validation split, up to the last training example."""
    from rarename.training.checkpoint import read_tensors
    from rarename.training.trainer import METRICS, STATE

    num_examples = int(read_tensors(folder / STATE)[1]["examples"])
    try:
        points = [json.loads(line) for line in (folder / METRICS).read_text(encoding="utf-8").splitlines()]
        curve = [{key: point[key] for key in ("examples", "seconds", "loss", "validation")} for point in points]
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise RunError(f"{folder / METRICS} is damaged: {error!r}") from error
    if not curve or curve[-1]["examples"] != num_examples:
        raise RunError(f"{folder / METRICS} does not reach the last of {num_examples:,} training examples")
    return curve


def _evaluate(job: Job, curve: list[dict[str, Any]], should_stop: Callable[[], bool]) -> Result:
    from rarename.runs.embeddings import analyze_embeddings
    from rarename.runs.run import evaluate

    class Progress(NullProgress):
        def advance(self, steps: int = 1) -> None:
            if should_stop():
                raise _Stopped

    started = time.monotonic()
    metrics = evaluate(job.run_folder, job.result.split, job.config.corpus, Progress())
    return dataclasses.replace(
        job.result,
        examples=curve[-1]["examples"],
        seconds=round(curve[-1]["seconds"], 1),
        metrics=metrics,
        curve=curve,
        eval_seconds=round(time.monotonic() - started, 1),
        embeddings=analyze_embeddings(job.run_folder) if job.has_embeddings else {},
    )


def _move_aside(path: Path, word: str) -> Path:
    """Rename a file or folder that cannot be used; nothing is deleted."""
    candidates = (path.with_name(f"{path.name}.{word}-{number}") for number in itertools.count(1))
    return path.rename(next(each for each in candidates if not each.exists()))
