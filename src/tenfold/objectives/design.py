"""How coefficients become raw predictions: a linear map, forward, back, and its weighted Gram matrix."""

from collections.abc import Callable
from typing import Protocol

import numpy as np

from tenfold.arrays import Floats
from tenfold.losses.loss import Loss
from tenfold.objectives.objective import Objective, Reading


class Design(Protocol):
    """A linear map from coefficients x (q,) to raw predictions (n, k) of n samples."""

    def forward(self, x: Floats) -> Floats:
        """A x, (n, k)."""
        ...

    def adjoint(self, u: Floats) -> Floats:
        """A'u (q,) of numbers (n, k)."""
        ...

    def gram(self, weight: Floats) -> Floats:
        """A' diag(weight) A, (q, q), for one raw prediction a sample."""
        ...


class DenseDesign:
    """The samples as rows of a matrix (n, q): features, a kernel matrix, a basis."""

    def __init__(self, matrix: Floats) -> None:
        self.matrix = matrix

    def forward(self, x: Floats) -> Floats:
        return (self.matrix @ x)[:, None]

    def adjoint(self, u: Floats) -> Floats:
        return np.asarray(self.matrix.T @ u[:, 0])

    def gram(self, weight: Floats) -> Floats:
        return np.asarray(self.matrix.T @ (weight[:, None] * self.matrix))


class DesignObjective(Objective):
    """f(x) = sum_i share_i loss(y_i, (A x)_i) + x'P x / 2, for one raw prediction a sample, P (q, q) positive
    semi-definite: the squared norm of the weights, or of a function of a kernel.
    """

    def __init__(self, design: Design, loss: Loss, y: Floats, share: Floats, penalty: Floats) -> None:
        self.design, self.loss, self.penalty = design, loss, penalty
        self.y, self.share = y.reshape(-1, 1), share.reshape(-1, 1)
        self.jumps = not np.isfinite(loss.self_concordance)
        self.flat = loss.convex and self.jumps and bool(np.isfinite(loss.lipschitz))

    def read(self, x: Floats, order: int = 1) -> Reading:
        z, bend = self.design.forward(x), self.penalty @ x
        value = float(np.sum(self.share * self.loss.value(self.y, z))) + 0.5 * float(x @ bend)
        gradient = self.design.adjoint(self.share * self.loss.slope(self.y, z)) + bend
        return Reading(value, gradient, self._hessian(z) if order == 2 else None)

    def _hessian(self, z: Floats) -> Floats:
        return self.design.gram((self.share * self.loss.curvature(self.y, z))[:, 0]) + self.penalty

    def hessian_product(self, x: Floats, d: Floats) -> Floats:
        z = self.design.forward(x)
        return self.design.adjoint(self.share * self.loss.curvature(self.y, z) * self.design.forward(d)) + (
            self.penalty @ d
        )

    def line(self, x: Floats, d: Floats) -> Callable[[float], tuple[float, float]]:
        """The first two derivatives along d at x + length d: two products, whatever the number of lengths."""
        z, dz, of_penalty = self.design.forward(x), self.design.forward(d), self.penalty @ d
        slope, bend = float(x @ of_penalty), float(d @ of_penalty)

        def at(length: float) -> tuple[float, float]:
            there = z + length * dz
            first = float(np.sum(self.share * self.loss.slope(self.y, there) * dz))
            second = float(np.sum(self.share * self.loss.curvature(self.y, there) * dz * dz))
            return first + slope + length * bend, second + bend

        return at

    def bound_curvature(self) -> Floats:
        return self.design.gram(self.loss.lipschitz * self.share[:, 0])
