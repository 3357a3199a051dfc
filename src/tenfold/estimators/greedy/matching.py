"""Matching pursuit."""

from typing import Any, ClassVar

from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin

from tenfold.arrays import Array
from tenfold.estimators.parameters import Constraints, boolean, check_parameters, choice, integer, nothing, real
from tenfold.estimators.predictors import LinearPredictor, ScoreMixin
from tenfold.estimators.registration import Registration
from tenfold.estimators.validation import (
    as_rows,
    require_finite,
    restore_on_error,
    store,
    validate,
    validate_weights,
    warn_unless_certified,
)
from tenfold.plans.matching_pursuit import fit


class MatchingPursuit(ScoreMixin, MultiOutputMixin, RegressorMixin, LinearPredictor, BaseEstimator):
    """Matching pursuit: each step moves one weight, that of the feature closest to what is left.

    From ``w = 0`` and the residual ``r = y - b``, a step takes the feature with the largest ``|x_j.r| / |x_j|``, adds
    ``v = x_j.r / |x_j|^2`` to its weight and takes ``v x_j`` from the residual, so that ``sum_i weight_i r_i^2``
    decreases by ``(x_j.r)^2 / |x_j|^2``. Nothing is fitted anew, a feature may be taken again, and units of features
    do not matter. The number of steps is the penalty: few leave most weights at zero, many come to least squares on all
    features. Also known as forward stagewise regression; `OrthogonalMatchingPursuit` fits all features taken after
    every step.

    Parameters
    ----------
    max_iter : int, default=100
        How many steps to take; fewer where `tol` is met or nothing but rounding is left.
    tol : float, default=None
        Take steps until the (weighted) sum of squared residuals is at most this.
    fit_intercept : bool, default=True
        Whether to fit ``b``.
    precompute : "auto" or bool, default="auto"
        Whether to form the whole Gram matrix; "auto" forms it where that is cheaper than reading the products of the
        features that are selected.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,) or (n_targets, n_features)
        Weights of the features, for each target; zero for those that were not selected.
    intercept_ : float or ndarray of shape (n_targets,)
        Intercept ``b``; 0.0 with ``fit_intercept=False``.
    n_iter_ : int or list of int
        The number of steps, for each target.
    path_ : ndarray of int or list of such
        The feature of every step.
    rss_path_ : ndarray of float or list of such
        The sum of squared residuals before the first step and after every one.
    certificate_ : Certificate
        Kind exact: the steps are taken again with products read from the samples. The number is the distance of the
        weights from what the steps add up to, in units of features and target, or, if that is more, the relative
        amount by which a feature that was not taken exceeded the one that was.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features; only where X had names, all of them strings.

    Notes
    -----
    The Gram matrix from one pass, or one pass for about 32 features where few of many features are selected or these
    outnumber the samples; then 4 p flops a step, and two passes of the judge. Memory p x p, or as many rows of it as
    features that were taken. Runs on dense and sparse arrays, files, Dask collections and devices. Rosasco, section
    11.2. Mallat and Zhang 1993.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import MatchingPursuit
    >>> X = np.random.default_rng(0).standard_normal((50, 8))
    >>> model = MatchingPursuit(3).fit(X, 3.0 * X[:, 5] - 2.0 * X[:, 1] + 0.1 * X[:, 0])
    >>> model.path_, model.n_iter_
    (array([5, 1, 5]), 3)
    >>> model.certificate_.ok
    True
    """

    _registration: ClassVar = Registration(
        method="Matching pursuit",
        texts=("R11.2",),
        reads=("one pass",),
        certificate=("exact",),
        judge="greedy.steps",
        outputs="linear_outputs.regression",
        choice="greedy.check_counts",
    )
    _constraints: ClassVar[Constraints] = {
        "max_iter": (integer(1),),
        "tol": (real(0), nothing()),
        "fit_intercept": (boolean(),),
        "precompute": (choice("auto"), boolean()),
    }

    def __init__(
        self,
        max_iter: int = 100,
        *,
        tol: float | None = None,
        fit_intercept: bool = True,
        precompute: bool | str = "auto",
    ) -> None:
        self.max_iter = max_iter
        self.tol = tol
        self.fit_intercept = fit_intercept
        self.precompute = precompute

    @restore_on_error
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "MatchingPursuit":
        """Fit to X (n, p), y (n,) or (n, t) and optional `sample_weight` (n,)."""
        check_parameters(self, self._constraints)
        X, y = validate(self, X, y)
        rows = as_rows(X, y, validate_weights(sample_weight, X))
        whole = None if isinstance(self.precompute, str) else bool(self.precompute)
        most, intercept = int(self.max_iter), bool(self.fit_intercept)
        solved = require_finite(self, X, lambda: fit(rows, most, self.tol, intercept, dtype=rows.dtype, whole=whole))
        one = len(solved.results) == 1
        store(self, solved.fitted, X, coef_flat=one, intercept_flat=y.ndim == 1, intercept=intercept)
        warn_unless_certified(self)
        order: Any = [result.order for result in solved.results]
        left: Any = list(solved.left)
        taken: Any = [len(path) for path in order]
        self.path_ = order[0] if one else order
        self.rss_path_ = left[0] if one else left
        self.n_iter_ = taken[0] if one else taken
        return self

    def predict(self, X: Any) -> Array:
        """``X w + b``."""
        return self._predict_raw(X)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
