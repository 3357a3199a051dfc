"""Two blocks of columns of the same rows, X and y: canonical correlations and partial least squares.

All come from one pass: the second moments of [X y], columns in units of their standard deviations where that is asked
for, in a triangular factor. Where the moments have lost too many digits for that, a second pass folds the rows into a
triangular factor themselves. What is found is judged as it will be stored.
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
from tenfold.stats.cross_moments import JointScatter, both_moments, degrees_of_freedom
from tenfold.stats.derivatives import Params, forward
from tenfold.stats.rfactor import RFactor

SINGULAR = 1e-7
"""With a smaller reciprocal condition of their correlations the moments are not factored: results would be right to
fewer than nine digits.
"""

TOO_WIDE = "Use fewer columns, or the first principal components of each block."


@dataclass(frozen=True)
class Blocks:
    """Means and units of the columns of X and y; the scatter of [x y] in these units, divided by the degrees of
    freedom, and a factor of it.
    """

    x_mean: Floats
    y_mean: Floats
    x_std: Floats
    y_std: Floats
    scatter: Floats
    factor: Floats

    @property
    def means(self) -> Floats:
        """Of the columns of X, then of y."""
        return np.append(self.x_mean, self.y_mean)

    @property
    def units(self) -> Floats:
        """Of the columns of X, then of y."""
        return np.append(self.x_std, self.y_std)

    @property
    def sides(self) -> tuple[Floats, Floats]:
        """The factor of X, and that of y."""
        p = len(self.x_mean)
        return self.factor[:, :p], self.factor[:, p:]

    def coefficients(self, pairs: Pairs) -> Floats:
        """Of the prediction of y from the scores of X and the loadings of y, in the units of the data, (t, p)."""
        with one_blas_thread:
            coef = pairs.y_loadings @ pairs.x_rotations.T
        return np.asarray(coef * self.y_std[:, None] / self.x_std)


def blocks(rows: Rows, scale: bool) -> Blocks:
    """One pass, or two; refuses rows that are not finite."""
    p, t = rows.shape[1], rows.targets
    require_memory(f"The {p + t} x {p + t} matrix of second moments", 48 * (p + t) ** 2, TOO_WIDE)
    found = JointScatter.of(rows.fold(both_moments))
    units, S, F = _factored(found, rows, scale)
    return Blocks(found.means[:p], found.means[p:], units[:p], units[p:], S, F)


def _factored(found: JointScatter, rows: Rows, scale: bool) -> tuple[Floats, Floats, Floats]:
    """The units of the columns, their scatter in these, divided by the degrees of freedom, and a factor of it."""
    root, varies = np.sqrt(degrees_of_freedom(found.weight)), found.lengths > 0.0
    units = np.where(varies, found.lengths, root) / root if scale else np.ones(len(varies))
    spread = found.lengths / (units * root)  # of each column, in its unit
    S = found.correlations * spread[:, None] * spread
    F = _factor(found.correlations, varies)
    if F is not None:
        return units, S, F * spread
    # a constant column is nothing but the rounding of its mean
    return units, S, rows.fold(RFactor.lifter(found.means, varies / (units * root))).R


def _factor(R: Floats, varies: NDArray[np.bool_]) -> Floats | None:
    """U with U'U = R of the columns that vary, zero in the others; None where digits are lost."""
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
    """What is stored, in float64; how many pairs there are, with zeros behind them; the scores of the rows (n, k) where
    these are kept, where the rows are; and what the judge says.
    """

    stored: judge.Latent
    certificate: Certificate
    reached: int = 0
    scores: tuple[Array, Array] | None = None


def fit_canonical(rows: Rows, count: int, scale: bool, ridge: Sequence[float], dtype: Any) -> Fitted:
    """Pairs of directions with the largest correlations."""
    found = blocks(rows, scale)
    pairs = solver.canonical(*found.sides, count, ridge)
    stored = replace(_stored(found, pairs, count, dtype), correlations=_kept(dtype, pairs.values))
    certificate = judge.canonical(rows, stored, scale=scale, ridge=ridge, scatter=found.scatter, dtype=dtype)
    return Fitted(stored, certificate, pairs.reached)


