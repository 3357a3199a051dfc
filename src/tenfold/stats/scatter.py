"""Products of the scatter matrix of the rows with vectors, without the matrix: two products of the rows."""

from collections.abc import Callable
from functools import partial

import numpy as np

from tenfold.arrays import Floats, contiguous, is_numpy, is_sparse, like, namespace
from tenfold.data import Block, Lifted, Pending, weights_of
from tenfold.stats.derivatives import Params, Total, as_total, back_times, times


def scatter_products(centre: Floats, vectors: Floats) -> Callable[[Block], Lifted[Total]]:
    """The lift of sum_i w (x_i - centre)((x_i - centre)'v), (q, p), for vectors v (q, p)."""
    return partial(_scatter_products, centre, vectors)


def _scatter_products(centre: Floats, vectors: Floats, block: Block) -> Lifted[Total]:
    X = block.X
    z = times(X, Params(vectors, np.zeros(len(vectors))), centre)
    z = z if block.weight is None else z * weights_of(block)[:, None]
    if is_numpy(X) or is_sparse(X):
        return Total(back_times(X, contiguous(z), centre))
    xp = namespace(X)
    away = xp.astype(X, xp.float64, copy=False) - like(centre, X)
    return Pending.of([xp.matmul(z.T, away)], as_total, key="products")
