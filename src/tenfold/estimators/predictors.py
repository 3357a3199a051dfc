"""Predictions of fitted models for samples of any source: arrays, sparse, tables, Dask, devices."""

from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted, validate_data

from tenfold.arrays import FLOATS, Array, contiguous, is_array_api, is_dask, is_numpy, is_sparse, namespace, on_host
from tenfold.data import BatchRows, Block, NotFinite, Table
from tenfold.estimators import array_api
from tenfold.estimators.class_labels import argmax_scores
from tenfold.estimators.validation import (
    finiteness,
    is_checked_csr,
    is_plain,
    load_dask_input,
    read_strings,
    require_finite,
    resolve_target,
    rowwise,
    sum_duplicates,
    validate_weights,
)
from tenfold.stats.derivatives import Params, forward

MIN_COMPILED_ENTRIES = 4096  # entries of X below which a call of a compiled loop costs more than NumPy
PIECE_ROWS = 1 << 14  # rows scored at a time, so that their scores stay in the cache
MIN_ENTRIES_FLOAT32 = 1 << 17  # entries of X from which the argmax of scores is first computed in single precision
MAX_UNDECIDED = 0.25  # fraction of undecided samples beyond which single precision is abandoned


class Predictor:
    """Base of estimators that predict: validates samples of any source, and applies a function to them."""

    _allow_nan: ClassVar[bool] = False
    """Whether X may contain NaN."""

    _propagates_nonfinite: ClassVar[bool] = False
    """Whether a non-finite value in a sample makes its prediction non-finite: then only predictions are checked, which
    are smaller than X.
    """

    def _prediction_function(self, small: bool) -> Callable[[Array], Array]:
        """A function of validated samples, dense, CSR or of another library, evaluated where they are. With `small`
        input NumPy is faster than a compiled loop.
        """
        raise NotImplementedError

    def _predict_raw(
        self,
        X: Any,
        of_rows: Callable[[bool], Callable[[Array], Array]] | None = None,
        then: Callable[[Array], Array] | None = None,
    ) -> Array:
        """`then` of the predictions of `_prediction_function`, or of another one, for validated samples."""
        check_is_fitted(self)
        X = read_strings(self, X)
        of_rows = self._prediction_function if of_rows is None else of_rows
        if isinstance(X, Table):
            return self._raw_of_table(X, of_rows, then)
        if is_dask(X):
            predicted = load_dask_input().predictions(self, X, of_rows(False))
            return predicted if then is None else rowwise(then, predicted)
        if is_array_api(X):
            return _compose(of_rows(False), then)(array_api.validate_to_predict(self, X))
        plain = is_plain(X)
        expected = (plain or is_checked_csr(X)) and X.shape[1] == self.n_features_in_  # type: ignore[attr-defined]
        if not expected or hasattr(self, "feature_names_in_"):
            finite = finiteness(self)
            X = validate_data(self, X, accept_sparse="csr", dtype=list(FLOATS), ensure_all_finite=finite, reset=False)
        elif not plain:
            return _compose(of_rows(X.shape[0] * X.shape[1] < MIN_COMPILED_ENTRIES), then)(X)
        elif then is argmax_scores and X.size >= MIN_ENTRIES_FLOAT32 and hasattr(f := of_rows(False), "decide"):
            return self._argmax(f, X)
        elif self._propagates_nonfinite and X.size >= MIN_COMPILED_ENTRIES:
            return _predict_in_pieces(partial(self._check_after, of_rows(False)), then, X)
        elif not np.isfinite(X).all():
            check_array(X, ensure_all_finite=finiteness(self), input_name="X", estimator=self)
        f = of_rows(X.shape[0] * X.shape[1] < MIN_COMPILED_ENTRIES)
        return _compose(f, then)(sum_duplicates(X)) if is_sparse(X) else _predict_in_pieces(f, then, X)

    def _argmax(self, scores: Any, X: Array) -> Array:
        """The index of the largest of the `scores` of each sample of a plain array: in single precision where its error
        bound decides, and in double precision for the others, non-finite samples among them.
        """
        parts, in_double = [], partial(self._check_before, scores)
        for start in range(0, X.shape[0], 4 * PIECE_ROWS):
            part = contiguous(X[start : start + 4 * PIECE_ROWS])
            number = scores.decide(part)
            undecided = np.flatnonzero(number < 0)
            if undecided.size:
                number[undecided] = argmax_scores(in_double(part[undecided] if undecided.size < len(part) else part))
            parts.append(number)
            if undecided.size > MAX_UNDECIDED * len(part) and start + len(part) < len(X):
                parts.append(_predict_in_pieces(in_double, argmax_scores, X[start + len(part) :]))
                break
        return np.concatenate(parts)

    def _check_before(self, f: Callable[[Array], Array], X: Array) -> Array:
        """f of a plain array, which is checked for non-finite values before."""
        if not np.isfinite(X).all():
            check_array(X, ensure_all_finite=finiteness(self), input_name="X", estimator=self)
        return f(X)

    def _check_after(self, f: Callable[[Array], Array], X: Array) -> Array:
        """f of a plain array, which is checked for non-finite values where f is not finite."""
        with np.errstate(over="ignore", invalid="ignore"):
            predicted = f(X)
            is_finite = bool(np.isfinite(np.sum(predicted))) or bool(np.isfinite(predicted).all())
        if not is_finite:
            check_array(X, input_name="X", estimator=self)
        return predicted

    def _raw_of_table(
        self,
        table: Table,
        of_rows: Callable[[bool], Callable[[Array], Array]],
        then: Callable[[Array], Array] | None,
    ) -> Array:
        """Predictions for all rows of a table, in memory; without names columns are matched by position."""
        names = getattr(self, "feature_names_in_", None)
        if table.shape[1] != self.n_features_in_:  # type: ignore[attr-defined]
            raise ValueError(
                f"X has {table.shape[1]} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input."  # type: ignore[attr-defined]
            )
        if names is not None and table.feature_names is not None and list(names) != list(table.feature_names):
            raise ValueError(
                "The feature names should match those that were passed during fit: name the columns of the table in "
                f"this order, tenfold.rows(..., columns={list(names)})."
            )
        # the same function for all blocks, so that bits do not depend on their size
        f = _compose(of_rows(table.shape[0] * table.shape[1] < MIN_COMPILED_ENTRIES), then)

        def predictions(block: Block) -> Array:
            if not self._allow_nan and not np.isfinite(block.X.data if is_sparse(block.X) else block.X).all():
                raise NotFinite
            return f(block.X)

        rows = BatchRows(table, np.zeros((table.shape[0], 0)))
        return require_finite(self, table, lambda: rows.map(predictions))


