"""Cross-validation of the paths of the Lasso and the elastic net: the paths of all folds from one pass.

The moments of a training set are those of all other folds, merged; its path never touches the samples. The errors on
the test samples follow from the moments of these, unless these have lost too many digits.
"""

from collections.abc import Sequence
from functools import reduce
from typing import NamedTuple

import numpy as np
from scipy.linalg.blas import dgemm

from tenfold.arrays import Floats, Integers, is_sparse, on_host, take_rows
from tenfold.cross_validation.ridge_kfold import (
    Fold,
    Split,
    score_from_moments,
    score_from_rows,
    subset,
    training_moments,
)
from tenfold.data import Block, MemoryRows, Rows, targets_of, weights_of
from tenfold.machine import MIN_PARALLEL_ENTRIES, one_blas_thread, run_concurrently
from tenfold.penalties import SparsePenalty, with_alpha
from tenfold.plans.centred_design import Centred, Path, Settings, fold_with_targets
from tenfold.plans.lasso import path_from_moments
from tenfold.problems import Glm, sparse_penalty
from tenfold.stats.derivatives import Params, predictions
from tenfold.stats.moments import Moments

SCORE = "neg_mean_squared_error"

NO_WEIGHT = (
    "The {kind} rows of split {k} have no weight at all: use fewer folds, shuffle the rows, or leave out rows of "
    "weight zero."
)


class Grid(NamedTuple):
    """The alphas of one l1_ratio."""

    ratio: float
    alphas: Floats

    def penalties(self, problem: Glm) -> list[SparsePenalty]:
        """The penalties of the grid, of the kind of the problem's."""
        return [with_alpha(sparse_penalty(problem), float(alpha), self.ratio) for alpha in self.alphas]


class Parts(NamedTuple):
    """The moments of the training sets; those of the test sets and of all samples where one pass gives them; and how
    they were read.
    """

    training: list[Moments]
    tests: Sequence[Moments | None]
    total: Moments | None
    how: str


def split_moments(rows: Rows, splits: list[Split]) -> Parts:
    """One pass over the rows for disjoint folds."""
    training, tests, how = training_moments(rows, splits)
    for k, part in enumerate([*training, *(test for test in tests if test is not None)]):
        if part.weight == 0.0:
            kind = "training" if k < len(training) else "test"
            raise ValueError(NO_WEIGHT.format(kind=kind, k=k % len(splits)))
    parts = [test for test in tests if test is not None]
    total = reduce(Moments.merge, parts) if len(parts) == len(splits) else None
    return Parts(training, tests, total, f"{len(splits)} splits, {how}")


def mean_squared_errors(
    rows: Rows,
    splits: list[Split],
    parts: Parts,
    problem: Glm,
    grids: Sequence[Grid],
    settings: Settings,
) -> Floats:
    """The mean squared error (R, A, K) of each l1_ratio, alpha and fold, averaged over targets; folds in parallel."""

    def one(k: int) -> Floats:
        errors = []
        for grid in grids:
            path = path_from_moments(parts.training[k], problem, grid.penalties(problem), settings)
            fold = Fold(path.coef, path.intercept, parts.tests[k])
            scores = score_from_moments(SCORE, fold)
            errors.append(-(score_of_rows(rows, splits[k].test, fold) if scores is None else scores))
        return np.array(errors)

    return np.stack(run_concurrently(one, range(len(splits)), MIN_PARALLEL_ENTRIES), axis=-1)


def errors_by_columns(
    rows: Rows, splits: list[Split], problem: Glm, grids: Sequence[Grid], settings: Settings
) -> Floats:
    """The same by working sets of features; folds share X, test samples have zero weight."""
    block = rows.whole()
    weight = weights_of(block)

    def one(k: int) -> Floats:
        train, test = splits[k].training_rows(rows.shape[0]), splits[k].test
        training = np.bincount(train, minlength=rows.shape[0]) * weight
        _check_weight(training, weight[test], k)
        part = MemoryRows(block.X, block.y, training)
        data = Centred.of(part, fold_with_targets(part), problem.intercept)
        paths = [data.path(problem, grid.penalties(problem), settings)[0] for grid in grids]
        return np.array([_error_of(block, test, weight[test], path) for path in paths])

    return np.stack(run_concurrently(one, range(len(splits)), MIN_PARALLEL_ENTRIES), axis=-1)


def _check_weight(training: Floats, test: Floats, k: int) -> None:
    for kind, part in (("training", training), ("test", test)):
        if not part.any():
            raise ValueError(NO_WEIGHT.format(kind=kind, k=k))


def _error_of(block: Block, test: Integers, weight: Floats, path: Path) -> Floats:
    """Mean squared errors (A,) on the test samples, from the active features."""
    A, t, p = path.coef.shape
    coef = path.coef.reshape(A * t, p)
    used = np.flatnonzero(coef.any(axis=0))
    X = take_rows(block.X, test)[:, used]
    X = X.toarray() if is_sparse(X) else X
    with one_blas_thread:
        z = dgemm(1.0, X, coef[:, used], trans_b=True)
    squares = (z + path.intercept.ravel() - np.tile(block.y[test], A)) ** 2
    return np.asarray((weight @ squares).reshape(A, t).mean(axis=1) / weight.sum())


def score_of_rows(rows: Rows, test: Integers, fold: Fold) -> Floats:
    """The score of every penalty by a pass over the test samples."""
    if rows.on_device and not rows.distributed:
        A, t, p = fold.coef.shape
        part = subset(rows, test)
        z = on_host(part.map(predictions(Params(fold.coef.reshape(A * t, p), fold.intercept.ravel()))))
        y, weight = on_host(part.map(targets_of)), on_host(part.map(weights_of))
        squares = (y[:, None, :] - z.reshape(-1, A, t)) ** 2
        return np.asarray(-np.einsum("i,iat->a", weight, squares) / (t * weight.sum()))
    inside = np.zeros(rows.shape[0], dtype=np.int32)
    inside[test] = 1
    return score_from_rows(SCORE, rows.regroup(inside), fold, weighted=True, multi_output=False)
