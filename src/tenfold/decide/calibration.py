"""Probabilities from scores: Platt's sigmoid, and monotone (isotonic) regression (Platt 1999; Zadrozny and Elkan 2002).

Scores of training samples are overconfident. A calibrator is fitted on scores of left-out samples: by exact
leave-one-out where the model is a ridge classifier, else by folds.

    sigmoid    P(1 | s) = 1 / (1 + exp(-(a s + b))), by maximum likelihood for the targets (n_1 + 1) / (n_1 + 2) and
               1 / (n_0 + 2) in place of 1 and 0, so that separable classes have a maximum, too
    isotonic   the non-decreasing function of the score with the least squared error, linear between training scores
"""

import warnings
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from scipy.special import expit, logit
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.model_selection import check_cv
from sklearn.utils import _safe_indexing, check_consistent_length, column_or_1d, indexable
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from tenfold.arrays import Floats
from tenfold.estimators.least_squares.cv import RidgeClassifierCV
from tenfold.estimators.least_squares.ridge import RidgeClassifier
from tenfold.estimators.logistic.regression import LogisticRegression
from tenfold.judge.certificate import Certificate
from tenfold.plans.isotonic import fit_curve


class Curve(Protocol):
    """A function from scores to probabilities, with its certificate."""

    certificate: Certificate

    def __call__(self, score: Floats) -> Floats: ...


@dataclass(frozen=True)
class Sigmoid:
    """The sigmoid ``1 / (1 + exp(-(slope s + intercept)))`` of a score s.

    Attributes
    ----------
    slope : float
        Factor of the score.
    intercept : float
        What is added to it.
    certificate : Certificate
        Kind gap: no slope and intercept have a better likelihood by more.
    """

    slope: float
    intercept: float
    certificate: Certificate

    @classmethod
    def fit(cls, score: Floats, positive: Any, weight: Floats) -> "Sigmoid":
        """Fit to scores, `score` (n,), of samples that are `positive` or not, by `weight` (n,)."""
        positive_weight, negative_weight = float(np.sum(weight[positive])), float(np.sum(weight[~positive]))
        target = np.where(positive, (positive_weight + 1.0) / (positive_weight + 2.0), 1.0 / (negative_weight + 2.0))
        # a target between 0 and 1 is a sample of each class with the weights target and 1 - target
        rows = np.concatenate([score, score])[:, None]
        labels = np.repeat([1, 0], len(score))
        model = LogisticRegression(C=np.inf).fit(
            rows, labels, sample_weight=np.concatenate([weight * target, weight * (1.0 - target)])
        )
        return cls(float(model.coef_[0, 0]), float(model.intercept_[0]), model.certificate_)

    def __call__(self, score: Floats) -> Floats:
        return np.asarray(expit(self.slope * score + self.intercept))


@dataclass(frozen=True)
class Isotonic:
    """A non-decreasing function, linear between `scores` and constant beyond them.

    Attributes
    ----------
    scores : ndarray of shape (m,)
        Scores at which the function is known, rising.
    values : ndarray of shape (m,)
        Its values there.
    certificate : Certificate
        Kind gap: no other non-decreasing function is nearer by more.
    """

    scores: Floats
    values: Floats
    certificate: Certificate

    @classmethod
    def fit(cls, score: Floats, positive: Any, weight: Floats) -> "Isotonic":
        """Fit to scores, `score` (n,), of samples that are `positive` or not, by `weight` (n,)."""
        targets, weight = np.asarray(positive, dtype=np.float64), np.asarray(weight, dtype=np.float64)
        fitted = fit_curve(score, targets, weight, increasing=True, low=-np.inf, high=np.inf, dtype=np.float64)
        return cls(*fitted)

    def __call__(self, score: Floats) -> Floats:
        return np.interp(score, self.scores, self.values)


METHODS: dict[str, Any] = {"sigmoid": Sigmoid, "isotonic": Isotonic}


