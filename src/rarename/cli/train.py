"""`rarename train`: a model from a corpus."""

import argparse
import json
import math
import sys
import tomllib
from pathlib import Path
from typing import Any

from rarename.anonymize import STRATEGIES
from rarename.cli.reading import write
from rarename.errors import UsageError

EXAMPLE = """  rarename prepare corpora/stdlib stdlib --language python
  rarename train misuse --corpus corpora/stdlib --run runs/ordered --preset tiny --vocabulary-size 100
If it is interrupted, --resume goes on where it stopped, and ends as if nothing had happened."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("task", choices=("misuse",), help="misuse: find the wrong variable, point at the right one")
    parser.add_argument("--corpus", required=True, metavar="CORPUS", help="a folder made by `rarename prepare`")
    parser.add_argument("--run", required=True, type=Path, metavar="RUN", help="the folder to make")
    parser.add_argument("--preset", default="small", choices=("paper", "small", "tiny"), help="default: small")
    parser.add_argument("--strategy", choices=STRATEGIES, help="default: ordered")
    parser.add_argument("--vocabulary-size", type=int, metavar="N", help="default: 1000")
    parser.add_argument("--seed", type=int, metavar="N", help="default: 0")
    parser.add_argument("--config", type=Path, metavar="FILE", help="settings as TOML, such as a run's experiment.toml")
    parser.add_argument(
        "--set", action="append", default=[], metavar="KEY=VALUE", help="one setting, for example model.layers=2"
    )
    parser.add_argument("--resume", action="store_true", help="go on with a run that was interrupted")
    parser.add_argument("--time-limit", type=float, metavar="MINUTES", help="stop after so long; --resume goes on")
    parser.add_argument("--threads", type=int, metavar="N", help="threads of torch (default: its own choice)")
    parser.add_argument("--format", choices=("text", "json"), default="text")


def run(arguments: argparse.Namespace) -> int:
    import torch

    from rarename.experiment import experiment as experiments
    from rarename.experiment.run import train

    if arguments.threads:
        torch.set_num_threads(arguments.threads)
    experiment = experiments.build(arguments.corpus, arguments.preset, _settings(arguments))
    limit = math.inf if arguments.time_limit is None else 60 * arguments.time_limit
    tell = _tell_json if arguments.format == "json" else _Told()
    try:
        is_done = train(experiment, arguments.run, resume=arguments.resume, time_limit=limit, tell=tell)
    except KeyboardInterrupt:
        print("rarename train: interrupted; the same command with --resume goes on", file=sys.stderr)
        return 130
    if not is_done:
        print("rarename train: the time is up; the same command with --resume goes on", file=sys.stderr)
    return 0


def _settings(arguments: argparse.Namespace) -> dict[str, Any]:
    settings: dict[str, Any] = {}
    if arguments.config:
        try:
            settings |= tomllib.loads(arguments.config.read_text(encoding="utf-8"))
        except (OSError, tomllib.TOMLDecodeError) as error:
            raise UsageError(f"{arguments.config} cannot be read: {error}") from error
    settings.pop("corpus", None)
    for text in arguments.set:
        key, equals, value = text.partition("=")
        if not equals:
            raise UsageError(f"--set {text}: expected KEY=VALUE")
        try:
            settings[key] = tomllib.loads(f"value = {value}")["value"]
        except tomllib.TOMLDecodeError:
            settings[key] = value  # a word needs no quotes here
    given = {
        "encoding.strategy": arguments.strategy,
        "encoding.vocabulary_size": arguments.vocabulary_size,
        "seed": arguments.seed,
    }
    return settings | {key: value for key, value in given.items() if value is not None}


def _tell_json(told: dict[str, Any]) -> None:
    write(json.dumps(told) + "\n")


class _Told:
    """A line that is written over on a terminal; only validations elsewhere."""

    def __call__(self, told: dict[str, Any]) -> None:
        is_terminal = sys.stderr.isatty()
        if "validation" not in told and not is_terminal:
            return
        left = told["seconds_left"]
        line = (
            f"{told['examples']:>9,} examples  loss {told['loss']:.3f}  {told['examples_per_second']:.0f} examples/s  "
            f"{told['nodes_per_second']:,.0f} nodes/s  {left // 60:.0f} min {left % 60:.0f} s left"
        )
        if "validation" in told:
            scores = told["validation"]
            line += (
                f"  joint {100 * scores['joint_accuracy']:.1f}  location {100 * scores['location_accuracy']:.1f}  "
                f"repair {100 * scores['repair_accuracy']:.1f}  no bug {100 * scores['no_bug_accuracy']:.1f}"
            )
        end = "\n" if "validation" in told else ""
        print(f"\r\x1b[K{line}" if is_terminal else line, end=end if is_terminal else "\n", file=sys.stderr, flush=True)
