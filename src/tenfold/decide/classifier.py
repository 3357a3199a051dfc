"""Cost-sensitive decisions of a classifier, with reject option and class priors."""

import copy
from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.utils import column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from tenfold.arrays import Floats
from tenfold.decide.losses import (
    Threshold,
    bayes_decisions,
    check_loss,
    expected_loss,
    mistakes,
    threshold,
    with_reject,
)
from tenfold.decide.priors import Priors, check_priors, estimate_priors, reweight
from tenfold.evaluation import Figure
from tenfold.evaluation.intervals import Sample


class DecisionClassifier(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    """Decisions of a classifier by expected loss: cost-sensitive, with a reject option, or for other class priors.

    Predicts the decision j with the smallest ``sum_k L[j, k] P(k | x)``. Probabilities should be calibrated
    (`Calibrator`), or the expected losses are wrong.

    Parameters
    ----------
    estimator : classifier with `predict_proba`
        The classifier, whose probabilities are used.
    loss : array-like of shape (J, K) or dict, default=None
        Cost of each decision (first axis) where each class is the true one (second axis), in the order of `classes_`;
        or a dict from (decision, true class) to its cost, in which pairs that are missing cost 1, and 0 where both are
        the same. None is one for every mistake.
    reject_cost : float, default=None
        Cost of "don't know", a decision of its own; None for none. With one for every mistake, it is taken where the
        likeliest class has a probability below 1 - reject_cost (Chow).
    reject_label : label, default="auto"
        What `predict` gives then; "auto": -1, or of labels that are text "don't know".
    decisions : array-like of shape (J,), default=None
        Labels of the decisions of `loss`, where they are not the classes. None for the classes.
    priors : array-like of shape (K,) or dict, default=None
        Shares of the classes where the model is used, in the order of `classes_`; None: those of training. `adapt`
        estimates them from samples without labels.

    Attributes
    ----------
    estimator_ : classifier
        The fitted classifier.
    classes_ : ndarray of shape (K,)
        The classes, sorted.
    decisions_ : ndarray of shape (J,)
        Labels of what can be decided.
    loss_ : ndarray of shape (J, K)
        The loss matrix.
    trained_priors_ : ndarray of shape (K,)
        Weighted shares of the classes in training.
    priors_ : ndarray of shape (K,)
        The shares that are used.
    threshold_ : Threshold or None
        Of two classes and two decisions; else None.
    n_features_in_ : int
        Number of features seen in `fit`; only where the classifier has it.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features; only where X had names, all of them strings.

    Notes
    -----
    One fit of the classifier; runs wherever it does.
    scikit-learn's FixedThresholdClassifier has the threshold alone, and TunedThresholdClassifierCV looks for it; where
    probabilities are calibrated it follows from the loss. Seeger, section 5.2.4; Welling, section 6.3.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from tenfold import GaussianNB
    >>> from tenfold.decide import DecisionClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)  # 0 is malignant
    >>> model = DecisionClassifier(GaussianNB(), loss={(1, 0): 50.0}, reject_cost=0.5).fit(X, y)
    >>> model.loss_.tolist()
    [[0.0, 1.0], [50.0, 0.0], [0.5, 0.5]]
    >>> sorted(set(model.predict(X).tolist()))
    [-1, 0, 1]
    """

    def __init__(
        self,
        estimator: Any,
        *,
        loss: Any = None,
        reject_cost: float | None = None,
        reject_label: Any = "auto",
        decisions: Any = None,
        priors: Any = None,
    ) -> None:
        self.estimator = estimator
        self.loss = loss
        self.reject_cost = reject_cost
        self.reject_label = reject_label
        self.decisions = decisions
        self.priors = priors

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = self.estimator.__sklearn_tags__()
        tags.input_tags = inner.input_tags
        tags.classifier_tags.multi_class = inner.classifier_tags.multi_class
        return tags

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "DecisionClassifier":
        """Fit the classifier to X (n, p), classes y (n,) and optional `sample_weight` (n,); the loss needs no data."""
        if y is None:
            raise ValueError("This DecisionClassifier estimator requires y to be passed, but the target y is None.")
        y = column_or_1d(y, warn=True)
        check_classification_targets(y)
        given = {} if sample_weight is None else {"sample_weight": np.asarray(sample_weight, dtype=np.float64)}
        if given and not has_fit_parameter(self.estimator, "sample_weight"):
            raise ValueError(f"{type(self.estimator).__name__} takes no sample_weight: leave the weights out.")
        model = clone(self.estimator).fit(X, y, **given)
        if not hasattr(model, "predict_proba"):
            raise TypeError(
                f"{type(model).__name__} has no predict_proba, and costs need probabilities. Use "
                f"Calibrator({type(model).__name__}(...))."
            )
        classes = np.asarray(model.classes_)
        if len(classes) < 2:
            raise ValueError(f"Decisions need two classes at least. Got one class: {classes[0]!r}.")
        loss, decisions = self._loss_matrix(classes)
        class_weights = np.array([np.sum(given["sample_weight"][y == k]) if given else np.sum(y == k) for k in classes])
        self.trained_priors_ = class_weights / np.sum(class_weights)
        self.priors_ = self._priors_of(classes)
        self.estimator_, self.classes_, self.loss_, self.decisions_ = model, classes, loss, decisions
        self.threshold_: Threshold | None = threshold(loss) if loss.shape == (2, 2) else None
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(model, name):
                setattr(self, name, getattr(model, name))
        return self

    def _loss_matrix(self, classes: Any) -> tuple[Floats, Any]:
        """The loss matrix, with a row for the reject option, and the labels of its rows."""
        known = classes.tolist()
        labels = list(known if self.decisions is None else self.decisions)
        if isinstance(self.loss, Mapping):
            matrix = np.array([[0.0 if decision == true else 1.0 for true in known] for decision in labels])
            for pair, cost in self.loss.items():
                decision, true = pair
                if decision not in labels or true not in known:
                    raise ValueError(f"loss has the pair {pair!r}: none of decisions {labels} and classes {known}.")
                matrix[labels.index(decision), known.index(true)] = cost
        else:
            matrix = mistakes(len(known)) if self.loss is None else np.asarray(self.loss)
        matrix = check_loss(matrix, len(known))
        if len(labels) != len(matrix):
            raise ValueError(
                f"loss has {len(matrix)} rows, and there are {len(labels)} decisions {labels}: name them by "
                "decisions=[...]."
            )
        if self.reject_cost is None and self.decisions is None:
            return matrix, classes
        if self.reject_cost is not None:
            matrix = with_reject(matrix, self.reject_cost)
            labels.append(self._reject_label(classes, labels))
        same = len({type(label) for label in labels}) == 1
        return matrix, np.asarray(labels, dtype=None if same else object)

    def _reject_label(self, classes: Any, labels: list[Any]) -> Any:
        if not (isinstance(self.reject_label, str) and self.reject_label == "auto"):
            if self.reject_label in labels:
                raise ValueError(f"reject_label {self.reject_label!r} is also a decision: choose another one.")
            return self.reject_label
        label: Any = "don't know" if classes.dtype.kind in "OUST" else -1
        if label in labels:
            raise ValueError(f"The label {label!r} of rejected rows is also a class: give another reject_label.")
        return label

    def _priors_of(self, classes: Any) -> Floats:
        if self.priors is None:
            return self.trained_priors_
        given = self.priors
        if isinstance(given, Mapping):
            if set(given) != set(classes.tolist()):
                raise ValueError(f"priors must have a share for each of the classes {classes.tolist()}. Got {given!r}.")
            given = [given[label] for label in classes.tolist()]
        return check_priors(given, len(classes))

    def predict_proba(self, X: Any) -> Floats:
        """Probabilities of the classes for the samples X, (n, K), under `priors_`."""
        check_is_fitted(self)
        proba = np.asarray(self.estimator_.predict_proba(X), dtype=np.float64)
        if np.array_equal(self.priors_, self.trained_priors_):
            return proba
        return reweight(proba, self.priors_, self.trained_priors_)

    def expected_loss(self, X: Any) -> Floats:
        """Expected loss of each decision for the samples X, (n, J)."""
        return expected_loss(self.predict_proba(X), self.loss_)

    def predict(self, X: Any) -> Any:
        """The decision with the smallest expected loss for each sample of X, (n,)."""
        check_is_fitted(self)
        return self.decisions_[bayes_decisions(self.predict_proba(X), self.loss_).choice]

    def risk(self, X: Any, y: Any, *, confidence: float = 0.95) -> Figure:
        """Mean loss of the decisions for X with true classes y, with its interval at `confidence`; for samples that
        were not fitted.
        """
        choice = bayes_decisions(self.predict_proba(X), self.loss_).choice
        index = {label: k for k, label in enumerate(self.classes_.tolist())}
        labels = column_or_1d(y).tolist()
        if unknown := [label for label in labels if label not in index]:
            raise ValueError(f"y has the label {unknown[0]!r}, which is none of the classes {self.classes_.tolist()}.")
        cost = self.loss_[choice, [index[label] for label in labels]]
        interval = Sample(len(cost), confidence=confidence).mean(cost, bool(np.min(self.loss_) >= 0.0))
        return Figure.of("risk", interval, confidence, "lower")

    def adapt(self, X: Any) -> tuple["DecisionClassifier", Priors]:
        """A copy for the shares of the classes in X, samples without labels, and how these were estimated."""
        check_is_fitted(self)
        estimate = estimate_priors(self.estimator_.predict_proba(X), self.trained_priors_)
        other = copy.copy(self)
        other.priors_ = estimate.priors
        return other, estimate
