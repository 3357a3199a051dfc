"""Expected outputs of support vector machines with kernels, from their judged coefficients."""

from typing import Any

import numpy as np

from tenfold.arrays import EPS, Array, Floats, is_sparse
from tenfold.certification.kernel_svm import fit_samples, kernel_of
from tenfold.certification.outputs import Labels, Output
from tenfold.judge.kernel_samples import take
from tenfold.judge.svm_enclosure import pairs_of
from tenfold.kernels.evaluation import count

CERTAIN = 1e-7  # probabilities of pairs stay this far from 0 and 1
HEAVY = 1e5  # of the row of the sum, beside rows of about one
COUPLING = 1e-6  # of probabilities: the weight of the sum is finite here


def values(model: Any, X: Array) -> list[Output | Labels]:
    """Regression: sum_i coef_i k(x_i, x) + b."""
    u, rounding = _decisions(model, X, _dense(model.dual_coef_).reshape(1, -1).T)
    return [Output("predict", u, rounding)]


def inliers(model: Any, X: Array) -> list[Output | Labels]:
    """One class: the same, its sign, and without the intercept."""
    u, rounding = _decisions(model, X, _dense(model.dual_coef_).reshape(1, -1).T)
    # libsvm gives -1 where the value is zero
    signs = Labels("predict", np.column_stack([-u, u]), np.array([-1, 1]), 2.0 * rounding)
    return [Output("decision_function", u, rounding), Output("score_samples", u - model.intercept_, rounding), signs]


def classes(model: Any, X: Array) -> list[Output | Labels]:
    """Classification: the values of all pairs of classes or their votes, and the class with the most votes."""
    ours = hasattr(model, "_present")
    present = model._present if ours else np.arange(len(model.n_support_))
    number, known = len(present), model.classes_[present]
    u, rounding = _decisions(model, X, _pairs(model))
    if len(model.classes_) == 2:
        signs = Labels("predict", np.column_stack([-u, u]), model.classes_, 2.0 * rounding)
        return [Output("decision_function", u, rounding), signs]
    first, second = pairs_of(number)
    votes, sums = np.zeros((len(u), number)), np.zeros((len(u), number))
    for t, (i, j) in enumerate(zip(first, second, strict=True)):
        votes[:, i] += u[:, t] > 0.0
        votes[:, j] += ~(u[:, t] > 0.0)
        sums[:, i] += u[:, t]
        sums[:, j] -= u[:, t]
    # a value that may be on either side of zero moves a vote
    open_votes = np.sum(np.abs(u) <= rounding, axis=1, keepdims=True)
    spread = 2.0 * np.sum(rounding, axis=1, keepdims=True) + 4.0 * EPS
    against_rest = votes + sums / (3.0 * (np.abs(sums) + 1.0))
    if model.decision_function_shape == "ovo":
        decision = Output("decision_function", u, rounding)
    else:
        all_classes = np.full((len(u), len(model.classes_)), -1.0)
        all_classes[:, present] = against_rest
        decision = Output("decision_function", all_classes, spread + 2.0 * open_votes)
    if model.break_ties:
        label = Labels("predict", against_rest, known, 2.0 * spread + 4.0 * open_votes)
    else:
        label = Labels("predict", votes - np.arange(number) / (2.0 * number), known, 4.0 * open_votes)
    if model.decision_function_shape == "ovr" and len(model.n_support_) < len(model.classes_) and not ours:
        return [] if model.break_ties else [label]  # scikit-learn's decision_function raises an IndexError
    return [decision, label]


def probabilities(model: Any, X: Array) -> list[Output | Labels]:
    """Likewise, and where sigmoid functions of the values are fitted the probabilities that agree best with those of
    all pairs: r_ji p_i = r_ij p_j, in the sense of least squares.
    """
    result = classes(model, X)
    if not model.calibrate:
        return result
    u, rounding = _decisions(model, X, _pairs(model))
    number = len(model.n_support_)
    u = -u if number == 2 else u
    A, B = model.sigmoids_.T
    with np.errstate(over="ignore"):
        r = np.clip(1.0 / (1.0 + np.exp(A * u + B)), CERTAIN, 1.0 - CERTAIN)
    p = np.array([_couple(row, number) for row in r])
    spread = np.sum(np.abs(A) * rounding, axis=1, keepdims=True)
    return [*result, Output("predict_proba", p, number * spread + COUPLING)]


