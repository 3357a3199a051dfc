"""Linear discriminants whose weights lie in a few directions V, judged by the rows along these.

V'(x - m), and the rows along random vectors u of the judge's own, are enough: V'SV = I, the weights are what
V'(m_c - m_0) says, and u'S (w_c - w_0) = u'(m_c - m_0), which no other directions give. Where that fails, the
covariance is formed after all, and says what may have been left out.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import linalg as la

from tenfold.arrays import Floats, unit_roundoff
from tenfold.data import Rows, sampling_step
from tenfold.judge.certificate import RULES, Certificate
from tenfold.judge.discriminant import Stored, of_scores, ordered, own_intercept, probes
from tenfold.judge.recompute import Pair
from tenfold.machine import one_blas_thread
from tenfold.stats.column_moments import Columns
from tenfold.stats.moments import GroupedMoments
from tenfold.stats.within_class_scatter import WithinMoments, WithinQuadraticForms, within_quadratic_forms

SAMPLE_ROWS = 1024

FORMED, LEAST = 2048, 1e-7
"""Up to so many columns a covariance is formed where its witnesses ask for it; smaller spreads are rounding."""

NOT_FORMED = "Whether weights were left out in some direction was not judged: columns are too many."


@dataclass(frozen=True)
class Along:
    """What the rows say of directions V (p, r) and probes U (p, q): weights of the classes, means away from the stored
    ones, variances (k, p) of their columns and (p,) of those within classes, and of S, the covariance within classes,
    [V, U]'S [V, U]; and what forms S itself.
    """

    weight: Floats
    away: Floats
    variance: Floats
    within: Floats
    forms: Floats
    probes: Floats
    covariance: Callable[[], Floats]

    @classmethod
    def of_rows(cls, rows: Rows, mean: Floats, directions: Floats) -> "Along":
        """By one pass, and a few rows before for the units of the columns."""
        sample: Columns = rows.subsample(sampling_step(rows.shape[0], SAMPLE_ROWS)).fold(Columns.lift)
        U = probes(sample.lengths(origin=False)[0][None] ** 2 / (sample.weight or 1.0))[0].T
        directions = np.hstack([directions, U])
        found: WithinQuadraticForms = rows.fold(within_quadratic_forms(mean, np.ascontiguousarray(directions.T)))
        total = np.where(found.weight > 0.0, found.weight, 1.0)[:, None]
        away = found.sums / total
        variance = np.maximum(found.squares / total - away**2, 0.0)
        shares, z = found.weight / found.weight.sum(), away @ directions
        forms = found.forms / found.weight.sum() - np.einsum("k,ka,kb->ab", shares, z, z)

        def covariance() -> Floats:
            return WithinMoments.of(rows.fold(GroupedMoments.lifter(len(mean)))).covariance()

        return cls(found.weight, away, variance, shares @ variance, forms, U, covariance)

    @classmethod
    def of_moments(cls, moments: GroupedMoments | WithinMoments, mean: Floats, directions: Floats) -> "Along":
        """Where the rows are gone; only of all classes together is a variance known then."""
        pooled = moments if isinstance(moments, WithinMoments) else WithinMoments.of(moments)
        S, known = pooled.covariance(), (pooled.weight > 0.0)[:, None]
        away, within = np.where(known, pooled.mean - mean, 0.0), np.diag(S)
        U = probes(within[None])[0].T
        directions = np.hstack([directions, U])
        forms = directions.T @ S @ directions
        return cls(pooled.weight, away, np.broadcast_to(within, mean.shape), within, forms, U, lambda: S)


def whitened(
    seen: Along,
    stored: Stored,
    directions: Floats,
    tol: float,
    *,
    centre: Floats,
    shares: Floats,
    more: dict[str, Pair],
    note: str = "",
) -> Certificate:
    """The certificate of weights that may lie in `directions` V (p, r) alone: where classes vary by less than `tol`, in
    units of the columns, there is nothing to solve; of the `centre` of the means, and of the `shares` of the directions
    in what lies between classes.

    With w = V a + e the equations V'Sw = V'(m_c - m_0), w = V V'Sw and u'Sw = u'(m_c - m_0) need of the rows no more
    than V'SV and u'SV: v'Sw is v'SVa, up to v'Se, and |v'Se| <= sqrt(v'Sv) sum_j s_j |e_j| with s_j the spread of
    column j.
    """
    (w, _), V, spread = stored.against_first(), directions, np.sqrt(seen.within)
    r = V.shape[1]
    between, unit = stored.mean[1:] - stored.mean[0], np.where(spread > 0.0, spread, 1.0)[:, None]
    with one_blas_thread:
        a = la.lstsq(unit * V, unit * w.T, check_finite=False)[0].T if V.size else np.zeros((len(w), V.shape[1]))
    sizes = np.sqrt(np.abs(np.diag(seen.forms)))
    outside = np.sum(spread * np.abs(w - a @ V.T), axis=1)[:, None] * sizes
    image, across = np.split(a @ seen.forms[:r], [r], axis=1)
    distance = np.maximum(np.sqrt(np.maximum(np.einsum("kp,kp->k", w, between), 0.0)), 1.0)[:, None]
    inside = (w - image @ V.T) * spread
    pairs: dict[str, Pair] = {
        "directions": (seen.forms[:r, :r], np.eye(r), 1.0),
        "weights": (np.abs(image - between @ V) + outside[:, :r], np.zeros_like(image), distance),
        "weights outside the directions": (inside, np.zeros_like(inside), distance),
        "order of the directions": ordered(V, stored.mean, stored.priors),
        "centre of the means": (centre, stored.priors @ stored.mean, np.max(np.abs(stored.mean), axis=0) + 1e-300),
        "shares of the directions": _shares(V, stored, shares, tol),
        **more,
    }
    if len(stored.coef) > len(w):  # of more than two classes each has weights of its own, and not only differences
        middle = (stored.priors @ stored.coef) * spread
        pairs["mean of the weights"] = (middle, np.zeros_like(middle), np.max(distance, initial=1.0))
        pairs["intercept of the first class"] = own_intercept(stored, stored.mean[0] + stored.priors @ stored.mean)
    left = np.abs(across - between @ seen.probes) + outside[:, r:]
    if np.any(left > RULES["exact"].tol * distance * sizes[r:]):
        if len(spread) <= FORMED:
            pairs["weights left out"] = _left_out(seen.covariance(), stored, r, tol, distance)
        else:
            note = f"{note} {NOT_FORMED}".lstrip()
    return of_scores(seen.away, seen.variance, stored, spread, pairs, note)


def _shares(V: Floats, stored: Stored, shares: Floats, tol: float) -> Pair:
    """Shares of the directions in the sum of the variances of the means along them; each that was left out has less
    than `tol`^2 of the largest.
    """
    mean, priors = stored.mean, stored.priors
    values = np.zeros(max(len(shares), V.shape[1]))
    values[: V.shape[1]] = priors @ ((mean - priors @ mean) @ V) ** 2
    total, largest = float(np.sum(values)), float(np.max(values, initial=0.0))
    if total == 0.0:  # nothing lies between the classes
        return shares, np.full_like(shares, np.nan), 1.0
    slack = (min(len(mean) - 1, len(V)) - V.shape[1]) * tol**2 * largest
    away = np.abs(shares * total - values[: len(shares)])
    return np.maximum(away - slack, 0.0), np.zeros_like(shares), max(largest, 1.0)


def _left_out(S: Floats, stored: Stored, directions: int, tol: float, distance: Floats) -> Pair:
    """Of S w - (m_c - m_0), in the space where classes vary, what is neither rounding nor, where there are fewer
    directions than means have, a difference of means of less than `tol` of the largest.
    """
    (w, _), mean, priors = stored.against_first(), stored.mean, stored.priors
    scale = np.sqrt(np.where(np.diag(S) > 0.0, np.diag(S), 1.0))
    with one_blas_thread:
        values, vectors = la.eigh(S / np.outer(scale, scale), check_finite=False)
        spread = np.sqrt(np.maximum(values, 0.0))
        vary = spread > max(tol, LEAST) * (1.0 + 1e-6)
        axes = vectors[:, vary] / scale[:, None] / spread[vary]
        centred = np.sqrt(priors)[:, None] * (mean - priors @ mean) @ axes
        largest = float(la.svdvals(centred, check_finite=False)[0]) if centred.size else 0.0
    away = np.linalg.norm((w @ S - (mean[1:] - mean[0])) @ axes, axis=1)[:, None]
    narrow = float(np.min(spread[vary], initial=1.0))
    allowed = 64.0 * np.sqrt(len(S)) * unit_roundoff(np.float64) * np.sum(scale * np.abs(w), axis=1)[:, None] / narrow
    if directions < min(len(w), int(np.sum(vary))):
        with np.errstate(divide="ignore"):
            allowed += tol * largest * (1.0 / np.sqrt(priors[1:]) + 1.0 / np.sqrt(priors[0]))[:, None]
    return np.maximum(away - allowed, 0.0), np.zeros_like(away), distance
