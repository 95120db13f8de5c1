"""Charts as SVG, written by hand: lines over an axis, panels of them, points in a plane.

Colours are CSS variables, so that a page can give them for a light and for a dark screen; a file of its own carries
both (`standalone`). Widths of text are estimated, because there is no font to ask.
"""

import html
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

TONES = ("ordered", "randomized", "by_frequency", "standard", "full", "standard + pointer", "ordered + pointer")
"""Series that have the same colour and mark in every figure; others take what is left."""

LIGHT = {
    "ink": "#1b2430", "muted": "#5b6675", "grid": "#e3e7ec", "axis": "#9aa5b1", "card": "#ffffff", "bar": "#dfe4ea",
    "t0": "#0b4f9e", "t1": "#1a91d1", "t2": "#7b3fb5", "t3": "#d9660a", "t4": "#b0306a", "t5": "#1f8a4c",
    "t6": "#0e7c7b", "t7": "#8a6d1a", "t8": "#4b5563",
}  # fmt: skip
DARK = {
    "ink": "#e6ebf2", "muted": "#9aa7b6", "grid": "#2a3441", "axis": "#5d6a79", "card": "#151c25", "bar": "#2b3644",
    "t0": "#6aa9ff", "t1": "#58d0ff", "t2": "#c49bff", "t3": "#ff9d4d", "t4": "#ff85b5", "t5": "#5fd38d",
    "t6": "#4fd1c5", "t7": "#e2c35b", "t8": "#b6c0cc",
}  # fmt: skip
"""Colours; t0 to t8 are those of series."""

STYLE = (
    "text{font-family:system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu Sans',sans-serif;fill:var(--ink)}"
    ".title{font-size:16px;font-weight:650}.panel{font-size:13px;font-weight:600}"
    ".small{font-size:12px;fill:var(--muted)}.end{font-size:12px}.quoted{opacity:.75;font-style:italic}"
    ".grid{stroke:var(--grid)}.axis{stroke:var(--axis)}.bar{fill:var(--bar)}"
    ".line{fill:none;stroke-width:2.2;stroke-linejoin:round}.error{stroke-width:1.4}"
    ".faint .line{stroke-width:1.5;stroke-dasharray:5 4}.faint{opacity:.5}"
    ".lead{stroke-width:1;stroke-dasharray:1 3;opacity:.7}.dot{opacity:.6}"
    + "".join(
        f".t{number}{{stroke:var(--t{number});fill:var(--t{number})}}.t{number}.line{{fill:none}}"
        f"text.t{number}{{stroke:none}}.t{number}.hollow{{fill:var(--card)}}"
        for number in range(9)
    )
)


def variables(colours: dict[str, str]) -> str:
    return "".join(f"--{name}:{colour};" for name, colour in colours.items())


@dataclass(frozen=True)
class Drawing:
    """A finished figure."""

    width: int
    height: int
    title: str
    body: str

    def inline(self, kind: str) -> str:
        """For a page that has `STYLE` and the colours; `kind` is a class of it."""
        return (
            f'<svg class="{kind}" viewBox="0 0 {self.width} {self.height}" role="img" '
            f'aria-label="{escape(self.title)}">\n{self.body}</svg>\n'
        )

    def standalone(self) -> str:
        """A file of its own, on a ground of its own: readable on any page."""
        style = (
            f"svg{{{variables(LIGHT)}}}@media (prefers-color-scheme:dark){{svg{{{variables(DARK)}}}}}"
            f".ground{{fill:var(--card)}}{STYLE}"
        )
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{self.width}" height="{self.height}" '
            f'viewBox="0 0 {self.width} {self.height}" role="img" aria-label="{escape(self.title)}">\n'
            f"<style>{style}</style>\n"
            f'<rect class="ground" width="{self.width}" height="{self.height}" rx="8"/>\n{self.body}</svg>\n'
        )


@dataclass(frozen=True)
class Point:
    x: float
    y: float
    deviation: float | None = None
    tip: str = ""


