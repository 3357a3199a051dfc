"""Solutions of all folds along one grid of penalties, corrected in passes over the data that serve all of them.

Every fold f and penalty a of a cross-validation has a model, the minimum of L_f(x) + l1_fa ||w||_1 + l2_fa / 2 ||w||^2
(fold_losses.py). Four parts make a grid of 100 penalties in 5 folds cost as little as a few fits:

1. Expansion points. Gradients and Hessians are summed over disjoint cells of samples, so one pass at one point gives
   the quadratic models of all folds. The full-data iterate is followed along a coarse grid of penalties; at each, a
   point near the minimum of all folds becomes an expansion point, until the minima of the folds drift apart: from there
   each fold has expansion points of its own.
2. Quadratic models. At the coarse grid each is minimised with its penalties, by one factor, or under L1 exactly by
   feature-sign search.
3. Batched corrections. All models that are not converged take quasi-Newton steps on these Hessians in lockstep: one
   pass evaluates the gradients of all.
4. Interpolation. The penalties halfway between known ones follow, then those halfway between these. L2: a polynomial in
   the logarithm of the penalty through the nearest known solutions. It is accepted without a data pass only if what its
   last degree changes meets a tenth of the stopping criterion in the metric of the Hessian. L1, and where polynomials
   are not accepted: the minimum of the quadratic model on the line between two solutions, whose gradients are known at
   both ends. Under L1 it is accepted only if that at twice the spacing met the stopping criterion.

With many coefficients or many cells, Hessians of cells are too large. Under L2 the folds are then followed together
from strong to weak penalties: each coarse place starts from the polynomial through those before, and corrections take
place on blocks of the mean Hessian of all folds, one a class, in place of the Hessians of expansion points.

What is returned meets the stopping criterion, no more: a log loss on test samples differs from that of an exact fit by
the effect of `tol`.
"""

from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.linalg import blas

from tenfold.arrays import Floats, Integers
from tenfold.cross_validation.fold_losses import MAX_FOLDS, TINY, Cells, FoldLosses, Models, Paths, Sums
from tenfold.cross_validation.interpolation import coarse_places, halfway_places, polynomial_weights
from tenfold.data import MemoryRows
from tenfold.hessians import Factor, factor_each, factor_linear, solve_each
from tenfold.machine import one_blas_thread
from tenfold.penalties import L2
from tenfold.plans.glm_paths import regularise_blocks, sample_step
from tenfold.problems import Glm
from tenfold.solvers.quasi_newton_batched import (
    Batch,
    Curvature,
    DenseHessians,
    LimitedMemory,
    Measure,
    bfgs_update,
    minimise,
    minimise_quadratics,
)
from tenfold.stats.combined import combine
from tenfold.stats.derivatives import Params, derivatives, total_weight
from tenfold.stats.softmax import class_curvatures, sum_class_curvatures

MAX_CELLS = 16  # whose Hessians are kept: with 128 coefficients 2 MB
MAX_COEFFICIENTS = (
    128  # up to which factors of all Hessians cost less than more passes (2k x 200: blocks are twice as fast)
)
BATCH_NUMBERS = 1 << 22  # numbers of the Hessians that are worked on at once: 32 MB

# Distances are of logarithms of the penalty. Costs are `cost_` of 100 C x 5 folds on 200 x 5, 2k x 10, 2k x 50 samples
# and breast cancer: 14.5, 9.0, 4.1 and 11.4.
SPACING = 2.2  # of expansion points: at 1.6 their Hessians cost more, at 2.8 breast cancer takes more corrections
L1_SPACING = 1.3  # the same under L1 penalties, where lines between solutions lead less far

EXPANSION_DRIFT = 3e-3  # RMS change of the predictions up to which an iterate is as good as the full-data minimum
EXPANSION_RATIO = 0.3  # an expansion point may be so far from the full-data minimum, as a part of the folds' distance
SPLIT_DRIFT = 0.7  # where the minimum of a fold is farther from the expansion point, every fold gets its own
EXPANSION_PASSES, HALVINGS = 8, 12  # limits for one expansion point, and for one step to it

