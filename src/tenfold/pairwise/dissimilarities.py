"""Matrices of distances between all samples, by the names of scikit-learn's metrics."""

from typing import Any

import numpy as np
from sklearn.metrics import pairwise_distances

from tenfold.arrays import Array, Floats
from tenfold.distances import Minkowski, distance_of
from tenfold.machine import require_memory
from tenfold.pairwise.functions import PairFunction
from tenfold.pairwise.stored_samples import StoredPoints

# what the compiled tiles compute; cosine distances are half the squared distances of samples of length one
TILES = {
    "euclidean": PairFunction("distance"),
    "l2": PairFunction("distance"),
    "sqeuclidean": PairFunction("squares"),
    "manhattan": PairFunction("sizes"),
    "cityblock": PairFunction("sizes"),
    "l1": PairFunction("sizes"),
    "cosine": PairFunction("squares", scale=0.5),
}

SMALL = 1e-100  # samples below, or above its inverse, are scaled by a power of two


def compute_dissimilarities(X: Array, metric: Any) -> Floats:
    """Distances (n, n) of samples X (n, p) in float64: "precomputed" ones of the upper triangle, those of a name, or
    what a function gives for all samples.
    """
    n = X.shape[0]
    require_memory(f"The distances of {n:,} samples", 8 * n * n, "Use a connectivity graph, or fewer samples.")
    if callable(metric):
        return symmetric(metric(X), n)
    if metric == "precomputed":
        return symmetric(X, n)
    points = np.ascontiguousarray(X, dtype=np.float64)
    if metric not in TILES:
        return symmetric(pairwise_distances(points, metric=metric), n)
    if metric == "cosine":
        distance = distance_of("cosine", {}, points)
        assert isinstance(distance, Minkowski)
        points = distance.image(points, False)
    size = float(np.max(np.abs(points), initial=0.0))
    if metric in ("cosine", "sqeuclidean") or SMALL < size < 1.0 / SMALL:
        return np.asarray(StoredPoints(points).block(None, TILES[metric]))
    exponent = int(np.frexp(size)[1])  # squares of such numbers vanish or overflow
    return np.ldexp(np.asarray(StoredPoints(np.ldexp(points, -exponent)).block(None, TILES[metric])), exponent)


def symmetric(D: Any, n: int) -> Floats:
    """A copy of the upper triangle of D, and its mirror image; zero on the diagonal."""
    D = np.asarray(D, dtype=np.float64)
    if D.shape != (n, n):
        raise ValueError(f"Distance matrix should be square, got matrix of shape {D.shape}")
    upper = np.triu(D, 1)
    upper += upper.T
    return upper
