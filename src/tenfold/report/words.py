"""Numbers in words."""

from math import floor, isfinite, log10


def said(value: float) -> str:
    """A number in few characters."""
    if value == 0 or not isfinite(value):
        return f"{value:g}"
    if 1e-4 < abs(value) < 1e6:
        return f"{value:,.4g}" if abs(value) < 1e4 else f"{value:,.0f}"
    return f"{value:.0e}".replace("e-0", "e-").replace("e+0", "e")


def scored(value: float, low: float | None = None, high: float | None = None) -> tuple[str, str]:
    """A score and its interval, with the digits that the interval leaves: one more than its first."""
    if low is None or high is None or not (isfinite(low) and isfinite(high)) or high <= low:
        return said(value), ""
    digits = min(max(1 - floor(log10(high - low)), 0), 8)
    shown = [f"{number:,.{digits}f}" for number in (value, low, high)]
    return shown[0], f"{shown[1]} to {shown[2]}"


def value_said(value: object) -> str:
    """A parameter's value."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    return said(value)


def seconds_said(value: float | None) -> str:
    """A time."""
    if value is None:
        return ""
    return f"{value * 1e3:.0f} ms" if value < 1 else f"{value:.3g} s"
