"""Feature selection on all samples before cross-validation: the classic mistake, on pure noise."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.feature_selection import SelectKBest, f_classif
from sklearn.pipeline import make_pipeline

from tenfold.arrays import Floats
from tenfold.estimators.discriminant.centroid import NearestCentroid
from tenfold.selection.nested_cv import nested


@dataclass(frozen=True)
class WrongCrossValidation:
    """Errors of the same model on the same folds, features selected before and within cross-validation.

    Attributes
    ----------
    wrong : ndarray of shape (times,)
        Error of each data set, features chosen by all samples, those to be tested included.
    right : ndarray of shape (times,)
        Error of each data set, features chosen by the training samples of each fold.
    truth : float
        The error of any rule on new samples, 0.5: the target has nothing to do with the features.
    """

    wrong: Floats
    right: Floats
    truth: float = 0.5


def wrong_cross_validation(
    n: int = 50, columns: int = 5000, chosen: int = 100, *, k: int = 5, times: int = 5, model: Any = None,
    random_state: int = 0,
) -> WrongCrossValidation:  # fmt: skip
    """Cross-validation of pure noise, features selected on all samples beforehand and within the folds.

    n samples of two equally frequent classes and features of noise; those with the largest correlation with the class
    are selected. Selected on all samples, they seem to predict almost perfectly; within the folds, they do not.
    Seeger, section 10.2.1; Hastie, Tibshirani and Friedman, section 7.10.2.

    Parameters
    ----------
    n : int, default=50
        Number of samples.
    columns : int, default=5000
        Number of features, all noise.
    chosen : int, default=100
        Number of features that are kept.
    k : int, default=5
        Number of folds.
    times : int, default=5
        Independent data sets.
    model : classifier, default=None
        What is fitted; None is the nearest centroid.
    random_state : int, default=0
        Seed of the data and of the folds.

    Returns
    -------
    WrongCrossValidation
        The errors of both ways, and the true one.

    Raises
    ------
    ValueError
        Where there are fewer than two samples or folds.

    Notes
    -----
    Each data set takes 2 k fits of the model, and k + 1 choices of features, of n `columns` operations each.

    Examples
    --------
    >>> from tenfold.selection import wrong_cross_validation
    >>> found = wrong_cross_validation(columns=1000, times=3)
    >>> bool(found.wrong.mean() < 0.1), bool(found.right.mean() > 0.35)
    (True, True)
    """
    classifier = NearestCentroid() if model is None else model
    rng = np.random.default_rng(random_state)
    errors = np.empty((2, times))
    for place in range(times):
        X = rng.standard_normal((n, columns))
        y = rng.permutation(np.arange(n) % 2)
        selected = SelectKBest(f_classif, k=chosen).fit_transform(X, y)
        pipeline = make_pipeline(SelectKBest(f_classif, k=chosen), classifier)
        for row, (candidate, rows) in enumerate(((classifier, selected), (pipeline, X))):
            result = nested({"model": candidate}, rows, y, outer=k, random_state=random_state + place, refit=False)[
                "model"
            ]
            errors[row, place] = 1.0 - result.score
    return WrongCrossValidation(*errors)
