"""All results of a folder as one report, in the order in which a reader asks: how much, where, how sure, how made."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rarename.errors import UsageError
from rarename.io import write_text
from rarename.report import charts, tables
from rarename.report.claims import ABSENT, Claim, claims
from rarename.report.document import (
    Block,
    Bullets,
    Cell,
    Code,
    Details,
    Document,
    Heading,
    Paragraph,
    Table,
    number_cell,
    percent,
    quoted_names,
    slug,
)
from rarename.report.html import html
from rarename.report.markdown import markdown
from rarename.report.paper import citation, cosines, paper_study
from rarename.report.results import REPORT, VERSION, LeftOut, Result, number_at, read_results
from rarename.report.statistics import Spread
from rarename.report.studies import LANGUAGES, TASK_NAMES, Series, Study, model, studies


@dataclass(frozen=True)
class Report:
    """What a folder of results says."""

    document: Document
    studies: list[Study]
    claims: list[Claim]
    left_out: list[LeftOut]
    num_models: int
    """Each counted once, though several experiments may have it."""


def make_report(folder: Path) -> Report:
    """Read a folder of results and put a report together."""
    if not folder.is_dir():
        raise UsageError(f"{folder} is no folder; give the one that holds EXPERIMENT/CELL.json (docs/report.md)")
    results, left_out = read_results(folder)
    found, odd = studies(results)
    embeddings = [result for result in results if result.embeddings]
    left_out = sorted([*left_out, *odd])
    if not found and not embeddings:
        reasons = "".join(f"\n  {each.path} {each.reason}" for each in left_out)
        said = f"none of its files is a result that can be shown:{reasons}" if reasons else "it holds no JSON files"
        raise UsageError(f"nothing to report in {folder}: {said}\nsee docs/report.md for what a result file is")
    judged = claims(found, embeddings)
    num_models = len({model(each) for study in found for each in study.results} | {model(each) for each in embeddings})
    document = Document("Results", _blocks(found, embeddings, judged, left_out, num_models))
    return Report(document, found, judged, left_out, num_models)


def write_report(report: Report, folder: Path) -> list[Path]:
    """Write a report as Markdown with figures, as HTML and as JSON; returns the files."""
    (folder / "figures").mkdir(parents=True, exist_ok=True)
    texts = {
        folder / "results.md": markdown(report.document),
        folder / "results.html": html(report.document),
        folder / "results.json": json.dumps(as_json(report), indent=1, ensure_ascii=False) + "\n",
    }
    for figure in report.document.figures():
        texts[folder / "figures" / f"{figure.name}.svg"] = figure.draw(figure.width).standalone()
    for path, text in texts.items():
        write_text(path, text)
    return list(texts)


def as_json(report: Report) -> dict[str, Any]:
    """The tables for a program: scores from 0 to 1, the paper's in percent as printed."""
    return {
        "format": REPORT,
        "version": VERSION,
        "paper": citation(),
        "models": report.num_models,
        "experiments": [
            {
                "experiment": study.experiment,
                "task": study.task,
                "language": study.language,
                "cells": [
                    {
                        "strategy": series.strategy,
                        "pointer": series.pointer,
                        "varied": list(series.extras),
                        "vocabulary_size": size,
                        "seeds": [result.seed for result in study.cells[series, size]],
                        "files": [result.path for result in study.cells[series, size]],
                    }
                    for series, size in study.keys
                ],
            }
            for study in report.studies
        ],
        "tables": [
            {
                "name": table.name,
                "title": table.title,
                "columns": list(table.columns),
                "rows": [[_plain(cell) for cell in row] for row in table.rows],
                "note": table.note,
            }
            for table in report.document.tables()
        ],
        "claims": [
            {
                "name": claim.name,
                "claim": claim.text,
                "findings": [
                    {
                        "experiment": finding.experiment,
                        "study": finding.study,
                        "verdict": finding.verdict,
                        "text": finding.text,
                    }
                    for finding in claim.findings
                ],
            }
            for claim in report.claims
        ],
        "figures": [f"figures/{figure.name}.svg" for figure in report.document.figures()],
        "left_out": [{"file": each.path, "reason": each.reason} for each in report.left_out],
    }


def _plain(cell: Cell) -> Any:
    return cell.value if cell.value is not None else cell.text or None


