"""Affinities of samples, as the parameters of spectral models ask for them."""

import warnings
from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from tenfold.arrays import FLOATS, Array, is_sparse
from tenfold.estimators.neighbours.graphs import kneighbors_graph
from tenfold.estimators.neighbours.nearest import NearestNeighbors
from tenfold.estimators.parameters import Check
from tenfold.estimators.registration import Source
from tenfold.estimators.validation import read_strings
from tenfold.kernels import as_kernel
from tenfold.pairwise.graphs import complain_of_affinity, is_symmetric

HERE: tuple[Source, ...] = ("arrays", "sparse")
INSTEAD = "The graph of all samples is kept in memory: give a sample of the rows as an array."
GIVEN = ("precomputed", "precomputed_nearest_neighbors")
KERNELS = ("additive_chi2", "chi2", "cosine", "laplacian", "linear", "poly", "polynomial", "rbf", "sigmoid")


def eigen_tolerance() -> Check:
    """A tolerance of at least zero, or "auto"."""
    return (
        lambda value: value == "auto" if isinstance(value, str) else _is_tolerance(value),
        "a float in the range [0, inf) or a str among {'auto'}",
    )


def _is_tolerance(value: Any) -> bool:
    return isinstance(value, (int, float, np.number)) and not isinstance(value, bool) and float(value) >= 0.0


def validate_samples(estimator: Any, X: Any, dtype: Any = FLOATS, *, reset: bool = True) -> Array:
    """At least two samples, dense or CSR; a square matrix where affinities or distances are given."""
    X = read_strings(estimator, X)
    if hasattr(estimator, "_registration"):
        estimator._registration.check_source(type(estimator).__name__, X)
    kinds = [np.float64] if dtype is np.float64 else list(dtype)
    X = validate_data(estimator, X, accept_sparse="csr", dtype=kinds, ensure_min_samples=2, reset=reset)
    if estimator.affinity in GIVEN and X.shape[0] != X.shape[1]:
        raise ValueError(
            f"affinity={estimator.affinity!r} needs a square matrix with one row and column for each sample, got an "
            f"array of shape {X.shape}."
        )
    return X


def evaluate_kernel(X: Array, name: Any, gamma: Any, degree: float = 3, coef0: float = 1, params: Any = None) -> Array:
    """Affinities by the kernel of a name, or by a function of two samples, in float64."""
    kernel = as_kernel(name, X, gamma=gamma, degree=degree, coef0=coef0, params=params)
    return check_affinity(kernel(X))


def connect_neighbours(X: Array, n_neighbors: int, *, given: bool, n_jobs: Any) -> Array:
    """(C + C') / 2 with C_ij = 1 where j is among the nearest neighbours of i, which itself is the first of them; from
    samples, or from given distances.
    """
    if given:
        model = NearestNeighbors(n_neighbors=n_neighbors, n_jobs=n_jobs, metric="precomputed").fit(X)
        C = model.kneighbors_graph(X, mode="connectivity")
    else:
        C = kneighbors_graph(X, n_neighbors, include_self=True, n_jobs=n_jobs)
    return 0.5 * (C + C.T)


def check_affinity(A: Any) -> Array:
    """The matrix, where it holds affinities; raises where it does not."""
    complaint = complain_of_affinity(A)
    if complaint:
        raise ValueError(complaint)
    return A


def symmetrise(A: Array) -> Array:
    """Given affinities; with scikit-learn's warning the mean of them and their transpose, where that differs."""
    A = check_affinity(A)
    if is_symmetric(A):
        return A
    warnings.warn(
        "Array is not symmetric, and will be converted to symmetric by average with its transpose.",
        UserWarning,
        stacklevel=4,
    )
    result = 0.5 * (A + A.T)
    return result.tocsr() if is_sparse(result) else result
