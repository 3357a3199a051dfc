"""Plans of canonical correlation analysis and partial least squares of two blocks of columns, X and y.

All methods need one pass: a Cholesky factor of the second moments of [X y], optionally of standardised columns. Where
the moments are too ill-conditioned, a second pass computes a QR factorisation of the rows. Partial least squares of few
samples, or of no more samples than columns, takes the samples themselves. Results are judged in the precision of
storage.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from tenfold.arrays import Array, Floats, like, namespace, wide
from tenfold.data import Block, Rows
from tenfold.judge import cca_pls as judge
from tenfold.judge.certificate import Certificate
from tenfold.judge.multiview_cca import multiview_cca
from tenfold.linear_algebra import cholesky
from tenfold.machine import one_blas_thread, require_memory
from tenfold.solvers import cca_pls as solver
from tenfold.solvers.cca_pls import Pairs
from tenfold.stats.cross_moments import JointSamples, JointScatter, both_moments, degrees_of_freedom
from tenfold.stats.derivatives import Params, forward
from tenfold.stats.rfactor import RFactor

SINGULAR = 1e-7  # reciprocal condition of the correlations below which moments give fewer than nine digits

TOO_WIDE = "Use fewer columns, or the first principal components of each block."


@dataclass(frozen=True)
class Blocks:
    """Means and scales of the columns of X, then of y; two matrices with the covariances of [x y] in these scales as
    their products, and these covariances, where they were formed.
    """

    means: Floats
    units: Floats
    sides: tuple[Floats, Floats]
    scatter: Floats | None = None

    def coefficients(self, pairs: Pairs) -> Floats:
        """Coefficients (t, p) of the regression of y on X, in the units of the data."""
        p = self.sides[0].shape[1]
        with one_blas_thread:
            coef = pairs.y_loadings @ pairs.x_rotations.T
        return np.asarray(coef * self.units[p:, None] / self.units[:p])


def fold_blocks(rows: Rows, scale: bool) -> Blocks:
    """The blocks, by one or two passes; raises where rows are not finite."""
    p, t = rows.shape[1], rows.targets
    require_memory(f"The {p + t} x {p + t} matrix of second moments", 48 * (p + t) ** 2, TOO_WIDE)
    moments = JointScatter.of(rows.fold(both_moments))
    units, S, F = _scale_and_factor(moments, rows, scale)
    return Blocks(moments.means, units, (F[:, :p], F[:, p:]), S)


def _read_blocks(rows: Rows, scale: bool) -> Blocks:
    """The same, with the samples themselves as factors where these are few."""
    samples = JointSamples.of(rows)
    if samples is None:
        return fold_blocks(rows, scale)
    root = np.sqrt(degrees_of_freedom(samples.weight))
    units = np.where(samples.lengths > 0.0, samples.lengths, root) / root if scale else np.ones(len(samples.lengths))
    return Blocks(samples.means, units, samples.divide_columns(units * root))


def _scale_and_factor(moments: JointScatter, rows: Rows, scale: bool) -> tuple[Floats, Floats, Floats]:
    """The scales of the columns, their covariance in these scales, and a factor of it."""
    root, varies = np.sqrt(degrees_of_freedom(moments.weight)), moments.lengths > 0.0
    units = np.where(varies, moments.lengths, root) / root if scale else np.ones(len(varies))
    spread = moments.lengths / (units * root)  # of each column, in its scale
    S = moments.correlations * spread[:, None] * spread
    F = _factor(moments.correlations, varies)
    if F is not None:
        return units, S, F * spread
    # constant columns are excluded: they hold only rounding
    return units, S, rows.fold(RFactor.lifter(moments.means, varies / (units * root))).R


def _factor(R: Floats, varies: NDArray[np.bool_]) -> Floats | None:
    """U with U'U = R for columns that vary, zero in others; None where R is too ill-conditioned."""
    inside = np.flatnonzero(varies)
    A = np.array(R[np.ix_(inside, inside)], order="F")
    norm = float(np.abs(A).sum(axis=0).max(initial=0.0))
    if inside.size == 0:
        return np.zeros((0, len(R)))
    L = cholesky(A)
    if L is None:
        return None
    with one_blas_thread:
        if not lapack.dpocon(L, norm, uplo="L")[0] > SINGULAR:
            return None
    factor = np.zeros((len(inside), len(R)))
    factor[:, inside] = np.tril(L).T
    return factor


