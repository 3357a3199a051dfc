"""One-class support vector machine."""

from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import OutlierMixin

from tenfold.arrays import Floats, Integers
from tenfold.estimators.callbacks import with_callbacks
from tenfold.estimators.parameters import Constraints, check_parameters, real
from tenfold.estimators.svm.kernel_model import COMMON, KernelMachine
from tenfold.estimators.svm.registrations import MACHINES
from tenfold.estimators.validation import restore_on_error
from tenfold.plans.kernel_svm import fit_one_class


class OneClassSVM(OutlierMixin, KernelMachine):
    """One-class support vector machine: a region that holds most samples.

    Minimises over w in the space of the kernel, and rho,

        ||w||^2 / 2 - nu rho sum_i s_i + sum_i s_i max(0, rho - f_i),    f_i = w.phi(x_i) = sum_j beta_j k(x_j, x_i),

    s_i the weights of the samples. At most a share nu of the samples is outside, and at least that share are support
    vectors.

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
    nu : float, default=0.5
        Upper bound on the share of samples outside, lower bound on that of support vectors, in (0, 1].
    shrinking : bool, default=True
        Accepted for compatibility: the working sets do without.
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
    offset_ : ndarray of shape (1,)
        rho, minus `intercept_`.
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
    Seeger, ch. 9. Schoelkopf et al., *Estimating the support of a high-dimensional distribution* (2001).

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import OneClassSVM
    >>> X = np.array([[0.0], [0.44], [0.45], [0.46], [1.0]])
    >>> model = OneClassSVM(gamma="auto").fit(X)
    >>> model.predict(X)
    array([-1,  1,  1,  1, -1])
    >>> model.certificate_.ok
    True
    """

    _registration: ClassVar = MACHINES["OneClassSVM"]
    _constraints: ClassVar[Constraints] = {**COMMON, "nu": (real(0.0, 1.0, closed="right"),)}

    def __init__(
        self,
        *,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: Any = "scale",
        coef0: float = 0.0,
        tol: float = 1e-3,
        nu: float = 0.5,
        shrinking: bool = True,
        cache_size: float = 200,
        verbose: bool = False,
        max_iter: int = -1,
        time_limit: float | None = None,
    ) -> None:
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.tol = tol
        self.nu = nu
        self.shrinking = shrinking
        self.cache_size = cache_size
        self.verbose = verbose
        self.max_iter = max_iter
        self.time_limit = time_limit

    @restore_on_error
    @with_callbacks
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to samples X (n, p), or their kernel matrix (n, n), and optional `sample_weight` (n,); y is not read."""
        check_parameters(self, self._constraints)
        X, _ = self._read(X, None, numeric=True)
        count = X.shape[0] if hasattr(X, "shape") else len(X)
        weight, index = self._weights(sample_weight, count)
        fitted = fit_one_class(self._samples(X, index), weight, float(self.nu), self._settings(X, y))
        self.n_iter_ = int(fitted.steps[0])
        self.offset_ = -fitted.intercept
        self._store(fitted, X, index)
        return self

    def decision_function(self, X: Any) -> Floats:
        """Values at samples X, (n,): positive inside."""
        return self._value(X)

    def score_samples(self, X: Any) -> Floats:
        """The values at samples X without the intercept, (n,)."""
        return self.decision_function(X) + self.offset_

    def predict(self, X: Any) -> Integers:
        """1 for samples X inside, -1 for those outside, (n,)."""
        return np.where(self.decision_function(X) > 0.0, 1, -1)
