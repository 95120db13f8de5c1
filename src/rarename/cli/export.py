"""`rarename export`: models and corpora in forms that other programs read."""

import argparse
import sys
from importlib import import_module
from pathlib import Path

from rarename.anonymize import STRATEGIES
from rarename.cli.common import number, vocabulary_size
from rarename.cli.display import Display
from rarename.printable import escaped

EXAMPLE = """  rarename export model runs/checker models/checker
  rarename check src --model models/checker
  rarename export data corpora/stdlib data/stdlib --strategy ordered --vocabulary-size 1000"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    what = parser.add_subparsers(metavar="WHAT", required=True)
    model = what.add_parser("model", help="the model of a run as an ONNX file, which needs no torch")
    model.add_argument("run", type=Path, metavar="RUN", help="a folder made by `rarename train`")
    model.add_argument("folder", type=Path, metavar="FOLDER", help="the folder to create")
    model.set_defaults(export=_export_model)
    data = what.add_parser("data", help="the functions or windows of a corpus after anonymization (docs/library.md)")
    data.add_argument("corpus", type=Path, metavar="CORPUS", help="a folder made by `rarename prepare`")
    data.add_argument("folder", type=Path, metavar="OUT", help="the folder to create, with a file for each split")
    data.add_argument("--strategy", choices=STRATEGIES, required=True)
    size = number(int, 0)
    kept = "how many names are kept, or max"
    data.add_argument("--vocabulary-size", type=vocabulary_size, required=True, metavar="N", help=kept)
    data.add_argument("--snippets", choices=("functions", "windows"), default="functions", help="default: functions")
    nodes = "the longest functions, or the length of windows, which overlap by half (default: 250 or 500)"
    data.add_argument("--max-nodes", type=number(int, 2), metavar="N", help=nodes)
    data.add_argument("--seed", type=size, default=0, metavar="N", help="of the strategy randomized (default: 0)")
    data.add_argument("--format", choices=("parquet", "jsonl"), default="parquet", help="default: parquet")
    data.set_defaults(export=_export_data)


def run(arguments: argparse.Namespace) -> int:
    arguments.export(arguments)
    return 0


def _export_model(arguments: argparse.Namespace) -> None:
    import_module("onnxscript")  # before torch: the extra of the first missing module installs the other too
    from rarename.inference.model_folder import ModelFolder, load_run_config
    from rarename.inference.onnx_export import export_model

    task = load_run_config(arguments.run).task.name
    export_model(ModelFolder.load(arguments.run, task), arguments.folder)
    print(escaped(f"rarename export: wrote {arguments.folder}"), file=sys.stderr)


def _export_data(arguments: argparse.Namespace) -> None:
    from rarename.corpus.snippets import export_snippets
    from rarename.corpus.store import Corpus

    kind = arguments.snippets
    options = {"kind": kind, "max_nodes": arguments.max_nodes or (250 if kind == "functions" else 500)}
    options |= {"seed": arguments.seed, "file_format": arguments.format}
    with Display() as progress:
        num_snippets = export_snippets(
            Corpus(arguments.corpus), arguments.folder, arguments.strategy, arguments.vocabulary_size, **options,
            progress=progress,
        )  # fmt: skip
    print(escaped(f"rarename export: wrote {num_snippets:,} {kind} to {arguments.folder}"), file=sys.stderr)
