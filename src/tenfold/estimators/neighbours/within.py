"""Classes and numbers by all neighbours within a radius."""

import warnings
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np

from tenfold.arrays import Array, Floats
from tenfold.estimators.contract import all_or_nothing
from tenfold.estimators.neighbours.asked import RadiusAsked
from tenfold.estimators.neighbours.classes import Voted
from tenfold.estimators.neighbours.numbers import Averaged
from tenfold.estimators.neighbours.searched import RADIUS, SEARCH, WEIGHTS, claims
from tenfold.estimators.parameters import Constraints, array_like, instance, nothing


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
        self.algorithm = algorithm
        self.leaf_size = leaf_size
        self.p = p
        self.metric = metric
        self.outlier_label = outlier_label
        self.metric_params = metric_params
        self.n_jobs = n_jobs

    @all_or_nothing
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
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
            numbers = self._y.reshape(len(self._y), -1)
            weight = self._votes
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

    def predict(self, X: Any) -> Array:
        """The class of each query, (m,) or (m, n_outputs); without X of the rows of the fit, not their own voters."""
        shares = self._shares(X)
        found = self._chosen(shares)
        for t, part in enumerate(shares):
            none = ~part.any(axis=1)
            if none.any():
                label = self.outlier_label_[t]
                found.reshape(len(part), -1)[none, t] = label
        return found

    def predict_proba(self, X: Any) -> Any:
        """Shares of the votes, (m, n_classes), or a list of them for several outputs."""
        found = self._shares(X)
        return found if self.outputs_2d_ else found[0]

    def _shares(self, X: Any) -> list[Floats]:
        near = self._within(X, self.radius)
        alone = np.diff(near.offsets) == 0
        if alone.any() and self.outlier_label_ is None:
            raise ValueError(
                f"No neighbors found for test samples {np.flatnonzero(alone)!r}, you can try using larger radius, "
                "giving a label for outliers, or considering removing them from your dataset."
            )
        found = self._each_votes(near)
        for t, (part, classes) in enumerate(zip(found, self._each_classes(), strict=True)):
            if alone.any():
                place = np.flatnonzero(classes == self.outlier_label_[t])
                if place.size == 1:
                    part[alone, place[0]] = 1.0
                else:
                    warnings.warn(
                        f"Outlier label {self.outlier_label_[t]} is not in training classes. All class probabilities "
                        "of outliers will be assigned with 0.",
                        stacklevel=3,
                    )
            total = part.sum(axis=1, keepdims=True)
            part /= np.where(total == 0.0, 1.0, total)
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
        self.algorithm = algorithm
        self.leaf_size = leaf_size
        self.p = p
        self.metric = metric
        self.metric_params = metric_params
        self.n_jobs = n_jobs

    def predict(self, X: Any) -> Array:
        """The target of each query, (m,) or (m, n_outputs); without X of the rows of the fit, without themselves."""
        found = self._mean(self._within(X, self.radius))
        if np.isnan(found).any():
            warnings.warn(
                "One or more samples have no neighbors within specified radius; predicting NaN.", stacklevel=2
            )
        return found
