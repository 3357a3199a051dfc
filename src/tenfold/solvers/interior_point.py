"""A primal-dual interior point method for piecewise linear losses with an elastic net penalty (Mehrotra 1992; for
quantiles Portnoy and Koenker 1997).

    min over w, b of  sum_i sum_k up_ik (at_ik - z_i)_+ + down_ik (z_i - at_ik)_+  +  l1 ||w||_1 + l2 / 2 ||w||^2
    + tie / 2 b^2,  z_i = x_i.w + b;  the weights of rows are in `up` and `down`.

Each r = at - z is v - t with v, t >= 0, and has a multiplier -down <= u <= up; the absolute value of a weight is a row
more, e_j with at = 0 and up = down = l1. On the path v (up - u) = t (u + down) = mu and sum u x = l2 w. A step of
Newton's method solves  X'DX dw = X'(u + D e),  D = 1 / (v / (up - u) + t / (u + down)): a weighted Gram matrix of the
rows, one pass; its predictor and its corrector take two products with the rows each. Memory: p x p, and a few numbers
for each row.
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

SURE = 1.0 + 1e-9
"""Against rounding where a column is left out."""

CLOSE = 0.9995
"""The share of the way to the boundary that a step takes."""


class State(NamedTuple):
    """Distances v, t (n, k) and multipliers u (n, k) of the pieces."""

    u: Floats
    v: Floats
    t: Floats


class Lines(NamedTuple):
    """The pieces, with their weights; `alive` where there is one."""

    at: Floats
    up: Floats
    down: Floats
    alive: Floats

    @classmethod
    def of(cls, at: Floats, up: Floats, down: Floats) -> "Lines":
        return cls(at, up, down, (up + down > 0.0).astype(np.float64))

    def start(self, z: Floats, size: Floats | float) -> State:
        r = self.at - z
        room = 0.5 * (self.up - self.down)
        return State(room, np.maximum(r, 0.0) + size, np.maximum(-r, 0.0) + size)

    def rooms(self, s: State) -> tuple[Floats, Floats]:
        """How far the multipliers are from their ends, which rounding must not make nothing; one where there are
        none.
        """
        dead = 1.0 - self.alive
        least = dead + 1e-3 * EPS * (self.up + self.down)
        return np.maximum(self.up - s.u, least), np.maximum(s.u + self.down, least)

    def products(self, s: State) -> float:
        """The sum of v (up - u) + t (u + down): the duality gap."""
        above, below = self.rooms(s)
        return float(np.sum(self.alive * (s.v * above + s.t * below)))

    def weights(self, s: State) -> Floats:
        above, below = self.rooms(s)
        return self.alive / (s.v / above + s.t / below)

    def targets(self, s: State, z: Floats, first: Floats | float, second: Floats | float) -> Floats:
        """e = at - z - first / (up - u) + second / (u + down)."""
        above, below = self.rooms(s)
        return np.asarray(self.at - z - first / above + second / below)

    def moves(self, s: State, du: Floats, first: Floats | float, second: Floats | float) -> State:
        """The moves of v and t that go with du."""
        above, below = self.rooms(s)
        du = self.alive * du
        dv = self.alive * ((first + s.v * du) / above - s.v)
        dt = self.alive * ((second - s.t * du) / below - s.t)
        return State(du, dv, dt)

    def lengths(self, s: State, d: State) -> tuple[float, float]:
        """The longest steps that keep v and t, and the multipliers' rooms, positive."""
        above, below = self.rooms(s)
        return min(_longest(s.v, d.v), _longest(s.t, d.t)), min(_longest(above, -d.u), _longest(below, d.u))


def _longest(x: Floats, d: Floats) -> float:
    falling = d < 0.0
    return float(np.min(x[falling] / -d[falling], initial=np.inf)) if falling.any() else np.inf


Aims = tuple[Floats | float, Floats | float, Floats | float, Floats | float]
"""What the products v (up - u) and t (u + down) should become, of the losses and of the penalty."""


class Place(NamedTuple):
    """Weights and intercept, and the states of losses and penalty."""

    theta: Floats
    lines: State
    bars: State


class Turn(NamedTuple):
    """A step of all of these, and of z; and how much of it is taken, of distances and of multipliers."""

    theta: Floats
    z: Floats
    lines: State
    bars: State
    primal: float
    dual: float

    def of(self, s: State, d: State) -> State:
        return State(s.u + self.dual * d.u, s.v + self.primal * d.v, s.t + self.primal * d.t)


