"""Kill commands at random moments, resume them, and compare the result with that of an undisturbed run.

    python benchmarks/kills.py --kills 100
    python benchmarks/kills.py --commands prepare check --kills 20 --seed 1

Each kill is `kill -9` of the main process, of one worker, or of all processes. After every second kill on average the
command is left to finish. Then every file must have the content that it has after an undisturbed run (times in metrics
aside), no other file may be there, no process may have outlived its parent, and no lock its owner.
"""

import argparse
import hashlib
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

RAREN = [sys.executable, "-m", "rarename"]
ORPHAN_SECONDS = 30  # for workers to notice that their parent is gone
_TIMES = re.compile(rb'"(?:\w*second\w*|data_wait)\\?": [0-9.e+-]+')
SETTINGS = {"num_epochs": 0.2, "eval_every_examples": 100, "eval_examples": 50, "save_every_seconds": 0.2}
EXPERIMENT = """title = "Kills"
reproduces = "nothing"
task = "misuse"
preset = "tiny"
corpus = "../corpus"
[settings]
SETTINGS
[[grid]]
strategy = ["ordered", "standard"]
vocabulary_size = 20
"""


@dataclass(frozen=True)
class Command:
    """What is killed, and how it goes on."""

    arguments: list[str]
    resume: list[str]  # further arguments once it has begun
    prepare: Callable[[Path], object] = lambda folder: None  # what is in the folder before
    needs_corpus: bool = False
    codes: tuple[int, ...] = (0,)


def _experiment() -> str:
    return EXPERIMENT.replace("SETTINGS", "\n".join(f"training.{key} = {value}" for key, value in SETTINGS.items()))


def _copy_code(folder: Path) -> None:
    """Files with one finding each, none of which is left once it is fixed."""
    for number in range(200):
        text = "def load(myfnm):\n    with open(myfnm) as myfp:\n        data = myfnm.read()\n    return data\n"
        (folder / f"file_{number}.py").write_text(f"# {number}\n{text}")


def _make_history(folder: Path, num_commits: int = 400) -> None:
    """A repository in which every second commit corrects a misused variable."""
    stream = []
    for number in range(num_commits):
        name, file = "myfp" if number % 2 else "myfnm", number // 2
        text = (
            f"def load_{file}(myfnm):\n    with open(myfnm) as myfp:\n        data = {name}.read()\n    return data\n"
        )
        stream.append(
            f"commit refs/heads/main\ncommitter a <a@b> {1_600_000_000 + number} +0000\ndata 3\nfix\n"
            f"M 644 inline file_{file}.py\ndata {len(text)}\n{text}\n"
        )
    subprocess.run(["git", "init", "-q", "--bare", str(folder)], check=True)
    subprocess.run(["git", "-C", str(folder), "fast-import", "--quiet"], input="".join(stream).encode(), check=True)


COMMANDS = {
    "mine": Command(
        ["mine", "../history", "--language", "python", "--out", "fixes.jsonl", "--jobs", "2"],
        [],
        codes=(0, 2),  # 2: the file is there already, because the kill came after it was written
    ),
    "prepare": Command(["prepare", "corpus", "../sources", "--language", "python", "--jobs", "2"], []),
    "train": Command(
        ["train", "misuse", "run", "--corpus", "../corpus", "--preset", "tiny"]
        + ["--vocabulary-size=20"]
        + [f"--set=training.{key}={value}" for key, value in SETTINGS.items()],
        ["--resume"],
        needs_corpus=True,
    ),
    "sweep": Command(
        ["sweep", "kills.toml", "--jobs", "2"],
        [],
        lambda folder: (folder / "kills.toml").write_text(_experiment()),
        needs_corpus=True,
    ),
    "check": Command(
        ["check", ".", "--fix", "--unsafe-fixes", "--isolated", "--output-file", os.devnull],
        [],
        _copy_code,
        codes=(0, 1),
    ),
}


