"""`rarename check`: variables that may be misused."""

import argparse
import sys
from pathlib import Path

from rarename.cli.common import add_output_format, number, write
from rarename.discovery import CHECKED, Files
from rarename.syntax import language_named

EXAMPLE = """  rarename check src/
  rarename check src/ --min-confidence 0.5 --output-format json
  git show HEAD:src/loader.py | rarename check - --language python
A comment `# noqa: RN001` (`// noqa: RN001` in JavaScript) suppresses findings on its line.
Exit code 0: nothing found; 1: findings; 2: no file could be checked."""

MAX_SKIPS_SHOWN = 10


def add_arguments(parser: argparse.ArgumentParser) -> None:
    option = parser.add_argument
    option("paths", nargs="+", metavar="PATH", help="a source file, a folder, or - for standard input")
    runs = "a folder made by `rarename train misuse`; repeat it for other languages (default: the packaged models)"
    option("--model", action="append", default=[], type=Path, metavar="RUN", help=runs)
    languages = "check only this language; named files may have any suffix (default: by suffix)"
    option("--language", choices=[language.name for language in CHECKED], help=languages)
    confidence = "confidence threshold; 0 reports a variable in every function (default: the threshold of the model)"
    option("--min-confidence", type=number(float, 0, 1), metavar="X", help=confidence)
    formats = {"json": "one object", "sarif": "SARIF 2.1.0", "github": "workflow annotations"}
    add_output_format(parser, text="one line per finding", **formats)


def run(arguments: argparse.Namespace) -> int:
    from rarename.assist.check import Checker
    from rarename.assist.formats import FORMATS, as_text, describe_skipped, summary
    from rarename.cli.display import Display

    checker = Checker.load(*arguments.model, threshold=arguments.min_confidence)
    only = language_named(arguments.language) if arguments.language else None
    if only:
        checker.model(only)  # raises if the models are for other languages
    files = Files(arguments.paths, checker.languages, only)
    with Display() as progress:
        result = checker.check_files(files, progress)
    if arguments.output_format in ("text", "github"):
        for line in describe_skipped(result.skipped, MAX_SKIPS_SHOWN):
            print(line, file=sys.stderr)
    if arguments.output_format == "text":
        write(as_text(result, with_source=sys.stdout.isatty()))
    else:
        write(FORMATS[arguments.output_format](result))
    if arguments.output_format == "github":
        print(summary(result), file=sys.stderr)
    if result.exit_code == 2:
        print("rarename check: no file could be checked", file=sys.stderr)
    return result.exit_code
