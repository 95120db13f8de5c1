"""The figures of a study."""

from collections.abc import Callable, Sequence

from rarename.report.document import Figure, percent, slug
from rarename.report.paper import PaperStudy
from rarename.report.results import Result, number_at
from rarename.report.statistics import Spread, spread
from rarename.report.studies import LANGUAGES, TASK_NAMES, Series, Study
from rarename.report.svg import (
    Axis,
    Drawing,
    Line,
    Panel,
    Point,
    even_axis,
    line_chart,
    log_axis,
    percent_axis,
    scatter,
    short,
    tones,
)

SIZES = "vocabulary size (names kept)"


def headline(studies: Sequence[Study]) -> Figure | None:
    """The first score of a task over vocabulary sizes, one panel for each language: our own results alone."""
    chosen = _chosen(studies)
    if not chosen:
        return None
    panels = [Panel(LANGUAGES.get(study.language, study.language), _lines(study)) for study in chosen]
    score = chosen[0].score.name
    title = f"{score} by vocabulary size"
    axes = _sizes_axis(panels), percent_axis(panels, f"{score.lower()}, %")
    subtitle = f"{chosen[0].name.split(',')[0]}, test split; {_seeds(chosen)}."
    return Figure(
        "headline",
        title,
        lambda width: line_chart(width, title, subtitle, panels, *axes, columns=2),
    )


def _chosen(studies: Sequence[Study]) -> list[Study]:
    """Of the first task that there is, the study of each language with most cells."""
    first = [study for study in studies if study.cells and study.task == studies[0].task]
    languages = dict.fromkeys(study.language for study in first)
    return [
        max((study for study in first if study.language == language), key=lambda study: len(study.cells))
        for language in languages
    ]


def over_sizes(
    study: Study, name: str, title: str, keys: Sequence[str], label: str, paper: PaperStudy | None = None
) -> Figure | None:
    """A score over vocabulary sizes, with the paper's curves if they are the same score."""
    lines = _lines(study, *keys)
    if not lines:
        return None
    if paper is not None:
        colours = tones(list(paper.scores))
        lines += [
            Line(
                f"paper: {label}",
                [Point(size, score, tip=f"paper, {label}, {size:,}: {score:.2f} %") for size, score in scores.items()],
                colours[label],
                is_quoted=True,
            )
            for label, scores in paper.scores.items()
            if study.find(label)
        ]
    panels = [Panel("", lines)]
    axes = _sizes_axis(panels), percent_axis(panels, f"{label}, %")
    subtitle = f"Test split; {_seeds([study])}."
    if any(line.is_quoted for line in lines) and paper is not None:
        subtitle += f" Dashed: the paper's own numbers ({paper.corpus})."
    return _figure(study, name, title, lambda width, full: line_chart(width, full, subtitle, panels, *axes))


def both_rare(study: Study) -> Figure | None:
    """How many misuses are between two rare names, and how many of just these are found."""
    keys = ("by_rarity", "both rare")
    lines = _lines(study, *keys, "joint_accuracy")
    shares = rare_shares(study)
    if not lines or not shares:
        return None
    bars = [
        Point(size, 100 * share, tip=f"{size:,}: {percent(share)} % of all misuses") for size, share in shares.items()
    ]
    panels = [Panel("", lines, bars, "share of all misuses")]
    axes = _sizes_axis(panels), percent_axis(panels, "joint accuracy, and share of all misuses, %")
    subtitle = (
        "Lines: joint accuracy on just these misuses. Columns: their share of all misuses. "
        f"With the strategy standard both names read the same. Test split; {_seeds([study])}."
    )
    return _figure(
        study,
        "both-rare",
        "Misuses between two rare names",
        lambda width, full: line_chart(width, full, subtitle, panels, *axes),
    )


def rare_shares(study: Study) -> dict[int, float]:
    """The share of misuses with both names rare, by vocabulary size."""
    shares: dict[int, float] = {}
    for result in study.results:
        rare, all_of_them = result.score("by_rarity", "both rare", "num_buggy"), result.score("num_buggy")
        if rare is not None and all_of_them:
            shares[result.size] = rare / all_of_them
    return shares


def false_alarms(study: Study) -> Figure | None:
    """Joint accuracy against the share of clean functions that is flagged, a panel for each vocabulary size."""
    colours = tones([series.label for series in study.series])
    shares = alarm_shares(study)
    panels = []
    for size in study.sizes:
        lines = []
        for series in study.series:
            values = {share: study.value(series, size, "at_false_alarms", share, "joint_accuracy") for share in shares}
            found = [_point(100 * float(share), value, series) for share, value in values.items() if value is not None]
            if found:
                lines.append(Line(series.label, found, colours[series.label]))
        if lines:
            panels.append(Panel(_size_title(size), lines))
    if not panels:
        return None
    ticks = [(100 * float(share), f"{100 * float(share):g}") for share in shares]
    axes = (
        log_axis([tick for tick, _ in ticks], "clean functions flagged, %", ticks),
        percent_axis(panels, "joint accuracy, %"),
    )
    subtitle = f"The no-bug logit is moved until both flag the same share. Test split; {_seeds([study])}."
    return _figure(
        study,
        "false-alarms",
        "Misuses found and repaired at equal false alarms",
        lambda width, full: line_chart(width, full, subtitle, panels, *axes, columns=3),
    )


