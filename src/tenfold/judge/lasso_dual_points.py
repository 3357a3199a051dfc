"""Lower bounds on the optimum of the Lasso, the elastic net and their multi-task forms.

In mean units, with r the residuals, centred where there is an intercept, q = X'r / W, and the L2 penalty written as p
more samples (0 - sqrt(l2) w)^2:

bound_scaled
    c y.r - c^2 (|r|^2 + l2 |w|^2) / 2, a dual value for all c with c |q_j - l2 w_j| <= l1.
bound_unscaled
    y.r - |r|^2 / 2 - sum_j (|q_j| - l1)_+^2 / (2 l2), the dual value at r itself; for l2 > 0.
bound_by_curvature
    The objective minus sum_j of the largest decrease along w_j of a separable quadratic below the loss, whose curvature
    is the diagonal of the Hessian times the smallest eigenvalue of the correlation matrix: for any penalty, none too,
    where features are linearly independent.
"""

from typing import NamedTuple

import numpy as np
from scipy.linalg import eigvalsh

from tenfold.arrays import EPS, Floats
from tenfold.lasso_dual import dual_norm, feature_norms
from tenfold.machine import one_blas_thread
from tenfold.penalties import SparsePenalty
from tenfold.stats.moments import Moments

EIGENVALUE_FEATURES = 2048  # up to here the smallest eigenvalue is computed where the other bounds do not suffice


class Bound(NamedTuple):
    """A proof about one problem: the objective is at most `value` above the optimum, up to the rounding `floor`."""

    value: float
    floor: float

    @property
    def proved(self) -> float:
        return max(self.value, self.floor) if np.isfinite(self.value) else np.inf


class Part(NamedTuple):
    """One target, or those that the penalty couples: weights, X'r and its rounding error, (t, p); |r|^2 and y.r; and
    the objective with centred residuals.
    """

    w: Floats
    q: Floats
    q_error: Floats
    squares: float
    target_product: float
    objective: float


def strongest(bounds: list[Bound], intercept_cost: float, floor: float) -> Bound:
    """The bound that proves most; all but the first hold for the objective with centred residuals, `intercept_cost`
    below the objective, and have the rounding `floor` besides their own.
    """
    first, *others = bounds
    others = [Bound(bound.value + intercept_cost, bound.floor + floor) for bound in others]
    return min([first, *others], key=lambda bound: bound.proved)


def bound_scaled(penalty: SparsePenalty, here: Part) -> Bound:
    squares = here.squares + penalty.l2 * float(np.sum(here.w * here.w))
    if penalty.l1 == 0.0 or not squares > 0.0:
        return Bound(here.objective, 0.0)
    largest = float(np.max(dual_norm(here.q - penalty.l2 * here.w, penalty.positive), initial=0.0))
    scaling = max(here.target_product / squares, 0.0)
    scaling = min(scaling, penalty.l1 / largest) if largest > 0.0 else scaling
    # an error of q changes the scaling
    error = float(np.max(feature_norms(here.q_error), initial=0.0)) / max(largest, penalty.l1)
    slope = max(abs(here.target_product - scaling * squares), penalty.l1 * float(np.sum(feature_norms(here.w))))
    floor = error * scaling * slope + 0.5 * error * error * squares
    return Bound(here.objective - scaling * here.target_product + 0.5 * scaling * scaling * squares, floor)


def bound_unscaled(penalty: SparsePenalty, here: Part) -> Bound:
    if penalty.l2 == 0.0:
        return Bound(here.objective, 0.0)
    excess = np.maximum(dual_norm(here.q, penalty.positive) - penalty.l1, 0.0)
    error = feature_norms(here.q_error)
    dual = here.target_product - 0.5 * here.squares - 0.5 * float(np.sum(excess * excess)) / penalty.l2
    floor = float(np.sum(np.abs(here.w) * here.q_error)) + float(np.sum((excess + 0.5 * error) * error)) / penalty.l2
    return Bound(here.objective - dual, floor)


def bound_by_curvature(penalty: SparsePenalty, moments: Moments, intercept: bool, here: Part) -> Bound:
    """The largest decrease of the separable quadratic. A feature without variance has neither curvature nor a gradient:
    its weight can save its whole penalty.
    """
    p = moments.features
    if p > EIGENVALUE_FEATURES:
        return Bound(np.inf, 0.0)
    S = moments.about(origin=not intercept)[0]
    diagonal = np.diag(S)
    varies = diagonal > 0.0
    d = np.zeros(p)
    if varies.any():
        root = np.sqrt(diagonal[varies])
        with one_blas_thread:
            least = float(eigvalsh(S[np.ix_(varies, varies)] / np.outer(root, root), subset_by_index=[0, 0])[0])
        least -= 8.0 * EPS * p  # the error of the eigenvalue
        if least <= 0.0:
            return Bound(np.inf, 0.0)
        d[varies] = least * np.ldexp(diagonal, 2 * moments.exponent[:p].astype(np.int64))[varies] / moments.weight
    decreases = _decreases(penalty, d, here.w, np.where(varies, here.q, 0.0))
    error = feature_norms(here.q_error)[varies]
    # an error of the gradient at most doubles the decrease and adds the floor
    gap = 2.0 * float(np.sum(decreases[varies])) + float(np.sum(decreases[~varies]))
    return Bound(gap, float(np.sum(error * error / (d[varies] + penalty.l2))))


def _decreases(penalty: SparsePenalty, d: Floats, w: Floats, q: Floats) -> Floats:
    """max over u of  q (u - w) - d/2 |u - w|^2 + l1 (|w| - |u|) + l2/2 (|w|^2 - |u|^2), for each feature."""
    v = q + d * w
    v = np.maximum(v, 0.0) if penalty.positive else v
    norms = feature_norms(v)
    factor = np.where(norms > 0, np.maximum(1.0 - penalty.l1 / np.where(norms > 0, norms, 1.0), 0.0), 0.0)
    u = factor * v / np.where(d + penalty.l2 > 0, d + penalty.l2, 1.0)
    step = u - w
    gain = np.sum(q * step - 0.5 * d * step**2 + 0.5 * penalty.l2 * (w**2 - u**2), axis=0)
    return np.maximum(gain + penalty.l1 * (feature_norms(w) - feature_norms(u)), 0.0)
