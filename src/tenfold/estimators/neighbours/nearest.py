"""Unsupervised search of neighbours."""

from typing import Any, ClassVar

from tenfold.estimators.neighbours.neighbors_model import NEAREST, RADIUS, SEARCH, UnsupervisedNeighbors
from tenfold.estimators.neighbours.queries import KNeighborsMixin, RadiusNeighborsMixin
from tenfold.estimators.neighbours.stored import COMPARED, INDEXED
from tenfold.estimators.parameters import Constraints
from tenfold.estimators.registration import Registration


class NearestNeighbors(UnsupervisedNeighbors, KNeighborsMixin, RadiusNeighborsMixin):
    """Unsupervised search for the nearest neighbours, by number or within a radius; exact.

    Finds the k samples x_i of the fit with the smallest ``d(x, x_i)``, or all with ``d(x, x_i) <= radius``. Distances
    of many features go by products in float32 whose error is bounded; samples that may be near by this bound are
    measured in float64, so that the answer is that of float64 distances. Samples of few features have a k-d tree. Of
    samples at the same distance the first counts as nearer.

    Parameters
    ----------
    n_neighbors : int, default=5
        Number of neighbours that `kneighbors` finds by default.
    radius : float, default=1.0
        Radius of `radius_neighbors` by default.
    algorithm : {"auto", "ball_tree", "kd_tree", "brute"}, default="auto"
        All give the same answer. A tree of balls is a k-d tree here, and where the metric is not Minkowski's, all pairs
        are compared.
    leaf_size : int, default=30
        Accepted for compatibility: leaves have up to 32 samples.
    metric : str, callable or DistanceMetric, default="minkowski"
        Every metric of scikit-learn: euclidean, sqeuclidean, manhattan, chebyshev, minkowski, seuclidean, mahalanobis,
        cosine, correlation, hamming, canberra, braycurtis, jaccard, dice, rogerstanimoto, russellrao, sokalmichener,
        sokalsneath, yule, haversine, nan_euclidean, "precomputed", or a function of two samples. Ours: "ordinal", city
        blocks of the ranks of values.
    p : float, default=2
        Power of Minkowski's metric: 1 is manhattan, 2 is euclidean.
    metric_params : dict, default=None
        w of minkowski, V of seuclidean, V or VI of mahalanobis (else those of the samples of the fit), or arguments
        of a function.
    n_jobs : int, default=None
        Accepted for compatibility: threads are as many as SciPy's BLAS has.

    Attributes
    ----------
    effective_metric_ : str or callable
        The metric in use: "minkowski" is "euclidean" with p=2, "manhattan" with p=1, "chebyshev" with p=inf.
    effective_metric_params_ : dict
        Its parameters.
    n_samples_fit_ : int
        Number of samples seen in `fit`.
    certificate_ : Certificate
        Kind exact: for a subset of the samples, all of up to 512, the neighbours that the index finds are those of
        plain float64 distances. `tenfold.certify` also compares the stored samples with those given.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features; only where X had names, all of them strings.

    Notes
    -----
    Memory: the samples; for a tree or another metric a copy in float64, and half as much while products run. Never n x
    n. A query costs n p operations at most, with a tree of few features far fewer; all answers are exact. Runs on dense
    and sparse arrays. Of data in files, on a cluster or on a device only the source is stored, and every query reads it
    once, block by block; answers are those of memory.
    Seeger, section 2.1; Rosasco, ch. 2; Welling, ch. 5; Cookbook, ch. 22 and C.4.

    Examples
    --------
    >>> from tenfold import NearestNeighbors
    >>> model = NearestNeighbors(n_neighbors=2).fit([[0, 0, 2], [1, 0, 0], [0, 0, 1]])
    >>> distances, rows = model.kneighbors([[0, 0, 1.3]])
    >>> rows
    array([[2, 0]])
    """

    _registration: ClassVar = Registration(
        method="Nearest-neighbour search",
        texts=("S2.1", "R2", "W5", "B22"),
        peer="sklearn.neighbors",
        reads=("one pass",),
        certificate=("exact",),
        judge="neighbours.index",
        choice="neighbours.check_index",
        rules=COMPARED,
        derived=INDEXED,
    )
    _constraints: ClassVar[Constraints] = {**NEAREST, **RADIUS, **SEARCH}

    def __init__(
        self,
        *,
        n_neighbors: int = 5,
        radius: float = 1.0,
        algorithm: str = "auto",
        leaf_size: int = 30,
        metric: Any = "minkowski",
        p: float = 2,
        metric_params: dict[str, Any] | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.radius = radius
        super().__init__(algorithm, leaf_size, p, metric, metric_params, n_jobs)
