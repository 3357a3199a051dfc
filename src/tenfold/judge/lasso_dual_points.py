"""Lower bounds on every objective of least squares with an L1 penalty, one on groups, or an elastic net.

In mean units, with r the residuals made to sum to zero where there is an intercept, q = X'r / W and the ridge part
counted as p more rows (0 - sqrt(l2) w)^2:

scaled
    c y.r - c^2 (|r|^2 + l2 |w|^2) / 2, a dual value for all c with c |q_j - l2 w_j| <= l1.
free
    y.r - |r|^2 / 2 - sum_j (|q_j| - l1)_+^2 / (2 l2), the dual value at r itself; for l2 > 0.
curved
    The objective minus sum_j of what weight j can gain where the curvature of the loss is at least that of its diagonal
    times the smallest eigenvalue of the correlations: for any penalty, none too, where columns are independent.
"""

from typing import NamedTuple

import numpy as np
from scipy.linalg import eigvalsh

from tenfold.arrays import Floats
from tenfold.machine import one_blas_thread
from tenfold.problems import SparseLeastSquares
from tenfold.stats.moments import Moments

EPS = float(np.finfo(np.float64).eps)

CURVED_COLUMNS = 2048
"""Up to so many columns the eigenvalues of their correlations are found where the other bounds do not suffice."""


class Bound(NamedTuple):
    """What is proved about one problem: the objective is at most `value` above the best, up to the rounding `floor`."""

    value: float
    floor: float

    @property
    def proved(self) -> float:
        return max(self.value, self.floor) if np.isfinite(self.value) else np.inf


class Part(NamedTuple):
    """One target, or all where they are joint: weights, pulls and what these may have rounded, (t, p); the squares of
    the residuals, y.r, and the objective with balanced residuals.
    """

    w: Floats
    q: Floats
    lost: Floats
    squares: float
    along: float
    balanced: float


def strongest(bounds: list[Bound], off: float, floor: float) -> Bound:
    """The bound that proves most; `off` is what the intercept costs, `floor` what everything rounds."""
    first, *others = bounds
    moved = [Bound(one.value + off, one.floor + floor) for one in others]
    return min([first, *moved], key=lambda one: one.proved)


def norms(w: Floats) -> Floats:
    """The lengths of the columns of weights (t, p)."""
    return np.abs(w[0]) if len(w) == 1 else np.sqrt(np.sum(w * w, axis=0))


def _pulls(problem: SparseLeastSquares, q: Floats) -> Floats:
    """How hard columns are pulled: only upwards where weights are positive."""
    return norms(np.maximum(q, 0.0) if problem.positive else q)


def scaled(problem: SparseLeastSquares, here: Part) -> Bound:
    whole = here.squares + problem.l2 * float(np.sum(here.w * here.w))
    if problem.l1 == 0.0 or not whole > 0.0:
        return Bound(here.balanced, 0.0)
    largest = float(np.max(_pulls(problem, here.q - problem.l2 * here.w), initial=0.0))
    scale = max(here.along / whole, 0.0)
    scale = min(scale, problem.l1 / largest) if largest > 0.0 else scale
    # pulls that are off move the scale
    off = float(np.max(norms(here.lost), initial=0.0)) / max(largest, problem.l1)
    slope = max(abs(here.along - scale * whole), problem.l1 * float(np.sum(norms(here.w))))
    floor = off * scale * slope + 0.5 * off * off * whole
    return Bound(here.balanced - scale * here.along + 0.5 * scale * scale * whole, floor)


def free(problem: SparseLeastSquares, here: Part) -> Bound:
    if problem.l2 == 0.0:
        return Bound(here.balanced, 0.0)
    over = np.maximum(_pulls(problem, here.q) - problem.l1, 0.0)
    lost = norms(here.lost)
    dual = here.along - 0.5 * here.squares - 0.5 * float(np.sum(over * over)) / problem.l2
    floor = float(np.sum(np.abs(here.w) * here.lost)) + float(np.sum((over + 0.5 * lost) * lost)) / problem.l2
    return Bound(here.balanced - dual, floor)


def curved(problem: SparseLeastSquares, moments: Moments, here: Part) -> Bound:
    """What the weights can gain at most, one by one, with the least curvature that they have together. A feature
    without spread has neither curvature nor a gradient: its weight can gain its whole penalty.
    """
    p = moments.features
    if p > CURVED_COLUMNS:
        return Bound(np.inf, 0.0)
    S = moments.about(origin=not problem.intercept)[0]
    diagonal = np.diag(S)
    varies = diagonal > 0.0
    d = np.zeros(p)
    if varies.any():
        root = np.sqrt(diagonal[varies])
        with one_blas_thread:
            least = float(eigvalsh(S[np.ix_(varies, varies)] / np.outer(root, root), subset_by_index=[0, 0])[0])
        least -= 8.0 * EPS * p  # what the eigenvalue may be too large by
        if least <= 0.0:
            return Bound(np.inf, 0.0)
        d[varies] = least * np.ldexp(diagonal, 2 * moments.exponent[:p].astype(np.int64))[varies] / moments.weight
    falls = _falls(problem, d, here.w, np.where(varies, here.q, 0.0))
    lost = norms(here.lost)[varies]
    # gradients that are off by so much can double what is gained, and add the rest
    gained = 2.0 * float(np.sum(falls[varies])) + float(np.sum(falls[~varies]))
    return Bound(gained, float(np.sum(lost * lost / (d[varies] + problem.l2))))


def _falls(problem: SparseLeastSquares, d: Floats, w: Floats, q: Floats) -> Floats:
    """max over u of  q (u - w) - d/2 |u - w|^2 + l1 (|w| - |u|) + l2/2 (|w|^2 - |u|^2), for each column."""
    pull = q + d * w
    pull = np.maximum(pull, 0.0) if problem.positive else pull
    length = norms(pull)
    factor = np.where(length > 0, np.maximum(1.0 - problem.l1 / np.where(length > 0, length, 1.0), 0.0), 0.0)
    u = factor * pull / np.where(d + problem.l2 > 0, d + problem.l2, 1.0)
    step = u - w
    gain = np.sum(q * step - 0.5 * d * step**2 + 0.5 * problem.l2 * (w**2 - u**2), axis=0)
    return np.maximum(gain + problem.l1 * (norms(w) - norms(u)), 0.0)
