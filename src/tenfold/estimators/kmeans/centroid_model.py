"""The base of the k-means estimators: initial centres, predictions, distances."""

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from tenfold.arrays import Array, Floats, contiguous, is_array_api, is_dask, namespace, numpy_dtype, on_host, wide
from tenfold.data import MemoryRows, Rows
from tenfold.estimators.parameters import (
    Constraints,
    array_like,
    check_parameters,
    choice,
    function,
    instance,
    integer,
    random_state,
    real,
)
from tenfold.estimators.predictors import Predictor
from tenfold.estimators.validation import as_rows_without_target, validate_rows, validate_weights
from tenfold.pairwise.centres import compute_squared_distances, find_nearest
from tenfold.plans import kmeans as plan
from tenfold.solvers.lloyd import Centres
from tenfold.solvers.loop import Callback, Record

# reported by scikit-learn's classes alone
PEER_REPORT_ONLY = {
    "n_iter_": "how many iterations the solver took",
    "n_steps_": "how many batches the solver has seen",
}

BASIC: Constraints = {
    "n_clusters": (integer(1),),
    "init": (choice("k-means++", "random"), function(), array_like()),
    "n_init": (choice("auto"), integer(1)),
    "max_iter": (integer(1),),
    "tol": (real(0),),
    "verbose": (integer(0), instance(bool, np.bool_)),
    "random_state": (random_state(),),
}


