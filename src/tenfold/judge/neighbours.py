"""Neighbours judged: the rows that are stored are those that were given, and what a search found for some of them is
what all plain distances in float64 say.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist

from tenfold.arrays import Array, Floats, Integers, is_sparse, unit_roundoff
from tenfold.judge.certificate import Certificate
from tenfold.judge.exact import Pair, exact

WORK = 1 << 21
"""Entries of rows that the judge reads for its distances, and for each row as many as there are in:"""
LOOK = 8
ALL = 1 << 9
"""Among so few rows every one is asked for its neighbours."""
FEWEST, MOST = 2, 256
ROUNDING = 512.0 * unit_roundoff(np.float64)

Answer = tuple[Floats, Integers]
"""Distances and rows of the neighbours of one query."""


def sample(n: int, width: int) -> Integers:
    """The rows that are asked for their neighbours: all of few, else some at equal distances."""
    count = n if n <= ALL else int(np.clip(WORK // (n * (width + LOOK)), FEWEST, MOST))
    return (np.arange(count) * n) // max(1, count)


def neighbours(
    stored: dict[str, tuple[Any, Any]],
    X: Array,
    *,
    metric: Any,
    params: dict[str, Any],
    k: int | None,
    radius: float | None,
    asked: Integers,
    found: Callable[[Integers], list[Answer]],
    status: str = "solved",
) -> Certificate:
    """The certificate of an index of rows X.

    `stored` has for each name what the model keeps and what it was given. `found` gives the neighbours of rows that are
    `asked`, the k nearest or those within a radius, none of which is the row itself. Distances are compared with those
    of plain loops, in units of the largest distance of the query: those of the returned rows, and those of the nearest.
    """
    pairs: dict[str, Pair] = {name: _same(*pair) for name, pair in stored.items()}
    if asked.size and (k is None or 0 < k < X.shape[0]):
        table = plain(metric, params, X, X[asked])
        table[np.arange(len(asked)), asked] = np.inf
        answers = found(asked)
        returned, again, nearest, size = [], [], [], []
        for row, (distances, rows) in zip(table, answers, strict=True):
            unit = float(np.max(row, initial=0.0, where=row < np.inf)) or 1.0
            best = _smallest(row, len(rows)) if k is not None else _inside(row, radius, distances, unit)
            again.append(np.full(len(rows), np.nan) if len(np.unique(rows)) < len(rows) else row[rows])
            returned.append(np.asarray(distances, dtype=np.float64))
            nearest.append(best)
            size.append(np.full(len(rows), unit))
        if any(a.shape != b.shape for a, b in zip(returned, nearest, strict=True)):
            pairs["neighbours"] = (np.zeros(0), np.zeros(1), 1.0)
        else:
            flat, sizes = np.concatenate(returned), np.concatenate(size)
            pairs["distances"] = (flat, np.concatenate(again), sizes)
            ordered = np.concatenate([np.sort(part) for part in returned])
            pairs["neighbours"] = (ordered, np.concatenate(nearest), sizes)
    share = "all rows" if len(asked) == X.shape[0] else f"{len(asked)} of {X.shape[0]} rows"
    note = f"Every row is stored; the neighbours of {share} were found again by plain distances."
    return exact(pairs, floor=ROUNDING, status=status, note=note)


def _smallest(row: Floats, k: int) -> Floats:
    return np.sort(np.partition(row, k - 1)[:k]) if 0 < k < len(row) else np.sort(row)[:k]


def _inside(row: Floats, radius: float | None, distances: Floats, unit: float) -> Floats:
    """The distances within a radius; those that rounding decides are taken as they were found."""
    near = np.sort(row[np.isfinite(row)])
    edge = ROUNDING * unit
    within = float(radius or 0.0)
    least, most = np.count_nonzero(near < within - edge), np.count_nonzero(near <= within + edge)
    return near[: int(np.clip(len(distances), least, most))]


def _same(kept: Any, given: Any) -> Pair:
    """Whether two arrays are equal, number by number; classes by their names."""
    if is_sparse(kept) or is_sparse(given):
        if not (is_sparse(kept) and is_sparse(given)) or kept.shape != given.shape:
            return np.zeros(0), np.ones(1), 1.0
        away = abs(kept - given)
        return np.array([away.max() if away.nnz else 0.0]), np.zeros(1), 1.0
    kept, given = np.asarray(kept), np.asarray(given)
    if kept.shape != given.shape:
        return np.zeros(0), np.ones(1), 1.0
    if kept.dtype.kind in "fiub" and given.dtype.kind in "fiub":
        return kept, given, np.maximum(np.abs(given.astype(np.float64)), np.finfo(np.float64).tiny)
    return (kept != given).astype(np.float64), np.zeros(given.shape), 1.0


def plain(metric: Any, params: dict[str, Any], X: Array, Q: Array) -> Floats:
    """Distances (m, n) in float64 by SciPy's loops, or by formulas that no search uses."""
    X, Q = (np.asarray(part.toarray() if is_sparse(part) else part, dtype=np.float64) for part in (X, Q))
    if metric == "pyfunc":
        params = dict(params)
        metric = params.pop("func")
    if callable(metric):
        return np.array([[metric(q, x, **params) for x in X] for q in Q], dtype=np.float64)
    if metric == "precomputed":
        return Q.copy()
    if metric in FORMULAS:
        return FORMULAS[metric](X, Q)
    name = {"l2": "euclidean", "l1": "cityblock", "manhattan": "cityblock", "infinity": "chebyshev", "p": "minkowski"}
    name = name.get(metric, metric)
    if name in ("dice", "jaccard", "rogerstanimoto", "russellrao", "sokalsneath", "yule"):
        return np.nan_to_num(cdist(Q != 0, X != 0, name), nan=0.0)
    if name == "seuclidean":
        params = {"V": np.var(X, axis=0, ddof=1), **params}
    if name == "mahalanobis":
        params = {"VI": _inverse(X, params)}
    found = cdist(Q, X, name, **{key: value for key, value in params.items() if value is not None})
    undefined = {"braycurtis": 0.0, "cosine": 1.0, "correlation": 1.0}.get(name)
    return found if undefined is None else np.nan_to_num(found, nan=undefined)


