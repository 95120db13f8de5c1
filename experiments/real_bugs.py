"""Evaluate a misuse model on real bugs: functions from the histories of projects, before and after a fix.

    python experiments/real_bugs.py BUGS.jsonl.gz --language python [--model RUN] [--tier A] [--exclude CORPUS]

Each line of the file is an object with `before_function` and `after_function` (source texts), `wrong` and `right`
(names), `tier`, `repo`, and the position of the wrong name in `before_function`: `line` and `column` (from 1, in UTF-8
bytes), or `offset` (in UTF-16 units).
"""

import argparse
import gzip
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rarename.assist import Checker, Diagnostic
from rarename.corpus.store import Corpus
from rarename.errors import ParseError
from rarename.syntax import language_named


@dataclass
class BugMetrics:
    """Counts of functions. The first three take the most suspicious variable of each, whatever its confidence."""

    threshold: float
    num_functions: int = 0
    located: int = 0
    repaired: int = 0
    joint: int = 0
    reported: int = 0
    """With a confidence at or above the threshold."""
    reported_joint: int = 0
    reported_after_fix: int = 0
    """False alarms: a variable is reported although the bug is fixed."""
    unparsable: int = 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bugs", type=Path)
    parser.add_argument("--language", required=True, choices=("python", "javascript"))
    parser.add_argument("--model", type=Path, metavar="RUN", help="default: the packaged model")
    parser.add_argument("--tier", default="A")
    parser.add_argument("--exclude", metavar="CORPUS", help="leave out bugs of projects that are in this corpus")
    arguments = parser.parse_args()
    excluded = project_names(Corpus(arguments.exclude)) if arguments.exclude else frozenset()
    metrics = evaluate(arguments.bugs, arguments.language, arguments.tier, arguments.model, excluded)
    print(json.dumps(asdict(metrics), indent=1))


def project_names(corpus: Corpus) -> frozenset[str]:
    """The names of the packages in a corpus, without their npm scopes."""
    return frozenset(source["name"].lower().split("/")[-1] for source in corpus.manifest["sources"])


def evaluate(
    path: Path, language: str, tier: str, model: Path | None = None, excluded: frozenset[str] = frozenset()
) -> BugMetrics:
    """Check every function before and after its fix."""
    checker = Checker.load(*([model] if model else []), threshold=0)
    metrics = BugMetrics(checker.model(language_named(language)).threshold)
    with gzip.open(path, "rt", encoding="utf-8") as file:
        rows = [row for row in map(json.loads, file) if row["tier"] == tier]
    for row in rows:
        if excluded & set(row["repo"].lower().split("/")):  # the package `playcanvas` comes from `playcanvas/engine`
            continue
        metrics.num_functions += 1
        try:
            before, offset = most_suspicious(checker, row["before_function"], language)
            after, _ = most_suspicious(checker, row["after_function"], language)
        except ParseError:
            metrics.unparsable += 1
            continue
        if after is not None:
            metrics.reported_after_fix += after.confidence >= metrics.threshold
        if before is not None:
            is_located = (before.line, before.column - offset) == bug_position(row)
            is_repaired = before.suggestion == row["right"]
            is_reported = before.confidence >= metrics.threshold
            metrics.located += is_located
            metrics.repaired += is_repaired
            metrics.joint += is_located and is_repaired
            metrics.reported += is_reported
            metrics.reported_joint += is_reported and is_located and is_repaired
    return metrics


def most_suspicious(checker: Checker, text: str, language: str) -> tuple[Diagnostic | None, int]:
    """The diagnostic with the highest confidence, and the number of columns by which the first line was moved."""
    offset = 0
    try:
        diagnostics = checker.check(text, language)
    except ParseError:  # a method is a program only inside an object
        diagnostics = checker.check("({" + text + "})", language)
        offset = len("({")
    # Each function nested in this one has a diagnostic of its own.
    best = max(diagnostics, key=lambda each: each.confidence, default=None)
    return best, offset if best is not None and best.line == 1 else 0


def bug_position(row: dict[str, Any]) -> tuple[int, int]:
    """Line and column of the wrong name, from 1, in characters."""
    text: str = row["before_function"]
    if "line" in row:
        line = text.split("\n")[row["line"] - 1].encode()
        return row["line"], len(line[: row["column"] - 1].decode()) + 1
    before = text.encode("utf-16-le")[: 2 * row["offset"]].decode("utf-16-le")
    return before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1


if __name__ == "__main__":
    main()
