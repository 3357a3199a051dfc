"""Theorems: numbers that hold under assumptions, and the assumptions are the arguments.

Nothing here is computed from a fit alone, and nothing here makes a certificate ok.
"""

from typing import NamedTuple

import numpy as np

from tenfold.arrays import Floats

__all__ = ["MistakeTrace", "mistake_bound", "mistake_bound_inseparable", "mistake_trace"]


def mistake_bound(radius: float, margin: float) -> float:
    """The most mistakes of a perceptron that starts at zero, in any order and however often rows come: (R / gamma)^2.

    Assumes that all rows, with the constant 1 of an intercept where there is one, are not longer than `radius`, and
    that some weights of length one, the intercept among them, have ``y w.x >= margin > 0`` on all of them. Rows of
    equal weight; a tie may be a mistake or not. Block 1962, Novikoff 1962; CMU lecture 11, slide 18; Seeger, theorem
    2.1 (rows of length one: 1 / gamma^2).

    Examples
    --------
    >>> from tenfold.bounds import mistake_bound
    >>> mistake_bound(radius=5**0.5, margin=1.0)  # the worked example of the lecture, where 3 mistakes are made
    5.000000000000001
    """
    if not margin > 0.0:
        raise ValueError(f"margin must be positive: the classes are separated by it. Got {margin!r}.")
    if not radius >= 0.0:
        raise ValueError(f"radius must not be negative. Got {radius!r}.")
    return float((radius / margin) ** 2)


def mistake_bound_inseparable(radius: float, margin: float, shortfalls: Floats) -> float:
    """The most mistakes of a perceptron in one pass over classes that overlap: ((R + D) / gamma)^2.

    Assumes that no row is longer than `radius`, and that `shortfalls` are, for some weights w of length one and the
    `margin` gamma > 0, how much each row that is looked at falls short of it, ``d_i = max(0, gamma - y_i w.x_i)``; D is
    the square root of the sum of their squares. Every row counts as often as it is looked at. Freund and Schapire 1999,
    theorem 2; CMU lecture 11, slide 30.
    """
    short = np.asarray(shortfalls, dtype=np.float64)
    if np.any(short < 0.0) or not np.isfinite(short).all():
        raise ValueError("shortfalls must be finite and not negative: max(0, margin - y w.x) of each row.")
    return mistake_bound(radius + float(np.sqrt(np.sum(np.square(short)))), margin)


class MistakeTrace(NamedTuple):
    """What the proof of the bound says after each mistake k = 1, 2, ..., K of a perceptron that starts at zero.

    Attributes
    ----------
    along : (K,) ``w_k . w*``, at least k gamma.
    squares : (K,) ``||w_k||^2``, at most k R^2.
    margin, radius : gamma, the smallest ``y w*.x`` of the mistakes, and R, the longest of them.
    """

    along: Floats
    squares: Floats
    margin: float
    radius: float

    @property
    def holds(self) -> bool:
        """Whether each mistake moved w along w* by at least gamma and lengthened it by at most R^2, up to rounding."""
        k = np.arange(1, len(self.along) + 1)
        slack = 1e-12 * k * self.radius**2
        steps = np.diff(self.squares, prepend=0.0)
        low = np.all(np.diff(self.along, prepend=0.0) >= self.margin - 1e-12 * k * self.radius)
        return bool(low and np.all(steps <= self.radius**2 + slack))


def mistake_trace(updates: Floats, direction: Floats) -> MistakeTrace:
    """The inequalities of the proof along the updates of a run.

    Parameters
    ----------
    updates : (K, p), ``y x`` of every mistake in order, with y as one more column where there is an intercept:
        ``X[mistakes_]`` of a perceptron with `record`, times the signs of their classes.
    direction : (p,), weights to compare with; taken to length one.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold.bounds import mistake_trace
    >>> updates = np.array([[1.0, -2.0], [1.0, 1.0], [1.0, 2.0]])  # the lecture's worked example
    >>> trace = mistake_trace(updates, np.array([1.0, 0.0]))
    >>> trace.along, trace.squares, trace.holds
    (array([1., 2., 3.]), array([ 5.,  5., 10.]), True)
    """
    updates = np.atleast_2d(np.asarray(updates, dtype=np.float64))
    w = np.asarray(direction, dtype=np.float64)
    size = float(np.sqrt(np.sum(np.square(w))))
    if w.shape != updates.shape[1:] or size == 0.0:
        raise ValueError(f"direction must have one number a column of updates, not all zero. Got shape {w.shape}.")
    path = np.cumsum(updates, axis=0)
    progress = np.sum(updates * (w / size), axis=1)
    squares = np.sum(np.square(updates), axis=1)
    margin, radius = (float(progress.min()), float(np.sqrt(squares.max()))) if len(updates) else (np.inf, 0.0)
    return MistakeTrace(np.cumsum(progress), np.sum(np.square(path), axis=1), margin, radius)
