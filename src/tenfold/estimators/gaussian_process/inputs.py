"""Kernels, samples and starts of Gaussian processes, validated as scikit-learn does."""

from typing import Any

import numpy as np
from sklearn.gaussian_process.kernels import RBF, ConstantKernel
from sklearn.gaussian_process.kernels import Kernel as SklearnKernel
from sklearn.utils import check_random_state
from sklearn.utils.validation import validate_data

from tenfold.arrays import Floats
from tenfold.estimators.parameters import Check, instance
from tenfold.estimators.registration import Source
from tenfold.estimators.validation import read_strings

HERE: tuple[Source, ...] = ("arrays", "sparse")
INSTEAD = "Matrices of all pairs are factorised in memory: give a sample of the rows as an array."


def kernel_object() -> Check:
    """A kernel of scikit-learn's Gaussian processes or of `tenfold.kernels`, which is registered as one."""
    test, _ = instance(SklearnKernel)
    return test, "a kernel of tenfold.kernels or of sklearn.gaussian_process.kernels"


def default_kernel(*, fixed: bool) -> Any:
    """The kernel of `kernel=None`: a constant times a Gaussian, both one."""
    bounds: Any = "fixed" if fixed else (1e-5, 1e5)
    return ConstantKernel(1.0, bounds) * RBF(1.0, bounds)


def check_matrix_options(kernel: Any) -> dict[str, Any]:
    """How samples of a kernel are validated: those of kernels of other objects may be of any kind; strings are rows of
    numbers by now.
    """
    if kernel is None or kernel.requires_vector_input or getattr(kernel, "reads_strings", False):
        return {"ensure_2d": True, "dtype": "numeric", "accept_sparse": "csr"}
    return {"ensure_2d": False, "dtype": None, "accept_sparse": False}


def validate_queries(estimator: Any, X: Any) -> Any:
    """Queries validated as the samples of the fit."""
    X = read_strings(estimator, X)
    if hasattr(estimator, "_registration"):
        estimator._registration.check_source(type(estimator).__name__, X)
    return validate_data(estimator, X, reset=False, **check_matrix_options(estimator.kernel))


def list_starts(theta: Floats, bounds: Floats, restarts: int, random_state: Any) -> list[Floats]:
    """The hyper-parameters that a search begins with: the given ones, and some drawn uniformly within the bounds of
    their logarithms.
    """
    if restarts and not np.isfinite(bounds).all():
        raise ValueError("Multiple optimizer restarts (n_restarts_optimizer>0) requires that all bounds are finite.")
    random = check_random_state(random_state)
    return [theta, *(random.uniform(bounds[:, 0], bounds[:, 1]) for _ in range(restarts))]
