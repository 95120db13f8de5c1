"""How `rarename prepare` scales with the number of files and of jobs.

Copies the Python files of the packages in experiments/corpora/pypi.txt (or of --folder), takes 500, 5,000 and 20,000 of
them, with the same proportion of small and large ones, and prepares each. Prints files per second and the peak memory
of all processes together (proportional set size: shared pages count once).

    python benchmarks/prepare.py --sizes 500 5000 20000 --jobs 1 2
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, help="use the files of this folder instead of packages")
    parser.add_argument("--sizes", type=int, nargs="+", default=[500, 5_000, 20_000])
    parser.add_argument("--jobs", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--output-format", choices=("text", "json"), default="text")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        work = Path(temporary)
        pool = arguments.folder or download(work / "pool")
        files = sorted(pool.rglob("*.py"), key=lambda path: (path.stat().st_size, str(path)))
        print(f"{len(files)} files in the pool", file=sys.stderr)
        rows = []
        for size in arguments.sizes:
            if size > len(files):
                print(f"{size} files: skipped, there are fewer", file=sys.stderr)
                continue
            folder = work / f"files-{size}"
            for number in range(size):
                path = files[number * len(files) // size]
                target = folder / path.relative_to(pool)
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(path, target)
            os.sync()  # the first run must not wait for these copies
            for jobs in arguments.jobs:
                rows.append(measure(folder, work / f"corpus-{size}-{jobs}", size, jobs))
                print(json.dumps(rows[-1]), file=sys.stderr)
    if arguments.output_format == "json":
        print(json.dumps(rows, indent=1))
        return
    print(f"{'files':>8} {'jobs':>5} {'seconds':>9} {'files/s':>9} {'nodes/s':>11} {'peak MB':>9}")
    for row in rows:
        print(
            f"{row['files']:>8,} {row['jobs']:>5} {row['seconds']:>9.1f} {row['files_per_second']:>9.1f} "
            f"{row['nodes_per_second']:>11,.0f} {row['peak_megabytes']:>9.0f}"
        )


def download(pool: Path) -> Path:
    """Download the wheels of the list and extract their Python files."""
    wheels = ROOT / ".cache" / "benchmark-wheels"
    wheels.mkdir(parents=True, exist_ok=True)
    lines = (ROOT / "experiments" / "corpora" / "pypi.txt").read_text().splitlines()
    names = [line.removeprefix("pypi:") for line in lines if line.startswith("pypi:")]
    if len(list(wheels.glob("*.whl"))) < len(names):
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"]
        subprocess.run([*command, "--dest", str(wheels), *names], check=True)
    for wheel in wheels.glob("*.whl"):
        with zipfile.ZipFile(wheel) as archive:
            members = [name for name in archive.namelist() if name.endswith(".py")]
            archive.extractall(pool / wheel.name.split("-")[0], members)
    return pool


def measure(folder: Path, corpus: Path, size: int, jobs: int) -> dict[str, float]:
    """Prepare a folder; the time and the peak memory."""
    command = [sys.executable, "-m", "rarename", "prepare", str(corpus), str(folder)]
    command += ["--language", "python", "--jobs", str(jobs), "--project-depth", "1"]
    began = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    peak = Peak(process.pid)
    process.wait()
    seconds = time.perf_counter() - began
    peak.stop()
    if process.returncode:
        sys.exit(f"prepare failed: {' '.join(command)}")
    manifest = json.loads((corpus / "manifest.json").read_text())
    nodes = sum(split["nodes"] for split in manifest["splits"].values())
    shutil.rmtree(corpus)
    return {
        "files": size,
        "jobs": jobs,
        "seconds": seconds,
        "files_per_second": size / seconds,
        "nodes_per_second": nodes / seconds,
        "peak_megabytes": peak.megabytes,
    }


class Peak(threading.Thread):
    """Samples the memory of a process and all its descendants."""

    def __init__(self, pid: int) -> None:
        super().__init__(daemon=True)
        self.pid, self.megabytes, self._stopped = pid, 0.0, threading.Event()
        self.start()

    def run(self) -> None:
        while not self._stopped.wait(0.1):
            self.megabytes = max(self.megabytes, sum(map(proportional, descendants(self.pid))) / 1024)

    def stop(self) -> None:
        self._stopped.set()
        self.join()


def descendants(pid: int) -> list[int]:
    """A process and all its descendants."""
    found, todo = [], [pid]
    while todo:
        found.append(todo.pop())
        try:
            for task in Path(f"/proc/{found[-1]}/task").iterdir():
                todo += map(int, (task / "children").read_text().split())
        except OSError:
            pass
    return found


def proportional(pid: int) -> int:
    """The proportional set size of a process, in kilobytes."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("Pss:")), 0)


if __name__ == "__main__":
    main()
