"""The models of all folds and penalties of a cross-validation at once.

First the path of all rows is followed along the penalties, on few Hessians: the quadratic model of the loss at one
point serves the next penalties, too, until its minimum moves the predictions too far. Minimum and Hessian of each
penalty are then the start and the map of the models of its folds, which differ little from it, and all of them go on in
lockstep, a few passes over the rows with gradients for all together. A model that differs more gets a Hessian of its
own. In a dense grid of penalties few come first: the others lie on the smooth curves through them, one a fold. Folds
are weights: no row is copied.
"""

from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from tenfold.arrays import Floats, Integers
from tenfold.data import MemoryRows
from tenfold.judge import RULES
from tenfold.losses import Logistic, Softmax
from tenfold.penalties import L2
from tenfold.problems import Evaluation, Glm, evaluate
from tenfold.solvers import lockstep, newton
from tenfold.stats import Params, of_models

DRIFT = 0.3
"""The quadratic model of a loss is good while predictions move by less, in the mean."""

NODES, CUTS = 8, 12
"""At most so many Hessians a penalty, and so many halvings of a step: lockstep does the rest."""

COARSE, NEAR = 4.0, 6
"""Models of penalties whose logarithms are up to so far apart are neighbours on a curve; so many of them show where it
goes.
"""

TINY, ROUNDING = float(np.finfo(np.float64).tiny), 1e-26
"""Whatever the units of the columns, there is no fall below rounding."""

MOST_FOLDS, MOST_NUMBERS = 32, 1 << 20
"""So many folds, and so many coefficients, are worked on at once."""


class Paths(NamedTuple):
    """Coefficients (F, A, K, p + 1) of all folds and penalties, the steps of each model, and how often rows were
    read.
    """

    params: Floats
    iterations: Integers
    passes: int


