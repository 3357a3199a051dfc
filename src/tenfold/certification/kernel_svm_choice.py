"""Choices of C and the width of support vector machines: the best of the stored scores, of the candidates that were
given; and the sigmoid functions of probabilities, which must be the best for the stored values.
"""

from typing import Any

import numpy as np

from tenfold.arrays import Floats
from tenfold.certification.kernel_svm import read_data
from tenfold.cross_validation.prediction_scores import choose
from tenfold.judge.svm_enclosure import pairs_of
from tenfold.kernels.conversion import gamma_of

LOGARITHMS = (-2.0, 3.0)  # of the ends of the candidates where a number of them is given
DECREMENT = 1e-6  # of the likelihood: by how much another sigmoid may be better


def regression(model: Any, X: Any, y: Any, sample_weight: Any) -> str:
    """Why the candidates or the choice are wrong; "" where they are right."""
    data = read_data(model, X, y, sample_weight, numeric=True)
    return _check_choice(model, data.X)


def classification(model: Any, X: Any, y: Any, sample_weight: Any) -> str:
    """Likewise, and why the sigmoid functions are not the best."""
    data = read_data(model, X, y, sample_weight, numeric=False)
    complaint = _check_choice(model, data.X)
    if complaint or not model.calibrate:
        return complaint
    count, n = len(model.classes_), len(data.weight)
    pairs = list(zip(*pairs_of(count), strict=True))
    values, curves = np.asarray(model.left_out_values_), np.asarray(model.sigmoids_)
    if values.shape != (n, len(pairs)) or curves.shape != (len(pairs), 2):
        return "left_out_values_ and sigmoids_ must have a column and a row for each pair of classes."
    number = np.searchsorted(np.asarray(model.classes_), np.asarray(data.y))
    for t, (i, j) in enumerate(pairs):
        rows = np.flatnonzero(((number == i) | (number == j)) & (data.weight > 0.0))
        if not _is_best(values[rows, t], number[rows] == i, data.weight[rows], curves[t]):
            return f"sigmoids_[{t}] is not the best for left_out_values_."
    return ""


def _candidates(model: Any, X: Any) -> tuple[Floats, Floats]:
    """C and gamma, by the parameters."""
    if np.ndim(model.Cs) == 0:
        Cs = np.logspace(*LOGARITHMS, int(model.Cs)) if model.Cs > 1 else np.ones(1)
    else:
        Cs = np.sort(np.ravel(np.asarray(model.Cs, dtype=np.float64)))
    if not isinstance(model.kernel, str) or model.kernel == "precomputed":
        return Cs, np.zeros(1)
    given = [model.gammas] if isinstance(model.gammas, str) or np.ndim(model.gammas) == 0 else list(model.gammas)
    return Cs, np.array([gamma_of(value, X) for value in given])


def _check_choice(model: Any, X: Any) -> str:
    Cs, gammas = _candidates(model, X)
    if not np.array_equal(model.Cs_, Cs):
        return "Cs_ are not the candidates of the parameters."
    if len(model.gammas_) != len(gammas) or not np.allclose(model.gammas_, gammas, rtol=1e-9, atol=0.0):
        return "gammas_ are not the candidates of the parameters."
    table = model.cv_results_
    grid = np.tile(model.Cs_, len(gammas)), np.repeat(model.gammas_, len(Cs))
    if not (np.array_equal(table["param_C"], grid[0]) and np.array_equal(table["param_gamma"], grid[1])):
        return "cv_results_ are not of the candidates."
    scores = np.asarray(table["mean_test_score"], dtype=np.float64).reshape(len(gammas), len(Cs))
    g, a = choose(scores, 1.0 / Cs)
    chosen = float(model.gammas_[g]), float(model.Cs_[a]), scores[g, a]
    if not np.array_equal([model.gamma_, model.C_, model.best_score_], chosen, equal_nan=True):
        return "C_, gamma_ and best_score_ are not the best of cv_results_."
    return ""


def _is_best(u: Floats, ahead: Any, weight: Floats, curve: Floats) -> bool:
    """Whether a Newton step from the curve P = 1 / (1 + exp(A u + B)) gains next to nothing."""
    z = u * curve[0] + curve[1]
    sides = float(np.sum(weight[ahead])), float(np.sum(weight[~ahead]))
    target = np.where(ahead, (sides[0] + 1.0) / (sides[0] + 2.0), 1.0 / (sides[1] + 2.0))
    with np.errstate(over="ignore"):
        p = 1.0 / (1.0 + np.exp(z))
    loss = float(weight @ (target * z + np.logaddexp(0.0, -z)))
    columns = np.column_stack([u, np.ones(len(u))])
    gradient = columns.T @ (weight * (target - p))
    H = (columns.T * (weight * p * (1.0 - p))) @ columns
    step = np.linalg.lstsq(H, gradient)[0]
    return bool(abs(float(gradient @ step)) <= 2.0 * DECREMENT * max(loss, 1e-3 * float(np.sum(weight))))
