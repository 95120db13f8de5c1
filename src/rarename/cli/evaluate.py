"""`rarename evaluate`: the metrics of a run."""

import argparse
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rarename.cli.common import add_output_format, number, write
from rarename.cli.display import Display, metric_label, table_text
from rarename.io import write_text

EXAMPLE = """  rarename evaluate runs/ordered --split test
  rarename evaluate runs/ordered --corpus corpora/mine
  rarename evaluate runs/misuse --fixes FIXES.jsonl --corpus corpora/mine      at false alarm rates on that corpus"""

SECTIONS = {
    "by_length": "by the number of nodes",
    "by_kind": "by kind of value; names are reads, attributes, parameters, writes and other identifiers",
    "by_rarity": "by rarity; rare: not in the vocabulary, first: the first occurrence in the window",
    "at_false_alarms": "at a fixed false alarm rate",
    "at_confidence": "at a confidence threshold of `rarename check`; false alarms: flagged clean functions",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run_folder", type=Path, metavar="RUN", help="a folder made by `rarename train`")
    parser.add_argument("--split", choices=("train", "validation", "test"), default="test", help="default: test")
    corpus = "another corpus of the same language (default: that of the run)"
    parser.add_argument("--corpus", metavar="CORPUS", help=corpus)
    parser.add_argument("--num-threads", type=number(int, 1), metavar="N", help="number of threads (default: torch's)")
    fixes = "measure on real fixes, as JSON Lines: functions before and after a commit changed one variable name"
    parser.add_argument("--fixes", type=Path, metavar="FILE", help=fixes)
    splits = "list of projects and their splits: use only the fixes of the split"
    parser.add_argument("--fixes-splits", type=Path, metavar="FILE", help=splits)
    parser.add_argument("--tiers", default="A", metavar="LETTERS", help="of the fixes (default: A)")
    add_output_format(parser, text="tables", json="one object with all metrics")


def run(arguments: argparse.Namespace) -> int:
    import torch

    from rarename.runs.run import evaluate

    if arguments.num_threads:
        torch.set_num_threads(arguments.num_threads)
    if arguments.fixes:
        return _run_fixes(arguments)
    with Display() as progress:
        metrics = evaluate(arguments.run_folder, arguments.split, arguments.corpus, progress)
    content = json.dumps(metrics, indent=1) + "\n"
    write(content if arguments.output_format == "json" else describe(metrics))
    if arguments.corpus is None:
        # Last, so that a full disk does not cost the output.
        write_text(arguments.run_folder / f"metrics-{arguments.split}.json", content)
    return 0


def _run_fixes(arguments: argparse.Namespace) -> int:
    from rarename.runs.run import evaluate_on_fixes

    with Display() as progress:
        files = arguments.fixes, arguments.fixes_splits, arguments.split, arguments.tiers
        metrics = evaluate_on_fixes(arguments.run_folder, *files, arguments.corpus, progress)
    content = json.dumps(metrics, indent=1) + "\n"
    write(content if arguments.output_format == "json" else describe_fixes(metrics))
    return 0


def describe_fixes(metrics: dict[str, Any]) -> str:
    """Return the metrics on real fixes as text."""
    skipped = "".join(f"left out: {reason} ({count})\n" for reason, count in metrics["skipped"].items())
    if not metrics["num"]:
        return f"no fixes to evaluate on\n{skipped}"
    keys = ("located", "repaired", "joint", "num")
    lengths = {"all": metrics} | metrics["by_length"]
    rows = [[label, *(_cell(group, key) for key in keys)] for label, group in lengths.items() if group["num"]]
    tables = [table_text(["by the number of nodes", "located", "repaired", "both", "functions"], rows)]
    header = ["at a false alarm rate of", "threshold", "both", "reported", "after fix", "false alarms"]
    rows = []
    for rate, group in metrics["at_false_alarms"].items():
        label = rate if rate == "default" else f"1 in {1 / float(rate):,.0f}"
        percents = [100 * group[key] for key in ("threshold", "joint", "reported", "reported_after_fix")]
        rows.append([label, *percents, None if group["false_alarms"] is None else 100 * group["false_alarms"]])
    tables.append(table_text(header, rows, digits=2))
    rows = [[f"{each['from']:g} to {each['to']:g}", *(100 * each[key] for key in ("confidence", "right")), each["num"]]
            for each in metrics["reliability"]]  # fmt: skip
    tables.append(table_text(["confidence", "mean", "right", "functions"], rows))
    twins = f"The buggy function has a higher confidence than its fixed twin in {100 * metrics['above_twin']:.1f} % of "
    twins += f"the pairs; AUC {metrics['auc']:.3f}.\n"
    notes = "All in percent. Confidence is that of the most suspicious variable, before and after the fix.\n"
    return "\n".join([*tables, twins + notes + skipped])


def describe(metrics: dict[str, Any]) -> str:
    """Return the metrics as text, a table for each section."""
    totals = {"all": metrics}
    note = "* the paper's rule: a repair needs a probability of at least 0.5; otherwise the most probable one counts"
    if "mrr_values" in metrics:
        keys = ("mrr", "accuracy", "num")
        totals = {name: {key: metrics[f"{key}_{name}"] for key in keys} for name in ("values", "types")}
        note = f"{100 * metrics['possible_values']:.1f} % of the values are predictable; a rare value without a "
        note += "placeholder and the first occurrence of a placeholder count as wrong"
    sections = [f"{title}\n{_table(metrics[key])}" for key, title in SECTIONS.items() if key in metrics]
    return "\n".join([_table(totals), *sections, note]) + "\n"


def _table(groups: Mapping[str, Mapping[str, Any]]) -> str:
    """A row per group: the metrics in percent, then the counts. A metric that has no examples is a dash."""
    example = max(groups.values(), key=len)  # a group without examples may be empty
    columns = [key for kind in (float, int) for key, value in example.items() if type(value) is kind]
    rows = [[label, *(_cell(group, key) for key in columns)] for label, group in groups.items()]
    return table_text(["", *map(metric_label, columns)], rows, digits=2 if "false_alarms" in columns else 1)


def _cell(group: Mapping[str, Any], key: str) -> float | None:
    count = "num_clean" if key == "no_bug_accuracy" else "num_buggy"
    if key.startswith("num") or key not in group:
        return group.get(key)
    return 100 * group[key] if group.get(count, group.get("num", 1)) else None
