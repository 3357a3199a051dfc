"""Probabilistic principal component analysis."""

from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from tenfold.arrays import Array, Floats, is_array_api, is_sparse, like, namespace, numpy_dtype, wide
from tenfold.estimators.callbacks import CallbackSupportMixin, make_callback, with_callbacks
from tenfold.estimators.decomposition.principal import PrincipalComponentsModel, log_density
from tenfold.estimators.parameters import (
    Constraints,
    check_parameters,
    choice,
    integer,
    nothing,
    random_state,
    real,
)
from tenfold.estimators.registration import Registration
from tenfold.estimators.schema import many, number, whole
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
from tenfold.plans.probabilistic_pca import fit_subspace, regularise
from tenfold.stats.derivatives import Params, forward
from tenfold.stats.probabilistic_pca import Subspace, as_dense, condition_on_observed


class ProbabilisticPCA(CallbackSupportMixin, PrincipalComponentsModel):
    """Probabilistic principal components: a Gaussian model of few factors and equal noise, for missing values too.

    ``x = m + W'z + e`` with factors z of unit variance and noise e of variance s in each feature, so that the
    covariance is ``W'W + s I``. All have the largest likelihood of the observed values; what is not a number is
    missing. Without missing values the rows of ``W = (L - s I)^1/2 U`` are the leading eigenvectors U of the covariance
    with values L, and s is the mean of the others (Tipping and Bishop, 1999).

    Parameters
    ----------
    n_components : int, default=None
        The number of factors, at most that of features; None for one less than features, at least one.
    solver : {"auto", "closed", "em"}, default="auto"
        The closed form; or EM, whose steps complete the second moments by what the observed values say of the missing
        ones, and take the closed form for these. "auto" takes EM where values are missing.
    max_iter : int, default=1000
        Most steps of EM.
    tol : float, default=1e-8
        With missing values, how much one more step of EM may raise a sample's log-likelihood: steps end at half of it,
        and the certificate allows it, or 1e-9 where that is larger.
    random_state : int, RandomState instance or None, default=None
        Seed of `sample`; nothing is drawn in `fit`.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The axes U, orthonormal, each with its largest entry positive.
    explained_variance_ : ndarray of shape (n_components,)
        The variances L of the model along the axes, that of the noise included: divided by the sum of the weights.
    noise_variance_ : float
        The variance s of the model in all other directions; zero where there are none.
    mean_ : ndarray of shape (n_features,)
        The mean of the model.
    loglike_ : list of float
        The log-likelihood of all samples before each step of EM and after the last; of the closed form alone without.
    n_iter_ : int
        How many steps of EM were taken, 1 in closed form.
    certificate_ : Certificate
        Kind spectral without missing values: residuals of the components, how far all that is stored is from what they
        capture, and a proof that none with a larger value was left out. Kind fixed point with missing values: how much
        one exact step of EM from the stored numbers raises a sample's log-likelihood; another start may give a higher
        one. The note says where a variance is at its floor, 1e-6 of the features' mean variance: there the likelihood
        may grow without bound.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features; only where X had names, all of them strings.

    Notes
    -----
    The closed form is one pass over the samples, and one with products to judge. EM is a pass a step, with a k x k
    matrix for each pattern of missing features, and p x p eigenvectors; its judge takes two passes with p x p factors
    for each pattern. A sample without any observed value says nothing: it changes no parameter, its factors are
    expected at zero, and its log-likelihood is zero. In densities and inverses variances count at least 1e-12 of the
    largest. Runs on dense and sparse arrays, files, devices and Dask collections, with sample weights; sparse arrays
    cannot have missing values in `fit`, and the steps of EM run on the host.
    Tipping and Bishop (1999); Roweis (1998); Seeger, section 11.1 and ch. 12; Rosasco, ch. 10.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import ProbabilisticPCA
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((500, 1)) * [1.0, -2.0, 3.0, 1.0] + 0.1 * rng.standard_normal((500, 4))
    >>> X[::5, 1] = np.nan
    >>> model = ProbabilisticPCA(1).fit(X)
    >>> model.components_.round(1)
    array([[ 0.3, -0.5,  0.8,  0.3]])
    >>> model.impute([[1.0, np.nan, 3.0, 1.0]]).round(1)
    array([[ 1., -2.,  3.,  1.]])
    >>> model.certificate_.ok
    True
    """

    _registration: ClassVar = Registration(
        method="Probabilistic principal component analysis",
        texts=("S11.1", "S12.3", "R10"),
        reads=("one pass", "a pass a step"),
        certificate=("spectral", "fixed point"),
        judge="latent_factors.probabilistic_components",
        outputs="latent_factors.posterior_outputs",
        report_only={
            "loglike_": "the likelihood before each step, and after the last",
            "n_iter_": "how many steps were taken",
        },
        stored={"noise_variance_": number(0.0), "loglike_": many(number()), "n_iter_": whole(0)},
        transform_uses="samples",
    )
    _constraints: ClassVar[Constraints] = {
        "n_components": (integer(0), nothing()),
        "solver": (choice("auto", "closed", "em"),),
        "max_iter": (integer(1),),
        "tol": (real(0),),
        "random_state": (random_state(),),
    }
    _allow_nan: ClassVar[bool] = True
    _propagates_nonfinite: ClassVar[bool] = False

    certificate_: Certificate

    def __init__(
        self,
        n_components: int | None = None,
        *,
        solver: str = "auto",
        max_iter: int = 1000,
        tol: float = 1e-8,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.solver = solver
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    @with_callbacks
    @restore_on_error
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit mean, axes and variances.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, p), table, Dask collection, or array on a device
            The samples; what is not a number is missing.
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
        if is_sparse(X) and _lacks_values(X):
            raise ValueError(
                "Input X contains NaN: sparse arrays cannot have missing values in fit; give a dense array."
            )
        rows = as_rows_without_target(X, validate_weights(sample_weight, X))
        count = count_components(self.n_components, rows.shape[1])
        callback = make_callback(self, X, y, self.max_iter, partial(_attributes, X=X))
        fitted = require_finite(
            self,
            X,
            lambda: fit_subspace(
                rows,
                count,
                solver=self.solver,
                max_iter=int(self.max_iter),
                tol=float(self.tol),
                dtype=numpy_dtype(X.dtype),
                names=getattr(self, "feature_names_in_", None),
                callback=callback,
            ),
        )
        for name, value in _attributes(fitted.subspace, X).items():
            setattr(self, name, value)
        self.loglike_, self.n_iter_ = fitted.likelihoods, max(1, len(fitted.likelihoods) - 1)
        self.certificate_ = fitted.certificate
        warn_unless_certified(self)
        return self

    def fit_transform(self, X: Any, y: Any = None, sample_weight: Any = None) -> Array:
        """Fit to X (n, p) and optional `sample_weight` (n,), and transform the same samples; `y` is not used."""
        return self.fit(X, y, sample_weight).transform(X)

    def _subspace(self) -> Subspace:
        check_is_fitted(self)
        mean, axes, variances = (wide(part) for part in (self.mean_, self.components_, self.explained_variance_))
        return regularise(Subspace(mean, axes, variances, float(self.noise_variance_)))

    def _model(self) -> tuple[Floats, Floats, float]:
        model = self._subspace()
        return model.axes, model.variances, model.noise

    def transform(self, X: Any) -> Array:
        """The expected factors of the samples X (n, p), given the observed values, (n, n_components); zero for a sample
        without any.
        """
        return self._predict_raw(X)

    def _prediction_function(self, small: bool) -> Callable[[Array], Array]:
        return partial(_expect_factors, self._subspace())

    def inverse_transform(self, X: Any) -> Array:
        """Expected samples (n, n_features) for factors X (n, n_components): ``m + W'z``."""
        model = self._subspace()
        return self._reconstruct(X, _loadings(model), model.mean)

    def impute(self, X: Any) -> Array:
        """The samples X (n, p) with expectations, given the observed values, in place of missing values."""
        return self._predict_raw(X, self._completing_function)

    def _completing_function(self, small: bool) -> Callable[[Array], Array]:
        return partial(_complete, self._subspace())

    def score_samples(self, X: Any) -> Array:
        """The log density of the observed values of each of the samples X (n, p), (n,)."""
        return self._predict_raw(X, self._density_of_rows)

    def _density_of_rows(self, small: bool) -> Callable[[Array], Array]:
        return partial(_log_density, self._subspace())

    def score(self, X: Any, y: Any = None) -> float:
        """The mean log density of the samples X (n, p); `y` is not used."""
        fitted = self.score_samples(X)
        return float(namespace(fitted).mean(fitted))

    def sample(self, n_samples: int = 1) -> Array:
        """Random samples (n_samples, n_features) of the model."""
        model = self._subspace()
        if n_samples < 1:
            raise ValueError(f"n_samples must be at least 1; got {n_samples}.")
        random, (k, p) = check_random_state(self.random_state), model.axes.shape
        drawn = random.standard_normal((int(n_samples), k)) @ _loadings(model)
        drawn += np.sqrt(model.noise) * random.standard_normal((int(n_samples), p))
        return convert_like(model.mean + drawn, self.components_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def count_components(n_components: int | None, p: int) -> int:
    """How many components are asked for, of p features."""
    if n_components is None:
        return max(1, p - 1)
    if n_components > p:
        raise ValueError(f"n_components={n_components} must be at most the number of features, {p}.")
    return int(n_components)


def _attributes(model: Subspace, X: Array) -> dict[str, Any]:
    return {
        "components_": convert_like(model.axes, X),
        "explained_variance_": convert_like(model.variances, X),
        "noise_variance_": float(model.noise),
        "mean_": convert_like(model.mean, X),
    }


def _loadings(model: Subspace) -> Floats:
    return np.sqrt(np.maximum(model.variances - model.noise, 0.0))[:, None] * model.axes


def _lacks_values(X: Array) -> bool:
    return bool(np.isnan(X.data).any()) if is_sparse(X) else bool(namespace(X).any(namespace(X).isnan(X)))


def _complete(model: Subspace, X: Array) -> Array:
    if not _lacks_values(X):
        return X.toarray() if is_sparse(X) else namespace(X).asarray(X, copy=True)
    dense = as_dense(X)
    result = np.where(np.isnan(dense), model.mean + condition_on_observed(model, dense).deviations, dense)
    result = result.astype(numpy_dtype(X.dtype), copy=False)
    return like(result, X) if is_array_api(X) else result


def _expect_factors(model: Subspace, X: Array) -> Array:
    """``W (W'W + s I)^-1 (x - m)`` of samples, whose missing values are those expected: both are linear."""
    if _lacks_values(X):
        away = condition_on_observed(model, as_dense(X)).deviations
        z = away @ (_loadings(model) / model.variances[:, None]).T
        z = z.astype(numpy_dtype(X.dtype), copy=False)
        return like(z, X) if is_array_api(X) else z
    z = forward(X, Params(_loadings(model) / model.variances[:, None], np.zeros(len(model.axes))), model.mean)
    return namespace(z).astype(z, X.dtype, copy=False)


def _log_density(model: Subspace, X: Array) -> Array:
    if _lacks_values(X):
        values = condition_on_observed(model, as_dense(X)).density
        return like(values, X) if is_array_api(X) else values
    return log_density(model.axes, model.mean, model.variances, model.noise, X)
