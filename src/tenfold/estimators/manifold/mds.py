"""Multidimensional scaling by SMACOF, of samples or of dissimilarities."""

import warnings
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from tenfold.arrays import FLOATS, Array, Floats
from tenfold.estimators.callbacks import CallbackSupportMixin, make_callback, with_callbacks
from tenfold.estimators.manifold.classical import DIRECT, compute_dissimilarities
from tenfold.estimators.manifold.stress_majorisation import CONSTRAINTS, check_dissimilarities, scale_points
from tenfold.estimators.parameters import (
    Constraints,
    boolean,
    check_parameters,
    choice,
    function,
    instance,
    nothing,
    unset,
)
from tenfold.estimators.registration import Registration
from tenfold.estimators.schema import floats, number, whole
from tenfold.estimators.validation import restore_on_error, warn_unless_certified
from tenfold.judge.certificate import Certificate
from tenfold.plans.classical_mds import fit_scaling
from tenfold.plans.smacof import Scaled
from tenfold.solvers.loop import Callback, Record


class MDS(CallbackSupportMixin, BaseEstimator):
    """Multidimensional scaling: points whose distances come near to given dissimilarities, by SMACOF.

    With the dissimilarities ``D`` and the distances ``d_ij = ||z_i - z_j||`` of points z, minimises the stress

        ``sum over i < j of (d_ij - e_ij)^2``

    over the points: with a metric ``e = D``. Without one, e are disparities, numbers in the order of the
    dissimilarities, equal where these are equal, that come nearest to d; then only the order of D counts. The stress
    has many local minima.

    Parameters
    ----------
    n_components : int, default=2
        Number of coordinates of the points.
    metric_mds : bool, default=True
        Whether the dissimilarities themselves count, and not only their order. If False, a dissimilarity of zero is
        missing: its disparity is zero.
    n_init : int, default=1
        Runs from points drawn at random, of which that with the least stress counts.
    init : {"random", "classical_mds"}, default="warn"
        Where a run starts: from points drawn at random, or from those of classical scaling, one run. By default
        "random", with a warning that this will change to "classical_mds", as in scikit-learn 1.10.
    max_iter : int, default=300
        Most steps of one run.
    verbose : int, default=0
        If positive, the steps and the stress of each run are printed.
    eps : float, default=1e-6
        A run ends when a step lowers the stress by less than eps times the sum of the squared distances.
    n_jobs : int, default=None
        All threads are used in any case. As in scikit-learn, other starts are drawn where it means more than one job.
    random_state : int, RandomState instance or None, default=None
        Seed of the starts; with an integer they are those of scikit-learn.
    dissimilarity : {"euclidean", "precomputed"}, default="deprecated"
        Deprecated name of `metric`.
    metric : str or callable, default="euclidean"
        Metric of the dissimilarities between samples: a name that ``sklearn.metrics.pairwise_distances`` knows, a
        function of two samples, or "precomputed": then X is their matrix. True and False are deprecated for
        `metric_mds`.
    metric_params : dict, default=None
        Keyword arguments of the metric.
    normalized_stress : bool or "auto", default="auto"
        Whether `stress_` is Kruskal's Stress-1, the root of the stress over the sum of the squared distances. "auto":
        only without a metric.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components)
        The points.
    stress_ : float
        Their stress; without a metric by the disparities that are nearest to them, with a mean square of one.
    dissimilarity_matrix_ : ndarray of shape (n_samples, n_samples)
        The dissimilarities.
    n_iter_ : int
        Steps of the run that counts.
    trace_ : tuple of Record
        The stress after each of its steps.
    status_ : str
        How that run ended.
    certificate_ : Certificate
        Kind fixed point: by how much one more step lowers the stress, relative to the sum of the squared distances, at
        most 1e-6 (eps, if that is more). That is a local minimum or a saddle, not a bound on the least stress.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features; only where X had names, all of them strings.

    Notes
    -----
    A step takes n^2 roots and 10 n^2 operations, in one pass over D on all threads, without a further matrix of n x n.
    Without a metric it also takes one monotone regression of n^2 / 2 distances. Steps are those of scikit-learn; where
    the certificate is not ok at its stopping rule, they go on. Runs on dense arrays.
    Cookbook, ch. 8; de Leeuw 1977, "Applications of convex analysis to multidimensional scaling".

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import MDS
    >>> corners = np.array([[0.0, 0.0], [0.0, 3.0], [4.0, 0.0], [4.0, 3.0]])
    >>> model = MDS(init="classical_mds", eps=1e-12).fit(corners)
    >>> round(model.stress_, 6), model.certificate_.ok
    (0.0, True)
    >>> round(float(np.linalg.norm(model.embedding_[1] - model.embedding_[2])), 3)
    5.0
    """

    _registration: ClassVar = Registration(
        method="Multidimensional scaling (SMACOF)",
        texts=("B8",),
        peer="sklearn.manifold",
        reads=("in memory",),
        where=("arrays",),
        instead="All pairs of samples are compared: load the samples into memory as a dense array.",
        certificate=("fixed point",),
        judge="manifold.mds",
        report_only={"n_iter_": "how many steps the solver took"},
        stored={
            "embedding_": floats("n c"),
            "dissimilarity_matrix_": floats("n n"),
            "stress_": number(0.0),
            "n_iter_": whole(0),
        },
    )
    _constraints: ClassVar[Constraints] = {
        **CONSTRAINTS,
        "metric_mds": (boolean(),),
        "init": (choice("random", "classical_mds"), unset("warn")),
        "dissimilarity": (choice("euclidean", "precomputed"), unset("deprecated")),
        "metric": (instance(str), function(), boolean()),
        "metric_params": (instance(dict), nothing()),
    }

    embedding_: Floats
    stress_: float
    dissimilarity_matrix_: Floats
    trace_: tuple[Record, ...]
    certificate_: Certificate

    def __init__(
        self,
        n_components: int = 2,
        *,
        metric_mds: bool = True,
        n_init: int = 1,
        init: str = "warn",
        max_iter: int = 300,
        verbose: int = 0,
        eps: float = 1e-6,
        n_jobs: int | None = None,
        random_state: Any = None,
        dissimilarity: str = "deprecated",
        metric: Any = "euclidean",
        metric_params: dict[str, Any] | None = None,
        normalized_stress: bool | str = "auto",
    ) -> None:
        self.n_components = n_components
        self.metric_mds = metric_mds
        self.n_init = n_init
        self.init = init
        self.max_iter = max_iter
        self.verbose = verbose
        self.eps = eps
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.dissimilarity = dissimilarity
        self.metric = metric
        self.metric_params = metric_params
        self.normalized_stress = normalized_stress

    @with_callbacks
    @restore_on_error
    def fit(self, X: Any, y: Any = None, init: Any = None) -> Self:
        """Compute the points.

        Parameters
        ----------
        X : array-like of shape (n, p), or (n, n) with ``metric="precomputed"``
            The samples, or their dissimilarities.
        y : object, default=None
            Not used.
        init : array-like of shape (n, n_components), default=None
            Points where one run starts, in the place of the parameter `init`.

        Returns
        -------
        self : estimator
            The fitted estimator.
        """
        check_parameters(self, self._constraints)
        if self.init == "warn":
            warnings.warn(
                "The default value of `init` will change from 'random' to 'classical_mds' in 1.10. To suppress this "
                "warning, provide some value of `init`.",
                FutureWarning,
                stacklevel=3,
            )
        metric, _ = resolve_metric(self, warn=True)
        self._registration.check_source("MDS", X)
        X = validate_data(self, X, dtype=list(FLOATS))
        if X.shape[0] == X.shape[1] and metric != "precomputed":
            warnings.warn(
                "The provided input is a square matrix. Note that ``fit`` constructs a dissimilarity matrix from data "
                "and will treat rows as samples and columns as features. To use a pre-computed dissimilarity matrix, "
                "set ``metric='precomputed'``.",
                stacklevel=3,
            )
        self.dissimilarity_matrix_ = D = dissimilarities_of(self, X)
        start = init
        if start is None and self.init == "classical_mds":
            start = fit_scaling(D, self.n_components, lambda: np.random.RandomState(0)).embedding
        self._store(self._solve(D, start, X))
        warn_unless_certified(self)
        return self

    def _solve(self, D: Floats, start: Any, X: Array) -> Scaled:
        def attributes(points: Any) -> dict[str, Any]:
            return {"embedding_": np.array(points)}

        callback: Callback | None = make_callback(self, X, None, self.max_iter * self.n_init, attributes)
        return scale_points(
            D,
            start,
            metric=resolve_metric(self, warn=False)[1],
            n_components=self.n_components,
            n_init=self.n_init,
            n_jobs=self.n_jobs,
            max_iter=self.max_iter,
            verbose=self.verbose,
            eps=self.eps,
            random_state=self.random_state,
            normalized_stress=self.normalized_stress,
            callback=callback,
        )

    def _store(self, fitted: Scaled) -> None:
        self.embedding_, self.stress_, self.n_iter_ = fitted.embedding, fitted.stress, fitted.iterations
        self.trace_, self.certificate_ = fitted.trace, fitted.certificate
        self.status_ = fitted.certificate.status

    def fit_transform(self, X: Any, y: Any = None, init: Any = None) -> Floats:
        """Compute and return the points (n, n_components) of X (n, p), from points `init` (n, n_components) if these
        are given; `y` is not used.
        """
        return self.fit(X, init=init).embedding_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.dissimilarity == "precomputed" or (
            isinstance(self.metric, str) and self.metric == "precomputed"
        )
        return tags


