"""`rarename mine`: real fixes of misused variables from git histories."""

import argparse
import os
import sys
from pathlib import Path

from rarename.cli.common import number, write
from rarename.cli.display import Display, table_text
from rarename.discovery import CHECKED
from rarename.mining.mine import Mined, mine
from rarename.printable import escaped

EXAMPLE = """  rarename mine ~/src/project mirrors/*.git --language python --out fixes.jsonl
To resume an interrupted command, run it again. Nothing in the repositories is executed."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    option = parser.add_argument
    option("repositories", nargs="+", type=Path, metavar="GITDIR", help="a clone or a bare repository")
    option("--language", required=True, choices=[language.name for language in CHECKED])
    option("--out", required=True, type=Path, metavar="FILE", help="the file to write, one fix per line (docs/mine.md)")
    jobs = "worker processes (default: all cores)"
    option("--jobs", type=number(int, 1), default=os.cpu_count() or 1, metavar="N", help=jobs)


def run(arguments: argparse.Namespace) -> int:
    try:
        with Display() as progress:
            mined = mine(arguments.repositories, arguments.language, arguments.out, arguments.jobs, progress)
    except KeyboardInterrupt:
        print("rarename mine: interrupted; run the same command to resume", file=sys.stderr)
        return 130
    write(escaped(str(arguments.out)) + describe(mined))
    return 2 if mined.num_unreadable else 0


def describe(mined: Mined) -> str:
    """What was found and what was left out, as text."""
    tiers = ", ".join(f"{mined.tiers[tier]:,} of tier {tier}" for tier in "AB")
    text = f": {mined.tiers.total():,} fixes ({tiers}) in {mined.num_commits:,} commits\n"
    if mined.num_unreadable:
        text += f"{mined.num_unreadable:,} of the paths could not be read\n"
    rows = [[count, reason] for reason, count in sorted(mined.skipped.items(), key=lambda item: (-item[1], item[0]))]
    return text + ("left out:\n" + table_text(["", "reason"], rows) if rows else "")