def alarm_shares(study: Study) -> list[str]:
    """The shares of clean functions at which results were compared, as they are spelt in the results."""
    found: set[str] = set()
    for result in study.results:
        groups = result.scores.get("at_false_alarms")
        found |= {share for share in groups if _is_share(share)} if isinstance(groups, dict) else set()
    return sorted(found, key=float)


def _is_share(text: str) -> bool:
    try:
        return 0 < float(text) < 1
    except ValueError:
        return False


def learning_curves(study: Study) -> Figure | None:
    """The validation score while training, a panel for each vocabulary size."""
    key = study.score.key
    colours = tones([series.label for series in study.series])
    panels = []
    for size in study.sizes:
        lines = []
        for series in study.series:
            found = _learning(study.cells.get((series, size), ()), key)
            points = [_point(examples, value, series, f"{examples:,} examples") for examples, value in found.items()]
            if points:
                lines.append(Line(series.label, points, colours[series.label]))
        if lines:
            panels.append(Panel(_size_title(size), lines))
    if not panels:
        return None
    most = max(point.x for panel in panels for line in panel.lines for point in line.points)
    axes = (
        even_axis(0, most, "examples seen in training", 4),
        percent_axis(panels, f"{study.score.name.lower()}, %"),
    )
    subtitle = f"Validation split, on which the best weights are chosen; {_seeds([study])}."
    return _figure(
        study,
        "learning-curves",
        f"{study.score.name} while training",
        lambda width, full: line_chart(width, full, subtitle, panels, *axes, columns=3),
    )


def _learning(results: Sequence[Result], key: str) -> dict[int, Spread]:
    """The score by number of examples, over the seeds. Batches end where they end: looks go together by their order."""
    looks: dict[int, list[tuple[float, float]]] = {}
    for result in results:
        for number, point in enumerate(result.curve):
            examples, value = number_at(point, "examples"), number_at(point, "validation", key)
            if examples is not None and value is not None:
                looks.setdefault(number, []).append((examples, value))
    return {
        round(spread([examples for examples, _ in look]).mean): spread([value for _, value in look])
        for _, look in sorted(looks.items())
    }


def embedding(result: Result) -> Figure | None:
    """Where placeholders and names of the vocabulary lie, in two dimensions."""
    found: dict[str, list[Point]] = {"placeholder": [], "vocabulary": []}
    for entry in result.embeddings.get("points", []):
        match entry:
            case [int() | float() as x, int() | float() as y, str() as kind, *names] if kind in found:
                found[kind].append(Point(x, y, tip=str(names[0]) if names else kind))
    if not any(found.values()):
        return None
    groups = [
        Line(f"{len(found['placeholder']):,} placeholders", found["placeholder"], 3),
        Line(f"{len(found['vocabulary']):,} names of the vocabulary", found["vocabulary"], 0),
    ]
    title = f"Embeddings of values, {result.strategy}, {result.size:,} names"
    subtitle = (
        f"{TASK_NAMES[result.task]}, {LANGUAGES.get(result.language, result.language)}. Two dimensions made of many: "
        "who is near whom has a meaning, axes have none."
    )
    return Figure(
        slug(result.experiment, result.cell, "embeddings"), title, lambda width: scatter(width, title, subtitle, groups)
    )


def _figure(study: Study, name: str, title: str, draw: Callable[[int, str], Drawing]) -> Figure:
    full = f"{title}: {study.title}"
    return Figure(slug(study.slug, name), full, lambda width: draw(width, full))


def _lines(study: Study, *keys: str) -> list[Line]:
    colours = tones([series.label for series in study.series])
    lines = []
    for series in study.series:
        curve = study.curve(series, *keys)
        points = [_point(size, value, series, f"{size:,} names") for size, value in curve.items()]
        if points:
            lines.append(Line(series.label, points, colours[series.label]))
    return lines


def _point(x: float, value: Spread, series: Series, where: str = "") -> Point:
    deviation = None if value.deviation is None else 100 * value.deviation
    spelt = "" if deviation is None else f" ± {deviation:.1f}"
    tip = ", ".join(filter(None, [series.label, where or f"{x:g} %"])) + f": {percent(value.mean)}{spelt} %"
    return Point(x, 100 * value.mean, deviation, tip)


def _sizes_axis(panels: Sequence[Panel]) -> Axis:
    sizes = {point.x for panel in panels for line in panel.lines for point in line.points}
    label = SIZES.replace(")", "; 0: full anonymization)") if 0 in sizes else SIZES
    return log_axis(sorted(sizes), label, [(size, short(size)) for size in sorted(sizes) if size > 0])


def _size_title(size: int) -> str:
    return f"{short(size)} names kept"


def _seeds(studies: Sequence[Study]) -> str:
    """How many seeds are behind the points, and what the bars are.

    Bars over one seed cannot be drawn; the reader is told that there is no measure of chance.
    """
    counts = sorted({len(results) for study in studies for results in study.cells.values()})
    if counts == [1]:
        return "one seed each, so no error bars"
    seeds = f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    return f"mean over {seeds} seeds, error bars: ± one standard deviation"
