"""Shortest paths in a graph of neighbours, judged without a search.

With positive lengths W of edges, D with D_ii = 0 is the matrix of the lengths of shortest paths if and only if

    D_ij = min_k (D_ik + W_kj),  j != i,

over the neighbours k of j: the best predecessor of j is nearer to i, and so on down to i. Each edge is read in both
directions. Edges of length zero, between samples at one place, could support each other in a cycle: where there are
any, D is compared with a search for shortest paths instead.
"""

from typing import Any

import numpy as np
from scipy.sparse.csgraph import shortest_path

from tenfold.arrays import EPS, Floats
from tenfold.machine import poll


def path_error(D: Floats, graph: Any) -> float:
    """The largest distance of D (n, n) from the lengths of shortest paths in a sparse graph, relative to the longest;
    infinite where D is not finite.
    """
    n = graph.shape[0]
    if D.shape != (n, n) or not np.isfinite(D).all():
        return np.inf
    both = graph.maximum(graph.T).tocsr()  # a pair that is joined in one direction is joined in both
    size = max(float(np.max(D, initial=0.0)), np.finfo(np.float64).tiny)
    if _has_zero_lengths(graph):
        return float(np.max(np.abs(D - shortest_path(graph, directed=False)), initial=0.0)) / size
    worst = float(np.max(np.abs(np.diagonal(D)), initial=0.0))
    for j in range(n):
        if j % 256 == 0:
            poll()
        edges = slice(both.indptr[j], both.indptr[j + 1])
        best = np.min(D[both.indices[edges]] + both.data[edges, None], axis=0, initial=np.inf)
        best[j] = 0.0
        worst = max(worst, float(np.max(np.abs(D[j] - best), initial=0.0)))
    symmetric = float(np.max(np.abs(D - D.T), initial=0.0))
    return max(worst, symmetric, EPS * size) / size


def _has_zero_lengths(graph: Any) -> bool:
    """Whether an edge has the length zero."""
    coo = graph.tocoo()
    return bool(np.any((coo.data == 0.0) & (coo.row != coo.col)))
