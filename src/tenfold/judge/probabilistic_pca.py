"""Kind fixed point: probabilistic principal components of samples with missing values, by one exact step of EM.

With J the mean log-likelihood of the observed values, the step completes the second moments by the conditional means
and covariances of the missing values, and takes the leading eigenvectors of the completed covariance, their values,
and the mean of the others: the best subspace for it, whose E(xpectation) is never less. The distance from a fixed point
is the larger of the change of J in the step and of the increase of E, in nats a sample.

Nothing of the solver is used, which takes expectations of the factors. With P = C^-1 of the whole covariance, features
l that are missing and o that are not, x_l is Gaussian with mean m_l - P_ll^-1 P_lo (x_o - m_o) and covariance P_ll^-1;
log|C_oo| = log|C| + log|P_ll|, and the distance of x_o is that of the completed sample.

The likelihood may grow without bound as the noise vanishes: no variance may be below NOISE_FLOOR of the mean variance
of the observed values; the note says where one stands on it.
"""

from functools import partial, reduce
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg as la

from tenfold.arrays import Floats, unit_roundoff, wide
from tenfold.data import Block, Rows, weights_of
from tenfold.judge.certificate import RULES, Certificate
from tenfold.judge.eigenvectors import slant
from tenfold.judge.mixtures import ComponentSums, compute_expectation, find_floor
from tenfold.linear_algebra import product
from tenfold.problems import Gaussians
from tenfold.stats.class_totals import ClassColumns
from tenfold.stats.gaussians import Mixture
from tenfold.stats.mixtures import nonmissing_moments

NOISE_FLOOR = 1e-6  # of the mean variance of the features, the least variance in any direction
CONSTANT_FLOOR = 1e-12  # the least variance where no feature varies
LEAST_TOL = 1e-9  # nats a sample
PIECE_ENTRIES = 1 << 20  # entries of the conditional covariances of samples that are held at a time


def noise_floor(variance: Floats) -> float:
    """The least variance in any direction, for features with these variances (p,) of their observed values."""
    mean = float(np.mean(variance))
    return NOISE_FLOOR * mean if mean > 0.0 else CONSTANT_FLOOR


class Whole(NamedTuple):
    """Mean (p,), inverse P (p, p) of a covariance, a root R of it, P = R R', and log|C|."""

    mean: Floats
    inverse: Floats
    root: Floats
    logs: float

    @classmethod
    def of(cls, mixture: Mixture) -> "Whole":
        values, vectors = la.eigh(mixture.covariances[0], check_finite=False)
        if not values[0] > 0.0:
            raise ValueError("The covariance is not positive definite.")
        root = vectors / np.sqrt(values)
        return cls(mixture.means[0], root @ root.T, root, float(np.sum(np.log(values))))


