"""Penalties on the weights, each with its proximal map, conjugate and optimality distance; the intercept is never
penalised.
"""

from dataclasses import dataclass
from typing import Protocol

from tenfold.arrays import Array, Floats, namespace


class Penalty(Protocol):
    """What a penalty knows. Weights are (t, p), values come for each of the t targets."""

    def value(self, w: Array) -> Array: ...
    def prox(self, w: Array, step: float) -> Array:
        """argmin_v value(v) + ||v - w||^2 / (2 step)."""
        ...

    def conjugate(self, v: Array) -> Array:
        """sup_w v.w - value(w)."""
        ...

    def subgradient_distance(self, w: Array, gradient: Array) -> Array:
        """Distance of minus the gradient of the loss to the subdifferential at w, by entry; zero at an optimum."""
        ...


@dataclass(frozen=True)
class L2:
    """strength / 2 ||w||^2, with w >= 0 as a constraint where `positive`; strength 0 is no penalty.

    `strength` is one number, or one for each target.
    """

    strength: float | Floats
    positive: bool = False

    def value(self, w: Array) -> Array:
        xp = namespace(w)
        value = 0.5 * self.strength * xp.sum(w * w, axis=-1)
        if self.positive:
            value = xp.where(xp.any(w < 0, axis=-1), xp.full_like(value, xp.inf), value)
        return value

    def prox(self, w: Array, step: float) -> Array:
        xp = namespace(w)
        w = w / (1.0 + step * self._column(xp))
        return xp.where(w < 0, xp.zeros_like(w), w) if self.positive else w

    def conjugate(self, v: Array) -> Array:
        xp = namespace(v)
        if self.positive:
            v = xp.where(v < 0, xp.zeros_like(v), v)
        square = xp.sum(v * v, axis=-1)
        strength = self.strength + xp.zeros_like(square)
        penalised = strength > 0
        free = xp.where(square > 0, xp.full_like(square, xp.inf), square)
        return xp.where(penalised, square / (2.0 * xp.where(penalised, strength, xp.ones_like(strength))), free)

    def subgradient_distance(self, w: Array, gradient: Array) -> Array:
        xp = namespace(w)
        g = gradient + self._column(xp) * w
        if not self.positive:
            return xp.abs(g)
        # distance of -g to the normal cone of {w >= 0}: all of it inside, only a pull outwards on the boundary
        return xp.where(w > 0, xp.abs(g), xp.where(g < 0, -g, xp.zeros_like(g)))

    def _column(self, xp: Array) -> Array:
        strength = xp.asarray(self.strength)
        return strength[..., None] if strength.ndim else strength
