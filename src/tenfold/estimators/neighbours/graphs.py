"""Graphs of neighbours: functions and transformers."""

from typing import Any, ClassVar

from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from tenfold.estimators.neighbours.nearest import NearestNeighbors
from tenfold.estimators.neighbours.neighbors_model import NEAREST, RADIUS, SEARCH, UnsupervisedNeighbors
from tenfold.estimators.neighbours.queries import KNeighborsMixin, RadiusNeighborsMixin
from tenfold.estimators.neighbours.stored import COMPARED, INDEXED
from tenfold.estimators.parameters import Constraints, boolean, check_arguments, choice, integer, real
from tenfold.estimators.registration import Registration

MODE = choice("distance", "connectivity")


def kneighbors_graph(
    X: Any,
    n_neighbors: int,
    *,
    mode: str = "connectivity",
    metric: Any = "minkowski",
    p: float = 2,
    metric_params: dict[str, Any] | None = None,
    include_self: Any = False,
    n_jobs: int | None = None,
) -> Any:
    """The graph of the k nearest neighbours of each sample.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features) or a fitted NearestNeighbors
        The samples.
    n_neighbors : int
        Number of neighbours of each sample.
    mode : {"connectivity", "distance"}, default="connectivity"
        Whether entries are ones or distances.
    metric : str, callable or DistanceMetric, default="minkowski"
        Every metric of scikit-learn: euclidean, sqeuclidean, manhattan, chebyshev, minkowski, seuclidean, mahalanobis,
        cosine, correlation, hamming, canberra, braycurtis, jaccard, dice, rogerstanimoto, russellrao, sokalmichener,
        sokalsneath, yule, haversine, nan_euclidean, "precomputed", or a function of two samples. Ours: "ordinal", city
        blocks of the ranks of values.
    p : float, default=2
        Power of Minkowski's metric: 1 is manhattan, 2 is euclidean.
    metric_params : dict, default=None
        w of minkowski, V of seuclidean, V or VI of mahalanobis (else those of the samples of the fit), or arguments of
        a function.
    include_self : bool or "auto", default=False
        Whether a sample is its own nearest neighbour; "auto": with "connectivity".
    n_jobs : int, default=None
        Accepted for compatibility: threads are as many as SciPy's BLAS has.

    Returns
    -------
    A : sparse matrix of shape (n_samples, n_samples)
        The graph in CSR format: entry (i, j) belongs to the neighbour j of sample i.

    Notes
    -----
    At most n^2 p operations, with a tree of few features far fewer; memory n k. Exact: neighbours are those of float64
    distances.

    Examples
    --------
    >>> from tenfold import kneighbors_graph
    >>> kneighbors_graph([[0], [3], [1]], 2, include_self=True).toarray()
    array([[1., 0., 1.],
           [0., 1., 1.],
           [1., 0., 1.]])
    """
    settings = {"metric": metric, "p": p, "metric_params": metric_params, "n_jobs": n_jobs}
    constraints = {"n_neighbors": (integer(1),), "mode": (MODE,), "include_self": (boolean(), choice("auto"))}
    check_arguments("kneighbors_graph", constraints, n_neighbors=n_neighbors, mode=mode, include_self=include_self)
    model = _index(X, settings, n_neighbors=n_neighbors)
    return model.kneighbors_graph(_queries(model, include_self, mode), n_neighbors, mode)


