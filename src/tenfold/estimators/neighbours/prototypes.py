"""Classification by the nearest of a few prototypes."""

from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from tenfold.arrays import Array
from tenfold.distances import Minkowski
from tenfold.estimators.leaderboard_entry import Entry
from tenfold.estimators.parameters import Constraints, check_parameters, integer, random_state
from tenfold.estimators.registration import Registration
from tenfold.estimators.schema import anything
from tenfold.estimators.validation import restore_on_error, validate_weights
from tenfold.pairwise import store_samples
from tenfold.plans.neighbours import fit_prototypes


class PrototypeClassifier(ClassifierMixin, BaseEstimator):
    """The class of the nearest prototype; prototypes are k-means centres of each class.

    k-means in every class leaves a few centres in place of many samples: queries are compared with these alone. With
    one for each class this is `NearestCentroid`, and with two classes a linear classifier.

    Parameters
    ----------
    n_prototypes : int, default=10
        For each class; a class with fewer distinct samples keeps these.
    random_state : int, RandomState instance or None, default=None
        Seed of k-means.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,) or list of such
        The classes, sorted; a list of them for several outputs.
    prototypes_ : ndarray of shape (m, n_features)
        The prototypes of all classes.
    prototype_classes_ : ndarray of shape (m,)
        The class of each.
    certificate_ : Certificate
        Kind exact: every prototype is the weighted mean of the samples of its class to which it is the nearest.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features; only where X had names, all of them strings.

    Notes
    -----
    k-means in every class, then one comparison with each prototype a query: m p operations. A sample weight counts as
    repeated samples for the means, though seeds are drawn otherwise. Runs on dense arrays in memory.
    Seeger, sections 2.1 and 12.1; Cookbook, ch. 22.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from tenfold import PrototypeClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> model = PrototypeClassifier(n_prototypes=8, random_state=0).fit(X[:1000], y[:1000])
    >>> model.prototypes_.shape
    (80, 64)
    >>> bool(model.score(X[1000:], y[1000:]) > 0.92)
    True
    """

    _registration: ClassVar = Registration(
        method="Nearest-prototype classification",
        texts=("S2.1", "S12.1", "B22"),
        reads=("in memory",),
        where=("arrays",),
        instead="Prototypes are found from rows in memory: load them (numpy.asarray, X.compute()), or take "
        "NearestCentroid.",
        certificate=("exact",),
        judge="neighbours.prototypes",
        outputs="neighbours.nearest_prototype",
        stored={"prototype_classes_": anything()},
        board=Entry(
            "prototypes",
            "classification",
            {"random_state": 0},
            {"n_prototypes": (1, 5, 20)},
            fast=False,
            dense=True,
        ),
    )
    _constraints: ClassVar[Constraints] = {"n_prototypes": (integer(1),), "random_state": (random_state(),)}

    def __init__(self, n_prototypes: int = 10, *, random_state: Any = None) -> None:
        self.n_prototypes = n_prototypes
        self.random_state = random_state

    @restore_on_error
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Find the prototypes of the samples X (n, p) of classes y (n,), with optional `sample_weight` (n,)."""
        check_parameters(self, self._constraints)
        self._registration.check_source(type(self).__name__, X)
        X, y = validate_data(self, X, y, dtype=np.float64, order="C")
        check_classification_targets(y)
        weight = validate_weights(sample_weight, X)
        if weight is not None and not weight.all():
            X, y, weight = np.ascontiguousarray(X[weight > 0]), y[weight > 0], weight[weight > 0]
        self.classes_, number = np.unique(y, return_inverse=True)
        random = check_random_state(self.random_state)
        count = len(self.classes_)
        self.prototypes_, which, self.certificate_ = fit_prototypes(X, number, count, weight, self.n_prototypes, random)
        self.prototype_classes_ = self.classes_[which]
        return self

    def predict(self, X: Any) -> Array:
        """The class of the nearest prototype of each sample of X, (m,)."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, order="C", reset=False)
        rows = store_samples(Minkowski(2.0), self.prototypes_).nearest(X, 1)[1][:, 0]
        return self.prototype_classes_[rows]
