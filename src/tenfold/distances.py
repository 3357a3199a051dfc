"""Distances by the names of scikit-learn: a map of the samples, and a distance of two mapped samples.

Most are Minkowski's distance ``(sum_j |x_j - q_j|^p)^(1/p)`` of mapped samples:

seuclidean     features divided by their standard deviation, p = 2
mahalanobis    ``L'(x - centre)`` with ``L L'`` the inverse covariance, p = 2
cosine         samples of length one: ``1 - x.q = |x - q|^2 / 2``
correlation    the same about the mean of each sample
ordinal        each value replaced by its rank among those seen, divided by their number, p = 1 (Cookbook, C.4)
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import scipy.linalg
from scipy import sparse

from tenfold.arrays import Array, Floats, is_array_api, is_sparse, like, namespace
from tenfold.data import MemoryRows, Rows
from tenfold.machine import one_blas_thread
from tenfold.stats.derivatives import Params, forward
from tenfold.stats.moments import Moments

MINKOWSKI = {"euclidean": 2.0, "l2": 2.0, "manhattan": 1.0, "cityblock": 1.0, "l1": 1.0, "chebyshev": np.inf}
MINKOWSKI |= {"infinity": np.inf, "sqeuclidean": 2.0, "seuclidean": 2.0, "mahalanobis": 2.0, "cosine": 2.0}
MINKOWSKI |= {"correlation": 2.0, "ordinal": 1.0}
# codes of the compiled loops for distances that are taken entry by entry
ENTRIES = {"hamming": 4, "canberra": 5, "braycurtis": 6, "haversine": 7, "nan_euclidean": 8}
# codes of the compiled loops for distances of sets
SETS = {"dice": 0, "jaccard": 2, "rogerstanimoto": 3, "russellrao": 4, "sokalmichener": 5, "sokalsneath": 6, "yule": 7}

TREES = ("euclidean", "l2", "minkowski", "p", "manhattan", "cityblock", "l1", "chebyshev", "infinity")
# the names that go with an algorithm: scikit-learn's, and "ordinal"
VALID = {
    "kd_tree": TREES,
    "ball_tree": (
        *TREES,
        *("seuclidean", "mahalanobis", "hamming", "canberra", "braycurtis", "jaccard", "dice", "rogerstanimoto"),
        *("russellrao", "sokalmichener", "sokalsneath", "haversine", "pyfunc"),
    ),
    "brute": (
        *("braycurtis", "canberra", "chebyshev", "cityblock", "correlation", "cosine", "dice", "euclidean", "hamming"),
        *("haversine", "jaccard", "l1", "l2", "mahalanobis", "manhattan", "minkowski", "nan_euclidean", "ordinal"),
        *("precomputed", "rogerstanimoto", "russellrao", "seuclidean", "sokalmichener", "sokalsneath", "sqeuclidean"),
        "yule",
    ),
}
VALID_SPARSE = ("cityblock", "cosine", "euclidean", "l1", "l2", "manhattan", "precomputed", "sqeuclidean")

Image: TypeAlias = Callable[[Array, bool], Array]
"""Samples, and whether they are queries, to the mapped samples."""


def same(X: Array, queries: bool) -> Array:
    """Samples as they are; those of another library in float64."""
    return _in_double(X) if is_array_api(X) else X


def _in_double(X: Array) -> Array:
    return namespace(X).astype(X, namespace(X).float64, copy=False)


@dataclass(frozen=True)
class Scaled:
    """Features times factors."""

    factors: Floats

    def __call__(self, X: Array, queries: bool) -> Array:
        return _in_double(X) * like(self.factors, X) if is_array_api(X) else np.ascontiguousarray(X * self.factors)


@dataclass(frozen=True)
class Whitened:
    """``L'(x - centre)``."""

    centre: Floats
    factor: Floats

    def __call__(self, X: Array, queries: bool) -> Array:
        if is_array_api(X):
            return namespace(X).matmul(_in_double(X) - like(self.centre, X), like(self.factor, X))
        coef = np.ascontiguousarray(self.factor.T)
        return forward(np.ascontiguousarray(X, dtype=np.float64), Params(coef, np.zeros(len(coef))), self.centre)


