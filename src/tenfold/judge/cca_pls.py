"""Certificates of canonical correlations and partial least squares.

Scores, loadings and residuals come from products of the rows with the stored rotations, all in one pass. That no
better pair was left out is proved from the scatter S of [x y], in the units in which columns were taken. One that the
plan formed is first compared with the rows, by products with random vectors, else it is formed here. Partial least
squares of few samples, or of no more samples than columns, needs the products of x with y only.

canonical   Both blocks are views of one pencil, see `judge.pencil`.
deflated    In what the earlier scores leave of the blocks the products C of X with y have the singular vectors w and v.
            None is larger than theirs, s, if and only if s^2 I - C'C has a Cholesky factor.

Values are computed from the stored directions: pairs that do not descend, or whose value is negative because one side
was turned round, are refused.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy import linalg as la

from tenfold.arrays import EPS, Array, Floats, unit_roundoff, wide
from tenfold.data import Block, Rows
from tenfold.judge.certificate import RULES, Certificate
from tenfold.judge.generalized_eigenproblem import pencil
from tenfold.linear_algebra import cholesky
from tenfold.machine import one_blas_thread
from tenfold.stats.column_moments import Columns
from tenfold.stats.cross_moments import JointSamples, JointScatter, both_moments, degrees_of_freedom, joint_products
from tenfold.stats.derivatives import Params, adjoint, forward

PROBES = 4  # random vectors by which a given scatter matrix is compared with that of the samples
LEFT_OUT = "A pair of directions that was left out has a larger value."


@dataclass(frozen=True)
class Latent:
    """What a model has stored of each of its two blocks, in float64: weights, loadings and rotations (columns, k), and
    of the blocks together coefficients (t, p), intercept (t,), means and units of the columns, the correlations of the
    pairs (k,) and the scores (n, k) of both blocks; None where it has not. `count` pairs were asked for.
    """

    weights: tuple[Floats, Floats]
    rotations: tuple[Floats, Floats]
    loadings: tuple[Floats, Floats] | None = None
    coef: Floats | None = None
    intercept: Floats | None = None
    means: Floats | None = None
    units: Floats | None = None
    correlations: Floats | None = None
    scores: tuple[Floats, Floats] | None = None
    count: int | None = None

    @property
    def complete(self) -> bool:
        """Whether there are as many pairs, or zeros in their places, as were asked for."""
        return self.count is None or all(side.shape[1] == self.count for side in (*self.weights, *self.rotations))


@dataclass(frozen=True)
class Witness:
    """Means and scales of [x y]; the scaled covariance S (p + t, p + t), and that of x with y, C (p, t); and the
    products (k, p + t) of S with the rotations of X, and with those of y.
    """

    p: int
    means: Floats
    units: Floats
    S: Floats
    C: Floats
    of_x: Floats
    of_y: Floats

    @classmethod
    def of_rows(cls, rows: Rows, rotations: tuple[Floats, Floats], scale: bool, scatter: Floats | None) -> "Witness":
        p, k = len(rotations[0]), rotations[0].shape[1]
        columns: Columns = rows.fold(Columns.lift)
        means, freedom = columns.mean, degrees_of_freedom(columns.weight)
        std = columns.spread / np.sqrt(freedom)
        units = np.where(std > 0.0, std, 1.0) if scale else np.ones(len(means))
        probes = np.random.default_rng(0).choice([-1.0, 1.0], (PROBES, len(means)))
        vectors = np.zeros((2 * k + PROBES, len(means)))
        vectors[:k, :p], vectors[k : 2 * k, p:], vectors[2 * k :] = rotations[0].T, rotations[1].T, probes
        products = rows.fold(joint_products(means, vectors / units)).sum / (units * freedom)
        if scatter is None or not agree(products[2 * k :], probes, scatter):  # not given, or not that of these rows
            own = JointScatter.of(rows.fold(both_moments))
            spread = own.lengths / (units * np.sqrt(freedom))
            scatter = own.correlations * spread[:, None] * spread
        return cls(p, means, units, scatter, scatter[:p, p:], products[:k], products[k : 2 * k])

    @classmethod
    def of_covariances(
        cls, rows: Rows, rotations: tuple[Floats, Floats], scale: bool, scatter: Floats | None
    ) -> "Witness":
        """The same for methods that take C alone: S is empty where the samples are read as two arrays."""
        samples = JointSamples.of(rows)
        if samples is None:
            return cls.of_rows(rows, rotations, scale, scatter)
        p, freedom = len(rotations[0]), degrees_of_freedom(samples.weight)
        std = samples.lengths / np.sqrt(freedom)
        units = np.where(std > 0.0, std, 1.0) if scale else np.ones(len(samples.means))
        X, y = samples.divide_columns(units * np.sqrt(freedom))
        sides = [_through(part, rotated.T) for part, rotated in zip((X, y), rotations, strict=True)]
        of_x, of_y = (np.hstack([adjoint(X, z), adjoint(y, z)]) for z in sides)
        return cls(p, samples.means, units, np.zeros((0, 0)), adjoint(y, X), of_x, of_y)


def _through(A: Floats, vectors: Floats) -> Floats:
    """A v of vectors (k, columns), (n, k)."""
    return np.asarray(forward(A, Params(np.ascontiguousarray(vectors), np.zeros(len(vectors)))))


def agree(products: Floats, probes: Floats, S: Floats) -> bool:
    """Whether a matrix agrees with the rows in products with random vectors."""
    if S.shape != (probes.shape[1],) * 2:
        return False
    with one_blas_thread:
        away = np.abs(products - probes @ S)
    return bool(np.max(away) <= 1e-9 * float(np.max(np.diag(S), initial=0.0)) * len(S))


def canonical(
    rows: Rows,
    fitted: Latent,
    *,
    scale: bool,
    ridge: Sequence[float] = (0.0, 0.0),
    scatter: Floats | None = None,
    dtype: Any = np.float64,
    status: str = "solved",
) -> Certificate:
    """Certificate of canonical correlations."""
    witness = Witness.of_rows(rows, fitted.rotations, scale, scatter)
    p, k = witness.p, _count_pairs(fitted.rotations[0])
    cuts = (np.s_[:p], np.s_[p:])
    views = [part[:, :k].T for part in fitted.rotations]
    products = [witness.of_x[:k], witness.of_y[:k]]
    for i, cut in enumerate(cuts):  # scaled to variance one
        size = np.sqrt(np.maximum(np.sum(views[i] * (products[i][:, cut] + ridge[i] * views[i]), axis=1), 0.0))[:, None]
        size = np.where(size > 0.0, size, 1.0)
        views[i], products[i] = views[i] / size, products[i] / size
    verdict = pencil(witness.S, cuts, views, products, ridge)
    floor = max(64.0 * EPS, 16.0 * unit_roundoff(dtype)) * verdict.condition
    scores = (witness.of_x[:k, :p], witness.of_y[:k, p:])
    parts = [verdict.residual, verdict.slant, *_compare_stored(witness, fitted)]
    for part, rotated, product in zip(range(2), fitted.rotations, scores, strict=True):
        W, R = fitted.weights[part][:, :k], rotated[:, :k]
        inside = W.T @ R
        parts += [
            distance(W.T @ W, np.eye(k)),
            distance(W @ inside, R),
            float(np.max(np.abs(np.tril(inside) - np.eye(k)), initial=0.0)) / max(1.0, float(np.abs(inside).max())),
        ]
        if fitted.loadings is not None:
            with one_blas_thread:
                loadings = la.solve(product @ R, product, check_finite=False).T if k else product.T
            parts.append(distance(fitted.loadings[part][:, :k], loadings))
    slack = max(RULES["spectral"].tol, floor, verdict.residual)
    if fitted.correlations is not None:
        again = np.append(verdict.values, np.zeros(max(len(fitted.correlations) - k, 0)))
        parts.append(distance(fitted.correlations, np.minimum(again, 1.0)))
    leading = fitted.complete and verdict.leading(slack)
    if k < fitted.rotations[0].shape[1]:  # fewer pairs than requested: no more exist
        leading = leading and verdict.exhausted(slack)
    return _certificate(parts, floor, leading, verdict.values, status, verdict.note)


def partial_least_squares(
    rows: Rows,
    fitted: Latent,
    *,
    by_own: bool,
    scale: bool,
    scatter: Floats | None = None,
    dtype: Any = np.float64,
    status: str = "solved",
) -> Certificate:
    """Certificate of partial least squares, y deflated by its own scores or by those of X."""
    witness = Witness.of_covariances(rows, fitted.rotations, scale, scatter)
    p, k = witness.p, _count_pairs(fitted.weights[0])
    (W, V), (R, Q) = ([part[:, :k] for part in sides] for sides in (fitted.weights, fitted.rotations))
    spread = np.sum(witness.of_x[:k, :p] * R.T, axis=1)  # of the scores of X
    P = (witness.of_x[:k, :p] / spread[:, None]).T
    if by_own:
        D = (witness.of_y[:k, p:] / np.sum(witness.of_y[:k, p:] * Q.T, axis=1)[:, None]).T
    else:
        D = (witness.of_x[:k, p:] / spread[:, None]).T
    parts = [distance(P.T @ R, np.eye(k)), *_compare_stored(witness, fitted)]
    if fitted.loadings is not None:
        parts += [distance(part[:, :k], own) for part, own in zip(fitted.loadings, (P, D), strict=True)]
        parts += [
            distance(rotated, part @ la.pinv(loaded.T @ part))
            for rotated, part, loaded in zip(fitted.rotations, fitted.weights, fitted.loadings, strict=True)
        ]
    values, left, leading = _sequence(witness.C, W, V, P, D, by_own, k < fitted.weights[0].shape[1])
    if fitted.scores is not None:
        parts += [distance(side, own) for side, own in zip(fitted.scores, _scores(rows, witness, fitted), strict=True)]
    size = max(float(np.max(np.abs(fitted.rotations[0]), initial=1.0)), 1.0)
    floor = max(64.0 * EPS, 16.0 * unit_roundoff(dtype)) * size
    return _certificate([left, *parts], floor, leading and fitted.complete, values, status)


def _scores(rows: Rows, witness: Witness, fitted: Latent) -> tuple[Floats, Floats]:
    """The scores of X, and those of y deflated by the previous scores of X, in units of the weights of y."""
    p, (R, V) = witness.p, (fitted.rotations[0], fitted.weights[1])
    k, size = R.shape[1], np.sum(V**2, axis=0)
    axes = np.zeros((2 * k, len(witness.means)))
    axes[:k, :p], axes[k:, p:] = R.T, V.T / np.where(size > 0.0, size, 1.0)[:, None]
    along = wide(rows.map(partial(_project, axes / witness.units, witness.means)))
    x, y = along[:, :k], along[:, k:].copy()
    loadings = np.zeros_like(V) if fitted.loadings is None else fitted.loadings[1]
    for j in range(1, k):
        y[:, j] -= x[:, :j] @ (loadings[:, :j].T @ V[:, j]) / (size[j] or 1.0)
    return x, y


def _project(axes: Floats, place: Floats, block: Block) -> Array:
    """Projections of [x y] - place on axes (q, p + t)."""
    p = block.X.shape[1]
    none = np.zeros(len(axes))
    x, y = (
        forward(part, Params(np.ascontiguousarray(axes[:, cut]), none), place[cut])
        for part, cut in ((block.X, np.s_[:p]), (block.y, np.s_[p:]))
    )
    return x + y


def _sequence(
    C: Floats, W: Floats, V: Floats, P: Floats, D: Floats, by_own: bool, all_of_them: bool
) -> tuple[Floats, float, bool]:
    """Values, the largest residual, and whether every pair is leading in C deflated by the previous ones; where no more
    pairs are claimed, the rest of C must vanish.
    """
    top = float(np.linalg.norm(W[:, 0] @ C)) if W.shape[1] else 0.0
    top = max(top, np.finfo(np.float64).tiny)
    tol, values, worst, leading = RULES["spectral"].tol, [], 0.0, True
    for w, v, loaded, own in zip(W.T, V.T, P.T, D.T, strict=True):
        back = w @ C
        size = float(np.linalg.norm(v if by_own else back)) or 1.0
        right = (v if by_own else back) / size
        value = float(back @ right)
        left = max(float(np.linalg.norm(C @ right - value * w)), float(np.linalg.norm(back - value * right))) / top
        worst = max(worst, left, abs(float(np.linalg.norm(w)) - 1.0), distance(v, right if by_own else own))
        leading &= _is_bounded(C, value + max(tol, worst) * top)  # an inexact pair fails by its residual
        C = C - np.outer(loaded, back)
        C = C - np.outer(C @ v, own) if by_own else C
        values.append(value)
    if all_of_them:
        leading &= _is_bounded(C, max(tol, worst) * top)
    return np.array(values), worst, leading


def _is_bounded(C: Floats, value: float) -> bool:
    """Whether no singular value of C exceeds `value`."""
    if value < 0.0:
        return False
    A = C if C.shape[0] >= C.shape[1] else C.T
    if float(np.sum(A * A)) <= value**2:
        return True
    with one_blas_thread:
        rest = value**2 * np.eye(A.shape[1]) - A.T @ A
    return cholesky(rest) is not None


def singular(
    rows: Rows,
    fitted: Latent,
    *,
    scale: bool,
    scatter: Floats | None = None,
    dtype: Any = np.float64,
    status: str = "solved",
) -> Certificate:
    """Certificate of singular vectors of X'y."""
    witness = Witness.of_covariances(rows, fitted.weights, scale, scatter)
    p, (U, V) = witness.p, fitted.weights
    forth, back = witness.of_y[:, :p], witness.of_x[:, p:]  # C v and C'u
    values = np.sum(back * V.T, axis=1)
    top = max(float(np.max(values, initial=0.0)), np.finfo(np.float64).tiny)
    parts = [*_compare_stored(witness, fitted), *(distance(side.T @ side, np.eye(side.shape[1])) for side in (U, V))]
    for image, side in ((forth, U), (back, V)):
        parts.append(float(np.max(np.linalg.norm(image - values[:, None] * side.T, axis=1), initial=0.0)) / top)
    floor = max(64.0 * EPS, 16.0 * unit_roundoff(dtype))
    slack = max(RULES["spectral"].tol, floor) * top
    least = float(np.min(values, initial=top))
    ordered = least >= -slack and not np.any(np.diff(values) > slack)
    leading = fitted.complete and ordered and _is_bounded(witness.C - (U * values) @ V.T, max(least, 0.0) + slack)
    return _certificate(parts, floor, leading, values, status)


