"""Cross-validation of stepwise methods, with a model after each step: errors on the test samples of every split,
without refitting where folds can be merged.

The Gram matrix of each training set is merged from disjoint folds read in one pass; with more features than samples the
products are read from the training samples as they are needed.
"""

from collections.abc import Callable, Sequence
from functools import reduce
from typing import NamedTuple

import numpy as np
from scipy.linalg.blas import dgemm, dgemv

from tenfold.arrays import Floats, on_host
from tenfold.cross_validation.ridge_kfold import Fold, Split, score_from_rows, subset, training_moments
from tenfold.data import Rows, targets_of, weights_of
from tenfold.machine import one_blas_thread
from tenfold.stats.derivatives import Params, predictions
from tenfold.stats.gram import Gram, GramByColumns, WholeGram
from tenfold.stats.moments import Moments

Models = Callable[[Gram], tuple[Floats, Floats]]
"""From the products of features to weights (A, 1, p) and intercepts (A, 1) after each step."""


class TrainingGrams(NamedTuple):
    """The products of each training set, the moments of the test sets where one pass gives them, how they were read,
    and the moments of all samples where one pass gives them.
    """

    grams: Sequence[Callable[[], Gram]]
    tests: Sequence[Moments | None]
    how: str
    total: Moments | None


def training_grams(rows: Rows, splits: list[Split], intercept: bool) -> TrainingGrams:
    """The products of features of each training set, computed one after the other."""
    n, p = rows.shape
    if n < p:
        grams = [_by_columns(rows, split, intercept) for split in splits]
        return TrainingGrams(grams, [None] * len(splits), f"{len(splits)} splits, products read from the rows", None)
    training, tests, how = training_moments(rows, splits)
    parts = [test for test in tests if test is not None]
    total = reduce(Moments.merge, parts) if len(parts) == len(splits) else None
    return TrainingGrams(
        [_whole(part, intercept) for part in training], tests, f"exact, {len(splits)} splits, {how}", total
    )


def _by_columns(rows: Rows, split: Split, intercept: bool) -> Callable[[], Gram]:
    return lambda: GramByColumns.of(subset(rows, split.training_rows(rows.shape[0])), intercept)


def _whole(moments: Moments, intercept: bool) -> Callable[[], Gram]:
    return lambda: WholeGram.of(moments, intercept)


def mean_squared_errors(rows: Rows, split: Split, fold: Fold) -> Floats:
    """The weighted mean squared error (A,) of every model of a fold on its test samples; NaN where these have no
    weight.
    """
    errors = _errors_from_moments(fold)
    if errors is not None:
        return errors
    with np.errstate(invalid="ignore"):
        return _errors_on_rows(rows, split, fold)


def _errors_from_moments(fold: Fold) -> Floats | None:
    """From the moments of the test samples: sum (y - x.w - b)^2 = yy - 2 c.w + w.Sw + W (ybar - m.w - b)^2. None where
    these are unknown, or digits would be lost.
    """
    test = fold.test
    if test is None or test.count < 2:
        return None
    p, e = test.features, test.exponent
    W = fold.coef[:, 0]
    # columns at the ends of the numbers: read from the rows
    with np.errstate(over="ignore", invalid="ignore"), one_blas_thread:
        S, c = np.ldexp(test.XX, e[:p, None] + e[:p]), np.ldexp(test.XY[:, 0], e[:p] + e[p])
        quadratic = np.einsum("ap,ap->a", dgemm(1.0, S, W.T, trans_a=1).T, W)
        offset = test.target_mean[0] - dgemv(1.0, W, test.mean) - fold.intercept[:, 0]
        yy = float(np.ldexp(test.yy[0], 2 * int(e[p])))
        squares = yy - 2.0 * dgemv(1.0, W, c) + quadratic + test.weight * offset**2
    if not (squares > 1e-6 * (yy + quadratic)).all():
        return None
    return np.asarray(squares / test.weight)


def _errors_on_rows(rows: Rows, split: Split, fold: Fold) -> Floats:
    if rows.on_device and not rows.distributed:
        A, _, p = fold.coef.shape
        part = subset(rows, split.test)
        z = on_host(part.map(predictions(Params(fold.coef.reshape(A, p), fold.intercept.ravel()))))
        y, weight = on_host(part.map(targets_of)), on_host(part.map(weights_of))
        return np.asarray(weight @ (y - z) ** 2 / weight.sum())
    inside = np.zeros(rows.shape[0], dtype=np.int32)
    inside[split.test] = 1
    scores = score_from_rows("neg_mean_squared_error", rows.regroup(inside), fold, weighted=True, multi_output=False)
    return -scores


def mean_error(errors: Floats) -> Floats:
    """The mean (A,) of errors (A, splits) over the splits whose test samples have weight."""
    known = ~np.isnan(errors).all(axis=0)
    if not known.any():
        raise ValueError("No split has test rows of positive weight: there is no error to choose by.")
    return np.asarray(errors[:, known].mean(axis=1))
