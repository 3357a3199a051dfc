"""Disparities of distances: the monotone function of given dissimilarities that is nearest to the distances of points.

Pairs of equal dissimilarity have equal disparities (Kruskal's secondary approach to ties). A dissimilarity of zero is
missing, and its disparity zero, as in scikit-learn.
"""

import numpy as np
from scipy.optimize import isotonic_regression

from tenfold.arrays import Floats


class Disparities:
    """The order of dissimilarities of pairs (n (n - 1) / 2,), and what is nearest to distances in that order."""

    def __init__(self, dissimilarities: Floats) -> None:
        self.dissimilarities = dissimilarities
        self.known = np.flatnonzero(dissimilarities)
        self.values, self.group = np.unique(dissimilarities[self.known], return_inverse=True)
        self.counts = np.bincount(self.group, minlength=len(self.values)).astype(np.float64)

    def first(self) -> Floats:
        """The dissimilarities themselves, scaled."""
        return self._scale(self.dissimilarities[self.known])

    def nearest(self, distances: Floats) -> Floats:
        """The disparities of distances (pairs,), scaled to a mean square of one."""
        return self._scale(self.fit(distances)[1][self.group])

    def fit(self, distances: Floats) -> tuple[Floats, Floats]:
        """The mean distance of each group of equal dissimilarities, and the monotone fit to these."""
        if not len(self.values):
            return np.zeros(0), np.zeros(0)
        means = np.bincount(self.group, distances[self.known], len(self.values)) / self.counts
        return means, np.asarray(isotonic_regression(means, weights=self.counts).x)

    def expand(self, fitted: Floats) -> Floats:
        """Values of groups as values of pairs, zero where the dissimilarity is missing."""
        result = np.zeros(len(self.dissimilarities))
        result[self.known] = fitted[self.group]
        return result

    def _scale(self, known: Floats) -> Floats:
        result = np.zeros(len(self.dissimilarities))
        size = float(np.sum(known**2))
        if size > 0.0:
            result[self.known] = known * np.sqrt(len(result) / size)
        return result