@dataclass(frozen=True)
class Line:
    """A series: its points, and the name that stands at its end."""

    label: str
    points: Sequence[Point]
    tone: int = 8
    is_quoted: bool = False
    """The paper's, not ours: fainter, and dashed."""


@dataclass(frozen=True)
class Panel:
    title: str
    lines: Sequence[Line]
    bars: Sequence[Point] = ()
    bars_label: str = ""


@dataclass(frozen=True)
class Axis:
    """Where values lie between 0 and 1, and which of them are named."""

    place: Callable[[float], float]
    ticks: Sequence[tuple[float, str]]
    label: str
    gap: float | None = None
    """Where 0 is cut off from an axis of logarithms."""


def tones(labels: Sequence[str]) -> dict[str, int]:
    """A colour for each series: its own, or one that is free."""
    fixed = {label: TONES.index(label) for label in labels if label in TONES}
    free = [tone for tone in (7, 5, 2, 4, 6, 1, 3, 0, 8) if tone not in fixed.values()] or [8]
    others = [label for label in labels if label not in fixed]
    return fixed | {label: free[number % len(free)] for number, label in enumerate(others)}


def short(number: float) -> str:
    """
    >>> [short(number) for number in (0, 20, 1000, 2500, 622000, 2000000)]
    ['0', '20', '1k', '2.5k', '622k', '2M']
    """
    for unit, letter in ((1_000_000, "M"), (1_000, "k")):
        if number >= unit:
            return f"{number / unit:g}{letter}"
    return f"{number:g}"


def log_axis(values: Sequence[float], label: str, ticks: Sequence[tuple[float, str]] = ()) -> Axis:
    """Logarithms; 0, if it is among the values, has a place of its own on the left."""
    positive = [value for value in values if value > 0]
    has_zero = len(positive) < len(values)
    low, high = (math.log10(min(positive)), math.log10(max(positive))) if positive else (0.0, 1.0)
    if high - low < 0.5:
        low, high = low - 0.5, high + 0.5
    zero = low - max(0.6, 0.16 * (high - low))
    start = zero if has_zero else low
    named = list(ticks) or [(10.0**power, short(10**power)) for power in range(math.ceil(low), math.floor(high) + 1)]

    def place(value: float) -> float:
        at = math.log10(value) if value > 0 else zero
        return (at - start) / (high - start)

    gap = (low - zero) / (high - zero) / 2 if has_zero else None
    return Axis(place, ([(0.0, "0")] if has_zero else []) + named, label, gap)


def even_axis(low: float, high: float, label: str, num_ticks: int = 5) -> Axis:
    """Equal steps, of round numbers."""
    step = round_step((high - low) / num_ticks)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    last = max(last, first + 1)
    bottom, top = first * step, last * step
    ticks = [(number * step, short(round(number * step, 9))) for number in range(first, last + 1)]
    return Axis(lambda value: (value - bottom) / (top - bottom), ticks, label)


def round_step(step: float) -> float:
    """
    >>> round_step(17), round_step(0.3), round_step(20)
    (20.0, 0.5, 20.0)
    """
    if step <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(step) + 1e-9)
    return next((factor * power for factor in (1, 2, 5) if factor * power >= step * (1 - 1e-9)), 10 * power)


def percent_axis(panels: Sequence[Panel], label: str) -> Axis:
    """From 0, unless all values are far from it."""
    lines = [point for panel in panels for line in panel.lines for point in line.points]
    lows = [point.y - (point.deviation or 0) for point in lines]
    highs = [point.y + (point.deviation or 0) for point in lines]
    for panel in panels:
        lows += [0.0] * bool(panel.bars)
        highs += [bar.y for bar in panel.bars]
    low, high = min(lows, default=0.0), max(highs, default=100.0)
    if low < 0.7 * high:
        return even_axis(0.0, max(high, 0.01), label)
    axis = even_axis(max(0.0, low - 0.08 * (high - low)), max(high, 0.01), label)
    return replace(axis, label=f"{label} (from {axis.ticks[0][1]} on)")


