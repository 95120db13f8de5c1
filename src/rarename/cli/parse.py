"""`rarename parse`: a file's syntax tree."""

import argparse
import json

from rarename.cli.reading import add_file_arguments, read_file, write
from rarename.cli.trees import as_json, as_text
from rarename.syntax.records import write_record

EXAMPLE = """  rarename parse setup.py --format record >> corpus.json
  echo 'x = 7' | rarename parse - --language python"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_file_arguments(parser)
    parser.add_argument(
        "--format",
        choices=("tree", "record", "json"),
        default="tree",
        help="tree: indented, for people (default); record: one line as in PY150 or JS150; json: with places and roles",
    )


def run(arguments: argparse.Namespace) -> int:
    language, _, _, traversal = read_file(arguments)
    if arguments.format == "record":
        write(write_record(traversal, language.record) + "\n")
    elif arguments.format == "json":
        nodes = as_json(traversal, traversal.values, language)
        write(json.dumps({"language": language.name, "nodes": nodes}, ensure_ascii=False) + "\n")
    else:
        write(as_text(traversal, traversal.values))
    return 0
