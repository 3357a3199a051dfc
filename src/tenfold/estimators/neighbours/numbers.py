"""Numbers by the means of neighbours."""

from functools import partial
from typing import Any, ClassVar

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from tenfold.arrays import Array
from tenfold.estimators.neighbours.asked import NearestTold
from tenfold.estimators.neighbours.reached import Told
from tenfold.estimators.neighbours.searched import NEAREST, SEARCH, WEIGHTS, Targeted, claims
from tenfold.estimators.parameters import Constraints
from tenfold.estimators.predictors import Scored
from tenfold.plans.neighbours import Near, means


class Averaged(Scored, RegressorMixin, Targeted):
    """Targets of queries by the means of their neighbours."""

    def predict(self, X: Any) -> Array:
        """The target of each query, (m,) or (m, n_outputs); without X of the rows of the fit, without themselves."""
        check_is_fitted(self)
        flat, dtype = self._y.ndim == 1, np.float32 if self._y.dtype == np.float32 else np.float64
        nothing = np.zeros((0,) if flat else (0, self._y.shape[1]), dtype=dtype)
        return self._asked(X, self._looked_up(), Told(partial(_mean, self.weights, flat, dtype), nothing))

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """R^2; without X of the rows of the fit, none of which is its own neighbour."""
        return float(super().score(X, y, sample_weight=sample_weight))


def _mean(weights: Any, flat: bool, dtype: Any, near: Near) -> Array:
    found = means(near, weights).astype(dtype, copy=False)
    return found[:, 0] if flat else found


class KNeighborsRegressor(Averaged, NearestTold):
    """The mean target of the nearest rows.

    Parameters
    ----------
    n_neighbors, weights, algorithm, leaf_size, p, metric, metric_params, n_jobs : as in KNeighborsClassifier.

    Attributes
    ----------
    effective_metric_, effective_metric_params_, n_samples_fit_ : as in NearestNeighbors.
    certificate_ : Certificate
        Kind exact, as in NearestNeighbors.
    n_features_in_, feature_names_in_ : as in scikit-learn.

    Notes
    -----
    A row's `sample_weight` multiplies its share of the mean, and a row of weight zero is no neighbour; a row of weight
    two takes one of the k places, not two. At a point x the squared error of the mean of k neighbours is, for noise of
    variance s^2, ``s^2 + (f(x) - mean of f at the neighbours)^2 + s^2 / k`` (Rosasco, 3.1, where the sign in the square
    is misprinted). Rosasco, 2.2; Cookbook, ch. 22.

    Examples
    --------
    >>> from tenfold import KNeighborsRegressor
    >>> KNeighborsRegressor(n_neighbors=2).fit([[0], [1], [2], [3]], [0, 0, 1, 1]).predict([[1.5]])
    array([0.5])
    """

    _claims: ClassVar = claims("k nearest neighbours, numbers", "sklearn.neighbors.KNeighborsRegressor", "R2.2, B22")
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
