"""k-means by halving clusters."""

from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils import check_random_state

from tenfold.arrays import Array, Floats, contiguous, numpy_dtype, wide
from tenfold.data import MemoryRows
from tenfold.estimators.kmeans.centroid_model import (
    BASIC,
    PEER_REPORT_ONLY,
    CentroidModel,
    print_steps,
    rows_of_fit,
    seeds_of,
)
from tenfold.estimators.parameters import Constraints, boolean, choice, function, integer
from tenfold.estimators.registration import Registration
from tenfold.estimators.validation import (
    convert_like,
    require_finite,
    restore_on_error,
)
from tenfold.plans import bisecting_kmeans as plan


def _is_tree(model: Any) -> bool:
    """Nodes have two later ones each, which no other has, or are the leaves: every way down ends, and is short."""
    inner = [(i, pair) for i, pair in enumerate(model._tree) if tuple(pair) != (-1, -1)]
    children = [child for _, pair in inner for child in pair]
    leaves = {i for i, pair in enumerate(model._tree) if tuple(pair) == (-1, -1)}
    later = all(i < child < len(model._tree) for i, pair in inner for child in pair)
    return later and len(set(children)) == len(children) and leaves == set(model._leaves)


class BisectingKMeans(CentroidModel):
    """Bisecting k-means: the cluster with the largest energy is split in two, until there are enough.

    Each split looks for two centres with a small energy ``sum_i w_i min(||x_i - c_1||^2, ||x_i - c_2||^2)`` of the
    samples of one cluster, by steps of Lloyd; clusters are nested, and a sample belongs to the leaf that it reaches
    from the root by always going to the nearer of two centres, which need not be the nearest of all.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    init : {"random", "k-means++"} or callable, default="random"
        Seeds of every split.
    n_init : int, default=1
        Runs of every split.
    random_state : int, RandomState instance or None, default=None
        Seed of the draws.
    max_iter : int, default=300
        Steps of Lloyd of one run.
    verbose : int, default=0
        Above zero the energy of each step is printed, why a run ended, and the centres of every split.
    tol : float, default=1e-4
        A split ends when the squared moves of its centres sum to at most tol times the mean variance of the features of
        its samples and the energy decreases by less than the certificate allows, or when no sample changes its cluster.
    copy_x : bool, default=True
        Accepted for compatibility: X is never changed.
    algorithm : {"lloyd", "elkan"}, default="lloyd"
        Accepted for compatibility: both give the steps of Lloyd, and distances that bounds rule out are never computed.
    bisecting_strategy : {"biggest_inertia", "largest_cluster"}, default="biggest_inertia"
        Which cluster is split next: that with the largest energy, or with the most samples.

    Attributes
    ----------
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        The centres.
    labels_ : ndarray of shape (n_samples,)
        The leaf of each sample.
    inertia_ : float
        The weighted sum of squared distances of samples from the centres of their leaves.
    certificate_ : Certificate
        Kind fixed point, of the splits: the decrease of the energy when every split takes one more exact step of
        Lloyd on its own samples. ``tenfold.certify(model, X)`` judges the same. The centres together are seldom a
        fixed point: for that start `KMeans` from them.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features; only where X had names, all of them strings.

    Notes
    -----
    One pass over the samples of a cluster a step of its split, of 4 m p operations for m samples; memory for the
    samples and their labels. Runs on dense and sparse arrays in memory, with sample weights.
    Seeger, section 12.1 (divisive clustering).

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import BisectingKMeans
    >>> X = np.array([[1, 1], [10, 1], [3, 1], [10, 0], [2, 1], [10, 2], [10, 8], [10, 9], [10, 10]])
    >>> model = BisectingKMeans(n_clusters=3, random_state=0).fit(X)
    >>> model.inertia_
    6.0
    """

    _registration: ClassVar = Registration(
        method="Bisecting k-means",
        texts=("S12.1",),
        peer="sklearn.cluster",
        reads=("in memory",),
        where=("arrays", "sparse"),
        instead="KMeans reads them where they are.",
        certificate=("fixed point",),
        judge="kmeans.halves",
        outputs="kmeans.down_the_tree",
        peer_report_only=PEER_REPORT_ONLY,
        rules={"_tree must be a tree": _is_tree},
        transform_uses="samples",
    )
    _constraints: ClassVar[Constraints] = {
        **BASIC,
        "init": (choice("k-means++", "random"), function()),
        "n_init": (integer(1),),
        "copy_x": (boolean(),),
        "algorithm": (choice("lloyd", "elkan"),),
        "bisecting_strategy": (choice("biggest_inertia", "largest_cluster"),),
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        init: Any = "random",
        n_init: int = 1,
        random_state: Any = None,
        max_iter: int = 300,
        verbose: int = 0,
        tol: float = 1e-4,
        copy_x: bool = True,
        algorithm: str = "lloyd",
        bisecting_strategy: str = "biggest_inertia",
    ) -> None:
        self.n_clusters = n_clusters
        self.init = init
        self.n_init = n_init
        self.random_state = random_state
        self.max_iter = max_iter
        self.verbose = verbose
        self.tol = tol
        self.copy_x = copy_x
        self.algorithm = algorithm
        self.bisecting_strategy = bisecting_strategy

    @restore_on_error
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Find the clusters of X (n, p) with optional `sample_weight`, a number or (n,); `y` is not used."""
        X, weight = rows_of_fit(self, X, sample_weight)
        rows = MemoryRows(contiguous(X), np.zeros((X.shape[0], 0)), weight)
        seeds = seeds_of(self, X, 2)
        result = require_finite(
            self,
            X,
            lambda: plan.fit(
                rows,
                seeds,
                self.n_clusters,
                starts=self.n_init,
                max_iter=self.max_iter,
                tol=self.tol,
                largest=self.bisecting_strategy == "largest_cluster",
                random=check_random_state(self.random_state),
                dtype=numpy_dtype(X.dtype),
                **self._printing(),
            ),
        )
        self._tree, self._leaves, self._nodes = result.tree, result.leaves, convert_like(result.nodes, X)
        self.cluster_centers_ = self._nodes[list(result.leaves)]
        self.labels_, self.inertia_, self.certificate_ = result.labels, result.energy, result.certificate
        return self

    def _printing(self) -> dict[str, Any]:
        """What prints the steps and the centres of every split, where that is asked for."""
        if not self.verbose:
            return {}
        return {
            "callback": partial(print_steps, self.max_iter),
            "log": lambda centres: print(f"New centroids from bisection: {centres}"),
        }

    def _prediction_function(self, small: bool) -> Callable[[Array], Array]:
        return partial(plan.descend, self._tree, wide(self._nodes), self._leaves)


def tree_of(model: BisectingKMeans) -> tuple[plan.Tree, Floats]:
    """The children of every node of a fitted tree, and the centres of the nodes."""
    return model._tree, wide(model._nodes)
