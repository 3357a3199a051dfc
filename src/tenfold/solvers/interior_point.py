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
from scipy.linalg import blas, lapack

from tenfold.arrays import Floats, on_host
from tenfold.data import Block, MaybeDeferred, NotFinite, Rows, is_small_dense
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


Slacks = tuple[Floats, Floats]
"""up - u and u + down of a state, positive."""


class Lines(NamedTuple):
    """The pieces of the losses with their weights; `exists` is 0 for those of weight zero, and `least` is the least
    slack.
    """

    at: Floats
    up: Floats
    down: Floats
    exists: Floats
    least: Floats

    @classmethod
    def of(cls, at: Floats, up: Floats, down: Floats) -> "Lines":
        height = up + down
        exists = (height > 0.0).astype(np.float64)
        return cls(at, up, down, exists, (1.0 - exists) + 1e-3 * EPS * height)

    def start(self, z: Floats, size: Floats | float) -> State:
        r = self.at - z
        u = 0.5 * (self.up - self.down)
        return State(u, np.maximum(r, 0.0) + size, np.maximum(-r, 0.0) + size)

    def slacks(self, s: State) -> Slacks:
        """up - u and u + down, kept positive against rounding; one for pieces of weight zero."""
        return np.maximum(self.up - s.u, self.least), np.maximum(s.u + self.down, self.least)

    def products(self, s: State, slacks: Slacks) -> float:
        """The sum of v (up - u) + t (u + down): the duality gap."""
        above, below = slacks
        return float(np.add.reduce(self.exists * (s.v * above + s.t * below), axis=None))

    def weights(self, s: State, slacks: Slacks) -> Floats:
        above, below = slacks
        return self.exists / (s.v / above + s.t / below)

    def targets(self, z: Floats, slacks: Slacks, first: Floats | float, second: Floats | float) -> Floats:
        """e = at - z - first / (up - u) + second / (u + down)."""
        above, below = slacks
        return np.asarray(self.at - z - first / above + second / below)

    def moves(self, s: State, slacks: Slacks, du: Floats, first: Floats | float, second: Floats | float) -> State:
        """The changes of v and t that belong to du."""
        above, below = slacks
        du = self.exists * du
        dv = self.exists * ((first + s.v * du) / above - s.v)
        dt = self.exists * ((second - s.t * du) / below - s.t)
        return State(du, dv, dt)

    def lengths(self, s: State, slacks: Slacks, d: State) -> tuple[float, float]:
        """The longest steps that keep v and t, and that keep up - u and u + down, positive."""
        above, below = slacks
        return min(_longest(s.v, d.v), _longest(s.t, d.t)), min(_longest(above, -d.u), _longest(below, d.u))


def _longest(x: Floats, d: Floats) -> float:
    fastest = float(np.minimum.reduce(d / x, axis=None, initial=0.0))  # x is positive
    return -1.0 / fastest if fastest < 0.0 else np.inf


Targets = tuple[Floats | float, Floats | float, Floats | float, Floats | float]
"""The values of v (up - u) and t (u + down) that a step aims at, for the losses and for the penalty."""


