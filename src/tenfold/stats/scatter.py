"""Products of the scatter matrix with vectors, without forming it: two products with the samples."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from tenfold import _core
from tenfold.arrays import Array, Floats, entries, is_numpy, is_sparse, namespace
from tenfold.data import Block, Deferred, MaybeDeferred, weights_of
from tenfold.machine import spend, threads
from tenfold.stats.derivatives import Params, away, forward

MIN_PARALLEL_PRODUCTS = 1 << 21  # entries times vectors below which one thread takes less than 0.3 ms


@dataclass(frozen=True, slots=True)
class ScatterAbout:
    """With d = x - centre: sums over samples of the weight w, of w d (p,), and of w d (d'v) for vectors v, (q, p)."""

    weight: float
    sums: Floats
    products: Floats

    def merge(self, other: "ScatterAbout") -> "ScatterAbout":
        return ScatterAbout(self.weight + other.weight, self.sums + other.sums, self.products + other.products)

    def about_mean(self, vectors: Floats) -> tuple[Floats, Floats]:
        """Mean minus centre, and the products about the mean."""
        step = self.sums / self.weight
        return step, self.products - np.outer(np.einsum("qp,p->q", vectors, self.sums), step)


def scatter_about(centre: Floats, vectors: Floats) -> Callable[[Block], MaybeDeferred[ScatterAbout]]:
    """The lift of `ScatterAbout` for vectors (q, p)."""
    return partial(_scatter_about, centre, np.ascontiguousarray(vectors))


def _scatter_about(centre: Floats, vectors: Floats, block: Block) -> MaybeDeferred[ScatterAbout]:
    X = block.X
    if is_numpy(X):
        weight = float(X.shape[0]) if block.weight is None else float(np.sum(block.weight))
        products = _core.scatter_products(X, vectors, centre, block.weight, _threads(X, len(vectors) + 1))
        return ScatterAbout(weight, products[-1], products[:-1])
    if is_sparse(X):
        return _of_sparse(centre, vectors, block)
    w = weights_of(block)
    xp = namespace(w)
    z = forward(X, Params(vectors, np.zeros(len(vectors))), centre)
    u = xp.concat([z * w[:, None], w[:, None]], axis=1)
    return Deferred.of([xp.matmul(u.T, away(X, centre)), xp.reshape(xp.sum(w), (1,))], _of_sums, key="products")


def _threads(X: Array, vectors: int) -> int:
    return threads(entries(X)) if entries(X) * vectors >= MIN_PARALLEL_PRODUCTS else 1


def _of_sparse(centre: Floats, vectors: Floats, block: Block) -> ScatterAbout:
    """Raw products, recentred; the last vector, zero with shift -1, sums the samples."""
    X, (q, p) = block.X, vectors.shape
    extended = np.concatenate([vectors, np.zeros((1, p))])
    shifts = np.append(np.einsum("qp,p->q", vectors, centre), -1.0)
    spend(2.0 * entries(X) * (q + 1))
    line = _core.normal_product_csr(
        X.data, X.indices, X.indptr, p, extended, block.weight, np.ones(X.shape[0]), shifts, threads(entries(X))
    )
    totals = line[(q + 1) * p :]
    products = line[: (q + 1) * p].reshape(q + 1, p) - np.outer(totals, centre)
    return ScatterAbout(float(totals[-1]), products[-1], products[:-1])


def _of_sums(_: tuple[None, ...], products: Array, weight: Array) -> ScatterAbout:
    return ScatterAbout(float(weight[0]), products[-1], products[:-1])
