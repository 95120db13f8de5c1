"""`rarename parse`: the syntax tree of a file."""

import argparse

from rarename.cli.common import add_file_arguments, add_output_format, parse_file, write, write_json
from rarename.cli.trees import as_json, as_text
from rarename.syntax.records import write_record

EXAMPLE = """  rarename parse setup.py --output-format record >> corpus.json
  echo 'x = 7' | rarename parse - --language python"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_file_arguments(parser)
    record = "one line, as in PY150 or JS150"
    add_output_format(parser, tree="indented text", record=record, json="with spans and roles")


def run(arguments: argparse.Namespace) -> int:
    file = parse_file(arguments)
    tree, language = file.traversal, file.language
    if arguments.output_format == "record":
        write(write_record(tree, language.record) + "\n")
    elif arguments.output_format == "json":
        write_json({"language": language.name, "nodes": as_json(tree, tree.values, language)})
    else:
        write(as_text(tree, tree.values))
    return 0
