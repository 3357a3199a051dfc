"""The leading eigenvectors of a symmetric matrix that is given by its products: block Lanczos.

From a random block Q_0 the spaces span(Q_0, S Q_0, S^2 Q_0, ...) grow by one block a step, and the best vectors of the
space are taken (Rayleigh and Ritz). All blocks are kept, and each is made orthogonal to the others twice. A step costs
the products of one block; the measure is the largest residual ||S v - l v|| of the wanted vectors over tol l_1.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy import linalg as la

from tenfold.arrays import Floats
from tenfold.machine import one_blas_thread
from tenfold.solvers.loop import Step
from tenfold.stats import Params


def steps(
    apply: Callable[[Floats], Floats], size: int, count: int, block: int, random: Any, tol: float
) -> Iterator[Step]:
    """`count` vectors of a matrix of `size` rows; a step has them as coef (count, size), and their values as
    intercept.
    """
    basis = _orthonormal(random.standard_normal((min(block, size), size)))
    images = apply(basis)
    newest = basis
    while True:
        with one_blas_thread:
            T = basis @ images.T
            values, inside = la.eigh(0.5 * (T + T.T), check_finite=False)
            inside = inside[:, ::-1][:, :count].T
            vectors, found = inside @ basis, values[::-1][:count]
            residual = inside @ images - found[:, None] * vectors
        largest = float(np.max(np.linalg.norm(residual, axis=1), initial=0.0))
        scale = max(float(found[0]) if found.size else 0.0, np.finfo(np.float64).tiny)
        yield Step(Params(vectors, found), -float(np.sum(found)), largest / (tol * scale))
        if len(basis) >= size:
            return
        newest = _outside(images[-len(newest) :], basis, size)
        if not len(newest):
            return
        basis = np.vstack([basis, newest])
        images = np.vstack([images, apply(newest)])


def _orthonormal(A: Floats) -> Floats:
    """An orthonormal basis of the rows, those that depend on others left out."""
    with one_blas_thread:
        Q, R, _ = la.qr(A.T, mode="economic", pivoting=True, check_finite=False)
    sizes = np.abs(np.diag(R))
    kept = sizes > 1e-12 * max(float(sizes[0]) if sizes.size else 0.0, np.finfo(np.float64).tiny)
    return np.ascontiguousarray(Q.T[: len(sizes)][kept])


def _outside(block: Floats, basis: Floats, size: int) -> Floats:
    """What a block adds to the space."""
    scale = np.linalg.norm(block, axis=1, keepdims=True)
    block = block / np.where(scale > 0.0, scale, 1.0)
    with one_blas_thread:
        for _ in range(2):
            block = block - (block @ basis.T) @ basis
            left = np.linalg.norm(block, axis=1)
            block = block[left > 1e-10] / left[left > 1e-10, None]
        block = _orthonormal(block) if len(block) else block
    return block[: size - len(basis)]
