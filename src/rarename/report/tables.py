"""The tables in Markdown: scores next to those of the paper, the scale, and the tables of the README."""

import re
from collections.abc import Iterable, Sequence

from rarename.report.groups import PAPER_METRICS, TITLES, Cell, ResultGroup
from rarename.report.paper import paper, paper_scores
from rarename.report.statistics import MeanStd

README_SIZES = (20, 100, 1000, 10_000)
README_SERIES = ("ordered", "randomized", "standard", "standard + pointer")


def markdown_table(columns: Sequence[str], rows: Iterable[Sequence[str]], num_texts: int = 1) -> str:
    """A table with `num_texts` columns of text, and numbers after them."""
    rule = ["---"] * num_texts + ["---:"] * (len(columns) - num_texts)
    return "".join(f"| {' | '.join(row)} |\n" for row in (columns, rule, *rows))


def percent(score: MeanStd | None) -> str:
    """A score in percent, with the standard deviation over seeds if there are several."""
    if score is None:
        return ""
    return f"{100 * score.mean:.1f}" + ("" if score.std is None else f" ± {100 * score.std:.1f}")


def points(difference: float) -> str:
    """A difference in percentage points: `+1.2`, `−0.4`."""
    return f"{100 * difference:+.1f}".replace("-0.0", "+0.0").replace("-", "−")


def score_table(group: ResultGroup) -> str:
    """Scores by vocabulary size; those of the paper below them in italics."""
    theirs = paper_scores(group.task, group.language)
    series = [each for each in group.series if any(cell.series == each for cell in theirs)]
    rows = []
    for size in group.sizes:
        row = [f"{size:,}"]
        for cell in (Cell(each, size) for each in series):
            ours = percent(group.score(cell, PAPER_METRICS[group.task]))
            row.append("<br>".join(filter(None, [ours, f"*{100 * theirs[cell]:.1f}*" if cell in theirs else ""])))
        rows.append(row)
    return markdown_table(["Names kept", *(f"`{each}`" for each in series)], rows)


def accuracy_table(groups: Sequence[ResultGroup]) -> str:
    """The accuracy of values at the vocabulary size of each series that is best on the validation split."""
    rows = []
    for group in groups:
        theirs = paper()[group.task][group.language]["best_accuracy"]
        for series in (each for each in group.series if each in theirs):
            size = group.best_size(series)
            ours = percent(group.score(Cell(series, size), "accuracy_values"))
            rows.append([TITLES[group.language], f"`{series}`", f"{size:,}", ours, f"{theirs[series]:.1f}"])
    return markdown_table(["", "", "Names kept", "Here", "Paper"], rows, 2)


def scale_table(groups: Sequence[ResultGroup]) -> str:
    """Model, training and corpus of each group and of the paper."""
    rows = []
    for group in groups:
        first = group.results[0]
        examples = dict.fromkeys(f"{round(each.examples, -2):,}" for each in group.results)
        ours = f"{first.settings['model.d_model']} × {first.settings['model.num_layers']}; {' or '.join(examples)} "
        ours += f"examples, {first.corpus['projects']} projects (`{first.corpus['name']}`)"
        theirs = paper()[group.task] | paper()[group.task][group.language]
        scale = "{width} × {layers}; {epochs} epochs of {train}, {corpus}".format(**theirs)
        rows.append([group.title, f"{len(group.results)}", ours, scale])
    return markdown_table(["Width × layers; training", "Models", "Here", "Paper"], rows, 4)


def readme_table(groups: Sequence[ResultGroup], task: str) -> str:
    """The scores of a task by language, vocabulary size and strategy, from the first group of each language."""
    groups = list({group.language: group for group in reversed(groups) if group.task == task}.values())[::-1]
    shown = [series for series in README_SERIES if any(series in group.series for group in groups)]
    rows = []
    for group in groups:
        language = TITLES[group.language]
        for size in (size for size in README_SIZES if size in group.sizes):
            rows.append([language, f"{size:,}", *(percent(group.score(Cell(series, size))) for series in shown)])
            language = ""
    return markdown_table(["", "names kept", *(f"`{series}`" for series in shown)], rows)


def update_tables(text: str, groups: Sequence[ResultGroup]) -> str:
    """Replace what is between `<!-- results:misuse -->` (or `completion`) and `<!-- /results -->` in a page."""
    marked = re.compile(r"(<!-- results:(\w+) -->\n).*?(<!-- /results -->)", re.DOTALL)
    return marked.sub(lambda match: f"{match[1]}\n{readme_table(groups, match[2])}\n{match[3]}", text)
