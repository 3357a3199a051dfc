"""Certificate of a dictionary, kind stationarity: the projected gradient of its atoms at the best codes for them.

The model keeps the atoms alone, so codes W are a witness. Two numbers, and the larger one counts:

- of the codes: the root of their duality gap relative to ||X||^2 / 2. A residual R = X - W D, scaled sample by sample
  so that no atom has a larger product with it than alpha, is a dual point; the gap bounds ||R - R*||^2 / 2. Where the
  codes are what is kept (sparse components) and rounded, their proximal gradient relative to ||X D'|| instead, and that
  of products with the residual for alpha = 0, where nothing is feasible but zero.
- of the atoms: ||(D - P(D - G / L)) L|| / ||W'X||, G = W'(W D - X), L = diag(W'W), P the projection on the unit ball
  (and on what is not negative).

An atom that no sample uses is stationary wherever it is; it is refused while some sample's residual is longer than
alpha, as an atom along it would lower the objective. Atoms outside the unit ball are refused.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from tenfold.arrays import EPS, Floats, unit_roundoff
from tenfold.judge.certificate import RULES, Certificate
from tenfold.objectives.dictionary import find_violation
from tenfold.objectives.factorization import gram, multiply
from tenfold.problems import SparseDictionary
from tenfold.stats.derivatives import adjoint

BLOCK_ENTRIES = 1 << 20  # of a residual that is formed at a time


class _Residual(NamedTuple):
    """What passes over the residual give: the objective, the sum of the duality gaps, the square of the proximal
    gradient of the codes, squares of the products with samples, and the longest residual of a sample.
    """

    objective: float
    gap: float
    proximal: float
    products: float
    longest: float


def stationary_atoms(
    X: Floats,
    W: Floats,
    D: Floats,
    problem: SparseDictionary,
    *,
    tol: float | None = None,
    dtype: Any = np.float64,
    rounded_codes: bool = False,
    status: str = "converged",
) -> Certificate:
    """Judge atoms D (k, p) with codes W (n, k) on samples (n, p); `rounded_codes` where the codes are stored in
    `dtype`, else the atoms are."""
    tol = RULES["stationarity"].tol if tol is None else tol
    wrong = _complain(X, W, D, problem, dtype)
    if wrong:
        return Certificate("stationarity", np.inf, 1.0, tol, 0.0, np.inf, status=status, note=wrong)
    square = float(np.sum(np.square(X, dtype=np.float64)))
    here = _read(X, W, D, problem)
    if rounded_codes or problem.alpha == 0.0:
        codes = np.sqrt(here.proximal / here.products) if here.proximal > 0.0 and here.products > 0.0 else 0.0
        rounding = 8.0 * EPS * np.sqrt(X.shape[1])
    else:
        codes = np.sqrt(max(here.gap, 0.0) / (0.5 * square)) if square > 0.0 else 0.0
        rounding = np.sqrt(8.0 * EPS * np.sqrt(X.shape[1]))
    atoms = find_violation(problem, D, gram(W), np.ascontiguousarray(adjoint(X, W)))
    floor = float(rounding + 8.0 * EPS * np.sqrt(len(X)) + 4.0 * unit_roundoff(dtype))
    value = max(float(codes), atoms, floor)
    unused = int(np.sum(~W.any(axis=0)))
    if unused and here.longest > problem.alpha + 1e-9 * np.sqrt(square):
        value = np.inf
        wrong = (
            f"{unused} atoms are not used, and another value of them would decrease the objective: the residual of a "
            "sample is longer than alpha."
        )
    return Certificate(
        "stationarity", value, 1.0, tol, floor, here.objective, status=status, parts=(float(codes), atoms), note=wrong
    )


def _complain(X: Floats, W: Floats, D: Floats, problem: SparseDictionary, dtype: Any) -> str:
    if D.ndim != 2 or W.shape != (len(X), len(D)) or D.shape[1] != X.shape[1]:
        return f"Codes {W.shape} and atoms {D.shape} do not belong to samples of shape {X.shape}."
    if not (np.isfinite(W).all() and np.isfinite(D).all()):
        return "An atom or a code is not finite."
    if (problem.positive_dict and D.min() < 0.0) or (problem.positive_code and W.min() < 0.0):
        return "An atom or a code is negative."
    longest = float(np.max(np.linalg.norm(D, axis=1)))
    if longest > 1.0 + 8.0 * np.sqrt(D.shape[1]) * unit_roundoff(dtype):
        return f"An atom has a norm of {longest:.9g}, and at most one is allowed."
    return ""


def _read(X: Floats, W: Floats, D: Floats, problem: SparseDictionary) -> _Residual:
    objective = gap = proximal = products = longest = 0.0
    steps = np.maximum(np.sum(D**2, axis=1), EPS)
    for x, w, r in blocks(X, W, D):
        c = multiply(r, np.ascontiguousarray(D.T))
        primal = 0.5 * np.sum(r**2, axis=1) + problem.alpha * np.sum(np.abs(w), axis=1)
        objective += float(np.sum(primal))
        gap += float(np.sum(np.maximum(primal - dual_values(x, r, c, problem), 0.0)))
        moved = shrink(w + c / steps, problem.alpha / steps, problem.positive_code)
        proximal += float(np.sum(((w - moved) * steps) ** 2))
        products += float(np.sum(multiply(x, np.ascontiguousarray(D.T)) ** 2))
        part = np.maximum(r, 0.0) if problem.positive_dict else r
        longest = max(longest, float(np.max(np.linalg.norm(part, axis=1), initial=0.0)))
    return _Residual(objective, gap, proximal, products, longest)


def blocks(X: Floats, W: Floats, D: Floats) -> Iterator[tuple[Floats, Floats, Floats]]:
    """Samples, their codes and residuals, some at a time."""
    step = max(1, BLOCK_ENTRIES // X.shape[1])
    for start in range(0, len(X), step):
        x, w = X[start : start + step].astype(np.float64), np.ascontiguousarray(W[start : start + step])
        yield x, w, x - multiply(w, D)


def dual_values(x: Floats, r: Floats, c: Floats, problem: SparseDictionary) -> Floats:
    """The dual objective t.x - |t|^2 / 2 of each sample at the best multiple t of its residual r that is feasible: no
    product with an atom above alpha; c (n, k) are those of r.
    """
    largest = np.max(c if problem.positive_code else np.abs(c), axis=1, initial=0.0)
    square, along = np.sum(r**2, axis=1), np.sum(r * x, axis=1)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        most = np.where(largest > 0.0, problem.alpha / largest, np.inf)
        best = np.where(square > 0.0, along / square, 0.0)
    t = np.clip(best, 0.0, most)
    return np.asarray(t * along - 0.5 * t**2 * square)


def shrink(z: Floats, by: Floats | float, positive: bool) -> Floats:
    """The proximal map of by |z|."""
    return np.maximum(z - by, 0.0) if positive else np.sign(z) * np.maximum(np.abs(z) - by, 0.0)
