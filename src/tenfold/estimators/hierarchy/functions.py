"""Trees of agglomerative clustering as functions."""

import warnings
from typing import Any

import numpy as np

from tenfold.estimators.hierarchy.agglomerative import METRICS, check_linkage
from tenfold.estimators.hierarchy.connectivity import find_edges, validate_connectivity
from tenfold.estimators.parameters import array_like, boolean, check_arguments, has_methods, integer, nothing
from tenfold.pairwise.dissimilarities import compute_dissimilarities
from tenfold.plans.hierarchy import Linkage, build_tree, check_distances, find_parents, takes_points

PARTIAL = (
    "Partial build of the tree is implemented only for structured clustering (i.e. with explicit connectivity). The "
    "algorithm will build the full tree and only retain the lower branches required for the specified number of "
    "clusters"
)


def ward_tree(X: Any, *, connectivity: Any = None, n_clusters: int | None = None, return_distance: bool = False) -> Any:
    """The tree of Ward's clustering.

    Merges the two clusters with the smallest ``sqrt(2 |A| |B| / (|A| + |B|)) ||m_A - m_B||`` of their means m. To see
    the certificate, take `AgglomerativeClustering`.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        The samples.
    connectivity : {array-like, sparse matrix}, default=None
        Which samples may be merged, a matrix (n, n); None: all.
    n_clusters : int, default=None
        With a connectivity, the number of clusters at which merges end; None: 1.
    return_distance : bool, default=False
        Whether distances are returned, too.

    Returns
    -------
    children : ndarray of shape (n_merges, 2)
        The two nodes of each merge: below n_samples a sample, else node n_samples + t is the cluster of merge t.
    n_connected_components : int
        The number of connected parts of the connectivity, 1 without.
    n_leaves : int
        The number of samples.
    parents : ndarray of shape (n_nodes,) or None
        With a connectivity the parent of each node; a node without one is its own.
    distances : ndarray of shape (n_merges,)
        The distances at which clusters were merged, with `return_distance`.

    Notes
    -----
    About n^2 distances of p features, and 8 n^2 bytes with more than 64 features; along a graph O(n log n).

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import ward_tree
    >>> X = np.array([[1, 2], [1, 4], [1, 0], [4, 2], [4, 4], [4, 0]])
    >>> children, parts, leaves, parents = ward_tree(X)
    >>> children[-1], parts, leaves
    (array([8, 9]), 1, 6)
    """
    return _grow(X, connectivity, n_clusters, "ward", "euclidean", return_distance, "ward_tree")


def linkage_tree(
    X: Any,
    connectivity: Any = None,
    n_clusters: int | None = None,
    linkage: str = "complete",
    affinity: Any = "euclidean",
    return_distance: bool = False,
) -> Any:
    """The tree of agglomerative clustering.

    Merges the two nearest clusters, by the least ("single"), the largest ("complete") or the mean ("average") distance
    of their samples, or that of their means ("centroid"). To see the certificate, take `AgglomerativeClustering`.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        The samples, or with affinity="precomputed" their distances (n, n).
    connectivity : {array-like, sparse matrix}, default=None
        Which samples may be merged, a matrix (n, n); None: all.
    n_clusters : int, default=None
        With a connectivity, the number of clusters at which merges end; None: 1.
    linkage : {"complete", "average", "single", "centroid"}, default="complete"
        Distance of clusters; "centroid" is not in scikit-learn.
    affinity : str or callable, default="euclidean"
        A name of scikit-learn's metrics, "precomputed", or a function that makes the matrix of distances of X.
    return_distance : bool, default=False
        Whether distances are returned, too.

    Returns
    -------
    children : ndarray of shape (n_merges, 2)
        The two nodes of each merge: below n_samples a sample, else node n_samples + t is the cluster of merge t.
    n_connected_components : int
        The number of connected parts of the connectivity, 1 without.
    n_leaves : int
        The number of samples.
    parents : ndarray of shape (n_nodes,) or None
        With a connectivity the parent of each node; a node without one is its own.
    distances : ndarray of shape (n_merges,)
        The distances at which clusters were merged, with `return_distance`.

    Notes
    -----
    About n^2 distances of p features, and 8 n^2 bytes; along a graph O(n log n).

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import linkage_tree
    >>> X = np.array([[0.0], [1.0], [5.0]])
    >>> linkage_tree(X, linkage="single", return_distance=True)[-1]
    array([1., 4.])
    """
    if linkage not in ("complete", "average", "single", "centroid"):
        raise ValueError(
            "Unknown linkage option, linkage should be one of 'complete', 'average', 'single' or 'centroid', but "
            f"{linkage} was given"
        )
    if not callable(affinity) and affinity not in METRICS:
        raise ValueError(f"affinity must be one of {', '.join(METRICS)}, or a callable, but {affinity!r} was given")
    return _grow(X, connectivity, n_clusters, linkage, affinity, return_distance, "linkage_tree")  # type: ignore[arg-type]


def _grow(
    X: Any, connectivity: Any, n_clusters: Any, linkage: Linkage, metric: Any, return_distance: bool, name: str
) -> Any:
    known = {
        "connectivity": (array_like(), has_methods("tocsr"), nothing()),
        "n_clusters": (integer(1), nothing()),
        "return_distance": (boolean(),),
    }
    check_arguments(name, known, connectivity=connectivity, n_clusters=n_clusters, return_distance=return_distance)
    X = np.asarray(X)
    X = X[:, None] if X.ndim == 1 else X
    n = X.shape[0]
    check_linkage(X, linkage, metric)
    connectivity = validate_connectivity(connectivity, X)
    edges = None if connectivity is None else find_edges(X, connectivity, metric, linkage)
    if edges is None and n_clusters is not None:
        warnings.warn(PARTIAL, stacklevel=3)
    clusters = 1 if edges is None or n_clusters is None else int(n_clusters)
    if clusters > n:
        raise ValueError(
            f"Cannot provide more clusters than samples. {clusters} n_clusters was asked, and there are {n} samples."
        )
    points = takes_points(linkage, metric)
    samples = X if points or edges is not None else check_distances(compute_dissimilarities(X, metric))
    tree = build_tree(samples, linkage, points, edges, clusters)
    parents = None if edges is None else find_parents(tree.children, n, 2 * n - clusters)
    result = (tree.children, 1 if edges is None else edges.parts, n, parents)
    return (*result, tree.heights) if return_distance else result
