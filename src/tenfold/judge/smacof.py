"""Certificate of multidimensional scaling: the decrease of the stress in one SMACOF step from the returned points.

With the distances d of the points, and e the dissimilarities, or without a metric the monotone fit of d (whose duality
gap is judged, too), the number is

    (stress(X) - stress(X')) / sum over pairs of d^2,        stress(X) = sum over pairs of (d - e)^2,

X' the Guttman transform of X by a product with its matrix; without a metric both stresses are divided by their own
squared distances, which makes them free of the scale of X. It is the quantity at which SMACOF ends. The stress never
rises in a step, and the points are at rest where it does not fall: at a minimum, which need not be the least one, or a
saddle. Points that coincide though their dissimilarity is positive rest, but are at no minimum (de Leeuw 1984).
"""

from dataclasses import dataclass

import numpy as np
from scipy.spatial.distance import pdist, squareform

from tenfold.arrays import EPS, Floats
from tenfold.judge.certificate import RULES, Certificate
from tenfold.judge.isotonic import monotone
from tenfold.linear_algebra import product
from tenfold.stats.disparities import Disparities

TINY = float(np.finfo(np.float64).tiny)


@dataclass(frozen=True)
class Stress:
    """The distances of points, their targets, the raw stress, and the sum of the squared distances, over pairs."""

    distances: Floats
    targets: Floats
    stress: float
    squares: float

    def value(self, normalised: bool) -> float:
        """The stress, or with `normalised` Kruskal's Stress-1."""
        return float(np.sqrt(self.stress / self.squares)) if normalised and self.squares > 0.0 else self.stress


def measure(D: Floats, X: Floats, metric: bool) -> Stress:
    """The stress of points X (n, k) for dissimilarities D (n, n); disparities have a mean square of one."""
    distances = pdist(X)
    flat = squareform(D, checks=False)
    targets = flat if metric else Disparities(flat).nearest(distances)
    return Stress(distances, targets, float(np.sum((distances - targets) ** 2)), float(np.sum(distances**2)))


def smacof_step(
    D: Floats,
    X: Floats,
    *,
    metric: bool,
    stored: float,
    normalised: bool,
    tol: float,
    status: str = "solved",
    slack: float = 0.0,
) -> Certificate:
    """The certificate of points X (n, k) with a stored stress; slack: how far that may be from the stress of X,
    relative to the squared distances.
    """
    if X.ndim != 2 or len(X) != len(D) or not np.isfinite(X).all():
        note = f"The points have the shape {X.shape}, and there are {len(D)} samples."
        return Certificate("fixed point", np.inf, 1.0, tol, 0.0, np.nan, status=status, note=note)
    before = measure(D, X, metric)
    after = _transform(squareform(before.targets), X - X.mean(axis=0))
    squares = max(before.squares, TINY)
    fall = before.stress - measure(D, after, True).stress if metric else 0.0
    decrease = fall / squares if metric else _angle(D, X) - _angle(D, after)
    size = float(np.sum(before.targets**2)) + before.squares
    rounding = 64.0 * EPS * (size / squares if metric else 1.0)
    note = _complain(D, before, metric) or _complain_of_stress(before, stored, normalised, slack)
    value = np.inf if note or not np.isfinite(decrease) else max(decrease, rounding)
    return Certificate(
        "fixed point",
        value,
        1.0,
        tol,
        rounding if rounding < 1e-3 else 0.0,
        before.stress,
        status=status,
        parts=(decrease, stored),
        note=note,
    )


def max_decrease(eps: float) -> float:
    """The decrease that is allowed: eps, at which SMACOF ends, or that of the rule."""
    return max(RULES["fixed point"].tol, float(eps))


def _transform(E: Floats, X: Floats) -> Floats:
    """The Guttman transform B(X) X / n."""
    d = squareform(pdist(X))
    B = -np.divide(E, d, out=np.zeros_like(E), where=d > 0.0)
    B[np.diag_indices_from(B)] -= B.sum(axis=1)
    return product(B, X) / len(X)


def _angle(D: Floats, X: Floats) -> float:
    """The least squared Stress-1 of points over monotone disparities of any scale."""
    distances, order = pdist(X), Disparities(squareform(D, checks=False))
    left = distances - order.expand(order.fit(distances)[1])
    return float(np.sum(left**2)) / max(float(np.sum(distances**2)), TINY)


def _complain(D: Floats, now: Stress, metric: bool) -> str:
    """Why the points are at no minimum, or the disparities not the nearest; "" where neither."""
    if not np.any(now.distances > 0.0) and np.any(D):
        return "All points coincide."
    if metric:
        same = np.flatnonzero((now.distances == 0.0) & (now.targets > 0.0))
        if same.size:
            n = len(D)
            i, j = (int(part[same[0]]) for part in np.triu_indices(n, 1))
            return f"Points {i} and {j} coincide, though their dissimilarity is positive: that is no minimum."
        return ""
    order = Disparities(squareform(D, checks=False))
    means, fitted = order.fit(now.distances)
    return "" if not len(means) or monotone(means, fitted, order.counts).ok else "The disparities are not the nearest."


def _complain_of_stress(now: Stress, stored: float, normalised: bool, slack: float) -> str:
    own = now.value(normalised)
    size = float(np.sum(now.targets**2)) + now.squares
    allowed = RULES["exact"].tol * own + 64.0 * EPS * (np.sqrt(size / max(now.squares, TINY)) if normalised else size)
    if normalised:  # by squares, which differ by the decrease of a step
        close = abs(stored**2 - own**2) <= 2.0 * own * allowed + allowed**2 + slack
    else:
        close = abs(stored - own) <= allowed + slack * now.squares
    return "" if close else f"The stored stress is {stored:.9g}, and that of the points {own:.9g}."
