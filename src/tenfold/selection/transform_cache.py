"""Cache of subsets of the samples and of fitted transformers that several candidates have in common."""

import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from joblib import hash as hash_of

from tenfold.arrays import is_sparse

CACHE_BYTES = 1 << 30  # beyond, the least recently used entries are evicted


class TransformCache:
    """Parts of the samples, and steps of pipelines fitted to them.

    The key of a step is its class and parameters, that of samples the object that holds them; parts are cached too, so
    that equal samples are one object. Fitted steps are shared and must not be changed.
    """

    def __init__(self, max_bytes: int = CACHE_BYTES) -> None:
        self._max_bytes = max_bytes
        self._entries: OrderedDict[Any, tuple[Any, Any, int]] = OrderedDict()
        self._size = 0
        self.seconds = 0.0  # spent on computing entries

    def __reduce__(self) -> tuple[Any, ...]:
        return TransformCache, (self._max_bytes,)  # another process has other objects

    def part(self, rows: Any, compute: Callable[[], Any]) -> Any:
        """A part of the samples."""
        return self._get_or_compute(("part", hash_of(rows)), None, compute, _bytes_of_part)

    def fit_step(self, step: Any, data: Any, compute: Callable[[], tuple[Any, Any]]) -> tuple[Any, Any]:
        """A step fitted to samples, and these samples transformed."""
        key = ("fitted", type(step), hash_of(step.get_params()), id(data.X), id(data.y), id(data.weight))
        return self._get_or_compute(key, (data.X, data.y, data.weight), compute, lambda pair: _bytes(pair[1]))

    def transform(self, step: Any, X: Any, compute: Callable[[], Any]) -> Any:
        """Other samples transformed by a fitted step."""
        return self._get_or_compute(("transformed", id(step), id(X)), (step, X), compute, _bytes)

    def _get_or_compute(
        self, key: Any, referenced: Any, compute: Callable[[], Any], size_of: Callable[[Any], int]
    ) -> Any:
        """The value of a key; `referenced` are the objects whose `id` is in the key, kept alive with it."""
        if key in self._entries:
            self._entries.move_to_end(key)
            return self._entries[key][0]
        begin = time.perf_counter()
        value = compute()
        self.seconds += time.perf_counter() - begin
        size = size_of(value)
        self._entries[key] = value, referenced, size
        self._size += size
        while self._size > self._max_bytes and len(self._entries) > 1:
            _, (_, _, evicted) = self._entries.popitem(last=False)
            self._size -= evicted
        return value


def _bytes_of_part(data: Any) -> int:
    return _bytes(data.X) + _bytes(data.y) + _bytes(data.weight)


def _bytes(rows: Any) -> int:
    """Bytes of samples, as far as their container reports it."""
    if is_sparse(rows):
        return int(rows.data.nbytes + rows.indices.nbytes + rows.indptr.nbytes)
    if hasattr(rows, "estimated_size"):  # polars
        return int(rows.estimated_size())
    if hasattr(rows, "memory_usage"):  # pandas
        return int(rows.memory_usage(deep=False).sum())
    return int(getattr(rows, "nbytes", 0))