@dataclass(frozen=True)
class Fitted:
    """The fitted arrays in float64, zero beyond the `reached` pairs; the scores (n, k) of the rows, on their device,
    where they are stored; and the certificate.
    """

    stored: judge.Latent
    certificate: Certificate
    reached: int = 0
    scores: tuple[Array, Array] | None = None


def fit_canonical(rows: Rows, count: int, scale: bool, ridge: Sequence[float], dtype: Any) -> Fitted:
    """Canonical correlations: pairs of directions of largest correlation."""
    data = fold_blocks(rows, scale)
    pairs = solver.canonical(*data.sides, count, ridge)
    stored = replace(_convert_pairs(data, pairs, count, dtype), correlations=_convert(dtype, pairs.values))
    certificate = judge.canonical(rows, stored, scale=scale, ridge=ridge, scatter=data.scatter, dtype=dtype)
    return Fitted(stored, certificate, pairs.reached)


def fit_covariances(rows: Rows, count: int, scale: bool, dtype: Any) -> Fitted:
    """Symmetric PLS: pairs of directions of largest covariance, each block deflated by its own scores."""
    data = _read_blocks(rows, scale)
    pairs = solver.deflate(*data.sides, count, by_own=True)
    stored = _convert_pairs(data, pairs, count, dtype)
    certificate = judge.partial_least_squares(rows, stored, by_own=True, scale=scale, scatter=data.scatter, dtype=dtype)
    return Fitted(stored, certificate, pairs.reached)


def fit_regression(rows: Rows, count: int, scale: bool, dtype: Any) -> Fitted:
    """PLS regression: pairs of directions of largest covariance, both blocks deflated by the scores of X; with the
    training scores.
    """
    data = _read_blocks(rows, scale)
    pairs = solver.deflate(*data.sides, count, by_own=False)
    stored = _convert_pairs(data, pairs, count, dtype)
    axes = training_scores(stored.rotations[0], stored.weights[1], _convert(dtype, pairs.y_loadings)) / data.units
    along = rows.map(partial(_scores, axes, data.means, dtype))
    scores = along[:, :count], along[:, count:]
    stored = replace(stored, scores=(wide(scores[0]), wide(scores[1])))
    certificate = judge.partial_least_squares(
        rows, stored, by_own=False, scale=scale, scatter=data.scatter, dtype=dtype
    )
    return Fitted(stored, certificate, pairs.reached, scores)


def fit_singular(rows: Rows, count: int, scale: bool, dtype: Any) -> Fitted:
    """PLS by SVD: singular vectors of the cross-covariance."""
    data = _read_blocks(rows, scale)
    x, y = (_convert(dtype, side) for side in solver.singular(*data.sides, count))
    stored = judge.Latent((x, y), (x, y), means=data.means, units=data.units, count=count)
    return Fitted(stored, judge.singular(rows, stored, scale=scale, scatter=data.scatter, dtype=dtype))


def _convert_pairs(data: Blocks, pairs: Pairs, count: int, dtype: Any) -> judge.Latent:
    kept = partial(_convert, dtype)
    return judge.Latent(
        (kept(pairs.x_weights), kept(pairs.y_weights)),
        (kept(pairs.x_rotations), kept(pairs.y_rotations)),
        (kept(pairs.x_loadings), kept(pairs.y_loadings)),
        kept(data.coefficients(pairs)),
        kept(data.means[len(pairs.x_weights) :]),
        data.means,
        data.units,
        count=count,
    )


