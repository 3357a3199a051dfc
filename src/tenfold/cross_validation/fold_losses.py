"""Mean losses of the folds of a cross-validation: of many models in one pass, and with Hessians cell by cell.

Folds are unions of disjoint cells, samples that belong to the same folds. Losses, gradients and Hessians at one point
are summed cell by cell, so that a pass over all samples gives those of every fold; no sample is copied for a fold.
The objective of fold f at place a of the path is L_f(x) + l1_fa ||w||_1 + l2_fa / 2 ||w||^2, L_f the weighted mean loss
and x = (w, b) for one output or (w_1, b_1, w_2, b_2, ...) for several, measured from `shift`.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from tenfold.arrays import Floats, Integers, contiguous
from tenfold.data import MemoryRows
from tenfold.judge.certificate import RULES
from tenfold.losses.classification import Logistic, Softmax
from tenfold.stats.batched_loss import model_losses
from tenfold.stats.derivatives import Params, derivatives

MAX_FOLDS = 63  # a cell is found by the bits of the folds that it belongs to
ROUNDING = 1e-26  # an expected decrease below this is rounding, whatever the units of the features
CHUNK_ENTRIES = 1 << 18  # entries of the samples of a cell that are gathered at a time
KEPT_ENTRIES = 1 << 19  # with so few entries in all, the samples of cells stay gathered: a second copy of the data
TINY = float(np.finfo(np.float64).tiny)

Chunks = Callable[[], Iterable[MemoryRows]]
"""The samples of a cell, chunk by chunk, from the first."""


class Paths(NamedTuple):
    """Coefficients (F, A, K, p + 1) of all folds and penalties, the steps of each model, and passes over the data."""

    params: Floats
    iterations: Integers
    passes: int


class Cells(NamedTuple):
    """The cell (n,) of each sample, and which folds (C, F) it belongs to, as 0 and 1."""

    number: Integers
    member: Floats

    @classmethod
    def of(cls, n: int, folds: Sequence[Integers]) -> "Cells":
        """Of at most `MAX_FOLDS` folds of n samples."""
        bits = np.zeros(n, dtype=np.int64)
        for fold, indices in enumerate(folds):
            bits[indices] |= 1 << fold
        kinds = np.unique(bits)
        number = np.searchsorted(kinds, bits).astype(np.int32)  # takes less memory than the inverse of np.unique
        return cls(number, ((kinds[:, None] >> np.arange(len(folds))) & 1).astype(np.float64))

    def chunks(self, rows: MemoryRows) -> list[Chunks]:
        """The samples of every cell."""
        each = [np.flatnonzero(self.number == cell) for cell in range(len(self.member))]
        if rows.entries <= KEPT_ENTRIES:
            return [[_select(rows, indices)].copy for indices in each]
        return [lambda indices=indices: _in_chunks(rows, indices) for indices in each]  # type: ignore[misc]


def _in_chunks(rows: MemoryRows, indices: Integers) -> Iterator[MemoryRows]:
    most = max(1, CHUNK_ENTRIES // max(1, rows.entries // max(1, rows.shape[0])))
    for first in range(0, len(indices), most):
        yield _select(rows, indices[first : first + most])


def _select(rows: MemoryRows, indices: Integers) -> MemoryRows:
    weight = None if rows.weight is None else rows.weight[indices]
    return MemoryRows(contiguous(rows.X[indices]), rows.y[indices], weight)


class Sums(NamedTuple):
    """Sums over samples, cell by cell: weights (C,), losses (C,), gradients (C, q) and Hessians (C, q, q)."""

    weight: Floats
    value: Floats
    gradient: Floats
    hessian: Floats


class FoldLosses:
    """The objectives of all folds under penalties l1 and l2 (F, A) that decrease along A."""

    def __init__(
        self,
        rows: MemoryRows,
        cells: Cells,
        l1: Floats,
        l2: Floats,
        intercept: bool,
        *,
        outputs: int,
        shift: Floats,
        tol: float,
    ) -> None:
        self.rows, self.member = replace(rows, group=cells.number), cells.member
        self.weight = np.bincount(cells.number, weights=rows.weight, minlength=len(self.member)) @ self.member
        self.l1, self.l2, self.intercept = l1, l2, intercept
        self.outputs, self.shift, self.tol = outputs, shift, max(tol, TINY)
        self.loss = Softmax() if outputs > 1 else Logistic()
        self.penalised = np.tile(np.append(np.ones(len(shift)), 0.0), outputs)
        self.cells = cells

    @cached_property
    def chunks(self) -> list[Chunks]:
        return self.cells.chunks(self.rows)

    def sums(self, x: Floats, cells: Integers) -> Sums:
        """The sums of some cells at x."""
        return self._sums(x, [self.chunks[cell] for cell in cells])

    def hessian(self, fold: int, x: Floats) -> Floats:
        """The Hessian of the mean loss of a fold, from a pass over its samples."""
        assert self.rows.group is not None
        indices = np.flatnonzero(self.member[self.rows.group, fold])
        sums = self._sums(x, [lambda: _in_chunks(self.rows, indices)])
        return np.asarray(sums.hessian[0] / sums.weight[0])

    def _sums(self, x: Floats, parts: list[Chunks]) -> Sums:
        q = len(x)
        sums = Sums(*(np.zeros((len(parts), *shape)) for shape in ((), (), (q,), (q, q))))
        by_class = x.reshape(self.outputs, -1)
        params = Params(np.ascontiguousarray(by_class[:, :-1]), np.ascontiguousarray(by_class[:, -1]))
        lift = derivatives(self.loss, params, 2, self.shift)
        for k, chunks in enumerate(parts):
            for chunk in chunks():
                part = chunk.fold(lift)
                assert part.gradient is not None
                sums.weight[k] += part.weight
                sums.value[k] += part.value.sum()
                sums.gradient[k] += np.column_stack([part.gradient, part.slope]).ravel()
                sums.hessian[k] += part.hessian
                del chunk  # before the next is gathered
        if not self.intercept:
            fixed = np.flatnonzero(self.penalised == 0.0)
            sums.gradient[:, fixed] = sums.hessian[:, fixed, :] = sums.hessian[:, :, fixed] = 0.0
            sums.hessian[:, fixed, fixed] = sums.weight[:, None]
        return sums


class Models:
    """The models of some folds (M,) at some places (M,) of the path, with their penalties l1 and l2 (M, q)."""

    def __init__(self, losses: FoldLosses, place: Integers, fold: Integers) -> None:
        self.losses, self.fold = losses, fold
        self.strength = losses.l2[fold, place]
        self.l1 = losses.l1[fold, place][:, None] * losses.penalised
        self.l2 = self.strength[:, None] * losses.penalised

    def objective(self, which: Integers, x: Floats) -> tuple[Floats, Floats]:
        """Values and gradients of the smooth part of some models: one pass for all."""
        losses, fold = self.losses, self.fold[which]
        by_class = x.reshape(len(which), losses.outputs, -1)
        params = Params(np.ascontiguousarray(by_class[:, :, :-1]), np.ascontiguousarray(by_class[:, :, -1]))
        sums = losses.rows.fold(model_losses(params, np.ascontiguousarray(losses.member[:, fold]), 1, losses.shift))
        assert sums.gradient is not None
        slope = sums.slope if losses.intercept else 0.0 * sums.slope
        total, ridge = losses.weight[fold], self.l2[which] * x
        gradient = np.concatenate([sums.gradient, slope[:, :, None]], axis=2).reshape(x.shape)
        return sums.value / total + 0.5 * np.einsum("mq,mq->m", ridge, x), gradient / total[:, None] + ridge

    @np.errstate(over="ignore")  # far from the minimum, in extreme units, infinity is an answer
    def measure_exact(self, which: Integers, value: Floats, gradient: Floats, decrease: Floats) -> Floats:
        """The stopping criterion of `LogisticRegression` without its certificate, which nobody asks for here: no entry
        of the gradient above `tol`, and an expected decrease of at most a millionth of the objective.
        """
        allowed = RULES["gap"].tol * np.minimum(value, np.log(max(self.losses.outputs, 2)))
        return self._largest(gradient, decrease, decrease / np.maximum(allowed, TINY))

    @np.errstate(over="ignore")  # far from the minimum, in extreme units, infinity is an answer
    def measure_rough(self, which: Integers, value: Floats, gradient: Floats, decrease: Floats) -> Floats:
        """The same where curvatures are rough: ||gradient||^2 / (2 l2) bounds the decrease, a part of the objective. A
        margin of 1.5 leaves room for models that are interpolated from these.
        """
        weights = self.losses.penalised * gradient
        bound = np.einsum("mq,mq->m", weights, weights) / (2.0 * self.strength[which]) + decrease
        allowed = np.minimum(0.8 * RULES["gap"].tol * np.log(max(self.losses.outputs, 2)), 1e-2 * value)
        return 1.5 * self._largest(gradient, decrease, bound / np.maximum(allowed, TINY))

    def _largest(self, gradient: Floats, decrease: Floats, by_decrease: Floats) -> Floats:
        wanted = np.maximum(np.max(np.abs(gradient), axis=1) / self.losses.tol, by_decrease)
        return np.asarray(np.minimum(wanted, np.abs(decrease) / ROUNDING))