class Problem(NamedTuple):
    """The rows, the pieces (n, k) of their losses, and the penalty."""

    rows: Rows
    pieces: Pieces
    l1: float
    l2: float
    intercept: bool
    shift: Floats
    spread: Floats
    """Root mean squares (p,) of the columns about the shift."""
    intercept_penalty: float = 0.0

    @property
    def ends(self) -> Floats:
        """The intercept of the rows as they are, by weights and intercept of rows from the shift."""
        return np.append(-self.shift, 1.0)

    def ridge(self, theta: Floats) -> Floats:
        """The slope of the squares."""
        tied = self.intercept_penalty * float(np.sum(self.ends * theta)) if self.intercept_penalty > 0.0 else 0.0
        return np.append(self.l2 * theta[:-1], 0.0) + tied * self.ends

    def products(self, theta: Floats, pull: Floats) -> Floats:
        """Weights and intercept times what pulls at them: where the intercept is tied, for the rows as they are."""
        if self.intercept_penalty == 0.0:
            return theta * pull
        b = float(np.sum(self.ends * theta))
        return np.append(theta[:-1] * (pull[:-1] + self.shift * pull[-1]), b * pull[-1])


def steps(problem: Problem, start: Params, allowed: float) -> Iterator[tuple[Step, Floats]]:
    """Steps in the coordinates z = (x - shift).w + b, each with the slopes (n,) of the losses that belong to it. The
    measure is the duality gap over `allowed`.
    """
    rows, (at, up, down), l1, _, intercept, shift, spread, intercept_penalty = problem
    lines = Lines.of(at, up, down)
    p = rows.shape[1]
    # a column that no slopes can pull as strongly as the penalty does has no weight
    pulls = np.max(np.maximum(up, down).sum(axis=1) / np.maximum((up + down).sum(axis=1), 1e-300), initial=0.0)
    free = (spread > 0.0) & (l1 < pulls * (up + down).sum() * spread * SURE)
    if intercept_penalty > 0.0:
        free |= shift != 0.0  # a constant column takes part of the intercept, for less
    limit = np.where(free, l1, 0.0)[:, None]
    bars = Lines.of(np.zeros((p, 1)), limit, limit)
    theta = np.append(start.coef[0], start.intercept)
    z = _forth(rows, theta, shift)
    size = float(np.sum(lines.alive * (up + down) * np.abs(at - z)) / max(np.sum(up + down), 1e-300)) or 1.0
    here = lines.start(z, size)
    bar = bars.start(theta[:p, None], (size / np.where(spread > 0.0, spread, 1.0))[:, None])
    count = 2.0 * (lines.alive.sum() + bars.alive.sum())
    while True:
        gap = lines.products(here) + bars.products(bar)
        objective = _objective(problem, z, theta)
        if not np.isfinite(objective):
            raise NotFinite
        pull = _back(rows, here.u.sum(axis=1), shift, intercept) + np.append(bar.u[:, 0], 0.0) - problem.ridge(theta)
        # pulls do not fall further than rounding
        slack = float(np.sum(np.abs(problem.products(theta, pull)))) if gap > EPS * objective else 0.0
        yield Step(Params(theta[None, :p].copy(), theta[p:].copy()), objective, (gap + slack) / allowed), -here.u.sum(1)
        system = _System.at(problem, lines, bars, Place(theta, here, bar), z, pull, free)
        if system is None:
            return
        ahead = system.turn((0.0, 0.0, 0.0, 0.0))
        left = lines.products(ahead.of(here, ahead.lines)) + bars.products(ahead.of(bar, ahead.bars))
        aim, (step, lean) = gap / count * (left / gap) ** 3, (ahead.lines, ahead.bars)
        found = system.turn(
            (aim + step.v * step.u, aim - step.t * step.u, aim + lean.v * lean.u, aim - lean.t * lean.u)
        )
        if not np.isfinite(found.theta).all() or max(found.primal, found.dual) < 1e-10:
            return
        here, bar = found.of(here, found.lines), found.of(bar, found.bars)
        theta, z = theta + found.primal * found.theta, z + found.primal * found.z


