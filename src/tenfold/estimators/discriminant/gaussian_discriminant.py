"""What Gaussian classes share: moments of each class, priors, shrinkage, and the odds of classes."""

import warnings
from typing import Any

import numpy as np
from sklearn.base import clone

from tenfold.arrays import Array, Floats, on_host, wide
from tenfold.data import MemoryRows, NotFinite, Rows
from tenfold.estimators.class_labels import log_odds
from tenfold.estimators.class_statistics import ClassStatisticsClassifier
from tenfold.plans.by_class import TooFewRows
from tenfold.stats.moments import GroupedMoments


class GaussianClasses(ClassStatisticsClassifier):
    """Classes that are judged by their means and covariances."""

    priors: Any
    shrinkage: Any
    covariance_estimator: Any

    def _fold(self, rows: Rows, classes: int) -> Any:
        moments: GroupedMoments = rows.fold(GroupedMoments.lifter(classes))
        if not all(np.isfinite(group.XX).all() and np.isfinite(group.offset).all() for group in moments.groups):
            raise NotFinite
        return moments

    def _refuse_both(self) -> None:
        if self.covariance_estimator is not None and self.shrinkage is not None and self.shrinkage != 0:
            raise ValueError(
                "covariance_estimator and shrinkage parameters are not None. Only one of the two can be set."
            )

    def _refuse_empty(self, count: int, weight: Floats) -> None:
        missing = [name for name, own in zip(on_host(self.classes_), weight, strict=True) if own == 0.0]
        if count == 1:
            raise TooFewRows("There is only 1 sample, and no covariance.")
        if missing:
            raise TooFewRows(f"All rows of the classes {missing} have weight zero, or there are none.")

    def _check_partial_fit(self) -> None:
        if self.shrinkage == "auto" or self.covariance_estimator is not None:
            raise ValueError(
                "shrinkage='auto' and covariance_estimator need all rows at once: call fit, or give a shrinkage."
            )

    def _set_priors(self, weight: Floats) -> Floats:
        """The priors in float64."""
        if self.priors is None:
            return weight / weight.sum()
        priors = np.asarray(self.priors, dtype=np.float64)
        if priors.shape != weight.shape:
            raise ValueError(f"priors must have one entry for each of {len(weight)} classes, got {priors.shape}.")
        if np.any(priors < 0):
            raise ValueError("priors must be non-negative")
        if abs(priors.sum() - 1.0) > 1e-5:
            warnings.warn("The priors do not sum to 1. Renormalizing", UserWarning, stacklevel=5)
            priors = priors / priors.sum()
        return priors

    def decision_function(self, X: Any) -> Array:
        """Scores of all classes for the samples X, (n, n_classes); of two the difference, second minus first, (n,)."""
        return self._predict_in_precision(X, log_odds)


def priors_in_float64(priors: Any) -> Floats | None:
    """Priors of the user's."""
    return None if priors is None else np.asarray(priors, dtype=np.float64)


def estimated_covariances(estimator: Any, rows: Rows | None, classes: int) -> Floats:
    """Covariances (k, p, p) of the classes that the user's estimator finds."""
    if not isinstance(rows, MemoryRows) or rows.on_device or rows.weight is not None:
        raise ValueError(
            "covariance_estimator needs the rows of a class in memory, without weights: give shrinkage instead."
        )
    found = []
    for k in range(classes):
        own = clone(estimator, safe=False)
        own.fit(rows.X[rows.group == k])
        if not hasattr(own, "covariance_"):
            raise ValueError(f"{type(own).__name__} does not have a covariance_ attribute")
        found.append(own.covariance_)
    return np.array(found)


def estimated_total(estimator: Any, rows: Rows) -> Floats:
    """The covariance (p, p) of all rows that the user's estimator finds."""
    found = clone(estimator, safe=False)
    found.fit(rows.whole().X)
    return wide(found.covariance_)
