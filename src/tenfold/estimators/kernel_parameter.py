"""The parameters of estimators that name a kernel: what they may be, and the kernel that they name.

`kernel` is a name of scikit-learn's, which reads `gamma`, `degree` and `coef0`; a kernel object of `tenfold.kernels` or
of scikit-learn's Gaussian processes; a function of two samples, which gets `kernel_params`; or "precomputed".
"""

from typing import Any

import numpy as np
from sklearn.base import clone

from tenfold.arrays import Array, NotFinite, is_array_api, is_sparse, namespace
from tenfold.estimators.parameters import Constraints, choice, function, instance, nothing, real
from tenfold.estimators.validation import all_finite
from tenfold.kernels import Constant, Kernel, Precomputed, as_kernel
from tenfold.kernels.conversion import NAMES
from tenfold.kernels.diagnostics import check_symmetric

KERNEL: Constraints = {
    "kernel": (choice(*NAMES), function()),
    "gamma": (real(0), choice("auto", "scale"), nothing()),
    "degree": (real(0),),
    "coef0": (real(-np.inf, closed="neither"),),
    "kernel_params": (instance(dict), nothing()),
}
"""Constraints of the parameters, those of scikit-learn's and the two rules for gamma of its support vector machines."""

WITH_GAMMA = ("chi2", "laplacian", "poly", "polynomial", "rbf", "sigmoid")
"""Names whose kernels read gamma."""


def make_kernel(estimator: Any, X: Array) -> Kernel:
    """The kernel that the parameters of an estimator name, for samples X of its fit: a copy of its own."""
    given = vars(estimator)
    rest = {name: given[name] for name in ("gamma", "degree", "coef0") if name in given}
    return name_kernel(estimator.kernel, X, params=given.get("kernel_params"), **rest)


def name_kernel(kernel: Any, X: Array, **rest: Any) -> Kernel:
    """The kernel of a name with gamma, degree and coef0, of an object, or of a function with params."""
    flat = isinstance(kernel, str) and kernel in ("rbf", "laplacian", "chi2")
    if flat and not isinstance(rest.get("gamma"), (str, type(None))) and rest["gamma"] == 0.0:
        return Constant(1.0)
    return clone(as_kernel(kernel, X, **rest))


def is_pairwise(kernel: Any) -> bool:
    """Whether kernel matrices are given in the place of samples."""
    return kernel == "precomputed" if isinstance(kernel, str) else isinstance(kernel, Precomputed)


def check_samples(kernel: Any, X: Array) -> Array:
    """The samples of a fit as the kernel reads them: finite, and a given kernel matrix dense, square and symmetric."""
    if is_pairwise(kernel):
        X = X.toarray() if is_sparse(X) else X
        check_symmetric(X)
        return X
    if is_array_api(X):
        finite = bool(namespace(X).all(namespace(X).isfinite(X)))
    else:
        finite = all_finite(X.data if is_sparse(X) else X)
    if not finite:
        raise NotFinite
    return X
