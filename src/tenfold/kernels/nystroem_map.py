"""The Nystroem feature map: z(x) = N k(x, C), with centres C and a root N of the pseudo-inverse of K = k(C, C).

Then z(x).z(y) = k(x, C) K^+ k(C, y), the projection of the kernel on the span of the centres, which is exact at these
(Williams and Seeger 2001). With K = U diag(s) U', N = U diag(sign(s) |s|^-1/2) U', where eigenvalues that are rounding
have no part: those up to m eps |s|_max, and up to m u max |K_ij| where kernels are rounded to a dtype of precision u.
For a kernel that is not positive semidefinite z(x).z(y) has |K|^-1 in the place of K^+, as in scikit-learn.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from tenfold.arrays import Array, Floats, is_array_api, is_sparse, like, namespace, on_host, some_rows, unit_roundoff
from tenfold.kernels.given import Precomputed
from tenfold.kernels.kernel import Kernel
from tenfold.linear_algebra import eigh, product
from tenfold.machine import poll

SMALL_PRODUCTS = 1 << 25  # below, a product takes a millisecond on one thread

TILE_VALUES = 1 << 19  # of the kernel of some samples with the centres: 4 MiB in float64


def cut_of(m: int, largest: float, size: float, dtype: Any) -> float:
    """The largest eigenvalue that is rounding, from the largest one and the largest entry, all in absolute value."""
    return m * 2.0 * max(unit_roundoff(np.float64) * largest, unit_roundoff(dtype) * size)


def inverse_root(K: Floats, dtype: Any) -> Floats:
    """N for a kernel matrix in float64, whose features will have this dtype; the rank that it keeps is that of K."""
    values, U = eigh(K)
    size = np.abs(values)
    largest, entry = (float(np.max(part, initial=0.0)) for part in (size, np.abs(K)))
    kept = size > cut_of(len(K), largest, entry, dtype)
    root = np.sign(values[kept]) / np.sqrt(size[kept])
    U = U[:, kept]
    return product(np.ascontiguousarray(U * root), np.ascontiguousarray(U.T))


@dataclass(frozen=True)
class NystroemMap:
    """The features N k(x, C): centres C (m, p), or their numbers where X is itself a kernel matrix; N (m, m)."""

    kernel: Kernel
    centres: Any
    normalization: Array

    def __call__(self, X: Array) -> Array:
        m = int(self.normalization.shape[0])
        if is_array_api(X):
            xp = namespace(X)
            N = like(self.normalization, X)
            return xp.matmul(xp.astype(self.similarities(X), N.dtype, copy=False), N.T)
        N = on_host(self.normalization)
        dtype = np.result_type(X.dtype, N.dtype)
        out, right = np.empty((X.shape[0], m), dtype=dtype), np.asarray(N, dtype=dtype).T
        step = max(64, TILE_VALUES // max(1, m))
        for start in range(0, X.shape[0], step):
            poll()
            part = some_rows(X, slice(start, min(start + step, X.shape[0])))
            K = self.similarities(part, dtype)
            if X.shape[0] * m * m < SMALL_PRODUCTS:
                out[start : start + step] = product(K, right)
            else:
                np.matmul(K, right, out=out[start : start + step])
        return out

    def similarities(self, X: Array, dtype: Any = np.float64) -> Array:
        """k(X, C), (n, m)."""
        if isinstance(self.kernel, Precomputed):
            K = X[:, on_host(self.centres)]
            return np.asarray(K.toarray() if is_sparse(K) else K, dtype=dtype) if not is_array_api(K) else K
        C = self.centres if is_array_api(X) else on_host(self.centres) if is_array_api(self.centres) else self.centres
        if is_array_api(X) and not is_array_api(C):
            C = like(C, X)
        return self.kernel.block(X, C, dtype=dtype)