def resolve_metric(model: Any, *, warn: bool) -> tuple[Any, bool]:
    """The metric of the parameters of a model, and whether its dissimilarities count and not only their order;
    deprecated names warn.
    """
    metric, counts = model.metric, bool(model.metric_mds)
    given = model.dissimilarity != "deprecated"
    if given and not isinstance(metric, (bool, np.bool_)) and not (isinstance(metric, str) and metric == "euclidean"):
        raise ValueError("You provided both `dissimilarity` and `metric`. Please use only `metric`.")
    if given and warn:
        warnings.warn(
            "The `dissimilarity` parameter is deprecated and will be removed in 1.10. Use `metric` instead.",
            FutureWarning,
            stacklevel=5,
        )
    if isinstance(metric, (bool, np.bool_)):
        if warn:
            warnings.warn(
                f"Use metric_mds={metric} instead of metric={metric}. The support for metric={{True/False}} will be "
                "dropped in 1.10.",
                FutureWarning,
                stacklevel=5,
            )
        metric, counts = "euclidean", bool(metric)
    return (model.dissimilarity if given else metric), counts


class _Named:
    """A metric with its parameters, as dissimilarities are computed by them."""

    def __init__(self, metric: Any, params: dict[str, Any] | None) -> None:
        self.metric, self.metric_params = metric, params


def dissimilarities_of(model: Any, X: Array) -> Floats:
    """The dissimilarities (n, n) of samples by the parameters of a model, in float64; given ones made symmetric."""
    metric, _ = resolve_metric(model, warn=False)
    if isinstance(metric, str) and metric == "precomputed":
        return check_dissimilarities(X)
    params = None if isinstance(metric, str) and metric in DIRECT and not model.metric_params else model.metric_params
    return np.ascontiguousarray(compute_dissimilarities(_Named(metric, params), X), dtype=np.float64)