def fit_covariances(rows: Rows, count: int, scale: bool, dtype: Any) -> Fitted:
    """Pairs of directions with the largest covariances in what the scores of each block leave of it."""
    found = blocks(rows, scale)
    pairs = solver.deflate(*found.sides, count, by_own=True)
    stored = _stored(found, pairs, count, dtype)
    certificate = judge.deflated(rows, stored, by_own=True, scale=scale, scatter=found.scatter, dtype=dtype)
    return Fitted(stored, certificate, pairs.reached)


def fit_regression(rows: Rows, count: int, scale: bool, dtype: Any) -> Fitted:
    """Pairs of directions with the largest covariances in what the scores of X leave of both blocks; with the scores of
    the rows.
    """
    found = blocks(rows, scale)
    pairs = solver.deflate(*found.sides, count, by_own=False)
    stored = _stored(found, pairs, count, dtype)
    axes = training_scores(stored.rotations[0], stored.weights[1], _kept(dtype, pairs.y_loadings)) / found.units
    along = rows.map(partial(_scores, axes, found.means, dtype))
    scores = along[:, :count], along[:, count:]
    stored = replace(stored, scores=(wide(scores[0]), wide(scores[1])))
    certificate = judge.deflated(rows, stored, by_own=False, scale=scale, scatter=found.scatter, dtype=dtype)
    return Fitted(stored, certificate, pairs.reached, scores)


def fit_singular(rows: Rows, count: int, scale: bool, dtype: Any) -> Fitted:
    """Pairs of directions with the largest covariances."""
    found = blocks(rows, scale)
    x, y = (_kept(dtype, side) for side in solver.singular(*found.sides, count))
    stored = judge.Latent((x, y), (x, y), means=found.means, units=found.units, count=count)
    return Fitted(stored, judge.singular(rows, stored, scale=scale, scatter=found.scatter, dtype=dtype))


def _stored(found: Blocks, pairs: Pairs, count: int, dtype: Any) -> judge.Latent:
    kept = partial(_kept, dtype)
    return judge.Latent(
        (kept(pairs.x_weights), kept(pairs.y_weights)),
        (kept(pairs.x_rotations), kept(pairs.y_rotations)),
        (kept(pairs.x_loadings), kept(pairs.y_loadings)),
        kept(found.coefficients(pairs)),
        kept(found.y_mean),
        found.means,
        found.units,
        count=count,
    )


def _kept(dtype: Any, part: Floats) -> Floats:
    return wide(part.astype(dtype))


def _scores(axes: Floats, place: Floats, dtype: Any, block: Block) -> Array:
    """Rows of [X y] along `axes` (q, p + t)."""
    p = block.X.shape[1]
    parts = ((block.X, np.s_[:p]), (block.y, np.s_[p:]))
    none = np.zeros(len(axes))
    x, y = (forward(part, Params(np.ascontiguousarray(axes[:, cut]), none), place[cut]) for part, cut in parts)
    return namespace(x).astype(x + y, like(np.zeros(0, dtype), x).dtype, copy=False)


@dataclass(frozen=True)
class Views:
    """Means and units of the columns; directions (p, k) of all views, one under the other, their values (k,), and the
    correlations (k, views, views) of their scores; as they will be stored, in float64.
    """

    means: Floats
    units: Floats
    weights: Floats
    values: Floats
    correlations: Floats
    certificate: Certificate


def fit_views(rows: Rows, widths: Sequence[int], count: int, scale: bool, ridge: Sequence[float], dtype: Any) -> Views:
    """Directions of views, which are so many columns of the rows each; these have no target."""
    p = rows.shape[1]
    require_memory(f"The {p} x {p} matrix of second moments", 48 * p * p, TOO_WIDE)
    found = JointScatter.of(rows.fold(both_moments))
    units, S, F = _factored(found, rows, scale)
    ends = np.cumsum([0, *widths])
    directions, values = solver.views([F[:, a:b] for a, b in pairwise(ends)], count, ridge)
    scatter, kept = S[:p, :p], partial(_kept, dtype)
    correlations = kept(pairwise_correlations(scatter, directions))
    means, units, weights, values = map(kept, (found.means[:p], units[:p], np.vstack(directions), values))
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
    """Of the scores of all views with each other, (k, views, views)."""
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
    """Directions (2 k, p + t) of [x y] whose products are the scores of X, and those of what the scores of X before
    them leave of y: y v_k less the sum of t_j (q_j.v_k) over j < k, in units of |v_k|^2.
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
