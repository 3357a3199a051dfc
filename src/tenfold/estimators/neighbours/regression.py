"""k-nearest-neighbour regression."""

from functools import partial
from typing import Any, ClassVar

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from tenfold.arrays import Array
from tenfold.estimators.neighbours.neighbors_model import NEAREST, SEARCH, WEIGHTS, SupervisedNeighbors
from tenfold.estimators.neighbours.queries import SupervisedKNeighbors
from tenfold.estimators.neighbours.remote_queries import Formatter
from tenfold.estimators.neighbours.stored import COMPARED, INDEXED
from tenfold.estimators.parameters import Constraints
from tenfold.estimators.predictors import ScoreMixin
from tenfold.estimators.registration import Registration
from tenfold.pairwise import Neighbours
from tenfold.plans.neighbours import average_targets


class AveragingRegressorMixin(ScoreMixin, RegressorMixin, SupervisedNeighbors):
    """Targets of queries by the means of their neighbours."""

    def predict(self, X: Any) -> Array:
        """The target of each query, (m,) or (m, n_outputs); without X of the samples of the fit, without themselves."""
        check_is_fitted(self)
        flat, dtype = self._y.ndim == 1, np.float32 if self._y.dtype == np.float32 else np.float64
        empty = np.zeros((0,) if flat else (0, self._y.shape[1]), dtype=dtype)
        return self._answer(X, self._request(), Formatter(partial(_mean, self.weights, flat, dtype), empty))

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """R^2 of the predictions for X with targets y and optional `sample_weight`; without X for the samples of the
        fit, none of which is its own neighbour.
        """
        return float(super().score(X, y, sample_weight=sample_weight))


def _mean(weights: Any, flat: bool, dtype: Any, near: Neighbours) -> Array:
    means = average_targets(near, weights).astype(dtype, copy=False)
    return means[:, 0] if flat else means


class KNeighborsRegressor(AveragingRegressorMixin, SupervisedKNeighbors):
    """Regression by the k nearest neighbours: the mean of their targets.

    Predicts ``f(x) = sum_{i in N_k(x)} w_i y_i / sum_{i in N_k(x)} w_i`` over the k nearest samples N_k(x), w_i the
    weight of a neighbour.

    Parameters
    ----------
    n_neighbors : int, default=5
        Number of neighbours k.
    weights : {"uniform", "distance"} or callable, default="uniform"
        "uniform": all neighbours count alike. "distance": a neighbour counts one over its distance, and where some
        distance is zero only those samples count. A function makes weights of distances.
    algorithm : {"auto", "ball_tree", "kd_tree", "brute"}, default="auto"
        All give the same answer. A tree of balls is a k-d tree here, and where the metric is not Minkowski's, all pairs
        are compared.
    leaf_size : int, default=30
        Accepted for compatibility: leaves have up to 32 samples.
    p : float, default=2
        Power of Minkowski's metric: 1 is manhattan, 2 is euclidean.
    metric : str, callable or DistanceMetric, default="minkowski"
        Every metric of scikit-learn: euclidean, sqeuclidean, manhattan, chebyshev, minkowski, seuclidean, mahalanobis,
        cosine, correlation, hamming, canberra, braycurtis, jaccard, dice, rogerstanimoto, russellrao, sokalmichener,
        sokalsneath, yule, haversine, nan_euclidean, "precomputed", or a function of two samples. Ours: "ordinal", city
        blocks of the ranks of values.
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
    A sample's `sample_weight` multiplies its weight in the mean, and a sample of weight zero is no neighbour; a sample
    of weight two takes one of the k places, not two. At a point x the squared error of the mean of k neighbours is, for
    noise of variance s^2, ``s^2 + (f(x) - mean of f at the neighbours)^2 + s^2 / k`` (Rosasco, 3.1, where the sign in
    the square is misprinted).
    Memory: the samples; for a tree or another metric a copy in float64, and half as much while products run. Never n x
    n. A query costs n p operations at most, with a tree of few features far fewer; all answers are exact. Runs on dense
    and sparse arrays. Of data in files, on a cluster or on a device only the source is stored, and every query reads it
    once, block by block; answers are those of memory.
    Rosasco, 2.2; Cookbook, ch. 22.

    Examples
    --------
    >>> from tenfold import KNeighborsRegressor
    >>> KNeighborsRegressor(n_neighbors=2).fit([[0], [1], [2], [3]], [0, 0, 1, 1]).predict([[1.5]])
    array([0.5])
    """

    _registration: ClassVar = Registration(
        method="k-nearest-neighbour regression",
        texts=("R2.2", "B22"),
        peer="sklearn.neighbors",
        reads=("one pass",),
        certificate=("exact",),
        judge="neighbours.index",
        choice="neighbours.check_index",
        rules=COMPARED,
        derived=INDEXED,
    )
    _constraints: ClassVar[Constraints] = {**NEAREST, **WEIGHTS, **SEARCH}

    def __init__(
        self,
        n_neighbors: int = 5,
        *,
        weights: Any = "uniform",
        algorithm: str = "auto",
        leaf_size: int = 30,
        p: float = 2,
        metric: Any = "minkowski",
        metric_params: dict[str, Any] | None = None,
        n_jobs: int | None = None,
    ) -> None:
        search: dict[str, Any] = {"p": p, "metric": metric, "metric_params": metric_params, "n_jobs": n_jobs}
        super().__init__(n_neighbors, weights=weights, algorithm=algorithm, leaf_size=leaf_size, **search)
