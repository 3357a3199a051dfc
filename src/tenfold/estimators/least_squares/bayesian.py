"""Bayesian linear regression: one precision for all weights, or one for each weight."""

from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from tenfold.arrays import Array, Floats, is_array_api, is_sparse, like, namespace, on_host
from tenfold.estimators.leaderboard_entry import Entry
from tenfold.estimators.parameters import Constraints, boolean, check_parameters, integer, nothing, real
from tenfold.estimators.predictors import LinearPredictor, ScoreMixin
from tenfold.estimators.registration import Registration
from tenfold.estimators.schema import anything, floats, many, number
from tenfold.estimators.validation import (
    as_rows,
    convert_like,
    require_finite,
    restore_on_error,
    validate,
    validate_weights,
    warn_unless_certified,
)
from tenfold.judge.certificate import Certificate
from tenfold.objectives.evidence import Prior
from tenfold.plans.bayesian_regression import BayesianFit, Settings, fit_relevance, fit_ridge

PIECE_ROWS = 1 << 12  # samples whose standard deviations are computed at a time

SHARED: Constraints = {
    "max_iter": (integer(1),),
    "alpha_1": (real(0),),
    "alpha_2": (real(0),),
    "lambda_1": (real(0),),
    "lambda_2": (real(0),),
    "compute_score": (boolean(),),
    "fit_intercept": (boolean(),),
    "copy_X": (boolean(),),
    "verbose": (boolean(), integer(0)),
}

REPORT_ONLY = {
    "n_iter_": "how many iterations the solver took",
    "scores_": "the history of the iterations; in `BayesianRidge` the last one is judged",
}
STORED = {
    "alpha_": number(0.0),
    "X_offset_": floats("p"),
    "X_scale_": floats("p", low=1.0, high=1.0),
    "scores_": floats("*") | many(anything(), "0"),
}


def _deviations(covariance: Floats, centre: Floats, features: Any, noise: float, X: Array) -> Array:
    """sqrt((x - m)' Sigma (x - m) + 1 / alpha) of each sample, piece by piece, where the samples are."""
    parts = []
    for start in range(0, max(X.shape[0], 1), PIECE_ROWS):
        part = X[start : start + PIECE_ROWS]
        part = part.toarray() if is_sparse(part) else part
        xp = namespace(part)
        away = xp.astype(part, xp.float64, copy=False) - like(centre, part)
        away = away[:, like(features, part)] if is_array_api(part) else away[:, features]
        parts.append(xp.sqrt(xp.sum((away @ like(covariance, part)) * away, axis=1) + noise))
    xp = namespace(parts[0])
    return xp.astype(parts[0] if len(parts) == 1 else xp.concat(parts), X.dtype, copy=False)


