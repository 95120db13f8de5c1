"""How good completion is at real cursors: names of real files are cut away, with all that follows, and asked for.

    python experiments/cursors.py FOLDER --language python [--model RUN] [--places 1000] [--typed 0 1 2]
                                  [--roles reads attributes] [--keep]

Every place is one at which a variable is read or an attribute is named; `--roles` chooses others: `chained` are
attributes of what a call returns, `keywords` names of arguments at calls, `constants` `true`, `None` and the like.
The text behind it is cut off, so it is unfinished, as it is in an editor; with `--keep` only the name is. `--typed N`
leaves the first N letters of the name standing. `elements` are variables in the element of a comprehension, `formats`
those in an f-string or a template. `mrr_latest` is what an editor has without a model: of the names that the text has
in the same way (variables in scope, attributes), the one that stood last comes first.
"""

import argparse
import json
import random
import statistics
import sys
import time
from pathlib import Path
from typing import Any

import torch

from rarename.assist import Completer
from rarename.errors import RarenameError
from rarename.syntax import Language, Role, Traversal, language_named
from rarename.syntax.cursor import Cursor, at_cursor
from rarename.syntax.lines import is_name

ROLES = {
    "reads": Role.READ,
    "attributes": Role.ATTRIBUTE,
    "elements": Role.READ,
    "formats": Role.READ,
    "chained": Role.ATTRIBUTE,
    "keywords": Role.KEYWORD,
    "constants": Role.CONSTANT,
}
AROUND = {
    "elements": {"ListComp", "SetComp", "DictComp", "GeneratorExp"},
    "formats": {"FormattedValue", "TemplateLiteral"},
}
TOP = 10


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--language", required=True, choices=("python", "javascript"))
    parser.add_argument("--model", type=Path)
    parser.add_argument("--places", type=int, default=1_000)
    parser.add_argument("--typed", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--roles", nargs="+", choices=ROLES, default=["reads", "attributes"])
    parser.add_argument("--keep", action="store_true", help="keep what follows the name")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    completer = Completer.load(arguments.language, arguments.model)
    language = language_named(arguments.language)
    places = draw(arguments.folder, language, arguments.places, arguments.seed, arguments.roles, arguments.keep)
    rows = [ask(completer, place, typed) for typed in arguments.typed for place in places]
    print(json.dumps(summary(rows), indent=1))


def is_of(kind: str, tree: Traversal, node: int, role: Role, language: Language) -> bool:
    """Whether a node has a role, and if it is to be chained, stands behind a call."""
    if role != ROLES[kind]:
        return False
    if kind == "chained":
        return tree.types[tree.parents[node] + 1] in language.call_types
    if kind in AROUND:
        child = node
        while (parent := tree.parents[child]) >= 0 and tree.types[child] != "comprehension":
            if tree.types[parent] in AROUND[kind]:
                return tree.types[child] != "comprehension"
            child = parent
        return False
    return True


def draw(
    folder: Path, language: Language, number: int, seed: int, kinds: list[str], is_kept: bool
) -> list[dict[str, Any]]:
    """Places in the files of a folder, each file as often as any other."""
    generator = random.Random(seed)
    paths = sorted(path for ending in language.suffixes for path in folder.rglob(f"*{ending}"))
    if not paths:
        sys.exit(f"{folder} has no files of {language.name}")
    found: list[dict[str, Any]] = []
    while len(found) < number:
        path = generator.choice(paths)
        try:
            text = language.decode(path.read_bytes())
            tree = language.parse(text, False)
        except (RarenameError, OSError):
            continue
        roles = language.roles(tree)
        nodes = [
            (node, kind)
            for node, role in enumerate(roles)
            for kind in kinds
            if is_of(kind, tree, node, role, language) and is_name(tree.values[node])
            if tree.spans is not None and tree.spans[node][0]
        ]
        if not nodes:
            continue
        node, kind = generator.choice(nodes)
        line, column = (int(number) for number in tree.spans[node][:2])  # type: ignore[index]
        lines = text.split("\n")
        before = lines[line - 1].encode()[:column].decode()
        name = str(tree.values[node])
        if lines[line - 1][len(before) :].startswith(name):  # not inside a string, not spelt otherwise
            start = "\n".join([*lines[: line - 1], before])
            rest = "\n".join([lines[line - 1][len(before) + len(name) :], *lines[line:]]) if is_kept else ""
            found.append({"text": start, "rest": rest, "line": line, "before": before, "name": name, "role": kind})
    return found


def ask(completer: Completer, place: dict[str, Any], typed: int) -> dict[str, Any]:
    """The rank of the name that stood there; 0 if it is not among the first."""
    word = place["name"][:typed]
    row = {"typed": typed, "role": place["role"], "rank": 0, "latest": 0, "is_answered": False, "seconds": 0.0}
    began = time.perf_counter()
    try:
        cursor = at_cursor(
            place["text"] + word + place["rest"],
            completer.language,
            place["line"],
            len(place["before"]) + len(word) + 1,
        )
        found = [each.name for each in completer.at(cursor, TOP)]
    except RarenameError:
        return row
    seconds = time.perf_counter() - began
    ranks = {"rank": rank(place["name"], found), "latest": rank(place["name"], latest(cursor))}
    return row | ranks | {"is_answered": True, "seconds": seconds}


def rank(name: str, names: list[str]) -> int:
    """From 1; 0 if it is not among the first."""
    return names.index(name) + 1 if name in names[:TOP] else 0


def latest(cursor: Cursor) -> list[str]:
    """The names before the cursor that could stand there, the last one first."""
    values = reversed(list(zip(cursor.traversal.values, cursor.roles, strict=True)))
    names = dict.fromkeys(
        name for name, role in values
        if name and (name in cursor.in_scope if cursor.role is Role.READ else role is cursor.role)
    )  # fmt: skip
    return [name for name in (*names, *sorted(cursor.in_scope - names.keys())) if name.startswith(cursor.word)]


def summary(rows: list[dict[str, Any]]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for typed in sorted({row["typed"] for row in rows}):
        for role in (*ROLES, "both"):
            chosen = [row for row in rows if row["typed"] == typed and role in (row["role"], "both")]
            ranks = [row["rank"] for row in chosen]
            if not chosen:
                continue
            result[f"{role}, {typed} letters typed"] = {
                "number": len(chosen),
                "answered": sum(row["is_answered"] for row in chosen) / len(chosen),
                "mrr": sum(1 / rank for rank in ranks if rank) / len(chosen),
                "mrr_latest": sum(1 / row["latest"] for row in chosen if row["latest"]) / len(chosen),
                "first": sum(rank == 1 for rank in ranks) / len(chosen),
                "among_five": sum(0 < rank <= 5 for rank in ranks) / len(chosen),
                "median_milliseconds": 1000 * statistics.median(row["seconds"] for row in chosen),
            }
    return result


if __name__ == "__main__":
    main()