def _couple(r: Floats, number: int) -> Floats:
    """The p with sum 1 that minimises sum_ij (r_ji p_i - r_ij p_j)^2, as least squares with a heavy last row."""
    first, second = pairs_of(number)
    everything = np.arange(len(r))
    A = np.zeros((len(r) + 1, number))
    A[everything, first], A[everything, second] = 1.0 - r, -r
    A[-1] = HEAVY
    right = np.zeros(len(r) + 1)
    right[-1] = HEAVY
    p = np.clip(np.linalg.lstsq(A, right)[0], 0.0, 1.0)
    return np.asarray(p / np.sum(p))


def _pairs(model: Any) -> Floats:
    """The coefficients (m, pairs) of each machine."""
    coef, number = _dense(model.dual_coef_), len(model.n_support_)
    if number == 2:
        return coef.reshape(1, -1).T
    own = np.repeat(np.arange(number), model.n_support_)
    first, second = pairs_of(number)
    columns = np.zeros((coef.shape[1], len(first)))
    for t, (i, j) in enumerate(zip(first, second, strict=True)):
        columns[own == i, t] = coef[j - 1, own == i]
        columns[own == j, t] = coef[i, own == j]
    return columns


def _decisions(model: Any, X: Array, coef: Floats) -> tuple[Floats, Floats]:
    """The values (n, machines) at samples, and a bound on the rounding of the model's own."""
    b, m = np.asarray(model.intercept_, dtype=np.float64), len(coef)
    if not m:
        return np.tile(b, (count(X), 1)), np.tile(4.0 * EPS * np.abs(b), (count(X), 1))
    columns = getattr(model, "_columns", model.support_)
    if model.kernel == "precomputed":
        K = np.asarray(X, dtype=np.float64)[:, columns]
        error = 0.0 * K
    else:
        X = X if isinstance(X, list) else X.astype(np.float64)
        Z = take(fit_samples(model), columns) if callable(model.kernel) else model.support_vectors_
        K = np.asarray(kernel_of(model, getattr(model, "_gamma", 0.0)).block(X, Z))
        error = _evaluation_error(model, X, Z, K)
    size = np.abs(coef)
    return K @ coef + b, (error + (m + 8.0) * EPS * np.abs(K)) @ size + 8.0 * EPS * np.abs(b) + np.finfo(float).tiny


def _evaluation_error(model: Any, X: Array, Z: Array, K: Floats) -> Floats:
    """The rounding of the entries of K, by that of inner products and of squared distances about the centre of Z."""
    unit = 4.0 * (X.shape[1] + 8.0) * EPS if hasattr(X, "shape") and len(X.shape) == 2 else 64.0 * EPS
    if callable(model.kernel):
        return 16.0 * unit * (np.abs(K) + np.max(np.abs(K)))
    if model.kernel == "rbf":
        # distances of sparse samples are differences of products
        centre = np.zeros(X.shape[1]) if is_sparse(Z) else np.asarray(Z.mean(axis=0)).ravel()
        squares = [_squares(part, centre) for part in (X, Z)]
        return unit * model._gamma * (squares[0][:, None] + squares[1][None, :]) + unit * K
    products = np.asarray((abs(X) @ abs(Z).T).toarray() if is_sparse(X) and is_sparse(Z) else abs(X) @ abs(Z).T)
    if model.kernel == "linear":
        return unit * products
    inner = model._gamma * products + abs(model.coef0)
    if model.kernel == "sigmoid":
        return unit * inner + unit
    return unit * (model.degree + 1.0) * inner**model.degree


def _squares(X: Array, centre: Floats) -> Floats:
    X = X.toarray() if is_sparse(X) else X
    return np.sum(np.square(X - centre), axis=1)


def _dense(part: Any) -> Floats:
    return np.asarray(part.toarray() if is_sparse(part) else part, dtype=np.float64)
