"""How many real misuses does a model find? FunctionDataset from the histories of projects, before and after a repair.

    python experiments/real_bugs.py BUGS.jsonl.gz --language python [--model RUN] [--tier A]

A line of the file is an object with `before_function` and `after_function` (source texts), `wrong` and `right` (names),
`tier`, and where the wrong name stands in `before_function`: `line` and `column` (from 1, in UTF-8 bytes), or
`offset` (in UTF-16 units).
"""

import argparse
import gzip
import json
from pathlib import Path
from typing import Any

from rarename.assist import Checker, Diagnostic
from rarename.corpus import Corpus
from rarename.errors import ParseError


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bugs", type=Path)
    parser.add_argument("--language", required=True, choices=("python", "javascript"))
    parser.add_argument("--model", nargs="*", default=[])
    parser.add_argument("--tier", default="A")
    parser.add_argument("--without", metavar="CORPUS", help="leave out projects that are in this corpus")
    arguments = parser.parse_args()
    without = projects(Corpus(arguments.without)) if arguments.without else frozenset()
    found = measure(arguments.bugs, arguments.language, arguments.tier, *arguments.model, without=without)
    print(json.dumps(found, indent=1))


def projects(corpus: Corpus) -> frozenset[str]:
    """The names of what a corpus was made from, without their scopes."""
    return frozenset(source["name"].lower().split("/")[-1] for source in corpus.manifest["sources"])


def measure(
    path: Path, language: str, tier: str, *models: str | Path, without: frozenset[str] = frozenset()
) -> dict[str, Any]:
    """Counts at the confidence from which on `rarename check` shows findings, and at none."""
    checker, sure = Checker.load(*models, min_confidence=0), Checker.load(*models)
    least = sure.min_confidence(sure.languages[0] if models else _language(sure, language))
    counts = dict.fromkeys(
        ("functions", "located", "repaired", "joint", "shown", "shown_joint", "shown_when_repaired", "unreadable"), 0
    )
    with gzip.open(path, "rt", encoding="utf-8") as file:
        rows = [row for row in map(json.loads, file) if row["tier"] == tier]
    # The owner counts as well: the package `playcanvas` comes from `playcanvas/engine`.
    rows = [row for row in rows if not without & set(row["repo"].lower().split("/"))]
    for row in rows:
        counts["functions"] += 1
        try:
            found, shift = check(checker, row["before_function"], language)
            after, _ = check(checker, row["after_function"], language)
        except ParseError:
            counts["unreadable"] += 1
            continue
        is_located = found is not None and (found.line, found.column - shift) == place(row)
        is_repaired = found is not None and found.suggestion == row["right"]
        is_shown = found is not None and found.confidence >= least
        counts["located"] += is_located
        counts["repaired"] += is_repaired
        counts["joint"] += is_located and is_repaired
        counts["shown"] += is_shown
        counts["shown_joint"] += is_shown and is_located and is_repaired
        counts["shown_when_repaired"] += after is not None and after.confidence >= least
    return {"tier": tier, "min_confidence": least, **counts}


def _language(checker: Checker, name: str) -> Any:
    return next(language for language in checker.languages if language.name == name)


def check(checker: Checker, text: str, language: str) -> tuple[Diagnostic | None, int]:
    """The best_per_example finding in a function, and by how many characters its first line was shifted to make it a program."""
    try:
        return _surest(checker.check(text, language)), 0
    except ParseError:
        # A method stands in a class or an object; by itself it is no program.
        found = _surest(checker.check("({" + text + "})", language))
        return found, 2 if found is not None and found.line == 1 else 0


def _surest(findings: list[Diagnostic]) -> Diagnostic | None:
    """A function may have others inside, each with a finding of its own."""
    return max(findings, key=lambda finding: finding.confidence, default=None)


def place(row: dict[str, Any]) -> tuple[int, int]:
    """Line and column of the wrong name, from 1, in characters."""
    text: str = row["before_function"]
    if "line" in row:
        line = text.split("\n")[row["line"] - 1].encode()
        return row["line"], len(line[: row["column"] - 1].decode()) + 1
    before = text.encode("utf-16-le")[: 2 * row["offset"]].decode("utf-16-le")
    return before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1


if __name__ == "__main__":
    main()