def sum_completed(whole: Whole, block: Block) -> ComponentSums:
    """The completed moments of a block, and the log densities of its observed values."""
    X, weight = wide(block.X), wide(weights_of(block))
    p = X.shape[1]
    length = max(1, PIECE_ENTRIES // p**2)
    starts = range(0, max(1, len(X)), length)
    return reduce(ComponentSums.merge, (_sum_piece(whole, X[i : i + length], weight[i : i + length]) for i in starts))


def _sum_piece(whole: Whole, X: Floats, weight: Floats) -> ComponentSums:
    p, lacking = X.shape[1], np.isnan(X)
    kinds, number = np.unique(lacking, axis=0, return_inverse=True)
    number, both = number.ravel(), kinds[:, :, None] & kinds[:, None, :]
    own = np.where(both, whole.inverse, 0.0)  # P_ll of each pattern, and ones for observed features
    own[:, np.arange(p), np.arange(p)] += ~kinds
    logs = np.linalg.slogdet(own)[1]
    left = np.where(both, np.linalg.inv(own), 0.0)
    away = np.where(lacking, 0.0, X - whole.mean)
    away -= np.matmul(left[number], product(away, whole.inverse)[:, :, None])[:, :, 0]
    known = p - kinds.sum(axis=1)
    constant = known * float(np.log(2.0 * np.pi)) + whole.logs + logs
    density = -0.5 * (constant[number] + np.sum(product(away, whole.root) ** 2, axis=1))
    total = float(np.sum(weight))
    if total == 0.0:
        return ComponentSums(0.0, 0.0, np.zeros(1), whole.mean[None], np.zeros((1, p, p)))
    step = weight @ away / total
    spread = product(np.ascontiguousarray((away - step).T), weight[:, None] * (away - step))
    counts = np.bincount(number, weights=weight, minlength=len(kinds))
    spread += np.tensordot(counts, left, axes=1)
    value = float(np.sum(weight * density))
    return ComponentSums(total, value, np.full(1, total), (whole.mean + step)[None], spread[None])


def judge_step(
    rows: Rows,
    *,
    mean: Floats,
    axes: Floats,
    variances: Floats,
    noise: float,
    count: int,
    tol: float,
    dtype: Any = np.float64,
    status: str = "judged",
) -> Certificate:
    """The certificate of axes (k, p), variances along them (k,) and in other directions, with `count` asked for."""
    tol = max(tol, LEAST_TOL)
    seen: ClassColumns = rows.fold(nonmissing_moments)
    least = noise_floor(seen.squares[0] / seen.weight[0])
    wrong = _find_contradiction(mean, axes, variances, noise, count, least, dtype)
    if wrong:
        return _reject(wrong, tol, status)
    k, p = axes.shape
    base = noise if k < p else 0.0
    C = (axes.T * (variances - base)) @ axes + base * np.eye(p)
    problem, mixture = Gaussians("full", 0.0), Mixture("full", np.ones(1), mean[None], C[None])
    try:
        here: ComponentSums = rows.fold(partial(sum_completed, Whole.of(mixture)))
        after = Mixture("full", np.ones(1), here.mean, _find_best(here.scatter[0] / here.weight, k, least)[None])
        there: ComponentSums = rows.fold(partial(sum_completed, Whole.of(after)))
        gain = compute_expectation(problem, after, here) - compute_expectation(problem, mixture, here)
    except (la.LinAlgError, ValueError) as reason:
        return _reject(str(reason), tol, status)
    now, then = here.value / here.weight, there.value / here.weight
    parts = (abs(then - now), abs(gain) / here.weight)
    floor = find_floor(problem, mixture, now, dtype)
    value = max(*parts, floor)
    note = ""
    if min(noise if k < p else np.inf, float(np.min(variances, initial=np.inf))) <= least * (1.0 + 1e-4):
        note = (
            f"A variance is at its floor, {NOISE_FLOOR:.0e} of the mean variance of the features: the likelihood may "
            "grow without bound as it vanishes."
        )
    value = value if value == value else np.inf
    return Certificate("fixed point", value, 1.0, tol, floor, -now, status=status, parts=parts, note=note)


def _find_best(S: Floats, count: int, least: float) -> Floats:
    """The covariance of the best subspace for completed moments."""
    values, vectors = la.eigh(S, check_finite=False)
    order = np.argsort(values)[::-1]
    leading, rest = order[:count], order[count:]
    kept = np.empty_like(values)
    kept[leading] = np.maximum(values[leading], least)
    if rest.size:
        kept[rest] = max(float(np.mean(values[rest])), least)
    return (vectors * kept) @ vectors.T


def _find_contradiction(
    mean: Floats, axes: Floats, variances: Floats, noise: float, count: int, least: float, dtype: Any
) -> str:
    """A sentence on stored numbers that contradict each other, or ""."""
    unit = 16.0 * unit_roundoff(dtype)
    k, p = axes.shape if axes.ndim == 2 else (-1, -1)
    if k != count or mean.shape != (p,) or variances.shape != (k,):
        return "The shapes of the stored arrays, or the number of components, are not those that were asked for."
    if not (np.isfinite(axes).all() and np.isfinite(mean).all() and np.isfinite(variances).all() and noise >= 0.0):
        return "A stored number is not finite, or the noise negative."
    if k and slant(axes) > max(unit, RULES["spectral"].tol):
        return "The components are not orthonormal."
    if (np.diff(variances) > unit * variances[:-1]).any() or (k and variances[-1] < noise * (1.0 - unit)):
        return "The variances do not descend, or one is below the noise."
    if (k == p) != (noise == 0.0) or min([noise if k < p else least, *variances]) < least * (1.0 - 1e-6):
        return "A variance is below the floor, or there is noise and no direction left for it."
    return ""


def _reject(note: str, tol: float, status: str) -> Certificate:
    return Certificate("fixed point", np.inf, 1.0, tol, 0.0, np.nan, status=status, note=note)