def _blocks(
    found: Sequence[Study],
    embeddings: Sequence[Result],
    judged: Sequence[Claim],
    left_out: Sequence[LeftOut],
    num_models: int,
) -> list[Block]:
    experiments = {study.experiment for study in found} | {each.experiment for each in embeddings}
    models = "1 trained model" if num_models == 1 else f"{num_models:,} trained models"
    of = "1 experiment" if len(experiments) == 1 else f"{len(experiments)} experiments"
    blocks: list[Block] = [
        Paragraph(
            f"{models} of {of}, beside the numbers of the paper: {citation()}. Written by `rarename report` from the "
            "result files alone; how to read it is told in docs/report.md."
        )
    ]
    blocks += _present(charts.headline(found) if found else None)
    blocks += [Heading(2, "At a glance", "glance"), _verdicts(judged), *_present(_counterparts(found, embeddings))]
    blocks += _claims(judged)
    titles = [study.title for study in found]
    for study in found:
        is_told = titles.count(study.title) == 1
        blocks += _study(study, study.title if is_told else f"{study.title}: {study.experiment}")
    if embeddings:
        blocks += _embeddings(embeddings)
    if found:
        blocks += [
            Heading(2, "What differs from the paper in scale", "scale"),
            Bullets([_scale(study) for study in found]),
        ]
    if left_out:
        rows = [[Cell(f"`{each.path}`", each.path), Cell(each.reason, each.reason)] for each in left_out]
        blocks += [
            Heading(2, "Left out", "left-out"),
            Table("left-out", "Files that are in no table", ["File", "Reason"], rows, num_labels=2),
        ]
    return blocks


def _verdicts(judged: Sequence[Claim]) -> Table:
    rows = []
    for claim in judged:
        found = [f"**{each.verdict}** (`{each.experiment}`)" for each in claim.findings] or [f"**{ABSENT}**"]
        plain = [{"experiment": each.experiment, "verdict": each.verdict} for each in claim.findings]
        rows.append([Cell(claim.name, claim.name), Cell(", ".join(found), plain)])
    note = (
        "What each claim is and what was found, with numbers, stands below; how verdicts are made, in docs/report.md."
    )
    columns = ["Claim of the paper", "What the results say"]
    return Table("verdicts", "The claims of the paper", columns, rows, note, num_labels=2)


def _counterparts(found: Sequence[Study], embeddings: Sequence[Result]) -> Table | None:
    """What of the paper is repeated by which experiment, with the command."""
    members: dict[str, list[Result]] = {}
    for each in [*(result for study in found for result in study.results), *embeddings]:
        members.setdefault(each.experiment, []).append(each)
    rows = [
        [
            Cell(results[0].shows, results[0].shows),
            Cell(results[0].title, results[0].title),
            Cell(f"`rarename sweep {_file(experiment)}`", experiment),
            number_cell(len({model(result) for result in results})),
        ]
        for experiment, results in members.items()
        if results[0].shows
    ]
    if not rows:
        return None
    note = "Each command trains and measures what is not there yet; `rarename report results/` then writes this report."
    columns = ["Of the paper", "Experiment", "Command", "Models"]
    return Table("counterparts", "Tables and figures of the paper, and what else was asked", columns, rows, note, 3)


def _file(experiment: str) -> str:
    """Where the file of an experiment lies in the repository: those at the paper's scale are apart."""
    return f"experiments/{'paper/' if experiment.endswith('-paper') else ''}{experiment}.toml"


def _present(*blocks: Block | None) -> list[Block]:
    return [block for block in blocks if block is not None]


def _study(study: Study, title: str) -> list[Block]:
    anchor = slug(study.slug)
    blocks: list[Block] = [Heading(2, title, anchor), Paragraph(_made_from(study))]
    blocks += _misuse(study) if study.task == "misuse" else _completion(study)
    blocks += _section("Are the differences real?", f"{anchor}-tests", tables.significance(study))
    blocks += _section("While training", f"{anchor}-training", charts.learning_curves(study))
    commands: list[Block] = [tables.costs(study)]
    if settings := _shared_settings(study):
        commands.append(Paragraph(f"Settings that all cells share: {settings}."))
    lines = [line for result in study.results for line in (f"# {result.cell}", *result.commands) if result.commands]
    if lines:
        commands.append(Code(lines))
    blocks += [
        Heading(3, "How each cell was made", f"{anchor}-cells"),
        Details("Commands, settings, examples and minutes", commands),
    ]
    return blocks


def _section(title: str, anchor: str, *blocks: Block | None) -> list[Block]:
    """A heading, if there is anything below it."""
    return [Heading(3, title, anchor), *_present(*blocks)] if _present(*blocks) else []


def _misuse(study: Study) -> list[Block]:
    anchor = slug(study.slug)
    paper = paper_study(study.task, study.language)
    joint, by_rule = ("joint_accuracy",), ("joint_accuracy_paper",)
    return [
        *_present(
            tables.by_size(study, "joint", "Joint accuracy", joint, ("num_buggy",)),
            tables.placeholders(study, paper),
            tables.misuse_parts(study),
        ),
        *_section(
            "Beside the paper",
            f"{anchor}-paper",
            charts.over_sizes(study, "paper", "Joint accuracy by the paper's rule", by_rule, "joint accuracy", paper),
            tables.by_size(study, "paper", "Joint accuracy by the paper's rule", by_rule, ("num_buggy",), paper),
            Paragraph(
                "By the paper's rule a repair counts if the right variable gets at least half of the probability. "
                "Elsewhere it counts if it gets more than any other."
            )
            if any(study.curve(series, *by_rule) for series in study.series)
            else None,
        ),
        *_section(
            "At equal false alarms", f"{anchor}-alarms", charts.false_alarms(study), tables.at_false_alarms(study)
        ),
        *_section("Where both names are rare", f"{anchor}-rarity", charts.both_rare(study), tables.by_rarity(study)),
    ]