def radius_neighbors_graph(
    X: Any,
    radius: float,
    *,
    mode: str = "connectivity",
    metric: Any = "minkowski",
    p: float = 2,
    metric_params: dict[str, Any] | None = None,
    include_self: Any = False,
    n_jobs: int | None = None,
) -> Any:
    """The graph of the neighbours of each sample within a radius.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features) or a fitted NearestNeighbors
        The samples.
    radius : float
        Samples at most this far away are neighbours.
    mode : {"connectivity", "distance"}, default="connectivity"
        Whether entries are ones or distances.
    metric : str, callable or DistanceMetric, default="minkowski"
        Every metric of scikit-learn: euclidean, sqeuclidean, manhattan, chebyshev, minkowski, seuclidean, mahalanobis,
        cosine, correlation, hamming, canberra, braycurtis, jaccard, dice, rogerstanimoto, russellrao, sokalmichener,
        sokalsneath, yule, haversine, nan_euclidean, "precomputed", or a function of two samples. Ours: "ordinal", city
        blocks of the ranks of values.
    p : float, default=2
        Power of Minkowski's metric: 1 is manhattan, 2 is euclidean.
    metric_params : dict, default=None
        w of minkowski, V of seuclidean, V or VI of mahalanobis (else those of the samples of the fit), or arguments of
        a function.
    include_self : bool or "auto", default=False
        Whether a sample is its own nearest neighbour; "auto": with "connectivity".
    n_jobs : int, default=None
        Accepted for compatibility: threads are as many as SciPy's BLAS has.

    Returns
    -------
    A : sparse matrix of shape (n_samples, n_samples)
        The graph in CSR format: entry (i, j) belongs to the neighbour j of sample i.

    Notes
    -----
    At most n^2 p operations, with a tree of few features far fewer; memory for the neighbours. Exact: neighbours are
    those of float64 distances.

    Examples
    --------
    >>> from tenfold import radius_neighbors_graph
    >>> radius_neighbors_graph([[0], [3], [1]], 1.5, include_self=True).toarray()
    array([[1., 0., 1.],
           [0., 1., 0.],
           [1., 0., 1.]])
    """
    settings = {"metric": metric, "p": p, "metric_params": metric_params, "n_jobs": n_jobs}
    constraints = {
        "radius": (real(0, closed="both"),),
        "mode": (MODE,),
        "include_self": (boolean(), choice("auto")),
    }
    check_arguments("radius_neighbors_graph", constraints, radius=radius, mode=mode, include_self=include_self)
    model = _index(X, settings, radius=radius)
    return model.radius_neighbors_graph(_queries(model, include_self, mode), radius, mode)


def _index(X: Any, settings: dict[str, Any], **parameters: Any) -> NearestNeighbors:
    """A fitted model: of samples X, or X itself, whose parameters must be those of the call."""
    if not isinstance(X, NearestNeighbors):
        return NearestNeighbors(**settings, **parameters).fit(X)
    own = X.get_params()
    for name, value in settings.items():
        if name != "n_jobs" and own[name] != value:
            raise ValueError(f"Got {value} for {name}, while the estimator has {own[name]} for the same parameter.")
    return X


def _queries(model: NearestNeighbors, include_self: Any, mode: str) -> Any:
    itself = mode == "connectivity" if include_self == "auto" else include_self
    return model._fit_X if itself else None


class NeighborsTransformer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, UnsupervisedNeighbors):
    """A transformer whose columns are the samples of the fit."""

    n_samples_fit_: int
    transform: Any

    @property
    def _n_features_out(self) -> int:
        return self.n_samples_fit_

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """Fit to X (n, p), and give the graph of its samples; `y` is not used."""
        return self.fit(X).transform(X)


