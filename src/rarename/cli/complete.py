"""`rarename complete`: names for a cursor."""

import argparse
import sys
from pathlib import Path

from rarename.cli.common import add_file_arguments, add_output_format, number, read_bytes, write, write_json
from rarename.errors import RarenameError, UsageError
from rarename.time_limit import time_limit

EXAMPLE = """  rarename complete src/loader.py --line 12 --column 9
  rarename complete - --language python --line 12 --column 9 --output-format json < unsaved.py
Lines and columns count from 1: at column 9 the cursor is before the ninth character. The file may be unfinished."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_file_arguments(parser)
    option = parser.add_argument
    option("--line", type=int, required=True, metavar="L", help="line of the cursor, from 1")
    option("--column", type=int, required=True, metavar="C", help="column, from 1, in characters")
    option("--model", type=Path, metavar="RUN", help="a run of `rarename train completion` (default: packaged)")
    option("--top-k", type=number(int, 1), default=10, metavar="N", help="at most N names (default: 10)")
    add_output_format(parser, text="one line per name", json="one object")


def run(arguments: argparse.Namespace) -> int:
    from rarename.syntax.cursor import at_cursor

    language, data = read_bytes(arguments)
    try:
        text = language.decode(data)
        with time_limit(text):
            cursor = at_cursor(text, language, arguments.line, arguments.column)
    except RarenameError as error:
        raise UsageError(f"{arguments.file}: {error}") from error

    from rarename.assist.complete import Completer  # not before: it takes time, and the cursor may be in a string

    suggestions = Completer.load(language.name, arguments.model).complete_at(cursor, arguments.top_k)
    if arguments.output_format == "json":
        position = {"path": arguments.file, "line": arguments.line, "column": arguments.column, "word": cursor.word}
        keys = {"name": "name", "probability": "probability", "in_scope": "is_in_scope", "argument": "is_argument"}
        entries = [{key: getattr(each, field) for key, field in keys.items()} for each in suggestions]
        write_json(position | {"suggestions": entries}, indent=1)
        return 0
    names = [each.name + "=" * each.is_argument for each in suggestions]
    width = max(map(len, names), default=0)
    for name, each in zip(names, suggestions, strict=True):
        write(f"{name:<{width}}  {100 * each.probability:5.1f} %{'' if each.is_in_scope else '  not in scope'}\n")
    if not suggestions:
        prefix = (cursor.module.prefix if cursor.module else "") + cursor.word
        reason = f"no name starts with {prefix!r}" if prefix else "no name is known that fits here"
        print(f"rarename complete: {reason}", file=sys.stderr)
    return 0
