"""Scores of predictions for many candidates at once: coefficient of determination, errors, accuracy."""

from collections.abc import Callable

import numpy as np

from tenfold.arrays import Floats


def _r2(predicted: Floats, Y: Floats, weight: Floats) -> Floats:
    """As scikit-learn: of constant targets one where they are met, else zero; the mean over the targets."""
    left = np.einsum("i,ita->ta", weight, (predicted - Y[:, :, None]) ** 2)
    total = (weight @ (Y - np.average(Y, axis=0, weights=weight)) ** 2)[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        score = np.where(total > 0.0, 1.0 - left / total, np.where(left == 0.0, 1.0, 0.0))
    return np.mean(np.where(np.isnan(left), np.nan, score), axis=0)


def _average_squares(predicted: Floats, Y: Floats, weight: Floats) -> Floats:
    return np.einsum("i,ita->ta", weight, (predicted - Y[:, :, None]) ** 2) / np.sum(weight)


def _accuracy(predicted: Floats, Y: Floats, weight: Floats) -> Floats:
    """Of targets -1 and +1, the sign of one column, or the largest of several."""
    if Y.shape[1] == 1:
        right = (predicted[:, 0] > 0.0) == (Y > 0.0)
    else:
        right = predicted.argmax(axis=1) == Y.argmax(axis=1)[:, None]
    return weight @ np.where(np.isnan(predicted).any(axis=1), np.nan, right) / np.sum(weight)


SCORES: dict[str, Callable[[Floats, Floats, Floats], Floats]] = {
    "r2": _r2,
    "neg_mean_squared_error": lambda predicted, Y, weight: -np.mean(_average_squares(predicted, Y, weight), axis=0),
    "neg_root_mean_squared_error": lambda predicted, Y, weight: (
        -np.mean(np.sqrt(_average_squares(predicted, Y, weight)), axis=0)
    ),
    "accuracy": _accuracy,
}
"""Scores (A,) of predictions (m, t, A) for targets (m, t) with weights (m,)."""


def choose(scores: Floats, alphas: Floats, rounding: float = 1e-12) -> tuple[int, int]:
    """The kernel and the alpha of the best score (kernels, A); of equal ones the larger alpha, then the earlier
    kernel.
    """
    if not np.isfinite(scores).any():
        return 0, int(np.argmax(alphas))
    best = float(np.nanmax(np.where(np.isfinite(scores), scores, np.nan)))
    with np.errstate(invalid="ignore"):
        tied = scores >= best - rounding * abs(best)
    kernels, places = np.nonzero(tied)
    order = np.lexsort((kernels, -alphas[places]))[0]
    return int(kernels[order]), int(places[order])
