"""Agglomerative clustering."""

from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils.validation import check_memory, validate_data

from tenfold.arrays import FLOATS, Array, Floats, Integers
from tenfold.distances import VALID
from tenfold.estimators.hierarchy.connectivity import find_edges, validate_connectivity
from tenfold.estimators.leaderboard_entry import Entry
from tenfold.estimators.parameters import (
    Constraints,
    array_like,
    boolean,
    check_parameters,
    choice,
    function,
    has_methods,
    instance,
    integer,
    nothing,
    real,
)
from tenfold.estimators.registration import Registration, Source
from tenfold.estimators.schema import floats, integers, whole
from tenfold.estimators.validation import restore_on_error, warn_unless_certified
from tenfold.judge.certificate import Certificate
from tenfold.pairwise.dissimilarities import compute_dissimilarities
from tenfold.plans.hierarchy import (
    EUCLIDEAN,
    OF_CENTROIDS,
    Edges,
    Tree,
    build_tree,
    certify_tree,
    check_distances,
    cut_tree,
    find_heads,
    takes_points,
)

HERE: tuple[Source, ...] = ("arrays",)
INSTEAD = "The tree is of distances between all samples: give a sample of the rows as a dense array."
LINKAGES = ("ward", "complete", "average", "single", "centroid")
METRICS = tuple(name for name in VALID["brute"] if name not in ("ordinal", "minkowski"))
PARTIAL_CLUSTERS, PARTIAL_SHARE = 100, 0.02  # scikit-learn's: with so many clusters a tree along a graph stops early

CONSTRAINTS: Constraints = {
    "n_clusters": (integer(1), nothing()),
    "metric": (choice(*METRICS, "minkowski"), function()),
    "memory": (instance(str), has_methods("cache"), nothing()),
    "connectivity": (array_like(), has_methods("tocsr"), function(), nothing()),
    "compute_full_tree": (choice("auto"), boolean()),
    "linkage": (choice(*LINKAGES),),
    "distance_threshold": (real(0), nothing()),
    "compute_distances": (boolean(),),
}


