"""`rarename train`: a model from a corpus."""

import argparse
import dataclasses
import json
import math
import sys
import tomllib
from collections.abc import Callable
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

from rarename.anonymize import STRATEGIES
from rarename.cli.common import AVX512_HELP, add_output_format, discard_unwritten, number, vocabulary_size
from rarename.config import TASK_CONFIGS, ExperimentConfig, describe, flatten, load_settings
from rarename.errors import UsageError
from rarename.presets import PRESETS, preset_config

EXAMPLE = """  rarename prepare corpora/stdlib stdlib --language python
  rarename train misuse runs/ordered --corpus corpora/stdlib --preset tiny --vocabulary-size 100
  rarename train misuse --help-settings
After an interruption, run the same command with --resume. It ends with the same weights.
Adapt a packaged model, or any run, to the mistakes of your own history:
  rarename train misuse runs/mine --corpus corpora/mine --preset check --init MODEL --fixes FIXES.jsonl \\
      --set training.num_epochs=0
Several processes, on CPUs or GPUs:
  torchrun --nproc-per-node 4 -m -- rarename train misuse runs/ordered --corpus corpora/stdlib"""


class _HelpSettings(argparse.Action):
    """`--help-settings`: list every key that --set and --config take."""

    def __call__(self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, *_: object) -> None:
        for task in [namespace.task] if namespace.task else TASK_CONFIGS:
            print(f"Settings of {task}, with the defaults before a preset:\n")
            for setting in describe(task):
                choices = f" One of {', '.join(setting.choices)}." if len(setting.choices) > 1 else ""
                print(f"{setting.key} = {json.dumps(setting.default)}\n    {setting.help}{choices}")
            print()
        parser.exit()


def add_arguments(parser: argparse.ArgumentParser) -> None:
    option = parser.add_argument
    tasks = "misuse: locate the wrong variable and point at the correct one; completion: predict the next node"
    option("task", choices=TASK_CONFIGS, help=tasks)
    option("run_folder", type=Path, metavar="RUN", help="the folder to create, or to continue with --resume")
    option("--corpus", required=True, metavar="CORPUS", help="a folder made by `rarename prepare`")
    names = dict.fromkeys(name for presets in PRESETS.values() for name in presets)
    sizes = "model size and training recipe; check is for misuse, complete for completion (default: small)"
    option("--preset", default="small", choices=names, help=sizes)
    # Options with a dot in `dest` are short for --set.
    option("--strategy", dest="encoding.strategy", choices=STRATEGIES, help="for rare names (default: ordered)")
    size = "number of names to keep, or max for all (default: 1000, or that of the preset)"
    option("--vocabulary-size", dest="encoding.vocabulary_size", type=vocabulary_size, metavar="N", help=size)
    pointer = "completion: let the model copy earlier values"
    option("--pointer", dest="task.copy_pointer", action="store_const", const=True, help=pointer)
    option("--seed", type=int, metavar="N", help="default: 0")
    option("--config", type=Path, metavar="FILE", help="settings as TOML, such as a run's config.toml")
    option("--set", action="append", default=[], metavar="KEY=VALUE", help="a setting, such as model.num_layers=2")
    option("--help-settings", nargs=0, action=_HelpSettings, help="list every setting with its meaning and default")
    model = "start from the weights and the encoding of a run or of a packaged model"
    option("--init", metavar="MODEL", help=model)
    option("--fixes", metavar="FILE", help="misuse: real fixes, as JSON Lines, for the last epochs")
    splits = "list of projects and their splits: train on the fixes of train, show the progress on those of validation"
    option("--fixes-splits", metavar="FILE", help=splits)
    option("--resume", action="store_true", help="continue an interrupted run")
    time_limit = "save and stop after this time; see --resume"
    option("--time-limit", type=number(float, 0), default=math.inf, metavar="MINUTES", help=time_limit)
    option("--num-threads", type=number(int, 1), metavar="N", help="number of threads (default: torch's)")
    option("--avx512", action="store_true", help=AVX512_HELP)
    option("--tensorboard", action="store_true", help="write curves for TensorBoard to RUN/tensorboard")
    add_output_format(parser, text="progress on stderr", json="one object per line, on stdout")


