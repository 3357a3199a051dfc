"""Wide sparse rows by their columns: products with vectors that have one entry a row.

With A = R (X - 1 m'), R diagonal with the roots of the weights, and n rows that are fewer than the columns, vectors of
A A' are shorter than those of A'A, both matrices have the same values, and v = A'u / |A'u|. The columns of X are read
one after the other: each meets vectors and sums of n entries that stay in the cache.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from tenfold import _core
from tenfold.arrays import Floats
from tenfold.data import MemoryRows, Rows
from tenfold.machine import spend, threads

PART = 1 << 15
"""So many columns at a time: what is made of them stays in the caches, and need not be kept."""


@dataclass(frozen=True)
class ByColumns:
    """R X by its columns (CSR of p rows), the roots r of the weights, and m; without m the rows are as they are."""

    turned: Any
    root: Floats
    mean: Floats | None

    @classmethod
    def of(cls, rows: Rows, mean: Floats | None) -> "ByColumns | None":
        """None where rows are not sparse, not in memory, or not wide; `mean` None for rows as they are."""
        if not isinstance(rows, MemoryRows) or not rows.sparse or not rows.shape[0] < rows.shape[1]:
            return None
        turned = rows.X.T.tocsr()
        root = np.ones(rows.shape[0]) if rows.weight is None else np.sqrt(np.asarray(rows.weight, dtype=np.float64))
        if rows.weight is not None:
            turned.data = turned.data * root[turned.indices]
        return cls(turned, root, mean)

    @property
    def columns(self) -> int:
        found: int = self.turned.shape[0]
        return found

    def parts(self) -> Iterator[tuple[slice, "ByColumns"]]:
        """Some columns after the other."""
        X, (p, n) = self.turned, self.turned.shape
        for begin in range(0, p, PART):
            end = min(begin + PART, p)
            first, last = X.indptr[begin], X.indptr[end]
            some = (X.data[first:last], X.indices[first:last], X.indptr[begin : end + 1] - first)
            mean = None if self.mean is None else self.mean[begin:end]
            yield slice(begin, end), ByColumns(type(X)(some, shape=(end - begin, n)), self.root, mean)

    @property
    def _storage(self) -> tuple[Any, Any, Any, int]:
        X = self.turned
        return X.data, X.indices, X.indptr, X.shape[1]

    def _threads(self, products: int) -> int:
        spend(float(self.turned.nnz * products))
        return threads(self.turned.nnz)

    def _level(self, vectors: Floats) -> Floats:
        """v'r: what the mean takes away is m times this."""
        return np.einsum("kn,n->k", vectors, self.root)

    def products(self, vectors: Floats) -> Floats:
        """A A'u of vectors (k, n)."""
        k, n = vectors.shape
        line = _core.normal_product_csr(
            *self._storage, np.ascontiguousarray(vectors), None, self.mean, self._level(vectors), self._threads(2 * k)
        )
        found = line[: k * n].reshape(k, n)
        return found if self.mean is None else found - np.outer(line[k * n :], self.root)

    def scores(self, vectors: Floats) -> Floats:
        """A v of vectors (k, p), (k, n)."""
        vectors = np.ascontiguousarray(vectors)
        found = _core.left_matmul_csr(*self._storage, vectors, self._threads(len(vectors)))
        if self.mean is None:
            return found
        return found - np.outer(np.einsum("kp,p->k", vectors, self.mean), self.root)

    def back(self, vectors: Floats) -> Floats:
        """A'u of vectors (k, n), (k, p)."""
        vectors = np.ascontiguousarray(vectors)
        return _core.left_matmul_t_csr(
            *self._storage, vectors, self.mean, self._level(vectors), self._threads(len(vectors))
        )
