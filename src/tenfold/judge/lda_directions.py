"""Certificates of linear discriminants whose weights lie in the span of a few directions V.

Projections of the rows on V and on random vectors u suffice: V'SV = I, the weights follow from V'(m_c - m_0), and
u'S (w_c - w_0) = u'(m_c - m_0), which holds for no other directions. Where that fails, the covariance is formed, and
decides whether the dropped directions are negligible; of fewer samples than features, the Gram matrix of the samples
takes its place.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import linalg as la
from scipy.linalg import blas, lapack

from tenfold import _core
from tenfold.arrays import Floats, is_numpy, unit_roundoff
from tenfold.data import MemoryRows, Rows, is_small_dense, sampling_step
from tenfold.judge.certificate import RULES, Certificate
from tenfold.judge.discriminant import Stored, between_pair, certify_scores, own_intercept, probes
from tenfold.judge.recompute import Pair
from tenfold.machine import one_blas_thread
from tenfold.stats.column_moments import Columns
from tenfold.stats.moments import GroupedMoments
from tenfold.stats.within_class_scatter import (
    WithinFactor,
    WithinMoments,
    WithinQuadraticForms,
    WithinScatter,
    within_factor,
    within_quadratic_forms,
)

SAMPLE_ROWS = 1024  # size of the subsample that gives the units of the columns

# features, or fewer samples, up to which a matrix is formed where the random vectors do not decide
MAX_FORMED_FEATURES = 2048
MIN_SPREAD = 1e-7  # relative standard deviation below which a direction is rounding

NOT_FORMED = "Whether weights were left out in some direction was not judged: columns are too many."


@dataclass(frozen=True)
class DirectionStatistics:
    """Statistics for directions V (p, r) and probes U (p, q): class weights, deviations of the means from the stored
    ones, variances (k, p) of each class and (p,) within classes, [V, U]'S [V, U] with the covariance S within classes,
    and a function that gives S or a factor of it, or None where both are too large.
    """

    weight: Floats
    away: Floats
    variance: Floats
    within: Floats
    forms: Floats
    probes: Floats
    scatter: Callable[[], WithinScatter | None]

    @classmethod
    def of_rows(cls, rows: Rows, mean: Floats, directions: Floats) -> "DirectionStatistics":
        """Statistics of one pass; a subsample gives the units of the columns."""
        U = probes(_units(rows)[None])[0].T
        directions = np.hstack([directions, U])
        forms_of_rows: WithinQuadraticForms = rows.fold(
            within_quadratic_forms(mean, np.ascontiguousarray(directions.T))
        )
        total = np.where(forms_of_rows.weight > 0.0, forms_of_rows.weight, 1.0)[:, None]
        away = forms_of_rows.sums / total
        variance = np.maximum(forms_of_rows.squares / total - away**2, 0.0)
        shares, z = forms_of_rows.weight / forms_of_rows.weight.sum(), away @ directions
        forms = forms_of_rows.forms / forms_of_rows.weight.sum() - np.einsum("k,ka,kb->ab", shares, z, z)

        def scatter() -> WithinScatter | None:
            n, p = rows.shape
            if n < p and n <= MAX_FORMED_FEATURES and isinstance(rows, MemoryRows) and is_numpy(rows.X):
                return within_factor(len(mean), rows.whole())
            if p <= MAX_FORMED_FEATURES:
                return WithinMoments.of(rows.fold(GroupedMoments.lifter(len(mean))))
            return None

        return cls(forms_of_rows.weight, away, variance, shares @ variance, forms, U, scatter)

    @classmethod
    def of_moments(
        cls, moments: GroupedMoments | WithinScatter, mean: Floats, directions: Floats
    ) -> "DirectionStatistics":
        """Statistics from moments, which may have only the pooled variance."""
        pooled = moments if isinstance(moments, WithinScatter) else WithinMoments.of(moments)
        known = (pooled.weight > 0.0)[:, None]
        away, within = np.where(known, pooled.mean - mean, 0.0), pooled.variances()
        U = probes(within[None])[0].T
        directions = np.hstack([directions, U])
        forms = pooled.quadratic_form(directions)
        size = len(pooled.factor) if isinstance(pooled, WithinFactor) else len(within)
        largest = pooled if size <= MAX_FORMED_FEATURES else None
        return cls(pooled.weight, away, np.broadcast_to(within, mean.shape), within, forms, U, lambda: largest)


def _units(rows: Rows) -> Floats:
    """Variances (p,) of the columns, of a subsample where samples are many."""
    if is_small_dense(rows) and rows.whole().weight is None:
        return _core.dense_centre(np.ascontiguousarray(rows.whole().X, dtype=np.float64))[1]
    sample: Columns = rows.subsample(sampling_step(rows.shape[0], SAMPLE_ROWS)).fold(Columns.lift)
    return np.asarray(sample.lengths(origin=False)[0] ** 2 / (sample.weight or 1.0))


def judge_directions(
    statistics: DirectionStatistics,
    stored: Stored,
    directions: Floats,
    tol: float,
    *,
    centre: Floats,
    shares: Floats,
    more: dict[str, Pair],
    note: str = "",
) -> Certificate:
    """Certificate of weights in the span of `directions` V (p, r), where directions with a relative standard deviation
    within classes below `tol` are excluded; of the `centre` of the means, and of the explained variance ratios `shares`
    of the directions.

    With w = V a + e the equations V'Sw = V'(m_c - m_0), w = V V'Sw and u'Sw = u'(m_c - m_0) need only V'SV and u'SV:
    v'Sw is v'SVa, up to v'Se, and |v'Se| <= sqrt(v'Sv) sum_j s_j |e_j| with s_j the standard deviation of column j.
    """
    (w, _), V, spread = stored.against_first(), directions, np.sqrt(statistics.within)
    r = V.shape[1]
    between, unit = stored.mean[1:] - stored.mean[0], np.where(spread > 0.0, spread, 1.0)[:, None]
    a = np.zeros((len(w), r))  # whatever it is, what V a leaves of w is judged
    if V.size:
        with one_blas_thread:
            _, solution, info = lapack.dgels(unit * V, unit * w.T)
        a = solution[:r].T if info == 0 and np.isfinite(solution).all() else a
    sizes = np.sqrt(np.abs(np.diag(statistics.forms)))
    outside = np.sum(spread * np.abs(w - a @ V.T), axis=1)[:, None] * sizes
    image, across = np.split(a @ statistics.forms[:r], [r], axis=1)
    distance = np.maximum(np.sqrt(np.maximum(np.einsum("kp,kp->k", w, between), 0.0)), 1.0)[:, None]
    inside = (w - image @ V.T) * spread
    pairs: dict[str, Pair] = {
        "directions": (statistics.forms[:r, :r], np.eye(r), 1.0),
        "weights": (np.abs(image - between @ V) + outside[:, :r], np.zeros_like(image), distance),
        "weights outside the directions": (inside, np.zeros_like(inside), distance),
        "order of the directions": between_pair(V, stored.mean, stored.priors),
        "centre of the means": (centre, stored.priors @ stored.mean, np.max(np.abs(stored.mean), axis=0) + 1e-300),
        "shares of the directions": _shares(V, stored, shares, tol),
        **more,
    }
    if len(stored.coef) > len(w):  # more than two classes: weights of each class, not only differences
        middle = (stored.priors @ stored.coef) * spread
        pairs["mean of the weights"] = (middle, np.zeros_like(middle), np.max(distance, initial=1.0))
        pairs["intercept of the first class"] = own_intercept(stored, stored.mean[0] + stored.priors @ stored.mean)
    left = np.abs(across - between @ statistics.probes) + outside[:, r:]
    if np.any(left > RULES["exact"].tol * distance * sizes[r:]):
        scatter = statistics.scatter()
        if scatter is not None:
            pairs["weights left out"] = _compute_unexplained(scatter, stored, r, tol, distance)
        else:
            note = f"{note} {NOT_FORMED}".lstrip()
    return certify_scores(statistics.away, statistics.variance, stored, spread, pairs, note)


def _shares(V: Floats, stored: Stored, shares: Floats, tol: float) -> Pair:
    """The pair of explained variance ratios: fractions of the sum of the variances of the means along the directions;
    each dropped one has less than `tol`^2 of the largest.
    """
    mean, priors = stored.mean, stored.priors
    values = np.zeros(max(len(shares), V.shape[1]))
    values[: V.shape[1]] = priors @ ((mean - priors @ mean) @ V) ** 2
    total, largest = float(np.sum(values)), float(np.max(values, initial=0.0))
    if total == 0.0:  # all class means are equal
        return shares, np.full_like(shares, np.nan), 1.0
    slack = (min(len(mean) - 1, len(V)) - V.shape[1]) * tol**2 * largest
    away = np.abs(shares * total - values[: len(shares)])
    return np.maximum(away - slack, 0.0), np.zeros_like(shares), max(largest, 1.0)


def _compute_unexplained(scatter: WithinScatter, stored: Stored, directions: int, tol: float, distance: Floats) -> Pair:
    """The part of S w - (m_c - m_0), in the space where classes vary, that is neither rounding nor, with fewer
    directions than the rank of the means, a difference of means below `tol` of the largest.
    """
    (w, _), mean, priors = stored.against_first(), stored.mean, stored.priors
    scale = np.sqrt(scatter.variances())
    scale = np.where(scale > 0.0, scale, 1.0)
    p, least = len(scale), max(tol, MIN_SPREAD) * (1.0 + 1e-6)
    rows = np.vstack([mean[1:] - mean[0], np.sqrt(priors)[:, None] * (mean - priors @ mean)]) / scale
    with one_blas_thread:
        if isinstance(scatter, WithinFactor):  # S = scale F'F scale; unit eigenvectors of F'F are F'u / sqrt(l)
            F, gram = scatter.standardize(scale)
            values, vectors = la.eigh(gram, lower=False, check_finite=False)
            spread = np.sqrt(np.maximum(values, 0.0))
            vary = (spread > least) & (np.arange(len(values)) >= len(values) - scatter.largest_rank)
            # (S w / scale) F' = (w scale F') F F', and F F' u = l u
            images = blas.dgemm(1.0, F.T, np.vstack([w * scale, rows]).T, trans_a=True).T
            products = images[: len(w)] @ vectors[:, vary]
            between, centred = np.split(images[len(w) :] @ (vectors[:, vary] / values[vary]), [len(w)])
        else:
            S = scatter.covariance()
            values, vectors = la.eigh(S / np.outer(scale, scale), check_finite=False)
            spread = np.sqrt(np.maximum(values, 0.0))
            vary = spread > least
            axes = vectors[:, vary] / spread[vary]
            products, (between, centred) = w @ S / scale @ axes, np.split(rows @ axes, [len(w)])
        largest = float(la.svdvals(centred, check_finite=False)[0]) if centred.size else 0.0
    away = np.linalg.norm(products - between, axis=1)[:, None]
    narrow = float(np.min(spread[vary], initial=1.0))
    allowed = 64.0 * np.sqrt(p) * unit_roundoff(np.float64) * np.sum(scale * np.abs(w), axis=1)[:, None] / narrow
    if directions < min(len(w), int(np.sum(vary))):
        with np.errstate(divide="ignore"):
            allowed += tol * largest * (1.0 / np.sqrt(priors[1:]) + 1.0 / np.sqrt(priors[0]))[:, None]
    return np.maximum(away - allowed, 0.0), np.zeros_like(away), distance
