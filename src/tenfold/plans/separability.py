"""Directions of recession: for separable classes, or counts that are zero along a direction, the unpenalised likelihood
has no maximum.
"""

from collections.abc import Callable

import numpy as np
from scipy.linalg import lapack

from tenfold.arrays import Floats, namespace
from tenfold.data import Block, Rows, resolve, sampling_step
from tenfold.losses.classification import Softmax
from tenfold.losses.regression import Square
from tenfold.machine import one_blas_thread
from tenfold.plans.coordinates import NEWTON_COLUMNS, approximate_centre, shift_intercept
from tenfold.problems import Glm
from tenfold.stats.column_moments import Columns
from tenfold.stats.derivatives import Params, Total, derivatives, forward
from tenfold.stats.min_max import of_columns, of_recession
from tenfold.stats.softmax import threshold_hessian


def recession(problem: Glm, rows: Rows, params: Params) -> Params | None:
    """A direction along which no loss of a sample of positive weight increases, and samples that still matter at
    `params` do not change: the loss decreases without end.

    Searched in the null space of the samples with noticeable curvature; None where the search fails.
    """
    p = rows.shape[1]
    if p > NEWTON_COLUMNS:
        return None
    shift = approximate_centre(rows, True) if problem.intercept else np.zeros(p)
    local = shift_intercept(params, shift)
    everything = rows.fold(_gram(problem, local, -1.0, shift)).sum
    scale = np.sqrt(np.where(np.diag(everything) > 0.0, np.diag(everything), 1.0))
    theta = np.append(local.coef[0], local.intercept)[: len(scale)]
    for threshold in (1e-9, 1e-7, 1e-5):
        core = rows.fold(_gram(problem, local, threshold, shift)).sum
        with one_blas_thread:
            values, vectors, info = lapack.dsyevd(core / scale / scale[:, None])
        null = vectors[:, values <= 1e-12 * len(scale)]
        if info != 0 or not null.size:
            continue
        d = np.append(null @ (null.T @ (theta * scale)) / scale, 0.0)[: p + 1]
        right = rows.fold(of_recession(problem.loss, Params(d[None, :p], d[p:]), shift))
        if right.low[0] <= right.high[0] and right.low[0] >= -1e-12 * right.high[0]:
            return normalise(shift_intercept(Params(d[None, :p], d[p:]), -shift))
    return None


def _gram(problem: Glm, params: Params, threshold: float, shift: Floats) -> Callable[[Block], Total]:
    """The lift of the sum of [x - shift, 1] [x - shift, 1]' over rows of positive weight whose curvature at `params`
    exceeds `threshold`.
    """
    k = len(shift) + problem.intercept
    zero = Params(np.zeros((1, len(shift))), np.zeros(1))

    def lift(block: Block) -> Total:
        chosen = problem.loss.curvature(block.y, forward(block.X, params, shift))[:, 0] > threshold
        if block.weight is not None:
            chosen = chosen & (block.weight > 0.0)
        xp = namespace(block.y)
        rows = Block(block.X, block.y, xp.astype(chosen, xp.float64))
        return Total(np.asarray(resolve(derivatives(Square(), zero, 2, shift)(rows)).hessian)[:k, :k])

    return lift


def recession_of_classes(problem: Glm, rows: Rows, params: Params) -> Params | None:
    """As `recession`, for several classes: no margin between the true class and another decreases along it."""
    K, p = params.coef.shape
    k = p + problem.intercept
    if K * k > NEWTON_COLUMNS:
        return None
    shift = approximate_centre(rows, True) if problem.intercept else np.zeros(p)
    local = shift_intercept(params, shift)
    columns = rows.fold(Columns.lift)
    lengths = np.append(np.sqrt(columns.squares_about(shift)), 1.0)[:k]
    scale = np.tile(np.where(lengths > 0.0, lengths, 1.0), K)
    theta = np.column_stack([local.coef, local.intercept])[:, :k].ravel() * scale
    each = np.arange(k)
    for threshold in (1e-9, 1e-7, 1e-5):
        core = rows.fold(threshold_hessian(local, shift, threshold)).sum.reshape(K, p + 1, K, p + 1) / columns.weight
        core = core[:, :k, :, :k].reshape(K * k, K * k) / scale / scale[:, None]
        lifted = core.reshape(K, k, K, k)
        lifted[:, each, :, each] += 1.0 / K  # a shift common to all classes changes no prediction
        with one_blas_thread:
            values, vectors, info = lapack.dsyevd(lifted.reshape(len(scale), len(scale)))
        null = vectors[:, values <= 1e-12 * len(scale)]
        if info != 0 or not null.size:
            continue
        d = np.zeros((K, p + 1))
        d[:, :k] = (null @ (null.T @ theta) / scale).reshape(K, k)
        direction = Params(np.ascontiguousarray(d[:, :p]), np.ascontiguousarray(d[:, p]))
        right = rows.fold(of_recession(Softmax(), direction, shift))
        if right.high[0] > 0.0 and right.low[0] >= -1e-12 * right.high[0]:
            return normalise(shift_intercept(direction, -shift))
    return None


def normalise(params: Params) -> Params:
    """The direction scaled to weights of norm one."""
    length = float(np.linalg.norm(params.coef)) or 1.0
    return Params(params.coef / length, params.intercept / length)


def check_tiny_columns(rows: Rows) -> None:
    """Raise for a column of tiny values: without a penalty its weight is huge, and squares of its values underflow."""
    sample = rows.subsample(sampling_step(rows.shape[0], 2048))
    if rows.sparse:
        largest = np.asarray(abs(sample.whole().X).max(axis=0).todense()).ravel()
    else:
        extremes = sample.fold(of_columns)
        largest = np.maximum(-extremes.low, extremes.high)
    if np.any((largest > 0.0) & (largest < 1e-140)):
        raise ValueError(
            "Input X has a column of values below 1e-140: without a penalty its weight is too large to be found. "
            "Scale the columns."
        )
