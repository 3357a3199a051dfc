"""Gaussian process regression."""

import warnings
from typing import Any, ClassVar, Self

import numpy as np
from scipy.linalg import LinAlgError
from scipy.special import ndtri
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin, clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import validate_data

from tenfold.arrays import Array, Floats
from tenfold.estimators.gaussian_process.inputs import (
    HERE,
    INSTEAD,
    check_matrix_options,
    default_kernel,
    kernel_object,
    list_starts,
    validate_queries,
)
from tenfold.estimators.leaderboard_entry import Entry
from tenfold.estimators.parameters import (
    Constraints,
    boolean,
    check_parameters,
    choice,
    function,
    instance,
    integer,
    nothing,
    random_state,
    real,
)
from tenfold.estimators.predictors import ScoreMixin
from tenfold.estimators.registration import Registration
from tenfold.estimators.schema import anything, array, floats, integers, number
from tenfold.estimators.validation import read_strings, restore_on_error, warn_unless_certified
from tenfold.judge.certificate import Certificate
from tenfold.kernels import Constant, Gaussian, Product, White
from tenfold.kernels.covariance import Covariance
from tenfold.kernels.evaluation import count
from tenfold.plans.gaussian_process import fit_regression, require_matrices
from tenfold.plans.gaussian_process_evidence import Evidence
from tenfold.plans.gaussian_process_predictions import draw, predict_covariance, predict_variances

NUMBERS = floats("n") | floats("n t") | integers("n") | integers("n t") | array("b", "n", "n t")


