"""Directions in several views of the same rows that are correlated most, as a pencil of matrices.

With O the products of each view with the others and D those of each view with itself, and its ridge, directions
c = [c_1 c_2 ...] solve O c = r D c. The residual is measured in the norm of D^-1, in which r is a correlation where
there are two views. All that is left is below m if and only if m D - O + sum r (D c)(D c)' has a Cholesky factor.
Values r are those of the directions, computed here, and so are their order and the smallest of them.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import linalg as la
from scipy.linalg import lapack

from tenfold.arrays import Floats
from tenfold.linear_algebra import cholesky, eigenvalues, eigh, solve_lower
from tenfold.machine import one_blas_thread

EPS = np.finfo(np.float64).eps

SINGULAR = 1e-11
"""With a smaller reciprocal condition, directions along which nothing varies but rounding are looked for."""

HARDLY = "Columns are collinear: directions along which a block hardly varies are not judged."


@dataclass(frozen=True)
class Pencil:
    """Values r of O c = r D c, the largest residual in the norm of D^-1, how far the c are from orthonormal in D, by
    how much rounding grows, and a note on what is not judged; and what a proof needs that none is larger.
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
        """Whether values descend, and nothing that is left exceeds the smallest by more than `slack`."""
        if np.any(np.diff(self.values) > slack):
            return False
        least = float(np.min(self.values)) if self.values.size else 0.0
        rest = (least + slack) * self.D - self._left()
        return cholesky(rest) is not None

    def exhausted(self, slack: float) -> bool:
        """Whether what is left has no value above `slack`, in the space where views vary."""
        axes = [spaces[0] / np.sqrt(spaces[1]) for spaces in self._spaces()]
        whiten = la.block_diag(*axes)
        if not whiten.size:
            return True
        with one_blas_thread:
            inside = whiten.T @ self._left() @ whiten
        return bool(eigenvalues(0.5 * (inside + inside.T))[-1] <= slack + 64.0 * EPS * self.condition**2)

    def _left(self) -> Floats:
        """O less what the directions have of it."""
        with one_blas_thread:
            return np.asarray(self.outside - (self.images.T * self.values) @ self.images)

    def _spaces(self) -> list[tuple[Floats, Floats]]:
        """Of each view, the axes along which it varies, and the variances."""
        found = []
        for cut in self.cuts:
            values, vectors = eigh(self.D[cut, cut])
            kept = values > 4.0 * self.rounding
            found.append((vectors[:, kept], values[kept]))
        return found


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
    size = np.sqrt(np.maximum(np.sum(c * images, axis=1), 0.0))[:, None]
    size = np.where(size > 0.0, size, 1.0)
    c, images, others = c / size, images / size, others / size
    values = np.sum(c * others, axis=1)
    whitened, condition, note = _whitened(D, cuts, rounding, (others - values[:, None] * images).T)
    residual = float(np.max(np.linalg.norm(whitened, axis=0), initial=0.0))
    with one_blas_thread:
        slant = float(np.max(np.abs(c @ images.T - np.eye(len(c))), initial=0.0))
    # scores of long directions are small sums of large products
    size = float(np.max(np.linalg.norm(c, axis=1), initial=0.0)) * np.sqrt(np.max(np.diag(S), initial=0.0))
    return Pencil(values, residual, slant, max(condition, float(size)), note, D, O, images, cuts, rounding)


def _whitened(D: Floats, cuts: Sequence[slice], rounding: float, left: Floats) -> tuple[Floats, float, str]:
    """Residuals in the norm of D^-1, the root of the condition of D, and a note where it is singular: there residuals
    along directions that hardly vary are left out.
    """
    L = cholesky(D)
    if L is not None:
        norm = float(np.abs(D).sum(axis=0).max(initial=0.0))
        with one_blas_thread:
            rcond = float(lapack.dpocon(L, norm, uplo="L")[0])
        if rcond > SINGULAR:
            return solve_lower(np.tril(L), left), rcond**-0.5, ""
    found, condition, note = [], 1.0, ""
    for cut in cuts:
        values, vectors = eigh(D[cut, cut])
        kept = values > 4.0 * rounding
        with one_blas_thread:
            found.append((vectors[:, kept].T @ left[cut]) / np.sqrt(values[kept])[:, None])
        note = note if kept.all() else HARDLY
        if kept.any():
            condition = max(condition, float(np.sqrt(values[-1] / values[kept][0])))
    return np.vstack(found), condition, note