def run(arguments: argparse.Namespace) -> int:
    import torch

    from rarename.cli.display import Display
    from rarename.cli.interrupt import GracefulInterrupt
    from rarename.runs.run import train
    from rarename.runs.tensorboard import TensorBoardLogger
    from rarename.training.distributed import init_distributed
    from rarename.training.mkl import allow_avx512
    from rarename.training.trainer import STATE

    folder: Path = arguments.run_folder
    if arguments.num_threads:
        torch.set_num_threads(arguments.num_threads)
    if arguments.avx512:
        allow_avx512()
    with ExitStack() as stack:
        context = stack.enter_context(init_distributed())
        config = context.on_main_process(lambda: _config(arguments))
        loggers: list[Callable[[dict[str, Any]], None]] = [lambda record: print(json.dumps(record), flush=True)]
        if arguments.output_format == "text":
            display = stack.enter_context(Display())
            loggers = [lambda record: display.log_record(folder.name, record)]
        if arguments.tensorboard:
            loggers.append(stack.enter_context(closing(TensorBoardLogger(folder))))
        interrupt = stack.enter_context(GracefulInterrupt(second_raises=context.world_size == 1))

        def on_log(record: dict[str, Any]) -> None:
            try:
                for logger in loggers:
                    logger(record)
            except BrokenPipeError:  # nobody reads our output any more: save and stop, as after Ctrl-C
                discard_unwritten()
                interrupt.is_requested = True

        if arguments.resume and context.is_main_process and not (folder / STATE).exists():
            print(f"rarename train: {folder} has no checkpoint; training starts from the beginning", file=sys.stderr)
        options = {"resume": arguments.resume, "time_limit": 60 * arguments.time_limit, "context": context}
        stop_reason = train(config, folder, on_log=on_log, should_stop=interrupt, **options)
    if context.is_main_process:
        how = f"{stop_reason.value}; the best weights are in {folder}"
        if not stop_reason:
            how = "interrupted" if interrupt.is_requested else "the time limit is reached"
            how += "; run the same command with --resume"
        print(f"rarename train: {how}", file=sys.stderr)
    return 130 if interrupt.is_requested and not stop_reason else 0


def _config(arguments: argparse.Namespace) -> ExperimentConfig:
    from rarename.corpus.store import Corpus

    settings = load_settings(arguments.config) if arguments.config else {}
    for text in arguments.set:
        key, equals, value = text.partition("=")
        if not equals:
            raise UsageError(f"--set {text}: expected KEY=VALUE")
        try:
            settings[key] = tomllib.loads(f"value = {value}")["value"]
        except tomllib.TOMLDecodeError:
            settings[key] = value  # a word needs no quotes here
    names = ("seed", "corpus", "init", "fixes", "fixes_splits")
    options = {key: value for key, value in vars(arguments).items() if "." in key or key in names}
    settings |= {"corpus_digest": ""} | {key: value for key, value in options.items() if value is not None}
    if options["task.copy_pointer"] and arguments.task != "completion":
        raise UsageError(f"--pointer is for completion, not for {arguments.task}")
    language = Corpus(arguments.corpus).language.name
    if arguments.init:
        settings = _settings_of(Path(arguments.init), settings)
    return preset_config(arguments.corpus, arguments.preset, settings, language, arguments.task)


def _settings_of(model: Path, settings: dict[str, Any]) -> dict[str, Any]:
    """The settings with those of a model that its weights depend on; it is an error to set another value."""
    from rarename.inference.model_folder import load_run_config

    inputs = ("task.name", "task.pointer_head", "task.usage_features", "task.context_nodes", "task.copy_pointer")
    free = ("model.dropout", "model.ffn_dropout")
    for key, value in flatten(dataclasses.asdict(load_run_config(model))).items():
        if key.startswith(("encoding.", "model.")) or key in inputs:
            if key not in free and settings.get(key, value) != value:
                raise UsageError(f"{key} is {value!r} in {model}; its weights do not fit {settings[key]!r}")
            settings.setdefault(key, value)
        elif key in ("task.max_function_nodes", "task.window_size"):
            settings.setdefault(key, value)  # a model may have too few placeholders for longer snippets
    return settings
