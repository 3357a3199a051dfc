"""Quadratic models of a loss along a path of penalties, of all rows and of the rows of each fold.

The model at one point serves the next penalties, too, until its minimum moves the predictions too far. Where folds are
made of few cells of rows, losses are summed cell by cell: the model of a fold is then that of its cells, from the same
pass, and its minimum is next to that of the fold's loss.
"""

from collections.abc import Sequence
from functools import reduce
from operator import add
from typing import NamedTuple

import numpy as np

from tenfold.arrays import Floats, Integers, contiguous
from tenfold.data import MemoryRows
from tenfold.problems import Glm, evaluate
from tenfold.solvers import newton
from tenfold.stats import Params, total_weight

DRIFT, CLOSE = 0.3, 0.03
"""The quadratic model of a loss is good while predictions move by less, in the mean, and very good by the latter."""

NODES, CUTS = 8, 12
"""At most so many Hessians a penalty, and so many halvings of a step."""

MOST_CELLS, MOST_COEFFICIENTS, FEW_ENTRIES = 16, 128, 1 << 14
"""Up to so many cells, and coefficients, and from so many entries of the rows on, the Hessians of cells are kept apart:
reading a few rows is done before one has asked for them.
"""

TINY = float(np.finfo(np.float64).tiny)


class Cells(NamedTuple):
    """Rows that go to the same folds: the number of each row's cell, and which folds (cells, F) a cell is in."""

    number: Integers
    share: Floats

    @classmethod
    def of(cls, n: int, folds: Sequence[Integers]) -> "Cells":
        """Of at most 63 folds of n rows."""
        member = np.zeros(n, dtype=np.int64)
        for number, fold in enumerate(folds):
            member[fold] |= 1 << number
        kinds, number_of = np.unique(member, return_inverse=True)
        share = ((kinds[:, None] >> np.arange(len(folds))) & 1).astype(np.float64)
        return cls(number_of.astype(np.int32), share)

    def apart(self, rows: MemoryRows, size: int) -> list[MemoryRows]:
        """The rows of every cell, or all of them where it would not pay to read `size` coefficients' Hessians apart."""
        if len(self.share) > MOST_CELLS or size > MOST_COEFFICIENTS or rows.entries < FEW_ENTRIES:
            return [rows]
        return [_some(rows, np.flatnonzero(self.number == cell)) for cell in range(len(self.share))]


def _some(rows: MemoryRows, chosen: Integers) -> MemoryRows:
    weight = None if rows.weight is None else rows.weight[chosen]
    return MemoryRows(contiguous(rows.X[chosen]), rows.y[chosen], weight)


class Setting(NamedTuple):
    """The loss, where rows are measured from, raw predictions of a row, the rows, in parts, and a one for each
    coefficient that is penalised: zero for intercepts.
    """

    problem: Glm
    shift: Floats
    outputs: int
    parts: list[MemoryRows]
    penalised: Floats

    @classmethod
    def of(cls, problem: Glm, shift: Floats, outputs: int, parts: list[MemoryRows]) -> "Setting":
        return cls(problem, shift, outputs, parts, np.tile(np.append(np.ones(len(shift)), 0.0), outputs))


class Path(NamedTuple):
    """Points (A, q) and factors of Hessians of all rows, one a penalty, the nodes that they are from, and the passes
    that they took.
    """

    points: Floats
    factors: list[newton.Factor]
    nodes: list["Node"]
    passes: int


def follow(setting: Setting, strengths: Floats, close: Integers) -> Path:
    """The path of all rows along the penalties, with nodes very near to it at those that are named."""
    node = Node(setting, np.zeros(len(setting.penalised)))
    points, factors, nodes, passes = [], [], [], 1
    for place, strength in enumerate(strengths):
        penalty, enough = strength * setting.penalised, CLOSE if place in close else DRIFT
        factor, d = node.minimum(penalty)
        for _ in range(NODES):
            if node.drift(d) <= enough:
                break
            node, count = node.towards(d, penalty)
            factor, d = node.minimum(penalty)
            passes += count
        points.append(node.x + d)
        factors.append(factor)
        nodes.append(node)
    return Path(np.array(points), factors, nodes, passes)


