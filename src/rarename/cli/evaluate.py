"""`rarename evaluate`: the metrics of a run."""

import argparse
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from rarename.cli.common import add_output_format, number, write
from rarename.io import write_text

EXAMPLE = """  rarename evaluate runs/ordered --split test
  rarename evaluate runs/ordered --corpus corpora/mine"""

MISUSE_COLUMNS = {
    "joint": "joint_accuracy",
    "location": "location_accuracy",
    "repair": "repair_accuracy",
    "no bug": "no_bug_accuracy",
    "joint*": "joint_accuracy_paper",
    "repair*": "repair_accuracy_paper",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run_folder", type=Path, metavar="RUN", help="a folder made by `rarename train`")
    parser.add_argument("--split", choices=("validation", "test"), default="test", help="default: test")
    parser.add_argument("--corpus", metavar="CORPUS", help="another corpus of the same language")
    parser.add_argument("--num-threads", type=number(int, 1), metavar="N", help="threads of torch (default: torch's)")
    add_output_format(parser, text="tables", json="one object with all metrics")


def run(arguments: argparse.Namespace) -> int:
    import torch

    from rarename.cli.display import Display
    from rarename.runs.run import evaluate

    if arguments.num_threads:
        torch.set_num_threads(arguments.num_threads)
    with Display() as progress:
        metrics = evaluate(arguments.run_folder, arguments.split, arguments.corpus, progress)
    text = json.dumps(metrics, indent=1) + "\n"
    rows = _completion_rows(metrics) if "mrr_values" in metrics else _misuse_rows(metrics)
    write(text if arguments.output_format == "json" else "\n".join(rows) + "\n")
    if arguments.corpus is None:
        # Last, so that a full disk does not cost the output.
        write_text(arguments.run_folder / f"metrics-{arguments.split}.json", text)
    return 0


def _misuse_rows(metrics: dict[str, Any]) -> Iterator[str]:
    yield _row("", *MISUSE_COLUMNS, "clean", "buggy")
    yield _misuse_row("all", metrics)
    yield "\nby the number of nodes"
    yield from (_misuse_row(name, group) for name, group in metrics["by_length"].items())
    yield "\nby whether the wrong and the correct name are in the vocabulary"
    yield from (_misuse_row(name, group) for name, group in metrics["by_rarity"].items())
    yield "\nat a fixed false alarm rate, whatever the model's own threshold"
    yield _row("", "joint", "location", "both rare")
    for rate, group in metrics["at_false_alarms"].items():
        keys = ("joint_accuracy", "location_accuracy", "joint_accuracy_both_rare")
        yield _row(f"{100 * float(rate):g} %", *(f"{100 * group[key]:.1f}" for key in keys if key in group))
    yield "\nat a confidence threshold of `rarename check`; false alarms: flagged clean functions"
    yield _row("", "joint", "false alarms")
    for threshold, group in metrics["at_confidence"].items():
        yield _row(threshold, f"{100 * group['joint_accuracy']:.1f}", f"{100 * group['false_alarms']:.2f}")
    yield "\n* the paper's rule: a repair needs a probability of at least 0.5; otherwise the most probable one counts"


def _completion_rows(metrics: dict[str, Any]) -> Iterator[str]:
    yield _row("", "MRR", "accuracy", "number")
    yield _rank_row("values", metrics, "_values")
    yield _rank_row("types", metrics, "_types")
    yield "\nby kind of value; names are reads, attributes, parameters, writes and other names that somebody chose"
    yield from (_rank_row(name, group) for name, group in metrics["by_kind"].items())
    yield "\nby whether the value is in the vocabulary, and whether it occurred before in the window"
    yield from (_rank_row(name, group) for name, group in metrics["by_rarity"].items())
    yield (
        f"\n{100 * metrics['possible_values']:.1f} % of the values are predictable; a rare value without a placeholder "
        "and the first occurrence of a placeholder count as wrong"
    )


def _misuse_row(name: str, group: Mapping[str, float]) -> str:
    cells = []
    for key in MISUSE_COLUMNS.values():
        count = "num_clean" if key == "no_bug_accuracy" else "num_buggy"
        cells.append(_percent(group[key], group[count]) if key in group else "")
    return _row(name, *cells, *(f"{group[key]:,}" if key in group else "" for key in ("num_clean", "num_buggy")))


def _rank_row(name: str, group: Mapping[str, float], suffix: str = "") -> str:
    count = int(group["num" + suffix])
    return _row(name, *(_percent(group[key + suffix], count) for key in ("mrr", "accuracy")), f"{count:,}")


def _percent(fraction: float, count: float) -> str:
    return f"{100 * fraction:.1f}" if count else "–"


def _row(name: str, *cells: str) -> str:
    return f"{name:<18}" + "".join(f"{cell:>13}" for cell in cells)