class KNeighborsTransformer(NeighborsTransformer, KNeighborsMixin):
    """Transformation into the sparse graph of the k nearest neighbours among the samples of the fit.

    Entry (i, j) is ``d(x_i, x_j)``, or one, where the sample j of the fit is one of the k nearest of x_i, and zero
    elsewhere.

    Parameters
    ----------
    mode : {"distance", "connectivity"}, default="distance"
        Whether entries are distances or ones. With distances one neighbour more is taken, as a sample of the fit is its
        own nearest.
    n_neighbors : int, default=5
        Number of neighbours k.
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
        w of minkowski, V of seuclidean, V or VI of mahalanobis (else those of the samples of the fit), or arguments of
        a function.
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
        Kind exact: for a sample of the data, all of up to 512, the neighbours that the index finds are those of plain
        float64 distances. `tenfold.certify` also compares the stored samples with those given.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features; only where X had names, all of them strings.

    Notes
    -----
    Its graph of distances is what estimators with metric "precomputed" take.
    Memory: the samples; for a tree or another metric a copy in float64, and half as much while products run. Never n x
    n. A query costs n p operations at most, with a tree of few features far fewer; all answers are exact. Runs on dense
    and sparse arrays. Of data in files, on a cluster or on a device only the source is stored, and every query reads it
    once, block by block; answers are those of memory.

    Examples
    --------
    >>> from tenfold import KNeighborsTransformer
    >>> KNeighborsTransformer(n_neighbors=1).fit_transform([[0.0], [1.0], [3.0]]).toarray()
    array([[0., 1., 0.],
           [1., 0., 0.],
           [0., 2., 0.]])
    """

    _registration: ClassVar = Registration(
        method="k-nearest-neighbour graph",
        texts=("B8", "B22"),
        peer="sklearn.neighbors",
        reads=("one pass",),
        certificate=("exact",),
        judge="neighbours.index",
        choice="neighbours.check_index",
        rules=COMPARED,
        derived=INDEXED,
        transform_uses="samples",
    )
    _constraints: ClassVar[Constraints] = {"mode": (MODE,), **NEAREST, **SEARCH}

    def __init__(
        self,
        *,
        mode: str = "distance",
        n_neighbors: int = 5,
        algorithm: str = "auto",
        leaf_size: int = 30,
        metric: Any = "minkowski",
        p: float = 2,
        metric_params: dict[str, Any] | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.mode = mode
        self.n_neighbors = n_neighbors
        super().__init__(algorithm, leaf_size, p, metric, metric_params, n_jobs)

    def transform(self, X: Any) -> Any:
        """The graph of neighbours of the samples X, CSR (n_queries, n_samples_fit), entries of each sample by
        distance.
        """
        check_is_fitted(self)
        return self.kneighbors_graph(X, self.n_neighbors + (self.mode == "distance"), self.mode)  # type: ignore[operator]


class RadiusNeighborsTransformer(NeighborsTransformer, RadiusNeighborsMixin):
    """Transformation into the sparse graph of the samples of the fit that are within a radius.

    Entry (i, j) is ``d(x_i, x_j)``, or one, where ``d(x_i, x_j) <= radius`` for the sample j of the fit, and zero
    elsewhere.

    Parameters
    ----------
    mode : {"distance", "connectivity"}, default="distance"
        Whether entries of the graph are distances or ones.
    radius : float, default=1.0
        Samples at most this far away are neighbours.
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
        w of minkowski, V of seuclidean, V or VI of mahalanobis (else those of the samples of the fit), or arguments of
        a function.
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
        Kind exact: for a sample of the data, all of up to 512, the neighbours within the radius that the index finds
        are those of plain float64 distances.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features; only where X had names, all of them strings.

    Notes
    -----
    Its graph of distances is what estimators with metric "precomputed" take.
    Memory: the samples; for a tree or another metric a copy in float64, and half as much while products run. Never n x
    n. A query costs n p operations at most, with a tree of few features far fewer; all answers are exact. Runs on dense
    and sparse arrays. Of data in files, on a cluster or on a device only the source is stored, and every query reads it
    once, block by block; answers are those of memory.

    Examples
    --------
    >>> from tenfold import RadiusNeighborsTransformer
    >>> RadiusNeighborsTransformer(radius=1.5).fit_transform([[0.0], [1.0], [3.0]]).toarray()
    array([[0., 1., 0.],
           [1., 0., 0.],
           [0., 0., 0.]])
    """

    _registration: ClassVar = Registration(
        method="Radius-neighbour graph",
        texts=("B8", "B22"),
        peer="sklearn.neighbors",
        reads=("one pass",),
        certificate=("exact",),
        judge="neighbours.index",
        choice="neighbours.check_index",
        rules=COMPARED,
        derived=INDEXED,
        transform_uses="samples",
    )
    _constraints: ClassVar[Constraints] = {"mode": (MODE,), **RADIUS, **SEARCH}

    def __init__(
        self,
        *,
        mode: str = "distance",
        radius: float = 1.0,
        algorithm: str = "auto",
        leaf_size: int = 30,
        metric: Any = "minkowski",
        p: float = 2,
        metric_params: dict[str, Any] | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.mode = mode
        self.radius = radius
        super().__init__(algorithm, leaf_size, p, metric, metric_params, n_jobs)

    def transform(self, X: Any) -> Any:
        """The graph of neighbours of the samples X, CSR (n_queries, n_samples_fit), entries of each sample by
        distance.
        """
        check_is_fitted(self)
        return self.radius_neighbors_graph(X, mode=self.mode, sort_results=True)
