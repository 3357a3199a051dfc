"""Independent component analysis."""

import warnings
from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from tenfold.arrays import Array, Floats, numpy_dtype, wide
from tenfold.data import Rows
from tenfold.estimators.decomposition.projected import ProjectionMixin
from tenfold.estimators.parameters import (
    Check,
    Constraints,
    array_like,
    boolean,
    check_arguments,
    check_parameters,
    choice,
    function,
    instance,
    integer,
    nothing,
    random_state,
    real,
)
from tenfold.estimators.registration import Registration
from tenfold.estimators.schema import floats, whole
from tenfold.estimators.validation import (
    as_rows_without_target,
    convert_like,
    require_finite,
    restore_on_error,
    total_weight,
    validate_rows,
    validate_weights,
    warn_unless_certified,
)
from tenfold.judge.certificate import Certificate
from tenfold.plans.fast_ica import Whitening, fit_sources, no_whitening, whiten_rows
from tenfold.stats.contrasts import Nonlinearity, nonlinearity


def _never() -> Check:
    """False, and not zero."""
    return lambda value: value is False or (isinstance(value, np.bool_) and not value), "False"


class FastICA(ProjectionMixin):
    """Independent components by FastICA (Hyvarinen and Oja 2000): directions whose projections are least Gaussian.

    White samples z, with the identity as covariance, are turned by an orthogonal W so that the sum of ``E[G(s_i)]``
    over the sources ``s = W z`` is stationary, where g is the derivative of G.

    Parameters
    ----------
    n_components : int, default=None
        The number of components, at most min(n, p) and the rank of the covariance; None for as many.
    algorithm : {"parallel", "deflation"}, default="parallel"
        Whether all components are turned together, or found one after the other.
    whiten : {"unit-variance", "arbitrary-variance"} or False, default="unit-variance"
        Whether sources have unit variance, or one over the number of samples; False for samples that are white already.
    fun : {"logcosh", "exp", "cube"} or callable, default="logcosh"
        g: tanh(a s), s exp(-s^2 / 2), s^3, or a function of projections (k, m) that returns g of them, and the mean of
        its derivative along the last axis.
    fun_args : dict, default=None
        Keyword arguments of g; {"alpha": a} for "logcosh", 1 to 2.
    max_iter : int, default=200
        Most steps, each a pass over the samples.
    tol : float, default=1e-4
        The asymmetry of ``diag(sigma) E[g(s) s']``, relative to its size, at which steps end. The certificate allows
        it.
    w_init : array-like of shape (n_components, n_components), default=None
        The first W; None for one of random normal numbers.
    whiten_solver : {"eigh", "svd"}, default="svd"
        Accepted for compatibility: whitening is by the eigenvectors of the covariance.
    random_state : int, RandomState instance or None, default=None
        Seed of the first W.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        What gives the sources of centred samples.
    mixing_ : ndarray of shape (n_features, n_components)
        The pseudo-inverse of `components_`.
    mean_ : ndarray of shape (n_features,)
        The weighted mean of the samples; only with whitening.
    whitening_ : ndarray of shape (n_components, n_features)
        The leading principal axes over their singular values; only with whitening.
    n_iter_ : int
        How many steps were taken, of the component that took most.
    certificate_ : Certificate
        Kind stationarity: the asymmetry at which steps end, recomputed from the sources. Not ok unless these have unit
        covariance and lie in the leading principal subspace.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features; only where X had names, all of them strings.

    Notes
    -----
    One pass over the samples for their moments, one a step, and four to judge. Runs on dense and sparse arrays, files,
    devices and Dask collections, with sample weights. Sources that are Gaussian have no best rotation: then many steps
    are taken, and the fit is not certified.
    Welling, ch. 2, names it.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import FastICA
    >>> time = np.linspace(0.0, 8.0, 500)
    >>> sources = np.column_stack([np.sin(2.0 * time), np.sign(np.sin(3.0 * time))])
    >>> model = FastICA(2, random_state=0).fit(sources @ np.array([[1.0, 0.5], [1.0, 2.0]]))
    >>> model.components_.shape, model.certificate_.ok
    ((2, 2), True)
    """

    _registration: ClassVar = Registration(
        method="Independent component analysis",
        texts=("W2",),
        peer="sklearn.decomposition",
        reads=("a pass a step",),
        certificate=("stationarity",),
        judge="latent_factors.fast_ica",
        outputs="latent_factors.source_outputs",
        report_only={"n_iter_": "how many steps were taken"},
        stored={"mixing_": floats("p c"), "whitening_": floats("c p"), "n_iter_": whole(0)},
        transform_uses="samples",
    )
    _constraints: ClassVar[Constraints] = {
        "n_components": (integer(1), nothing()),
        "algorithm": (choice("parallel", "deflation"),),
        "whiten": (choice("arbitrary-variance", "unit-variance"), _never()),
        "fun": (choice("logcosh", "exp", "cube"), function()),
        "fun_args": (instance(dict), nothing()),
        "max_iter": (integer(1),),
        "tol": (real(0),),
        "w_init": (array_like(), nothing()),
        "whiten_solver": (choice("eigh", "svd"),),
        "random_state": (random_state(),),
    }

    components_: Array
    mixing_: Array
    certificate_: Certificate

    def __init__(
        self,
        n_components: int | None = None,
        *,
        algorithm: str = "parallel",
        whiten: Any = "unit-variance",
        fun: Any = "logcosh",
        fun_args: dict[str, Any] | None = None,
        max_iter: int = 200,
        tol: float = 1e-4,
        w_init: Any = None,
        whiten_solver: str = "svd",
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.algorithm = algorithm
        self.whiten = whiten
        self.fun = fun
        self.fun_args = fun_args
        self.max_iter = max_iter
        self.tol = tol
        self.w_init = w_init
        self.whiten_solver = whiten_solver
        self.random_state = random_state

    @restore_on_error
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit the components.

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
        g = read_nonlinearity(self.fun, self.fun_args)
        X = validate_rows(self, X)
        if X.shape[0] < 2:
            raise ValueError(
                f"Found array with {X.shape[0]} sample(s) (shape={tuple(X.shape)}) while a minimum of 2 is required by "
                f"{type(self).__name__}."
            )
        weight = validate_weights(sample_weight, X)
        if weight is not None and callable(self.fun):
            raise ValueError("A function of the user's gives the mean of its derivative: leave the weights out.")
        rows = as_rows_without_target(X, weight)
        count = self._count(*rows.shape)
        whitening = require_finite(self, X, lambda: self._whiten(rows, count, total_weight(X, weight)))
        if len(whitening.matrix) < count and self.n_components is not None:
            warnings.warn(f"n_components is too large: it will be set to {len(whitening.matrix)}", stacklevel=3)
        fitted = require_finite(
            self,
            X,
            lambda: fit_sources(
                rows,
                whitening,
                self._start(len(whitening.matrix)),
                g,
                algorithm=self.algorithm,
                whiten=self.whiten,
                tol=float(self.tol),
                max_iter=int(self.max_iter),
                dtype=numpy_dtype(X.dtype),
            ),
        )
        for name in ("mean_", "whitening_"):
            self.__dict__.pop(name, None)
        if self.whiten:
            self.mean_, self.whitening_ = convert_like(fitted.mean, X), convert_like(fitted.whitening, X)
        self.components_, self.mixing_ = convert_like(fitted.components, X), convert_like(fitted.mixing, X)
        self.n_iter_, self.certificate_ = fitted.iterations, fitted.certificate
        warn_unless_certified(self)
        return self

    def _count(self, n: int, p: int) -> int:
        if not self.whiten:
            if self.n_components is not None:
                warnings.warn("Ignoring n_components with whiten=False.", stacklevel=4)
            return p
        most = min(n, p)
        if self.n_components is None or int(self.n_components) <= most:
            return most if self.n_components is None else int(self.n_components)
        warnings.warn(f"n_components is too large: it will be set to {most}", stacklevel=4)
        return most

    def _whiten(self, rows: Rows, count: int, weight: float) -> Whitening:
        return whiten_rows(rows, count) if self.whiten else no_whitening(count, weight)

    def _start(self, k: int) -> Floats:
        if self.w_init is None:
            return np.asarray(check_random_state(self.random_state).normal(size=(k, k)), dtype=np.float64)
        start = np.asarray(self.w_init, dtype=np.float64)
        if start.shape != (k, k):
            raise ValueError(f"w_init has invalid shape -- should be {(k, k)}")
        return start

    def _frame(self) -> tuple[Floats, Floats]:
        C = wide(self.components_)
        return C, wide(self.mean_) if self.whiten else np.zeros(C.shape[1])

    def fit_transform(self, X: Any, y: Any = None, sample_weight: Any = None) -> Array:
        """Fit to X (n, p) and optional `sample_weight` (n,), and return the sources (n, n_components) of these samples;
        `y` is not used.
        """
        return self.fit(X, sample_weight=sample_weight).transform(X)

    def transform(self, X: Any, copy: bool = True) -> Array:
        """The sources of the samples X (m, p), (m, n_components); `copy` is accepted for compatibility."""
        return self._predict_raw(X)

    def inverse_transform(self, X: Any, copy: bool = True) -> Array:
        """Samples (m, p) from sources X (m, n_components); `copy` is accepted for compatibility."""
        check_is_fitted(self)
        place = self._frame()[1]
        return self._reconstruct(X, np.ascontiguousarray(wide(self.mixing_).T), place)


def read_nonlinearity(fun: Any, fun_args: Mapping[str, Any] | None) -> Nonlinearity:
    """The function g, checked."""
    given = {} if fun_args is None else fun_args
    if not 1 <= given.get("alpha", 1.0) <= 2:
        raise ValueError("alpha must be in [1,2]")
    return nonlinearity(fun, given)


def fastica(
    X: Any,
    n_components: int | None = None,
    *,
    algorithm: str = "parallel",
    whiten: Any = "unit-variance",
    fun: Any = "logcosh",
    fun_args: dict[str, Any] | None = None,
    max_iter: int = 200,
    tol: float = 1e-4,
    w_init: Any = None,
    whiten_solver: str = "svd",
    random_state: Any = None,
    return_X_mean: bool = False,
    compute_sources: bool = True,
    return_n_iter: bool = False,
) -> tuple[Any, ...]:
    """Independent components by FastICA (Hyvarinen and Oja 2000).

    Parameters
    ----------
    X : array-like of shape (n, p)
        The samples.
    n_components : int, default=None
        The number of components; None for as many as there can be.
    algorithm : {"parallel", "deflation"}, default="parallel"
        Whether all components are turned together, or found one after the other.
    whiten : {"unit-variance", "arbitrary-variance"} or False, default="unit-variance"
        Whether sources have unit variance, or one over the number of samples; False for samples that are white already.
    fun : {"logcosh", "exp", "cube"} or callable, default="logcosh"
        The function g: tanh(a s), s exp(-s^2 / 2), s^3, or one that returns g and the mean of its derivative.
    fun_args : dict, default=None
        Keyword arguments of g.
    max_iter : int, default=200
        Most steps.
    tol : float, default=1e-4
        The relative asymmetry at which steps end.
    w_init : array-like of shape (n_components, n_components), default=None
        The first rotation; None for one of random normal numbers.
    whiten_solver : {"eigh", "svd"}, default="svd"
        Accepted for compatibility.
    random_state : int, RandomState instance or None, default=None
        Seed of the first rotation.
    return_X_mean : bool, default=False
        Whether the mean is returned, too.
    compute_sources : bool, default=True
        Whether the sources are computed, or None in their place.
    return_n_iter : bool, default=False
        Whether the number of steps is returned, too.

    Returns
    -------
    K : ndarray of shape (n_components, p) or None
        The whitening matrix; None without whitening.
    W : ndarray of shape (n_components, n_components)
        What gives the sources of whitened samples.
    S : ndarray of shape (n, n_components) or None
        The sources.
    X_mean : ndarray of shape (p,)
        The mean; only with ``return_X_mean=True``.
    n_iter : int
        The number of steps; only with ``return_n_iter=True``.

    Notes
    -----
    One pass over the samples a step. To see the certificate, take `FastICA`.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import fastica
    >>> time = np.linspace(0.0, 8.0, 500)
    >>> sources = np.column_stack([np.sin(2.0 * time), np.sign(np.sin(3.0 * time))])
    >>> K, W, S = fastica(sources @ np.array([[1.0, 0.5], [1.0, 2.0]]), random_state=0)
    >>> S.shape, S.std(axis=0).round(3)
    ((500, 2), array([1., 1.]))
    """
    flags: Constraints = dict.fromkeys(("return_X_mean", "compute_sources", "return_n_iter"), (boolean(),))
    check_arguments(
        "fastica",
        flags,
        return_X_mean=return_X_mean,
        compute_sources=compute_sources,
        return_n_iter=return_n_iter,
    )
    model = FastICA(
        n_components,
        algorithm=algorithm,
        whiten=whiten,
        fun=fun,
        fun_args=fun_args,
        max_iter=max_iter,
        tol=tol,
        w_init=w_init,
        whiten_solver=whiten_solver,
        random_state=random_state,
    )
    model.fit(X)
    sources = model.transform(X) if compute_sources else None
    K = model.whitening_ if model.whiten else None
    components = wide(model.components_)
    W = components if K is None else components @ np.linalg.pinv(wide(K))
    more = [model.mean_ if model.whiten else None] if return_X_mean else []
    more += [model.n_iter_] if return_n_iter else []
    return (K, W.astype(numpy_dtype(model.components_.dtype), copy=False), sources, *more)
