"""The models of all folds and penalties of a cross-validation at once.

Of folds that are made of few cells of rows, all rows are followed along the penalties, with quadratic models of every
fold on the way (logistic_homotopy.py): what a model differs from the minimum of its own is a little that changes slowly
along the path, and once it is known at some penalties, known at all. Where folds go their own ways, each is followed
by itself, on few Hessians of its own. In either case most models of a dense grid of penalties lie on smooth curves
through some, one a fold, and a model goes unread only where a curve twice as coarse led to one that met the rule.

Otherwise all rows are followed on few Hessians, and minimum and Hessian of each penalty are the start and the map of
the models of its folds.

Models go on in lockstep, a few passes over the rows with gradients for all together; one that differs much gets a
Hessian of its own. Folds are weights: no row is copied.
"""

from collections.abc import Callable, Sequence
from typing import ClassVar

import numpy as np

from tenfold.arrays import Floats, Integers
from tenfold.cross_validation.batched_objective import TINY, Models, Paths
from tenfold.cross_validation.interpolation import between, spaced, through
from tenfold.cross_validation.logistic_homotopy import Trail
from tenfold.cross_validation.quadratic_models import Cells, Path, Setting, follow
from tenfold.data import MemoryRows
from tenfold.hessians import Factor, solve_each, stack_factors
from tenfold.losses.classification import Logistic, Softmax
from tenfold.penalties import L2
from tenfold.problems import Glm
from tenfold.solvers import lbfgs_batched

COARSE, NEAR = 4.0, 6
"""Models of penalties whose logarithms are up to so far apart are neighbours on a curve; so many of them show where it
goes.
"""

STEP, BEFORE = 2.0, 3
"""A fold that goes its own way is followed by such steps of the logarithm, on from so many models before."""

FIRST = 5.5
"""Nodes of a trail that are so far apart come first."""

FEW_ENTRIES, FEW_PLACES = 1 << 14, 32
"""Fewer entries of the rows are read before one has asked for them: few models of them are not worth a trail, nor where
Hessians are dear.
"""

VERY_FEW = 1 << 13
"""With so few entries of the rows a pass takes as long for one model as for all."""

MOST_FOLDS, MOST_NUMBERS = 32, 1 << 20
"""So many folds, and so many coefficients, are worked on at once."""

MapsOf = Callable[[Integers, Integers], lbfgs_batched.Maps]
"""The maps of models, at places of the path and of a fold each."""


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
    dear = size > 8 * len(folds)
    little = (rows.entries < FEW_ENTRIES or dear) and strengths.shape[1] <= FEW_PLACES
    if len(cells) == 1 and cells[0].few(size) and not little:
        setting = Setting.of(problem, shift, outputs, cells[0].parts(rows))
        trail = Trail.of(setting, cells[0].share, strengths)
        return _along_trail(Search(Models(setting, rows, cells[0], strengths, tol), max_iter), trail)
    setting = Setting.of(problem, shift, outputs, [[rows].copy])
    path = follow(setting, strengths.mean(axis=0))
    found = [
        _along_path(Search(Models(setting, rows, cell, strengths[some], tol), max_iter), path)
        for some, cell in zip(batches, cells, strict=True)
    ]
    params, counts, passes = zip(*found, strict=True)
    return Paths(np.concatenate(params), np.concatenate(counts), path.passes + sum(passes))


def _along_path(search: "Search", path: Path) -> Paths:
    """The models of some folds: those of a coarse grid of penalties first, then those between."""
    A = len(path.points)
    coarse = np.arange(A) if A <= NEAR or search.models.rows.entries < VERY_FEW else spaced(search.at, COARSE)
    search.points[coarse] = path.points[coarse][:, None]
    maps_of = search.by_factors(lambda a, f: path.factors[a])
    search.settle(coarse, maps_of)
    search.missed[coarse] = np.inf
    while len(stage := between(search.known)):
        search.inherit(stage)
        search.on_curve(stage)
        search.settle(stage, maps_of)
    return search.found()


