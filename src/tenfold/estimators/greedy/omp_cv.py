"""Orthogonal matching pursuit with the number of features chosen by cross-validation."""

import warnings
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin

from tenfold.arrays import Array, Floats
from tenfold.cross_validation.ridge_kfold import Fold, Split
from tenfold.cross_validation.stepwise_cv import mean_error, mean_squared_errors, training_grams
from tenfold.data import Rows
from tenfold.estimators.greedy.cv_mixin import ByFolds
from tenfold.estimators.greedy.omp import PREMATURE, TOO_MANY
from tenfold.estimators.leaderboard_entry import Entry
from tenfold.estimators.parameters import Constraints, boolean, check_parameters, integer, nothing, splitter
from tenfold.estimators.predictors import LinearPredictor, ScoreMixin
from tenfold.estimators.registration import Registration
from tenfold.estimators.tuning import Tuning
from tenfold.estimators.validation import (
    as_rows,
    require_finite,
    restore_on_error,
    store,
    validate,
    validate_weights,
    warn_unless_certified,
)
from tenfold.plans.greedy_selection import PursuitFit, fit_from_moments, weights_of_steps
from tenfold.plans.greedy_selection import fit as fit_greedily
from tenfold.problems import GreedyRule
from tenfold.stats.moments import Moments


