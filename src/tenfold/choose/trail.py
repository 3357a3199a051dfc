"""The path of all rows along the penalties, with the quadratic model of every fold on the way.

At some places of the path, nodes, the losses of the cells of rows are known with their slopes and curvatures. Between
them a smooth curve leads from node to node, and the slopes of every cell along it follow from those at the nodes, with
the rate at which they change there. So every fold has a quadratic model at every penalty, and no row is read for it.
The trail ends where a fold goes its own way.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from tenfold.arrays import Floats, Integers
from tenfold.choose.curves import spaced, through, with_slopes
from tenfold.choose.quadratics import Node, Setting
from tenfold.solvers import newton

DENSE, LOOSE, NEAR, BETWEEN = 1.3, 2.0, 4, 3
"""Nodes are at penalties whose logarithms are up to so far apart, the former where a Hessian of all rows costs no more
than some gradients of all folds, and so many places lie between; so many nodes show where the curve goes.
"""

CLOSE, FAR = 0.003, 0.7
"""A node is so near to the minimum of all rows; it is the last one where a fold's is as far."""

SHARP = 4.0
"""A curve with slopes through places twice as dense is at least so many times nearer: a hundred times is usual."""

MOST_NUMBERS = 1 << 20
"""Hessians of so many numbers are worked on at once."""

Measure = Callable[[Floats, Floats, Floats], Floats]
"""From values (m,), gradients (m, q) and falls (m,) of objectives to what the stopping rule compares with one."""


class Quadratic(NamedTuple):
    """Quadratic models of all folds at some places: their minima (m, F, q), what it takes to get there (m, F), the
    squares of the steps by their own measure, and factors of the Hessians, those of the first place first.
    """

    minima: Floats
    squares: Floats
    factors: list[newton.Factor]


class Trail(NamedTuple):
    """Nodes at some `places` of a path at the logarithms `at` (A,), for folds that have `share` (C, F) of the cells:
    objectives (N,), points (N, q) on the way and how they move along it, gradients of cells (N, C, q) there and how
    they turn, Hessians of cells (N, C, q, q); the weights (C,) of cells, and passes over the rows that all this took.
    """

    setting: Setting
    share: Floats
    strengths: Floats
    at: Floats
    weight: Floats
    passes: int
    places: Integers
    values: Floats
    points: Floats
    moves: Floats
    gradients: Floats
    turns: Floats
    hessians: Floats

    @classmethod
    def of(cls, setting: Setting, share: Floats, strengths: Floats) -> "Trail":
        """The trail under penalties of `strengths` (F, A)."""
        at = np.log(strengths.mean(axis=0))
        node, passes, found = Node(setting, np.zeros(len(setting.penalised))), 1, []
        places = spaced(at, LOOSE)
        if len(setting.penalised) <= 8 * len(strengths) and len(at) > (1 + BETWEEN) * len(places):
            places = spaced(at, DENSE)
        for place in places.tolist():
            penalty = strengths[:, place].mean() * setting.penalised
            node, factor, d, count = node.settled(penalty, CLOSE)
            passes += count
            move = -factor.solve(penalty * (node.x + d))
            turn = np.einsum("cpq,q->cp", node.cells.hessian, move)
            value = node.value + 0.5 * float(np.sum(penalty * node.x**2))
            found.append((place, value, node.x, move, node.cells.gradient, turn, node.cells.hessian))
            if _spread(node, share, strengths[:, place]) > FAR:
                break
        columns = [np.array(column) for column in zip(*found, strict=True)]
        return cls(setting, share, strengths, at, node.cells.weight, passes, *columns)

    @property
    def end(self) -> int:
        """The last place that it reaches."""
        return int(self.places[-1])

    def hessian_at_end(self) -> Floats:
        """The Hessians (F, q, q) of the folds at the last place, without penalties."""
        return self._at(self.places[-1:])[2][0]

    def models(self, places: Integers) -> "Quadratic":
        """The quadratic models of all folds at some places."""
        few = max(1, MOST_NUMBERS // (self.points.shape[1] ** 2 * max(self.share.shape)))
        parts = [self._models(places[k : k + few]) for k in range(0, len(places), few)]
        minima, falls, factors = zip(*parts, strict=True)
        return Quadratic(np.concatenate(minima), np.concatenate(falls), [one for some in factors for one in some])

    def _models(self, places: Integers) -> "Quadratic":
        x, gradients, hessians = self._at(places)
        minima = np.repeat(x[:, None], self.share.shape[1], axis=1)
        strengths = self.strengths[:, places].T[:, :, None] * self.setting.penalised
        right = gradients + strengths * minima
        q = x.shape[1]
        each = np.arange(q)
        hessians[:, :, each, each] += strengths
        factors = newton.factors(hessians.reshape(-1, q, q), self.setting.shift)
        step = newton.solve_each(factors, right.reshape(-1, q)).reshape(minima.shape)
        return Quadratic(minima - step, np.einsum("mfq,mfq->mf", step, right), factors)

    def _at(self, places: Integers) -> tuple[Floats, Floats, Floats]:
        """Points (m, q) on the curve, and the mean gradients (m, F, q) and Hessians (m, F, q, q) of folds there."""
        nodes, t = self.at[self.places], self.at[places]
        values, slopes = with_slopes(nodes, t, NEAR)
        x = np.einsum("mk,kq->mq", values, self.points) + np.einsum("mk,kq->mq", slopes, self.moves)
        gradients = np.einsum("mk,kcq->mcq", values, self.gradients) + np.einsum("mk,kcq->mcq", slopes, self.turns)
        # Hessians between two are such, too
        hessians = np.einsum("mk,kcpq->mcpq", through(nodes, t, 2), self.hessians)
        share = self.share / (self.weight @ self.share)
        return x, np.einsum("mcq,cf->mfq", gradients, share), np.einsum("mcpq,cf->mfpq", hessians, share)

    def worse(self, doubts: Floats, places: Integers) -> Floats:
        """The larger of the doubts (m, F) at the nodes on both sides of some places."""
        after = np.searchsorted(self.places, places)
        return np.maximum(doubts[after - 1], doubts[after])

    def doubts(self, measure: Measure) -> Floats:
        """What the rule would say (N, F) between nodes, from what it says where the curve without a node leads."""
        N, F = len(self.places), self.share.shape[1]
        found = np.full((N, F), np.inf)
        for k in range(1, N - 1):
            kept = np.arange(N) != k
            coarse = self._replace(**{name: getattr(self, name)[kept] for name in NODES})
            here = self.places[k : k + 1]
            _, _, hessians = self._at(here)
            d = coarse.models(here).minima[0] - self.models(here).minima[0]
            gradient = np.einsum("fpq,fq->fp", hessians[0], d) + self.strengths[:, here] * self.setting.penalised * d
            fall = 0.5 * np.einsum("fq,fq->f", d, gradient)
            found[k] = measure(np.full(F, self.values[k]), gradient, fall) / SHARP
        if N > 2:
            found[0], found[-1] = found[1], found[-2]
        return found


NODES = ("places", "values", "points", "moves", "gradients", "turns", "hessians")
"""What a trail has for each node."""


def _spread(node: Node, share: Floats, strengths: Floats) -> float:
    """How far the farthest minimum of a fold's quadratic model is from the node."""
    gradient, hessian = node.cells.means(share)
    penalties = strengths[:, None] * node.setting.penalised
    each = np.arange(len(node.x))
    hessian[:, each, each] += penalties
    steps = newton.solve_each(newton.factors(hessian, node.setting.shift), gradient + penalties * node.x)
    return max(node.drift(step) for step in steps)
