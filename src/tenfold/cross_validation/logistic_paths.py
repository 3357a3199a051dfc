"""Solutions of logistic models along the penalty, for the folds of a cross-validation, by the engine that pays.

Either all folds and penalties in batches (logistic_batched.py), or each fold by itself with warm starts
(logistic_per_fold.py).
"""

from collections.abc import Sequence

import numpy as np

from tenfold.arrays import Floats, Integers
from tenfold.cross_validation.fold_losses import Paths
from tenfold.cross_validation.logistic_batched import solve_batched
from tenfold.cross_validation.logistic_per_fold import follow, follow_newton, uses_loop
from tenfold.data import MemoryRows
from tenfold.plans.coordinates import NEWTON_COLUMNS, approximate_centre, shift_intercept
from tenfold.plans.glm import MULTICLASS_HESSIAN_MAX_COEFFICIENTS, MULTICLASS_HESSIAN_MAX_PRODUCTS, forms_hessian
from tenfold.stats.derivatives import Params

SHARED_FEATURES = 512  # of two classes, up to which one Hessian for all folds costs less than L-BFGS without it


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
    """The models of the samples of each fold under penalties of `strengths` (F, A), from strong to weak."""
    n, p = rows.shape
    outputs, weakest = 1 if classes == 2 else classes, float(np.min(strengths))
    size = outputs * (p + 1)
    similar = all(len(fold) > p for fold in folds) and forms_hessian(rows, weakest)
    cheap = outputs == 1 or (
        size <= MULTICLASS_HESSIAN_MAX_COEFFICIENTS and n * size**2 <= MULTICLASS_HESSIAN_MAX_PRODUCTS
    )
    by_blocks = similar and p <= SHARED_FEATURES if outputs == 1 else p <= NEWTON_COLUMNS and 3 * n >= 2 * p
    unique = all(np.bincount(fold).max() == 1 for fold in folds)
    if weakest > 0.0 and unique and (by_blocks or (similar and cheap)):
        shift = approximate_centre(rows, True) if intercept else np.zeros(p)
        result = None
        if l1_ratio == 0.0 and outputs == 1 and similar and uses_loop(rows, strengths.shape[1]):
            result = follow_newton(rows, folds, strengths, intercept, shift=shift, tol=tol, max_iter=max_iter)
        if result is None:
            result = solve_batched(
                rows,
                folds,
                l1_ratio * strengths,
                (1.0 - l1_ratio) * strengths,
                intercept,
                cell_hessians=similar and cheap,
                outputs=outputs,
                shift=shift,
                tol=tol,
                max_iter=max_iter,
            )
        if result is not None:
            return result._replace(params=_uncentre(result.params, shift))
    return follow(
        rows, folds, strengths, l1_ratio, intercept, outputs=outputs, solver=solver, tol=tol, max_iter=max_iter
    )


def _uncentre(params: Floats, shift: Floats) -> Floats:
    """Coefficients (..., p + 1) of samples measured from `shift`, for the samples themselves."""
    flat = params.reshape(-1, params.shape[-1])
    back = shift_intercept(Params(flat[:, :-1], flat[:, -1]), -shift)
    return np.column_stack([back.coef, back.intercept]).reshape(params.shape)
