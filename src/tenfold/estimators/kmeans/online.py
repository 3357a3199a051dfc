"""Online k-means."""

from typing import Any, ClassVar, Self

from sklearn.utils import check_random_state

from tenfold.arrays import Array
from tenfold.data import Rows
from tenfold.estimators.kmeans.centroid_model import BASIC, rows_of_fit, seeds_of
from tenfold.estimators.kmeans.online_update import REPORT_ONLY, OnlineKMeansBase
from tenfold.estimators.parameters import Constraints
from tenfold.estimators.registration import Registration
from tenfold.estimators.validation import require_finite, restore_on_error
from tenfold.plans import kmeans
from tenfold.plans import minibatch_kmeans as plan


class OnlineKMeans(OnlineKMeansBase):
    """Online k-means: each sample in turn moves its nearest centre towards itself (MacQueen 1967).

    For a sample x of weight w with the nearest centre k, ``n_k += w`` and ``c_k += (w / n_k) (x - c_k)``: a centre
    is the running mean of the samples that went to it. Counts start at zero, so that its first sample replaces a seed.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    init : {"random", "k-means++"}, callable or array-like of shape (n_clusters, n_features), default="random"
        Seeds, from the samples of `fit` or of the first `partial_fit`; "random" takes different samples.
    max_iter : int, default=1
        Passes over the samples in their order; counts go on from pass to pass.
    random_state : int, RandomState instance or None, default=None
        Seed of the draws.

    Attributes
    ----------
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        The centres.
    counts_ : ndarray of shape (n_clusters,)
        The weight of the samples that each centre has had.
    labels_ : ndarray of shape (n_samples,)
        The nearest centre of each sample at the end.
    inertia_ : float
        The energy ``sum_i w_i min_k ||x_i - c_k||^2`` of the samples.
    n_iter_ : int
        Passes over the data.
    certificate_ : Certificate
        Not judged: centres after single-sample updates are no fixed point. ``tenfold.certify(model, X)`` computes
        the decrease of the energy in one exact step of Lloyd from them.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features; only where X had names, all of them strings.

    Notes
    -----
    A scan: samples are taken in their order, by one thread; memory k x p. Runs on dense and sparse arrays and files.
    Shuffle samples that are sorted. A sample of weight w counts as w samples at once, not one after the other: the
    centre is the same unless it would change on the way. Cookbook, ch. 12 (algorithm 9).

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import OnlineKMeans
    >>> model = OnlineKMeans(2, init=[[0.0], [9.0]]).fit(np.array([[1.0], [8.0], [3.0], [10.0]]))
    >>> model.cluster_centers_.ravel(), model.counts_
    (array([2., 9.]), array([2., 2.]))
    """

    _registration: ClassVar = Registration(
        method="Online k-means",
        texts=("B12",),
        reads=("in order",),
        where=("arrays", "sparse", "files"),
        instead="Rows follow one another, read by one machine; KMeans reads them where they are.",
        certificate=("fixed point",),
        judge="kmeans.centres",
        outputs="kmeans.nearest",
        report_only=REPORT_ONLY,
        transform_uses="samples",
    )
    _constraints: ClassVar[Constraints] = {
        name: BASIC[name] for name in ("n_clusters", "init", "max_iter", "random_state")
    }

    def __init__(
        self, n_clusters: int = 8, *, init: Any = "random", max_iter: int = 1, random_state: Any = None
    ) -> None:
        self.n_clusters = n_clusters
        self.init = init
        self.max_iter = max_iter
        self.random_state = random_state

    @restore_on_error
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Find the centres of X (n, p) with optional `sample_weight`, a number or (n,); `y` is not used."""
        X, weight = rows_of_fit(self, X, sample_weight)
        rows = self._rows(X, weight)

        def work() -> plan.Centres:
            result = self._begin(rows, X)
            for _ in range(self.max_iter):
                result = plan.update_online(rows, result)
            return result

        self._store(require_finite(self, X, work), rows, X, weight, "single rows")
        self.n_iter_ = self.max_iter
        return self

    @restore_on_error
    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Go on with more samples, in their order.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, p), or table
            The samples.
        y : object, default=None
            Not used.
        sample_weight : array-like of shape (n,), default=None
            Weights of the samples; integers count as repetitions. None: all ones.

        Returns
        -------
        self : estimator
            The fitted estimator.
        """
        first, X, weight = self._more(X, sample_weight)
        rows = self._rows(X, weight)

        def work() -> plan.Centres:
            return plan.update_online(rows, self._begin(rows, X) if first else self._current())

        self._store(require_finite(self, X, work), rows, X, weight, "single rows")
        self.n_iter_ = 1
        return self

    def _begin(self, rows: Rows, X: Array) -> plan.Centres:
        sample = kmeans.sample_for(rows, self.n_clusters)
        return self._start_from(seeds_of(self, X, self.n_clusters)(sample, check_random_state(self.random_state)))
