"""The problem of a support vector machine by interior points, for few samples whose kernel is ill-conditioned.

    min over beta   1/2 b' K b + 1/2 sum_v d_v beta_v^2 - sum_v z_v beta_v,   lo <= beta <= hi,   A beta = c,

with b_i the sum of beta of the variables of sample i, and A the sums of the groups (svm_decomposition.py). Mehrotra's
predictor and corrector. With p and q the multipliers of the bounds, D = d + p / (beta - lo) + q / (hi - beta), and E_i
the sum of 1 / D over the variables of a sample, a step solves

    (K + 1 / E) s = (1 / E) sum_v r_v / D_v,    delta_v = (r_v - (K s)_i(v)) / D_v,

one Cholesky factorisation a step, of n x n, or for a linear kernel of few features of p x p.
"""

from collections.abc import Callable

import numpy as np

from tenfold.arrays import Floats
from tenfold.linear_algebra import cholesky, compute_weighted_gram, multiply_matrix, multiply_transposed, solve_lower
from tenfold.machine import poll
from tenfold.solvers.svm_variables import Variables

STEPS = 100
BOUNDARY = 0.995  # of the way to the boundary that a step goes


class Matrix:
    """A kernel matrix (n, n) as an array."""

    def __init__(self, K: Floats) -> None:
        self.K, self.size, self.largest = K, len(K), float(np.max(np.diag(K)))

    def product(self, beta: Floats) -> Floats:
        return np.asarray(self.K @ beta)

    def factorise(self, ridge: Floats) -> Callable[[Floats], Floats]:
        """The function K (K + R)^-1 R t of t, R = diag(ridge)."""
        L = _cholesky(self.K, ridge)

        def apply(t: Floats) -> Floats:
            s = solve_lower(L, solve_lower(L, (ridge * t)[:, None]), transposed=True)[:, 0]
            return np.asarray(ridge * (t - s))

        return apply


class LowRank:
    """X X' of few features (n, p): the columns of X, divided by their lengths, and these."""

    def __init__(self, X: Floats) -> None:
        self.size = len(X)
        lengths = np.sqrt(np.einsum("ij,ij->j", X, X))
        self.lengths = np.where(lengths > 0.0, lengths, 1.0)
        self.X = np.ascontiguousarray(X / self.lengths)
        self.largest = float(np.max(np.einsum("ij,ij->i", X, X)))

    def product(self, beta: Floats) -> Floats:
        inner = multiply_transposed(self.X, beta[:, None])
        return multiply_matrix(self.X, self.lengths[:, None] ** 2 * inner)[:, 0]

    def factorise(self, ridge: Floats) -> Callable[[Floats], Floats]:
        """The same as X (s^-2 + X' R^-1 X)^-1 X' t, s the lengths, where nothing cancels."""
        L = _cholesky(compute_weighted_gram(self.X, 1.0 / ridge), self.lengths**-2)

        def apply(t: Floats) -> Floats:
            part = solve_lower(L, solve_lower(L, multiply_transposed(self.X, t[:, None])), transposed=True)
            return multiply_matrix(self.X, part)[:, 0]

        return apply


def _cholesky(A: Floats, ridge: Floats) -> Floats:
    """The factor of A + diag(ridge), with more on the diagonal where rounding leaves no factor."""
    system = A.copy()
    index = np.diag_indices_from(system)
    system[index] += ridge
    factor, shift = cholesky(system), 1e-15 * float(np.max(system[index]))
    while factor is None:
        shift *= 10.0
        system[index] += shift
        factor = cholesky(system)
    return factor


class _Newton:
    """Solves with the matrix of a step, factorised once."""

    def __init__(self, K: Matrix | LowRank, v: Variables, D: Floats, A: Floats) -> None:
        self.v, self.D, self.A = v, D, A
        self.inverse = 1.0 / np.bincount(v.sample, weights=1.0 / D, minlength=K.size)
        self.factor = K.factorise(self.inverse)
        self.columns = np.array([self._solve(row) for row in A]).reshape(len(A), len(v.z)).T
        self.schur = A @ self.columns

    def _solve(self, r: Floats) -> Floats:
        total = np.bincount(self.v.sample, weights=r / self.D, minlength=len(self.inverse))
        return np.asarray((r - self.factor(total.astype(np.float64, copy=False))[self.v.sample]) / self.D)

    def solve(self, r: Floats, sums: Floats) -> tuple[Floats, Floats]:
        """delta and the change of the multipliers y with (H + D) delta - A' dy = r and A delta = sums."""
        plain = self._solve(r)
        dy = np.linalg.solve(self.schur, sums - self.A @ plain)
        return plain + self.columns @ dy, np.asarray(dy, dtype=np.float64)


def solve(K: Matrix | LowRank, v: Variables, sums: Floats, gap: float) -> Floats:
    """The variables (m,) where the gap is at most about `gap`; sums (2,) of the variables of the groups, or none where
    sums are free. Variables whose bounds hold are at them.
    """
    free = np.flatnonzero(v.hi > v.lo)
    beta = np.where(np.isfinite(v.lo), v.lo, v.hi).copy()
    if len(free):
        part = Variables(v.sample[free], v.z[free], v.lo[free], v.hi[free], v.extra[free], int(np.sum(free < v.first)))
        beta[free] = _solve_free(K, part, sums, gap)
    return beta


