"""`rarename parse`: the syntax tree of a file."""

import argparse
import json

from rarename.cli.common import add_file_arguments, add_output_format, parse_file, write
from rarename.cli.trees import as_json, as_text
from rarename.syntax.records import write_record

EXAMPLE = """  rarename parse setup.py --output-format record >> corpus.json
  echo 'x = 7' | rarename parse - --language python"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_file_arguments(parser)
    add_output_format(
        parser, tree="indented text", record="one line, as in PY150 or JS150", json="with spans and roles"
    )


def run(arguments: argparse.Namespace) -> int:
    file = parse_file(arguments)
    if arguments.output_format == "record":
        write(write_record(file.traversal, file.language.record) + "\n")
    elif arguments.output_format == "json":
        nodes = as_json(file.traversal, file.traversal.values, file.language)
        write(json.dumps({"language": file.language.name, "nodes": nodes}, ensure_ascii=False) + "\n")
    else:
        write(as_text(file.traversal, file.traversal.values))
    return 0
