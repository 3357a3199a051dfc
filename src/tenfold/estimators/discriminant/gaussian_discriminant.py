"""Base of the Gaussian discriminants: class moments, priors, shrinkage, and decision functions."""

import warnings
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

from tenfold.arrays import Array, Floats, on_host, wide
from tenfold.data import MemoryRows, NotFinite, Rows
from tenfold.estimators.class_labels import log_odds
from tenfold.estimators.class_statistics import ClassStatisticsClassifier
from tenfold.plans.class_statistics import TooFewSamples
from tenfold.stats.moments import GroupedMoments


class GaussianClasses(ClassStatisticsClassifier):
    """Classifiers of class means and covariances."""

    priors: Any
    shrinkage: Any
    covariance_estimator: Any

    def _fold(self, rows: Rows, classes: int) -> Any:
        moments: GroupedMoments = rows.fold(GroupedMoments.lifter(classes))
        if not all(np.isfinite(group.XX).all() and np.isfinite(group.offset).all() for group in moments.groups):
            raise NotFinite
        return moments

    def _check_covariance_parameters(self) -> None:
        if self.covariance_estimator is not None and self.shrinkage is not None and self.shrinkage != 0:
            raise ValueError(
                "covariance_estimator and shrinkage parameters are not None. Only one of the two can be set."
            )

    def _check_class_weights(self, count: int, weight: Floats) -> None:
        missing = [name for name, own in zip(on_host(self.classes_), weight, strict=True) if own == 0.0]
        if count == 1:
            raise TooFewSamples("There is only 1 sample, and no covariance.")
        if missing:
            raise TooFewSamples(f"All rows of the classes {missing} have weight zero, or there are none.")

    def _check_partial_fit(self) -> None:
        if self.shrinkage == "auto" or self.covariance_estimator is not None:
            raise ValueError(
                "shrinkage='auto' and covariance_estimator need all rows at once: call fit, or give a shrinkage."
            )

    def _set_priors(self, weight: Floats) -> Floats:
        """The validated priors in float64, or the class frequencies."""
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
    """The given priors in float64, or None."""
    return None if priors is None else np.asarray(priors, dtype=np.float64)


def estimate_covariances(estimator: Any, rows: Rows | None, classes: int) -> Floats:
    """Covariances (k, p, p) of the classes by the user's covariance estimator."""
    weighted = isinstance(rows, MemoryRows) and rows.weight is not None
    if not isinstance(rows, MemoryRows) or rows.on_device or (weighted and not takes_weights(estimator)):
        raise ValueError(
            "covariance_estimator needs the rows of a class in memory, without weights unless its fit takes them, as "
            "tenfold's do: give shrinkage instead."
        )
    covariances = []
    for k in range(classes):
        inside = rows.group == k
        fitted = _fit_estimator(estimator, rows.X[inside], None if rows.weight is None else rows.weight[inside])
        if not hasattr(fitted, "covariance_"):
            raise ValueError(f"{type(fitted).__name__} does not have a covariance_ attribute")
        covariances.append(fitted.covariance_)
    return np.array(covariances)


def estimate_total_covariance(estimator: Any, rows: Rows) -> Floats:
    """The covariance (p, p) of all samples by the user's covariance estimator."""
    whole = rows.whole()
    fitted = _fit_estimator(estimator, whole.X, whole.weight)
    return wide(fitted.covariance_)


def takes_weights(estimator: Any) -> bool:
    """Whether the fit of a covariance estimator takes sample weights."""
    return has_fit_parameter(estimator, "sample_weight")


def _fit_estimator(estimator: Any, X: Array, weight: Array | None) -> Any:
    """A copy of the estimator, fitted to samples."""
    fitted = clone(estimator, safe=False)
    return fitted.fit(X) if weight is None else fitted.fit(X, sample_weight=weight)
