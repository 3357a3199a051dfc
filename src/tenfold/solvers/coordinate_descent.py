"""Coordinate descent on the Gram matrix for the Lasso's family (Friedman, Hastie and Tibshirani 2010), for one penalty
or a path of them.

Solves   min over W (t, p) of  (1 / 2n) |Y - X W'|^2 + penalty(W)

given the moments X'X, X'Y and Y'Y alone; returns the weights, duality gaps and sweeps of each penalty. The loop
(core/include/tenfold/cd_gram.hpp) updates the features of a working set, which those that violate the dual constraint
most join first, and extrapolates its iterates.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from tenfold import _core
from tenfold.arrays import Floats, Integers
from tenfold.lasso_dual import feature_norms
from tenfold.machine import one_blas_thread
from tenfold.penalties import SparsePenalty
from tenfold.solvers.loop import Step
from tenfold.stats.derivatives import Params
from tenfold.stats.moments import Moments, products_with

TINY = float(np.finfo(np.float64).tiny)

PRODUCTS_PER_CALL = 1 << 31  # multiplications of one call of the compiled loop, between two checks for an interruption


@dataclass(frozen=True)
class Gram:
    """Sums over the samples in the units of the moments: S = X'X (p, p), C = Y'X (t, p) and yy (t,); a weight in these
    units is one of X and Y divided by `unit` (p,) and 2^exponent (t,). `weight` is the sum of the sample weights.
    """

    S: Floats
    C: Floats
    yy: Floats
    unit: Floats
    exponent: Integers
    weight: float

    @classmethod
    def of(cls, moments: Moments, intercept: bool, *, couples_targets: bool = False) -> "Gram":
        """About the means, or about the origin without an intercept; targets that are coupled share an exponent."""
        p, e = moments.features, moments.exponent.astype(np.int64)
        S, C, yy = moments.about(origin=not intercept)
        target = np.full(yy.size, e[p:].max(initial=0)) if couples_targets else e[p:]
        C, yy = np.ldexp(C.T, (e[p:] - target)[:, None]), np.ldexp(yy, 2 * (e[p:] - target))
        S = np.ascontiguousarray(S)
        return cls(S, np.ascontiguousarray(C), yy, np.ldexp(1.0, -e[:p]), target, moments.weight)

    def scale(self, weights: Floats, part: slice) -> Floats:
        """Weights (t, p) of X and Y in these units."""
        return np.ascontiguousarray(weights / self.unit * np.ldexp(1.0, -self.exponent[part])[:, None])

    def unscale(self, weights: Floats, part: slice) -> Floats:
        """Weights (t, p) or (A, t, p) in these units as weights of X and Y."""
        return np.asarray(weights * self.unit * np.ldexp(1.0, self.exponent[part])[:, None])


@dataclass(frozen=True)
class PathResult:
    """Weights (A, t, p), duality gaps (A,) in the units of the mean objective and sweeps (A,) for each penalty."""

    coef: Floats
    gaps: Floats
    sweeps: Integers


class Sweeps:
    """The number of sweeps that the steps of a solver have taken."""

    def __init__(self) -> None:
        self.count = 0


def steps(
    gram: Gram,
    part: slice,
    penalty: SparsePenalty,
    *,
    tol: float,
    max_iter: int,
    start: Floats | None,
    seed: int | None,
    sweeps_per_step: int,
    sweeps: Sweeps,
) -> Iterator[Step]:
    """Solve for the targets of `part`, one or those that the penalty couples, until the gap is at most `tol` times the
    sum of squares of the targets.
    """
    t, p = gram.C[part].shape
    scaled = np.zeros((t, p)) if start is None else gram.scale(start, part)
    yield _step(gram, part, penalty, scaled, np.inf)
    while True:
        max_sweeps = min(sweeps_per_step, max_iter - sweeps.count)
        step_seed = None if seed is None else seed + sweeps.count
        coef, gaps, counts = _descend(gram, part, [penalty], scaled, tol, max_sweeps, step_seed)
        scaled, count = np.ascontiguousarray(coef[0]), int(counts[0])
        sweeps.count += count
        measure = float(gaps[0]) / (tol * float(gram.yy[part].sum()) or TINY)
        unfinished = count == max_sweeps and sweeps.count < max_iter
        yield _step(gram, part, penalty, scaled, max(measure, 2.0) if unfinished else measure)
        if not unfinished:
            return


def _step(gram: Gram, part: slice, penalty: SparsePenalty, scaled: Floats, measure: float) -> Step:
    """The weights of X and Y, without an intercept, and the mean objective."""
    coef, squares, size = gram.unscale(scaled, part), gram.yy[part], 0.0
    if scaled.any():
        with one_blas_thread:
            products = products_with(gram.S, scaled)
        squares = squares + np.einsum("tp,tp->t", scaled, products - 2.0 * gram.C[part])
        norms = feature_norms(coef)
        size = penalty.l1 * float(norms.sum()) + 0.5 * penalty.l2 * float(norms @ norms)
    loss = float(np.ldexp(squares, 2 * gram.exponent[part]).sum()) / (2.0 * gram.weight)
    return Step(Params(coef, np.zeros(len(coef))), loss + size, measure)


def path(
    gram: Gram,
    part: slice,
    penalties: Sequence[SparsePenalty],
    *,
    tol: float,
    max_iter: int,
    start: Floats | None = None,
    seed: int | None = None,
) -> PathResult:
    """Solve for the targets of `part` and each penalty of one kind, warm-started from the one before."""
    t, p = gram.C[part].shape
    scaled = np.zeros((t, p)) if start is None else gram.scale(start, part)
    coef, gaps, sweeps = np.zeros((len(penalties), t, p)), np.zeros(len(penalties)), np.zeros(len(penalties), np.int64)
    count = max(1, PRODUCTS_PER_CALL // max(1, p * p * 16))
    for first in range(0, len(penalties), count):
        batch = slice(first, min(first + count, len(penalties)))
        coef[batch], gaps[batch], sweeps[batch] = _descend(gram, part, penalties[batch], scaled, tol, max_iter, seed)
        scaled = np.ascontiguousarray(coef[batch][-1])
    unit = np.ldexp(1.0, 2 * int(gram.exponent[part][0]))
    return PathResult(gram.unscale(coef, part), gaps / gram.weight * unit, sweeps)


def _descend(
    gram: Gram,
    part: slice,
    penalties: Sequence[SparsePenalty],
    start: Floats,
    tol: float,
    max_sweeps: int,
    seed: int | None,
) -> tuple[Floats, Floats, Integers]:
    """The compiled loop, in the units of the Gram matrix."""
    unit, yy = float(np.ldexp(1.0, -int(gram.exponent[part][0]))), float(gram.yy[part].sum())
    l1 = np.array([gram.weight * penalty.l1 * unit for penalty in penalties])
    l2 = np.array([gram.weight * penalty.l2 for penalty in penalties])
    C, positive = np.ascontiguousarray(gram.C[part]), penalties[0].positive
    with one_blas_thread:
        return _core.cd_gram(gram.S, C, yy, gram.unit, start, l1, l2, positive, tol * yy, max_sweeps, seed)
