"""Densities and local means: sums of windows about queries, normalised, and bandwidths to try."""

from functools import cache
from typing import Any, NamedTuple

import numpy as np
from scipy.special import gammaln

from tenfold import _core
from tenfold.arrays import Floats, Integers
from tenfold.distances import Called, Distance, Entries, Given, Minkowski, Sets
from tenfold.machine import threads
from tenfold.plans.neighbours.index import FEW_COLUMNS, FINISH, LARGEST, POWERS, SIZES, SQUARES, ByTree, built
from tenfold.plans.neighbours.kde_pairwise import sums_of_table
from tenfold.plans.neighbours.pieces import in_pieces, some

WINDOWS = {
    "gaussian": 0,
    "exponential": 1,
    "box": 2,
    "tophat": 3,
    "epanechnikov": 4,
    "linear": 5,
    "cosine": 6,
    "cut": 7,
}
"""Codes of the compiled windows."""
ROUNDED = 2.0**-50
"""A part of a sum that may be left out where it is to be exact: adding rows up rounds by more."""
NODES = 128


HEIGHT = 16
"""Numbers that could be read while a window's height is computed."""


class Tolerance(NamedTuple):
    """What a density may be off by: atol + rtol times itself."""

    absolute: float
    relative: float


def window_sums(
    distance: Distance,
    X: Floats,
    queries: Floats,
    window: str,
    bandwidths: Floats,
    *,
    weight: Floats | None = None,
    targets: Floats | None = None,
    own: Integers | None = None,
) -> tuple[Floats, Floats]:
    """Logarithms of the sums of windows (m, b), and means of targets (m, b, t), for each bandwidth."""
    if isinstance(distance, Given):
        raise ValueError("Windows need a metric of rows, not distances that are given.")
    targets = np.zeros((len(X), 0)) if targets is None else targets
    if isinstance(distance, (Called, Sets)):
        return sums_of_table(distance, X, queries, window, bandwidths, weight, targets, own)
    if isinstance(distance, Minkowski):
        X, queries = distance.image(X, False), distance.image(queries, True)
        code, finish = _reduced(distance)
        p = distance.p
    else:
        assert isinstance(distance, Entries)
        code, finish, p = distance.code, distance.finish, 2.0
    X, queries = np.ascontiguousarray(X, dtype=np.float64), np.ascontiguousarray(queries, dtype=np.float64)
    bandwidths, targets = (np.ascontiguousarray(part, dtype=np.float64) for part in (bandwidths, targets))
    weight = None if weight is None else np.ascontiguousarray(weight, dtype=np.float64)
    own = None if own is None else np.ascontiguousarray(own, dtype=np.int64)
    found = [
        _core.window_sums(
            X,
            queries[piece],
            code,
            p,
            FINISH[finish],
            1.0 / p,
            WINDOWS[window],
            bandwidths,
            weight,
            targets,
            some(own, piece),
            threads(X.size * max(1, len(queries))),
        )
        for piece in in_pieces(len(queries), len(X) * (X.shape[1] + HEIGHT * len(bandwidths)))
    ]
    if len(found) == 1:
        return found[0]
    shape = (0, len(bandwidths))
    logs = np.concatenate([np.zeros(shape), *(part[0] for part in found)])
    return logs, np.concatenate([np.zeros((*shape, targets.shape[1])), *(part[1] for part in found)])


def _reduced(distance: Minkowski) -> tuple[int, str]:
    """The compiled loop of a distance, and what it leaves to do."""
    code = {2.0: SQUARES, 1.0: SIZES, np.inf: LARGEST}.get(distance.p, POWERS)
    return code, distance.finish if code == SQUARES else "power" if code == POWERS else "same"


def tree_of(distance: Distance, X: Floats) -> ByTree | None:
    """A tree of the rows, where a distance and few columns let one be of use."""
    if not isinstance(distance, Minkowski) or distance.image(X[:1], False).shape[1] > FEW_COLUMNS:
        return None
    search = built(distance, X).search
    return search if isinstance(search, ByTree) else None


def log_sums(
    distance: Distance,
    X: Floats,
    queries: Floats,
    window: str,
    h: float,
    weight: Floats | None,
    tolerance: Tolerance,
    tree: ByTree | None,
) -> Floats:
    """Logarithms of sums of windows at queries (m,): by the nodes of a tree where there is one, else by all rows."""
    if tree is None:
        return window_sums(distance, X, queries, window, np.array([h]), weight=weight)[0][:, 0]
    total = float(len(X) if weight is None else np.sum(weight))
    with np.errstate(divide="ignore"):
        absolute = np.log(tolerance.absolute) + np.log(total) + log_volume(window, np.array([h]), X.shape[1])[0]
    return _by_nodes(tree, queries, window, h, weight, float(absolute), max(tolerance.relative, ROUNDED))