def _count_pairs(weights: Floats) -> int:
    """The number of pairs; zero columns after them mean that no more exist."""
    return int(np.sum(np.any(weights != 0.0, axis=0)))


def _compare_stored(witness: Witness, fitted: Latent) -> list[float]:
    """Distances of stored means, scales, coefficients and intercepts from recomputed ones."""
    p, parts = witness.p, []
    units = witness.units
    if fitted.means is not None:
        size = np.maximum(units, np.abs(witness.means))
        parts.append(float(np.max(np.abs(fitted.means - witness.means) / size, initial=0.0)))
    if fitted.units is not None:
        parts.append(float(np.max(np.abs(fitted.units - units) / units, initial=0.0)))
    if fitted.intercept is not None:
        size = np.maximum(units[p:], np.abs(witness.means[p:]))
        parts.append(float(np.max(np.abs(fitted.intercept - witness.means[p:]) / size, initial=0.0)))
    if fitted.coef is not None and fitted.loadings is not None:
        coef = fitted.coef * units[:p] / units[p:, None]
        parts.append(distance(coef, fitted.loadings[1] @ fitted.rotations[0].T))
    return parts


def distance(stored: Floats, again: Floats) -> float:
    """The largest distance of entries, in units of the largest entry."""
    if np.shape(stored) != np.shape(again):
        return np.inf
    size = float(np.max(np.abs(again), initial=0.0)) or 1.0
    away = float(np.max(np.abs(stored - again), initial=0.0)) / size
    return away if np.isfinite(away) else np.inf


def _certificate(
    parts: list[float], floor: float, leading: bool, values: Floats, status: str, note: str = ""
) -> Certificate:
    parts = [part if np.isfinite(part) else np.inf for part in parts]
    value = max(*parts, floor) if leading else np.inf
    return Certificate(
        "spectral",
        value,
        1.0,
        RULES["spectral"].tol,
        floor,
        -float(np.sum(values)),
        status=status,
        parts=tuple(parts),
        note=note if leading else LEFT_OUT,
    )
