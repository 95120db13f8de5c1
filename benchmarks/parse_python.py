"""From Python source to a traversal, compared with bigcode-astgen on the same files in the same run.

Both turn the text of a file into nodes; rarename also finds their positions. The two alternate, file by file. CPU time
is measured, because other processes affect it less. The ratio is the median over the rounds.

    python benchmarks/parse_python.py --files 300
    python benchmarks/parse_python.py --output-format json src/
"""

import argparse
import gc
import json
import platform
import random
import statistics
import sys
import sysconfig
import time
import warnings
from collections.abc import Callable, Sized
from pathlib import Path

from bigcode_astgen import ast_generator

from rarename.errors import ParseError
from rarename.syntax.python import PYTHON


def main() -> None:
    options = read_options()
    warnings.simplefilter("ignore")  # bigcode-astgen does not suppress the warnings about the parsed files
    texts = read_texts(options.folder, options.files, options.seed)
    if not texts:
        sys.exit(f"both parsers accept no file under {options.folder}")
    report = measure(texts, options.rounds)
    print(json.dumps(report, indent=2) if options.output_format == "json" else as_table(report))


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument(
        "folder",
        nargs="?",
        type=Path,
        default=Path(sysconfig.get_paths()["stdlib"]),
        help="the files to parse (default: the standard library)",
    )
    parser.add_argument("--files", type=int, default=300, help="files to draw at random")
    parser.add_argument("--rounds", type=int, default=5, help="rounds of each parser")
    parser.add_argument("--seed", type=int, default=0, help="of the draw (default: 0)")
    parser.add_argument("--output-format", choices=("text", "json"), default="text")
    return parser.parse_args()


def read_texts(folder: Path, num_files: int, seed: int) -> list[str]:
    """Draw files at random that both parsers accept."""
    paths = sorted(path for path in folder.rglob("*.py") if "site-packages" not in path.parts)
    random.Random(seed).shuffle(paths)
    texts: list[str] = []
    for path in paths:
        if len(texts) == num_files:
            break
        try:
            text = PYTHON.decode(path.read_bytes())
            PYTHON.parse(text, False)
            ast_generator.parse_string(text)
        except (ParseError, SyntaxError, ValueError, RecursionError):
            continue
        texts.append(text)
    return texts


def measure(texts: list[str], num_rounds: int) -> dict[str, object]:
    """The CPU time of each parser, and the ratios per round."""
    ours, theirs = [0.0] * num_rounds, [0.0] * num_rounds
    num_nodes = num_their_nodes = 0
    for round_ in range(num_rounds):
        num_nodes = num_their_nodes = 0
        gc.collect()
        for text in texts:
            seconds, nodes = timed(lambda text: PYTHON.parse(text, False), text)
            ours[round_] += seconds
            num_nodes += nodes
            seconds, nodes = timed(ast_generator.parse_string, text)
            theirs[round_] += seconds
            num_their_nodes += nodes
    ratios = [slow / fast for slow, fast in zip(theirs, ours, strict=True)]
    return {
        "python": platform.python_version(),
        "files": len(texts),
        "bytes": sum(len(text.encode()) for text in texts),
        "rounds": num_rounds,
        "rarename": speed(ours, len(texts), num_nodes),
        "bigcode-astgen": speed(theirs, len(texts), num_their_nodes),
        "ratio": round(statistics.median(ratios), 2),
        "ratio_min": round(min(ratios), 2),
        "ratio_max": round(max(ratios), 2),
    }


def timed(parse: Callable[[str], Sized], text: str) -> tuple[float, int]:
    """CPU seconds, including those to free the result, and the number of nodes."""
    start = time.process_time()
    num_nodes = len(parse(text))
    return time.process_time() - start, num_nodes


def speed(seconds: list[float], num_files: int, num_nodes: int) -> dict[str, float]:
    typical = statistics.median(seconds)
    return {
        "seconds": round(typical, 3),
        "nodes": num_nodes,
        "files_per_second": round(num_files / typical, 1),
        "nodes_per_second": round(num_nodes / typical),
    }


def as_table(report: dict[str, object]) -> str:
    lines = [f"{'parser':<16}{'files/s':>10}{'nodes/s':>12}{'nodes':>12}{'seconds':>10}"]
    for name in ("rarename", "bigcode-astgen"):
        row = report[name]
        assert isinstance(row, dict)
        lines.append(
            f"{name:<16}{row['files_per_second']:>10}{row['nodes_per_second']:>12}"
            f"{row['nodes']:>12}{row['seconds']:>10}"
        )
    lines.append(
        f"ratio {report['ratio']} (lowest {report['ratio_min']}, highest {report['ratio_max']}); "
        f"{report['files']} files, {report['rounds']} rounds, Python {report['python']}"
    )
    return "\n".join(lines)


if __name__ == "__main__":
    main()
