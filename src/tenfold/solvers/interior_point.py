"""A primal-dual interior point method for piecewise linear losses with an elastic net penalty (Mehrotra 1992; for
quantiles Portnoy and Koenker 1997).

    min over w, b of  sum_i sum_k up_ik (at_ik - z_i)_+ + down_ik (z_i - at_ik)_+  +  l1 ||w||_1 + l2 / 2 ||w||^2
    + intercept_penalty / 2 b^2,  z_i = x_i.w + b;  the sample weights are in `up` and `down`.

Each r = at - z is split into v - t with v, t >= 0 and has a multiplier -down <= u <= up; the absolute value of a weight
is one more sample, e_j with at = 0 and up = down = l1. On the central path v (up - u) = t (u + down) = mu and
sum u x = l2 w. A Newton step solves  X'DX dw = X'(u + D e),  D = 1 / (v / (up - u) + t / (u + down)): one weighted Gram
matrix, one pass; its predictor and its corrector take two products with X each. Memory: p x p, and a few numbers for
each sample.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import lapack

from tenfold.arrays import Floats, on_host
from tenfold.data import Block, MaybeDeferred, NotFinite, Rows
from tenfold.losses.loss import Pieces
from tenfold.losses.regression import Square
from tenfold.machine import one_blas_thread
from tenfold.solvers.loop import Step
from tenfold.stats.derivatives import Derivatives, Params, Total, adjoint, derivatives, predictions

EPS = float(np.finfo(np.float64).eps)

EXCLUSION_MARGIN = 1.0 + 1e-9  # against rounding where a feature is excluded

STEP_FRACTION = 0.9995  # of the longest step that keeps all variables positive


class State(NamedTuple):
    """Multipliers u and parts v, t of the residuals, (n, k) for the pieces of the losses."""

    u: Floats
    v: Floats
    t: Floats


class Lines(NamedTuple):
    """The pieces of the losses with their weights; `exists` is 0 for those of weight zero."""

    at: Floats
    up: Floats
    down: Floats
    exists: Floats

    @classmethod
    def of(cls, at: Floats, up: Floats, down: Floats) -> "Lines":
        return cls(at, up, down, (up + down > 0.0).astype(np.float64))

    def start(self, z: Floats, size: Floats | float) -> State:
        r = self.at - z
        u = 0.5 * (self.up - self.down)
        return State(u, np.maximum(r, 0.0) + size, np.maximum(-r, 0.0) + size)

    def slacks(self, s: State) -> tuple[Floats, Floats]:
        """up - u and u + down, kept positive against rounding; one for pieces of weight zero."""
        least = (1.0 - self.exists) + 1e-3 * EPS * (self.up + self.down)
        return np.maximum(self.up - s.u, least), np.maximum(s.u + self.down, least)

    def products(self, s: State) -> float:
        """The sum of v (up - u) + t (u + down): the duality gap."""
        above, below = self.slacks(s)
        return float(np.sum(self.exists * (s.v * above + s.t * below)))

    def weights(self, s: State) -> Floats:
        above, below = self.slacks(s)
        return self.exists / (s.v / above + s.t / below)

    def targets(self, s: State, z: Floats, first: Floats | float, second: Floats | float) -> Floats:
        """e = at - z - first / (up - u) + second / (u + down)."""
        above, below = self.slacks(s)
        return np.asarray(self.at - z - first / above + second / below)

    def moves(self, s: State, du: Floats, first: Floats | float, second: Floats | float) -> State:
        """The changes of v and t that belong to du."""
        above, below = self.slacks(s)
        du = self.exists * du
        dv = self.exists * ((first + s.v * du) / above - s.v)
        dt = self.exists * ((second - s.t * du) / below - s.t)
        return State(du, dv, dt)

    def lengths(self, s: State, d: State) -> tuple[float, float]:
        """The longest steps that keep v and t, and that keep up - u and u + down, positive."""
        above, below = self.slacks(s)
        return min(_longest(s.v, d.v), _longest(s.t, d.t)), min(_longest(above, -d.u), _longest(below, d.u))


def _longest(x: Floats, d: Floats) -> float:
    decreasing = d < 0.0
    return float(np.min(x[decreasing] / -d[decreasing], initial=np.inf)) if decreasing.any() else np.inf


Targets = tuple[Floats | float, Floats | float, Floats | float, Floats | float]
"""The values of v (up - u) and t (u + down) that a step aims at, for the losses and for the penalty."""


class Iterate(NamedTuple):
    """Weights and intercept, and the states of the losses and of the penalty."""

    theta: Floats
    lines: State
    penalty: State


class Direction(NamedTuple):
    """A step of all of these, and of z; and its lengths for primal and dual variables."""

    theta: Floats
    z: Floats
    lines: State
    penalty: State
    primal: float
    dual: float

    def of(self, s: State, d: State) -> State:
        return State(s.u + self.dual * d.u, s.v + self.primal * d.v, s.t + self.primal * d.t)


class Problem(NamedTuple):
    """The samples, the pieces (n, k) of their losses, and the penalty."""

    rows: Rows
    pieces: Pieces
    l1: float
    l2: float
    intercept: bool
    shift: Floats
    spread: Floats
    """Root mean squares (p,) of the features about the shift."""
    intercept_penalty: float = 0.0

    @property
    def intercept_map(self) -> Floats:
        """The linear map from weights and intercept about the shift to the intercept about the origin."""
        return np.append(-self.shift, 1.0)

    def ridge(self, theta: Floats) -> Floats:
        """The gradient of the quadratic penalties."""
        slope = (
            self.intercept_penalty * float(np.sum(self.intercept_map * theta)) if self.intercept_penalty > 0.0 else 0.0
        )
        return np.append(self.l2 * theta[:-1], 0.0) + slope * self.intercept_map

    def products(self, theta: Floats, gradient: Floats) -> Floats:
        """Weights and intercept times the gradient, about the origin where the intercept is penalised."""
        if self.intercept_penalty == 0.0:
            return theta * gradient
        b = float(np.sum(self.intercept_map * theta))
        return np.append(theta[:-1] * (gradient[:-1] + self.shift * gradient[-1]), b * gradient[-1])


def steps(problem: Problem, start: Params, allowed: float) -> Iterator[tuple[Step, Floats]]:
    """Steps in the coordinates z = (x - shift).w + b, each with the dual point, slopes (n,) of the losses. The
    measure is the duality gap over `allowed`.
    """
    rows, (at, up, down), l1, _, intercept, shift, spread, intercept_penalty = problem
    lines = Lines.of(at, up, down)
    p = rows.shape[1]
    # a feature whose correlation with the slopes stays below l1 for all of them has no weight
    largest_slope = np.max(np.maximum(up, down).sum(axis=1) / np.maximum((up + down).sum(axis=1), 1e-300), initial=0.0)
    candidates = (spread > 0.0) & (l1 < largest_slope * (up + down).sum() * spread * EXCLUSION_MARGIN)
    if intercept_penalty > 0.0:
        candidates |= shift != 0.0  # a constant feature takes a part of the intercept
    limit = np.where(candidates, l1, 0.0)[:, None]
    penalty = Lines.of(np.zeros((p, 1)), limit, limit)
    theta = np.append(start.coef[0], start.intercept)
    z = _predict(rows, theta, shift)
    size = float(np.sum(lines.exists * (up + down) * np.abs(at - z)) / max(np.sum(up + down), 1e-300)) or 1.0
    here = lines.start(z, size)
    penalty_state = penalty.start(theta[:p, None], (size / np.where(spread > 0.0, spread, 1.0))[:, None])
    count = 2.0 * (lines.exists.sum() + penalty.exists.sum())
    while True:
        gap = lines.products(here) + penalty.products(penalty_state)
        objective = _objective(problem, z, theta)
        if not np.isfinite(objective):
            raise NotFinite
        gradient = (
            _adjoint(rows, here.u.sum(axis=1), shift, intercept)
            + np.append(penalty_state.u[:, 0], 0.0)
            - problem.ridge(theta)
        )
        # a gradient at the level of rounding does not decrease further
        slack = float(np.sum(np.abs(problem.products(theta, gradient)))) if gap > EPS * objective else 0.0
        yield Step(Params(theta[None, :p].copy(), theta[p:].copy()), objective, (gap + slack) / allowed), -here.u.sum(1)
        system = _System.at(problem, lines, penalty, Iterate(theta, here, penalty_state), z, gradient, candidates)
        if system is None:
            return
        predictor = system.direction((0.0, 0.0, 0.0, 0.0))
        left = lines.products(predictor.of(here, predictor.lines)) + penalty.products(
            predictor.of(penalty_state, predictor.penalty)
        )
        aim, (step, penalty_step) = gap / count * (left / gap) ** 3, (predictor.lines, predictor.penalty)
        step_taken = system.direction(
            (
                aim + step.v * step.u,
                aim - step.t * step.u,
                aim + penalty_step.v * penalty_step.u,
                aim - penalty_step.t * penalty_step.u,
            )
        )
        if not np.isfinite(step_taken.theta).all() or max(step_taken.primal, step_taken.dual) < 1e-10:
            return
        here, penalty_state = step_taken.of(here, step_taken.lines), step_taken.of(penalty_state, step_taken.penalty)
        theta, z = theta + step_taken.primal * step_taken.theta, z + step_taken.primal * step_taken.z


class _System(NamedTuple):
    """The equations of a Newton step, with the weighted Gram matrix factored."""

    problem: Problem
    lines: Lines
    penalty: Lines
    iterate: Iterate
    z: Floats
    gradient: Floats
    D: Floats
    D0: Floats
    solve: Callable[[Floats], Floats]

    @classmethod
    def at(
        cls,
        problem: Problem,
        lines: Lines,
        penalty: Lines,
        iterate: Iterate,
        z: Floats,
        gradient: Floats,
        candidates: Any,
    ) -> "_System | None":
        D, D0 = lines.weights(iterate.lines), penalty.weights(iterate.penalty)
        gram = _gram(problem.rows, D.sum(axis=1), problem.shift)
        if problem.intercept_penalty > 0.0:
            gram = gram + problem.intercept_penalty * np.outer(problem.intercept_map, problem.intercept_map)
        solve = _factor(gram, np.append(D0[:, 0] + problem.l2, 0.0), np.append(candidates, problem.intercept))
        return None if solve is None else cls(problem, lines, penalty, iterate, z, gradient, D, D0, solve)

    def direction(self, m: Targets) -> Direction:
        """The step towards complementarity products `m`."""
        rows, shift = self.problem.rows, self.problem.shift
        (theta, here, penalty_state), D, D0 = self.iterate, self.D, self.D0
        w = theta[:-1, None]
        e, e0 = self.lines.targets(here, self.z, m[0], m[1]), self.penalty.targets(penalty_state, w, m[2], m[3])
        right = _adjoint(rows, (D * e).sum(axis=1), shift, self.problem.intercept) + np.append((D0 * e0)[:, 0], 0.0)
        d = self.solve(right + self.gradient)
        dz = _predict(rows, d, shift)
        step = self.lines.moves(here, D * (e - dz), m[0], m[1])
        penalty_step = self.penalty.moves(penalty_state, D0 * (e0 - d[:-1, None]), m[2], m[3])
        lengths = zip(self.lines.lengths(here, step), self.penalty.lengths(penalty_state, penalty_step), strict=True)
        primal, dual = (min(1.0, STEP_FRACTION * min(pair)) for pair in lengths)
        if self.problem.l2 > 0.0:
            primal = dual = min(primal, dual)  # the weights are primal and dual variables
        return Direction(d, dz, step, penalty_step, primal, dual)


def _objective(problem: Problem, z: Floats, theta: Floats) -> float:
    at, up, down = problem.pieces
    r, w = at - z, theta[:-1]
    loss = float(np.sum(np.where(r > 0.0, up * r, -down * r)))
    return loss + problem.l1 * float(np.sum(np.abs(w))) + 0.5 * float(np.sum(theta * problem.ridge(theta)))


def _predict(rows: Rows, theta: Floats, shift: Floats) -> Floats:
    """(x - shift).w + b of the samples, (n, 1)."""
    return np.asarray(on_host(rows.map(predictions(Params(theta[None, :-1].copy(), theta[-1:].copy()), shift))))


def _adjoint(rows: Rows, u: Floats, shift: Floats, intercept: bool) -> Floats:
    """sum u [x - shift, 1]; zero for the constant without an intercept."""
    sums = rows.retarget(u[:, None]).fold(lambda block: Total(adjoint(block.X, block.y, shift)))
    return np.append(sums.sum[0], float(u.sum()) if intercept else 0.0)


def _gram(rows: Rows, weight: Floats, shift: Floats) -> Floats:
    """sum weight [x - shift, 1] [x - shift, 1]'."""
    zero = Params(np.zeros((1, rows.shape[1])), np.zeros(1))

    def lift(block: Block) -> MaybeDeferred[Derivatives]:
        return derivatives(Square(), zero, 2, shift)(Block(block.X, block.y, block.y[:, 0]))

    hessian = rows.retarget(np.ascontiguousarray(weight[:, None])).fold(lift).hessian
    assert hessian is not None
    return hessian


