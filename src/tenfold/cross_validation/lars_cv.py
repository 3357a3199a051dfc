"""Cross-validation along paths of least angles: errors of all splits at the alphas of all their knots."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from tenfold.arrays import Floats
from tenfold.cross_validation.lasso_cv import NO_WEIGHT
from tenfold.cross_validation.ridge_kfold import Fold, Split
from tenfold.cross_validation.stepwise_cv import mean_error, mean_squared_errors, training_grams
from tenfold.data import Rows
from tenfold.plans.greedy_selection import with_intercept
from tenfold.plans.lars import Walk, knots_of
from tenfold.stats.column_moments import Columns
from tenfold.stats.moments import Moments


class Errors(NamedTuple):
    """The alphas (A,), ascending; the mean squared error of each split at each (A, splits); the best alpha; how
    training sets were read; the moments of all samples where one pass gives them.
    """

    alphas: Floats
    errors: Floats
    best: float
    how: str
    total: Moments | None


def errors_along(rows: Rows, splits: list[Split], walk: Walk, intercept: bool, most: int) -> Errors:
    """Follow the path of each training set; between its knots weights are linear in alpha."""
    training = training_grams(rows, splits, intercept)
    paths: list[tuple[Floats, Floats, Columns]] = []
    for k, make in enumerate(training.grams):
        gram = make()
        if gram.columns.weight == 0.0:
            raise ValueError(NO_WEIGHT.format(kind="training", k=k))
        (knots,) = knots_of(gram, replace(walk, alpha=0.0))
        paths.append((knots.sizes / gram.columns.weight, knots.weights, gram.columns))
    alphas = np.unique(np.concatenate([sizes for sizes, _, _ in paths]))
    alphas = alphas[:: max(1, int(len(alphas) / float(most)))]
    errors = np.empty((len(alphas), len(splits)))
    for k, (split, (knots_at, weights, columns), test) in enumerate(zip(splits, paths, training.tests, strict=True)):
        params = with_intercept(_interpolate(alphas, knots_at, weights), columns, intercept, repeat=len(alphas))
        errors[:, k] = mean_squared_errors(rows, split, Fold(params.coef[:, None], params.intercept[:, None], test))
    finite = np.all(np.isfinite(errors) | np.isnan(errors).all(axis=0), axis=1)
    alphas, errors = alphas[finite], errors[finite]
    if not alphas.size:
        raise ValueError("No alpha has finite errors on all test rows: scale the columns.")
    return Errors(alphas, errors, float(alphas[np.argmin(mean_error(errors))]), training.how, training.total)


def _interpolate(alphas: Floats, at: Floats, weights: Floats) -> Floats:
    """Weights (A, p) at ascending alphas, from those (k, p) at the descending alphas of knots; constant outside."""
    at, weights = at[::-1], weights[::-1]
    right = np.clip(np.searchsorted(at, alphas, side="right"), 1, max(len(at) - 1, 1))
    left = np.minimum(right - 1, len(at) - 1)
    right = np.minimum(right, len(at) - 1)
    width = at[right] - at[left]
    fraction = np.clip((alphas - at[left]) / np.where(width > 0, width, 1.0), 0.0, 1.0)[:, None]
    return np.ascontiguousarray((1.0 - fraction) * weights[left] + fraction * weights[right])
