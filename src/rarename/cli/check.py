"""`rarename check`: places where the wrong variable may stand."""

import argparse
import sys
from pathlib import Path

from rarename.cli.common import write
from rarename.errors import UsageError
from rarename.syntax import LANGUAGES, language_named

EXAMPLE = """  rarename check src/
  rarename check src/ --min-confidence 0.5 --format json
  git show HEAD:src/loader.py | rarename check - --language python
A comment `# noqa: RN001` (`// noqa: RN001` in JavaScript) silences its line.
Exit code 0: nothing found; 1: findings; 2: could not do the work."""

SKIPS_SHOWN = 10
SECONDS_UNTIL_PROGRESS = 2.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("paths", nargs="+", metavar="PATH", help="a source file, a folder, or - for standard input")
    parser.add_argument(
        "--model",
        action="append",
        default=[],
        type=Path,
        metavar="RUN",
        help="a folder made by `rarename train misuse`; more than once for more languages (default: the models inside "
        "the package)",
    )
    parser.add_argument(
        "--language",
        choices=[name for name, language in LANGUAGES.items() if language.function_types],
        help="check only this language, and read the files named as such (default: by the endings of the names)",
    )
    parser.add_argument(
        "--min-confidence",
        type=float,
        metavar="X",
        help="from 0 to 1: show only what the model is at least so sure of; 0 shows the most suspicious place of every "
        "function (default: what the model advises)",
    )
    parser.add_argument(
        "--format",
        choices=("text", "json", "sarif", "github"),
        default="text",
        help="text: a line for each finding (default); json: one object; sarif: SARIF 2.1.0; github: annotations",
    )


def run(arguments: argparse.Namespace) -> int:
    least = arguments.min_confidence
    if least is not None and not 0 <= least <= 1:
        raise UsageError(f"--min-confidence is {least}; expected a number from 0 to 1")

    from rarename.assist import Checker, Files
    from rarename.assist.formats import FORMATS, as_text, describe_skipped, summary
    from rarename.cli.display import Display

    checker = Checker.load(*arguments.model, min_confidence=least)
    asked = language_named(arguments.language) if arguments.language else None
    if asked and asked not in checker.languages:
        known = ", ".join(language.name for language in checker.languages)
        raise UsageError(f"--model is for {known}, not for {asked.name}")
    files = Files(arguments.paths, checker.languages, asked)
    with Display(delay=SECONDS_UNTIL_PROGRESS) as progress:
        report = checker.check_files(files, progress)
    if arguments.format in ("text", "github"):
        for line in describe_skipped(report.skipped, SKIPS_SHOWN):
            print(line, file=sys.stderr)
    if arguments.format == "text":
        write(as_text(report, with_source=sys.stdout.isatty()))
    else:
        write(FORMATS[arguments.format](report))
    if arguments.format == "github":
        print(summary(report), file=sys.stderr)
    if report.exit_code == 2:
        print("rarename check: there was no file that could be checked", file=sys.stderr)
    return report.exit_code
