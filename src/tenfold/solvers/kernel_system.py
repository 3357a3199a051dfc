"""The system of ridge in the feature space of a kernel: (R K R + alpha I) z = R y, dual coefficients c = R z.

R has the roots of the weights on its diagonal. One alpha takes a Cholesky factor: in float32, at half the cost, with
residuals in float64 until they are as small as those of a solve in float64 (the rule of LAPACK's dsposv: at most 30
corrections, else the factor in float64). K is evaluated by tiles in the residuals, so that in memory there is the
factor alone, but for kernels that are functions of the user or given matrices. A system that has no factor is solved by
eigenvectors, and without a penalty what is below 1e-11 of the largest eigenvalue counts as zero: the solution of least
norm.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tenfold.arrays import (
    EPS,
    Array,
    Floats,
    cholesky,
    device_of,
    is_array_api,
    like,
    namespace,
    solve_by_factor,
    wide,
)
from tenfold.kernels import Callable, Kernel, Precomputed
from tenfold.linear_algebra import condition_of_factor, eigh, factor_in_place, one_norm, solve_factored

CORRECTIONS = 30  # as in dsposv; of a condition of 1e5 there are about five

MIN_SINGLE = 1500  # samples from which half of a factor costs more than the corrections (benchmark: kernel ridge 5k)

EASY = 1e4  # bound of the condition up to which a factor in float64 is not corrected, nor its condition estimated

MAX_SINGLE_CONDITION = 1e6  # beyond which a factor in float32 mostly fails

SINGULAR = 1e-11  # of the largest eigenvalue: rounding of smaller ones moves the fit by more than 1e-5


@dataclass
class KernelSystem:
    """R K R of samples, with its products and its matrix: what a solver needs of it."""

    kernel: Kernel
    X: Array
    root: Array | None  # (n,), None for ones
    _kept: list[Array] = field(default_factory=list)

    @property
    def on_device(self) -> bool:
        """Whether the samples belong to another library."""
        return is_array_api(self.X)

    @property
    def cheap(self) -> bool:
        """Whether K is evaluated by tiles as fast as it is read."""
        return not isinstance(self.kernel, (Precomputed, Callable))

    def matrix(self, dtype: Any = np.float64) -> Array:
        """R K R in Fortran's order, which the caller may overwrite."""
        if not self.cheap and self.kept is not None:
            K = np.array(self.kept, dtype=dtype, order="C") if not self.on_device else self._copy(self.kept)
        else:
            K = self.kernel.block(self.X, dtype=dtype)
        if self.root is not None:
            root = self.root if self.on_device else self.root.astype(dtype)
            K *= root[:, None]
            K *= root[None, :]
        return K if self.on_device else K.T  # which is symmetric

    def multiply(self, V: Array) -> Array:
        """R K R V."""
        V = V if self.root is None else self.root[:, None] * V
        KV = self.kernel.multiply(self.X, None, V)
        return KV if self.root is None else self.root[:, None] * KV

    @property
    def kept(self) -> Array | None:
        """K in memory, where evaluating it again would be slow."""
        if not self.cheap and not self._kept:
            self._kept.append(self.X if isinstance(self.kernel, Precomputed) else self.kernel.block(self.X))
            if not isinstance(self.kernel, Precomputed):
                self.X, self.kernel = self._kept[0], Precomputed()
        return self._kept[0] if self._kept else None

    def _copy(self, K: Array) -> Array:
        xp = namespace(K)
        return xp.astype(K, xp.float64, copy=True)


@dataclass(frozen=True)
class Solved:
    """Solutions z (n, t), how they were computed, and an estimate of the condition where it is known."""

    z: Array
    how: str
    condition: float | None = None


def attempts(system: KernelSystem, alpha: Floats, right: Array) -> Iterator[Solved]:
    """Solutions for targets R y (n, t) with an alpha (t,) each, by better and better means."""
    if system.on_device:
        solved = _on_device(system, alpha, right)
        if solved is not None:
            yield solved
        yield _to_device(_by_eigenvectors(system, alpha, wide(right)), right)
        return
    if len(right) >= MIN_SINGLE and np.min(alpha) > 0.0:
        solved = _by_factors(system, alpha, right, np.float32)
        if solved is not None:
            yield solved
    solved = _by_factors(system, alpha, right, np.float64)
    if solved is not None:
        yield solved
    yield _by_eigenvectors(system, alpha, right)


