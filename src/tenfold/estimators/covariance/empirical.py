"""The empirical covariance, and what all estimators of a covariance answer."""

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import metadata_routing
from sklearn.utils.validation import check_is_fitted

from tenfold.arrays import Array, Floats, is_sparse, like, namespace, numpy_dtype, wide
from tenfold.data import Rows
from tenfold.estimators.parameters import Constraints, boolean, check_parameters
from tenfold.estimators.predictors import Predictor
from tenfold.estimators.registration import Registration
from tenfold.estimators.schema import floats, nothing
from tenfold.estimators.validation import (
    as_rows_without_target,
    convert_like,
    require_finite,
    restore_on_error,
    validate_rows,
    validate_weights,
    warn_unless_certified,
)
from tenfold.judge.certificate import Certificate
from tenfold.plans.covariance import FittedCovariance, fit_covariance, fold_scatter, invert, log_likelihood
from tenfold.stats.derivatives import Params, forward

STORED = {"location_": floats("p"), "covariance_": floats("p p"), "precision_": floats("p p") | nothing()}
ONE_SAMPLE = "Only one sample available. You may want to reshape your data array"


class CovarianceModel(Predictor, BaseEstimator):
    """A Gaussian model: a location, a covariance and a precision."""

    __metadata_request__score: ClassVar = {"X_test": metadata_routing.UNUSED}

    location_: Array
    covariance_: Array
    precision_: Array | None
    certificate_: Certificate

    def get_precision(self) -> Array:
        """The precision, (p, p): `precision_`, or the (pseudo-)inverse of `covariance_` where it is not stored."""
        check_is_fitted(self)
        precision = getattr(self, "precision_", None)
        return convert_like(invert(wide(self.covariance_)), self.covariance_) if precision is None else precision

    def score(self, X_test: Any, y: Any = None) -> float:
        """The mean log-likelihood of samples in the Gaussian model.

        Parameters
        ----------
        X_test : array-like or sparse matrix of shape (m, p), table, Dask collection, or array on a device
            The samples.
        y : object, default=None
            Not used.

        Returns
        -------
        float
            ``1/2 (log|P| - trace(P S) - p log 2 pi)``, S the second moments of the samples about `location_`.
        """
        check_is_fitted(self)
        X = validate_rows(type(self)(), X_test)
        p = len(self.location_)
        if X.shape[1] != p:
            raise ValueError(
                f"X has {X.shape[1]} features, but {type(self).__name__} is expecting {p} features as input."
            )
        rows = as_rows_without_target(X, None)
        scatter = require_finite(self, X, lambda: fold_scatter(rows, False))
        away = scatter.centre - wide(self.location_)
        return log_likelihood(scatter.covariance + np.outer(away, away), wide(self.get_precision()))

    def error_norm(self, comp_cov: Any, norm: str = "frobenius", scaling: bool = True, squared: bool = True) -> float:
        """The error of another covariance.

        Parameters
        ----------
        comp_cov : array-like of shape (p, p)
            The covariance to compare with.
        norm : {"frobenius", "spectral"}, default="frobenius"
            The norm of the difference.
        scaling : bool, default=True
            Whether the squared norm is divided by p.
        squared : bool, default=True
            Whether the squared norm is returned, or its root.

        Returns
        -------
        float
            The error.
        """
        check_is_fitted(self)
        error = wide(comp_cov) - wide(self.covariance_)
        if norm not in ("frobenius", "spectral"):
            raise NotImplementedError("Only spectral and frobenius norms are implemented")
        size = float(np.sum(error**2)) if norm == "frobenius" else float(np.linalg.norm(error, 2)) ** 2
        size /= len(error) if scaling else 1
        return size if squared else float(np.sqrt(size))

    def mahalanobis(self, X: Any) -> Array:
        """Squared Mahalanobis distances (m,) of the samples X (m, p) from `location_`."""
        return self._predict_raw(X)

    def _prediction_function(self, small: bool) -> Callable[[Array], Array]:
        return partial(_distances, wide(self.get_precision()), wide(self.location_))

    def _check_count(self, X: Array) -> None:
        if X.shape[0] == 1:
            warnings.warn(ONE_SAMPLE, UserWarning, stacklevel=4)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _distances(precision: Floats, location: Floats, X: Array) -> Array:
    z = forward(X, Params(precision, np.zeros(len(precision))), location)
    xp = namespace(z)
    dense = X.toarray() if is_sparse(X) else xp.astype(X, xp.float64, copy=False)
    squares = xp.sum(z * (dense - like(location, z)), axis=1)
    return xp.where(squares > 0.0, squares, xp.zeros_like(squares))


