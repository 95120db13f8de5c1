"""`rarename report`: tables and figures from the results of many runs."""

import argparse
import json
from pathlib import Path

from rarename.cli.common import write

EXAMPLE = """  rarename report results/ --out report
  rarename report results/ --out docs --format json"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "results", type=Path, metavar="RESULTS", help="a folder of result files, EXPERIMENT/CELL.json (docs/report.md)"
    )
    parser.add_argument(
        "--out",
        type=Path,
        required=True,
        metavar="DIR",
        help="where to write results.md with figures/, results.html and results.json",
    )
    parser.add_argument("--format", choices=("text", "json"), default="text", help="of the summary on standard output")


def run(arguments: argparse.Namespace) -> int:
    from rarename.report.report import make_report, summary, summary_json, write_report

    report = make_report(arguments.results)
    paths = write_report(report, arguments.out)
    if arguments.format == "json":
        write(json.dumps(summary_json(report, paths), indent=1, ensure_ascii=False) + "\n")
    else:
        write(summary(report, paths))
    return 0
