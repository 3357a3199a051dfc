"""Certificates of kernel canonical correlations: directions solve their eigenproblem, and none better is missing.

With centred kernel matrices K_i of the views and ridges eta_i, directions a = [a_1 a_2 ...] solve O a = r D a, where D
has the blocks D_i = K_i^2 + eta_i I and O the blocks K_i K_j, i != j. The judge evaluates the kernels again, factors
D_i = L_i L_i', and looks at W = L^-1 O L^-T: stored directions are its eigenvectors v = L'a / m^(1/2), with residuals,
and the deviation of v from orthonormality. That W has no larger eigenvalue outside is shown by the inertia of a
deflated W where it is small, and by random vectors beyond that (largest_eigenvalue.py). Without a ridge nothing is
judged: kernel matrices of full rank give correlations of one on any data.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from tenfold.arrays import EPS, Array, Floats, unit_roundoff
from tenfold.judge.certificate import RULES, Certificate
from tenfold.judge.eigenvectors import distance, slant
from tenfold.judge.kernel_pca import LEFT_OUT, NOT_PROVED, PROBABLE
from tenfold.judge.largest_eigenvalue import finish, proof
from tenfold.kernels import Kernel
from tenfold.kernels.centring import CentredKernel
from tenfold.linear_algebra import cholesky, product, solve_lower

MAX_FACTORED = 1200  # dimensions of W up to which a Cholesky factor is cheaper than random vectors
MAX_FORMED = 8192  # up to which one is tried where random vectors do not decide

NO_RIDGE = (
    "Without a ridge every kernel matrix of full rank gives correlations of one, on unrelated views too: they mean "
    "nothing. Set a positive ridge, or ridge='cv'."
)
UNORDERED = "The stored values do not descend."
SINGULAR = "The ridge is lost in the rounding of the kernel matrices: increase it."


def kernel_cca(
    kernels: Sequence[Kernel],
    views: Sequence[Array],
    ridge: Sequence[float],
    *,
    coefs: Sequence[Floats],
    values: Floats,
    correlations: Floats,
    dtype: Any = np.float64,
    status: str = "solved",
) -> Certificate:
    """Judge dual coefficients (n, k) of each view, values (k,), and mean correlations (k,) of the scores."""
    tol = RULES["spectral"].tol
    if not min(ridge) > 0.0:
        return Certificate("spectral", np.inf, 1.0, tol, 0.0, 0.0, status="no maximum", note=NO_RIDGE)
    problem = _Problem.of(kernels, views, ridge)
    if problem is None:
        return Certificate("spectral", np.inf, 1.0, tol, 0.0, 0.0, status=status, note=SINGULAR)
    m = len(views)
    V = problem.whiten(coefs) / np.sqrt(m)
    W = problem.form() if problem.size <= MAX_FACTORED else None
    images = problem.apply(V) if W is None else product(V, W)
    quotients = np.einsum("kn,kn->k", V, images)
    left = images - quotients[:, None] * V
    floor = max(64.0 * EPS, 16.0 * unit_roundoff(dtype)) * problem.condition
    parts = [
        float(np.max(np.linalg.norm(left, axis=1), initial=0.0)),
        slant(V) if len(V) else 0.0,
        distance(values, quotients, 1.0),
        distance(correlations, problem.correlate(coefs), 1.0),
    ]
    parts = [part if np.isfinite(part) else np.inf for part in parts]
    allowed, value, note = max(tol, floor), max(*parts, floor), ""
    if value <= allowed < 1.0:
        note = UNORDERED if np.any(np.diff(values) > allowed) else problem.examine(W, V, quotients, allowed)
        value = np.inf if note in (UNORDERED, LEFT_OUT, NOT_PROVED) else value
    return Certificate(
        "spectral", value, 1.0, tol, floor, -float(np.sum(quotients)), status=status, parts=tuple(parts), note=note
    )


def mean_correlations(scores: Sequence[Floats]) -> Floats:
    """The mean, over all pairs of views, of the correlations of their scores (n, k), (k,)."""
    unit = []
    for z in scores:
        z = z - z.mean(axis=0)
        length = np.linalg.norm(z, axis=0)
        unit.append(z / np.where(length > 0.0, length, 1.0))
    pairs = [np.sum(unit[i] * unit[j], axis=0) for i in range(len(unit)) for j in range(i)]
    return np.asarray(np.mean(pairs, axis=0))


class _Problem:
    """The centred kernel matrices (n, n), and the Cholesky factors of K^2 + eta I."""

    def __init__(self, matrices: list[Floats], factors: list[Floats], condition: float) -> None:
        self.matrices, self.factors, self.condition = matrices, factors, condition
        self.n = len(matrices[0])
        self.size = len(matrices) * self.n

    @classmethod
    def of(cls, kernels: Sequence[Kernel], views: Sequence[Array], ridge: Sequence[float]) -> "_Problem | None":
        matrices, factors, condition = [], [], 1.0
        for kernel, X, eta in zip(kernels, views, ridge, strict=True):
            K = CentredKernel(kernel, X).dense()
            K = 0.5 * (K + K.T)
            D = product(K, K)
            D[np.diag_indices_from(D)] += eta
            L = cholesky(D)
            if L is None:
                return None
            matrices.append(K)
            factors.append(np.asfortranarray(np.tril(L)))
            size = float(np.max(np.abs(K).sum(axis=0), initial=0.0))
            condition = max(condition, float(np.sqrt(1.0 + size**2 / eta)))  # of L
        return cls(matrices, factors, condition)

    def whiten(self, coefs: Sequence[Floats]) -> Floats:
        """L'a, (k, m n)."""
        return np.hstack([product(np.ascontiguousarray(a.T), L) for a, L in zip(coefs, self.factors, strict=True)])

    def apply(self, V: Floats) -> Floats:
        """W V for vectors (k, m n)."""
        parts = np.split(V, len(self.matrices), axis=1)
        mapped = [
            product(solve_lower(L, part.T, transposed=True).T, K)
            for K, L, part in zip(self.matrices, self.factors, parts, strict=True)
        ]
        total = np.sum(mapped, axis=0)
        return np.hstack(
            [
                solve_lower(L, product(total - own, K).T).T
                for K, L, own in zip(self.matrices, self.factors, mapped, strict=True)
            ]
        )

    def form(self) -> Floats:
        """W, (m n, m n)."""
        whitened = [solve_lower(L, K) for K, L in zip(self.matrices, self.factors, strict=True)]
        stacked = np.vstack(whitened)
        W = product(stacked, np.ascontiguousarray(stacked.T))
        for i in range(len(whitened)):
            cut = slice(i * self.n, (i + 1) * self.n)
            W[cut, cut] = 0.0
        return W

    def correlate(self, coefs: Sequence[Floats]) -> Floats:
        return mean_correlations([product(K, a) for K, a in zip(self.matrices, coefs, strict=True)])

    def examine(self, W: Floats | None, V: Floats, quotients: Floats, slack: float) -> str:
        """A note: "" where it is proved that no eigenvalue outside V exceeds the least quotient by more than slack."""
        limit = float(np.min(quotients)) + slack
        if W is not None:
            return _factor(W, V, quotients, limit)

        def outside(v: Floats) -> Floats:
            return v - product(product(v, np.ascontiguousarray(V.T)), V)

        def rest_of(v: Floats) -> Floats:
            # deflated by the identity too, so that what is left has no larger eigenvalue in the space of V
            inside = v - outside(v)
            return outside(self.apply(outside(v))) - 2.0 * inside

        seed = np.frombuffer(np.ascontiguousarray(quotients).tobytes(), dtype=np.uint32)
        rounding = 64.0 * EPS * self.condition
        running = proof(self.size, lambda: limit, rounding, np.random.default_rng(seed), None)
        below = finish(running, rest_of, rest_of(next(running)))
        if below is None and self.size <= MAX_FORMED:
            return _factor(self.form(), V, quotients, limit)
        return {True: PROBABLE, None: NOT_PROVED, False: LEFT_OUT}[below]


def _factor(W: Floats, V: Floats, quotients: Floats, limit: float) -> str:
    """By the inertia of limit I - W, with the eigenvalues of V moved to -2, below all."""
    rest = product(V.T * (quotients + 2.0), V) - W
    rest[np.diag_indices_from(rest)] += limit
    return "" if cholesky(rest) is not None else LEFT_OUT
