"""Support vector regression with kernels."""

from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import RegressorMixin

from tenfold.arrays import Floats
from tenfold.estimators.callbacks import with_callbacks
from tenfold.estimators.class_labels import as_vector
from tenfold.estimators.parameters import Constraints, check_parameters, choice, real
from tenfold.estimators.predictors import ScoreMixin
from tenfold.estimators.svm.kernel_model import COMMON, KernelMachine
from tenfold.estimators.svm.registrations import MACHINES
from tenfold.estimators.validation import restore_on_error
from tenfold.plans.kernel_svm import fit_targets


class KernelRegressor(ScoreMixin, RegressorMixin, KernelMachine):
    """One machine for targets that are numbers."""

    C: float

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> Self:
        check_parameters(self, self._constraints)
        X, y = self._read(X, y, numeric=True)
        y = as_vector(y).astype(np.float64, copy=False)
        weight, index = self._weights(sample_weight, len(y))
        fitted = fit_targets(
            self._samples(X, index),
            np.ascontiguousarray(y[index]),
            float(self.C) * weight,
            self._settings(X, y),
            epsilon=float(getattr(self, "epsilon", 0.0)),
            nu=getattr(self, "nu", None),
            squared=getattr(self, "loss", "") == "squared_epsilon_insensitive",
        )
        self.n_iter_ = int(fitted.steps[0])
        self._store(fitted, X, index)
        return self

    def predict(self, X: Any) -> Floats:
        """The values at samples X, (n,)."""
        return self._value(X)


