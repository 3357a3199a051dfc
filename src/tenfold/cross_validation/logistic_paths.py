"""Paths of logistic models along the strength of the penalty, for the folds of a cross-validation.

Few coefficients: all models together (logistic_batched.py, and logistic_l1_path.py under an L1 penalty), and few
samples of two classes under few penalties each fold by itself, in one compiled loop (logistic_per_fold.py). Many
coefficients of several classes under an L2 penalty: all folds together, from penalty to penalty (multinomial_path.py).
Otherwise each fold by itself, several at once, each on its share of the threads, with warm starts.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from tenfold.arrays import Floats, Integers, contiguous
from tenfold.cross_validation.batched_objective import Paths
from tenfold.cross_validation.logistic_batched import together
from tenfold.cross_validation.logistic_l1_path import nonsmooth
from tenfold.cross_validation.logistic_per_fold import apart, is_cheap
from tenfold.cross_validation.multinomial_path import by_strides
from tenfold.data import MemoryRows
from tenfold.losses.classification import Logistic, Softmax
from tenfold.machine import run_concurrently
from tenfold.penalties import mixture
from tenfold.plans.coordinates import NEWTON_COLUMNS, approximate_centre, shift_intercept
from tenfold.plans.glm import CHEAP_HESSIAN_OF_CLASSES, FEW_COEFFICIENTS, forms_hessian, minimise
from tenfold.stats.derivatives import Params

SHARED_COLUMNS = 512
"""Up to so many columns of two classes a Hessian is formed for all folds."""


def paths(
    rows: MemoryRows,
    folds: Sequence[Integers],
    strengths: Floats,
    l1_ratio: float,
    intercept: bool,
    *,
    classes: int,
    solver: str,
    tol: float,
    max_iter: int,
) -> Paths:
    """The models of the rows of each fold under penalties of `strengths` (F, A), best from strong to weak."""
    outputs, weakest = 1 if classes == 2 else classes, float(np.min(strengths))
    shift = approximate_centre(rows, True) if intercept else np.zeros(rows.shape[1])
    common: dict[str, Any] = {"outputs": outputs, "shift": shift, "tol": tol, "max_iter": max_iter}
    found = None
    if _alike(rows, folds, weakest, outputs):
        if l1_ratio == 0.0 and outputs == 1 and is_cheap(rows, strengths.shape[1]):
            found = apart(rows, folds, strengths, intercept, shift=shift, tol=tol, max_iter=max_iter)
        if l1_ratio == 0.0 and found is None:
            found = together(rows, folds, strengths, intercept, **common)
        if l1_ratio > 0.0:
            penalties = (l1_ratio * strengths, (1.0 - l1_ratio) * strengths)
            found = nonsmooth(rows, folds, *penalties, intercept, **common)
    elif l1_ratio == 0.0 and _blockwise(rows, folds, weakest, outputs):
        found = by_strides(rows, folds, strengths, intercept, **common)
    if found is None:
        settings = {"outputs": outputs, "solver": solver, "tol": tol, "max_iter": max_iter}
        return _alone(rows, folds, strengths, l1_ratio, intercept, settings)
    return found._replace(params=_away(found.params, shift))


def _alike(rows: MemoryRows, folds: Sequence[Integers], weakest: float, outputs: int) -> bool:
    """Whether the models of all folds are near those of all rows, whose Hessian can be formed."""
    n, p = rows.shape
    size = outputs * (p + 1)
    few = p <= SHARED_COLUMNS if outputs == 1 else size <= FEW_COEFFICIENTS and n * size**2 <= CHEAP_HESSIAN_OF_CLASSES
    tall = all(len(fold) > p for fold in folds)
    return weakest > 0.0 and few and tall and _once(folds) and forms_hessian(rows, weakest)


def _blockwise(rows: MemoryRows, folds: Sequence[Integers], weakest: float, outputs: int) -> bool:
    """Whether models of several classes have Hessians of which blocks can be formed, and rows are not so few that they
    would be turned into as many coordinates.
    """
    n, p = rows.shape
    return outputs > 1 and weakest > 0.0 and p <= NEWTON_COLUMNS and 3 * n >= 2 * p and _once(folds)


def _once(folds: Sequence[Integers]) -> bool:
    """Whether no row comes twice in a fold."""
    return all(np.bincount(fold).max() == 1 for fold in folds)


def _alone(
    rows: MemoryRows,
    folds: Sequence[Integers],
    strengths: Floats,
    l1_ratio: float,
    intercept: bool,
    settings: dict[str, Any],
) -> Paths:
    """Fold by fold, each model from the one before it."""
    loss = Logistic() if settings["outputs"] == 1 else Softmax()

    def of_fold(fold: int) -> tuple[list[Floats], list[int]]:
        part, params = _part(rows, folds[fold]), None
        found, counts = [], []
        for strength in strengths[fold]:
            penalty = mixture(float(strength), l1_ratio)
            params, count = minimise(part, loss, penalty, intercept, **settings, start=params)
            found.append(np.column_stack([params.coef, params.intercept]))
            counts.append(count)
        return found, counts

    found = run_concurrently(of_fold, range(len(folds)), rows.entries)
    iterations = np.array([one[1] for one in found], dtype=np.int32)
    params = np.array([one[0] for one in found])
    return Paths(params, iterations, int(np.sum(iterations + 1)))


def _part(rows: MemoryRows, chosen: Integers) -> MemoryRows:
    """The rows of a fold: a weight for each where they are most of all, which all folds then share, or a copy."""
    n = rows.shape[0]
    if 2 * len(chosen) > n:
        weight = np.bincount(chosen, minlength=n).astype(np.float64)
        return replace(rows, weight=weight if rows.weight is None else weight * rows.weight)
    return MemoryRows(contiguous(rows.X[chosen]), rows.y[chosen], None if rows.weight is None else rows.weight[chosen])


def _away(params: Floats, shift: Floats) -> Floats:
    """Coefficients (..., p + 1) of rows measured from `shift`, for the rows themselves."""
    flat = params.reshape(-1, params.shape[-1])
    back = shift_intercept(Params(flat[:, :-1], flat[:, -1]), -shift)
    return np.column_stack([back.coef, back.intercept]).reshape(params.shape)
