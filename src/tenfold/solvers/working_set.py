"""Coordinate descent on some columns of rows in memory, for one penalty or a path of them (Johnson and Guestrin 2015;
Massias, Gramfort and Salmon 2018).

Minimises the objective of `problems.SparseLeastSquares` where there are too many columns for all their products. A
working set has the columns that are furthest beyond the constraint of the dual, or nearest to it; the loops of core/
include/tenfold work on their Gram matrix, which grows with the set (descent_gram.hpp), or along the columns themselves
where these have few entries (descent_compressed.hpp). A pass over all columns gives the gap, and the columns that were
left out wrongly; one pass serves several penalties of a path at once. Columns that cannot have a weight at the optimum
(gap-safe screening, Ndiaye et al. 2017) never join; when few are left, all do.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import pairwise
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array

from tenfold import _core
from tenfold.arrays import Array, Floats, Integers, entries, is_sparse
from tenfold.machine import one_blas_thread, poll, threads
from tenfold.problems import duality_gap, pulled, safe
from tenfold.stats.derivatives import adjoint

FIRST = 64
"""Columns that join at least, if they are beyond; later ones as many as there are."""

TOGETHER = 8
"""At most so many penalties are checked by one pass."""

SOME = 16
"""Columns that were missing are many where they are more than one in so many."""

SCATTERED = 8
"""A product with an entry somewhere takes as long as so many with entries in a row."""

PIECES = 8
"""Rows without a weight are left out where the others are so many pieces at most."""

AT_ONCE = 5e8
"""So many multiplications are made between two looks for an interruption."""

SOME_ROWS = 512
"""Rows that are copied between two such looks."""

INNER = 0.8
"""The working set is solved to so much of the gap that is allowed for all columns."""


class Columns(Protocol):
    """Columns that are weighted by roots of the rows' weights and measured from their means, never as a whole."""

    @property
    def shape(self) -> tuple[int, int]: ...
    def none(self) -> "Chosen":
        """No columns yet."""
        ...

    def pulls(self, residuals: Floats) -> Floats:
        """Products (k, p) of all columns with residuals (n, k), weighted alike."""
        ...

    def extended(self, chosen: "Chosen", index: Integers) -> "Chosen":
        """The columns that were chosen and more; what was chosen is not used any more."""
        ...

    def kept(self, chosen: "Chosen", places: Integers) -> "Chosen":
        """Some of the columns that were chosen, by their places among them."""
        ...

    def fits(self, chosen: "Chosen", weights: Floats) -> Floats:
        """What weights (k, q) of the chosen columns make of them, (n, k)."""
        ...

    def descended(self, chosen: "Chosen", weights: Floats, task: "Task") -> tuple[Floats, Integers]:
        """Weights (A, t, q) of the chosen columns for each penalty, from weights (t, q), and the sweeps."""
        ...


@dataclass(frozen=True)
class Chosen:
    """Numbers (q,) of columns, the columns themselves and their products: where they are dense the first q of the rows
    of an array with room for more, and the first (q, q) of another. Columns of few entries have no products.
    """

    index: Integers
    columns: Array
    gram: Floats


@dataclass(frozen=True)
class Task:
    """What is minimised among the chosen columns: targets (n, t), the pulls (t, p) of all columns at zero weights,
    penalties (l1, l2), the gap at which to stop, and the most sweeps.
    """

    Y: Floats
    along: Floats
    penalties: list[tuple[float, float]]
    positive: bool
    enough: float
    most: int
    seed: int | None

    def rules(self) -> tuple[Floats, Floats, bool, float, int, int | None]:
        """As the loops want them."""
        l1, l2 = (np.array(part, dtype=np.float64) for part in zip(*self.penalties, strict=True))
        return l1, l2, self.positive, self.enough, max(self.most, 1), self.seed


def _on_products(chosen: Chosen, weights: Floats, task: Task) -> tuple[Floats, Integers]:
    """Descent on the products of the chosen columns."""
    unit, C = np.ones(len(chosen.index)), np.ascontiguousarray(task.along[:, chosen.index])
    with one_blas_thread:
        W, _, sweeps = _core.cd_gram(chosen.gram, C, float(np.sum(task.Y * task.Y)), unit, weights, *task.rules())
    return W, sweeps


