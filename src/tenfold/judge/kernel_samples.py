"""Samples of a kernel machine: products of their kernel matrix with coefficients, in float64 and by tiles."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from tenfold.arrays import EPS, Array, Floats, Integers, is_sparse
from tenfold.kernels import Gaussian, Kernel, Precomputed
from tenfold.kernels.diagnostics import is_psd
from tenfold.linear_algebra import cholesky

MAX_FACTORED = 3000  # samples up to which a kernel that need not be psd is factored: 72 MiB, well below a second
CHUNK_VALUES = 1 << 20  # of a given kernel matrix, read at a time


def take(X: Any, index: Integers) -> Any:
    """Samples by their numbers: rows of an array, dense or sparse, or items of a list."""
    return [X[i] for i in index] if isinstance(X, list) else X[index]


@dataclass(frozen=True)
class KernelSamples:
    """X: the samples, or their kernel matrix where the kernel is precomputed; index: (n,) those that have a weight. All
    numbers of samples below count within these.
    """

    kernel: Kernel
    X: Any
    index: Integers

    def __len__(self) -> int:
        return len(self.index)

    @property
    def given(self) -> bool:
        """Whether X is the kernel matrix."""
        return isinstance(self.kernel, Precomputed)

    def take(self, which: Integers) -> Any:
        return take(self.X, self.index[which])

    def product(self, rows: Integers, columns: Integers, V: Floats) -> Floats:
        """K[rows, columns] V for V (columns, t)."""
        if not len(columns) or not len(rows):
            return np.zeros((len(rows), V.shape[1]))
        if not self.given:
            return np.asarray(self.kernel.multiply(self.take(rows), self.take(columns), np.ascontiguousarray(V)))
        step = max(1, CHUNK_VALUES // len(columns))
        pieces = (rows[a : a + step] for a in range(0, len(rows), step))
        return np.concatenate([self._entries(piece, columns) @ V for piece in pieces])

    def _entries(self, rows: Integers, columns: Integers) -> Floats:
        return np.asarray(self.X[np.ix_(self.index[rows], self.index[columns])], dtype=np.float64)

    def diagonal(self) -> Floats:
        """k(x_i, x_i), (n,)."""
        if self.given:
            return np.asarray(self.X[self.index, self.index], dtype=np.float64)
        return np.asarray(self.kernel.diag(self.take(np.arange(len(self)))), dtype=np.float64)

    def error(self, columns: Integers) -> float:
        """A bound on the error of K[:, columns] beyond the rounding of its size."""
        if self.given or not is_sparse(self.X):
            return 0.0
        return evaluation_error(self.kernel, self.X, self.take(columns))

    def find_indefinite(self) -> str:
        """Why the kernel matrix is not known to be positive semidefinite, as a sentence; "" where it is."""
        if self.kernel.certainly_psd:
            return ""
        if self.given and not self._is_symmetric():
            return "The kernel matrix is not symmetric."
        if len(self) > MAX_FACTORED:
            return f"The kernel need not be positive semidefinite, and {len(self)} samples are too many to see."
        everything = np.arange(len(self))
        X = self.take(everything)
        K = self._entries(everything, everything) if self.given else np.asarray(self.kernel.block(X))
        if not np.isfinite(K).all():
            return "The kernel matrix contains NaN or infinity."
        K = 0.5 * (K + K.T)
        shift = 4.0 * EPS * len(K) * float(np.max(np.abs(K), initial=0.0))
        if cholesky(K + shift * np.eye(len(K))) is not None:
            return ""
        return f"The kernel matrix is {is_psd(K).explain()}."

    def _is_symmetric(self) -> bool:
        largest, everything = 0.0, np.arange(len(self))
        step = max(1, CHUNK_VALUES // max(1, len(self)))
        for a in range(0, len(self), step):
            rows = everything[a : a + step]
            block = self._entries(rows, everything)
            difference = np.abs(block - self._entries(everything, rows).T)
            largest = max(largest, float(np.max(np.abs(block), initial=0.0)))
            if float(np.max(difference, initial=0.0)) > 64.0 * EPS * largest:
                return False
        return True


def evaluation_error(kernel: Kernel, X: Any, Z: Any) -> float:
    """A bound on the error of the entries of k(X, Z) beyond the rounding of their size: squared distances of sparse
    samples are differences of products, up to 8 units in the last place of the squared lengths; dense ones are exact.
    """
    if not (is_sparse(X) and is_sparse(Z) and kernel.is_stationary()) or not X.shape[0] or not Z.shape[0]:
        return 0.0
    squares = sum(float(part.multiply(part).sum(axis=1).max()) for part in (X, Z))
    lost = 8.0 * EPS * squares / float(np.min(np.square(getattr(kernel, "length_scale", 1.0))))
    # the slope of a Gaussian in half the squared distance is at most one; others have a root in them
    return min(1.0, 0.5 * lost if isinstance(kernel, Gaussian) else float(np.sqrt(lost)))


def equal_samples(one: Any, other: Any) -> bool:
    """Whether two sets of samples have the same numbers, sparse or dense."""
    if is_sparse(one) or is_sparse(other):
        if getattr(one, "shape", None) != getattr(other, "shape", None):
            return False
        difference = _as_csr(one) - _as_csr(other)
        return bool(np.isfinite(difference.data).all() and not np.any(difference.data))
    return np.array_equal(np.asarray(one), np.asarray(other))


def _as_csr(X: Array) -> Array:
    return sparse.csr_array(X, dtype=np.float64)
