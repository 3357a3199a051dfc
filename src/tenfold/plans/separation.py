"""Classes that can be separated: without a penalty the likelihood has no maximum, and grows along a direction."""

from typing import Any

import numpy as np
from scipy.linalg import lapack

from tenfold.arrays import Floats, is_sparse
from tenfold.data import Block, Rows, sampling_step, targets_of, weights_of
from tenfold.losses import Square
from tenfold.machine import one_blas_thread
from tenfold.plans.frames import NEWTON_COLUMNS, middle, moved
from tenfold.problems import Glm
from tenfold.stats import Params, derivatives, predictions


def recession(problem: Glm, rows: Rows, params: Params) -> Params | None:
    """A direction in which no row of positive weight gets worse, and rows that still matter at `params` do not change.

    The loss falls for ever along it. Looked for in the null space of the rows with noticeable curvature; None where
    none is found.
    """
    p = rows.shape[1]
    if p > NEWTON_COLUMNS:
        return None
    weight, y = rows.map(weights_of), rows.map(targets_of)
    shift = middle(rows, True) if problem.intercept else np.zeros(p)
    local = moved(params, shift)
    c = problem.loss.curvature(y, rows.map(predictions(local, shift)))[:, 0]
    everything = _gram(rows, np.where(weight > 0.0, 1.0, 0.0), shift, problem.intercept)
    scale = np.sqrt(np.where(np.diag(everything) > 0.0, np.diag(everything), 1.0))
    theta = np.append(local.coef[0], local.intercept)[: len(scale)]
    for threshold in (1e-9, 1e-7, 1e-5):
        core = _gram(rows, np.where((weight > 0.0) & (c > threshold), 1.0, 0.0), shift, problem.intercept)
        with one_blas_thread:
            values, vectors, info = lapack.dsyevd(core / scale / scale[:, None])
        null = vectors[:, values <= 1e-12 * len(scale)]
        if info != 0 or not null.size:
            continue
        d = np.append(null @ (null.T @ (theta * scale)) / scale, 0.0)[: p + 1]
        right = (y * rows.map(predictions(Params(d[None, :p], d[p:]), shift)))[weight > 0.0]
        if right.size and float(right.min()) >= -1e-12 * float(right.max()):
            return unit(moved(Params(d[None, :p], d[p:]), -shift))
    return None


def _gram(rows: Rows, weight: Floats, shift: Floats, intercept: bool) -> Floats:
    """The sum of weight [x - shift, 1] [x - shift, 1]' over the rows."""
    p = len(shift)
    zero = Params(np.zeros((1, p)), np.zeros(1))

    def lift(block: Block) -> Any:
        return derivatives(Square(), zero, 2, shift)(Block(block.X, block.y, np.ascontiguousarray(block.y[:, 0])))

    found = rows.retarget(np.ascontiguousarray(weight[:, None])).fold(lift).hessian
    assert found is not None
    return np.asarray(found[: p + intercept, : p + intercept])


def unit(params: Params) -> Params:
    """The same direction, with weights of length one."""
    length = float(np.linalg.norm(params.coef)) or 1.0
    return Params(params.coef / length, params.intercept / length)


def refuse_tiny(rows: Rows) -> None:
    """Without a penalty a column of tiny values has a huge weight, and squares of its values are not numbers."""
    X = rows.thin(sampling_step(rows.shape[0], 2048)).whole().X
    largest = np.asarray(abs(X).max(axis=0).todense() if is_sparse(X) else np.abs(X).max(axis=0)).ravel()
    if np.any((largest > 0.0) & (largest < 1e-140)):
        raise ValueError(
            "Input X has a column of values below 1e-140: without a penalty its weight is too large to be found. "
            "Scale the columns."
        )
