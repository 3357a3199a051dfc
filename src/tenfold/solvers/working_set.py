"""Working-set coordinate descent for the Lasso's family on rows in memory, for one penalty or a path of them (Johnson
and Guestrin 2015; Massias, Gramfort and Salmon 2018).

Solves   min over W (t, p) of  |Y - X W'|^2 / 2 + penalty(W),   where p is too large for the Gram matrix X'X.

Given the columns of X (n, p), weighted by the roots of the sample weights and centred, targets Y (n, t), X'Y and a
sequence of penalties of one kind; returns the weights, duality gaps and sweeps of each.

Outer loop: the features whose correlation with the residuals violates the dual constraint most, or comes nearest to it,
join the working set. The subproblem is solved by coordinate descent on the Gram matrix of the working set, which grows
with it (core/include/tenfold/cd_gram.hpp), or on its columns where these are very sparse (cd_csc.hpp) or much shorter
than a row of that matrix (cd_dense.hpp). A pass over all columns gives the gap and the violated constraints; along a
path one pass serves several penalties. Features that are inactive at the optimum (gap-safe screening, Ndiaye et al.
2017) never join; once few others are left, all of them do.
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
from tenfold.lasso_dual import dual_norm, duality_gap, feature_norms, gap_safe_screen
from tenfold.machine import one_blas_thread, poll, threads
from tenfold.penalties import SparsePenalty
from tenfold.stats.derivatives import adjoint

MIN_GROWTH = 64  # features that join a working set at least, if they violate the dual constraint

MAX_PENALTIES_PER_PASS = 8  # penalties of a path that one pass over the columns checks

MANY_MISSING = 1 / 16  # from this part of the working set on, missing features make an exact subproblem a waste

SPARSE_COST = 8  # multiplications of a dense product that take as long as one of a sparse product

GRAM_PER_SAMPLE = 1  # features a sample up to which a Gram matrix pays (ElasticNet 1500 x 5000: 0.36 s, with 4: 2.0 s)

MAX_PIECES = 8  # samples of zero weight are left out of dense X where the others are at most so many slices

PRODUCTS_PER_POLL = 5e8  # multiplications between two checks for an interruption

ROWS_PER_POLL = 512  # rows of an array that are copied between two such checks

SUBPROBLEM_TOL = 0.8  # the subproblem is solved to this part of the gap that is allowed for all features


class Columns(Protocol):
    """The columns of X, weighted by the roots of the sample weights and centred; never formed as a whole."""

    @property
    def shape(self) -> tuple[int, int]: ...
    def empty(self) -> "WorkingSet":
        """A working set without features."""
        ...

    def correlate(self, residuals: Floats) -> Floats:
        """X'R (k, p), the correlations of all columns with residuals R (n, k), weighted alike."""
        ...

    def extend(self, working_set: "WorkingSet", index: Integers) -> "WorkingSet":
        """The working set with more features; it takes over the memory of the old one."""
        ...

    def select(self, working_set: "WorkingSet", places: Integers) -> "WorkingSet":
        """Some features of the working set, by their places in it."""
        ...

    def predict(self, working_set: "WorkingSet", weights: Floats) -> Floats:
        """Predictions (n, k) of weights (k, q) of the working set."""
        ...

    def solve(self, working_set: "WorkingSet", weights: Floats, task: "Subproblem") -> tuple[Floats, Integers]:
        """Weights (A, t, q) of the working set for each penalty, starting from weights (t, q), and the sweeps."""
        ...


@dataclass(frozen=True)
class WorkingSet:
    """Indices (q,) of features, their columns and Gram matrix. Dense columns are the first q rows of an array with
    spare capacity, the Gram matrix the first (q, q) of another. It is (0, 0) where the subproblem is solved without:
    for very sparse columns, in CSC format, and for many more features than samples.
    """

    index: Integers
    columns: Array
    gram: Floats


