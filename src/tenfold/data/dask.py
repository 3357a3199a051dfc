"""Rows on a cluster: Dask arrays in chunks of rows, folded where they are. The only module that imports Dask.

A fold is one static graph: a task lifts each chunk, and a binary tree merges the statistics by the position of the
chunks, whoever holds them. The client sends the lift once and is sent one statistic; rows never come to it. What is
computed follows from the chunks alone, so the number of workers, their speed and their death change no bit.
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
from tenfold.data.blocks import Block, Lifted, Parts, S, block_length
from tenfold.data.memory import MemoryRows
from tenfold.data.passes import count_pass
from tenfold.machine import sharing

T = TypeVar("T")

QUIET = {"distributed.admin.large-graph-warning-threshold": 1 << 60}
"""Lifts, targets and groups of the client are in graphs by intent, however large."""


class ClusterError(RuntimeError):
    """The cluster could not finish a computation: its scheduler is gone, or data are lost."""


@dataclass(frozen=True, slots=True)
class DaskRows(Parts):
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
        return cls(X, aligned(y, X), None if weight is None else aligned(weight, X))

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

    def fold(self, lift: Callable[[Block], Lifted[S]]) -> S:
        """See `Rows`."""
        count_pass(self.entries)
        return reduce(partial(_lift, lift), _merge, self._parts)

    def scan(self, step: Callable[[T, Block], T], start: T) -> T:
        """See `Rows`: a chain of tasks, and the state goes from worker to worker."""
        count_pass(self.entries)
        graph = _Graph(self._parts)
        work, state = graph.data("step", partial(_step, step)), graph.data("start", start)
        for i, keys in enumerate(graph.chunks()):
            state = graph.task(("scan", i), work, state, *keys)
        return graph.value(state)

    def map(self, f: Callable[[Block], Array]) -> da.Array:
        """See `Rows`: a Dask array that is not computed yet."""
        count_pass(self.entries)
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
        parts = [None if part is None else _cut(part[::step], {0: length}) for part in self._parts]
        return DaskRows(*_persisted(*parts))

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


def _lift(lift: Callable[[Block], Lifted[S]], number: int, *chunks: Array) -> S:
    return in_memory(*chunks).fold(lift)


def _merge(one: Any, other: Any) -> Any:
    return one.merge(other)


def _step(step: Callable[[T, Block], T], state: T, *chunks: Array) -> T:
    return in_memory(*chunks).scan(step, state)


def _map(f: Callable[[Block], Array], given: list[bool], *chunks: Array) -> Array:
    rest = iter(chunks)
    return in_memory(*(next(rest) if there else None for there in given)).map(f)


def in_memory(X: Array, y: Array, weight: Array | None = None, group: Array | None = None) -> MemoryRows:
    # columns of a matrix, for instance, are not contiguous
    return MemoryRows(X, y, *(None if part is None else contiguous(part) for part in (weight, group)))


# -- graphs


@dataclass(frozen=True, slots=True)
class Carried:
    """A value that may go from one process to another, and whose arrays arrive in memory of their own.

    Dask reads arrays where they lie in a message, at any byte: compiled loops refuse such arrays, and NumPy may add
    them up in another order, so that bits would depend on what travelled.
    """

    value: Any

    def __reduce__(self) -> tuple[Any, ...]:
        return _arrived, (cloudpickle.dumps(self.value),)

    def __sizeof__(self) -> int:
        """By which Dask decides where to merge, and what to keep in memory."""
        return 64 + _bytes_of(self.value)


def _arrived(message: bytes) -> Carried:
    return Carried(pickle.loads(message))


def _bytes_of(value: Any) -> int:
    """The bytes of the arrays in statistics, lifts and tuples of them."""
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
        return work.value(*map(_at_hand, given))


def _at_hand(part: Any) -> Any:
    """What was carried, and a chunk where a number may begin; in a message it begins at any byte."""
    if isinstance(part, np.ndarray) and not part.flags.aligned:
        return part.copy(order="K")
    return part.value if isinstance(part, Carried) else part


def reduce(work: Callable[..., T], merge: Callable[[T, T], T], parts: Sequence[da.Array | None]) -> T:
    """`work(number, *chunks)` for every chunk of arrays that are cut at the same rows, merged in a binary tree by the
    position of the chunks: one graph, and one result that comes to the client.
    """
    graph = _Graph(parts)
    # the work may be large, and is in the graph once
    lift, join = graph.data("work", work), graph.data("merge", merge)
    level = [graph.task(("lift", i), lift, i, *keys) for i, keys in enumerate(graph.chunks())]
    return graph.value(graph.merged(level, join))


def crossed(
    work: Callable[..., T],
    merge: Callable[[T, T], T],
    finish: Callable[[int, T], Array],
    queries: da.Array,
    parts: Sequence[da.Array | None],
    nothing: Array,
) -> da.Array:
    """For every chunk of queries `finish(number, found)`, one result a row like `nothing` (0, ...), where found is
    `work(queries, *chunks)` of all chunks of the parts, merged in a binary tree by their position: a Dask array that is
    not computed yet, whose chunks of queries and of rows meet on the workers.
    """
    graph = _Graph((*parts, queries))
    lift, join, end = graph.data("work", work), graph.data("merge", merge), graph.data("finish", finish)
    name = f"tenfold_crossed-{graph.token}"
    for i in range(queries.numblocks[0]):
        asked = TaskRef((queries.name, i, 0))
        level = [graph.task(("lift", i, j), lift, asked, *keys[:-1]) for j, keys in enumerate(graph.chunks())]
        found = graph.merged(level, join, i)
        key = (name, i, 0)[: nothing.ndim + 1]
        graph.nodes[key] = Task(key, _work, end, i, found)
    layers = HighLevelGraph.from_collections(name, graph.nodes, [part for part in graph.parts if part is not None])
    chunks = (queries.chunks[0], *((size,) for size in nothing.shape[1:]))
    return da.Array(layers, name, chunks, meta=nothing)


class _Graph:
    """Tasks over the chunks of arrays that are cut at the same rows."""

    def __init__(self, parts: Sequence[da.Array | None]) -> None:
        self.parts, self.nodes, self.token = parts, dict[Any, Any](), uuid4().hex

    def chunks(self) -> Iterator[list[TaskRef | None]]:
        """The chunks of all parts, and None of a part that is not there, from the first row on; they are cut where the
        first is.
        """
        count = next(part.numblocks[0] for part in self.parts if part is not None)
        for i in range(count):
            yield [None if part is None else TaskRef((part.name, i, 0)[: part.ndim + 1]) for part in self.parts]

    def data(self, role: str, value: Any) -> TaskRef:
        return self._add(DataNode(f"tenfold_{role}-{self.token}", Carried(value)))

    def task(self, place: tuple[Any, ...], *given: Any) -> TaskRef:
        """A call of the first of `given` with the rest; the place is part of its name."""
        return self._add(Task((f"tenfold_{place[0]}-{self.token}", *place[1:]), _call, *given))

    def merged(self, level: list[TaskRef], join: TaskRef, *place: int) -> TaskRef:
        """What some tasks give, merged in a binary tree by their position."""
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
        """What a node gives, by the cluster of the active client, or by threads where there is none."""
        name = f"tenfold-{self.token}"
        graph = HighLevelGraph.from_collections(name, self.nodes, [part for part in self.parts if part is not None])
        (found,) = _asked(partial(dask.compute, Delayed(at.key, graph, layer=name), traverse=False))
        return found.value


def _asked(ask: Callable[[], T]) -> T:
    """What `ask` gives; failures of the cluster in words that say what to do."""
    try:
        # its defaults are not there before it is imported, and would be lost if that happened inside
        with dask.config.set(QUIET) if "distributed" in sys.modules else nullcontext():
            return ask()
    except Exception as error:
        advice = _advice(error)
        if advice is None:
            raise
        raise ClusterError(f"{advice} (Dask says: {error})") from error


def _advice(error: Exception) -> str | None:
    """What to do after an error of the cluster; None after any other."""
    missing = error.args[0] if isinstance(error, KeyError) and error.args else None
    if str(error).startswith("Missing dependency") or (
        isinstance(missing, tuple) and isinstance(missing[0], str) and all(isinstance(i, int) for i in missing[1:])
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
    """f of the chunks of arrays cut at the same rows, one result a row, as a Dask array that is not computed yet."""
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
        # types of pandas' own: numbers that may be missing, words, categories
        collection = collection.astype(np.float64 if all(kind.kind in "fiub" for kind in kinds) else object)
    return collection.to_dask_array()


def matrix(X: Any) -> da.Array:
    """X (n, p) of known chunks of rows, all columns in one, in float32 or float64; what is not known is counted by one
    pass, of which only the counts travel.
    """
    return counted(columns_together(X))


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


def counted(array: da.Array) -> da.Array:
    """The array with the lengths of its chunks, found by one pass where they are not known."""
    if not np.isnan(array.shape[0]):
        return array
    lengths = reduce(_length, operator.add, (array,))
    return da.Array(array.dask, array.name, (lengths, *array.chunks[1:]), dtype=array.dtype)


def _length(number: int, chunk: Array) -> tuple[int]:
    return (len(chunk),)


def aligned(values: Any, X: da.Array, dtype: Any = np.float64) -> da.Array:
    """Values of each row, a Dask collection or in the memory of the client, cut where X is, and kept in the memory of
    the workers; without a `dtype` as they are.
    """
    lazy = is_dask(values)
    values = counted(array_of(values)) if lazy else np.ascontiguousarray(values, dtype=dtype)
    if values.shape[0] != X.shape[0]:
        raise ValueError(
            f"Found input variables with inconsistent numbers of samples: {[X.shape[0], int(values.shape[0])]}"
        )
    chunks = (X.chunks[0], *((size,) for size in values.shape[1:]))
    values = _cut(values, chunks) if lazy else da.from_array(values, chunks=chunks)
    return _persisted(values if dtype is None else values.astype(dtype))[0]


def _cut(array: da.Array, chunks: Any) -> da.Array:
    """The array in other chunks, by tasks that can be done again when a worker dies."""
    return array.rechunk(chunks, method="tasks")


def _persisted(*parts: da.Array | None) -> tuple[Any, ...]:
    """The same arrays in the memory of the workers; on a cluster they may still be on their way."""
    return _asked(partial(dask.persist, *parts, traverse=False))


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