class AgglomerativeClustering(ClusterMixin, BaseEstimator):
    """Agglomerative clustering: the two nearest clusters are merged, from single samples on.

    With linkage "single" the distance of clusters A and B is the least of those of their samples, with "complete" the
    largest, with "average" their mean, with "centroid" that of their means m, and with "ward"

        ``d(A, B) = sqrt(2 |A| |B| / (|A| + |B|)) ||m_A - m_B||``,

    half the square of which is what the merge adds to the sum of squared distances from the means. The tree of merges
    is cut at a number of clusters, or at a distance.

    Parameters
    ----------
    n_clusters : int or None, default=2
        Number of clusters; None where `distance_threshold` is given.
    metric : str or callable, default="euclidean"
        Metric of the samples: a name of scikit-learn's metrics, "precomputed" for X a matrix of distances, or a
        function that makes this matrix of X. Linkages "ward" and "centroid" are Euclidean.
    memory : str or object with the joblib.Memory interface, default=None
        Where the tree is cached; a str is the path of a folder. None: nowhere.
    connectivity : array-like, sparse matrix, or callable, default=None
        Which samples may be merged, a matrix (n, n), or a function that makes it of X, such as `kneighbors_graph`:
        clusters are merged only if two of their samples are joined. Parts that are not connected are joined, with a
        warning, at their nearest samples. None: all may be.
    compute_full_tree : "auto" or bool, default="auto"
        With a connectivity, whether merges go on below `n_clusters`; "auto": unless there are to be at least 100
        clusters, or one for every 50 samples.
    linkage : {"ward", "complete", "average", "single", "centroid"}, default="ward"
        Distance of clusters. "centroid" is not in scikit-learn; its merges may be nearer than earlier ones.
    distance_threshold : float, default=None
        Distance at or above which clusters are not merged; `n_clusters` is None then.
    compute_distances : bool, default=False
        Whether `distances_` is kept without a `distance_threshold`, too.

    Attributes
    ----------
    n_clusters_ : int
        Number of clusters.
    labels_ : ndarray of shape (n_samples,)
        The cluster of each sample.
    n_leaves_ : int
        Number of leaves of the tree, the samples.
    n_connected_components_ : int
        Number of connected parts of the connectivity, 1 without.
    children_ : ndarray of shape (n_merges, 2)
        The two nodes of each merge: below n_samples a sample, else node n_samples + t is the cluster of merge t.
    distances_ : ndarray of shape (n_merges,)
        Distances at which they were merged; only with a `distance_threshold` or `compute_distances`.
    certificate_ : Certificate
        Kind exact: the largest distance of the heights from those of another formula, and by how much another pair of
        clusters was nearer than one that was merged, relative to the largest height. Equal distances may be merged in
        any order. That makes the tree the greedy one; no sum over the clusters is proved to be smallest.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features; only where X had names, all of them strings.

    Notes
    -----
    About n^2 distances of p features. Without a connectivity single linkage is the minimum spanning tree, "complete",
    "average" and "ward" go by chains of nearest neighbours; "ward" and Euclidean "single" of up to 64 features keep no
    matrix of distances, all others one of 8 n^2 bytes. Along a graph O(n log n) for a few neighbours each. Runs on
    dense arrays in memory.
    Seeger, section 12.1; Murtagh, Computer Journal 26 (1983); Müllner, arXiv:1109.2378.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import AgglomerativeClustering
    >>> X = np.array([[1, 2], [1, 4], [1, 0], [4, 2], [4, 4], [4, 0]])
    >>> model = AgglomerativeClustering(linkage="average", compute_distances=True).fit(X)
    >>> model.labels_
    array([1, 1, 1, 0, 0, 0])
    >>> model.distances_.round(2)
    array([2.  , 2.  , 3.  , 3.  , 3.71])
    >>> model.certificate_.ok
    True
    """

    _registration: ClassVar = Registration(
        method="Agglomerative clustering",
        texts=("S12.1",),
        peer="sklearn.cluster",
        reads=("in memory",),
        where=HERE,
        instead=INSTEAD,
        certificate=("exact",),
        judge="hierarchy.agglomerative",
        stored={
            "labels_": integers("n", low=0),
            "children_": integers("* 2", low=0),
            "distances_": floats("*"),
            "n_leaves_": whole(1),
            "n_clusters_": whole(1),
            "n_connected_components_": whole(1),
        },
        board=Entry("dendrogram", "structure", {"linkage": "ward", "compute_distances": True}, dense=True),
    )
    _constraints: ClassVar[Constraints] = CONSTRAINTS

    n_clusters_: int
    labels_: Integers
    n_leaves_: int
    n_connected_components_: int
    children_: Integers
    distances_: Floats
    certificate_: Certificate

    def __init__(
        self,
        n_clusters: int | None = 2,
        *,
        metric: Any = "euclidean",
        memory: Any = None,
        connectivity: Any = None,
        compute_full_tree: Any = "auto",
        linkage: str = "ward",
        distance_threshold: float | None = None,
        compute_distances: bool = False,
    ) -> None:
        self.n_clusters = n_clusters
        self.metric = metric
        self.memory = memory
        self.connectivity = connectivity
        self.compute_full_tree = compute_full_tree
        self.linkage = linkage
        self.distance_threshold = distance_threshold
        self.compute_distances = compute_distances

    @restore_on_error
    def fit(self, X: Any, y: Any = None) -> Self:
        """Cluster the samples X (n, p), or by the distances X (n, n); `y` is not used."""
        check_parameters(self, self._constraints)
        self._registration.check_source(type(self).__name__, X)
        X = validate_data(self, X, ensure_min_samples=2, dtype=list(FLOATS))
        fit_tree(self, X)
        warn_unless_certified(self)
        return self

    def fit_predict(self, X: Any, y: Any = None) -> Array:
        """Cluster the samples X (n, p), or by the distances X (n, n), and return the labels (n,); `y` is not used."""
        return self.fit(X).labels_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = isinstance(self.metric, str) and self.metric == "precomputed"
        return tags


