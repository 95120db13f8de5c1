"""The report: `data/results.md` filled in with verdicts, tables and figures, and all numbers in JSON."""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from rarename.errors import RunError, UsageError
from rarename.io import write_text
from rarename.report.claims import (
    BEYOND_PAPER,
    CLAIMS,
    FAILS,
    HOLDS,
    UNDECIDED,
    Claim,
    PairComparison,
    Verdict,
    compare_cells,
)
from rarename.report.figures import draw_figures
from rarename.report.groups import Cell, ResultGroup, group_results
from rarename.report.paper import paper, paper_group
from rarename.report.tables import accuracy_table, markdown_table, points, scale_table, score_table
from rarename.sweep.result import read_result

FIGURES = {
    "headline": "Joint accuracy of variable misuse by vocabulary size",
    "misuse": "Variable misuse by vocabulary size, here and in the paper",
    "completion": "Code completion by vocabulary size, here and in the paper",
    "rare": "Bugs between two rare names: `standard` reads the same text with and without the bug",
    "false-alarms": "Bugs located and repaired if every model flags the same fraction of correct functions",
    "learning": "Validation scores during training",
    "embeddings": "Embeddings in two dimensions (t-SNE)",
}


@dataclass(frozen=True)
class Report:
    """What a folder of results says."""

    groups: list[ResultGroup]
    claims: list[tuple[Claim, list[Verdict]]]
    unreadable: list[str]


def make_report(folder: Path) -> Report:
    """Read the results in a folder and judge the claims of the paper by them."""
    results, unreadable = [], []
    for path in sorted(folder.glob("*/*.json")):
        try:
            results.append(read_result(path))
        except RunError as error:
            unreadable.append(str(error).replace(f"{folder}/", ""))
    if not results:
        found = "".join(f"\n  {each}" for each in unreadable) or " none"
        raise UsageError(f"{folder} has no results to report; expected files EXPERIMENT/TRIAL.json, found:{found}")
    groups = group_results(results)
    claims = [(claim, [verdict for group in groups if (verdict := claim.verdict(group))]) for claim in CLAIMS]
    return Report(groups, claims, unreadable)


def write_report(report: Report, folder: Path) -> None:
    """Write `results.md`, `results.json` and `figures/*.svg`."""
    figures = draw_figures(folder / "figures", report.groups)
    write_text(folder / "results.md", page(report, figures))
    write_text(folder / "results.json", json.dumps(details(report), indent=1, ensure_ascii=False) + "\n")


def page(report: Report, figures: Sequence[str]) -> str:
    """The page in Markdown, with the figures of these names."""
    images = {name: f"![{text}](figures/{name}.svg)\n" for name, text in FIGURES.items() if name in figures}
    completion = [group for group in report.groups if group.task == "completion"]
    unreadable = "".join(f"- {each}\n" for each in report.unreadable)
    return (files("rarename") / "data" / "results.md").read_text(encoding="utf-8").format(
        short=_in_short(report),
        headline=images.pop("headline", ""),
        verdicts=_verdict_table(report),
        scale=scale_table(report.groups),
        claims="\n".join(_claim_section(number, *each) for number, each in enumerate(report.claims, 1)),
        beyond=_beyond_table(report.groups),
        scores="\n".join(f"### {group.title}\n\n{score_table(group)}" for group in report.groups),
        accuracy=accuracy_table(completion),
        figures="\n".join(f"**{FIGURES[name]}**\n\n{image}" for name, image in images.items()),
        unreadable=f"\n## Files that could not be read\n\n{unreadable}" if unreadable else "",
    ).rstrip("\n") + "\n"  # fmt: skip


def _in_short(report: Report) -> str:
    verdicts = [verdict for _, verdicts in report.claims for verdict in verdicts]
    outcomes = [verdict.outcome for verdict in verdicts]
    pairs = [each.outcome for verdict in verdicts for each in verdict.comparisons]
    return (
        f"of {len(verdicts)} verdicts on {len(report.claims)} claims, {outcomes.count(HOLDS)} hold, "
        f"{outcomes.count(FAILS)} do not hold, and {outcomes.count(UNDECIDED)} are undecided.** Of the {len(pairs)} "
        f"comparisons between two strategies, {pairs.count(HOLDS)} show what the paper says, and {pairs.count(FAILS)} "
        "show the opposite."
    )


def _verdict_table(report: Report) -> str:
    rows = []
    for number, (claim, verdicts) in enumerate(report.claims, 1):
        anchor = re.sub(r"[^\w -]", "", f"{number} {claim.title.lower()}").replace(" ", "-")
        cells = {id(group): "–" for group in report.groups}
        for each in verdicts:
            num_shown = [pair.outcome for pair in each.comparisons].count(HOLDS)
            is_partial = each.outcome == UNDECIDED and num_shown
            cells[id(each.group)] = each.outcome + (f" ({num_shown} of {len(each.comparisons)})" if is_partial else "")
        rows.append([f"[{number}. {claim.title}](#{anchor})", *cells.values()])
    titles = [group.title.replace(", ", "<br>") for group in report.groups]
    return markdown_table(["Claim of the paper", *titles], rows, 1 + len(titles))