def _factor(A: Floats, ridge: Floats, candidates: Any) -> Callable[[Floats], Floats] | None:
    """A solver for A + diag(ridge) in the unknowns `candidates`, scaled to unit diagonal, with jitter on the diagonal
    where it is singular; None where it is not finite.
    """
    A = A + np.diag(ridge)
    candidates = candidates.astype(bool)
    A[~candidates, :] = A[:, ~candidates] = 0.0
    A[~candidates, ~candidates] = 1.0
    scale = np.sqrt(np.where(np.diag(A) > 0.0, np.diag(A), 1.0))
    with np.errstate(over="ignore", invalid="ignore"):
        scaled = A / scale / scale[:, None]
    if not np.isfinite(scaled).all():
        return None
    jitter = 0.0
    while True:
        with one_blas_thread:
            lower, info = lapack.dpotrf(np.asfortranarray(scaled + jitter * np.eye(len(A))), lower=1)
        if info == 0 and np.diag(lower).min() > 1e-8:
            break
        jitter = max(1e-15, 10.0 * jitter)

    def solve(b: Floats) -> Floats:
        b = np.where(candidates, b, 0.0)
        with one_blas_thread:
            x = lapack.dpotrs(lower, b / scale, lower=1)[0]
            x = x + lapack.dpotrs(lower, b / scale - scaled @ x, lower=1)[0]
        return np.asarray(x / scale)

    return solve