class CentroidModel(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, Predictor, BaseEstimator):
    """A model with `cluster_centers_` (k, p); the cluster of a sample is that of the nearest centre."""

    cluster_centers_: Array
    labels_: Array
    inertia_: float | None
    n_clusters: int
    _random_starts: ClassVar[int] = 10  # runs from random starts where n_init is "auto"

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        raise NotImplementedError

    def _centres(self) -> Floats:
        check_is_fitted(self)
        return wide(self.cluster_centers_)

    def _prediction_function(self, small: bool) -> Callable[[Array], Array]:
        return partial(_numbers, self._centres())

    def predict(self, X: Any) -> Array:
        """The index of the nearest centre of each sample of X, (n,)."""
        return self._predict_raw(X)

    def transform(self, X: Any) -> Array:
        """Distances of the samples X from all centres, (n, n_clusters)."""
        return self._predict_raw(X, self._distances_of_rows)

    def _distances_of_rows(self, small: bool) -> Callable[[Array], Array]:
        return partial(_distances, self._centres())

    def _squares_of_rows(self, small: bool) -> Callable[[Array], Array]:
        return partial(_squares, self._centres())

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Minus the energy of X (n, p): the sum, by `sample_weight`, of the squared distances of the samples from their
        nearest centres; `y` is not used.
        """
        squares = self._predict_raw(X, self._squares_of_rows)
        weight = validate_weights(sample_weight, X)
        squares = squares if weight is None else squares * weight
        return -float(on_host(squares.sum() if is_dask(squares) else namespace(squares).sum(squares)))

    def fit_predict(self, X: Any, y: Any = None, sample_weight: Any = None) -> Array:
        """Fit to X (n, p) and optional `sample_weight` (n,), and give the cluster of each sample, (n,); `y` is not
        used.
        """
        return self.fit(X, y, sample_weight=sample_weight).labels_

    def fit_transform(self, X: Any, y: Any = None, sample_weight: Any = None) -> Array:
        """Fit to X (n, p) and optional `sample_weight` (n,), and transform the same samples; `y` is not used."""
        return self.fit(X, y, sample_weight=sample_weight).transform(X)

    @property
    def _n_features_out(self) -> int:
        return int(self.cluster_centers_.shape[0])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _numbers(centres: Floats, X: Array) -> Array:
    return find_nearest(X, centres)[0]


def _squares(centres: Floats, X: Array) -> Array:
    return find_nearest(X, centres)[1]


def _distances(centres: Floats, X: Array) -> Array:
    squares = compute_squared_distances(X, centres)
    xp = namespace(squares)
    return xp.astype(xp.sqrt(squares), X.dtype, copy=False)


def require_rows(X: Array, k: int, weight: Array | None = None) -> None:
    """Raise where there are fewer samples than clusters."""
    if X.shape[0] < k:
        raise ValueError(f"n_samples={X.shape[0]} should be >= n_clusters={k}.")
    if weight is not None and not is_array_api(weight) and (inside := int(np.sum(weight > 0.0))) < k:
        raise ValueError(f"{k} clusters need as many rows of positive weight, and there are {inside}.")


def rows_of_fit(model: Any, X: Any, sample_weight: Any) -> tuple[Array, Any]:
    """Validate the parameters, samples and weights of a fit; samples and weights."""
    check_parameters(model, model._constraints)
    X = validate_rows(model, X)
    weight = validate_weights(sample_weight, X)
    require_rows(X, model.n_clusters, weight)
    return X, weight


def to_rows(X: Array, weight: Array | None) -> Rows:
    """Samples for many passes: an array in another order is copied to C order once."""
    return as_rows_without_target(contiguous(X), weight)


def seeds_of(model: Any, X: Array, k: int) -> plan.Seeds:
    """The initial centres that `init` asks for."""
    if isinstance(model.init, str):
        return plan.plus_plus(k) if model.init == "k-means++" else plan.at_random(k)
    if callable(model.init):
        return partial(_call_init, model.init, k, X.shape[1])
    init = on_host(model.init) if is_array_api(model.init) else model.init
    centres = check_array(init, dtype=numpy_dtype(X.dtype), copy=True, order="C", input_name="init")
    _require_shape(centres, k, X.shape[1])
    return plan.use_centres(np.asarray(centres, dtype=np.float64))


def _call_init(init: Callable[..., Any], k: int, p: int, rows: MemoryRows, random: Any) -> Floats:
    centres = check_array(init(rows.X, k, random_state=random), dtype=np.float64, order="C", input_name="init")
    _require_shape(centres, k, p)
    return np.asarray(centres)


def _require_shape(centres: Any, k: int, p: int) -> None:
    if centres.shape[0] != k:
        raise ValueError(f"The shape of the initial centers {centres.shape} does not match the number of clusters {k}.")
    if centres.shape[1] != p:
        raise ValueError(
            f"The shape of the initial centers {centres.shape} does not match the number of features of the data {p}."
        )


def starts_of(model: Any) -> int:
    """The number of runs: one from given centres or k-means++, several from random ones."""
    listed = not (isinstance(model.init, str) or callable(model.init))
    if model.n_init == "auto":
        return 1 if listed or model.init == "k-means++" else model._random_starts
    if listed and model.n_init != 1:
        warnings.warn(
            f"Explicit initial center position passed: performing only one init in {type(model).__name__} instead of "
            f"n_init={model.n_init}.",
            RuntimeWarning,
            stacklevel=4,
        )
        return 1
    return int(model.n_init)


def warn_of_fewer(model: Any, labels: Array | None) -> None:
    """scikit-learn's warning where some centres have no samples."""
    result = model.n_clusters if labels is None else len(np.unique(on_host(labels)))
    if result < model.n_clusters:
        warnings.warn(
            f"Number of distinct clusters ({result}) found smaller than n_clusters ({model.n_clusters}). Possibly due "
            "to duplicate points in X.",
            ConvergenceWarning,
            stacklevel=4,
        )


def print_steps(most: int, start: Floats, tolerance: float) -> Callback:
    """A callback that prints the energy of each of up to `most` steps, and why a run ended."""
    steps, before = iter(range(most)), [start]

    def callback(record: Record, centres: Centres) -> bool:
        step, shift = next(steps), float(np.sum((centres.places - before[0]) ** 2))
        print(f"Iteration {step}, inertia {record.objective}.")
        if record.measure == 0.0:
            print(f"Converged at iteration {step}: strict convergence.")
        elif record.measure <= 1.0:
            print(f"Converged at iteration {step}: center shift {shift} within tolerance {tolerance}.")
        before[0] = centres.places
        return False

    return callback
