"""`rarename prepare --cluster` with local Dask workers, compared with as many processes.

Prepares the same files with both, in turn, on workers that are already running. Prints files per second of elapsed time
and of CPU time, and the ratios.

    python benchmarks/cluster.py --files 4000 --rounds 3
"""

import argparse
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

import psutil
from distributed import LocalCluster
from prepare import download


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, help="use the files of this folder instead of packages")
    parser.add_argument("--files", type=int, default=4_000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        work = Path(temporary)
        pool = arguments.folder or download(work / "pool")
        files = sorted(pool.rglob("*.py"), key=lambda path: (path.stat().st_size, str(path)))
        for number in range(arguments.files):
            path = files[number * len(files) // arguments.files]
            target = work / "source" / path.relative_to(pool)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, target)
        options = {"n_workers": arguments.workers, "threads_per_worker": 1, "dashboard_address": None}
        with LocalCluster(**options) as cluster:
            ways = {
                "processes": ["--jobs", str(arguments.workers)],
                "Dask workers": ["--cluster", cluster.scheduler_address],
            }
            costs: dict[str, list[tuple[float, float]]] = {way: [] for way in ways}
            for number in range(arguments.rounds):
                for way, option in ways.items():
                    costs[way].append(measure(work / f"corpus-{way}-{number}", work / "source", option))
                    print(way, *costs[way][-1], file=sys.stderr)
    rates = {
        way: [arguments.files / median(each) for each in zip(*measured, strict=True)] for way, measured in costs.items()
    }
    for way, (by_time, by_cpu_time) in rates.items():
        print(f"{way:<14} {by_time:8.1f} files/s {by_cpu_time:8.1f} files per CPU second")
    ratios = [dask / local for dask, local in zip(rates["Dask workers"], rates["processes"], strict=True)]
    print(f"{'ratio':<14} {ratios[0]:8.2f}         {ratios[1]:8.2f}")


def measure(corpus: Path, source: Path, option: list[str]) -> tuple[float, float]:
    """Elapsed time and CPU time, that of the Dask workers included."""
    command = [sys.executable, "-m", "rarename", "prepare", str(corpus), str(source), "--language", "python"]
    began, cpu_began = time.perf_counter(), cpu_seconds()
    subprocess.run([*command, *option], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.perf_counter() - began, cpu_seconds() - cpu_began


def cpu_seconds() -> float:
    """CPU time of this process and all its children, those that have ended included."""
    processes = [psutil.Process(), *psutil.Process().children(recursive=True)]
    return sum(sum(process.cpu_times()[:4]) for process in processes)


if __name__ == "__main__":
    main()
