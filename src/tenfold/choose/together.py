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
from tenfold.choose.quadratics import Cells, Node, Path, Setting, follow
from tenfold.data import MemoryRows
from tenfold.judge import RULES
from tenfold.losses import Logistic, Softmax
from tenfold.penalties import L2
from tenfold.problems import Glm
from tenfold.solvers import lockstep, newton
from tenfold.stats import Params, of_models

COARSE, NEAR = 4.0, 6
"""Models of penalties whose logarithms are up to so far apart are neighbours on a curve; so many of them show where it
goes.
"""

FAR = 2.0
"""Where the predictions of a fold move by more, in the mean, the minimum of a quadratic model is not near."""

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
    few = min(MOST_FOLDS, max(1, MOST_NUMBERS // (size * strengths.shape[1])))
    batches = [slice(first, first + few) for first in range(0, len(folds), few)]
    cells = [Cells.of(rows.shape[0], folds[some]) for some in batches]
    parts = cells[0].apart(rows, size) if len(cells) == 1 else [rows]
    setting = Setting.of(problem, shift, outputs, parts)
    mean = strengths.mean(axis=0)
    # a Hessian is worth while that spares the models of all folds a pass
    close = _stages(np.log(mean))[0] if len(parts) > 1 and size <= 4 * len(folds) + 4 else np.zeros(0, dtype=np.intp)
    path = follow(setting, mean, close)
    found = []
    for some, cell in zip(batches, cells, strict=True):
        models = _Models(setting, rows, cell, strengths[some], tol)
        found.append(_of_folds(models, path, max_iter))
    params, counts, passes = zip(*found, strict=True)
    return Paths(np.concatenate(params), np.concatenate(counts), path.passes + sum(passes))


def _of_folds(models: "_Models", path: Path, max_iter: int) -> tuple[Floats, Integers, int]:
    """The models of some folds: those of a coarse grid of penalties first, then those between, from where the curve
    through their neighbours leads. Where a curve through places twice as far apart met the rule, no pass is spent.
    """
    F, A = models.strengths.shape
    at = np.log(models.strengths.mean(axis=0))
    points = np.repeat(path.points[:, None], F, axis=1)
    missed = np.full((A, F), np.inf)  # what the rule said where the curve led
    counts, passes = np.zeros((A, F), dtype=np.int32), 0
    known = np.zeros(0, dtype=np.intp)
    coarse, *between = _stages(at)
    own = _own_factors(models, path, coarse, points)
    for stage in [*(_in_turn(path, coarse, points) if own else [coarse]), *between]:
        ahead = len(known) > 0 and stage[-1] > known[-1]
        if ahead:  # on from the last two
            before, last = known[-2:]
            share = (at[stage] - at[last]) / (at[last] - at[before])
            points[stage] = points[last] + share[:, None, None] * (points[last] - points[before])
        elif len(known):
            points[stage] = np.einsum("ik,kfq->ifq", _curve(at[known], at[stage]), points[known])
            after = np.searchsorted(known, stage)
            missed[stage] = np.minimum(missed[known[after - 1]], missed[known[after]])
        place, fold = (missed[stage] > 1.0).nonzero()
        if len(place):
            which = (stage[place], fold)
            some = models.some(*which)
            maps = _Maps(some, [own.get((a, f), path.factors[a]) for a, f in zip(*which, strict=True)])
            if ahead:
                maps.renew(np.arange(len(place)), points[which])
            solution = lockstep.minimise(some.objective, points[which], maps, some.measure, max_iter)
            points[which], counts[which] = solution.x, solution.iterations
            passes += solution.passes + maps.passes
            if len(known) and not ahead:
                missed[which] = solution.measure
        known = np.sort(np.append(known, stage))
    params = np.swapaxes(points, 0, 1).reshape(F, A, models.outputs, -1)
    return params, counts.T, passes


def _own_factors(
    models: "_Models", path: Path, places: Integers, points: Floats
) -> dict[tuple[int, int], newton.Factor]:
    """The factors of the Hessians of each fold at some places, where its cells are known apart; its minimum goes to
    `points`.
    """
    if len(path.nodes[0].cells) != len(models.share):
        return {}
    factors = {}
    for a in places.tolist():
        for f, strength in enumerate(models.strengths[:, a]):
            factors[a, f], points[a, f] = path.nodes[a].of_fold(models.share[:, f], strength)
    return factors


def _in_turn(path: Path, places: Integers, points: Floats) -> list[Integers]:
    """Places of a coarse grid that are worked on at once; those where a fold is far from all rows, one after the other:
    its models are nearer to each other.
    """
    far = [max(path.nodes[a].drift(x - path.nodes[a].x) for x in points[a]) > FAR for a in places]
    first = max(2, int(np.argmax(far)) if any(far) else len(places))
    return [places[:first], *(places[k : k + 1] for k in range(first, len(places)))]


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


class _Models:
    """Objectives of models of some folds and penalties."""

    def __init__(self, setting: Setting, rows: MemoryRows, cells: Cells, strengths: Floats, tol: float) -> None:
        self.setting, self.rows = setting, replace(rows, group=cells.number)
        self.share = cells.share
        self.weight = np.bincount(cells.number, weights=rows.weight, minlength=len(self.share)) @ self.share
        self.strengths, self.tol = strengths, max(tol, TINY)
        self.shift, self.outputs = setting.shift, setting.outputs
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
        if self.setting.problem.intercept:
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
        parts, inside = self.setting.parts, self.share[:, self.fold[model]]
        if len(parts) == len(inside):
            rows = [part for part, share in zip(parts, inside, strict=True) if share]
        else:
            share = inside[self.rows.group]
            rows = [replace(self.rows, weight=share if self.rows.weight is None else share * self.rows.weight)]
        return Node(self.setting._replace(parts=rows), x).hessian + np.diag(
            self.strength[model] * self.setting.penalised
        )


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
