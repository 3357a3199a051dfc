"""Rows on a cluster: Dask arrays in chunks of rows, reduced on the workers. The only module that imports Dask.

A fold is one static graph: a task lifts each chunk, and a binary tree merges the statistics by the position of the
chunks. The client sends the lift once and receives one statistic; rows never leave the workers. The result depends on
the chunks alone, so the number of workers, their speed and failures change no bit.
"""

import operator
import pickle
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import partial
from typing import Any, TypeVar
from uuid import uuid4

import cloudpickle
import dask
import dask.array as da
import numpy as np
from dask.array.utils import meta_from_array
from dask.delayed import Delayed
from dask.highlevelgraph import HighLevelGraph
from dask.task_spec import DataNode, Task, TaskRef

from tenfold.arrays import FLOATS, Array, contiguous, is_dask, is_sparse
from tenfold.data.blocks import ArrayShapes, Block, MaybeDeferred, S, block_length
from tenfold.data.memory import MemoryRows
from tenfold.data.passes import count_pass
from tenfold.machine import sharing

T = TypeVar("T")

# no warning about large graphs: lifts, targets and groups of the client are in graphs by design
QUIET = {"distributed.admin.large-graph-warning-threshold": 1 << 60}


class ClusterError(RuntimeError):
    """The cluster could not finish a computation: its scheduler is gone, or data are lost."""


