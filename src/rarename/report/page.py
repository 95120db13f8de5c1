"""The report: `data/results.md` filled in with verdicts, tables and figures, and all numbers in JSON."""

import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from rarename.config import flatten
from rarename.errors import UsageError
from rarename.io import write_text
from rarename.report.claims import BEYOND_PAPER, CLAIMS, HOLDS, UNDECIDED, Claim, Verdict
from rarename.report.figures import FIGURES, draw_figures
from rarename.report.groups import Cell, ResultGroup, group_results
from rarename.report.paper import paper, paper_scores
from rarename.report.statistics import Difference, MeanStd
from rarename.report.tables import accuracy_table, markdown_table, points, scale_table, score_table
from rarename.sweep.result import Result, read_results


@dataclass(frozen=True)
class Report:
    """The results in a folder and the verdicts on the claims."""

    groups: list[ResultGroup]
    claims: list[tuple[Claim, list[Verdict]]]
    unreadable: list[str]


def make_report(folder: Path) -> Report:
    """Read the results in a folder and test the claims of the paper on them."""
    results, errors = read_results(folder)
    unreadable = [error.replace(f"{folder}/", "") for error in errors]
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
    images = {name: f"![{FIGURES[name][0]}](figures/{name}.svg)\n" for name in FIGURES if name in figures}
    verdicts = [verdict for _, verdicts in report.claims for verdict in verdicts]
    template = (files("rarename") / "data" / "results.md").read_text(encoding="utf-8")
    return template.format(
        num_claims=len(report.claims),
        num_verdicts=len(verdicts),
        outcomes=Counter(verdict.outcome for verdict in verdicts),
        pairs=Counter(pair.outcome for verdict in verdicts for pair in verdict.comparisons),
        num_pairs=sum(len(verdict.comparisons) for verdict in verdicts),
        headline=images.pop("headline", ""),
        verdicts=_verdict_table(report),
        scale=scale_table(report.groups),
        claims="\n".join(_claim_section(number, *each) for number, each in enumerate(report.claims, 1)),
        beyond=_beyond_table(report.groups),
        scores="\n".join(f"### {group.title}\n\n{score_table(group)}" for group in report.groups),
        accuracy=accuracy_table([group for group in report.groups if group.task == "completion"]),
        figures="\n".join(images.values()),
    )


def _verdict_table(report: Report) -> str:
    rows = []
    for number, (claim, verdicts) in enumerate(report.claims, 1):
        anchor = re.sub(r"[^\w -]", "", f"{number} {claim.title.lower()}").replace(" ", "-")
        cells = {group.title: "–" for group in report.groups}
        for each in verdicts:
            num_shown = [pair.outcome for pair in each.comparisons].count(HOLDS)
            is_partial = each.outcome == UNDECIDED and num_shown
            cells[each.group.title] = each.outcome + (
                f" ({num_shown} of {len(each.comparisons)})" if is_partial else ""
            )
        rows.append([f"[{number}. {claim.title}](#{anchor})", *cells.values()])
    titles = [group.title.replace(", ", "<br>") for group in report.groups]
    return markdown_table(["Claim of the paper", *titles], rows, 1 + len(titles))


def _claim_section(number: int, claim: Claim, verdicts: Sequence[Verdict]) -> str:
    rows = []
    for each in verdicts:
        outcome = f"**{each.outcome}**" + (f"; it would take {each.it_takes}" if each.it_takes else "")
        here = _differences((pair.first, _with_interval(pair.test)) for pair in each.comparisons)
        rows.append(
            [each.group.title, _in_paper(claim, each), _cosines(each.cosines) if each.cosines else here, outcome]
        )
    table = markdown_table(["", "Paper", "Here", "Verdict"], rows, 4) if rows else "Undecided: not measured.\n"
    return f"### {number}. {claim.title}\n\n{table}"


def _in_paper(claim: Claim, verdict: Verdict) -> str:
    """The differences of the paper between the cells that are compared here."""
    if verdict.cosines:
        return _cosines(paper()["embeddings"])
    scores = paper_scores(verdict.group.task, verdict.group.language, claim.paper_table)
    compared = {pair.first for pair in verdict.comparisons} if not claim.metric else set()
    pairs = [(first, second) for first, second in claim.pairs(scores) if first in compared]
    return _differences((first, points(scores[first] - scores[second])) for first, second in pairs) or "–"


def _beyond_table(groups: Sequence[ResultGroup]) -> str:
    rows = []
    for group in groups:
        for first, second in BEYOND_PAPER(group.validation):
            if test := group.compare(first, second, group.metric):
                here = _differences([(first, _with_interval(test))])
                rows.append([group.title, f"`{first.series}` − `{second.series}`", here])
    return markdown_table(["", "Compared", "Here"], rows, 3)


def _with_interval(test: Difference) -> str:
    reach = test.interval()[1] - test.mean
    return points(test.mean) + (f" ± {100 * reach:.1f}" if reach < math.inf else "")


def _differences(texts: Iterable[tuple[Cell, str]]) -> str:
    """The differences by vocabulary size, a line for each series."""
    lines: dict[str, list[str]] = {}
    for cell, text in texts:
        lines.setdefault(cell.series, []).append(f"{text} ({cell.size:,})")
    return "<br>".join((f"`{series}`: " if len(lines) > 1 else "") + ", ".join(line) for series, line in lines.items())


def _cosines(cosines: dict[str, float]) -> str:
    among = "{within_vocabulary:.2f} among frequent names, {within_placeholders:.2f} among placeholders"
    return f"mean cosine {among}, {{between:.2f}} between".format(**cosines).replace("-", "−")


def details(report: Report) -> dict[str, Any]:
    """All numbers, from 0 to 1; an unknown interval is null."""
    verdicts = [
        {"claim": claim.title, "group": verdict.group.title, "outcome": verdict.outcome, "it_takes": verdict.it_takes}
        | {"cosines": verdict.cosines, "comparisons": [_comparison(*each) for each in verdict.comparisons]}
        for claim, verdicts in report.claims
        for verdict in verdicts
    ]
    cells = [
        {"group": group.title, "series": cell.series, "vocabulary_size": cell.size}
        | {"trials": [f"{each.experiment}/{each.trial}" for each in results], "metrics": _metrics(results)}
        for group in report.groups
        for cell, results in group.cells.items()
    ]
    text = json.dumps({"format": "rarename-report", "verdicts": verdicts, "cells": cells})
    return dict(json.loads(text, parse_float=lambda number: round(float(number), 6), parse_constant=lambda _: None))


def _comparison(first: Cell, second: Cell, test: Difference, outcome: str) -> dict[str, Any]:
    tested = {"mean": test.mean, "interval": test.interval(), "p": test.p, "num_projects": test.num_projects}
    return {"first": first, "second": second, **tested, "outcome": outcome}


def _metrics(results: Sequence[Result]) -> dict[str, MeanStd]:
    """The mean and the standard deviation over seeds of each metric."""
    flat = [flatten({key: value for key, value in each.metrics.items() if key != "by_project"}) for each in results]
    return {key: MeanStd.of([each[key] for each in flat if key in each]) for key in flat[0]}