def _compose(f: Callable[[Array], Array], then: Callable[[Array], Array] | None) -> Callable[[Array], Array]:
    return f if then is None else lambda X: then(f(X))


def _predict_in_pieces(f: Callable[[Array], Array], then: Callable[[Array], Array] | None, X: Array) -> Array:
    """`then` of f of dense rows, piece by piece; f of all rows without `then`."""
    if then is None or X.shape[0] <= PIECE_ROWS:
        return _compose(f, then)(contiguous(X))
    parts = [then(f(contiguous(X[start : start + PIECE_ROWS]))) for start in range(0, X.shape[0], PIECE_ROWS)]
    return np.concatenate(parts)


class LinearPredictor(Predictor):
    """Raw predictions of a linear model with `coef_` (p,) or (t, p) and `intercept_`."""

    coef_: Array
    intercept_: Array

    def _prediction_function(self, small: bool) -> Callable[[Array], Array]:
        coef = self.coef_.toarray() if is_sparse(self.coef_) else on_host(self.coef_)
        return partial(_linear, coef, on_host(self.intercept_), small)


class SparsifyMixin(LinearPredictor):
    """A linear model whose weights may be stored sparsely."""

    _flat: ClassVar[bool] = False
    """Whether `coef_` has no axis of targets."""

    def densify(self) -> Self:
        """Make `coef_` an ordinary array, as it is after `fit`."""
        check_is_fitted(self, msg="Estimator, %(name)s, must be fitted before densifying.")
        if is_sparse(self.coef_):
            coef = self.coef_.toarray()
            self.coef_ = coef[0] if self._flat else coef
        return self

    def sparsify(self) -> Self:
        """Make `coef_` a sparse matrix in CSR format, which is smaller where an L1 penalty left many zeros."""
        check_is_fitted(self, msg="Estimator, %(name)s, must be fitted before sparsifying.")
        self.coef_ = sparse.csr_matrix(np.atleast_2d(self.coef_))
        return self


def _linear(coef: Array, intercept: Array, small: bool, X: Array) -> Array:
    """``X w + b`` in the dtype of X, or of the weights where that is wider."""
    dtype = X.dtype if is_array_api(X) else np.result_type(X.dtype, coef.dtype)
    if small and is_numpy(X):
        with np.errstate(invalid="ignore"):  # BLAS may raise the flag for padding lanes
            # in float64: single precision cancels for features far from zero
            return (np.asarray(X, np.float64) @ coef.T + intercept).astype(dtype, copy=False)
    flat, coef = coef.ndim == 1, np.atleast_2d(coef)
    params = Params(
        np.ascontiguousarray(coef, dtype=np.float64),
        np.ascontiguousarray(np.broadcast_to(intercept, coef.shape[:1]), dtype=np.float64),
    )
    z = forward(X, params)
    z = namespace(z).astype(z, dtype, copy=False)
    return z[:, 0] if flat else z


class ScoreMixin:
    """scikit-learn's `score`, for tables, Dask and devices too; precedes scikit-learn's mixins."""

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """scikit-learn's score, R^2 or accuracy, of the predictions for X with targets y and optional `sample_weight`;
        a table brings its own target and weights.
        """
        y, sample_weight = resolve_target(X, y, sample_weight)
        if is_dask(X):
            return load_dask_input().score(self, X, y, sample_weight)
        if is_array_api(X):
            return array_api.score(self, X, y, validate_weights(sample_weight, X))
        return float(super().score(X, y, sample_weight=sample_weight))  # type: ignore[misc]
