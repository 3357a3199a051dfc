"""Coordinate descent on some columns of rows in memory, for one penalty or a path of them (Johnson and Guestrin 2015;
Massias, Gramfort and Salmon 2018).

Minimises the objective of `problems.SparseLeastSquares` where there are too many columns for all their products. A
working set has the columns that are furthest beyond the constraint of the dual, or nearest to it; the loop of core/
include/tenfold/descent_gram.hpp works on their Gram matrix, which grows with the set. A pass over all columns gives
the gap, and the columns that were left out wrongly; one pass serves several penalties of a path at once.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.blas import dgemm

from tenfold import _core
from tenfold.arrays import Array, Floats, Integers, is_sparse
from tenfold.machine import one_blas_thread, threads
from tenfold.problems import duality_gap, pulled
from tenfold.stats import back_times

FIRST = 64
"""Columns that join at first; later ones as many as there are."""

TOGETHER = 8
"""At most so many penalties are checked by one pass."""

INNER = 0.3
"""The working set is solved to so much of the gap that is allowed for all columns."""


class Columns(Protocol):
    """Columns that are weighted by roots of the rows' weights and measured from their means, never as a whole."""

    @property
    def shape(self) -> tuple[int, int]: ...
    def pulls(self, residuals: Floats) -> Floats:
        """Products (k, p) of all columns with residuals (n, k), weighted alike."""
        ...

    def extended(self, chosen: "Chosen", index: Integers) -> "Chosen":
        """The columns that were chosen and more."""
        ...

    def fits(self, chosen: "Chosen", weights: Floats) -> Floats:
        """What weights (k, q) of the chosen columns make of them, (n, k)."""
        ...


@dataclass(frozen=True)
class Chosen:
    """Numbers (q,) of columns, the columns themselves, and their products (q, q)."""

    index: Integers
    columns: Array
    gram: Floats


class DenseColumns:
    """Columns of a NumPy array in any order; those that are chosen are copied."""

    def __init__(self, X: Array, root: Floats, centre: Floats) -> None:
        self.X, self.root, self.centre = X, root, centre

    @property
    def shape(self) -> tuple[int, int]:
        return self.X.shape

    def pulls(self, residuals: Floats) -> Floats:
        weighted = self.root[:, None] * residuals
        if self.X.flags.c_contiguous:
            return back_times(self.X, np.ascontiguousarray(weighted), self.centre)
        R, k = np.ascontiguousarray(weighted.T), residuals.shape[1]
        found = _core.times(self.X.T, R, np.zeros(k), None, threads(self.X.size))
        return np.ascontiguousarray(found.T) - np.outer(weighted.sum(axis=0), self.centre)

    def extended(self, chosen: Chosen, index: Integers) -> Chosen:
        new = np.asfortranarray(np.take(self.X, index, axis=1), dtype=np.float64)
        new -= self.centre[index]
        new *= self.root[:, None]
        with one_blas_thread:
            gram = _grown(
                chosen.gram, dgemm(1.0, chosen.columns, new, trans_a=True), dgemm(1.0, new, new, trans_a=True)
            )
        columns = np.concatenate([chosen.columns.T, new.T]).T
        return Chosen(np.concatenate([chosen.index, index]), columns, gram)

    def fits(self, chosen: Chosen, weights: Floats) -> Floats:
        used = np.flatnonzero(weights.any(axis=0))
        with one_blas_thread:
            return dgemm(1.0, chosen.columns[:, used], weights[:, used], trans_b=True)

    def none(self) -> Chosen:
        return Chosen(np.zeros(0, np.int64), np.zeros((self.shape[0], 0), order="F"), np.zeros((0, 0)))