class OrthogonalMatchingPursuitCV(ByFolds, ScoreMixin, RegressorMixin, LinearPredictor, BaseEstimator):
    """Orthogonal matching pursuit with the number of features chosen by cross-validation.

    Looks for few features I with a small ``sum_i weight_i (y_i - x_i.w - b)^2``, w zero outside I, by taking the
    feature with the largest product with the residual, one by one. Every number of features up to `max_iter` is tried
    on every split, from one pursuit a split: the Gram matrices of the training sets are merged from those of the folds,
    which are read once. The number with the smallest mean squared error is used for the pursuit on all samples.

    Parameters
    ----------
    copy : bool, default=True
        Accepted for compatibility: X is never changed.
    fit_intercept : bool, default=True
        Whether to fit ``b``.
    max_iter : int, default=None
        The largest number of features; None is a tenth of them, but at least 5 (or all).
    cv : int, cross-validation generator or an iterable, default=None
        Number of folds, a splitter, or pairs of training and test indices; None is five folds.
    n_jobs : int, default=None
        Accepted for compatibility: threads follow `threadpoolctl` and OMP_NUM_THREADS.
    verbose : bool or int, default=False
        Accepted for compatibility.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Weights of the features; zero for those that were not selected.
    intercept_ : float
        Intercept ``b``; 0.0 with ``fit_intercept=False``.
    n_nonzero_coefs_ : int
        The number that was chosen.
    n_iter_ : int
        The number of selected features.
    path_ : ndarray of int
        The features in the order of their selection.
    mse_path_ : ndarray of shape (n_numbers, n_splits)
        Mean squared errors on the test samples for 1, 2, ... features.
    cv_method_ : str
        How the training sets were read, as a sentence.
    certificate_ : Certificate
        Kind residual: the largest cosine between the residual and a selected feature, or, if that is more, the
        relative amount by which another feature exceeds the selected ones at some step of the rule, which the
        judge follows again. The choice of the number is not certified.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features; only where X had names, all of them strings.

    Notes
    -----
    One pass for all folds, then k^2 p products for k features on each training set, and two passes of the judge; memory
    p x p for each fold. With more features than samples the training samples of each split are read. Runs on dense and
    sparse arrays, files, Dask collections and devices, with sample weights.
    Rosasco, sections 3.3 and 11.2.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import OrthogonalMatchingPursuitCV
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((100, 20))
    >>> y = 3.0 * X[:, 5] - 2.0 * X[:, 1] + 0.5 * rng.standard_normal(100)
    >>> model = OrthogonalMatchingPursuitCV().fit(X, y)
    >>> int(model.n_nonzero_coefs_), model.path_
    (2, array([5, 1]))
    """

    _registration: ClassVar = Registration(
        method="Orthogonal matching pursuit, sparsity by cross-validation",
        texts=("R3.3", "R11.2"),
        peer="sklearn.linear_model",
        reads=("one pass",),
        certificate=("residual",),
        judge="greedy.pursuit",
        outputs="linear_outputs.regression",
        choice="greedy.check_counts",
        report_only={
            "mse_path_": (
                "errors of cross-validation are not computed again; cross_val_score of OrthogonalMatchingPursuit with "
                'one number of columns, the same cv and scoring="neg_mean_squared_error" recomputes those of it'
            )
        },
        board=Entry(
            "orthogonal-matching-pursuit",
            "regression",
            {"cv": 4},
            fast=False,
            dense=True,
        ),
        tuning=Tuning(selected={"n_nonzero_coefs": "n_nonzero_coefs_"}),
    )
    _constraints: ClassVar[Constraints] = {
        "copy": (boolean(),),
        "fit_intercept": (boolean(),),
        "max_iter": (integer(0), nothing()),
        "cv": (splitter(),),
        "n_jobs": (integer(-(2**31)), nothing()),
        "verbose": (integer(0), boolean()),
    }

    def __init__(
        self,
        *,
        copy: bool = True,
        fit_intercept: bool = True,
        max_iter: int | None = None,
        cv: Any = None,
        n_jobs: int | None = None,
        verbose: bool | int = False,
    ) -> None:
        self.copy = copy
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.cv = cv
        self.n_jobs = n_jobs
        self.verbose = verbose

    @restore_on_error
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, **fit_params: Any) -> Self:
        """Choose the number of features and fit to X (n, p), y (n,) and optional `sample_weight` (n,); further
        `fit_params` go to the splitter.
        """
        check_parameters(self, self._constraints)
        X, y = validate(self, X, y, multi_output=False)
        p = X.shape[1]
        most = self.max_iter or min(max(int(0.1 * p), 5), p)
        if most > p:
            raise ValueError(TOO_MANY)
        rows = as_rows(X, y, validate_weights(sample_weight, X))
        splits = self._splits(rows, y, fit_params)
        pursued, premature = require_finite(self, X, lambda: self._choose(rows, splits, most))
        store(self, pursued.fitted, X, coef_flat=True, intercept_flat=True, intercept=self.fit_intercept)
        warn_unless_certified(self)
        self.path_ = pursued.paths[0].order
        self.n_iter_ = len(self.path_)
        if premature or pursued.premature:
            warnings.warn(PREMATURE, RuntimeWarning, stacklevel=3)
        return self

    def _choose(self, rows: Rows, splits: list[Split], most: int) -> tuple[PursuitFit, bool]:
        """The fit with the best number of features, and whether a split ended before `most`."""
        rule = GreedyRule("correlation", most)
        trained = training_grams(rows, splits, self.fit_intercept)
        errors: list[Floats] = []
        for split, make, test in zip(splits, trained.grams, trained.tests, strict=True):
            coef, intercept = weights_of_steps(make(), rule, self.fit_intercept)
            errors.append(mean_squared_errors(rows, split, Fold(coef, intercept, test)) if len(coef) else np.zeros(0))
        steps = min(len(fold_errors) for fold_errors in errors)
        self.mse_path_ = np.column_stack([fold_errors[:steps] for fold_errors in errors])
        self.cv_method_ = trained.how
        # no column at all where a training set has none that varies together with y
        self.n_nonzero_coefs_ = int(np.argmin(mean_error(self.mse_path_))) + 1 if steps else 0
        best = GreedyRule("correlation", self.n_nonzero_coefs_)
        return self._refit(rows, best, trained.total), steps < most

    def _refit(self, rows: Rows, rule: GreedyRule, total: Moments | None) -> PursuitFit:
        if total is None:
            return fit_greedily(rows, rule, self.fit_intercept, dtype=rows.dtype)
        return fit_from_moments(rows, total, rule, self.fit_intercept, dtype=rows.dtype)

    def predict(self, X: Any) -> Array:
        """``X w + b``."""
        return self._predict_raw(X)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