def together(
    rows: MemoryRows,
    folds: Sequence[Integers],
    strengths: Floats,
    intercept: bool,
    *,
    outputs: int,
    shift: Floats,
    tol: float,
    max_iter: int,
) -> Paths:
    """The models of the rows of each fold, no row twice, under L2 penalties of `strengths` (F, A), which fall along A;
    measured from `shift`, as the coefficients are.
    """
    size = outputs * (rows.shape[1] + 1)
    problem = Glm(Softmax() if outputs > 1 else Logistic(), L2(0.0), intercept)
    path = _path(problem, rows, strengths.mean(axis=0), shift, outputs)
    few = min(MOST_FOLDS, max(1, MOST_NUMBERS // (size * strengths.shape[1])))
    found = []
    for first in range(0, len(folds), few):
        some = slice(first, first + few)
        models = _Models(problem, rows, folds[some], strengths[some], shift, outputs, tol)
        found.append(_of_folds(models, path, max_iter))
    params, counts, passes = zip(*found, strict=True)
    return Paths(np.concatenate(params), np.concatenate(counts), path.passes + sum(passes))


def _of_folds(models: "_Models", path: "_Path", max_iter: int) -> tuple[Floats, Integers, int]:
    """The models of some folds: those of a coarse grid of penalties first, then those between, from where the curve
    through their neighbours leads. Where a curve through places twice as far apart met the rule, no pass is spent.
    """
    F, A = models.strengths.shape
    at = np.log(models.strengths.mean(axis=0))
    points = np.repeat(path.points[:, None], F, axis=1)
    missed = np.full((A, F), np.inf)  # what the rule said where the curve led
    counts, passes = np.zeros((A, F), dtype=np.int32), 0
    known = np.zeros(0, dtype=np.intp)
    for stage in _stages(at):
        if len(known):
            points[stage] = np.einsum("ik,kfq->ifq", _curve(at[known], at[stage]), points[known])
            after = np.searchsorted(known, stage)
            missed[stage] = np.minimum(missed[known[after - 1]], missed[known[after]])
        place, fold = (missed[stage] > 1.0).nonzero()
        if len(place):
            which = (stage[place], fold)
            some = models.some(*which)
            maps = _Maps(some, [path.factors[a] for a in stage[place]])
            solution = lockstep.minimise(some.objective, points[which], maps, some.measure, max_iter)
            points[which], counts[which] = solution.x, solution.iterations
            passes += solution.passes + maps.passes
            if len(known):
                missed[which] = solution.measure
        known = np.sort(np.append(known, stage))
    params = np.swapaxes(points, 0, 1).reshape(F, A, models.outputs, -1)
    return params, counts.T, passes


def _stages(at: Floats) -> list[Integers]:
    """Places on a path at the logarithms `at`: some that are `COARSE` apart, then those halfway, and so on."""
    A = len(at)
    steps, stride = np.abs(np.diff(at)), 1
    while A > NEAR and steps.min() > 0.0 and 2 * stride * steps.max() <= COARSE and 2 * stride < A:
        stride *= 2
    stages = [np.unique(np.append(np.arange(0, A, stride), A - 1))]
    while stride > 1:
        stride //= 2
        stages.append(np.setdiff1d(np.arange(0, A, stride), np.concatenate(stages)))
    return [stage for stage in stages if len(stage)]


def _curve(known: Floats, new: Floats) -> Floats:
    """The weights (new, known) of the polynomials through the `NEAR` known places about each new one."""
    weights = np.zeros((len(new), len(known)))
    for i, t in enumerate(new):
        near = np.sort(np.argsort(np.abs(known - t), kind="stable")[:NEAR])
        for k in near:
            others = known[near[near != k]]
            weights[i, k] = np.prod((t - others) / (known[k] - others))
    return weights


class _Path(NamedTuple):
    """Points (A, q) and factors of Hessians of all rows, one a penalty, and the passes that they took."""

    points: Floats
    factors: list[newton.Factor]
    passes: int


def _path(problem: Glm, rows: MemoryRows, strengths: Floats, shift: Floats, outputs: int) -> _Path:
    penalised = _penalised(rows.shape[1], outputs)
    node = _Node(problem, rows, np.zeros(len(penalised)), shift, outputs)
    # the mean square of the predictions' moves, from the Hessian where all probabilities are equal
    spread = node.hessian * (4.0 if outputs == 1 else outputs**2 / (outputs - 1))
    points, factors, passes = [], [], 1
    for strength in strengths:
        penalty = strength * penalised
        factor, d = node.minimum(penalty)
        for _ in range(NODES):
            if float(np.einsum("i,ij,j->", d, spread, d)) <= DRIFT**2:
                break
            node, count = node.towards(d, penalty)
            factor, d = node.minimum(penalty)
            passes += count
        points.append(node.x + d)
        factors.append(factor)
    return _Path(np.array(points), factors, passes)


class _Node:
    """The quadratic model of the mean loss of all rows at a point."""

    def __init__(self, problem: Glm, rows: MemoryRows, x: Floats, shift: Floats, outputs: int) -> None:
        self.parts = (shift, outputs)
        self.problem, self.rows, self.x = problem, rows, x
        here = _at(problem, rows, x, shift, outputs)
        self.value, self.gradient, self.hessian = float(here.value[0]), here.gradient[0], _formed(here)
        self.factor: newton.Factor | None = None
        self.small = 0.0

    def minimum(self, penalty: Floats) -> tuple[newton.Factor, Floats]:
        """The factor of the Hessian under the penalty, and the step to the minimum of the model."""
        strength = float(penalty.max())
        if self.factor is None or strength > self.small:
            self.factor = newton.factor(self.hessian + np.diag(penalty), self.parts[0])
            # below a hundredth of what each column adds to the others it makes no difference how weak a penalty is
            self.small = 0.01 * self.factor.least - strength
        return self.factor, -self.factor.solve(self.gradient + penalty * self.x)

    def towards(self, d: Floats, penalty: Floats) -> tuple["_Node", int]:
        """The node at the first of the steps d, d/2, ... that does not raise the objective, and the passes it took."""
        before = self.value + 0.5 * float(np.sum(penalty * self.x**2))
        for count in range(CUTS):
            there = _Node(self.problem, self.rows, self.x + 0.5**count * d, *self.parts)
            if there.value + 0.5 * float(np.sum(penalty * there.x**2)) <= before:
                return there, count + 1
        return self, CUTS


def _formed(found: Evaluation) -> Floats:
    assert found.hessian is not None
    return found.hessian


def _penalised(p: int, outputs: int) -> Floats:
    """One for each weight, zero for each intercept."""
    return np.tile(np.append(np.ones(p), 0.0), outputs)


def _at(problem: Glm, rows: MemoryRows, x: Floats, shift: Floats, outputs: int) -> Evaluation:
    by_class = x.reshape(outputs, -1)
    params = Params(np.ascontiguousarray(by_class[:, :-1]), np.ascontiguousarray(by_class[:, -1]))
    return evaluate(problem, rows, params, 2, shift)


class _Models:
    """Objectives of models of some folds and penalties."""

    def __init__(
        self,
        problem: Glm,
        rows: MemoryRows,
        folds: Sequence[Integers],
        strengths: Floats,
        shift: Floats,
        outputs: int,
        tol: float,
    ) -> None:
        member = np.zeros(rows.shape[0], dtype=np.int64)
        for number, fold in enumerate(folds):
            member[fold] |= 1 << number
        kinds, group = np.unique(member, return_inverse=True)
        self.rows = replace(rows, group=group.astype(np.int32))
        self.share = ((kinds[:, None] >> np.arange(len(folds))) & 1).astype(np.float64)
        self.weight = np.bincount(group, weights=rows.weight, minlength=len(kinds)) @ self.share
        self.strengths = strengths
        self.problem, self.shift, self.outputs, self.tol = problem, shift, outputs, max(tol, TINY)
        self.fold, self.strength = np.zeros(0, dtype=np.intp), np.zeros(0)

    def some(self, place: Integers, fold: Integers) -> "_Models":
        """Those at some places of the path, of a fold each."""
        part = copy(self)
        part.fold, part.strength = fold, self.strengths[fold, place]
        return part

    def objective(self, which: Integers, x: Floats) -> tuple[Floats, Floats]:
        """Values and gradients of some models."""
        by_class = x.reshape(len(which), self.outputs, -1)
        w = np.ascontiguousarray(by_class[:, :, :-1])
        fold, strength = self.fold[which], self.strength[which][:, None, None]
        params = Params(w, np.ascontiguousarray(by_class[:, :, -1]))
        sums = self.rows.fold(of_models(params, np.ascontiguousarray(self.share[:, fold]), 1, self.shift))
        assert sums.gradient is not None
        total = self.weight[fold]
        gradient = np.zeros_like(by_class)
        gradient[:, :, :-1] = sums.gradient / total[:, None, None] + strength * w
        if self.problem.intercept:
            gradient[:, :, -1] = sums.slope / total[:, None]
        value = sums.value / total + 0.5 * strength[:, 0, 0] * np.einsum("mkp,mkp->m", w, w)
        return value, gradient.reshape(len(which), -1)

    def measure(self, value: Floats, gradient: Floats, fall: Floats) -> Floats:
        """The stopping rule: that of `LogisticRegression` without the judge's bound, for nobody judges these models. A
        fall counts beside the objective: where that is near zero, the curvature of all rows says less of a fold's.
        """
        beside = RULES["gap"].tol * np.minimum(value, np.log(max(self.outputs, 2)))
        wanted = np.maximum(np.max(np.abs(gradient), axis=1) / self.tol, fall / np.maximum(beside, TINY))
        return np.minimum(wanted, np.abs(fall) / ROUNDING)

    def hessian(self, model: int, x: Floats) -> Floats:
        """The Hessian of one model, from a pass over its rows."""
        share = self.share[self.rows.group, self.fold[model]]
        weight = share if self.rows.weight is None else share * self.rows.weight
        found = _at(self.problem, replace(self.rows, weight=weight), x, self.shift, self.outputs)
        return _formed(found) + np.diag(self.strength[model] * _penalised(self.rows.shape[1], self.outputs))


class _Maps:
    """The inverse Hessian of each model: that of all rows at first, then its own."""

    def __init__(self, models: _Models, factors: list[newton.Factor]) -> None:
        self.models, self.factors, self.passes = models, factors, 0

    def __call__(self, which: Integers, g: Floats) -> Floats:
        own = [self.factors[m] for m in which]
        cuts = [0, *(k for k in range(1, len(own)) if own[k] is not own[k - 1]), len(own)]
        return np.concatenate([own[a].solve(g[a:b]) for a, b in pairwise(cuts)])

    def renew(self, which: Integers, x: Floats) -> None:
        """Form the Hessian of some models at x."""
        for m, point in zip(which.tolist(), x, strict=True):
            self.factors[m] = newton.factor(self.models.hessian(m, point), self.models.shift)
        self.passes += len(which)
