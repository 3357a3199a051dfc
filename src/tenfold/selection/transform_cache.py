"""What several candidates compute alike on the same rows: kept once, while there is room."""

import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from joblib import hash as hash_of

from tenfold.arrays import is_sparse

ROOM = 1 << 30
"""Bytes that are kept; beyond them, what was not used for the longest time goes."""


class Shared:
    """Parts of the rows, and steps of pipelines fitted to them, by what they are of.

    A step is known by its class and parameters, rows by the object that holds them; parts are kept too, so that equal
    rows are one object. Fitted steps are shared and must not be changed, as nobody changes a fitted step.
    """

    def __init__(self, room: int = ROOM) -> None:
        self._room = room
        self._kept: OrderedDict[Any, tuple[Any, Any, int]] = OrderedDict()
        self._size = 0
        self.seconds = 0.0  # that were spent on what is kept

    def __reduce__(self) -> tuple[Any, ...]:
        return Shared, (self._room,)  # another process has other objects

    def part(self, rows: Any, make: Callable[[], Any]) -> Any:
        """Some of the rows."""
        return self._once(("part", hash_of(rows)), None, make, _bytes_of_part)

    def fitted(self, step: Any, data: Any, make: Callable[[], tuple[Any, Any]]) -> tuple[Any, Any]:
        """A step fitted to rows, and what it makes of them."""
        key = ("fitted", type(step), hash_of(step.get_params()), id(data.X), id(data.y), id(data.weight))
        return self._once(key, (data.X, data.y, data.weight), make, lambda pair: _bytes(pair[1]))

    def transformed(self, step: Any, X: Any, make: Callable[[], Any]) -> Any:
        """What a fitted step makes of other rows."""
        return self._once(("transformed", id(step), id(X)), (step, X), make, _bytes)

    def _once(self, key: Any, held: Any, make: Callable[[], Any], size_of: Callable[[Any], int]) -> Any:
        """The value of a key; `held` are the objects that the key names by their place in memory."""
        if key in self._kept:
            self._kept.move_to_end(key)
            return self._kept[key][0]
        begin = time.perf_counter()
        value = make()
        self.seconds += time.perf_counter() - begin
        size = size_of(value)
        self._kept[key] = value, held, size
        self._size += size
        while self._size > self._room and len(self._kept) > 1:
            _, (_, _, gone) = self._kept.popitem(last=False)
            self._size -= gone
        return value


def _bytes_of_part(data: Any) -> int:
    return _bytes(data.X) + _bytes(data.y) + _bytes(data.weight)


def _bytes(rows: Any) -> int:
    """The memory of rows, as far as they tell."""
    if is_sparse(rows):
        return int(rows.data.nbytes + rows.indices.nbytes + rows.indptr.nbytes)
    if hasattr(rows, "estimated_size"):  # polars
        return int(rows.estimated_size())
    if hasattr(rows, "memory_usage"):  # pandas
        return int(rows.memory_usage(deep=False).sum())
    return int(getattr(rows, "nbytes", 0))
