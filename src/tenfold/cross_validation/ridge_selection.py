"""Ridge regression whose penalty is that of the least exact leave-one-out error, from few passes over the rows.

Tall rows: their moments, one eigendecomposition, a pass for the errors of all penalties, and the certified fit. Where
the eigendecomposition loses digits the rows are read again for a QR factor. Wide rows: one n x n eigendecomposition.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from tenfold.arrays import Floats
from tenfold.cross_validation.ridge_loo import leave_one_out
from tenfold.cross_validation.ridge_spectrum import UNEVEN, Tall, Wide, agrees, coef_of_each, of, tall_by_rows
from tenfold.data import Rows
from tenfold.plans.least_squares import fit, fold_moments, from_moments
from tenfold.plans.result import Fitted


@dataclass(frozen=True)
class Selected:
    """The penalty, the mean squared leave-one-out errors (A,) of the candidates, and the certified fit."""

    alpha: float
    errors: Floats
    fitted: Fitted


def select(rows: Rows, alphas: Floats, intercept: bool, *, dtype: Any) -> Selected:
    """The fit with the candidate of the least error, the first among equal ones."""
    if rows.shape[0] < 2:
        raise ValueError(
            "Leave-one-out needs at least 2 samples, got n_samples = 1: leaving out the only row leaves nothing."
        )
    if rows.shape[0] < rows.shape[1] and not rows.distributed:
        return _select_wide(rows, alphas, intercept, dtype)
    moments = fold_moments(rows)
    spectrum = of(rows, intercept, moments)
    alpha, errors = _best(rows, spectrum, alphas, moments.weight, intercept)
    chosen = np.full(rows.targets, alpha)
    fitted = from_moments(rows, moments, chosen, intercept, dtype=dtype)
    if dtype == np.float32 or not isinstance(spectrum, Tall):
        return Selected(alpha, errors, fitted)
    if not agrees(spectrum, chosen, fitted.params.coef, moments, intercept):
        spectrum = tall_by_rows(rows, moments, intercept)
        alpha, errors = _best(rows, spectrum, alphas, moments.weight, intercept)
        chosen = np.full(rows.targets, alpha)
        fitted = from_moments(rows, moments, chosen, intercept, dtype=dtype)
        if not agrees(spectrum, chosen, fitted.params.coef, moments, intercept):
            raise ValueError(UNEVEN)
    return Selected(alpha, errors, fitted)


def _select_wide(rows: Rows, alphas: Floats, intercept: bool, dtype: Any) -> Selected:
    spectrum = of(rows, intercept)
    assert isinstance(spectrum, Wide)
    alpha, errors = _best(rows, spectrum, alphas, float(np.sum(spectrum.data.root**2)), intercept)
    chosen = np.full(rows.targets, alpha)
    known = coef_of_each(spectrum, chosen)
    return Selected(alpha, errors, fit(rows, chosen, intercept, dtype=dtype, wide_coef=known))


def _best(rows: Rows, spectrum: Tall | Wide, alphas: Floats, weight: float, intercept: bool) -> tuple[float, Floats]:
    left = leave_one_out(rows, spectrum, alphas, weight, intercept, keep=False)
    errors = left.squares.sum(axis=0) / (rows.shape[0] * rows.targets)
    return float(alphas[int(np.argmin(errors))]), errors