@dataclass(frozen=True)
class Subproblem:
    """The problem restricted to a working set: targets (n, t), X'Y (t, p) of all columns, penalties, the gap and the
    number of sweeps at which to stop, and the seed of a random order of the features.
    """

    Y: Floats
    xty: Floats
    penalties: list[SparsePenalty]
    tol: float
    max_sweeps: int
    seed: int | None

    def arguments(self) -> tuple[Floats, Floats, bool, float, int, int | None]:
        """The last arguments of the compiled loops."""
        l1 = np.array([penalty.l1 for penalty in self.penalties], dtype=np.float64)
        l2 = np.array([penalty.l2 for penalty in self.penalties], dtype=np.float64)
        return l1, l2, self.penalties[0].positive, self.tol, max(self.max_sweeps, 1), self.seed


def _solve_on_gram(working_set: WorkingSet, weights: Floats, task: Subproblem) -> tuple[Floats, Integers]:
    """Coordinate descent on the Gram matrix of the working set."""
    unit, C = np.ones(len(working_set.index)), np.ascontiguousarray(task.xty[:, working_set.index])
    with one_blas_thread:
        W, _, sweeps = _core.cd_gram(
            working_set.gram, C, float(np.sum(task.Y * task.Y)), unit, weights, *task.arguments()
        )
    return W, sweeps


class DenseColumns:
    """Columns of dense arrays stacked one below the other, in C or Fortran order; a working set copies its columns."""

    def __init__(self, arrays: list[Array], root: Floats, centre: Floats) -> None:
        self.arrays, self.root, self.centre = arrays, root, centre
        ends = np.cumsum([0, *(len(X) for X in arrays)])
        self.parts = [slice(start, stop) for start, stop in pairwise(ends)]

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.root), len(self.centre)

    def correlate(self, residuals: Floats) -> Floats:
        weighted = np.ascontiguousarray(self.root[:, None] * residuals)
        return reduce(
            np.add, (self._correlate(X, weighted[part]) for X, part in zip(self.arrays, self.parts, strict=True))
        )

    def _correlate(self, X: Array, weighted: Floats) -> Floats:
        if X.flags.c_contiguous:
            return adjoint(X, weighted, self.centre)
        R, k = np.ascontiguousarray(weighted.T), weighted.shape[1]
        products = _core.matvec(X.T, R, np.zeros(k), None, threads(X.size))
        return np.ascontiguousarray(products.T) - np.outer(weighted.sum(axis=0), self.centre)

    def extend(self, working_set: WorkingSet, index: Integers) -> WorkingSet:
        n, p = self.shape
        m, first = len(working_set.index) + len(index), len(working_set.gram) and len(working_set.index)
        columns = self._append_columns(working_set, index)
        indices = np.concatenate([working_set.index, index])
        if m > GRAM_PER_SAMPLE * n:
            return WorkingSet(indices, columns, np.zeros((0, 0)))
        gram = working_set.gram
        while first < m:
            poll()
            half = 0.5 * first  # count columns take n count (2 half + count) multiplications
            count = max(MIN_GROWTH, int(np.sqrt(half**2 + PRODUCTS_PER_POLL / n) - half))
            last = min(first + count, m)
            gram = _with_capacity(gram, first, m, p, square=True)
            new = columns[first:last]
            own = threads(n * (last - first))
            gram[first:last, first:last] = _core.row_gram(new, np.zeros(n), np.ones(last - first), own)
            across = _core.matvec(columns[:first], new, np.zeros(last - first), None, threads(n * first))
            gram[:first, first:last], gram[first:last, :first] = across, across.T
            first = last
        return WorkingSet(indices, columns, gram)

    def _append_columns(self, working_set: WorkingSet, index: Integers) -> Floats:
        """The array of the columns of the working set, with those of more features."""
        q, p = len(working_set.index), self.shape[1]
        columns = _with_capacity(working_set.columns, q, q + len(index), p, square=False)
        for start in range(0, len(index), ROWS_PER_POLL):
            poll()
            some = index[start : start + ROWS_PER_POLL]
            rows, used = slice(q + start, q + start + len(some)), threads(self.shape[0] * len(some))
            for X, part in zip(self.arrays, self.parts, strict=True):
                if X.flags.c_contiguous:
                    columns[rows, part] = _core.gather_columns(X, some, self.centre[some], self.root[part], used)
                else:
                    columns[rows, part] = self.root[part] * (np.take(X.T, some, axis=0) - self.centre[some, None])
        return columns

    def select(self, working_set: WorkingSet, places: Integers) -> WorkingSet:
        gram = working_set.gram[np.ix_(places, places)] if len(working_set.gram) else working_set.gram
        return WorkingSet(working_set.index[places], working_set.columns[places], gram)

    def predict(self, working_set: WorkingSet, weights: Floats) -> Floats:
        columns = working_set.columns[: len(working_set.index)]
        return _core.matvec_t(columns, np.ascontiguousarray(weights.T), None, threads(columns.size)).T

    def empty(self) -> WorkingSet:
        return WorkingSet(np.zeros(0, np.int64), np.zeros((0, self.shape[0])), np.zeros((0, 0)))

    def solve(self, working_set: WorkingSet, weights: Floats, task: Subproblem) -> tuple[Floats, Integers]:
        if len(working_set.gram):
            return _solve_on_gram(working_set, weights, task)
        columns, targets = working_set.columns[: len(working_set.index)], np.ascontiguousarray(task.Y.T)
        with one_blas_thread:
            W, _, sweeps = _core.cd_dense(columns, targets, weights, *task.arguments())
        return W, sweeps


