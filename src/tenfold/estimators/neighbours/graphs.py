"""Graphs of neighbours: as functions of rows, and as transformers."""

from typing import Any, ClassVar

from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from tenfold.estimators.neighbours.asked import NearestAsked, RadiusAsked
from tenfold.estimators.neighbours.nearest import NearestNeighbors
from tenfold.estimators.neighbours.searched import NEAREST, RADIUS, SEARCH, Alone, claims
from tenfold.estimators.parameters import Constraints, boolean, check_arguments, choice, integer, real

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
    """The graph of the nearest rows of each row.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features), or a fitted NearestNeighbors
    n_neighbors : int
    mode : {"connectivity", "distance"}, default="connectivity"
        Ones, or distances.
    metric, p, metric_params, n_jobs : as in NearestNeighbors.
    include_self : bool or "auto", default=False
        Whether a row is its own nearest neighbour; "auto": with "connectivity".

    Returns
    -------
    A : sparse matrix of shape (n_samples, n_samples), CSR

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
    """The graph of the rows within a radius of each row.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features), or a fitted NearestNeighbors
    radius : float
    mode, metric, p, metric_params, include_self, n_jobs : as in kneighbors_graph.

    Returns
    -------
    A : sparse matrix of shape (n_samples, n_samples), CSR

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


def _index(X: Any, settings: dict[str, Any], **asked: Any) -> NearestNeighbors:
    """An index of rows, or one that is given, whose settings must be those of the call."""
    if not isinstance(X, NearestNeighbors):
        return NearestNeighbors(**settings, **asked).fit(X)
    own = X.get_params()
    for name, value in settings.items():
        if name != "n_jobs" and own[name] != value:
            raise ValueError(f"Got {value} for {name}, while the estimator has {own[name]} for the same parameter.")
    return X


def _queries(model: NearestNeighbors, include_self: Any, mode: str) -> Any:
    itself = mode == "connectivity" if include_self == "auto" else include_self
    return model._fit_X if itself else None


class Graphed(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Alone):
    """A transformer whose columns are the rows of the fit."""

    n_samples_fit_: int
    transform: Any

    @property
    def _n_features_out(self) -> int:
        return self.n_samples_fit_

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """The graph of the rows of the fit."""
        return self.fit(X).transform(X)


class KNeighborsTransformer(Graphed, NearestAsked):
    """Rows as a sparse graph of their nearest neighbours among those of the fit.

    Parameters
    ----------
    mode : {"distance", "connectivity"}, default="distance"
        With distances one neighbour more is taken, as a row of the fit is its own nearest.
    n_neighbors : int, default=5
    algorithm, leaf_size, metric, p, metric_params, n_jobs : as in NearestNeighbors.

    Attributes
    ----------
    effective_metric_, effective_metric_params_, n_samples_fit_, certificate_ : as in NearestNeighbors.
    n_features_in_, feature_names_in_ : as in scikit-learn.

    Notes
    -----
    Its graph of distances is what estimators with metric "precomputed" take.

    Examples
    --------
    >>> from tenfold import KNeighborsTransformer
    >>> KNeighborsTransformer(n_neighbors=1).fit_transform([[0.0], [1.0], [3.0]]).toarray()
    array([[0., 1., 0.],
           [1., 0., 0.],
           [0., 2., 0.]])
    """

    _claims: ClassVar = claims("Graph of nearest neighbours", "sklearn.neighbors.KNeighborsTransformer", "B8, B22")
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
        """The graph of neighbours, CSR (n_queries, n_samples_fit), each row by distance."""
        check_is_fitted(self)
        return self.kneighbors_graph(X, self.n_neighbors + (self.mode == "distance"), self.mode)  # type: ignore[operator]


class RadiusNeighborsTransformer(Graphed, RadiusAsked):
    """Rows as a sparse graph of those of the fit that are within a radius.

    Parameters
    ----------
    mode : {"distance", "connectivity"}, default="distance"
    radius : float, default=1.0
    algorithm, leaf_size, metric, p, metric_params, n_jobs : as in NearestNeighbors.

    Attributes
    ----------
    effective_metric_, effective_metric_params_, n_samples_fit_, certificate_ : as in NearestNeighbors.
    n_features_in_, feature_names_in_ : as in scikit-learn.

    Examples
    --------
    >>> from tenfold import RadiusNeighborsTransformer
    >>> RadiusNeighborsTransformer(radius=1.5).fit_transform([[0.0], [1.0], [3.0]]).toarray()
    array([[0., 1., 0.],
           [1., 0., 0.],
           [0., 0., 0.]])
    """

    _claims: ClassVar = claims(
        "Graph of neighbours within a radius", "sklearn.neighbors.RadiusNeighborsTransformer", "B8, B22"
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
        """The graph of neighbours, CSR (n_queries, n_samples_fit), each row by distance."""
        check_is_fitted(self)
        return self.radius_neighbors_graph(X, mode=self.mode, sort_results=True)
