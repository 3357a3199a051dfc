"""Exact cross-validation of a ridge grid for any splitter, equal to refitting, without refitting.

The second moments of disjoint folds come from one pass; those of each training set by merging all other folds, never
by subtraction. Overlapping splits use cells: samples with the same membership in all training sets. Wide data use one
n x n matrix of inner products.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from typing import Any, NamedTuple, Self

import numpy as np

from tenfold.arrays import Floats, Integers, on_host, take_rows
from tenfold.cross_validation.ridge_spectrum import Spectrum, intercepts, tall, wide
from tenfold.data import Block, MemoryRows, NotFinite, Rows, weights_of
from tenfold.machine import one_blas_thread, require_memory
from tenfold.solvers import dual_ridge
from tenfold.stats.combined import Several
from tenfold.stats.derivatives import Params, Total, forward
from tenfold.stats.moments import GroupedMoments, Moments, all_but_one


class Split(NamedTuple):
    """The indices of the training and the test samples; None as training set stands for all samples that are not
    tested, each once and in order: all splits are kept, so this saves memory.
    """

    train: Integers | None
    test: Integers

    @classmethod
    def of(cls, train: Any, test: Any, n: int) -> Self:
        """From indices, or from boolean masks of all n samples."""
        train, test = _indices(train, n), _indices(test, n)
        others = np.ones(n, dtype=bool)
        others[test] = False
        rest = len(train) + len(test) == n and len(train) == np.count_nonzero(others)
        return cls(None if rest and others[train].all() and (train[1:] > train[:-1]).all() else train, test)

    def training_rows(self, n: int) -> Integers:
        """The indices of the training samples."""
        if self.train is not None:
            return self.train
        others = np.ones(n, dtype=bool)
        others[self.test] = False
        return np.flatnonzero(others)


def _indices(chosen: Any, n: int) -> Integers:
    chosen = np.asarray(chosen)
    chosen = np.flatnonzero(chosen) if chosen.dtype == bool else chosen
    return chosen.astype(np.int32) if n <= np.iinfo(np.int32).max else chosen


MAX_CELLS = 256  # whose moments are formed; with more, training sets are read one by one


@dataclass(frozen=True)
class Fold:
    """One split: the models of all alphas fitted to its training samples, and the moments of its test samples where
    they are known.
    """

    coef: Floats  # (A, t, p)
    intercept: Floats  # (A, t)
    test: Moments | None


class Folds(NamedTuple):
    """The models of every split, one after the other; a description of the method; the moments of all samples where
    they are known.
    """

    models: Iterator[Fold]
    how: str
    total: Moments | None


def folds(rows: Rows, splits: list[Split], alphas: Floats, intercept: bool) -> Folds:
    """Fit every alpha to the training samples of every split."""
    n, p = rows.shape
    if n < p:
        how = f"exact, {len(splits)} splits, a matrix of inner products each"
        return Folds(_wide_folds(rows, splits, alphas, intercept), how, None)
    training, tests, how = training_moments(rows, splits)
    folds = (_fold(tall(moments, intercept), alphas, test) for moments, test in zip(training, tests, strict=True))
    parts = [test for test in tests if test is not None]
    total = reduce(Moments.merge, parts) if len(parts) == len(splits) else None
    return Folds(folds, f"exact, {len(splits)} splits, {how}", total)


def _fold(spectrum: Spectrum, alphas: Floats, test: Moments | None) -> Fold:
    coef = spectrum.coef(alphas)
    return Fold(coef, intercepts(spectrum, coef), test)


def training_moments(rows: Rows, splits: list[Split]) -> tuple[list[Moments], Sequence[Moments | None], str]:
    """The moments of every training set, those of the test sets where they are known, and a description."""
    group = disjoint_folds(rows.shape[0], splits)
    if group is not None:
        parts = fold_groups(rows, group, len(splits))
        return all_but_one(parts), parts, "training sets merged from disjoint folds read in one pass"
    member = np.zeros((rows.shape[0], len(splits)), dtype=bool)
    repeated, none = False, [None] * len(splits)
    for k, split in enumerate(splits):
        train = split.training_rows(rows.shape[0])
        member[train, k] = True
        repeated |= bool(np.bincount(train).max(initial=0) > 1)
    cells, index = np.unique(np.packbits(member, axis=1), axis=0, return_inverse=True)
    if not repeated and len(cells) <= MAX_CELLS:
        parts = fold_groups(rows, np.ascontiguousarray(index.ravel(), dtype=np.int32), len(cells))
        inside = np.unpackbits(cells, axis=1, count=len(splits)).astype(bool)
        merged = [
            reduce(Moments.merge, (m for m, use in zip(parts, column, strict=True) if use)) for column in inside.T
        ]
        return merged, none, f"overlapping training sets merged from {len(cells)} cells read in one pass"
    return (
        [subset(rows, split.training_rows(rows.shape[0])).fold(Moments.lift) for split in splits],
        none,
        "overlapping training sets read one by one",
    )


def fold_groups(rows: Rows, group: Integers, count: int) -> tuple[Moments, ...]:
    """The moments of each group; raises where samples are not finite."""
    p = rows.shape[1]
    require_memory(
        f"The {p} x {p} matrices of second moments of {count} folds", 16 * count * p * p, "Use fewer folds or columns."
    )
    parts = rows.regroup(group).fold(GroupedMoments.lifter(count)).groups
    if not all(np.isfinite(part.XX).all() and np.isfinite(part.XY).all() for part in parts):
        raise NotFinite
    return parts


def subset(rows: Rows, index: Integers) -> MemoryRows:
    """A copy of some samples."""
    block = rows.whole()
    weight = None if block.weight is None else take_rows(block.weight, index)
    return MemoryRows(take_rows(block.X, index), take_rows(block.y, index), weight)


def disjoint_folds(n: int, splits: list[Split]) -> Integers | None:
    """The test fold of each sample, if every sample is tested once and trained on otherwise; else None."""
    group = np.full(n, -1, dtype=np.int32)
    for k, (train, test) in enumerate(splits):
        if (train is not None and len(train) + len(test) != n) or (group[test] >= 0).any():
            return None
        group[test] = k
    if (group < 0).any() or len(splits) < 2:
        return None
    for k, (train, _) in enumerate(splits):
        # of the size of the complement and without a test sample: it is the complement, unless a sample is repeated
        if train is not None and ((group[train] == k).any() or np.bincount(train).max(initial=0) > 1):
            return None
    return group


def _wide_folds(rows: Rows, splits: list[Split], alphas: Floats, intercept: bool) -> Iterator[Fold]:
    for split in splits:
        train = subset(rows, split.training_rows(rows.shape[0]))
        if train.weight is not None and not np.any(on_host(train.weight) > 0.0):
            raise ValueError("All samples of a training set have weight zero: use fewer folds, or shuffle them.")
        yield _fold(wide(*dual_ridge.about_means(train, intercept), intercept), alphas, None)


# scores (A,) from sums of squares on the test samples, of the residuals (A, t) and of the targets (t,), and the weight
SCORES: dict[str, Callable[[Floats, Floats, float], Floats]] = {
    "r2": lambda residual, total, weight: np.mean(1.0 - residual / total, axis=1),
    "neg_mean_squared_error": lambda residual, total, weight: -np.mean(residual / weight, axis=1),
    "neg_root_mean_squared_error": lambda residual, total, weight: -np.mean(np.sqrt(residual / weight), axis=1),
}


def score_from_moments(name: str, fold: Fold) -> Floats | None:
    """The score of every alpha on the test samples from their moments alone; None where they are not known or digits
    would be lost.

    With the means m of the test samples: sum (y - x.w - b)^2 = yy - 2 c.w + w.Sw + W (ybar - m.w - b)^2.
    """
    test = fold.test
    if test is None or test.count < 2 or name not in SCORES:
        return None
    p, e = test.features, test.exponent
    S = np.ldexp(test.XX, e[:p, None] + e[:p])
    C = np.ldexp(test.XY, e[:p, None] + e[p:])
    yy = np.ldexp(test.yy, 2 * e[p:])
    with one_blas_thread:
        curved = np.einsum("atp,atp->at", fold.coef @ S, fold.coef)
    mean_error = test.target_mean - fold.coef @ test.mean - fold.intercept
    residual = yy - 2.0 * np.einsum("atp,pt->at", fold.coef, C) + curved + test.weight * mean_error**2
    if not (residual > 1e-6 * (yy + curved)).all() or not (yy > 0).all():
        return None
    return SCORES[name](residual, yy, test.weight)


def score_from_rows(name: str, rows: Rows, fold: Fold, *, weighted: bool, multi_output: bool) -> Floats:
    """The score of every alpha on the samples of group 1, by one pass over all: one of `SCORES`, or "accuracy" for
    targets -1 and +1, of one class a sample or of `several`.
    """
    A, t, p = fold.coef.shape
    params = Params(np.ascontiguousarray(fold.coef.reshape(A * t, p)), np.ascontiguousarray(fold.intercept.ravel()))
    if name == "accuracy":
        correct = rows.fold(partial(_correct_weight, params, weighted, multi_output)).sum
        return np.asarray(correct[:-1] / correct[-1])
    squares, moments = rows.fold(partial(_squares, params)).parts
    yy = np.ldexp(np.diag(moments.XX), 2 * moments.exponent)
    return SCORES[name](squares.sum, yy, moments.weight)


def _predict_block(params: Params, block: Block) -> tuple[Floats, Floats, Floats]:
    """Predictions (m, A, t), targets (m, 1, t) and weights (m,), zero outside group 1."""
    assert block.group is not None
    z = forward(block.X, params).reshape(block.X.shape[0], -1, block.y.shape[1])
    return z, block.y[:, None, :], np.where(block.group == 1, weights_of(block), 0.0)


def _correct_weight(params: Params, weighted: bool, multi_output: bool, block: Block) -> Total:
    """The weight (or number) of samples that each alpha classifies correctly, and the total."""
    z, y, weight = _predict_block(params, block if weighted else replace(block, weight=None))
    one = not multi_output and y.shape[2] > 1
    correct = z.argmax(axis=2) == y.argmax(axis=2) if one else np.all((z > 0) == (y > 0), axis=2)
    return Total(np.append(weight @ correct, weight.sum()))


def _squares(params: Params, block: Block) -> Several:
    """Sums of squared residuals (A, t), and the moments of the targets."""
    z, y, weight = _predict_block(params, block)
    return Several((Total(np.einsum("i,iat->at", weight, (y - z) ** 2)), Moments.of(block.y, None, weight)))
