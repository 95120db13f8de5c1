"""A sweep: the trials of an experiment file on any `concurrent.futures.Executor`, resumed where it stopped.

Workers and the sweep share nothing but the folders `runs` and `results`.
"""

import dataclasses
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, CancelledError, Executor, Future, wait
from contextlib import ExitStack
from fnmatch import fnmatchcase
from pathlib import Path
from statistics import fmean
from typing import Any

from rarename._version import __version__
from rarename.config import MAX_SIZE, RECIPE_VERSION, flatten
from rarename.corpus.store import Corpus
from rarename.errors import RarenameError, UsageError
from rarename.processes import process_pool
from rarename.sweep import trial as trials
from rarename.sweep.grid import SweepSpec
from rarename.sweep.result import Result, read_results
from rarename.sweep.trial import POLL_SECONDS, Job, TrialStatus, read_progress


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
        avx512: bool = False,
    ) -> None:
        if spec.has_embeddings:
            import sklearn  # noqa: F401, a missing package is an error before anything is trained
        self.spec, self.results = spec, results
        self.stop_file = runs / f".stop-{uuid.uuid4().hex}"
        opened, name = Corpus(corpus or spec.corpus), Path(spec.corpus).name
        num_projects = sum(split["projects"] for split in opened.manifest["splits"].values())
        shared: dict[str, Any] = {
            "experiment": spec.name, "title": spec.title, "reproduces": spec.reproduces, "split": "test",
            "language": opened.language.name,
            "corpus": {"name": name, "digest": opened.digest(), "projects": num_projects},
            "code": {"version": __version__, "recipe": RECIPE_VERSION},
        }  # fmt: skip
        self.jobs = []
        for trial in spec.trials:
            config = trial.config(str(opened.path), opened.language.name)
            if config.encoding.vocabulary_size == MAX_SIZE:
                from rarename.runs.run import resolve_size  # imports torch, which takes seconds

                config = resolve_size(config)
            config = dataclasses.replace(config, corpus_digest=opened.digest())
            settings = flatten(dataclasses.asdict(config)) | {"corpus": f"corpora/{name}"}  # no path of this machine
            result = Result(trial=trial.name, task=trial.task, preset=trial.preset, settings=settings, **shared)
            path, run = results / spec.name / f"{trial.name}.json", runs / trials.run_name(settings, RECIPE_VERSION)
            self.jobs.append(Job(config, result, path, run, self.stop_file, spec.has_embeddings, num_threads, avx512))

    def select(self, patterns: Sequence[str]) -> list[Job]:
        """The trials whose name matches a pattern; all of them without patterns."""
        for pattern in patterns:
            if not any(fnmatchcase(job.name, pattern) for job in self.jobs):
                names = ", ".join(job.name for job in self.jobs)
                raise UsageError(f"no trial of {self.spec.name} matches {pattern!r}; choose among {names}")
        return [job for job in self.jobs if not patterns or any(fnmatchcase(job.name, each) for each in patterns)]

    def statuses(self, jobs: Sequence[Job]) -> dict[str, TrialStatus]:
        """The progress of each trial. A result of another experiment counts if settings, corpus and recipe match."""
        found = sorted(read_results(self.results)[0], key=lambda result: bool(result.embeddings))
        others = {trials.run_name(each.settings, each.code.get("recipe")): each for each in found}
        statuses = {}
        for job in jobs:
            status, other = trials.result_status(job), others.get(job.run_folder.name)
            if status.state != "done" and other and (other.embeddings or not job.has_embeddings):
                about = {key: getattr(job.result, key) for key in ("experiment", "trial", "title", "reproduces")}
                result = dataclasses.replace(other, **about)
                status = TrialStatus("done", f"copied from {other.experiment}/{other.trial}", result)
            statuses[job.name] = status
        return statuses

    def run(
        self,
        jobs: Sequence[Job],
        *,
        num_jobs: int = 1,
        executor: Executor | None = None,
        should_stop: Callable[[], bool] = lambda: False,
        on_status: Callable[[str, TrialStatus], None] = lambda name, status: None,
        on_progress: Callable[[str, Mapping[str, Any]], None] = lambda name, record: None,
    ) -> dict[str, TrialStatus]:
        """Finish these trials, `num_jobs` at a time; without an executor in processes of this machine.

        A failed trial is tried once more. A trial of another running sweep is awaited.
        """
        statuses = self.statuses(jobs)
        for job in jobs:
            status = statuses[job.name]
            if status.result and status.reason:
                trials.save_result(job, status.result)
                on_status(job.name, status)
        queue = [job for job in jobs if not statuses[job.name].result]
        running: dict[Future[TrialStatus], Job] = {}
        failed: set[str] = set()
        shown: dict[str, Mapping[str, Any]] = {}
        self.stop_file.parent.mkdir(parents=True, exist_ok=True)
        with ExitStack() as pools, ExitStack() as at_end:
            pools.callback(self.stop_file.unlink, missing_ok=True)
            at_end.callback(self.stop_file.touch)  # after an error, too: workers save and stop before pools are closed
            pool = executor or pools.enter_context(process_pool(num_jobs, trials.wait_for_trials))
            while queue or running:
                if should_stop():
                    self.stop_file.touch()
                    statuses |= {job.name: TrialStatus("stopped") for job in queue}
                    queue = []
                while queue and len(running) < num_jobs:
                    job = queue.pop(0)
                    running[pool.submit(trials.run_trial, job)] = job
                for future in wait(running, POLL_SECONDS, FIRST_COMPLETED).done:
                    job = running.pop(future)
                    try:
                        status = future.result()
                    except (RarenameError, CancelledError):
                        raise
                    except Exception as error:  # a process was killed: BrokenExecutor, or an error of a given executor
                        status = TrialStatus("failed", f"its process was killed: {error}")
                        if isinstance(error, BrokenExecutor):  # the pool was killed, too
                            pool = executor or pools.enter_context(process_pool(num_jobs, trials.wait_for_trials))
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
        return statuses


def seconds_left(statuses: Mapping[str, TrialStatus], jobs: Sequence[Job], num_jobs: int) -> float | None:
    """The remaining time, estimated from trials that are done or running; None if there are none."""
    done = [status.result for status in statuses.values() if status.result]
    left = [read_progress(job.run_folder) for job in jobs if not statuses[job.name].result]
    totals = [result.seconds for result in done] + [each["seconds"] + each["seconds_left"] for each in left if each]
    if not left or not totals:
        return None if left else 0.0
    evaluation = fmean(result.eval_seconds for result in done) if done else 0.0
    seconds = [evaluation + float(each.get("seconds_left", fmean(totals))) for each in left]
    return sum(seconds) / min(num_jobs, len(left))
