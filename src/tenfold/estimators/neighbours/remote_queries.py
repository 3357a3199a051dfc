"""Queries that meet the rows of a fit, wherever both are."""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from tenfold.arrays import Array, Integers, is_array_api, is_dask, like, namespace
from tenfold.data import BatchRows, Block, Table
from tenfold.distances import Distance
from tenfold.estimators.registration import SOURCES, source_of
from tenfold.estimators.validation import load_dask_input
from tenfold.plans.neighbours import AllWithin, Kept, KeptWindows, Question, Source, is_possible, numbered

THERE = ("files", "Dask", "devices")
"""Rows that stay where they are: the source is kept, and read for every question."""


class Reporter(NamedTuple):
    """What is made of neighbours, or of sums of windows: an array with one result a query, and such an array for no
    query.
    """

    make: Callable[[Any], Array]
    nothing: Array


def told_of(model: Any, X: Any, question: Question, told: Reporter) -> Array:
    """What is made of the answers to a question at each query, wherever the queries and the rows are: in memory for
    queries in memory and in tables, as a Dask array not computed yet, or where a device has the queries.
    """
    if in_memory(model, X):
        return told.make(model._near(X, question))
    own, rows = X is None, source_of(model._fit_X)
    X = model._fit_X if own else X
    queries = source_of(X)
    if isinstance(question, AllWithin) and np.ndim(question.radius):
        raise ValueError("A radius for each query is for queries in memory: give one number.")
    model._check_enough(question, own, X.shape[0])
    if queries == "Dask" and rows == "Dask":
        index = model._index
        assert isinstance(index, Source)
        lift = partial(_lifted, question, index.form, own)
        make = partial(_made, question, index.form, told.make)
        return load_dask_input().map_pairs(model, X, index.rows, lift, make, told.nothing, itself=own)
    answer = partial(_answered, model._index, question, told.make)
    if own and isinstance(X, Table):
        return numbered(BatchRows(X, np.zeros((X.shape[0], 0)))).map(partial(_of_block, answer))
    if own:
        return follow_queries(answer(X, np.arange(X.shape[0])), X)
    found = model._predict_raw(X, lambda few: answer)
    return follow_queries(found, X)


def in_memory(model: Any, X: Any) -> bool:
    """Whether the queries, without X the rows of the fit, are in memory; refuses those that cannot meet the rows."""
    rows = source_of(model._fit_X)
    queries = rows if X is None else source_of(X)
    if "devices" in (rows, queries) and rows != queries:
        raise TypeError(
            f"The rows of the fit are in {SOURCES[rows]}, the queries in {SOURCES[queries]}: move one of them, "
            "nothing is copied between devices silently."
        )
    if queries == "Dask" and rows == "files":
        raise TypeError("Queries of a cluster do not meet the rows of files: give X.compute(), or a table of files.")
    return queries not in THERE


def positive(weight: Array) -> Array:
    """One for rows that count and zero for others, where the weights are."""
    if is_dask(weight):
        return (weight > 0.0).astype(np.float64)
    xp = namespace(weight)
    return xp.astype(weight > 0.0, xp.float64)


def refuse_distance(metric: Any, distance: Distance, X: Array) -> None:
    """Refuse what rows of other libraries are not compared by."""
    if source_of(X) == "devices" and not is_possible(distance):
        raise ValueError(
            f"metric={metric!r} is not for arrays of other libraries, which are compared by Minkowski's distances, "
            "cosine and correlation: move the rows to the host, or choose one of these."
        )


def _lifted(question: Question, form: Any, own: bool, queries: Array) -> Callable[[Block], Any]:
    return question.lift(form, queries, own)


def _made(question: Question, form: Any, make: Callable[[Any], Array], found: Any, own: Integers | None) -> Array:
    return make(question.near(form, found, own))


def _answered(
    index: Kept | KeptWindows | Source,
    question: Question,
    make: Callable[[Any], Array],
    queries: Array,
    own: Integers | None = None,
) -> Array:
    return make(index.near(question, queries, own))  # type: ignore[arg-type]  # the one that its index takes


def _of_block(answer: Callable[..., Array], block: Block) -> Array:
    return answer(block.X, block.y[:, 0].astype(np.int64))


def follow_queries(found: Array, X: Array) -> Array:
    """Numbers of queries on a device, where the queries are; words stay on the host."""
    if is_dask(X) or not is_array_api(X) or found.dtype.kind not in "biuf":
        return found
    return like(found, X)
