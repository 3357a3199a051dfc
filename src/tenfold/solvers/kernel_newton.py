"""Truncated Newton steps for regularised risks in the space of a kernel (objectives/kernel_risk.py).

With D = R R', P the projection that takes the intercept from the range of R, and the gradient g = strength c + s u, the
Newton step of the coefficients is, for any q0 of the range of P,

    delta = delta0 + R q,   delta0 = -(g - R q0) / strength,   (strength + P R'K R P) q = -q0 - P R'K delta0,

whose matrix has eigenvalues of at least strength, for samples without curvature too. q0 is that of the diagonal of K.
Conjugate gradients solve for q, with K replaced by a low rank and a diagonal, L L' + E, in the preconditioner, whose
inverse takes a factor of r x r numbers for L (n, r). A residual r leaves the gradient -R r and the gap
r'R'K R r / (2 strength), which ends them by the same approximation of K. Each of their steps is one product with K,
which also gives K delta, so that a line search and the values of f need no further ones. An iterate's gap is
g'K g / (2 strength): the measure.

K may be in float32: f is then a sum of products that are rounded, and the caller may put exact values in its place
(`Iterate.refresh`).
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from tenfold.arrays import EPS, Array, Floats
from tenfold.linear_algebra import cholesky, multiply_matrix, multiply_transposed, solve_lower
from tenfold.machine import poll
from tenfold.objectives.kernel_risk import Curvature, KernelRisk
from tenfold.solvers.loop import Step

MOST_INNER = 400  # steps of conjugate gradients, which take some tens
PRECISE = 1e-2  # of the gap: where conjugate gradients end far from the minimum (benchmark: C = 1, 100 and 10 000)
ENOUGH = 0.2  # of the gap that is allowed: where they end near it
LENGTHS = 40  # halvings of a step


class StoredMatrix:
    """A symmetric matrix (n, n) in memory, float32 or float64, and its products in float64 but for their rounding."""

    def __init__(self, K: Array) -> None:
        self.K = K if K.flags.c_contiguous else np.ascontiguousarray(K)

    def multiply(self, V: Floats) -> Floats:
        """K V, (n, k)."""
        poll()
        return multiply_matrix(self.K, V)


class LowRankMatrix:
    """V V' of V (n, r), float64."""

    def __init__(self, V: Floats) -> None:
        self.V = V

    def multiply(self, Z: Floats) -> Floats:
        """V V'Z, (n, k)."""
        poll()
        return multiply_matrix(self.V, multiply_transposed(self.V, Z))


class LowRank(NamedTuple):
    """K about L L' + diag(rest): L (n, r) in float64 or float32, rest (n, 1); and the diagonal (n, 1) of K."""

    L: Array
    rest: Floats
    diagonal: Floats


class Preconditioner:
    """P (strength + R'(L L' + diag(rest)) R)^-1 P with the diagonal of R'diag(rest) R in its place."""

    def __init__(self, K: LowRank, curvature: Curvature, strength: float) -> None:
        self.L, self.rest, self.curvature, self.strength = K.L, K.rest, curvature, strength
        self.inverse = 1.0 / (strength + K.rest * curvature.diagonal())
        self.factor: Floats | None = None
        if K.L.shape[1]:
            G = curvature.gram(K.L, self.inverse)
            G[np.diag_indices_from(G)] += 1.0
            self.factor = cholesky(G)

    def apply(self, v: Floats) -> Floats:
        w = self.inverse * v
        if self.factor is not None:
            small = np.ascontiguousarray(multiply_transposed(self.L, self.curvature.spread(w)).T).reshape(-1, 1)
            y = solve_lower(self.factor, solve_lower(self.factor, small), transposed=True)
            back = multiply_matrix(self.L, y.reshape(v.shape[1], -1).T)
            w = w - self.inverse * self.curvature.gather(back)
        return self.curvature.project(w)

    def estimate_gap(self, r: Floats) -> float:
        """The gap that a residual leaves, by the approximation of K."""
        g = self.curvature.spread(r)
        square = float(np.sum(multiply_transposed(self.L, g) ** 2)) if self.L.shape[1] else 0.0
        return (square + float(np.sum(self.rest * g * g))) / (2.0 * self.strength)


