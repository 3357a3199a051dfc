"""The lookup table, which knows what it has seen and nothing else."""

from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from tenfold.arrays import FLOATS, Array, NotFinite
from tenfold.estimators.class_labels import encode_labels, take_classes
from tenfold.estimators.registration import Registration
from tenfold.estimators.schema import anything, floats, integers
from tenfold.estimators.validation import require_finite, restore_on_error, validate, validate_weights
from tenfold.judge.certificate import Certificate
from tenfold.plans.lookup import find_rows, majority


class LookupTable(ClassifierMixin, BaseEstimator):
    """Predict the class that was seen with exactly this sample, and a default class for all others.

    The classifier without a training error wherever equal samples have one class, and without any generalisation: in
    many dimensions hardly a new sample was seen before.

    Parameters
    ----------
    default : class label, default=None
        The class of samples that were not seen; None: the most frequent class.

    Attributes
    ----------
    samples_ : ndarray of shape (n_distinct, n_features)
        The distinct samples, sorted.
    numbers_ : ndarray of shape (n_distinct,)
        The number of the class of each, that of the largest weight.
    default_ : class label
        The class of all other samples.
    classes_ : ndarray of shape (n_classes,)
        The classes, sorted.
    certificate_ : Certificate
        Kind exact: the table is counted again.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features; only where X had names, all of them strings.

    Notes
    -----
    ``n p log n`` operations. Runs on NumPy arrays, with sample weights.
    Seeger, section 2.1.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import LookupTable
    >>> model = LookupTable(default="unknown").fit(np.array([[0.0, 1.0], [1.0, 1.0]]), ["cat", "dog"])
    >>> model.predict(np.array([[1.0, 1.0], [0.5, 1.0]])).tolist()
    ['dog', 'unknown']
    """

    _registration: ClassVar = Registration(
        method="Lookup table",
        texts=("S2.1",),
        reads=("in memory",),
        where=("arrays",),
        instead="A lookup table sorts its samples: pass a NumPy array.",
        certificate=("exact",),
        judge="lookup.table",
        outputs="lookup.table_outputs",
        stored={"samples_": floats("m p"), "numbers_": integers("m", low=0, high="k"), "default_": anything()},
    )

    certificate_: Certificate

    def __init__(self, default: Any = None) -> None:
        self.default = default

    @restore_on_error
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to samples X (n, p), classes y (n,), and optional `sample_weight`, a number or (n,)."""
        X, y = validate(self, X, y, numeric=False, multi_output=False)
        self.classes_, number = encode_labels(y, X)
        weight = validate_weights(sample_weight, X)
        mass = np.ones(len(X)) if weight is None else weight
        table = require_finite(self, X, lambda: majority(check(X), number, mass, len(self.classes_)))
        self.samples_, self.numbers_, self.certificate_ = table.samples.astype(X.dtype), table.values, table.certificate
        votes = np.bincount(number, mass, len(self.classes_))
        self.default_ = self.classes_[int(np.argmax(votes))] if self.default is None else self.default
        return self

    def predict(self, X: Any) -> Array:
        """The class of each sample of X (m, p), (m,): that of an equal sample, or the default."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=list(FLOATS), reset=False)
        row = find_rows(np.asarray(self.samples_, dtype=np.float64), np.asarray(X, dtype=np.float64))
        known = take_classes(self.classes_, self.numbers_[np.maximum(row, 0)])
        if np.all(row >= 0):
            return known
        return np.where(row >= 0, known, self.default_)


def check(X: Array) -> Any:
    """The samples in float64, finite."""
    X = np.asarray(X, dtype=np.float64)
    if not np.isfinite(X).all():
        raise NotFinite
    return X
