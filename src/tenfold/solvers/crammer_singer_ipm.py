"""A primal-dual interior point method for the multiclass hinge loss of Crammer and Singer (Mehrotra 1992), for few
features.

    min over w, b, xi of  strength / 2 sum_k |w_k|^2 + intercept_penalty / 2 |b|^2 + sum_i share_i xi_i
    with  s_ik = xi_i - (z_ik + [k != y_i] - z_iy) >= 0,  z_ik = x_i.w_k + b_k,  share the normalised sample weights.

The multipliers a_ik >= 0 of a sample sum to its share; a / share is the dual point. On the central path s a = mu. A
Newton step changes them by r + M dz, with D = a / s of a sample and M = diag(D) - D D' / sum(D): the Hessian of a
softmax with probabilities D / sum(D) and weight sum(D). One such Hessian a step, (K (p + 1))^2; its predictor and its
corrector take two products with X each. Memory: that, and a few numbers for each sample and class.
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

STEP_FRACTION = 0.9995  # of the longest step that keeps slacks and multipliers positive

EPS = float(np.finfo(np.float64).eps)


class _Step(NamedTuple):
    """Changes of the parameters (K, p + 1), the slacks and the multipliers (n, K)."""

    params: Floats
    s: Floats
    a: Floats

    def longest(self, s: Floats, a: Floats) -> float:
        """The longest step that keeps both positive, at most one."""
        shrinks = [np.max(-change / value, initial=0.0) for change, value in ((self.s, s), (self.a, a))]
        return min(1.0, 1.0 / max(*shrinks, 1e-300))


class CrammerSingerIpm:
    """The method on samples in memory, with class indices as targets, measured from `shift` where intercepts are
    unpenalised; the measure is the gap over `allowed`.
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
        self.strengths = np.append(np.full(p, float(np.max(problem.penalty.strength))), problem.intercept_penalty)
        self.a = np.repeat(self.share / classes, classes, axis=1)
        self.z = np.zeros_like(self.own)
        raised = 1.0 - self.own
        self.s = 1.5 + np.zeros_like(raised) - raised

    def tighten(self) -> None:
        """Ask for a smaller gap."""
        self.allowed *= 0.03

    @property
    def params(self) -> Params:
        return Params(self.x[:, :-1].copy(), self.x[:, -1].copy())

    @property
    def shares(self) -> Floats:
        """The dual point (n, K): each row in the simplex of the classes."""
        p = np.maximum(self.a, 0.0)
        return p / p.sum(axis=1, keepdims=True)

    def _adjoint(self, u: Floats) -> Floats:
        """sum_i u_ik [x_i, 1], as (K, p + 1)."""
        sums = self.rows.retarget(u).fold(lambda block: Total(adjoint(block.X, block.y, self.shift))).sum
        return np.column_stack([sums, u.sum(axis=0)]) * self._unknowns

    @property
    def _unknowns(self) -> Floats:
        return np.append(np.ones(self.x.shape[1] - 1), float(self.problem.intercept))

    def _gradient(self) -> Floats:
        """The gradient (K, p + 1) of the Lagrangian in weights and intercepts."""
        return self.strengths * self.x + self._adjoint(self.a - self.share * self.own)

    def _gap(self, gradient: Floats) -> tuple[float, float]:
        """The objective, and the duality gap; slopes that do not sum to zero count where intercepts are unpenalised."""
        loss = LOSS.value(self.y, self.z)
        objective = float(np.sum(self.share * loss)) + 0.5 * float(np.sum(self.strengths * self.x**2))
        slopes = self.a - self.share * self.own
        gap = float(np.sum(self.share * loss) - np.sum(self.a * (1.0 - self.own)) - np.sum(slopes * self.z))
        held = self.strengths > 0.0
        gap += 0.5 * float(np.sum(gradient[:, held] ** 2 / self.strengths[held]))
        if not held[-1] and self.problem.intercept:
            gap += float(np.sum(np.abs(gradient[:, -1]))) * (1.0 + float(np.mean(np.abs(self.z))))
        return objective, max(gap, float(np.finfo(np.float64).tiny))

    def steps(self) -> Iterator[Step]:
        gradient = self._gradient()
        objective, gap = self._gap(gradient)
        yield Step(self.params, objective, gap / self.allowed)
        while True:
            before = gap
            D = self.a / self.s
            total = D.sum(axis=1, keepdims=True)
            solve = self._factor(D / total, total)
            mu = float(np.mean(self.a * self.s))
            predictor = self._move(solve, gradient, D, total, -self.a)
            length = predictor.longest(self.s, self.a)
            predicted = float(np.mean((self.a + length * predictor.a) * (self.s + length * predictor.s)))
            target = mu * min(1.0, max(predicted / mu, 0.0)) ** 3
            move = self._move(solve, gradient, D, total, (target - predictor.s * predictor.a) / self.s - self.a)
            length = STEP_FRACTION * move.longest(self.s, self.a) if move.longest(self.s, self.a) < 1.0 else 1.0
            self.x, self.s, self.a = (
                here + length * change for here, change in zip((self.x, self.s, self.a), move, strict=True)
            )
            self.z = self.rows.map(predictions(self.params, self.shift))
            gradient = self._gradient()
            objective, gap = self._gap(gradient)
            if not np.isfinite(gap):
                raise NotFinite
            yield Step(self.params, objective, gap / self.allowed)
            if length < 1e-6 or (gap > 0.9 * before and mu < EPS):
                return  # rounding

    def _factor(self, q: Floats, weight: Floats) -> "_Factor":
        """The Newton matrix, factored."""
        K, k = self.x.shape
        H = self.rows.retarget(np.column_stack([weight, q])).fold(class_hessian(self.shift)).sum.reshape(K, k, K, k)
        columns = self._unknowns
        H = H * columns[:, None, None] * columns
        own, common = np.einsum("cjcj->j", H), self.strengths
        # a change of all classes alike changes no loss: without a penalty it gets one
        ridge = np.where(common > 0.0, common, np.where(columns > 0.0, own / K**2, 1.0))
        for j in range(k):
            H[:, j, :, j] += np.diag(np.full(K, ridge[j])) if common[j] > 0.0 or columns[j] == 0.0 else ridge[j]
        return _Factor.of(H.reshape(K * k, K * k))

    def _move(self, solve: "_Factor", gradient: Floats, D: Floats, total: Floats, r: Floats) -> _Step:
        """The step for the complementarity residual `r`: the multipliers change by r + D (dz - dxi)."""
        mean = r.sum(axis=1, keepdims=True) / total
        d = -solve(gradient + self._adjoint(r - D * mean)).reshape(self.x.shape)
        dz = self.rows.map(predictions(Params(d[:, :-1].copy(), d[:, -1].copy()), self.shift))
        g = dz - np.sum(self.own * dz, axis=1, keepdims=True)
        xi = mean + np.sum(D * g, axis=1, keepdims=True) / total
        return _Step(d, xi - g, r - D * (xi - g))


class _Factor(NamedTuple):
    """Cholesky factor of a matrix scaled to unit diagonal, with jitter where it is singular."""

    lower: Floats
    scale: Floats

    @classmethod
    def of(cls, H: Floats) -> "_Factor":
        if not np.isfinite(H).all():
            raise NotFinite
        scale = np.sqrt(np.where(H.diagonal() > 0.0, H.diagonal(), 1.0))
        scaled, ridge = np.asfortranarray(H / scale / scale[:, None]), 0.0
        while True:
            with one_blas_thread:
                lower, info = lapack.dpotrf(scaled, lower=1)
            if info == 0:
                return cls(lower, scale)
            more = max(1e-15, 10.0 * ridge)
            scaled[np.diag_indices_from(scaled)] += more - ridge
            ridge = more

    def __call__(self, g: Floats) -> Floats:
        with one_blas_thread:
            return np.asarray(lapack.dpotrs(self.lower, g.ravel() / self.scale, lower=1)[0] / self.scale)
