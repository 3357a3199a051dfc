"""Interval plots (values with intervals, one per row) in plain HTML: text has the same size at every page width."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from math import isfinite, nan

from tenfold.report.formatting import format_number, format_score
from tenfold.report.svg import Axis


@dataclass(frozen=True)
class Range:
    """A value with its interval; `look` is a CSS class of the page."""

    name: str
    value: float
    low: float = nan
    high: float = nan
    look: str = ""


def draw_ranges(
    rows: Sequence[Range], title: str, unit: str, mark: float | None = None, *, bars: bool = False, dots: bool = True
) -> str:
    """The rows over one axis, with a line at `mark`; `bars` begin there. `dots` are at the values."""
    ends = [v for row in rows for v in (row.low, row.high, row.value) if isfinite(v)]
    x = Axis([*ends, *([] if mark is None else [mark])], 0.0, 100.0)
    line = "" if mark is None else f'<u style="left:{x(mark):.2f}%"></u>'
    labels, drawn = [], []
    for row in rows:
        if not isfinite(row.value):
            continue
        value, interval = format_score(row.value, row.low, row.high)
        value = value if interval else format_number(float(f"{row.value:.3g}"))
        value = value if value.strip("-0.,") else value.lstrip("-")
        labels.append(f"{row.name} {value}" + (f" ({interval})" if interval else ""))
        drawn.append(
            f'<div class="r {row.look}"><span class="n">{escape(row.name)}</span>'
            f'<span class="t" title="{escape(labels[-1], quote=True)}">{line}{_marks(row, x, mark, bars, dots)}</span>'
            f'<span class="v">{value}</span></div>'
        )
    ticks = "".join(f'<em style="left:{x(tick):.2f}%">{format_number(tick)}</em>' for tick in x.ticks(4))
    axis = f'<div class="r axis"><span class="n"></span><span class="t">{ticks}</span><span class="v"></span></div>'
    words = escape(f"{title}: {'; '.join(labels)}.", quote=True)
    return (
        f'<div class="ranges" role="img" aria-label="{words}">{"".join(drawn)}{axis}'
        f'<div class="r axis"><span class="n"></span><span class="unit">{escape(unit)}</span></div></div>'
    )


def _marks(row: Range, x: Axis, mark: float | None, bars: bool, dots: bool) -> str:
    parts = []
    if bars and mark is not None:
        left, right = sorted((x(mark), x(row.value)))
        parts.append(f'<s style="left:{left:.2f}%;width:{right - left:.2f}%"></s>')
    if isfinite(row.low) and isfinite(row.high):
        parts.append(f'<i style="left:{x(row.low):.2f}%;width:{x(row.high) - x(row.low):.2f}%"></i>')
    if dots:
        parts.append(f'<b style="left:{x(row.value):.2f}%"></b>')
    return "".join(parts)
