"""What the classes of naive Bayes share: joint scores, a threshold on them, and the draw of classes."""

from functools import partial
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from tenfold.arrays import Array, Floats, namespace
from tenfold.estimators.by_class import ByClass
from tenfold.estimators.classes import chosen_classes
from tenfold.estimators.contract import rowwise


class NaiveBayes(ByClass):
    """A classifier whose score is the logarithm of a joint probability."""

    threshold: float

    def predict_joint_log_proba(self, X: Any) -> Array:
        """``log p(c) + log p(x | c)`` of rows and classes, (n, n_classes)."""
        return self._raw(X)

    def log_odds(self, X: Any) -> Array:
        """Of two classes the score of the second minus that of the first, (n,); of others all scores."""
        return rowwise(_odds, self._raw(X))

    def predict(self, X: Any) -> Array:
        """The class with the largest score; of two the second where its score exceeds the first's by more than
        `threshold`.
        """
        check_is_fitted(self)
        if self.classes_.shape[0] != 2 or self.threshold == 0.0:
            return super().predict(X)
        return chosen_classes(self.classes_, rowwise(partial(_second, float(self.threshold)), self._raw(X)))

    def _drawn_classes(self, count: int, random: Any, log_prior: Floats) -> Array:
        """Classes of `count` rows, by their priors."""
        check_is_fitted(self)
        p = np.exp(log_prior)
        return random.choice(len(p), size=count, p=p / p.sum())


def _odds(z: Array) -> Array:
    if z.shape[1] != 2:
        return z
    with np.errstate(invalid="ignore"):
        odds = z[:, 1] - z[:, 0]
    xp = namespace(z)
    return xp.where(xp.isnan(odds), xp.zeros_like(odds), odds)  # both impossible


def _second(threshold: float, z: Array) -> Array:
    return _odds(z) > threshold
