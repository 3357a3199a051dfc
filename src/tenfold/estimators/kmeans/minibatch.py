"""k-means by batches."""

import warnings
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils import check_random_state

from tenfold.arrays import contiguous
from tenfold.estimators.kmeans.centroid_model import BASIC, PEER_REPORT_ONLY, rows_of_fit, seeds_of, starts_of
from tenfold.estimators.kmeans.online_update import REPORT_ONLY, OnlineKMeansBase
from tenfold.estimators.parameters import Constraints, boolean, integer, nothing, real
from tenfold.estimators.registration import Registration
from tenfold.estimators.validation import as_rows_without_target, require_finite, restore_on_error
from tenfold.plans import kmeans
from tenfold.plans import minibatch_kmeans as plan
from tenfold.plans.kmeans import scale_of


class MiniBatchKMeans(OnlineKMeansBase):
    """Mini-batch k-means: every batch of samples moves its nearest centres (Sculley 2010).

    A centre with n samples so far that gets the samples of a batch moves to the mean of all: steps become shorter,
    and the energy ``sum_i w_i min_k ||x_i - c_k||^2`` approaches that of `KMeans` at a fraction of the cost.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    init : {"k-means++", "random"}, callable or array-like of shape (n_clusters, n_features), default="k-means++"
        Seeds: samples that are drawn far apart (greedy k-means++), samples drawn by weight, what ``init(X, n_clusters,
        random_state)`` returns, or these.
    max_iter : int, default=100
        Limit of the number of batches, in passes over the samples.
    batch_size : int, default=1024
        Samples of a batch, drawn with replacement by weight.
    verbose : int, default=0
        Above zero the energies of starts and batches are printed, and why it ended.
    compute_labels : bool, default=True
        Whether `labels_` and the energy of all samples are computed at the end: one pass.
    random_state : int, RandomState or None, default=None
        An integer gives the batches of scikit-learn.
    tol : float, default=0.0
        Above zero: ends when the squared moves of a batch sum to at most tol times the mean variance of the columns.
    max_no_improvement : int or None, default=10
        Ends after this many consecutive batches without a new minimum of the smoothed energy.
    init_size : int or None, default=None
        Samples from which seeds are drawn; None: three batches.
    n_init : int or "auto", default="auto"
        Number of starts, of which the best on some samples is continued; "auto" is 1, and 3 for "random" and callables.
    reassignment_ratio : float, default=0.01
        Centres with less than this fraction of the largest count are replaced by samples of a batch from time to time.

    Attributes
    ----------
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        The centres.
    counts_ : ndarray of shape (n_clusters,)
        The weight of the samples that each centre has had.
    labels_ : ndarray of shape (n_samples,)
        The nearest centre of each sample at the end; only with ``compute_labels=True``.
    inertia_ : float
        The energy of all samples; without `compute_labels` an estimate from the batches.
    n_iter_ : int
        How often as many samples as there are were seen.
    n_steps_ : int
        How many batches were seen.
    certificate_ : Certificate
        Not judged: centres after mini-batch updates are no fixed point, and judging costs more than the fit.
        ``tenfold.certify(model, X)`` computes the decrease of the energy in one exact step; ok only where these
        centres are those of `KMeans`.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features; only where X had names, all of them strings.

    Notes
    -----
    A batch costs 2 batch_size p k operations; one pass over the data at the end with `compute_labels`. Memory k x p and
    a batch. Runs on dense and sparse arrays in memory, with sample weights; `partial_fit` takes batches from anywhere.
    Cookbook, ch. 12; Seeger, section 12.1.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import MiniBatchKMeans
    >>> X = np.repeat([[0.0, 1.0], [9.0, 8.0]], 50, axis=0)
    >>> MiniBatchKMeans(2, random_state=0, batch_size=20).fit(X).inertia_
    0.0
    """

    _registration: ClassVar = Registration(
        method="Mini-batch k-means",
        texts=("S12.1", "B12"),
        peer="sklearn.cluster",
        reads=("random batches",),
        where=("arrays", "sparse"),
        instead="Its partial_fit takes parts of them, and KMeans reads them where they are.",
        certificate=("fixed point",),
        judge="kmeans.centres",
        outputs="kmeans.nearest",
        report_only=REPORT_ONLY,
        peer_report_only=PEER_REPORT_ONLY,
        transform_uses="samples",
    )
    _constraints: ClassVar[Constraints] = {
        **BASIC,
        "batch_size": (integer(1),),
        "compute_labels": (boolean(),),
        "max_no_improvement": (integer(0), nothing()),
        "init_size": (integer(1), nothing()),
        "reassignment_ratio": (real(0),),
    }
    _random_starts: ClassVar[int] = 3

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        init: Any = "k-means++",
        max_iter: int = 100,
        batch_size: int = 1024,
        verbose: int = 0,
        compute_labels: bool = True,
        random_state: Any = None,
        tol: float = 0.0,
        max_no_improvement: int | None = 10,
        init_size: int | None = None,
        n_init: Any = "auto",
        reassignment_ratio: float = 0.01,
    ) -> None:
        self.n_clusters = n_clusters
        self.init = init
        self.max_iter = max_iter
        self.batch_size = batch_size
        self.verbose = verbose
        self.compute_labels = compute_labels
        self.random_state = random_state
        self.tol = tol
        self.max_no_improvement = max_no_improvement
        self.init_size = init_size
        self.n_init = n_init
        self.reassignment_ratio = reassignment_ratio

    @restore_on_error
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Find the centres of X (n, p) with optional `sample_weight`, a number or (n,); `y` is not used."""
        X, weight = rows_of_fit(self, X, sample_weight)
        rows = kmeans.sample_for(as_rows_without_target(contiguous(X), weight), self.n_clusters)
        n, random = rows.X.shape[0], check_random_state(self.random_state)
        batch, log = min(self.batch_size, n), print if self.verbose else None
        seeds, starts, size = seeds_of(self, X, self.n_clusters), starts_of(self), self._init_rows(batch, n)

        def work() -> plan.BatchFit:
            moves = self.tol * scale_of(rows).variance
            start = plan.best_start(rows, seeds, starts, size, random, log)
            return plan.by_batches(
                rows,
                start,
                batch=batch,
                steps=self.max_iter * n // batch,
                replacement=plan.Replacement(self.reassignment_ratio, 10 * self.n_clusters),
                stopping=plan.Stopping(moves, self.max_no_improvement),
                random=random,
                log=log,
            )

        result = require_finite(self, X, work)
        self.n_steps_ = result.steps
        self.n_iter_ = int(np.ceil(result.steps * batch / n))
        total = float(n if weight is None else np.sum(weight))
        self.inertia_ = result.smoothed * total
        self._store(result.centres, self._rows(X, weight), X, weight, "batches", self.compute_labels)
        self._random, self._since = random, 0
        return self

    @restore_on_error
    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Go on with one more batch; the first one sets the start.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, p)
            The samples of the batch.
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
        random = check_random_state(self.random_state) if first else self._random
        log = print if self.verbose else None

        def work() -> plan.Centres:
            if first:
                size = self._init_rows(min(self.batch_size, X.shape[0]), X.shape[0])
                sample = kmeans.sample_for(rows, self.n_clusters)
                now = self._start_from(
                    plan.best_start(sample, seeds_of(self, X, self.n_clusters), 1, size, random, log)
                )
            else:
                now = self._current()
            batch = plan.block_of(contiguous(X), weight)
            since = (0 if first else self._since) + X.shape[0]
            due = bool((now.counts == 0.0).any()) or since >= 10 * self.n_clusters
            now, _ = plan.batch_step(now, batch)
            self._since = 0 if due else since
            if due and self.reassignment_ratio > 0.0:
                now = plan.replace_small(now, batch, self.reassignment_ratio, random, log)
            return now

        result = require_finite(self, X, work)
        self._random = random
        self.n_steps_ = (0 if first else self.n_steps_) + 1
        self._store(result, rows, X, weight, "batches", self.compute_labels)
        return self

    def _init_rows(self, batch: int, n: int) -> int:
        """The number of samples from which seeds are drawn."""
        size, k = self.init_size, self.n_clusters
        if size is None:
            size = 3 * batch if 3 * batch >= k else 3 * k
        elif size < k:
            warnings.warn(
                f"init_size={size} should be larger than n_clusters={k}. Setting it to min(3*n_clusters, n_samples)",
                RuntimeWarning,
                stacklevel=4,
            )
            size = 3 * k
        return min(size, n)
