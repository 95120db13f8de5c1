"""A sweep: all cells of an experiment file, trained, measured, and kept as results; it goes on where it stopped.

    runs/misuse-python/
    ├── ordered-1000-0/              the run folder
    ├── ordered-1000-0.log           what its commands said
    ├── ordered-1000-0.damaged-1/    a run that could not be used any more
    └── .ordered-1000-0.lock         held by the sweep that is at it
    results/misuse-python/
    ├── ordered-1000-0.json          the result: settings, corpus, commands, scores
    └── ordered-1000-0.json.stale-1  a result of other settings, another corpus or recipe

Each cell is two commands that anybody can type, `rarename train` and `rarename evaluate`, in processes of their own.
"""

import concurrent.futures
import dataclasses
import fcntl
import json
import math
import shlex
import signal
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from rarename import config as experiments
from rarename._version import __version__
from rarename.config import Experiment
from rarename.corpus.store import Corpus
from rarename.errors import RarenameError, RunError, UsageError
from rarename.io import write_text
from rarename.runs import embeddings
from rarename.runs.run import SETTING
from rarename.sweep.cell import FORMAT, VERSION, Look, look_at_result, look_at_run, read_metrics, settings_of
from rarename.sweep.grid import Cell, Plan

SPLIT = "test"
ATTEMPTS = 2
"""A cell that fails is tried once more: memory may have been short. Then the others go on."""


@dataclass(frozen=True)
class Job:
    """A cell, and where its files are."""

    cell: Cell
    wanted: Experiment
    run: Path
    result: Path
    elsewhere: Path
    """The result of the experiment that trains it; the same as `result` unless that is another one."""

    @property
    def name(self) -> str:
        return self.cell.name


@dataclass(frozen=True)
class Event:
    """Something that happened to a cell."""

    kind: str
    """begun, training, measuring, done, failed, stopped, waiting or note."""
    cell: str
    text: str = ""
    told: dict[str, Any] = field(default_factory=dict)
    """What `rarename train --format json` told, or the result."""


@dataclass(frozen=True)
class Outcome:
    """How far a cell is when the sweep is over."""

    state: str
    """done, failed or left."""
    why: str = ""
    result: dict[str, Any] = field(default_factory=dict)


class _Stopped(Exception):
    """The sweep was asked to stop while a command ran."""