class DenseColumns:
    """Columns of NumPy arrays one below the other, in any order; those that are chosen are copied, as rows."""

    def __init__(self, arrays: list[Array], root: Floats, centre: Floats) -> None:
        self.arrays, self.root, self.centre = arrays, root, centre
        ends = np.cumsum([0, *(len(X) for X in arrays)])
        self.parts = [slice(start, stop) for start, stop in pairwise(ends)]

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.root), len(self.centre)

    def pulls(self, residuals: Floats) -> Floats:
        weighted = np.ascontiguousarray(self.root[:, None] * residuals)
        return reduce(np.add, (self._pulls(X, weighted[part]) for X, part in zip(self.arrays, self.parts, strict=True)))

    def _pulls(self, X: Array, weighted: Floats) -> Floats:
        if X.flags.c_contiguous:
            return adjoint(X, weighted, self.centre)
        R, k = np.ascontiguousarray(weighted.T), weighted.shape[1]
        found = _core.matvec(X.T, R, np.zeros(k), None, threads(X.size))
        return np.ascontiguousarray(found.T) - np.outer(weighted.sum(axis=0), self.centre)

    def extended(self, chosen: Chosen, index: Integers) -> Chosen:
        while len(index):
            poll()
            half = 0.5 * len(chosen.index)  # count columns take n count (2 half + count) multiplications
            count = max(FIRST, int(np.sqrt(half**2 + AT_ONCE / self.shape[0]) - half))
            chosen, index = self._extended(chosen, index[:count]), index[count:]
        return chosen

    def _extended(self, chosen: Chosen, index: Integers) -> Chosen:
        n, q = self.shape[0], len(chosen.index)
        m, used = q + len(index), threads(n * len(index))
        columns = _with_room(chosen.columns, q, m, square=False)
        gram = _with_room(chosen.gram, q, m, square=True)
        for X, part in zip(self.arrays, self.parts, strict=True):
            if X.flags.c_contiguous:
                columns[q:m, part] = _core.gather_columns(X, index, self.centre[index], self.root[part], used)
            else:
                columns[q:m, part] = self.root[part] * (np.take(X.T, index, axis=0) - self.centre[index, None])
        new = columns[q:m]
        gram[q:m, q:m] = _core.row_gram(new, np.zeros(n), np.ones(len(index)), used)
        gram[:q, q:m] = _core.matvec(columns[:q], new, np.zeros(m - q), None, threads(q * n))
        gram[q:m, :q] = gram[:q, q:m].T
        return Chosen(np.concatenate([chosen.index, index]), columns, gram)

    def kept(self, chosen: Chosen, places: Integers) -> Chosen:
        return Chosen(chosen.index[places], chosen.columns[places], chosen.gram[np.ix_(places, places)])

    def fits(self, chosen: Chosen, weights: Floats) -> Floats:
        columns = chosen.columns[: len(chosen.index)]
        return _core.matvec_t(columns, np.ascontiguousarray(weights.T), None, threads(columns.size)).T

    def none(self) -> Chosen:
        return Chosen(np.zeros(0, np.int64), np.zeros((0, self.shape[0])), np.zeros((0, 0)))

    def descended(self, chosen: Chosen, weights: Floats, task: Task) -> tuple[Floats, Integers]:
        return _on_products(chosen, weights, task)


def _with_room(array: Floats, used: int, length: int, *, square: bool) -> Floats:
    """An array of at least so many rows, the first `used` as they were; where it has to grow, twice as long."""
    if len(array) >= length:
        return array
    room = 2 * length
    grown = np.empty((room, room if square else array.shape[1]))
    width = used if square else array.shape[1]
    for first in range(0, used, SOME_ROWS):
        poll()
        part = slice(first, min(first + SOME_ROWS, used))
        grown[part, :width] = array[part, :width]
    return grown