def _claim_section(number: int, claim: Claim, verdicts: Sequence[Verdict]) -> str:
    rows = []
    for each in verdicts:
        outcome = f"**{each.outcome}**" + (f"; it would take {each.it_takes}" if each.it_takes else "")
        rows.append([each.group.title, _in_paper(claim, each), _here(each), outcome])
    table = markdown_table(["", "Paper", "Here", "Verdict"], rows, 4) if rows else "Undecided: not measured.\n"
    return f"### {number}. {claim.title}\n\n{table}"


def _beyond_table(groups: Sequence[ResultGroup]) -> str:
    rows = []
    for group in groups:
        for first, second in BEYOND_PAPER(group.validation):
            here = _here(Verdict(group, "", (compare_cells(group, first, second, group.metric),)))
            rows.append([group.title, f"`{first.series.label}` − `{second.series.label}`", here])
    return markdown_table(["", "Compared", "Here"], rows, 3)


def _here(verdict: Verdict) -> str:
    """The differences by vocabulary size, a line for each series."""
    lines: dict[str, list[str]] = {}
    for first, _, mean, test, _ in verdict.comparisons:
        reach = f" ± {100 * (test.interval()[1] - mean):.1f}" if test else ""
        lines.setdefault(first.series.label, []).append(f"{points(mean)}{reach} ({first.size:,})")
    return _cosines(verdict.cosines) if verdict.cosines else _by_series(lines)


def _in_paper(claim: Claim, verdict: Verdict) -> str:
    """The differences of the paper between the cells that are compared here."""
    if verdict.cosines:
        return _cosines(paper()["embeddings"])
    scores: dict[Cell, float] = getattr(paper_group(verdict.group.task, verdict.group.language), claim.paper_table)
    lines: dict[str, list[str]] = {}
    for first, second in claim.pairs(scores) if claim.metric is None else ():
        if any(first == each.first for each in verdict.comparisons):
            text = f"{points(scores[first] - scores[second])} ({first.size:,})"
            lines.setdefault(first.series.label, []).append(text)
    return _by_series(lines) or "–"


def _by_series(lines: dict[str, list[str]]) -> str:
    return "<br>".join((f"`{label}`: " if len(lines) > 1 else "") + ", ".join(line) for label, line in lines.items())


def _cosines(cosines: dict[str, float]) -> str:
    among, between = "among frequent names, {within_placeholders:.2f} among placeholders", "{between:.2f} between"
    return f"mean cosine {{within_vocabulary:.2f}} {among}, {between}".format(**cosines).replace("-", "−")


def details(report: Report) -> dict[str, Any]:
    """All numbers, from 0 to 1."""
    verdicts = [
        {"claim": claim.title, "group": verdict.group.title, "outcome": verdict.outcome, "it_takes": verdict.it_takes}
        | {"cosines": verdict.cosines, "comparisons": [_comparison(each) for each in verdict.comparisons]}
        for claim, verdicts in report.claims
        for verdict in verdicts
    ]
    cells = [
        {"group": group.title, "series": cell.series.label, "vocabulary_size": cell.size}
        | {"trials": [f"{each.experiment}/{each.trial}" for each in results], "metrics": _metrics(group, cell)}
        for group in report.groups
        for cell, results in group.cells.items()
    ]
    text = json.dumps(
        {"format": "rarename-report", "verdicts": verdicts, "cells": cells, "unreadable": report.unreadable}
    )
    rounded: dict[str, Any] = json.loads(text, parse_float=lambda number: round(float(number), 6))
    return rounded


def _comparison(compared: PairComparison) -> dict[str, Any]:
    test = compared.test
    tested = {"interval": test.interval(), "p": test.p, "num_projects": test.num_projects} if test else {}
    return compared._asdict() | {"test": tested}


def _metrics(group: ResultGroup, cell: Cell) -> dict[str, tuple[float, float | None]]:
    """The mean and the standard deviation over seeds of each metric."""
    scores = {path: group.score(cell, *path) for path in _paths(group.cells[cell][0].metrics)}
    return {".".join(path): (score.mean, score.std) for path, score in scores.items() if score}


def _paths(metrics: dict[str, Any]) -> Iterator[tuple[str, ...]]:
    for key, value in metrics.items():
        if not isinstance(value, dict):
            yield (key,)
        elif key != "by_project":
            yield from ((key, *path) for path in _paths(value))
