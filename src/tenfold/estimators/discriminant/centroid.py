"""Nearest centroids."""

import warnings
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.metaestimators import available_if

from tenfold.arrays import Array, Floats
from tenfold.data import Rows
from tenfold.estimators.class_labels import argmax_scores, log_odds, log_probabilities, probabilities, take_classes
from tenfold.estimators.class_statistics import ClassStatisticsClassifier, cast_log_probabilities
from tenfold.estimators.leaderboard_entry import Entry
from tenfold.estimators.parameters import Constraints, array_like, choice, nothing, real
from tenfold.estimators.registration import Registration
from tenfold.plans import nearest_centroid as plan
from tenfold.plans.class_statistics import TooFewSamples


def _not_manhattan(model: "NearestCentroid") -> bool:
    return model.metric != "manhattan"


class NearestCentroid(ClassStatisticsClassifier):
    """Classify by the nearest class centroid.

    Centroids are weighted means, or medians with the metric "manhattan". With `shrink_threshold` t each centroid is
    moved towards the mean of all samples, column by column: ``d = (centroid - mean) / (m_c (s + median s))``, with s
    the spread within classes and ``m_c^2 = 1/n_c - 1/n``, becomes ``sign(d) max(|d| - t, 0)`` (Tibshirani et al. 2002).

    Parameters
    ----------
    metric : {"euclidean", "manhattan", "mahalanobis"}, default="euclidean"
        The last, which scikit-learn has not, measures in the covariance within classes.
    shrink_threshold : float, default=None
        The threshold t by which centroids are moved towards the mean of all samples; None for no shrinking.
    priors : {"uniform", "empirical"} or array-like of shape (n_classes,), default="uniform"
        With other than equal priors the score is ``-d^2 + 2 log q_c``, d in units of the spread within classes.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes, sorted.
    centroids_ : ndarray of shape (n_classes, n_features)
        Centroids of the classes, shrunk with `shrink_threshold`.
    class_prior_ : ndarray of shape (n_classes,)
        Priors of the classes.
    within_class_std_dev_ : ndarray of shape (n_features,)
        Standard deviation of each feature within the classes.
    deviations_ : ndarray of shape (n_classes, n_features)
        Deviations of the centroids from the mean of all samples, shrunk.
    whitener_ : ndarray of shape (n_features, n_features)
        With "mahalanobis" an upper triangle B, ``B B'`` the inverse of the covariance within classes.
    certificate_ : Certificate
        Kind exact: means by sums about them; of medians the weights on both sides, counted again; that samples times
        the whitener vary alike in all directions.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features; only where X had names, all of them strings.

    Notes
    -----
    One pass over the data and one to judge; medians need the samples in memory. Memory n_classes x n_features, with
    "mahalanobis" n_features^2. Runs on dense and sparse arrays, files, devices and Dask collections, with sample
    weights.
    Seeger, section 2.1; Rosasco, 5.1; Cookbook, ch. 15.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import NearestCentroid
    >>> X = np.array([[-1, -1], [-2, -1], [-3, -2], [1, 1], [2, 1], [3, 2]])
    >>> NearestCentroid().fit(X, [1, 1, 1, 2, 2, 2]).predict([[-0.8, -1]])
    array([1])
    """

    _registration: ClassVar = Registration(
        method="Nearest-centroid classification",
        texts=("S2.1", "R5.1", "B15"),
        peer="sklearn.neighbors",
        reads=("one pass",),
        certificate=("exact",),
        judge="discriminant.centroids",
        outputs="class_scores.centroids",
        board=Entry(
            "nearest-centroid",
            "classification",
            {},
            {"shrink_threshold": (None, 1.0)},
            dense=True,
        ),
    )
    _constraints: ClassVar[Constraints] = {
        "metric": (choice("euclidean", "manhattan", "mahalanobis"),),
        "shrink_threshold": (nothing(), real(0, np.inf, "neither")),
        "priors": (choice("uniform", "empirical"), array_like()),
    }

    centroids_: Floats

    def __init__(
        self, metric: str = "euclidean", *, shrink_threshold: float | None = None, priors: Any = "uniform"
    ) -> None:
        self.metric = metric
        self.shrink_threshold = shrink_threshold
        self.priors = priors

    def _check_partial_fit(self) -> None:
        if self.metric == "manhattan":
            raise ValueError("Medians need all rows at once: call fit, or take another metric.")

    def _fold(self, rows: Rows, classes: int) -> Any:
        if classes < 2:
            raise ValueError(f"The number of classes has to be greater than one; got {classes} class")
        if self.metric == "manhattan":
            return plan.fold_medians(rows, classes)
        return plan.fold_moments(rows, classes) if self.metric == "mahalanobis" else plan.fold_columns(rows, classes)

    def _estimate(self, sums: Any, rows: Rows | None, X: Array) -> None:
        centres = plan.centres_of(sums)
        weight = centres.weight
        if np.any(weight == 0.0):
            raise TooFewSamples("All rows of some class have weight zero, or there are none.")
        if self.metric == "mahalanobis" and weight.sum() <= len(weight):
            raise TooFewSamples("There are no more rows than classes, and no covariance within them.")
        result, self.certificate_ = plan.fit_centroids(
            centres,
            sums,
            rows,
            self._shares(weight),
            metric=self.metric,
            threshold=self.shrink_threshold,
            given=resolve_priors(self.priors, len(weight)),
        )
        if np.any(result.spread == 0.0):
            warnings.warn(
                "self.within_class_std_dev_ has at least 1 zero standard deviation."
                "Inputs within the same classes for at least 1 feature are identical.",
                stacklevel=5,
            )
        self.centroids_, self.deviations_, self.within_class_std_dev_, self.class_prior_, whitener = result
        self.__dict__.pop("whitener_", None)
        if whitener is not None:
            self.whitener_ = whitener

    def _shares(self, weight: Floats) -> Floats:
        if isinstance(self.priors, str):
            return weight / weight.sum() if self.priors == "empirical" else np.full(len(weight), 1.0 / len(weight))
        priors = np.asarray(self.priors, dtype=np.float64)
        if priors.shape != weight.shape:
            raise ValueError(f"priors must have one entry for each of {len(weight)} classes, got {priors.shape}.")
        if np.any(priors < 0):
            raise ValueError("priors must be non-negative")
        if not np.isclose(priors.sum(), 1.0):
            warnings.warn(
                "The priors do not sum to 1. Normalizing such that it sums to one.", UserWarning, stacklevel=6
            )
            priors = priors / priors.sum()
        return priors

    def _prediction_function(self, small: bool) -> Callable[[Array], Array]:
        return plan.scores(self.metric, self.centroids_, self._unit(), self.class_prior_)

    def _plain_of_rows(self, small: bool) -> Callable[[Array], Array]:
        """Scores in the units of the data."""
        return plan.scores(self.metric, self.centroids_, np.ones(self.centroids_.shape[1]), self.class_prior_)

    def _unit(self) -> Floats:
        if self.metric == "mahalanobis":
            return self.whitener_
        return np.where(self.within_class_std_dev_ == 0.0, 1.0, self.within_class_std_dev_)

    def predict(self, X: Any) -> Array:
        """The class of the nearest centroid of each sample of X, or with the largest score where priors are not equal,
        (n,).
        """
        if self.metric != "mahalanobis" and self.__sklearn_is_fitted__() and self._equal():
            return take_classes(self.classes_, self._predict_raw(X, self._plain_of_rows, argmax_scores))
        return super().predict(X)

    def _equal(self) -> bool:
        return bool(np.isclose(self.class_prior_, 1.0 / len(self.class_prior_)).all())

    @available_if(_not_manhattan)  # type: ignore[untyped-decorator]
    def decision_function(self, X: Any) -> Array:
        """Scores ``-d^2 + 2 log q_c`` of the samples X and all classes, (n, n_classes); of two the difference, second
        minus first, (n,).
        """
        return self._predict_in_precision(X, log_odds)

    @available_if(_not_manhattan)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Array:
        """Probabilities of the classes for the samples X, (n, n_classes): the softmax of the scores."""
        return self._predict_in_precision(X, probabilities)

    @available_if(_not_manhattan)  # type: ignore[untyped-decorator]
    def predict_log_proba(self, X: Any) -> Array:
        """Logarithms of the probabilities of the classes for the samples X, (n, n_classes)."""
        return cast_log_probabilities(self._predict_raw(X, then=log_probabilities), X)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def resolve_priors(priors: Any, classes: int) -> Floats | None:
    """Fixed priors, given or uniform; None where they are estimated."""
    if isinstance(priors, str):
        return None if priors == "empirical" else np.full(classes, 1.0 / classes)
    return np.asarray(priors, dtype=np.float64)
