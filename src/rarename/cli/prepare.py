"""`rarename prepare`: a corpus from anything that holds code."""

import argparse
import json
import os
import sys
from pathlib import Path
from typing import Any

from rarename.cli.common import write
from rarename.cli.display import Display
from rarename.corpus.documents import SourceOptions
from rarename.corpus.prepare import PrepareSettings, prepare
from rarename.errors import UsageError
from rarename.syntax import LANGUAGES

EXAMPLE = """  rarename prepare corpora/stdlib stdlib --language python
  rarename prepare corpora/mine ~/src pypi:numpy wheels/six-1.17.0-py2.py3-none-any.whl --language python
  rarename prepare corpora/web npm:react@19.0.0 @packages.txt --language javascript
If it is interrupted, the same command goes on where it stopped."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    defaults, limits = PrepareSettings("python"), SourceOptions()
    parser.add_argument("corpus", type=Path, metavar="CORPUS", help="the folder to make")
    parser.add_argument(
        "sources",
        nargs="+",
        metavar="SOURCE",
        help="a folder, file, or archive (zip, wheel, tar); pypi:NAME[==VERSION]; npm:NAME[@VERSION]; stdlib; "
        "@LIST, a file with a source on each line; a file of published records (PY150, JS150, GREAT)",
    )
    parser.add_argument("--language", required=True, choices=LANGUAGES)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, metavar="N", help="default: all cores")
    parser.add_argument("--seed", type=int, default=defaults.seed, metavar="N", help="draws the splits (default: 0)")
    parser.add_argument(
        "--max-nodes",
        type=int,
        default=defaults.max_nodes,
        metavar="N",
        help=f"leave larger trees out (default: {defaults.max_nodes})",
    )
    parser.add_argument(
        "--max-file-bytes",
        type=int,
        default=limits.max_file_bytes,
        metavar="N",
        help=f"leave larger files out (default: {limits.max_file_bytes})",
    )
    parser.add_argument("--keep-minified", action="store_true", help="keep files squeezed by a program")
    parser.add_argument("--keep-near-duplicates", action="store_true", help="keep files that are nearly the same")
    parser.add_argument(
        "--project-depth",
        type=int,
        metavar="N",
        help="how many leading folders name a project (default: a folder is one project if it looks like one, "
        "else each of its entries is)",
    )
    parser.add_argument(
        "--splits",
        type=Path,
        metavar="FILE",
        help="lines `train PROJECT`, `validation PROJECT`, `test PROJECT`",
    )
    records = parser.add_argument_group("published records")
    records.add_argument(
        "--paths", type=Path, action="append", default=[], metavar="FILE",
        help="the list of paths of a record file; once for each, in the same order (default: the .txt beside it)",
    )  # fmt: skip
    records.add_argument("--by-owner", action="store_true", help="split by owner instead of by repository")
    records.add_argument("--duplicates", type=Path, metavar="FILE", help="JSON clusters of duplicate paths")
    records.add_argument(
        "--allowed", type=Path, action="append", default=[], metavar="FILE",
        help="manifest of files or list of repositories that may be used; may be given more than once",
    )  # fmt: skip
    parser.add_argument("--format", choices=("text", "json"), default="text", help="json: the manifest")


def run(arguments: argparse.Namespace) -> int:
    if arguments.jobs < 1:
        raise UsageError("--jobs must be 1 or more")
    settings = PrepareSettings(
        language=arguments.language,
        seed=arguments.seed,
        max_nodes=arguments.max_nodes,
        keep_minified=arguments.keep_minified,
        keep_near_duplicates=arguments.keep_near_duplicates,
        splits=arguments.splits,
        sources=SourceOptions(
            max_file_bytes=arguments.max_file_bytes,
            project_depth=arguments.project_depth,
            paths=tuple(arguments.paths),
            by_owner=arguments.by_owner,
            duplicates=arguments.duplicates,
            allowed=tuple(arguments.allowed),
        ),
    )
    try:
        with Display() as progress:
            manifest = prepare(arguments.corpus, arguments.sources, settings, arguments.jobs, progress)
    except KeyboardInterrupt:
        print("rarename prepare: interrupted; the same command goes on from here", file=sys.stderr)
        return 130
    if arguments.format == "json":
        write(json.dumps(manifest, indent=1) + "\n")
    else:
        write(describe(manifest))
    return 0


def describe(manifest: dict[str, Any]) -> str:
    """The splits and the skip report, for people."""
    lines = [f"{manifest['language']} corpus from {len(manifest['sources'])} sources"]
    for split, counts in manifest["splits"].items():
        lines.append(
            f"  {split:<11}{counts['projects']:>7,} projects {counts['files']:>9,} files "
            f"{counts['functions']:>10,} functions {counts['nodes']:>12,} nodes"
        )
    lines.append(f"{manifest['values']:,} distinct values, {manifest['types']:,} node types")
    if manifest["splits"]["test"]["files"] == 0 or manifest["splits"]["validation"]["files"] == 0:
        lines.append("too few projects to fill every split: add sources, or tell projects apart by --project-depth")
    duplicates = sum(counts["duplicate_functions"] for counts in manifest["splits"].values())
    lines.append(f"{duplicates:,} functions left out because an identical one stays")
    lines += describe_skips(manifest)
    return "\n".join(lines) + "\n"


def describe_skips(manifest: dict[str, Any]) -> list[str]:
    """How many files were skipped, why, and examples."""
    skipped = manifest["skipped"]
    total = sum(entry["count"] for entry in skipped.values())
    lines = [f"{total:,} skipped" + (" (all of them in skipped.jsonl):" if total else "")]
    for reason, entry in skipped.items():
        example = entry["examples"][0].replace("\n", " ")
        lines.append(f"  {entry['count']:>7,} {reason}, for example {example[:100]}")
    return lines
