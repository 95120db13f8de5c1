"""`rarename evaluate`: the scores of a run."""

import argparse
import json
from pathlib import Path
from typing import Any

from rarename.cli.common import number, write
from rarename.cli.display import Display
from rarename.io import write_text

EXAMPLE = """  rarename evaluate runs/ordered --split test
  rarename evaluate runs/ordered --corpus corpora/mine"""

COLUMNS = {
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
    parser.add_argument(
        "--threads", type=number(int, 1), metavar="N", help="threads of torch (default: its own choice)"
    )
    parser.add_argument("--format", choices=("text", "json"), default="text", help="tables, or one object with all")


def run(arguments: argparse.Namespace) -> int:
    import torch

    from rarename.runs.run import evaluate

    if arguments.threads:
        torch.set_num_threads(arguments.threads)
    with Display() as progress:
        scores = evaluate(arguments.run_folder, arguments.split, arguments.corpus, progress)
    text = json.dumps(scores, indent=1) + "\n"
    write(text if arguments.format == "json" else describe(scores))
    if arguments.corpus is None:
        # Last, so that a full disk does not cost the scores.
        write_text(arguments.run_folder / f"scores-{arguments.split}.json", text)
    return 0


def describe(scores: dict[str, Any]) -> str:
    """The scores as tables, in percent."""
    if "mrr_values" in scores:
        return _describe_completion(scores)
    lines = [_row("", [*COLUMNS, "clean", "buggy"]), _scores("all", scores), ""]
    lines += [_scores(name, group) for name, group in scores["by_length"].items()]
    lines += ["nodes, of the function", ""]
    lines += [_scores(name, group) for name, group in scores["by_rarity"].items()]
    lines += ["in the vocabulary: the wrong and the right name", ""]
    lines.append(_row("", ["joint", "location", "both rare"]))
    for share, group in scores["at_false_alarms"].items():
        keys = ("joint_accuracy", "location_accuracy", "joint_accuracy_both_rare")
        lines.append(_row(f"{100 * float(share):g} %", [f"{100 * group[key]:.1f}" for key in keys if key in group]))
    lines += ["of the clean functions flagged, whatever the model's own bound; the last column is joint accuracy", ""]
    lines.append(_row("", ["joint", "flagged"]))
    for least, group in scores["at_confidence"].items():
        lines.append(_row(least, [f"{100 * group['joint_accuracy']:.1f}", f"{100 * group['false_alarms']:.2f}"]))
    lines += ["is the least confidence of what is shown; flagged: of the clean functions", ""]
    lines.append(
        "* a repair counts from one half of the probability on, as in the paper; otherwise the likeliest counts"
    )
    return "\n".join(lines) + "\n"


def _describe_completion(scores: dict[str, Any]) -> str:
    def row(name: str, group: dict[str, float], suffix: str = "") -> str:
        number = int(group["num" + suffix])
        return _row(name, [*(_percent(group[key + suffix], number) for key in ("mrr", "accuracy")), f"{number:,}"])

    lines = [_row("", ["MRR", "accuracy", "number"])]
    lines += [row("values", scores, "_values"), row("types", scores, "_types"), ""]
    lines += [row(name, group) for name, group in scores["by_kind"].items()]
    lines.append("by what the value is; names are reads, attributes, parameters, writes and others that somebody chose")
    lines.append("")
    lines += [row(name, group) for name, group in scores["by_rarity"].items()]
    lines.append("by whether the vocabulary lacks the value, and whether it stands in the window before")
    lines.append("")
    lines.append(
        f"{100 * scores['possible_values']:.1f} % of the values can be told at all: a rare value without a "
        "placeholder, and the first occurrence of a placeholder, count as wrong"
    )
    return "\n".join(lines) + "\n"


def _scores(name: str, group: dict[str, float]) -> str:
    counted = {key: "num_clean" if key == "no_bug_accuracy" else "num_buggy" for key in COLUMNS.values()}
    accuracies = [_percent(group[key], group[number]) if key in group else "" for key, number in counted.items()]
    return _row(name, [*accuracies, *(f"{group[key]:,}" if key in group else "" for key in ("num_clean", "num_buggy"))])


def _percent(share: float, number: float) -> str:
    """A share of so many; of none there is no share."""
    return f"{100 * share:.1f}" if number else "–"


def _row(name: str, cells: list[str]) -> str:
    return f"{name:<14}" + "".join(f"{cell:>10}" for cell in cells)
