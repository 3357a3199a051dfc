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
from tenfold.cross_validation.interpolation import spaced, through, with_slopes
from tenfold.cross_validation.quadratic_models import Node, Setting
from tenfold.hessians import Factor, factor_each, solve_each

DENSE, LOOSE, NEAR, BETWEEN = 1.3, 2.0, 4, 3
"""Nodes are at penalties whose logarithms are up to so far apart, the former where a Hessian of all rows costs no more
than some gradients of all folds, and so many places lie between; so many nodes show where the curve goes.
"""

CLOSE, FAR = 0.003, 0.7
"""A node is so near to the minimum of all rows; it is the last one where a fold's is as far."""

SHARP = 2.0
"""A curve with slopes through places twice as dense is at least so many times nearer: a hundred times is usual."""

MOST_NUMBERS = 1 << 20
"""Hessians of so many numbers are worked on at once."""

Measure = Callable[[Floats, Floats, Floats], Floats]
"""From values (m,), gradients (m, q) and falls (m,) of objectives to what the stopping rule compares with one."""


class Quadratic(NamedTuple):
    """Quadratic models of all folds at some places: their minima (m, F, q), the squares (m, F) of the steps to them by
    their own measure, and factors of the Hessians, those of the first place first.
    """

    minima: Floats
    squares: Floats
    factors: list[Factor]


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
            node, factor, d, count = node.resolve(penalty, CLOSE)
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
        last = np.eye(len(self.places))[-1:]
        return self._on_curve(last, 0.0 * last, last)[2][0]

    def models(self, places: Integers) -> "Quadratic":
        """The quadratic models of all folds at some places."""
        few = max(1, MOST_NUMBERS // (self.points.shape[1] ** 2 * max(self.share.shape)))
        parts = [self._models(places[k : k + few]) for k in range(0, len(places), few)]
        minima, falls, factors = zip(*parts, strict=True)
        return Quadratic(np.concatenate(minima), np.concatenate(falls), [one for some in factors for one in some])

    def _models(self, places: Integers) -> "Quadratic":
        nodes, t = self.at[self.places], self.at[places]
        return self._solved(places, *self._on_curve(*with_slopes(nodes, t, NEAR), through(nodes, t, NEAR)))

    def _solved(self, places: Integers, x: Floats, gradients: Floats, hessians: Floats) -> "Quadratic":
        """The models of folds at points (m, q), from their gradients (m, F, q) and Hessians (m, F, q, q), to which the
        penalties are added.
        """
        q = x.shape[1]
        minima = np.repeat(x[:, None], self.share.shape[1], axis=1)
        penalties = self.strengths[:, places].T[:, :, None] * self.setting.penalised
        right = gradients + penalties * minima
        hessians[:, :, np.arange(q), np.arange(q)] += penalties
        factors = factor_each(hessians.reshape(-1, q, q), self.setting.shift)
        step = solve_each(factors, right.reshape(-1, q)).reshape(minima.shape)
        return Quadratic(minima - step, np.einsum("mfq,mfq->mf", step, right), factors)

    def _on_curve(self, values: Floats, slopes: Floats, plain: Floats) -> tuple[Floats, Floats, Floats]:
        """Points (m, q), and the mean gradients (m, F, q) and Hessians (m, F, q, q) of folds there, by the weights
        (m, N) of nodes, of how things change there, and of Hessians.
        """
        x = np.einsum("mk,kq->mq", values, self.points) + np.einsum("mk,kq->mq", slopes, self.moves)
        gradients = np.einsum("mk,kcq->mcq", values, self.gradients) + np.einsum("mk,kcq->mcq", slopes, self.turns)
        hessians = np.einsum("mk,kcpq->mcpq", plain, self.hessians)
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
        if N < 3:
            return found
        nodes, inner = self.at[self.places], np.arange(1, N - 1)
        values, slopes, plain = np.zeros((3, N - 2, N))
        for k in inner:
            others = np.arange(N) != k
            values[k - 1, others], slopes[k - 1, others] = (w[0] for w in with_slopes(nodes[others], nodes[[k]], NEAR))
            plain[k - 1, others] = through(nodes[others], nodes[[k]], NEAR)[0]
        coarse = self._solved(self.places[inner], *self._on_curve(values, slopes, plain))
        x, gradient, hessian = self._on_curve(*(np.eye(N)[inner] * one for one in (1.0, 0.0, 1.0)))
        fine = self._solved(self.places[inner], x, gradient, hessian.copy())
        d = coarse.minima - fine.minima
        penalties = self.strengths[:, self.places[inner]].T[:, :, None] * self.setting.penalised
        flat = (np.einsum("mfpq,mfq->mfp", hessian, d) + penalties * d).reshape(-1, x.shape[1])
        fall = 0.5 * np.einsum("mq,mq->m", flat, d.reshape(flat.shape))
        said = measure(np.repeat(self.values[inner], F), flat, fall)
        found[inner] = said.reshape(-1, F) / SHARP
        found[0], found[-1] = found[1], found[-2]
        return found


def _spread(node: Node, share: Floats, strengths: Floats) -> float:
    """How far the farthest minimum of a fold's quadratic model is from the node."""
    gradient, hessian = node.cells.means(share)
    penalties = strengths[:, None] * node.setting.penalised
    each = np.arange(len(node.x))
    hessian[:, each, each] += penalties
    steps = solve_each(factor_each(hessian, node.setting.shift), gradient + penalties * node.x)
    return max(node.drift(step) for step in steps)
