"""Coordinate descent on a Gram matrix (Friedman, Hastie and Tibshirani 2010), for one penalty or a path of them.

Minimises the objective of `problems.SparseLeastSquares` from the moments of the rows alone; core/include/tenfold/
descent_gram.hpp has the loop. Members of a working set move, those furthest beyond the constraint of the dual join
first, and the iterates are extrapolated.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from tenfold import _core
from tenfold.arrays import Floats, Integers
from tenfold.machine import one_blas_thread
from tenfold.solvers.loop import Step
from tenfold.stats.derivatives import Params
from tenfold.stats.moments import Moments

TINY = float(np.finfo(np.float64).tiny)

CALL = 1 << 31
"""A call of the compiled loop does at most about so many products, so that an interruption is noticed soon."""


@dataclass(frozen=True)
class Gram:
    """Sums over the rows in the units of the moments: S (p, p), C (t, p) and yy (t,), weights that stand for
    `unit` (p,) and 2^-exponent (t,) as much, and the sum of the weights of the rows.
    """

    S: Floats
    C: Floats
    yy: Floats
    unit: Floats
    exponent: Integers
    weight: float

    @classmethod
    def of(cls, moments: Moments, intercept: bool, *, joint: bool = False) -> "Gram":
        """About the means, or about the origin without an intercept; joint targets have one exponent."""
        p, e = moments.features, moments.exponent.astype(np.int64)
        S, C, yy = moments.about(origin=not intercept)
        target = np.full(yy.size, e[p:].max(initial=0)) if joint else e[p:]
        C, yy = np.ldexp(C.T, (e[p:] - target)[:, None]), np.ldexp(yy, 2 * (e[p:] - target))
        S = np.ascontiguousarray(S)
        return cls(S, np.ascontiguousarray(C), yy, np.ldexp(1.0, -e[:p]), target, moments.weight)

    def inside(self, weights: Floats, part: slice) -> Floats:
        """Weights (t, p) for the rows as they are, in these units."""
        return np.ascontiguousarray(weights / self.unit * np.ldexp(1.0, -self.exponent[part])[:, None])

    def outside(self, weights: Floats, part: slice) -> Floats:
        """Weights (t, p) or (A, t, p) in these units, for the rows as they are."""
        return np.asarray(weights * self.unit * np.ldexp(1.0, self.exponent[part])[:, None])


@dataclass(frozen=True)
class Descended:
    """Weights (A, t, p), gaps (A,) in the units of the mean objective and sweeps (A,) for each penalty."""

    coef: Floats
    gaps: Floats
    sweeps: Integers


class Sweeps:
    """How many sweeps the steps of a solver have taken."""

    def __init__(self) -> None:
        self.count = 0


def steps(
    gram: Gram,
    part: slice,
    penalty: tuple[float, float],
    *,
    positive: bool,
    tol: float,
    max_iter: int,
    start: Floats | None,
    seed: int | None,
    at_once: int,
    sweeps: Sweeps,
) -> Iterator[Step]:
    """Minimise for the targets of `part` together, at most `at_once` sweeps a step, until the gap is at most `tol`
    times the sum of squares of the targets.
    """
    t, p = gram.C[part].shape
    inside = np.zeros((t, p)) if start is None else gram.inside(start, part)
    yield _step(gram, part, penalty, inside, np.inf)
    while True:
        most = min(at_once, max_iter - sweeps.count)
        turn = None if seed is None else seed + sweeps.count
        found, gaps, counts = _descend(gram, part, [penalty], inside, positive, tol, most, turn)
        inside, count = np.ascontiguousarray(found[0]), int(counts[0])
        sweeps.count += count
        measure = float(gaps[0]) / (tol * float(gram.yy[part].sum()) or TINY)
        unfinished = count == most and sweeps.count < max_iter
        yield _step(gram, part, penalty, inside, max(measure, 2.0) if unfinished else measure)
        if not unfinished:
            return


def _step(gram: Gram, part: slice, penalty: tuple[float, float], inside: Floats, measure: float) -> Step:
    """The weights for the rows as they are, without an intercept, and the mean objective."""
    used = np.flatnonzero(inside.any(axis=0))
    with one_blas_thread:
        curved = np.einsum("tp,tp->t", inside[:, used] @ gram.S[np.ix_(used, used)], inside[:, used])
    squares = gram.yy[part] - 2.0 * np.einsum("tp,tp->t", inside, gram.C[part]) + curved
    coef = gram.outside(inside, part)
    loss = float(np.sum(np.ldexp(squares, 2 * gram.exponent[part]))) / (2.0 * gram.weight)
    norms = np.sqrt(np.sum(coef * coef, axis=0))
    objective = loss + penalty[0] * float(norms.sum()) + 0.5 * penalty[1] * float(np.sum(norms * norms))
    return Step(Params(coef, np.zeros(len(coef))), objective, measure)


def path(
    gram: Gram,
    part: slice,
    penalties: Sequence[tuple[float, float]],
    *,
    positive: bool,
    tol: float,
    max_iter: int,
    start: Floats | None = None,
    seed: int | None = None,
) -> Descended:
    """Minimise for the targets of `part` together and each (l1, l2) of `penalties`, one from the weights of the one
    before.
    """
    t, p = gram.C[part].shape
    inside = np.zeros((t, p)) if start is None else gram.inside(start, part)
    coef, gaps, sweeps = np.zeros((len(penalties), t, p)), np.zeros(len(penalties)), np.zeros(len(penalties), np.int64)
    at_once = max(1, CALL // max(1, p * p * 16))
    for first in range(0, len(penalties), at_once):
        chosen = slice(first, min(first + at_once, len(penalties)))
        found = _descend(gram, part, penalties[chosen], inside, positive, tol, max_iter, seed)
        coef[chosen], gaps[chosen], sweeps[chosen] = found
        inside = np.ascontiguousarray(coef[chosen][-1])
    unit = np.ldexp(1.0, 2 * int(gram.exponent[part][0]))
    return Descended(gram.outside(coef, part), gaps / gram.weight * unit, sweeps)


def _descend(
    gram: Gram,
    part: slice,
    penalties: Sequence[tuple[float, float]],
    start: Floats,
    positive: bool,
    tol: float,
    most: int,
    seed: int | None,
) -> tuple[Floats, Floats, Integers]:
    """The compiled loop, in the units of the Gram matrix."""
    unit, yy = float(np.ldexp(1.0, -int(gram.exponent[part][0]))), float(gram.yy[part].sum())
    l1 = np.array([gram.weight * a * unit for a, _ in penalties])
    l2 = np.array([gram.weight * b for _, b in penalties])
    C = np.ascontiguousarray(gram.C[part])
    with one_blas_thread:
        return _core.cd_gram(gram.S, C, yy, gram.unit, start, l1, l2, positive, tol * yy, most, seed)
