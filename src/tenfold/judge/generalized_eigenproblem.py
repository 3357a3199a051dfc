"""Certificates of multiview canonical correlations: a generalised symmetric eigenproblem.

With O the products of each view with the others and D those of each view with itself, and its ridge, directions c =
[c_1 c_2 ...] solve O c = r D c. The residual is measured in the norm of D^-1, in which r is a correlation where there
are two views. All remaining eigenvalues are below m if and only if m D - O + sum r (D c)(D c)' has a Cholesky factor.
The values r, their order and the smallest of them are recomputed from the directions.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import linalg as la
from scipy.linalg import lapack

from tenfold.arrays import EPS, Floats
from tenfold.linear_algebra import cholesky, eigenvalues, eigh, solve_lower
from tenfold.machine import one_blas_thread

MIN_RCOND = 1e-11  # reciprocal condition of D below which directions that vary by rounding only are excluded

HARDLY = "Columns are collinear: directions along which a block hardly varies are not judged."


@dataclass(frozen=True)
class Pencil:
    """Values r of O c = r D c, the largest residual in the norm of D^-1, the deviation of the c from orthonormality in
    D, the amplification of rounding, and a note on what is not judged; and the matrices for a proof that no value is
    larger.
    """

    values: Floats
    residual: float
    slant: float
    condition: float
    note: str
    D: Floats
    outside: Floats
    images: Floats
    cuts: Sequence[slice]
    rounding: float

    def leading(self, slack: float) -> bool:
        """Whether values descend, and no remaining eigenvalue exceeds the smallest by more than `slack`."""
        if np.any(np.diff(self.values) > slack):
            return False
        least = float(np.min(self.values)) if self.values.size else 0.0
        rest = (least + slack) * self.D - self._deflate()
        return cholesky(rest) is not None

    def exhausted(self, slack: float) -> bool:
        """Whether no remaining eigenvalue exceeds `slack`, in the space where views vary."""
        axes = [spaces[0] / np.sqrt(spaces[1]) for spaces in self._views_that_vary()]
        whiten = la.block_diag(*axes)
        if not whiten.size:
            return True
        with one_blas_thread:
            inside = whiten.T @ self._deflate() @ whiten
        return bool(eigenvalues(0.5 * (inside + inside.T))[-1] <= slack + 64.0 * EPS * self.condition**2)

    def _deflate(self) -> Floats:
        """O deflated by the directions."""
        with one_blas_thread:
            return np.asarray(self.outside - (self.images.T * self.values) @ self.images)

    def _views_that_vary(self) -> list[tuple[Floats, Floats]]:
        """The axes along which each view varies, and their variances."""
        spaces = []
        for cut in self.cuts:
            values, vectors = eigh(self.D[cut, cut])
            kept = values > 4.0 * self.rounding
            spaces.append((vectors[:, kept], values[kept]))
        return spaces


def pencil(
    S: Floats, cuts: Sequence[slice], views: Sequence[Floats], products: Sequence[Floats], ridge: Sequence[float]
) -> Pencil:
    """The pencil of directions (k, columns) in each view, and of the products (k, all columns) of the scatter with
    them.
    """
    D, O = np.zeros_like(S), S.copy()  # noqa: E741
    c, images, others = (np.zeros_like(products[0]) for _ in range(3))
    # a ridge of the size of rounding, so that directions that do not vary do not decide
    rounding = 64.0 * EPS * len(S) * float(np.max(np.diag(S), initial=0.0))
    for i, (cut, view, more) in enumerate(zip(cuts, views, ridge, strict=True)):
        D[cut, cut] = S[cut, cut] + (more + rounding) * np.eye(view.shape[1])
        O[cut, cut] = 0.0
        c[:, cut], images[:, cut] = view, products[i][:, cut] + more * view
        others[:, cut] = sum(product[:, cut] for j, product in enumerate(products) if j != i)
    size = np.sqrt(np.maximum(np.sum(c * images, axis=1), 0.0))[:, None]
    size = np.where(size > 0.0, size, 1.0)
    c, images, others = c / size, images / size, others / size
    values = np.sum(c * others, axis=1)
    whitened, condition, note = _whiten(D, cuts, rounding, (others - values[:, None] * images).T)
    residual = float(np.max(np.linalg.norm(whitened, axis=0), initial=0.0))
    with one_blas_thread:
        slant = float(np.max(np.abs(c @ images.T - np.eye(len(c))), initial=0.0))
    # scores of long directions are small sums of large products
    size = float(np.max(np.linalg.norm(c, axis=1), initial=0.0)) * np.sqrt(np.max(np.diag(S), initial=0.0))
    return Pencil(values, residual, slant, max(condition, float(size)), note, D, O, images, cuts, rounding)


def _whiten(D: Floats, cuts: Sequence[slice], rounding: float, left: Floats) -> tuple[Floats, float, str]:
    """Residuals in the norm of D^-1, the square root of the condition of D, and a note where D is singular: there
    residuals along directions that hardly vary are excluded.
    """
    L = cholesky(D)
    if L is not None:
        norm = float(np.abs(D).sum(axis=0).max(initial=0.0))
        with one_blas_thread:
            rcond = float(lapack.dpocon(L, norm, uplo="L")[0])
        if rcond > MIN_RCOND:
            return solve_lower(np.tril(L), left), rcond**-0.5, ""
    parts, condition, note = [], 1.0, ""
    for cut in cuts:
        values, vectors = eigh(D[cut, cut])
        kept = values > 4.0 * rounding
        with one_blas_thread:
            parts.append((vectors[:, kept].T @ left[cut]) / np.sqrt(values[kept])[:, None])
        note = note if kept.all() else HARDLY
        if kept.any():
            condition = max(condition, float(np.sqrt(values[-1] / values[kept][0])))
    return np.vstack(parts), condition, note
