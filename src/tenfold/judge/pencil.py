"""Directions in several views of the same rows that are correlated most, as a pencil of matrices.

With O the products of each view with the others and D those of each view with itself, and its ridge, directions
c = [c_1 c_2 ...] solve O c = r D c. The residual is measured in the norm of D^-1, in which r is a correlation where
there are two views. All that is left is below m if and only if m D - O + sum r (D c)(D c)' has a Cholesky factor.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import linalg as la
from scipy.linalg import lapack

from tenfold.arrays import Floats
from tenfold.machine import one_blas_thread

EPS = np.finfo(np.float64).eps


@dataclass(frozen=True)
class Pencil:
    """Values r of O c = r D c, the largest residual in the norm of D^-1, how far the c are from orthonormal in D, the
    root of the condition of D; and what a proof needs that none is larger.
    """

    values: Floats
    residual: float
    slant: float
    condition: float
    D: Floats
    outside: Floats
    images: Floats

    def leading(self, slack: float) -> bool:
        """Whether nothing that is left exceeds the smallest value by more than `slack`."""
        least = float(self.values[-1]) if self.values.size else 0.0
        with one_blas_thread:
            rest = (least + slack) * self.D - self.outside + (self.images.T * self.values) @ self.images
            return bool(lapack.dpotrf(rest, lower=1, overwrite_a=1)[1] == 0)


def pencil(
    S: Floats, cuts: Sequence[slice], views: Sequence[Floats], products: Sequence[Floats], ridge: Sequence[float]
) -> Pencil:
    """Of directions (k, columns) in each view, and the products (k, all columns) of the rows with them."""
    D, O = np.zeros_like(S), S.copy()  # noqa: E741
    c, images, others = (np.zeros_like(products[0]) for _ in range(3))
    # directions along which nothing varies but rounding must not decide
    rounding = 64.0 * EPS * len(S) * float(np.max(np.diag(S), initial=0.0))
    for i, (cut, view, more) in enumerate(zip(cuts, views, ridge, strict=True)):
        D[cut, cut] = S[cut, cut] + (more + rounding) * np.eye(view.shape[1])
        O[cut, cut] = 0.0
        c[:, cut], images[:, cut] = view, products[i][:, cut] + more * view
        others[:, cut] = sum(product[:, cut] for j, product in enumerate(products) if j != i)
    size = np.sqrt(np.sum(c * images, axis=1))[:, None]
    c, images, others = c / size, images / size, others / size
    values = np.sum(c * others, axis=1)
    with one_blas_thread:
        L, info = lapack.dpotrf(np.asfortranarray(D), lower=1, clean=1)
        norm = float(np.abs(D).sum(axis=0).max(initial=0.0))
        rcond = float(lapack.dpocon(L, norm, uplo="L")[0]) if info == 0 else 0.0
        if rcond == 0.0:
            return Pencil(values, np.inf, np.inf, np.inf, D, O, images)
        left = la.solve_triangular(L, (others - values[:, None] * images).T, lower=True, check_finite=False)
        slant = c @ images.T
    residual = float(np.max(np.linalg.norm(left, axis=0), initial=0.0))
    return Pencil(
        values, residual, float(np.max(np.abs(slant - np.eye(len(c))), initial=0.0)), rcond**-0.5, D, O, images
    )