def processes(session: int) -> list[int]:
    """The living processes of a session, the oldest first."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if int(fields[3]) == session and fields[0] not in "ZX":
                found.append(int(entry.name))
    return sorted(found)


def content(folder: Path) -> dict[str, str]:
    """The digest of every file without times, by its path."""
    return {str(path.relative_to(folder)): digest(path) for path in sorted(folder.rglob("*")) if path.is_file()}


def digest(path: Path) -> str:
    content = path.read_bytes()
    if path.suffix == ".safetensors":  # the order of its metadata is arbitrary
        size = 8 + int.from_bytes(content[:8], "little")
        header = json.loads(content[8:size])
        metadata = header.get("__metadata__", {})
        header["__metadata__"] = {key: value for key, value in metadata.items() if "seconds" not in key}
        content = json.dumps(header, sort_keys=True).encode() + content[size:]
    return hashlib.sha256(_TIMES.sub(b"", content)).hexdigest()


def start(command: Command, folder: Path, has_begun: bool) -> subprocess.Popen[bytes]:
    arguments = [*RAREN, *command.arguments, *(command.resume if has_begun else [])]
    return subprocess.Popen(
        arguments, cwd=folder, start_new_session=True, stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL, stderr=(folder.parent / "stderr.txt").open("wb"),
    )  # fmt: skip


def finish(command: Command, folder: Path, has_begun: bool) -> float:
    started = time.monotonic()
    code = start(command, folder, has_begun).wait()
    if code not in command.codes:
        raise SystemExit(f"exit code {code}: {(folder.parent / 'stderr.txt').read_text()[-2000:]}")
    return time.monotonic() - started


def kill(running: subprocess.Popen[bytes], rng: random.Random) -> str:
    """Kill some of its processes; which is the answer, empty if it has ended."""
    found = processes(running.pid)
    workers = [each for each in found if each != running.pid]
    target = rng.choice(["main", "worker", "group"])
    if not found:
        return ""
    if target == "worker" and workers:
        os.kill(rng.choice(workers), signal.SIGKILL)
    elif target == "group":
        os.killpg(running.pid, signal.SIGKILL)
    else:
        target = "main"
        os.kill(running.pid, signal.SIGKILL)
    return target


def check_nothing_outlives(session: int) -> None:
    end = time.monotonic() + ORPHAN_SECONDS
    while left := processes(session):
        if time.monotonic() > end:
            raise SystemExit(f"processes {left} outlive their parent")
        time.sleep(0.05)


def kill_often(name: str, num_kills: int, work: Path, rng: random.Random) -> Counter[str]:
    """Kill a command until it was killed as often as asked; returns the number of kills of each kind."""
    command, counts = COMMANDS[name], Counter[str]()
    folder = work / "expected"
    folder.mkdir()
    command.prepare(folder)
    seconds = finish(command, folder, has_begun=False)
    expected = content(folder)
    while counts.total() < num_kills:
        folder = work / "attempt"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        command.prepare(folder)
        before, has_begun = content(folder), False
        while counts.total() < num_kills and (not has_begun or rng.random() < 0.5):
            running = start(command, folder, has_begun)
            try:
                running.wait(rng.uniform(0.1, 1.0) * seconds)
            except subprocess.TimeoutExpired:
                if target := kill(running, rng):
                    counts[target] += 1
            running.wait()
            check_nothing_outlives(running.pid)
            has_begun = True
            if name == "check":  # each file is the old one or the new one, at any moment
                for path, met in content(folder).items():
                    if not path.endswith(".part") and met not in (before[path], expected[path]):
                        raise SystemExit(f"{path} is neither the old file nor the new one")
        finish(command, folder, has_begun)
        if (met := content(folder)) != expected:
            differing = sorted(set(met.items()) ^ set(expected.items()))
            raise SystemExit(f"{name}: after {counts.total()} kills these files differ: {differing} (in {folder})")
        print(f"{name}: {counts.total()} kills ({dict(counts)})", flush=True)
    shutil.rmtree(work / "expected")
    return counts


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=100, help="of each command (default: %(default)s)")
    parser.add_argument("--commands", nargs="+", choices=COMMANDS, default=list(COMMANDS))
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    rng, report = random.Random(arguments.seed), {}
    work = Path(tempfile.mkdtemp())  # stays if something differs
    for package in ("json", "logging", "email", "http", "urllib", "html", "wsgiref"):
        source = Path(sysconfig.get_paths()["stdlib"]) / package
        shutil.copytree(source, work / "sources" / package, ignore=shutil.ignore_patterns("__pycache__"))
    if any(COMMANDS[name].needs_corpus for name in arguments.commands):
        arguments_of_corpus = ["prepare", "corpus", "sources", "--language", "python", "--jobs", "1"]
        subprocess.run([*RAREN, *arguments_of_corpus], cwd=work, check=True, capture_output=True)
    if "mine" in arguments.commands:
        _make_history(work / "history")
    for name in arguments.commands:
        report[name] = dict(kill_often(name, arguments.kills, work, rng))
    shutil.rmtree(work)
    print(json.dumps(report))
    return 0


if __name__ == "__main__":
    sys.exit(main())
