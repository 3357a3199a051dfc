"""What support vector machines with kernels have in common: parameters, samples, and values at samples."""

from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, OutlierMixin
from sklearn.utils import check_array, check_consistent_length
from sklearn.utils.validation import check_is_fitted, validate_data

from tenfold.arrays import FLOATS, Array, Floats, Integers, contiguous, is_sparse
from tenfold.estimators.callbacks import CallbackSupportMixin, make_callback
from tenfold.estimators.parameters import (
    Constraints,
    boolean,
    choice,
    function,
    integer,
    nothing,
    real,
)
from tenfold.estimators.validation import (
    all_finite,
    is_plain,
    read_strings,
    sum_duplicates,
    validate,
    validate_rows,
    validate_weights,
    warn_unless_certified,
)
from tenfold.judge.certificate import Certificate
from tenfold.kernels import Constant, Kernel, as_kernel
from tenfold.kernels.conversion import gamma_of
from tenfold.machine import require_memory
from tenfold.plans.kernel_svm import FittedMachine, Samples, Settings
from tenfold.solvers.loop import Record, Status

KERNELS = ("linear", "poly", "rbf", "sigmoid", "precomputed")
SCALE = "Consider pre-processing your data with StandardScaler or MinMaxScaler."

COMMON: Constraints = {
    "kernel": (choice(*KERNELS), function()),
    "degree": (integer(0),),
    "gamma": (choice("scale", "auto"), real(0.0)),
    "coef0": (real(-np.inf, closed="neither"),),
    "tol": (real(0.0, closed="neither"),),
    "shrinking": (boolean(),),
    "cache_size": (real(0.0, closed="neither"),),
    "verbose": (integer(0), boolean()),
    "max_iter": (integer(-1),),
    "time_limit": (nothing(), real(0, np.inf, "right")),
}


class _AsMatrix:
    """A kernel function of two sets of samples, whose values may be sparse."""

    def __init__(self, function: Any) -> None:
        self.function = function

    def __call__(self, X: Any, Z: Any) -> Floats:
        values = self.function(X, Z)
        return np.asarray(values.toarray() if is_sparse(values) else values, dtype=np.float64)


def _knows_samples(kernel: Any) -> bool:
    """Whether a kernel object evaluates any blocks, and not only those of all samples of the fit."""
    return isinstance(kernel, Kernel) or hasattr(kernel, "is_stationary")


def read_weights(sample_weight: Any, count: int) -> Floats:
    """Weights (n,) of the samples, where those that are negative are zero: they remove a sample, as in libsvm."""
    if sample_weight is None:
        return np.ones(count)
    given = np.shape(np.asarray(sample_weight))
    if given not in ((), (count,)):
        raise ValueError(f"sample_weight and X have incompatible shapes: {given} vs {count} samples.")
    positive = np.maximum(np.asarray(sample_weight, dtype=np.float64), 0.0)  # NaN stays
    if not np.any(positive):
        raise ValueError("Invalid input - all samples have zero or negative weights.")
    weight = validate_weights(positive if given else float(positive), np.empty((count, 0)))
    assert weight is not None
    return np.asarray(weight)


