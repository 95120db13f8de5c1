"""`rarename anonymize`: a source file with placeholders for its rare names."""

import argparse
import json
import sys
from pathlib import Path

from rarename.anonymize import STRATEGIES
from rarename.anonymize_source import anonymize_source
from rarename.cli.common import add_file_arguments, add_output_format, number, parse_file, write
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
    strategies = "; ".join(f"{name}: {strategy.summary}" for name, strategy in STRATEGIES.items())
    parser.add_argument("--strategy", choices=STRATEGIES, default="ordered", help=f"{strategies} (default: ordered)")
    parser.add_argument(
        "--vocabulary",
        type=Path,
        metavar="PATH",
        help="a text file with one name per line, the most frequent first; or a corpus; or a run "
        "(default: the vocabulary of the package)",
    )
    parser.add_argument(
        "--vocabulary-size", type=number(int, 0), default=1000, metavar="N",
        help="how many of the most frequent names keep their name (default: 1000)",
    )  # fmt: skip
    parser.add_argument(
        "--num-placeholders", type=number(int, 0), metavar="N",
        help="further rare names become UNK (default: as many as the file has nodes)",
    )  # fmt: skip
    parser.add_argument("--seed", type=number(int, 0), default=0, metavar="N", help="for randomized (default: 0)")
    add_output_format(
        parser, source="the file", tree="indented text", json="the file, its tree and the names of the placeholders"
    )


def run(arguments: argparse.Namespace) -> int:
    file = parse_file(arguments)
    vocabulary = read_vocabulary(arguments.vocabulary, file.language.name, arguments.vocabulary_size)
    result = anonymize_source(
        file.text,
        file.language,
        vocabulary,
        arguments.strategy,
        traversal=file.traversal,
        num_placeholders=arguments.num_placeholders,
        seed=arguments.seed,
    )
    if arguments.output_format == "tree":
        write(as_text(file.traversal, result.values))
    elif arguments.output_format == "json":
        content = {
            "language": file.language.name,
            "strategy": arguments.strategy,
            "vocabulary_size": len(vocabulary),
            "placeholders": result.names,
            "source": result.text,
            "nodes": as_json(file.traversal, result.values, file.language),
        }
        write(json.dumps(content, ensure_ascii=False) + "\n")
    else:
        write(result.text, file.encoding)
    return 0


def read_vocabulary(path: Path | None, language: str, size: int) -> Vocabulary:
    """Read the most frequent names of a list, a corpus, a run or the package."""
    if path is None:
        try:
            return Vocabulary.default(language).top(size)
        except UnknownName:
            raise UsageError(f"the package has no vocabulary for {language}; add --vocabulary") from None
    if (path / "encoding.json").is_file():
        return Encoding.load(path / "encoding.json").values.top(size)
    if path.is_dir():
        from rarename.corpus.store import Corpus  # imports pyarrow, which the other vocabularies do not need

        corpus = Corpus(path)
        if corpus.language.name != language:
            raise UsageError(f"{path} is a {corpus.language.name} corpus, but the file is {language}")
        return corpus.vocabulary(size)
    if not path.is_file():
        raise UsageError(f"{path}: no such list of names, corpus or run")
    vocabulary = Vocabulary.read(path).top(size)
    if not vocabulary:
        print(f"rarename: {path} contains no names, so every identifier is rare", file=sys.stderr)
    return vocabulary
