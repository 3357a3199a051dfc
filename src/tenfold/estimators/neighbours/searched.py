"""Rows that are kept and searched: what all estimators of neighbours share."""

import warnings
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, MultiOutputMixin, is_classifier
from sklearn.exceptions import DataConversionWarning, EfficiencyWarning
from sklearn.utils import check_array, get_tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from tenfold.arrays import FLOATS, Array, Integers, is_sparse
from tenfold.distances import SETS, VALID, VALID_SPARSE, distance_of
from tenfold.estimators.contract import Claims, all_or_nothing, canonical, validate_weights
from tenfold.estimators.neighbours.objects import is_metric, named
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
from tenfold.judge import Certificate
from tenfold.judge import neighbours as judge
from tenfold.plans.neighbours import Index, built

METRICS = tuple(sorted({name for names in VALID.values() for name in names}))
MISSING = (
    " metric='nan_euclidean' compares rows by the entries that both have; MixedNB takes missing values in classes."
)


def an_integer() -> Check:
    return lambda value: isinstance(value, Integral) and not isinstance(value, bool), "an int"


def an_object() -> Check:
    return is_metric, "a DistanceMetric"


def claims(method: str, peer: str, sources: str = "S2.1, R2, W5, B22") -> Claims:
    """What a class that keeps its rows claims."""
    return Claims(
        method,
        "in memory",
        "exact",
        sources,
        peer,
        ("arrays", "sparse"),
        "Neighbours need the rows in memory: load them (numpy.asarray, X.compute()), or a sample, or centres "
        "of clusters.",
    )


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