class _Side:
    """The finite bounds of one side: the distances of the variables and the multipliers, both kept positive."""

    def __init__(self, at: Floats, sign: float, beta: Floats, start: float) -> None:
        self.has, self.at, self.sign = np.isfinite(at), at, sign
        self.room = np.where(self.has, sign * (beta - at), 1.0)
        self.multiplier = np.where(self.has, start, 0.0)
        self.aim = self.multiplier  # of the multipliers, with the variables where they are

    @property
    def slack(self) -> float:
        return float(self.multiplier @ self.room)

    @property
    def curvature(self) -> Floats:
        return self.multiplier / self.room

    def target(self, mu: float, second: Floats) -> Floats:
        """The multiplier for products of `mu` less those of second order, with the variables where they are."""
        self.aim = np.where(self.has, (mu - second) / self.room, 0.0)
        return self.aim

    def moves(self, step: Floats) -> tuple[Floats, Floats]:
        """The changes of distances and multipliers with a step of the variables."""
        away = np.where(self.has, self.sign * step, 0.0)
        return away, self.aim - self.multiplier - self.curvature * away

    def advance(self, length: float, step: Floats) -> None:
        away, change = self.moves(step)
        self.room, self.multiplier = self.room + length * away, self.multiplier + length * change


def _sum_of_samples(K: Matrix | LowRank, v: Variables, beta: Floats) -> Floats:
    return np.bincount(v.sample, weights=beta, minlength=K.size).astype(np.float64, copy=False)


def _solve_free(K: Matrix | LowRank, v: Variables, sums: Floats, gap: float) -> Floats:
    m = len(v.z)
    groups = [np.arange(m) < v.first, np.arange(m) >= v.first] if len(sums) else []
    A = np.array([g.astype(np.float64) for g in groups if g.any()]).reshape(-1, m)
    sums = np.array([s for s, g in zip(sums, groups, strict=True) if g.any()])
    curvature = K.largest + float(np.max(v.extra)) or 1.0
    size = max(float(np.max(np.abs(v.z))), 1e-3) / curvature
    size = max(size, float(np.max(np.abs(sums), initial=0.0)) / m)
    inner = np.where(np.isfinite(v.hi - v.lo), 0.5 * (v.hi - v.lo), size)
    beta = np.where(np.abs(v.lo) <= np.abs(v.hi), v.lo + inner, v.hi - inner)  # infinite bounds are on one side
    f = K.product(_sum_of_samples(K, v, beta))[v.sample]
    start = max(float(np.max(np.abs(v.z))), float(np.mean(np.abs(f))))
    sides = [_Side(v.lo, 1.0, beta, start), _Side(v.hi, -1.0, beta, start)]
    y, count = np.zeros(len(A)), sum(int(np.sum(side.has)) for side in sides)
    for _ in range(STEPS):
        poll()
        gradient = K.product(_sum_of_samples(K, v, beta))[v.sample] + v.extra * beta - v.z
        slack = sum(side.slack for side in sides)
        if slack <= gap:  # residuals have decreased by as much, and later steps lose them to rounding
            break
        newton = _Newton(K, v, v.extra + sides[0].curvature + sides[1].curvature, A)
        free, primal = A.T @ y - gradient, sums - A @ beta
        zero = np.zeros(m)
        step, _dy = newton.solve(free + sides[0].target(0.0, zero) - sides[1].target(0.0, zero), primal)
        moves = [side.moves(step) for side in sides]
        length = _length(sides, step)
        ahead = sum(
            float((side.multiplier + length * change) @ (side.room + length * away))
            for side, (away, change) in zip(sides, moves, strict=True)
        )
        mu = slack / count * (max(ahead, 0.0) / slack) ** 3
        aims = [side.target(mu, away * change) for side, (away, change) in zip(sides, moves, strict=True)]
        step, dy = newton.solve(free + aims[0] - aims[1], primal)
        length = min(1.0, BOUNDARY * _length(sides, step))
        if not np.isfinite(step).all() or length < 1e-12:
            break
        beta, y = beta + length * step, y + length * dy
        for side in sides:
            side.advance(length, step)
    return _to_bounds(beta, v, sides, A, sums)


def _length(sides: list[_Side], step: Floats) -> float:
    """How far distances and multipliers may go before one is zero, not much more than once the step."""
    length = 1.0 / BOUNDARY
    for side in sides:
        for value, change in zip((side.room, side.multiplier), side.moves(step), strict=True):
            decreases = change < 0.0
            if decreases.any():
                length = min(length, float(np.min(-value[decreases] / change[decreases])))
    return length


def _to_bounds(beta: Floats, v: Variables, sides: list[_Side], A: Floats, sums: Floats) -> Floats:
    """The variables with those at bounds that hold put there, and the sums restored by the others."""
    beta = np.clip(beta, v.lo, v.hi)
    held = np.zeros(len(beta), dtype=bool)
    size = float(np.max(np.abs(v.z))) or float(max(np.max(side.multiplier) for side in sides))
    width = np.minimum(v.hi - v.lo, 2.0 * float(np.max(np.abs(beta))))
    for side in sides:
        holds = side.has & (side.multiplier * width > size * side.room)  # of products near zero the smaller factor is
        beta, held = np.where(holds, side.at, beta), held | holds
    for row, total in zip(A > 0.0, sums, strict=True):
        rest = total - float(np.sum(beta[row]))
        inside = np.flatnonzero(row & ~held)
        room = (v.hi[inside] - beta[inside]) if rest > 0.0 else (beta[inside] - v.lo[inside])
        room = np.minimum(room, np.abs(beta[inside]) + abs(rest))
        if len(inside) and float(np.sum(room)) > abs(rest):
            beta[inside] += rest * room / float(np.sum(room))
    return beta