NODES = 10  # known solutions that determine an interpolated one; 6 cost 15 % more, 8 cost 3 % more
HESSIAN_NODES = 4  # expansion points that determine how Hessians change along a line
ACCEPT = 0.1  # measure of the error of one degree less up to which an interpolated solution is accepted; 0.3 missed tol
L1_ACCEPT = 0.7  # the same at the neighbours, where an L1 penalty leaves no degrees to compare
MIN_MEASURE = 1e-3  # smaller measures say nothing about the next places
MIN_DECREASE = 1e-18  # squared lengths, in predictions, below which a model has not moved
SOFTMAX_RIDGE = 1e-8  # of the diagonal, for coefficients that change all classes alike, which no loss notices

BLOCK_SPACING = 1.3  # of the places that are followed in order (benchmark: grid of 10 classes 2k x 64; digits)
BLOCK_NODES = 3  # places before that are extrapolated from, at most
BLOCK_PATIENCE = 3.0  # blocks are formed again when so many times their cost was spent on gradients
BLOCK_NUMBERS = 1 << 25  # numbers of the factors that are kept: 256 MB


def solve_batched(
    rows: MemoryRows,
    folds: Sequence[Integers],
    l1: Floats,
    l2: Floats,
    intercept: bool,
    *,
    cell_hessians: bool,
    outputs: int,
    shift: Floats,
    tol: float,
    max_iter: int,
) -> Paths | None:
    """The models of the samples of each fold, none of them twice, under penalties (F, A) that decrease along A;
    measured from `shift`, as the coefficients are. `cell_hessians` says whether Hessians of all coefficients pay. None
    where they are needed, and too large.
    """
    settings: dict[str, Any] = {"outputs": outputs, "shift": shift, "tol": tol}
    if cell_hessians and outputs * (rows.shape[1] + 1) <= MAX_COEFFICIENTS and len(folds) <= MAX_FOLDS:
        cells = Cells.of(rows.shape[0], folds)
        if len(cells.member) <= MAX_CELLS:
            losses = FoldLosses(rows, cells, l1, l2, intercept, **settings)
            return (_L1Expansions if l1.any() else _Expansions)(losses, max_iter).run()
    if l1.any():
        return None
    results = []
    for first in range(0, len(folds), MAX_FOLDS):
        some = slice(first, first + MAX_FOLDS)
        cells = Cells.of(rows.shape[0], folds[some])
        losses = FoldLosses(rows, cells, l1[some], l2[some], intercept, **settings)
        results.append(_Blocks(losses, max_iter).run())
    params, iterations, passes = zip(*results, strict=True)
    return Paths(np.concatenate(params), np.concatenate(iterations), sum(passes))


