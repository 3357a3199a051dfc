"""Exact leave-one-out and exact folds of ridge in the space of a kernel, for all alphas from one eigendecomposition.

With R the roots of the weights, R K R = Q diag(mu) Q', G = R K R + alpha I and z = G^-1 R y, the residuals of a set T
of samples that is left out, alpha kept, are R e = ((G^-1)_TT)^-1 z_T, one sample: z_i / (G^-1)_ii; G^-1 = Q diag(1 /
(mu + alpha)) Q'. A block of T costs |T|^2 n for each alpha. Where a training set is small, or holds a sample twice, it
has an eigendecomposition of its own. (Seeger, section 10.2.2; Cookbook, C.3.)

Leaving out amplifies the rounding of the eigenvalues by the condition (mu_max + alpha) / alpha: predictions are those
of refits to about 1e-8 where alpha >= 1e-8 mu_max, elsewhere to the condition times 1e-15 (`error_bound`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tenfold.arrays import (
    EPS,
    Array,
    Floats,
    Integers,
    cholesky,
    is_array_api,
    like,
    namespace,
    solve_by_factor,
    take_rows,
    wide,
)
from tenfold.cross_validation.ridge_kfold import Split
from tenfold.kernels import Kernel, Precomputed
from tenfold.kernels.evaluation import take_columns
from tenfold.linear_algebra import (
    eigh_precisely,
    factor_in_place,
    gram_of_rows,
    invert_factored,
    product,
    solve_positive,
)
from tenfold.machine import poll, require_memory, run_concurrently
from tenfold.plans.kernel_ridge import INSTEAD, Weighted, keep_weighted
from tenfold.solvers.kernel_system import KernelSystem

EIGEN_COST = 6.0  # n^3 products of an eigendecomposition, in products of a block (benchmark: kernel ridge grid)

DELICATE = 1e-6  # of the largest eigenvalue: below it each alpha has an inverse, n^3 products, for the claim above

BYTES_A_PAIR = 40  # of the matrix, its eigenvectors and the workspace of LAPACK

PROVED, ROUNDING = 1e-8, 1e-15


def error_bound(largest: float, alphas: Floats) -> Floats:
    """The relative error of predictions against refits, for each alpha: 1e-8, or the condition times 1e-15."""
    with np.errstate(divide="ignore"):
        condition = (largest + alphas) / alphas
    return np.where(alphas >= PROVED * largest, PROVED, ROUNDING * condition)


@dataclass(frozen=True)
class Samples:
    """Samples with targets (n, t) and weights, a given kernel matrix with all its columns."""

    X: Array
    Y: Array
    weight: Array | None

    def take(self, kernel: Kernel, rows: Integers) -> "Samples":
        """Some samples; of a given matrix their rows and columns."""
        X = take_rows(self.X, rows)
        X = take_columns(X, rows) if isinstance(kernel, Precomputed) else X
        return Samples(X, take_rows(self.Y, rows), None if self.weight is None else take_rows(self.weight, rows))


class KernelPath:
    """All alphas of one kernel: predictions of samples that are left out."""

    def __init__(self, kernel: Kernel, samples: Samples, alphas: Floats) -> None:
        self.kernel, self.samples, self.alphas = kernel, samples, alphas
        self.part: Weighted = keep_weighted(kernel, *_parts(samples))
        self.count = self.part.Y.shape[0]
        self.largest = 0.0  # of the eigenvalues that were met
        n = samples.Y.shape[0]
        inside = np.arange(n) if self.part.index is None else self.part.index
        self.place = np.full(n, -1)  # among the samples of positive weight
        self.place[inside] = np.arange(len(inside))
        self.weightless = np.flatnonzero(self.place < 0)

    @cached_property
    def _spectrum(self) -> tuple[Floats, Array]:
        """Eigenvalues mu and vectors Q of R K R."""
        A = KernelSystem(self.kernel, self.part.X, self.part.root).matrix()
        given, Q = namespace(A).linalg.eigh(A) if is_array_api(A) else eigh_precisely(A)
        values = np.maximum(wide(given), 0.0)
        self.largest = max(self.largest, float(np.max(values, initial=0.0)))
        return values, Q if is_array_api(Q) else np.ascontiguousarray(Q)

    @cached_property
    def _right(self) -> Array:
        """Q' R y, (n, t)."""
        Y = self.part.Y if self.part.root is None else self.part.root[:, None] * self.part.Y
        return _product(self._spectrum[1].T, Y)

    @cached_property
    def _filters(self) -> Floats:
        """1 / (mu + alpha), (A, n), zero in place of the inverse of a numerical zero."""
        values = self._spectrum[0]
        total = values + self.alphas[:, None]
        zero = total <= len(values) * EPS * np.max(values, initial=0.0)
        return np.where(zero, 0.0, 1.0 / np.where(zero, 1.0, total))

    @cached_property
    def _cross(self) -> Array:
        """K(x, .) R Q for the samples x of weight zero."""
        index = self.part.index
        rows = take_rows(self.samples.X, self.weightless)
        given = isinstance(self.kernel, Precomputed)
        K = take_columns(rows, index) if given else self.kernel(rows, self.part.X)
        assert self.part.root is not None
        return _product(K * self.part.root[None, :], self._spectrum[1])

    @property
    def errors(self) -> Floats:
        """The relative error of predictions for each alpha."""
        return error_bound(self.largest, self.alphas)

    def leave_one_out(self) -> Floats:
        """Predictions (n, t, A) of each sample by all others."""
        (n, t), A = self.samples.Y.shape, len(self.alphas)
        what = f"The {n} x {t} x {A} leave-one-out predictions"
        require_memory(what, 8 * n * t * A, "Use fewer alphas or targets.")
        _, Q = self._spectrum
        filters = like(np.ascontiguousarray(self._filters.T), Q)
        xp = namespace(Q)
        filtered = xp.reshape(filters[:, None, :] * self._right[:, :, None], (self.count, t * A))
        z = wide(_product(Q, filtered)).reshape(self.count, t, A)
        step = max(1, (1 << 20) // max(1, self.count))
        cuts = [(a, min(self.count, a + step)) for a in range(0, self.count, step)]
        d = [_product(Q[a:b, :] ** 2, filters) for a, b in cuts]
        diagonal = np.concatenate([wide(part) for part in d])
        for a in self._delicate():
            inverse = self._invert(a)
            if inverse is not None:
                z[:, :, a], diagonal[:, a] = product(inverse, self._weigh_targets()), np.diag(inverse)
        root = 1.0 if self.part.root is None else wide(self.part.root)[:, None, None]
        with np.errstate(invalid="ignore", divide="ignore"):  # 0 / 0 at leverage one
            inside = wide(self.part.Y)[:, :, None] - z / diagonal[:, None, :] / root
        if self.part.index is None:
            return inside
        result = np.empty((n, t, A))
        result[self.part.index] = inside
        result[self.weightless] = wide(_product(self._cross, filtered)).reshape(-1, t, A)
        return result

    def leave_out(self, splits: Sequence[Split]) -> list[Floats]:
        """Predictions (|test|, t, A) of the test samples of each split by its training samples."""
        n = self.samples.Y.shape[0]
        blocks: list[tuple[int, Integers]] = []
        result: list[Floats | None] = [None] * len(splits)
        for k, split in enumerate(splits):
            train = split.training_rows(n)
            if not np.any(self.place[train] >= 0):
                raise ValueError("All samples of a training set have weight zero: use fewer folds, or shuffle them.")
            kept = np.zeros(n, dtype=bool)
            kept[train] = True
            removed = np.flatnonzero(~kept & (self.place >= 0))
            once = np.count_nonzero(kept) == len(train) and not kept[split.test].any()
            r, m = float(len(removed)), float(self.count - len(removed))
            block = len(self.alphas) * (r * r * self.count + r**3 / 3.0)
            if once and block <= EIGEN_COST * m**3:
                blocks.append((k, self.place[removed]))
                result[k] = np.empty((len(split.test), self.samples.Y.shape[1], len(self.alphas)))
            else:
                result[k] = self._by_training_set(train, split.test)
        delicate = self._delicate() if blocks else []
        for a in delicate:
            inverse = self._invert(a)
            for k, removed in blocks:
                part = result[k]
                assert part is not None
                part[:, :, a] = self._block(removed, splits[k].test, a, inverse)
        usual = [a for a in range(len(self.alphas)) if a not in delicate]
        cells = [(k, removed, a) for k, removed in blocks for a in usual]
        if cells:
            _ = self._right, self._filters, self._cross if self.weightless.size else None

            def work(cell: tuple[int, Integers, int]) -> None:
                poll()
                k, removed, a = cell
                part = result[k]
                assert part is not None
                part[:, :, a] = self._block(removed, splits[k].test, a)

            if is_array_api(self.samples.X):
                for cell in cells:
                    work(cell)
            else:
                run_concurrently(work, cells, self.count**2)
        return [part for part in result if part is not None]

    def _delicate(self) -> list[int]:
        """The alphas so small beside the largest eigenvalue that eigenvectors lose digits that a factor keeps."""
        if is_array_api(self.samples.X):
            return []
        largest = float(np.max(self._spectrum[0], initial=0.0))
        return np.flatnonzero((self.alphas > 0.0) & (self.alphas < DELICATE * largest)).tolist()

    def _weigh_targets(self) -> Floats:
        """R y, (n, t)."""
        return wide(self.part.Y if self.part.root is None else self.part.root[:, None] * self.part.Y)

    def _invert(self, a: int) -> Floats | None:
        """G^-1 for one alpha by a Cholesky factor; None where there is none."""
        A = KernelSystem(self.kernel, self.part.X, self.part.root).matrix()
        A[np.diag_indices_from(A)] += self.alphas[a]
        return invert_factored(A) if factor_in_place(A) else None

    def _block(self, removed: Integers, test: Integers, a: int, inverse: Floats | None = None) -> Floats:
        """Predictions (|test|, t) of test samples for one alpha, by the block formula of all removed ones."""
        Q, filters = take_rows(self._spectrum[1], removed), self._filters[a]
        filtered = like(filters, Q)[:, None] * self._right
        if inverse is None:
            u = _solve_block(Q, filters, z := _product(Q, filtered))
        else:
            z = product(inverse[removed], self._weigh_targets())
            u = solve_positive(np.asfortranarray(inverse[np.ix_(removed, removed)]), z)
        predicted = np.full((len(test), z.shape[1]), np.nan)
        if u is None:
            return predicted
        weighted = self.place[test] >= 0
        position = np.searchsorted(removed, self.place[test[weighted]])
        root = 1.0 if self.part.root is None else wide(self.part.root)[self.place[test[weighted]], None]
        targets = wide(take_rows(self.samples.Y, test[weighted]))
        predicted[weighted] = targets - wide(u)[position] / root
        if not weighted.all():
            rest = filtered - like(filters, Q)[:, None] * _product(Q.T, u)
            rows = np.searchsorted(self.weightless, test[~weighted])
            predicted[~weighted] = wide(_product(take_rows(self._cross, rows), rest))
        return predicted

    def _by_training_set(self, train: Integers, test: Integers) -> Floats:
        """Predictions (|test|, t, A) by an eigendecomposition of the training set; repeated samples weigh more."""
        rows, counts = np.unique(train, return_counts=True)
        own = self.samples.take(self.kernel, rows)
        if np.any(counts > 1):
            times = like(counts.astype(np.float64), own.Y)
            own = Samples(own.X, own.Y, times if own.weight is None else own.weight * times)
        path = KernelPath(self.kernel, own, self.alphas)
        _, Q = path._spectrum
        self.largest = max(self.largest, path.largest)
        t, A = own.Y.shape[1], len(self.alphas)
        filters = like(np.ascontiguousarray(path._filters.T), Q)
        filtered = namespace(Q).reshape(filters[:, None, :] * path._right[:, :, None], (path.count, t * A))
        c = _product(Q, filtered)
        c = c if path.part.root is None else path.part.root[:, None] * c
        queries = take_rows(self.samples.X, test)
        if isinstance(self.kernel, Precomputed):
            queries = take_columns(queries, rows if path.part.index is None else rows[path.part.index])
        return wide(self.kernel.multiply(queries, path.part.X, c)).reshape(-1, t, A)


def _parts(samples: Samples) -> tuple[Array, Array, Array | None]:
    return samples.X, samples.Y, samples.weight


def _product(A: Array, B: Array) -> Array:
    return namespace(A).matmul(A, B) if is_array_api(A) else product(A, B)


def _solve_block(Q: Array, filters: Floats, z: Array) -> Array | None:
    """(Q diag(filters) Q')^-1 z; None where that matrix is singular: a sample alone decides its own prediction."""
    if is_array_api(Q):
        L = cholesky(namespace(Q).matmul(Q * like(filters, Q)[None, :], Q.T))
        return None if L is None else solve_by_factor(L, z)
    return solve_positive(gram_of_rows(Q * np.sqrt(filters)), z)


def paths(
    kernels: Sequence[Kernel], samples: Samples, alphas: Floats, splits: Sequence[Split] | None
) -> list[tuple[list[Floats], Floats]]:
    """For each kernel the predictions of every split (None: one of all samples, each left out alone), and the relative
    error of each alpha. Kernels are tried concurrently where memory allows.
    """
    n = samples.Y.shape[0]
    size = BYTES_A_PAIR * n * n
    if not is_array_api(samples.X):
        require_memory(f"The eigenvectors of a {n} x {n} kernel matrix", size, INSTEAD)

    def work(kernel: Kernel) -> tuple[list[Floats], Floats]:
        path = KernelPath(kernel, samples, alphas)
        predictions = [path.leave_one_out()] if splits is None else path.leave_out(splits)
        return predictions, path.errors

    if is_array_api(samples.X) or not _is_small(size):
        return [work(kernel) for kernel in kernels]
    return run_concurrently(work, list(kernels), n * n)


def _is_small(size: int) -> bool:
    """Whether several such matrices are kept at a time."""
    return size < 1 << 30