def _with_capacity(array: Floats, used: int, length: int, most: int, *, square: bool) -> Floats:
    """An array of at least `length` rows that keeps the first `used`; where it has to grow, twice as long, up to `most`
    rows.
    """
    if len(array) >= length:
        return array
    capacity = min(2 * length, most)
    grown = np.empty((capacity, capacity if square else array.shape[1]))
    width = used if square else array.shape[1]
    for first in range(0, used, ROWS_PER_POLL):
        poll()
        part = slice(first, min(first + ROWS_PER_POLL, used))
        grown[part, :width] = array[part, :width]
    return grown


class SparseColumns:
    """Columns of a CSR matrix; a working set has them in CSC format. Means are subtracted from products, never from the
    columns.
    """

    def __init__(self, X: Array, root: Floats, centre: Floats) -> None:
        self.X, self.root, self.centre = X, root, centre

    @property
    def shape(self) -> tuple[int, int]:
        return self.X.shape

    def correlate(self, residuals: Floats) -> Floats:
        return adjoint(self.X, np.ascontiguousarray(self.root[:, None] * residuals), self.centre)

    def extend(self, working_set: WorkingSet, index: Integers) -> WorkingSet:
        X, old = self.X, working_set.columns
        new = csc_array(
            _core.gather_columns_csr(X.data, X.indices, X.indptr, X.shape[1], index, self.root, threads(entries(X))),
            shape=(X.shape[0], len(index)),
        )
        q, m = len(working_set.index), len(working_set.index) + len(index)
        data, indices = np.concatenate([old.data, new.data]), np.concatenate([old.indices, new.indices])
        indptr = np.concatenate([old.indptr, old.indptr[-1] + new.indptr[1:]])
        columns = csc_array((data, indices, indptr), shape=(X.shape[0], m))
        numbers = np.concatenate([working_set.index, index])
        if SPARSE_COST * columns.nnz < m * m:
            return WorkingSet(numbers, columns, np.zeros((0, 0)))
        if q and not len(working_set.gram):
            old, new, q = old[:, :0], columns, 0
        return WorkingSet(numbers, columns, self._extend_gram(working_set.gram, old, new, numbers[:q], numbers[q:]))

    def _extend_gram(self, gram: Floats, old: Array, new: Array, before: Integers, index: Integers) -> Floats:
        """The Gram matrix of the features `before`, extended by those of `index`."""
        q, m = len(before), len(before) + len(index)
        means, weight = self.centre[index], float(np.einsum("i,i->", self.root, self.root))
        # root times a column that is weighted by root sums to weight times its mean
        sums, old_sums = self.root @ new, self.root @ old
        across = (old.T @ new).toarray()
        across -= np.outer(old_sums, means) + np.outer(self.centre[before], sums - weight * means)
        own = (new.T @ new).toarray()
        own -= np.outer(sums, means) + np.outer(means, sums - weight * means)
        gram = _with_capacity(gram, q, m, self.shape[1], square=True)
        gram[:q, q:m], gram[q:m, :q], gram[q:m, q:m] = across, across.T, own
        return gram

    def select(self, working_set: WorkingSet, places: Integers) -> WorkingSet:
        gram = working_set.gram[np.ix_(places, places)] if len(working_set.gram) else working_set.gram
        return WorkingSet(working_set.index[places], working_set.columns[:, places], gram)

    def predict(self, working_set: WorkingSet, weights: Floats) -> Floats:
        offsets = np.einsum("kq,q->k", weights, self.centre[working_set.index])
        return np.asarray(working_set.columns @ weights.T) - np.outer(self.root, offsets)

    def empty(self) -> WorkingSet:
        columns = csc_array((self.shape[0], 0), dtype=np.float64)
        return WorkingSet(np.zeros(0, np.int64), columns, np.zeros((0, 0)))

    def solve(self, working_set: WorkingSet, weights: Floats, task: Subproblem) -> tuple[Floats, Integers]:
        if len(working_set.gram):
            return _solve_on_gram(working_set, weights, task)
        C, targets = working_set.columns, np.ascontiguousarray(task.Y.T)
        with one_blas_thread:
            W, _, sweeps = _core.cd_csc(
                C.data, C.indices, C.indptr, self.centre[working_set.index], targets, weights, *task.arguments()
            )
        return W, sweeps


