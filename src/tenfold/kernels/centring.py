"""Centred kernel matrices by their products.

With H = I - 1 1'/n the matrix H K H has the inner products of the samples about their mean in the feature space:

    (H K H)_ij = k(x_i, x_j) - m_i - m_j + m,    m_i = (1/n) sum_j k(x_i, x_j),    m = (1/n) sum_i m_i.

Products are H (K (H v)): K is evaluated by tiles in float64 and is never in memory as a whole; or it is in memory in
float32, for solvers and judges that bound what that changes.
"""

from functools import partial
from typing import Any

import numpy as np

from tenfold.arrays import Array, Floats, is_array_api, is_sparse, like, namespace, on_host, wide
from tenfold.kernels.given import Callable, Precomputed
from tenfold.kernels.kernel import Kernel
from tenfold.linear_algebra import multiply_by_rows
from tenfold.machine import poll, require_memory

INSTEAD = "Fit a sample of the rows, or approximate the kernel by features and use PCA."


class CentredKernel:
    """H K H of n samples, or K itself without centring; vectors are rows (m, n), on the host."""

    def __init__(self, kernel: Kernel, X: Array, center: bool = True) -> None:
        if isinstance(kernel, Callable):  # each value is a call of the user's function: once is enough
            X, kernel = kernel.block(X), Precomputed()
        self.kernel, self.X, self.center = kernel, X, center
        self.n = int(X.shape[0])
        self._means: Floats | None = None if center else np.zeros(self.n)

    @property
    def means(self) -> Floats:
        """m_i, (n,); zeros without centring."""
        if self._means is None:
            self.apply(np.zeros((0, self.n)))
        assert self._means is not None
        return self._means

    @property
    def mean(self) -> float:
        """m."""
        return float(np.mean(self.means))

    def apply(self, V: Floats) -> Floats:
        """Products with vectors, in float64 by tiles."""
        poll()
        V = self._centre(V)
        missing = self._means is None
        columns = np.vstack([V, np.full((1, self.n), 1.0 / self.n)]) if missing else V
        if not len(columns):
            return np.zeros((0, self.n))
        products = wide(self.kernel.multiply(self.X, None, like(np.ascontiguousarray(columns.T), self.X))).T
        if missing:
            self._means, products = np.array(products[-1]), products[:-1]
        return np.ascontiguousarray(self._centre(products))

    def dense(self) -> Floats:
        """The matrix in float64, on the host; the caller may overwrite it."""
        require_memory(f"The {self.n} x {self.n} kernel matrix", 16 * self.n**2, INSTEAD)
        K = np.array(on_host(self.kernel.block(self.X)), dtype=np.float64)
        if self.center:
            means = K.mean(axis=0)
            self._means = means
            K -= means[:, None]
            K -= means - np.mean(means)
        return K

    def in_float32(self) -> "StoredKernel":
        """The same products by a copy of K in float32."""
        require_memory(f"The {self.n} x {self.n} kernel matrix in float32", 4 * self.n**2, INSTEAD)
        return StoredKernel(self.kernel.block(self.X, dtype=np.float32), self.center)

    def diagonal(self) -> Floats:
        """The diagonal, (n,)."""
        own = wide(self.kernel.diag(self.X))
        return own - 2.0 * self.means + self.mean if self.center else own

    def size(self) -> float:
        """In whose units products are rounded: the sum of the diagonal of K; of a given matrix, which need not be
        positive semidefinite, its Frobenius norm where that is larger.
        """
        size = float(np.sum(np.abs(wide(self.kernel.diag(self.X)))))
        if isinstance(self.kernel, Precomputed):
            xp = namespace(self.X)
            size = max(size, float(xp.sum(xp.astype(self.X, xp.float64, copy=False) ** 2)) ** 0.5)
        return size

    def _centre(self, V: Floats) -> Floats:
        return V - np.mean(V, axis=1)[:, None] if self.center and V.size else V


class StoredKernel:
    """The products of H K H by a matrix in memory, in its dtype."""

    def __init__(self, K: Array, center: bool) -> None:
        self.K, self.center = K, center

    def apply(self, V: Floats) -> Floats:
        """Products with vectors (m, n), in float64 but for their rounding."""
        poll()
        centre = partial(np.mean, axis=1, keepdims=True)
        V = V - centre(V) if self.center else V
        if is_array_api(self.K):
            xp = namespace(self.K)
            short = xp.astype(like(np.ascontiguousarray(V), self.K), self.K.dtype)
            products = wide(xp.matmul(short, self.K))
        else:
            products = multiply_by_rows(self.K, V.astype(self.K.dtype)).astype(np.float64)
        return products - centre(products) if self.center else products


def project_on(kernel: Kernel, samples: Array, coef: Floats, offset: Floats, X: Array) -> Any:
    """k(X, samples) coef - offset by tiles, in float64 where X is."""
    if is_array_api(samples) and not is_array_api(X):
        samples = on_host(samples)
    elif is_array_api(X) and not is_array_api(samples):
        samples = like(samples.toarray() if is_sparse(samples) else samples, X)
    if is_array_api(X):
        return kernel.multiply(X, samples, like(coef, X)) - like(offset, X)
    return kernel.multiply(X, samples, coef) - offset
