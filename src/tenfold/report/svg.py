"""Pictures as inline SVG: lines, points and intervals on one pair of axes; colours are classes of the page's style."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from math import ceil, floor, isfinite, log10

from tenfold.report.words import said

WIDTH, HEIGHT = 380, 300
LEFT, RIGHT, TOP, BOTTOM = 62, 12, 14, 46
Numbers = Sequence[float]


@dataclass(frozen=True)
class Mark:
    """What is drawn: `kind` is line, dashes, points, or band and intervals (from y to y2)."""

    kind: str
    x: Numbers
    y: Numbers
    y2: Numbers = ()
    label: str = ""
    tone: int = 0


@dataclass(frozen=True)
class Chart:
    """Axes with marks: `title` is what a reader who cannot see the picture is told."""

    title: str
    x: str
    y: str
    marks: Sequence[Mark] = field(default_factory=tuple)
    log_x: bool = False
    square: bool = False

    def svg(self) -> str:
        """The picture, readable at any width."""
        return _drawn(self)


class Axis:
    """A scale from data to pixels with ticks at round numbers."""

    def __init__(self, values: Numbers, low: float, high: float, log: bool = False) -> None:
        seen = [value for value in values if isfinite(value) and not (log and value <= 0)]
        start, end = (min(seen), max(seen)) if seen else (0.0, 1.0)
        self.log = log
        if log:
            start, end = log10(start), log10(end)
        if end - start <= 1e-12 * max(abs(start), abs(end)):
            room = abs(start) * 0.1 or 0.5
            start, end = start - room, end + room
        room = 0.03 * (end - start)
        self.start, self.end = start - room, end + room
        self.low, self.high = low, high

    def __call__(self, value: float) -> float:
        at = log10(value) if self.log else value
        return self.low + (at - self.start) / (self.end - self.start) * (self.high - self.low)

    def shows(self, value: float) -> bool:
        """Whether a value can be drawn."""
        return isfinite(value) and not (self.log and value <= 0)

    def ticks(self, about: int = 5) -> list[float]:
        """Round numbers inside the range, about so many."""
        if self.log:
            powers = range(ceil(self.start), floor(self.end) + 1)
            every = max(1, ceil(len(powers) / about))
            return [10.0**power for power in powers[::every]]
        raw = (self.end - self.start) / about
        size = 10.0 ** floor(log10(raw))
        step = next(size * factor for factor in (1, 2, 5, 10) if size * factor >= raw)
        first = ceil(self.start / step)
        return [step * k for k in range(first, floor(self.end / step) + 1)]


def _drawn(chart: Chart) -> str:
    width = HEIGHT + 20 if chart.square else WIDTH
    across = [value for mark in chart.marks for value in mark.x]
    along = [value for mark in chart.marks for value in (*mark.y, *mark.y2)]
    x = Axis(across, LEFT, width - RIGHT, chart.log_x)
    y = Axis(along, HEIGHT - BOTTOM, TOP)
    parts = [
        f'<svg viewBox="0 0 {width} {HEIGHT}" role="img" aria-label="{escape(chart.title)}">',
        f"<title>{escape(chart.title)}</title>",
        *_frame(chart, x, y, width),
        *(_drawn_mark(mark, x, y) for mark in chart.marks),
        "</svg>",
    ]
    named = [mark for mark in chart.marks if mark.label]
    legend = "".join(f'<span class="key t{mark.tone}">{escape(mark.label)}</span>' for mark in named)
    return "".join(parts) + (f'<p class="legend">{legend}</p>' if legend else "")


def _frame(chart: Chart, x: Axis, y: Axis, width: int) -> list[str]:
    bottom = HEIGHT - BOTTOM
    parts = [f'<path class="axis" d="M{LEFT} {TOP}V{bottom}H{width - RIGHT}"/>']
    for tick in x.ticks(3 if chart.square else 5):
        parts.append(f'<path class="grid" d="M{x(tick):.1f} {TOP}V{bottom}"/>')
        parts.append(f'<text x="{x(tick):.1f}" y="{bottom + 16}" text-anchor="middle">{said(tick)}</text>')
    for tick in y.ticks():
        parts.append(f'<path class="grid" d="M{LEFT} {y(tick):.1f}H{width - RIGHT}"/>')
        parts.append(f'<text x="{LEFT - 6}" y="{y(tick) + 4:.1f}" text-anchor="end">{said(tick)}</text>')
    middle = (LEFT + width - RIGHT) / 2
    parts.append(f'<text x="{middle:.0f}" y="{HEIGHT - 8}" text-anchor="middle">{escape(chart.x)}</text>')
    height = (TOP + bottom) / 2
    turned = f'text-anchor="middle" transform="rotate(-90 14 {height:.0f})"'
    parts.append(f'<text x="14" y="{height:.0f}" {turned}>{escape(chart.y)}</text>')
    return parts


def _drawn_mark(mark: Mark, x: Axis, y: Axis) -> str:
    places = [(x(a), y(b)) for a, b in zip(mark.x, mark.y, strict=True) if x.shows(a) and y.shows(b)]
    if mark.kind == "points":
        return "".join(f'<circle class="t{mark.tone}" cx="{a:.1f}" cy="{b:.1f}" r="2"/>' for a, b in places)
    if mark.kind in ("band", "intervals"):
        upper = [(x(a), y(b)) for a, b in zip(mark.x, mark.y2, strict=True) if x.shows(a) and y.shows(b)]
        if mark.kind == "band":
            outline = " ".join(f"{a:.1f},{b:.1f}" for a, b in [*places, *reversed(upper)])
            return f'<polygon class="t{mark.tone}" points="{outline}"/>'
        bars = "".join(f"M{a:.1f} {b:.1f}V{c:.1f}" for (a, b), (_, c) in zip(places, upper, strict=True))
        return f'<path class="line t{mark.tone}" d="{bars}"/>'
    if mark.kind == "dashes":
        return f'<polyline class="dashes" points="{" ".join(f"{a:.1f},{b:.1f}" for a, b in places)}"/>'
    points = " ".join(f"{a:.1f},{b:.1f}" for a, b in places)
    return f'<polyline class="line t{mark.tone}" points="{points}"/>'


def thinned(x: Numbers, y: Numbers, most: int = 400) -> tuple[list[float], list[float]]:
    """Every so many of a long curve's points, the last kept."""
    step = max(1, ceil(len(x) / most))
    kept = [*range(0, len(x) - 1, step), len(x) - 1] if len(x) else []
    return [float(x[i]) for i in kept], [float(y[i]) for i in kept]