def columns_of(X: Array, root: Floats, centre: Floats) -> tuple[Columns, slice | Integers]:
    """The columns of X and the samples that they hold: samples of zero weight are left out where the others are few
    slices, as in a training set of k-fold cross-validation.
    """
    if is_sparse(X):
        return SparseColumns(X, root, centre), slice(None)
    weighted = np.concatenate([[False], root > 0.0, [False]])
    ends = np.flatnonzero(weighted[1:] != weighted[:-1]).reshape(-1, 2)
    if not X.flags.c_contiguous or not 0 < len(ends) <= MAX_PIECES or ends[0, 1] - ends[0, 0] == len(X):
        return DenseColumns([X], root, centre), slice(None)
    kept = np.flatnonzero(root > 0.0)
    return DenseColumns([X[start:stop] for start, stop in ends], root[kept], centre), kept


@dataclass(frozen=True)
class PathResult:
    """Weights (A, t, p), gaps relative to |Y|^2 (A,) and sweeps (A,) for each penalty; passes over all columns."""

    coef: Floats
    gaps: Floats
    sweeps: Integers
    passes: int


@dataclass
class _State:
    """The iterate: the working set, its weights (t, q), the correlations (t, p) of all columns with the residuals, the
    l1 that these weights belong to, and the features that screening has not excluded.
    """

    working_set: WorkingSet
    weights: Floats
    correlation: Floats
    l1: float
    candidates: NDArray[np.bool_]


Reader = Callable[[Floats], tuple[Floats, float]]
"""From weights (t, p) to X'r (t, p) of all columns and |r|^2, computed by the caller."""