@dataclass(frozen=True)
class Unit:
    """Samples of length one, about their own means or not. A sample of zeros is orthogonal to all others."""

    centred: bool

    def __call__(self, X: Array, queries: bool) -> Array:
        if is_sparse(X):
            return self._sparse(X, queries)
        if is_array_api(X):
            return self._on_device(X, queries)
        X = np.asarray(X, dtype=np.float64)
        if self.centred:
            X = X - X.mean(axis=1, keepdims=True)
        largest = np.abs(X).max(axis=1, keepdims=True)
        X = X / np.where(largest > 0.0, largest, 1.0)  # so that squares neither overflow nor vanish
        length = np.sqrt(np.einsum("ij,ij->i", X, X))
        nothing = length == 0.0
        result = np.zeros((X.shape[0], X.shape[1] + 2))
        result[:, :-2] = X / np.where(nothing, 1.0, length)[:, None]
        result[nothing, -2 if queries else -1] = 1.0
        return result

    def _on_device(self, X: Array, queries: bool) -> Array:
        xp, X = namespace(X), _in_double(X)
        X = X - xp.mean(X, axis=1, keepdims=True) if self.centred else X
        largest = xp.max(xp.abs(X), axis=1, keepdims=True)
        X = X / xp.where(largest > 0.0, largest, xp.ones_like(largest))
        length = xp.sqrt(xp.sum(X * X, axis=1, keepdims=True))
        nothing = xp.astype(length == 0.0, xp.float64)
        marks = [nothing, xp.zeros_like(nothing)] if queries else [xp.zeros_like(nothing), nothing]
        return xp.concat([X / (length + nothing), *marks], axis=1)

    @staticmethod
    def _sparse(X: Array, queries: bool) -> Array:
        lengths = np.sqrt(np.asarray(X.multiply(X).sum(axis=1), dtype=np.float64)).ravel()
        nothing = lengths == 0.0
        scaled = sparse.csr_array(sparse.diags_array(1.0 / np.where(nothing, 1.0, lengths)) @ X.astype(np.float64))
        marks = np.zeros((X.shape[0], 2))
        marks[nothing, 0 if queries else 1] = 1.0
        result = sparse.csr_array(sparse.hstack([scaled, sparse.csr_array(marks)], format="csr"))
        result.sort_indices()
        return result


@dataclass(frozen=True)
class Ranks:
    """Each value by its rank among the stored values of its feature, divided by their number; between two of them
    half-way.
    """

    levels: tuple[Floats, ...]

    def __call__(self, X: Array, queries: bool) -> Array:
        result = np.empty(X.shape)
        for j, levels in enumerate(self.levels):
            column = np.asarray(X[:, j], dtype=np.float64)
            below, above = np.searchsorted(levels, column, "left"), np.searchsorted(levels, column, "right")
            result[:, j] = 0.5 * (below + above + 1) / len(levels)
        return result


@dataclass(frozen=True)
class Minkowski:
    """Minkowski's distance with power p of mapped samples; `finish`: what is made of a sum of squares."""

    p: float
    image: Image = same
    finish: str = "root"


@dataclass(frozen=True)
class Entries:
    """Another distance that is taken entry by entry."""

    code: int
    finish: str = "same"


@dataclass(frozen=True)
class Sets:
    """A distance of sets: of which entries are zero."""

    code: int


@dataclass(frozen=True)
class Given:
    """Distances that are given."""


@dataclass(frozen=True)
class Called:
    """A function of two samples."""

    function: Callable[..., float]
    arguments: dict[str, Any] = field(default_factory=dict)


Distance: TypeAlias = Minkowski | Entries | Sets | Given | Called


def distance_of(metric: Any, given: dict[str, Any], X: Array | Rows) -> Distance:
    """The distance of a name, or a function, with its parameters; variances, covariances and ranks that they lack are
    those of the samples X, in memory or by a pass over Rows, whose weights are ones and zeros.
    """
    params = dict(given)
    if metric == "pyfunc":
        metric = params.pop("func")
    if callable(metric):
        return Called(metric, params)
    result = _distance_of_name(metric, params, X)
    if params:
        raise TypeError(f"The metric {metric!r} has no parameters {sorted(params)}.")
    return result


