"""An offset: the known part of the raw prediction."""

from typing import Any

import numpy as np
from sklearn.metrics import r2_score
from sklearn.utils import check_array

from tenfold.arrays import Array, is_array_api, is_dask, like, namespace, on_host
from tenfold.estimators.array_api import check_same_device
from tenfold.estimators.predictors import ScoreMixin
from tenfold.estimators.validation import align_values, resolve_target, rowwise


def validate_offset(offset: Any, X: Array) -> Array | None:
    """An offset (n,) in float64, finite, where X lives; None stays None."""
    if offset is None:
        return None
    n = X.shape[0]
    if is_dask(X):
        return align_values(offset, X, "offset")
    if is_array_api(offset):
        check_same_device(X, offset, "offset")
        return like(validate_offset(on_host(offset), np.zeros((n, 1))), X)
    values = check_array(offset, ensure_2d=False, dtype=np.float64, order="C", input_name="offset")
    if values.shape != (n,):
        raise ValueError(f"offset must have one number a row, shape {(n,)}, got shape {values.shape}.")
    return like(values, X) if is_array_api(X) else values


def add_offset(raw: Array, offset: Any) -> Array:
    """Raw predictions (n,) and the offset together."""
    offset = validate_offset(offset, raw)
    if offset is None:
        return raw
    xp = namespace(raw)
    return raw + (offset if is_dask(raw) else xp.astype(offset, raw.dtype, copy=False))


class ScoredBeside(ScoreMixin):
    """`score` with an offset."""

    def score(self, X: Any, y: Any = None, sample_weight: Any = None, *, offset: Any = None) -> float:
        """R^2 of the predictions for X with targets y, `sample_weight` and the `offset` that belongs to the samples; a
        table brings its own target.
        """
        if offset is None:
            return super().score(X, y, sample_weight)
        y, sample_weight = resolve_target(X, y, sample_weight)
        predicted, weight = self.predict(X, offset=offset), None if sample_weight is None else on_host(sample_weight)  # type: ignore[attr-defined]
        return float(r2_score(on_host(y), on_host(predicted), sample_weight=weight))


def with_offset(y: Array, offset: Array | None) -> Array:
    """Targets, and the offset as their second column where there is one."""
    return y if offset is None else rowwise(_side_by_side, y, offset)


def _side_by_side(y: Array, offset: Array) -> Array:
    return namespace(y).stack([y, offset], axis=1)
