"""`rarename anonymize`: a source file with placeholders for its rare names."""

import argparse
import sys
from pathlib import Path

from rarename.anonymize import STRATEGIES
from rarename.anonymize_text import anonymize_source
from rarename.cli.common import (
    add_file_arguments,
    add_output_format,
    number,
    parse_file,
    vocabulary_size,
    write,
    write_json,
)
from rarename.cli.trees import as_json, as_text
from rarename.encoding import Encoding
from rarename.errors import UsageError
from rarename.printable import escaped
from rarename.vocabulary import Vocabulary

EXAMPLE = """  echo 'my_y = np.sin(my_x) + my_x' > figure1.py
  printf 'np\\nsin\\n' > names.txt
  rarename anonymize figure1.py --vocabulary names.txt
  VAR1 = np.sin(VAR2) + VAR2"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_file_arguments(parser)
    strategies = "; ".join(f"{name}: {strategy.summary}" for name, strategy in STRATEGIES.items())
    option, count = parser.add_argument, number(int, 0)
    option("--strategy", choices=STRATEGIES, default="ordered", help=f"{strategies} (default: ordered)")
    names = "a list of names, one per line, the most frequent first; or a corpus; or a run (default: packaged)"
    option("--vocabulary", type=Path, metavar="PATH", help=names)
    size = "number of names to keep, or max (default: 1000)"
    option("--vocabulary-size", type=vocabulary_size, default=1000, metavar="N", help=size)
    limit = "number of placeholders; further rare names become UNK (default: no limit)"
    option("--num-placeholders", type=count, metavar="N", help=limit)
    option("--seed", type=count, default=0, metavar="N", help="seed of randomized (default: 0)")
    json_help = "the file, its tree and the names of the placeholders"
    add_output_format(parser, source="the file", tree="indented text", json=json_help)


def run(arguments: argparse.Namespace) -> int:
    file = parse_file(arguments)
    language, tree = file.language, file.traversal
    vocabulary = read_vocabulary(arguments.vocabulary, language.name, arguments.vocabulary_size)
    options = {"num_placeholders": arguments.num_placeholders, "seed": arguments.seed}
    result = anonymize_source(file.text, language, vocabulary, arguments.strategy, traversal=tree, **options)
    if arguments.output_format == "tree":
        write(as_text(tree, result.values))
    elif arguments.output_format == "json":
        settings = {"strategy": arguments.strategy, "vocabulary_size": len(vocabulary)}
        content = {"placeholders": result.names, "source": result.text, "nodes": as_json(tree, result.values, language)}
        write_json({"language": language.name} | settings | content)
    else:
        write(result.text, file.encoding)
    return 0


def read_vocabulary(path: Path | None, language: str, size: int) -> Vocabulary:
    """Read the most frequent names of a list, a corpus, a run or the package."""
    if path is None:
        return Vocabulary.default(language).top(size)
    if (path / "encoding.json").is_file():
        return Encoding.load(path / "encoding.json").values.top(size)
    if path.is_dir():
        from rarename.corpus.store import Corpus  # imports pyarrow, which the other vocabularies do not need

        corpus = Corpus(path)
        if corpus.language.name != language:
            raise UsageError(f"{path} is a {corpus.language.name} corpus, but the file is {language}")
        return corpus.vocabulary(size)
    vocabulary = Vocabulary.read(path).top(size)
    if not vocabulary:
        print(escaped(f"rarename: {path} contains no names, so every identifier is rare"), file=sys.stderr)
    return vocabulary
