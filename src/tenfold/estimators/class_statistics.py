"""Classifiers that are read off statistics of the rows of each class: rows in, scores out; parts that merge."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

from tenfold.arrays import Array, Floats, is_dask, is_numpy, namespace, numpy_dtype, on_host
from tenfold.data import Rows
from tenfold.estimators.classes import (
    chosen_classes,
    encoded,
    largest,
    log_probabilities,
    numbered,
    probabilities,
    unknown_classes,
)
from tenfold.estimators.parameters import Constraints, check_parameters
from tenfold.estimators.predictors import Predictor, Scored
from tenfold.estimators.validation import (
    as_rows,
    require_finite,
    restore_on_error,
    validate,
    validate_more,
    validate_weights,
)
from tenfold.judge.certificate import Certificate
from tenfold.plans.by_class import TooFewRows


class ByClass(Scored, ClassifierMixin, Predictor, BaseEstimator):
    """A classifier from the sums of the rows of each class.

    A class says in `_fold` what it sums, in `_estimate` what follows and is judged, and in `_of_rows` how rows are
    scored.
    """

    _constraints: ClassVar[Constraints]

    classes_: Array
    certificate_: Certificate

    def _fold(self, rows: Rows, classes: int) -> Any:
        """The sums of the rows, which have their classes as groups."""
        raise NotImplementedError

    def _merge(self, before: Any, new: Any) -> Any:
        """The sums of all rows."""
        return before.merge(new)

    def _estimate(self, sums: Any, rows: Rows | None, X: Array) -> None:
        """Set the fitted attributes and their certificate, which is judged by the rows, or by the sums where these are
        gone.
        """
        raise NotImplementedError

    def _refuse_parts(self) -> None:
        """Raise where the settings need all rows at once."""

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
        self.classes_, number = encoded(y, X)
        rows = rows_of_classes(X, number, weight)
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
        self._refuse_parts()
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
        rows = rows_of_classes(X, numbered(self.classes_, y, X), weight)
        new = require_finite(self, X, lambda: self._fold(rows, self.classes_.shape[0]))
        self._sums = new if first else self._merge(self._sums, new)
        with suppress(TooFewRows):  # so far: more may come
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
        number = self._raw(X, then=largest)
        return chosen_classes(self.classes_, number)

    def predict_proba(self, X: Any) -> Array:
        """Probabilities of the classes, (n, n_classes), in the precision of X."""
        return self._in_precision(X, probabilities)

    def predict_log_proba(self, X: Any) -> Array:
        """Logarithms of the probabilities of the classes, (n, n_classes), in the precision of X."""
        return as_precise_logarithms(self._raw(X, then=log_probabilities), X)

    def _in_precision(self, X: Any, then: Callable[[Array], Array] | None = None) -> Array:
        """What `then` makes of the scores, which are float64, in the precision of X."""
        return as_precise(self._raw(X, then=then), X)


def rows_of_classes(X: Array, number: Array, weight: Array | None) -> Rows:
    """Rows that have the numbers of their classes as targets and as groups."""
    number = number.astype(np.int32) if is_numpy(number) else number
    return as_rows(X, number, weight).regroup(number)


def as_precise(values: Array, X: Any) -> Array:
    """Values in float32 where X is."""
    dtype = getattr(X, "dtype", None)
    if dtype is None or is_dask(values) or numpy_dtype(dtype) != np.float32:
        return values.astype(np.float32) if is_dask(values) and dtype == np.float32 else values
    return values.astype(np.float32) if is_numpy(values) else namespace(values).astype(values, dtype, copy=False)


def as_precise_logarithms(values: Array, X: Any) -> Array:
    """Logarithms of probabilities in float32 where X is, those of probabilities that are one in float32 zero."""
    found = as_precise(values, X)
    if is_dask(found) or found.dtype == values.dtype:
        return found
    xp = namespace(found)
    return xp.where(found > -0.25 * np.finfo(np.float32).eps, xp.zeros_like(found), found)


def given_priors(priors: Any, classes: int) -> Floats | None:
    """Priors in float64, or None."""
    if priors is None:
        return None
    found = np.asarray(priors, dtype=np.float64)
    if found.shape != (classes,):
        raise ValueError("Number of priors must match number of classes.")
    return found
