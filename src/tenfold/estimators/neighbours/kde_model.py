"""Rows that are kept, or where they are, with windows about them: what densities and local means share."""

from collections.abc import Callable
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from tenfold.arrays import Array, is_dask, on_host
from tenfold.data import Rows
from tenfold.distances import Distance, distance_of
from tenfold.estimators.neighbours.remote_queries import THERE, Reporter, positive, refuse_distance, told_of
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
from tenfold.plans.neighbours import Form, KeptWindows, Question, Source, WindowsAbout, WindowSum


class Windowed(Predictor, BaseEstimator):
    """Keeps rows, with or without targets, in memory or where they are."""

    _registration: ClassVar[Registration]
    _rows: Any
    _weight: Any
    _targets: Any = None
    _index: KeptWindows | Source
    n_features_in_: int
    bandwidth: Any
    metric: Any
    metric_params: dict[str, Any] | None

    def _keep(self, X: Any, y: Any, sample_weight: Any, *, told: bool) -> Self:
        """Rows of positive weight in memory, all of those elsewhere."""
        self._registration.check_source(type(self).__name__, X)
        if source_of(X) in THERE:
            if self.bandwidth in ("likelihood", "loo"):
                raise ValueError(
                    f"bandwidth={self.bandwidth!r} leaves out every row in turn, and reads all others for it: choose "
                    "it on a sample of the rows in memory, and give the number here."
                )
            X, y = validate(self, X, y, numeric=True, multi_output=True) if told else (validate_rows(self, X), None)
            weight = validate_weights(sample_weight, X)
            y = y if y is None or is_dask(y) else on_host(y)
        else:
            settings: dict[str, Any] = {"order": "C", "dtype": np.float64}
            if told:
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
        self._index = self._indexed()
        return self

    @property
    def _fit_X(self) -> Any:
        return self._rows

    def _indexed(self) -> KeptWindows | Source:
        """The rows in the form in which windows about them are summed."""
        if source_of(self._rows) not in THERE:
            return self._in_memory(distance_of(self.metric, self.metric_params or {}, self._rows))
        some = None if self._weight is None else positive(self._weight)
        if self.metric == "ordinal":
            raise ValueError("metric='ordinal' needs all rows in memory: load them, or choose another metric.")
        distance = distance_of(self.metric, self.metric_params or {}, as_rows_without_target(self._rows, some))
        refuse_distance(self.metric, distance, self._rows)
        count = self._rows.shape[0] if some is None else int(total_weight(self._rows, some))
        return Source(Form(distance, False), self._stored(), count)

    def _in_memory(self, distance: Distance) -> KeptWindows:
        raise NotImplementedError

    def _stored(self) -> Rows:
        """The rows, with their targets and weights."""
        if self._targets is None:
            return as_rows_without_target(self._rows, self._weight)
        return as_rows(self._rows, self._targets, self._weight)

    @property
    def _count(self) -> int:
        """The number of rows that count."""
        return self._index.count if isinstance(self._index, Source) else len(self._rows)

    def _near(self, X: Any, question: WindowsAbout) -> WindowSum:
        """Sums at queries in memory."""
        X = validate_data(self, X, order="C", dtype=np.float64, reset=False)
        return self._index.near(question, X)

    def _check_enough(self, question: Question, itself: bool, queries: int) -> None:
        """Any number of rows is enough."""

    def _asked(self, X: Any, question: WindowsAbout, told: Reporter) -> Array:
        """What is made of the sums at each query, wherever the queries are."""
        check_is_fitted(self)
        return told_of(self, X, question, told)

    def _judged(self, judged: Callable[..., Certificate], **settings: Any) -> Certificate:
        """What is said of the rows that are kept."""
        rows, params = self._stored(), self.metric_params or {}
        return require_finite(
            self,
            self._rows,
            lambda: judged(self._index, rows, self._weight, self._count, metric=self.metric, params=params, **settings),
        )