def _completion(study: Study) -> list[Block]:
    anchor = slug(study.slug)
    paper = paper_study(study.task, study.language)
    values, types = ("mrr_values",), ("mrr_types",)
    accuracy = tables.by_kind(study, "accuracy", "Accuracy of values by kind of node")
    return [
        *_present(
            charts.over_sizes(study, "values", "MRR of values", values, "mean reciprocal rank", paper),
            tables.by_size(study, "values", "MRR of values", values, ("num_values",), paper),
            tables.placeholders(study, paper),
        ),
        *_section(
            "Accuracy",
            f"{anchor}-accuracy",
            tables.by_size(study, "accuracy", "Accuracy of values", ("accuracy_values",), ("num_values",)),
            tables.best_accuracy(study, paper),
            tables.by_size(study, "possible", "Values that can be told at all", ("possible_values",), ("num_values",)),
        ),
        *_section(
            "Types",
            f"{anchor}-types",
            charts.over_sizes(study, "types", "MRR of types", types, "mean reciprocal rank"),
            tables.by_size(study, "types", "MRR of types", types, ("num_types",)),
            tables.by_size(study, "types-accuracy", "Accuracy of types", ("accuracy_types",), ("num_types",)),
        ),
        *_section(
            "Values by kind of node",
            f"{anchor}-kinds",
            tables.by_kind(study, "mrr", "MRR of values by kind of node"),
            Details("Accuracy by kind of node", [accuracy]) if accuracy else None,
        ),
        *_section("Values by rarity", f"{anchor}-rarity", tables.values_by_rarity(study)),
    ]


def _made_from(study: Study) -> str:
    """One paragraph: the experiment, the corpus, how long, and what its results lack."""
    results = study.results
    presets = quoted_names(each.preset for each in results)
    parts = [f"Experiment `{study.experiment}`: {len(results)} models, preset {presets}"]
    names = quoted_names(str(each.corpus.get("name", "")) for each in results)
    digests = quoted_names(each.digest[:8] for each in results)
    parts.append(f"corpus {names} (digest {digests})" if digests else f"corpus {names}" if names else "corpus unknown")
    examples = sorted({each.examples for each in results})
    spelt = f"{examples[0]:,}" if len(examples) == 1 else f"{examples[0]:,} to {examples[-1]:,}"
    parts.append(f"{spelt} training examples each")
    minutes = sum(each.seconds for each in results) / 60
    parts.append(f"{minutes:,.0f} minutes of training in all")
    text = ", ".join(parts) + "."
    if alike := [change for change in tables.changes(results[0]) if _is_shared(change, results)]:
        text += f" Besides the preset, all have {quoted_names(alike)}."
    if study.usual:
        usual = ", ".join(f"`{key}={value}`" for key, value in study.usual.items())
        text += f" Where a strategy's name does not say otherwise: {usual}."
    without = [each.cell for each in results if not each.scores.get("by_project")]
    if without and len(without) == len(results):
        text += " No result has scores by project, so there are no tests."
    elif without:
        text += f" Without scores by project, so left out of the tests: {quoted_names(without)}."
    return text


def _is_shared(change: str, results: Sequence[Result]) -> bool:
    """Whether all results were trained with a change of the preset, and it is one of what is learned, not how long."""
    return not change.startswith("training.") and all(change in tables.changes(each) for each in results)


def _shared_settings(study: Study) -> str:
    first, *others = [result.settings for result in study.results]
    missing = object()
    shared = {
        key: value
        for key, value in first.items()
        if key != "corpus" and all(settings.get(key, missing) == value for settings in others)
    }
    return ", ".join(f"`{key}={value}`" for key, value in sorted(shared.items()))