def _convert(dtype: Any, part: Floats) -> Floats:
    return wide(part.astype(dtype))


def _scores(axes: Floats, place: Floats, dtype: Any, block: Block) -> Array:
    """Projections of [X y] on `axes` (q, p + t)."""
    p = block.X.shape[1]
    parts = ((block.X, np.s_[:p]), (block.y, np.s_[p:]))
    none = np.zeros(len(axes))
    x, y = (forward(part, Params(np.ascontiguousarray(axes[:, cut]), none), place[cut]) for part, cut in parts)
    return namespace(x).astype(x + y, like(np.zeros(0, dtype), x).dtype, copy=False)


@dataclass(frozen=True)
class Views:
    """Means and scales of the columns; stacked directions (p, k) of all views, their values (k,), and the correlations
    (k, views, views) of their scores; in the precision of storage, in float64.
    """

    means: Floats
    units: Floats
    weights: Floats
    values: Floats
    correlations: Floats
    certificate: Certificate


def fit_views(rows: Rows, widths: Sequence[int], count: int, scale: bool, ridge: Sequence[float], dtype: Any) -> Views:
    """Multiview canonical correlations; the views have `widths` columns each."""
    p = rows.shape[1]
    require_memory(f"The {p} x {p} matrix of second moments", 48 * p * p, TOO_WIDE)
    moments = JointScatter.of(rows.fold(both_moments))
    units, S, F = _scale_and_factor(moments, rows, scale)
    ends = np.cumsum([0, *widths])
    directions, values = solver.views([F[:, a:b] for a, b in pairwise(ends)], count, ridge)
    scatter, kept = S[:p, :p], partial(_convert, dtype)
    correlations = kept(pairwise_correlations(scatter, directions))
    means, units, weights, values = map(kept, (moments.means[:p], units[:p], np.vstack(directions), values))
    certificate = multiview_cca(
        rows,
        means=means,
        units=units,
        directions=np.split(weights, ends[1:-1]),
        values=values,
        correlations=correlations,
        scale=scale,
        ridge=ridge,
        scatter=scatter,
        dtype=dtype,
    )
    return Views(means, units, weights, values, correlations, certificate)


def pairwise_correlations(S: Floats, directions: Sequence[Floats]) -> Floats:
    """Correlations of the scores of all pairs of views, (k, views, views)."""
    ends = np.cumsum([0, *map(len, directions)])
    apart = np.zeros((len(directions), directions[0].shape[1], len(S)))
    for i, (a, b) in enumerate(pairwise(ends)):
        apart[i, :, a:b] = directions[i].T
    with one_blas_thread:
        C = np.einsum("ikp,jkp->kij", apart @ S, apart)
    size = np.sqrt(np.diagonal(C, axis1=1, axis2=2))
    size = np.where(size > 0.0, size, 1.0)
    return np.asarray(C / size[:, :, None] / size[:, None, :])


def training_scores(x_rotations: Floats, y_weights: Floats, y_loadings: Floats) -> Floats:
    """Axes (2 k, p + t) of [x y] that give the scores of X, and those of y deflated by the previous scores of X:
    (y v_k - sum_{j < k} t_j (q_j.v_k)) / |v_k|^2.
    """
    k = x_rotations.shape[1]
    size = np.sum(y_weights**2, axis=0)
    inside = np.triu(y_loadings.T @ y_weights, 1)  # q_j.v_k
    axes = np.zeros((2 * k, len(x_rotations) + len(y_weights)))
    axes[:k, : len(x_rotations)] = x_rotations.T
    axes[k:, : len(x_rotations)] = -(x_rotations @ inside).T
    axes[k:, len(x_rotations) :] = y_weights.T
    axes[k:] /= np.where(size > 0.0, size, 1.0)[:, None]
    return axes
