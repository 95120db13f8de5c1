"""The tables of a study."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from rarename.report.charts import alarm_shares, rare_shares
from rarename.report.document import (
    Cell,
    Table,
    number_cell,
    p_text,
    percent,
    points,
    quoted_cell,
    quoted_names,
    slug,
    spread_cell,
)
from rarename.report.paper import PaperStudy
from rarename.report.results import Result
from rarename.report.statistics import MAX_EXACT, Comparison, holm
from rarename.report.studies import Score, Series, Study

KINDS = ("names", "reads", "attributes", "parameters", "writes", "strings", "numbers", "others")
"""Of the nodes that values are predicted for, in the order of the report; others follow by name."""

PAIRS = (
    ("ordered", "standard"),
    ("randomized", "standard"),
    ("by_frequency", "standard"),
    ("standard + pointer", "standard"),
    ("ordered", "randomized"),
    ("by_frequency", "ordered"),
    ("ordered", "standard + pointer"),
    ("randomized", "standard + pointer"),
    ("ordered + pointer", "ordered"),
    ("ordered + pointer", "standard + pointer"),
)
"""What is compared at the same vocabulary size: the questions of the paper, not all pairs that there are."""


def by_size(
    study: Study, name: str, title: str, keys: Sequence[str], count_keys: Sequence[str], paper: PaperStudy | None = None
) -> Table | None:
    """A score as the paper's tables have it: a row for each vocabulary size, a column for each series."""
    shown = [series for series in study.series if study.curve(series, *keys)]
    if not shown:
        return None
    quoted = [label for label in paper.scores if study.find(label) in shown] if paper else []
    rows = []
    for size in study.sizes:
        values = [study.value(series, size, *keys) for series in shown]
        best = max((value.mean for value in values if value is not None), default=None)
        cells = [spread_cell(value, _is_uneven(study)) for value in values]
        if len([value for value in values if value is not None]) > 1:
            cells = [
                Cell(cell.text, cell.value, is_best=value is not None and value.mean == best)
                for cell, value in zip(cells, values, strict=True)
            ]
        of_paper = [quoted_cell(paper.scores[label].get(size)) for label in quoted] if paper else []
        rows.append([number_cell(size), *cells, *of_paper])
    columns = ["Vocabulary", *(series.label for series in shown), *(f"paper: {label}" for label in quoted)]
    note = f"In percent; {seeds_note(study)}; {count_note(study, count_keys)}."
    if 0 in study.sizes:
        note += " At 0 no name is kept: full anonymization."
    if shares := rare_note(study):
        note += f" {shares}"
    if quoted and paper:
        note += f" The paper's numbers have a standard deviation of about {paper.deviation}; its size 1 is our 0."
    return Table(_slug(study, name), f"{title}: {study.title}", columns, rows, note)


def of_cells(study: Study, name: str, title: str, columns: dict[str, Sequence[str]], note: str = "") -> Table | None:
    """Several scores, a row for each vocabulary size and series."""
    columns = {head: keys for head, keys in columns.items() if any(study.curve(each, *keys) for each in study.series)}
    if not columns:
        return None
    rows = [
        [
            number_cell(size),
            Cell(series.label, series.label),
            *(spread_cell(study.value(series, size, *keys), _is_uneven(study)) for keys in columns.values()),
        ]
        for series, size in study.keys
        if any(study.value(series, size, *keys) for keys in columns.values())
    ]
    text = f"In percent; {seeds_note(study)}." + (f" {note}" if note else "")
    heads = ["Vocabulary", "Strategy", *columns]
    return Table(_slug(study, name), f"{title}: {study.title}", heads, rows, text, num_labels=2)


def rare_note(study: Study) -> str:
    """How many of the misuses no model could find that reads all rare names as one."""
    shares = [f"{percent(share)} % at {size:,}" for size, share in sorted(rare_shares(study).items())]
    return f"Both names rare, which `standard` cannot see, of all misuses: {', '.join(shares)}." if shares else ""


def misuse_parts(study: Study) -> Table | None:
    counts = study.counts("num_clean")
    return of_cells(
        study,
        "parts",
        "Finding and repairing apart",
        {
            "joint": ("joint_accuracy",),
            "joint, both rare": ("by_rarity", "both rare", "joint_accuracy"),
            "location": ("location_accuracy",),
            "repair": ("repair_accuracy",),
            "no bug": ("no_bug_accuracy",),
        },
        "`both rare`: on just the misuses in which neither name is in the vocabulary."
        + (f" `no bug` is the share of {_range(counts)} clean functions in which none is seen." if counts else ""),
    )


