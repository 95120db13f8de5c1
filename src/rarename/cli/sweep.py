"""`rarename sweep`: all trials of an experiment file."""

import argparse
import math
import os
import sys
import time
from functools import partial
from pathlib import Path

from rarename.cli.common import AVX512_HELP, add_output_format, number, write, write_json
from rarename.cli.display import Display, GracefulInterrupt, describe_metrics, format_duration
from rarename.sweep.trial import TrialStatus

EXAMPLE = """  rarename sweep experiments/misuse-python.toml --list
  rarename sweep experiments/misuse-python.toml --filter 'ordered-*' --jobs 2
After an interruption, run the same command to resume. Finished trials are not repeated."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add, count, minutes = parser.add_argument, number(int, 1), number(float, 0)
    add("file", type=Path, metavar="FILE", help="an experiment file (docs/experiments.md)")
    add("--corpus", metavar="CORPUS", help="folder of the corpus (default: the one in FILE)")
    add("--runs", type=Path, default=Path("runs"), metavar="DIR", help="folder of the runs (default: runs)")
    add("--results", type=Path, default=Path("results"), metavar="DIR", help="folder of the results (default: results)")
    add("--filter", action="append", default=[], metavar="PATTERN", help="trials to run, such as 'ordered-*'")
    add("--jobs", type=count, default=1, metavar="N", help="trials at a time (default: 1)")
    add("--avx512", action="store_true", help=AVX512_HELP)
    add("--num-threads", type=count, metavar="N", help="threads of each trial (default: cores divided by jobs)")
    add("--time-limit", type=minutes, default=math.inf, metavar="MINUTES", help="save and stop after this time")
    add("--list", action="store_true", help="show the progress of each trial and exit")
    add_output_format(parser, text="a line per trial", json="one object")


def run(arguments: argparse.Namespace) -> int:
    from rarename.sweep.grid import load_sweep
    from rarename.sweep.sweep import Sweep, seconds_left

    deadline = time.monotonic() + 60 * arguments.time_limit
    num_threads = arguments.num_threads or max(1, (os.cpu_count() or 1) // arguments.jobs)
    folders = {"corpus": arguments.corpus, "runs": arguments.runs, "results": arguments.results}
    sweep = Sweep(load_sweep(arguments.file), **folders, num_threads=num_threads, avx512=arguments.avx512)
    jobs = sweep.select(arguments.filter)
    statuses = sweep.statuses(jobs)

    def summary() -> str:
        num_done = sum(status.state == "done" for status in statuses.values())
        left = seconds_left(statuses, jobs, arguments.jobs)
        return f"{num_done} of {len(jobs)} trials done" + (f", about {format_duration(left)} left" if left else "")

    is_interrupted = False
    if not arguments.list:
        with Display() as display, GracefulInterrupt() as interrupt:

            def on_status(name: str, status: TrialStatus) -> None:
                statuses[name] = status
                display.remove(name)
                display.log(f"{name}: {_describe(status)} [{summary()}]")

            run_jobs = partial(sweep.run, jobs, num_jobs=arguments.jobs, on_progress=display.log_record)
            statuses = run_jobs(on_status=on_status, should_stop=lambda: interrupt() or time.monotonic() >= deadline)
            is_interrupted = interrupt.is_requested
    if arguments.output_format == "json":
        listed = [{"trial": name, "state": each.state, "reason": each.reason} for name, each in statuses.items()]
        left = seconds_left(statuses, jobs, arguments.jobs)
        write_json({"experiment": sweep.spec.name, "seconds_left": left, "trials": listed}, indent=1)
    else:
        width = max(map(len, statuses))
        write("".join(f"{name:<{width}}  {_describe(status)}\n" for name, status in statuses.items()))
    is_over = arguments.list or all(status.state == "done" for status in statuses.values())
    print(f"rarename sweep: {summary()}{'' if is_over else '; run the same command to resume'}", file=sys.stderr)
    return 0 if is_over else 130 if is_interrupted else 2


def _describe(status: TrialStatus) -> str:
    text = f"{status.state}: {status.reason}" if status.reason else status.state
    return f"{text}, {describe_metrics(status.result.metrics, 1)}" if status.result else text
