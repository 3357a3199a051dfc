"""Connectivity of samples: the pairs that may be merged."""

import warnings
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from sklearn.metrics import pairwise_distances
from sklearn.metrics.pairwise import paired_distances
from sklearn.utils import check_array

from tenfold.arrays import Array, Floats, Integers, is_sparse
from tenfold.plans.hierarchy import OF_CENTROIDS, Edges, check_distances


def validate_connectivity(connectivity: Any, X: Array) -> Any:
    """The matrix that was given, or that a function makes of the samples; None where there is none."""
    if connectivity is None:
        return None
    if callable(connectivity):
        connectivity = connectivity(X)
    return check_array(connectivity, accept_sparse=["csr", "coo", "lil"])


def find_edges(X: Array, connectivity: Any, metric: Any, linkage: str, *, warn: bool = True) -> Edges:
    """The pairs that a connectivity matrix joins, and for each pair of its parts the two nearest samples."""
    n = X.shape[0]
    if tuple(connectivity.shape) != (n, n):
        raise ValueError(f"Wrong shape for connectivity matrix: {tuple(connectivity.shape)} when X is {X.shape}")
    one, other = (sparse.csr_array(connectivity) if is_sparse(connectivity) else np.asarray(connectivity)).nonzero()
    count, part = connected_components(
        sparse.coo_array((np.ones(len(one)), (one, other)), shape=(n, n)), directed=False
    )
    if count > 1:
        if warn:
            warnings.warn(
                f"the number of connected components of the connectivity matrix is {count} > 1. Completing it to avoid "
                "stopping the tree early.",
                stacklevel=6,
            )
        bridges = _find_bridges(X, np.asarray(part), int(count), metric)
        one, other = np.concatenate([one, bridges[:, 0]]), np.concatenate([other, bridges[:, 1]])
    pairs = np.unique(np.stack([np.maximum(one, other), np.minimum(one, other)], axis=1), axis=0).astype(np.int64)
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    first, second = np.ascontiguousarray(pairs[:, 0]), np.ascontiguousarray(pairs[:, 1])
    return Edges(first, second, _measure(X, first, second, metric, linkage), int(count))


def _measure(X: Array, first: Integers, second: Integers, metric: Any, linkage: str) -> Floats:
    """The distances of pairs; none where those of centroids count."""
    if linkage in OF_CENTROIDS or not len(first):
        return np.zeros(0)
    if isinstance(metric, str) and metric == "precomputed":
        return check_distances(np.ascontiguousarray(X[first, second], dtype=np.float64))
    return check_distances(np.ascontiguousarray(paired_distances(X[first], X[second], metric=metric), dtype=np.float64))


def _find_bridges(X: Array, part: Integers, count: int, metric: Any) -> Integers:
    """For each pair of parts the two samples that are nearest to each other."""
    members, bridges = [np.flatnonzero(part == c) for c in range(count)], []
    for i in range(count):
        for j in range(i):
            a, b = members[i], members[j]
            if isinstance(metric, str) and metric == "precomputed":
                D = X[np.ix_(a, b)]
            else:
                D = pairwise_distances(X[a], X[b], metric=metric)
            row, column = np.unravel_index(np.argmin(D), D.shape)
            bridges.append((a[row], b[column]))
    return np.array(bridges)
