"""Graphs of neighbours in one piece, and the lengths of shortest paths in them."""

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components, shortest_path

from tenfold.arrays import Array, Floats
from tenfold.machine import require_memory

Distances = Callable[[Array, Array], Floats]

INSTEAD = "Fit a sample of the rows."


def count_parts(graph: Any) -> tuple[int, Any]:
    """The number of connected parts of a graph, and the part of each sample."""
    count, part = connected_components(graph, directed=False)
    return int(count), part


def join_parts(graph: Any, X: Array, part: Any, distances: Distances) -> Any:
    """The graph with an edge between the two nearest samples of each pair of its parts."""
    groups = [np.flatnonzero(part == label) for label in range(int(part.max()) + 1)]
    rows, columns, lengths = [], [], []
    for a, one in enumerate(groups):
        for other in groups[:a]:
            D = distances(X[one], X[other])
            i, j = np.unravel_index(int(np.argmin(D)), D.shape)
            for row, column in ((one[i], other[j]), (other[j], one[i])):
                rows.append(row)
                columns.append(column)
                lengths.append(float(D[i, j]))
    edges = sparse.csr_matrix((lengths, (rows, columns)), shape=graph.shape)
    return (sparse.csr_matrix(graph) + edges).tocsr()


def measure_paths(graph: Any, method: Literal["auto", "FW", "D"]) -> Floats:
    """The lengths of the shortest paths between all samples, exactly symmetric: sums along a path depend on its end."""
    n = graph.shape[0]
    require_memory(f"The {n} x {n} lengths of paths and their kernel matrix", 32 * n * n, INSTEAD)
    D = np.asarray(shortest_path(sparse.csr_matrix(graph), method=method, directed=False))
    return np.minimum(D, D.T)
