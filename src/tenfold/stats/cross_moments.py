"""Second moments of the joint matrix [X y], for CCA and PLS, and its products with vectors."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from tenfold import _core
from tenfold.arrays import Floats, contiguous, is_numpy, is_sparse, namespace
from tenfold.data import Block, Deferred, MaybeDeferred, NotFinite, Rows, is_small_dense, weights_of
from tenfold.machine import require_memory
from tenfold.stats.combined import Several
from tenfold.stats.derivatives import Params, Total, adjoint, as_total, away, forward
from tenfold.stats.moments import Moments


def both_moments(block: Block) -> Several:
    """The lift of the `Moments` of X with y, and of y alone, which has the products between targets."""
    return Several((Moments.lift(block), Moments.lift(Block(block.y, block.y[:, :0], block.weight))))


@dataclass(frozen=True, slots=True)
class JointScatter:
    """Of [x y]: weight, means, norms about the means in the units of the data, and the correlation matrix, zero in rows
    of constant columns.
    """

    weight: float
    means: Floats
    lengths: Floats
    correlations: Floats

    @classmethod
    def of(cls, statistics: Several) -> "JointScatter":
        """From the result of `both_moments`; raises `NotFinite`."""
        x, y = statistics.parts
        if not all(np.isfinite(part).all() for part in (x.XX, x.XY, y.XX)):
            raise NotFinite
        p, t = x.features, y.features
        a, b, c = np.sqrt(np.diag(x.XX)), np.sqrt(x.yy), np.sqrt(np.diag(y.XX))
        lengths = np.ldexp(np.append(a, c), np.append(x.exponent[:p], y.exponent))
        a, b, c = (np.where(size > 0.0, size, 1.0) for size in (a, b, c))
        R = np.empty((p + t, p + t))
        R[:p, :p], R[:p, p:], R[p:, p:] = x.XX / a[:, None] / a, x.XY / a[:, None] / b, y.XX / c[:, None] / c
        R[p:, :p] = R[:p, p:].T
        return cls(x.weight, np.append(x.mean, y.mean), lengths, R)


MODERATE = (1e-120, 1e120)  # norms whose products neither overflow nor vanish


@dataclass(frozen=True, slots=True)
class JointSamples:
    """[X y] as two arrays about their means, each sample times the square root of its weight: their products are the
    centred second moments, where these need not be formed. With it the weight, the means, and the norms of the columns
    about them, zero for constant ones.
    """

    weight: float
    means: Floats
    lengths: Floats
    X: Floats
    y: Floats

    @classmethod
    def of(cls, rows: Rows) -> "JointSamples | None":
        """Of few dense samples, or of no more samples than columns; None of others, and where norms are extreme."""
        (n, p), t = rows.shape, rows.targets
        if rows.on_device or rows.distributed or not (n <= p + t or is_small_dense(rows)):
            return None
        require_memory(f"A copy of {n} samples of {p + t} columns", 16 * n * (p + t), "Use fewer columns.")
        block = rows.whole()
        X, y, weight = block.X.toarray() if is_sparse(block.X) else block.X, block.y, block.weight
        if weight is not None and not weight.all():
            X, y, weight = X[weight > 0.0], y[weight > 0.0], weight[weight > 0.0]
        parts = [_centre(np.array(part, dtype=np.float64, order="C"), weight) for part in (X, y)]
        lengths = np.concatenate([np.sqrt(np.einsum("np,np->p", Z, Z)) for Z, _ in parts])
        known = lengths[lengths != 0.0]
        if known.size and not (known.min() >= MODERATE[0] and known.max() <= MODERATE[1]):
            return None
        means = np.concatenate([mean for _, mean in parts])
        return cls(float(n) if weight is None else float(np.sum(weight)), means, lengths, parts[0][0], parts[1][0])

    def divide_columns(self, units: Floats) -> tuple[Floats, Floats]:
        """Both arrays with their columns divided by `units`."""
        p = self.X.shape[1]
        return self.X / units[:p], self.y / units[p:]


def _centre(Z: Floats, weight: Floats | None) -> tuple[Floats, Floats]:
    """Z minus its means, in place, times the roots of the weights; and the means, exact for constant columns."""
    first = Z[0].copy()
    constant, mean = (first == Z).all(axis=0), np.zeros(Z.shape[1])
    with np.errstate(over="ignore", invalid="ignore"):  # the caller asks whether the norms are finite
        if weight is None:
            mean = _core.dense_centre(Z)[0]
            Z -= mean
        else:
            for _ in range(2):  # the second time for the rounding of the first
                step = np.einsum("n,np->p", weight, Z) / float(np.sum(weight))
                Z -= step
                mean += step
            Z *= np.sqrt(weight)[:, None]
    if constant.any():
        Z[:, constant], mean[constant] = 0.0, first[constant]
    return Z, mean


def degrees_of_freedom(weight: float) -> float:
    """The divisor of a variance: weight - 1, treating weights as counts; the weight itself up to 1."""
    return weight - 1.0 if weight > 1.0 else weight


def joint_products(centre: Floats, vectors: Floats) -> Callable[[Block], MaybeDeferred[Total]]:
    """The lift of sum_i w (z_i - centre)((z_i - centre)'v) with z = [x y], (q, p + t), for vectors v (q, p + t)."""
    return partial(_joint_products, centre, vectors)


def _joint_products(centre: Floats, vectors: Floats, block: Block) -> MaybeDeferred[Total]:
    p = block.X.shape[1]
    sides = [(block.X, np.s_[:p]), (block.y, np.s_[p:])]
    along = [forward(part, _columns(vectors, cut), centre[cut]) for part, cut in sides]
    z = along[0] + along[1]
    z = z if block.weight is None else z * weights_of(block)[:, None]
    if is_numpy(block.X) or is_sparse(block.X):
        z = contiguous(z)
        return Total(np.hstack([adjoint(part, z, centre[cut]) for part, cut in sides]))
    xp = namespace(block.X)
    both = xp.concat([away(part, centre[cut]) for part, cut in sides], axis=1)
    return Deferred.of([xp.matmul(z.T, both)], as_total, key="products")


def _columns(vectors: Floats, cut: slice) -> Params:
    return Params(np.ascontiguousarray(vectors[:, cut]), np.zeros(len(vectors)))
