"""Sets of classes around the predictions of any classifier."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin
from sklearn.utils import _safe_indexing, check_consistent_length, check_random_state, column_or_1d, indexable
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from tenfold.arrays import Floats
from tenfold.decide.conformal import (
    METHODS,
    Guarantee,
    check_coverage,
    fit_model,
    keep_weighted,
    leave_out,
    quantile_of,
    rank_of,
)
from tenfold.estimators.logistic.regression import LogisticRegression

SCORES = ("adaptive", "threshold")


class ConformalClassifier(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    """Sets of classes that hold the true one with a stated probability, from the probabilities of any classifier.

    The score of a class is, with *threshold*, one minus its probability, which gives the smallest sets on average; with
    *adaptive* the sum of the probabilities of all classes that are at least as probable, which gives hard samples
    larger sets (Romano, Sesia and Candes 2020, without randomisation). A set holds the classes whose scores are at most
    the quantile of rank ``ceil((n + 1) coverage)`` of the scores of the true classes of samples that a model has not
    seen, with *cv+* and *jackknife+* those below enough of these scores, each by the model without the sample. The most
    probable class is always in the set.

    Parameters
    ----------
    estimator : classifier with `predict_proba`, default=None
        The classifier; None is LogisticRegression().
    method : {"auto", "split", "cv+", "jackknife+"}, default="auto"
        Which samples a model has not seen: a part of them (split), each fold (cv+), each sample (jackknife+, a fit for
        each of them). "auto" is cv+.
    conformity : {"adaptive", "threshold"}, default="adaptive"
        The score of a class.
    coverage : float, default=0.9
        Probability with which a set is to hold the true class; `predict_set` takes others.
    cv : int, cross-validation generator or an iterable, default=10
        The folds of cv+; a number of folds is shuffled, and stratified where the classes have as many samples.
    calibration_size : float or int, default=0.3
        The part, or the number, of the samples that split keeps for the scores.
    random_state : int, RandomState instance or None, default=None
        Seed of the split or of the folds.

    Attributes
    ----------
    estimator_ : classifier
        The model that predicts: fitted to all samples, with split to those that are not kept for the scores.
    classes_ : ndarray of shape (n_classes,)
        The classes, sorted.
    scores_ : ndarray of shape (n_scores,)
        Scores of the true classes of samples that the model has not seen.
    method_ : str
        "split", "cv+" or "jackknife+".
    guarantee_ : Guarantee
        The coverage that is proved for `coverage`, and the same in a sentence.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features; only where X had names, all of them strings.

    Notes
    -----
    One fit for split, one a fold and one more for cv+. A class that a model without a fold has not seen has probability
    zero there. With weights scores count once a sample, so that nothing is proved where weights change the
    distribution; samples of weight zero are left out. Vovk, Gammerman and Shafer 2005; Romano, Sesia and Candes 2020.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tenfold import LogisticRegression
    >>> from tenfold.decide import ConformalClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = ConformalClassifier(LogisticRegression(), coverage=0.9, random_state=0).fit(X, y)
    >>> model.predict_set(X[[0, 70, 149]]).tolist()
    [[True, False, False], [False, False, True], [False, False, True]]
    """

    def __init__(
        self,
        estimator: Any = None,
        *,
        method: str = "auto",
        conformity: str = "adaptive",
        coverage: float = 0.9,
        cv: Any = 10,
        calibration_size: Any = 0.3,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.method = method
        self.conformity = conformity
        self.coverage = coverage
        self.cv = cv
        self.calibration_size = calibration_size
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = self._inner().__sklearn_tags__()
        tags.input_tags = inner.input_tags
        tags.classifier_tags.multi_class = inner.classifier_tags.multi_class
        return tags

    def _inner(self) -> Any:
        return LogisticRegression() if self.estimator is None else self.estimator

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the classifier and the scores of left-out samples to X (n, p), classes y (n,) and weights (n,).

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n, p)
            The samples, as the classifier takes them.
        y : array-like of shape (n,)
            The classes.
        sample_weight : array-like of shape (n,), default=None
            Weights of the samples, which the classifier must take.

        Returns
        -------
        self : estimator
            The fitted estimator.
        """
        for name, value, options in (("method", self.method, METHODS), ("conformity", self.conformity, SCORES)):
            if value not in options:
                raise ValueError(f"{name} must be one of {options}. Got {value!r}.")
        coverage, inner = check_coverage(self.coverage), self._inner()
        if y is None:
            raise ValueError("This ConformalClassifier estimator requires y to be passed, but the target y is None.")
        if not hasattr(inner, "predict_proba"):
            raise TypeError(f"{type(inner).__name__} has no probabilities: put it into a tenfold.decide.Calibrator.")
        X, y = indexable(X, y)
        y = column_or_1d(y, warn=True)
        check_consistent_length(X, y)
        check_classification_targets(y)
        X, y, weight, cv = keep_weighted(X, y, sample_weight, self.cv)
        classes = np.unique(y)
        if len(classes) < 2:
            raise ValueError(f"Sets of classes need two classes at least. Got 1 class: {classes[:1].tolist()}.")
        self.method_ = "cv+" if self.method == "auto" else self.method
        random = check_random_state(self.random_state)
        left_out = leave_out(inner, X, y, weight, self.method_, cv, self.calibration_size, random)
        self.classes_ = classes
        scores = []
        for model, part in left_out:
            own = np.searchsorted(classes, y[part])
            scores.append(self._score(self._probabilities(model, _safe_indexing(X, part)))[np.arange(len(part)), own])
        self.scores_ = np.concatenate(scores)
        split = self.method_ == "split"
        self.estimator_ = left_out.models[0] if split else fit_model(inner, X, y, weight)
        self._left_out = None if split else left_out
        self.guarantee_ = Guarantee.of(self.method_, coverage, len(self.scores_))
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(self.estimator_, name):
                setattr(self, name, getattr(self.estimator_, name))
        return self

    def _probabilities(self, model: Any, X: Any) -> Floats:
        """Probabilities of all classes (m, K); zero of those that the model has not seen."""
        P = np.asarray(model.predict_proba(X), dtype=np.float64)
        known = np.asarray(model.classes_)
        if np.array_equal(known, self.classes_):
            return P
        result = np.zeros((len(P), len(self.classes_)))
        result[:, np.searchsorted(self.classes_, known)] = P
        return result

    def _score(self, P: Floats) -> Floats:
        """The score of every class, (m, K)."""
        if self.conformity == "threshold":
            return 1.0 - P
        order = np.argsort(-P, axis=1, kind="stable")
        total = np.cumsum(np.take_along_axis(P, order, axis=1), axis=1)
        result = np.empty_like(P)
        np.put_along_axis(result, order, total, axis=1)
        return result

    def predict(self, X: Any) -> Any:
        """The class that the classifier predicts for each sample of X, (m,)."""
        check_is_fitted(self)
        return self.estimator_.predict(X)

    def predict_proba(self, X: Any) -> Floats:
        """The probabilities of the classifier for samples X, (m, K)."""
        check_is_fitted(self)
        return self._probabilities(self.estimator_, X)

    def predict_set(self, X: Any, coverage: float | None = None) -> NDArray[np.bool_]:
        """Sets of classes for samples X.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (m, p)
            Samples to predict.
        coverage : float, default=None
            Probability with which a set is to hold the true class; None: that of the constructor.

        Returns
        -------
        ndarray of shape (m, n_classes), bool
            Whether each class of `classes_` is in the set of a sample.
        """
        check_is_fitted(self)
        coverage = check_coverage(self.coverage if coverage is None else coverage)
        P = self._probabilities(self.estimator_, X)
        if self._left_out is None:
            inside = self._score(P) <= quantile_of(self.scores_, coverage)
        else:
            # a class stays out where it scores above so many of the left-out samples, each by the model without it
            above = np.zeros(P.shape, dtype=np.intp)
            place = self._left_out.model_of
            for k, (model, _) in enumerate(self._left_out):
                fold = np.sort(self.scores_[place == k])
                above += np.searchsorted(fold, self._score(self._probabilities(model, X)), side="left")
            inside = above < rank_of(coverage, len(self.scores_))
        inside[np.arange(len(P)), np.argmax(P, axis=1)] = True
        return inside
