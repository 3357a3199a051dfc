"""Accelerated hierarchical alternating least squares for non-negative factors with the squared loss.

With H fixed, each row w of W minimises (1/2) w'(H H' + l2)w - (H x - l1)'w over w >= 0; a step takes sweeps of
coordinate descent of all rows of W, then of all columns of H (Cichocki and Phan 2009), as many as pay beside the two
products with X, of 2 n p k flops each (Gillis and Glineur 2012). W H is never formed: the objective is
||X||^2 / 2 - <W'X, H> + <W'W, H H'> / 2.

Factors are extrapolated by what they moved in the last step, max(0, W_new + t (W_new - W_old)) (Ang and Gillis 2019). t
grows while the objective decreases; where it does not, the step is taken back and t shrinks, so that the objective
decreases from one accepted pair to the next.
"""

from collections.abc import Callable, Iterator
from math import inf
from typing import Any, NamedTuple

import numpy as np

from tenfold import _core
from tenfold.arrays import Array, Floats, entries
from tenfold.machine import threads
from tenfold.objectives.factorization import Factors, gram, inner, multiply, sum_of_squares, times
from tenfold.problems import Factorization
from tenfold.solvers.loop import Step, measure_violation
from tenfold.stats.derivatives import adjoint

# Ang and Gillis (2019), section 3.3
START, GROWTH, LIMIT_GROWTH, SHRINKAGE = 0.5, 1.05, 1.01, 1.5
FRACTION = 0.05  # sweeps end when their moves are smaller, beside those of the first
MAX_SWEEPS = 16
STEP_PRODUCTS = 2e5  # that take as long as the calls of a step (benchmark: nmf 200 x 5)
MAX_PLAIN = 20  # steps without extrapolation in a row that do not decrease the objective: rounding


class Side(NamedTuple):
    """What a factor minimises: (1/2) v'Av - c'v for each of its rows v."""

    A: Floats
    C: Floats
    size: float

    def violation(self, V: Floats) -> float:
        """The norm of the projected gradient min(G, diag(A) V), relative to that of the products with X."""
        slopes = multiply(V, self.A) - self.C
        projected = np.minimum(slopes, np.diag(self.A) * V)
        value = float(np.sqrt(inner(projected, projected)))
        return 0.0 if value == 0.0 else value / self.size if self.size > 0.0 else inf


def side(products: Floats, other: Floats, l1: float, l2: float) -> Side:
    """Of products (rows, k) of X with the other factor (m, k)."""
    A = gram(other)
    A.flat[:: len(A) + 1] += l2
    size = float(np.sqrt(inner(products, products)))
    return Side(A, np.ascontiguousarray(products - l1 if l1 > 0.0 else products), size)


def sweep(problem: Side, V: Floats, sweeps: int, random: Any) -> Floats:
    """V after sweeps; in a random order of the coordinates with `random`."""
    n, k = V.shape
    count = threads(n * k * sweeps)
    if random is None:
        return _core.sweep_nnls(problem.A, problem.C, V, sweeps, FRACTION, count)
    order = random.permutation(k)
    A, C, V = (np.ascontiguousarray(part[..., order]) for part in (problem.A[order], problem.C, V))
    moved = np.empty_like(V)
    moved[:, order] = _core.sweep_nnls(A, C, V, sweeps, FRACTION, count)
    return moved


def steps(
    X: Array, problem: Factorization, start: Factors, goal: Callable[[], float], random: Any = None
) -> Iterator[Step]:
    """Steps from a start; the parameters are `Factors`, the measure is the norm of the projected gradient of H, where W
    is nearly the best for it, relative to that of the products with X, in units of `goal()`.
    """
    half_square, (W, H) = 0.5 * sum_of_squares(X), (start.W, np.ascontiguousarray(start.H.T))
    products = entries(X) * W.shape[1] + STEP_PRODUCTS
    most = [_count_sweeps(products, part) for part in (W, H)]
    yield Step(start, inf, inf)
    kept, moving_W, moving_H, best = (W, H), W, H, inf
    t, limit, plain = START, 1.0, 0
    while True:
        of_W = side(times(X, np.ascontiguousarray(moving_H.T)), moving_H, problem.l1_W, problem.l2_W)
        new_W = sweep(of_W, moving_W, most[0], random)
        ahead_W = _extrapolate(new_W, W, t if plain == 0 else 0.0)
        of_H = side(np.ascontiguousarray(adjoint(X, ahead_W).T), ahead_W, problem.l1_H, problem.l2_H)
        violation = of_H.violation(moving_H)
        new_H = sweep(of_H, moving_H, most[1], random)
        value = half_square - inner(of_H.C, new_H) + 0.5 * inner(of_H.A, gram(new_H))
        if max(problem.l1_W, problem.l2_W) > 0.0:
            value += problem.l1_W * float(np.sum(ahead_W)) + 0.5 * problem.l2_W * inner(ahead_W, ahead_W)
        if value > best:  # back to the last pair, whose step without extrapolation decreases the objective
            plain += 1
            limit, t = t, t / SHRINKAGE
            W, H = moving_W, moving_H = kept
            if plain > MAX_PLAIN:
                return
            continue
        moving_H = _extrapolate(new_H, H, t if plain == 0 else 0.0)
        t, limit = (min(limit, GROWTH * t), min(1.0, LIMIT_GROWTH * limit)) if plain == 0 else (t, limit)
        W, H, moving_W, kept, best, plain = new_W, new_H, ahead_W, (ahead_W, new_H), value, 0
        yield Step(Factors(ahead_W, np.ascontiguousarray(new_H.T)), value, measure_violation(violation, goal()))


def _count_sweeps(products: float, V: Floats) -> int:
    """Sweeps of 2 k^2 flops a row that cost at most half of the products."""
    n, k = V.shape
    return int(np.clip(0.5 * products / (n * k * k), 1, MAX_SWEEPS))


def _extrapolate(new: Floats, old: Floats, t: float) -> Floats:
    return new if t == 0.0 else np.maximum(0.0, new + t * (new - old))
