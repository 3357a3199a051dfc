"""Rows on a cluster: Dask arrays in chunks of rows, folded where they are. The only module that imports Dask.

A fold is one static graph: a task lifts each chunk, and a binary tree merges the statistics by the position of the
chunks, whoever holds them. The client sends the lift once and is sent one statistic; rows never come to it. What is
computed follows from the chunks alone, so the number of workers, their speed and their death change no bit.
"""

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeVar
from uuid import uuid4

import dask
import dask.array as da
import numpy as np
from dask.array.utils import meta_from_array
from dask.delayed import Delayed
from dask.highlevelgraph import HighLevelGraph

from tenfold.arrays import FLOATS, Array, is_sparse
from tenfold.data.blocks import Block, S, block_length
from tenfold.data.memory import MemoryRows
from tenfold.machine import sharing

T = TypeVar("T")


class ClusterError(RuntimeError):
    """The cluster could not finish a computation: its scheduler is gone, or data are lost."""


@dataclass(frozen=True, slots=True)
class DaskRows:
    """X (n, p), y (n, t) float64, weight (n,) float64 or None, group (n,) int32 or None: Dask arrays cut into chunks at
    the same rows, with all columns in one.

    A chunk is a block, or several where it is larger than one. What is not persisted is computed again in every pass.
    """

    X: da.Array
    y: da.Array
    weight: da.Array | None = None
    group: da.Array | None = None
    # the densest sample so far, and its step: others are samples of it
    sample: list[tuple[int, "DaskRows"]] = field(default_factory=list, repr=False, compare=False)

    @classmethod
    def of(cls, X: da.Array, y: Any, weight: Any = None) -> "DaskRows":
        """Rows with X as `matrix` gives it and targets (n, t) and weights of any kind, aligned with it."""
        y, weight = aligned(y, X), None if weight is None else aligned(weight, X)
        parts = [part for part in (X, y, weight) if part is not None]
        # once, here: what is read in every pass is read by few, fused tasks
        return cls(*dask.optimize(*parts, traverse=False))

    @property
    def shape(self) -> tuple[int, int]:
        return self.X.shape

    @property
    def targets(self) -> int:
        return int(self.y.shape[1])

    @property
    def dtype(self) -> Any:
        return self.X.dtype

    @property
    def sparse(self) -> bool:
        return False

    @property
    def foreign(self) -> bool:
        return True

    @property
    def scattered(self) -> bool:
        return True

    @property
    def entries(self) -> int:
        return int(self.X.size)

    @property
    def _parts(self) -> tuple[da.Array | None, ...]:
        return self.X, self.y, self.weight, self.group

    def fold(self, lift: Callable[[Block], S]) -> S:
        """See `Rows`."""
        return reduce(partial(_lift, lift), _merge, self._parts)

    def scan(self, step: Callable[[T, Block], T], start: T) -> T:
        """See `Rows`: a chain of tasks, and the state goes from worker to worker."""
        name = f"tenfold-scan-{uuid4().hex}"
        graph: dict[Any, Any] = {f"{name}-start": start, f"{name}-step": step}
        state: Any = f"{name}-start"
        for i, keys in enumerate(_chunk_keys(self._parts)):
            graph[name, i] = (_scan, f"{name}-step", state, *keys)
            state = (name, i)
        return _compute(name, graph, state, self._parts)

    def map(self, f: Callable[[Block], Array]) -> da.Array:
        """See `Rows`: a Dask array that is not computed yet."""
        given = [part for part in self._parts if part is not None]
        return rowwise(partial(_map, f, [part is not None for part in self._parts]), *given)

    def thin(self, step: int) -> "DaskRows":
        """See `Rows`: in the memory of the workers."""
        if step == 1:
            return self
        if self.sample and step % self.sample[0][0] == 0:
            kept, sample = self.sample[0]
            return sample if kept == step else sample._thinned(step // kept)
        self.sample[:] = [(step, self._thinned(step))]
        return self.sample[0][1]

    def _thinned(self, step: int) -> "DaskRows":
        length = block_length(self.shape[1], sparse=False)
        parts = [None if part is None else part[::step].rechunk({0: length}) for part in self._parts]
        return DaskRows(*dask.persist(*parts, traverse=False))

    def whole(self) -> Block:
        """See `Rows`: refused."""
        n, p = self.shape
        raise ValueError(
            f"This needs all {n:,} x {p:,} entries of X in one memory, {n * p * self.dtype.itemsize:,} bytes, and the "
            "rows of a Dask collection are never brought together. Pass X.compute() where there is memory for it."
        )

    def grouped(self, group: Array) -> "DaskRows":
        """See `Rows`; each chunk gets its slice."""
        return replace(self, group=aligned(group, self.X, np.int32), sample=[])

    def retarget(self, y: Array) -> "DaskRows":
        """See `Rows`; each chunk gets its slice."""
        return replace(self, y=aligned(y, self.X), sample=[])


def _lift(lift: Callable[[Block], S], number: int, *chunks: Array) -> S:
    return MemoryRows(*chunks).fold(lift)


def _merge(one: Any, other: Any) -> Any:
    return one.merge(other)


def _scan(step: Callable[[T, Block], T], state: T, *chunks: Array) -> T:
    return MemoryRows(*chunks).scan(step, state)


def _map(f: Callable[[Block], Array], given: list[bool], *chunks: Array) -> Array:
    rest = iter(chunks)
    return MemoryRows(*(next(rest) if there else None for there in given)).map(f)


# -- graphs


def reduce(work: Callable[..., T], merge: Callable[[T, T], T], parts: Sequence[da.Array | None]) -> T:
    """`work(number, *chunks)` for every chunk of arrays that are cut at the same rows, merged in a binary tree by the
    position of the chunks: one graph, and one result that comes to the client.
    """
    name = f"tenfold-{uuid4().hex}"
    # the work may be large, and is in the graph once
    graph: dict[Any, Any] = {f"{name}-work": work}
    level: list[Any] = []
    for i, keys in enumerate(_chunk_keys(parts)):
        level.append((f"tenfold_lift-{name}", i))
        graph[level[-1]] = (_call, f"{name}-work", i, *keys)
    height = 0
    while len(level) > 1:
        height += 1
        above = [(f"tenfold_merge-{name}", height, i) for i in range(len(level) // 2)]
        for key, one, other in zip(above, level[::2], level[1::2], strict=False):
            graph[key] = (merge, one, other)
        level = above + level[2 * len(above) :]
    return _compute(name, graph, level[0], parts)


def _call(work: Callable[..., T], *args: Any) -> T:
    with sharing:
        return work(*args)


def _chunk_keys(parts: Sequence[da.Array | None]) -> Sequence[tuple[Any, ...]]:
    """For every chunk of rows the keys of the parts' chunks, and None of a part that is not there."""
    count = next(part.numblocks[0] for part in parts if part is not None)
    return [tuple(None if a is None else (a.name, i, 0)[: a.ndim + 1] for a in parts) for i in range(count)]


def _compute(name: str, graph: dict[Any, Any], key: Any, parts: Sequence[da.Array | None]) -> Any:
    """The value of one key, by the cluster of the active client, or by threads where there is none."""
    dependencies = [part for part in parts if part is not None]
    value = Delayed(key, HighLevelGraph.from_collections(name, graph, dependencies), layer=name)
    return _asked(partial(dask.compute, value, traverse=False))[0]


def _asked(ask: Callable[[], T]) -> T:
    """What `ask` gives; failures of the cluster in words that say what to do."""
    try:
        return ask()
    except Exception as error:
        if type(error).__module__.partition(".")[0] != "distributed":
            raise
        raise ClusterError(f"{_advice(error)} (Dask says: {error})") from error


def _advice(error: Exception) -> str:
    reason = getattr(error, "reason", "")
    if type(error).__name__ == "KilledWorker":
        return "Workers died again and again over the same chunk. Give them more memory, or make the chunks smaller."
    if reason == "lost dependencies":
        return (
            "A worker died with the only copy of some rows: scattered data cannot be computed again. Load the rows by "
            "Dask itself, from files for instance, or keep copies with Client.replicate."
        )
    return "The connection to the scheduler is lost. Connect to a cluster and fit again: nothing was fitted."


# -- collections


def rowwise(f: Callable[..., Array], *arrays: da.Array) -> da.Array:
    """f of the chunks of arrays cut at the same rows, one result a row, as a Dask array that is not computed yet."""
    nothing = f(*(np.zeros((0, *array.shape[1:]), array.dtype) for array in arrays))
    inputs = [x for array, axis in zip(arrays, "klmn", strict=False) for x in (array, f"i{axis}"[: array.ndim])]
    new = {"j": nothing.shape[1]} if nothing.ndim == 2 else None
    return da.blockwise(
        f, "ij"[: nothing.ndim], *inputs, new_axes=new, concatenate=True, align_arrays=False, meta=nothing
    )


def is_frame(X: Any) -> bool:
    """Whether a Dask collection is a data frame or one of its columns."""
    return not isinstance(X, da.Array)


def array_of(collection: Any) -> da.Array:
    """A data frame or one of its columns as an array; arrays as they are."""
    return collection.to_dask_array() if is_frame(collection) else collection


def matrix(X: Any) -> da.Array:
    """X (n, p) of known chunks of rows, all columns in one, in float32 or float64; what is not known is counted by one
    pass, of which only the counts travel.
    """
    X = array_of(X)
    if X.ndim != 2:
        raise ValueError(f"Expected 2D array, got {X.ndim}D array instead: X must be a matrix of rows.")
    if is_sparse(meta_from_array(X)):
        raise TypeError(
            "Chunks of sparse rows are not read on a cluster. Make them dense, X.map_blocks(lambda x: x.toarray()), or "
            "pass X.compute(), a sparse matrix in one memory."
        )
    if X.dtype.kind not in "fiub":
        raise ValueError(f"Expected numbers in X, got values of type {X.dtype}.")
    X = X if X.dtype in FLOATS else X.astype(np.float64)
    X = X if X.numblocks[1] == 1 else X.rechunk({1: -1})
    return counted(X)


def counted(array: da.Array) -> da.Array:
    """The array with the lengths of its chunks, found by one pass where they are not known."""
    if not np.isnan(array.shape[0]):
        return array
    lengths = reduce(_length, operator.add, (array,))
    return da.Array(array.dask, array.name, (lengths, *array.chunks[1:]), dtype=array.dtype)


def _length(number: int, chunk: Array) -> tuple[int]:
    return (len(chunk),)


def aligned(values: Any, X: da.Array, dtype: Any = np.float64) -> da.Array:
    """Numbers of each row, a Dask collection or in the memory of the client, cut where X is; what comes from the client
    is sent to the workers once.
    """
    if not dask.is_dask_collection(values):
        values = np.ascontiguousarray(values, dtype=dtype)
        (sent,) = dask.persist(da.from_array(values, chunks=(X.chunks[0], *((k,) for k in values.shape[1:]))))
        return sent
    values = counted(array_of(values)).astype(dtype)
    return values.rechunk({0: X.chunks[0]} | {axis: -1 for axis in range(1, values.ndim)})


def distinct(y: da.Array) -> Array:
    """The different values of an array, sorted; only they travel."""
    return reduce(_distinct, np.union1d, (y,))


def _distinct(number: int, chunk: Array) -> Array:
    return np.unique(np.asarray(chunk))


def place_of(X: da.Array, bad: Callable[[Array], Array]) -> str | None:
    """Where the first entry is of which `bad` is true, in words; None where there is none."""
    found = reduce(partial(_first_bad, bad), _first, (X,))
    if found is None:
        return None
    number, row, column = found
    start, stop = sum(X.chunks[0][:number]), sum(X.chunks[0][: number + 1])
    return f"chunk {number} (rows {start} to {stop - 1}), row {start + row}" + (
        "" if column is None else f", column {column}"
    )


def _first_bad(bad: Callable[[Array], Array], number: int, chunk: Array) -> tuple[int, int, int | None] | None:
    found = np.argwhere(bad(chunk))
    return (number, int(found[0, 0]), int(found[0, 1]) if found.shape[1] > 1 else None) if len(found) else None


def _first(one: T, other: T) -> T:
    return one if one is not None else other