def _embeddings(results: Sequence[Result]) -> list[Block]:
    blocks: list[Block] = [Heading(2, "Where placeholders lie", "embeddings")]
    rows = []
    names = {
        "within_vocabulary": "within the vocabulary",
        "within_placeholders": "within placeholders",
        "between": "between",
    }
    for result in results:
        blocks += _present(charts.embedding(result))
        what = f"{TASK_NAMES[result.task]}, {LANGUAGES.get(result.language, result.language)}"
        label = f"{what}, {result.strategy}, {result.size:,} names"
        for key, more in (("cosine", ""), ("cosine_centred", ", without what all have in common")):
            found = [number_at(result.embeddings, key, name) for name in names]
            numbers = [Cell("") if value is None else Cell(_cosine(value), value) for value in found]
            if any(value is not None for value in found):
                rows.append([Cell(f"`{result.cell}`", result.cell), Cell(label + more, label + more), *numbers])
    quoted = [Cell(_cosine(cosines()[key]), cosines()[key], is_quoted=True) for key in names]
    label = "Code completion, Python, randomized, 1,000 names"
    rows.append([Cell("paper", "paper"), Cell(label, label), *quoted])
    note = (
        "Mean cosine similarity of pairs of embeddings. If the two kinds lie apart, it is lower between them. What all "
        "have in common is the mean of the two kinds' means; it makes any two of them alike."
    )
    columns = ["Cell", "Model", *names.values()]
    return [*blocks, Table("embeddings-cosine", "Similarity of embeddings", columns, rows, note, num_labels=2)]


def _cosine(value: float) -> str:
    return f"{value:.2f}".replace("-", "−")


def _claims(judged: Sequence[Claim]) -> list[Block]:
    items = []
    for claim in judged:
        findings = [f"**{each.verdict}** {each.study}: {each.text}." for each in claim.findings]
        items.append("\n  - ".join([claim.text, *(findings or [f"**{ABSENT}** here: no experiment has the cells."])]))
    intro = (
        "Each line is computed from the results. A difference counts as shown when its p, of projects and of "
        "trainings, corrected for the sizes looked at, is below 0.05 (tables of differences correct for all of their "
        "rows, so a p may be larger there); two strategies count as the same "
        "when the 95 % interval of their difference lies within one point of 0. Where the luck of training is not "
        "known, nothing counts as shown."
    )
    return [Heading(2, "What the paper claims, and what these results say", "claims"), Paragraph(intro), Bullets(items)]


def _scale(study: Study) -> str:
    """How much smaller than the paper's the models and corpora are."""
    paper = paper_study(study.task, study.language)
    parts = []
    for key, name in (("model.width", "width"), ("model.layers", "layers")):
        value = quoted_names(str(result.settings.get(key, "")) for result in study.results)
        theirs = {"width": paper.width, "layers": paper.layers}[name] if paper else None
        if value:
            parts.append(f"{name} {value}".replace("`", "") + (f" (the paper: {theirs})" if theirs else ""))
    examples = max(result.examples for result in study.results)
    theirs_text = f" (the paper: {paper.epochs} epochs of {paper.train})" if paper else ""
    parts.append(f"{examples:,} training examples seen{theirs_text}")
    projects = sorted({count for each in study.results if (count := number_at(each.corpus, "projects"))})
    name = quoted_names(str(each.corpus.get("name", "")) for each in study.results).replace("`", "")
    if projects:
        corpus = f"a corpus of {projects[0]:,.0f} projects" + (f" ({name})" if name else "")
        parts.append(corpus + (f" (the paper: {paper.corpus})" if paper else ""))
    return f"{study.name} (`{study.experiment}`): " + "; ".join(parts) + "."


def summary(report: Report, paths: Sequence[Path]) -> str:
    """A few lines for the terminal: what was read, what the first claim came to, what was written."""
    read = "1 trained model" if report.num_models == 1 else f"{report.num_models:,} trained models"
    lines = [f"{read}, {len(report.left_out)} left out" if report.left_out else read]
    for study in report.studies:
        best = [(series, size, value) for series in study.series for size, value in _best(study, series)]
        scores = ", ".join(f"{series.label} {percent(value.mean)} % ({size:,})" for series, size, value in best)
        lines.append(f"{study.experiment}: {study.name}, {study.score.name} (at the best vocabulary): {scores}")
    lines.append("claims of the paper:")
    for claim in report.claims:
        verdicts = [f"{each.verdict} ({each.experiment})" for each in claim.findings] or [ABSENT]
        lines.append(f"  {claim.name}: {', '.join(verdicts)}")
    lines += [f"left out: {each.path} {each.reason}" for each in report.left_out]
    pages = [path for path in paths if path.suffix != ".svg"]
    lines += [f"wrote {path}" for path in pages]
    lines.append(f"wrote {len(paths) - len(pages)} figures beside them")
    return "\n".join(lines) + "\n"


def _best(study: Study, series: Series) -> list[tuple[int, Spread]]:
    size = study.best_size(series)
    value = None if size is None else study.value(series, size)
    return [(size, value)] if size is not None and value is not None else []


def summary_json(report: Report, paths: Sequence[Path]) -> dict[str, Any]:
    said = as_json(report)
    return {key: said[key] for key in ("models", "experiments", "claims", "left_out")} | {
        "files": [str(path) for path in paths]
    }
