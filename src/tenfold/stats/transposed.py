"""Wide sparse X stored by columns: products with A A' instead of A'A.

With A = R (X - 1 m'), R diagonal with the square roots of the weights, and n < p, singular vectors u of length n are
shorter than v, and v = A'u / |A'u|. The columns of X are read one after the other, and vectors and sums of n entries
stay in the cache.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from tenfold import _core
from tenfold.arrays import Floats
from tenfold.data import MemoryRows, Rows
from tenfold.machine import spend, threads

PART_COLUMNS = 1 << 15  # columns of a part, whose products stay in cache


@dataclass(frozen=True)
class ByColumns:
    """(R X)' as CSR with p rows, the square roots r of the weights, and the means m; without m nothing is centred."""

    transposed: Any
    root: Floats
    mean: Floats | None

    @classmethod
    def of(cls, rows: Rows, mean: Floats | None) -> "ByColumns | None":
        """None where samples are not sparse, not in memory, or not wide; `mean` None: not centred."""
        if not isinstance(rows, MemoryRows) or not rows.sparse or not rows.shape[0] < rows.shape[1]:
            return None
        transposed = rows.transposed
        root = np.ones(rows.shape[0]) if rows.weight is None else np.sqrt(np.asarray(rows.weight, dtype=np.float64))
        if rows.weight is not None:
            weighted = transposed.data * root[transposed.indices]
            transposed = type(transposed)((weighted, transposed.indices, transposed.indptr), shape=transposed.shape)
        return cls(transposed, root, mean)

    @property
    def columns(self) -> int:
        result: int = self.transposed.shape[0]
        return result

    def parts(self) -> Iterator[tuple[slice, "ByColumns"]]:
        """The columns in consecutive parts."""
        X, (p, n) = self.transposed, self.transposed.shape
        for begin in range(0, p, PART_COLUMNS):
            end = min(begin + PART_COLUMNS, p)
            first, last = X.indptr[begin], X.indptr[end]
            some = (X.data[first:last], X.indices[first:last], X.indptr[begin : end + 1] - first)
            mean = None if self.mean is None else self.mean[begin:end]
            yield slice(begin, end), ByColumns(type(X)(some, shape=(end - begin, n)), self.root, mean)

    @property
    def _storage(self) -> tuple[Any, Any, Any, int]:
        X = self.transposed
        return X.data, X.indices, X.indptr, X.shape[1]

    def _threads(self, products: int) -> int:
        spend(float(self.transposed.nnz * products))
        return threads(self.transposed.nnz)

    def _level(self, vectors: Floats) -> Floats:
        """v'r: centring subtracts m times this."""
        return np.einsum("kn,n->k", vectors, self.root)

    def products(self, vectors: Floats) -> Floats:
        """A A'u of vectors (k, n)."""
        k, n = vectors.shape
        line = _core.normal_product_csr(
            *self._storage, np.ascontiguousarray(vectors), None, self.mean, self._level(vectors), self._threads(2 * k)
        )
        result = line[: k * n].reshape(k, n)
        return result if self.mean is None else result - np.outer(line[k * n :], self.root)

    def scores(self, vectors: Floats) -> Floats:
        """A v of vectors (k, p), (k, n)."""
        vectors = np.ascontiguousarray(vectors)
        result = _core.left_matmul_csr(*self._storage, vectors, self._threads(len(vectors)))
        if self.mean is None:
            return result
        return result - np.outer(np.einsum("kp,p->k", vectors, self.mean), self.root)

    def back(self, vectors: Floats) -> Floats:
        """A'u of vectors (k, n), (k, p)."""
        vectors = np.ascontiguousarray(vectors)
        return _core.left_matmul_t_csr(
            *self._storage, vectors, self.mean, self._level(vectors), self._threads(len(vectors))
        )
