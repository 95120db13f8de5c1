"""`rarename report`: tables, figures and verdicts on the claims of the paper, from result files."""

import argparse
from pathlib import Path

from rarename.cli.common import write

EXAMPLE = "  rarename report results --output-dir docs"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "results", type=Path, metavar="RESULTS", help="the folder that `rarename sweep` writes results to"
    )
    parser.add_argument(
        "--output-dir", type=Path, required=True, metavar="DIR", help="for results.md, results.json and figures/"
    )
    parser.add_argument(
        "--readme",
        type=Path,
        metavar="FILE",
        help="also update the tables between <!-- results:… --> marks in this page",
    )


def run(arguments: argparse.Namespace) -> int:
    from rarename.io import write_text
    from rarename.report.page import make_report, write_report
    from rarename.report.tables import update_tables

    report = make_report(arguments.results)
    write_report(report, arguments.output_dir)
    if arguments.readme:
        text = update_tables(arguments.readme.read_text(encoding="utf-8"), report.groups)
        write_text(arguments.readme, text)
    lines = [
        f"{claim.title}: {', '.join(f'{each.outcome} ({each.group.title})' for each in verdicts) or 'not measured'}"
        for claim, verdicts in report.claims
    ]
    lines += [f"not read: {each}" for each in report.unreadable]
    write("\n".join([*lines, f"wrote {arguments.output_dir / 'results.md'}"]) + "\n")
    return 0