def path(
    columns: Columns,
    Y: Floats,
    xty: Floats,
    lengths: Floats,
    penalties: Sequence[SparsePenalty],
    *,
    tol: float,
    max_iter: int,
    start: Floats | None = None,
    seed: int | None = None,
    read: Reader | None = None,
) -> PathResult:
    """Solve for one target, or for the targets that the penalties couple, and each penalty of one kind, warm-started
    from the one before, until the gap is at most `tol` times |Y|^2.

    In mean units: the sample weights add up to one. Given Y (n, t), X'Y (t, p), the `lengths` (p,) of the columns, and
    weights (t, p) to start from; for a single penalty `read` replaces the passes over all columns. `max_iter` sweeps
    over all features, or as many updates of single ones.
    """
    p, t, yy = columns.shape[1], Y.shape[1], float(np.sum(Y * Y))
    coef, gaps = np.zeros((len(penalties), t, p)), np.full(len(penalties), np.inf)
    steps = np.zeros(len(penalties), np.int64)  # updates of single features: p of them count as a sweep
    state, passes = _start(columns, Y, xty, start), 0
    # penalties first, ..., first + count - 1 are solved together; gap_missed is that of the last check where it failed
    first, count, inner_tol, gap_missed = 0, 1, SUBPROBLEM_TOL, 0.0
    while first < len(penalties):
        poll()
        batch = list(range(first, min(first + count, len(penalties))))
        state = _grow(columns, _trim(columns, state), penalties[batch[-1]], len(batch) > 1)
        q = state.working_set.index.size
        max_sweeps = (max_iter * p - int(steps[first])) // max(q, 1)
        # a working set that lacked many features, and may lack more, is solved to a part of the gap that it had
        gap_target = max(inner_tol * tol, 0.1 * gap_missed)
        task = Subproblem(Y, xty, [penalties[i] for i in batch], gap_target * yy, max_sweeps, seed)
        W, sweeps = columns.solve(state.working_set, state.weights, task)
        here = coef[first : first + len(batch)]
        here[:] = 0.0
        here[:, :, state.working_set.index] = W
        correlations, squares = _correlate_all(columns, Y, state.working_set, W, here, read)
        passes, passed = passes + 1, len(batch)
        for k, i in enumerate(batch):
            steps[i] += sweeps[k] * q
            gaps[i] = duality_gap(penalties[i], coef[i], correlations[k], squares[k]) / (yy or 1.0)
            if gaps[i] > tol and steps[i] + q <= max_iter * p:
                passed = k
                break
        k = min(passed, len(batch) - 1)
        penalty = penalties[batch[k]]
        state = _State(state.working_set, W[k], correlations[k], penalty.l1, np.ones(p, dtype=bool))
        if passed == len(batch):
            first, count = first + passed, min(2 * count, MAX_PENALTIES_PER_PASS)
            inner_tol, gap_missed = SUBPROBLEM_TOL, 0.0
            continue
        state.candidates = gap_safe_screen(penalty, coef[batch[k]], correlations[k], squares[k], lengths)
        norms = dual_norm(correlations[k], penalty.positive)
        violated = np.flatnonzero(state.candidates & (norms > penalty.l1))
        missing = np.setdiff1d(violated, state.working_set.index).size
        if missing:  # with these features the rest of the batch may pass at once, or half as many penalties
            count = max(len(batch) - passed, len(batch) // 2, 1)
        else:  # the subproblem itself was not solved far enough
            count, inner_tol = 1, 0.1 * inner_tol
        many = missing > MANY_MISSING * state.working_set.index.size
        gap_missed = float(gaps[batch[k]]) if many and count == 1 else 0.0
        if inner_tol < 1e-6:
            passed, inner_tol = passed + 1, SUBPROBLEM_TOL  # rounding prevents a smaller gap
        first += passed
    # a working set that has grown may take its last sweep a little beyond the limit
    return PathResult(coef, gaps, np.minimum(-(-steps // max(p, 1)), max_iter), passes)


def _correlate_all(
    columns: Columns, Y: Floats, working_set: WorkingSet, W: Floats, coef: Floats, read: Reader | None
) -> tuple[Floats, list[float]]:
    """X'r (A, t, p) of all columns and |r|^2 at weights (A, t, q) of the working set."""
    A, t, q = W.shape
    if read is not None and A == 1:
        correlation, squares = read(coef[0])
        return correlation[None], [squares]
    R = np.tile(Y, A) - columns.predict(working_set, W.reshape(A * t, q))
    squares_of = [float(np.sum(R[:, k * t : (k + 1) * t] ** 2)) for k in range(A)]
    return columns.correlate(R).reshape(A, t, -1), squares_of


def _start(columns: Columns, Y: Floats, xty: Floats, start: Floats | None) -> _State:
    """The iterate at the given weights, or at zero."""
    working_set, (t, p) = columns.empty(), xty.shape
    if start is None or not start.any():
        return _State(working_set, np.zeros((t, 0)), xty, np.inf, np.ones(p, dtype=bool))
    index = np.flatnonzero(start.any(axis=0))
    working_set = columns.extend(working_set, index)
    weights = np.ascontiguousarray(start[:, index])
    correlation = columns.correlate(Y - columns.predict(working_set, weights))
    return _State(working_set, weights, correlation, np.inf, np.ones(p, dtype=bool))


def _trim(columns: Columns, state: _State) -> _State:
    """Drop most inactive features from a working set that has many of them, but those nearest to their constraint."""
    kept: NDArray[np.bool_] = np.array(state.weights.any(axis=0))
    size = max(_affordable_growth(state), int(kept.sum()))
    if state.weights.shape[1] <= 2 * size:
        return state
    nearest = np.argsort(-feature_norms(state.correlation[:, state.working_set.index]))[: size + size // 4]
    kept[nearest] = True
    places = np.flatnonzero(kept)
    weights = np.ascontiguousarray(state.weights[:, places])
    return replace(state, working_set=columns.select(state.working_set, places), weights=weights)


def _affordable_growth(state: _State) -> int:
    """The number of features whose Gram matrix costs about as much as a pass over all columns."""
    return max(MIN_GROWTH, int(3.0 * np.sqrt(state.correlation.shape[1])))


def _grow(columns: Columns, state: _State, penalty: SparsePenalty, ahead: bool) -> _State:
    """Admit the features that violate the dual constraint, the worst first; with penalties `ahead` also those that the
    strong rule expects to (Tibshirani et al. 2012); and all that screening leaves, where these are few.
    """
    norms: Floats = np.array(dual_norm(state.correlation, penalty.positive))
    l1 = penalty.l1
    excluded = ~state.candidates
    excluded[state.working_set.index] = True
    norms[excluded] = -np.inf
    # a first working set has features below the constraint, too: the others may push them over it
    limit = 0.5 * l1 if state.l1 == np.inf else min(2.0 * l1 - state.l1, l1)
    active = int(np.count_nonzero(state.weights.any(axis=0)))
    most = max(MIN_GROWTH, active // 4) if ahead else max(_affordable_growth(state), active)
    index = np.flatnonzero(norms > max(limit, 0.5 * l1 if ahead else 0.0))
    if not index.size and not state.working_set.index.size:
        index = np.array([int(np.argmax(norms))])
    if index.size > most:
        index = index[np.argpartition(-norms[index], most - 1)[:most]]
    elif int(np.count_nonzero(~excluded)) <= most:
        index = np.flatnonzero(~excluded)
    index = np.sort(index[np.isfinite(norms[index])])
    if not index.size:
        return state
    weights = np.concatenate([state.weights, np.zeros((len(state.weights), index.size))], axis=1)
    return replace(state, working_set=columns.extend(state.working_set, index), weights=np.ascontiguousarray(weights))
