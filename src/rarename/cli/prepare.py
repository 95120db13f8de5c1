"""`rarename prepare`: a corpus from anything that holds code."""

import argparse
import os
import sys
from dataclasses import fields
from pathlib import Path
from typing import Any

from rarename.cli.common import add_cluster_arguments, add_output_format, cluster, write, write_json
from rarename.cli.display import Display, table_text
from rarename.corpus.document import SPLIT_UNITS, PrepareConfig, SourceOptions
from rarename.corpus.paper_split import PUBLISHED_FILES
from rarename.syntax import LANGUAGES

EXAMPLE = """  rarename prepare corpora/stdlib stdlib --language python
  rarename prepare corpora/mine ~/src pypi:numpy wheels/six-1.17.0-py2.py3-none-any.whl --language python
  rarename prepare corpora/web npm:react@19.0.0 @packages.txt --language javascript
To resume an interrupted command, run it again."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(**vars(SourceOptions()) | vars(PrepareConfig("python")))
    option = parser.add_argument
    option("corpus", type=Path, metavar="CORPUS", help="the folder to create")
    option(
        "specs", nargs="+", metavar="SOURCE",
        help="a folder, file, or archive (zip, wheel, tar); pypi:NAME[==VERSION]; npm:NAME[@VERSION]; stdlib; "
        "@LIST, a file with one source per line; a file of published records (PY150, JS150, GREAT); py150:DIR or "
        "js150:DIR, the unpacked publication; parquet:PATH, a Parquet file, a folder of them or a glob",
    )  # fmt: skip
    option("--language", required=True, choices=LANGUAGES)
    option("--jobs", type=int, default=os.cpu_count() or 1, metavar="N", help="worker processes (default: all cores)")
    add_cluster_arguments(parser)
    option("--seed", type=int, metavar="N", help="seed of the splits (default: %(default)s)")
    option("--max-nodes", type=int, metavar="N", help="leave out larger trees (default: %(default)s)")
    option("--max-file-bytes", type=int, metavar="N", help="leave out larger files (default: %(default)s)")
    option("--keep-minified", action="store_true", help="keep minified files")
    option("--keep-near-duplicates", action="store_true", help="keep files that are nearly the same as others")
    option(
        "--project-depth", type=int, metavar="N",
        help="the number of leading folders that name a project (default: a folder with project files such as "
        "pyproject.toml is one project, else each of its entries is one)",
    )  # fmt: skip
    option("--splits", type=Path, metavar="FILE", help="assign projects: lines `train PROJECT`, `test PROJECT` …")
    add_output_format(parser, text="tables", json="the manifest")
    option = parser.add_argument_group("published records").add_argument
    paths = "the list of paths of a file of trees; once for each, in the same order (default: the .txt next to it)"
    option("--record-paths", type=Path, action="append", default=[], metavar="FILE", help=paths)
    lists = "the paper's split of py150:DIR or js150:DIR; LISTS is the folder `data_utils` of its authors' code"
    option("--paper-split", type=Path, metavar="LISTS", help=lists)
    option("--split-by", choices=SPLIT_UNITS, help="the unit of the splits (default: %(default)s)")
    option("--duplicate-clusters", type=Path, metavar="FILE", help="JSON list of clusters of duplicate paths")
    lists = "a manifest of files or list of repositories that may be used; can be repeated"
    for name in ("text", "path", "project"):
        columns = f"the column of the {name} in parquet:PATH (default: as in The Stack, github-code, CodeSearchNet)"
        option(f"--{name}-column", metavar="NAME", help=columns)
    option("--allow-list", dest="allow_lists", type=Path, action="append", default=[], metavar="FILE", help=lists)


def run(arguments: argparse.Namespace) -> int:
    from rarename.corpus.build import prepare  # imports pyarrow, which `--help` does not need

    def given(config_class: Any) -> dict[str, Any]:
        values = {field.name: getattr(arguments, field.name) for field in fields(config_class)}
        return {name: tuple(value) if isinstance(value, list) else value for name, value in values.items()}

    config = PrepareConfig(**given(PrepareConfig) | {"sources": SourceOptions(**given(SourceOptions))})
    try:
        with Display() as progress, cluster(arguments, [arguments.corpus.absolute().parent]) as executor:
            manifest = prepare(arguments.corpus, arguments.specs, config, arguments.jobs, progress, executor)
    except KeyboardInterrupt:
        print("rarename prepare: interrupted; run the same command to resume", file=sys.stderr)
        return 130
    if arguments.output_format == "json":
        write_json(manifest, indent=1)
    else:
        write(describe(manifest))
    return 0


def describe(manifest: dict[str, Any]) -> str:
    """The splits and what was skipped, as text."""
    splits, skipped, num_sources = manifest["splits"], manifest["skipped"], len(manifest["sources"])
    text = f"{manifest['language']} corpus from {num_sources} source{'s' if num_sources != 1 else ''}\n"
    columns = ("projects", "files", "functions", "nodes")
    text += table_text(["", *columns], [[split, *map(counts.get, columns)] for split, counts in splits.items()])
    if manifest["request"]["settings"]["sources"].get("paper_split"):
        text += _compare(manifest["language"], [counts["files"] for counts in splits.values()])
    text += f"{manifest['values']:,} distinct values, {manifest['types']:,} node types\n"
    if splits["test"]["files"] == 0 or splits["validation"]["files"] == 0:
        text += "too few projects to fill every split: add sources, or separate projects with --project-depth\n"
    num_duplicates = sum(counts["duplicate_functions"] for counts in splits.values())
    text += f"{num_duplicates:,} functions left out because an identical one is kept\n"
    text += f"{sum(entry['count'] for entry in skipped.values()):,} skipped (listed in skipped.jsonl)\n"
    examples = {reason: " ".join(entry["examples"][:1]).replace("\n", " ")[:100] for reason, entry in skipped.items()}
    rows = [[entry["count"], reason, examples[reason]] for reason, entry in skipped.items()]
    return text + table_text(["", "reason", "example"], rows)


def _compare(language: str, files: list[int]) -> str:
    """The files of the splits beside those that the paper published."""
    published = PUBLISHED_FILES[language]
    verdict = "they agree" if tuple(files) == published else "they differ"
    ours, theirs = (" / ".join(f"{count:,}" for count in counts) for counts in (files, published))
    return f"files of the paper's split: {ours}; published: {theirs}; {verdict}\n"
