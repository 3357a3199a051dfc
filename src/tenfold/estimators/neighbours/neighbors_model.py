"""Stored samples that are searched: the base of all estimators of neighbours."""

import warnings
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, MultiOutputMixin, is_classifier
from sklearn.exceptions import DataConversionWarning
from sklearn.utils import get_tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from tenfold.arrays import FLOATS, Array, Integers, is_dask, is_sparse, like, on_host
from tenfold.data import Rows
from tenfold.distances import VALID, distance_of
from tenfold.estimators.class_labels import encode_labels
from tenfold.estimators.error_hints import add_hint
from tenfold.estimators.neighbours.distance_metric_objects import is_metric
from tenfold.estimators.neighbours.metrics import check_search, check_table, name_metric, warn_of_sets
from tenfold.estimators.neighbours.remote_queries import (
    REMOTE,
    Formatter,
    answer_queries,
    check_distance,
    indicate_positive,
)
from tenfold.estimators.parameters import (
    Check,
    Constraints,
    check_parameters,
    choice,
    function,
    instance,
    integer,
    nothing,
    real,
)
from tenfold.estimators.predictors import Predictor
from tenfold.estimators.registration import Registration, source_of
from tenfold.estimators.validation import (
    as_rows,
    as_rows_without_target,
    is_checked_target,
    is_ready,
    require_finite,
    restore_on_error,
    sum_duplicates,
    total_weight,
    validate,
    validate_rows,
    validate_weights,
    without_names,
)
from tenfold.pairwise import (
    NearestRequest,
    NeighbourRequest,
    Neighbours,
    NeighbourSamples,
    Request,
    RowsSamples,
    search_rows,
    store_samples,
)
from tenfold.plans.neighbours import certify_neighbours

METRICS = tuple(sorted({name for names in VALID.values() for name in names}))


def an_integer() -> Check:
    return lambda value: isinstance(value, Integral) and not isinstance(value, bool), "an int"


def an_object() -> Check:
    return is_metric, "a DistanceMetric"


SEARCH: Constraints = {
    "algorithm": (choice("auto", "ball_tree", "kd_tree", "brute"),),
    "leaf_size": (integer(1),),
    "p": (real(0, np.inf, "right"), nothing()),
    "metric": (choice(*METRICS), function(), an_object()),
    "metric_params": (instance(dict), nothing()),
    "n_jobs": (an_integer(), nothing()),
}
NEAREST: Constraints = {"n_neighbors": (integer(1), nothing())}
RADIUS: Constraints = {"radius": (real(0, np.inf, "both"), nothing())}
WEIGHTS: Constraints = {"weights": (choice("uniform", "distance"), function(), nothing())}


