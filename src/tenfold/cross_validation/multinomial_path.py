"""The models of all folds along the penalties, where a Hessian of all classes would be too large.

The path of every fold is a smooth curve in the logarithm of the penalty. All folds are followed together from strong
penalties to weak ones, by strides: a model starts where those before it lead, and a stride is as long as this is near.
Then come the penalties between, halfway first, from where the curve through the models on both sides leads: a model
goes unread only where a curve twice as coarse led to one that met the rule.

Models go on in lockstep, on top of blocks of the Hessian, one a class, of the models of all folds in the mean. They
serve the next penalties, too, until so much was read since that it is time to form them again.
"""

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from tenfold.arrays import Floats, Integers
from tenfold.cross_validation.batched_objective import ROUNDING, TINY, Models, Paths
from tenfold.cross_validation.interpolation import between
from tenfold.cross_validation.logistic_batched import BEFORE, MOST_FOLDS, Search
from tenfold.cross_validation.quadratic_models import Cells, Setting
from tenfold.data import MemoryRows
from tenfold.hessians import Factor, factor_linear
from tenfold.judge.certificate import RULES
from tenfold.losses.classification import Softmax
from tenfold.penalties import L2
from tenfold.plans.glm_paths import regular, sample_step
from tenfold.problems import Glm
from tenfold.stats.combined import combine
from tenfold.stats.derivatives import Params, total_weight
from tenfold.stats.softmax import class_curvatures, sum_class_curvatures

STRIDE, SHORTER, LONGEST = 1.0, 0.5, 1.6
"""The logarithm of the penalty changes so much in the first strides, by half of the stride before at least, and at most
so much.
"""

FAR, POWER = 3e3, 2 * BEFORE
"""What the rule says where a model starts after a good stride; it grows by such a power of its length."""

SHARP, SMOOTH = 1.5, 1e-2
"""Models that others are interpolated from are so many times nearer than the rule asks for, and gain no more than such
a part of their value: where it is small, curvatures change with it.
"""

PATIENCE = 3.0
"""Blocks are formed again when so many times what they take was read since."""

MOST_NUMBERS = 1 << 25
"""Of blocks with more numbers, some are given up."""