def line_chart(
    width: int, title: str, subtitle: str, panels: Sequence[Panel], x_axis: Axis, y_axis: Axis, columns: int = 1
) -> Drawing:
    """Panels with the same axes, each with the names of its lines at their ends."""
    is_narrow = width < 500
    if is_narrow:
        columns = 1
    columns = min(columns, len(panels))
    heading = _Heading(width, title, subtitle)
    longest = 16 if is_narrow else 30 if columns == 1 else 19
    room = 6.6 * max((len(row) for panel in panels for name in _names(panel) for row in wrap(name, longest)), default=0)
    panel_width = width / columns
    most = max(sum(len(wrap(name, longest)) for name in _names(panel)) for panel in panels)
    plot_height = max(230 if columns < 3 and len(panels) < 3 else 150, 14 * most + 10)
    if columns == 1 and len(panels) == 1 and not is_narrow:
        plot_height = max(plot_height, 300)
    has_titles = any(panel.title for panel in panels)
    above, below = (44 if has_titles else 26), 48
    panel_height = above + plot_height + below
    parts = [heading.body]
    for number, panel in enumerate(panels):
        box = _Box(
            left=(number % columns) * panel_width + 40,
            top=heading.height + (number // columns) * panel_height + above,
            width=panel_width - 40 - room - 22,
            height=plot_height,
        )
        parts.append(_panel(panel, box, x_axis, y_axis, longest))
    height = heading.height + math.ceil(len(panels) / columns) * panel_height
    return Drawing(width, round(height), f"{title}. {subtitle}", "".join(parts))


def scatter(width: int, title: str, subtitle: str, groups: Sequence[Line]) -> Drawing:
    """Points in a plane without units: only who is near whom has a meaning."""
    heading = _Heading(width, title, subtitle)
    found = [point for group in groups for point in group.points]
    xs, ys = [point.x for point in found] or [0.0], [point.y for point in found] or [0.0]
    side = max(max(xs) - min(xs), max(ys) - min(ys)) or 1.0
    scale = (width - 40) / max(side, max(xs) - min(xs))
    height = max(160.0, min(scale * (max(ys) - min(ys)) + 20, 0.6 * width if width > 500 else width))
    scale = min(scale, (height - 20) / ((max(ys) - min(ys)) or 1.0))
    parts, legend, at = [heading.body], [], 20.0
    for group in groups:
        marks = []
        for point in group.points:
            x = width / 2 + scale * (point.x - (min(xs) + max(xs)) / 2)
            y = heading.height + 30 + height / 2 - scale * (point.y - (min(ys) + max(ys)) / 2)
            marks.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.4"><title>{escape(point.tip)}</title></circle>')
        parts.append(f'<g class="t{group.tone} dot" stroke="none">{"".join(marks)}</g>\n')
        legend.append(f'<circle class="t{group.tone}" cx="{at:.0f}" cy="{heading.height + 8:.0f}" r="5"/>')
        legend.append(_text(at + 10, heading.height + 12, group.label, f"end t{group.tone}"))
        at += 34 + 6.8 * len(group.label)
    return Drawing(
        width, round(heading.height + 40 + height), f"{title}. {subtitle}", "".join([*parts, *legend]) + "\n"
    )


@dataclass(frozen=True)
class _Box:
    left: float
    top: float
    width: float
    height: float

    def x(self, share: float) -> float:
        """A little inside, so that marks and bars do not lie on the axis."""
        return self.left + 10 + share * (self.width - 20)

    def y(self, share: float) -> float:
        return self.top + (1 - share) * self.height


@dataclass
class _Heading:
    """Title and subtitle, broken into rows that fit."""

    width: int
    title: str
    subtitle: str
    body: str = field(init=False)
    height: float = field(init=False)

    def __post_init__(self) -> None:
        rows = [(row, "title", 20) for row in wrap(self.title, int((self.width - 24) / 9.3))]
        rows += [(row, "small", 16) for row in wrap(self.subtitle, int((self.width - 24) / 6.6))]
        parts, at = [], 6.0
        for row, kind, step in rows:
            at += step
            parts.append(_text(12, at, row, kind))
        self.body, self.height = "".join(parts), at + 12


def _names(panel: Panel) -> list[str]:
    return [line.label for line in panel.lines] + ([panel.bars_label] if panel.bars else [])


def _panel(panel: Panel, box: _Box, x_axis: Axis, y_axis: Axis, longest: int) -> str:
    parts = []
    if panel.title:
        parts.append(_text(box.left - 28, box.top - 27, panel.title, "panel"))
    parts.append(_text(box.left - 28, box.top - 10, y_axis.label, "small"))
    for value, name in y_axis.ticks:
        y = box.y(y_axis.place(value))
        parts.append(_rule(box.left, y, box.left + box.width, y, "axis" if value == y_axis.ticks[0][0] else "grid"))
        parts.append(_text(box.left - 6, y + 4, name, "small", "end"))
    free_from = -math.inf
    for value, name in x_axis.ticks:
        x = box.x(x_axis.place(value))
        parts.append(_rule(x, box.top + box.height, x, box.top + box.height + 4, "axis"))
        if x - 3.4 * len(name) >= free_from:
            parts.append(_text(x, box.top + box.height + 17, name, "small", "middle"))
            free_from = x + 3.4 * len(name) + 6
    if x_axis.gap is not None:
        x, y = box.x(x_axis.gap), box.top + box.height
        parts += [_rule(x - 5, y + 4, x - 1, y - 4, "axis"), _rule(x, y + 4, x + 4, y - 4, "axis")]
    middle = max(box.left + box.width / 2, box.left - 32 + 3.4 * len(x_axis.label))
    parts.append(_text(middle, box.top + box.height + 35, x_axis.label, "small", "middle"))
    ends = []
    for bar in panel.bars:
        x, top = box.x(x_axis.place(bar.x)), box.y(y_axis.place(bar.y))
        height = box.top + box.height - top
        parts.append(
            f'<rect class="bar" x="{x - 8:.1f}" y="{top:.1f}" width="16" height="{height:.1f}">'
            f"<title>{escape(bar.tip)}</title></rect>\n"
        )
    if panel.bars:
        last = max(panel.bars, key=lambda bar: bar.x)
        ends.append((box.y(y_axis.place(last.y)), box.x(x_axis.place(last.x)) + 8, panel.bars_label, "small", "axis"))
    for line in sorted(panel.lines, key=lambda line: not line.is_quoted):
        parts.append(_line(line, box, x_axis, y_axis))
        last = max(line.points, key=lambda point: point.x)
        tone = f"t{line.tone}"
        ends.append((
            box.y(y_axis.place(last.y)),
            box.x(x_axis.place(last.x)) + 6,
            line.label,
            f"end {tone} quoted" if line.is_quoted else f"end {tone}",
            tone,
        ))  # fmt: skip
    parts.append(_ends(ends, box, longest))
    return "".join(parts)


def _line(line: Line, box: _Box, x_axis: Axis, y_axis: Axis) -> str:
    tone = f"t{line.tone}"
    places = [
        (box.x(x_axis.place(point.x)), box.y(y_axis.place(point.y)), point)
        for point in sorted(line.points, key=lambda point: point.x)
    ]
    parts = ['<g class="faint">' if line.is_quoted else "<g>"]
    if len(places) > 1:
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y, _ in places)
        parts.append(f'<polyline class="{tone} line" points="{path}"/>')
    for x, y, point in places:
        if point.deviation is not None:
            high = box.y(y_axis.place(point.y + point.deviation))
            low = min(box.y(y_axis.place(point.y - point.deviation)), box.top + box.height)
            parts.append(
                f'<path class="{tone} error" d="M{x:.1f} {low:.1f}V{high:.1f}'
                f'M{x - 4:.1f} {high:.1f}h8M{x - 4:.1f} {low:.1f}h8"/>'
            )
        parts.append(_mark(line, x, y, point.tip))
    return "".join(parts) + "</g>\n"