class Searched(MultiOutputMixin, BaseEstimator):
    """Keeps rows in an index, by scikit-learn's parameters of a search."""

    _claims: ClassVar[Claims]
    _constraints: ClassVar[Constraints] = {}
    _votes: Array | None
    _index: Index

    n_neighbors: int | None = None
    radius: float | None = None
    algorithm: str
    leaf_size: int
    metric: Any
    p: float | None
    metric_params: dict[str, Any] | None
    n_jobs: int | None

    def _keep(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        check_parameters(self, self._constraints)
        self._claims.refuse(type(self).__name__, X)
        shared = is_index(X)
        X, y = self._taken(X, y)
        self._name_metric(X.shape[1])
        weight = validate_weights(sample_weight, X)
        if self.metric == "precomputed":
            X = check_table(X)
            if X.shape[0] != X.shape[1]:
                raise ValueError(f"Precomputed matrix must be square. Input is a {X.shape[0]}x{X.shape[1]} matrix.")
        if shared:
            self.n_features_in_ = X.shape[1]
        if y is not None:
            self._keep_targets(y)
        self._check_search(X)
        self._fit_X = X.copy() if is_sparse(X) else X
        self.n_samples_fit_ = X.shape[0]
        self._votes = weight
        self._kept = np.flatnonzero(weight) if weight is not None and not weight.all() else None
        self._index = self._indexed()
        self.certificate_ = self._judged()
        return self

    def _indexed(self) -> Index:
        """The index of the rows that are kept and count."""
        X, kept = self._fit_X, self._kept
        rows = X if kept is None else X[kept] if self.metric != "precomputed" else X[:, kept]
        distance = distance_of(self.effective_metric_, self.effective_metric_params_, X)
        return built(distance, rows, self.algorithm)

    def _taken(self, X: Any, y: Any) -> tuple[Array, Any]:
        """Rows and targets as scikit-learn checks them; another index gives its own rows."""
        if is_index(X):
            return X._fit_X if isinstance(X, Searched) else np.array(X.data), y
        with_y = get_tags(self).target_tags.required
        settings: dict[str, Any] = {
            "accept_sparse": "csr",
            "dtype": list(FLOATS),
            "order": "C",
            "ensure_all_finite": self._finite(),
        }
        try:
            if not with_y:
                return self._canonical(validate_data(self, X, **self._formats(settings))), None
            X, y = validate_data(self, X, y, multi_output=True, **self._formats(settings))
        except ValueError as reason:
            raise with_advice(reason) from None
        return self._canonical(X), y

    def _canonical(self, X: Array) -> Array:
        """Sparse rows without repeated entries; a graph of distances is taken as it is stored."""
        return X if self.metric == "precomputed" else canonical(X)

    def _formats(self, settings: dict[str, Any]) -> dict[str, Any]:
        if self.metric == "precomputed":  # whose zeros that are stored are distances
            settings["accept_sparse"] = ("csr", "csc", "coo", "lil")
        return settings

    def _finite(self) -> Any:
        return "allow-nan" if self.metric == "nan_euclidean" else True

    def _keep_targets(self, y: Array) -> None:
        if not is_classifier(self):
            self._y = y
            return
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
        found = [np.unique(y[:, t], return_inverse=True) for t in range(y.shape[1])]
        self.classes_ = [classes for classes, _ in found] if self.outputs_2d_ else found[0][0]
        self._y = np.column_stack([number for _, number in found]).astype(np.intp)
        if not self.outputs_2d_:
            self._y = self._y[:, 0]

    def _name_metric(self, columns: int) -> None:
        """`effective_metric_` and its parameters, as scikit-learn names them; an object is one of the names."""
        algorithm, metric, params = self.algorithm, self.metric, dict(self.metric_params or {})
        if is_metric(metric):
            metric, own = named(metric, columns)
            params |= own
        if algorithm == "auto":
            known = callable(metric) or metric in VALID["ball_tree"]
            algorithm = "ball_tree" if known and metric != "precomputed" else "brute"
        if callable(metric):
            if algorithm == "kd_tree":
                raise ValueError(
                    f"kd_tree does not support callable metric '{metric}'. Function call overhead will result "
                    "in very poor performance."
                )
        elif metric not in VALID[algorithm]:
            raise ValueError(
                f"Metric '{metric}' not valid. Use sorted(sklearn.neighbors.VALID_METRICS['{algorithm}']) to get "
                "valid options. Metric can also be a callable function."
            )
        if "p" in (self.metric_params or {}) and self.p is not None:
            warnings.warn(
                "Parameter p is found in metric_params. The corresponding parameter from __init__ is ignored.",
                SyntaxWarning,
                stacklevel=5,
            )
        self.effective_metric_ = metric
        if metric == "minkowski":
            p, w = params.pop("p", self.p), params.pop("w", None)
            plain = {1: "manhattan", 2: "euclidean", np.inf: "chebyshev"}
            if w is None and p in plain:
                self.effective_metric_ = plain[p]
            else:
                params |= {"p": p, "w": w}
        self.effective_metric_params_ = params

    def _check_search(self, X: Array) -> None:
        """Refuse or warn where scikit-learn does: sparse rows, powers below one, weights in a k-d tree."""
        metric, params = self.effective_metric_, self.effective_metric_params_
        if is_sparse(X):
            if self.algorithm not in ("auto", "brute"):
                warnings.warn("cannot use tree with sparse input: using brute force", stacklevel=5)
            if not callable(metric) and metric not in VALID_SPARSE:
                raise ValueError(
                    f"Metric '{metric}' not valid for sparse input. Use "
                    "sorted(sklearn.neighbors.VALID_METRICS_SPARSE['brute']) to get valid options. Metric can also be "
                    "a callable function."
                )
        if metric == "minkowski":
            if params["p"] < 1 and self.algorithm in ("kd_tree", "ball_tree"):
                raise ValueError(
                    f'algorithm="{self.algorithm}" does not support 0 < p < 1 for the Minkowski metric. To resolve '
                    'this problem either set p >= 1 or algorithm="brute".'
                )
            if params["p"] < 1:
                warnings.warn(
                    "Mind that for 0 < p < 1, Minkowski metrics are not distance metrics. Continuing the execution "
                    "with `algorithm='brute'`.",
                    stacklevel=5,
                )
            if params["w"] is not None and self.algorithm == "kd_tree":
                raise ValueError(
                    "algorithm='kd_tree' is not valid for metric='minkowski' with a weight parameter 'w': try "
                    "algorithm='ball_tree' or algorithm='brute' instead."
                )
        warn_of_sets(metric, X)

    def _queries(self, X: Any) -> tuple[Array, Integers | None]:
        """Queries, and the row that each is itself where the rows that are kept are asked."""
        check_is_fitted(self)
        if X is None:
            own = np.arange(self.n_samples_fit_)
            if self._kept is None:
                return self._fit_X, own
            place = np.full(self.n_samples_fit_, -1)
            place[self._kept] = np.arange(len(self._kept))
            return (self._fit_X[:, self._kept] if self.metric == "precomputed" else self._fit_X), place
        if self.metric == "precomputed":
            X = check_table(X)
            if X.shape[1] != self.n_samples_fit_:
                raise ValueError(
                    f"X has {X.shape[1]} features, but {type(self).__name__} is expecting {self.n_samples_fit_} "
                    "features as input: the distances to all rows of the fit."
                )
            return (X if self._kept is None else X[:, self._kept]), None
        try:
            X = validate_data(
                self,
                X,
                accept_sparse="csr",
                dtype=list(FLOATS),
                order="C",
                ensure_all_finite=self._finite(),
                reset=False,
            )
        except ValueError as reason:
            raise with_advice(reason) from None
        warn_of_sets(self.effective_metric_, X)
        return canonical(X), None

    def _numbered(self, rows: Integers) -> Integers:
        """Numbers of rows of the fit from those of the index."""
        return rows if self._kept is None else self._kept[rows]

    def _judged(self) -> Certificate:
        """What is proved of the index."""
        rows = self._fit_X if self._kept is None else self._fit_X[self._kept]
        if self.metric == "precomputed":
            return judge.neighbours({}, rows, **self._question(), asked=np.zeros(0, dtype=np.intp), found=lambda _: [])
        asked = judge.sample(rows.shape[0], rows.shape[1])
        return judge.neighbours({}, rows, **self._question(), asked=asked, found=lambda some: self._found(rows, some))

    def _question(self) -> dict[str, Any]:
        k = None if self.n_neighbors is None else min(int(self.n_neighbors), self._index.count - 1)
        radius = None if self.n_neighbors is not None else self.radius
        return {"metric": self.effective_metric_, "params": self.effective_metric_params_, "k": k, "radius": radius}

    def _found(self, rows: Array, asked: Integers) -> list[judge.Answer]:
        """Neighbours of some rows of the index, as later queries find them."""
        question = self._question()
        if question["k"] is not None:
            return list(zip(*self._index.nearest(rows[asked], question["k"], asked), strict=True))
        near = self._index.within(rows[asked], question["radius"], asked)
        cuts = near.offsets[1:-1]
        return list(zip(np.split(near.distances, cuts), np.split(near.rows, cuts), strict=True))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = tags.input_tags.positive_only = self.metric == "precomputed"
        tags.input_tags.allow_nan = self.metric == "nan_euclidean"
        return tags


def is_index(X: Any) -> bool:
    """Whether X is an index in place of rows: of ours, or a tree of scikit-learn's, which is known by its name, for to
    import it takes longer than many fits.
    """
    return isinstance(X, Searched) or type(X).__name__ in ("BallTree", "BallTree64", "KDTree", "KDTree64")


class Alone(Searched):
    """Keeps rows without targets."""

    @all_or_nothing
    def fit(self, X: Any, y: Any = None) -> Self:
        """Keep the rows X, (n, p), or distances (n, n) with metric "precomputed"."""
        return self._keep(X)


class Told(Searched):
    """Keeps rows with their targets, which say something of queries."""

    weights: Any

    @all_or_nothing
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Keep the rows X, (n, p), and their targets y, (n,) or (n, n_outputs)."""
        return self._keep(X, y, sample_weight)


def with_advice(reason: ValueError) -> ValueError:
    """The error of a missing value, with what takes it."""
    text = str(reason)
    return type(reason)(text + MISSING if "contains NaN" in text else text)


def warn_of_sets(metric: Any, X: Array) -> None:
    """Distances of sets look at zero or not: say so where values are lost."""
    if isinstance(metric, str) and metric in SETS and not np.isin(X, (0.0, 1.0)).all():
        warnings.warn(f"Data was converted to boolean for metric {metric}", DataConversionWarning, stacklevel=5)


def check_table(X: Any) -> Array:
    """Distances that are given: not negative; a sparse graph with the entries of each row by distance."""
    if not is_sparse(X):
        return check_array(X, ensure_non_negative=True, input_name="X", dtype=list(FLOATS))
    if X.format not in ("csr", "csc", "coo", "lil"):
        raise TypeError(f"Sparse matrix in {X.format!r} format is not supported due to its handling of explicit zeros")
    graph = check_array(
        X, accept_sparse="csr", ensure_non_negative=True, input_name="precomputed distance matrix", dtype=list(FLOATS)
    )
    row = np.repeat(np.arange(graph.shape[0]), np.diff(graph.indptr))
    if np.all((np.diff(graph.data) >= 0) | (np.diff(row) > 0)):
        return graph
    warnings.warn(
        "Precomputed sparse input was not sorted by row values. Use the function "
        "sklearn.neighbors.sort_graph_by_row_values to sort the input by row values, with warn_when_not_sorted=False "
        "to remove this warning.",
        EfficiencyWarning,
        stacklevel=6,
    )
    order = np.lexsort((graph.data, row))
    return type(graph)((graph.data[order], graph.indices[order], graph.indptr), shape=graph.shape)