class _Bayesian(ScoreMixin, RegressorMixin, LinearPredictor, BaseEstimator):
    """Base of both: the posterior as it is stored, and predictions with standard deviations."""

    alpha_1: float
    alpha_2: float
    lambda_1: float
    lambda_2: float
    max_iter: int
    tol: float
    fit_intercept: bool
    compute_score: bool

    alpha_: float
    sigma_: Array
    X_offset_: Array
    scores_: Any
    certificate_: Certificate

    def _settings(self, **more: Any) -> Settings:
        prior = Prior(float(self.alpha_1), float(self.alpha_2), float(self.lambda_1), float(self.lambda_2))
        return Settings(prior, int(self.max_iter), float(self.tol), bool(self.fit_intercept), **more)

    def _store(self, fitted: BayesianFit, X: Array) -> None:
        self.coef_ = convert_like(fitted.params.coef[0], X)
        self.intercept_ = convert_like(fitted.params.intercept, X)[0] if self.fit_intercept else 0.0
        self.alpha_ = fitted.alpha
        self.sigma_ = convert_like(fitted.covariance, X)
        self.X_offset_ = convert_like(fitted.offset, X)
        self.X_scale_ = convert_like(np.ones_like(fitted.offset), X)
        self.scores_ = fitted.scores if self.compute_score else []
        self.n_iter_ = fitted.iterations
        self.certificate_ = fitted.certificate
        warn_unless_certified(self)

    def _inside(self) -> Any:
        """The features whose weights are not pruned."""
        return np.arange(self.coef_.shape[0])

    def _deviation_function(self, small: bool) -> Callable[[Array], Array]:
        covariance = np.asarray(on_host(self.sigma_), dtype=np.float64)
        centre = np.asarray(on_host(self.X_offset_), dtype=np.float64)
        return partial(_deviations, covariance, centre, self._inside(), 1.0 / self.alpha_)

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """The mean of the predictive distribution of each of the samples X, (m,); with return_std also its standard
        deviation, (m,).
        """
        check_is_fitted(self)
        mean = self._predict_raw(X)
        return (mean, self._predict_raw(X, self._deviation_function)) if return_std else mean

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class BayesianRidge(_Bayesian):
    """Bayesian ridge regression: the precisions of noise and weights by maximum evidence.

    With ``y ~ N(X w + b, 1 / alpha)``, ``w ~ N(0, I / lambda)``, a flat intercept and Gamma priors
    ``alpha ~ Gamma(alpha_1, alpha_2)``, ``lambda ~ Gamma(lambda_1, lambda_2)``, alpha and lambda maximise the posterior
    ``p(alpha, lambda | y)``. The posterior mean of the weights minimises
    ``alpha sum_i weight_i (y_i - x_i.w - b)^2 + lambda ||w||^2``: a ridge whose penalty is ``lambda / alpha``.

    Parameters
    ----------
    max_iter : int, default=300
        Limit of the iterations of the fixed point.
    tol : float, default=1e-3
        The fixed point ends where the absolute changes of the weights sum to less; Newton's method then goes on to the
        maximum.
    alpha_1 : float, default=1e-6
        Shape of the Gamma prior of alpha.
    alpha_2 : float, default=1e-6
        Rate of the Gamma prior of alpha.
    lambda_1 : float, default=1e-6
        Shape of the Gamma prior of lambda.
    lambda_2 : float, default=1e-6
        Rate of the Gamma prior of lambda.
    alpha_init : float, default=None
        Initial alpha; None is one over the variance of y.
    lambda_init : float, default=None
        Initial lambda; None is 1.
    compute_score : bool, default=False
        Whether to store the log marginal likelihood of each iteration in ``scores_``.
    fit_intercept : bool, default=True
        Whether to fit an intercept ``b``; it has a flat prior.
    copy_X : bool, default=True
        Accepted for compatibility: X is never changed.
    verbose : bool, default=False
        Accepted for compatibility: nothing is printed.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Posterior mean of the weights.
    intercept_ : float
        Intercept ``b``; 0.0 with ``fit_intercept=False``.
    alpha_ : float
        Precision of the noise.
    lambda_ : float
        Precision of the weights.
    sigma_ : ndarray of shape (n_features, n_features)
        Posterior covariance of the weights.
    scores_ : ndarray of shape (n_iter_ + 1,)
        Log marginal likelihood at each iteration and at the end; empty without `compute_score`.
    n_iter_ : int
        Iterations of the fixed point.
    X_offset_ : ndarray of shape (n_features,)
        Means of the features, zeros without an intercept.
    X_scale_ : ndarray of shape (n_features,)
        Ones, for compatibility.
    certificate_ : Certificate
        Kind stationarity: the change of log alpha and log lambda in one more update of the fixed point; weights,
        covariance and score are computed again. Another start may give a larger evidence.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features; only where X had names, all of them strings.

    Notes
    -----
    Two to three passes over the data and p^3 operations, p operations an iteration; memory p x p. Runs on dense and
    sparse arrays, files, devices and Dask collections, with sample weights.
    Seeger, sections 7.3, 8.3.2 and 10.2.1; MacKay, Bayesian interpolation, Neural Computation 4 (1992).

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import BayesianRidge
    >>> rng = np.random.RandomState(0)
    >>> X = rng.randn(100, 3)
    >>> y = X @ [1.0, 2.0, 0.0] + 0.1 * rng.randn(100)
    >>> model = BayesianRidge().fit(X, y)
    >>> print(f"noise {model.alpha_ ** -0.5:.2f}, certified {model.certificate_.ok}")
    noise 0.09, certified True
    >>> mean, deviation = model.predict(X[:1], return_std=True)
    """

    _registration: ClassVar = Registration(
        method="Bayesian ridge regression",
        texts=("S7.3", "S8.3.2", "S10.2.1"),
        peer="sklearn.linear_model",
        reads=("two passes",),
        certificate=("stationarity",),
        judge="bayesian.ridge",
        outputs="bayesian.predictions",
        report_only=REPORT_ONLY,
        stored={**STORED, "lambda_": number(0.0), "sigma_": floats("p p")},
        board=Entry("bayesian-ridge", "regression", fast=False, most_columns=5000, dense=True),
    )

    _constraints: ClassVar[Constraints] = {
        **SHARED,
        "tol": (real(0, closed="neither"),),
        "alpha_init": (real(0), nothing()),
        "lambda_init": (real(0), nothing()),
    }

    lambda_: float

    def __init__(
        self,
        *,
        max_iter: int = 300,
        tol: float = 1.0e-3,
        alpha_1: float = 1.0e-6,
        alpha_2: float = 1.0e-6,
        lambda_1: float = 1.0e-6,
        lambda_2: float = 1.0e-6,
        alpha_init: float | None = None,
        lambda_init: float | None = None,
        compute_score: bool = False,
        fit_intercept: bool = True,
        copy_X: bool = True,
        verbose: Any = False,
    ) -> None:
        self.max_iter = max_iter
        self.tol = tol
        self.alpha_1 = alpha_1
        self.alpha_2 = alpha_2
        self.lambda_1 = lambda_1
        self.lambda_2 = lambda_2
        self.alpha_init = alpha_init
        self.lambda_init = lambda_init
        self.compute_score = compute_score
        self.fit_intercept = fit_intercept
        self.copy_X = copy_X
        self.verbose = verbose

    @restore_on_error
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "BayesianRidge":
        """Fit to X (n, p), y (n,) and optional `sample_weight`, a number or (n,)."""
        check_parameters(self, self._constraints)
        X, y = validate(self, X, y, multi_output=False)
        rows = as_rows(X, y, validate_weights(sample_weight, X))
        settings = self._settings(alpha_start=self.alpha_init, lambda_start=self.lambda_init)
        fitted = require_finite(self, X, lambda: fit_ridge(rows, settings, rows.dtype))
        self.lambda_ = float(fitted.precisions)
        self._store(fitted, X)
        return self


