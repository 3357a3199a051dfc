"""Column profiles as small charts: the distribution in grey, the target by bin in colour."""

from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from html import escape
from itertools import pairwise
from math import isfinite
from typing import Any

from tenfold.report.formatting import cut, format_number, format_share
from tenfold.report.svg import TONES

WIDTH, HEIGHT = 200, 64  # of a picture, in units of its view box
MAX_CARDS = 48  # columns that have one
Record = Mapping[str, Any]


def draw_cards(profiles: Sequence[Record], target: str | None) -> list[dict[str, Any]]:
    """Name, kind, missing values, explained variance and chart of each column; the strongest first."""
    shown = [one for one in profiles if one.get("counts")][:MAX_CARDS]
    scale = _scale(shown)
    return [
        {
            "name": one["name"],
            "kind": one["kind"],
            "missing": format_share(one["missing"]) if one["missing"] else "",
            "strength": "" if one.get("strength") is None else format_share(one["strength"]),
            "picture": _levels(one, scale, target) if one.get("levels") else _histogram(one, scale, target),
        }
        for one in shown
    ]


def _scale(profiles: Sequence[Record]) -> tuple[float, float]:
    """The range of the target's means over all columns, so that a flat line is a weak column."""
    values = [v for one in profiles for v in one.get("mean", ()) if v is not None and isfinite(v)]
    return (min(values), max(values)) if values else (0.0, 1.0)


def _histogram(one: Record, scale: tuple[float, float], target: str | None) -> str:
    edges, counts = one["edges"], one["counts"]
    low, high = edges[0], edges[-1]
    tallest = max(counts)
    width = [WIDTH * (edge - low) / (high - low) for edge in edges]
    bars = []
    if one.get("stack"):
        base = [0.0] * len(counts)
        for tone, part in enumerate(one["stack"]):
            bars.append(_bars(width, base, part, tallest, f"t{tone % TONES}"))
            base = [b + p for b, p in zip(base, part, strict=True)]
    else:
        bars.append(_bars(width, [0.0] * len(counts), counts, tallest, "grey"))
        bars.append(_line(one, width, scale))
    ends = _ends(one)
    words = escape(_words(one, target, f"from {ends[0]} to {ends[1]}"), quote=True)
    return (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{words}">{"".join(bars)}</svg>'
        f'<p class="ends"><span>{ends[0]}</span><span>{ends[1]}</span></p>'
    )


def _ends(one: Record) -> tuple[str, str]:
    """Labels of the ends of the histogram, with ≤ or ≥ where the end bin includes what is beyond. Dates are days since
    1970.
    """
    edges = one["edges"][0], one["edges"][-1]
    least, most = one.get("ends") or edges
    low, high = max(edges[0], least), min(edges[1], most)
    if one["kind"] == "date":
        return _day(low), _day(high)
    shown = [format_number(value) for value in (low, high)]
    return ("≤ " if least < low else "") + shown[0], ("≥ " if most > high else "") + shown[1]


def _day(days: float) -> str:
    return (date(1970, 1, 1) + timedelta(days=days)).isoformat()


def _bars(at: Sequence[float], base: Sequence[float], counts: Sequence[float], tallest: float, style: str) -> str:
    def height(count: float) -> float:
        return HEIGHT - (HEIGHT - 4) * count / tallest

    path = "".join(
        f"M{a + 0.5:.1f} {height(b):.1f}V{height(b + c):.1f}H{z - 0.5:.1f}V{height(b):.1f}Z"
        for a, z, b, c in zip(at[:-1], at[1:], base, counts, strict=True)
        if c
    )
    return f'<path class="bars {style}" d="{path}"/>' if path else ""


def _line(one: Record, at: Sequence[float], scale: tuple[float, float]) -> str:
    """The mean of the target in each bin, with its interval."""
    if not one.get("mean"):
        return ""
    low, high = scale
    span = (high - low) or 1.0

    def height(value: float) -> float:
        return min(max(HEIGHT - 4 - (HEIGHT - 8) * (value - low) / span, 1.0), HEIGHT - 1.0)

    middles = [(a + b) / 2 for a, b in pairwise(at)]
    points = [(x, height(v)) for x, v in zip(middles, one["mean"], strict=True) if v is not None]
    whiskers = "".join(
        f"M{x:.1f} {height(a):.1f}V{height(b):.1f}"
        for x, a, b in zip(middles, one["low"], one["high"], strict=True)
        if a is not None and b is not None
    )
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    dots = "".join(f'<circle class="ta" cx="{x:.1f}" cy="{y:.1f}" r="2"/>' for x, y in points)
    return f'<path class="whisker" d="{whiskers}"/><polyline class="line ta" points="{line}"/>{dots}'


def _levels(one: Record, scale: tuple[float, float], target: str | None) -> str:
    """The most frequent levels as bars, each with the mean of the target."""
    total, tallest = sum(one["counts"]), max(one["counts"])
    means = one.get("mean") or [None] * len(one["counts"])
    share = one.get("of") is not None
    rows, labels = [], []
    for place, (name, count, mean) in enumerate(zip(one["levels"], one["counts"], means, strict=True)):
        if not count:
            continue
        value = "" if mean is None else format_share(mean) if share else format_number(mean)
        labels.append(f"{cut(str(name), 60)} {format_share(count / total)}")
        rows.append(
            f'<span class="n" title="{escape(cut(str(name), 200), quote=True)}">{escape(cut(str(name), 24))}</span>'
            f'<span class="t">{_level_bar(one, place, count, tallest)}</span><span class="v">{value}</span>'
        )
    words = escape(_words(one, target, ", ".join(labels)), quote=True)
    return f'<div class="levels" role="img" aria-label="{words}">{"".join(rows)}</div>'


def _level_bar(one: Record, place: int, count: float, tallest: float) -> str:
    if not one.get("stack"):
        return f'<s style="width:{100 * count / tallest:.1f}%"></s>'
    return "".join(
        f'<s class="t{tone % TONES}" style="width:{100 * part[place] / tallest:.1f}%"></s>'
        for tone, part in enumerate(one["stack"])
        if part[place]
    )


def _words(one: Record, target: str | None, distribution: str) -> str:
    """Alternative text of the chart."""
    words = f"Distribution of {one['name']}: {distribution}."
    if one.get("strength") is not None:
        words += f" It explains {format_share(one['strength'])} of {target} alone."
    return words