def _by_factors(system: KernelSystem, alpha: Floats, right: Floats, dtype: Any) -> Solved | None:
    """By a Cholesky factor for each distinct alpha; None where there is none, or where corrections do not converge."""
    distinct = np.unique(alpha)
    z, condition = np.empty_like(right), 1.0
    A = system.matrix(dtype)
    whole = None if len(distinct) == 1 else A.copy(order="F")
    diagonal = np.diagonal(A).copy()
    size = one_norm(A)
    if dtype == np.float32 and size > MAX_SINGLE_CONDITION * float(distinct[0]):
        return None
    for i, value in enumerate(distinct):
        if i:
            assert whole is not None
            A[:] = whole
        A[np.diag_indices_from(A)] = diagonal + np.asarray(value, dtype=dtype)
        if not factor_in_place(A):
            return None
        member = np.flatnonzero(alpha == value)
        most = (size + float(value)) / float(value) if value > 0.0 else np.inf  # which the condition does not exceed
        easy = dtype == np.float64 and most <= EASY
        part = _correct(system, float(value), A, np.ascontiguousarray(right[:, member]), size, 0 if easy else None)
        if part is None:
            return None
        z[:, member] = part
        condition = max(condition, most if easy else condition_of_factor(A, size + float(value)))
    if value == 0.0 and not condition < 1.0 / SINGULAR:
        return None
    return Solved(z, "Cholesky in float32, corrected in float64" if dtype == np.float32 else "Cholesky", condition)


def _correct(
    system: KernelSystem, alpha: float, L: Array, right: Floats, size: float, steps: int | None
) -> Floats | None:
    """The solution of a factor, corrected by residuals in float64 until they are small; None where they stay large. Of
    a factor in float64 two corrections are all that rounding allows.
    """
    z = solve_factored(L, right).astype(np.float64)
    enough = np.sqrt(len(right)) * EPS * (size + alpha)
    steps = (CORRECTIONS if L.dtype == np.float32 else 2) if steps is None else steps
    for _ in range(steps):
        left = right - system.multiply(z) - alpha * z
        largest = np.max(np.abs(left), axis=0)
        if not np.isfinite(largest).all():
            return None
        if np.all(largest <= enough * np.max(np.abs(z), axis=0)):
            return z
        z = z + solve_factored(L, left)
    return z if L.dtype == np.float64 else None


def _by_eigenvectors(system: KernelSystem, alpha: Floats, right: Floats) -> Solved:
    """By an eigendecomposition, which needs no factor; without a penalty the solution of least norm."""
    values, Q = eigh(wide(system.matrix()))
    return Solved(apply_inverse(values, Q, alpha, right), "eigenvectors", condition_of(values, alpha))


def apply_inverse(values: Floats, Q: Floats, alpha: Floats, right: Floats) -> Floats:
    """(Q diag(values) Q' + alpha)^-1 right, an alpha for each column; what is numerically singular is left out."""
    values = np.maximum(values, 0.0)
    total = values[:, None] + alpha
    cut = np.where(alpha == 0.0, SINGULAR, len(values) * EPS) * float(np.max(values, initial=0.0))
    kept = (total > cut) & (total > 0.0)
    return np.asarray(Q @ (np.where(kept, Q.T @ right, 0.0) / np.where(kept, total, 1.0)))


def condition_of(values: Floats, alpha: Floats) -> float:
    """The largest condition of the system for any alpha."""
    low, high = max(float(values[0]), 0.0) + float(np.min(alpha)), float(values[-1]) + float(np.min(alpha))
    return high / low if low > 0.0 else np.inf


def _on_device(system: KernelSystem, alpha: Floats, right: Array) -> Solved | None:
    """By Cholesky factors in float64 where the samples are, with one correction."""
    xp, parts, order = namespace(right), [], []
    for value in np.unique(alpha):
        A, member = system.matrix(), np.flatnonzero(alpha == value)
        xp.reshape(A, (-1,))[:: A.shape[0] + 1] += float(value)  # a view
        L = cholesky(A)
        if L is None:
            return None
        b = xp.take(right, like(member, right), axis=1)
        z = solve_by_factor(L, b)
        parts.append(z + solve_by_factor(L, b - system.multiply(z) - float(value) * z))
        order.append(member)
    columns = like(np.argsort(np.concatenate(order)), right)
    return Solved(xp.take(xp.concat(parts, axis=1), columns, axis=1), "Cholesky")


def _to_device(solved: Solved, other: Array) -> Solved:
    assert device_of(other) is not None
    return Solved(like(solved.z, other), solved.how, solved.condition)
