"""Base of the naive Bayes classifiers: joint log probabilities, a decision threshold, and sampling of classes."""

from functools import partial
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from tenfold.arrays import Array, Floats
from tenfold.estimators.class_labels import log_odds, take_classes
from tenfold.estimators.class_statistics import ClassStatisticsClassifier, check_priors


class NaiveBayes(ClassStatisticsClassifier):
    """A classifier whose scores are joint log probabilities."""

    threshold: float

    def predict_joint_log_proba(self, X: Any) -> Array:
        """``log p(c) + log p(x | c)`` of samples X (n, p) and classes, (n, n_classes)."""
        return self._predict_in_precision(X)

    def log_odds(self, X: Any) -> Array:
        """Log odds of samples X (n, p): for two classes the difference of the scores, (n,); for more all scores."""
        return self._predict_in_precision(X, log_odds)

    def predict(self, X: Any) -> Array:
        """The class with the largest score of each sample of X, (n,); of two the second where its score exceeds the
        first's by more than `threshold`.
        """
        check_is_fitted(self)
        if self.classes_.shape[0] != 2 or self.threshold == 0.0:
            return super().predict(X)
        return take_classes(self.classes_, self._predict_raw(X, then=partial(_is_second, float(self.threshold))))

    def _draw_classes(self, count: int, random: Any, log_prior: Floats) -> Array:
        """Draw the classes of `count` samples by their priors."""
        check_is_fitted(self)
        p = np.exp(log_prior)
        return random.choice(len(p), size=count, p=p / p.sum())


def resolve_priors(class_prior: Any, learn: bool, classes: int) -> Floats | None:
    """Fixed priors, given or uniform; None where they are estimated."""
    priors = check_priors(class_prior, classes)
    return np.full(classes, 1.0 / classes) if priors is None and not learn else priors


def _is_second(threshold: float, z: Array) -> Array:
    return log_odds(z) > threshold