class Iterate:
    """Coefficients c (n, k), intercepts b (k,), and f = K c (n, k) with what is known there."""

    def __init__(self, risk: KernelRisk, K: StoredMatrix | LowRankMatrix, c: Floats, b: Floats, f: Floats) -> None:
        self.risk, self.K, self.c = risk, K, c
        self.f = f
        self.read(b)

    def read(self, b: Floats) -> None:
        """The best intercept and the gradient at c and f; one product."""
        risk = self.risk
        self.b = risk.best_intercept(self.f, b)
        self.z = self.f + self.b
        self.objective = self.value(self.z, self.c, self.f)
        self.g = risk.strength * self.c + risk.s * risk.slopes(self.z)
        self.Kg = self.K.multiply(self.g)
        self.gap = max(float(np.sum(self.g * self.Kg)), 0.0) / (2.0 * risk.strength)

    def value(self, z: Floats, c: Floats, f: Floats) -> float:
        with np.errstate(over="ignore", invalid="ignore"):
            return self.risk.mean_loss(z) + 0.5 * self.risk.strength * float(np.sum(c * f))

    def refresh(self, f: Floats) -> None:
        """Put exact values of f in the place of those that were summed up."""
        self.f = f
        self.read(self.b)


class KernelNewton:
    """The steps; `allowed` is the gap at which they end, which may be lowered between them."""

    def __init__(self, at: Iterate, approximation: LowRank, allowed: float) -> None:
        self.at, self.approximation, self.allowed = at, approximation, allowed
        self.inner = 0

    def steps(self) -> Iterator[Step]:
        at = self.at
        while True:
            yield Step((at.c, at.b), at.objective, at.gap / self.allowed)
            if not self._advance():
                return

    def _advance(self) -> bool:
        """A Newton step with a line search; False where rounding hides any decrease."""
        at, risk = self.at, self.at.risk
        curvature = risk.curvature(at.z)
        d, Kd = self._direction(curvature)
        move = -curvature.solve_intercepts(np.sum(curvature.multiply(Kd), axis=0)) if risk.intercept else np.zeros(1)
        slope = float(np.sum(at.g * Kd))
        if not slope < 0.0:
            return False
        length, noise = 1.0, 8.0 * EPS * abs(at.objective)
        for _ in range(LENGTHS):
            c, f = at.c + length * d, at.f + length * Kd
            value = at.value(f + at.b + length * move, c, f)
            if value <= at.objective + 1e-4 * length * slope + noise:
                break
            length *= 0.5
        else:
            return False
        before = at.objective, at.gap
        at.c, at.f = c, f
        at.read(at.b + length * move)
        return at.objective < before[0] or at.gap < 0.9 * before[1]

    def _direction(self, curvature: Curvature) -> tuple[Floats, Floats]:
        """delta and K delta, by conjugate gradients."""
        at, strength = self.at, self.at.risk.strength
        precondition = Preconditioner(self.approximation, curvature, strength)
        bent = self.approximation.diagonal * curvature.diagonal()
        q0 = curvature.project(curvature.gather(at.g * self.approximation.diagonal) / (bent + strength))
        delta = -(at.g - curvature.spread(q0)) / strength
        Kdelta = at.K.multiply(delta)
        r = -q0 - curvature.project(curvature.gather(Kdelta))
        y = precondition.apply(r)
        p, ry = y, float(np.sum(r * y))
        wanted = max(ENOUGH * self.allowed, PRECISE * at.gap)
        for _ in range(MOST_INNER):
            if not ry > 0.0 or precondition.estimate_gap(r) <= wanted:
                break
            step = curvature.spread(p)
            image = at.K.multiply(step)
            self.inner += 1
            Ap = strength * p + curvature.project(curvature.gather(image))
            bend = float(np.sum(p * Ap))
            if not bend > 0.0:
                break
            length = ry / bend
            delta, Kdelta, r = delta + length * step, Kdelta + length * image, r - length * Ap
            y = precondition.apply(r)
            new = float(np.sum(r * y))
            p, ry = y + (new / ry) * p, new
        return delta, Kdelta
