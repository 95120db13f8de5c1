"""`rarename sweep`: all trials of an experiment file."""

import argparse
import json
import math
import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from rarename.cli.common import add_output_format, number, write

if TYPE_CHECKING:
    from rarename.sweep.trial import TrialStatus

EXAMPLE = """  rarename sweep experiments/misuse-python.toml --list
  rarename sweep experiments/misuse-python.toml --filter 'ordered-*' --jobs 2
After an interruption of any kind, the same command continues. Trials that are done are not repeated."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add, count = parser.add_argument, number(int, 1)
    add("file", type=Path, metavar="FILE", help="an experiment file (docs/experiments.md)")
    add("--corpus", metavar="CORPUS", help="default: the corpus that the file names")
    add("--runs", type=Path, default=Path("runs"), metavar="DIR", help="for run folders (default: runs)")
    add("--results", type=Path, default=Path("results"), metavar="DIR", help="for result files (default: results)")
    add("--filter", action="append", default=[], metavar="PATTERN", help="trials to run, such as 'ordered-*'")
    add("--jobs", type=count, default=1, metavar="N", help="trials at a time (default: 1)")
    add("--num-threads", type=count, metavar="N", help="threads of each trial (default: cores divided by jobs)")
    add(
        "--time-limit", type=number(float, 0), default=math.inf, metavar="MINUTES", help="save and stop after this time"
    )
    add("--list", action="store_true", help="show how far each trial is, and do nothing")
    add_output_format(parser, text="a line per trial", json="one object")


def run(arguments: argparse.Namespace) -> int:
    from rarename.cli.display import Display, GracefulInterrupt, format_duration
    from rarename.sweep.grid import load_sweep
    from rarename.sweep.sweep import Sweep, seconds_left

    deadline = time.monotonic() + 60 * arguments.time_limit
    num_threads = arguments.num_threads or max(1, (os.cpu_count() or 1) // arguments.jobs)
    folders = {"corpus": arguments.corpus, "runs": arguments.runs, "results": arguments.results}
    sweep = Sweep(load_sweep(arguments.file), **folders, num_threads=num_threads)
    jobs = sweep.select(arguments.filter)
    statuses = sweep.statuses(jobs)

    def summary() -> str:
        num_done = sum(status.state == "done" for status in statuses.values())
        left = seconds_left(statuses, jobs, arguments.jobs)
        return f"{num_done} of {len(jobs)} trials done" + (f", about {format_duration(left)} left" if left else "")

    is_interrupted = False
    if not arguments.list:
        with Display() as display, GracefulInterrupt() as interrupt:

            def on_status(name: str, status: "TrialStatus") -> None:
                statuses[name] = status
                display.remove(name)
                display.log(f"{name}: {_describe(status)} [{summary()}]")

            def should_stop() -> bool:
                return interrupt() or time.monotonic() >= deadline

            statuses = sweep.run(
                jobs,
                num_jobs=arguments.jobs,
                should_stop=should_stop,
                on_status=on_status,
                on_progress=display.log_record,
            )
            is_interrupted = interrupt.is_requested
    if arguments.output_format == "json":
        listed = [
            {"trial": name, "state": status.state, "reason": status.reason, "metrics": _metrics(status)}
            for name, status in statuses.items()
        ]
        left = seconds_left(statuses, jobs, arguments.jobs)
        write(json.dumps({"experiment": sweep.spec.name, "seconds_left": left, "trials": listed}, indent=1) + "\n")
    else:
        width = max(map(len, statuses))
        write("".join(f"{name:<{width}}  {_describe(status)}\n" for name, status in statuses.items()))
    is_over = arguments.list or all(status.state == "done" for status in statuses.values())
    print(f"rarename sweep: {summary()}{'' if is_over else '; the same command continues'}", file=sys.stderr)
    return 0 if is_over else 130 if is_interrupted else 2


def _describe(status: "TrialStatus") -> str:
    from rarename.cli.display import describe_metrics

    text = f"{status.state}: {status.reason}" if status.reason else status.state
    return f"{text}, {describe_metrics(status.result.metrics, 1)}" if status.result else text


def _metrics(status: "TrialStatus") -> dict[str, float]:
    metrics = status.result.metrics if status.result else {}
    return {key: value for key, value in metrics.items() if not isinstance(value, dict)}