class SparseColumns:
    """Columns of compressed rows, compressed by columns once; means are taken off the products, not the columns."""

    def __init__(self, X: Array, root: Floats, centre: Floats) -> None:
        self.root, self.centre = root, centre
        columns = X.tocsc().astype(np.float64)
        columns.data *= root[columns.indices]
        self.columns = columns

    @property
    def shape(self) -> tuple[int, int]:
        return self.columns.shape

    def pulls(self, residuals: Floats) -> Floats:
        # the transpose of columns compressed by columns is compressed by rows
        C, k = self.columns, residuals.shape[1]
        R = np.ascontiguousarray(residuals.T)
        found = _core.times_csr(C.data, C.indices, C.indptr, C.shape[0], R, np.zeros(k), threads(C.nnz))
        return np.ascontiguousarray(found.T) - np.outer(self.root @ residuals, self.centre)

    def extended(self, chosen: Chosen, index: Integers) -> Chosen:
        new = self.columns[:, index]
        old = chosen.columns
        shape = (self.shape[0], old.shape[1] + len(index))
        joint = type(new)((np.concatenate([old.data, new.data]), *_joined(old, new)), shape)
        means, weight = self.centre[index], float(self.root @ self.root)
        # sums of a column times its root are its weighted sum: weight times its mean
        sums, old_sums = self.root @ new, self.root @ old
        across = (old.T @ new).toarray()
        across -= np.outer(old_sums, means) + np.outer(self.centre[chosen.index], sums - weight * means)
        own = (new.T @ new).toarray()
        own -= np.outer(sums, means) + np.outer(means, sums - weight * means)
        return Chosen(np.concatenate([chosen.index, index]), joint, _grown(chosen.gram, across, own))

    def fits(self, chosen: Chosen, weights: Floats) -> Floats:
        offsets = weights @ self.centre[chosen.index]
        return np.asarray(chosen.columns @ weights.T) - np.outer(self.root, offsets)

    def none(self) -> Chosen:
        return Chosen(np.zeros(0, np.int64), self.columns[:, :0], np.zeros((0, 0)))


def _joined(a: Array, b: Array) -> tuple[Integers, Integers]:
    """Indices and pointers of two sets of compressed columns side by side."""
    return np.concatenate([a.indices, b.indices]), np.concatenate([a.indptr, a.indptr[-1] + b.indptr[1:]])


def _grown(gram: Floats, across: Floats, own: Floats) -> Floats:
    return np.ascontiguousarray(np.block([[gram, across], [across.T, own]]))


def columns_of(X: Array, root: Floats, centre: Floats) -> DenseColumns | SparseColumns:
    """The columns of rows in memory."""
    return SparseColumns(X, root, centre) if is_sparse(X) else DenseColumns(X, root, centre)


@dataclass(frozen=True)
class Found:
    """Weights (A, t, p), relative gaps (A,) and sweeps (A,) for each penalty, and passes over the columns in all."""

    coef: Floats
    gaps: Floats
    sweeps: Integers
    passes: int


@dataclass
class _State:
    """Where the descent is: members, their weights (t, q), the pulls (t, p) of all columns at them, and the penalty
    that these weights belong to."""

    chosen: Chosen
    weights: Floats
    pull: Floats
    l1: float


def path(
    columns: DenseColumns | SparseColumns,
    Y: Floats,
    penalties: Sequence[tuple[float, float]],
    *,
    positive: bool,
    tol: float,
    max_iter: int,
    start: Floats | None = None,
    seed: int | None = None,
) -> Found:
    """Minimise for targets (n, t) together and each (l1, l2), one from the weights of the one before, until the gap is
    at most `tol` times |Y|^2. Everything is in mean units: the squares of the weights' roots add up to one.
    """
    p, t, yy = columns.shape[1], Y.shape[1], float(np.sum(Y * Y))
    coef, gaps = np.zeros((len(penalties), t, p)), np.full(len(penalties), np.inf)
    sweeps = np.zeros(len(penalties), np.int64)
    state, passes = _begun(columns, Y, start), 1
    first, count, inner, before = 0, 1, INNER, 0.0
    if len(penalties) == 1:
        before = 0.1  # the first set of a single penalty will hardly be the last
    while first < len(penalties):
        these = list(range(first, min(first + count, len(penalties))))
        state = _joined_by(columns, _trimmed(state), penalties[these[-1]], positive, len(these) > 1)
        most = max_iter - int(sweeps[first])
        wanted = [penalties[i] for i in these]
        # a set that may lack columns is solved to a part of the gap that it had
        enough = max(inner * tol, 0.1 * before)
        W, counts = _descended(state, _along(columns, Y, state), yy, wanted, positive, enough, most, seed)
        R = np.tile(Y, len(these)) - columns.fits(state.chosen, W.reshape(-1, W.shape[2]))
        pulls, passes = columns.pulls(R).reshape(len(these), t, p), passes + 1
        ends = len(these)
        for k, i in enumerate(these):
            sweeps[i] += counts[k]
            squares = float(np.sum(R[:, k * t : (k + 1) * t] ** 2))
            inside = np.zeros((t, p))
            inside[:, state.chosen.index] = W[k]
            gaps[i] = duality_gap(penalties[i], positive, inside, pulls[k], squares) / (yy or 1.0)
            coef[i] = inside
            if gaps[i] > tol and sweeps[i] < max_iter:
                ends = k
                break
        k = min(ends, len(these) - 1)
        state = _State(state.chosen, W[k], pulls[k], penalties[these[k]][0])
        if ends == len(these):
            first, count, inner, before = first + ends, min(2 * count, TOGETHER), INNER, 0.0
        else:
            beyond = np.flatnonzero(pulled(pulls[k], positive) > penalties[these[k]][0])
            # where no column is missing the working set itself is to be solved further
            lacks = bool(np.setdiff1d(beyond, state.chosen.index).size)
            inner, before = (inner, float(gaps[these[k]])) if lacks else (0.1 * inner, 0.0)
            if inner < 1e-6:
                ends, inner = ends + 1, INNER  # rounding prevents more
            first, count = first + ends, 1
    return Found(coef, gaps, sweeps, passes)


