"""What fitted models say of rows, wherever these are."""

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
    is_plain,
    load_dask_input,
    require_finite,
    resolve_target,
    rowwise,
    sum_duplicates,
    validate_weights,
)
from tenfold.stats.derivatives import Params, forward

FEW = 4096
"""Predictions from fewer entries are not worth the call of a compiled loop."""

PIECE = 1 << 14
"""Scores of so many rows are made at a time, and used while they are in the cache."""


MANY = 1 << 17
"""Rows of so many entries are first asked in single precision which of their scores is the largest."""

UNSURE = 0.25
"""Where single precision leaves more than this share of the rows undecided, it is not asked again."""


class Predictor:
    """What a fitted model says of each row, wherever the rows are."""

    _allow_nan: ClassVar[bool] = False
    """Whether values may be missing."""

    _propagates_nonfinite: ClassVar[bool] = False
    """Whether a value of a row that is not finite makes what is said of it so: then that is looked at, which is
    shorter.
    """

    def _prediction_function(self, small: bool) -> Callable[[Array], Array]:
        """A function of rows that were checked, dense or CSR or of another library: it goes to where they are. With
        `few` of them a compiled loop is not worth its call.
        """
        raise NotImplementedError

    def _predict_raw(
        self,
        X: Any,
        of_rows: Callable[[bool], Callable[[Array], Array]] | None = None,
        then: Callable[[Array], Array] | None = None,
    ) -> Array:
        """What `_of_rows`, or another one, says of the rows, and what `then` makes of that, row by row."""
        check_is_fitted(self)
        of_rows = self._prediction_function if of_rows is None else of_rows
        if isinstance(X, Table):
            return self._raw_of_table(X, of_rows, then)
        if is_dask(X):
            found = load_dask_input().predictions(self, X, of_rows(False))
            return found if then is None else rowwise(then, found)
        if is_array_api(X):
            return _followed(of_rows(False), then)(array_api.to_predict(self, X))
        if not (is_plain(X) and X.shape[1] == self.n_features_in_ and not hasattr(self, "feature_names_in_")):  # type: ignore[attr-defined]
            finite = finiteness(self)
            X = validate_data(self, X, accept_sparse="csr", dtype=list(FLOATS), ensure_all_finite=finite, reset=False)
        elif then is argmax_scores and X.size >= MANY and hasattr(f := of_rows(False), "decided"):
            return self._largest(f, X)
        elif self._propagates_nonfinite and X.size >= FEW:
            return _in_pieces(partial(self._looked_at, of_rows(False)), then, X)
        elif not np.isfinite(X).all():
            check_array(X, ensure_all_finite=finiteness(self), input_name="X", estimator=self)
        f = of_rows(X.shape[0] * X.shape[1] < FEW)
        return _followed(f, then)(sum_duplicates(X)) if is_sparse(X) else _in_pieces(f, then, X)

    def _largest(self, scores: Any, X: Array) -> Array:
        """The number of the largest of each row's `scores`, of plain rows: in single precision where that can tell, and
        of the others, with all rows that are not finite among them, by the scores themselves.
        """
        found, exactly = [], partial(self._searched, scores)
        for start in range(0, X.shape[0], 4 * PIECE):
            part = contiguous(X[start : start + 4 * PIECE])
            number = scores.decided(part)
            unsure = np.flatnonzero(number < 0)
            if unsure.size:
                number[unsure] = argmax_scores(exactly(part[unsure] if unsure.size < len(part) else part))
            found.append(number)
            if unsure.size > UNSURE * len(part) and start + len(part) < len(X):
                found.append(_in_pieces(exactly, argmax_scores, X[start + len(part) :]))
                break
        return np.concatenate(found)

    def _searched(self, f: Callable[[Array], Array], X: Array) -> Array:
        """f of plain rows that were searched for values that are not finite."""
        if not np.isfinite(X).all():
            check_array(X, ensure_all_finite=finiteness(self), input_name="X", estimator=self)
        return f(X)

    def _looked_at(self, f: Callable[[Array], Array], X: Array) -> Array:
        """f of plain rows; where it is not finite, the rows are searched for the reason."""
        with np.errstate(over="ignore", invalid="ignore"):
            found = f(X)
            good = bool(np.isfinite(np.sum(found))) or bool(np.isfinite(found).all())
        if not good:
            check_array(X, input_name="X", estimator=self)
        return found

    def _raw_of_table(
        self,
        table: Table,
        of_rows: Callable[[bool], Callable[[Array], Array]],
        then: Callable[[Array], Array] | None,
    ) -> Array:
        """Predictions of all rows, in memory; a table without names is taken by position."""
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
        # all blocks go the same way, so that bits do not change
        f = _followed(of_rows(table.shape[0] * table.shape[1] < FEW), then)

        def predictions(block: Block) -> Array:
            if not self._allow_nan and not np.isfinite(block.X.data if is_sparse(block.X) else block.X).all():
                raise NotFinite
            return f(block.X)

        rows = BatchRows(table, np.zeros((table.shape[0], 0)))
        return require_finite(self, table, lambda: rows.map(predictions))


def _followed(f: Callable[[Array], Array], then: Callable[[Array], Array] | None) -> Callable[[Array], Array]:
    return f if then is None else lambda X: then(f(X))


def _in_pieces(f: Callable[[Array], Array], then: Callable[[Array], Array] | None, X: Array) -> Array:
    """What `then` makes of f of dense rows, a piece of them at a time; without it f of all of them."""
    if then is None or X.shape[0] <= PIECE:
        return _followed(f, then)(contiguous(X))
    parts = [then(f(contiguous(X[start : start + PIECE]))) for start in range(0, X.shape[0], PIECE)]
    return np.concatenate(parts)


class LinearPredictor(Predictor):
    """Raw predictions of a linear model with `coef_` (p,) or (t, p) and `intercept_`."""

    coef_: Array
    intercept_: Array

    def _prediction_function(self, small: bool) -> Callable[[Array], Array]:
        coef = self.coef_.toarray() if is_sparse(self.coef_) else on_host(self.coef_)
        return partial(_linear, coef, on_host(self.intercept_), small)


class Sparsified(LinearPredictor):
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
        with np.errstate(invalid="ignore"):  # BLAS may raise the flag for lanes that hold no row
            # in float64: products of single precision lose the digits of features far from zero
            return (np.asarray(X, np.float64) @ coef.T + intercept).astype(dtype, copy=False)
    flat, coef = coef.ndim == 1, np.atleast_2d(coef)
    params = Params(
        np.ascontiguousarray(coef, dtype=np.float64),
        np.ascontiguousarray(np.broadcast_to(intercept, coef.shape[:1]), dtype=np.float64),
    )
    z = forward(X, params)
    z = namespace(z).astype(z, dtype, copy=False)
    return z[:, 0] if flat else z


class Scored:
    """scikit-learn's `score`, for tables too; stands before its mixins."""

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
