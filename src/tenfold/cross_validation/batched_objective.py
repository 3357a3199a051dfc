"""Objectives of the models of folds and penalties of a cross-validation, many in one pass over the rows."""

from copy import copy
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from tenfold.arrays import Floats, Integers
from tenfold.cross_validation.quadratic_models import Cells, Node, Setting
from tenfold.data import MemoryRows
from tenfold.hessians import Factor, factor_linear
from tenfold.judge.certificate import RULES
from tenfold.stats.batched_loss import of_models
from tenfold.stats.derivatives import Params

TINY, ROUNDING = float(np.finfo(np.float64).tiny), 1e-26
"""Whatever the units of the columns, there is no fall below rounding."""


class Paths(NamedTuple):
    """Coefficients (F, A, K, p + 1) of all folds and penalties, the steps of each model, and how often rows were
    read.
    """

    params: Floats
    iterations: Integers
    passes: int


class Models:
    """Objectives of models of some folds and penalties."""

    met = 0.7
    """A curve that led this near to what the rule allows leads to models that meet it when places are twice as dense.
    """

    def __init__(self, setting: Setting, rows: MemoryRows, cells: Cells, strengths: Floats, tol: float) -> None:
        self.setting, self.rows = setting, replace(rows, group=cells.number)
        self.share = cells.share
        self.weight = np.bincount(cells.number, weights=rows.weight, minlength=len(self.share)) @ self.share
        self.strengths, self.tol = strengths, max(tol, TINY)
        self.shift, self.outputs = setting.shift, setting.outputs
        self.place = self.fold = np.zeros(0, dtype=np.intp)
        self.strength = np.zeros(0)

    def some(self, place: Integers, fold: Integers) -> "Models":
        """Those at some places of the path, of a fold each."""
        part = copy(self)
        part.place, part.fold, part.strength = place, fold, self.strengths[fold, place]
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

    def rule(self, which: Integers, value: Floats, gradient: Floats, fall: Floats) -> Floats:
        """What is compared with one for some models."""
        return self.measure(value, gradient, fall)

    def measure(self, value: Floats, gradient: Floats, fall: Floats) -> Floats:
        """The stopping rule: that of `LogisticRegression` without the judge's bound, for nobody judges these models. A
        fall counts beside the objective: where that is near zero, the curvature of all rows says less of a fold's.
        """
        beside = RULES["gap"].tol * np.minimum(value, np.log(max(self.outputs, 2)))
        wanted = np.maximum(np.max(np.abs(gradient), axis=1) / self.tol, fall / np.maximum(beside, TINY))
        return np.minimum(wanted, np.abs(fall) / ROUNDING)

    def hessian(self, model: int, x: Floats) -> Floats:
        """The Hessian of the loss of one model, from a pass over its rows."""
        parts, inside = self.setting.parts, self.share[:, self.fold[model]]
        if len(parts) == len(inside):
            chosen = [part for part, share in zip(parts, inside, strict=True) if share]
        else:
            share = inside[self.rows.group]
            weight = share if self.rows.weight is None else share * self.rows.weight
            chosen = [[replace(self.rows, weight=weight)].copy]
        return Node(self.setting._replace(parts=chosen), x).hessian

    def factor(self, hessian: Floats, place: int, fold: int) -> Factor:
        """The factor of the Hessian of a model with its penalty."""
        penalty = self.strengths[fold, place] * self.setting.penalised
        return factor_linear(hessian + np.diag(penalty), self.shift)