def _along(columns: DenseColumns | SparseColumns, Y: Floats, state: _State) -> Floats:
    """Products (t, q) of the targets with the members."""
    if is_sparse(state.chosen.columns):
        means = columns.centre[state.chosen.index]
        return np.ascontiguousarray(Y.T @ state.chosen.columns - np.outer(columns.root @ Y, means))
    with one_blas_thread:
        return np.ascontiguousarray(dgemm(1.0, Y, state.chosen.columns, trans_a=True))


def _begun(columns: DenseColumns | SparseColumns, Y: Floats, start: Floats | None) -> _State:
    chosen, t = columns.none(), Y.shape[1]
    if start is None or not start.any():
        pull = columns.pulls(Y)
        return _State(chosen, np.zeros((t, 0)), pull, np.inf)
    index = np.flatnonzero(start.any(axis=0))
    chosen = columns.extended(chosen, index)
    weights = np.ascontiguousarray(start[:, index])
    return _State(chosen, weights, columns.pulls(Y - columns.fits(chosen, weights)), np.inf)


def _trimmed(state: _State) -> _State:
    """Without most of the members that are not used, where these are many."""
    used: NDArray[np.bool_] = np.array(state.weights.any(axis=0))
    if state.weights.shape[1] <= 4 * max(FIRST, int(used.sum())):
        return state
    near = np.argsort(-pulled(state.pull[:, state.chosen.index], False))[: 2 * max(FIRST, int(used.sum()))]
    used[near] = True
    kept = np.flatnonzero(used)
    chosen = Chosen(state.chosen.index[kept], state.chosen.columns[:, kept], state.chosen.gram[np.ix_(kept, kept)])
    return _State(chosen, np.ascontiguousarray(state.weights[:, kept]), state.pull, state.l1)


def _joined_by(
    columns: DenseColumns | SparseColumns, state: _State, penalty: tuple[float, float], positive: bool, ahead: bool
) -> _State:
    """Admit the columns that are beyond the constraint, the furthest first; on the way to smaller penalties also those
    that will probably be (the strong rule of Tibshirani et al. 2012), and in any case the nearest few.
    """
    distance: Floats = np.array(pulled(state.pull, positive))
    l1 = penalty[0]
    distance[state.chosen.index] = -np.inf
    limit = 2.0 * l1 - state.l1 if np.isfinite(state.l1) and state.l1 > l1 else l1
    used = int(np.count_nonzero(state.weights.any(axis=0)))
    most = max(FIRST, used // 4 if ahead else used)
    beyond = np.flatnonzero(distance > max(limit, 0.5 * l1 if ahead else 0.0))
    if not beyond.size and not state.chosen.index.size:
        beyond = np.array([int(np.argmax(distance))])
    if beyond.size > most:
        beyond = beyond[np.argpartition(-distance[beyond], most - 1)[:most]]
    index = np.sort(beyond[np.isfinite(distance[beyond])])
    if not index.size:
        return state
    weights = np.concatenate([state.weights, np.zeros((len(state.weights), index.size))], axis=1)
    return _State(columns.extended(state.chosen, index), np.ascontiguousarray(weights), state.pull, state.l1)


def _descended(
    state: _State,
    C: Floats,
    yy: float,
    penalties: list[tuple[float, float]],
    positive: bool,
    tol: float,
    most: int,
    seed: int | None,
) -> tuple[Floats, NDArray[np.int64]]:
    """The members' weights (A, t, q) for each penalty, and the sweeps."""
    l1, l2 = (np.array(part, dtype=np.float64) for part in zip(*penalties, strict=True))
    unit = np.ones(len(state.chosen.index))
    with one_blas_thread:
        W, _, sweeps = _core.descent(
            state.chosen.gram, C, yy, unit, state.weights, l1, l2, positive, tol * yy, max(most, 1), seed
        )
    return W, sweeps