def at_false_alarms(study: Study) -> Table | None:
    shares = {f"{100 * float(share):g} %": share for share in alarm_shares(study)}
    scores = {"": "joint_accuracy", "both rare, ": "joint_accuracy_both_rare"}
    note = "Each column: the no-bug logit is moved until that share of the clean functions is flagged."
    return of_cells(
        study,
        "false-alarms",
        "Joint accuracy at equal false alarms",
        {
            f"{of}at {name}": ("at_false_alarms", share, key)
            for of, key in scores.items()
            for name, share in shares.items()
        },
        f"{note} {rare_note(study)}".rstrip(),
    )


def by_rarity(study: Study) -> Table | None:
    """Joint accuracy by how many of the two names are rare, and how many misuses are of each kind."""
    groups = ("both frequent", "one rare", "both rare")
    table = of_cells(
        study, "rarity", "Joint accuracy by rarity", {group: ("by_rarity", group, "joint_accuracy") for group in groups}
    )
    if table is None:
        return None
    shares = rare_shares(study)
    rows = []
    measured = [
        (series, size)
        for series, size in study.keys
        if any(study.value(series, size, "by_rarity", group, "joint_accuracy") for group in groups)
    ]
    for (series, size), row in zip(measured, table.rows, strict=True):
        counts = [_first_count(study, series, size, "by_rarity", group, "num_buggy") for group in groups]
        spelt = " / ".join("–" if count is None else f"{count:,}" for count in counts)
        share = shares.get(size)
        rows.append([*row, Cell(spelt, counts), Cell("", None) if share is None else Cell(percent(share), share)])
    note = (
        "Rare: outside the vocabulary, of the wrong and the right name. With both, `standard` reads the same text with "
        "the misuse and without it."
    )
    return Table(
        table.name,
        table.title,
        [*table.columns, "misuses of each kind", "share both rare"],
        rows,
        f"{table.note} {note}",
        num_labels=2,
    )


def _first_count(study: Study, series: Series, size: int, *keys: str) -> int | None:
    counts = [result.score(*keys) for result in study.cells[series, size]]
    return next((int(count) for count in counts if count is not None), None)


def by_kind(study: Study, score: str, title: str) -> Table | None:
    """Completion of values by the kind of node."""
    found = {
        kind
        for result in study.results
        if isinstance(groups := result.scores.get("by_kind"), dict)
        for kind in groups
    }  # fmt: skip
    kinds = sorted(found, key=lambda kind: (KINDS.index(kind) if kind in KINDS else len(KINDS), kind))
    counts = {kind: study.counts("by_kind", kind, "num") for kind in kinds}
    note = ", ".join(f"{kind} {_range(numbers)}" for kind, numbers in counts.items() if numbers)
    return of_cells(
        study,
        f"kinds-{score}",
        title,
        {kind: ("by_kind", kind, score) for kind in kinds},
        f"Values behind them: {note}." if note else "",
    )


def values_by_rarity(study: Study) -> Table | None:
    """Completion of values by whether the vocabulary lacks them and whether the window has them before."""
    groups = ("rare, again", "frequent, again", "frequent, first")
    scores = {"MRR": "mrr", "accuracy": "accuracy"}
    return of_cells(
        study,
        "rarity",
        "Values by rarity",
        {f"{group}: {head}": ("by_rarity", group, key) for group in groups for head, key in scores.items()},
        "Rare: outside the vocabulary. Again: the window has the value before. A rare value at its first place in the "
        "window cannot be told by any of them.",
    )


def best_accuracy(study: Study, paper: PaperStudy | None) -> Table | None:
    """Accuracy of values, of the size of each series that has the best MRR, as the paper gives it."""
    rows = []
    for series in study.series:
        size = study.best_size(series)
        value = None if size is None else study.value(series, size, "accuracy_values")
        if size is not None and value is not None:
            quoted = quoted_cell(paper.best_accuracy.get(series.base)) if paper else Cell("")
            cell = spread_cell(value, _is_uneven(study))
            rows.append([Cell(series.label, series.label), number_cell(size), cell, quoted])
    if not rows:
        return None
    note = f"In percent; {seeds_note(study)}. The size is the one with the best MRR of values on the validation split."
    title = f"Accuracy of values, the best model of each strategy: {study.title}"
    return Table(_slug(study, "best-accuracy"), title, ["Strategy", "Vocabulary", "accuracy", "paper"], rows, note)