class NeighborsBase(MultiOutputMixin, Predictor, BaseEstimator):
    """Stores samples for searches, by scikit-learn's parameters."""

    _registration: ClassVar[Registration]
    _constraints: ClassVar[Constraints] = {}
    _with_missing: ClassVar = "metric='nan_euclidean' compares rows by the entries that both have."
    _fit_X: Any
    _votes: Array | None
    _index: NeighbourSamples | RowsSamples
    _y: Array
    n_features_in_: int

    n_neighbors: int | None = None
    radius: float | None = None
    algorithm: str
    leaf_size: int
    metric: Any
    p: float | None
    metric_params: dict[str, Any] | None
    n_jobs: int | None

    def __init__(
        self,
        algorithm: str,
        leaf_size: int,
        p: float,
        metric: Any,
        metric_params: dict[str, Any] | None,
        n_jobs: int | None,
    ) -> None:
        self.algorithm = algorithm
        self.leaf_size = leaf_size
        self.p = p
        self.metric = metric
        self.metric_params = metric_params
        self.n_jobs = n_jobs

    def _request(self) -> Request:
        """The request of a prediction."""
        raise NotImplementedError

    @property
    def _allow_nan(self) -> bool:  # type: ignore[override]
        return isinstance(self.metric, str) and self.metric == "nan_euclidean"

    def _keep(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        check_parameters(self, self._constraints)
        shared = is_index(X)
        X = X._fit_X if isinstance(X, NeighborsBase) else np.array(X.data) if shared else X
        self._registration.check_source(type(self).__name__, X)
        there = source_of(X) in REMOTE
        X, y = self._validate_rows(X, y) if there else (X, y) if shared else self._validate_targets(X, y)
        name_metric(self, X.shape[1])
        weight = validate_weights(sample_weight, X)
        if self.metric == "precomputed":
            X = check_table(X)
            if X.shape[0] != X.shape[1]:
                raise ValueError(f"Precomputed matrix must be square. Input is a {X.shape[0]}x{X.shape[1]} matrix.")
        if shared:
            self.n_features_in_ = X.shape[1]
        if y is not None:
            self._keep_targets(y, X)
        if not there:
            check_search(self, X)
        self._fit_X = X.copy() if is_sparse(X) else X
        self.n_samples_fit_ = X.shape[0]
        self._votes = weight
        self._kept = None if there or weight is None or weight.all() else np.flatnonzero(weight)
        self._index = self._build_index()
        return self

    def _validate_rows(self, X: Any, y: Any) -> tuple[Array, Any]:
        """Samples that stay where they are, and their targets."""
        if self.metric in ("precomputed", "ordinal"):
            raise ValueError(
                f"metric={self.metric!r} needs all rows in memory: load them (numpy.asarray, X.compute()), or choose "
                "another metric."
            )
        if not get_tags(self).target_tags.required:
            return validate_rows(self, X), None
        return validate(self, X, y, numeric=not is_classifier(self), multi_output=True)

    def _build_index(self) -> NeighbourSamples | RowsSamples:
        """The stored samples of positive weight, in the form in which they are searched."""
        X, kept, weight = self._fit_X, self._kept, self._votes
        metric, params = self.effective_metric_, self.effective_metric_params_
        if source_of(X) in REMOTE:
            some = None if weight is None else indicate_positive(weight)
            distance = distance_of(metric, params, as_rows_without_target(X, some))
            check_distance(metric, distance, X)
            count = X.shape[0] if some is None else int(total_weight(X, some))
            return search_rows(distance, self._to_rows(), count, self.algorithm)
        rows = X if kept is None else X[kept] if self.metric != "precomputed" else X[:, kept]
        y = getattr(self, "_y", None)
        targets = None if y is None else y.reshape(len(y), -1)
        return NeighbourSamples(
            store_samples(distance_of(metric, params, rows), rows, self.algorithm), kept, targets, weight
        )

    def _to_rows(self) -> Rows:
        """The samples as Rows, with their targets and weights."""
        y = getattr(self, "_y", None)
        return as_rows_without_target(self._fit_X, self._votes) if y is None else as_rows(self._fit_X, y, self._votes)

    def _validate_targets(self, X: Any, y: Any) -> tuple[Array, Any]:
        """Samples and targets as scikit-learn checks them."""
        required = get_tags(self).target_tags.required
        if self.metric != "precomputed" and is_ready(X):
            if not required:
                return without_names(self, X), None
            if is_checked_target(y, X):
                return without_names(self, X), y
        settings = self._checks()
        if self.metric == "precomputed":  # whose zeros that are stored are distances
            settings["accept_sparse"] = ("csr", "csc", "coo", "lil")
        if not required:
            return self._canonical(validate_data(self, X, **settings)), None
        X, y = validate_data(self, X, y, multi_output=True, **settings)
        return self._canonical(X), y

    def _canonical(self, X: Array) -> Array:
        """Sparse samples without repeated entries; a graph of distances is taken as it is stored."""
        return X if self.metric == "precomputed" else sum_duplicates(X)

    def _checks(self) -> dict[str, Any]:
        finite = "allow-nan" if self.metric == "nan_euclidean" else True
        return {"accept_sparse": "csr", "dtype": list(FLOATS), "order": "C", "ensure_all_finite": finite}

    def _keep_targets(self, y: Array, X: Array) -> None:
        if not is_classifier(self):
            self._y = y if is_dask(y) else on_host(y)
            return
        if is_dask(y):
            if y.ndim == 2:
                raise ValueError("Several outputs are not read from Dask: fit a model for each column of y.")
            self.outputs_2d_ = False
            self.classes_, self._y = encode_labels(y, X)
            return
        y = on_host(y)
        if y.ndim == 2 and y.shape[1] == 1:
            warnings.warn(
                "A column-vector y was passed when a 1d array was expected. Please change the shape of y to "
                "(n_samples,), for example using ravel().",
                DataConversionWarning,
                stacklevel=5,
            )
        self.outputs_2d_ = y.ndim == 2 and y.shape[1] != 1
        check_classification_targets(y)
        y = y.reshape(len(y), -1)
        encoded_columns = [np.unique(y[:, t], return_inverse=True) for t in range(y.shape[1])]
        each = [like(classes, X) if classes.dtype.kind in "biuf" else classes for classes, _ in encoded_columns]
        self.classes_ = each if self.outputs_2d_ else each[0]
        self._y = np.column_stack([number for _, number in encoded_columns]).astype(np.intp)
        if not self.outputs_2d_:
            self._y = self._y[:, 0]

    def _validate_queries(self, X: Any) -> tuple[Array, Integers | None]:
        """Queries in memory, and the sample that each is itself where these are the samples of the fit."""
        if X is None:
            kept = self._kept if self.metric == "precomputed" else None
            return (self._fit_X if kept is None else self._fit_X[:, kept]), np.arange(self.n_samples_fit_)
        if self.metric == "precomputed":
            X = check_table(X)
            if X.shape[1] != self.n_samples_fit_:
                raise ValueError(
                    f"X has {X.shape[1]} features, but {type(self).__name__} is expecting {self.n_samples_fit_} "
                    "features as input: the distances to all rows of the fit."
                )
            return (X if self._kept is None else X[:, self._kept]), None
        if not (is_ready(X) and X.shape[1] == self.n_features_in_ and not hasattr(self, "feature_names_in_")):
            with add_hint(self):
                X = validate_data(self, X, reset=False, **self._checks())
        warn_of_sets(self.effective_metric_, X)
        return sum_duplicates(X), None

    def _answer(self, X: Any, request: Request, formatter: Formatter) -> Array:
        """The output for each query, wherever the queries are."""
        check_is_fitted(self)
        return answer_queries(self, X, request, formatter)

    def _search(self, X: Any, request: NeighbourRequest) -> Neighbours:
        """Neighbours of queries in memory, or without X of the samples of the fit."""
        check_is_fitted(self)
        queries, own = self._validate_queries(X)
        self._check_enough(request, own is not None, queries.shape[0])
        return self._index.query(request, queries, own)

    def _check_enough(self, request: Request, itself: bool, queries: int) -> None:
        """Raise where there are fewer samples than neighbours."""
        count = self._index.count
        if isinstance(request, NearestRequest) and request.k > count - itself:
            sign = "<" if itself else "<="
            left = "" if count == self.n_samples_fit_ else f" of which {count} have positive weight,"
            raise ValueError(
                f"Expected n_neighbors {sign} n_samples_fit, but n_neighbors = {request.k}, n_samples_fit = "
                f"{self.n_samples_fit_},{left} n_samples = {queries}"
            )

    def _certify(self) -> Self:
        rows = as_rows_without_target(self._fit_X, self._votes)
        self.certificate_ = require_finite(
            self, self._fit_X, lambda: certify_neighbours(self._index, rows, self._votes, **self._search_settings())
        )
        return self

    def _search_settings(self) -> dict[str, Any]:
        k = None if self.n_neighbors is None else min(int(self.n_neighbors), self._index.count - 1)
        radius = None if self.n_neighbors is not None else self.radius
        return {"metric": self.effective_metric_, "params": self.effective_metric_params_, "k": k, "radius": radius}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = tags.input_tags.positive_only = self.metric == "precomputed"
        tags.input_tags.allow_nan = self.metric == "nan_euclidean"
        return tags


def is_index(X: Any) -> bool:
    """Whether X is a model of ours in place of samples, or a tree of scikit-learn's, recognised by its name: its
    import takes longer than many fits.
    """
    return isinstance(X, NeighborsBase) or type(X).__name__ in ("BallTree", "BallTree64", "KDTree", "KDTree64")


class UnsupervisedNeighbors(NeighborsBase):
    """Stores samples without targets."""

    @restore_on_error
    def fit(self, X: Any, y: Any = None) -> Self:
        """Keep the samples X (n, p), or distances (n, n) with metric "precomputed"; `y` is not used."""
        return self._keep(X)._certify()


class SupervisedNeighbors(NeighborsBase):
    """Stores samples with their targets, which predict those of queries."""

    weights: Any

    @restore_on_error
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Keep the samples X (n, p), their targets y, (n,) or (n, n_outputs), and optional `sample_weight` (n,); a
        table may bring its own.
        """
        return self._keep(X, y, sample_weight)._certify()
