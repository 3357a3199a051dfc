"""Agglomerative clustering: which algorithm builds the tree of merges.

The samples begin as clusters of their own, and the two nearest are merged until one is left. Distances of clusters are

    single      min d(x, z)                     complete    max d(x, z)
    average     mean of d(x, z)                 centroid    ||c_A - c_B||
    ward        sqrt(2 |A| |B| / (|A| + |B|)) ||c_A - c_B||

over x in A and z in B, with their centroids c. Single linkage is the minimum spanning tree; complete, average and Ward
linkage are found by chains of nearest neighbours, centroids by SciPy's search, as merges may be nearer than those
before.
"""

from dataclasses import dataclass
from heapq import heappush, heappushpop
from typing import Any, Literal

import numpy as np
from scipy.cluster import hierarchy
from scipy.spatial.distance import squareform

from tenfold import _core
from tenfold.arrays import Array, Floats, Integers
from tenfold.judge.certificate import Certificate
from tenfold.judge.linkage import Graph, StoredTree, judge_tree
from tenfold.pairwise.functions import PairFunction
from tenfold.pairwise.stored_samples import StoredPoints

Linkage = Literal["single", "complete", "average", "ward", "centroid"]
CODES = {"single": 0, "complete": 1, "average": 2, "ward": 3, "centroid": 4}
OF_CENTROIDS = ("ward", "centroid")
EUCLIDEAN = ("euclidean", "l2")
POINT_FEATURES = 64  # up to here distances are formed again where they are needed: faster than to keep a matrix of them


@dataclass(frozen=True)
class Edges:
    """Pairs of samples that may be merged, each once with first > second; their distances, none where centroids count;
    and the number of connected parts that the graph had.
    """

    first: Integers
    second: Integers
    distances: Floats
    parts: int


@dataclass(frozen=True)
class Tree:
    """Children (m, 2) of the merges, samples below n, and the heights (m,) at which they were merged; None where a
    model does not keep them.
    """

    children: Integers
    heights: Floats | None


def certify_tree(
    samples: Array,
    tree: Tree,
    labels: Integers,
    clusters: int,
    linkage: str,
    points: bool,
    edges: Edges | None,
    threshold: float | None,
) -> Certificate:
    """The certificate of a tree, and of labels by its cut."""
    graph = None if edges is None else Graph(edges.first, edges.second, edges.distances)
    stored = StoredTree(tree.children, tree.heights, labels, clusters)
    return judge_tree(samples, stored, linkage, points=points, graph=graph, threshold=threshold)


def takes_points(linkage: str, metric: Any) -> bool:
    """Whether the tree of all pairs is one of points at Euclidean distances, and not of a matrix of distances."""
    return linkage in OF_CENTROIDS or (linkage == "single" and isinstance(metric, str) and metric in EUCLIDEAN)


def build_tree(samples: Array, linkage: Linkage, points: bool, edges: Edges | None, clusters: int) -> Tree:
    """The tree of points (n, p) or of distances (n, n), which are kept; along edges down to a number of clusters."""
    if edges is not None:
        return _link_edges(samples, linkage, edges, clusters)
    if points:
        centred, exponent = centre_points(samples)
        children, heights = _link_points(centred, linkage)
        return Tree(children, np.ldexp(heights, exponent))
    single = linkage == "single"
    return Tree(*(_core.span_matrix(samples) if single else _core.link_matrix(samples.copy(), CODES[linkage])))


def _link_points(points: Floats, linkage: Linkage) -> tuple[Integers, Floats]:
    few = points.shape[1] <= POINT_FEATURES
    if few and linkage != "centroid":
        children, squares = _core.link_points(points) if linkage == "ward" else _core.span_points(points)
    elif linkage == "centroid":
        D = StoredPoints(points).block(None, PairFunction("distance"))
        merges = hierarchy.linkage(squareform(D, checks=False), method="centroid")
        return np.ascontiguousarray(merges[:, :2].astype(np.int64)), np.ascontiguousarray(merges[:, 2])
    else:
        D = StoredPoints(points).block(None, PairFunction("squares"))
        children, squares = _core.link_matrix(D, CODES["ward"]) if linkage == "ward" else _core.span_matrix(D)
    return children, np.sqrt(np.maximum(squares, 0.0))


def _link_edges(X: Array, linkage: Linkage, edges: Edges, clusters: int) -> Tree:
    n = X.shape[0]
    if linkage == "single":
        return Tree(*_core.span_edges(n, edges.first, edges.second, edges.distances))
    points, exponent = centre_points(X) if linkage in OF_CENTROIDS else (np.zeros((n, 0)), 0)
    children, heights = _core.link_graph(
        n, edges.first, edges.second, edges.distances, points, CODES[linkage], clusters
    )
    return Tree(children, np.ldexp(np.sqrt(np.maximum(heights, 0.0)), exponent) if linkage in OF_CENTROIDS else heights)


def centre_points(X: Array) -> tuple[Floats, int]:
    """The samples about their mean, at most one in the unit 2^exponent, and the exponent."""
    X = np.asarray(X, dtype=np.float64)
    first = int(np.frexp(np.max(np.abs(X), initial=0.0))[1])
    X = np.ldexp(X, -first)
    X = X - X.mean(axis=0)
    second = int(np.frexp(np.max(np.abs(X), initial=0.0))[1])
    return np.ascontiguousarray(np.ldexp(X, -second)), first + second


def check_distances(D: Floats) -> Floats:
    """The distances, which must be finite."""
    if not np.isfinite(np.sum(D)):
        raise ValueError("The distances of these samples are not finite: scale the features, or take another metric.")
    return D


def cut_tree(clusters: int, children: Integers, n: int) -> Integers:
    """Labels (n,) of the clusters before the last merges, numbered as scikit-learn numbers them."""
    if clusters > n:
        raise ValueError(
            f"Cannot extract more clusters than samples: {clusters} clusters were given for a tree with {n} leaves."
        )
    nodes = [-(int(max(children[-1])) + 1)]
    for _ in range(clusters - 1):
        left, right = children[-nodes[0] - n]
        heappush(nodes, -int(left))
        heappushpop(nodes, -int(right))
    label = np.full(n + len(children), -1)
    label[-np.array(nodes)] = np.arange(clusters)
    return label[find_heads(children, n, np.flatnonzero(label >= 0))]


def find_heads(children: Integers, n: int, stop: Integers | None = None) -> Integers:
    """The last node above each sample, or the first that is one of `stop`."""
    above = np.arange(n + len(children))
    above[children] = np.arange(n, n + len(children))[:, None]
    if stop is not None:
        above[stop] = stop
    while True:
        further = above[above]
        if np.array_equal(further, above):
            return above[:n]
        above = further


def find_parents(children: Integers, n: int, nodes: int) -> Integers:
    """The parent of each of the first `nodes` nodes; a node without one is its own."""
    parents = np.arange(nodes)
    for at in range(2):
        child, parent = children[:, at], np.arange(n, n + len(children))
        inside = (child < nodes) & (parent < nodes)
        parents[child[inside]] = parent[inside]
    return parents