def _by_nodes(
    search: ByTree, queries: Floats, window: str, h: float, weight: Floats | None, log_absolute: float, relative: float
) -> Floats:
    """Logarithms of sums of windows (m,), off by at most exp(log_absolute) + relative times the sum."""
    distance, (order, points, boxes, leaf) = search.distance, search.tree
    ordered = None if weight is None else np.ascontiguousarray(weight[order], dtype=np.float64)
    code, finish = _reduced(distance)
    queries = np.ascontiguousarray(distance.image(queries, True), dtype=np.float64)
    sums = None if ordered is None else np.append(0.0, np.cumsum(ordered))
    found = [
        _core.window_tree(
            points,
            boxes,
            leaf,
            queries[piece],
            code,
            distance.p,
            FINISH[finish],
            1.0 / distance.p,
            WINDOWS[window],
            h,
            log_absolute,
            relative,
            ordered,
            sums,
            threads(points.size * max(1, len(queries))),
        )
        for piece in in_pieces(len(queries), len(points) * HEIGHT)
    ]
    return np.concatenate([np.zeros(0), *found])


def log_volume(kernel: str, bandwidths: Floats, d: int) -> Floats:
    """The logarithm of the integral of a window over d dimensions, for each bandwidth."""
    ball = 0.5 * d * np.log(np.pi) - gammaln(0.5 * d + 1.0)  # of the unit ball
    sphere = ball + np.log(d)
    if kernel == "gaussian":
        unit = 0.5 * d * np.log(2.0 * np.pi)
    elif kernel == "tophat":
        unit = ball
    elif kernel == "epanechnikov":
        unit = ball + np.log(2.0 / (d + 2.0))
    elif kernel == "exponential":
        unit = sphere + gammaln(d)
    elif kernel == "linear":
        unit = ball - np.log(d + 1.0)
    else:
        unit = sphere + _cosine_integral(d)
    return unit + d * np.log(np.asarray(bandwidths, dtype=np.float64))


@cache
def _cosine_integral(d: int) -> float:
    """log of the integral of r^(d - 1) cos(pi r / 2) over [0, 1], whose closed form has alternating sums: by a rule of
    Gauss, exact to rounding.
    """
    nodes, weights = np.polynomial.legendre.leggauss(NODES)
    r = 0.5 * (nodes + 1.0)
    return float(np.log(np.sum(0.5 * weights * r ** (d - 1.0) * np.cos(0.5 * np.pi * r))))


def rule_of_thumb(rule: str, n: int, d: int) -> float:
    """Scott's or Silverman's bandwidth for columns of variance one."""
    return float((n if rule == "scott" else n * (d + 2.0) / 4.0) ** (-1.0 / (d + 4.0)))


def bandwidths_to_try(distance: Distance, X: Floats, given: Any = None, count: int = 24) -> Floats:
    """Those given, in order; else from half the usual distance of a row to its nearest to the usual distance of two
    rows, in equal ratios.
    """
    if len(X) < 2:
        raise ValueError("Leaving one row out needs two rows: n_samples=1 is too few.")
    if given is not None:
        tried = np.unique(np.asarray(given, dtype=np.float64))
        if tried.size == 0 or not np.all(tried > 0):
            raise ValueError(f"candidates must be positive bandwidths, got {given!r}.")
        return tried
    some = X[np.unique(np.linspace(0, len(X) - 1, min(len(X), 256)).astype(np.intp))]
    index = built(distance, X)
    near = index.nearest(some, min(len(X), 2))[0][:, -1]
    far = index.nearest(some, len(X))[0][:, len(X) // 2] if len(X) <= 4096 else _far(distance, some)
    low, high = _middle(near), _middle(far)
    return np.geomspace(0.5 * low, max(high, low), count)


def _far(distance: Distance, some: Floats) -> Floats:
    return built(distance, some).nearest(some, len(some))[0][:, len(some) // 2]


def _middle(values: Floats) -> float:
    """The median of what is positive; one where nothing is."""
    positive = values[values > 0.0]
    return float(np.median(positive)) if positive.size else 1.0


def likelihoods_left_out(
    distance: Distance, X: Floats, kernel: str, bandwidths: Floats, weight: Floats | None
) -> Floats:
    """The weighted mean of the log density of each row by the others, for each bandwidth."""
    logs, _ = window_sums(distance, X, X, kernel, bandwidths, weight=weight, own=np.arange(len(X)))
    each = np.ones(len(X)) if weight is None else weight
    with np.errstate(divide="ignore"):
        logs = logs - np.log(each.sum() - each)[:, None]
    found: Any = np.average(logs, axis=0, weights=each) - log_volume(kernel, bandwidths, X.shape[1])
    return found
