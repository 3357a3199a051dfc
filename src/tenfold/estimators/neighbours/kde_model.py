"""Stored samples of kernel density and kernel regression, in memory or where they are."""

from collections.abc import Callable
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from tenfold.arrays import Array, is_dask, on_host
from tenfold.data import Rows
from tenfold.distances import Distance, distance_of
from tenfold.estimators.neighbours.remote_queries import (
    REMOTE,
    Formatter,
    answer_queries,
    check_distance,
    indicate_positive,
)
from tenfold.estimators.predictors import Predictor
from tenfold.estimators.registration import Registration, source_of
from tenfold.estimators.validation import (
    as_rows,
    as_rows_without_target,
    require_finite,
    total_weight,
    validate,
    validate_rows,
    validate_weights,
)
from tenfold.judge.certificate import Certificate
from tenfold.pairwise import BlockSearch, KernelSamples, KernelSum, KernelSumRequest, Request, RowsSamples


class KernelModelBase(Predictor, BaseEstimator):
    """Stores samples, with or without targets, in memory or where they are."""

    _registration: ClassVar[Registration]
    _rows: Any
    _weight: Any
    _targets: Any = None
    _index: KernelSamples | RowsSamples
    n_features_in_: int
    bandwidth: Any
    metric: Any
    metric_params: dict[str, Any] | None

    def _keep(self, X: Any, y: Any, sample_weight: Any, *, with_targets: bool) -> Self:
        """Store samples: in memory those of positive weight, from other sources all."""
        self._registration.check_source(type(self).__name__, X)
        if source_of(X) in REMOTE:
            if self.bandwidth in ("likelihood", "loo"):
                raise ValueError(
                    f"bandwidth={self.bandwidth!r} leaves out every row in turn, and reads all others for it: choose "
                    "it on a sample of the rows in memory, and give the number here."
                )
            X, y = (
                validate(self, X, y, numeric=True, multi_output=True)
                if with_targets
                else (validate_rows(self, X), None)
            )
            weight = validate_weights(sample_weight, X)
            y = y if y is None or is_dask(y) else on_host(y)
        else:
            settings: dict[str, Any] = {"order": "C", "dtype": np.float64}
            if with_targets:
                X, y = validate_data(self, X, y, multi_output=True, y_numeric=True, **settings)
            else:
                X, y = validate_data(self, X, **settings), None
            weight = validate_weights(sample_weight, X)
            if weight is not None and not weight.all():
                inside = weight > 0
                X, y, weight = np.ascontiguousarray(X[inside]), None if y is None else y[inside], weight[inside]
            y = None if y is None else np.asarray(y, dtype=np.float64)
        self._rows, self._weight = X, weight
        if y is not None:
            self._flat = y.ndim == 1
            self._targets = y[:, None] if y.ndim == 1 else y
        self._index = self._build_index()
        return self

    @property
    def _fit_X(self) -> Any:
        return self._rows

    def _build_index(self) -> KernelSamples | RowsSamples:
        """The samples in the form in which kernel sums are taken."""
        if source_of(self._rows) not in REMOTE:
            return self._in_memory(distance_of(self.metric, self.metric_params or {}, self._rows))
        some = None if self._weight is None else indicate_positive(self._weight)
        if self.metric == "ordinal":
            raise ValueError("metric='ordinal' needs all rows in memory: load them, or choose another metric.")
        distance = distance_of(self.metric, self.metric_params or {}, as_rows_without_target(self._rows, some))
        check_distance(self.metric, distance, self._rows)
        count = self._rows.shape[0] if some is None else int(total_weight(self._rows, some))
        return RowsSamples(BlockSearch(distance, False), self._to_rows(), count)

    def _in_memory(self, distance: Distance) -> KernelSamples:
        raise NotImplementedError

    def _to_rows(self) -> Rows:
        """The samples, with their targets and weights."""
        if self._targets is None:
            return as_rows_without_target(self._rows, self._weight)
        return as_rows(self._rows, self._targets, self._weight)

    @property
    def _count(self) -> int:
        """The number of samples of positive weight."""
        return self._index.count

    def _search(self, X: Any, request: KernelSumRequest) -> KernelSum:
        """Sums at queries in memory."""
        X = validate_data(self, X, order="C", dtype=np.float64, reset=False)
        return self._index.query(request, X)

    def _check_enough(self, request: Request, itself: bool, queries: int) -> None:
        """Any number of samples is enough."""

    def _answer(self, X: Any, request: KernelSumRequest, formatter: Formatter) -> Array:
        """The output for each query, wherever the queries are."""
        check_is_fitted(self)
        return answer_queries(self, X, request, formatter)

    def _certify(self, judge: Callable[..., Certificate], **settings: Any) -> Certificate:
        """The certificate of the stored samples."""
        rows, params = self._to_rows(), self.metric_params or {}
        return require_finite(
            self,
            self._rows,
            lambda: judge(self._index, rows, self._weight, self._count, metric=self.metric, params=params, **settings),
        )
