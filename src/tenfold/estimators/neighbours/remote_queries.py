"""Queries of stored samples, wherever both are."""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from tenfold.arrays import Array, Integers, is_array_api, is_dask, like, namespace
from tenfold.data import BatchRows, Block, Table
from tenfold.distances import Distance
from tenfold.estimators.registration import SOURCES, source_of
from tenfold.estimators.validation import load_dask_input
from tenfold.pairwise import (
    KernelSamples,
    NeighbourSamples,
    RadiusRequest,
    Request,
    RowsSamples,
    number_rows,
    supports_distance,
)

REMOTE = ("files", "Dask", "devices")  # sources of samples that stay where they are: they are read for every request


class Formatter(NamedTuple):
    """How neighbours, or kernel sums, become an output: a function to an array with one entry a query, and such an
    array for no query.
    """

    make: Callable[[Any], Array]
    empty: Array


def answer_queries(model: Any, X: Any, request: Request, formatter: Formatter) -> Array:
    """The output of a request for each query, wherever the queries and the samples are: in memory for queries in memory
    and in tables, a Dask array that is not computed yet, or an array on the device of the queries.
    """
    if is_in_memory(model, X):
        return formatter.make(model._search(X, request))
    own, rows = X is None, source_of(model._fit_X)
    X = model._fit_X if own else X
    queries = source_of(X)
    if isinstance(request, RadiusRequest) and np.ndim(request.radius):
        raise ValueError("A radius for each query is for queries in memory: give one number.")
    model._check_enough(request, own, X.shape[0])
    if queries == "Dask" and rows == "Dask":
        index = model._index
        assert isinstance(index, RowsSamples)
        lift = partial(_lift, request, index.form, own)
        make = partial(_finish, request, index.form, formatter.make)
        return load_dask_input().map_pairs(model, X, index.rows, lift, make, formatter.empty, itself=own)
    answer = partial(_query, model._index, request, formatter.make)
    if own and isinstance(X, Table):
        return number_rows(BatchRows(X, np.zeros((X.shape[0], 0)))).map(partial(_of_block, answer))
    if own:
        return follow_queries(answer(X, np.arange(X.shape[0])), X)
    return follow_queries(model._predict_raw(X, lambda few: answer), X)


def is_in_memory(model: Any, X: Any) -> bool:
    """Whether the queries, without X the samples of the fit, are in memory; raises where they cannot be compared."""
    rows = source_of(model._fit_X)
    queries = rows if X is None else source_of(X)
    if "devices" in (rows, queries) and rows != queries:
        raise TypeError(
            f"The rows of the fit are in {SOURCES[rows]}, the queries in {SOURCES[queries]}: move one of them, "
            "nothing is copied between devices silently."
        )
    if queries == "Dask" and rows == "files":
        raise TypeError("Queries of a cluster do not meet the rows of files: give X.compute(), or a table of files.")
    return queries not in REMOTE


def indicate_positive(weight: Array) -> Array:
    """One where a weight is positive and zero elsewhere, where the weights are."""
    if is_dask(weight):
        return (weight > 0.0).astype(np.float64)
    xp = namespace(weight)
    return xp.astype(weight > 0.0, xp.float64)


def check_distance(metric: Any, distance: Distance, X: Array) -> None:
    """Raise for a distance that samples on devices do not have."""
    if source_of(X) == "devices" and not supports_distance(distance):
        raise ValueError(
            f"metric={metric!r} is not for arrays of other libraries, which are compared by Minkowski's distances, "
            "cosine and correlation: move the rows to the host, or choose one of these."
        )


def _lift(request: Request, form: Any, own: bool, queries: Array) -> Callable[[Block], Any]:
    return request.lift(form, queries, own)


def _finish(request: Request, form: Any, make: Callable[[Any], Array], result: Any, own: Integers | None) -> Array:
    return make(request.finish(form, result, own))


def _query(
    index: NeighbourSamples | KernelSamples | RowsSamples,
    request: Request,
    make: Callable[[Any], Array],
    queries: Array,
    own: Integers | None = None,
) -> Array:
    return make(index.query(request, queries, own))  # type: ignore[arg-type]  # the one that its index takes


def _of_block(answer: Callable[..., Array], block: Block) -> Array:
    return answer(block.X, block.y[:, 0].astype(np.int64))


def follow_queries(outputs: Array, X: Array) -> Array:
    """Numeric outputs of queries on a device, where the queries are; strings stay on the host."""
    if is_dask(X) or not is_array_api(X) or outputs.dtype.kind not in "biuf":
        return outputs
    return like(outputs, X)
