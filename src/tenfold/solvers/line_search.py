"""A search along a direction by values and slopes, to the strong conditions of Wolfe.

A step length t is accepted where f(x + t d) <= f(x) - 1e-4 t decrease, decrease = -g'd, and |slope at t| <=
`accuracy` decrease. It is bracketed: lengths grow until the function or its slope rises, then the bracket shrinks by
the secant of the slopes or a parabola, and by halves where these are slow. With a small accuracy the step is the line
minimum, which on a quadratic function the second trial finds.
"""

from typing import ClassVar

import numpy as np

from tenfold.arrays import Floats
from tenfold.objectives.objective import Objective, Place

SUFFICIENT = 1e-4  # part of the expected decrease that is sufficient
MAX_TRIALS = 80  # readings of a search
GROWTH = 4.0, 100.0  # the least and the largest factor by which a step grows
MARGIN = 0.05  # of a bracket, that a trial keeps from its ends


class LineSearch:
    """How an objective is searched along directions: `accuracy` is the slope at the end, in units of that at 0."""

    trusting: ClassVar[bool] = False

    def __init__(self, objective: Objective, accuracy: float = 0.9) -> None:
        self.objective, self.accuracy = objective, accuracy
        self.length = 1.0  # of the last step

    def start(self, x: Floats) -> Place:
        reading = self.objective.read(x)
        return Place(x, reading.value, reading.gradient)

    def along(self, place: Place, d: Floats, decrease: float, first: float = 1.0) -> Place | None:
        """A place along d with sufficient descent, or None where rounding hides any; `first` is the first length."""
        low, low_value, low_slope = 0.0, place.f, -decrease
        high, high_value, high_slope = np.inf, np.inf, np.nan
        noise, best, width = self.objective.noise * abs(place.f), None, np.inf
        t = first
        for _ in range(MAX_TRIALS):
            there = self.start(place.x + t * d)
            slope = float(there.g @ d)
            finite = bool(np.isfinite(there.f) and np.isfinite(slope))
            flat = finite and abs(slope) <= self.accuracy * decrease
            if flat and there.f <= place.f + noise and (there.f <= place.f - SUFFICIENT * t * decrease or t >= 1e-12):
                self.length = t
                return there
            if not finite or there.f > place.f - SUFFICIENT * t * decrease + noise or there.f > low_value + noise:
                high, high_value, high_slope = t, there.f if finite else np.inf, slope if finite else np.nan
            elif slope >= 0.0:
                high, high_value, high_slope = t, there.f, slope
                best = (there, t) if best is None or there.f <= best[0].f else best
            else:
                low, low_value, low_slope, best = t, there.f, slope, (there, t)
            if not np.isfinite(high):
                secant = _secant(0.0, -decrease, low, low_slope)
                t = float(np.clip(secant, GROWTH[0] * low, GROWTH[1] * low))
                continue
            slow, width = high - low > 0.6 * width, high - low
            if width <= 1e-15 * high or high < 1e-30:
                break
            t = _inside(low, low_value, low_slope, high, high_value, high_slope, halve=slow)
        if best is None or not best[0].f <= place.f - SUFFICIENT * best[1] * decrease:
            return None
        self.length = best[1]
        return best[0]


def _secant(a: float, slope_a: float, b: float, slope_b: float) -> float:
    """Where the line through two slopes is zero; infinite where it does not rise."""
    rise = slope_b - slope_a
    return b - slope_b * (b - a) / rise if rise > 0.0 else np.inf


def _inside(
    low: float, low_value: float, low_slope: float, high: float, high_value: float, high_slope: float, *, halve: bool
) -> float:
    """The next trial in a bracket."""
    width = high - low
    if halve:
        return low + 0.5 * width
    if high_slope > 0.0:
        t = _secant(low, low_slope, high, high_slope)
    elif np.isfinite(high_value):
        bend = (high_value - low_value) / width - low_slope
        t = low - 0.5 * low_slope * width / bend if bend > 0.0 else low + 0.5 * width
    else:
        t = low + 0.1 * width
    return float(np.clip(t, low + MARGIN * width, high - MARGIN * width))