class KernelMachine(CallbackSupportMixin, BaseEstimator):
    """A support vector machine with a kernel, by scikit-learn's parameters, attributes and rules."""

    kernel: Any
    support_: Integers
    support_vectors_: Array
    dual_coef_: Array
    intercept_: Floats
    shape_fit_: tuple[int, ...]
    certificate_: Certificate
    status_: str
    trace_: tuple[Record, ...]
    _gamma: float
    _constraints: ClassVar[Constraints] = COMMON

    # samples ---------------------------------------------------------------------------------------------------------

    def _read(self, X: Any, y: Any, *, numeric: bool) -> tuple[Any, Array]:
        """X and y, None where there is none, as scikit-learn checks them; a kernel function has samples of any kind."""
        if callable(self.kernel):
            X = read_strings(self, X)
            check_consistent_length(X, y)
            self._sparse = False
            return X, np.asarray(y)
        if is_sparse(X) and self.kernel == "precomputed":
            raise TypeError("Sparse precomputed kernels are not supported.")
        if y is None and isinstance(self, OutlierMixin):
            X = validate_rows(self, X)
        else:
            X, y = validate(self, X, y, numeric=numeric, multi_output=False)
        if not is_sparse(X) and not all_finite(X):
            check_array(X, input_name="X", estimator=self)
        if self.kernel == "precomputed" and X.shape[0] != X.shape[1]:
            raise ValueError(
                f"Precomputed matrix must be a square matrix. Input is a {X.shape[0]}x{X.shape[1]} matrix."
            )
        self._sparse = is_sparse(X)
        return X if self._sparse else contiguous(X), y

    def _weights(self, sample_weight: Any, count: int) -> tuple[Floats, Integers]:
        """The weights of the samples of positive weight, and their numbers."""
        weight = read_weights(sample_weight, count)
        index = np.flatnonzero(weight > 0.0)
        return weight[index], index

    def _samples(self, X: Any, index: Integers) -> Samples:
        """The samples with their kernel; of a function the matrix."""
        kernel = self.kernel
        if kernel == "precomputed" or callable(kernel):
            self._gamma = 0.0
        else:
            self._gamma = self._resolve_gamma(X)
        self.__dict__.pop("_fit_samples", None)
        if callable(kernel):
            self._fit_samples = X
            if not _knows_samples(kernel):
                K = _AsMatrix(kernel)(X, X)
                n = X.shape[0] if hasattr(X, "shape") else len(X)
                if K.shape != (n, n):
                    raise ValueError(
                        "X.shape[0] should be equal to X.shape[1]: of these samples the function must return a kernel "
                        f"matrix of shape {(n, n)}, and returned one of shape {K.shape}."
                    )
                return Samples(as_kernel("precomputed"), contiguous(K), index)
            X = X if is_sparse(X) or isinstance(X, np.ndarray) else list(X)
        count = len(index)
        size = min(self._bytes, 8.0 * count * count) + (0 if is_sparse(X) or isinstance(X, list) else 2 * X.nbytes)
        require_memory(
            f"{type(self).__name__} of {count} samples", int(size), "Lower cache_size, or take fewer samples."
        )
        return Samples(self._kernel(), X, index)

    def _resolve_gamma(self, X: Array) -> float:
        if isinstance(self.gamma, str):
            return gamma_of(self.gamma, X if is_sparse(X) else np.asarray(X, dtype=np.float64))
        return float(self.gamma)

    def _kernel(self) -> Kernel:
        if callable(self.kernel):
            return as_kernel(self.kernel)
        if self.kernel == "rbf" and self._gamma == 0.0:
            return Constant(1.0)
        return as_kernel(self.kernel, gamma=self._gamma, degree=self.degree, coef0=self.coef0)

    @property
    def _bytes(self) -> float:
        return float(self.cache_size) * 2.0**20

    def _settings(self, X: Any, y: Any) -> Settings:
        limit = int(self.max_iter)
        callback = make_callback(self, X, y, 1 << 20, lambda _: {})
        return Settings(
            float(self.tol),
            self._bytes,
            None if limit < 0 else limit,
            self.time_limit,
            callback,
        )

    # what is learned -------------------------------------------------------------------------------------------------

    def _store(self, fitted: FittedMachine, X: Any, index: Integers) -> None:
        """The attributes that scikit-learn has, and the certificate."""
        self.support_ = fitted.support.astype(np.int32)
        given = callable(self.kernel) or self.kernel == "precomputed"
        self.support_vectors_ = np.empty((0, 0)) if given else X[index[fitted.support]]
        self.__dict__.pop("_columns", None)
        if given and not np.array_equal(index[fitted.support], fitted.support):
            self._columns = index[fitted.support]
        self.dual_coef_ = sparse.csr_matrix(fitted.coef) if self._sparse else fitted.coef
        self.intercept_ = fitted.intercept
        self.shape_fit_ = tuple(X.shape) if hasattr(X, "shape") else (len(X),)
        self.fit_status_ = int(fitted.status is Status.MAX_ITER)
        self.support_counts_ = np.array(fitted.counts, dtype=np.int64)
        self.certificate_, self.status_, self.trace_ = fitted.certificate, fitted.certificate.status, fitted.trace
        early = f"Solver terminated early (max_iter={self.max_iter}).  {SCALE} " if self.fit_status_ else ""
        warn_unless_certified(self, early)

    @property
    def coef_(self) -> Array:
        """Weights of the features with ``kernel="linear"``: (1, n_features), or one row for each pair of classes."""
        if self.kernel != "linear":
            raise AttributeError("coef_ is only available when using a linear kernel")
        coef = self._primal()
        (coef.data if is_sparse(coef) else coef).flags.writeable = False
        return coef

    def _primal(self) -> Array:
        return self.dual_coef_ @ self.support_vectors_

    @property
    def n_support_(self) -> Integers:
        """The number of support vectors; of classifiers one for each class."""
        if not hasattr(self, "support_"):
            raise AttributeError("n_support_ is known after fit")
        return np.array([len(self.support_)], dtype=np.int32)

    # values ----------------------------------------------------------------------------------------------------------

    def _validate_for_predict(self, X: Any) -> Any:
        check_is_fitted(self)
        if callable(self.kernel):
            return read_strings(self, X)
        self._registration.check_source(type(self).__name__, X)
        named = hasattr(self, "feature_names_in_")
        if not (is_plain(X) and X.shape[1] == self.n_features_in_ and not named and all_finite(X)):
            X = validate_data(self, X, accept_sparse="csr", dtype=list(FLOATS), reset=False)
            X = sum_duplicates(X)
        if self.kernel == "precomputed" and X.shape[1] != self.shape_fit_[0]:
            raise ValueError(
                f"X.shape[1] = {X.shape[1]} should be equal to {self.shape_fit_[0]}, the number of samples at training "
                "time"
            )
        if is_sparse(X) and not self._sparse:
            raise ValueError(f"cannot use sparse input in {type(self).__name__!r} trained on dense data")
        if self._sparse and not is_sparse(X):
            X = sparse.csr_matrix(X)
        return X

    def _products(self, X: Any, part: slice, V: Floats) -> Floats:
        """K(X, support vectors of `part`) V for V (of the part, t)."""
        if not len(V):
            return np.zeros((X.shape[0] if hasattr(X, "shape") else len(X), V.shape[1]))
        own = self._own_columns[part]
        if self.kernel == "precomputed":
            return np.asarray(X[:, own], dtype=np.float64) @ V
        if callable(self.kernel):
            if not _knows_samples(self.kernel):
                return self._matrix(X)[:, own] @ V
            Z = self._fit_samples
            Z = [Z[i] for i in own] if isinstance(Z, list) else Z[own]
            return np.asarray(as_kernel(self.kernel).multiply(X, Z, V))
        if self.kernel == "linear":
            return np.asarray(X @ (self.support_vectors_[part].T.astype(np.float64) @ V))
        return np.asarray(self._kernel().multiply(X, self.support_vectors_[part], contiguous(V)))

    @property
    def _own_columns(self) -> Integers:
        """The numbers of the support vectors within all samples of the fit, as kernel matrices have them."""
        return getattr(self, "_columns", self.support_)

    def _matrix(self, X: Any) -> Floats:
        K = _AsMatrix(self.kernel)(X, self._fit_samples)
        if K.shape[1] != self.shape_fit_[0]:
            raise ValueError(
                f"X.shape[1] = {K.shape[1]} should be equal to {self.shape_fit_[0]}, the number of samples at training "
                "time"
            )
        return K

    def _coefficients(self) -> Floats:
        """The dual coefficients as an array."""
        dual = self.dual_coef_
        if not is_sparse(self.support_vectors_) and self.support_vectors_.size:
            self._check_unaltered()
        return np.asarray(dual.toarray() if is_sparse(dual) else dual, dtype=np.float64)

    def _check_unaltered(self) -> None:
        if self.support_vectors_.shape[0] != int(np.sum(self.n_support_)):
            raise ValueError(f"The internal representation of {type(self).__name__} was altered")

    def _value(self, X: Any) -> Floats:
        """sum_i coef_i k(x_i, x) + b of one machine, (n,)."""
        X = self._validate_for_predict(X)
        return self._products(X, slice(None), self._coefficients().T)[:, 0] + self.intercept_[0]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        tags.input_tags.sparse = self.kernel != "precomputed"
        return tags
