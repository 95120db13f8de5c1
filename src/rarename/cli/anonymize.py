"""`rarename anonymize`: a file with its rare names replaced."""

import argparse
import json
import sys
from pathlib import Path

from rarename.anonymize import STRATEGIES
from rarename.anonymize_source import anonymize_source
from rarename.cli.reading import add_file_arguments, read_file, write
from rarename.cli.trees import as_json, as_text
from rarename.encoding import Encoding
from rarename.errors import UnknownName, UsageError
from rarename.vocabulary import Vocabulary

EXAMPLE = """  echo 'my_y = np.sin(my_x) + my_x' > figure1.py
  printf 'np\\nsin\\n' > names.txt
  rarename anonymize figure1.py --vocabulary names.txt
  VAR1 = np.sin(VAR2) + VAR2"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_file_arguments(parser)
    parser.add_argument(
        "--strategy",
        choices=STRATEGIES,
        default="ordered",
        help="; ".join(f"{name}: {strategy.summary}" for name, strategy in STRATEGIES.items()),
    )
    parser.add_argument(
        "--vocabulary-size",
        type=int,
        default=1000,
        metavar="N",
        help="how many of the most frequent names stay (default: 1000)",
    )
    parser.add_argument(
        "--vocabulary",
        type=Path,
        metavar="LIST",
        help="a text file, one name a line, most frequent first; or a prepared corpus, or a run (default: the "
        "vocabulary inside the package)",
    )
    parser.add_argument(
        "--placeholders",
        type=int,
        metavar="N",
        help="how many placeholders there are; names beyond them become UNK (default: as many as the file has nodes)",
    )
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="for the strategy randomized (default: 0)")
    parser.add_argument(
        "--format",
        choices=("source", "tree", "json"),
        default="source",
        help="source: the file, names replaced in place (default); tree: indented; json: source, tree and what "
        "each placeholder stands for",
    )


def run(arguments: argparse.Namespace) -> int:
    for name in ("vocabulary_size", "placeholders", "seed"):
        if (getattr(arguments, name) or 0) < 0:
            raise UsageError(f"--{name.replace('_', '-')} cannot be below 0")
    language, encoding, text, traversal = read_file(arguments)
    vocabulary = read_vocabulary(arguments.vocabulary, language.name, arguments.vocabulary_size)
    result = anonymize_source(
        text,
        language,
        vocabulary,
        arguments.strategy,
        traversal=traversal,
        num_placeholders=arguments.placeholders,
        seed=arguments.seed,
    )
    if arguments.format == "tree":
        write(as_text(traversal, result.values))
    elif arguments.format == "json":
        content = {
            "language": language.name,
            "strategy": arguments.strategy,
            "vocabulary_size": len(vocabulary),
            "placeholders": result.names,
            "source": result.text,
            "nodes": as_json(traversal, result.values, language),
        }
        write(json.dumps(content, ensure_ascii=False) + "\n")
    else:
        write(result.text, encoding)
    return 0


def read_vocabulary(path: Path | None, language: str, size: int) -> Vocabulary:
    """The vocabulary that the user names, cut to size."""
    if path is None:
        try:
            return Vocabulary.default(language).top(size)
        except UnknownName:
            raise UsageError(f"the package has no vocabulary for {language}; say --vocabulary") from None
    if (path / "encoding.json").is_file():
        return Encoding.load(path / "encoding.json").values.top(size)
    if path.is_dir():
        from rarename.corpus.store import Corpus  # Arrow takes its time to load, and lists do not need it

        corpus = Corpus(path)
        if corpus.language.name != language:
            raise UsageError(f"{path} is a corpus of {corpus.language.name}, the file is {language}")
        return corpus.vocabulary(size)
    if not path.is_file():
        raise UsageError(f"{path}: there is no such list of names and no such corpus")
    vocabulary = Vocabulary.read(path).top(size)
    if not vocabulary:
        print(f"rarename: {path} holds no names: every identifier is rare", file=sys.stderr)
    return vocabulary