def placeholders(study: Study, paper: PaperStudy | None) -> Table | None:
    """Scores by the number of placeholders, where that was varied (the paper's |V_an|)."""
    numbers: dict[tuple[str, int], dict[int, Series]] = {}
    for (series, size), results in study.cells.items():
        numbers.setdefault((series.besides_placeholders.label, size), {})[results[0].placeholders] = series
    varied = sorted(key for key, found in numbers.items() if len(found) > 1)
    if not varied:
        return None
    counts = sorted({count for key in varied for count in numbers[key]})
    with_paper = bool(paper and paper.placeholders) and any(label == "randomized" for label, _ in varied)
    sizes = sorted({size for scores in paper.placeholders.values() for size in scores}) if paper and with_paper else []
    rows = []
    for count in sorted({*counts, *(paper.placeholders if paper and with_paper else ())}):
        cells = [
            spread_cell(study.value(numbers[label, size][count], size), _is_uneven(study))
            if count in numbers[label, size]
            else Cell("")
            for label, size in varied
        ]
        quoted = [quoted_cell(paper.placeholders.get(count, {}).get(size)) for size in sizes] if paper else []
        rows.append([Cell(f"{count:,}", count), *cells, *quoted])
    columns = ["Placeholders", *(f"{label}, {size:,}" for label, size in varied)]
    columns += [f"paper: randomized, {size:,}" for size in sizes]
    note = f"In percent; {seeds_note(study)}; columns: strategy and vocabulary size."
    title = f"{study.score.name} by number of placeholders: {study.title}"
    return Table(_slug(study, "placeholders"), title, columns, rows, note)


@dataclass(frozen=True)
class Compared:
    """Two cells of a study, side by side."""

    first: Series
    second: Series
    first_size: int
    second_size: int
    difference: float
    """Of the means over all examples; the test's own difference is over projects that both have."""
    test: Comparison | None


def compared(
    study: Study, first: tuple[Series, int], second: tuple[Series, int], score: Score | None = None
) -> Compared | None:
    key = (score or study.score).key
    ours, others = study.value(*first, key), study.value(*second, key)
    if ours is None or others is None:
        return None
    test = study.compare(first, second, score)
    difference = ours.mean - others.mean if test is None else test.difference
    return Compared(first[0], second[0], first[1], second[1], difference, test)


def pairs(study: Study) -> list[tuple[Series, Series]]:
    """What is compared: the pairs of `PAIRS` with all else equal, and each series with more of something else."""
    found = []
    for better, worse in PAIRS:
        for first in (series for series in study.series if series.base == better):
            found += [
                (first, second)
                for second in study.series
                if second.base == worse and second.extras == first.extras
            ]  # fmt: skip
    for series in study.series:
        least = next(other for other in study.series if other.base == series.base)
        if least != series:
            found.append((series, least))
    return found


def significance(study: Study) -> Table | None:
    """Differences between strategies of the same vocabulary size, tested over projects and over trainings."""
    found = [
        each
        for size in study.sizes
        for first, second in pairs(study)
        if (each := compared(study, (first, size), (second, size))) is not None
    ]
    if not found:
        return None
    tests = [each.test for each in found if each.test is not None]
    corrected = iter(holm([test.p for test in tests]))
    rows = []
    for each in found:
        row = [
            number_cell(each.first_size),
            Cell(f"{each.first.label} − {each.second.label}", [each.first.label, each.second.label]),
            Cell(points(each.difference), each.difference),
        ]
        if each.test is None:
            row += [Cell("not tested"), Cell(""), Cell(""), Cell(""), Cell("")]
        else:
            test, p = each.test, next(corrected)
            row += [
                Cell(f"{points(test.low)} to {points(test.high)}", [test.low, test.high]),
                Cell(p_text(test.p_projects), test.p_projects),
                Cell("–") if test.p_trainings is None else Cell(p_text(test.p_trainings), test.p_trainings),
                Cell(p_text(p), p, is_best=p < 0.05),
                Cell(f"{test.num_projects}", test.num_projects),
            ]
        rows.append(row)
    note = f"{study.score.name} in points"
    if tests:
        note += "; seeds averaged first. Paired sign-flip test over projects, weighted by count"
        exact = all(test.is_exact for test in tests)
        note += (
            ", all patterns counted" if exact else f", 10,000 patterns drawn (all of them up to {MAX_EXACT} projects)"
        )
        note += "; intervals by a bootstrap over projects. "
        note += _luck_note(study)
        note += "The larger p is corrected for the rows of this table (Holm)."
    else:
        note += ". Not tested: these results have no scores by project, or not of two projects that both have."
    if any(test.num_projects < 6 for test in tests):
        note += " With fewer than six projects no p can be below 0.05."
    columns = [
        "Vocabulary",
        "Compared",
        "difference",
        "95 % interval",
        "p, projects",
        "p, trainings",
        "p corrected",
        "projects",
    ]
    return Table(_slug(study, "significance"), f"Differences between strategies: {study.title}", columns, rows, note, 2)


