"""`rarename evaluate`: the scores of a run."""

import argparse
import json
from pathlib import Path

from rarename.cli.reading import write
from rarename.files import write_text

EXAMPLE = """  rarename evaluate runs/ordered --split test"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run_folder", type=Path, metavar="RUN", help="a folder made by `rarename train`")
    parser.add_argument("--split", choices=("validation", "test"), default="test", help="default: test")
    parser.add_argument("--corpus", metavar="CORPUS", help="another corpus with the same node types")
    parser.add_argument("--threads", type=int, metavar="N", help="threads of torch (default: its own choice)")
    parser.add_argument("--format", choices=("text", "json"), default="text")


def run(arguments: argparse.Namespace) -> int:
    import torch

    from rarename.experiment.run import evaluate

    if arguments.threads:
        torch.set_num_threads(arguments.threads)
    scores = evaluate(arguments.run_folder, arguments.split, arguments.corpus)
    if arguments.corpus is None:
        path = arguments.run_folder / f"scores-{arguments.split}.json"
        write_text(path, json.dumps(scores, indent=1) + "\n")
    if arguments.format == "json":
        write(json.dumps(scores, indent=1) + "\n")
    else:
        lines = [
            f"{name:<24}{value:>10,}" if name.startswith("num_") else f"{name:<24}{100 * value:>9.2f} %"
            for name, value in scores.items()
        ]
        write("\n".join(lines) + "\n")
    return 0