class GaussianProcessRegressor(ScoreMixin, MultiOutputMixin, RegressorMixin, BaseEstimator):
    """Gaussian process regression: the posterior of a function whose prior covariance is a kernel.

    With ``f ~ GP(0, k)`` and ``y_i ~ N(f(x_i), alpha_i)``, ``C = K + diag(alpha)`` and ``K_* = k(X_*, X)``, the
    posterior mean is ``K_* C^-1 y`` and the covariance ``k(X_*, X_*) - K_* C^-1 K_*'``. The hyper-parameters of the
    kernel that have bounds maximise the evidence ``log p(y) = -1/2 y'C^-1 y - 1/2 log det C - n/2 log 2 pi``, summed
    over the targets. The mean is that of kernel ridge regression with the same kernel and penalty alpha.

    Parameters
    ----------
    kernel : kernel object, default=None
        The covariance function, of `tenfold.kernels` or of ``sklearn.gaussian_process.kernels`` (whose kernels are
        evaluated by ours). None is a constant times a Gaussian. Hyper-parameters with bounds "fixed" stay as they are.
    alpha : float or ndarray of shape (n_samples,), default=1e-10
        Variance of the noise, added to the diagonal of the kernel matrix.
    optimizer : "fmin_l_bfgs_b", callable or None, default="fmin_l_bfgs_b"
        How the evidence is maximised: the string, scikit-learn's name, stands for Newton's method within the bounds,
        which begins again at length scales of the data where it ends with no more evidence than a constant and noise;
        a function ``optimizer(obj_func, initial_theta, bounds)`` minimises ``obj_func(theta, eval_gradient=True)``, the
        negative evidence and its gradient, and returns theta and the value; None keeps the hyper-parameters.
    n_restarts_optimizer : int, default=0
        Number of further searches, from hyper-parameters drawn uniformly in the logarithms within the bounds.
    normalize_y : bool, default=False
        Whether the targets are centred and divided by their standard deviation for the fit.
    copy_X_train : bool, default=True
        Whether X and y are copied into the model.
    n_targets : int, default=None
        Number of targets of the prior, for predictions and samples before a fit; of a fit, that of y must be the same.
    random_state : int, RandomState instance or None, default=None
        Seed of the restarts.

    Attributes
    ----------
    X_train_ : ndarray or sparse matrix of shape (n_samples, n_features), or list of object
        The samples.
    y_train_ : ndarray of shape (n_samples,) or (n_samples, n_targets)
        The targets, normalised where `normalize_y` is.
    kernel_ : kernel object
        The kernel with the hyper-parameters of the fit, of the class that was given.
    L_ : ndarray of shape (n_samples, n_samples)
        The lower triangle L with ``L L' = K + diag(alpha)``.
    alpha_ : ndarray of shape (n_samples,) or (n_samples, n_targets)
        The dual coefficients ``C^-1 y``.
    log_marginal_likelihood_value_ : float
        The evidence.
    certificate_ : Certificate
        Kind stationarity where hyper-parameters were chosen: the evidence in nats a sample that a Newton step over the
        free ones would gain; another start may give more evidence. Otherwise kind residual:
        ``||y - C alpha_|| / ||y||``. Both check ``L_``, ``alpha_`` and the evidence with the kernel matrix computed
        again.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features; only where X had names, all of them strings.

    Notes
    -----
    Cost: some ten evaluations of the evidence, each of n^3 operations, and one more for the certificate than there are
    free hyper-parameters; from 800 samples on, most evaluations of a search are among few of them. Where amplitude and
    noise alone are free, one eigendecomposition. Memory 6 n^2 numbers. Predictions with standard deviations n^2
    operations a query, in blocks. Runs on dense and sparse arrays. Cookbook, chapter 23; Seeger, sections 9.2.2 and
    10.2.1; Rasmussen and Williams, Gaussian processes for machine learning (2006), chapters 2 and 5.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import GaussianProcessRegressor
    >>> from tenfold.kernels import Gaussian, White
    >>> rng = np.random.RandomState(0)
    >>> X = rng.uniform(-4, 4, (60, 1))
    >>> y = np.cos(X[:, 0]) + 0.1 * rng.randn(60)
    >>> model = GaussianProcessRegressor(1.0 * Gaussian() + White(0.1)).fit(X, y)
    >>> mean, deviation = model.predict([[0.0]], return_std=True)
    >>> print(f"{mean[0]:.1f} +- {deviation[0]:.1f}, certified {model.certificate_.ok}")
    1.0 +- 0.1, certified True
    """

    _registration: ClassVar = Registration(
        method="Gaussian process regression: evidence, standard deviations, samples",
        texts=("B23", "S9.2.2", "S10.2.1"),
        peer="sklearn.gaussian_process",
        reads=("in memory",),
        where=HERE,
        instead=INSTEAD,
        certificate=("stationarity", "residual"),
        judge="gaussian_process.regression",
        outputs="gaussian_process.means",
        stored={
            "X_train_": anything(),
            "y_train_": NUMBERS,
            "L_": floats("n n"),
            "alpha_": floats("n") | floats("n t"),
            "log_marginal_likelihood_value_": number(),
            "_y_train_mean": floats("1") | floats("t") | number(),
            "_y_train_std": floats("1") | floats("t") | number(0.0),
        },
        rules={"X_train_ must have as many samples as L_": lambda model: count(model.X_train_) == len(model.L_)},
        board=Entry(
            "gaussian-process",
            "regression",
            settings={"normalize_y": True, "kernel": Product(Constant(), Gaussian()) + White()},
            fast=False,
            most_rows=4000,
            dense=True,
        ),
    )

    _constraints: ClassVar[Constraints] = {
        "kernel": (nothing(), kernel_object()),
        "alpha": (real(0), instance(np.ndarray)),
        "optimizer": (choice("fmin_l_bfgs_b"), function(), nothing()),
        "n_restarts_optimizer": (integer(0),),
        "normalize_y": (boolean(),),
        "copy_X_train": (boolean(),),
        "n_targets": (integer(1), nothing()),
        "random_state": (random_state(),),
    }

    X_train_: Any
    _y_train_mean: Any
    _y_train_std: Any
    y_train_: Array
    L_: Floats
    alpha_: Floats
    kernel_: Any
    certificate_: Certificate

    def __init__(
        self,
        kernel: Any = None,
        *,
        alpha: Any = 1e-10,
        optimizer: Any = "fmin_l_bfgs_b",
        n_restarts_optimizer: int = 0,
        normalize_y: bool = False,
        copy_X_train: bool = True,
        n_targets: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.kernel = kernel
        self.alpha = alpha
        self.optimizer = optimizer
        self.n_restarts_optimizer = n_restarts_optimizer
        self.normalize_y = normalize_y
        self.copy_X_train = copy_X_train
        self.n_targets = n_targets
        self.random_state = random_state

    @restore_on_error
    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit to samples X (n, p), or a list of objects that the kernel takes, and targets y (n,) or (n, t)."""
        check_parameters(self, self._constraints)
        X = read_strings(self, X)
        self._registration.check_source(type(self).__name__, X)
        kernel = default_kernel(fixed=False) if self.kernel is None else clone(self.kernel)
        options = check_matrix_options(kernel)
        X, y = validate_data(self, X, y, multi_output=True, y_numeric=True, **options)
        targets = y.shape[1] if y.ndim > 1 else 1
        if self.n_targets is not None and targets != self.n_targets:
            raise ValueError(
                "The number of targets seen in `y` is different from the parameter `n_targets`. "
                f"Got {targets} != {self.n_targets}."
            )
        require_matrices(y.shape[0])
        self._y_train_mean, self._y_train_std = center_and_scale(y) if self.normalize_y else _identity(y)
        if self.normalize_y:
            y = (y - self._y_train_mean) / self._y_train_std
        self.kernel_ = kernel
        self.X_train_ = X.copy() if self.copy_X_train and hasattr(X, "copy") else X
        self.y_train_ = np.copy(y) if self.copy_X_train else y
        self._solve(noise_of(self.alpha, y.shape[0]))
        return self

    def _solve(self, alpha: Any) -> None:
        covariance, starts = Covariance.of(self.kernel_, self.X_train_), None
        if self.optimizer is not None and len(covariance.theta):
            starts = list_starts(covariance.theta, covariance.bounds, self.n_restarts_optimizer, self.random_state)
        optimizer = self.optimizer if callable(self.optimizer) else None
        fitted = fit_regression(covariance, self.X_train_, columns(self.y_train_), alpha, starts, optimizer)
        if fitted is None:
            raise LinAlgError(
                f"The kernel, {self.kernel_}, is not returning a positive definite matrix. Try gradually increasing "
                "the 'alpha' parameter of your GaussianProcessRegressor estimator."
            )
        if starts is not None:
            self.kernel_.theta = fitted.theta
            self.kernel_._check_bounds_params()
        self.L_ = fitted.posterior.L
        self.alpha_ = np.ascontiguousarray(fitted.posterior.dual.reshape(self.y_train_.shape))
        self.log_marginal_likelihood_value_ = fitted.posterior.evidence
        self.certificate_ = fitted.certificate
        warn_unless_certified(self)

    def predict(self, X: Any, return_std: bool = False, return_cov: bool = False) -> Any:
        """The mean of the function at X, (m,) or (m, t); of the prior, before a fit.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (m, n_features), or list of object
            Queries.
        return_std : bool, default=False
            Whether also to return standard deviations, of the shape of the mean, White noise of the kernel included.
        return_cov : bool, default=False
            Whether also to return the covariance, (m, m) or (m, m, t); only one of the two.

        Returns
        -------
        ndarray, or a tuple of two
            The mean, and the standard deviations or the covariance.
        """
        if return_std and return_cov:
            raise RuntimeError("At most one of return_std or return_cov can be requested.")
        X = validate_queries(self, X)
        if not hasattr(self, "X_train_"):
            return self._predict_prior(X, return_std, return_cov)
        covariance, dual = Covariance.of(self.kernel_, self.X_train_), columns(self.alpha_)
        if return_cov:
            mean, full = predict_covariance(covariance, self.X_train_, dual, self.L_, X)
            return self._restore(mean), _per_target(full, np.square(self._y_train_std), dual.shape[1])
        if return_std:
            mean, variance = predict_variances(covariance, self.X_train_, dual, self.L_, X)
            if np.any(variance < 0.0):
                warnings.warn("Predicted variances smaller than 0. Setting those variances to 0.", stacklevel=2)
            deviation = np.sqrt(np.maximum(variance, 0.0))
            return self._restore(mean), _per_target(deviation, self._y_train_std, dual.shape[1])
        return self._restore(covariance.multiply(X, self.X_train_, dual))

    def _restore(self, mean: Floats) -> Floats:
        """Means (m, t) in the units of the targets, flat where there is one."""
        mean = self._y_train_std * mean + self._y_train_mean
        return mean[:, 0] if mean.shape[1] == 1 else mean

    def _predict_prior(self, X: Any, return_std: bool, return_cov: bool) -> Any:
        kernel = default_kernel(fixed=True) if self.kernel is None else self.kernel
        covariance = Covariance.of(kernel, X)
        t = 1 if self.n_targets is None else self.n_targets
        mean = np.zeros((count(X), t)) if t > 1 else np.zeros(count(X))
        if return_cov:
            return mean, _per_target(covariance.block(X), 1.0, t)
        return (mean, _per_target(np.sqrt(covariance.diagonal(X)), 1.0, t)) if return_std else mean

    def predict_interval(self, X: Any, coverage: float = 0.9) -> Floats:
        """Intervals of the predictive distribution for new observations at X.

        They hold where the model does: the kernel is right, the noise is normal, and the hyper-parameters are known;
        the uncertainty of those that were chosen by evidence is not in them.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (m, n_features)
            Queries.
        coverage : float, default=0.9
            Probability with which an interval is to cover.

        Returns
        -------
        ndarray of shape (m, 2) or (m, n_targets, 2)
            Lower and upper ends. The noise is that of the kernel and of a scalar `alpha`.
        """
        if not 0.0 < coverage < 1.0:
            raise ValueError(f"coverage must be between 0 and 1, got {coverage}.")
        mean, deviation = self.predict(X, return_std=True)
        noise = 0.0 if np.ndim(self.alpha) else float(self.alpha)
        scale = getattr(self, "_y_train_std", np.ones(1))
        half = float(ndtri(0.5 + 0.5 * coverage)) * np.sqrt(deviation**2 + noise * np.square(scale))
        return np.stack([mean - half, mean + half], axis=-1)

    def sample_y(self, X: Any, n_samples: int = 1, random_state: Any = 0) -> Floats:
        """Functions drawn from the posterior, before a fit from the prior.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (m, n_features), or list of object
            Queries.
        n_samples : int, default=1
            Number of functions.
        random_state : int, RandomState instance or None, default=0
            Seed of the draws, which are by a Cholesky factor with pivots: other numbers than scikit-learn's, of the
            same distribution.

        Returns
        -------
        ndarray of shape (m, n_samples) or (m, n_targets, n_samples)
            Their values at the queries.
        """
        random = check_random_state(random_state)
        mean, covariance = self.predict(X, return_cov=True)
        if mean.ndim == 1:
            return draw(mean, covariance, n_samples, random)
        parts = [draw(mean[:, k], covariance[..., k], n_samples, random) for k in range(mean.shape[1])]
        return np.stack(parts, axis=1)

    def log_marginal_likelihood(self, theta: Any = None, eval_gradient: bool = False, clone_kernel: bool = True) -> Any:
        """The evidence of hyper-parameters.

        Parameters
        ----------
        theta : array-like of shape (n_kernel_params,), default=None
            Logarithms of the hyper-parameters; None gives that of the fit.
        eval_gradient : bool, default=False
            Whether also to return the gradient, which needs theta.
        clone_kernel : bool, default=True
            Whether `kernel_` is left as it is; otherwise it is set to theta.

        Returns
        -------
        float, or a tuple of float and ndarray of shape (n_kernel_params,)
            The evidence, and its gradient.
        """
        if theta is None:
            if eval_gradient:
                raise ValueError("Gradient can only be evaluated for theta!=None")
            return np.float64(self.log_marginal_likelihood_value_)
        theta = np.asarray(theta, dtype=np.float64)
        alpha = noise_of(self.alpha, len(self.y_train_))
        evidence = Evidence(Covariance.of(self.kernel_, self.X_train_), self.X_train_, columns(self.y_train_), alpha)
        value, gradient = evidence.gradient(theta) if eval_gradient else (-evidence.value(theta), None)
        if not clone_kernel:
            self.kernel_.theta = theta
        return np.float64(value) if gradient is None else (np.float64(value), gradient)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.requires_fit = False
        tags.input_tags.sparse = True
        return tags


def center_and_scale(y: Array) -> tuple[Any, Any]:
    """Means and standard deviations of the targets, ones for those that are constant."""
    y = np.asarray(y, dtype=np.float64)
    mean, deviation = np.mean(y, axis=0), np.std(y, axis=0)
    constant = deviation < 10.0 * np.finfo(np.float64).eps * np.maximum(np.abs(mean), 1e-300)
    return mean, np.where(constant | (deviation == 0.0), 1.0, deviation)[()]


def _identity(y: Array) -> tuple[Floats, Floats]:
    shape = (y.shape[1],) if y.ndim == 2 else (1,)
    return np.zeros(shape), np.ones(shape)


def columns(values: Any) -> Floats:
    """Values (n,) or (n, t) as columns in float64."""
    values = np.asarray(values, dtype=np.float64)
    return np.ascontiguousarray(values[:, None] if values.ndim == 1 else values)


def noise_of(alpha: Any, n: int) -> Any:
    """The variances of the noise, one or (n,)."""
    if not np.ndim(alpha):
        return float(alpha)
    alpha = np.asarray(alpha, dtype=np.float64)
    if alpha.shape == (1,):
        return float(alpha[0])
    if alpha.shape != (n,):
        raise ValueError(f"alpha must be a scalar or an array with same number of entries as y. ({len(alpha)} != {n})")
    if not np.all(alpha >= 0.0):
        raise ValueError("alpha holds variances of the noise: all must be zero or positive.")
    return alpha


def _per_target(values: Floats, factors: Any, targets: int) -> Floats:
    """Values of one target for each of them, times its factor."""
    if targets == 1:
        return values * float(np.ravel(factors)[0])
    return values[..., None] * np.broadcast_to(factors, (targets,))
