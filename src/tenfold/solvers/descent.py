"""Coordinate descent on a Gram matrix (Friedman, Hastie and Tibshirani 2010), for one penalty or a path of them.

Minimises the objective of `problems.SparseLeastSquares` from the moments of the rows alone; core/include/tenfold/
descent_gram.hpp has the loop. Members of a working set move, those furthest beyond the constraint of the dual join
first, and the iterates are extrapolated.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tenfold import _core
from tenfold.arrays import Floats, Integers
from tenfold.solvers.loop import Status
from tenfold.stats import Moments

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

    def outside(self, weights: Floats, part: slice) -> Floats:
        """Weights (A, t, p) in these units, for the rows as they are."""
        return np.asarray(weights * self.unit * np.ldexp(1.0, self.exponent[part])[:, None])


@dataclass(frozen=True)
class Descended:
    """Weights (A, t, p), gaps (A,) in the units of the mean objective and sweeps (A,) for each penalty."""

    coef: Floats
    gaps: Floats
    sweeps: Integers
    status: Status


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
    before, until the gap is at most `tol` times the sum of squares of the targets and no weight moves by more than
    `tol` times the largest.
    """
    t, p = gram.C[part].shape
    unit = float(np.ldexp(1.0, -int(gram.exponent[part][0])))
    yy = float(gram.yy[part].sum())
    inside = np.zeros((t, p)) if start is None else start / gram.unit * np.ldexp(1.0, -gram.exponent[part])[:, None]
    coef, gaps, sweeps = np.zeros((len(penalties), t, p)), np.zeros(len(penalties)), np.zeros(len(penalties), np.int64)
    status = Status.CONVERGED
    at_once = max(1, CALL // max(1, p * p * 16))
    try:
        for first in range(0, len(penalties), at_once):
            chosen = slice(first, min(first + at_once, len(penalties)))
            l1 = np.array([gram.weight * a * unit for a, _ in penalties[chosen]])
            l2 = np.array([gram.weight * b for _, b in penalties[chosen]])
            found = _several(gram, part, inside, (l1, l2), positive, (tol * yy, tol), max_iter, seed)
            coef[chosen], gaps[chosen], sweeps[chosen] = found
            inside = np.ascontiguousarray(coef[chosen][-1])
    except KeyboardInterrupt:
        status = Status.INTERRUPTED
    gaps = gaps / gram.weight * unit**-2
    return Descended(gram.outside(coef, part), gaps, sweeps, status)


def _several(
    gram: Gram,
    part: slice,
    start: Floats,
    penalties: tuple[Floats, Floats],
    positive: bool,
    rest: tuple[float, float],
    max_iter: int,
    seed: int | None,
) -> tuple[Floats, Floats, Integers]:
    """Some penalties by one call of the loop; a single one in several calls, where it may take long."""
    l1, l2 = penalties
    most = max_iter if len(l1) > 1 else min(max_iter, max(1, CALL // max(1, gram.S.size)))
    C, yy = np.ascontiguousarray(gram.C[part]), float(gram.yy[part].sum())
    start = np.ascontiguousarray(start)
    coef, gaps, sweeps = _core.descent(gram.S, C, yy, gram.unit, start, l1, l2, positive, *rest, most, seed)
    while len(l1) == 1 and 0 < sweeps[0] < max_iter and sweeps[0] % most == 0:
        left = min(most, max_iter - int(sweeps[0]))
        seed = None if seed is None else seed + int(sweeps[0])
        more = _core.descent(gram.S, C, yy, gram.unit, coef[0], l1, l2, positive, *rest, left, seed)
        coef, gaps, sweeps = more[0], more[1], sweeps + more[2]
        if more[2][0] < left:
            break
    return coef, gaps, sweeps