def _distance_of_name(metric: str, params: dict[str, Any], X: Any) -> Distance:
    if metric == "precomputed":
        return Given()
    if metric in SETS:
        return Sets(SETS[metric])
    if metric in ENTRIES:
        if metric == "haversine" and X.shape[1] != 2:
            raise ValueError(
                f"The haversine distance is for two columns, latitude and longitude in radians; got {X.shape[1]}."
            )
        params.pop("missing_values", None)
        return Entries(ENTRIES[metric], "root" if metric == "nan_euclidean" else "same")
    if metric in ("minkowski", "p"):
        return _make_minkowski(float(params.pop("p", 2.0)), params.pop("w", None), X)
    finish = {"sqeuclidean": "same", "cosine": "half", "correlation": "half"}.get(metric, "root")
    image: Image = same
    if metric in ("cosine", "correlation"):
        image = Unit(metric == "correlation")
    elif metric == "seuclidean":
        image = Scaled(1.0 / np.sqrt(_variances(params.pop("V", None), X)))
    elif metric == "mahalanobis":
        image = _make_whitening(params.pop("V", None), params.pop("VI", None), X)
    elif metric == "ordinal":
        image = Ranks(tuple(np.unique(np.asarray(X[:, j], dtype=np.float64)) for j in range(X.shape[1])))
    return Minkowski(MINKOWSKI[metric], image, finish)


def _make_minkowski(p: float, w: Any, X: Array) -> Minkowski:
    if w is None:
        return Minkowski(p)
    w = np.asarray(w, dtype=np.float64)
    if w.shape != (X.shape[1],):
        raise ValueError(f"MinkowskiDistance: the size of w must match the number of features ({X.shape[1]}).")
    if not np.isfinite(w).all() or np.any(w < 0):
        raise ValueError("w must be non-negative, and finite.")
    if not np.isfinite(p):
        raise ValueError("Weights need a finite p: the largest difference is not a sum.")
    return Minkowski(p, Scaled(w ** (1.0 / p)))


def _moments(X: Any) -> Moments:
    """Of the samples, wherever they are; in memory by the same blocks."""
    if hasattr(X, "fold"):
        return X.fold(Moments.lift)
    X = np.ascontiguousarray(X, dtype=np.float64)
    return MemoryRows(X, np.zeros((len(X), 0))).fold(Moments.lift)


def _sample_covariance(moments: Moments) -> Floats:
    """The unbiased covariance of samples of weight one."""
    return moments.covariance() * (moments.weight / max(1.0, moments.weight - 1.0))


def _variances(V: Any, X: Any) -> Floats:
    result = np.diag(_sample_covariance(_moments(X))) if V is None else np.asarray(V, dtype=np.float64)
    if result.shape != (X.shape[1],):
        raise ValueError(f"V must have one variance for each of {X.shape[1]} columns, got shape {result.shape}.")
    if not np.all(result > 0):
        raise ValueError("seuclidean needs positive variances V: some column is constant. Leave it out, or give V.")
    return result


def _make_whitening(V: Any, VI: Any, X: Any) -> Whitened:
    """From a covariance, its inverse, or the samples."""
    d, moments = X.shape[1], _moments(X)
    centre = moments.mean
    with one_blas_thread:
        try:
            if VI is not None:
                return Whitened(centre, scipy.linalg.cholesky(_square(VI, d, "VI"), lower=True))
            V = _sample_covariance(moments) if V is None else V
            lower = scipy.linalg.cholesky(_square(V, d, "V"), lower=True)
            inverse = scipy.linalg.solve_triangular(lower, np.eye(d), lower=True)
            return Whitened(centre, np.ascontiguousarray(inverse.T))
        except scipy.linalg.LinAlgError:
            raise ValueError(
                "mahalanobis needs a positive definite covariance: give metric_params={'VI': ...} or {'V': ...}, or "
                "leave out columns that follow from others."
            ) from None


def _square(matrix: Any, d: int, name: str) -> Floats:
    result = np.asarray(matrix, dtype=np.float64)
    if result.shape != (d, d):
        raise ValueError(f"{name} must be a square matrix for {d} columns, got shape {result.shape}.")
    return 0.5 * (result + result.T)