@dataclass(frozen=True)
class Range:
    """A line of a leaderboard's picture: a value with its interval."""

    name: str
    value: float
    low: float
    high: float
    best: bool = False


def ranges(rows: Sequence[Range], title: str, unit: str, mark: float | None = None) -> str:
    """Values with their intervals, one below the other; a dashed line at `mark`, the baseline."""
    height = 30 + 24 * len(rows)
    left, width = 220, 640
    ends = [v for row in rows for v in (row.low, row.high, row.value) if isfinite(v)]
    x = Axis([*ends, *([] if mark is None else [mark])], left, width - 16)
    parts = [
        f'<svg viewBox="0 0 {width} {height + 24}" role="img" aria-label="{escape(title)}">',
        f"<title>{escape(title)}</title>",
    ]
    for tick in x.ticks():
        parts.append(f'<path class="grid" d="M{x(tick):.1f} 6V{height - 14}"/>')
        parts.append(f'<text x="{x(tick):.1f}" y="{height + 2}" text-anchor="middle">{said(tick)}</text>')
    if mark is not None:
        parts.append(f'<path class="dashes" d="M{x(mark):.1f} 6V{height - 14}"/>')
    for k, row in enumerate(rows):
        if not isfinite(row.value):
            continue
        at, tone = 20 + 24 * k, 1 if row.best else 0
        parts.append(f'<text x="{left - 10}" y="{at + 4}" text-anchor="end">{escape(row.name)}</text>')
        if isfinite(row.low) and isfinite(row.high):
            parts.append(f'<path class="line t{tone}" d="M{x(row.low):.1f} {at}H{x(row.high):.1f}"/>')
        parts.append(f'<circle class="t{tone}" cx="{x(row.value):.1f}" cy="{at}" r="4"/>')
    middle = (left + width) / 2
    parts.append(f'<text x="{middle:.0f}" y="{height + 20}" text-anchor="middle">{escape(unit)}</text></svg>')
    return "".join(parts)
