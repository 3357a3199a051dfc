"""Alternation for dictionaries: codes that are exact for the atoms, then sweeps of projected coordinate steps of the
atoms on W'W and W'X (Mairal, Bach, Ponce and Sapiro 2009), so that the objective never rises.

Atoms are extrapolated by what they moved, P(D_new + t (D_new - D_old)), as factors are in hals.py (Ang and Gillis
2019): t grows while the objective, known as soon as the codes are, decreases; else the step is taken back, and t
shrinks. An atom without a sample is put along the longest residuals that are longer than alpha.

A step costs 2 n p k operations twice, 2 n k^2, and the codes.
"""

from collections.abc import Callable, Iterator
from math import inf

import numpy as np

from tenfold import _core
from tenfold.arrays import Floats
from tenfold.machine import threads
from tenfold.objectives.dictionary import Coded, Products, find_violation, project
from tenfold.objectives.factorization import gram, times
from tenfold.problems import SparseDictionary
from tenfold.solvers.loop import Step, measure_violation

START, GROWTH, LIMIT_GROWTH, SHRINKAGE = 0.5, 1.05, 1.01, 1.5  # Ang and Gillis (2019), section 3.3
SWEEPS = 5  # over the atoms in a step: 2 k^2 p operations each
CODE_SWEEPS = 8  # of coordinate descent before the active set method
MAX_PLAIN = 20  # steps without extrapolation in a row that do not decrease the objective: rounding


def solve_codes(X: Floats, D: Floats, problem: SparseDictionary, start: Floats | None = None) -> Floats:
    """The codes (n, k) that are best for the atoms, exactly up to rounding."""
    C = np.ascontiguousarray(times(X, D))
    W = np.zeros_like(C) if start is None else start
    count = threads(C.size * CODE_SWEEPS)
    A = gram(np.ascontiguousarray(D.T))
    return _core.lasso_codes(A, C, W, problem.alpha, problem.positive_code, CODE_SWEEPS, count)


def steps(X: Floats, problem: SparseDictionary, start: Coded, goal: Callable[[], float]) -> Iterator[Step]:
    """Steps from a start; the parameters are `Coded`, codes exact for their atoms, the measure is the relative norm of
    the projected gradient of the atoms in units of `goal()`, infinite while an unused atom should be another.
    """
    moving, W = project(start.D, problem.positive_dict), start.W
    D, ahead, best = moving, moving, inf
    t, limit, plain = START, 1.0, 0
    while True:
        W = solve_codes(X, moving, problem, W)
        products = Products.of(X, W)
        value = products.loss(moving) + problem.alpha * float(np.sum(np.abs(W)))
        if value > best:  # back to the atoms of the last step, which decrease the objective
            plain += 1
            limit, t = t, t / SHRINKAGE
            if plain > MAX_PLAIN:
                return
            moving = ahead
            continue
        revived = revive_atoms(X, W, moving, problem)
        fresh = moving if revived is None else revived
        violation = inf if revived is not None else find_violation(problem, moving, products.codes, products.samples)
        yield Step(Coded(W, moving), value, inf if revived is not None else measure_violation(violation, goal()))
        ahead = _core.update_atoms(products.codes, products.samples, fresh, problem.positive_dict, SWEEPS)
        step = ahead - D
        if revived is not None:
            step[~W.any(axis=0)] = 0.0
        t, limit = (min(limit, GROWTH * t), min(1.0, LIMIT_GROWTH * limit)) if plain == 0 else (t, limit)
        moving = project(ahead + t * step, problem.positive_dict) if best < inf else ahead
        D, best, plain = ahead, value, 0


def revive_atoms(X: Floats, W: Floats, D: Floats, problem: SparseDictionary) -> Floats | None:
    """The atoms with those that no sample uses put along the longest residuals, if these are longer than alpha; None
    where there are none of the one or the other.
    """
    unused = np.flatnonzero(~W.any(axis=0))
    if unused.size == 0:
        return None
    parts = (slice(start, start + 1024) for start in range(0, len(X), 1024))
    lengths = np.concatenate([np.linalg.norm(_residual(X[part], W[part], D, problem), axis=1) for part in parts])
    longest = np.argsort(-lengths, kind="stable")[: unused.size]
    size = np.linalg.norm(X)
    longest = longest[lengths[longest] > problem.alpha + 1e-10 * size]
    if longest.size == 0:
        return None
    D = D.copy()
    D[unused[: longest.size]] = _residual(X[longest], W[longest], D, problem) / lengths[longest, None]
    return D


def _residual(x: Floats, w: Floats, D: Floats, problem: SparseDictionary) -> Floats:
    rest = x - w @ D
    return np.maximum(rest, 0.0) if problem.positive_dict else rest
