"""The models of all folds and penalties of a cross-validation with an L1 penalty or an elastic net.

All rows are followed along the penalties. At some places of the way, nodes, the losses of the cells of rows are known
with their slopes and curvatures, and so are those of every fold: each has a quadratic model there, whose minimum with
the L1 penalty is exact, kinks and all (core/include/tenfold/signs.hpp). Where folds go their own ways, each has nodes
of its own. Gradients of these models, one pass for all, lead on to the minima of the folds.

From place to place the minimum of a fold moves nearly on a line. Slopes on the line between two minima are known: they
are those at its ends, but for what the Hessians of nodes say of how they turn. So there is a quadratic model halfway,
too, and no row is read for it; one pass shows for many how good its minimum is. A model goes unread only where lines
twice as long led to one that met the rule.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tenfold.arrays import Floats, Integers
from tenfold.cross_validation.batched_objective import TINY, Models, Paths
from tenfold.cross_validation.interpolation import between, spaced, through
from tenfold.cross_validation.quadratic_models import Cells, Setting, Sums
from tenfold.data import MemoryRows
from tenfold.losses.classification import Logistic, Softmax
from tenfold.penalties import L2
from tenfold.problems import Glm
from tenfold.solvers.prox_newton_batched import minimise, minimise_models, update_bfgs

STEP = 1.3
"""Nodes are at penalties whose logarithms are up to so far apart."""

NEAR = 4
"""So many nodes show how Hessians change along the path."""

CLOSE, BESIDE, FAR = 0.003, 0.3, 0.7
"""A node is so near to the minimum of all rows, or nearer than such a part of the way from there to the folds'; it is
the last one of all rows where a fold's minimum is as far as the last.
"""

PASSES, CUTS = 8, 12
"""At most so many passes for a node, and so many halvings of a step."""

MET = 0.7
"""A model that came this near to what the rule allows has neighbours that meet it when places are twice as dense."""

LEAST, ROUNDING = 1e-3, 1e-18
"""What the rule says counts as so much at least, and the square of a way."""

LIFT = 1e-8
"""Such a part of their own curvature is added to that of coefficients of several classes."""

MOST_NUMBERS = 1 << 22
"""Hessians of so many numbers are worked on at once."""


def nonsmooth(
    rows: MemoryRows,
    folds: Sequence[Integers],
    l1: Floats,
    l2: Floats,
    intercept: bool,
    *,
    outputs: int,
    shift: Floats,
    tol: float,
    max_iter: int,
) -> Paths | None:
    """The models of the rows of each fold, no row twice, under penalties l1 ||w||_1 + l2 / 2 ||w||^2 (F, A), which fall
    along A; measured from `shift`, as the coefficients are. None where Hessians of so many cells of rows are too many.
    """
    cells = Cells.of(rows.shape[0], folds) if len(folds) < 64 else None
    if cells is None or not cells.few(outputs * (rows.shape[1] + 1)):
        return None
    problem = Glm(Softmax() if outputs > 1 else Logistic(), L2(0.0), intercept)
    setting = Setting.of(problem, shift, outputs, cells.parts(rows))
    models = Models(setting, rows, cells, l2, tol)
    search = _Search(models, l1, _march(models, l1), max_iter)
    search.at_nodes()
    while search.between():
        pass
    return search.found()


class Quadratics(NamedTuple):
    """Quadratic models (..., q) and (..., q, q) of mean losses without penalties, at points."""

    points: Floats
    gradients: Floats
    hessians: Floats


class _Nodes(NamedTuple):
    """Quadratic models (N, F, ...) of the folds at some places of the path, and the passes that they took."""

    places: Integers
    models: Quadratics
    passes: int


class _Here(NamedTuple):
    """A mean loss at a point, with its derivatives, and those of the cells of rows that it is of."""

    setting: Setting
    x: Floats
    cells: Sums
    value: float
    gradient: Floats
    hessian: Floats

    @classmethod
    def of(cls, setting: Setting, x: Floats, cells: Sums) -> "_Here":
        weight, value, gradient, hessian = (part.sum(axis=0) for part in cells)
        return cls(setting, x, cells, float(value / weight), gradient / weight, hessian / weight)

    def of_fold(self, share: Floats) -> "_Here":
        """Of the cells in a fold, and further on of their rows alone."""
        inside = np.flatnonzero(share)
        setting = self.setting._replace(parts=[self.setting.parts[c] for c in inside])
        return self.of(setting, self.x, Sums(*(part[inside] for part in self.cells)))

    def step(self, l1: float, l2: float) -> Floats:
        """The step to the minimum of the quadratic model with penalties."""
        penalised = self.setting.penalised
        ridge = l2 * penalised
        H = regular(self.hessian[None], self.setting.outputs) + np.diag(ridge)
        return (
            minimise_models(H, (self.gradient + ridge * self.x)[None], (l1 * penalised)[None], self.x[None])[0] - self.x
        )

    def drift(self, d: Floats) -> float:
        """How far a step moves the predictions: the root of their mean square, by the rows' curvatures, for those that
        are sure of their class may move as they like.
        """
        bent = float(np.sum(self.hessian.diagonal(), where=self.setting.penalised == 0.0))
        return float(np.sqrt(max(np.einsum("i,ij,j->", d, self.hessian, d), 0.0) / max(bent, TINY)))

    def onwards(self, d: Floats, l1: float, l2: float) -> tuple["_Here", int]:
        """The first of the steps d, d/2, ... that does not raise the objective, and the passes it took."""
        before = self._objective(l1, l2)
        for count in range(CUTS):
            x = self.x + 0.5**count * d
            there = self.of(self.setting, x, Sums.of_parts(self.setting, x))
            if there._objective(l1, l2) <= before:
                return there, count + 1
        return self, CUTS

    def _objective(self, l1: float, l2: float) -> float:
        w = self.setting.penalised * self.x
        return self.value + l1 * float(np.sum(np.abs(w))) + 0.5 * l2 * float(np.sum(w**2))


def regular(hessians: Floats, outputs: int) -> Floats:
    """Hessians (m, q, q) that are positive also where coefficients of all classes move alike, which no loss notices."""
    if outputs == 1:
        return hessians
    q = hessians.shape[1]
    found = hessians + LIFT * np.einsum("mii->mi", hessians)[:, :, None] * np.eye(q)
    last = np.arange(1, outputs + 1) * (q // outputs) - 1
    corner = np.ix_(np.arange(len(found)), last, last)
    found[corner] += np.einsum("mkk->m", found[corner])[:, None, None] / outputs**2
    return found


def _march(models: Models, l1: Floats) -> _Nodes:
    """Nodes from the first penalty to the last."""
    l2, share = models.strengths, models.share
    places = spaced(np.log((l1 + l2).mean(axis=0)), STEP)
    zero = np.zeros(len(models.setting.penalised))
    here = _Here.of(models.setting, zero, Sums.of_parts(models.setting, zero))
    every, passes, apart = [], 1, False
    folds: list[_Here] = []
    for place in places.tolist():
        if apart:
            resolve = [_settled(one, l1[f, place], l2[f, place]) for f, one in enumerate(folds)]
            folds = [one for one, _ in resolve]
            passes += sum(count for _, count in resolve)
        else:
            here, spread, count = _shared(here, share, l1[:, place], l2[:, place])
            folds = [here.of_fold(one) for one in share.T]
            passes += count
            apart = spread > FAR
        every.append(
            Quadratics(*map(np.array, zip(*((one.x, one.gradient, one.hessian) for one in folds), strict=True)))
        )
    return _Nodes(places, Quadratics(*map(np.array, zip(*every, strict=True))), passes)


def _shared(here: _Here, share: Floats, l1: Floats, l2: Floats) -> tuple[_Here, float, int]:
    """A node of all rows near the minimum under the mean of penalties (F,), how far the folds' minima are from it, and
    the passes it took.
    """
    passes, enough = 0, CLOSE
    penalty = float(l1.mean()), float(l2.mean())
    while True:
        d = here.step(*penalty)
        away = [here.of_fold(one).step(*each) for one, *each in zip(share.T, l1, l2, strict=True)]
        if passes:
            enough = max(CLOSE, BESIDE * max(here.drift(step - d) for step in away))
        if here.drift(d) <= enough or passes >= PASSES:
            return here, max(map(here.drift, away)), passes
        here, count = here.onwards(d, *penalty)
        passes += count


def _settled(here: _Here, l1: float, l2: float) -> tuple[_Here, int]:
    """A node of one fold near its minimum under penalties, and the passes it took."""
    passes = 0
    while here.drift(d := here.step(l1, l2)) > (FAR * BESIDE if passes else CLOSE) and passes < PASSES:
        here, count = here.onwards(d, l1, l2)
        passes += count
    return here, passes


class _Search:
    """The models of a path as far as they are known: points (A, F, q), where rows were read for them, the gradients
    there, and what the rule said (A, F) where their neighbours led.
    """

    def __init__(self, models: Models, l1: Floats, nodes: _Nodes, max_iter: int) -> None:
        self.models, self.l1, self.nodes, self.max_iter = models, l1, nodes, max_iter
        F, A = l1.shape
        self.at = np.log((l1 + models.strengths).mean(axis=0))
        self.points, self.seen, self.gradients = np.zeros((3, A, F, len(models.setting.penalised)))
        self.squares = np.zeros((A, F))
        self.missed, self.read = np.full((A, F), np.inf), np.zeros((A, F), dtype=bool)
        self.counts, self.passes = np.zeros((A, F), dtype=np.int32), nodes.passes
        self.known, self.order = np.zeros(0, dtype=np.intp), np.zeros(A, dtype=np.intp)

    def at_nodes(self) -> None:
        """The models of the places where nodes are."""
        places = self.nodes.places
        self._work_on(places, self.nodes.models, self.nodes.models.points)
        # how good nodes are says nothing of lines, unless nothing moves
        self.missed[places] = np.where(self.squares[places] > ROUNDING, np.inf, self.missed[places])

    def between(self) -> bool:
        """The models halfway between those that are known, where there are some."""
        known, stage = self.known, between(self.known)
        few = max(1, MOST_NUMBERS // (self.points.shape[2] ** 2 * len(self.l1)))
        for first in range(0, len(stage), few):
            some = stage[first : first + few]
            self._work_on(some, self._on_lines(some), self.points[known[np.searchsorted(known, some) - 1]], known)
        return len(stage) > 0

    def _work_on(self, stage: Integers, models: Quadratics, start: Floats, known: Integers | None = None) -> None:
        self.points[stage] = self._lowest(stage, models, start)
        d = self.points[stage] - models.points
        self.squares[stage] = np.maximum(np.einsum("mfp,mfpq,mfq->mf", d, models.hessians, d), ROUNDING)
        if known is not None:
            self._inherit(known, stage)
        self._settle(stage, models)
        self.order[stage], self.known = self.order.max() + 1, np.sort(np.append(self.known, stage))

    def _inherit(self, known: Integers, stage: Integers) -> None:
        """What the rule said at the neighbours, at the one that came later, or at the worse of both; more where the way
        from the line between them is longer than it was there.
        """
        after = np.searchsorted(known, stage)
        left, right = known[after - 1], known[after]
        of_left, of_right = (
            np.maximum(self.missed[k], LEAST) * np.maximum(self.squares[stage] / self.squares[k], 1.0)
            for k in (left, right)
        )
        order = (self.order[left] - self.order[right])[:, None]
        later = np.where(order > 0, of_left, of_right)
        self.missed[stage] = np.where(order == 0, np.maximum(of_left, of_right), later)

    def _on_lines(self, stage: Integers) -> Quadratics:
        """Quadratic models on the lines between the points where rows were read for the same fold.

        On the line from x to x + d, where gradients turn by y, they turn faster at the end than at the start: by what
        the Hessians of nodes say.
        """
        folds, t = np.arange(len(self.l1)), self.at
        left, right = np.zeros((2, len(stage), len(folds)), dtype=np.intp)
        for f in folds:
            read = np.flatnonzero(self.read[:, f])
            after = np.searchsorted(read, stage)
            left[:, f], right[:, f] = read[after - 1], read[after]
        s = _part(t[left], t[stage][:, None], t[right])[:, :, None]
        d, y = (part[right, folds] - part[left, folds] for part in (self.seen, self.gradients))
        hessians = self.nodes.models.hessians
        weights = through(t[self.nodes.places], t, NEAR)
        change, faster = weights[right] - weights[left], np.zeros_like(d)  # of the Hessians along the line
        for k, hessian in enumerate(hessians):
            near = np.flatnonzero(change[:, :, k].any(axis=1))
            faster[near] += change[near, :, k, None] * np.einsum("fpq,mfq->mfp", hessian, d[near])
        node = np.searchsorted(self.nodes.places, stage)
        part = _part(*(t[k] for k in (self.nodes.places[node - 1], stage, self.nodes.places[node])))[
            :, None, None, None
        ]
        H = hessians[node - 1] + part * (hessians[node] - hessians[node - 1])  # positive as these are
        turn = y + (s - 0.5) * faster
        q = d.shape[2]
        return Quadratics(
            self.seen[left, folds] + s * d,
            self.gradients[left, folds] + s * y - 0.5 * s * (1.0 - s) * faster,
            update_bfgs(H.reshape(-1, q, q), d.reshape(-1, q), turn.reshape(-1, q)).reshape(H.shape),
        )

    def _lowest(self, stage: Integers, models: Quadratics, start: Floats) -> Floats:
        """The minima (m, F, q) of quadratic models with their penalties, from a start."""
        m, F, q = start.shape
        ridge, limits = self._penalties(np.repeat(stage, F), np.tile(np.arange(F), m))
        H = regular(models.hessians.reshape(-1, q, q), self.models.outputs)
        flat = start.reshape(-1, q)
        g = models.gradients.reshape(-1, q) + ridge * flat
        g += np.einsum("mpq,mq->mp", H, flat - models.points.reshape(-1, q))
        return minimise_models(H + ridge[:, :, None] * np.eye(q), g, limits, flat).reshape(start.shape)

    def _penalties(self, place: Integers, fold: Integers) -> tuple[Floats, Floats]:
        """l2 and l1 (m, q) of models at places of the path, of a fold each."""
        penalised = self.models.setting.penalised
        return (
            self.models.strengths[fold, place][:, None] * penalised,
            self.l1[fold, place][:, None] * penalised,
        )

    def _settle(self, stage: Integers, models: Quadratics) -> None:
        """Work on the models of a stage, from where they are, but for those whose neighbours met the rule."""
        place, fold = (self.missed[stage] > MET).nonzero()
        if not len(place):
            return
        which = (stage[place], fold)
        ridge, limits = self._penalties(*which)
        some, H = self.models.some(*which), models.hessians[place, fold]
        maps = _Maps(some, regular(H, some.outputs) + ridge[:, :, None] * np.eye(H.shape[1]), ridge)
        found = minimise(some.objective, self.points[which], limits, maps, some.measure, self.max_iter)
        self.points[which], self.counts[which], self.missed[which] = found.x, found.iterations, found.measure
        self.read[which], self.seen[which] = True, found.seen
        self.gradients[which] = found.gradient - ridge * found.seen
        self.passes += found.passes + maps.passes

    def found(self) -> Paths:
        A, F = self.missed.shape
        params = np.swapaxes(self.points, 0, 1).reshape(F, A, self.models.outputs, -1)
        return Paths(params, self.counts.T, self.passes)


def _part(start: Floats, here: Floats, end: Floats) -> Floats:
    """The part of the way from start to end; none where there is no way."""
    way = end - start
    return (here - start) / np.where(way == 0.0, 1.0, way)


class _Maps:
    """The Hessian of each model with its ridge (m, q): that of the path at first, then its own."""

    def __init__(self, models: Models, hessians: Floats, ridge: Floats) -> None:
        self.models, self.hessians, self.ridge, self.passes = models, hessians, ridge, 0

    def renew(self, which: Integers, x: Floats) -> None:
        """Form the Hessian of some models at x."""
        for m, point in zip(which.tolist(), x, strict=True):
            own = regular(self.models.hessian(m, point)[None], self.models.outputs)[0]
            self.hessians[m] = own + np.diag(self.ridge[m])
        self.passes += len(which)