class Sweep:
    """The cells of an experiment file on one corpus."""

    def __init__(
        self,
        plan: Plan,
        *,
        corpus: str | None = None,
        runs: Path = Path("runs"),
        results: Path = Path("results"),
        threads: int = 1,
        tell: Callable[[Event], None] = lambda _: None,
    ) -> None:
        self.plan, self.threads = plan, threads
        self.corpus = Corpus(corpus or plan.corpus)
        if plan.has_embeddings:
            embeddings.check_installed()
        digest, language = self.corpus.digest(), self.corpus.language.name
        self.jobs = [
            Job(
                cell,
                dataclasses.replace(plan.experiment(cell, str(self.corpus.path), language), corpus_digest=digest),
                runs / plan.runs / cell.name,
                results / plan.name / f"{cell.name}.json",
                results / plan.runs / f"{cell.name}.json",
            )
            for cell in plan.cells
        ]
        self._tell, self._mutex = tell, threading.RLock()
        self._left: list[Job] = []
        self._outcomes: dict[str, Outcome] = {}
        self._processes: list[subprocess.Popen[str]] = []
        self._looks: dict[str, tuple[Look, Look]] = {}
        """Of each cell its result and its run, as they are now; not of one that has failed."""
        self.stopped = ""
        """Why the sweep was stopped, if it was."""

    def chosen(self, patterns: Sequence[str]) -> list[Job]:
        """The cells that one of the patterns fits; all, if there is none."""
        for pattern in patterns:
            if not any(fnmatchcase(job.name, pattern) for job in self.jobs):
                names = ", ".join(job.name for job in self.jobs)
                raise UsageError(f"no cell of {self.plan.name} fits {pattern!r}; there are {names}")
        return [job for job in self.jobs if not patterns or any(fnmatchcase(job.name, each) for each in patterns)]

    def look(self, job: Job) -> tuple[Look, Look]:
        """What the result and the run of a cell are."""
        return self._look_at_result(job), look_at_run(job.run, job.wanted)

    def _look_at_result(self, job: Job) -> Look:
        """A result of ours, or one that another experiment has of the same model: `measured`."""
        own = look_at_result(job.result, job.wanted, self.plan.has_embeddings)
        if own.state != "done" and job.elsewhere != job.result:
            other = look_at_result(job.elsewhere, job.wanted, self.plan.has_embeddings)
            if other.state == "done":
                return dataclasses.replace(other, state="measured")
        return own

    def run(self, chosen: Sequence[Job], num_jobs: int = 1, time_limit: float = math.inf) -> dict[str, Outcome]:
        """Do all that is left of these cells, so many at a time; returns how far each of them is."""
        deadline = time.monotonic() + time_limit
        for job in chosen:
            self._looks[job.name] = self.look(job)
            result, _ = self._looks[job.name]
            if result.state == "done":
                self._outcomes[job.name] = Outcome("done", result=result.content)
            else:
                self._left.append(job)
        if time_limit <= 0:
            self.stop("the time is up")
        with concurrent.futures.ThreadPoolExecutor(num_jobs) as pool:
            workers = [pool.submit(self._work) for _ in range(min(num_jobs, len(self._left)))]
            waiting = set(workers)
            while waiting:
                pause = min(0.2, max(0.0, deadline - time.monotonic())) if not self.stopped else 0.2
                done, waiting = concurrent.futures.wait(waiting, pause, concurrent.futures.FIRST_EXCEPTION)
                if time.monotonic() >= deadline and not self.stopped:
                    self.stop("the time is up")
                if any(worker.exception() for worker in done) and not self.stopped:
                    self.stop("something went wrong")
        for worker in workers:
            worker.result()
        return {job.name: self._outcomes.get(job.name, Outcome("left")) for job in chosen}

    def stop(self, why: str) -> None:
        """Begin nothing more, and let what runs save its state; asked again, it stops at once."""
        self.stopped = self.stopped or why
        for process in list(self._processes):
            process.send_signal(signal.SIGINT)

    @property
    def num_done(self) -> int:
        return sum(outcome.state == "done" for outcome in list(self._outcomes.values()))

    def seconds_left(self, num_jobs: int) -> float | None:
        """For all cells, by what is known of them; None as long as nothing is."""
        return seconds_left(list(self._looks.values()), num_jobs)

    # --- one worker -------------------------------------------------------------------------------------------

    def _work(self) -> None:
        """Take one cell after the other that nobody else is at."""
        awaited: set[str] = set()
        while not self.stopped:
            with ExitStack() as stack:
                taken = self._take(stack)
                if taken is not None:
                    job, lock = taken
                    self._attempts(job, lock)
            if taken is None:
                for other in list(self._left):
                    if other.name not in awaited:
                        awaited.add(other.name)
                        self._say("waiting", other, "waits: another sweep is at it")
                if not self._left:
                    return
                time.sleep(0.5)

    def _take(self, stack: ExitStack) -> tuple[Job, int] | None:
        """The next cell that is not locked, and its lock until the stack is closed.

        Commands inherit the lock: if this process is killed, it is held until they have ended as well.
        """
        with self._mutex:
            for job in self._left:
                job.run.parent.mkdir(parents=True, exist_ok=True)
                lock = (job.run.parent / f".{job.name}.lock").open("w")
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    lock.close()
                    continue
                stack.enter_context(lock)
                self._left.remove(job)
                return job, lock.fileno()
        return None

    def _attempts(self, job: Job, lock: int) -> None:
        """Do a cell, and keep how far it came before that is told."""
        for attempt in range(1, ATTEMPTS + 1):
            try:
                result = self._do(job, lock)
            except _Stopped:
                self._outcomes[job.name] = Outcome("left", "stopped")
                return self._say("stopped", job, "stopped; the same command goes on")
            except (RarenameError, OSError, ValueError) as error:
                if attempt == ATTEMPTS or self.stopped:
                    self._outcomes[job.name] = Outcome("failed", str(error))
                    del self._looks[job.name]
                    return self._say("failed", job, f"failed: {error}")
                self._say("note", job, f"failed, and is tried once more: {error}")
            else:
                self._outcomes[job.name] = Outcome("done", result=result)
                self._looks[job.name] = Look("done", content=result), Look("finished")
                return self._say("done", job, told=result)
        raise AssertionError("the last attempt returns")

    def _do(self, job: Job, lock: int) -> dict[str, Any]:
        """Whatever is left to do for a cell; returns its result."""
        result, run = self.look(job)
        if result.state == "done":  # by another sweep
            return result.content
        if result.state == "measured":
            more = f" (the old one is now {_move_aside(job.result, 'stale').name})" if job.result.exists() else ""
            self._say("note", job, f"takes the result of {self.plan.runs}, which has the same settings{more}")
            about = {"experiment": self.plan.name, "title": self.plan.title, "shows": self.plan.shows}
            return self._write(job, result.content | about)
        if run.state in ("unlike", "damaged") and self.plan.runs != self.plan.name:
            raise RunError(self._why_not_moved(job, run))
        if result.state in ("stale", "damaged"):
            aside = _move_aside(job.result, result.state)
            self._say("note", job, f"its result is {result.state}, and is made again: {result.why} (now {aside.name})")
        if run.state in ("unlike", "damaged"):
            aside = _move_aside(job.run, "damaged")
            word = "of other settings" if run.state == "unlike" else "damaged"
            self._say("note", job, f"its run is {word}, and is made again: {run.why} (now {aside.name})")
            run = Look("missing")
        if run.state != "missing":
            _follow_corpus(job)
        began = {"finished": "trained already", "begun": f"goes on at {run.examples:,} examples"}
        self._say("begun", job, began.get(run.state, ""))
        if run.state != "finished":
            self._command(job, lock, self._training(job), ["--resume"] if run.state == "begun" else [])
        self._say("measuring", job)
        measuring = time.monotonic()
        scores = json.loads(self._command(job, lock, self._measuring(job)))
        return self._write(job, self._result(job, scores, time.monotonic() - measuring))

    def _write(self, job: Job, content: dict[str, Any]) -> dict[str, Any]:
        job.result.parent.mkdir(parents=True, exist_ok=True)
        write_text(job.result, _spelt(content))
        return content

    def _why_not_moved(self, job: Job, run: Look) -> str:
        """What keeps a cell from being done whose run is among those of another experiment: they are not ours."""
        others = self.plan.runs
        if run.state == "unlike":
            return f"{job.run}, a run of {others}, has other settings: {run.why}; let the experiments agree"
        return f"{job.run}, a run of {others}, is damaged: {run.why}; sweep {others}, or move that folder away"

    # --- commands ---------------------------------------------------------------------------------------------

    def _training(self, job: Job) -> list[str]:
        options = ["--corpus", str(self.corpus.path), "--run", str(job.run), *job.cell.options()]
        return ["train", self.plan.task, *options, "--threads", str(self.threads)]

    def _measuring(self, job: Job) -> list[str]:
        return ["evaluate", str(job.run), "--split", SPLIT, "--threads", str(self.threads)]

    def _command(self, job: Job, lock: int, words: list[str], more: Sequence[str] = ()) -> str:
        """Run a command of rarename; returns what it printed. What it says besides goes to the log."""
        command = [sys.executable, "-m", "rarename.sweep.child", *words, *more, "--format", "json"]
        log = job.run.parent / f"{job.name}.log"
        printed: list[str] = []
        with log.open("ab") as errors:
            start = errors.tell()
            # In a session of its own: Ctrl-C of the terminal comes to us, and we pass it on, once.
            process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                pass_fds=[lock],
                start_new_session=True,
            )
        self._processes.append(process)
        try:
            if self.stopped:
                process.send_signal(signal.SIGINT)
            assert process.stdout is not None
            for line in process.stdout:
                if words[0] == "train":
                    self._hear(job, line)
                else:
                    printed.append(line)
            code = process.wait()
        finally:
            self._processes.remove(process)
            # Only now: its input ends when we do.
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    pipe.close()
        if self.stopped and (code or words[0] == "train"):
            raise _Stopped
        if code:
            raise RunError(f"`rarename {words[0]}` ended with {_ending(code)}; {_last_line(log, start)}")
        return "".join(printed)

    def _hear(self, job: Job, line: str) -> None:
        try:
            told = json.loads(line)
        except ValueError:
            return  # it was killed in the middle of a line
        run = Look("begun", "", {}, told["examples"], told["total_examples"], told["seconds"])
        self._looks[job.name] = Look("missing"), run
        self._say("training", job, told=told)

    def _say(self, kind: str, job: Job, text: str = "", told: dict[str, Any] | None = None) -> None:
        with self._mutex:
            self._tell(Event(kind, job.name, text, told or {}))

    # --- the result -------------------------------------------------------------------------------------------

    def _result(self, job: Job, scores: dict[str, Any], measuring: float) -> dict[str, Any]:
        run, metrics = look_at_run(job.run, job.wanted), read_metrics(job.run)
        if run.state != "finished":
            raise RunError(f"{job.run} is not finished: {run.why or run.state}")
        corpus = self._spelt_corpus()
        shown = dataclasses.replace(job, run=Path("runs") / self.plan.runs / job.name)
        commands = [self._training(shown), self._measuring(shown)]
        commands[0][commands[0].index("--corpus") + 1] = corpus
        encoding = job.wanted.encoding
        result = {
            "format": FORMAT,
            "version": VERSION,
            "experiment": self.plan.name,
            "cell": job.name,
            "title": self.plan.title,
            "shows": self.plan.shows,
            "task": self.plan.task,
            "language": self.corpus.language.name,
            "preset": job.cell.preset,
            "strategy": encoding.strategy,
            "vocabulary_size": encoding.vocabulary_size,
            "placeholders": encoding.placeholders,
            "pointer": getattr(job.wanted.task, "has_pointer", False),
            "seed": job.wanted.seed,
            "settings": settings_of(job.wanted) | {"corpus": corpus},
            "corpus": {
                "name": Path(corpus).name,
                "digest": job.wanted.corpus_digest,
                "projects": sum(split["projects"] for split in self.corpus.manifest["splits"].values()),
            },
            "code": {"version": __version__, "recipe": experiments.VERSION},
            "commands": [shlex.join(["rarename", *words]) for words in commands],
            "split": SPLIT,
            "examples": run.examples,
            "seconds": round(run.seconds, 1),
            "measuring_seconds": round(measuring, 1),
            "scores": scores,
            "curve": [
                {"examples": line["examples"], "seconds": round(line["seconds"], 1)}
                | {key: line[key] for key in ("loss", "validation")}
                for line in metrics
            ],
        }
        if self.plan.has_embeddings:
            result["embeddings"] = embeddings.look_at_embeddings(job.run)
        return result

    def _spelt_corpus(self) -> str:
        """As the experiment file has it, whatever folder it is in here; never an absolute path."""
        corpus = Path(self.plan.corpus)
        return f"corpora/{corpus.name}" if corpus.is_absolute() else self.plan.corpus


