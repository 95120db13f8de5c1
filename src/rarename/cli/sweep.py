"""`rarename sweep`: all trials of an experiment file."""

import argparse
import math
import os
import sys
import time
from functools import partial
from pathlib import Path

from rarename.cli.common import (
    AVX512_HELP,
    add_cluster_arguments,
    add_output_format,
    cluster,
    number,
    write,
    write_json,
)
from rarename.cli.display import Display, describe_metrics, format_duration
from rarename.cli.interrupt import GracefulInterrupt
from rarename.sweep.trial import TrialStatus

EXAMPLE = """  rarename sweep experiments/misuse-python.toml --list
  rarename sweep experiments/misuse-python.toml --filter 'ordered-*' --jobs 2
  rarename sweep experiments/misuse-python.toml --cluster tcp://scheduler:8786 --resource GPU=1
After an interruption, run the same command to resume. Finished trials are not repeated."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add, count, minutes = parser.add_argument, number(int, 1), number(float, 0)
    add("file", type=Path, metavar="FILE", help="an experiment file (docs/experiments.md)")
    add("--corpus", metavar="CORPUS", help="folder of the corpus (default: the one in FILE)")
    add("--runs", type=Path, default=Path("runs"), metavar="DIR", help="folder of the runs (default: runs)")
    add("--results", type=Path, default=Path("results"), metavar="DIR", help="folder of the results (default: results)")
    add("--filter", action="append", default=[], metavar="PATTERN", help="trials to run, such as 'ordered-*'")
    jobs = "trials at a time (default: 1, or as many as a cluster has workers)"
    add("--jobs", type=count, metavar="N", help=jobs)
    add("--avx512", action="store_true", help=AVX512_HELP)
    add(
        "--num-threads",
        type=count,
        metavar="N",
        help="threads of each trial (default: cores divided by jobs; 1 on a cluster)",
    )
    add("--time-limit", type=minutes, default=math.inf, metavar="MINUTES", help="save and stop after this time")
    add("--list", action="store_true", help="show the progress of each trial and exit")
    add_output_format(parser, text="a line per trial", json="one object")
    add_cluster_arguments(parser)
    resource = "what a trial needs of a worker, such as GPU=1 (dask worker --resources GPU=1); can be repeated"
    add("--resource", type=_resource, action="append", metavar="NAME=N", help=resource)


def _resource(text: str) -> tuple[str, float]:
    name, _, amount = text.partition("=")
    return name, number(float, 0)(amount)


def run(arguments: argparse.Namespace) -> int:
    from rarename.cluster import TRAINING_PACKAGES
    from rarename.sweep.grid import load_sweep
    from rarename.sweep.sweep import Sweep, seconds_left

    deadline = time.monotonic() + 60 * arguments.time_limit
    spec, num_jobs = load_sweep(arguments.file), arguments.jobs or 1
    cores = 1 if arguments.cluster else os.cpu_count() or 1
    num_threads = arguments.num_threads or max(1, cores // num_jobs)
    folders = [Path(arguments.corpus or spec.corpus), arguments.runs, arguments.results]
    if arguments.cluster:  # workers have another current folder
        folders = [folder.absolute() for folder in folders]
    corpus, runs, results = folders
    options = {"num_threads": num_threads, "avx512": arguments.avx512}
    sweep = Sweep(spec, corpus=str(corpus), runs=runs, results=results, **options)
    jobs = sweep.select(arguments.filter)
    statuses = sweep.statuses(jobs)

    def summary() -> str:
        num_done = sum(status.state == "done" for status in statuses.values())
        left = seconds_left(statuses, jobs, num_jobs)
        return f"{num_done} of {len(jobs)} trials done" + (f", about {format_duration(left)} left" if left else "")

    is_interrupted = False
    if not arguments.list:
        workers = cluster(arguments, [runs, results], packages=TRAINING_PACKAGES, one_thread=True)
        with workers as executor, Display() as display, GracefulInterrupt() as interrupt:
            num_jobs = arguments.jobs or (executor.num_workers if executor else 1)

            def on_status(name: str, status: TrialStatus) -> None:
                statuses[name] = status
                display.remove(name)
                display.log(f"{name}: {_describe(status)} [{summary()}]")

            run_jobs = partial(sweep.run, jobs, num_jobs=num_jobs, executor=executor, on_progress=display.log_record)
            statuses = run_jobs(on_status=on_status, should_stop=lambda: interrupt() or time.monotonic() >= deadline)
            is_interrupted = interrupt.is_requested
    if arguments.output_format == "json":
        listed = [{"trial": name, "state": each.state, "reason": each.reason} for name, each in statuses.items()]
        left = seconds_left(statuses, jobs, num_jobs)
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
