"""Certificates of sparse codes W (n, k) of samples with given atoms D (k, p).

- The Lasso, kind gap: the sum of the duality gaps of the samples, allowed relative to ||X||^2 / 2; kind exact for
  alpha = 0, where products of the residual with the atoms vanish.
- Thresholds, kind exact: the formula, sample by sample.
- Orthogonal matching pursuit, kind exact: the atoms of a sample are put in the order in which a pursuit takes them, and
  each must have the largest product with the residual of least squares on those before; the weights are those of
  least squares. Fewer atoms than asked for are right where nothing is left.
- Least angles, kind exact: products of the residual with the atoms in use are of one size, and all others at most that,
  and as many atoms are in use as were asked for.
"""

from typing import Any

import numpy as np

from tenfold.arrays import EPS, Floats, unit_roundoff
from tenfold.judge.certificate import RULES, Certificate
from tenfold.judge.dictionary import blocks, dual_values, shrink
from tenfold.problems import SparseDictionary

TIE = 1e-6  # relative difference of products between atoms that a pursuit may take one for the other


def codes_certificate(
    X: Floats, W: Floats, D: Floats, algorithm: str, alpha: float, count: int, positive: bool, dtype: Any = np.float64
) -> Certificate:
    """Judge codes that were computed in `dtype`."""
    lasso = algorithm in ("lasso_lars", "lasso_cd")
    kind = "gap" if lasso and alpha > 0.0 else "exact"
    tol = RULES[kind].tol
    if W.shape != (len(X), len(D)) or not np.isfinite(W).all() or (positive and W.min(initial=0.0) < 0.0):
        note = "Codes are not finite, negative, or not of the samples."
        return Certificate(kind, np.inf, 1.0, tol, 0.0, np.inf, status="solved", note=note)
    u = unit_roundoff(dtype)
    if kind == "gap":
        return _gap(X, W, D, SparseDictionary(alpha, positive), u)
    if algorithm == "threshold":
        C = X @ D.T
        wanted = shrink(C, alpha, positive)
        wrong = _relative(W - wanted, C)
    elif algorithm == "omp":
        wrong = _pursuit(X, W, D, count)
    elif algorithm == "lars":
        wrong = _angles(X, W, D, count)
    else:
        wrong = _relative((X - W @ D) @ D.T if not positive else _project_products(X, W, D), X @ D.T)
    norms = np.linalg.norm(D, axis=1)
    reach = float(np.max(np.abs(W) @ norms, initial=0.0)) * float(np.max(norms, initial=0.0))
    size = float(np.max(np.abs(X @ D.T), initial=0.0))
    floor = (8.0 * u + 64.0 * EPS * np.sqrt(X.shape[1])) * (1.0 + (reach / size if size > 0.0 else 0.0))
    objective = 0.5 * float(np.sum((X - W @ D) ** 2))
    return Certificate("exact", max(wrong, floor), 1.0, tol, floor, objective, status="solved")


def _relative(difference: Floats, scale: Floats) -> float:
    size = float(np.max(np.abs(scale), initial=0.0))
    return float(np.max(np.abs(difference), initial=0.0)) / size if size > 0.0 else 0.0


def _project_products(X: Floats, W: Floats, D: Floats) -> Floats:
    C = (X - W @ D) @ D.T
    return np.where(W > 0.0, C, np.maximum(C, 0.0))


def _gap(X: Floats, W: Floats, D: Floats, problem: SparseDictionary, u: float) -> Certificate:
    objective = gap = 0.0
    for x, w, r in blocks(X, W, D):
        c = r @ D.T
        primal = 0.5 * np.sum(r**2, axis=1) + problem.alpha * np.sum(np.abs(w), axis=1)
        objective += float(np.sum(primal))
        gap += float(np.sum(np.maximum(primal - dual_values(x, r, c, problem), 0.0)))
    scale = 0.5 * float(np.sum(X**2)) or 1.0
    reach = float(np.sum(np.abs(W) @ np.linalg.norm(D, axis=1)[:, None] * np.linalg.norm(X, axis=1, keepdims=True)))
    floor = 8.0 * EPS * np.sqrt(X.shape[1]) * scale + 4.0 * u * reach
    return Certificate("gap", max(gap, floor), scale, RULES["gap"].tol, floor, objective, status="solved")


def _pursuit(X: Floats, W: Floats, D: Floats, count: int) -> float:
    """The largest shortfall of a product behind the largest one, or of the weights from those of least squares."""
    A, C = D @ D.T, X @ D.T
    worst, used = 0.0, W != 0.0
    if np.max(used.sum(axis=1), initial=0) > count:
        return np.inf
    for c, support, weights in zip(C, used, W, strict=True):
        size = float(np.max(np.abs(c), initial=0.0))
        if size == 0.0:
            continue
        taken: list[int] = []
        left, rest = [int(j) for j in np.flatnonzero(support)], c
        while left:
            best = max(left, key=lambda j: abs(rest[j]))
            short = (np.max(np.abs(rest)) - abs(rest[best])) / size
            worst = max(worst, short if short > TIE else 0.0)
            taken.append(best)
            left.remove(best)
            solved = np.linalg.lstsq(A[np.ix_(taken, taken)], c[taken], rcond=None)[0]
            rest = c - A[:, taken] @ solved
        worst = max(worst, float(np.max(np.abs((c - A @ weights)[support]), initial=0.0)) / size)
        if len(taken) < count:
            worst = max(worst, float(np.max(np.abs(c - A @ weights))) / size)
    return worst


def _angles(X: Floats, W: Floats, D: Floats, count: int) -> float:
    C = X @ D.T
    rest, used = np.abs(C - W @ (D @ D.T)), W != 0.0
    size = np.max(np.abs(C), axis=1, initial=0.0)
    largest = np.max(rest, axis=1, initial=0.0)
    apart = np.max(np.where(used, largest[:, None] - rest, 0.0), axis=1, initial=0.0)
    number = used.sum(axis=1)
    if np.any(number > count):
        return np.inf
    few = np.where(number < min(count, len(D)), largest, 0.0)  # nothing is left after fewer
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(np.max(np.where(size > 0.0, np.maximum(apart, few) / size, 0.0), initial=0.0))