class SparseColumns:
    """Columns of compressed rows: those that are chosen are compressed by columns. Means are taken off the products,
    not the columns.
    """

    def __init__(self, X: Array, root: Floats, centre: Floats) -> None:
        self.X, self.root, self.centre = X, root, centre

    @property
    def shape(self) -> tuple[int, int]:
        return self.X.shape

    def pulls(self, residuals: Floats) -> Floats:
        return adjoint(self.X, np.ascontiguousarray(self.root[:, None] * residuals), self.centre)

    def extended(self, chosen: Chosen, index: Integers) -> Chosen:
        X, old = self.X, chosen.columns
        new = csc_array(
            _core.gather_columns_csr(X.data, X.indices, X.indptr, X.shape[1], index, self.root, threads(entries(X))),
            shape=(X.shape[0], len(index)),
        )
        q, m = len(chosen.index), len(chosen.index) + len(index)
        data, indices = np.concatenate([old.data, new.data]), np.concatenate([old.indices, new.indices])
        indptr = np.concatenate([old.indptr, old.indptr[-1] + new.indptr[1:]])
        joint = csc_array((data, indices, indptr), shape=(X.shape[0], m))
        numbers = np.concatenate([chosen.index, index])
        if SCATTERED * joint.nnz < m * m:
            return Chosen(numbers, joint, np.zeros((0, 0)))
        if q and not len(chosen.gram):
            old, new, q = old[:, :0], joint, 0
        return Chosen(numbers, joint, self._grown(chosen.gram, old, new, numbers[:q], numbers[q:]))

    def _grown(self, gram: Floats, old: Array, new: Array, before: Integers, index: Integers) -> Floats:
        """The products of old columns, and those of new ones beside them."""
        q, m = len(before), len(before) + len(index)
        means, weight = self.centre[index], float(np.einsum("i,i->", self.root, self.root))
        # sums of a column times its root are its weighted sum: weight times its mean
        sums, old_sums = self.root @ new, self.root @ old
        across = (old.T @ new).toarray()
        across -= np.outer(old_sums, means) + np.outer(self.centre[before], sums - weight * means)
        own = (new.T @ new).toarray()
        own -= np.outer(sums, means) + np.outer(means, sums - weight * means)
        gram = _with_room(gram, q, m, square=True)
        gram[:q, q:m], gram[q:m, :q], gram[q:m, q:m] = across, across.T, own
        return gram

    def kept(self, chosen: Chosen, places: Integers) -> Chosen:
        gram = chosen.gram[np.ix_(places, places)] if len(chosen.gram) else chosen.gram
        return Chosen(chosen.index[places], chosen.columns[:, places], gram)

    def fits(self, chosen: Chosen, weights: Floats) -> Floats:
        offsets = np.einsum("kq,q->k", weights, self.centre[chosen.index])
        return np.asarray(chosen.columns @ weights.T) - np.outer(self.root, offsets)

    def none(self) -> Chosen:
        nothing = csc_array((self.shape[0], 0), dtype=np.float64)
        return Chosen(np.zeros(0, np.int64), nothing, np.zeros((0, 0)))

    def descended(self, chosen: Chosen, weights: Floats, task: Task) -> tuple[Floats, Integers]:
        if len(chosen.gram):
            return _on_products(chosen, weights, task)
        C, targets = chosen.columns, np.ascontiguousarray(task.Y.T)
        with one_blas_thread:
            W, _, sweeps = _core.cd_csc(
                C.data, C.indices, C.indptr, self.centre[chosen.index], targets, weights, *task.rules()
            )
        return W, sweeps


def columns_of(X: Array, root: Floats, centre: Floats) -> tuple[Columns, slice | Integers]:
    """The columns of rows in memory, and the rows that are in them: those without a weight need not be read where they
    lie together, as those of a fold do.
    """
    if is_sparse(X):
        return SparseColumns(X, root, centre), slice(None)
    weighted = np.concatenate([[False], root > 0.0, [False]])
    ends = np.flatnonzero(weighted[1:] != weighted[:-1]).reshape(-1, 2)
    if not X.flags.c_contiguous or not 0 < len(ends) <= PIECES or ends[0, 1] - ends[0, 0] == len(X):
        return DenseColumns([X], root, centre), slice(None)
    kept = np.flatnonzero(root > 0.0)
    return DenseColumns([X[start:stop] for start, stop in ends], root[kept], centre), kept


