"""Kernel canonical correlations: the ridge by cross-validation, the directions, and the judge."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tenfold.arrays import Array, Floats, take_rows
from tenfold.judge import kernel_cca as judge
from tenfold.judge.certificate import Certificate
from tenfold.kernels import Kernel, Precomputed
from tenfold.kernels.centring import CentredKernel
from tenfold.kernels.evaluation import take_columns
from tenfold.linear_algebra import product
from tenfold.machine import require_memory
from tenfold.solvers import kernel_cca as solver
from tenfold.solvers.kernel_cca import View
from tenfold.solvers.loop import Status

GRID = np.logspace(-4.0, 3.0, 8)  # ridges, in units of the mean squared eigenvalue of each kernel matrix


@dataclass(frozen=True)
class KernelViews:
    """Dual coefficients (n, k) of each view, offsets (k,) of its scores, values and mean correlations (k,), all in the
    precision of storage; the ridge of each view, and the scores of the grid that it was chosen from.
    """

    coefs: list[Floats]
    offsets: list[Floats]
    values: Floats
    correlations: Floats
    ridge: Floats
    grid: dict[str, Floats] | None
    certificate: Certificate


def fit_views(
    kernels: Sequence[Kernel],
    views: Sequence[Array],
    count: int,
    ridge: Sequence[float] | None,
    ridges: Floats | None,
    splits: Callable[[], Sequence[tuple[Any, Any]]],
    random: Any,
    dtype: Any,
) -> KernelViews:
    """`count` directions with a ridge for each view; ridge None: the best of `ridges` (g, m), or of a grid."""
    n, m = int(views[0].shape[0]), len(views)
    require_memory(
        f"{m} kernel matrices of {n} samples and their eigenvectors", 40 * m * n * n, "Fit a sample of the rows."
    )
    centred = [CentredKernel(kernel, X) for kernel, X in zip(kernels, views, strict=True)]
    matrices = [one.dense() for one in centred]
    grid = None
    if ridge is None:
        table = _make_grid(matrices) if ridges is None else ridges
        grid = _score_grid(kernels, views, table, count, list(splits()), random)
        ridge = [float(eta) for eta in table[int(np.argmax(grid["mean_test_score"]))]]
    fitted = solver.solve([View.of(K) for K in matrices], ridge, count, random)
    status = Status.NO_MAXIMUM if min(ridge) <= 0.0 else fitted.status
    coefs = _fix_signs([(a - a.mean(axis=0)).astype(dtype) for a in fitted.coefs])
    wide = [np.asarray(a, dtype=np.float64) for a in coefs]
    values = fitted.values.astype(dtype)
    correlations = judge.mean_correlations([product(K, a) for K, a in zip(matrices, wide, strict=True)]).astype(dtype)
    verdict = judge.kernel_cca(
        [one.kernel for one in centred],
        [one.X for one in centred],
        ridge,
        coefs=wide,
        values=values.astype(np.float64),
        correlations=correlations.astype(np.float64),
        dtype=dtype,
        status=status.value,
    )
    offsets = [one.means @ (a - a.mean(axis=0)) for one, a in zip(centred, wide, strict=True)]
    return KernelViews(coefs, offsets, values, correlations, np.asarray(ridge, dtype=np.float64), grid, verdict)


def average_correlation(scores: Sequence[Floats]) -> float:
    """The correlation of scores (n, k) of the views, on average over components and pairs of views."""
    return float(np.mean(judge.mean_correlations(scores)))


def _fix_signs(coefs: list[Floats]) -> list[Floats]:
    """Signs by which the largest coefficient of the first view is positive."""
    first = coefs[0]
    largest = np.abs(first).argmax(axis=0)
    sign = np.where(first[largest, np.arange(first.shape[1])] < 0.0, -1.0, 1.0).astype(first.dtype)
    return [a * sign for a in coefs]


def _make_grid(matrices: Sequence[Floats]) -> Floats:
    """Ridges (g, m)."""
    units = np.array([max(float(np.sum(K * K)) / len(K), np.finfo(np.float64).tiny) for K in matrices])
    return GRID[:, None] * units


def _score_grid(
    kernels: Sequence[Kernel],
    views: Sequence[Array],
    table: Floats,
    count: int,
    splits: Sequence[tuple[Any, Any]],
    random: Any,
) -> dict[str, Floats]:
    """The mean correlations of scores of held-out samples, of each ridge and fold: one decomposition of each view in
    each fold serves all ridges.
    """
    each = np.zeros((len(table), len(splits)))
    for fold, (train, test) in enumerate(splits):
        parts = [_take(kernel, X, train) for kernel, X in zip(kernels, views, strict=True)]
        centred = [CentredKernel(kernel, X) for kernel, X in zip(kernels, parts, strict=True)]
        spaces = [View.of(one.dense()) for one in centred]
        held = [
            np.asarray(one.kernel(*_test_pair(kernel, X, part, train, test)))
            for one, kernel, X, part in zip(centred, kernels, views, parts, strict=True)
        ]
        for g, ridge in enumerate(table):
            fitted = solver.solve(spaces, list(ridge), count, random)
            scores = [product(K, a - a.mean(axis=0)) for K, a in zip(held, fitted.coefs, strict=True)]
            each[g, fold] = average_correlation(scores)
    return {"ridges": table, "fold_scores": each, "mean_test_score": each.mean(axis=1)}


def _take(kernel: Kernel, X: Array, rows: Any) -> Array:
    part = take_rows(X, rows)
    return take_columns(part, rows) if isinstance(kernel, Precomputed) else part


def _test_pair(kernel: Kernel, X: Array, part: Array, train: Any, test: Any) -> tuple[Array, Array]:
    """Samples that are held out, or their rows of a given matrix, and those of the fit."""
    held = take_rows(X, test)
    return (take_columns(held, train) if isinstance(kernel, Precomputed) else held), part
