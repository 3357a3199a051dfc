"""Classes and numbers by all neighbours within a radius."""

import warnings
from collections.abc import Callable
from functools import partial
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np

from tenfold.arrays import Array, Floats, is_dask, is_foreign, on_host
from tenfold.estimators.classes import weights_by_class
from tenfold.estimators.contract import all_or_nothing
from tenfold.estimators.neighbours.asked import RadiusAsked
from tenfold.estimators.neighbours.classes import Voted
from tenfold.estimators.neighbours.numbers import Averaged
from tenfold.estimators.neighbours.searched import RADIUS, SEARCH, WEIGHTS, claims
from tenfold.estimators.parameters import Constraints, array_like, instance, nothing
from tenfold.plans.neighbours import Near, votes


class RadiusNeighborsClassifier(Voted, RadiusAsked):
    """The class that most rows within a radius have.

    Parameters
    ----------
    radius : float, default=1.0
    weights, algorithm, leaf_size, p, metric, metric_params, n_jobs : as in KNeighborsClassifier.
    outlier_label : label, list of labels or "most_frequent", default=None
        The class of queries without a neighbour, one for each output; None refuses such queries. A label that is no
        class leaves all probabilities zero, with a warning.

    Attributes
    ----------
    classes_, outputs_2d_, effective_metric_, effective_metric_params_, n_samples_fit_ : as in KNeighborsClassifier.
    outlier_label_ : list or None
    certificate_ : Certificate
        Kind exact: rows within the radius, found again by plain distances.
    n_features_in_, feature_names_in_ : as in scikit-learn.

    Notes
    -----
    A row's `sample_weight` multiplies its vote, and a row of weight zero is no neighbour. Rosasco, 2.3 (the box).

    Examples
    --------
    >>> from tenfold import RadiusNeighborsClassifier
    >>> model = RadiusNeighborsClassifier(radius=1.0).fit([[0], [1], [2], [3]], [0, 0, 1, 1])
    >>> model.predict([[1.5]])
    array([0])
    >>> model.predict_proba([[1.0]])
    array([[0.66666667, 0.33333333]])
    """

    _claims: ClassVar = claims(
        "Neighbours within a radius, classes", "sklearn.neighbors.RadiusNeighborsClassifier", "R2.3"
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

    @all_or_nothing
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Keep the rows X, (n, p), and their classes y, (n,) or (n, n_outputs)."""
        self._keep(X, y, sample_weight)
        self.outlier_label_ = self._labels()
        return self._certified()

    def _labels(self) -> Any:
        """The label of queries without a neighbour, for each output."""
        each, label = self._each_classes(), self.outlier_label
        if label is None:
            return None
        if isinstance(label, str) and label == "most_frequent":
            if is_dask(self._y):
                return [each[0][weights_by_class(len(each[0]), self._y, self._votes).argmax()]]
            numbers, weight = self._y.reshape(len(self._y), -1), None if self._votes is None else on_host(self._votes)
            return [classes[np.bincount(numbers[:, t], weight).argmax()] for t, classes in enumerate(each)]
        several = not isinstance(label, str) and hasattr(label, "__len__")
        labels = label if several else [label] * len(each)
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

    def _counted(self) -> Callable[[Near], list[Floats]]:
        counts = tuple(len(classes) for classes in self._each_classes())
        return partial(_or_labels, self.weights, counts, self._places(), self.outlier_label_)

    def _unheard(self) -> Any:
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


def _or_labels(
    weights: Any, counts: tuple[int, ...], places: list[int | None], labels: Any, near: Near
) -> list[Floats]:
    """Votes for the classes of each output; of queries without a neighbour one for the label of outliers."""
    alone = np.diff(near.offsets) == 0
    if alone.any() and labels is None:
        raise ValueError(
            f"No neighbors found for test samples {np.flatnonzero(alone)!r}, you can try using larger radius, "
            "giving a label for outliers, or considering removing them from your dataset."
        )
    found = votes(near, weights, counts)
    if alone.any():
        for part, place, label in zip(found, places, labels, strict=True):
            if place is not None:
                part[alone, place] = 1.0
            else:
                warnings.warn(
                    f"Outlier label {label} is not in training classes. All class probabilities of outliers will be "
                    "assigned with 0.",
                    stacklevel=6,
                )
    return found


class RadiusNeighborsRegressor(Averaged, RadiusAsked):
    """The mean target of all rows within a radius.

    Parameters
    ----------
    radius : float, default=1.0
    weights, algorithm, leaf_size, p, metric, metric_params, n_jobs : as in KNeighborsRegressor.

    Attributes
    ----------
    effective_metric_, effective_metric_params_, n_samples_fit_ : as in NearestNeighbors.
    certificate_ : Certificate
        Kind exact: rows within the radius, found again by plain distances.
    n_features_in_, feature_names_in_ : as in scikit-learn.

    Notes
    -----
    Where no row is within the radius the prediction is not a number, with a warning; `ParzenRegressor` has windows
    that never end. Rosasco, 2.3 (the box).

    Examples
    --------
    >>> from tenfold import RadiusNeighborsRegressor
    >>> RadiusNeighborsRegressor(radius=1.0).fit([[0], [1], [2], [3]], [0, 0, 1, 1]).predict([[1.5]])
    array([0.5])
    """

    _claims: ClassVar = claims(
        "Neighbours within a radius, numbers", "sklearn.neighbors.RadiusNeighborsRegressor", "R2.3"
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
        """The target of each query, (m,) or (m, n_outputs); without X of the rows of the fit, without themselves."""
        found = super().predict(X)
        if not is_foreign(found) and np.isnan(found).any():
            warnings.warn(
                "One or more samples have no neighbors within specified radius; predicting NaN.", stacklevel=2
            )
        return found
