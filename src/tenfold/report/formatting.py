"""Formatting of numbers, seconds and fractions."""

from math import floor, isfinite, log10


def format_number(value: float) -> str:
    """A number with at most four significant digits."""
    if value == 0 or not isfinite(value):
        return f"{value:g}"
    if 1e-4 < abs(value) < 1e6:
        return f"{value:,.4g}" if abs(value) < 1e4 else f"{value:,.0f}"
    return f"{value:.0e}".replace("e-0", "e-").replace("e+0", "e")


def format_score(value: float, low: float | None = None, high: float | None = None) -> tuple[str, str]:
    """A score and its interval, both with the digits that the width of the interval determines."""
    if low is None or high is None or not (isfinite(low) and isfinite(high)) or high <= low:
        return format_number(value), ""
    digits = min(max(1 - floor(log10(high - low)), 0), 8)
    shown = [f"{number:,.{digits}f}" for number in (value, low, high)]
    return shown[0], f"{shown[1]} to {shown[2]}"


def format_value(value: object) -> str:
    """The value of a parameter."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    return format_number(value)


def format_seconds(value: float | None) -> str:
    """A time with two significant digits in a unit that needs no exponent."""
    if value is None:
        return ""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if value >= size or unit == "µs":
            return f"{round_to(value / size, 2)} {unit}"
    raise AssertionError("every time has a unit")


def round_to(value: float, digits: int) -> str:
    """A number with `digits` significant digits, never with an exponent."""
    if value == 0 or not isfinite(value):
        return f"{value:g}"
    places = max(digits - 1 - floor(log10(abs(value))), 0)
    return f"{float(f'{value:.{digits - 1}e}'):,.{places}f}"


def format_cell(value: object) -> str:
    """A value of a table; empty where it is missing."""
    return "" if value is None else format_value(value)


def format_share(value: float) -> str:
    """A fraction in percent; only exact zeros and ones are shown as 0 % and 100 %."""
    if 0.0 < value < 0.001:
        return "< 0.1 %"
    if 0.999 < value < 1.0:
        return "> 99.9 %"
    return f"{100.0 * value:.0f} %" if value in (0.0, 1.0) or 0.1 <= value <= 0.99 else f"{100.0 * value:.1f} %"


def cut(text: str, most: int) -> str:
    """Truncate a long text."""
    return text if len(text) <= most else f"{text[: most - 1]}…"
