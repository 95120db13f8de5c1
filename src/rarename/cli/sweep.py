"""`rarename sweep`: all trials of an experiment file."""

import argparse
import json
import math
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rarename.cli.common import add_output_format, number, write

if TYPE_CHECKING:
    from rarename.sweep.trial import Job, TrialStatus

EXAMPLE = """  rarename sweep experiments/misuse-python.toml --list
  rarename sweep experiments/misuse-python.toml --filter 'ordered-*' --jobs 2
After an interruption of any kind, the same command continues. Trials that are done are not repeated."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", type=Path, metavar="FILE", help="an experiment file (docs/experiments.md)")
    parser.add_argument("--corpus", metavar="CORPUS", help="default: the corpus that the file names")
    parser.add_argument(
        "--runs", type=Path, default=Path("runs"), metavar="DIR", help="for run folders (default: runs)"
    )
    parser.add_argument(
        "--results", type=Path, default=Path("results"), metavar="DIR", help="for result files (default: results)"
    )
    parser.add_argument(
        "--filter", action="append", default=[], metavar="PATTERN", help="trials to run, such as 'ordered-*'"
    )
    parser.add_argument("--jobs", type=number(int, 1), default=1, metavar="N", help="trials at a time (default: 1)")
    parser.add_argument(
        "--num-threads", type=number(int, 1), metavar="N", help="threads of each trial (default: cores divided by jobs)"
    )
    parser.add_argument("--time-limit", type=number(float, 0), metavar="MINUTES", help="save and stop after this time")
    parser.add_argument("--list", action="store_true", help="show how far each trial is, and do nothing")
    add_output_format(parser, text="a line per trial", json="one object")


def run(arguments: argparse.Namespace) -> int:
    from rarename.cli.display import Display, GracefulInterrupt, format_duration
    from rarename.sweep.grid import load_sweep
    from rarename.sweep.sweep import Sweep, seconds_left

    num_threads = arguments.num_threads or max(1, (os.cpu_count() or 1) // arguments.jobs)
    folders = {"corpus": arguments.corpus, "runs": arguments.runs, "results": arguments.results}
    sweep = Sweep(load_sweep(arguments.file), **folders, num_threads=num_threads)
    jobs = sweep.select(arguments.filter)
    statuses = sweep.statuses(jobs)

    def summary() -> str:
        num_done = sum(status.result is not None for status in statuses.values())
        left = seconds_left(statuses, jobs, arguments.jobs)
        return f"{num_done} of {len(jobs)} trials done" + (f", about {format_duration(left)} left" if left else "")

    is_interrupted = False
    if not arguments.list:
        with Display() as display, GracefulInterrupt() as interrupt:

            def on_status(name: str, status: "TrialStatus") -> None:
                statuses[name] = status
                display.remove(name)
                display.log(f"{name}: {_describe(status)} [{summary()}]")

            statuses = sweep.run(
                jobs,
                num_jobs=arguments.jobs,
                time_limit=math.inf if arguments.time_limit is None else 60 * arguments.time_limit,
                should_stop=interrupt,
                on_status=on_status,
                on_progress=display.log_record,
            )
            is_interrupted = interrupt.is_requested
    if arguments.output_format == "json":
        content = {
            "experiment": sweep.spec.name,
            "title": sweep.spec.title,
            "reproduces": sweep.spec.reproduces,
            "seconds_left": seconds_left(statuses, jobs, arguments.jobs),
            "trials": [_entry(job, statuses[job.name]) for job in jobs],
        }
        write(json.dumps(content, indent=1) + "\n")
    else:
        width = max(len(job.name) for job in jobs)
        write("".join(f"{job.name:<{width}}  {_describe(statuses[job.name])}\n" for job in jobs))
    is_done = all(status.state == "done" for status in statuses.values())
    advice = "" if is_done or arguments.list else "; the same command continues"
    print(f"rarename sweep: {summary()}{advice}", file=sys.stderr)
    return 0 if is_done or arguments.list else 130 if is_interrupted else 2


def _describe(status: "TrialStatus") -> str:
    from rarename.cli.display import describe_metrics

    text = f"{status.state}: {status.reason}" if status.reason else status.state
    return f"{text}, {describe_metrics(status.result.metrics, 1)}" if status.result else text


def _entry(job: "Job", status: "TrialStatus") -> dict[str, Any]:
    metrics = status.result.metrics if status.result else {}
    return {
        "trial": job.name,
        "state": status.state,
        "reason": status.reason,
        "metrics": {key: value for key, value in metrics.items() if not isinstance(value, dict)},
        "run": str(job.run_folder),
        "result": str(job.result_path),
    }
