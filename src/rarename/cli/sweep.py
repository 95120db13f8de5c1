"""`rarename sweep`: all cells of an experiment file."""

import argparse
import json
import math
import os
import signal
import sys
import time
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

from rarename.cli.common import number, write
from rarename.cli.train import SHOWN

if TYPE_CHECKING:
    from rich.text import Text

    from rarename.sweep.cell import Look
    from rarename.sweep.sweep import Event, Job, Outcome, Sweep

EXAMPLE = """  rarename sweep experiments/misuse-python.toml --list
  rarename sweep experiments/misuse-python.toml --only 'ordered-*' --jobs 2
  rarename report results/ --out report
Stopped in whatever way, the same command goes on. What is done already is not done again."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", type=Path, metavar="FILE", help="an experiment file (docs/experiments.md)")
    parser.add_argument("--corpus", metavar="CORPUS", help="where the corpus is, if not where the file says")
    parser.add_argument("--runs", type=Path, default=Path("runs"), metavar="DIR", help="of run folders; default: runs")
    parser.add_argument(
        "--results", type=Path, default=Path("results"), metavar="DIR", help="of result files; default: results"
    )
    parser.add_argument(
        "--only", action="append", default=[], metavar="PATTERN", help="cells to do, for example 'ordered-*'"
    )
    parser.add_argument("--jobs", type=number(int, 1), default=1, metavar="N", help="cells side by side; default: 1")
    parser.add_argument(
        "--threads", type=number(int, 1), metavar="N", help="of each cell; default: cores divided by jobs"
    )
    parser.add_argument(
        "--time-limit", type=number(float, 0), metavar="MINUTES", help="stop after so long; the same goes on"
    )
    parser.add_argument("--list", action="store_true", help="show the cells and how far they are, and do nothing")
    parser.add_argument("--format", choices=("text", "json"), default="text")


def run(arguments: argparse.Namespace) -> int:
    from rarename.sweep.grid import read
    from rarename.sweep.sweep import Sweep, seconds_left

    shown = _Shown(arguments.jobs)
    sweep = Sweep(
        read(arguments.file),
        corpus=arguments.corpus,
        runs=arguments.runs,
        results=arguments.results,
        threads=arguments.threads or max(1, _num_cores() // arguments.jobs),
        tell=shown,
    )
    chosen = sweep.chosen(arguments.only)
    if arguments.list:
        looks = [(job, *sweep.look(job)) for job in chosen]
        entries = [_entry(*look) for look in looks]
        left = seconds_left([(result, run) for _, result, run in looks], arguments.jobs)
        if arguments.format == "json":
            write(_listed(sweep, entries, left, arguments.jobs))
        else:
            write(_table(entries) + _summary(entries, left, arguments.jobs))
        return 0
    limit = math.inf if arguments.time_limit is None else 60 * arguments.time_limit
    with shown.of(sweep, len(chosen)), _Interrupt(sweep) as interrupt:
        outcomes = sweep.run(chosen, arguments.jobs, limit)
    if arguments.format == "json":
        entries = [
            {"cell": job.name, "state": outcomes[job.name].state, "why": outcomes[job.name].why}
            | {"result": str(job.result) if outcomes[job.name].state == "done" else None}
            | _best(outcomes[job.name].result.get("scores", {}))
            for job in chosen
        ]
        write(_json(sweep, entries))
    else:
        write("".join(_line(job, outcomes[job.name]) for job in chosen))
    num_done = sum(outcome.state == "done" for outcome in outcomes.values())
    num_failed = sum(outcome.state == "failed" for outcome in outcomes.values())
    text = f"{num_done} of {len(chosen)} cells are done"
    text += f", {num_failed} failed" if num_failed else ""
    text += f"; {sweep.stopped}, the same command goes on" if sweep.stopped and num_done < len(chosen) else ""
    print(f"rarename sweep: {text}", file=sys.stderr)
    if interrupt.is_asked:
        return 130
    return 0 if num_done == len(chosen) else 2


def _num_cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class _Interrupt:
    """Ctrl-C: trainings save their state. The second time they stop at once."""

    def __init__(self, sweep: "Sweep") -> None:
        self.is_asked = False
        self._sweep = sweep
        self._before: Any = None

    def __enter__(self) -> "_Interrupt":
        self._before = signal.signal(signal.SIGINT, self._ask)
        return self

    def __exit__(self, *_: object) -> None:
        signal.signal(signal.SIGINT, self._before)

    def _ask(self, number: int, frame: FrameType | None) -> None:
        self.is_asked = True
        self._sweep.stop("interrupted")


# --- progress -------------------------------------------------------------------------------------------------


class _Shown:
    """On a terminal a line for each cell that is at work, below what has happened; elsewhere only what happens."""

    def __init__(self, num_jobs: int) -> None:
        self._num_jobs, self._total = num_jobs, 0
        self._sweep: Sweep | None = None
        self._live: Any = None
        self._lines: dict[str, str] = {}
        self._scores: dict[str, str] = {}
        self._began: dict[str, float] = {}

    def of(self, sweep: "Sweep", total: int) -> "_Shown":
        self._sweep, self._total = sweep, total
        return self

    def __enter__(self) -> "_Shown":
        from rich.console import Console
        from rich.live import Live

        console = Console(stderr=True)
        if console.is_terminal:
            self._live = Live(get_renderable=self._render, console=console, refresh_per_second=2, transient=True)
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._live is not None:
            self._live.stop()

    def __call__(self, event: "Event") -> None:
        cell, told = event.cell, event.told
        match event.kind:
            case "begun":
                self._began[cell] = time.monotonic()
                self._lines[cell] = event.text or "begins"
                self._print(cell, f"begun{', ' if event.text else ''}{event.text}")
            case "training":
                self._scores[cell] = _score(told.get("validation", {})) or self._scores.get(cell, "")
                text = f"{told['examples']:,} of {told['total_examples']:,} examples"
                text += f", {self._scores[cell]}" if self._scores[cell] else ""
                text += f", {_time(told['seconds_left'])} left"
                self._lines[cell] = text
                if "validation" in told:
                    self._print(cell, text)
            case "measuring":
                self._lines[cell] = "is measured"
                self._print(cell, "is measured")
            case "done":
                self._lines.pop(cell, None)
                spent = time.monotonic() - self._began.get(cell, time.monotonic())
                self._print(cell, f"done after {_time(spent)}, {_score(told.get('scores', {}))}")
            case "failed" | "stopped":
                self._lines.pop(cell, None)
                self._print(cell, event.text)
            case _:
                self._print(cell, event.text)

    def _print(self, cell: str, text: str) -> None:
        if self._live is not None:
            self._live.console.print(f"{cell}: {text}", markup=False, highlight=False, soft_wrap=True)
        else:
            print(f"{self._overall()} {cell}: {text}", file=sys.stderr, flush=True)

    def _overall(self) -> str:
        assert self._sweep is not None
        left = self._sweep.seconds_left(self._num_jobs)
        time_left = f", about {_time(left)} left" if left else ""
        return f"[{self._sweep.num_done} of {self._total} done{time_left}]"

    def _render(self) -> "Text":
        from rich.text import Text

        return Text("\n".join([*(f"{cell}: {line}" for cell, line in list(self._lines.items())), self._overall()]))


def _best(scores: dict[str, Any]) -> dict[str, float]:
    """The score that a task is judged by."""
    return next(({key: scores[key]} for key in SHOWN.values() if key in scores), {})


def _score(scores: dict[str, Any]) -> str:
    names = {key: name for name, key in SHOWN.items()}
    return "".join(f"{names[key]} {100 * value:.1f}" for key, value in _best(scores).items())


def _time(seconds: float) -> str:
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {seconds} s"


# --- results --------------------------------------------------------------------------------------------------


def _entry(job: "Job", result: "Look", run: "Look") -> dict[str, Any]:
    """How far a cell is, as `--list` tells it."""
    if result.state in ("done", "measured", "stale"):
        state, why = result.state, result.why
    elif run.state == "damaged" or result.state == "damaged":
        state, why = "damaged", run.why if run.state == "damaged" else result.why
    elif run.state == "unlike":
        state, why = "stale", run.why
    else:
        state, why = {"finished": "run finished", "missing": "not begun"}.get(run.state, run.state), ""
    return {
        "cell": job.name,
        "state": state,
        "why": why,
        "examples": run.examples,
        "total_examples": run.total,
        "run": str(job.run),
        "result": str(job.result),
    } | _best(result.content.get("scores", {}) if state in ("done", "measured") else {})


def _table(entries: list[dict[str, Any]]) -> str:
    width = max((len(entry["cell"]) for entry in entries), default=0)
    lines = []
    for entry in entries:
        text = entry["state"]
        if text == "begun" and entry["total_examples"]:
            text = f"{100 * entry['examples'] / entry['total_examples']:.0f} %"
        text += f": {entry['why']}" if entry["why"] else ""
        text += f", {score}" if (score := _score(entry)) else ""
        lines.append(f"{entry['cell']:<{width}}  {text}\n")
    return "".join(lines)


def _num_done(entries: list[dict[str, Any]]) -> int:
    return sum(entry["state"] == "done" for entry in entries)


def _summary(entries: list[dict[str, Any]], left: float | None, num_jobs: int) -> str:
    """The last line of `--list`."""
    jobs = "one job" if num_jobs == 1 else f"{num_jobs} jobs"
    time_left = f", about {_time(left)} left ({jobs})" if left else ""
    return f"{_num_done(entries)} of {len(entries)} done{time_left}\n"


def _listed(sweep: "Sweep", entries: list[dict[str, Any]], left: float | None, num_jobs: int) -> str:
    summary = {"num_done": _num_done(entries), "num_cells": len(entries), "jobs": num_jobs, "seconds_left": left}
    return _json(sweep, entries, **summary)


def _line(job: "Job", outcome: "Outcome") -> str:
    text = f"{job.name}  {outcome.state}"
    text += f": {outcome.why}" if outcome.why else ""
    score = _score(outcome.result.get("scores", {}))
    return f"{text}{f', {score}' if score else ''}\n"


def _json(sweep: "Sweep", cells: list[dict[str, Any]], **more: Any) -> str:
    plan = sweep.plan
    about = {"experiment": plan.name, "title": plan.title, "shows": plan.shows, "task": plan.task}
    return json.dumps(about | more | {"cells": cells}, indent=1) + "\n"