def _along_trail(search: "Search", trail: Trail) -> Paths:
    """The models of all folds: those at nodes of the trail, some of them first, then those beyond its end, one after
    the other, and then those between.
    """
    walk = _Walk(search, trail)
    known = spaced(search.at[trail.places], FIRST)
    walk.work_on(trail.places[known])
    while len(middle := between(known)):
        walk.work_on(trail.places[middle])
        known = np.sort(np.append(known, middle))
    for a in (trail.end + spaced(search.at[trail.end :], STEP)[1:]).tolist():
        walk.own[a] = search.step_to(a)
    if len(stage := between(search.known)):
        walk.work_on(stage, trail.doubts(search.models.measure))
    while len(stage := between(search.known)):
        walk.work_on(stage)  # what the nodes do not show was seen
    found = search.found()
    return found._replace(passes=found.passes + trail.passes)


class _Walk:
    """A search along a trail, and beyond its end along the folds' own Hessians (F, q, q) at some places."""

    def __init__(self, search: "Search", trail: Trail) -> None:
        self.search, self.trail = search, trail
        self.minima, squares, self.factors = trail.models(np.arange(trail.end + 1))
        self.squares = np.maximum(squares, TINY)
        self.own: dict[int, Floats] = {trail.end: trail.hessian_at_end()}

    def work_on(self, stage: Integers, doubts: Floats | None = None) -> None:
        """The models at some places, from where curves lead; more than the neighbours say may be in doubt."""
        search, end = self.search, self.trail.end
        near, beyond = stage[stage <= end], stage[stage > end]
        search.points[near] = self.minima[near]
        if len(search.known):
            search.inherit(stage)
            if doubts is not None:
                search.missed[near] = np.maximum(search.missed[near], self.trail.worse(doubts, near))
            known = search.known[search.known <= end]
            search.points[near] += self._lacking(known, near)
            search.on_curve(beyond)
        search.settle(stage, search.by_factors(self.factor))

    def _lacking(self, known: Integers, new: Integers) -> Floats:
        """What the minima of the quadratic models lack at new places: about as much as the square of the step to them
        is large, by what they lack at known places on both sides. Small steps say little of large ones.
        """
        lacks = self.search.points[known] - self.minima[known]
        ratio = self.squares[new][:, None] / self.squares[known]  # (new, known, F)
        weights = through(self.search.at[known], self.search.at[new], 2)[:, :, None] * np.minimum(1.0, 1.0 / ratio)
        weights /= np.maximum(weights.sum(axis=1, keepdims=True), TINY)
        return np.einsum("ikf,kfq->ifq", weights * ratio, lacks)

    def factor(self, a: int, f: int) -> Factor:
        """The factor of the Hessian of a model: that on the trail, or between two that are the fold's own."""
        if a <= self.trail.end:
            return self.factors[a * self.search.points.shape[1] + f]
        at, places = self.search.at, np.array(sorted(self.own))
        k = int(np.searchsorted(places, a))
        before, after = (int(places[j]) for j in (k - 1, k))
        share = (at[a] - at[before]) / (at[after] - at[before])
        return self.search.models.factor((1.0 - share) * self.own[before][f] + share * self.own[after][f], a, f)


