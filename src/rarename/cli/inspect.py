"""`rarename inspect`: the content of a corpus."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rarename.cli.common import add_output_format, vocabulary_size, write, write_json
from rarename.cli.display import Display, table_text
from rarename.cli.prepare import describe
from rarename.config import CompletionConfig
from rarename.corpus.paper_split import PUBLISHED_EXAMPLES
from rarename.corpus.splits import SplitName
from rarename.presets import PRESETS, preset_config
from rarename.printable import escaped
from rarename.progress import Progress

if TYPE_CHECKING:
    from rarename.corpus.store import Corpus

EXAMPLE = """  rarename inspect corpora/stdlib
  rarename inspect corpora/stdlib --output-format names --top-k 50000 > vocabulary.txt
  rarename inspect corpora/py150 --preset paper"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("corpus", type=Path, metavar="CORPUS")
    parser.add_argument("--top-k", type=vocabulary_size, default=20, metavar="K", help="list K names (default: 20)")
    examples = "count the examples of each task with a preset, beside those of the paper"
    presets = dict.fromkeys(name for presets in PRESETS.values() for name in presets)
    parser.add_argument("--preset", choices=presets, help=examples)
    parser.add_argument("--files", action="store_true", help="list the files of each split")
    names = "the most frequent names, one per line"
    add_output_format(parser, text="tables", json="one object", names=names)


def run(arguments: argparse.Namespace) -> int:
    from rarename.corpus.coverage import coverage  # imports pyarrow, which `--help` does not need
    from rarename.corpus.store import Corpus

    corpus = Corpus(arguments.corpus)
    vocabulary = corpus.vocabulary(arguments.top_k)
    if arguments.output_format == "names":
        write("".join(f"{name}\n" for name in vocabulary if name.isprintable()))
        return 0
    counts = corpus.counts("names")[np.argsort(corpus.ranking("names"))]
    names = dict(zip(vocabulary, counts.tolist(), strict=False))
    if arguments.preset or arguments.files:
        return _inspect_examples(corpus, arguments)
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


def _inspect_examples(corpus: "Corpus", arguments: argparse.Namespace) -> int:
    """The files of each split, and the number of examples for each task that has the preset."""
    content: dict[str, Any] = {}
    if arguments.files:
        content["files"] = {str(split): [file.path for file in corpus.split(split)] for split in SplitName}
    names = [task for task, presets in PRESETS.items() if arguments.preset in presets]
    if arguments.preset:
        with Display() as progress:
            content["tasks"] = {task: _summaries(corpus, task, arguments.preset, progress) for task in names}
    if arguments.output_format == "json":
        write_json(content, indent=1)
        return 0
    text = "".join(f"{split} {escaped(path)}\n" for split, paths in content.get("files", {}).items() for path in paths)
    for task, splits in content.get("tasks", {}).items():
        train, test = PUBLISHED_EXAMPLES.get((task, corpus.language.name), ("", ""))
        published = {"train": train, "validation": "", "test": test} if train and arguments.preset == "paper" else {}
        columns = [*(name.replace("_", " ") for name in splits["train"]), *(["published"] if published else [])]
        rows = [
            [split, *counts.values(), *([published[split]] if published else [])] for split, counts in splits.items()
        ]
        text += f"\n{task}, preset {arguments.preset}\n{table_text(['', *columns], rows)}"
    write(text.lstrip("\n"))
    return 0


def _summaries(corpus: "Corpus", task: str, preset: str, progress: Progress) -> dict[str, dict[str, int]]:
    from rarename.tasks.completion.dataset import WindowDataset
    from rarename.tasks.misuse.dataset import FunctionDataset

    config = preset_config(str(corpus.path), preset, {}, corpus.language.name, task).task
    summaries = {}
    progress.start(f"counting examples of {task}", len(SplitName))
    for split in SplitName:
        if isinstance(config, CompletionConfig):
            summaries[str(split)] = {"windows": len(WindowDataset(corpus, split, config))}
        else:
            is_published = config.bug_sampler == "published"
            dataset = FunctionDataset(corpus, split, config.max_function_nodes, is_published=is_published)
            summaries[str(split)] = dataset.summary(corpus.num_values)
        progress.advance()
    return summaries