class SVR(KernelRegressor):
    """Support vector regression with kernels.

    Minimises over w in the space of the kernel, and b,

        ||w||^2 / 2 + sum_i C_i max(0, |y_i - f_i - b| - epsilon),    f_i = w.phi(x_i) = sum_j beta_j k(x_j, x_i),

    C_i = C times the weight of the sample.

    Parameters
    ----------
    kernel : {"linear", "poly", "rbf", "sigmoid", "precomputed"} or callable, default="rbf"
        exp(-gamma ||x - z||^2) for "rbf", (gamma x.z + coef0)^degree for "poly", tanh(gamma x.z + coef0) for "sigmoid",
        x.z for "linear"; "precomputed": X is the kernel matrix; a function of two sets of samples that returns their
        kernel matrix, or a kernel of `tenfold.kernels` or of scikit-learn's Gaussian processes, of any samples.
    degree : int, default=3
        Degree of "poly".
    gamma : {"scale", "auto"} or float, default="scale"
        "scale" is 1 / (n_features X.var()), "auto" 1 / n_features.
    coef0 : float, default=0.0
        Constant in "poly" and "sigmoid".
    tol : float, default=1e-3
        Largest violation of the optimality conditions, as in libsvm: how much the value that may rise most exceeds the
        value that may fall most. The fit goes on until the certificate is ok, too, which mostly asks for more.
    C : float, default=1.0
        Weight of the losses, inverse to the strength of the penalty.
    epsilon : float, default=0.1
        Half the width of the tube in which errors cost nothing, in the unit of the targets.
    shrinking : bool, default=True
        Accepted for compatibility: the working sets do without.
    cache_size : float, default=200
        Megabytes of kernel values that are kept.
    verbose : bool, default=False
        Accepted for compatibility: use scikit-learn's callbacks, for instance its ProgressBar.
    max_iter : int, default=-1
        Limit of the pairs of variables that are moved, in each machine; -1 for none.
    loss : {"epsilon_insensitive", "squared_epsilon_insensitive"}, default="epsilon_insensitive"
        The loss of the formula, or its square: C sum s_i xi_i^2, for which no coefficient has an upper bound.
    time_limit : float, default=None
        Seconds after which no further step is begun; the model holds the last one, and its certificate.

    Attributes
    ----------
    support_ : ndarray of shape (n_support,)
        Numbers of the support vectors, within the samples of positive weight.
    support_vectors_ : ndarray or CSR of shape (n_support, n_features)
        The support vectors; empty where the kernel is a matrix or a function.
    n_support_ : ndarray of shape (1,)
        The number of support vectors.
    dual_coef_ : ndarray or CSR of shape (1, n_support)
        Coefficients of the support vectors.
    coef_ : ndarray of shape (1, n_features)
        Weights of the features; only with ``kernel="linear"``.
    intercept_ : ndarray of shape (1,)
        Intercept, the mean over the support vectors that are between their bounds.
    support_counts_ : ndarray of shape (3,)
        Support vectors between their bounds (on the margin), at the bound, and at the bound and beyond the margin by
        more than one (outliers).
    fit_status_ : int
        1 where `max_iter` ended the fit, otherwise 0.
    n_iter_ : int
        Pairs of variables that were moved.
    shape_fit_ : tuple of int
        The shape of X.
    certificate_ : Certificate
        Kind gap: no other weights and intercept have an objective that is smaller by more. Its `decided` says
        for which samples no exact optimum predicts otherwise. Where the kernel is not positive semidefinite there is no
        gap: kind stationarity, how far the optimality conditions are violated.
    status_ : str
        How the fit ended: "converged", "iteration limit", "time limit", "stopped by a callback", "interrupted" or
        "stalled" (rounding).
    trace_ : tuple of Record
        Objective, measure and seconds of each step.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features; only where X had names, all of them strings.

    Notes
    -----
    Decomposition: working sets of 64 to 1024 variables, half of them kept from the last, whose kernel rows are
    evaluated by matrix products in single precision and cached within `cache_size`; sequential minimal optimisation
    with second-order selection inside; gradients checked in double precision before the end. Cost: about n_samples x
    n_support kernel values, in memory of `cache_size` and twice the samples. Runs on arrays and sparse matrices.
    Welling, ch. 9. Smola and Schoelkopf, *A tutorial on support vector regression* (2004).

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import SVR
    >>> X = np.linspace(0.0, 6.0, 40)[:, None]
    >>> model = SVR(C=10.0, gamma=1.0, epsilon=0.05).fit(X, np.sin(X[:, 0]))
    >>> bool(np.max(np.abs(model.predict(X) - np.sin(X[:, 0]))) < 0.06)
    True
    >>> model.certificate_.ok
    True
    """

    _registration: ClassVar = MACHINES["SVR"]
    _constraints: ClassVar[Constraints] = {
        **COMMON,
        "C": (real(0.0, closed="right"),),
        "epsilon": (real(0.0),),
        "loss": (choice("epsilon_insensitive", "squared_epsilon_insensitive"),),
    }

    def __init__(
        self,
        *,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: Any = "scale",
        coef0: float = 0.0,
        tol: float = 1e-3,
        C: float = 1.0,
        epsilon: float = 0.1,
        shrinking: bool = True,
        cache_size: float = 200,
        verbose: bool = False,
        max_iter: int = -1,
        loss: str = "epsilon_insensitive",
        time_limit: float | None = None,
    ) -> None:
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.tol = tol
        self.C = C
        self.epsilon = epsilon
        self.shrinking = shrinking
        self.cache_size = cache_size
        self.verbose = verbose
        self.max_iter = max_iter
        self.loss = loss
        self.time_limit = time_limit

    @restore_on_error
    @with_callbacks
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to samples X (n, p), or their kernel matrix (n, n), targets y (n,) and optional `sample_weight` (n,)."""
        return self._fit(X, y, sample_weight)


class NuSVR(KernelRegressor):
    """Support vector regression with kernels, where nu bounds the share of errors.

    Minimises over w in the space of the kernel, b and epsilon >= 0

        ||w||^2 / 2 + C (nu epsilon sum_i s_i + sum_i s_i max(0, |y_i - f_i - b| - epsilon)),    f_i = w.phi(x_i),

    s_i the weights of the samples. At most a share nu of the samples is outside the tube of half width epsilon, and at
    least that share are support vectors.

    Parameters
    ----------
    nu : float, default=0.5
        Upper bound on the share of samples outside the tube, lower bound on that of support vectors, in (0, 1].
    C : float, default=1.0
        Weight of the losses, inverse to the strength of the penalty.
    kernel : {"linear", "poly", "rbf", "sigmoid", "precomputed"} or callable, default="rbf"
        exp(-gamma ||x - z||^2) for "rbf", (gamma x.z + coef0)^degree for "poly", tanh(gamma x.z + coef0) for "sigmoid",
        x.z for "linear"; "precomputed": X is the kernel matrix; a function of two sets of samples that returns their
        kernel matrix, or a kernel of `tenfold.kernels` or of scikit-learn's Gaussian processes, of any samples.
    degree : int, default=3
        Degree of "poly".
    gamma : {"scale", "auto"} or float, default="scale"
        "scale" is 1 / (n_features X.var()), "auto" 1 / n_features.
    coef0 : float, default=0.0
        Constant in "poly" and "sigmoid".
    shrinking : bool, default=True
        Accepted for compatibility: the working sets do without.
    tol : float, default=1e-3
        Largest violation of the optimality conditions, as in libsvm: how much the value that may rise most exceeds the
        value that may fall most. The fit goes on until the certificate is ok, too, which mostly asks for more.
    cache_size : float, default=200
        Megabytes of kernel values that are kept.
    verbose : bool, default=False
        Accepted for compatibility: use scikit-learn's callbacks, for instance its ProgressBar.
    max_iter : int, default=-1
        Limit of the pairs of variables that are moved, in each machine; -1 for none.
    time_limit : float, default=None
        Seconds after which no further step is begun; the model holds the last one, and its certificate.

    Attributes
    ----------
    support_ : ndarray of shape (n_support,)
        Numbers of the support vectors, within the samples of positive weight.
    support_vectors_ : ndarray or CSR of shape (n_support, n_features)
        The support vectors; empty where the kernel is a matrix or a function.
    n_support_ : ndarray of shape (1,)
        The number of support vectors.
    dual_coef_ : ndarray or CSR of shape (1, n_support)
        Coefficients of the support vectors.
    coef_ : ndarray of shape (1, n_features)
        Weights of the features; only with ``kernel="linear"``.
    intercept_ : ndarray of shape (1,)
        Intercept, the mean over the support vectors that are between their bounds.
    support_counts_ : ndarray of shape (3,)
        Support vectors between their bounds (on the margin), at the bound, and at the bound and beyond the margin by
        more than one (outliers).
    fit_status_ : int
        1 where `max_iter` ended the fit, otherwise 0.
    n_iter_ : int
        Pairs of variables that were moved.
    shape_fit_ : tuple of int
        The shape of X.
    certificate_ : Certificate
        Kind gap: no other weights and intercept have an objective that is smaller by more. Its `decided` says
        for which samples no exact optimum predicts otherwise. Where the kernel is not positive semidefinite there is no
        gap: kind stationarity, how far the optimality conditions are violated.
    status_ : str
        How the fit ended: "converged", "iteration limit", "time limit", "stopped by a callback", "interrupted" or
        "stalled" (rounding).
    trace_ : tuple of Record
        Objective, measure and seconds of each step.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features; only where X had names, all of them strings.

    Notes
    -----
    Decomposition: working sets of 64 to 1024 variables, half of them kept from the last, whose kernel rows are
    evaluated by matrix products in single precision and cached within `cache_size`; sequential minimal optimisation
    with second-order selection inside; gradients checked in double precision before the end. Cost: about n_samples x
    n_support kernel values, in memory of `cache_size` and twice the samples. Runs on arrays and sparse matrices.
    Welling, ch. 9. Schoelkopf et al., *New support vector algorithms* (2000).

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import NuSVR
    >>> X = np.linspace(0.0, 6.0, 40)[:, None]
    >>> model = NuSVR(C=10.0, gamma=1.0, nu=0.2).fit(X, np.sin(X[:, 0]))
    >>> model.certificate_.ok
    True
    """

    _registration: ClassVar = MACHINES["NuSVR"]
    _constraints: ClassVar[Constraints] = {
        **COMMON,
        "C": (real(0.0, closed="right"),),
        "nu": (real(0.0, 1.0, closed="right"),),
    }

    def __init__(
        self,
        *,
        nu: float = 0.5,
        C: float = 1.0,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: Any = "scale",
        coef0: float = 0.0,
        shrinking: bool = True,
        tol: float = 1e-3,
        cache_size: float = 200,
        verbose: bool = False,
        max_iter: int = -1,
        time_limit: float | None = None,
    ) -> None:
        self.nu = nu
        self.C = C
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.shrinking = shrinking
        self.tol = tol
        self.cache_size = cache_size
        self.verbose = verbose
        self.max_iter = max_iter
        self.time_limit = time_limit

    @restore_on_error
    @with_callbacks
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to samples X (n, p), or their kernel matrix (n, n), targets y (n,) and optional `sample_weight` (n,)."""
        return self._fit(X, y, sample_weight)
