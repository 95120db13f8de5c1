"""`rarename check` beside pylint and mypy, on the same files in the same run.

The tree is a copy of some packages of the standard library and of one installed package, or that of --tree. Each
program is init_distributed anew, one after the other, round by round. Wall-clock time is what a user waits; processor time
shows who used more than one core. The files, lines and functions a second are those of the whole tree for all
three, though each skips others. "Warm" is what an editor would see: a second look by `rarename.assist.Checker` in
a process that has loaded the model; for mypy, a new process with the cache of the one before, which tells it that
nothing has changed. pylint has no such thing.

mypy is told to look into functions without annotations, which it skips otherwise: the others look into all. pylint is
installed into a virtual environment of its own, which is removed afterwards. The exit codes of linters are left
alone, unless they say that nothing was done.

    python benchmarks/check.py
    python benchmarks/check.py --threads 1
    python benchmarks/check.py --tree src --model runs/mine --format json
"""

import argparse
import importlib.util
import json
import os
import platform
import re
import shutil
import statistics
import subprocess
import sys
import sysconfig
import tempfile
import time
import venv
from concurrent.futures import ProcessPoolExecutor
from importlib import metadata
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from measuring import megabytes

ROOT = Path(__file__).resolve().parent.parent

STANDARD = ("json", "email", "http", "asyncio", "unittest")
INSTALLED = "rich"
"""A package that rarename itself needs, so it is always there."""

PYTHON = (sys.executable, "-P")
"""Not with the folder that is checked among those to import from: it may hold a `json` of its own."""

MYPY_DID_WORK = re.compile(r"checked \d+ source file|no issues found in \d+ source file")
PYLINT_USAGE_ERROR = 32


class Output:
    """What a program said."""

    def __init__(self, code: int, text: str, errors: str) -> None:
        self.code, self.text, self.errors = code, text, errors


def main() -> None:
    options = read_options()
    if options.threads:
        os.environ["OMP_NUM_THREADS"] = str(options.threads)  # torch reads it; the linters have one thread anyway
    with tempfile.TemporaryDirectory() as temporary:
        work = Path(temporary)
        tree = copy_tree(options.tree, work / "tree")
        pylint = install_pylint(work / "pylint")
        runs: dict[str, list[dict[str, float]]] = {}
        summary: dict[str, Any] = {}
        for number in range(options.rounds):
            output, ours = timed([*PYTHON, "-m", "rarename", *our_arguments(options.model)], tree)
            summary = read_summary(output)
            runs.setdefault("rarename", []).append(ours)
            runs.setdefault("pylint", []).append(run_pylint(pylint, tree))
            cache = work / f"mypy-{number}"
            runs.setdefault("mypy", []).append(run_mypy(tree, cache))
            runs.setdefault("mypy, warm", []).append(run_mypy(tree, cache))
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
            runs["rarename, warm"] = pool.submit(check_warm, tree, options.model, options.rounds).result()
        version = subprocess.run([pylint, "--version"], capture_output=True, text=True, check=True).stdout
        report = summed_up(runs, count(tree, summary)) | {
            "python": platform.python_version(),
            "threads": options.threads or "torch's choice",
            "pylint": version.split()[1],
            "mypy": metadata.version("mypy"),
        }
    print(json.dumps(report, indent=1) if options.format == "json" else as_table(report))


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tree", type=Path, nargs="+", help="folders to check instead")
    parser.add_argument("--model", type=Path, metavar="RUN", help="the model inside the package unless told")
    parser.add_argument("--num-threads", type=int, help="of torch; its own choice unless told")
    parser.add_argument("--rounds", type=int, default=3, help="how often each is run; medians are told")
    parser.add_argument("--output-format", choices=("table", "json"), default="table")
    options = parser.parse_args()
    if options.rounds < 1:
        parser.error("--rounds must be at least 1")
    return options


def copy_tree(folders: list[Path] | None, target: Path) -> Path:
    """Copy the Python files: nobody then finds settings, caches or other packages beside them."""
    if folders is None:
        found = importlib.util.find_spec(INSTALLED)
        assert found and found.origin
        folders = [Path(sysconfig.get_paths()["stdlib"]) / name for name in STANDARD] + [Path(found.origin).parent]
    for folder in folders:
        for path in folder.rglob("*.py"):
            copy = target / folder.resolve().name / path.relative_to(folder)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, copy)
    if not target.exists():
        sys.exit("there is no Python file to check")
    return target


def install_pylint(folder: Path) -> Path:
    venv.create(folder, with_pip=True)
    environment = {"PIP_CONSTRAINT": str(ROOT / "constraints.txt"), "PIP_DISABLE_PIP_VERSION_CHECK": "1"} | os.environ
    subprocess.run([folder / "bin" / "pip", "install", "--quiet", "--quiet", "pylint"], check=True, env=environment)
    return folder / "bin" / "pylint"


def our_arguments(model: Path | None) -> list[str]:
    named = ["--model", str(model.resolve())] if model else []
    return ["check", ".", "--language", "python", "--output-format", "json", *named]


def read_summary(output: Output) -> dict[str, Any]:
    if output.code not in (0, 1):
        sys.exit(f"rarename check failed: {output.errors.strip()}")
    summary: dict[str, Any] = json.loads(output.text)["summary"]
    return summary


