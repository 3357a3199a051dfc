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


def format_seconds(value: float | None) -> str:
    """A time with two digits in a unit that needs no exponent."""
    if value is None:
        return ""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if value >= size or unit == "µs":
            return f"{round_to(value / size, 2)} {unit}"
    raise AssertionError("every time has a unit")


def round_to(value: float, digits: int) -> str:
    """A number with so many significant digits, never with an exponent."""
    if value == 0 or not isfinite(value):
        return f"{value:g}"
    places = max(digits - 1 - floor(log10(abs(value))), 0)
    return f"{float(f'{value:.{digits - 1}e}'):,.{places}f}"


def format_cell(value: object) -> str:
    """A value of a table; nothing where it is missing."""
    return "" if value is None else value_said(value)


def format_share(value: float) -> str:
    """A share in percent; neither what is not zero nor what is not one is rounded to it."""
    if 0.0 < value < 0.001:
        return "< 0.1 %"
    if 0.999 < value < 1.0:
        return "> 99.9 %"
    return f"{100.0 * value:.0f} %" if value in (0.0, 1.0) or 0.1 <= value <= 0.99 else f"{100.0 * value:.1f} %"


def cut(text: str, most: int) -> str:
    """The begin of a long text."""
    return text if len(text) <= most else f"{text[: most - 1]}…"
