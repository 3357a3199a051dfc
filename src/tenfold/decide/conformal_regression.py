"""Prediction intervals around any regressor."""

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, MetaEstimatorMixin, RegressorMixin, clone
from sklearn.utils import _safe_indexing, check_consistent_length, check_random_state, indexable
from sklearn.utils.validation import check_array, check_is_fitted

from tenfold.arrays import Floats
from tenfold.cross_validation.ridge_loo import enclose
from tenfold.decide.conformal import (
    METHODS,
    Guarantee,
    LeftOut,
    check_coverage,
    fit_model,
    keep_weighted,
    leave_out,
    quantile_of,
)
from tenfold.estimators.gaussian_process.regressor import GaussianProcessRegressor
from tenfold.estimators.kernel_ridge.cv import KernelRidgeCV
from tenfold.estimators.kernel_ridge.regression import KernelRidge
from tenfold.estimators.least_squares.cv import RidgeCV
from tenfold.estimators.least_squares.ridge import Ridge
from tenfold.estimators.neighbours.cv import KNeighborsCV
from tenfold.estimators.neighbours.regression import KNeighborsRegressor

TILE_VALUES = 1 << 21  # of predictions by models without each sample that are kept at a time


class ConformalRegressor(RegressorMixin, MetaEstimatorMixin, BaseEstimator):
    """Intervals that cover new targets with a stated probability, around the predictions of any regressor.

    With the absolute errors ``e_i`` of samples that a model has not seen, *split* adds their quantile of rank
    ``ceil((n + 1) coverage)`` to both sides of the prediction; *jackknife+* and *cv+* hold the middle of the values
    ``f_-i(x) -+ e_i``, where ``f_-i`` is the model without sample i or without its fold.

    Parameters
    ----------
    estimator : regressor, default=None
        The regressor; None is RidgeCV().
    method : {"auto", "split", "cv+", "jackknife+"}, default="auto"
        "auto": jackknife+ where leave-one-out is exact and free (`Ridge`, `RidgeCV`, `KernelRidge`, `KernelRidgeCV`,
        `KNeighborsRegressor`, `KNeighborsCV`, and `GaussianProcessRegressor` without ``normalize_y``), else cv+.
        Of other regressors jackknife+ takes a fit for each sample.
    coverage : float, default=0.9
        Probability with which an interval is to cover, between 0 and 1; `predict_interval` takes others.
    cv : int, cross-validation generator or an iterable, default=10
        The folds of cv+; a number of folds is shuffled.
    calibration_size : float or int, default=0.3
        The part, or the number, of the samples that split keeps for the errors.
    random_state : int, RandomState instance or None, default=None
        Seed of the split or of the folds.

    Attributes
    ----------
    estimator_ : regressor
        The model that predicts: fitted to all samples, with split to those that are not kept for the errors.
    errors_ : ndarray of shape (n_errors,) or (n_errors, n_outputs)
        Absolute errors of samples that the model has not seen; None with exact leave-one-out.
    method_ : str
        "split", "cv+" or "jackknife+".
    guarantee_ : Guarantee
        The coverage that is proved for `coverage`, and the same in a sentence.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features; only where X had names, all of them strings.

    Notes
    -----
    One fit for split, one a fold and one more for cv+, one alone for exact leave-one-out. Memory of cv+ and jackknife+:
    the models without a fold each. With weights errors count once a sample, so that nothing is proved where weights
    change the distribution; samples of weight zero are left out. Vovk, Gammerman and Shafer 2005; Barber, Candes,
    Ramdas and Tibshirani 2021.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from tenfold import Ridge
    >>> from tenfold.decide import ConformalRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = ConformalRegressor(Ridge(alpha=0.1), coverage=0.9).fit(X[:400], y[:400])
    >>> print(model.guarantee_.statement)
    jackknife+ with 400 scores: for exchangeable samples coverage is at least 80.0% and typically near 90%.
    >>> low, high = model.predict_interval(X[400:]).T
    >>> round(float(((low <= y[400:]) & (y[400:] <= high)).mean()), 2)
    0.95
    """

    estimator_: Any
    errors_: Any
    method_: str
    guarantee_: Guarantee
    _exact: Any
    _left_out: LeftOut | None

    def __init__(
        self,
        estimator: Any = None,
        *,
        method: str = "auto",
        coverage: float = 0.9,
        cv: Any = 10,
        calibration_size: Any = 0.3,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.method = method
        self.coverage = coverage
        self.cv = cv
        self.calibration_size = calibration_size
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = self._inner().__sklearn_tags__()
        tags.input_tags, tags.target_tags = inner.input_tags, inner.target_tags
        tags.regressor_tags.poor_score = inner.regressor_tags is not None and inner.regressor_tags.poor_score
        return tags

    def _inner(self) -> Any:
        return RidgeCV() if self.estimator is None else self.estimator

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the regressor and the errors of left-out samples to X (n, p), targets y (n,) or (n, t), and weights (n,).

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n, p)
            The samples, as the regressor takes them.
        y : array-like of shape (n,) or (n, t)
            The targets.
        sample_weight : array-like of shape (n,), default=None
            Weights of the samples, which the regressor must take.

        Returns
        -------
        self : estimator
            The fitted estimator.
        """
        if self.method not in METHODS:
            raise ValueError(f"method must be one of {METHODS}. Got {self.method!r}.")
        coverage = check_coverage(self.coverage)
        if y is None:
            raise ValueError("This ConformalRegressor estimator requires y to be passed, but the target y is None.")
        X, y = indexable(X, y)
        y = check_array(y, ensure_2d=False, dtype="numeric", input_name="y")
        check_consistent_length(X, y)
        X, y, weight, cv = keep_weighted(X, y, sample_weight, self.cv)
        inner, random = self._inner(), check_random_state(self.random_state)
        self._exact, self._left_out = None, None
        exact = _exact_model(inner) if self.method in ("auto", "jackknife+") else None
        self.method_ = ("jackknife+" if exact is not None else "cv+") if self.method == "auto" else self.method
        if exact is not None:
            self.estimator_ = fit_model(inner, X, y, weight)
            self._exact = _exact_intervals(self.estimator_, X, y, weight)
            self.errors_ = None
            self.guarantee_ = Guarantee.of("jackknife+", coverage, len(y), chosen=exact == "chosen")
        else:
            self._fit_left_out(inner, X, y, weight, cv, random)
            self.guarantee_ = Guarantee.of(self.method_, coverage, len(self.errors_))
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(self.estimator_, name):
                setattr(self, name, getattr(self.estimator_, name))
        return self

    def _fit_left_out(self, inner: Any, X: Any, y: Floats, weight: Floats | None, cv: Any, random: Any) -> None:
        if len(y) < 2:
            raise ValueError(f"A sample can only be left out of two at least, got n_samples = {len(y)}.")
        left_out = leave_out(inner, X, y, weight, self.method_, cv, self.calibration_size, random)
        parts = [(y[part], model.predict(_safe_indexing(X, part))) for model, part in left_out]
        self.errors_ = np.concatenate([np.abs(own - np.reshape(fits, own.shape)) for own, fits in parts])
        if self.method_ == "split":
            self.estimator_ = left_out.models[0]
        else:
            self.estimator_, self._left_out = fit_model(inner, X, y, weight), left_out

    def predict(self, X: Any) -> Any:
        """The predictions of the regressor for samples X, (m,) or (m, t)."""
        check_is_fitted(self)
        return self.estimator_.predict(X)

    def predict_interval(self, X: Any, coverage: float | None = None) -> Floats:
        """Intervals for new targets at X.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (m, p)
            Samples to predict.
        coverage : float, default=None
            Probability with which an interval is to cover; None: that of the constructor.

        Returns
        -------
        ndarray of shape (m, 2) or (m, t, 2)
            Lower and upper ends; infinite where there are too few errors for the coverage.
        """
        check_is_fitted(self)
        coverage = check_coverage(self.coverage if coverage is None else coverage)
        if self._exact is not None:
            return np.asarray(self._exact.predict_interval(X, coverage=coverage))
        fits = np.asarray(self.estimator_.predict(X), dtype=np.float64)
        shape, fits = fits.shape, fits.reshape(len(fits), -1)
        errors = np.asarray(self.errors_, dtype=np.float64).reshape(len(self.errors_), -1)
        if self._left_out is None:
            size = np.array([quantile_of(column, coverage) for column in errors.T])
            result = np.stack([fits - size, fits + size], axis=2)
        else:
            result = self._enclose(self._left_out, X, errors, coverage, fits.shape)
        return result[:, 0] if len(shape) == 1 else result

    def _enclose(self, left_out: LeftOut, X: Any, errors: Floats, coverage: float, shape: tuple[int, int]) -> Floats:
        """The middle of predictions without each fold minus and plus the errors."""
        m, t = shape
        without = np.stack([np.asarray(model.predict(X), dtype=np.float64).reshape(m, t) for model, _ in left_out])
        place = left_out.model_of
        result = np.empty((m, t, 2))
        step = max(1, TILE_VALUES // max(1, len(place)))
        for a in range(0, m, step):
            for k in range(t):
                result[a : a + step, k] = enclose(without[place, a : a + step, k].T, errors[:, k], coverage)
        return result


def _exact_model(estimator: Any) -> str | None:
    """Whether leave-one-out is exact and free: "given", or "chosen" where it is what hyper-parameters are chosen by."""
    kind = type(estimator)
    if kind is RidgeCV and estimator.cv is None:
        return "given" if np.size(estimator.alphas) == 1 else "chosen"
    if kind is KNeighborsCV:
        return "given" if np.ndim(estimator.n_neighbors) and len(estimator.n_neighbors) == 1 else "chosen"
    if kind is KernelRidgeCV:
        return "chosen"
    if kind is Ridge:
        return "given" if not estimator.positive and np.ndim(estimator.alpha) == 0 and estimator.alpha > 0.0 else None
    if kind is KernelRidge:
        return "given" if getattr(estimator, "centres", None) is None and np.min(estimator.alpha) > 0.0 else None
    if kind is KNeighborsRegressor:
        return "given"
    if kind is GaussianProcessRegressor and not estimator.normalize_y and np.ndim(estimator.alpha) == 0:
        return "given" if estimator.optimizer is None else "chosen"
    return None


def _exact_intervals(fitted: Any, X: Any, y: Floats, weight: Floats | None) -> Any:
    """A model with the same predictions and exact leave-one-out intervals."""
    kind = type(fitted)
    given = {} if weight is None else {"sample_weight": weight}
    if kind is Ridge:
        return RidgeCV(alphas=[float(fitted.alpha)], fit_intercept=fitted.fit_intercept).fit(X, y, **given)
    if kind is KNeighborsRegressor:
        names = ("weights", "algorithm", "leaf_size", "p", "metric", "metric_params", "n_jobs")
        params = {name: getattr(fitted, name) for name in names}
        return KNeighborsCV([fitted.n_neighbors], **params).fit(X, y, **given)
    if kind is GaussianProcessRegressor:
        return KernelRidge(alpha=float(fitted.alpha), kernel=clone(fitted.kernel_)).fit(X, y, **given)
    return fitted
