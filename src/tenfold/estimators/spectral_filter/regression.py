"""Regression by spectral filters, on features or on a kernel."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from tenfold.arrays import Array, is_array_api, is_dask, like, namespace, numpy_dtype, on_host
from tenfold.cross_validation.spectral_selection import Stop, fit_features, fit_kernel
from tenfold.data import Table
from tenfold.estimators.kernel_parameter import KERNEL, check_samples, is_pairwise, make_kernel
from tenfold.estimators.parameters import (
    Constraints,
    boolean,
    check_parameters,
    choice,
    integer,
    nothing,
    random_state,
    real,
)
from tenfold.estimators.predictors import Predictor, ScoreMixin
from tenfold.estimators.registration import Registration
from tenfold.estimators.schema import anything, floats, whole
from tenfold.estimators.schema import nothing as no_value
from tenfold.estimators.validation import (
    as_rows,
    convert_like,
    drop_zero_weights,
    require_finite,
    restore_on_error,
    validate,
    validate_weights,
    warn_unless_certified,
)
from tenfold.judge.certificate import Certificate
from tenfold.kernels import Kernel
from tenfold.plans.spectral_filter import METHODS, Filter
from tenfold.stats.derivatives import Params, forward


class SpectralFilter(ScoreMixin, MultiOutputMixin, RegressorMixin, Predictor, BaseEstimator):
    """Least squares regularised by stopping early: gradient descent, its accelerations, or the first components.

    Weights after step t are ``V diag(g_t(s)) V'X'y`` for the eigenvalues s of ``X'X``, X centred where there is an
    intercept: Landweber's iteration (gradient descent), the nu-method (accelerated, as many digits in the square root
    of the steps), iterated Tikhonov (ridge regression of the residual, again and again), or the t largest singular
    values. With `kernel` the same in the space of a kernel.

    Parameters
    ----------
    method : {"landweber", "nu", "iterated_tikhonov", "truncated_svd", "pcr"}, default="landweber"
        The filter. "pcr", regression on the first principal components, is "truncated_svd" with an intercept.
    n_steps : int, default=100
        The largest step, or number of components, where the step is chosen.
    stop : int, "loo" or "holdout", default="loo"
        The step: a number; that of the least exact leave-one-out error; or of the least error on samples that are held
        out, with the fit of all samples at that step.
    kernel : str, kernel object, callable or None, default=None
        None for the features themselves; else a name of ``sklearn.metrics.pairwise``, an object of `tenfold.kernels`, a
        function of two samples, or "precomputed".
    gamma : float, "auto", "scale" or None, default=None
        Of named kernels; None: 1 / n_features.
    degree : float, default=3
        Degree of the polynomial kernel.
    coef0 : float, default=1
        Constant of the polynomial and the sigmoid kernel.
    kernel_params : dict, default=None
        Parameters of a function.
    step_size : float, default=1.0
        Step of "landweber" times the largest eigenvalue: converges below 2.
    nu : float, default=1.0
        Qualification of the "nu" method.
    alpha : float, default=1.0
        Penalty of each step of "iterated_tikhonov", in units of the sum of squares.
    fit_intercept : bool, default=True
        Whether to fit an intercept, by centring.
    validation_fraction : float, default=0.2
        Part of the samples that is held out with stop="holdout".
    random_state : int, RandomState instance or None, default=None
        Seed of the samples that are held out.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,) or (n_targets, n_features), or None
        Weights of the features at the chosen step; None with a kernel.
    dual_coef_ : ndarray of shape (n_samples,) or (n_targets, n_samples), or None
        Weights of the samples; None without a kernel.
    intercept_ : float or ndarray of shape (n_targets,)
        Intercept; 0.0 with ``fit_intercept=False``.
    step_ : int
        The chosen step.
    coef_path_ : ndarray of shape (n_steps + 1, n_targets, n_features or n_samples)
        The weights of all steps, from zero on.
    intercept_path_ : ndarray of shape (n_steps + 1, n_targets)
        The intercepts of all steps.
    errors_ : ndarray of shape (n_steps + 1,), or None
        Mean squared leave-one-out or hold-out errors of the steps; None with a given step.
    X_fit_ : ndarray or sparse matrix of shape (n_samples, n_features), or None
        The samples, or their kernel matrix; None without a kernel.
    kernel_ : Kernel or None
        The kernel.
    certificate_ : Certificate
        Kind exact: the whole path by the iteration replayed in float64 on a triangular factor of the samples, or by an
        independent singular value decomposition.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features; only where X had names, all of them strings.

    Notes
    -----
    Two passes over the data and one eigendecomposition for the whole path, ``n p^2 + 9 p^3`` operations, and one more
    pass for leave-one-out, ``n p^2`` and ``4 n p`` for each step; of components ``n p^3``, as they are those of the
    others for each sample. With a kernel n takes the place of p. Runs on dense and sparse arrays, files, devices and
    Dask collections; with a kernel in memory.
    Rosasco, sections 4.3 and 8.1; Seeger, section 7.2.1; Engl, Hanke and Neubauer 1996.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import SpectralFilter
    >>> rng = np.random.RandomState(0)
    >>> X = rng.randn(60, 30)
    >>> y = X[:, 0] + rng.randn(60)
    >>> model = SpectralFilter().fit(X, y)
    >>> model.step_, bool(model.errors_[model.step_] < model.errors_[-1]), model.certificate_.ok
    (7, True, True)
    """

    _registration: ClassVar = Registration(
        method="Spectral filters: early stopping, truncated SVD, principal-component regression",
        texts=("R4.3", "R8.1", "S7.2.1", "B17"),
        reads=("three passes",),
        certificate=("exact",),
        judge="spectral_filter.regression",
        outputs="spectral_filter.outputs",
        choice="spectral_filter.check_choice",
        report_only={},
        stored={
            "coef_": floats("p") | floats("t p") | no_value(),
            "dual_coef_": floats("n") | floats("t n") | no_value(),
            "coef_path_": floats("* * *"),
            "intercept_path_": floats("* *"),
            "step_": whole(),
            "errors_": floats("*") | no_value(),
            "X_fit_": floats("n p", sparse=True) | no_value(),
            "kernel_": anything(),
        },
    )
    _constraints: ClassVar[Constraints] = {
        **KERNEL,
        "method": (choice(*METHODS),),
        "n_steps": (integer(1),),
        "stop": (integer(0), choice("loo", "holdout")),
        "kernel": (*KERNEL["kernel"], nothing()),
        "step_size": (real(0, 2, closed="neither"),),
        "nu": (real(0, closed="neither"),),
        "alpha": (real(0),),
        "fit_intercept": (boolean(),),
        "validation_fraction": (real(0, 1, closed="neither"),),
        "random_state": (random_state(),),
    }

    certificate_: Certificate
    coef_: Any
    dual_coef_: Any
    intercept_: Any
    kernel_: Any
    X_fit_: Any

    def __init__(
        self,
        method: str = "landweber",
        *,
        n_steps: int = 100,
        stop: Any = "loo",
        kernel: Any = None,
        gamma: Any = None,
        degree: float = 3,
        coef0: float = 1,
        kernel_params: dict[str, Any] | None = None,
        step_size: float = 1.0,
        nu: float = 1.0,
        alpha: float = 1.0,
        fit_intercept: bool = True,
        validation_fraction: float = 0.2,
        random_state: Any = None,
    ) -> None:
        self.method = method
        self.n_steps = n_steps
        self.stop = stop
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.step_size = step_size
        self.nu = nu
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.validation_fraction = validation_fraction
        self.random_state = random_state

    @restore_on_error
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to samples X (n, p), targets y (n,) or (n, t), and optional `sample_weight`, a number or (n,)."""
        check_parameters(self, self._constraints)
        if self.method == "pcr" and not self.fit_intercept:
            raise ValueError("method='pcr' has an intercept; for samples as they are take method='truncated_svd'.")
        X, y = validate(self, X, y)
        weight = validate_weights(sample_weight, X)
        random, dtype = check_random_state(self.random_state), numpy_dtype(X.dtype)
        stop = Stop(self.stop, int(self.n_steps), float(self.validation_fraction), random)
        work = self._on_features if self.kernel is None else self._on_kernel
        fitted = require_finite(self, X, lambda: work(X, y, weight, stop, dtype))
        flat = y.ndim == 1
        self.step_, self.errors_ = fitted.step, fitted.errors
        self.coef_path_, self.intercept_path_ = convert_like(fitted.path, X), convert_like(fitted.intercepts, X)
        coef = convert_like(fitted.coef[0] if flat else fitted.coef, X)
        self.coef_, self.dual_coef_ = (coef, None) if self.kernel is None else (None, coef)
        self.intercept_ = 0.0
        if self.fit_intercept:
            self.intercept_ = convert_like(fitted.intercept[0] if flat else fitted.intercept, X)
        self.certificate_ = fitted.certificate
        warn_unless_certified(self)
        return self

    def _on_features(self, X: Array, y: Array, weight: Array | None, stop: Stop, dtype: Any) -> Any:
        self.kernel_ = self.X_fit_ = None
        X, y, weight = drop_zero_weights(X, y, weight) if self.stop == "holdout" else (X, y, weight)
        return fit_features(as_rows(X, y, weight), filter_of(self), stop, self.fit_intercept, dtype)

    def _on_kernel(self, X: Array, y: Array, weight: Array | None, stop: Stop, dtype: Any) -> Any:
        if isinstance(X, Table) or is_dask(X):
            raise TypeError("A kernel needs the samples in memory: use kernel=None, Falkon, or a sample of the rows.")
        X = check_samples(self.kernel, X)
        self.kernel_, self.X_fit_ = make_kernel(self, X), X
        return fit_kernel(self.kernel_, X, y, weight, filter_of(self), stop, self.fit_intercept, dtype)

    def predict(self, X: Any) -> Array:
        """Predictions at the chosen step for the samples X (m, p)."""
        return self._predict_raw(X)

    def predict_path(self, X: Any) -> Iterator[Array]:
        """Predictions for the samples X (m, p) at every step of the path, from zero on."""
        check_is_fitted(self)
        path, intercepts = np.asarray(on_host(self.coef_path_)), np.asarray(on_host(self.intercept_path_))
        flat = (self.coef_ if self.kernel_ is None else self.dual_coef_).ndim == 1
        for weights, b in zip(path, intercepts, strict=True):
            yield self._predict_raw(X, partial(_ignore_size, self._function_of(weights[0] if flat else weights, b)))

    def _prediction_function(self, small: bool) -> Callable[[Array], Array]:
        return self._function_of(self.coef_ if self.kernel_ is None else self.dual_coef_, self.intercept_)

    def _function_of(self, coef: Any, intercept: Any) -> Callable[[Array], Array]:
        weights = np.asarray(on_host(coef))
        params = Params(
            np.ascontiguousarray(np.atleast_2d(weights), dtype=np.float64),
            np.ascontiguousarray(
                np.broadcast_to(np.ravel(np.asarray(on_host(intercept), dtype=np.float64)), len(np.atleast_2d(weights)))
            ),
        )
        kernel, samples = self.kernel_, self.X_fit_

        def predict(X: Array) -> Array:
            z = forward(X, params) if kernel is None else _sums(kernel, samples, X, params)
            dtype = X.dtype if is_array_api(X) else np.result_type(X.dtype, weights.dtype)
            z = namespace(z).astype(z, dtype, copy=False)
            return z[:, 0] if weights.ndim == 1 else z

        return predict

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = self.kernel is not None and is_pairwise(self.kernel)
        return tags


def _ignore_size(function: Callable[[Array], Array], small: bool) -> Callable[[Array], Array]:
    return function


def filter_of(model: Any) -> Filter:
    """The filter that the parameters of a model name."""
    return Filter(model.method, float(model.step_size), float(model.nu), float(model.alpha))


def _sums(kernel: Kernel, samples: Array, X: Array, params: Params) -> Array:
    """k(X, samples) w + b."""
    if is_pairwise(kernel):
        return forward(X, params)
    if is_array_api(samples) and not is_array_api(X):
        samples = on_host(samples)
    elif is_array_api(X) and not is_array_api(samples):
        samples = like(samples, X)
    z = kernel.multiply(X, samples, like(np.ascontiguousarray(params.coef.T), X))
    return z + like(params.intercept, z)
