"""`rarename check` compared with pylint and mypy, on the same files in the same run.

The files are copies of some packages of the standard library and of one installed package, or of --folders. The
programs run one after the other, round by round, each in a new process. Wall time is what a user waits for; CPU time
shows who uses more than one core. Files, lines and functions per second refer to the whole tree for all three, although
each skips different files.

rarename runs with an empty cache and one process per core, again with the cache that this filled, and with one process
and no cache. The memory of several processes is that of the largest.

"Warm" is what an editor would see. For rarename it is a second check by `rarename.assist.Checker` in a process that has
loaded the model. For mypy it is a new process with the cache of the one before, so nothing has changed. pylint has no
such mode.

mypy also checks functions without annotations here (--check-untyped-defs), because the others do. pylint is installed
into a temporary virtual environment.

    python benchmarks/check.py
    python benchmarks/check.py --folders src --model runs/mine --output-format json
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
from collections import defaultdict
from concurrent.futures import ProcessPoolExecutor
from importlib import metadata
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from measuring import Timer, megabytes

ROOT = Path(__file__).resolve().parent.parent
STDLIB_PACKAGES = ("json", "email", "http", "asyncio", "unittest")
INSTALLED_PACKAGE = "rich"  # rarename depends on it, so it is always installed

PYTHON = (sys.executable, "-P")
"""-P: do not import from the current folder, where the checked files may include a `json`."""

MYPY_SUMMARY = re.compile(r"checked \d+ source file|no issues found in \d+ source file")
PYLINT_USAGE_ERROR = 32

Row = dict[str, float]


def main() -> None:
    options = read_options()
    runs: dict[str, list[Row]] = defaultdict(list)
    with tempfile.TemporaryDirectory() as temporary:
        work = Path(temporary)
        tree = copy_files(options.folders or default_folders(), work / "tree")
        pylint = install_pylint(work / "pylint")
        for number in range(options.rounds):
            os.environ["XDG_CACHE_HOME"] = str(work / f"cache-{number}")
            row, num_functions = run_rarename(tree, options.model)
            runs["rarename"].append(row)
            runs["rarename, cached"].append(run_rarename(tree, options.model)[0])
            runs["rarename, one job"].append(run_rarename(tree, options.model, "--jobs", "1", "--no-cache")[0])
            runs["pylint"].append(run_pylint(pylint, tree))
            runs["mypy"].append(run_mypy(tree, work / f"mypy-{number}"))
            runs["mypy, warm"].append(run_mypy(tree, work / f"mypy-{number}"))
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
            runs["rarename, warm"] = pool.submit(check_warm, tree, options.model, options.rounds).result()
        version = subprocess.run([pylint, "--version"], capture_output=True, text=True, check=True).stdout
        files = list(tree.rglob("*.py"))
        num_lines = sum(len(path.read_bytes().splitlines()) for path in files)
    report = summarize(runs, {"files": len(files), "lines": num_lines, "functions": num_functions}) | {
        "python": platform.python_version(),
        "pylint": version.split()[1],
        "mypy": metadata.version("mypy"),
    }
    print(json.dumps(report, indent=1) if options.output_format == "json" else as_table(report))


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folders", type=Path, nargs="+", help="folders to check instead")
    parser.add_argument("--model", type=Path, metavar="RUN", help="default: the packaged model")
    parser.add_argument("--rounds", type=int, default=3, help="runs of each program; medians are reported")
    parser.add_argument("--output-format", choices=("text", "json"), default="text")
    options = parser.parse_args()
    if options.rounds < 1:
        parser.error("--rounds must be at least 1")
    return options


def default_folders() -> list[Path]:
    found = importlib.util.find_spec(INSTALLED_PACKAGE)
    assert found and found.origin
    return [Path(sysconfig.get_paths()["stdlib"]) / name for name in STDLIB_PACKAGES] + [Path(found.origin).parent]


def copy_files(folders: list[Path], target: Path) -> Path:
    """Copy the Python files, so that no program finds settings, caches or other packages next to them."""
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


def run_rarename(tree: Path, model: Path | None, *more: str) -> tuple[Row, int]:
    """The measurement, and the number of functions; nested ones count separately."""
    command = [*PYTHON, "-m", "rarename", "check", ".", "--language", "python", "--output-format", "json", *more]
    code, output, errors, row = run_timed([*command, "--model", str(model.resolve())] if model else command, tree)
    if code not in (0, 1):
        sys.exit(f"rarename check failed: {errors.strip()}")
    return row, json.loads(output)["summary"]["functions"]


def run_pylint(pylint: Path, tree: Path) -> Row:
    roots = sorted(path.name for path in tree.iterdir())
    command = [str(pylint), "--rcfile", os.devnull, "--recursive=y", "--score=n", *roots]
    code, _, errors, row = run_timed(command, tree)
    if code & PYLINT_USAGE_ERROR:
        sys.exit(f"pylint failed: {errors.strip()}")
    return row


def run_mypy(tree: Path, cache: Path) -> Row:
    command = [*PYTHON, "-m", "mypy", "--config-file", os.devnull, "--cache-dir", str(cache)]
    _, output, errors, row = run_timed([*command, "--check-untyped-defs", "--ignore-missing-imports", "."], tree)
    if not MYPY_SUMMARY.search(output):
        sys.exit(f"mypy failed: {(output + errors).strip()[-2000:]}")
    return row


def run_timed(command: list[str], folder: Path) -> tuple[int, str, str, Row]:
    """Run a program in a folder; its exit code, stdout, stderr and measurement."""
    with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryFile("w+") as errors:
        started = time.perf_counter()
        process = subprocess.Popen(command, cwd=folder, stdout=output, stderr=errors)
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - started
        process.returncode = os.waitstatus_to_exitcode(status)  # otherwise Popen waits for it again
        for file in (output, errors):
            file.seek(0)
        texts = output.read(), errors.read()
    # A process starts with the peak memory of its parent: this one is small, as it imports neither torch nor rarename.
    row = {"seconds": seconds, "cpu_seconds": usage.ru_utime + usage.ru_stime, "megabytes": usage.ru_maxrss / 1024}
    return process.returncode, *texts, row


def check_warm(tree: Path, model: Path | None, rounds: int) -> list[Row]:
    """Check the tree several times in one process; the first time does not count."""
    from rarename.assist import Checker
    from rarename.discovery import Files
    from rarename.syntax import language_named

    checker = Checker.load(*([model] if model else []))
    rows = []
    for _ in range(1 + rounds):
        with Timer() as timer:
            checker.check_files(Files([str(tree)], checker.languages, language_named("python")))
        rows.append({"seconds": timer.seconds, "cpu_seconds": timer.cpu_seconds, "megabytes": megabytes()})
    return rows[1:]


def summarize(runs: dict[str, list[Row]], size: dict[str, int]) -> dict[str, Any]:
    """Medians over the rounds, rates, and the ratios of rarename to the others."""
    rows: dict[str, Row] = {}
    for name in runs:
        row = {key: statistics.median(each[key] for each in runs[name]) for key in runs[name][0]}
        rows[name] = row | {f"{key}_per_second": number / row["seconds"] for key, number in size.items()}
    ratios = [
        {"of": name, "to": other}
        | {f"speed_by_{key}": rows[other][key] / rows[name][key] for key in ("seconds", "cpu_seconds")}
        | {"memory": rows[name]["megabytes"] / rows[other]["megabytes"]}
        for name, others in (
            ("rarename", ("pylint", "mypy")),
            ("rarename, one job", ("pylint", "mypy")),
            ("rarename, cached", ("rarename", "pylint", "mypy, warm")),
            ("rarename, warm", ("pylint", "mypy, warm")),
        )
        for other in others
    ]
    return {"tree": size, "rounds": len(runs["rarename"]), "programs": rows, "ratios": ratios}


def as_table(report: dict[str, Any]) -> str:
    size = report["tree"]
    lines = [
        f"{size['files']:,} files, {size['lines']:,} lines, {size['functions']:,} functions; "
        f"{report['rounds']} rounds; pylint {report['pylint']}, mypy {report['mypy']}, Python {report['python']}",
        f"{'':<18}{'seconds':>9}{'CPU s':>9}{'files/s':>9}{'lines/s':>10}{'functions/s':>13}{'peak MB':>9}",
    ]
    for name, row in report["programs"].items():
        lines.append(
            f"{name:<18}{row['seconds']:>9.2f}{row['cpu_seconds']:>9.2f}{row['files_per_second']:>9.1f}"
            f"{row['lines_per_second']:>10,.0f}{row['functions_per_second']:>13,.1f}{row['megabytes']:>9.0f}"
        )
    for ratio in report["ratios"]:
        lines.append(
            f"{ratio['of']} is {ratio['speed_by_seconds']:.2f} times as fast as {ratio['to']} "
            f"({ratio['speed_by_cpu_seconds']:.2f} by CPU time), with {ratio['memory']:.2f} times its memory"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    main()