class ARDRegression(_Bayesian):
    """Automatic relevance determination: Bayesian linear regression with a precision for each weight.

    With ``y ~ N(X w + b, 1 / alpha)``, ``w_j ~ N(0, 1 / lambda_j)``, a flat intercept and Gamma priors of alpha and of
    each lambda_j, the precisions maximise ``p(alpha, lambda | y)``. Weights whose precision reaches
    ``threshold_lambda`` are zero.

    Parameters
    ----------
    max_iter : int, default=300
        Limit of the iterations of the fixed point.
    tol : float, default=1e-3
        The fixed point ends where the absolute changes of the weights sum to less; Newton's method then goes on to a
        maximum.
    alpha_1 : float, default=1e-6
        Shape of the Gamma prior of alpha.
    alpha_2 : float, default=1e-6
        Rate of the Gamma prior of alpha.
    lambda_1 : float, default=1e-6
        Shape of the Gamma prior of each lambda.
    lambda_2 : float, default=1e-6
        Rate of the Gamma prior of each lambda.
    compute_score : bool, default=False
        Whether to store the objective of each iteration in ``scores_``.
    threshold_lambda : float, default=1e4
        Precision from which a weight is pruned.
    fit_intercept : bool, default=True
        Whether to fit an intercept ``b``; it has a flat prior.
    copy_X : bool, default=True
        Accepted for compatibility: X is never changed.
    verbose : bool, default=False
        Accepted for compatibility: nothing is printed.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Posterior mean of the weights; zero for pruned features.
    intercept_ : float
        Intercept ``b``; 0.0 with ``fit_intercept=False``.
    alpha_ : float
        Precision of the noise.
    lambda_ : ndarray of shape (n_features,)
        Precision of each weight.
    sigma_ : ndarray of shape (n_kept, n_kept)
        Posterior covariance of the weights that are not pruned.
    scores_ : list or ndarray of shape (n_iter_,)
        Objective at each iteration; empty without `compute_score`.
    n_iter_ : int
        Iterations of the fixed point.
    X_offset_ : ndarray of shape (n_features,)
        Means of the features, zeros without an intercept.
    X_scale_ : ndarray of shape (n_features,)
        Ones, for compatibility.
    certificate_ : Certificate
        Kind stationarity: the gradient of the evidence in the logarithms of the precisions, in nats a sample; weights
        and covariance are computed again, and no pruned feature would return. Another start may give a larger evidence.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features; only where X had names, all of them strings.

    Notes
    -----
    Two passes over the data; p^3 operations an iteration, p the features that are left, whatever the number of samples;
    memory p x p. Runs on dense and sparse arrays, files, devices and Dask collections, with sample weights.
    Seeger, section 10.2.1; Tipping, Sparse Bayesian learning, JMLR 1 (2001); Faul and Tipping (2002).

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import ARDRegression
    >>> rng = np.random.RandomState(0)
    >>> X = rng.randn(100, 5)
    >>> y = X @ [1.0, 2.0, 0.0, 0.0, 0.0] + 0.1 * rng.randn(100)
    >>> model = ARDRegression().fit(X, y)
    >>> print(f"noise {model.alpha_ ** -0.5:.2f}, certified {model.certificate_.ok}")
    noise 0.10, certified True
    """

    _registration: ClassVar = Registration(
        method="Automatic relevance determination",
        texts=("S10.2.1",),
        peer="sklearn.linear_model",
        reads=("two passes",),
        certificate=("stationarity",),
        judge="bayesian.relevance",
        outputs="bayesian.predictions",
        report_only=REPORT_ONLY,
        stored={**STORED, "lambda_": floats("p", low=0.0), "sigma_": floats("r r")},
        board=Entry("relevance-determination", "regression", fast=False, most_columns=1000, dense=True),
    )

    _constraints: ClassVar[Constraints] = {**SHARED, "tol": (real(0),), "threshold_lambda": (real(0),)}

    lambda_: Array

    def __init__(
        self,
        *,
        max_iter: int = 300,
        tol: float = 1.0e-3,
        alpha_1: float = 1.0e-6,
        alpha_2: float = 1.0e-6,
        lambda_1: float = 1.0e-6,
        lambda_2: float = 1.0e-6,
        compute_score: bool = False,
        threshold_lambda: float = 1.0e4,
        fit_intercept: bool = True,
        copy_X: bool = True,
        verbose: Any = False,
    ) -> None:
        self.max_iter = max_iter
        self.tol = tol
        self.alpha_1 = alpha_1
        self.alpha_2 = alpha_2
        self.lambda_1 = lambda_1
        self.lambda_2 = lambda_2
        self.compute_score = compute_score
        self.threshold_lambda = threshold_lambda
        self.fit_intercept = fit_intercept
        self.copy_X = copy_X
        self.verbose = verbose

    @restore_on_error
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "ARDRegression":
        """Fit to X (n, p), y (n,) and optional `sample_weight`, a number or (n,)."""
        check_parameters(self, self._constraints)
        X, y = validate(self, X, y, multi_output=False)
        rows = as_rows(X, y, validate_weights(sample_weight, X))
        settings = self._settings(threshold=float(self.threshold_lambda))
        fitted = require_finite(self, X, lambda: fit_relevance(rows, settings, rows.dtype))
        self.lambda_ = convert_like(np.asarray(fitted.precisions), X)
        self._store(fitted, X)
        return self

    def _inside(self) -> Any:
        return np.flatnonzero(np.asarray(on_host(self.lambda_), dtype=np.float64) < self.threshold_lambda)