class _Search:
    """The models as far as they are known: points (A, F, q), and the measure (A, F) where interpolation led."""

    def __init__(self, losses: FoldLosses, max_iter: int) -> None:
        self.losses, self.max_iter = losses, max_iter
        self.accept = ACCEPT
        F, A = losses.l2.shape
        self.at = np.log((losses.l1 + losses.l2).mean(axis=0))
        self.points = np.zeros((A, F, len(losses.penalised)))
        self.measures, self.values = np.full((A, F), np.inf), np.zeros((A, F))
        self.iterations, self.passes = np.zeros((A, F), dtype=np.int32), 0
        self.known = np.zeros(0, dtype=np.intp)

    def run(self) -> Paths:
        """The coarse grid, then the places halfway, until all are known."""
        self.solve_coarse()
        chunk = max(1, BATCH_NUMBERS // (self.numbers * self.points.shape[1]))
        while len(stage := halfway_places(self.known)):
            known = self.known
            for first in range(0, len(stage), chunk):
                part = stage[first : first + chunk]
                self.interpolate(known, part)
                self.correct(part)
        A, F = self.measures.shape
        params = np.swapaxes(self.points, 0, 1).reshape(F, A, self.losses.outputs, -1)
        return Paths(params, self.iterations.T, self.passes)

    @property
    def numbers(self) -> int:
        """The numbers that a model of a stage takes."""
        return self.points.shape[2]

    def solve_coarse(self) -> None:
        raise NotImplementedError

    def measure(self, models: Models) -> Measure:
        """The stopping criterion."""
        return models.measure_exact

    def curvature(self, models: Models, place: Integers, fold: Integers) -> Curvature:
        """The curvature that models are corrected on."""
        raise NotImplementedError

    def interpolate(self, known: Integers, stage: Integers) -> None:
        """Polynomials through known solutions give those of a stage. What the last degree changes, d, is about the
        error of the one before; the Hessian times d is the gradient there.
        """
        at, m, F = self.at, len(stage), self.points.shape[1]
        weights, less = (polynomial_weights(at[known], at[stage], k) for k in (NODES, min(NODES, len(known)) - 1))
        self.points[stage] = np.einsum("ik,kfq->ifq", weights, self.points[known])
        self.values[stage] = weights @ self.values[known]
        d = np.einsum("ik,kfq->ifq", weights - less, self.points[known])
        models = Models(self.losses, np.repeat(stage, F), np.tile(np.arange(F), m))
        gradient = self.times_hessian(stage, d).reshape(m * F, -1) + models.l2 * d.reshape(m * F, -1)
        decrease = 0.5 * np.einsum("mq,mq->m", gradient, d.reshape(m * F, -1))
        measure = self.measure(models)(np.arange(m * F), self.values[stage].ravel(), gradient, decrease)
        # the same places twice say nothing, except where one of them is the new one
        count = np.count_nonzero(weights, axis=1)
        same = (count == np.count_nonzero(less, axis=1)) & (count > 1)
        self.measures[stage] = np.where(same[:, None], np.inf, measure.reshape(m, F))

    def times_hessian(self, stage: Integers, d: Floats) -> Floats:
        """Hessians of mean losses at places (m,) times d (m, F, q), about."""
        raise NotImplementedError

    def correct(self, stage: Integers) -> None:
        """Correct the models of a stage, except those that interpolation is exact enough for."""
        place, fold = (self.measures[stage] > self.accept).nonzero()
        chunk = max(1, BATCH_NUMBERS // self.points.shape[2])
        for first in range(0, len(place), chunk):
            which = place[first : first + chunk], fold[first : first + chunk]
            self.minimise(stage[which[0]], which[1])
        self.known = np.sort(np.append(self.known, stage))

    def minimise(self, place: Integers, fold: Integers) -> Batch:
        models, which = Models(self.losses, place, fold), (place, fold)
        curvature = self.curvature(models, place, fold)
        start = self.points[which]
        batch = minimise(models.objective, start, models.l1, curvature, self.measure(models), self.max_iter)
        self.points[which], self.iterations[which], self.measures[which] = batch.x, batch.iterations, batch.measure
        self.values[which] = batch.value
        self.passes += batch.passes
        return batch


class _Expansions(_Search):
    """Corrections on the Hessians (N, F, q, q) of folds at expansion points."""

    def __init__(self, losses: FoldLosses, max_iter: int) -> None:
        super().__init__(losses, max_iter)
        # where the gradients of losses are known, and whether they are
        self.evaluated, self.gradients = np.zeros((2, *self.points.shape))
        self.read = np.zeros(self.measures.shape, dtype=bool)
        self.slot = np.zeros(self.measures.shape, dtype=np.intp)  # of a model among those that were put last

    @property
    def numbers(self) -> int:
        return self.points.shape[2] ** 2

    def solve_coarse(self) -> None:
        self.nodes = coarse_places(self.at, L1_SPACING if self.losses.l1.any() else SPACING)
        quadratics, self.passes = expansion_points(self.losses, self.nodes)
        self.hessians = quadratics.hessians
        node, fold = (index.ravel() for index in np.indices((len(self.nodes), len(self.losses.l2))))
        self.put(self.nodes[node], fold, Quadratics(*(part[node, fold] for part in quadratics)), None)
        self.correct(self.nodes)

    def interpolate(self, known: Integers, stage: Integers) -> None:
        super().interpolate(known, stage)
        m, fold = (self.measures[stage] > self.accept).nonzero()
        if len(m):
            self.put(stage[m], fold, self.on_lines(stage[m], fold), None)

    def put(self, place: Integers, fold: Integers, quadratics: "Quadratics", start: Floats | None) -> None:
        """Put some models at the minima of quadratic models (M, ...)."""
        models = Models(self.losses, place, fold)
        self.factors = self._factors(models, quadratics.hessians)
        g = quadratics.gradients + models.l2 * quadratics.points
        self.points[place, fold] = quadratics.points - solve_each(self.factors, g)
        self.slot[place, fold] = np.arange(len(place))

    def curvature(self, models: Models, place: Integers, fold: Integers) -> Curvature:
        return LimitedMemory(_Factors(self, models, [self.factors[k] for k in self.slot[place, fold]]))

    def minimise(self, place: Integers, fold: Integers) -> Batch:
        batch, which = super().minimise(place, fold), (place, fold)
        l2 = self.losses.l2[fold, place][:, None] * self.losses.penalised
        self.read[which], self.evaluated[which] = True, batch.evaluated
        self.gradients[which] = batch.gradient - l2 * batch.evaluated
        return batch

    def _factors(self, models: Models, hessians: Floats) -> list[Factor]:
        return factor_each(with_ridge(hessians, models.l2), self.losses.shift)

    def hessians_at(self, place: Integers, fold: Integers) -> Floats:
        """Between those of the expansion points before and after some places."""
        node = np.searchsorted(self.nodes, place)
        before = np.maximum(node - 1, 0)
        part = _fraction(*(self.at[k] for k in (self.nodes[before], place, self.nodes[node])))[:, None, None]
        H = self.hessians[before, fold]
        return np.asarray(H + part * (self.hessians[node, fold] - H))

    def times_hessian(self, stage: Integers, d: Floats) -> Floats:
        after, product = np.searchsorted(self.nodes, stage), np.empty_like(d)
        for k in np.unique(after):  # those of the node before, whose penalty is stronger: mostly the larger ones
            product[after == k] = np.einsum("fpq,mfq->mfp", self.hessians[max(k - 1, 0)], d[after == k], optimize=True)
        return product

    def on_lines(self, place: Integers, fold: Integers) -> "Quadratics":
        """Quadratic models (M, ...) on the lines between the points of the same fold where gradients are known.

        On the line from x to x + d, where gradients change by y, they change faster at the end than at the start: by
        what the Hessians of expansion points say.
        """
        t, left, right = self.at, np.zeros_like(place), np.zeros_like(place)
        for f in np.unique(fold):
            some, read = fold == f, np.flatnonzero(self.read[:, f])
            after = np.searchsorted(read, place[some])
            left[some], right[some] = read[after - 1], read[after]
        s = _fraction(t[left], t[place], t[right])[:, None]
        d, y = (part[right, fold] - part[left, fold] for part in (self.evaluated, self.gradients))
        weights = polynomial_weights(t[self.nodes], t, HESSIAN_NODES)
        change, faster = weights[right] - weights[left], np.zeros_like(d)  # of the Hessians along the line
        for k, hessian in enumerate(self.hessians):
            near = np.flatnonzero(change[:, k])
            faster[near] += change[near, k, None] * np.einsum("mpq,mq->mp", hessian[fold[near]], d[near])
        return Quadratics(
            self.evaluated[left, fold] + s * d,
            self.gradients[left, fold] + s * y - 0.5 * s * (1.0 - s) * faster,
            bfgs_update(self.hessians_at(place, fold), d, y + (s - 0.5) * faster),
        )

    def form(self, models: Models, which: Integers, x: Floats) -> Floats:
        """The Hessians of some models at their points, without penalties."""
        self.passes += len(which)
        return np.array([self.losses.hessian(int(models.fold[m]), at) for m, at in zip(which, x, strict=True)])


class _Factors:
    """The inverse Hessian of each model: from expansion points at first, then at its own point."""

    exact: ClassVar[bool] = True

    def __init__(self, search: _Expansions, models: Models, factors: list[Factor]) -> None:
        self.search, self.models, self.factors = search, models, factors

    def __call__(self, which: Integers, g: Floats) -> Floats:
        return solve_each([self.factors[m] for m in which], g)

    def renew(self, which: Integers, x: Floats) -> bool:
        hessians = self.search.form(self.models, which, x)
        for m, hessian in zip(which.tolist(), hessians, strict=True):
            self.factors[m] = factor_linear(hessian + np.diag(self.models.l2[m]), self.search.losses.shift)
        return True


class _L1Expansions(_Expansions):
    """The same under L1 penalties, where solutions are nearly lines between places, with kinks where signs change."""

    def __init__(self, losses: FoldLosses, max_iter: int) -> None:
        super().__init__(losses, max_iter)
        self.accept, self.moved = L1_ACCEPT, np.zeros(self.measures.shape)
        self.stage_of = np.zeros(len(self.at), dtype=np.intp)  # in which stage a place was interpolated

    def solve_coarse(self) -> None:
        super().solve_coarse()
        # the measures of quadratic models say nothing about lines, unless nothing moves
        still = self.moved[self.nodes] <= MIN_DECREASE
        self.measures[self.nodes] = np.where(still, self.measures[self.nodes], np.inf)

    def interpolate(self, known: Integers, stage: Integers) -> None:
        m, fold = (index.ravel() for index in np.indices((len(stage), self.points.shape[1])))
        place, after = stage[m], np.searchsorted(known, stage)
        left, right = known[after - 1], known[after]
        self.put(place, fold, self.on_lines(place, fold), self.points[left[m], fold])
        # as at the neighbours, or more where the quadratic model moved farther from the line than there
        of_left, of_right = (
            np.maximum(self.measures[k], MIN_MEASURE) * np.maximum(self.moved[stage] / self.moved[k], 1.0)
            for k in (left, right)
        )
        later = (self.stage_of[left] - self.stage_of[right])[:, None]
        of_later = np.where(later > 0, of_left, of_right)
        self.measures[stage] = np.where(later == 0, np.maximum(of_left, of_right), of_later)
        self.stage_of[stage] = self.stage_of.max() + 1

    def put(self, place: Integers, fold: Integers, quadratics: "Quadratics", start: Floats | None) -> None:
        models, points = Models(self.losses, place, fold), quadratics.points
        x = points if start is None else start
        H = softmax_regular(quadratics.hessians, self.losses.outputs)
        g = quadratics.gradients + np.einsum("mpq,mq->mp", H, x - points) + models.l2 * x
        self.prepared = with_ridge(H, models.l2)
        self.points[place, fold] = minimise_quadratics(self.prepared, g, models.l1, x)
        d = self.points[place, fold] - points
        moved = np.einsum("mp,mpq,mq->m", d, quadratics.hessians, d)
        self.moved[place, fold] = np.maximum(moved, MIN_DECREASE)
        self.slot[place, fold] = np.arange(len(place))

    def curvature(self, models: Models, place: Integers, fold: Integers) -> Curvature:
        def form(which: Integers, x: Floats) -> Floats:
            return with_ridge(softmax_regular(self.form(models, which, x), self.losses.outputs), models.l2[which])

        return DenseHessians(self.prepared[self.slot[place, fold]], form)


class _Blocks(_Search):
    """Corrections on blocks of the mean Hessian of all folds, one a class, from a sample where samples are many."""

    def __init__(self, losses: FoldLosses, max_iter: int) -> None:
        super().__init__(losses, max_iter)
        rows, member = losses.rows, losses.member
        assert rows.group is not None
        self.sample = rows.subsample(sample_step(rows))
        assert self.sample.group is not None
        in_cells = np.bincount(self.sample.group, weights=self.sample.weight, minlength=len(member))
        self.weight = float(np.sum(in_cells @ member))
        # the cost of blocks, and of a gradient of a model of each fold, in gradients of one model on all samples
        self.fold_cost = np.bincount(rows.group, minlength=len(member)) @ member / rows.shape[0]
        self.block_cost = 0.25 * self.sample.entries / rows.shape[0] + 0.5 * member.shape[1]
        self.nodes: list[int] = []
        self.factors: list[list[Factor]] = []
        self.largest = self._form(self.points[0])  # curvatures are largest without weights

    def solve_coarse(self) -> None:
        blocks, spent = self.largest, 0.0
        for place in coarse_places(self.at, BLOCK_SPACING).tolist():
            self._extrapolate(place)
            if spent >= BLOCK_PATIENCE * self.block_cost:
                blocks, spent = self._form(self.points[place]), 0.0
            factors = [factor_linear(with_ridge(b[None], self._ridge(place))[0], self.losses.shift) for b in blocks]
            self.nodes.append(place)
            self.factors.append(factors * (self.losses.outputs // len(factors)))
            if len(self.nodes) > 2 and len(self.nodes) * blocks.size > BLOCK_NUMBERS:
                del self.nodes[-2::-2], self.factors[-2::-2]
            self.correct(np.array([place]))
            spent += float(self.fold_cost @ (self.iterations[place] + 1))

    def _ridge(self, place: int) -> Floats:
        width = len(self.losses.shift) + 1
        return self.losses.l2[:, place].mean() * self.losses.penalised[None, :width]

    def _extrapolate(self, place: int) -> None:
        """Start the models of a place where those before it lead: as many as would have led nearest to the last."""
        if not len(self.known):
            return
        last = self.points[self.known[-1]]
        counts = range(1, min(BLOCK_NODES, len(self.known) - 1) + 1)
        errors = [np.linalg.norm(self._led(self.known[:-1], int(self.known[-1]), k) - last) for k in counts]
        best = 1 + int(np.argmin(errors)) if len(self.known) > BLOCK_NODES else len(self.known)
        self.points[place] = self._led(self.known, place, best)

    def _led(self, known: Integers, place: int, count: int) -> Floats:
        last = known[-count:]
        weights = polynomial_weights(self.at[last], self.at[[place]], count)[0]
        return np.einsum("k,kfq->fq", weights, self.points[last])

    def _form(self, points: Floats) -> Floats:
        """The blocks (K or 1, p + 1, p + 1) of the mean Hessian of all folds at points (F, q)."""
        self.passes += 1
        losses = self.losses
        by_class = points.reshape(len(points), losses.outputs, -1)
        params = Params(np.ascontiguousarray(by_class[:, :, :-1]), np.ascontiguousarray(by_class[:, :, -1]))
        if losses.outputs > 1 and points.any():
            blocks = self.sample.fold(sum_class_curvatures(params, losses.member, losses.shift)).sum / self.weight
        else:
            centre = Params(params.coef.mean(axis=0), params.intercept.mean(axis=0))
            lift = (
                class_curvatures(centre, losses.shift)
                if losses.outputs > 1
                else derivatives(losses.loss, centre, 2, losses.shift)
            )
            sums, weight = self.sample.fold(combine([lift, total_weight])).parts
            blocks = (sums.sum if losses.outputs > 1 else sums.hessian[None]) / weight.sum
        return regularise_blocks(Glm(losses.loss, L2(0.0), losses.intercept), blocks)

    def curvature(self, models: Models, place: Integers, fold: Integers) -> Curvature:
        # between the places that were followed, the next, whose penalty is weaker
        return LimitedMemory(_BlockInverse(self, models, np.searchsorted(self.nodes, place)))

    def measure(self, models: Models) -> Measure:
        return models.measure_rough

    def times_hessian(self, stage: Integers, d: Floats) -> Floats:
        by_class = d.reshape(-1, self.losses.outputs, len(self.losses.shift) + 1)
        if len(self.largest) == 1:  # one product for all models and classes
            flat = by_class.reshape(-1, by_class.shape[2])
            with one_blas_thread:
                return np.asarray(blas.dgemm(1.0, self.largest[0], flat.T).T).reshape(d.shape)
        return np.einsum("kpq,mkq->mkp", self.largest, by_class, optimize=True).reshape(d.shape)


class _BlockInverse:
    """Inverse blocks, one a class, for each model those of a node; of two classes at last its own inverse Hessian."""

    exact: ClassVar[bool] = False

    def __init__(self, search: _Blocks, models: Models, node: Integers) -> None:
        self.search, self.models, self.node = search, models, node
        self.own: dict[int, Factor] = {}

    def __call__(self, which: Integers, g: Floats) -> Floats:
        outputs, node = self.search.losses.outputs, self.node[which]
        by_class = g.reshape(len(which), outputs, -1)
        steps = np.empty_like(by_class)
        for k in np.unique(node):
            some = node == k
            for c, factor in enumerate(self.search.factors[k]):
                steps[some, c] = factor.solve(by_class[some, c])
        for k, m in enumerate(which.tolist() if self.own else ()):
            if m in self.own:
                steps[k] = self.own[m].solve(by_class[k])
        if outputs > 1:  # what all classes have in common changes no prediction
            steps -= steps.mean(axis=1, keepdims=True)
        return steps.reshape(g.shape)

    def renew(self, which: Integers, x: Floats) -> bool:
        losses, search = self.search.losses, self.search
        if losses.outputs > 1:  # Hessians of all classes are too large
            return False
        search.passes += len(which)
        for m, point in zip(which.tolist(), x, strict=True):
            hessian = losses.hessian(int(self.models.fold[m]), point)
            self.own[m] = factor_linear(hessian + np.diag(self.models.l2[m]), losses.shift)
        return True


class Quadratics(NamedTuple):
    """Quadratic models of mean losses without penalties at points (..., q): gradients and Hessians (..., q, q)."""

    points: Floats
    gradients: Floats
    hessians: Floats


class Expansion(NamedTuple):
    """The mean loss of some cells at a point, with its derivatives."""

    losses: FoldLosses
    cells: Integers
    x: Floats
    sums: Sums
    value: float
    gradient: Floats
    hessian: Floats

    @classmethod
    def at(cls, losses: FoldLosses, cells: Integers, x: Floats, sums: Sums | None = None) -> "Expansion":
        sums = losses.sums(x, cells) if sums is None else sums
        weight = float(sums.weight.sum())
        gradient, hessian = np.sum(sums.gradient, axis=0) / weight, np.sum(sums.hessian, axis=0) / weight
        return cls(losses, cells, x, sums, float(sums.value.sum()) / weight, gradient, hessian)

    def of_fold(self, member: Floats) -> "Expansion":
        """That of the cells of a fold, from the sums that are known."""
        inside = np.flatnonzero(member[self.cells])
        return self.at(self.losses, self.cells[inside], self.x, Sums(*(part[inside] for part in self.sums)))

    def step(self, l1: float, l2: float) -> Floats:
        """The step to the minimum of the quadratic model with penalties."""
        losses, ridge = self.losses, l2 * self.losses.penalised
        gradient = self.gradient + ridge * self.x
        if l1 == 0.0:
            return -factor_linear(self.hessian + np.diag(ridge), losses.shift).solve(gradient)
        H = softmax_regular(self.hessian[None], losses.outputs) + np.diag(ridge)
        limits = (l1 * losses.penalised)[None]
        return minimise_quadratics(H, gradient[None], limits, self.x[None])[0] - self.x

    def drift(self, d: Floats) -> float:
        """The RMS change of the predictions along d, in the metric of the curvatures: predictions that are sure of
        their class may change as they like.
        """
        curvature = float(np.sum(self.hessian.diagonal(), where=self.losses.penalised == 0.0))
        return float(np.sqrt(max(float(d @ self.hessian @ d), 0.0) / max(curvature, TINY)))

    def towards(self, d: Floats, l1: float, l2: float) -> tuple["Expansion", int]:
        """That at the first of x + d, x + d/2, ... that does not raise the objective, and the passes it took."""
        before = self._objective(l1, l2)
        for count in range(HALVINGS):
            there = self.at(self.losses, self.cells, self.x + 0.5**count * d)
            if there._objective(l1, l2) <= before:
                return there, count + 1
        return self, HALVINGS

    def _objective(self, l1: float, l2: float) -> float:
        w = self.losses.penalised * self.x
        return self.value + l1 * float(np.sum(np.abs(w))) + 0.5 * l2 * float(np.sum(w**2))


def expansion_points(losses: FoldLosses, places: Integers) -> tuple[Quadratics, int]:
    """Quadratic models (N, F, ...) of all folds at some places of the path, and the passes that they took."""
    here = Expansion.at(losses, np.arange(len(losses.member)), np.zeros(len(losses.penalised)))
    nodes, passes, split = [], 1, False
    folds: list[Expansion] = []
    for place in places.tolist():
        l1, l2 = losses.l1[:, place], losses.l2[:, place]
        if split:
            moved = [_expand_fold(one, *each) for one, *each in zip(folds, l1, l2, strict=True)]
            folds = [one for one, _ in moved]
            passes += sum(count for _, count in moved)
        else:
            here, folds, distance, count = _expand_all(here, l1, l2)
            passes += count
            split = distance > SPLIT_DRIFT
        nodes.append(
            Quadratics(*map(np.array, zip(*((one.x, one.gradient, one.hessian) for one in folds), strict=True)))
        )
    return Quadratics(*map(np.array, zip(*nodes, strict=True))), passes


def _expand_all(here: Expansion, l1: Floats, l2: Floats) -> tuple[Expansion, list[Expansion], float, int]:
    """An expansion point of all samples near the minimum under the mean penalties, that of each fold, the distance of
    the farthest minimum of a fold, and the passes it took.
    """
    passes = 0
    penalty = float(l1.mean()), float(l2.mean())
    while True:
        d = here.step(*penalty)
        drift = here.drift(d)
        if passes or drift <= EXPANSION_DRIFT:  # otherwise the minima of the folds do not matter yet
            folds = [here.of_fold(member) for member in here.losses.member.T]
            away = [fold.step(*each) for fold, *each in zip(folds, l1, l2, strict=True)]
            enough = max(EXPANSION_DRIFT, EXPANSION_RATIO * max(here.drift(step - d) for step in away))
            if drift <= enough or passes >= EXPANSION_PASSES:
                return here, folds, max(map(here.drift, away)), passes
        here, count = here.towards(d, *penalty)
        passes += count


def _expand_fold(here: Expansion, l1: float, l2: float) -> tuple[Expansion, int]:
    """An expansion point of one fold near its minimum, and the passes it took."""
    passes = 0
    enough = EXPANSION_DRIFT
    while here.drift(d := here.step(l1, l2)) > enough and passes < EXPANSION_PASSES:
        here, count = here.towards(d, l1, l2)
        passes, enough = passes + count, SPLIT_DRIFT * EXPANSION_RATIO
    return here, passes


def softmax_regular(hessians: Floats, outputs: int) -> Floats:
    """Hessians (m, q, q) that are positive also where coefficients of all classes change alike."""
    if outputs == 1:
        return hessians
    q = hessians.shape[1]
    H = hessians + SOFTMAX_RIDGE * np.einsum("mii->mi", hessians)[:, :, None] * np.eye(q)
    intercepts = np.arange(1, outputs + 1) * (q // outputs) - 1
    corner = np.ix_(np.arange(len(H)), intercepts, intercepts)
    H[corner] += np.einsum("mkk->m", H[corner])[:, None, None] / outputs**2
    return H


def with_ridge(hessians: Floats, l2: Floats) -> Floats:
    """Hessians (m, q, q) with penalties (m, q) on their diagonals."""
    H, each = hessians.copy(), np.arange(hessians.shape[1])
    H[:, each, each] += l2
    return H


def _fraction(start: Floats, here: Floats, end: Floats) -> Floats:
    """The fraction of the distance from start to end; zero where there is none."""
    length = end - start
    return (here - start) / np.where(length == 0.0, 1.0, length)
