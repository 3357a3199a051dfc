"""Charts as inline SVG: lines, points, bars and intervals on one pair of axes; colours are CSS classes of the page.

A chart is as wide as a phone's screen, where its text is as large as the page's; wide screens show charts side by side.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from math import ceil, floor, isfinite, log10

from tenfold.report.formatting import format_number

WIDTH, HEIGHT = 360, 280  # of a picture, in units of its view box; its margins:
LEFT, RIGHT, TOP, BOTTOM = 58, 14, 12, 44
TONES = 10  # number of colours of series, `t0` to `t9`, beside the accent colour

Numbers = Sequence[float]


@dataclass(frozen=True)
class Mark:
    """A mark: `kind` is line, dashes, points, rings, pieces (straight, of two ends each), band or intervals (from y to
    y2), or bars (from 0; x are edges).

    `tone` is a number of a colour, or None for the accent; `hints` are shown when a point is hovered over.
    """

    kind: str
    x: Numbers
    y: Numbers
    y2: Numbers = ()
    label: str = ""
    tone: int | None = None
    hints: Sequence[str] = ()

    @property
    def look(self) -> str:
        return "ta" if self.tone is None else f"t{self.tone % TONES}"


@dataclass(frozen=True)
class Chart:
    """Axes with marks; `words` are the alternative text."""

    title: str
    x: str
    y: str
    marks: Sequence[Mark] = field(default_factory=tuple)
    words: str = ""
    log_x: bool = False
    square: bool = False

    def svg(self) -> str:
        """The picture with its legend."""
        return _draw(self)


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
        position = log10(value) if self.log else value
        return self.low + (position - self.start) / (self.end - self.start) * (self.high - self.low)

    def shows(self, value: float) -> bool:
        """Whether a value can be drawn."""
        return isfinite(value) and not (self.log and value <= 0)

    def ticks(self, about: int = 5) -> list[float]:
        """About `about` round numbers inside the range."""
        if self.log:
            return self._log_ticks(about)
        raw = (self.end - self.start) / about
        size = 10.0 ** floor(log10(raw))
        step = next(size * factor for factor in (1, 2, 5, 10) if size * factor >= raw)
        first = ceil(self.start / step)
        return [step * k for k in range(first, floor(self.end / step) + 1)]

    def _log_ticks(self, about: int) -> list[float]:
        powers = range(ceil(self.start), floor(self.end) + 1)
        if len(powers) >= 2:
            every = max(1, ceil(len(powers) / about))
            return [10.0**power for power in powers[::every]]
        # within a decade or two: 1, 2 and 5 of each
        fine = [f * 10.0**p for p in range(floor(self.start), ceil(self.end) + 1) for f in (1, 2, 5)]
        return [value for value in fine if self.start <= log10(value) <= self.end]


def _draw(chart: Chart) -> str:
    width = HEIGHT + 20 if chart.square else WIDTH
    across = [value for mark in chart.marks for value in mark.x]
    down = [value for mark in chart.marks for value in (*mark.y, *mark.y2, *([0.0] if mark.kind == "bars" else []))]
    x = Axis(across, LEFT, width - RIGHT, chart.log_x)
    y = Axis(down, HEIGHT - BOTTOM, TOP)
    words = escape(f"{chart.title}. {chart.words}".strip(), quote=True)
    parts = [
        f'<svg viewBox="0 0 {width} {HEIGHT}" role="img" aria-label="{words}">',
        *_frame(chart, x, y, width),
        *(_draw_mark(mark, x, y) for mark in chart.marks),
        "</svg>",
    ]
    return "".join(parts) + legend([(mark.label, mark.look) for mark in chart.marks if mark.label])


def legend(keys: Sequence[tuple[str, str]]) -> str:
    """Names beside dots in their colours."""
    shown = "".join(f'<span class="key {look}">{escape(label)}</span>' for label, look in keys)
    return f'<p class="legend">{shown}</p>' if shown else ""


def _frame(chart: Chart, x: Axis, y: Axis, width: int) -> list[str]:
    bottom = HEIGHT - BOTTOM
    parts = []
    for tick in x.ticks(4 if chart.square else 5):
        parts.append(f'<path class="grid" d="M{x(tick):.1f} {TOP}V{bottom}"/>')
        parts.append(f'<text x="{x(tick):.1f}" y="{bottom + 16}" text-anchor="middle">{format_number(tick)}</text>')
    for tick in y.ticks():
        parts.append(f'<path class="grid" d="M{LEFT} {y(tick):.1f}H{width - RIGHT}"/>')
        parts.append(f'<text x="{LEFT - 6}" y="{y(tick) + 4:.1f}" text-anchor="end">{format_number(tick)}</text>')
    parts.append(f'<path class="axis" d="M{LEFT} {TOP}V{bottom}H{width - RIGHT}"/>')
    middle = (LEFT + width - RIGHT) / 2
    parts.append(f'<text class="name" x="{middle:.0f}" y="{HEIGHT - 8}" text-anchor="middle">{escape(chart.x)}</text>')
    height = (TOP + bottom) / 2
    rotation = f'text-anchor="middle" transform="rotate(-90 13 {height:.0f})"'
    parts.append(f'<text class="name" x="13" y="{height:.0f}" {rotation}>{escape(chart.y)}</text>')
    return parts


def _draw_mark(mark: Mark, x: Axis, y: Axis) -> str:
    if mark.kind == "bars":
        return _draw_bars(mark, x, y)
    shown = [place for place, (a, b) in enumerate(zip(mark.x, mark.y, strict=True)) if x.shows(a) and y.shows(b)]
    points = [(x(mark.x[i]), y(mark.y[i])) for i in shown]
    if mark.kind == "points":
        return "".join(
            f'<circle class="{mark.look}" cx="{a:.1f}" cy="{b:.1f}" r="2.5">{_hint(mark, i)}</circle>'
            for i, (a, b) in zip(shown, points, strict=True)
        )
    if mark.kind == "rings":
        return "".join(f'<circle class="ring {mark.look}" cx="{a:.1f}" cy="{b:.1f}" r="5"/>' for a, b in points)
    if mark.kind == "pieces":
        ends = zip(points[::2], points[1::2], strict=True)
        pieces = "".join(f"M{a:.1f} {b:.1f}L{c:.1f} {d:.1f}" for (a, b), (c, d) in ends)
        return f'<path class="line {mark.look}" d="{pieces}"/>'
    if mark.kind in ("band", "intervals"):
        upper = [(x(mark.x[i]), y(mark.y2[i])) for i in shown]
        if mark.kind == "band":
            outline = " ".join(f"{a:.1f},{b:.1f}" for a, b in [*points, *reversed(upper)])
            return f'<polygon class="{mark.look}" points="{outline}"/>'
        bars = "".join(f"M{a:.1f} {b:.1f}V{c:.1f}" for (a, b), (_, c) in zip(points, upper, strict=True))
        return f'<path class="line {mark.look}" d="{bars}"/>'
    path = " ".join(f"{a:.1f},{b:.1f}" for a, b in points)
    look = "dashes" if mark.kind == "dashes" else f"line {mark.look}"
    return f'<polyline class="{look}" points="{path}"/>'


def _hint(mark: Mark, place: int) -> str:
    return f"<title>{escape(mark.hints[place])}</title>" if mark.hints else ""


def _draw_bars(mark: Mark, x: Axis, y: Axis) -> str:
    """Bars between consecutive edges, as one outline."""
    floor_ = y(0.0)
    steps = "".join(
        f"M{x(a):.1f} {floor_:.1f}V{y(h):.1f}H{x(b):.1f}V{floor_:.1f}Z"
        for a, b, h in zip(mark.x[:-1], mark.x[1:], mark.y, strict=True)
        if h
    )
    return f'<path class="bars {mark.look}" d="{steps}"/>'


def subsample_curve(x: Numbers, y: Numbers, most: int = 400) -> tuple[list[float], list[float]]:
    """At most about `most` points of a long curve, equally spaced, with the last."""
    step = max(1, ceil(len(x) / most))
    indices = [*range(0, len(x) - 1, step), len(x) - 1] if len(x) else []
    return [float(x[i]) for i in indices], [float(y[i]) for i in indices]
