"""Solutions of each fold by itself, warm-started along the penalties.

Few dense samples of two classes take one compiled loop (core's newton_path.hpp): a pass over them is cheaper than the
calls that lead to it. In all other cases each model is a fit that starts from the one before, several folds at once.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from tenfold import _core
from tenfold.arrays import Floats, Integers, contiguous
from tenfold.cross_validation.fold_losses import TINY, Paths
from tenfold.data import MemoryRows
from tenfold.judge.certificate import RULES
from tenfold.losses.classification import Logistic, Softmax
from tenfold.machine import run_concurrently, spend, threads
from tenfold.penalties import mixture
from tenfold.plans.glm import minimise
from tenfold.stats.derivatives import products

LOOP_PRODUCTS = 1.3e6  # of a Hessian of all samples: some tens of microseconds (benchmark: grid of 20 C, 200 x 5)
LOSS_PRODUCTS = 100  # that a loss with its derivatives counts for
LOOP_PLACES = 32  # penalties up to which a Hessian at each costs less than the calls of the batched engine


def uses_loop(rows: MemoryRows, places: int) -> bool:
    """Whether the compiled loop is fastest for so many penalties."""
    n, p = rows.shape
    cheap = n * ((p + 1) ** 2 + LOSS_PRODUCTS) <= LOOP_PRODUCTS
    return cheap and places <= LOOP_PLACES and not (rows.sparse or rows.on_device)


def follow_newton(
    rows: MemoryRows,
    folds: Sequence[Integers],
    l2: Floats,
    intercept: bool,
    *,
    shift: Floats,
    tol: float,
    max_iter: int,
) -> Paths | None:
    """The models of two classes of the samples of each fold under L2 penalties (F, A) that decrease along A; measured
    from `shift`, as the coefficients are. None where a Hessian is singular.
    """
    n, lengths, loss = rows.shape[0], np.array([len(fold) for fold in folds]), Logistic()
    params, steps, passes, regular = _core.newton_path(
        np.ascontiguousarray(rows.X),
        np.ascontiguousarray(rows.y[:, 0]),
        rows.weight,
        shift,
        np.concatenate(folds).astype(np.int64, copy=False),
        np.append(0, np.cumsum(lengths)),
        np.ascontiguousarray(l2),
        loss.name,
        loss.parameter,
        intercept,
        max(tol, TINY),
        RULES["gap"].tol,
        float(np.log(2.0)),
        max_iter,
        threads(l2.size * n),
    )
    spend(float(lengths @ passes @ [products(rows.X[:1], 1, order) for order in (1, 2)]))
    if not regular:
        return None
    return Paths(params[:, :, None], steps, int(np.ceil(lengths @ passes.sum(axis=1) / n)))


def follow(
    rows: MemoryRows,
    folds: Sequence[Integers],
    strengths: Floats,
    l1_ratio: float,
    intercept: bool,
    *,
    outputs: int,
    solver: str,
    tol: float,
    max_iter: int,
) -> Paths:
    """The models of the samples of each fold under penalties of `strengths` (F, A), each started from the one before,
    in the coordinates of the samples.
    """
    loss = Logistic() if outputs == 1 else Softmax()
    fit = partial(minimise, outputs=outputs, solver=solver, tol=tol, max_iter=max_iter)

    def follow_fold(fold: int) -> tuple[list[Floats], list[int]]:
        part, params = _select(rows, folds[fold]), None
        coefficients, counts = [], []
        for strength in strengths[fold]:
            params, count = fit(part, loss, mixture(float(strength), l1_ratio), intercept, start=params)
            coefficients.append(np.column_stack([params.coef, params.intercept]))
            counts.append(count)
        return coefficients, counts

    results = run_concurrently(follow_fold, range(len(folds)), rows.entries)
    iterations = np.array([counts for _, counts in results], dtype=np.int32)
    return Paths(np.array([part for part, _ in results]), iterations, int(np.sum(iterations + 1)))


def _select(rows: MemoryRows, indices: Integers) -> MemoryRows:
    """The samples of a fold: by weights where they are most of all, so that folds share the data, or a copy."""
    n = rows.shape[0]
    if 2 * len(indices) > n:
        weight = np.bincount(indices, minlength=n).astype(np.float64)
        return replace(rows, weight=weight if rows.weight is None else weight * rows.weight)
    return MemoryRows(
        contiguous(rows.X[indices]), rows.y[indices], None if rows.weight is None else rows.weight[indices]
    )