def _inverse(X: Floats, params: dict[str, Any]) -> Floats:
    if params.get("VI") is not None:
        return np.asarray(params["VI"], dtype=np.float64)
    V = params["V"] if params.get("V") is not None else np.cov(X, rowvar=False).reshape(X.shape[1], X.shape[1])
    return np.linalg.inv(np.asarray(V, dtype=np.float64))


def _on_sphere(X: Floats, Q: Floats) -> Floats:
    """Angles from chords: twice the arc sine of half of each."""

    def places(P: Floats) -> Floats:
        up, around = P[:, 0], P[:, 1]
        return np.column_stack([np.cos(up) * np.cos(around), np.cos(up) * np.sin(around), np.sin(up)])

    return 2.0 * np.arcsin(np.minimum(1.0, 0.5 * cdist(places(Q), places(X))))


def _of_known(X: Floats, Q: Floats) -> Floats:
    known = (~np.isnan(Q)).astype(np.float64) @ (~np.isnan(X)).astype(np.float64).T
    squares = np.array([np.nansum((X - q) ** 2, axis=1) for q in Q])
    with np.errstate(invalid="ignore", divide="ignore"):
        found = np.sqrt(squares * X.shape[1] / known)
    return np.where(np.isnan(found), np.inf, found)


def _of_ranks(X: Floats, Q: Floats) -> Floats:
    """City blocks of ranks; counted, not searched for."""

    def ranks(P: Floats) -> Floats:
        found = np.empty(P.shape)
        for j in range(X.shape[1]):
            levels = np.unique(X[:, j])
            less = (levels[None, :] < P[:, j, None]).sum(axis=1)
            equal = (levels[None, :] == P[:, j, None]).sum(axis=1)
            found[:, j] = (less + 0.5 * (equal + 1.0)) / len(levels)
        return found

    return cdist(ranks(Q), ranks(X), "cityblock")


def _of_agreement(X: Floats, Q: Floats) -> Floats:
    apart = cdist(Q != 0, X != 0, "hamming")
    return 2.0 * apart / (1.0 + apart)


FORMULAS: dict[str, Callable[[Floats, Floats], Floats]] = {
    "haversine": _on_sphere,
    "nan_euclidean": _of_known,
    "ordinal": _of_ranks,
    "sokalmichener": _of_agreement,
}
