"""`rarename evaluate`: the metrics of a run."""

import argparse
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rarename.cli.common import add_output_format, number, write
from rarename.cli.display import Display, table_text
from rarename.io import write_text

EXAMPLE = """  rarename evaluate runs/ordered --split test
  rarename evaluate runs/ordered --corpus corpora/mine"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run_folder", type=Path, metavar="RUN", help="a folder made by `rarename train`")
    parser.add_argument("--split", choices=("validation", "test"), default="test", help="default: test")
    parser.add_argument("--corpus", metavar="CORPUS", help="another corpus of the same language")
    parser.add_argument("--num-threads", type=number(int, 1), metavar="N", help="threads of torch (default: torch's)")
    add_output_format(parser, text="tables", json="one object with all metrics")


def run(arguments: argparse.Namespace) -> int:
    import torch

    from rarename.runs.run import evaluate

    if arguments.num_threads:
        torch.set_num_threads(arguments.num_threads)
    with Display() as progress:
        metrics = evaluate(arguments.run_folder, arguments.split, arguments.corpus, progress)
    content = json.dumps(metrics, indent=1) + "\n"
    describe = _describe_completion if "mrr_values" in metrics else _describe_misuse
    write(content if arguments.output_format == "json" else describe(metrics))
    if arguments.corpus is None:
        # Last, so that a full disk does not cost the output.
        write_text(arguments.run_folder / f"metrics-{arguments.split}.json", content)
    return 0


def _describe_misuse(metrics: dict[str, Any]) -> str:
    rates = {f"{100 * float(rate):g} %": group for rate, group in metrics["at_false_alarms"].items()}
    return f"""{_table({"all": metrics})}
by the number of nodes
{_table(metrics["by_length"])}
by whether the wrong and the correct name are in the vocabulary
{_table(metrics["by_rarity"])}
at a fixed false alarm rate, whatever the model's own threshold
{_table(rates, digits=2)}
at a confidence threshold of `rarename check`; false alarms: flagged clean functions
{_table(metrics["at_confidence"], digits=2)}
* the paper's rule: a repair needs a probability of at least 0.5; otherwise the most probable one counts
"""


def _describe_completion(metrics: dict[str, Any]) -> str:
    values, types = (
        {key: metrics[f"{key}_{name}"] for key in ("mrr", "accuracy", "num")} for name in ("values", "types")
    )
    return f"""{_table({"values": values, "types": types})}
by kind of value; names are reads, attributes, parameters, writes and other names that somebody chose
{_table(metrics["by_kind"])}
by whether the value is in the vocabulary, and whether it occurred before in the window
{_table(metrics["by_rarity"])}
{100 * metrics["possible_values"]:.1f} % of the values are predictable; a rare value without a placeholder and the \
first occurrence of a placeholder count as wrong
"""


def _table(groups: Mapping[str, Mapping[str, Any]], digits: int = 1) -> str:
    """A row per group: the metrics in percent, then the counts. A metric that has no examples is a dash."""
    largest = max(groups.values(), key=len)
    keys = [key for key, value in largest.items() if isinstance(value, float)]
    counts = [key for key, value in largest.items() if isinstance(value, int)]
    headers = [key.removeprefix("num_").replace("_accuracy", "").replace("_paper", "*") for key in (*keys, *counts)]
    rows = [
        [label, *(_percent(group, key) for key in keys), *map(group.get, counts)] for label, group in groups.items()
    ]
    return table_text(["", *(header.replace("_", " ") for header in headers)], rows, digits)


def _percent(group: Mapping[str, Any], key: str) -> float | None:
    count = "num_clean" if key == "no_bug_accuracy" else "num_buggy"
    return 100 * group[key] if key in group and group.get(count, group.get("num", 1)) else None
