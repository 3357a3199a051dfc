"""Convexity of a function on random chords, and at random points by its Hessian: a search for counterexamples."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tenfold.arrays import EPS, Floats
from tenfold.linear_algebra import eigh
from tenfold.objectives import differences
from tenfold.objectives.function import Function

FRACTIONS = (0.5, 0.1, 0.9)  # of a chord, at which it is compared with the function
ROUNDING = 64.0 * EPS  # of values along a chord
FLAT = 1e-6  # part of the largest eigenvalue below which a negative one may be rounding


@dataclass(frozen=True)
class ConvexityCheck:
    """Whether a counterexample to the convexity of a function was found.

    Attributes
    ----------
    convex : bool
        Whether none was found. That is evidence, no proof.
    chords : int
        The number of chords that were compared.
    excess : float
        The most by which the function is above a chord; at most zero, to rounding, for a convex function.
    counterexample : tuple of two ndarray and float, or None
        The ends a and b and the fraction t of the worst chord, f(t a + (1 - t) b) > t f(a) + (1 - t) f(b).
    smallest_eigenvalue : float or None
        The smallest eigenvalue of a Hessian, in units of its largest absolute one; None without a gradient.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import check_convexity
    >>> check_convexity(lambda x: x[0] ** 2, [-1.0], [1.0]).chords
    300
    """

    convex: bool
    chords: int
    excess: float
    counterexample: tuple[Floats, Floats, float] | None
    smallest_eigenvalue: float | None

    def explain(self) -> str:
        """The result in sentences."""
        if self.counterexample is not None:
            a, b, t = self.counterexample
            return (
                f"Not convex: at {t:.2g} of the chord between {np.round(a, 4).tolist()} and {np.round(b, 4).tolist()} "
                f"the function is above it by {self.excess:.3g}."
            )
        if not self.convex:
            assert self.smallest_eigenvalue is not None
            return f"Not convex: a Hessian has a negative eigenvalue, {self.smallest_eigenvalue:.3g} of the largest."
        return f"No counterexample to convexity on {self.chords} chords. That is evidence, no proof."


def check_convexity(
    fun: Callable[[Floats], Any],
    low: Any,
    high: Any,
    *,
    grad: Callable[[Floats], Any] | None = None,
    chords: int = 300,
    hessians: int = 5,
    random_state: int = 0,
) -> ConvexityCheck:
    """Look for counterexamples to the convexity of a function in a box.

    Parameters
    ----------
    fun : callable
        The function: from x of shape (q,) to a number.
    low, high : array-like of shape (q,)
        The ends of the box.
    grad : callable, default=None
        The gradient: from x to an array of shape (q,). With it Hessians by its differences are checked, too.
    chords : int, default=300
        The number of random chords. Half of them are short, a hundredth of the box.
    hessians : int, default=5
        The number of Hessians, at random points.
    random_state : int, default=0
        The seed of the chords and points.

    Returns
    -------
    ConvexityCheck
        A counterexample, or how much was tried without one.

    Notes
    -----
    Five values of the function a chord, 2 q gradients a Hessian. Seeger, section 9.1.1.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import check_convexity
    >>> check_convexity(lambda x: np.logaddexp(0.0, x[0]), [-5.0], [5.0]).convex
    True
    >>> print(check_convexity(lambda x: np.tanh(x[0]), [-5.0], [5.0]).explain()[:11])
    Not convex:
    """
    low, high = (np.atleast_1d(np.asarray(one, dtype=np.float64)) for one in (low, high))
    if low.shape != high.shape or low.ndim != 1 or not np.isfinite(low + high).all() or not (low < high).all():
        raise ValueError("low and high must be vectors of finite numbers of one length, low below high.")
    random = np.random.default_rng(random_state)
    objective = Function(fun, grad)
    worst, excess = None, -np.inf
    for k in range(chords):
        a, b = random.uniform(low, high, (2, len(low)))
        if k % 2:
            b = np.clip(a + 0.01 * (b - a), low, high)
        ends = objective.values([a, b])
        for t in FRACTIONS:
            value = objective.values([t * a + (1.0 - t) * b])[0]
            above = value - (t * ends[0] + (1.0 - t) * ends[1])
            if above > excess:
                excess = above
                visible = above > ROUNDING * (abs(value) + abs(ends[0]) + abs(ends[1]))
                worst = (a, b, t) if visible else worst
    smallest = _smallest(objective, random.uniform(low, high, (hessians, len(low)))) if grad is not None else None
    convex = worst is None and (smallest is None or smallest >= -FLAT)
    return ConvexityCheck(convex, chords, float(excess), worst, smallest)


def _smallest(objective: Function, points: Floats) -> float:
    """The smallest eigenvalue of a Hessian at the points, over the largest in size."""
    smallest = np.inf
    for x in points:
        values = eigh(differences.hessian(objective.gradient, x))[0]
        size = float(np.max(np.abs(values)))
        smallest = min(smallest, float(values[0]) / size if size > 0.0 else 0.0)
    return smallest
