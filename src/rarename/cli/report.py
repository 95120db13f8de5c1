"""`rarename report`: tables, figures and verdicts on the claims of the paper, from result files."""

import argparse
from pathlib import Path

from rarename.cli.common import write

EXAMPLE = "  rarename report results --output-dir docs"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("results", type=Path, metavar="RESULTS", help="the folder that `rarename sweep` writes results to")
    add("--output-dir", type=Path, required=True, metavar="DIR", help="for results.md, results.json and figures/")
    add("--readme", type=Path, metavar="FILE", help="also update the tables between <!-- results:… --> markers in it")


def run(arguments: argparse.Namespace) -> int:
    from rarename.io import write_text
    from rarename.report.page import make_report, write_report
    from rarename.report.tables import update_tables

    report = make_report(arguments.results)
    write_report(report, arguments.output_dir)
    if arguments.readme:
        write_text(arguments.readme, update_tables(arguments.readme.read_text(encoding="utf-8"), report.groups))
    for claim, verdicts in report.claims:
        found = ", ".join(f"{each.outcome} ({each.group.title})" for each in verdicts)
        write(f"{claim.title}: {found or 'not measured'}\n")
    write("".join(f"not read: {each}\n" for each in report.unreadable))
    write(f"wrote {arguments.output_dir / 'results.md'}\n")
    return 0
