"""The figures, as SVG files that are the same bytes for the same results."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from rarename.io import replacing
from rarename.report.groups import Cell, ResultGroup, Series
from rarename.report.paper import paper_group
from rarename.report.statistics import MeanStd
from rarename.sweep.result import Result, number_at

LOOKS: dict[str, dict[str, Any]] = {
    "ordered": {"color": "#00427a", "marker": "o", "linestyle": "-"},
    "randomized": {"color": "#3d9bd9", "marker": "s", "linestyle": "--"},
    "standard": {"color": "#d55e00", "marker": "^", "linestyle": ":"},
    "standard + pointer": {"color": "#808000", "marker": "v", "linestyle": "-."},
}
"""The series that figures show. They differ in marker, line and lightness, so they can be told apart in grey."""

ONE_SIZE = 1000
"""The vocabulary size of figures that show one size."""

SIZES, FLAGGED, SEEN = "names kept by the vocabulary", "correct functions flagged, %", "training examples, thousands"
ACCURACY, ANY_SCORE = "joint accuracy, %", "joint accuracy or MRR, %"
Curve = Mapping[float, MeanStd | None]
Panel = tuple[str, Mapping[str, Curve]]
"""A title and its curves, with scores from 0 to 1."""


def draw_figures(folder: Path, groups: Sequence[ResultGroup]) -> list[str]:
    """Write the figures that the results allow; returns their names."""
    misuse, completion = ([group for group in groups if group.task == task] for task in ("misuse", "completion"))
    both_rare, one_size = _by_size("by_rarity", "both rare", "joint_accuracy"), f"({ONE_SIZE:,} names kept)"
    lines = [
        ("headline", "Bugs located and repaired", _panels(misuse, _by_size()), SIZES, ACCURACY),
        ("misuse", "Variable misuse, here and in the paper", _beside_paper(misuse), SIZES, ACCURACY),
        ("completion", "Code completion, here and in the paper", _beside_paper(completion), SIZES, "MRR of values, %"),
        ("rare", "Bugs between two rare names", _panels(misuse, both_rare), SIZES, ACCURACY),
        (
            "false-alarms",
            f"Equal rates of false alarms {one_size}",
            _panels(misuse, _by_false_alarms),
            FLAGGED,
            ACCURACY,
        ),
        ("learning", f"Validation score during training {one_size}", _panels(groups, _by_examples), SEEN, ANY_SCORE),
    ]
    with mpl.rc_context({"font.size": 10, "axes.titlesize": 10, "svg.hashsalt": "rarename"}):
        figures = {name: _lines(title, panels, x, y) for name, title, panels, x, y in lines}
        figures["embeddings"] = _scatter([each for group in groups for each in group.results if each.embeddings])
        folder.mkdir(parents=True, exist_ok=True)
        for name, figure in figures.items():
            if figure:
                with replacing(folder / f"{name}.svg") as path:
                    figure.savefig(path, format="svg", metadata={"Date": None, "Creator": None})
    return [name for name, figure in figures.items() if figure]


def _panels(groups: Sequence[ResultGroup], curve: Callable[[ResultGroup, Series], Curve]) -> list[Panel]:
    """A panel for each group with the series that figures show."""
    panels: list[Panel] = []
    for group in groups:
        shown = [series for series in group.series if series.label in LOOKS]
        panels.append((group.title, {series.name: curve(group, series) for series in shown}))
    return panels


def _by_size(*path: str) -> Callable[[ResultGroup, Series], Curve]:
    return lambda group, series: {size: group.score(Cell(series, size), *path) for size in group.sizes}


def _by_false_alarms(group: ResultGroup, series: Series) -> Curve:
    cell = Cell(series, ONE_SIZE)
    rates = group.results[0].metrics.get("at_false_alarms", {})
    return {100 * float(rate): group.score(cell, "at_false_alarms", rate, "joint_accuracy") for rate in rates}


def _by_examples(group: ResultGroup, series: Series) -> Curve:
    """Seeds are averaged evaluation by evaluation: their batches end at slightly different numbers of examples."""
    curve: dict[float, MeanStd | None] = {}
    for points in zip(*(result.curve for result in group.cells.get(Cell(series, ONE_SIZE), ())), strict=False):
        scores = [score for each in points if (score := number_at(each, "validation", group.metric.key)) is not None]
        curve[points[0]["examples"] / 1000] = MeanStd.of(scores) if scores else None
    return curve


def _beside_paper(groups: Sequence[ResultGroup]) -> list[Panel]:
    panels: list[Panel] = []
    for group in groups:
        theirs: dict[str, dict[float, MeanStd | None]] = {}
        for cell, score in paper_group(group.task, group.language).scores.items():
            theirs.setdefault(cell.series.name, {})[cell.size] = MeanStd(score, None, 1)
        ((title, ours),) = _panels([group], _by_size(group.paper_metric))
        panels += [(f"{title}: here", ours), (f"{title}: paper", theirs)]
    return panels


def _lines(title: str, panels: Sequence[Panel], x_label: str, y_label: str) -> Figure | None:
    """Panels in rows of two with one legend."""
    panels = [panel for panel in panels if any(any(curve.values()) for curve in panel[1].values())]
    if not panels:
        return None
    figure = Figure(figsize=(7.2, 2.6 * ((len(panels) + 1) // 2) + 1.2), layout="constrained")
    axes: list[Axes] = list(figure.subplots((len(panels) + 1) // 2, 2, squeeze=False, sharex="row", sharey="row").flat)
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


def _scatter(results: Sequence[Result]) -> Figure | None:
    """The embeddings of the first of these results."""
    if not results:
        return None
    figure = Figure(figsize=(5.4, 4.4), layout="constrained")
    axis = figure.subplots()
    kinds = {"placeholder": ("#d55e00", "x", "placeholders"), "vocabulary": ("#00427a", "o", "frequent names")}
    for kind, (color, marker, label) in kinds.items():
        points = [point for point in results[0].embeddings["points"] if point[2] == kind]
        x, y = [point[0] for point in points], [point[1] for point in points]
        axis.scatter(x, y, s=9, color=color, marker=marker, linewidths=0.8, label=f"{len(points):,} {label}")
    axis.set(xticks=[], yticks=[], xlabel="t-SNE dimension 1", ylabel="t-SNE dimension 2")
    figure.suptitle("Embeddings of placeholders and frequent names", fontweight="bold")
    figure.legend(loc="outside lower center", ncols=2, frameon=False)
    return figure
