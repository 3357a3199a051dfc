"""Quadratic models of a loss along a path of penalties, of all rows and of the rows of each fold.

The model at one point serves the next penalties, too, until its minimum moves the predictions too far. Where folds are
made of few cells of rows, losses are summed cell by cell: the model of a fold is then that of its cells, from the same
pass, and its minimum is next to that of the fold's loss.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from tenfold.arrays import Floats, Integers, contiguous
from tenfold.data import MemoryRows
from tenfold.hessians import Factor, factor_linear
from tenfold.problems import Glm
from tenfold.stats.derivatives import Params, derivatives

DRIFT = 0.3
"""The quadratic model of a loss is good while predictions move by less, in the mean."""

NODES, CUTS = 8, 12
"""At most so many Hessians a penalty, and so many halvings of a step."""

MOST_CELLS, MOST_COEFFICIENTS = 16, 128
"""Up to so many cells, and coefficients, the Hessians of cells are kept apart."""

PIECE, FEW = 1 << 18, 1 << 19
"""Rows of a cell are gathered so many entries at a time; where all rows have so few, those of a cell are kept."""

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
        kinds = np.unique(member)
        cell = np.searchsorted(kinds, member).astype(np.int32)  # with a part of the memory that np.unique would take
        share = ((kinds[:, None] >> np.arange(len(folds))) & 1).astype(np.float64)
        return cls(cell, share)

    def few(self, size: int) -> bool:
        """Whether it pays to keep the Hessians of `size` coefficients apart."""
        return len(self.share) <= MOST_CELLS and size <= MOST_COEFFICIENTS

    def parts(self, rows: MemoryRows) -> list["Pieces"]:
        """The rows of every cell."""
        return [_gathered(rows, np.flatnonzero(self.number == cell)) for cell in range(len(self.share))]


Pieces = Callable[[], Iterable[MemoryRows]]
"""Some of the rows, from the first on."""


def _gathered(rows: MemoryRows, chosen: Integers) -> Pieces:
    """The chosen rows, never many of them at once."""
    most = max(1, PIECE // max(1, rows.entries // max(1, rows.shape[0])))
    if rows.entries <= FEW:
        return [_some(rows, chosen)].copy
    return lambda: _pieces(rows, chosen, most)


def _pieces(rows: MemoryRows, chosen: Integers, most: int) -> Iterator[MemoryRows]:
    for first in range(0, len(chosen), most):
        yield _some(rows, chosen[first : first + most])


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
    parts: list[Pieces]
    penalised: Floats

    @classmethod
    def of(cls, problem: Glm, shift: Floats, outputs: int, parts: list[Pieces]) -> "Setting":
        return cls(problem, shift, outputs, parts, np.tile(np.append(np.ones(len(shift)), 0.0), outputs))


class Sums(NamedTuple):
    """Sums of weights and losses (...) over rows, with their derivatives (..., q) and (..., q, q)."""

    weight: Floats
    value: Floats
    gradient: Floats
    hessian: Floats

    @classmethod
    def of_parts(cls, setting: Setting, x: Floats) -> "Sums":
        """Those of every part of the rows at x."""
        q, loss = len(x), setting.problem.loss
        found = cls(*(np.zeros((len(setting.parts), *shape)) for shape in ((), (), (q,), (q, q))))
        by_class = x.reshape(setting.outputs, -1)
        params = Params(np.ascontiguousarray(by_class[:, :-1]), np.ascontiguousarray(by_class[:, -1]))
        lift = derivatives(loss, params, 2, setting.shift)
        for part, pieces in enumerate(setting.parts):
            for rows in pieces():
                sums = rows.fold(lift)
                assert sums.gradient is not None
                found.weight[part] += sums.weight
                found.value[part] += sums.value.sum()
                found.gradient[part] += np.column_stack([sums.gradient, sums.slope]).ravel()
                found.hessian[part] += sums.hessian
                del rows  # before the next are gathered
        if not setting.problem.intercept:
            none = np.flatnonzero(setting.penalised == 0.0)
            found.gradient[:, none] = found.hessian[:, none, :] = found.hessian[:, :, none] = 0.0
            found.hessian[:, none, none] = found.weight[:, None]
        return found

    def means(self, share: Floats) -> tuple[Floats, Floats]:
        """Mean gradients (F, q) and Hessians (F, q, q) of folds that have `share` (parts, F) of the parts."""
        weight = self.weight @ share
        gradient = np.einsum("cq,cf->fq", self.gradient, share) / weight[:, None]
        return gradient, np.einsum("cpq,cf->fpq", self.hessian, share) / weight[:, None, None]


class Node:
    """The quadratic model of the mean loss at a point."""

    def __init__(self, setting: Setting, x: Floats) -> None:
        self.setting, self.x = setting, x
        self.cells = Sums.of_parts(setting, x)
        weight, value, gradient, hessian = (part.sum(axis=0) for part in self.cells)
        self.value, self.gradient, self.hessian = float(value / weight), gradient / weight, hessian / weight
        # the mean curvature of the rows, or without intercepts what it is at zero
        bent = float(np.sum(self.hessian.diagonal(), where=setting.penalised == 0.0))
        K = setting.outputs
        self.bent = max(bent, TINY) if setting.problem.intercept else (0.25 if K == 1 else 1.0 - 1.0 / K)
        self.factor: Factor | None = None
        self.small = 0.0

    def minimum(self, penalty: Floats) -> tuple[Factor, Floats]:
        """The factor of the Hessian under the penalty, and the step to the minimum of the model."""
        strength = float(penalty.max())
        if self.factor is None or strength > self.small:
            self.factor = factor_linear(self.hessian + np.diag(penalty), self.setting.shift)
            # below a hundredth of what each column adds to the others it makes no difference how weak a penalty is
            self.small = 0.01 * self.factor.least - strength
        return self.factor, -self.factor.solve(self.gradient + penalty * self.x)

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

    def resolve(self, penalty: Floats, enough: float) -> tuple["Node", Factor, Floats, int]:
        """The first node on the way to the minimum whose model's is no farther than `enough`, the factor and the step
        there, and the passes it took.
        """
        node, passes = self, 0
        factor, d = node.minimum(penalty)
        for _ in range(NODES):
            if node.drift(d) <= enough:
                break
            node, count = node.towards(d, penalty)
            factor, d = node.minimum(penalty)
            passes += count
        return node, factor, d, passes


class Path(NamedTuple):
    """Points (A, q) and factors of Hessians of all rows, one a penalty, and the passes that they took."""

    points: Floats
    factors: list[Factor]
    passes: int


def follow(setting: Setting, strengths: Floats) -> Path:
    """The path of all rows along the penalties."""
    node = Node(setting, np.zeros(len(setting.penalised)))
    points, factors, passes = [], [], 1
    for strength in strengths:
        node, factor, d, count = node.resolve(strength * setting.penalised, DRIFT)
        points.append(node.x + d)
        factors.append(factor)
        passes += count
    return Path(np.array(points), factors, passes)