class _Sums(NamedTuple):
    """Sums of weights and losses over rows, with their derivatives."""

    weight: float
    value: float
    gradient: Floats
    hessian: Floats

    @classmethod
    def at(cls, setting: Setting, rows: MemoryRows, x: Floats) -> "_Sums":
        weight = float(rows.fold(total_weight).sum)
        if weight == 0.0:
            return cls(0.0, 0.0, np.zeros_like(x), np.zeros((len(x), len(x))))
        by_class = x.reshape(setting.outputs, -1)
        params = Params(np.ascontiguousarray(by_class[:, :-1]), np.ascontiguousarray(by_class[:, -1]))
        here = evaluate(setting.problem, rows, params, 2, setting.shift)
        assert here.hessian is not None
        return cls(weight, weight * float(here.value[0]), weight * here.gradient[0], weight * here.hessian)

    def plus(self, other: "_Sums") -> "_Sums":
        return _Sums(*map(add, self, other))


class Node:
    """The quadratic model of the mean loss at a point."""

    def __init__(self, setting: Setting, x: Floats) -> None:
        self.setting, self.x = setting, x
        self.cells = [_Sums.at(setting, rows, x) for rows in setting.parts]
        weight, value, gradient, hessian = reduce(_Sums.plus, self.cells)
        self.value, self.gradient, self.hessian = value / weight, gradient / weight, hessian / weight
        # the mean curvature of the rows, or without intercepts what it is at zero
        bent = float(np.sum(self.hessian.diagonal(), where=setting.penalised == 0.0))
        K = setting.outputs
        self.bent = max(bent, TINY) if setting.problem.intercept else (0.25 if K == 1 else 1.0 - 1.0 / K)
        self.factor: newton.Factor | None = None
        self.small = 0.0

    def minimum(self, penalty: Floats) -> tuple[newton.Factor, Floats]:
        """The factor of the Hessian under the penalty, and the step to the minimum of the model."""
        strength = float(penalty.max())
        if self.factor is None or strength > self.small:
            self.factor = newton.factor(self.hessian + np.diag(penalty), self.setting.shift)
            # below a hundredth of what each column adds to the others it makes no difference how weak a penalty is
            self.small = 0.01 * self.factor.least - strength
        return self.factor, -self.factor.solve(self.gradient + penalty * self.x)

    def of_fold(self, share: Floats, strength: float) -> tuple[newton.Factor, Floats]:
        """The factor of the Hessian of the cells with their shares, and the minimum of their model."""
        chosen = (cell for cell, inside in zip(self.cells, share, strict=True) if inside)
        weight, _, gradient, hessian = reduce(_Sums.plus, chosen)
        penalty = strength * self.setting.penalised
        factor = newton.factor(hessian / weight + np.diag(penalty), self.setting.shift)
        return factor, self.x - factor.solve(gradient / weight + penalty * self.x)

    def drift(self, d: Floats) -> float:
        """How far a step moves the predictions: the root of their mean square, by the rows' curvatures, for those that
        are sure of their class may move as they like.
        """
        return float(np.sqrt(max(np.einsum("i,ij,j->", d, self.hessian, d), 0.0) / self.bent))

    def towards(self, d: Floats, penalty: Floats) -> tuple["Node", int]:
        """The node at the first of the steps d, d/2, ... that does not raise the objective, and the passes it took."""
        before = self.value + 0.5 * float(np.sum(penalty * self.x**2))
        for count in range(CUTS):
            there = Node(self.setting, self.x + 0.5**count * d)
            if there.value + 0.5 * float(np.sum(penalty * there.x**2)) <= before:
                return there, count + 1
        return self, CUTS
