"""Classification and regression by all neighbours within a radius."""

import warnings
from collections.abc import Callable
from functools import partial
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np

from tenfold.arrays import Array, Floats, is_array_api, is_dask, on_host
from tenfold.estimators.class_labels import class_weight_sums
from tenfold.estimators.neighbours.classification import VotingClassifierMixin
from tenfold.estimators.neighbours.neighbors_model import RADIUS, SEARCH, WEIGHTS
from tenfold.estimators.neighbours.queries import RadiusNeighborsMixin
from tenfold.estimators.neighbours.regression import AveragingRegressorMixin
from tenfold.estimators.neighbours.stored import COMPARED, INDEXED, VOTING
from tenfold.estimators.parameters import Constraints, array_like, instance, nothing
from tenfold.estimators.registration import Registration
from tenfold.estimators.validation import restore_on_error
from tenfold.pairwise import Neighbours
from tenfold.plans.neighbours import count_votes


class RadiusNeighborsClassifier(VotingClassifierMixin, RadiusNeighborsMixin):
    """Classification by all neighbours within a radius: the class that most of them have.

    Predicts the class c with the largest sum of votes ``sum_i w_i [d(x, x_i) <= radius] [y_i = c]``, w_i the weight of
    a neighbour.

    Parameters
    ----------
    radius : float, default=1.0
        Samples at most this far away are neighbours.
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
    outlier_label : label, list of labels or "most_frequent", default=None
        The class of queries without a neighbour, one for each output; None refuses such queries. A label that is no
        class leaves all probabilities zero, with a warning.
    metric_params : dict, default=None
        w of minkowski, V of seuclidean, V or VI of mahalanobis (else those of the samples of the fit), or arguments of
        a function.
    n_jobs : int, default=None
        Accepted for compatibility: threads are as many as SciPy's BLAS has.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,) or list of such
        The classes, sorted; a list of them for several outputs.
    outputs_2d_ : bool
        Whether y has several columns.
    effective_metric_ : str or callable
        The metric in use: "minkowski" is "euclidean" with p=2, "manhattan" with p=1, "chebyshev" with p=inf.
    effective_metric_params_ : dict
        Its parameters.
    n_samples_fit_ : int
        Number of samples seen in `fit`.
    outlier_label_ : list or None
        The class of queries without a neighbour, for each output.
    certificate_ : Certificate
        Kind exact: for a sample of the data, all of up to 512, the neighbours within the radius that the index finds
        are those of plain float64 distances.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features; only where X had names, all of them strings.

    Notes
    -----
    A sample's `sample_weight` multiplies its vote, and a sample of weight zero is no neighbour.
    Memory: the samples; for a tree or another metric a copy in float64, and half as much while products run. Never n x
    n. A query costs n p operations at most, with a tree of few features far fewer; all answers are exact. Runs on dense
    and sparse arrays. Of data in files, on a cluster or on a device only the source is stored, and every query reads it
    once, block by block; answers are those of memory.
    Rosasco, 2.3 (the box).

    Examples
    --------
    >>> from tenfold import RadiusNeighborsClassifier
    >>> model = RadiusNeighborsClassifier(radius=1.0).fit([[0], [1], [2], [3]], [0, 0, 1, 1])
    >>> model.predict([[1.5]])
    array([0])
    >>> model.predict_proba([[1.0]])
    array([[0.66666667, 0.33333333]])
    """

    _registration: ClassVar = Registration(
        method="Radius-neighbour classification",
        texts=("R2.3",),
        peer="sklearn.neighbors",
        reads=("one pass",),
        certificate=("exact",),
        judge="neighbours.index",
        choice="neighbours.check_index",
        rules=VOTING,
        derived=INDEXED,
    )
    _constraints: ClassVar[Constraints] = {
        **RADIUS,
        **WEIGHTS,
        **SEARCH,
        "outlier_label": (instance(Integral, str), array_like(), nothing()),
    }

    def __init__(
        self,
        radius: float = 1.0,
        *,
        weights: Any = "uniform",
        algorithm: str = "auto",
        leaf_size: int = 30,
        p: float = 2,
        metric: Any = "minkowski",
        outlier_label: Any = None,
        metric_params: dict[str, Any] | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.radius = radius
        self.weights = weights
        self.outlier_label = outlier_label
        super().__init__(algorithm, leaf_size, p, metric, metric_params, n_jobs)

    @restore_on_error
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Keep the samples X (n, p), their classes y, (n,) or (n, n_outputs), and optional `sample_weight` (n,)."""
        self._keep(X, y, sample_weight)
        self.outlier_label_ = self._labels()
        return self._certify()

    def _labels(self) -> Any:
        """The label of queries without a neighbour, for each output."""
        each, label = self._each_classes(), self.outlier_label
        if label is None:
            return None
        if isinstance(label, str) and label == "most_frequent":
            if is_dask(self._y):
                return [each[0][class_weight_sums(len(each[0]), self._y, self._votes).argmax()]]
            numbers, weight = self._y.reshape(len(self._y), -1), None if self._votes is None else on_host(self._votes)
            return [classes[np.bincount(numbers[:, t], weight).argmax()] for t, classes in enumerate(each)]
        multi_output = not isinstance(label, str) and hasattr(label, "__len__")
        labels = label if multi_output else [label] * len(each)
        if len(labels) != len(each):
            raise ValueError(
                f"The length of outlier_label: {label} is inconsistent with the output length: {len(each)}"
            )
        for classes, one in zip(each, labels, strict=True):
            if not isinstance(one, str) and hasattr(one, "__len__"):
                raise TypeError(f"The outlier_label of classes {classes} is supposed to be a scalar, got {one}.")
            if np.append(classes, one).dtype != classes.dtype:
                raise TypeError(f"The dtype of outlier_label {one} is inconsistent with classes {classes} in y.")
        return labels

    def _vote_counter(self) -> Callable[[Neighbours], list[Floats]]:
        counts = tuple(len(classes) for classes in self._each_classes())
        return partial(_count_or_label, self.weights, counts, self._places(), self.outlier_label_)

    def _labels_without_votes(self) -> Any:
        return self.outlier_label_

    def _places(self) -> list[int | None]:
        """The number of the class of queries without a neighbour, for each output."""
        if self.outlier_label_ is None:
            return [None] * len(self._each_classes())
        places = [
            np.flatnonzero(classes == label)
            for classes, label in zip(self._each_classes(), self.outlier_label_, strict=True)
        ]
        return [int(place[0]) if place.size == 1 else None for place in places]


def _count_or_label(
    weights: Any, counts: tuple[int, ...], places: list[int | None], labels: Any, near: Neighbours
) -> list[Floats]:
    """Votes for the classes of each output; of queries without a neighbour one for the label of outliers."""
    alone = np.diff(near.offsets) == 0
    if alone.any() and labels is None:
        raise ValueError(
            f"No neighbors found for test samples {np.flatnonzero(alone)!r}, you can try using larger radius, "
            "giving a label for outliers, or considering removing them from your dataset."
        )
    votes = count_votes(near, weights, counts)
    if alone.any():
        for part, place, label in zip(votes, places, labels, strict=True):
            if place is not None:
                part[alone, place] = 1.0
            else:
                warnings.warn(
                    f"Outlier label {label} is not in training classes. All class probabilities of outliers will be "
                    "assigned with 0.",
                    stacklevel=6,
                )
    return votes


class RadiusNeighborsRegressor(AveragingRegressorMixin, RadiusNeighborsMixin):
    """Regression by all neighbours within a radius: the mean of their targets.

    Predicts ``f(x) = sum_i w_i [d(x, x_i) <= radius] y_i / sum_i w_i [d(x, x_i) <= radius]``, w_i the weight of a
    neighbour.

    Parameters
    ----------
    radius : float, default=1.0
        Samples at most this far away are neighbours.
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
        Kind exact: for a sample of the data, all of up to 512, the neighbours within the radius that the index finds
        are those of plain float64 distances.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features; only where X had names, all of them strings.

    Notes
    -----
    Where no sample is within the radius the prediction is not a number, with a warning; `ParzenRegressor` has windows
    that never end.
    Memory: the samples; for a tree or another metric a copy in float64, and half as much while products run. Never n x
    n. A query costs n p operations at most, with a tree of few features far fewer; all answers are exact. Runs on dense
    and sparse arrays. Of data in files, on a cluster or on a device only the source is stored, and every query reads it
    once, block by block; answers are those of memory.
    Rosasco, 2.3 (the box).

    Examples
    --------
    >>> from tenfold import RadiusNeighborsRegressor
    >>> RadiusNeighborsRegressor(radius=1.0).fit([[0], [1], [2], [3]], [0, 0, 1, 1]).predict([[1.5]])
    array([0.5])
    """

    _registration: ClassVar = Registration(
        method="Radius-neighbour regression",
        texts=("R2.3",),
        peer="sklearn.neighbors",
        reads=("one pass",),
        certificate=("exact",),
        judge="neighbours.index",
        choice="neighbours.check_index",
        rules=COMPARED,
        derived=INDEXED,
    )
    _constraints: ClassVar[Constraints] = {**RADIUS, **WEIGHTS, **SEARCH}

    def __init__(
        self,
        radius: float = 1.0,
        *,
        weights: Any = "uniform",
        algorithm: str = "auto",
        leaf_size: int = 30,
        p: float = 2,
        metric: Any = "minkowski",
        metric_params: dict[str, Any] | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.radius = radius
        self.weights = weights
        super().__init__(algorithm, leaf_size, p, metric, metric_params, n_jobs)

    def predict(self, X: Any) -> Array:
        """The target of each query, (m,) or (m, n_outputs); without X of the samples of the fit, without themselves."""
        means = super().predict(X)
        if not is_array_api(means) and np.isnan(means).any():
            warnings.warn(
                "One or more samples have no neighbors within specified radius; predicting NaN.", stacklevel=2
            )
        return means
