"""The figures, as SVG files that are the same bytes for the same results."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from rarename.io import replacing
from rarename.report.groups import PAPER_METRICS, Cell, ResultGroup
from rarename.report.paper import paper_scores
from rarename.report.statistics import MeanStd
from rarename.sweep.result import Result, number_at

SIZES, ACCURACY = "names kept by the vocabulary", "joint accuracy, %"
FLAGGED, EXAMPLES = "correct functions flagged, %", "training examples, thousands"
FIGURES = {
    "headline": ("Bugs located and repaired", SIZES, ACCURACY),
    "misuse": ("Variable misuse, here and in the paper", SIZES, ACCURACY),
    "completion": ("Code completion, here and in the paper", SIZES, "MRR of values, %"),
    "rare": ("Bugs between two rare names", SIZES, ACCURACY),
    "false-alarms": ("Equal rates of false alarms (1,000 names kept)", FLAGGED, ACCURACY),
    "learning": ("Validation score during training (1,000 names kept)", EXAMPLES, "joint accuracy or MRR, %"),
    "embeddings": ("Embeddings of placeholders and frequent names", "t-SNE dimension 1", "t-SNE dimension 2"),
}
"""For each figure its title and the labels of its axes."""

ONE_SIZE = 1000
"""The vocabulary size of figures that show one size."""

LOOKS: dict[str, dict[str, Any]] = {
    "ordered": {"color": "#00427a", "marker": "o", "linestyle": "-"},
    "randomized": {"color": "#3d9bd9", "marker": "s", "linestyle": "--"},
    "standard": {"color": "#d55e00", "marker": "^", "linestyle": ":"},
    "standard + pointer": {"color": "#808000", "marker": "v", "linestyle": "-."},
}
"""The series that figures show. They differ in marker, line and lightness, so they are distinct in grey."""

Curve = Mapping[float, MeanStd | None]
Panel = tuple[str, Mapping[str, Curve]]
"""A title and its curves, with scores from 0 to 1."""


def draw_figures(folder: Path, groups: Sequence[ResultGroup]) -> list[str]:
    """Write the figures that the results allow; returns their names."""
    misuse, completion = ([group for group in groups if group.task == task] for task in ("misuse", "completion"))
    panels = {
        "headline": _panels(misuse, _by_size()),
        "misuse": _with_paper(misuse),
        "completion": _with_paper(completion),
        "rare": _panels(misuse, _by_size("by_rarity", "both rare", "joint_accuracy")),
        "false-alarms": _panels(misuse, _by_false_alarms),
        "learning": _panels(groups, _by_examples),
    }
    with mpl.rc_context({"font.size": 10, "axes.titlesize": 10, "svg.hashsalt": "rarename"}):
        figures = {name: _lines(*FIGURES[name], each) for name, each in panels.items()}
        figures["embeddings"] = _scatter(*FIGURES["embeddings"], [each for group in groups for each in group.results])
        folder.mkdir(parents=True, exist_ok=True)
        for name, figure in figures.items():
            if figure:
                with replacing(folder / f"{name}.svg") as path:
                    figure.savefig(path, format="svg", metadata={"Date": None, "Creator": None})
    return [name for name, figure in figures.items() if figure]


def _panels(groups: Sequence[ResultGroup], curve: Callable[[ResultGroup, str], Curve]) -> list[Panel]:
    return [(group.title, {each: curve(group, each) for each in group.series if each in LOOKS}) for group in groups]


def _by_size(*path: str) -> Callable[[ResultGroup, str], Curve]:
    return lambda group, series: {size: group.score(Cell(series, size), *path) for size in group.sizes}


def _by_false_alarms(group: ResultGroup, series: str) -> Curve:
    cell, rates = Cell(series, ONE_SIZE), group.results[0].metrics.get("at_false_alarms", {})
    return {100 * float(rate): group.score(cell, "at_false_alarms", rate, "joint_accuracy") for rate in rates}


def _by_examples(group: ResultGroup, series: str) -> Curve:
    """Seeds are averaged evaluation by evaluation: their batches end at slightly different numbers of examples."""
    curve: dict[float, MeanStd | None] = {}
    for points in zip(*(result.curve for result in group.cells.get(Cell(series, ONE_SIZE), ())), strict=False):
        scores = [score for each in points if (score := number_at(each, "validation", group.metric)) is not None]
        curve[points[0]["examples"] / 1000] = MeanStd.of(scores) if scores else None
    return curve


def _with_paper(groups: Sequence[ResultGroup]) -> list[Panel]:
    panels: list[Panel] = []
    for group in groups:
        theirs: dict[str, dict[float, MeanStd | None]] = {}
        for cell, score in paper_scores(group.task, group.language).items():
            theirs.setdefault(cell.series, {})[cell.size] = MeanStd(score)
        ((title, ours),) = _panels([group], _by_size(PAPER_METRICS[group.task]))
        panels += [(f"{title}: here", ours), (f"{title}: paper", theirs)]
    return panels


def _lines(title: str, x_label: str, y_label: str, panels: Sequence[Panel]) -> Figure | None:
    """Panels in rows of two with one legend."""
    panels = [panel for panel in panels if any(any(curve.values()) for curve in panel[1].values())]
    if not panels:
        return None
    num_rows = (len(panels) + 1) // 2
    figure = Figure(figsize=(7.2, 2.6 * num_rows + 1.2), layout="constrained")
    axes: list[Axes] = list(figure.subplots(num_rows, 2, squeeze=False, sharex="row", sharey="row").flat)
    handles: dict[str, Any] = {}
    for axis, (name, curves) in zip(axes, panels, strict=False):
        for label, curve in curves.items():
            points = [(x, 100 * score.mean, 100 * (score.std or 0.0)) for x, score in curve.items() if score]
            if points:
                x, means, errors = zip(*points, strict=True)
                handles[label] = axis.errorbar(x, means, errors, capsize=3, markersize=5, **LOOKS[label])
        axis.set(title=name, xlabel=x_label, ylabel=y_label if axis in axes[::2] else "")
        axis.grid(color="#dddddd", linewidth=0.6)
        if x_label == SIZES:  # a logarithmic axis that includes 0
            axis.set_xscale("function", functions=(lambda x: np.log10(np.maximum(x, -4) + 5), lambda y: 10**y - 5))
            axis.set_xticks([0, 20, 100, 1000, 10_000, 100_000], ["0", "20", "100", "1k", "10k", "100k"])
    for axis in axes:
        axis.set_ylim(bottom=0)
    for axis in axes[len(panels) :]:
        axis.remove()
    figure.suptitle(title, fontweight="bold")
    legend = figure.legend(handles.values(), handles, loc="outside lower center", ncols=4, frameon=False)
    legend.set_title("error bars: standard deviation over seeds, where there are several")
    return figure


def _scatter(title: str, x_label: str, y_label: str, results: Sequence[Result]) -> Figure | None:
    """The first of the results with embeddings."""
    all_points = next((each.embeddings["points"] for each in results if each.embeddings), None)
    if all_points is None:
        return None
    figure = Figure(figsize=(5.4, 4.4), layout="constrained")
    axis = figure.subplots()
    kinds = {"placeholder": ("#d55e00", "x", "placeholders"), "vocabulary": ("#00427a", "o", "frequent names")}
    for kind, (color, marker, label) in kinds.items():
        x, y = zip(*([x, y] for x, y, group, _ in all_points if group == kind), strict=True)
        axis.scatter(x, y, s=9, color=color, marker=marker, linewidths=0.8, label=f"{len(x):,} {label}")
    axis.set(xticks=[], yticks=[], xlabel=x_label, ylabel=y_label)
    figure.suptitle(title, fontweight="bold")
    figure.legend(loc="outside lower center", ncols=2, frameon=False)
    return figure
