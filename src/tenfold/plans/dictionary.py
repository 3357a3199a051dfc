"""Dictionaries: the start by singular vectors, alternation until the judge accepts the stored atoms, and the codes of
samples by each algorithm.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from tenfold import _core
from tenfold.arrays import Floats
from tenfold.data import NotFinite
from tenfold.judge.certificate import RULES, Certificate
from tenfold.judge.dictionary import stationary_atoms
from tenfold.linear_algebra import svd
from tenfold.machine import threads
from tenfold.objectives.dictionary import Coded
from tenfold.objectives.factorization import gram, times
from tenfold.plans.result import ATTEMPTS
from tenfold.problems import SparseDictionary
from tenfold.solvers.dictionary_alternation import CODE_SWEEPS, solve_codes, steps
from tenfold.solvers.loop import Callback, Record, Status, resume, run


@dataclass(frozen=True)
class FittedDictionary:
    """Codes and atoms in float64, the atoms rounded to the dtype of the model; the trace, and the certificate."""

    coded: Coded
    iterations: int
    trace: tuple[Record, ...]
    certificate: Certificate


@dataclass(frozen=True)
class Coding:
    """How samples are coded: "lasso_lars" and "lasso_cd" by the Lasso, exactly; "omp" and "lars" with `count` atoms;
    "threshold" by soft thresholds of the products.
    """

    algorithm: str
    alpha: float
    count: int
    positive: bool


def encode(X: Floats, D: Floats, how: Coding, A: Floats | None = None, C: Floats | None = None) -> Floats:
    """The codes (n, k) of samples with atoms D (k, p); A = D D' and C = X D' where they are known."""
    C = np.ascontiguousarray(times(X, D) if C is None else C)
    if how.algorithm == "threshold":
        kept = np.sign(C) * np.maximum(np.abs(C) - how.alpha, 0.0)
        return np.maximum(kept, 0.0) if how.positive else kept
    A = gram(np.ascontiguousarray(D.T)) if A is None else np.ascontiguousarray(A)
    count = threads(C.size * CODE_SWEEPS)
    if how.algorithm == "omp":
        return _core.pursuit_codes(A, C, how.count, count)
    if how.algorithm == "lars":
        return _core.angle_codes(A, C, np.sum(X**2, axis=1), how.count, count)
    return _core.lasso_codes(A, C, np.zeros_like(C), how.alpha, how.positive, CODE_SWEEPS, count)


def start_of(X: Floats, k: int) -> Coded:
    """Codes U and atoms S V' of the largest singular values, with signs as scikit-learn has them, and zeros for more
    atoms than there are.
    """
    U, s, V = svd(X)
    signs = np.sign(U[np.argmax(np.abs(U), axis=0), np.arange(U.shape[1])])
    U, V = U * signs, V * signs[:, None]
    r = min(k, len(s))
    W, D = np.zeros((len(X), k)), np.zeros((k, X.shape[1]))
    W[:, :r], D[:r] = U[:, :r], s[:r, None] * V[:r]
    return Coded(W, D)


def fit(
    X: Floats,
    problem: SparseDictionary,
    start: Coded,
    *,
    tol: float,
    max_iter: int,
    dtype: Any = np.float64,
    keeps_codes: bool = False,
    callback: Callback | None = None,
) -> FittedDictionary:
    """Atoms from a start. `keeps_codes` where the codes are stored in `dtype`, and not the atoms."""
    allowed = max(RULES["stationarity"].tol, tol)
    goal = [0.5 * allowed]
    if not np.isfinite(np.sum(np.square(X))):
        raise NotFinite
    path = steps(X, problem, start, lambda: goal[0])
    solution = run(path, max_iter, callback=callback)

    def judge(status: Status) -> tuple[Coded, Certificate]:
        coded = _round_stored(X, solution.params, problem, dtype, keeps_codes)
        known = {"tol": allowed, "dtype": dtype, "rounded_codes": keeps_codes, "status": status.value}
        return coded, stationary_atoms(X, coded.W, coded.D, problem, **known)

    coded, certificate = judge(solution.status)
    for _ in range(ATTEMPTS):
        if certificate.ok or solution.status is not Status.CONVERGED:
            break
        goal[0] *= 0.2
        more = resume(path, solution, max_iter, None, callback)
        if more is None:
            break
        solution = more
        coded, certificate = judge(solution.status)
    return FittedDictionary(coded, solution.iterations, solution.trace, certificate)


def _round_stored(X: Floats, coded: Coded, problem: SparseDictionary, dtype: Any, keeps_codes: bool) -> Coded:
    """What is stored, in float64, and the other factor as it is best for it."""
    if dtype == np.float64:
        return coded
    if keeps_codes:
        return Coded(coded.W.astype(dtype).astype(np.float64), coded.D)
    D = coded.D.astype(dtype).astype(np.float64)
    return Coded(solve_codes(X, D, problem, coded.W), D)
