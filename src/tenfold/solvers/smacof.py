"""SMACOF (de Leeuw 1977): points whose distances come near to given dissimilarities, by majorisation.

The raw stress of points x is the sum over pairs of (d_ij - e_ij)^2, d the distances of the points and e the
dissimilarities; without a metric e are disparities, the monotone function of the dissimilarities that is nearest to d,
scaled to a mean square of one. A step is the Guttman transform

    x'_i = (1/n) sum_j (e_ij / d_ij) (x_i - x_j),

which minimises a quadratic function that lies above the stress and meets it at x. Steps end where one lowers the stress
by less than eps times the sum of the squared distances.
"""

from collections.abc import Iterator

import numpy as np
from scipy.spatial.distance import pdist, squareform

from tenfold import _core
from tenfold.arrays import Floats
from tenfold.machine import threads
from tenfold.solvers.loop import Step
from tenfold.stats.disparities import Disparities


def transform(E: Floats, X: Floats) -> tuple[Floats, float, float]:
    """The Guttman transform of points (n, k) for dissimilarities (n, n); and the raw stress of the points, and the sum
    of their squared distances.
    """
    columns = np.ascontiguousarray(X.T)
    after, stress, squares = _core.smacof_step(E, columns, threads(E.size * (X.shape[1] + 4)))
    return np.asarray(after), float(stress), float(squares)


def _measure(before: float | None, stress: float, squares: float, eps: float) -> float:
    """The decrease of the stress relative to the squared distances, in units of eps; at most one only below it."""
    if before is None:
        return np.inf
    decrease = (before - stress) / squares if squares > 0.0 else 0.0
    if decrease < eps or (eps > 0.0 and decrease <= 0.0):
        return 1.0
    return max(2.0, decrease / eps) if eps > 0.0 else np.inf


def metric_steps(D: Floats, X: Floats, eps: float) -> Iterator[Step]:
    """Points by the distances themselves."""
    after, stress, _ = transform(D, X)
    yield Step(X, stress, np.inf)
    before: float | None = None
    while True:
        X = after
        after, stress, squares = transform(D, X)
        yield Step(X, stress, _measure(before, stress, squares, eps))
        before = stress


def nonmetric_steps(D: Floats, X: Floats, eps: float) -> Iterator[Step]:
    """Points by the order of the distances; the first step takes these for disparities."""
    order = Disparities(squareform(D, checks=False))
    now, before = order.first(), None
    yield Step(X, np.inf, np.inf)
    while True:
        X = transform(squareform(now), X)[0]
        distances = pdist(X)
        stress, squares = float(np.sum((distances - now) ** 2)), float(np.sum(distances**2))
        yield Step(X, stress, _measure(before, stress, squares, eps))
        before, now = stress, order.nearest(distances)