def _luck_note(study: Study) -> str:
    """How much luck a training takes, and where that is known from."""
    luck = study.luck()
    if luck is None:
        return "With one training each, nothing is known of how much luck it takes. "
    of = f" of {quoted_names(lenders)}, since these have one seed each" if (lenders := study.lenders()) else ""
    return (
        f"From training to training a cell's score varies by {percent(luck.deviation)} points (standard deviation, "
        f"pooled over cells{of}; {luck.freedom} degrees of freedom): hence a t-test and wider intervals. "
    )


def costs(study: Study) -> Table:
    """What each cell was made from."""
    rows = [
        [
            Cell(f"`{result.cell}`", result.cell),
            Cell(series.label, series.label),
            number_cell(size),
            number_cell(result.seed),
            number_cell(result.score(study.score.key), percent(result.score(study.score.key) or 0)),
            Cell(", ".join(f"`{word}`" for word in changes(result)) or "–", changes(result)),
            Cell(f"`{result.digest[:8]}`" if result.digest else "–", result.digest),
            number_cell(result.examples),
            Cell(f"{result.seconds / 60:.0f}", result.seconds / 60),
        ]
        for series, size in study.keys
        for result in study.cells[series, size]
    ]
    columns = ["Cell", "Strategy", "Vocabulary", "seed", study.score.name.lower() + ", %", "set beside the preset"]
    columns += ["corpus", "examples", "minutes"]
    presets = sorted({result.preset for result in study.results})
    recipes = sorted({result.recipe for result in study.results})
    note = f"Preset `{presets[0]}`, recipe {recipes[0]}." if len(presets) == len(recipes) == 1 else ""
    return Table(_slug(study, "cells"), f"Cells: {study.title}", columns, rows, note, num_labels=2)


def changes(result: Result) -> list[str]:
    """The settings that the command of a result gave beside the preset, strategy, size and seed."""
    found: list[str] = []
    for command in result.commands:
        try:
            words = shlex.split(command)
        except ValueError:
            continue
        for word, following in zip(words, [*words[1:], ""], strict=True):
            if word == "--set" and "=" in following:
                found.append(following)
            elif word.startswith("--set="):
                found.append(word.removeprefix("--set="))
    return list(dict.fromkeys(found))


def seeds_note(study: Study) -> str:
    counts = sorted({len(results) for results in study.cells.values()})
    if counts == [1]:
        return "one seed each"
    if len(counts) == 1:
        return f"mean ± standard deviation over {counts[0]} seeds"
    return "mean ± standard deviation over seeds, their number in brackets"


def count_note(study: Study, keys: Sequence[str]) -> str:
    counts = study.counts(*keys)
    splits = sorted({result.split for result in study.results})
    split = f" of the {splits[0]} split" if len(splits) == 1 and splits[0] else ""
    names = {"num_types": "nodes", "num_values": "values", "num_buggy": "misuses"}
    what = names.get(keys[-1], "examples")
    return f"{_range(counts)} {what}{split} behind each number" if counts else "the number of examples is not given"


def _range(counts: Sequence[int]) -> str:
    return f"{counts[0]:,}" if len(counts) == 1 else f"{counts[0]:,} to {counts[-1]:,}"


def _is_uneven(study: Study) -> bool:
    return len({len(results) for results in study.cells.values()}) > 1


def _slug(study: Study, name: str) -> str:
    return slug(study.slug, name)