class Search:
    """The models of a path as far as they are known: points (A, F, q), and what the rule said (A, F) where a curve
    led.
    """

    def __init__(self, models: "Models", max_iter: int) -> None:
        self.models, self.max_iter = models, max_iter
        F, A = models.strengths.shape
        self.at = np.log(models.strengths.mean(axis=0))
        self.points = np.zeros((A, F, len(models.setting.penalised)))
        self.missed = np.full((A, F), np.inf)
        self.counts, self.passes = np.zeros((A, F), dtype=np.int32), 0
        self.known, self.order = np.zeros(0, dtype=np.intp), np.zeros(A, dtype=np.intp)

    def inherit(self, stage: Integers) -> None:
        """What the rule said at the neighbours on the curve, at the one that came later, or at the worse of both."""
        after = np.searchsorted(self.known, stage)
        left, right = self.known[after - 1], self.known[after]
        of_left, of_right = self.missed[left], self.missed[right]
        order = (self.order[left] - self.order[right])[:, None]
        self.missed[stage] = np.where(order == 0, np.maximum(of_left, of_right), np.where(order > 0, of_left, of_right))

    def on_curve(self, stage: Integers) -> None:
        """Put models where the curve through their neighbours leads."""
        weights = through(self.at[self.known], self.at[stage], NEAR)
        self.points[stage] = np.einsum("ik,kfq->ifq", weights, self.points[self.known])

    def settle(self, stage: Integers, maps_of: MapsOf) -> None:
        """Work on the models of a stage, from where they are, but for those whose neighbours were on the curve."""
        place, fold = (self.missed[stage] > self.models.met).nonzero()
        few = max(1, MOST_NUMBERS // self.points.shape[2])
        for first in range(0, len(place), few):
            which = (stage[place[first : first + few]], fold[first : first + few])
            self.minimise(which, maps_of(*which))
        self.order[stage] = self.order.max() + 1
        self.known = np.sort(np.append(self.known, stage))

    def by_factors(self, factor_of: Callable[[int, int], Factor]) -> MapsOf:
        """Maps by the factor of the Hessian of each model."""
        return lambda place, fold: _Maps(
            self.models.some(place, fold), [factor_of(int(a), int(f)) for a, f in zip(place, fold, strict=True)]
        )

    def step_to(self, place: int) -> Floats:
        """Go on to a place beyond those that are known; the Hessians (F, q, q) of the folds there, without penalties,
        are formed.
        """
        self.ahead(place)
        F = self.points.shape[1]
        which = (np.full(F, place), np.arange(F))
        some = self.models.some(*which)
        hessians = np.array([some.hessian(f, self.points[place, f]) for f in range(F)])
        self.passes += F
        self.reach(place, _Maps(some, [some.factor(hessians[f], place, f) for f in range(F)]))
        return hessians

    def ahead(self, place: int) -> None:
        """Put the models of all folds where those before them lead: as many as would have led nearest to the last."""
        if not len(self.known):
            return
        last = self.points[self.known[-1]]
        counts = range(1, min(BEFORE, len(self.known) - 1) + 1)
        missed = [float(np.linalg.norm(self._led(self.known[:-1], int(self.known[-1]), k) - last)) for k in counts]
        best = 1 + int(np.argmin(missed)) if len(self.known) > BEFORE else len(self.known)
        self.points[place] = self._led(self.known, place, best)

    def _led(self, known: Integers, place: int, count: int) -> Floats:
        """Where the last of some known places lead (F, q)."""
        last = known[-count:]
        return np.einsum("k,kfq->fq", through(self.at[last], self.at[[place]], count)[0], self.points[last])

    def reach(self, place: int, maps: lbfgs_batched.Maps) -> float:
        """Work on the models of all folds at a place beyond those that are known; what the rule said before."""
        F = self.points.shape[1]
        self.minimise((np.full(F, place), np.arange(F)), maps)
        said = float(self.missed[place].max())
        self.missed[place], self.order[place] = np.inf, self.order.max() + 1
        self.known = np.append(self.known, place)
        return said

    def minimise(self, which: tuple[Integers, Integers], maps: lbfgs_batched.Maps) -> None:
        some = self.models.some(*which)
        solution = lbfgs_batched.minimise(some.objective, self.points[which], maps, some.rule, self.max_iter)
        self.points[which], self.counts[which] = solution.x, solution.iterations
        self.missed[which] = solution.measure
        self.passes += solution.passes + maps.passes

    def found(self) -> Paths:
        A, F = self.missed.shape
        params = np.swapaxes(self.points, 0, 1).reshape(F, A, self.models.outputs, -1)
        return Paths(params, self.counts.T, self.passes)


class _Maps:
    """The inverse Hessian of each model: that of all rows at first, then its own."""

    trusted: ClassVar[bool] = True

    def __init__(self, models: Models, factors: list[Factor]) -> None:
        self.models, self.factors, self.passes = models, stack_factors(factors), 0

    def __call__(self, which: Integers, g: Floats) -> Floats:
        return solve_each([self.factors[m] for m in which], g)

    def renew(self, which: Integers, x: Floats) -> bool:
        """Form the Hessian of some models at x."""
        for m, point in zip(which.tolist(), x, strict=True):
            hessian = self.models.hessian(m, point)
            self.factors[m] = self.models.factor(hessian, int(self.models.place[m]), int(self.models.fold[m]))
        self.passes += len(which)
        return True
