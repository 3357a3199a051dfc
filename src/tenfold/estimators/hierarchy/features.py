"""Agglomeration of features."""

from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from tenfold.arrays import FLOATS, Array, Floats, Integers
from tenfold.estimators.hierarchy.agglomerative import CONSTRAINTS, HERE, fit_tree
from tenfold.estimators.parameters import Constraints, check_parameters, function
from tenfold.estimators.registration import Registration
from tenfold.estimators.schema import anything, floats, integers, whole
from tenfold.estimators.validation import restore_on_error, warn_unless_certified
from tenfold.judge.certificate import Certificate


class FeatureAgglomeration(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, BaseEstimator):
    """Agglomerative clustering of features, each cluster of which is pooled to one.

    The features are points with the samples for coordinates, and are merged as `AgglomerativeClustering` merges
    samples: always the two nearest clusters, by the least ("single"), the largest ("complete") or the mean ("average")
    distance of their features, or that of their means m, ``||m_A - m_B||`` ("centroid"), ``sqrt(2 |A| |B| / (|A| +
    |B|)) ||m_A - m_B||`` ("ward").

    Parameters
    ----------
    n_clusters : int or None, default=2
        Number of clusters; None where `distance_threshold` is given.
    metric : str or callable, default="euclidean"
        Metric of the features: a name of scikit-learn's metrics, "precomputed" for X a matrix of distances, or a
        function that makes this matrix of the transposed X. Linkages "ward" and "centroid" are Euclidean.
    memory : str or object with the joblib.Memory interface, default=None
        Where the tree is cached; a str is the path of a folder. None: nowhere.
    connectivity : array-like, sparse matrix, or callable, default=None
        Which features may be merged, a matrix (p, p), or a function that makes it of the transposed X. Parts that are
        not connected are joined, with a warning, at their nearest features. None: all may be.
    compute_full_tree : "auto" or bool, default="auto"
        With a connectivity, whether merges go on below `n_clusters`; "auto": unless there are to be at least 100
        clusters, or one for every 50 features.
    linkage : {"ward", "complete", "average", "single", "centroid"}, default="ward"
        Distance of clusters. "centroid" is not in scikit-learn; its merges may be nearer than earlier ones.
    pooling_func : callable, default=np.mean
        Makes one value of those of a cluster: takes an array (n, m) and the argument axis=1, and gives (n,).
    distance_threshold : float, default=None
        Distance at or above which clusters are not merged; `n_clusters` is None then.
    compute_distances : bool, default=False
        Whether `distances_` is kept without a `distance_threshold`, too.

    Attributes
    ----------
    n_clusters_ : int
        Number of clusters.
    labels_ : ndarray of shape (n_features,)
        The cluster of each feature.
    n_leaves_ : int
        Number of leaves of the tree, the features.
    n_connected_components_ : int
        Number of connected parts of the connectivity, 1 without.
    children_ : ndarray of shape (n_merges, 2)
        The two nodes of each merge: below n_features a feature, else node n_features + t is the cluster of merge t.
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
    About p^2 distances of n samples, and for "ward" and Euclidean "single" with more than 64 samples, and for all
    others, 8 p^2 bytes. Runs on dense arrays in memory.
    Seeger, section 12.1; Murtagh, Computer Journal 26 (1983); Müllner, arXiv:1109.2378.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import FeatureAgglomeration
    >>> X = np.array([[1.0, 1.2, 5.0], [2.0, 2.2, 1.0], [4.0, 3.9, 2.0]])
    >>> model = FeatureAgglomeration(n_clusters=2).fit(X)
    >>> model.labels_
    array([0, 0, 1])
    >>> model.transform(X)[0]
    array([1.1, 5. ])
    """

    _registration: ClassVar = Registration(
        method="Agglomeration of features",
        texts=("S12.1",),
        peer="sklearn.cluster",
        reads=("in memory",),
        where=HERE,
        instead="The tree is of distances between all features: give a sample of the rows as a dense array.",
        certificate=("exact",),
        judge="hierarchy.features",
        outputs="hierarchy.pool",
        stored={
            "labels_": integers("p", low=0),
            "children_": integers("* 2", low=0),
            "distances_": floats("*"),
            "n_leaves_": whole(1),
            "n_clusters_": whole(1),
            "n_connected_components_": whole(1),
            "_n_features_out": anything(),
        },
        transform_uses="samples",
    )
    _constraints: ClassVar[Constraints] = {**CONSTRAINTS, "pooling_func": (function(),)}

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
        pooling_func: Any = np.mean,
        distance_threshold: float | None = None,
        compute_distances: bool = False,
    ) -> None:
        self.n_clusters = n_clusters
        self.metric = metric
        self.memory = memory
        self.connectivity = connectivity
        self.compute_full_tree = compute_full_tree
        self.linkage = linkage
        self.pooling_func = pooling_func
        self.distance_threshold = distance_threshold
        self.compute_distances = compute_distances

    @restore_on_error
    def fit(self, X: Any, y: Any = None) -> Self:
        """Cluster the features of X (n, p); `y` is not used."""
        check_parameters(self, self._constraints)
        self._registration.check_source(type(self).__name__, X)
        X = validate_data(self, X, ensure_min_features=2, dtype=list(FLOATS))
        fit_tree(self, X.T)
        self._n_features_out = self.n_clusters_
        warn_unless_certified(self)
        return self

    @property
    def fit_predict(self) -> Any:
        """Not there: features, not samples, have labels."""
        raise AttributeError

    def transform(self, X: Any) -> Array:
        """The pooled values of each cluster of features, (n, n_clusters), of samples X (n, p)."""
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=list(FLOATS))
        if self.pooling_func is np.mean:
            return pool_means(X, self.labels_)
        pooled = [self.pooling_func(X[:, self.labels_ == label], axis=1) for label in np.unique(self.labels_)]
        return np.array(pooled).T

    def inverse_transform(self, X: Any) -> Array:
        """Values of all features (n, p), each that of its cluster, from values X (n, n_clusters)."""
        check_is_fitted(self)
        return np.asarray(X)[..., np.unique(self.labels_, return_inverse=True)[1]]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = isinstance(self.metric, str) and self.metric == "precomputed"
        return tags


def pool_means(X: Array, labels: Integers) -> Floats:
    """The mean of each cluster of features, (n, k): sums of consecutive features, which are sorted by cluster."""
    order = np.argsort(labels, kind="stable")
    begin = np.searchsorted(labels[order], np.unique(labels))
    sums = np.add.reduceat(X[:, order].astype(np.float64, copy=False), begin, axis=1)
    return sums / np.bincount(labels)[np.unique(labels)]