def run_pylint(pylint: Path, tree: Path) -> dict[str, float]:
    roots = sorted(path.name for path in tree.iterdir())
    output, spent = timed([str(pylint), "--rcfile", os.devnull, "--recursive=y", "--score=n", *roots], tree)
    if output.code & PYLINT_USAGE_ERROR:
        sys.exit(f"pylint failed: {output.errors.strip()}")
    return spent


def run_mypy(tree: Path, cache: Path) -> dict[str, float]:
    command = [*PYTHON, "-m", "mypy", "--config-file", os.devnull, "--cache-dir", str(cache)]
    output, spent = timed([*command, "--check-untyped-defs", "--ignore-missing-imports", "."], tree)
    if not MYPY_DID_WORK.search(output.text):
        sys.exit(f"mypy failed: {(output.text + output.errors).strip()[-2000:]}")
    return spent


def timed(command: list[str], folder: Path) -> tuple[Output, dict[str, float]]:
    """Run a program in a folder; gives what it said, and what it took."""
    with tempfile.TemporaryFile("w+") as text, tempfile.TemporaryFile("w+") as errors:
        began = time.perf_counter()
        process = subprocess.Popen(command, cwd=folder, stdout=text, stderr=errors)
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - began
        process.returncode = os.waitstatus_to_exitcode(status)  # or Popen would wait for it once more
        for file in (text, errors):
            file.seek(0)
        output = Output(process.returncode, text.read(), errors.read())
    # A process begins with the peak of the one that init_distributed it: this one is small, as it imports neither torch nor us.
    spent = {"seconds": seconds, "processor_seconds": usage.ru_utime + usage.ru_stime}
    return output, spent | {"peak_megabytes": usage.ru_maxrss / 1024}


def check_warm(tree: Path, model: Path | None, rounds: int) -> list[dict[str, float]]:
    """Look at the tree once, then again and again; the first look is not counted."""
    from rarename.assist import Checker, Files
    from rarename.syntax import language_named

    python = language_named("python")
    checker = Checker.load(*([model] if model else []))
    spent = []
    for _ in range(1 + rounds):
        began, processor_began = time.perf_counter(), time.process_time()
        checker.check_files(Files([str(tree)], checker.languages, python))
        spent.append(
            {"seconds": time.perf_counter() - began, "processor_seconds": time.process_time() - processor_began}
        )
    return [one | {"peak_megabytes": megabytes()} for one in spent[1:]]


def count(tree: Path, summary: dict[str, Any]) -> dict[str, int]:
    """The size of the tree; functions are counted by rarename, which takes nested ones as part of the outer."""
    files = list(tree.rglob("*.py"))
    return {
        "files": len(files),
        "lines": sum(len(path.read_bytes().splitlines()) for path in files),
        "functions": summary["functions"],
    }


def summed_up(runs: dict[str, list[dict[str, float]]], size: dict[str, int]) -> dict[str, Any]:
    """The median of the rounds, the speeds that follow, and the ratios to the others."""
    rows: dict[str, dict[str, float]] = {}
    for name in ("rarename", "pylint", "mypy", "rarename, warm", "mypy, warm"):
        row = {key: statistics.median(one[key] for one in runs[name]) for key in runs[name][0]}
        rows[name] = row | {f"{key}_per_second": number / row["seconds"] for key, number in size.items()}
    ratios = []
    for ours, other in [
        ("rarename", "pylint"),
        ("rarename", "mypy"),
        ("rarename, warm", "pylint"),
        ("rarename, warm", "mypy, warm"),
    ]:
        ratio = {key: rows[other][key] / rows[ours][key] for key in ("seconds", "processor_seconds")}
        memory = rows[ours]["peak_megabytes"] / rows[other]["peak_megabytes"]
        ratios.append({"of": ours, "to": other, "speed": ratio["seconds"]} | {
            "speed_by_processor_time": ratio["processor_seconds"], "memory": memory,
        })  # fmt: skip
    return {"tree": size, "rounds": len(runs["rarename"]), "programs": rows, "ratios": ratios}


def as_table(report: dict[str, Any]) -> str:
    size = report["tree"]
    lines = [
        f"{size['files']:,} files, {size['lines']:,} lines, {size['functions']:,} functions; "
        f"{report['rounds']} rounds; pylint {report['pylint']}, mypy {report['mypy']}, Python {report['python']}",
        f"{'':<16}{'seconds':>9}{'processor':>11}{'files/s':>9}{'lines/s':>10}{'functions/s':>13}{'peak MB':>9}",
    ]
    for name, row in report["programs"].items():
        lines.append(
            f"{name:<16}{row['seconds']:>9.2f}{row['processor_seconds']:>11.2f}{row['files_per_second']:>9.1f}"
            f"{row['lines_per_second']:>10,.0f}{row['functions_per_second']:>13,.1f}{row['peak_megabytes']:>9.0f}"
        )
    for ratio in report["ratios"]:
        lines.append(
            f"{ratio['of']} is {ratio['speed']:.2f} times as fast as {ratio['to']} "
            f"({ratio['speed_by_processor_time']:.2f} by processor time), with {ratio['memory']:.2f} times its memory"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    main()