def by_strides(
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
    """The models of several classes of the rows of each fold, no row twice, under L2 penalties of `strengths` (F, A),
    which fall along A; measured from `shift`, as the coefficients are.
    """
    setting = Setting.of(Glm(Softmax(), L2(0.0), intercept), shift, outputs, [[rows].copy])
    found = []
    for first in range(0, len(folds), MOST_FOLDS):
        some = slice(first, first + MOST_FOLDS)
        models = _Models(setting, rows, Cells.of(rows.shape[0], folds[some]), strengths[some], tol)
        found.append(_along(Search(models, max_iter), _Nodes(models)))
    params, counts, passes = zip(*found, strict=True)
    return Paths(np.concatenate(params), np.concatenate(counts), sum(passes))


def _along(search: Search, nodes: "_Nodes") -> Paths:
    place, stride = 0, STRIDE
    while True:
        search.ahead(place)
        said = search.reach(place, nodes.at(place, search.points[place]))
        nodes.read += float(nodes.share @ (search.counts[place] + 1))
        if place == len(search.at) - 1:
            break
        if len(search.known) > BEFORE:
            stride = min(LONGEST, stride * max(SHORTER, (FAR / max(said, 1.0)) ** (1.0 / POWER)))
        # the last two are as long as each other
        left = search.at[place] - search.at[-1]
        within = search.at[place] - search.at <= (0.5 * left if stride < left < 2.0 * stride else stride)
        place = max(int(np.flatnonzero(within)[-1]), place + 1)
    while len(stage := between(search.known)):
        search.inherit(stage)
        search.on_curve(stage)
        search.settle(stage, nodes.between)
    found = search.found()
    return found._replace(passes=found.passes + nodes.passes)


class _Models(Models):
    """Objectives under the rule of single fits, by the judge's bound: blocks say little of what may be gained."""

    met = 1.0

    @np.errstate(over="ignore")  # far from the end, in units that are extreme, infinity is an answer
    def rule(self, which: Integers, value: Floats, gradient: Floats, fall: Floats) -> Floats:
        weights = gradient.reshape(len(which), self.outputs, -1)[:, :, :-1]
        bound = np.einsum("mkp,mkp->m", weights, weights) / (2.0 * self.strength[which]) + fall
        allowed = np.minimum(0.8 * RULES["gap"].tol * np.log(self.outputs), SMOOTH * value)
        wanted = np.maximum(np.max(np.abs(gradient), axis=1) / self.tol, bound / np.maximum(allowed, TINY))
        return np.asarray(SHARP * np.minimum(wanted, np.abs(fall) / ROUNDING))


class _Nodes:
    """The inverses of blocks at some places of the path."""

    def __init__(self, models: _Models) -> None:
        rows, share = models.rows, models.share
        self.models, self.sample = models, rows.subsample(sample_step(rows))
        assert rows.group is not None
        assert self.sample.group is not None
        cells = np.bincount(self.sample.group, weights=self.sample.weight, minlength=len(share))
        self.weight = float(np.sum(cells @ share))
        self.share = np.bincount(rows.group, minlength=len(share)) @ share / rows.shape[0]
        # forth and back take two products an entry and class, a block half a Gram matrix
        self.price = 0.25 * self.sample.entries / rows.shape[0] + 0.5 * len(models.strengths)
        self.read, self.passes = 0.0, 1
        zero = Params(np.zeros((models.outputs, rows.shape[1])), np.zeros(models.outputs))
        found, weight = self.sample.fold(combine([class_curvatures(zero, models.shift), total_weight])).parts
        self.blocks = regular(models.setting.problem, found.sum / weight.sum)
        self.places: list[int] = []
        self.factors: list[list[Factor]] = []

    def at(self, place: int, points: Floats) -> "_Maps":
        """The maps of all folds at a place, where they start from points (F, q)."""
        models = self.models
        if self.read >= PATIENCE * self.price:
            self._form(points)
        blocks, each = self.blocks.copy(), np.arange(len(models.shift))
        blocks[:, each, each] += models.strengths[:, place].mean()
        few = [factor_linear(block, models.shift) for block in blocks]
        self.places.append(place)
        self.factors.append(few * (models.outputs // len(few)))
        if len(self.places) > 2 and len(self.places) * self.blocks.size > MOST_NUMBERS:
            del self.places[-2::-2], self.factors[-2::-2]
        return _Maps(models.outputs, self.factors[-1:], np.zeros(len(points), dtype=np.intp))

    def _form(self, points: Floats) -> None:
        """Form the blocks of all folds in the mean, where they are."""
        models, by_class = self.models, points.reshape(len(points), self.models.outputs, -1)
        params = Params(np.ascontiguousarray(by_class[:, :, :-1]), np.ascontiguousarray(by_class[:, :, -1]))
        found = self.sample.fold(sum_class_curvatures(params, models.share, models.shift))
        self.blocks = regular(models.setting.problem, found.sum / self.weight)
        self.passes += 1
        self.read = 0.0

    def between(self, place: Integers, fold: Integers) -> "_Maps":
        """The maps of models between nodes: those of a node behind them, whose penalty is weaker."""
        return _Maps(self.models.outputs, self.factors, np.searchsorted(self.places, place))


class _Maps:
    """Inverse blocks, one a class, for each model: which of several."""

    trusted: ClassVar[bool] = False

    def __init__(self, outputs: int, factors: list[list[Factor]], number: Integers) -> None:
        self.outputs, self.factors, self.number, self.passes = outputs, factors, number, 0

    def __call__(self, which: Integers, g: Floats) -> Floats:
        by_class, number = g.reshape(len(which), self.outputs, -1), self.number[which]
        found = np.empty_like(by_class)
        for node in np.unique(number):
            own = number == node
            for k, factor in enumerate(self.factors[node]):
                found[own, k] = factor.solve(by_class[own, k])
        return (found - found.mean(axis=1, keepdims=True)).reshape(g.shape)

    def renew(self, which: Integers, x: Floats) -> bool:
        """Blocks are formed where a stride begins."""
        return False
