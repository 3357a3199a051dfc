"""What estimators of square loss share: a penalty for each target, and classification by targets of -1 and +1."""

from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils import compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_is_fitted

from tenfold.arrays import Array, is_array_api, is_sparse, like, namespace, on_host
from tenfold.estimators.class_labels import (
    as_vector,
    compute_class_weights,
    encode_labels,
    sample_factors,
    take_classes,
    warn_of_many_classes,
)
from tenfold.estimators.predictors import ScoreMixin
from tenfold.estimators.validation import validate, validate_weights


def penalties(alpha: Any, targets: int) -> Array:
    """One alpha for each target."""
    values = np.ravel(np.asarray(alpha, dtype=np.float64))
    if values.size not in (1, targets):
        raise ValueError(f"Number of targets and number of penalties do not correspond: {values.size} != {targets}")
    if not (values >= 0).all() or not np.isfinite(values).all():
        raise ValueError(f"alpha must be finite and at least zero, got {alpha!r}.")
    return np.array(np.broadcast_to(values, targets))


def signs(number: Array, classes: int) -> Array:
    """Targets +1 for a sample's own class and -1 for all others, (n, classes); for two classes one column, +1 for the
    second.
    """
    xp = namespace(number)
    ones = like(np.ones(1), number)
    if classes <= 2:
        return xp.where(number == 1, ones, -ones)[:, None]
    return xp.where(number[:, None] == like(np.arange(classes), number)[None, :], ones, -ones)


class RidgeClassification(ScoreMixin, ClassifierMixin):
    """Classification by least squares on targets -1 and +1, one for each class (or one for two classes)."""

    class_weight: Any

    def _prepare(self, X: Any, y: Any, sample_weight: Any) -> tuple[Array, Array, Array, Array | None]:
        """X, y, the targets (n, t) and the weights; sets `classes_`."""
        X, y = validate(self, X, y, numeric=False)
        # integers and text (n,) need no inspection, which takes as long as a small fit
        labels = is_array_api(y) or (type(y) is np.ndarray and y.ndim == 1 and y.dtype.kind in "biufU")
        self._several = y.ndim == 2 if labels else type_of_target(y) == "multilabel-indicator"
        weight = validate_weights(sample_weight, X)
        if self._several:
            y = y.toarray() if is_sparse(y) else y
            self.classes_ = np.arange(y.shape[1])
            Y = namespace(y).where(y > 0, 1.0, -1.0)
            if self.class_weight is not None:
                balance = np.asarray(compute_sample_weight(self.class_weight, on_host(y)), dtype=np.float64)
                weight = like(balance, Y) if weight is None else weight * like(balance, Y)
            return X, y, Y, weight
        if not labels:
            check_classification_targets(y)
            y = as_vector(y)
        self.classes_, number = encode_labels(y, X)
        if labels and not is_array_api(y) and y.dtype.kind != "f":
            warn_of_many_classes(self.classes_, len(y))
        Y = signs(number, self.classes_.shape[0])
        if self.class_weight is not None:
            # without sample weights: as in scikit-learn, classes are balanced by their samples
            factors = compute_class_weights(self.class_weight, self.classes_, number, None)
            balance = sample_factors(factors, number)
            weight = balance if weight is None else weight * balance
        return X, y, Y, weight

    def decision_function(self, X: Any) -> Array:
        """Signed scores of the samples X, (n,) for two classes, else (n, n_classes)."""
        z = self._predict_raw(X)
        return z[:, 0] if z.ndim == 2 and z.shape[1] == 1 else z

    def predict(self, X: Any) -> Array:
        """The class of largest score of each sample of X, (n,); for several labels a sample, those of positive
        score.
        """
        check_is_fitted(self)
        scores = self.decision_function(X)
        xp = namespace(scores)
        if self._several:
            return xp.astype(scores > 0, xp.int64)
        # a single class is always right
        chosen = scores > 0 if scores.ndim == 1 else xp.argmax(scores, axis=1)
        return take_classes(self.classes_, chosen if self.classes_.shape[0] > 1 else xp.zeros_like(chosen))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags
