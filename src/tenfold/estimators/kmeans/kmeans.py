"""k-means clustering."""

import warnings
from typing import Any, ClassVar, Self

from sklearn.utils import check_random_state

from tenfold.arrays import Floats, numpy_dtype
from tenfold.estimators.kmeans.centroid_model import (
    BASIC,
    PEER_REPORT_ONLY,
    CentroidModel,
    print_steps,
    rows_of_fit,
    seeds_of,
    starts_of,
    to_rows,
    warn_of_fewer,
)
from tenfold.estimators.leaderboard_entry import Entry
from tenfold.estimators.parameters import Constraints, boolean, choice
from tenfold.estimators.registration import Registration
from tenfold.estimators.validation import (
    convert_like,
    require_finite,
    restore_on_error,
    warn_unless_certified,
)
from tenfold.plans import kmeans as plan
from tenfold.solvers.loop import Callback


class KMeans(CentroidModel):
    """k-means: centres with the least squared distances of the samples to the nearest.

    Looks for c that minimises the energy ``sum_i w_i min_k ||x_i - c_k||^2``, which has many local minima, by steps of
    Lloyd from good seeds: samples go to the nearest centre, centres to the mean of their samples.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    init : {"k-means++", "random"}, callable or array-like of shape (n_clusters, n_features), default="k-means++"
        Seeds: samples that are drawn far apart (greedy k-means++), samples drawn by weight, what
        ``init(X, n_clusters, random_state)`` returns, or these. With an integer `random_state` seeds are those of
        scikit-learn.
    n_init : int or "auto", default="auto"
        Runs, of which that with the least energy counts; "auto" is 1, and 10 for "random" and callables.
    max_iter : int, default=300
        Steps of one run.
    tol : float, default=1e-4
        A run ends when the squared moves of the centres sum to at most tol times the mean variance of the columns and
        the energy decreases by less than the certificate allows, or when no sample changes its cluster.
    verbose : int, default=0
        Above zero the energy of each step is printed, and why a run ended.
    random_state : int, RandomState instance or None, default=None
        Seed of the draws; with an integer seeds are those of scikit-learn.
    copy_x : bool, default=True
        Accepted for compatibility: X is never changed.
    algorithm : {"lloyd", "elkan"}, default="lloyd"
        Accepted for compatibility: both give the steps of Lloyd, and distances that bounds rule out are never computed.

    Attributes
    ----------
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        The centres.
    labels_ : ndarray of shape (n_samples,)
        The nearest centre of each sample, in float64 arithmetic whatever the dtype of X; a lazy array for Dask.
    inertia_ : float
        The energy.
    n_iter_ : int
        Steps of the run that counts.
    trace_ : tuple of float
        The energy after each of its steps; it never rises.
    certificate_ : Certificate
        Kind fixed point: the decrease of the energy in one more exact step, at most 1e-6 of it (0.01 tol, if that is
        more). That is a local minimum at best. `lower_bound` is the energy below which no centres can be, from the
        spectrum of the samples; it is left out where it would cost more than the fit (`tenfold.certify` asks for it
        always).
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features; only where X had names, all of them strings.

    Notes
    -----
    One pass over the samples a step, of 2 n p k flops at most, in float32 with a bound on its errors: samples for
    which it does not decide are compared in float64, so that labels are those of float64. Runs on dense and sparse
    arrays, files, devices and Dask collections, with sample weights; where samples are not in memory, seeds come
    from a subsample. A centre without samples goes to the sample that is furthest from its own.
    Seeger, section 12.1; Welling, ch. 11; Cookbook, ch. 12.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import KMeans
    >>> X = np.array([[1, 2], [1, 4], [1, 0], [10, 2], [10, 4], [10, 0]])
    >>> model = KMeans(n_clusters=2, random_state=0).fit(X)
    >>> model.labels_
    array([1, 1, 1, 0, 0, 0], dtype=int32)
    >>> model.cluster_centers_
    array([[10.,  2.],
           [ 1.,  2.]])
    >>> model.certificate_.ok, model.certificate_.lower_bound <= model.inertia_
    (True, True)
    """

    _registration: ClassVar = Registration(
        method="k-means",
        texts=("S12.1", "W11", "B12"),
        peer="sklearn.cluster",
        reads=("a pass a step",),
        certificate=("fixed point",),
        judge="kmeans.centres",
        outputs="kmeans.nearest",
        report_only={"n_iter_": "how many steps of Lloyd the solver took"},
        peer_report_only=PEER_REPORT_ONLY,
        board=Entry(
            "k-means", "structure", {"n_init": 10, "random_state": 0}, {"n_clusters": (2, 3, 4, 5, 6, 8)}, dense=True
        ),
        transform_uses="samples",
    )
    _constraints: ClassVar[Constraints] = {
        **BASIC,
        "copy_x": (boolean(),),
        "algorithm": (choice("lloyd", "elkan"),),
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        init: Any = "k-means++",
        n_init: Any = "auto",
        max_iter: int = 300,
        tol: float = 1e-4,
        verbose: int = 0,
        random_state: Any = None,
        copy_x: bool = True,
        algorithm: str = "lloyd",
    ) -> None:
        self.n_clusters = n_clusters
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.verbose = verbose
        self.random_state = random_state
        self.copy_x = copy_x
        self.algorithm = algorithm

    @restore_on_error
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Find the centres.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, p), table, Dask collection, or array on a device
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
        X, weight = rows_of_fit(self, X, sample_weight)
        if self.algorithm == "elkan" and self.n_clusters == 1:
            warnings.warn(
                "algorithm='elkan' doesn't make sense for a single cluster. Using 'lloyd' instead.",
                RuntimeWarning,
                stacklevel=3,
            )
        rows = to_rows(X, weight)
        seeds, starts = seeds_of(self, X, self.n_clusters), starts_of(self)
        result = require_finite(
            self,
            X,
            lambda: plan.fit(
                rows,
                weight,
                seeds,
                self.n_clusters,
                starts=starts,
                max_iter=self.max_iter,
                tol=self.tol,
                random=check_random_state(self.random_state),
                callback=self._make_callback,
                dtype=numpy_dtype(X.dtype),
            ),
        )
        self.n_iter_ = result.run.iterations
        self.trace_ = tuple(record.objective for record in result.run.trace[1:])
        self.cluster_centers_, self.inertia_ = convert_like(result.centres, X), result.energy
        self.certificate_ = result.certificate
        # those of samples on several machines stay there, and are computed when they are asked for
        self.labels_ = self.predict(X) if result.labels is None else result.labels
        warn_of_fewer(self, None if rows.distributed else self.labels_)
        warn_unless_certified(self)
        return self

    def _make_callback(self, start: Floats, tolerance: float) -> Callback | None:
        """What prints the steps, where that is asked for."""
        if not self.verbose:
            return None
        print("Initialization complete")
        return print_steps(self.max_iter, start, tolerance)