def seconds_left(looks: Sequence[tuple[Look, Look]], num_jobs: int) -> float | None:
    """How long cells will take of which this was found, by what is known of them; None if too little is."""
    done = [result.content for result, _ in looks if result.state in ("done", "measured")]
    runs = [run for result, run in looks if result.state not in ("done", "measured")]
    whole = [_whole_seconds(run) for run in runs if run.total]
    trained = [float(content["seconds"]) for content in done] or whole
    if not runs or not trained:
        return None if runs else 0.0
    measuring = _mean([seconds for content in done for seconds in _measuring_seconds(content)])
    usual = statistics.fmean(trained)
    left = sum(measuring + (max(0.0, _whole_seconds(run) - run.seconds) if run.total else usual) for run in runs)
    return left / min(num_jobs, len(runs)) if left else None


def _whole_seconds(run: Look) -> float:
    """What the training of a run takes in all, at the pace that it has had; for one that ended early, what it took."""
    return run.seconds if run.state == "finished" else run.seconds * max(1.0, run.total / max(1, run.examples))


def _measuring_seconds(content: dict[str, Any]) -> list[float]:
    """How long it took to measure a cell: one number, or none in a result of an earlier version."""
    seconds = content.get("measuring_seconds")
    return [float(seconds)] if isinstance(seconds, int | float) else []


def _mean(seconds: Sequence[float]) -> float:
    return statistics.fmean(seconds) if seconds else 0.0


def _spelt(content: dict[str, Any]) -> str:
    """A line for each key: short, and two results can be compared line by line."""
    lines = [f"{json.dumps(key)}: {json.dumps(value, allow_nan=False)}" for key, value in content.items()]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _follow_corpus(job: Job) -> None:
    """The corpus of a run may lie elsewhere now; that it is the same one, its digest has told."""
    if experiments.read(job.run / SETTING).corpus != job.wanted.corpus:
        experiments.write(job.wanted, job.run / SETTING)


def _move_aside(path: Path, word: str) -> Path:
    """Out of the way, but not away."""
    number = 1
    while (aside := path.with_name(f"{path.name}.{word}-{number}")).exists():
        number += 1
    return path.rename(aside)


def _ending(code: int) -> str:
    return f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"


def _last_line(log: Path, start: int) -> str:
    with log.open("rb") as file:
        file.seek(start)
        lines = file.read().decode("utf-8", "replace").split("\n")
    said = [line.strip() for line in lines if line.strip()]
    return f"{said[-1]} (more in {log})" if said else "it said nothing"
