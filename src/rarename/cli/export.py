"""`rarename export`: a trained model in a form that other programs read."""

import argparse
import sys
from pathlib import Path

EXAMPLE = """  rarename export model runs/checker models/checker
  rarename check src --model models/checker"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    what = parser.add_subparsers(metavar="WHAT", required=True)
    model = what.add_parser("model", help="the model of a run as an ONNX file, which needs no torch")
    model.add_argument("run", type=Path, metavar="RUN", help="a folder made by `rarename train`")
    model.add_argument("folder", type=Path, metavar="FOLDER", help="the folder to create")
    model.set_defaults(export=_export_model)


def run(arguments: argparse.Namespace) -> int:
    arguments.export(arguments)
    return 0


def _export_model(arguments: argparse.Namespace) -> None:
    from rarename.inference.model_folder import ModelFolder, load_run_config
    from rarename.inference.onnx_export import export_model

    task = load_run_config(arguments.run).task.name
    export_model(ModelFolder.load(arguments.run, task), arguments.folder)
    print(f"rarename export: wrote {arguments.folder}", file=sys.stderr)