def _mark(line: Line, x: float, y: float, tip: str) -> str:
    kind = f"t{line.tone}{' hollow' if line.is_quoted else ''}"
    r = 3.0 if line.is_quoted else 3.8
    shapes = (
        f"M{x - r:.1f} {y:.1f}a{r} {r} 0 1 0 {2 * r} 0a{r} {r} 0 1 0 {-2 * r} 0z",
        f"M{x - r:.1f} {y - r:.1f}h{2 * r}v{2 * r}h{-2 * r}z",
        f"M{x:.1f} {y - 1.3 * r:.1f}L{x + 1.3 * r:.1f} {y:.1f}L{x:.1f} {y + 1.3 * r:.1f}L{x - 1.3 * r:.1f} {y:.1f}z",
        f"M{x:.1f} {y - 1.2 * r:.1f}L{x + 1.2 * r:.1f} {y + r:.1f}H{x - 1.2 * r:.1f}z",
        f"M{x:.1f} {y + 1.2 * r:.1f}L{x + 1.2 * r:.1f} {y - r:.1f}H{x - 1.2 * r:.1f}z",
    )
    return f'<path class="{kind}" d="{shapes[line.tone % len(shapes)]}"><title>{escape(tip)}</title></path>'


def _ends(ends: Sequence[tuple[float, float, str, str, str]], box: _Box, longest: int) -> str:
    """The names at the ends of the lines, moved apart where they would lie on each other."""
    placed: list[tuple[float, float, float, list[str], str, str]] = []
    bottom = box.top - 4
    for y, x, label, kind, tone in sorted(ends):
        rows = wrap(label, longest)
        top = max(bottom, y - 7 * len(rows))
        placed.append((top, y, x, rows, kind, tone))
        bottom = top + 14 * len(rows)
    limit = box.top + box.height + 8
    for number in reversed(range(len(placed))):
        top, y, x, rows, kind, tone = placed[number]
        top = min(top, limit - 14 * len(rows))
        placed[number] = (top, y, x, rows, kind, tone)
        limit = top
    parts, text_at = [], box.left + box.width + 14
    for top, y, x, rows, kind, tone in placed:
        middle = top + 7 * len(rows)
        if x < text_at - 12 or abs(middle - y) > 3:
            parts.append(
                f'<path class="lead {tone}" fill="none" style="fill:none" '
                f'd="M{x:.1f} {y:.1f}L{box.left + box.width + 2:.1f} {y:.1f}L{text_at - 3:.1f} {middle:.1f}"/>'
            )
        for number, row in enumerate(rows):
            parts.append(_text(text_at, top + 11 + 14 * number, row, kind))
    return "".join(parts) + "\n"


def wrap(text: str, longest: int) -> list[str]:
    """Rows of at most so many characters, broken between words.

    >>> wrap("paper: standard + pointer", 16)
    ['paper: standard', '+ pointer']
    """
    rows: list[str] = []
    for word in text.split():
        if rows and len(rows[-1]) + 1 + len(word) <= longest:
            rows[-1] += f" {word}"
        else:
            rows.append(word)
    return rows


def _text(x: float, y: float, text: str, kind: str, anchor: str = "start") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{kind}" text-anchor="{anchor}">{escape(text)}</text>\n'


def _rule(x1: float, y1: float, x2: float, y2: float, kind: str) -> str:
    return f'<line class="{kind}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>\n'


def escape(text: str) -> str:
    """For XML, which has no way to say most control characters; a string in somebody's code may hold any."""
    return html.escape("".join(sign if sign.isprintable() else "\N{REPLACEMENT CHARACTER}" for sign in text))
