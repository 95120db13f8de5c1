"""Evaluate completion at cursors in real files: cut off a name and all that follows, and rank the suggestions.

    python experiments/cursors.py FOLDER --language python [--model RUN] [--num-cursors 1000]
                                  [--prefix-lengths 0 1 2] [--kinds reads attributes] [--keep-rest]

The text after the cursor is cut off, so that it is unfinished as in an editor; `--keep-rest` removes only the name.
`--prefix-lengths` are numbers of typed characters. `mrr_recency` is a baseline without a model: of the possible names
in the text, the one that occurred last comes first.

Kinds: `reads` of variables; `attributes`; `chained` attributes of the result of a call; `keywords` of arguments;
`constants` such as `true` and `None`; `elements`: reads in the element of a comprehension; `formats`: reads in an
f-string or a template.
"""

import argparse
import json
import random
import statistics
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from rarename.assist import Completer
from rarename.errors import RarenameError
from rarename.syntax import Language, Role, Traversal, language_named
from rarename.syntax.cursor import Cursor, at_cursor
from rarename.syntax.lines import is_name

KINDS = {
    "reads": Role.READ,
    "attributes": Role.ATTRIBUTE,
    "elements": Role.READ,
    "formats": Role.READ,
    "chained": Role.ATTRIBUTE,
    "keywords": Role.KEYWORD,
    "constants": Role.CONSTANT,
}
ENCLOSING_TYPES = {
    "elements": {"ListComp", "SetComp", "DictComp", "GeneratorExp"},
    "formats": {"FormattedValue", "TemplateLiteral"},
}
TOP_K = 10


@dataclass(frozen=True)
class Sample:
    """A name in a file."""

    kind: str
    name: str
    before: str
    """The text before the name."""
    after: str
    """The text after the name, if it is kept."""


@dataclass(frozen=True)
class Outcome:
    """The rank of the name at a cursor, from 1; 0 beyond the first `TOP_K`."""

    kind: str
    prefix_length: int
    rank: int = 0
    recency_rank: int = 0
    seconds: float = 0.0
    is_completed: bool = False
    """False if there was an error: no cursor at which a name can be completed."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--language", required=True, choices=("python", "javascript"))
    parser.add_argument("--model", type=Path, metavar="RUN", help="default: the packaged model")
    parser.add_argument("--num-cursors", type=int, default=1_000)
    parser.add_argument("--prefix-lengths", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=["reads", "attributes"])
    parser.add_argument("--keep-rest", action="store_true", help="keep the text after the name")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    torch.set_num_threads(1)
    completer = Completer.load(options.language, options.model)
    samples = draw_samples(
        options.folder,
        language_named(options.language),
        options.num_cursors,
        random.Random(options.seed),
        options.kinds,
        options.keep_rest,
    )
    outcomes = [complete(completer, sample, length) for length in options.prefix_lengths for sample in samples]
    print(json.dumps(summary(outcomes), indent=1))


def draw_samples(
    folder: Path, language: Language, count: int, rng: random.Random, kinds: Sequence[str], keep_rest: bool
) -> list[Sample]:
    """Draw names from the files of a folder; each file is equally probable, whatever its length."""
    paths = sorted(path for suffix in language.suffixes for path in folder.rglob(f"*{suffix}"))
    if not paths:
        sys.exit(f"{folder} has no {language.name} files")
    samples: list[Sample] = []
    while len(samples) < count:
        path = rng.choice(paths)
        try:
            text = language.decode(path.read_bytes())
            tree = language.parse(text, False)
        except (RarenameError, OSError):
            continue
        nodes = [
            (node, kind)
            for node, role in enumerate(language.roles(tree))
            for kind in kinds
            if role == KINDS[kind] and is_of_kind(kind, tree, node, language)
            if is_name(tree.values[node]) and tree.span(node).line
        ]
        if not nodes:
            continue
        node, kind = rng.choice(nodes)
        span, name, lines = tree.span(node), str(tree.values[node]), text.split("\n")
        line = lines[span.line - 1]
        before = line.encode()[: span.column].decode()
        if line[len(before) :].startswith(name):  # not inside a string, not written with escapes
            after = "\n".join([line[len(before) + len(name) :], *lines[span.line :]]) if keep_rest else ""
            samples.append(Sample(kind, name, "\n".join([*lines[: span.line - 1], before]), after))
    return samples


def is_of_kind(kind: str, tree: Traversal, node: int, language: Language) -> bool:
    """Whether a node that has the role of a kind is also in the right context."""
    if kind == "chained":
        return tree.types[tree.parents[node] + 1] in language.call_types
    if kind in ENCLOSING_TYPES:
        # The loops of a comprehension are no part of its element.
        while (parent := tree.parents[node]) >= 0 and tree.types[node] != "comprehension":
            if tree.types[parent] in ENCLOSING_TYPES[kind]:
                return True
            node = parent
        return False
    return True


def complete(completer: Completer, sample: Sample, prefix_length: int) -> Outcome:
    """Complete the name after a prefix of it was typed."""
    typed = sample.before + sample.name[:prefix_length]
    last_line = typed.rpartition("\n")[2]
    started = time.perf_counter()
    try:
        cursor = at_cursor(typed + sample.after, completer.language, typed.count("\n") + 1, len(last_line) + 1)
        suggestions = completer.complete_at(cursor, TOP_K)
    except RarenameError:
        return Outcome(sample.kind, prefix_length)
    seconds = time.perf_counter() - started
    rank = rank_of(sample.name, [each.name for each in suggestions])
    return Outcome(sample.kind, prefix_length, rank, rank_of(sample.name, recent_names(cursor)), seconds, True)


def rank_of(name: str, names: Sequence[str]) -> int:
    return names.index(name) + 1 if name in names[:TOP_K] else 0


def recent_names(cursor: Cursor) -> list[str]:
    """The names before the cursor that are possible there, the most recent first."""
    is_read = cursor.role is Role.READ
    nodes = reversed(list(zip(cursor.traversal.values, cursor.roles, strict=True)))
    names = dict.fromkeys(
        name for name, role in nodes if name and (name in cursor.in_scope if is_read else role is cursor.role)
    )
    return [name for name in (*names, *sorted(cursor.in_scope - names.keys())) if name.startswith(cursor.word)]


def summary(outcomes: Sequence[Outcome]) -> dict[str, dict[str, float]]:
    """Metrics for each kind and each length of the prefix."""
    result = {}
    for length in sorted({each.prefix_length for each in outcomes}):
        for kind in (*KINDS, "all"):
            chosen = [each for each in outcomes if each.prefix_length == length and kind in (each.kind, "all")]
            if chosen:
                ranks = [each.rank for each in chosen]
                result[f"{kind}, {length} typed"] = {
                    "number": len(chosen),
                    "completed": sum(each.is_completed for each in chosen) / len(chosen),
                    "mrr": mean_reciprocal_rank(ranks),
                    "mrr_recency": mean_reciprocal_rank([each.recency_rank for each in chosen]),
                    "top_1": sum(rank == 1 for rank in ranks) / len(chosen),
                    "top_5": sum(0 < rank <= 5 for rank in ranks) / len(chosen),
                    "median_milliseconds": 1000 * statistics.median(each.seconds for each in chosen),
                }
    return result


def mean_reciprocal_rank(ranks: Sequence[int]) -> float:
    return sum(1 / rank for rank in ranks if rank) / len(ranks)


if __name__ == "__main__":
    main()
