"""`make demo`: the method on a file, findings, a completion; then the comparison of the paper on a small corpus."""

import json
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

EXAMPLE = "examples/manifests.py"
MISUSED = "examples/misused.py"
UNFINISHED = """def copy_lines(source_path, target_path, wanted_prefix):
    with open(source_path) as source_file, open(target_path, "w") as target_file:
        for source_line in source_file:
            if source_line.startswith(wanted_prefix):
                target_file.write("""
STRATEGIES = ("ordered", "standard")
VOCABULARY_SIZE = 50
NUM_EPOCHS = 2  # half of what the preset says, so that everything takes less than five minutes


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    names = folder / "names.txt"
    names.write_text("np\nsin\n")
    figure = folder / "figure1.py"
    figure.write_text("my_y = np.sin(my_x) + my_x\n")
    corpus = folder / "stdlib"

    say("Figure 1 of the paper. The vocabulary is np, sin; every other name is rare:")
    show("cat", figure)
    rarename("anonymize", figure, "--vocabulary", names, "--strategy", "standard")
    rarename("anonymize", figure, "--vocabulary", names, "--strategy", "ordered")

    say("A real function, with the 300 most frequent names of Python:")
    rarename("anonymize", EXAMPLE, "--vocabulary-size", "300")

    say("The packaged model on a file with four bugs. By default it reports only bugs with high confidence:")
    rarename("check", MISUSED, may_find=True)

    say("The most probable bug of every function, at any confidence (the last function has no bug):")
    rarename("check", MISUSED, "--min-confidence", 0, may_find=True)

    say("Completion at the end of an incomplete file. Rare names are suggested too:")
    unfinished = folder / "unfinished.py"
    unfinished.write_text(UNFINISHED)
    show("cat", unfinished)
    print()
    lines = UNFINISHED.split("\n")
    rarename("complete", unfinished, "--line", len(lines), "--column", len(lines[-1]) + 1, "--top-k", 5)

    say("A corpus of the standard library of this interpreter. After an interruption, the same command resumes:")
    rarename("prepare", corpus, "stdlib", "--language", "python")

    say("The contents of the corpus, and the identifiers that a vocabulary covers. The others are rare:")
    rarename("inspect", corpus, "--top-k", "5")

    say(
        "Variable misuse: the comparison of the paper with two tiny models. Both learn to find wrong variables and to\n"
        f"repair them. All but {VOCABULARY_SIZE} names are rare: placeholders for one model, UNK for the other.\n"
        "This is the longest part: two to three minutes on two free cores. Progress shows the time that is left:"
    )
    compare(corpus, folder / "runs")


def compare(corpus: Path, runs: Path) -> None:
    """Train with each strategy, evaluate on the test split, print a table and a bar chart."""
    shutil.rmtree(runs, ignore_errors=True)
    commands = [
        ["train", "misuse", runs / strategy, "--corpus", corpus, "--preset", "tiny", "--strategy", strategy,
         "--vocabulary-size", VOCABULARY_SIZE, "--set", f"training.num_epochs={NUM_EPOCHS}", "--num-threads", 1]
        for strategy in STRATEGIES
    ]  # fmt: skip
    # Two runs with one thread each are faster on two cores than one run with two threads.
    running = []
    for strategy, command in zip(STRATEGIES, commands, strict=True):
        print(f"$ {shlex.join(['rarename', *map(str, command)])}", flush=True)
        # Two progress bars would overwrite each other, so only the first one is shown.
        log = (runs.parent / f"{strategy}.log").open("w") if running else None
        running.append(subprocess.Popen([sys.executable, "-m", "rarename", *map(str, command)], stderr=log))
    codes = [process.wait() for process in running]
    if any(codes):
        sys.exit(f"training failed; see {runs.parent}/{STRATEGIES[-1]}.log")
    scores = {}
    for strategy in STRATEGIES:
        found = rarename("evaluate", runs / strategy, "--output-format", "json", "--num-threads", 2, is_captured=True)
        scores[strategy] = json.loads(found)
    print(table(scores))
    print(drawing(scores))


def table(scores: dict[str, dict[str, Any]]) -> str:
    """The metrics of each strategy, in percent."""
    lines = [f"{'':<12}{'joint':>10}{'location':>10}{'repair':>10}{'no bug':>10}{'joint, 10 % flagged':>22}"]
    for strategy, of in scores.items():
        keys = ("joint_accuracy", "location_accuracy", "repair_accuracy", "no_bug_accuracy")
        at_ten = of["at_false_alarms"]["0.1"]["joint_accuracy"]
        lines.append(f"{strategy:<12}" + "".join(f"{100 * of[key]:>10.1f}" for key in keys) + f"{100 * at_ten:>22.1f}")
    return "\n".join(["", *lines])


def drawing(scores: dict[str, dict[str, Any]]) -> str:
    """Joint accuracy as a bar chart: of all misuses, and of those between two rare names."""
    rare = "both rare"
    groups = {
        "all misuses": {strategy: of["joint_accuracy"] for strategy, of in scores.items()},
        "both names rare": {strategy: of["by_rarity"][rare]["joint_accuracy"] for strategy, of in scores.items()},
    }
    most = max(value for group in groups.values() for value in group.values()) or 1.0
    lines = ["", "bugs found and repaired, in % (if both names are rare, UNK hides the bug):"]
    for name, group in groups.items():
        for strategy, value in group.items():
            bar = "█" * round(50 * value / most)
            lines.append(f"  {name:<16} {strategy:<9} {bar} {100 * value:.1f}")
    return "\n".join(lines)


def say(text: str) -> None:
    print(f"\n=== {text}\n", flush=True)


def rarename(*words: object, may_find: bool = False, is_captured: bool = False) -> str:
    return show(
        "rarename", *words, program=[sys.executable, "-m", "rarename"], may_find=may_find, is_captured=is_captured
    )


def show(
    name: str, *words: object, program: list[str] | None = None, may_find: bool = False, is_captured: bool = False
) -> str:
    """Print a command and run it."""
    arguments = [str(word) for word in words]
    print(f"$ {shlex.join([name, *arguments])}", flush=True)
    done = subprocess.run(
        [*(program or [name]), *arguments], stdout=subprocess.PIPE if is_captured else None, text=True, check=False
    )
    if done.returncode and not (may_find and done.returncode == 1):
        sys.exit(done.returncode)
    return done.stdout or ""


if __name__ == "__main__":
    os.environ["PYTHONUTF8"] = "1"
    main(Path(sys.argv[1]))