class PlainCovariance(CovarianceModel):
    """A covariance from the moments of the samples, and its inverse."""

    _kind: ClassVar[str]
    store_precision: bool
    assume_centered: bool

    def _amount(self) -> float | None:
        """The given amount of shrinkage."""
        return None

    def _fit(self, X: Any, sample_weight: Any) -> FittedCovariance:
        X = validate_rows(self, X)
        self._check_count(X)
        rows: Rows = as_rows_without_target(X, validate_weights(sample_weight, X))
        fitted = require_finite(
            self,
            X,
            lambda: fit_covariance(
                rows,
                kind=self._kind,
                amount=self._amount(),
                centred=bool(self.assume_centered),
                store_precision=bool(self.store_precision),
                dtype=numpy_dtype(X.dtype),
            ),
        )
        self.location_, self.covariance_ = convert_like(fitted.location, X), convert_like(fitted.covariance, X)
        self.precision_ = None if fitted.precision is None else convert_like(fitted.precision, X)
        self.certificate_ = fitted.certificate
        warn_unless_certified(self)
        return fitted


class EmpiricalCovariance(PlainCovariance):
    """The covariance of the samples, the maximum-likelihood estimate of a Gaussian model.

    ``S = (1/W) sum_i w_i (x_i - m)(x_i - m)'`` about the weighted mean m, W the sum of the weights.

    Parameters
    ----------
    store_precision : bool, default=True
        Whether the inverse is stored.
    assume_centered : bool, default=False
        Whether samples count as centred: S is taken about zero.

    Attributes
    ----------
    location_ : ndarray of shape (n_features,)
        The weighted mean, or zero.
    covariance_ : ndarray of shape (n_features, n_features)
        The covariance.
    precision_ : ndarray of shape (n_features, n_features)
        Its inverse, of a singular covariance the pseudo-inverse, in which eigenvalues up to p units in the last place
        of the largest count as zero; None without `store_precision`.
    certificate_ : Certificate
        Kind exact: the location, products of the covariance with random vectors against those of the samples, and the
        precision as its inverse. The note says where the covariance is singular.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features; only where X had names, all of them strings.

    Notes
    -----
    One pass over the samples, and one with products to judge; memory p x p. Runs on dense and sparse arrays, files,
    devices and Dask collections, with sample weights.
    Cookbook, ch. 7; Seeger, section 6.4.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import EmpiricalCovariance
    >>> model = EmpiricalCovariance().fit(np.array([[1.0, 0.0], [3.0, 0.0], [2.0, 3.0]]))
    >>> model.covariance_.round(3), model.certificate_.ok
    (array([[0.667, 0.   ],
           [0.   , 2.   ]]), True)
    """

    _registration: ClassVar = Registration(
        method="Empirical covariance",
        texts=("B7", "S6.4"),
        peer="sklearn.covariance",
        reads=("one pass",),
        certificate=("exact",),
        judge="covariance.empirical",
        outputs="covariance.distances",
        stored=STORED,
    )
    _constraints: ClassVar[Constraints] = {"store_precision": (boolean(),), "assume_centered": (boolean(),)}
    _kind: ClassVar = "empirical"

    def __init__(self, *, store_precision: bool = True, assume_centered: bool = False) -> None:
        self.store_precision = store_precision
        self.assume_centered = assume_centered

    @restore_on_error
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit the covariance.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, p), table, Dask collection, or array on a device
            The samples.
        y : object, default=None
            Not used.
        sample_weight : array-like of shape (n,), default=None
            Weights of the samples; integers count as repetitions. None: all ones.

        Returns
        -------
        self : estimator
            The fitted estimator.
        """
        check_parameters(self, self._constraints)
        self._fit(X, sample_weight)
        return self