class Calibrator(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    """A classifier with calibrated probabilities, from the scores of left-out samples.

    The classifier is fitted once on all samples, and once a fold for the calibration, or not again: of
    `RidgeClassifier` and `RidgeClassifierCV` all leave-one-out scores follow from one decomposition. Several classes
    are calibrated one against the rest and normalised.

    Parameters
    ----------
    estimator : classifier with `decision_function` or `predict_proba`, default=None
        The classifier; None is RidgeClassifier(). Of probabilities the log odds are the score.
    method : {"sigmoid", "isotonic"}, default="sigmoid"
        Isotonic fits any monotone relation, and needs more samples (some hundreds of the rarer class).
    cv : "auto", int, cross-validation generator or an iterable, default="auto"
        "auto": leave-one-out where it is exact and free, else five folds, fewer where a class has fewer samples.

    Attributes
    ----------
    estimator_ : classifier
        Fitted on all samples.
    calibrators_ : list of Sigmoid or Isotonic
        Functions from scores to probabilities; one of two classes, else one a class.
    left_out_scores_ : ndarray of shape (n,) or (n, K)
        Scores that the calibrators were fitted on.
    protocol_ : str
        How samples were left out, in words.
    certificate_ : Certificate
        Kind gap: the worst of the curves. For the sigmoid no slope and intercept have a better
        likelihood by more, for the isotonic curve no other non-decreasing one is nearer by more.
    classes_ : ndarray of shape (n_classes,)
        The classes, sorted.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features; only where X had names, all of them strings.

    Notes
    -----
    One fit of the classifier to all samples, and one a fold; runs wherever the classifier does.
    scikit-learn's CalibratedClassifierCV(ensemble=False) does the same by folds. A fitted model is calibrated, on rows
    that it has not seen, inside scikit-learn's FrozenEstimator. Seeger, sections 5.2.4 and 9.4.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from tenfold import RidgeClassifier
    >>> from tenfold.decide import Calibrator
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = make_pipeline(StandardScaler(), Calibrator(RidgeClassifier())).fit(X, y)
    >>> model[-1].protocol_, model[-1].certificate_.ok
    ('exact leave-one-out', True)
    >>> model.predict_proba(X[:2]).round(3).tolist()
    [[1.0, 0.0], [0.999, 0.001]]
    """

    def __init__(self, estimator: Any = None, *, method: str = "sigmoid", cv: Any = "auto") -> None:
        self.estimator = estimator
        self.method = method
        self.cv = cv

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = self._inner().__sklearn_tags__()
        tags.input_tags = inner.input_tags
        tags.classifier_tags.multi_class = inner.classifier_tags.multi_class
        return tags

    def _inner(self) -> Any:
        return RidgeClassifier() if self.estimator is None else self.estimator

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "Calibrator":
        """Fit the classifier and its calibration to X (n, p), classes y (n,) and optional `sample_weight` (n,)."""
        if self.method not in METHODS:
            raise ValueError(f"method must be 'sigmoid' or 'isotonic'. Got {self.method!r}.")
        inner = self._inner()
        if y is None:
            raise ValueError("This Calibrator estimator requires y to be passed, but the target y is None.")
        X, y = indexable(X, y)
        y = column_or_1d(y, warn=True)
        check_classification_targets(y)
        weight = np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        check_consistent_length(y, weight)
        given = {} if sample_weight is None else {"sample_weight": weight}
        if given and not has_fit_parameter(inner, "sample_weight"):
            raise ValueError(
                f"{type(inner).__name__} takes no sample_weight, so that its scores would not be weighted: leave the "
                "weights out, or put the Calibrator inside the pipeline."
            )
        estimator = clone(inner).fit(X, y, **given)
        classes = np.asarray(estimator.classes_)
        if len(classes) < 2:
            raise ValueError(f"Calibration needs two classes at least. Got one class: {classes[0]!r}.")
        scores, protocol = left_out_scores(inner, estimator, X, y, weight if given else None, self.cv)
        kind = METHODS[self.method]
        columns = [scores] if len(classes) == 2 else list(scores.T)
        positives = [classes[1]] if len(classes) == 2 else list(classes)
        curves = [kind.fit(column, y == label, weight) for column, label in zip(columns, positives, strict=True)]
        self.estimator_, self.classes_, self.calibrators_ = estimator, classes, curves
        self.left_out_scores_, self.protocol_ = scores, protocol
        self.certificate_ = max((c.certificate for c in curves), key=lambda c: c.value / c.allowed)
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(estimator, name):
                setattr(self, name, getattr(estimator, name))
        return self

    def predict_proba(self, X: Any) -> Floats:
        """Calibrated probabilities of the samples X, (n, K)."""
        check_is_fitted(self)
        scores = scores_of(self.estimator_, X)
        if len(self.classes_) == 2:
            second = self.calibrators_[0](scores)
            return np.column_stack([1.0 - second, second])
        proba = np.column_stack([curve(column) for curve, column in zip(self.calibrators_, scores.T, strict=True)])
        total = np.sum(proba, axis=1, keepdims=True)
        return np.where(total > 0.0, proba / np.where(total > 0.0, total, 1.0), 1.0 / len(self.classes_))

    def predict(self, X: Any) -> Any:
        """The likeliest class of each sample of X, (n,)."""
        check_is_fitted(self)
        return self.classes_[np.argmax(self.predict_proba(X), axis=1)]


def scores_of(model: Any, X: Any) -> Floats:
    """(n,) of two classes, else (n, K): the decision function, or the log odds of the probabilities."""
    if hasattr(model, "decision_function"):
        return np.asarray(model.decision_function(X), dtype=np.float64)
    if not hasattr(model, "predict_proba"):
        raise TypeError(f"{type(model).__name__} has neither decision_function nor predict_proba to calibrate.")
    tiny = 1e-12
    proba = np.clip(np.asarray(model.predict_proba(X), dtype=np.float64), tiny, 1.0 - tiny)
    return np.asarray(logit(proba[:, 1] if proba.shape[1] == 2 else proba))


def left_out_scores(inner: Any, fitted: Any, X: Any, y: Any, weight: Floats | None, cv: Any) -> tuple[Floats, str]:
    """The score of every sample by a model that has not seen it, and how samples were left out."""
    if isinstance(cv, str) and cv != "auto":
        raise ValueError(f"cv must be 'auto', a number of folds, a splitter or splits. Got {cv!r}.")
    if isinstance(cv, str):
        exact = _leave_one_out_scores(inner, fitted, X, y, weight)
        if exact is not None:
            return exact, "exact leave-one-out"
        smallest_class = int(np.min(np.unique(y, return_counts=True)[1]))
        cv = min(5, smallest_class)
        if cv < 2:
            raise ValueError("A class has a single row, which cannot be left out and known. Give two of each at least.")
    splitter = check_cv(cv, y, classifier=True)
    classes = np.asarray(fitted.classes_)
    scores = np.full(len(y) if len(classes) == 2 else (len(y), len(classes)), np.nan)
    folds = 0
    for train, test in splitter.split(X, y):
        given = {} if weight is None else {"sample_weight": weight[train]}
        model = clone(inner).fit(_safe_indexing(X, train), y[train], **given)
        if not np.array_equal(model.classes_, classes):
            raise ValueError("A class is missing from the training rows of a fold: use fewer or stratified folds.")
        scores[test] = scores_of(model, _safe_indexing(X, test))
        folds += 1
    if not np.isfinite(scores).all():
        raise ValueError("The splits leave some rows out of all test parts: every row needs the score of a model.")
    return scores, f"{folds} folds"


def _leave_one_out_scores(inner: Any, fitted: Any, X: Any, y: Any, weight: Floats | None) -> Floats | None:
    """Exact leave-one-out scores of ridge classifiers; None of other models."""
    if type(inner) is RidgeClassifier:
        if inner.positive or not inner.alpha > 0.0:
            return None
        alpha, intercept = float(inner.alpha), inner.fit_intercept
    elif type(inner) is RidgeClassifierCV and inner.cv is None:
        alpha, intercept = float(fitted.alpha_), inner.fit_intercept
    else:
        return None
    if inner.class_weight == "balanced":
        return None  # the weights would change with the left-out sample
    model = RidgeClassifierCV(
        alphas=[alpha],
        fit_intercept=intercept,
        scoring="accuracy",
        class_weight=inner.class_weight,
        store_cv_results=True,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the fit itself has warned already
        model.fit(X, y, **({} if weight is None else {"sample_weight": weight}))
    left_out = np.asarray(model.cv_results_, dtype=np.float64)[..., 0]
    return left_out[:, 0] if left_out.ndim == 2 and left_out.shape[1] == 1 else left_out
