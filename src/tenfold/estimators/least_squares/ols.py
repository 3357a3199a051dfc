"""Ordinary least squares."""

from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin

from tenfold.arrays import Array, is_sparse
from tenfold.estimators.inference_mixin import InferenceMixin
from tenfold.estimators.leaderboard_entry import Entry
from tenfold.estimators.least_squares.incremental import PartialRegression
from tenfold.estimators.parameters import Constraints, boolean, check_parameters, integer, nothing, real
from tenfold.estimators.predictors import LinearPredictor, ScoreMixin
from tenfold.estimators.registration import Registration
from tenfold.estimators.validation import (
    as_rows,
    convert_like,
    names_of,
    require_finite,
    restore_on_error,
    store,
    validate,
    validate_weights,
    warn_unless_certified,
)
from tenfold.plans.least_squares import fit as fit_least_squares
from tenfold.plans.least_squares import infer, without_rows
from tenfold.plans.result import Fitted
from tenfold.stats.moments import Moments


class LinearRegression(
    ScoreMixin, InferenceMixin, PartialRegression, MultiOutputMixin, RegressorMixin, LinearPredictor, BaseEstimator
):
    """Ordinary least squares.

    Minimises ``sum_i weight_i (y_i - x_i.w - b)^2``, and takes the shortest ``w`` where many do. Solved from one pass
    over the samples by the Gram matrix of equilibrated columns; a second pass reads the residual, certifies the result
    and corrects it; a QR factorisation merged over the samples takes over where the columns are nearly collinear.

    Parameters
    ----------
    fit_intercept : bool, default=True
        Whether to fit ``b``; it is never penalised.
    copy_X : bool, default=True
        Accepted for compatibility: X is never changed.
    tol : float, default=1e-6
        Precision asked of the iterative solver for sparse data with very many columns.
    n_jobs : int, default=None
        Accepted for compatibility: threads follow `threadpoolctl` and OMP_NUM_THREADS.
    positive : bool, default=False
        Whether to constrain the weights to be at least zero.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,) or (n_targets, n_features)
        Weights of the features, for each target.
    intercept_ : float or ndarray of shape (n_targets,)
        Intercept ``b``; 0.0 with ``fit_intercept=False``.
    rank_ : int
        Numerical rank of the (centred) X; dense X only.
    singular_ : ndarray
        Singular values of the (centred) X; dense X only.
    inference_ : Inference
        Standard errors, p values and confidence intervals; refused with the reason where they do not exist. `summary`
        prints them, `tenfold.infer` has robust ones.
    certificate_ : Certificate
        Kind residual: the largest cosine between the residual and a column, 0 at the exact solution.
    moments_ : Moments
        Count, means and second moments of all samples so far, to which `partial_fit` adds more; only where the fit
        formed them for the whole of X.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features; only where X had names, all of them strings.

    Notes
    -----
    Two passes over the data; memory p x p (n x n when n < p). Runs on dense and sparse arrays, files, devices and Dask
    collections, with sample weights.
    `sklearn.linear_model.RANSACRegressor` asks by isinstance for scikit-learn's own class where it is not told
    `min_samples`: give it ``min_samples=X.shape[1] + 1``.
    Seeger, ch. 4; Rosasco, ch. 4; Cookbook, ch. 17.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import LinearRegression
    >>> X = np.array([[1.0], [2.0], [3.0], [4.0]])
    >>> model = LinearRegression().fit(X, np.array([2.1, 3.9, 6.2, 7.8]))
    >>> model.coef_.round(3), round(float(model.intercept_), 3)
    (array([1.94]), 0.15)
    >>> model.certificate_.ok
    True
    """

    _registration: ClassVar = Registration(
        method="Ordinary least squares",
        texts=("S4", "R4", "B17", "W10"),
        peer="sklearn.linear_model",
        reads=("two passes",),
        certificate=("residual",),
        judge="least_squares.regression",
        outputs="linear_outputs.regression",
        report_only={
            "rank_": "no method reads it; numpy.linalg.matrix_rank(X - X.mean(0)) computes it again",
            "singular_": "no method reads it; numpy.linalg.svd(X - X.mean(0), compute_uv=False) computes it again",
            "moments_": "sums of the samples, to which partial_fit adds more",
        },
        board=Entry("least-squares", "regression"),
    )
    _constraints: ClassVar[Constraints] = {
        "fit_intercept": (boolean(),),
        "copy_X": (boolean(),),
        "tol": (real(0),),
        "n_jobs": (nothing(), integer(-(2**31))),
        "positive": (boolean(),),
    }

    def __init__(
        self,
        *,
        fit_intercept: bool = True,
        copy_X: bool = True,
        tol: float = 1e-6,
        n_jobs: int | None = None,
        positive: bool = False,
    ) -> None:
        self.fit_intercept = fit_intercept
        self.copy_X = copy_X
        self.tol = tol
        self.n_jobs = n_jobs
        self.positive = positive

    @restore_on_error
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "LinearRegression":
        """Fit to X (n, p), y (n,) or (n, t) and optional `sample_weight` (n,)."""
        check_parameters(self, self._constraints)
        if isinstance(X, Moments):
            return self._take_moments(X, y, sample_weight)
        X, y = validate(self, X, y)
        weight = validate_weights(sample_weight, X)
        rows = as_rows(X, y, weight)
        fitted = require_finite(
            self,
            X,
            lambda: fit_least_squares(
                rows,
                np.zeros(rows.targets),
                self.fit_intercept,
                positive=self.positive,
                tol=self.tol,
                dtype=rows.dtype,
                details=not self.positive,
            ),
        )
        self._store(fitted, X, flat=y.ndim == 1)
        return self

    def _fit_moments(self, moments: Moments) -> None:
        alpha = np.zeros(moments.yy.size)
        fitted = without_rows(moments, alpha, self.fit_intercept, positive=self.positive)
        self._store(fitted, moments.XX, flat=alpha.size == 1)

    def _store(self, fitted: Fitted, X: Array, *, flat: bool) -> None:
        store(self, fitted, X, coef_flat=flat, intercept_flat=flat, intercept=self.fit_intercept)
        self._keep(fitted.moments)
        for name in ("rank_", "singular_"):
            self.__dict__.pop(name, None)
        if not is_sparse(X) and fitted.rank is not None and fitted.singular_values is not None:
            self.rank_, self.singular_ = fitted.rank, convert_like(fitted.singular_values, X)
        self._inference = (
            "The weights are constrained: classical standard errors do not hold. Use the bootstrap."
            if self.positive
            else infer(fitted, self.fit_intercept, names_of(self))
        )
        warn_unless_certified(self)

    def predict(self, X: Any) -> Array:
        """``X w + b``."""
        return self._predict_raw(X)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
