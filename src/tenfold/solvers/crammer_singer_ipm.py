"""A primal-dual interior point method for the joint hinge loss of several classes (Mehrotra 1992), few columns.

    min over w, b, xi of  strength / 2 sum_k |w_k|^2 + tie / 2 |b|^2 + sum_i share_i xi_i
    with  s_ik = xi_i - (z_ik + [k != y_i] - z_iy) >= 0,  z_ik = x_i.w_k + b_k.

The multipliers a_ik >= 0 of a row sum to its share, and a / share are those of the dual point. On the path s a = mu. A
step of Newton's method moves them by r + M dz, with D = a / s of a row and M = diag(D) - D D' / sum(D): the Hessian of
a softmax whose probabilities are D / sum(D), with the weight sum(D). One such Hessian a step, K (p + 1) squared, and
its predictor and its corrector take two products with the rows each. Memory: that, and a few numbers for each row and
class.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy.linalg import lapack

from tenfold.arrays import Floats
from tenfold.data import NotFinite, Rows, targets_of, weights_of
from tenfold.losses.classification import JointHinge
from tenfold.machine import one_blas_thread
from tenfold.problems import Glm
from tenfold.solvers.loop import Step
from tenfold.stats.derivatives import Params, Total, adjoint, predictions
from tenfold.stats.softmax import class_hessian

LOSS = JointHinge()

CLOSE = 0.9995
"""The share of the way to the boundary that a step takes."""

EPS = float(np.finfo(np.float64).eps)


class _Move(NamedTuple):
    """Changes of the parameters (K, p + 1), the slacks and the multipliers (n, K)."""

    params: Floats
    s: Floats
    a: Floats

    def longest(self, s: Floats, a: Floats) -> float:
        """How far both stay positive, at most one."""
        shrinks = [np.max(-change / value, initial=0.0) for change, value in ((self.s, s), (self.a, a))]
        return min(1.0, 1.0 / max(*shrinks, 1e-300))


class CrammerSingerIpm:
    """For rows at hand, whose targets are the numbers of the classes, measured from `shift`, where intercepts are free;
    the measure is the gap over `allowed`.
    """

    def __init__(self, problem: Glm, rows: Rows, classes: int, shift: Floats, allowed: float) -> None:
        self.problem, self.rows, self.allowed = problem, rows, allowed
        self.shift = shift if shift.any() else None
        self.y = rows.map(targets_of)[:, :1]
        weight = rows.map(weights_of)
        self.share = (weight / weight.sum())[:, None]
        self.own = (self.y == np.arange(classes)).astype(np.float64)
        p = rows.shape[1]
        self.x = np.zeros((classes, p + 1))
        self.pull = np.append(np.full(p, float(np.max(problem.penalty.strength))), problem.intercept_penalty)
        self.a = np.repeat(self.share / classes, classes, axis=1)
        self.z = np.zeros_like(self.own)
        raised = 1.0 - self.own
        self.s = 1.5 + np.zeros_like(raised) - raised

    def tighten(self) -> None:
        """Ask for more."""
        self.allowed *= 0.03

    @property
    def params(self) -> Params:
        return Params(self.x[:, :-1].copy(), self.x[:, -1].copy())

    @property
    def shares(self) -> Floats:
        """Those of the classes in every row (n, K)."""
        p = np.maximum(self.a, 0.0)
        return p / p.sum(axis=1, keepdims=True)

    def _pulls(self, u: Floats) -> Floats:
        """sum_i u_ik [x_i, 1], as (K, p + 1)."""
        found = self.rows.retarget(u).fold(lambda block: Total(adjoint(block.X, block.y, self.shift))).sum
        return np.column_stack([found, u.sum(axis=0)]) * self._columns

    @property
    def _columns(self) -> Floats:
        return np.append(np.ones(self.x.shape[1] - 1), float(self.problem.intercept))

    def _left(self) -> Floats:
        """What the multipliers lack to balance the penalty."""
        return self.pull * self.x + self._pulls(self.a - self.share * self.own)

    def _gap(self, left: Floats) -> tuple[float, float]:
        """The objective, and the duality gap at the shares, which must balance where intercepts are free."""
        loss = LOSS.value(self.y, self.z)
        objective = float(np.sum(self.share * loss)) + 0.5 * float(np.sum(self.pull * self.x**2))
        slopes = self.a - self.share * self.own
        gap = float(np.sum(self.share * loss) - np.sum(self.a * (1.0 - self.own)) - np.sum(slopes * self.z))
        held = self.pull > 0.0
        gap += 0.5 * float(np.sum(left[:, held] ** 2 / self.pull[held]))
        if not held[-1] and self.problem.intercept:
            gap += float(np.sum(np.abs(left[:, -1]))) * (1.0 + float(np.mean(np.abs(self.z))))
        return objective, max(gap, float(np.finfo(np.float64).tiny))

    def steps(self) -> Iterator[Step]:
        left = self._left()
        objective, gap = self._gap(left)
        yield Step(self.params, objective, gap / self.allowed)
        while True:
            before = gap
            D = self.a / self.s
            total = D.sum(axis=1, keepdims=True)
            solve = self._factor(D / total, total)
            mu = float(np.mean(self.a * self.s))
            ahead = self._move(solve, left, D, total, -self.a)
            length = ahead.longest(self.s, self.a)
            after = float(np.mean((self.a + length * ahead.a) * (self.s + length * ahead.s)))
            wanted = mu * min(1.0, max(after / mu, 0.0)) ** 3
            move = self._move(solve, left, D, total, (wanted - ahead.s * ahead.a) / self.s - self.a)
            length = CLOSE * move.longest(self.s, self.a) if move.longest(self.s, self.a) < 1.0 else 1.0
            self.x, self.s, self.a = (
                here + length * change for here, change in zip((self.x, self.s, self.a), move, strict=True)
            )
            self.z = self.rows.map(predictions(self.params, self.shift))
            left = self._left()
            objective, gap = self._gap(left)
            if not np.isfinite(gap):
                raise NotFinite
            yield Step(self.params, objective, gap / self.allowed)
            if length < 1e-6 or (gap > 0.9 * before and mu < EPS):
                return  # rounding

    def _factor(self, q: Floats, weight: Floats) -> "_Factor":
        """The Hessian of the problem on the path, factored."""
        K, k = self.x.shape
        H = self.rows.retarget(np.column_stack([weight, q])).fold(class_hessian(self.shift)).sum.reshape(K, k, K, k)
        columns = self._columns
        H = H * columns[:, None, None] * columns
        own, common = np.einsum("cjcj->j", H), self.pull
        # what all classes have in common changes no loss: without a penalty it is held
        lift = np.where(common > 0.0, common, np.where(columns > 0.0, own / K**2, 1.0))
        for j in range(k):
            H[:, j, :, j] += np.diag(np.full(K, lift[j])) if common[j] > 0.0 or columns[j] == 0.0 else lift[j]
        return _Factor.of(H.reshape(K * k, K * k))

    def _move(self, solve: "_Factor", left: Floats, D: Floats, total: Floats, r: Floats) -> _Move:
        """The step at which slacks times multipliers are as `r` has them: r + D (dz - dxi) moves the multipliers."""
        mean = r.sum(axis=1, keepdims=True) / total
        d = -solve(left + self._pulls(r - D * mean)).reshape(self.x.shape)
        dz = self.rows.map(predictions(Params(d[:, :-1].copy(), d[:, -1].copy()), self.shift))
        g = dz - np.sum(self.own * dz, axis=1, keepdims=True)
        xi = mean + np.sum(D * g, axis=1, keepdims=True) / total
        return _Move(d, xi - g, r - D * (xi - g))


class _Factor(NamedTuple):
    """Cholesky factor of a matrix with its diagonal scaled to one."""

    lower: Floats
    scale: Floats

    @classmethod
    def of(cls, H: Floats) -> "_Factor":
        if not np.isfinite(H).all():
            raise NotFinite
        scale = np.sqrt(np.where(H.diagonal() > 0.0, H.diagonal(), 1.0))
        scaled, lift = np.asfortranarray(H / scale / scale[:, None]), 0.0
        while True:
            with one_blas_thread:
                lower, info = lapack.dpotrf(scaled, lower=1)
            if info == 0:
                return cls(lower, scale)
            more = max(1e-15, 10.0 * lift)
            scaled[np.diag_indices_from(scaled)] += more - lift
            lift = more

    def __call__(self, g: Floats) -> Floats:
        with one_blas_thread:
            return np.asarray(lapack.dpotrs(self.lower, g.ravel() / self.scale, lower=1)[0] / self.scale)
