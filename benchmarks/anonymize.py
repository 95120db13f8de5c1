"""The time to anonymize a batch of rank ids, compared with a plain Python loop.

python benchmarks/anonymize.py
"""

import argparse
import json
import statistics
import time
from collections.abc import Callable

import numpy as np

from rarename.anonymize import STRATEGIES, anonymize_ranks
from rarename.vocabulary import Special


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--snippets", type=int, default=32)
    parser.add_argument("--nodes", type=int, default=250)
    parser.add_argument("--vocabulary-size", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--output-format", choices=("text", "json"), default="text")
    arguments = parser.parse_args()
    # As in real code: half of the nodes have no value, and names follow Zipf's law.
    generator = np.random.default_rng(0)
    shape = (arguments.snippets, arguments.nodes)
    ranks = np.minimum(generator.zipf(1.2, shape) - 1, 1_000_000)
    ranks[generator.random(shape) < 0.5] = Special.EMPTY.rank
    seeds = list(range(arguments.snippets))
    rows = {
        name: milliseconds(
            lambda name=name: anonymize_ranks(
                ranks, arguments.vocabulary_size, name, num_placeholders=arguments.nodes, seeds=seeds
            ),
            arguments.rounds,
        )
        for name in STRATEGIES
    }
    rows["ordered, a loop over a dict"] = milliseconds(lambda: loop(ranks, arguments.vocabulary_size), arguments.rounds)
    if arguments.output_format == "json":
        print(json.dumps(rows, indent=1))
        return
    rare = (ranks >= arguments.vocabulary_size).mean()
    print(f"{arguments.snippets} snippets of {arguments.nodes} nodes, {100 * rare:.0f} % of them rare names")
    for name, spent in rows.items():
        print(f"{name:<30} {spent:>8.3f} ms per batch {arguments.snippets / spent * 1000:>12,.0f} snippets/s")


def loop(ranks: "np.ndarray", size: int) -> list[list[int]]:
    """The plain implementation."""
    result = []
    for row in ranks.tolist():
        numbers: dict[int, int] = {}
        result.append(
            [
                ~rank if rank < 0 else rank if rank < size else size + numbers.setdefault(rank, len(numbers))
                for rank in row
            ]
        )
    return result


def milliseconds(call: Callable[[], object], rounds: int) -> float:
    """Return the median time of a call."""
    spent = []
    for _ in range(rounds):
        began = time.perf_counter()
        call()
        spent.append(time.perf_counter() - began)
    return 1000 * statistics.median(spent)


if __name__ == "__main__":
    main()
