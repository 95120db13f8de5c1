"""`rarename inspect`: what is in a corpus."""

import argparse
import json
from pathlib import Path

import numpy as np

from rarename.cli.common import write
from rarename.cli.prepare import describe
from rarename.corpus.coverage import coverage
from rarename.corpus.store import Corpus
from rarename.errors import UsageError

EXAMPLE = """  rarename inspect corpora/stdlib
  rarename inspect corpora/stdlib --format names --top 50000 > vocabulary.txt"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("corpus", type=Path, metavar="CORPUS")
    parser.add_argument("--top", type=int, default=20, metavar="N", help="how many names to show (default: 20)")
    parser.add_argument(
        "--format",
        choices=("text", "json", "names"),
        default="text",
        help="text: tables (default); json: the same for programs; names: the top names, one a line",
    )


def run(arguments: argparse.Namespace) -> int:
    if arguments.top < 0:
        raise UsageError("--top cannot be below 0")
    corpus = Corpus(arguments.corpus)
    vocabulary = corpus.vocabulary(arguments.top)
    if arguments.format == "names":
        write("".join(f"{name}\n" for name in vocabulary))
        return 0
    counts = corpus.counts("names")[np.argsort(corpus.ranking("names"))]
    names = dict(zip(vocabulary, counts.tolist(), strict=False))
    table = coverage(corpus)
    if arguments.format == "json":
        content = {
            "manifest": corpus.manifest,
            "names": names,
            "coverage": {str(row.split): {"identifiers": row.identifiers, "shares": row.shares} for row in table},
        }
        write(json.dumps(content, indent=1, ensure_ascii=False) + "\n")
        return 0
    lines = [describe(corpus.manifest), "The names that occur most often in training:"]
    lines += [f"  {count:>10,} {name}" for name, count in names.items()]
    lines += ["", "How many of the identifiers (in %) a vocabulary covers, by its size:"]
    lines.append("  " + f"{'':<12}" + "".join(f"{label:>8}" for label in table[0].shares) + f"{'of':>14}")
    for row in table:
        shares = "".join(f"{100 * share:>8.1f}" for share in row.shares.values())
        lines.append(f"  {row.split:<12}{shares}{row.identifiers:>14,}")
    write("\n".join(lines) + "\n")
    return 0
