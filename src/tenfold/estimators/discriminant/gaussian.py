"""What Gaussian classes share: moments of each class, priors, shrinkage, and the odds of classes."""

import warnings
from typing import Any

import numpy as np
from sklearn.base import clone

from tenfold.arrays import Array, Floats, on_host
from tenfold.data import MemoryRows, NotFinite, Rows
from tenfold.estimators.by_class import ByClass, TooFewRows
from tenfold.estimators.classes import odds
from tenfold.judge.discriminant import Witness
from tenfold.judge.discriminant import ledoit_wolf as judged_amounts
from tenfold.plans.discriminant import Classes, ledoit_wolf
from tenfold.stats.moments import GroupedMoments


class GaussianClasses(ByClass):
    """Classes that are judged by their means and covariances."""

    priors: Any
    shrinkage: Any
    covariance_estimator: Any

    def _fold(self, rows: Rows, classes: int) -> Any:
        moments: GroupedMoments = rows.fold(GroupedMoments.lifter(classes))
        if not all(np.isfinite(group.XX).all() and np.isfinite(group.offset).all() for group in moments.groups):
            raise NotFinite
        if all(group.weight > 0.0 for group in moments.groups):
            self._amounts, self._given = self._regularised(rows, moments)
        return moments

    def _regularised(self, rows: Rows, moments: GroupedMoments) -> tuple[Floats, Floats | None]:
        """How far the covariances are to be moved towards spheres, or covariances that the user's estimator found."""
        classes = len(moments.groups)
        if self.covariance_estimator is not None:
            if self.shrinkage is not None and self.shrinkage != 0:
                raise ValueError(
                    "covariance_estimator and shrinkage parameters are not None. Only one of the two can be set."
                )
            return np.zeros(classes), self._estimated(rows, classes)
        if self.shrinkage == "auto":
            return ledoit_wolf(rows, Classes.of(moments)), None
        return np.full(classes, 0.0 if self.shrinkage is None else float(self.shrinkage)), None

    def _estimated(self, rows: Rows | None, classes: int) -> Floats:
        if not isinstance(rows, MemoryRows) or rows.foreign or rows.weight is not None:
            raise ValueError(
                "covariance_estimator needs the rows of a class in memory, without weights: give shrinkage instead."
            )
        found = []
        for k in range(classes):
            estimator = clone(self.covariance_estimator, safe=False)
            estimator.fit(rows.X[rows.group == k])
            if not hasattr(estimator, "covariance_"):
                raise ValueError(f"{type(estimator).__name__} does not have a covariance_ attribute")
            found.append(estimator.covariance_)
        return np.array(found)

    def _refuse_empty(self, count: int, weight: Floats) -> None:
        missing = [name for name, own in zip(on_host(self.classes_), weight, strict=True) if own == 0.0]
        if count == 1:
            raise TooFewRows("There is only 1 sample, and no covariance.")
        if missing:
            raise TooFewRows(f"All rows of the classes {missing} have weight zero, or there are none.")

    def _witness(self, rows: Rows | None, mean: Floats, vectors: Floats | None = None) -> Witness:
        """With the `vectors` whose products the judge will ask for."""
        return Witness.of_moments(self._sums, mean) if rows is None else Witness.of_rows(rows, mean, vectors)

    def _judged_amounts(self, rows: Rows | None, classes: int) -> Floats:
        """How far covariances are to be moved towards spheres, as the judge sees it."""
        if self.shrinkage == "auto" and rows is not None:
            return judged_amounts(rows, classes)
        return np.full(classes, 0.0 if self.shrinkage is None else float(self.shrinkage))

    def _refuse_parts(self) -> None:
        if self.shrinkage == "auto" or self.covariance_estimator is not None:
            raise ValueError(
                "shrinkage='auto' and covariance_estimator need all rows at once: call fit, or give a shrinkage."
            )

    def _given_priors(self) -> Floats | None:
        """Priors of the user's, in float64."""
        return None if self.priors is None else np.asarray(self.priors, dtype=np.float64)

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
        return self._in_precision(X, odds)
