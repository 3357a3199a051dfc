"""Classifiers whose parameters follow from mergeable statistics of the samples of each class."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

from tenfold.arrays import Array, Floats, is_dask, is_numpy, namespace, numpy_dtype, on_host
from tenfold.data import Rows
from tenfold.estimators.class_labels import (
    argmax_scores,
    encode_labels,
    label_indices,
    log_probabilities,
    probabilities,
    take_classes,
    unknown_classes,
)
from tenfold.estimators.parameters import Constraints, check_parameters
from tenfold.estimators.predictors import Predictor, ScoreMixin
from tenfold.estimators.validation import (
    as_rows,
    require_finite,
    restore_on_error,
    validate,
    validate_more,
    validate_weights,
)
from tenfold.judge.certificate import Certificate
from tenfold.plans.class_statistics import TooFewSamples


class ClassStatisticsClassifier(ScoreMixin, ClassifierMixin, Predictor, BaseEstimator):
    """Base of classifiers whose parameters follow from statistics of the samples of each class.

    A class implements `_fold`, the statistics; `_estimate`, the parameters and their certificate; and
    `_prediction_function`, the scores.
    """

    _constraints: ClassVar[Constraints]

    classes_: Array
    certificate_: Certificate

    def _fold(self, rows: Rows, classes: int) -> Any:
        """The statistics of the rows, whose groups are the class indices."""
        raise NotImplementedError

    def _merge(self, before: Any, of_part: Any) -> Any:
        """The statistics of all rows."""
        return before.merge(of_part)

    def _estimate(self, sums: Any, rows: Rows | None, X: Array) -> None:
        """Set the fitted attributes and their certificate, judged by the rows, or by the statistics after a
        `partial_fit`.
        """
        raise NotImplementedError

    def _check_partial_fit(self) -> None:
        """Raise where the parameters do not allow `partial_fit`."""

    @restore_on_error
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit by one pass over the data, and judge by another.

        Parameters
        ----------
        X : array-like of shape (n, p), table, Dask collection, or array on a device
            The samples; sparse where the class takes them.
        y : array-like of shape (n,), default=None
            The classes; None where a table brings its own.
        sample_weight : array-like of shape (n,), default=None
            Weights of the samples; one of weight zero counts as removed. None for ones.

        Returns
        -------
        self : estimator
            The fitted estimator.
        """
        check_parameters(self, self._constraints)
        X, y = validate(self, X, y, numeric=False, multi_output=False)
        weight = validate_weights(sample_weight, X)
        self.classes_, number = encode_labels(y, X)
        rows = as_class_rows(X, number, weight)
        self._sums = require_finite(self, X, lambda: self._fold(rows, self.classes_.shape[0]))
        self._estimate(self._sums, rows, X)
        return self

    @restore_on_error
    def partial_fit(self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None) -> Self:
        """Fit to these samples and all that came before; gives what `fit` on all of them at once gives.

        Parameters
        ----------
        X : array-like of shape (n, p), table, Dask collection, or array on a device
            The samples; sparse where the class takes them.
        y : array-like of shape (n,), default=None
            The classes; None where a table brings its own.
        classes : array-like of shape (n_classes,), default=None
            All classes that may come, needed in the first call.
        sample_weight : array-like of shape (n,), default=None
            Weights of the samples; one of weight zero counts as removed. None for ones.

        Returns
        -------
        self : estimator
            The fitted estimator.
        """
        check_parameters(self, self._constraints)
        self._check_partial_fit()
        first = not hasattr(self, "_sums")
        if first and classes is None:
            raise ValueError("classes must be passed on the first call to partial_fit.")
        X, y = validate_more(self, X, y, first=first, numeric=False, multi_output=False)
        weight = validate_weights(sample_weight, X)
        self._name_classes(classes, first)
        if (unknown := unknown_classes(self.classes_, y)).size:
            raise ValueError(
                f"The target label(s) {unknown.tolist()} in y do not exist in the initial classes {self.classes_}"
            )
        rows = as_class_rows(X, label_indices(self.classes_, y, X), weight)
        of_part = require_finite(self, X, lambda: self._fold(rows, self.classes_.shape[0]))
        self._sums = of_part if first else self._merge(self._sums, of_part)
        with suppress(TooFewSamples):  # later parts may bring more
            self._estimate(self._sums, rows if first else None, X)
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "certificate_")

    def _name_classes(self, classes: Any, first: bool) -> None:
        if classes is None:
            return
        classes = np.unique(np.asarray(classes))
        if first:
            self.classes_ = classes
        elif not np.array_equal(classes, on_host(self.classes_)):
            raise ValueError(
                f"`classes={classes!r}` is not the same as on last call to partial_fit, was: {self.classes_!r}"
            )

    def predict(self, X: Any) -> Array:
        """The class with the largest score of each sample of X, (n,)."""
        number = self._predict_raw(X, then=argmax_scores)
        return take_classes(self.classes_, number)

    def predict_proba(self, X: Any) -> Array:
        """Probabilities of the classes, (n, n_classes), in the precision of X."""
        return self._predict_in_precision(X, probabilities)

    def predict_log_proba(self, X: Any) -> Array:
        """Logarithms of the probabilities of the classes, (n, n_classes), in the precision of X."""
        return cast_log_probabilities(self._predict_raw(X, then=log_probabilities), X)

    def _predict_in_precision(self, X: Any, then: Callable[[Array], Array] | None = None) -> Array:
        """`then` of the float64 scores, in the precision of X."""
        return cast_like(self._predict_raw(X, then=then), X)


def as_class_rows(X: Array, number: Array, weight: Array | None) -> Rows:
    """Rows with the class indices as targets and as groups."""
    number = number.astype(np.int32) if is_numpy(number) else number
    return as_rows(X, number, weight).regroup(number)


def cast_like(values: Array, X: Any) -> Array:
    """Values in float32 where X is float32."""
    dtype = getattr(X, "dtype", None)
    if dtype is None or is_dask(values) or numpy_dtype(dtype) != np.float32:
        return values.astype(np.float32) if is_dask(values) and dtype == np.float32 else values
    return values.astype(np.float32) if is_numpy(values) else namespace(values).astype(values, dtype, copy=False)


def cast_log_probabilities(values: Array, X: Any) -> Array:
    """Log probabilities in float32 where X is float32; zero where the probability rounds to one."""
    logs = cast_like(values, X)
    if is_dask(logs) or logs.dtype == values.dtype:
        return logs
    xp = namespace(logs)
    return xp.where(logs > -0.25 * np.finfo(np.float32).eps, xp.zeros_like(logs), logs)


def check_priors(priors: Any, classes: int) -> Floats | None:
    """Priors in float64, or None."""
    if priors is None:
        return None
    array = np.asarray(priors, dtype=np.float64)
    if array.shape != (classes,):
        raise ValueError("Number of priors must match number of classes.")
    return array
