"""Factor analysis."""

from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from tenfold.arrays import Array, Floats, is_array_api, is_dask, is_sparse, like, namespace, wide
from tenfold.estimators.parameters import (
    Constraints,
    array_like,
    boolean,
    check_parameters,
    choice,
    integer,
    nothing,
    random_state,
    real,
)
from tenfold.estimators.predictors import Predictor
from tenfold.estimators.registration import Registration
from tenfold.estimators.schema import floats, many, number, whole
from tenfold.estimators.validation import (
    as_rows_without_target,
    require_finite,
    restore_on_error,
    validate_rows,
    validate_weights,
    warn_unless_certified,
)
from tenfold.judge.certificate import Certificate
from tenfold.plans.factor_analysis import fit_factors
from tenfold.stats.derivatives import Params, forward


class FactorAnalysis(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Predictor, BaseEstimator):
    """Factor analysis: a Gaussian model of few factors, with noise of its own for each feature.

    ``x = m + W'z + e`` with factors z of unit variance and independent noise e of variances psi, so that the
    covariance is ``W'W + diag(psi)``; W and psi have the largest likelihood.

    Parameters
    ----------
    n_components : int, default=None
        The number of factors; None for as many as features.
    tol : float, default=0.01
        Accepted for compatibility: steps end at the gradient of the likelihood, not at its increase.
    copy : bool, default=True
        Accepted for compatibility: X is never changed.
    max_iter : int, default=1000
        Most steps of Newton's method.
    noise_variance_init : array-like of shape (n_features,), default=None
        Noise variances to start from; None for a share of what the other features leave of each.
    svd_method : {"lapack", "randomized"}, default="randomized"
        Accepted for compatibility: eigenvectors are those of the second moments.
    iterated_power : int, default=3
        Accepted for compatibility.
    rotation : {"varimax", "quartimax"}, default=None
        The rotation of the factors, which does not change the likelihood.
    random_state : int or RandomState instance, default=0
        Accepted for compatibility: nothing is drawn.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The loadings W. Those of factors that do not increase the likelihood are zero.
    noise_variance_ : ndarray of shape (n_features,)
        The noise variances psi, at least 1e-6 of the variance of the feature.
    mean_ : ndarray of shape (n_features,)
        The weighted mean of the samples.
    loglike_ : list of float
        The log-likelihood of all samples after each step.
    n_iter_ : int
        How many steps were taken.
    certificate_ : Certificate
        Kind stationarity: the gradient of a sample's log-likelihood in the logarithms of psi, with the best loadings
        for each psi, and the excess of the stored loadings. The note says how many noise variances are at their floor,
        where the likelihood may grow without bound.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features; only where X had names, all of them strings.

    Notes
    -----
    One pass over the samples, and one with products to judge; then some eigendecompositions of p x p matrices. Runs on
    dense and sparse arrays, files, devices and Dask collections, with sample weights.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import FactorAnalysis
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((500, 1)) * [1.0, -2.0, 3.0, 1.0] + rng.standard_normal((500, 4))
    >>> model = FactorAnalysis(1).fit(X)
    >>> abs(model.components_.round(0))
    array([[1., 2., 3., 1.]])
    >>> model.certificate_.ok
    True
    """

    _registration: ClassVar = Registration(
        method="Factor analysis",
        texts=("S11.1", "R10"),
        peer="sklearn.decomposition",
        reads=("one pass",),
        certificate=("stationarity",),
        judge="latent_factors.factor_analysis",
        outputs="latent_factors.factor_outputs",
        report_only={
            "loglike_": "the likelihood after each step",
            "n_iter_": "how many steps were taken",
        },
        stored={"noise_variance_": floats("p", low=0.0), "loglike_": many(number()), "n_iter_": whole(0)},
        transform_uses="samples",
    )
    _constraints: ClassVar[Constraints] = {
        "n_components": (integer(0), nothing()),
        "tol": (real(0),),
        "copy": (boolean(),),
        "max_iter": (integer(1),),
        "noise_variance_init": (array_like(), nothing()),
        "svd_method": (choice("lapack", "randomized"),),
        "iterated_power": (integer(0),),
        "rotation": (choice("varimax", "quartimax"), nothing()),
        "random_state": (random_state(),),
    }

    components_: Array
    noise_variance_: Array
    mean_: Array
    certificate_: Certificate

    def __init__(
        self,
        n_components: int | None = None,
        *,
        tol: float = 1e-2,
        copy: bool = True,
        max_iter: int = 1000,
        noise_variance_init: Any = None,
        svd_method: str = "randomized",
        iterated_power: int = 3,
        rotation: str | None = None,
        random_state: Any = 0,
    ) -> None:
        self.n_components = n_components
        self.tol = tol
        self.copy = copy
        self.max_iter = max_iter
        self.noise_variance_init = noise_variance_init
        self.svd_method = svd_method
        self.iterated_power = iterated_power
        self.rotation = rotation
        self.random_state = random_state

    @restore_on_error
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit loadings and noise variances.

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
        X = validate_rows(self, X)
        rows = as_rows_without_target(X, validate_weights(sample_weight, X))
        p = rows.shape[1]
        count = p if self.n_components is None else min(int(self.n_components), p)
        start = self._start(p)
        fitted = require_finite(
            self,
            X,
            lambda: fit_factors(rows, count, start=start, rotation=self.rotation, max_iter=int(self.max_iter)),
        )
        here = is_array_api(X) and not is_dask(X)
        self.components_, self.noise_variance_, self.mean_ = (
            like(part, X) if here else part for part in (fitted.loadings, fitted.noise, fitted.mean)
        )
        self.loglike_, self.n_iter_ = fitted.likelihoods, max(1, len(fitted.likelihoods) - 1)
        self.certificate_ = fitted.certificate
        warn_unless_certified(self)
        return self

    def _start(self, p: int) -> Floats | None:
        if self.noise_variance_init is None:
            return None
        start = np.asarray(self.noise_variance_init, dtype=np.float64)
        if start.shape != (p,):
            raise ValueError(
                f"noise_variance_init dimension does not with number of features : {len(start)} != {p}: give one "
                "variance for each feature."
            )
        if not (np.isfinite(start).all() and (start > 0.0).all()):
            raise ValueError("noise_variance_init must hold positive numbers.")
        return start

    def transform(self, X: Any) -> Array:
        """The expected factors of the samples X (m, p), (m, n_components)."""
        return self._predict_raw(X)

    def _prediction_function(self, small: bool) -> Callable[[Array], Array]:
        W = wide(self.components_)
        scaled = W / wide(self.noise_variance_)
        projection = np.linalg.solve(np.eye(len(W)) + scaled @ W.T, scaled)
        return partial(_project, np.ascontiguousarray(projection), wide(self.mean_))

    def get_covariance(self) -> Floats:
        """The covariance of the model, ``W'W + diag(psi)``, (p, p)."""
        check_is_fitted(self)
        W = wide(self.components_)
        return W.T @ W + np.diag(wide(self.noise_variance_))

    def get_precision(self) -> Floats:
        """The inverse of `get_covariance`, (p, p)."""
        check_is_fitted(self)
        W, noise = wide(self.components_), wide(self.noise_variance_)
        scaled = W / noise
        return np.diag(1.0 / noise) - scaled.T @ np.linalg.solve(np.eye(len(W)) + scaled @ W.T, scaled)

    def score_samples(self, X: Any) -> Array:
        """The log-likelihood of each of the samples X (m, p), (m,)."""
        return self._predict_raw(X, self._density_of_rows)

    def _density_of_rows(self, small: bool) -> Callable[[Array], Array]:
        W, noise = wide(self.components_), wide(self.noise_variance_)
        scaled = W / noise
        M = np.eye(len(W)) + scaled @ W.T
        logs = float(np.sum(np.log(noise))) + float(np.linalg.slogdet(M)[1])
        root = np.linalg.cholesky(np.linalg.inv(M)) if len(M) else np.zeros((0, 0))
        return partial(_log_density, np.ascontiguousarray(root.T @ scaled), noise, wide(self.mean_), logs)

    def score(self, X: Any, y: Any = None) -> float:
        """The mean log-likelihood of the samples X (m, p); `y` is not used."""
        fitted = self.score_samples(X)
        return float(namespace(fitted).mean(fitted))

    @property
    def _n_features_out(self) -> int:
        return int(self.components_.shape[0])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _project(projection: Floats, mean: Floats, X: Array) -> Array:
    return forward(X, Params(projection, np.zeros(len(projection))), mean)


def _log_density(inner: Floats, noise: Floats, mean: Floats, logs: float, X: Array) -> Array:
    """``-1/2 (p log 2 pi + log|C| + (x - m)'C^-1 (x - m))``: by the noise, less what the factors explain."""
    dense = X.toarray() if is_sparse(X) else X
    xp = namespace(dense)
    away = xp.astype(dense, xp.float64, copy=False) - like(mean, dense)
    z = xp.matmul(away, like(np.ascontiguousarray(inner.T), away))
    squares = xp.sum(away * away * like(1.0 / noise, away), axis=1) - xp.sum(z * z, axis=1)
    return -0.5 * (squares + len(noise) * float(np.log(2.0 * np.pi)) + logs)