def fit_tree(model: Any, X: Array) -> None:
    """Set the attributes of a model of validated samples X, which are the features in `FeatureAgglomeration`."""
    check_settings(model, X)
    n = X.shape[0]
    connectivity = validate_connectivity(model.connectivity, X)
    edges = None if connectivity is None else find_edges(X, connectivity, model.metric, model.linkage)
    clusters = 1 if edges is None or wants_full_tree(model, n) else int(model.n_clusters)
    if clusters > n:
        raise ValueError(
            f"Cannot provide more clusters than samples. {clusters} n_clusters was asked, and there are {n} samples."
        )
    build = check_memory(model.memory).cache(build_tree) if model.memory is not None else build_tree
    points, samples = samples_of(model, X, edges)
    tree: Tree = build(samples, model.linkage, points, edges, clusters)
    model.children_, model.n_leaves_ = tree.children, n
    model.n_connected_components_ = 1 if edges is None else edges.parts
    if model.distance_threshold is not None:
        model.n_clusters_ = int(np.count_nonzero(tree.heights >= model.distance_threshold)) + 1
    else:
        model.n_clusters_ = model.n_clusters
    if clusters == 1:
        model.labels_ = cut_tree(model.n_clusters_, tree.children, n)
    else:
        heads = find_heads(tree.children[: n - clusters], n)
        model.labels_ = np.searchsorted(np.unique(heads), heads)
    if model.distance_threshold is not None or model.compute_distances:
        model.distances_ = tree.heights
    elif hasattr(model, "distances_"):
        del model.distances_
    model.certificate_ = certify_tree(
        samples, tree, model.labels_, model.n_clusters_, model.linkage, points, edges, model.distance_threshold
    )


def samples_of(model: Any, X: Array, edges: Edges | None) -> tuple[bool, Floats]:
    """Whether a tree is of points at Euclidean distances; and these, or the distances of all pairs, by the parameters
    of a model, ours or scikit-learn's.
    """
    X = np.asarray(X, dtype=np.float64)
    if edges is not None:
        return model.linkage in OF_CENTROIDS, X
    points = takes_points(model.linkage, model.metric)
    return points, X if points else check_distances(compute_dissimilarities(X, model.metric))


def check_settings(model: Any, X: Array) -> None:
    """Raise where parameters do not go together."""
    if (model.n_clusters is None) == (model.distance_threshold is None):
        raise ValueError(
            "Exactly one of n_clusters and distance_threshold has to be set, and the other needs to be None."
        )
    if model.distance_threshold is not None and not model.compute_full_tree:
        raise ValueError("compute_full_tree must be True if distance_threshold is set.")
    check_linkage(X, model.linkage, model.metric)


def check_linkage(X: Array, linkage: str, metric: Any) -> None:
    """Raise where a linkage or the samples do not go with a metric."""
    if linkage in OF_CENTROIDS and metric not in EUCLIDEAN:
        raise ValueError(
            f"{metric} was provided as metric. {linkage.capitalize()} can only work with euclidean distances (i.e. "
            "'euclidean' and 'l2')."
        )
    if isinstance(metric, str) and metric == "cosine" and np.any(~np.any(X, axis=1)):
        raise ValueError("Cosine affinity cannot be used when X contains zero vectors")
    if isinstance(metric, str) and metric == "precomputed" and X.shape[0] != X.shape[1]:
        raise ValueError(f"Distance matrix should be square, got matrix of shape {X.shape}")


def wants_full_tree(model: Any, n: int) -> bool:
    """Whether merges go on to the last."""
    if model.compute_full_tree != "auto":
        return bool(model.compute_full_tree)
    if model.distance_threshold is not None:
        return True
    return bool(model.n_clusters < max(PARTIAL_CLUSTERS, PARTIAL_SHARE * n))
