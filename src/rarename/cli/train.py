"""`rarename train`: a model from a corpus."""

import argparse
import json
import math
import signal
import sys
import time
import tomllib
from collections.abc import Callable
from contextlib import ExitStack, closing
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

from rarename.anonymize import STRATEGIES
from rarename.cli.common import discard_output, number, write
from rarename.errors import UsageError

if TYPE_CHECKING:
    from rarename.config import Experiment

SHOWN = {
    "joint": "joint_accuracy",
    "location": "location_accuracy",
    "repair": "repair_accuracy",
    "no bug": "no_bug_accuracy",
    "MRR of values": "mrr_values",
    "of types": "mrr_types",
}
"""The scores that are shown while training goes on, if the task has them."""

SECONDS_BETWEEN = 30.0
"""Between two lines, where there is no terminal to draw a bar on."""

EXAMPLE = """  rarename prepare corpora/stdlib stdlib --language python
  rarename train misuse --corpus corpora/stdlib --run runs/ordered --preset tiny --vocabulary-size 100
If it is interrupted, --resume goes on where it stopped, and ends as if nothing had happened.
Several processes, on processors or graphics cards:
  torchrun --nproc-per-node 4 -m -- rarename train misuse --corpus corpora/stdlib --run runs/ordered"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "task",
        choices=("misuse", "completion"),
        help="misuse: find the wrong variable, point at the right one; completion: tell the next node",
    )
    parser.add_argument("--corpus", required=True, metavar="CORPUS", help="a folder made by `rarename prepare`")
    parser.add_argument("--run", required=True, type=Path, metavar="RUN", help="the folder to make")
    parser.add_argument(
        "--preset",
        default="small",
        choices=("paper", "small", "check", "complete", "tiny"),
        help="how large, and how it is trained; check is of misuse, complete of completion (default: small)",
    )
    parser.add_argument("--strategy", choices=STRATEGIES, help="default: ordered")
    parser.add_argument("--vocabulary-size", type=int, metavar="N", help="default: 1000")
    parser.add_argument("--pointer", action="store_true", help="completion: values may be copied from before")
    parser.add_argument("--seed", type=int, metavar="N", help="default: 0")
    parser.add_argument("--config", type=Path, metavar="FILE", help="settings as TOML, such as a run's experiment.toml")
    parser.add_argument(
        "--set", action="append", default=[], metavar="KEY=VALUE", help="one setting, for example model.layers=2"
    )
    parser.add_argument("--resume", action="store_true", help="go on with a run that was interrupted")
    parser.add_argument(
        "--time-limit", type=number(float, 0), metavar="MINUTES", help="stop after so long; --resume goes on"
    )
    parser.add_argument(
        "--threads", type=number(int, 1), metavar="N", help="threads of torch (default: its own choice)"
    )
    parser.add_argument("--tensorboard", action="store_true", help="write curves for TensorBoard to RUN/tensorboard")
    parser.add_argument(
        "--format", choices=("text", "json"), default="text", help="how progress is told; json is one object a line"
    )


def run(arguments: argparse.Namespace) -> int:
    import torch

    from rarename.runs import tensorboard
    from rarename.runs.run import train
    from rarename.training.distributed import started
    from rarename.training.trainer import STATE, Outcome

    if arguments.threads:
        torch.set_num_threads(arguments.threads)
    with ExitStack() as stack:
        processes = stack.enter_context(started())
        experiment = processes.by_first(lambda: _experiment(arguments))
        tells: list[Callable[[dict[str, Any]], None]] = [_tell_json]
        if arguments.format == "text":
            tells = [stack.enter_context(_Shown(arguments.run.name))]
        if arguments.tensorboard:
            processes.by_first(tensorboard.check_installed)
            tells.append(stack.enter_context(closing(tensorboard.Curves(arguments.run))))
        interrupt = stack.enter_context(_Interrupt(can_insist=processes.count == 1))

        def tell(told: dict[str, Any]) -> None:
            try:
                for each in tells:
                    each(told)
            except BrokenPipeError:
                discard_output()
                interrupt.is_asked = True  # nobody listens any more: as by Ctrl-C, the state is saved

        if arguments.resume and processes.is_first and not (arguments.run / STATE).exists():
            print(f"rarename train: nothing is saved in {arguments.run} to go on with; it begins anew", file=sys.stderr)

        try:
            outcome = train(
                experiment,
                arguments.run,
                resume=arguments.resume,
                time_limit=math.inf if arguments.time_limit is None else 60 * arguments.time_limit,
                tell=tell,
                is_interrupted=interrupt,
                processes=processes,
            )
        except KeyboardInterrupt:
            outcome, interrupt.is_asked = Outcome.INTERRUPTED, True
    if outcome is Outcome.FINISHED:
        text = f"finished; the best weights are in {arguments.run}"
    elif outcome is Outcome.EARLY:
        text = (
            f"stopped early, after {experiment.training.patience} validations without a better score; "
            f"the best weights are in {arguments.run}"
        )
    else:
        text = "interrupted" if interrupt.is_asked else "the time is up"
        text += "; the same command with --resume goes on"
    if processes.is_first:
        print(f"rarename train: {text}", file=sys.stderr)
    return 130 if interrupt.is_asked and not outcome else 0


def _experiment(arguments: argparse.Namespace) -> "Experiment":
    from rarename.config import build
    from rarename.corpus.store import Corpus

    language = Corpus(arguments.corpus).language.name
    return build(arguments.corpus, arguments.preset, _settings(arguments), language, arguments.task)


def _settings(arguments: argparse.Namespace) -> dict[str, Any]:
    from rarename.config import read_settings

    if arguments.pointer and arguments.task != "completion":
        raise UsageError(f"--pointer is for completion; {arguments.task} has nothing to copy")
    settings = read_settings(arguments.config) if arguments.config else {}
    for key in ("version", "corpus", "corpus_digest"):
        settings.pop(key, None)
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
        "task.has_pointer": arguments.pointer or None,
    }
    return settings | {key: value for key, value in given.items() if value is not None}


class _Interrupt:
    """Ctrl-C: once training runs, its step is ended and the state saved. Before that, and the second time, all stops.

    torchrun passes on what the terminal has sent to all processes already: there, a second time is no insisting.
    """

    def __init__(self, can_insist: bool) -> None:
        self.is_asked = self._is_training = False
        self._can_insist = can_insist
        self._before: Any = None

    def __enter__(self) -> "_Interrupt":
        self._before = signal.signal(signal.SIGINT, self._ask)
        return self

    def __exit__(self, *_: object) -> None:
        signal.signal(signal.SIGINT, self._before)

    def __call__(self) -> bool:
        self._is_training = True
        return self.is_asked

    def _ask(self, number: int, frame: FrameType | None) -> None:
        if not self._is_training or (self.is_asked and self._can_insist):
            raise KeyboardInterrupt
        self.is_asked = True


def _tell_json(told: dict[str, Any]) -> None:
    write(json.dumps(told) + "\n")


class _Shown:
    """A bar on a terminal, with a line above it for each validation; elsewhere these lines, and others in between."""

    def __init__(self, name: str) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn

        console = Console(stderr=True)
        self._bar = (
            Progress(
                BarColumn(),
                TextColumn("{task.percentage:3.0f} %  {task.description}"),
                console=console,
                refresh_per_second=2,
            )
            if console.is_terminal
            else None
        )
        self._name = name  # several runs may tell in one place
        self._task: Any = None
        self._scores = ""
        self._told = time.monotonic()

    def __enter__(self) -> "_Shown":
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar:
            self._bar.stop()

    def __call__(self, told: dict[str, Any]) -> None:
        scores = _scores(told["validation"]) if "validation" in told else ""
        line = (
            f"{told['examples']:>9,} examples  loss {told['loss']:.3f}  {told['examples_per_second']:.0f} examples/s  "
            f"{told['nodes_per_second']:,.0f} nodes/s"
        )
        if self._bar:
            if self._task is None:
                self._bar.start()
                self._task = self._bar.add_task("", total=told["total_examples"])
            if scores:
                self._bar.console.print(f"{line}  {scores}", markup=False, highlight=False, soft_wrap=True)
            self._scores = scores or self._scores
            text = f"{line}  {_time(told['seconds_left'])} left  {self._scores}"
            self._bar.update(self._task, completed=told["examples"], description=text)
        elif scores or time.monotonic() - self._told > SECONDS_BETWEEN:
            text = f"{self._name} {line}  {_time(told['seconds_left'])} left  {scores}"
            print(text.rstrip(), file=sys.stderr, flush=True)
            self._told = time.monotonic()


def _scores(scores: dict[str, float]) -> str:
    return "  ".join(f"{name} {100 * scores[key]:.1f}" for name, key in SHOWN.items() if key in scores)


def _time(seconds: float) -> str:
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {seconds} s"