@dataclass(frozen=True, slots=True)
class DaskRows(ArrayShapes):
    """X (n, p), y (n, t) float64, weight (n,) float64 or None, group (n,) int32 or None: Dask arrays cut into chunks at
    the same rows, with all columns in one.

    A chunk is one or more blocks. Chunks that are not persisted are computed again in every pass.
    """

    X: da.Array
    y: da.Array
    weight: da.Array | None = None
    group: da.Array | None = None
    # the largest subsample so far, and its step
    sample: list[tuple[int, "DaskRows"]] = field(default_factory=list, repr=False, compare=False)

    @classmethod
    def of(cls, X: da.Array, y: Any, weight: Any = None) -> "DaskRows":
        """Rows with X as `matrix` gives it and targets (n, t) and weights of any kind, aligned with it."""
        return cls(X, align(y, X), None if weight is None else align(weight, X))

    @property
    def dtype(self) -> Any:
        return self.X.dtype

    @property
    def sparse(self) -> bool:
        return False

    @property
    def on_device(self) -> bool:
        return True

    @property
    def distributed(self) -> bool:
        return True

    @property
    def entries(self) -> int:
        return int(self.X.size)

    @property
    def _parts(self) -> tuple[da.Array | None, ...]:
        return self.X, self.y, self.weight, self.group

    def fold(self, lift: Callable[[Block], MaybeDeferred[S]]) -> S:
        """See `Rows`."""
        count_pass(self.entries)
        return reduce(partial(_lift, lift), _merge, self._parts)

    def scan(self, step: Callable[[T, Block], T], start: T) -> T:
        """See `Rows`; a chain of tasks that passes the state from worker to worker."""
        count_pass(self.entries)
        graph = _Graph(self._parts)
        work, state = graph.data("step", partial(_step, step)), graph.data("start", start)
        for i, keys in enumerate(graph.chunks()):
            state = graph.task(("scan", i), work, state, *keys)
        return graph.value(state)

    def map(self, f: Callable[[Block], Array]) -> da.Array:
        """See `Rows`; a lazy Dask array."""
        count_pass(self.entries)
        present = [part for part in self._parts if part is not None]
        return rowwise(partial(_map, f, [part is not None for part in self._parts]), *present)

    def subsample(self, step: int) -> "DaskRows":
        """See `Rows`; in the memory of the workers."""
        if step == 1:
            return self
        if self.sample and step % self.sample[0][0] == 0:
            kept, sample = self.sample[0]
            return sample if kept == step else sample._subsample(step // kept)
        self.sample[:] = [(step, self._subsample(step))]
        return self.sample[0][1]

    def _subsample(self, step: int) -> "DaskRows":
        length = block_length(self.shape[1], sparse=False)
        parts = [None if part is None else _cut(part[::step], {0: length}) for part in self._parts]
        return DaskRows(*_persist(*parts))

    def whole(self) -> Block:
        """See `Rows`; raises."""
        n, p = self.shape
        raise ValueError(
            f"This needs all {n:,} x {p:,} entries of X in one memory, {n * p * self.dtype.itemsize:,} bytes, and the "
            "rows of a Dask collection are never brought together. Pass X.compute() where there is memory for it."
        )

    def regroup(self, group: Array) -> "DaskRows":
        """See `Rows`; each chunk gets its slice."""
        return replace(self, group=align(group, self.X, np.int32), sample=[])

    def retarget(self, y: Array) -> "DaskRows":
        """See `Rows`; each chunk gets its slice."""
        return replace(self, y=align(y, self.X), sample=[])


def _lift(lift: Callable[[Block], MaybeDeferred[S]], number: int, *chunks: Array) -> S:
    return in_memory(*chunks).fold(lift)


def _merge(one: Any, other: Any) -> Any:
    return one.merge(other)


def _step(step: Callable[[T, Block], T], state: T, *chunks: Array) -> T:
    return in_memory(*chunks).scan(step, state)


def _map(f: Callable[[Block], Array], present: list[bool], *chunks: Array) -> Array:
    rest = iter(chunks)
    return in_memory(*(next(rest) if is_present else None for is_present in present)).map(f)


def in_memory(X: Array, y: Array, weight: Array | None = None, group: Array | None = None) -> MemoryRows:
    # columns of a matrix are not contiguous
    return MemoryRows(X, y, *(None if part is None else contiguous(part) for part in (weight, group)))


# -- graphs


@dataclass(frozen=True, slots=True)
class Carried:
    """A value that may be sent between processes, and whose arrays are aligned copies on arrival.

    Dask maps arrays into its messages at any byte: compiled loops reject unaligned arrays, and NumPy may sum them in
    another order, so that bits would depend on the transfers.
    """

    value: Any

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpickle_carried, (cloudpickle.dumps(self.value),)

    def __sizeof__(self) -> int:
        """The size by which Dask schedules merges and spills memory."""
        return 64 + _bytes_of(self.value)


def _unpickle_carried(message: bytes) -> Carried:
    return Carried(pickle.loads(message))


def _bytes_of(value: Any) -> int:
    """The bytes of all arrays in statistics, lifts and tuples of them."""
    if isinstance(value, np.ndarray):
        return value.nbytes
    inside: Iterable[Any] = value if isinstance(value, (tuple, list)) else ()
    if isinstance(value, partial):
        inside = value.args
    elif is_dataclass(value):
        inside = (getattr(value, part.name) for part in fields(value))
    return sum(map(_bytes_of, inside))


def _call(work: Carried, *given: Any) -> Carried:
    """A task: `work` on numbers, chunks and values carried from other tasks."""
    return Carried(_work(work, *given))


def _work(work: Carried, *given: Any) -> Any:
    with sharing:
        return work.value(*map(_unwrap, given))


def _unwrap(part: Any) -> Any:
    """The value of a `Carried`, and an aligned copy of a chunk that is not aligned."""
    if isinstance(part, np.ndarray) and not part.flags.aligned:
        return part.copy(order="K")
    return part.value if isinstance(part, Carried) else part


def reduce(work: Callable[..., T], merge: Callable[[T, T], T], parts: Sequence[da.Array | None]) -> T:
    """`work(number, *chunks)` for every chunk of arrays that are cut at the same rows, merged in a binary tree by the
    position of the chunks: one graph, and one result on the client.
    """
    graph = _Graph(parts)
    # `work` may be large, and is in the graph once
    lift, join = graph.data("work", work), graph.data("merge", merge)
    level = [graph.task(("lift", i), lift, i, *keys) for i, keys in enumerate(graph.chunks())]
    return graph.value(graph.merge_tree(level, join))


def map_pairs(
    work: Callable[..., T],
    merge: Callable[[T, T], T],
    finish: Callable[[int, T], Array],
    queries: da.Array,
    parts: Sequence[da.Array | None],
    nothing: Array,
) -> da.Array:
    """All pairs of chunks of queries and of parts, reduced over the parts: a lazy Dask array.

    For every chunk of queries it has `finish(number, merged)`, one result for each query like `nothing` (0, ...), where
    merged is `work(queries, *chunks)` of all chunks of the parts, merged in a binary tree by their position.
    """
    graph = _Graph((*parts, queries))
    lift, join, end = graph.data("work", work), graph.data("merge", merge), graph.data("finish", finish)
    name = f"tenfold_crossed-{graph.token}"
    for i in range(queries.numblocks[0]):
        chunk = TaskRef((queries.name, i, 0))
        level = [graph.task(("lift", i, j), lift, chunk, *keys[:-1]) for j, keys in enumerate(graph.chunks())]
        merge_tree = graph.merge_tree(level, join, i)
        key = (name, i, 0)[: nothing.ndim + 1]
        graph.nodes[key] = Task(key, _work, end, i, merge_tree)
    layers = HighLevelGraph.from_collections(name, graph.nodes, [part for part in graph.parts if part is not None])
    chunks = (queries.chunks[0], *((size,) for size in nothing.shape[1:]))
    return da.Array(layers, name, chunks, meta=nothing)


class _Graph:
    """Tasks over the chunks of arrays that are cut at the same rows."""

    def __init__(self, parts: Sequence[da.Array | None]) -> None:
        self.parts, self.nodes, self.token = parts, dict[Any, Any](), uuid4().hex

    def chunks(self) -> Iterator[list[TaskRef | None]]:
        """The chunks of all parts in order, None for an absent part; they are cut where the first is."""
        count = next(part.numblocks[0] for part in self.parts if part is not None)
        for i in range(count):
            yield [None if part is None else TaskRef((part.name, i, 0)[: part.ndim + 1]) for part in self.parts]

    def data(self, role: str, value: Any) -> TaskRef:
        return self._add(DataNode(f"tenfold_{role}-{self.token}", Carried(value)))

    def task(self, place: tuple[Any, ...], *given: Any) -> TaskRef:
        """A call of the first of `given` with the rest; `place` is part of its name."""
        return self._add(Task((f"tenfold_{place[0]}-{self.token}", *place[1:]), _call, *given))

    def merge_tree(self, level: list[TaskRef], join: TaskRef, *place: int) -> TaskRef:
        """The results of tasks, merged in a binary tree by their position."""
        height = 0
        while len(level) > 1:
            height += 1
            pairs = zip(level[::2], level[1::2], strict=False)
            above = [self.task(("merge", *place, height, i), join, *pair) for i, pair in enumerate(pairs)]
            level = above + level[2 * len(above) :]
        return level[0]

    def _add(self, node: Any) -> TaskRef:
        self.nodes[node.key] = node
        return TaskRef(node.key)

    def value(self, at: TaskRef) -> Any:
        """The value of a node, computed by the cluster of the active client, or by threads without one."""
        name = f"tenfold-{self.token}"
        graph = HighLevelGraph.from_collections(name, self.nodes, [part for part in self.parts if part is not None])
        (result,) = _run_on_cluster(partial(dask.compute, Delayed(at.key, graph, layer=name), traverse=False))
        return result.value


def _run_on_cluster(compute: Callable[[], T]) -> T:
    """The result of `ask`; failures of the cluster become a `ClusterError` that says what to do."""
    try:
        # distributed sets its defaults on import; an import inside the context would lose them
        with dask.config.set(QUIET) if "distributed" in sys.modules else nullcontext():
            return compute()
    except Exception as error:
        hint = _error_hint(error)
        if hint is None:
            raise
        raise ClusterError(f"{hint} (Dask says: {error})") from error


def _error_hint(error: Exception) -> str | None:
    """The advice for an error of the cluster; None for any other error."""
    key = error.args[0] if isinstance(error, KeyError) and error.args else None
    if str(error).startswith("Missing dependency") or (
        isinstance(key, tuple) and isinstance(key[0], str) and all(isinstance(i, int) for i in key[1:])
    ):  # the name of a chunk
        return "The rows were persisted on a cluster that is no longer connected. Connect to it, or load them again."
    if type(error).__module__.partition(".")[0] != "distributed":
        return None
    if type(error).__name__ == "KilledWorker":
        return "Workers died again and again over the same chunk. Give them more memory, or make the chunks smaller."
    if getattr(error, "reason", "") in ("lost dependencies", "already forgotten"):
        return (
            "A worker died with the only copy of some rows: scattered data cannot be computed again. Load the rows by "
            "Dask itself, from files for instance, or keep copies with Client.replicate."
        )
    return "The connection to the scheduler is lost. Connect to a cluster and fit again: nothing was fitted."


# -- collections


def rowwise(f: Callable[..., Array], *arrays: da.Array) -> da.Array:
    """f of the chunks of arrays cut at the same rows, one result for each row, as a lazy Dask array."""
    nothing = f(*(np.zeros((0, *array.shape[1:]), array.dtype) for array in arrays))
    inputs = [x for array, axis in zip(arrays, "klmn", strict=False) for x in (array, f"i{axis}"[: array.ndim])]
    new = {"j": nothing.shape[1]} if nothing.ndim == 2 else None
    work, out = partial(_work, Carried(f)), "ij"[: nothing.ndim]
    return da.blockwise(work, out, *inputs, new_axes=new, concatenate=True, align_arrays=False, meta=nothing)


def is_frame(X: Any) -> bool:
    """Whether a Dask collection is a data frame or one of its columns."""
    return not isinstance(X, da.Array)


def array_of(collection: Any) -> da.Array:
    """A data frame or one of its columns as an array; arrays as they are."""
    if not is_frame(collection):
        return collection
    kinds = list(collection.dtypes) if collection.ndim == 2 else [collection.dtype]
    if not all(isinstance(kind, np.dtype) for kind in kinds):
        # pandas' extension types: nullable numbers, strings, categories
        collection = collection.astype(np.float64 if all(kind.kind in "fiub" for kind in kinds) else object)
    return collection.to_dask_array()


def matrix(X: Any) -> da.Array:
    """X (n, p) in chunks of rows of known lengths, with all columns in one, in float32 or float64. Unknown lengths are
    counted by one pass.
    """
    return with_known_lengths(columns_together(X))


def columns_together(X: Any) -> da.Array:
    """X in chunks of rows, known or not, with all columns in one, in float32 or float64."""
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
    return X if X.numblocks[1] == 1 else _cut(X, {1: -1})


def with_known_lengths(array: da.Array) -> da.Array:
    """The array with the lengths of its chunks, counted by one pass where they are not known."""
    if not np.isnan(array.shape[0]):
        return array
    lengths = reduce(_length, operator.add, (array,))
    return da.Array(array.dask, array.name, (lengths, *array.chunks[1:]), dtype=array.dtype)


def _length(number: int, chunk: Array) -> tuple[int]:
    return (len(chunk),)


def align(values: Any, X: da.Array, dtype: Any = np.float64) -> da.Array:
    """Values for each row, a Dask collection or in the memory of the client, in the chunks of X and persisted on the
    workers; without a `dtype` they keep theirs.
    """
    lazy = is_dask(values)
    values = with_known_lengths(array_of(values)) if lazy else np.ascontiguousarray(values, dtype=dtype)
    if values.shape[0] != X.shape[0]:
        raise ValueError(
            f"Found input variables with inconsistent numbers of samples: {[X.shape[0], int(values.shape[0])]}"
        )
    chunks = (X.chunks[0], *((size,) for size in values.shape[1:]))
    values = _cut(values, chunks) if lazy else da.from_array(values, chunks=chunks)
    return _persist(values if dtype is None else values.astype(dtype))[0]


def _cut(array: da.Array, chunks: Any) -> da.Array:
    """The array in other chunks, by tasks that can be recomputed when a worker dies."""
    return array.rechunk(chunks, method="tasks")


def _persist(*parts: da.Array | None) -> tuple[Any, ...]:
    """The arrays persisted on the workers; on a cluster the computation may still run."""
    return _run_on_cluster(partial(dask.persist, *parts, traverse=False))


def distinct(y: da.Array) -> Array:
    """The distinct values of an array, sorted; only these are transferred."""
    return reduce(_distinct, np.union1d, (y,))


def _distinct(number: int, chunk: Array) -> Array:
    return np.unique(np.asarray(chunk))


def place_of(X: da.Array, bad: Callable[[Array], Array]) -> str | None:
    """The place of the first entry for which `bad` is true, in words; None without one."""
    first_bad = reduce(partial(_first_bad, bad), _first, (X,))
    if first_bad is None:
        return None
    number, row, column = first_bad
    start, stop = sum(X.chunks[0][:number]), sum(X.chunks[0][: number + 1])
    return f"chunk {number} (rows {start} to {stop - 1}), row {start + row}" + (
        "" if column is None else f", column {column}"
    )


def _first_bad(bad: Callable[[Array], Array], number: int, chunk: Array) -> tuple[int, int, int | None] | None:
    bad_entries = np.argwhere(bad(chunk))
    return (
        (number, int(bad_entries[0, 0]), int(bad_entries[0, 1]) if bad_entries.shape[1] > 1 else None)
        if len(bad_entries)
        else None
    )


def _first(one: T, other: T) -> T:
    return one if one is not None else other
