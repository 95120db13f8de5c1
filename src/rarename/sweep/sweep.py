"""A sweep: the trials of an experiment file on any `concurrent.futures.Executor`, resumed where it stopped.

Workers and the sweep share nothing but the folders `runs` and `results`.
"""

import dataclasses
import math
import multiprocessing
import signal
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, ProcessPoolExecutor, wait
from contextlib import ExitStack
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from rarename._version import __version__
from rarename.config import RECIPE_VERSION, flatten
from rarename.corpus.store import Corpus
from rarename.errors import RunError, UsageError
from rarename.sweep.grid import SweepSpec
from rarename.sweep.result import Result, read_result, write_result
from rarename.sweep.trial import (
    POLL_SECONDS,
    Job,
    TrialStatus,
    move_aside,
    read_progress,
    result_status,
    run_name,
    run_trial,
)


class Sweep:
    """The trials of an experiment file on one corpus."""

    def __init__(
        self,
        spec: SweepSpec,
        *,
        corpus: str | None = None,
        runs: Path = Path("runs"),
        results: Path = Path("results"),
        num_threads: int = 1,
    ) -> None:
        if spec.has_embeddings:
            from rarename.runs.embeddings import check_installed

            check_installed()
        self.spec, self.results = spec, results
        self.stop_file = runs / f".stop-{uuid.uuid4().hex}"
        self.jobs = [
            self._job(index, Corpus(corpus or spec.corpus), runs, num_threads) for index in range(len(spec.trials))
        ]

    def _job(self, index: int, corpus: Corpus, runs: Path, num_threads: int) -> Job:
        spec, trial = self.spec, self.spec.trials[index]
        config = trial.config(str(corpus.path), corpus.language.name)
        config = dataclasses.replace(config, corpus_digest=corpus.digest())
        name = Path(spec.corpus).name
        settings = flatten(dataclasses.asdict(config)) | {"corpus": f"corpora/{name}"}  # no path of this machine
        num_projects = sum(split["projects"] for split in corpus.manifest["splits"].values())
        return Job(
            config,
            Result(
                experiment=spec.name,
                trial=trial.name,
                title=spec.title,
                reproduces=spec.reproduces,
                task=trial.task,
                language=corpus.language.name,
                preset=trial.preset,
                settings=settings,
                corpus={"name": name, "digest": config.corpus_digest, "projects": num_projects},
                code={"version": __version__, "recipe": RECIPE_VERSION},
                split="test",
            ),
            self.results / spec.name / f"{trial.name}.json",
            runs / run_name(settings, RECIPE_VERSION),
            self.stop_file,
            spec.has_embeddings,
            num_threads,
        )

    def select(self, patterns: Sequence[str]) -> list[Job]:
        """The trials whose name matches a pattern; all of them without patterns."""
        for pattern in patterns:
            if not any(fnmatchcase(job.name, pattern) for job in self.jobs):
                names = ", ".join(job.name for job in self.jobs)
                raise UsageError(f"no trial of {self.spec.name} matches {pattern!r}; choose among {names}")
        return [job for job in self.jobs if not patterns or any(fnmatchcase(job.name, each) for each in patterns)]

    def statuses(self, jobs: Sequence[Job]) -> dict[str, TrialStatus]:
        """How far each trial is. A result of another experiment counts if settings, corpus and recipe are the same."""
        others: dict[str, Result] = {}
        for path in sorted(self.results.glob("*/*.json")):
            try:
                result = read_result(path)
                name = run_name(result.settings, result.code.get("recipe"))
            except (RunError, KeyError):
                continue
            if name not in others or result.embeddings:
                others[name] = result
        statuses = {job.name: result_status(job) for job in jobs}
        for job in (job for job in jobs if statuses[job.name].state != "done"):
            other = others.get(job.run_folder.name)
            if other and (other.embeddings or not job.has_embeddings):
                statuses[job.name] = TrialStatus("copied", f"{other.experiment}/{other.trial}", other)
            elif statuses[job.name].state == "missing" and (record := read_progress(job.run_folder)):
                statuses[job.name] = TrialStatus("started", f"{record['percent']} %")
        return statuses

    def run(
        self,
        jobs: Sequence[Job],
        *,
        num_jobs: int = 1,
        executor: Executor | None = None,
        time_limit: float = math.inf,
        should_stop: Callable[[], bool] = lambda: False,
        on_status: Callable[[str, TrialStatus], None] = lambda name, status: None,
        on_progress: Callable[[str, Mapping[str, Any]], None] = lambda name, record: None,
    ) -> dict[str, TrialStatus]:
        """Do what is left of these trials, `num_jobs` at a time; without an executor in processes of this machine.

        A trial that fails is tried once more, and one that another sweep works on until that one is done.
        """
        deadline = time.monotonic() + time_limit
        statuses = self.statuses(jobs)
        for job in jobs:
            if (copied := statuses[job.name]).state == "copied":
                statuses[job.name] = _copy(job, copied)
                on_status(job.name, copied)
        queue = [job for job in jobs if statuses[job.name].state != "done"]
        running: dict[Future[TrialStatus], Job] = {}
        failed: set[str] = set()
        shown: dict[str, Mapping[str, Any]] = {}
        self.stop_file.parent.mkdir(parents=True, exist_ok=True)
        with ExitStack() as stack:
            stack.callback(self.stop_file.unlink, missing_ok=True)
            pool = executor or stack.enter_context(_process_pool(num_jobs))
            try:
                while queue or running:
                    if should_stop() or time.monotonic() >= deadline:
                        self.stop_file.touch()
                        statuses |= {job.name: TrialStatus("stopped") for job in queue}
                        queue = []
                    while queue and len(running) < num_jobs:
                        job = queue.pop(0)
                        running[pool.submit(run_trial, job)] = job
                    for future in wait(running, POLL_SECONDS, FIRST_COMPLETED).done:
                        job = running.pop(future)
                        try:
                            status = future.result()
                        except BrokenExecutor as error:  # a process was killed, and the pool with it
                            status = TrialStatus("failed", f"its process was killed: {error}")
                            pool = executor or stack.enter_context(_process_pool(num_jobs))
                        if status.state == "busy":
                            time.sleep(POLL_SECONDS)
                            queue.append(job)
                        elif status.state == "failed" and job.name not in failed:
                            failed.add(job.name)  # once more: memory may have been short
                            queue.append(job)
                        if status != statuses[job.name]:
                            on_status(job.name, status)
                        statuses[job.name] = status
                    for job in running.values():
                        record = read_progress(job.run_folder)
                        if record and record != shown.get(job.name):
                            on_progress(job.name, record)
                            shown[job.name] = record
            finally:
                self.stop_file.touch()  # after an error, too: workers save and stop before their pool is closed
        return statuses