class Iterate(NamedTuple):
    """Weights and intercept, and the states of the losses and of the penalty with their slacks."""

    theta: Floats
    lines: State
    penalty: State
    slacks: Slacks
    penalty_slacks: Slacks


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
        w, slope = theta[:-1], 0.0
        result = np.zeros(len(theta))
        result[:-1] = self.l2 * w
        if self.intercept_penalty > 0.0:
            slope = self.intercept_penalty * float(theta[-1] - np.add.reduce(self.shift * w))
            result[:-1] -= slope * self.shift
        result[-1] = slope
        return result

    def products(self, theta: Floats, gradient: Floats) -> Floats:
        """Weights and intercept times the gradient, about the origin where the intercept is penalised."""
        if self.intercept_penalty == 0.0:
            return theta * gradient
        b = float(theta[-1] - np.add.reduce(self.shift * theta[:-1]))
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
    products = _Products.on(rows, shift)
    z = products.predict(theta)
    size = float(np.sum(lines.exists * (up + down) * np.abs(at - z)) / max(np.sum(up + down), 1e-300)) or 1.0
    here = lines.start(z, size)
    penalty_state = penalty.start(theta[:p, None], (size / np.where(spread > 0.0, spread, 1.0))[:, None])
    count = 2.0 * (lines.exists.sum() + penalty.exists.sum())
    while True:
        slacks, penalty_slacks = lines.slacks(here), penalty.slacks(penalty_state)
        gap = lines.products(here, slacks) + penalty.products(penalty_state, penalty_slacks)
        ridge = problem.ridge(theta)
        objective = _objective(problem, z, theta, ridge)
        if not np.isfinite(objective):
            raise NotFinite
        slopes = here.u.sum(axis=1)
        gradient = products.adjoint(slopes, intercept) - ridge
        gradient[:-1] += penalty_state.u[:, 0]
        # a gradient at the level of rounding does not decrease further
        slack = float(np.sum(np.abs(problem.products(theta, gradient)))) if gap > EPS * objective else 0.0
        yield Step(Params(theta[None, :p].copy(), theta[p:].copy()), objective, (gap + slack) / allowed), -slopes
        with one_blas_thread:  # once for all products of a step
            iterate = Iterate(theta, here, penalty_state, slacks, penalty_slacks)
            system = _System.at(problem, lines, penalty, iterate, z, gradient, candidates, products)
            if system is None:
                return
            predictor = system.direction((0.0, 0.0, 0.0, 0.0))
            ahead, penalty_ahead = predictor.of(here, predictor.lines), predictor.of(penalty_state, predictor.penalty)
            left = lines.products(ahead, lines.slacks(ahead))
            left += penalty.products(penalty_ahead, penalty.slacks(penalty_ahead))
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
    products: "_Products"

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
        products: "_Products",
    ) -> "_System | None":
        D = lines.weights(iterate.lines, iterate.slacks)
        D0 = penalty.weights(iterate.penalty, iterate.penalty_slacks)
        gram = products.gram(D.sum(axis=1))
        if problem.intercept_penalty > 0.0 and problem.shift.any():
            gram = gram + problem.intercept_penalty * np.outer(problem.intercept_map, problem.intercept_map)
        elif problem.intercept_penalty > 0.0:
            gram[-1, -1] += problem.intercept_penalty
        solve = _factor(gram, np.append(D0[:, 0] + problem.l2, 0.0), np.append(candidates, problem.intercept))
        return None if solve is None else cls(problem, lines, penalty, iterate, z, gradient, D, D0, solve, products)

    def direction(self, m: Targets) -> Direction:
        """The step towards complementarity products `m`."""
        (theta, here, penalty_state, slacks, penalty_slacks), D, D0 = self.iterate, self.D, self.D0
        w, penalised = theta[:-1, None], self.problem.l1 > 0.0
        e = self.lines.targets(self.z, slacks, m[0], m[1])
        right = self.products.adjoint((D * e).sum(axis=1), self.problem.intercept) + self.gradient
        e0 = self.penalty.targets(w, penalty_slacks, m[2], m[3]) if penalised else w
        if penalised:
            right[:-1] += (D0 * e0)[:, 0]
        d = self.solve(right)
        dz = self.products.predict(d)
        step = self.lines.moves(here, slacks, D * (e - dz), m[0], m[1])
        lengths = [self.lines.lengths(here, slacks, step)]
        penalty_step = penalty_state._replace(u=e0 * 0.0, v=e0 * 0.0, t=e0 * 0.0)
        if penalised:
            penalty_step = self.penalty.moves(penalty_state, penalty_slacks, D0 * (e0 - d[:-1, None]), m[2], m[3])
            lengths.append(self.penalty.lengths(penalty_state, penalty_slacks, penalty_step))
        primal, dual = (min(1.0, STEP_FRACTION * min(each)) for each in zip(*lengths, strict=True))
        if self.problem.l2 > 0.0:
            primal = dual = min(primal, dual)  # the weights are primal and dual variables
        return Direction(d, dz, step, penalty_step, primal, dual)


