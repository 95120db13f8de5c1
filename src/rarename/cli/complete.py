"""`rarename complete`: names for a cursor."""

import argparse
import json
import sys
from pathlib import Path

from rarename.cli.reading import add_file_arguments, read_bytes, write
from rarename.errors import RarenameError, UsageError

EXAMPLE = """  rarename complete src/loader.py --line 12 --column 9
  rarename complete - --language python --line 12 --column 9 --format json < unsaved.py
Lines and columns count from 1: column 9 is the place before the ninth character. The file may be unfinished."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_file_arguments(parser)
    parser.add_argument("--line", type=int, required=True, metavar="L", help="of the cursor, from 1")
    parser.add_argument("--column", type=int, required=True, metavar="C", help="of the cursor, from 1, in characters")
    parser.add_argument(
        "--model", type=Path, metavar="RUN", help="a run of `rarename train completion` (default: inside the package)"
    )
    parser.add_argument("--top", type=int, default=10, metavar="N", help="how many names at most (default: 10)")
    parser.add_argument("--format", choices=("text", "json"), default="text")


def run(arguments: argparse.Namespace) -> int:
    if arguments.top < 1:
        raise UsageError(f"--top is {arguments.top}; expected at least 1")
    name = arguments.file
    language, data = read_bytes(arguments)

    from rarename.syntax.cursor import at_cursor

    try:
        cursor = at_cursor(language.decode(data), language, arguments.line, arguments.column)
    except RarenameError as error:
        raise UsageError(f"{name}: {error}") from error

    from rarename.assist.complete import Completer  # not before: it takes seconds, and the cursor may be in a string

    suggestions = Completer.load(language.name, arguments.model).at(cursor, arguments.top)
    if arguments.format == "json":
        content = {
            "path": name,
            "line": arguments.line,
            "column": arguments.column,
            "word": cursor.word,
            "suggestions": [
                {
                    "name": each.name,
                    "probability": each.probability,
                    "in_scope": each.is_in_scope,
                    "argument": each.is_argument,
                }
                for each in suggestions
            ],
        }
        write(json.dumps(content, indent=1, ensure_ascii=False) + "\n")
        return 0
    names = [each.name + "=" * each.is_argument for each in suggestions]
    width = max(map(len, names), default=0)
    lines = [
        f"{name:<{width}}  {100 * each.probability:5.1f} %{'' if each.is_in_scope else '  not in scope'}\n"
        for name, each in zip(names, suggestions, strict=True)
    ]
    write("".join(lines))
    if not suggestions:
        begin = (cursor.module.prefix if cursor.module else "") + cursor.word
        reason = f"no name begins with {begin!r}" if begin else "no name is known that could stand here"
        print(f"rarename complete: {reason}", file=sys.stderr)
    return 0
