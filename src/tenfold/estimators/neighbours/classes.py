"""Classes by the votes of neighbours."""

from typing import Any, ClassVar

import numpy as np
from sklearn.base import ClassifierMixin

from tenfold.arrays import Array, Floats
from tenfold.estimators.neighbours.asked import NearestTold
from tenfold.estimators.neighbours.searched import NEAREST, SEARCH, WEIGHTS, Told, claims
from tenfold.estimators.parameters import Constraints
from tenfold.plans.neighbours import Near, shares, weighed

NO_WEIGHT = (
    "All neighbors of some sample is getting zero weights. Please modify 'weights' to avoid this case if you are using "
    "a user-defined function."
)


class Voted(ClassifierMixin, Told):
    """Classes of queries by the votes of their neighbours."""

    classes_: Any
    outputs_2d_: bool

    def _each_classes(self) -> list[Array]:
        """The classes of each output."""
        return self.classes_ if self.outputs_2d_ else [self.classes_]

    def _each_votes(self, near: Near) -> list[Floats]:
        """The votes of neighbours for the classes of each output."""
        weight = weighed(self.weights, near)
        numbers = self._y if self.outputs_2d_ else self._y[:, None]
        return [
            shares(near, weight, np.ascontiguousarray(numbers[:, t]), len(classes), self._votes)
            for t, classes in enumerate(self._each_classes())
        ]

    def _chosen(self, votes: list[Floats]) -> Array:
        """The class with most votes, the first of several."""
        each = self._each_classes()
        found = np.empty((len(votes[0]), len(each)), dtype=each[0].dtype)
        for t, classes in enumerate(each):
            found[:, t] = classes[np.argmax(votes[t], axis=1)]
        return found if self.outputs_2d_ else found[:, 0]

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The share of queries whose class is right; without X of the rows of the fit, none of which votes for itself,
        which is the exact leave-one-out accuracy.
        """
        return float(super().score(X, y, sample_weight=sample_weight))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags


class KNeighborsClassifier(Voted, NearestTold):
    """The class that most of the nearest rows have.

    Parameters
    ----------
    n_neighbors : int, default=5
    weights : {"uniform", "distance"} or callable, default="uniform"
        "distance": a vote counts one over its distance, and where some distance is zero only those rows vote. A
        function makes weights of distances.
    algorithm, leaf_size, p, metric, metric_params, n_jobs : as in NearestNeighbors.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,), or a list of them for several outputs
    effective_metric_, effective_metric_params_, n_samples_fit_ : as in NearestNeighbors.
    outputs_2d_ : bool
        Whether y has several columns.
    certificate_ : Certificate
        Kind exact, as in NearestNeighbors.
    n_features_in_, feature_names_in_ : as in scikit-learn.

    Notes
    -----
    A row's `sample_weight` multiplies its vote, and a row of weight zero is no neighbour; a row of weight two takes one
    of the k places, not two. Ties go to the first class; with two classes and odd k there are none. All answers are
    exact, see NearestNeighbors. Seeger, section 2.1; Rosasco, 2.2; Welling, ch. 5; Cookbook, ch. 22.

    Examples
    --------
    >>> from tenfold import KNeighborsClassifier
    >>> model = KNeighborsClassifier(n_neighbors=3).fit([[0], [1], [2], [3]], [0, 0, 1, 1])
    >>> model.predict([[1.1]])
    array([0])
    >>> model.predict_proba([[0.9]])
    array([[0.66666667, 0.33333333]])
    """

    _claims: ClassVar = claims("k nearest neighbours, classes", "sklearn.neighbors.KNeighborsClassifier")
    _constraints: ClassVar[Constraints] = {**NEAREST, **WEIGHTS, **SEARCH}

    def predict(self, X: Any) -> Array:
        """The class of each query, (m,) or (m, n_outputs); without X of the rows of the fit, not their own voters."""
        return self._chosen(self._counted(X))

    def predict_proba(self, X: Any) -> Any:
        """Shares of the votes, (m, n_classes), or a list of them for several outputs."""
        found = [votes / votes.sum(axis=1, keepdims=True) for votes in self._counted(X)]
        return found if self.outputs_2d_ else found[0]

    def _counted(self, X: Any) -> list[Floats]:
        votes = self._each_votes(self._near(X))
        if any(np.any(part.sum(axis=1) == 0.0) for part in votes):
            raise ValueError(NO_WEIGHT)
        return votes