def _objective(problem: Problem, z: Floats, theta: Floats, ridge: Floats) -> float:
    at, up, down = problem.pieces
    r = at - z
    loss = float(np.add.reduce(np.where(r > 0.0, up * r, -down * r), axis=None))
    l1 = problem.l1 * float(np.add.reduce(np.abs(theta[:-1]))) if problem.l1 > 0.0 else 0.0
    return loss + l1 + 0.5 * float(np.add.reduce(theta * ridge))


class _Products(NamedTuple):
    """Products with the samples about the shift; of few dense ones in memory as an array (n, p + 1) with a constant
    feature, elsewhere by passes.
    """

    rows: Rows
    shift: Floats
    X: Floats | None

    @classmethod
    def on(cls, rows: Rows, shift: Floats) -> "_Products":
        if not is_small_dense(rows):
            return cls(rows, shift, None)
        X = np.ones((rows.shape[0], rows.shape[1] + 1), order="F")
        X[:, :-1] = rows.whole().X
        X[:, :-1] -= shift
        return cls(rows, shift, X)

    def predict(self, theta: Floats) -> Floats:
        """(x - shift).w + b of the samples, (n, 1)."""
        if self.X is None:
            params = Params(theta[None, :-1].copy(), theta[-1:].copy())
            return np.asarray(on_host(self.rows.map(predictions(params, self.shift))))
        with one_blas_thread:
            return np.asarray(blas.dgemv(1.0, self.X, theta))[:, None]

    def adjoint(self, u: Floats, intercept: bool) -> Floats:
        """sum u [x - shift, 1]; zero for the constant without an intercept."""
        if self.X is None:
            sums = self.rows.retarget(u[:, None]).fold(lambda block: Total(adjoint(block.X, block.y, self.shift)))
            return np.append(sums.sum[0], float(u.sum()) if intercept else 0.0)
        with one_blas_thread:
            total = np.asarray(blas.dgemv(1.0, self.X, u, trans=1))
        if not intercept:
            total[-1] = 0.0
        return total

    def gram(self, weight: Floats) -> Floats:
        """sum weight [x - shift, 1] [x - shift, 1]'."""
        if self.X is not None:
            with one_blas_thread:
                return np.asarray(blas.dgemm(1.0, self.X * weight[:, None], self.X, trans_a=1))
        zero = Params(np.zeros((1, self.rows.shape[1])), np.zeros(1))

        shift = self.shift if self.shift.any() else None

        def lift(block: Block) -> MaybeDeferred[Derivatives]:
            return derivatives(Square(), zero, 2, shift)(Block(block.X, block.y, block.y[:, 0]))

        hessian = self.rows.retarget(np.ascontiguousarray(weight[:, None])).fold(lift).hessian
        assert hessian is not None
        return hessian


def _factor(A: Floats, ridge: Floats, candidates: Any) -> Callable[[Floats], Floats] | None:
    """A solver for A + diag(ridge) in the unknowns `candidates`, scaled to unit diagonal, with jitter on the diagonal
    where it is singular; None where it is not finite.
    """
    A = np.array(A, order="F")  # it is symmetric
    A[np.diag_indices(len(A))] += ridge
    candidates = candidates.astype(bool)
    if not candidates.all():
        A[~candidates, :] = A[:, ~candidates] = 0.0
        A[~candidates, ~candidates] = 1.0
    diagonal = A.diagonal()
    scale = np.sqrt(np.where(diagonal > 0.0, diagonal, 1.0))
    with np.errstate(over="ignore", invalid="ignore"):
        A *= 1.0 / scale
        A *= (1.0 / scale)[:, None]
        if not np.isfinite(np.add.reduce(A, axis=None)):
            return None
    scaled, jitter = A, 0.0
    while True:
        with one_blas_thread:
            lower, info = lapack.dpotrf(scaled + jitter * np.eye(len(A)) if jitter else scaled, lower=1)
        if info == 0 and lower.diagonal().min() > 1e-8:
            break
        jitter = max(1e-15, 10.0 * jitter)

    def solve(b: Floats) -> Floats:
        b = np.where(candidates, b, 0.0) / scale
        with one_blas_thread:
            x = lapack.dpotrs(lower, b, lower=1)[0]
            x = x + lapack.dpotrs(lower, blas.dgemv(-1.0, scaled, x, beta=1.0, y=b), lower=1)[0]
        return np.asarray(x / scale)

    return solve
