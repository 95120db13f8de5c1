"""`rarename inspect`: the content of a corpus."""

import argparse
from pathlib import Path

import numpy as np

from rarename.cli.common import add_output_format, number, write, write_json
from rarename.cli.display import table_text
from rarename.cli.prepare import describe
from rarename.corpus.coverage import coverage
from rarename.corpus.store import Corpus

EXAMPLE = """  rarename inspect corpora/stdlib
  rarename inspect corpora/stdlib --output-format names --top-k 50000 > vocabulary.txt"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("corpus", type=Path, metavar="CORPUS")
    parser.add_argument("--top-k", type=number(int, 0), default=20, metavar="K", help="list K names (default: 20)")
    names = "the most frequent names, one per line"
    add_output_format(parser, text="tables", json="one object", names=names)


def run(arguments: argparse.Namespace) -> int:
    corpus = Corpus(arguments.corpus)
    vocabulary = corpus.vocabulary(arguments.top_k)
    if arguments.output_format == "names":
        write("".join(f"{name}\n" for name in vocabulary))
        return 0
    counts = corpus.counts("names")[np.argsort(corpus.ranking("names"))]
    names = dict(zip(vocabulary, counts.tolist(), strict=False))
    table = coverage(corpus)
    if arguments.output_format == "json":
        splits = {str(row.split): {"identifiers": row.num_identifiers, "fractions": row.fractions} for row in table}
        write_json({"manifest": corpus.manifest, "names": names, "coverage": splits}, indent=1)
        return 0
    text = f"{describe(corpus.manifest)}\nThe most frequent names in training:\n"
    text += table_text(["count", "name"], [[count, name] for name, count in names.items()])
    text += "\nCoverage: the percentage of identifiers in a vocabulary, by its size\n"
    rows = [[row.split, *(100 * fraction for fraction in row.fractions.values()), row.num_identifiers] for row in table]
    write(text + table_text(["", *table[0].fractions, "identifiers"], rows))
    return 0