@dataclass(frozen=True)
class Found:
    """Weights (A, t, p), relative gaps (A,) and sweeps (A,) for each penalty, and passes over the columns in all."""

    coef: Floats
    gaps: Floats
    sweeps: Integers
    passes: int


@dataclass
class _State:
    """Where the descent is: members, their weights (t, q), the pulls (t, p) of all columns at them, the penalty that
    these weights belong to, and which columns may have a weight at the optimum of the next.
    """

    chosen: Chosen
    weights: Floats
    pull: Floats
    l1: float
    alive: NDArray[np.bool_]


Look = Callable[[Floats], tuple[Floats, float]]
"""The pulls (t, p) of all columns and the mean square of the residuals at weights (t, p), by somebody else."""


def path(
    columns: Columns,
    Y: Floats,
    along: Floats,
    lengths: Floats,
    penalties: Sequence[tuple[float, float]],
    *,
    positive: bool,
    tol: float,
    max_iter: int,
    start: Floats | None = None,
    seed: int | None = None,
    look: Look | None = None,
) -> Found:
    """Minimise for targets (n, t) together and each (l1, l2), one from the weights of the one before, until the gap is
    at most `tol` times |Y|^2. Everything is in mean units: the squares of the weights' roots add up to one. `along` are
    the pulls (t, p) at zero weights, `lengths` those of the columns; `look` takes the place of the passes over all
    columns for a single penalty. At most `max_iter` sweeps over all columns, or as many steps of single columns.
    """
    p, t, yy = columns.shape[1], Y.shape[1], float(np.sum(Y * Y))
    coef, gaps = np.zeros((len(penalties), t, p)), np.full(len(penalties), np.inf)
    steps = np.zeros(
        len(penalties), np.int64
    )  # of single columns: p of them are a sweep, however few belong to the set
    state, passes = _begun(columns, Y, along, start), 0
    first, count, inner, before = 0, 1, INNER, 0.0
    while first < len(penalties):
        poll()
        these = list(range(first, min(first + count, len(penalties))))
        state = _joined_by(columns, _trimmed(columns, state), penalties[these[-1]], positive, len(these) > 1)
        q = state.chosen.index.size
        most = (max_iter * p - int(steps[first])) // max(q, 1)
        wanted = [penalties[i] for i in these]
        # a set that lacked many columns, and may lack more, is solved to a part of the gap that it had
        enough = max(inner * tol, 0.1 * before)
        task = Task(Y, along, wanted, positive, enough * yy, most, seed)
        W, counts = columns.descended(state.chosen, state.weights, task)
        here = coef[first : first + len(these)]
        here[:] = 0.0
        here[:, :, state.chosen.index] = W
        pulls, squares = _looked(columns, Y, state.chosen, W, here, look)
        passes, ends = passes + 1, len(these)
        for k, i in enumerate(these):
            steps[i] += counts[k] * q
            gaps[i] = duality_gap(penalties[i], positive, coef[i], pulls[k], squares[k]) / (yy or 1.0)
            if gaps[i] > tol and steps[i] + q <= max_iter * p:
                ends = k
                break
        k = min(ends, len(these) - 1)
        now = penalties[these[k]]
        state = _State(state.chosen, W[k], pulls[k], now[0], np.ones(p, dtype=bool))
        if ends == len(these):
            first, count, inner, before = first + ends, min(2 * count, TOGETHER), INNER, 0.0
        else:
            state.alive = safe(now, positive, coef[these[k]], pulls[k], squares[k], lengths)
            beyond = np.flatnonzero(state.alive & (pulled(pulls[k], positive) > now[0]))
            # where no column is missing the working set itself is to be solved further
            missing = np.setdiff1d(beyond, state.chosen.index).size
            lacks = missing > 0
            # with the columns that it lacked, the rest of these penalties may pass at once, and as many as half of them
            count = max(len(these) - ends, len(these) // 2, 1) if lacks else 1
            many = SOME * missing > state.chosen.index.size
            before = float(gaps[these[k]]) if many and count == 1 else 0.0
            inner = inner if lacks else 0.1 * inner
            if inner < 1e-6:
                ends, inner = ends + 1, INNER  # rounding prevents more
            first += ends
    # a set that has grown may take its last sweep a little beyond the limit
    return Found(coef, gaps, np.minimum(-(-steps // max(p, 1)), max_iter), passes)


def _looked(
    columns: Columns, Y: Floats, chosen: Chosen, W: Floats, coef: Floats, look: Look | None
) -> tuple[Floats, list[float]]:
    """The pulls (A, t, p) of all columns at weights (A, t, q) of the members, and the mean squares of the residuals."""
    A, t, q = W.shape
    if look is not None and A == 1:
        pull, squares = look(coef[0])
        return pull[None], [squares]
    R = np.tile(Y, A) - columns.fits(chosen, W.reshape(A * t, q))
    return columns.pulls(R).reshape(A, t, -1), [float(np.sum(R[:, k * t : (k + 1) * t] ** 2)) for k in range(A)]


def _begun(columns: Columns, Y: Floats, along: Floats, start: Floats | None) -> _State:
    chosen, (t, p) = columns.none(), along.shape
    if start is None or not start.any():
        return _State(chosen, np.zeros((t, 0)), along, np.inf, np.ones(p, dtype=bool))
    index = np.flatnonzero(start.any(axis=0))
    chosen = columns.extended(chosen, index)
    weights = np.ascontiguousarray(start[:, index])
    pull = columns.pulls(Y - columns.fits(chosen, weights))
    return _State(chosen, weights, pull, np.inf, np.ones(p, dtype=bool))


def _trimmed(columns: Columns, state: _State) -> _State:
    """Without most of the members that are not used, where these are many."""
    used: NDArray[np.bool_] = np.array(state.weights.any(axis=0))
    enough = _some(state)
    many = max(enough, int(used.sum()))
    if state.weights.shape[1] <= 2 * many:
        return state
    near = np.argsort(-pulled(state.pull[:, state.chosen.index], False))[: many + many // 4]
    used[near] = True
    kept = np.flatnonzero(used)
    return replace(state, chosen=columns.kept(state.chosen, kept), weights=np.ascontiguousarray(state.weights[:, kept]))


def _some(state: _State) -> int:
    """So many columns that their products cost about as much as a pass over all."""
    return max(FIRST, int(3.0 * np.sqrt(state.pull.shape[1])))


def _joined_by(columns: Columns, state: _State, penalty: tuple[float, float], positive: bool, ahead: bool) -> _State:
    """Admit the columns that are beyond the constraint, the furthest first; on the way to smaller penalties also those
    that will probably be (the strong rule of Tibshirani et al. 2012), and all that may have a weight, where these are
    few.
    """
    distance: Floats = np.array(pulled(state.pull, positive))
    l1 = penalty[0]
    out = ~state.alive
    out[state.chosen.index] = True
    distance[out] = -np.inf
    # at first some that others may push over
    limit = 0.5 * l1 if state.l1 == np.inf else min(2.0 * l1 - state.l1, l1)
    used = int(np.count_nonzero(state.weights.any(axis=0)))
    most = max(FIRST, used // 4) if ahead else max(_some(state), used)
    beyond = np.flatnonzero(distance > max(limit, 0.5 * l1 if ahead else 0.0))
    if not beyond.size and not state.chosen.index.size:
        beyond = np.array([int(np.argmax(distance))])
    if beyond.size > most:
        beyond = beyond[np.argpartition(-distance[beyond], most - 1)[:most]]
    elif int(np.count_nonzero(~out)) <= most:
        beyond = np.flatnonzero(~out)
    index = np.sort(beyond[np.isfinite(distance[beyond])])
    if not index.size:
        return state
    weights = np.concatenate([state.weights, np.zeros((len(state.weights), index.size))], axis=1)
    return replace(state, chosen=columns.extended(state.chosen, index), weights=np.ascontiguousarray(weights))