def seconds_left(statuses: Mapping[str, TrialStatus], jobs: Sequence[Job], num_jobs: int) -> float | None:
    """The time for all that is left, estimated from trials that are done or running; None if there are none."""
    done = [status.result for status in statuses.values() if status.result]
    left = [read_progress(job.run_folder) for job in jobs if not statuses[job.name].result]
    totals = [result.seconds for result in done] + [each["seconds"] + each["seconds_left"] for each in left if each]
    if not left or not totals:
        return None if left else 0.0
    evaluation = sum(result.eval_seconds for result in done) / max(1, len(done))
    usual = sum(totals) / len(totals)
    return sum(evaluation + float(each.get("seconds_left", usual)) for each in left) / min(num_jobs, len(left))


def _process_pool(num_jobs: int) -> ProcessPoolExecutor:
    """Worker processes. Ctrl-C reaches them too; they wait for the stop file instead, and save."""
    context = multiprocessing.get_context("spawn")
    return ProcessPoolExecutor(num_jobs, context, signal.signal, (signal.SIGINT, signal.SIG_IGN))


def _copy(job: Job, status: TrialStatus) -> TrialStatus:
    assert status.result
    if job.result_path.exists():
        move_aside(job.result_path, "stale")
    about = {key: getattr(job.result, key) for key in ("experiment", "trial", "title", "reproduces")}
    result = dataclasses.replace(status.result, **about)
    write_result(job.result_path, result)
    return TrialStatus("done", result=result)
