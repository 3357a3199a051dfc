"""Independent components: whitening by the moments of one pass, a rotation by FastICA, a pass a step, and the judge."""

from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import pinv

from tenfold.arrays import EPS, Floats, wide
from tenfold.data import NotFinite, Rows
from tenfold.judge import fast_ica as judge
from tenfold.judge.certificate import Certificate
from tenfold.linear_algebra import eigh, product
from tenfold.plans.covariance import fold_scatter
from tenfold.solvers import fast_ica as solver
from tenfold.solvers.loop import Status, run
from tenfold.stats.contrasts import Contrasts, Nonlinearity, contrasts


class Whitening(NamedTuple):
    """Mean (p,) and whitening matrix (k, p) of samples whose weights sum to `weight`: (1 / weight) I is the covariance
    of what it gives; without whitening zero and the identity.
    """

    mean: Floats
    matrix: Floats
    weight: float


class FittedSources(NamedTuple):
    """The mean, the whitening matrix and the components (k, p), their pseudo-inverse (p, k), the steps taken, and the
    certificate.
    """

    mean: Floats
    whitening: Floats
    components: Floats
    mixing: Floats
    iterations: int
    certificate: Certificate


def whiten_rows(rows: Rows, count: int) -> Whitening:
    """The leading principal axes over their singular values, at most `count`, and no more than the rank."""
    scatter = fold_scatter(rows, False)
    values, axes = eigh(scatter.covariance)
    values, axes = values[::-1], axes[:, ::-1]
    if not np.isfinite(values).all():
        raise NotFinite
    rank = int(np.count_nonzero(values > len(values) * EPS * max(float(values[0]), 0.0)))
    k = min(count, max(rank, 1))
    size = np.sqrt(np.maximum(values[:k], np.finfo(np.float64).tiny) * scatter.weight)
    turned = axes[:, :k] * np.where(axes[0, :k] < 0.0, -1.0, 1.0)
    return Whitening(scatter.centre, np.ascontiguousarray((turned / size).T), scatter.weight)


def no_whitening(p: int, weight: float) -> Whitening:
    return Whitening(np.zeros(p), np.eye(p), weight)


def fit_sources(
    rows: Rows,
    whitening: Whitening,
    start: Floats,
    g: Nonlinearity,
    *,
    algorithm: str,
    whiten: Any,
    tol: float,
    max_iter: int,
    dtype: Any,
) -> FittedSources:
    """Fit the rotation from `start` (k, k), and scale the components as `whiten` says."""
    root = np.sqrt(whitening.weight) if whiten else 1.0
    unit = root * whitening.matrix

    def fold(W: Floats, some: slice) -> Contrasts:
        sums: Contrasts = rows.fold(contrasts(product(W, unit), whitening.mean, g, some, False))
        if not np.isfinite(sums.products).all():
            raise NotFinite
        return sums

    reached = max(tol, 64.0 * EPS)
    W, iterations, status = solver.decorrelate(start), 0, Status.CONVERGED
    if algorithm == "parallel":
        solution = run(solver.parallel_steps(fold, start, reached), max_iter)
        W, iterations, status = solution.params.rows, solution.iterations, solution.status
    else:
        for j in range(len(W) - 1):
            solution = run(solver.deflation_steps(fold, W, j, reached / np.sqrt(len(W))), max_iter)
            W, iterations = solution.params.rows, max(iterations, solution.iterations)
            status = status if solution.status is Status.CONVERGED else solution.status
    components = product(W, unit if whiten == "unit-variance" else whitening.matrix)

    def convert(part: Floats) -> Floats:
        return part if part.dtype == dtype else wide(part.astype(dtype))

    mixing = pinv(components)
    stored = judge.Stored(*map(partial(convert), (whitening.mean, whitening.matrix, components, mixing)))
    certificate = judge.fast_ica(
        rows, stored, g, algorithm=algorithm, whiten=whiten, tol=tol, dtype=dtype, status=status.value
    )
    return FittedSources(*stored, max(iterations, 1), certificate)