class _System(NamedTuple):
    """The equations of Newton's method at a place, with the weighted Gram matrix factored."""

    problem: Problem
    lines: Lines
    bars: Lines
    place: Place
    z: Floats
    pull: Floats
    D: Floats
    D0: Floats
    solve: Callable[[Floats], Floats]

    @classmethod
    def at(
        cls, problem: Problem, lines: Lines, bars: Lines, place: Place, z: Floats, pull: Floats, free: Any
    ) -> "_System | None":
        D, D0 = lines.weights(place.lines), bars.weights(place.bars)
        gram = _gram(problem.rows, D.sum(axis=1), problem.shift)
        if problem.intercept_penalty > 0.0:
            gram = gram + problem.intercept_penalty * np.outer(problem.ends, problem.ends)
        solve = _factor(gram, np.append(D0[:, 0] + problem.l2, 0.0), np.append(free, problem.intercept))
        return None if solve is None else cls(problem, lines, bars, place, z, pull, D, D0, solve)

    def turn(self, m: Aims) -> Turn:
        """The step towards products `m`."""
        rows, shift = self.problem.rows, self.problem.shift
        (theta, here, bar), D, D0 = self.place, self.D, self.D0
        w = theta[:-1, None]
        e, e0 = self.lines.targets(here, self.z, m[0], m[1]), self.bars.targets(bar, w, m[2], m[3])
        right = _back(rows, (D * e).sum(axis=1), shift, self.problem.intercept) + np.append((D0 * e0)[:, 0], 0.0)
        d = self.solve(right + self.pull)
        dz = _forth(rows, d, shift)
        step = self.lines.moves(here, D * (e - dz), m[0], m[1])
        lean = self.bars.moves(bar, D0 * (e0 - d[:-1, None]), m[2], m[3])
        lengths = zip(self.lines.lengths(here, step), self.bars.lengths(bar, lean), strict=True)
        primal, dual = (min(1.0, CLOSE * min(pair)) for pair in lengths)
        if self.problem.l2 > 0.0:
            primal = dual = min(primal, dual)  # the weights are in both
        return Turn(d, dz, step, lean, primal, dual)


def _objective(problem: Problem, z: Floats, theta: Floats) -> float:
    at, up, down = problem.pieces
    r, w = at - z, theta[:-1]
    loss = float(np.sum(np.where(r > 0.0, up * r, -down * r)))
    return loss + problem.l1 * float(np.sum(np.abs(w))) + 0.5 * float(np.sum(theta * problem.ridge(theta)))


def _forth(rows: Rows, theta: Floats, shift: Floats) -> Floats:
    """(x - shift).w + b for every row, as (n, 1)."""
    return np.asarray(on_host(rows.map(predictions(Params(theta[None, :-1].copy(), theta[-1:].copy()), shift))))


def _back(rows: Rows, u: Floats, shift: Floats, intercept: bool) -> Floats:
    """sum u [x - shift, 1]; nothing for the constant without an intercept."""
    found = rows.retarget(u[:, None]).fold(lambda block: Total(adjoint(block.X, block.y, shift)))
    return np.append(found.sum[0], float(u.sum()) if intercept else 0.0)


def _gram(rows: Rows, weight: Floats, shift: Floats) -> Floats:
    """sum weight [x - shift, 1] [x - shift, 1]'."""
    zero = Params(np.zeros((1, rows.shape[1])), np.zeros(1))

    def lift(block: Block) -> MaybeDeferred[Derivatives]:
        return derivatives(Square(), zero, 2, shift)(Block(block.X, block.y, block.y[:, 0]))

    hessian = rows.retarget(np.ascontiguousarray(weight[:, None])).fold(lift).hessian
    assert hessian is not None
    return hessian


def _factor(A: Floats, ridge: Floats, free: Any) -> Callable[[Floats], Floats] | None:
    """A solver for A + diag(ridge) in the unknowns that are `free`, scaled to unit diagonal and lifted where it is
    singular; None where it holds no numbers.
    """
    A = A + np.diag(ridge)
    free = free.astype(bool)
    A[~free, :] = A[:, ~free] = 0.0
    A[~free, ~free] = 1.0
    scale = np.sqrt(np.where(np.diag(A) > 0.0, np.diag(A), 1.0))
    with np.errstate(over="ignore", invalid="ignore"):
        scaled = A / scale / scale[:, None]
    if not np.isfinite(scaled).all():
        return None
    lift = 0.0
    while True:
        with one_blas_thread:
            lower, info = lapack.dpotrf(np.asfortranarray(scaled + lift * np.eye(len(A))), lower=1)
        if info == 0 and np.diag(lower).min() > 1e-8:
            break
        lift = max(1e-15, 10.0 * lift)

    def solve(b: Floats) -> Floats:
        b = np.where(free, b, 0.0)
        with one_blas_thread:
            x = lapack.dpotrs(lower, b / scale, lower=1)[0]
            x = x + lapack.dpotrs(lower, b / scale - scaled @ x, lower=1)[0]
        return np.asarray(x / scale)

    return solve
