"""How time, memory and disk of `rarename prepare` grow with the number of files.

Prepares made-up functions from a Parquet file, at each size in a process of its own with worker processes. Prints the
CPU time per file of all processes, the peak memory of the process that was started and of the largest worker, and the
bytes per file of each kind of intermediate file. docs/scale.md compares them with formulas.

    python benchmarks/scale.py --sizes 1000 10000 100000 1000000
"""

import argparse
import json
import random
import resource
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from measuring import in_new_process, megabytes

from rarename.corpus import build
from rarename.corpus.store import Corpus

ROWS_PER_GROUP = 10_000
FILES_PER_PROJECT = 20
DUPLICATES = 0.05  # the fraction of files that are copies of another one, with a comment


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1_000, 10_000, 100_000])
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()
    for size in arguments.sizes:
        with tempfile.TemporaryDirectory() as folder:
            make_records(Path(folder, "records.parquet"), size)
            print(json.dumps(in_new_process(measure, Path(folder), size, arguments.jobs)), flush=True)


def make_records(path: Path, size: int) -> None:
    """Functions with names of their own and common ones; the number of the latter grows with the square root."""
    draw = random.Random(0)
    common = [f"name_{number}" for number in range(int(size**0.5) * 10)]
    schema = pa.schema([("content", pa.string()), ("path", pa.string()), ("repo_name", pa.string())])
    text = ""
    with pq.ParquetWriter(path, schema) as writer:
        for first in range(0, size, ROWS_PER_GROUP):
            rows = []
            for number in range(first, min(first + ROWS_PER_GROUP, size)):
                if text and draw.random() < DUPLICATES:
                    text = f"# a copy\n{text}"
                else:
                    a, b, c, d = (common[int(len(common) * draw.random() ** 3)] for _ in range(4))
                    text = f"def {a}_{number}({b}, {c}):\n    own_{number} = {b}.{d}({c}, {number})\n"
                    text += f"    return [{a} + own_{number}, {b}.{c}]\n"
                rows.append((text, f"m{number}.py", f"owner/r{number // FILES_PER_PROJECT}"))
            writer.write_table(pa.table(list(zip(*rows, strict=True)), schema=schema))


def measure(folder: Path, size: int, jobs: int) -> dict[str, Any]:
    """Prepare a corpus; the costs for each file."""
    disk: Counter[str] = Counter()
    remove = build._remove_leftovers

    def measure_and_remove(corpus: Path) -> None:
        for path in (*corpus.joinpath(".work").iterdir(), *corpus.glob("*.arrow")):
            kind = path.name.split(".", 1)[1] if path.name[0] in "0g" else path.name.rsplit("-", 1)[0]
            disk[kind if path.parent.name == ".work" else f"corpus {kind}"] += path.stat().st_size
        remove(corpus)

    build._remove_leftovers = measure_and_remove
    stages: list[tuple[str, float]] = []

    class Stages:
        def start(self, title: str, total: int) -> None:
            stages.append((title, time.perf_counter()))

        def advance(self, steps: int = 1) -> None: ...

        def log(self, text: str) -> None: ...

    corpus, began = folder / "corpus", time.perf_counter()
    config = build.PrepareConfig("python")
    manifest = build.prepare(corpus, [f"parquet:{folder}/records.parquet"], config, jobs, Stages())
    ended = time.perf_counter()
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    driver = time.process_time()
    nodes = sum(split["nodes"] for split in manifest["splits"].values())
    ends = [*(start for _, start in stages[1:]), ended]
    return {
        "files": size,
        "cpu_ms_per_file": 1000 * (driver + children.ru_utime + children.ru_stime) / size,
        "driver_cpu_ms_per_file": 1000 * driver / size,
        "seconds": ended - began,
        "driver_megabytes": megabytes(),
        "worker_megabytes": children.ru_maxrss / 1024,
        "nodes_per_file": nodes / size,
        "values_per_file": Corpus(corpus).num_values / size,
        "near_duplicates_per_file": manifest["skipped"].get("near-duplicate", {"count": 0})["count"] / size,
        "seconds_by_step": {title: round(end - start, 1) for (title, start), end in zip(stages, ends, strict=True)},
        "bytes_per_file": {kind: round(number / size, 1) for kind, number in sorted(disk.items())},
    }


if __name__ == "__main__":
    sys.exit(main())
