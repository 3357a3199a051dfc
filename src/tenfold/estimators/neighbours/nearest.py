"""Neighbours for their own sake."""

from typing import Any, ClassVar

from tenfold.estimators.neighbours.asked import NearestAsked, RadiusAsked
from tenfold.estimators.neighbours.searched import NEAREST, RADIUS, SEARCH, Alone, claims
from tenfold.estimators.parameters import Constraints


class NearestNeighbors(Alone, NearestAsked, RadiusAsked):
    """The nearest rows, exactly.

    Distances of many columns go by products in float32 whose error is bounded; rows that may be near by this bound are
    measured in float64, so that the answer is that of float64 distances. Rows of few columns have a k-d tree. Of rows
    at the same distance the first counts as nearer.

    Parameters
    ----------
    n_neighbors : int, default=5
    radius : float, default=1.0
    algorithm : {"auto", "ball_tree", "kd_tree", "brute"}, default="auto"
        All give the same answer. A tree of balls is a k-d tree here, and where the metric is not Minkowski's, all pairs
        are compared.
    leaf_size : int, default=30
        Taken for scikit-learn's sake: leaves have up to 32 rows.
    metric : str, callable or DistanceMetric, default="minkowski"
        Every metric of scikit-learn: euclidean, sqeuclidean, manhattan, chebyshev, minkowski, seuclidean, mahalanobis,
        cosine, correlation, hamming, canberra, braycurtis, jaccard, dice, rogerstanimoto, russellrao, sokalmichener,
        sokalsneath, yule, haversine, nan_euclidean, "precomputed", or a function of two rows. Ours: "ordinal", city
        blocks of the ranks of values.
    p : float, default=2
        Minkowski's power.
    metric_params : dict, default=None
        w of minkowski, V of seuclidean, V or VI of mahalanobis (else those of the rows of the fit), or arguments of a
        function.
    n_jobs : int, default=None
        Taken for scikit-learn's sake: threads are as many as SciPy's BLAS has.

    Attributes
    ----------
    effective_metric_ : str or callable
    effective_metric_params_ : dict
    n_samples_fit_ : int
    certificate_ : Certificate
        Kind exact: for a sample of the rows, all of up to 512, the neighbours that the index finds are those of plain
        float64 distances. `tenfold.certify` also compares the stored rows with those given.
    n_features_in_, feature_names_in_ : as in scikit-learn.

    Notes
    -----
    Memory: the rows; for a tree or another metric a copy in float64, and half as much while products run. Never n x n.
    Of rows in files, on a cluster or on a device the source is kept, and every question reads it once, block by block;
    answers are those of memory.
    Seeger, section 2.1; Rosasco, ch. 2; Welling, ch. 5; Cookbook, ch. 22 and C.4.

    Examples
    --------
    >>> from tenfold import NearestNeighbors
    >>> model = NearestNeighbors(n_neighbors=2).fit([[0, 0, 2], [1, 0, 0], [0, 0, 1]])
    >>> distances, rows = model.kneighbors([[0, 0, 1.3]])
    >>> rows
    array([[2, 0]])
    """

    _claims: ClassVar = claims("Nearest neighbours", "sklearn.neighbors.NearestNeighbors")
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
