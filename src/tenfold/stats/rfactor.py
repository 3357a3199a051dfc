"""The triangular factor of the samples, merged by QR (TSQR)."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.linalg import lapack

from tenfold.arrays import Floats, is_numpy, is_sparse, like, namespace, on_host
from tenfold.data import Block
from tenfold.machine import one_blas_thread


@dataclass(frozen=True, slots=True)
class RFactor:
    """Triangular factor R of the weighted samples [scale (x - shift), y - target shift]: R'R is their Gram matrix,
    without squaring.

    19 times the cost of `Moments`, but the condition number is not squared.
    """

    R: Floats

    @classmethod
    def lifter(cls, shift: Floats, scale: Floats) -> Callable[[Block], "RFactor"]:
        """The lift about `shift` with columns multiplied by `scale` (both of length p + t)."""
        return partial(_rfactor, shift, scale)

    def merge(self, other: "RFactor") -> "RFactor":
        return RFactor(_triangle(np.vstack([self.R, other.R])))


def _rfactor(shift: Floats, scale: Floats, block: Block) -> RFactor:
    if not (is_sparse(block.X) or is_numpy(block.X)):
        return RFactor(_rfactor_in_arrays(shift, scale, block))
    X = block.X.toarray() if is_sparse(block.X) else block.X
    R = np.zeros((0, len(shift)))
    tile = max(256, 4 * len(shift))
    for start in range(0, X.shape[0], tile):
        stop = start + tile
        z = (np.hstack([X[start:stop], block.y[start:stop]], dtype=np.float64) - shift) * scale
        if block.weight is not None:
            z *= np.sqrt(block.weight[start:stop, None])
        R = _triangle(np.vstack([R, z]))
    return RFactor(R)


def _rfactor_in_arrays(shift: Floats, scale: Floats, block: Block) -> Floats:
    """The same by the QR of another namespace, all samples at once."""
    xp = namespace(block.X)
    z = xp.concat([xp.astype(block.X, xp.float64, copy=False), block.y], axis=1)
    z = (z - like(shift, z)) * like(scale, z)
    z = z if block.weight is None else z * xp.sqrt(block.weight)[:, None]
    return on_host(xp.linalg.qr(z, mode="reduced")[1])


def _triangle(A: Floats) -> Floats:
    if A.size == 0:
        return A
    with one_blas_thread:
        factor, _, _, info = lapack.dgeqrf(np.asfortranarray(A))
    if info != 0:
        raise ValueError(f"LAPACK dgeqrf refused argument {-info}")
    return np.triu(factor[: min(A.shape)])
