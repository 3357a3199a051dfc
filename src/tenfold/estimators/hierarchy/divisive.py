"""Divisive clustering."""

from typing import Any, ClassVar, Self

from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils.validation import validate_data

from tenfold.arrays import FLOATS, Array, Floats, Integers
from tenfold.estimators.hierarchy.agglomerative import HERE, INSTEAD, METRICS, check_linkage
from tenfold.estimators.parameters import (
    Constraints,
    check_parameters,
    choice,
    function,
    integer,
    nothing,
    real,
)
from tenfold.estimators.registration import Registration
from tenfold.estimators.schema import floats, integers, whole
from tenfold.estimators.validation import restore_on_error, warn_unless_certified
from tenfold.judge.certificate import Certificate
from tenfold.pairwise.dissimilarities import compute_dissimilarities
from tenfold.plans.divisive import certify_splits, split_clusters
from tenfold.plans.hierarchy import check_distances


class DivisiveClustering(ClusterMixin, BaseEstimator):
    """Divisive clustering: all samples are one cluster, and the cluster of largest diameter is split, again and again.

    The diameter is the largest distance of two samples. With the rule "splinter" the sample with the largest mean
    distance from the others leaves a cluster C, and the group S that left takes, one at a time, the sample x with the
    largest gain

        ``mean of d(x, z) over z in C \\ S  -  mean of d(x, z) over z in S``,

    as long as it is positive. With "farthest" the two samples that are farthest from each other are seeds, and each
    sample goes to the nearer one.

    Parameters
    ----------
    n_clusters : int or None, default=2
        Number of clusters; None where `distance_threshold` is given.
    metric : str or callable, default="euclidean"
        Metric of the samples: a name of scikit-learn's metrics, "precomputed" for X a matrix of distances, or a
        function that makes this matrix of X.
    rule : {"splinter", "farthest"}, default="splinter"
        How a cluster is split.
    distance_threshold : float, default=None
        Clusters are split until their diameters are below it; `n_clusters` is None then.

    Attributes
    ----------
    n_clusters_ : int
        Number of clusters.
    labels_ : ndarray of shape (n_samples,)
        The cluster of each sample, numbered by their first samples.
    n_leaves_ : int
        Number of leaves of the tree, the clusters.
    children_ : ndarray of shape (n_clusters_ - 1, 2)
        The splits from the last to the first: below n_clusters_ a cluster, else node n_clusters_ + t is that which
        split t divided.
    distances_ : ndarray of shape (n_clusters_ - 1,)
        The diameters of the clusters that were split.
    certificate_ : Certificate
        Kind exact: the largest distance of the diameters from those computed again, and by how much a wider cluster was
        left, or a split misses its rule, relative to the largest diameter. Equal distances may be taken in any order.
        That makes the splits those of the rule; no sum over the clusters is proved to be smallest.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features; only where X had names, all of them strings.

    Notes
    -----
    n^2 distances of p features in 8 n^2 bytes; each split of a cluster of m samples takes up to m^2 operations. Runs on
    dense arrays in memory.
    Seeger, section 12.1, which leaves the rule open; Kaufman and Rousseeuw, Finding Groups in Data, ch. 6 (DIANA).

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import DivisiveClustering
    >>> X = np.array([[1, 2], [1, 4], [1, 0], [9, 2], [9, 4], [9, 0]])
    >>> model = DivisiveClustering(n_clusters=2).fit(X)
    >>> model.labels_
    array([0, 0, 0, 1, 1, 1])
    >>> model.distances_.round(2), model.certificate_.ok
    (array([8.94]), True)
    """

    _registration: ClassVar = Registration(
        method="Divisive clustering",
        texts=("S12.1",),
        reads=("in memory",),
        where=HERE,
        instead=INSTEAD,
        certificate=("exact",),
        judge="hierarchy.divisive",
        stored={
            "labels_": integers("n", low=0),
            "children_": integers("* 2", low=0),
            "distances_": floats("*"),
            "n_leaves_": whole(1),
            "n_clusters_": whole(1),
        },
    )
    _constraints: ClassVar[Constraints] = {
        "n_clusters": (integer(1), nothing()),
        "metric": (choice(*METRICS, "minkowski"), function()),
        "rule": (choice("splinter", "farthest"),),
        "distance_threshold": (real(0), nothing()),
    }

    n_clusters_: int
    labels_: Integers
    n_leaves_: int
    children_: Integers
    distances_: Floats
    certificate_: Certificate

    def __init__(
        self,
        n_clusters: int | None = 2,
        *,
        metric: Any = "euclidean",
        rule: str = "splinter",
        distance_threshold: float | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.metric = metric
        self.rule = rule
        self.distance_threshold = distance_threshold

    @restore_on_error
    def fit(self, X: Any, y: Any = None) -> Self:
        """Cluster the samples X (n, p), or by the distances X (n, n); `y` is not used."""
        check_parameters(self, self._constraints)
        self._registration.check_source(type(self).__name__, X)
        X = validate_data(self, X, ensure_min_samples=2, dtype=list(FLOATS))
        D = distances_for(self, X)
        splits = split_clusters(D, self.rule, self.n_clusters, self.distance_threshold)  # type: ignore[arg-type]
        self.labels_, self.children_, self.distances_ = splits.labels, splits.children, splits.diameters
        self.n_clusters_ = self.n_leaves_ = len(splits.children) + 1
        self.certificate_ = certify_splits(D, splits, self.rule, self.distance_threshold)  # type: ignore[arg-type]
        warn_unless_certified(self)
        return self

    def fit_predict(self, X: Any, y: Any = None) -> Array:
        """Cluster the samples X (n, p), or by the distances X (n, n), and return the labels (n,); `y` is not used."""
        return self.fit(X).labels_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = isinstance(self.metric, str) and self.metric == "precomputed"
        return tags


def distances_for(model: Any, X: Array) -> Floats:
    """The distances of samples by the parameters of a model; raises where these do not go together."""
    if (model.n_clusters is None) == (model.distance_threshold is None):
        raise ValueError(
            "Exactly one of n_clusters and distance_threshold has to be set, and the other needs to be None."
        )
    if model.n_clusters is not None and model.n_clusters > X.shape[0]:
        raise ValueError(
            f"Cannot extract more clusters than samples: {model.n_clusters} clusters were asked for, and there are "
            f"{X.shape[0]} samples."
        )
    check_linkage(X, "complete", model.metric)
    return check_distances(compute_dissimilarities(X, model.metric))
