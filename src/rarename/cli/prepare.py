"""`rarename prepare`: a corpus from anything that holds code."""

import argparse
import json
import os
import sys
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from rarename.cli.common import write
from rarename.cli.display import Display
from rarename.corpus.build import PrepareConfig, prepare
from rarename.corpus.document import SPLIT_UNITS, SourceOptions
from rarename.syntax import LANGUAGES

EXAMPLE = """  rarename prepare corpora/stdlib stdlib --language python
  rarename prepare corpora/mine ~/src pypi:numpy wheels/six-1.17.0-py2.py3-none-any.whl --language python
  rarename prepare corpora/web npm:react@19.0.0 @packages.txt --language javascript
To resume an interrupted command, run it again."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    defaults, limits = PrepareConfig("python"), SourceOptions()
    option = parser.add_argument
    option("corpus", type=Path, metavar="CORPUS", help="the folder to create")
    option(
        "sources", nargs="+", metavar="SOURCE",
        help="a folder, file, or archive (zip, wheel, tar); pypi:NAME[==VERSION]; npm:NAME[@VERSION]; stdlib; "
        "@LIST, a file with one source per line; a file of published records (PY150, JS150, GREAT)",
    )  # fmt: skip
    option("--language", required=True, choices=LANGUAGES)
    option(
        "--jobs", type=int, default=os.cpu_count() or 1, metavar="N", help="number of processes (default: all cores)"
    )
    for name, default, description in (
        ("--seed", defaults.seed, "draws the splits"),
        ("--max-nodes", defaults.max_nodes, "leave out larger trees"),
        ("--max-file-bytes", limits.max_file_bytes, "leave out larger files"),
    ):
        option(name, type=int, default=default, metavar="N", help=f"{description} (default: %(default)s)")
    option("--keep-minified", action="store_true", help="keep minified files")
    option("--keep-near-duplicates", action="store_true", help="keep files that are nearly the same as others")
    option(
        "--project-depth", type=int, metavar="N",
        help="the number of leading folders that name a project (default: a folder with project files such as "
        "pyproject.toml is one project, else each of its entries is one)",
    )  # fmt: skip
    option("--splits", type=Path, metavar="FILE", help="lines `train PROJECT`, `validation PROJECT`, `test PROJECT`")
    option("--output-format", choices=("text", "json"), default="text", help="json: the manifest")
    record_option = parser.add_argument_group("published records").add_argument
    record_option(
        "--record-paths", type=Path, action="append", default=[], metavar="FILE",
        help="the list of paths of a file of trees; once for each, in the same order (default: the .txt next to it)",
    )  # fmt: skip
    record_option("--split-by", choices=SPLIT_UNITS, default=limits.split_by, help="the unit of the splits")
    record_option("--duplicate-clusters", type=Path, metavar="FILE", help="JSON list of clusters of duplicate paths")
    record_option(
        "--allow-list", type=Path, action="append", default=[], metavar="FILE",
        help="a manifest of files or list of repositories that may be used; can be repeated",
    )  # fmt: skip


def run(arguments: argparse.Namespace) -> int:
    config = PrepareConfig(
        language=arguments.language,
        seed=arguments.seed,
        max_nodes=arguments.max_nodes,
        keep_minified=arguments.keep_minified,
        keep_near_duplicates=arguments.keep_near_duplicates,
        splits=arguments.splits,
        sources=SourceOptions(
            max_file_bytes=arguments.max_file_bytes,
            project_depth=arguments.project_depth,
            record_paths=tuple(arguments.record_paths),
            split_by=arguments.split_by,
            duplicate_clusters=arguments.duplicate_clusters,
            allow_lists=tuple(arguments.allow_list),
        ),
    )
    try:
        with Display() as progress:
            manifest = prepare(arguments.corpus, arguments.sources, config, arguments.jobs, progress)
    except KeyboardInterrupt:
        print("rarename prepare: interrupted; run the same command to resume", file=sys.stderr)
        return 130
    write(json.dumps(manifest, indent=1) + "\n" if arguments.output_format == "json" else describe(manifest))
    return 0


def describe(manifest: dict[str, Any]) -> str:
    """The splits and what was skipped, as text."""
    splits = manifest["splits"]
    num_sources = len(manifest["sources"])
    text = f"{manifest['language']} corpus from {num_sources} source{'s' if num_sources != 1 else ''}\n"
    columns = ("projects", "files", "functions", "nodes")
    text += table_text(["", *columns], [[split, *map(counts.get, columns)] for split, counts in splits.items()])
    text += f"{manifest['values']:,} distinct values, {manifest['types']:,} node types\n"
    if splits["test"]["files"] == 0 or splits["validation"]["files"] == 0:
        text += "too few projects to fill every split: add sources, or separate projects with --project-depth\n"
    num_duplicates = sum(counts["duplicate_functions"] for counts in splits.values())
    text += f"{num_duplicates:,} functions left out because an identical one is kept\n"
    skipped = manifest["skipped"]
    total = sum(entry["count"] for entry in skipped.values())
    rows = [
        [entry["count"], reason, entry["examples"][0].replace("\n", " ")[:100]] for reason, entry in skipped.items()
    ]
    return text + f"{total:,} skipped (listed in skipped.jsonl)\n" + table_text(["", "reason", "example"], rows)


def table_text(headers: list[str], rows: list[list[Any]]) -> str:
    """A table as plain text, numbers to the right. It is never cut to the width of a terminal: it may be piped."""
    table = Table(box=None, pad_edge=False)
    for header, cell in zip(headers, rows[0] if rows else [], strict=False):
        table.add_column(header, justify="left" if isinstance(cell, str) else "right", no_wrap=True)
    for row in rows:
        table.add_row(
            *(
                f"{cell:.1f}" if isinstance(cell, float) else f"{cell:,}" if isinstance(cell, int) else cell
                for cell in row
            )
        )
    console = Console(width=10_000, color_system=None, markup=False, emoji=False, highlight=False)
    with console.capture() as capture:
        console.print(table)
    return "".join(f"  {line.rstrip()}\n" for line in capture.get().splitlines()) if rows else ""
